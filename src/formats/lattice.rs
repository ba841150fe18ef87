//! Lattices of segments, for other tools: HTK's standard lattice format (SLF), and the text of OpenFst with the weights of Kaldi's
//! lattices.
//!
//! In SLF `a` is the sum of the emissions and `l` everything that the graph adds, natural logs, as they were searched: with scales. A
//! link of a graph of words carries its word where that ends, `!NULL` before; `d` has its phone and how many seconds that takes. In
//! OpenFst's text a line is `from to phone word graph,acoustic`, both weights costs: minus the natural log. Times of the states are a
//! table of their own.

use std::io;

use super::ctm::one_field;

/// A segment that may have been said, between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// Its phone.
    pub phone: String,
    /// The word that ends with it.
    pub word: Option<String>,
    /// Sum of the emissions, natural log.
    pub acoustic: f64,
    /// What the graph adds, natural log.
    pub graph: f64,
}

/// A lattice with names and times.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledLattice {
    /// Name of the utterance.
    pub utterance: String,
    /// When each node is, ascending; the first is the start, the last the end.
    pub node_seconds: Vec<f64>,
    /// By ascending start.
    pub links: Vec<Link>,
    /// Whether the graph is one of words.
    pub has_words: bool,
}

/// A link of no word, in SLF.
const NULL: &str = "!NULL";
/// A link of no word, in OpenFst.
const EPSILON: &str = "<eps>";

/// Writes `lattice` in HTK's standard lattice format.
///
/// # Errors
/// What `out` refuses.
pub fn write_slf(lattice: &LabelledLattice, out: &mut dyn io::Write) -> io::Result<()> {
    let (nodes, links) = (lattice.node_seconds.len(), lattice.links.len());
    writeln!(out, "VERSION=1.0\nUTTERANCE={}", one_field(&lattice.utterance))?;
    writeln!(out, "base={}\nlmscale=1.0 acscale=1.0", std::f64::consts::E)?;
    writeln!(out, "start=0 end={}\nN={nodes} L={links}", nodes.saturating_sub(1))?;
    for (node, seconds) in lattice.node_seconds.iter().enumerate() {
        writeln!(out, "I={node} t={seconds:.3}")?;
    }
    for (number, link) in lattice.links.iter().enumerate() {
        let Link { from, to, acoustic, graph, .. } = link;
        let (phone, seconds) = (one_field(&link.phone), lattice.node_seconds[*to] - lattice.node_seconds[*from]);
        let label = match (lattice.has_words, &link.word) {
            (false, _) => format!("W={phone}"),
            (true, Some(word)) => format!("W={} d=:{phone},{seconds:.3}:", one_field(word)),
            (true, None) => format!("W={NULL} d=:{phone},{seconds:.3}:"),
        };
        writeln!(out, "J={number} S={from} E={to} {label} a={acoustic:.6} l={graph:.6}")?;
    }
    Ok(())
}

/// Writes `lattice` as text of OpenFst.
///
/// # Errors
/// What `out` refuses.
pub fn write_openfst(lattice: &LabelledLattice, out: &mut dyn io::Write) -> io::Result<()> {
    for link in &lattice.links {
        let phone = one_field(&link.phone);
        let word = match (lattice.has_words, &link.word) {
            (false, _) => phone.clone(),
            (true, word) => word.as_ref().map_or_else(|| EPSILON.to_owned(), |word| one_field(word)),
        };
        let (graph, acoustic) = (0.0 - link.graph, 0.0 - link.acoustic);
        writeln!(out, "{}\t{}\t{phone}\t{word}\t{graph:.6},{acoustic:.6}", link.from, link.to)?;
    }
    writeln!(out, "{}\t0,0", lattice.node_seconds.len().saturating_sub(1))
}

/// Writes when each state of `lattice` is: a line `state seconds` each.
///
/// # Errors
/// What `out` refuses.
pub fn write_times(lattice: &LabelledLattice, out: &mut dyn io::Write) -> io::Result<()> {
    let mut nodes = lattice.node_seconds.iter().enumerate();
    nodes.try_for_each(|(node, seconds)| writeln!(out, "{node}\t{seconds:.3}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::written;
    use super::*;

    fn two_ways(has_words: bool) -> LabelledLattice {
        let link = |from, to, phone: &str, word: Option<&str>, acoustic, graph| Link {
            from,
            to,
            phone: phone.into(),
            word: word.map(str::to_owned),
            acoustic,
            graph,
        };
        let links = vec![
            link(0, 1, "HH", None, -1.5, -0.25),
            link(1, 2, "AY", Some("hi"), -2.0, 0.0),
            link(1, 2, "EY", Some("hey you"), -2.5, -1.0),
        ];
        LabelledLattice { utterance: "a 1".into(), node_seconds: vec![0.0, 0.06, 0.185], links, has_words }
    }

    #[test]
    fn slf_has_nodes_with_times_and_links_with_two_scores() {
        let text = written(|out| write_slf(&two_ways(false), out));
        let expected = "VERSION=1.0\nUTTERANCE=a_1\nbase=2.718281828459045\nlmscale=1.0 acscale=1.0\nstart=0 end=2\nN=3 L=3\n\
            I=0 t=0.000\nI=1 t=0.060\nI=2 t=0.185\n\
            J=0 S=0 E=1 W=HH a=-1.500000 l=-0.250000\nJ=1 S=1 E=2 W=AY a=-2.000000 l=0.000000\n\
            J=2 S=1 E=2 W=EY a=-2.500000 l=-1.000000\n";
        assert_eq!(text, expected);
        let text = written(|out| write_slf(&two_ways(true), out));
        assert!(text.contains("J=0 S=0 E=1 W=!NULL d=:HH,0.060: a=-1.500000"), "{text}");
        assert!(text.contains("J=2 S=1 E=2 W=hey_you d=:EY,0.125: a=-2.500000"), "{text}");
    }

    #[test]
    fn openfst_has_costs_and_a_table_of_times() {
        let text = written(|out| write_openfst(&two_ways(true), out));
        let expected = "0\t1\tHH\t<eps>\t0.250000,1.500000\n1\t2\tAY\thi\t0.000000,2.000000\n\
            1\t2\tEY\they_you\t1.000000,2.500000\n2\t0,0\n";
        assert_eq!(text, expected);
        assert!(written(|out| write_openfst(&two_ways(false), out)).starts_with("0\t1\tHH\tHH\t"));
        assert_eq!(written(|out| write_times(&two_ways(true), out)), "0\t0.000\n1\t0.060\n2\t0.185\n");
    }
}
