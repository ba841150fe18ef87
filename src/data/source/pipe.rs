//! The right side of a line of `wav.scp`: a file, or a command that would write one to a pipe. No shell is asked and no command is
//! run: those that only unpack a file are understood, since it is read as it is; others are refused by name.

use std::path::{Path, PathBuf};

use crate::audio::Channel;

/// What is understood, for messages.
const UNDERSTOOD: &str =
    "`flac -c -d -s FILE |`, `sph2pipe -f wav [-p] [-c N] FILE |`, `sox FILE -t wav - |`, `cat FILE |`";

/// The file and channel that `text` stands for; the error is a reason.
pub(super) fn source(text: &str) -> Result<(PathBuf, Channel), String> {
    let Some(command) = text.strip_suffix('|') else { return plain(text) };
    let words = words(command)?;
    let (program, arguments) = words.split_first().ok_or("a pipe without a command")?;
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let found = match &*name {
        "cat" => file_among(&arguments, |_| None).map(|path| (path, Channel::Mix)),
        "flac" => flac(&arguments).map(|path| (path, Channel::Mix)),
        "sph2pipe" => sph2pipe(&arguments),
        "sox" => sox(&arguments).map(|path| (path, Channel::Mix)),
        _ => Err(format!("{name} is not run")),
    };
    found
        .map_err(|reason| format!("`{}`: {reason}; understood are {UNDERSTOOD}: write the audio to files", text.trim()))
}

/// A line without a pipe: the name of a file, which may hold spaces.
fn plain(text: &str) -> Result<(PathBuf, Channel), String> {
    let offset = text.rsplit_once(':').is_some_and(|(file, at)| {
        file.ends_with(".ark") && !at.is_empty() && at.bytes().all(|byte| byte.is_ascii_digit())
    });
    match text {
        "" => Err("no audio after the name".into()),
        _ if offset => Err(format!("{text}: audio within an archive of Kaldi is not read: write the audio to files")),
        _ => Ok((PathBuf::from(text), Channel::Mix)),
    }
}

/// Splits a command as a shell does; what a shell would act on is refused.
fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => word.get_or_insert_default().push_str(&quoted(&mut chars, c)?),
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '|' => return Err(format!("`{}|`: a pipe of several commands: write the audio to files", command.trim())),
            '$' | '`' | ';' | '&' | '<' | '>' | '(' | ')' | '*' | '?' => {
                let command = command.trim();
                return Err(format!("`{command}`: no shell is asked, which {c:?} needs: write out what it stands for"));
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// All up to the closing `quote`; between double quotes a backslash protects what a shell would act on.
fn quoted(chars: &mut std::str::Chars<'_>, quote: char) -> Result<String, String> {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(text),
            '$' | '`' if quote == '"' => {
                return Err(format!("no shell is asked, which {c:?} needs: write out what it stands for"));
            }
            '\\' if quote == '"' => match chars.next() {
                Some(c) if "\\\"$`".contains(c) => text.push(c),
                other => text.extend(['\\'].into_iter().chain(other)),
            },
            c => text.push(c),
        }
    }
    Err(format!("a quote {quote} that is never closed"))
}

/// The one file among `arguments`. `takes` says how many words belong to an option, itself included, `None` when it is not
/// understood.
fn file_among(arguments: &[&str], takes: impl Fn(&[&str]) -> Option<usize>) -> Result<PathBuf, String> {
    let (mut file, mut rest) = (None, arguments);
    while let [first, after @ ..] = rest {
        if *first == "-" || !first.starts_with('-') {
            if let Some(other) = file.replace(*first) {
                return Err(format!("two files, {other} and {first}"));
            }
            rest = after;
        } else {
            let words = takes(rest).filter(|&words| words <= rest.len());
            rest = &rest[words.ok_or_else(|| format!("the option {first} is not understood"))?..];
        }
    }
    match file {
        Some("-") => Err("a pipe that reads from a pipe".into()),
        Some(file) => Ok(PathBuf::from(file)),
        None => Err("no file".into()),
    }
}

/// `flac` that decodes to standard output.
fn flac(arguments: &[&str]) -> Result<PathBuf, String> {
    let is_short = |option: &str| !option.starts_with("--") && option[1..].chars().all(|c| "cdsfF".contains(c));
    let is_long = |option: &str| ["--stdout", "--decode", "--silent", "--totally-silent"].contains(&option);
    let file = file_among(arguments, |rest| (is_short(rest[0]) || is_long(rest[0])).then_some(1))?;
    let has = |short: char, long: &str| arguments.iter().any(|&option| option == long || is_short_with(option, short));
    match has('d', "--decode") && has('c', "--stdout") {
        true => Ok(file),
        false => Err("without -c and -d it does not decode to the pipe".into()),
    }
}

fn is_short_with(option: &str, letter: char) -> bool {
    option.starts_with('-') && !option.starts_with("--") && option.contains(letter)
}

/// `sph2pipe`, whose channels count from 1. `-p` asks for 16 bits, which any coding becomes here.
fn sph2pipe(arguments: &[&str]) -> Result<(PathBuf, Channel), String> {
    let takes = |rest: &[&str]| match rest {
        ["-p", ..] => Some(1),
        ["-f", "wav" | "rif", ..] => Some(2),
        ["-c", number, ..] if number.parse::<usize>().is_ok_and(|number| number > 0) => Some(2),
        _ => None,
    };
    let file = file_among(arguments, takes)?;
    let number = arguments.windows(2).find(|pair| pair[0] == "-c").and_then(|pair| pair[1].parse::<usize>().ok());
    Ok((file, number.map_or(Channel::Mix, |number| Channel::Only(number - 1))))
}

/// `sox FILE -t wav -` without any effect: options before the file say how to read it, which its content does too.
fn sox(arguments: &[&str]) -> Result<PathBuf, String> {
    let mut rest = arguments;
    while let ["-t", _, after @ ..] | ["-q" | "-G", after @ ..] = rest {
        rest = after;
    }
    let Some((file, mut rest)) = rest.split_first().filter(|(file, _)| !file.starts_with('-')) else {
        return Err("no file after options that are understood".into());
    };
    let mut has_type = false;
    while let ["-t", "wav" | "wavpcm", after @ ..] | ["-b", "16", after @ ..] = rest {
        has_type |= rest[0] == "-t";
        rest = after;
    }
    match (rest, has_type) {
        (["-"], true) => Ok(PathBuf::from(file)),
        (["-"], false) => Err("no -t wav".into()),
        ([], _) => Err("no - for the pipe".into()),
        (["-", effect, ..] | [effect, ..], _) => Err(format!("{effect} is more than a conversion to WAV")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> (PathBuf, Channel) {
        (path.into(), Channel::Mix)
    }

    #[test]
    fn the_usual_pipes_are_understood() {
        for (text, path) in [
            ("/a/b c.wav", "/a/b c.wav"),
            ("flac -c -d -s /a/b.flac |", "/a/b.flac"),
            ("flac -cds  a.flac|", "a.flac"),
            ("/usr/bin/flac --decode --stdout --silent a.flac |", "a.flac"),
            ("sph2pipe -f wav a.sph |", "a.sph"),
            ("/opt/kaldi/tools/sph2pipe_v2.5/sph2pipe -f wav -p \"/a b/c.sph\" |", "/a b/c.sph"),
            ("sox a.mp3 -t wav - |", "a.mp3"),
            ("sox -t flac a.flac -b 16 -t wav - |", "a.flac"),
            ("cat 'it''s $5 a|b'.wav |", "its $5 a|b.wav"),
            ("cat a\\ \"b \\\"c\\\"\" |", "a b \"c\""),
        ] {
            assert_eq!(source(text), Ok(file(path)), "{text}");
        }
        assert_eq!(source("sph2pipe -f wav -p -c 2 a.sph |"), Ok(("a.sph".into(), Channel::Only(1))));
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (text, reason) in [
            ("", "no audio after the name"),
            ("a.ark:123", "a.ark:123: audio within an archive"),
            ("|", "a pipe without a command"),
            ("ffmpeg -i a.mp4 -f wav - |", "`ffmpeg -i a.mp4 -f wav - |`: ffmpeg is not run; understood are `flac"),
            ("sox a.wav -r 8000 -t wav - |", "`sox a.wav -r 8000 -t wav - |`: -r is more than"),
            ("sox a.wav -t wav - speed 0.9 |", "`sox a.wav -t wav - speed 0.9 |`: speed is more than"),
            ("sox -r 8k a.wav -t wav - |", "`sox -r 8k a.wav -t wav - |`: no file after options"),
            ("sox a.wav - |", "`sox a.wav - |`: no -t wav"),
            ("flac -c a.wav |", "`flac -c a.wav |`: without -c and -d"),
            ("flac -cd --skip=3 a.flac |", "`flac -cd --skip=3 a.flac |`: the option --skip=3 is not understood"),
            ("sph2pipe -f wav -c 0 a.sph |", "`sph2pipe -f wav -c 0 a.sph |`: the option -c is not"),
            ("sph2pipe -f wav -t 1:2 a.sph |", "`sph2pipe -f wav -t 1:2 a.sph |`: the option -t is not"),
            ("cat a b |", "`cat a b |`: two files, a and b"),
            ("cat |", "`cat |`: no file"),
            ("cat - |", "`cat - |`: a pipe that reads from a pipe"),
            ("flac -cds a.flac | sox - -t wav - |", "`flac -cds a.flac | sox - -t wav -|`: a pipe of several"),
            ("cat $HOME/a.wav |", "`cat $HOME/a.wav`: no shell is asked, which '$' needs"),
            ("cat \"$HOME/a.wav\" |", "no shell is asked, which '$'"),
            ("cat 'a |", "a quote ' that is never closed"),
        ] {
            let found = source(text).unwrap_err();
            assert!(found.starts_with(reason), "{text}: {found}");
        }
    }
}
