//! Whole commands: a folder to run them in, what they print, and a corpus and a model small enough to make in a test.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// A folder of a test's own, gone when the test is over.
pub struct Dir(TempDir);

impl Dir {
    pub fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and the folders above it.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Replaces `from`, which must be there, in a file.
    pub fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from:?}:\n{text}");
        self.write(name, text.replace(from, to));
    }

    /// Writes a mono WAV of 16 bits.
    pub fn wav(&self, name: &str, rate_hz: u32, samples: &[f32]) {
        self.write(name, wav(rate_hz, samples));
    }

    /// Copies the files of folder `from` to folder `name`.
    pub fn copy(&self, from: &Path, name: &str) {
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let bytes = fs::read(entry.path()).unwrap();
            self.write(&format!("{name}/{}", entry.file_name().to_str().unwrap()), bytes);
        }
    }

    /// Names of the files of folder `name`, sorted.
    pub fn list(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// `senone` with the words of `line`, to be run in this folder.
    pub fn senone(&self, line: &str) -> Cmd {
        let mut command = Command::new(env!("CARGO_BIN_EXE_senone"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        Cmd { command, line: line.to_owned(), input: Vec::new() }
    }
}

/// A command before it is run.
pub struct Cmd {
    command: Command,
    line: String,
    input: Vec<u8>,
}

impl Cmd {
    pub fn arg(mut self, arg: impl AsRef<Path>) -> Self {
        self.command.arg(arg.as_ref());
        self
    }

    /// More words of its line.
    pub fn args(mut self, line: &str) -> Self {
        self.command.args(line.split_whitespace());
        self
    }

    /// What it finds on standard input.
    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = bytes;
        self
    }

    /// Starts it without waiting; nobody listens to it.
    pub fn spawn(mut self) -> Child {
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Starts it with standard output and standard error to read from.
    pub fn spawn_piped(mut self) -> Child {
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts it with standard output into a file and standard error to read from.
    pub fn spawn_into(mut self, out: fs::File) -> Child {
        self.command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn run(mut self) -> Ran {
        let pipes = self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = self.input;
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(&input); // a command may end without reading it
        });
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { line: self.line, status: status.code().unwrap(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Runs it, expecting success; what it printed.
    pub fn ok(self) -> Ran {
        let ran = self.run();
        assert_eq!(ran.status, 0, "senone {}\n{}{}", ran.line, ran.stdout, ran.stderr);
        ran
    }

    /// Runs it, expecting failure with status 1 and nothing on standard output; the one line on standard error.
    pub fn refused(self) -> String {
        let ran = self.run();
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "senone {}\n{}", ran.line, ran.stderr);
        let line = ran.stderr.strip_suffix('\n').unwrap_or(&ran.stderr);
        assert!(!line.contains('\n'), "senone {}: not one line:\n{}", ran.line, ran.stderr);
        line.strip_prefix("senone: ").unwrap_or_else(|| panic!("no `senone: ` before\n{line}")).to_owned()
    }

    /// Runs it, expecting that the command line itself is wrong (status 2); what it says.
    pub fn misused(self) -> String {
        let ran = self.run();
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "senone {}\n{}", ran.line, ran.stderr);
        ran.stderr
    }
}

/// A command that was run.
#[derive(Debug)]
pub struct Ran {
    line: String,
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The bytes of a mono WAV of 16 bits.
pub fn wav(rate_hz: u32, samples: &[f32]) -> Vec<u8> {
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: rate_hz,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut writer = hound::WavWriter::new(&mut bytes, spec).unwrap();
    for sample in samples {
        writer.write_sample((sample.clamp(-1.0, 1.0) * 32767.0) as i16).unwrap();
    }
    writer.finalize().unwrap();
    bytes.into_inner()
}
