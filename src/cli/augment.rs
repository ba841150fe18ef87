//! `senone augment`: changed copies of recordings, to hear what training hears and to test in noise.

use std::path::{Path, PathBuf};

use clap::Args;
use rayon::prelude::*;
use senone::audio::{self, AudioChange, Clip, Line, Noise};
use senone::data::{Manifest, Utterance};
use senone::random::Random;
use senone::{Error, Result, formats};

use super::{Outcome, read_corpus, say};

/// `senone augment`
#[derive(Debug, Args)]
pub struct AugmentArgs {
    /// A manifest, or a corpus of another layout
    corpus: PathBuf,
    /// Folder for the copies (16-bit WAV) and their manifest, manifest.tsv
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Samples a second of the copies
    #[arg(long, value_name = "HZ", default_value_t = 16_000)]
    sample_rate_hz: u32,
    /// So many times as fast and as much higher in pitch, 0.5 to 2
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    speed: f32,
    /// Add noise: energy of each recording over that of the noise, in dB
    #[arg(long, value_name = "DB", allow_negative_numbers = true)]
    snr_db: Option<f32>,
    /// Share of red noise in it, the rest being white, 0 to 1
    #[arg(long, value_name = "X", default_value_t = 0.5, requires = "snr_db")]
    red: f32,
    /// What noise is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// As heard by telephone: 8 kHz, mu-law
    #[arg(long)]
    telephone: bool,
    /// Louder, or softer below 0; beyond full scale is clipped
    #[arg(long, value_name = "DB", default_value_t = 0.0, allow_negative_numbers = true)]
    gain_db: f32,
}

/// Writes the copies; what cannot be read is named, and the rest is done.
pub fn run(args: &AugmentArgs) -> Result<Outcome> {
    args.check()?;
    let all = read_corpus(&args.corpus)?.utterances;
    std::fs::create_dir_all(&args.output).map_err(|source| Error::io("create", &args.output, source))?;
    let copied: Vec<Result<Utterance>> = all.par_iter().enumerate().map(|(place, one)| args.copy(place, one)).collect();
    let (mut utterances, mut outcome) = (Vec::new(), Outcome::Complete);
    for (copy, one) in copied.into_iter().zip(&all) {
        match copy {
            Ok(copy) => utterances.push(copy),
            Err(error) => {
                say(format_args!("senone: left out {}: {error}", one.name));
                outcome = Outcome::Partial;
            }
        }
    }
    let path = args.output.join("manifest.tsv");
    Manifest { path: path.clone(), utterances, notices: Vec::new() }.write(&path)?;
    Ok(outcome)
}

impl AugmentArgs {
    fn check(&self) -> Result<()> {
        let wrong = |key, value: f32, expected| Err(Error::Setting { key, value: value.to_string(), expected });
        match self {
            a if !(0.5..=2.0).contains(&a.speed) => wrong("speed", a.speed, "a number from 0.5 to 2"),
            a if !(0.0..=1.0).contains(&a.red) => wrong("red", a.red, "a share from 0 to 1"),
            a if !(-60.0..=60.0).contains(&a.gain_db) => wrong("gain_db", a.gain_db, "a number from -60 to 60"),
            a => match a.snr_db {
                Some(snr) if !(-60.0..=100.0).contains(&snr) => wrong("snr_db", snr, "a number from -60 to 100"),
                _ => Ok(()),
            },
        }
    }

    /// The copy of an utterance; its noise depends on the seed and its `place`.
    fn copy(&self, place: usize, one: &Utterance) -> Result<Utterance> {
        let random = Random::new(self.seed).fork(place as u64);
        let noise = self.snr_db.map(|snr_db| Noise { snr_db, red: self.red, random });
        let line = if self.telephone { Line::Telephone } else { Line::Direct };
        let change = AudioChange { speed: self.speed, noise, line, gain_db: self.gain_db };
        let samples = change.apply(&one.audio.read(self.sample_rate_hz)?.samples, self.sample_rate_hz)?;
        let path = self.output.join(format!("{place:06}.wav"));
        let bytes = audio::wav_bytes(&samples, self.sample_rate_hz)?;
        formats::atomic::write(&path, |file| file.write_all(&bytes))?;
        Ok(Utterance { audio: Clip::whole(absolute(&path)), seconds: None, ..one.clone() })
    }
}

/// A path that a manifest elsewhere can hold.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
