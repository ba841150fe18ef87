//! A graph file from nothing but the phones: each may begin, follow each, and end. The n-gram says what usually follows what.

use super::written::symbol;
use crate::settings::quoted;

/// What the file is to say.
#[derive(Debug, Clone, PartialEq)]
pub struct PhoneLoop {
    /// Its name.
    pub name: String,
    /// The phones of speech, different from each other.
    pub phones: Vec<String>,
    /// The phone of silence, if there is one. It never follows itself: it lasts as long as it lasts.
    pub pause: Option<Pause>,
    /// A phone that stands for words of unknown pronunciation, if there is one.
    pub filler: Option<String>,
    /// Pdfs and shortest length of every phone, in search frames, at least 1.
    pub states: usize,
}

/// The phone of silence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// Its name.
    pub name: String,
    /// Whether transcripts say where it is.
    pub marked: Marked,
}

/// Whether transcripts say where pauses are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marked {
    /// They do.
    Always,
    /// There may be others: the phone is optional.
    Perhaps,
}

impl PhoneLoop {
    /// The text of the graph file, which [`super::GraphSpec::parse`] reads.
    pub fn text(&self) -> String {
        let [silence, filler, speech] = ["silence", "filler", "speech"].map(|class| self.free(class));
        let list = |names: &[String]| names.iter().map(|name| symbol(name)).collect::<Vec<_>>().join(", ");
        let mut text = format!("format = 1\nname   = {}\n", quoted(&self.name));
        if let Some(pause) = self.pause.as_ref().filter(|pause| pause.marked == Marked::Perhaps) {
            text += &format!("optional = [{}]\n", symbol(&pause.name));
        }
        text += "\n[classes]\n";
        if let Some(pause) = &self.pause {
            text += &format!("{silence} = [{}]\n", symbol(&pause.name));
        }
        if let Some(name) = &self.filler {
            text += &format!("{filler} = [{}]   # stands for a word that the lexicon lacks\n", symbol(name));
        }
        text += &format!("{speech} = [{}]\n", list(&self.phones));
        text += "\n[boundary]\nstart = \"*\"\nend   = \"*\"\n\n[[allow]]\nfrom = \"*\"\nto   = \"*\"\n";
        if self.pause.is_some() {
            text += &format!(
                "[[forbid]]   # it repeats through its self-loop\nfrom = \"{silence}\"\nto   = \"{silence}\"\n"
            );
        }
        let topology = |class: &str, self_loop| {
            let states = self.states;
            format!("[topology.{class}]\nstates     = {states}\nmin_frames = {states}\nself_loop  = {self_loop}\n")
        };
        text += &format!("\n{}", topology("default", 0.6));
        if self.pause.is_some() {
            text += &topology(&silence, 0.9);
        }
        text
    }

    /// `class`, or a name made from it that is no phone's.
    fn free(&self, class: &str) -> String {
        let names = || self.phones.iter().chain(&self.filler).chain(self.pause.as_ref().map(|pause| &pause.name));
        let mut free = class.to_owned();
        while names().any(|name| *name == free) {
            free.push('_');
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::super::GraphSpec;
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_phone_follows_every_phone_and_pauses_may_come_between() {
        let pause = Pause { name: "SIL".into(), marked: Marked::Perhaps };
        let filler = Some("SPN".into());
        let graph =
            PhoneLoop { name: "three \"x\"".into(), phones: names("a b c"), pause: Some(pause), filler, states: 3 };
        let spec = GraphSpec::parse(&graph.text()).unwrap();
        assert_eq!(spec.symbols().names(), names("SIL SPN a b c"));
        assert_eq!((spec.name(), spec.pdfs(), spec.optional().len()), ("three \"x\"", 15, 1));
        let silence = spec.optional()[0];
        for from in spec.symbols().ids() {
            assert!(spec.starts().contains(&from) && spec.ends().contains(&from));
            for to in spec.symbols().ids() {
                assert_eq!(spec.follows(from, to), (from, to) != (silence, silence));
            }
        }
    }

    #[test]
    fn phones_may_have_any_name() {
        let phones = names("{ }: \" \\ speech silence a{b ʃ 安 # '");
        let pause = Some(Pause { name: "sil".into(), marked: Marked::Always });
        let graph = PhoneLoop { name: String::new(), phones: phones.clone(), pause, filler: None, states: 1 };
        let spec = GraphSpec::parse(&graph.text()).unwrap();
        assert_eq!(spec.symbols().names()[1..], phones);
        assert!(spec.optional().is_empty());
        let bare = PhoneLoop { pause: None, ..graph };
        assert_eq!(GraphSpec::parse(&bare.text()).unwrap().symbols().names(), phones);
    }
}
