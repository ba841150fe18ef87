//! What is wanted of a recording beside its best path: confidences, the N best sequences, lattices, the network's output.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use senone::alignment::Alignment;
use senone::emission::LogPosteriors;
use senone::formats;
use senone::formats::lattice::{LabelledLattice, write_openfst, write_slf, write_times};
#[cfg(feature = "neural")]
use senone::formats::npy;
use senone::graph::Graph;
use senone::graph::openfst::symbol_table;
use senone::search::{ConfidenceSettings, DecodeOptions, Decoded, GuessUnit, Searcher};
use senone::symbols::SymbolTable;
use senone::timing::FrameTiming;
use senone::{Error, Result};

use super::output::{FormatName, OutputArgs, TierName};

/// More than the best path.
#[derive(Debug, Args)]
#[command(next_help_heading = "More than the best path")]
pub struct ExtraArgs {
    /// Rate each phone and word: how probable it is, 0 to 1, that it is right
    ///
    /// Of a phone: the posterior of its symbol by forward and backward over all paths of the beam, averaged over its frames; of a word:
    /// the posterior that it ends about there. Both are mapped as [confidence] of the model's bundle.toml says, which `senone tune` fits
    /// to right and wrong phones of development recordings. The rating is a column of text, CTM and TSV, and a key of JSON.
    #[arg(long, conflicts_with = "no_graph")]
    confidence: bool,
    /// Print the N best sequences with their scores (natural log) instead of times: words where the graph has some, else phones
    ///
    /// As text a line `rank score labels`; with --format json the key `nbest` beside the tiers. Memory grows with the recording, as with
    /// --lattice.
    #[arg(long, value_name = "N", conflicts_with = "no_graph", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nbest: Option<u32>,
    /// Write a lattice of phones (and words) for each utterance into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "no_graph")]
    lattice: Option<PathBuf>,
    /// How lattices are written
    #[arg(long, value_enum, default_value_t = LatticeFormat::Slf, requires = "lattice")]
    lattice_format: LatticeFormat,
    /// Paths that score this much less than the best are left out of lattices, natural log
    #[arg(long, value_name = "X", default_value_t = 8.0, requires = "lattice")]
    lattice_beam: f32,
    /// Write the network's output, log-posteriors [frames x pdfs], as NumPy arrays: into this folder, or this one file NAME.npy. Each
    /// can be decoded again with --posteriors
    #[cfg(feature = "neural")]
    #[arg(long, value_name = "OUT", conflicts_with = "posteriors")]
    posteriorgram: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LatticeFormat {
    /// HTK's standard lattice format, NAME.slf
    Slf,
    /// OpenFst's text with weights `graph,acoustic` as in Kaldi, NAME.fst.txt, and the times of its states, NAME.times.txt
    Openfst,
}

/// A recording that was decoded: the searcher, what the network says, and its times.
pub struct Heard<'a> {
    pub searcher: &'a Searcher,
    pub posteriors: &'a LogPosteriors,
    pub timing: FrameTiming,
}

impl ExtraArgs {
    /// `options` with the ratings that are wanted, by the model's `own` settings.
    pub fn rated(&self, options: DecodeOptions, own: ConfidenceSettings) -> DecodeOptions {
        DecodeOptions { confidence: self.confidence.then_some(own), ..options }
    }

    /// Whether the network's output is needed when a recording is decoded.
    #[cfg(feature = "neural")]
    pub fn need_posteriors(&self) -> bool {
        self.nbest.is_some() || self.lattice.is_some() || self.posteriorgram.is_some()
    }

    /// Whether what is wanted goes together, for `count` utterances (if it is known).
    pub fn check(&self, output: &OutputArgs, count: Option<usize>) -> Result<()> {
        let wrong = |reason: &str| Err(Error::Other(reason.to_owned()));
        if !(self.lattice_beam >= 0.0 && self.lattice_beam.is_finite()) {
            let value = self.lattice_beam.to_string();
            return Err(Error::Setting { key: "lattice beam", value, expected: "a number from 0 up" });
        }
        if self.nbest.is_some() && !matches!(output.format, FormatName::Text | FormatName::Json) {
            return wrong("--nbest is printed as text or JSON: leave out --format, or give --format json");
        }
        if self.nbest.is_some() && output.syllables.are_wanted() {
            return wrong("--nbest, beside --units syllable: sequences are of phones or words, leave one out");
        }
        #[cfg(feature = "neural")]
        if self.posteriorgram.as_deref().is_some_and(is_npy) && count.is_some_and(|count| count != 1) {
            return wrong("--posteriorgram names one file, and there are several recordings: name a folder");
        }
        let _ = count;
        Ok(())
    }

    /// Makes the folders, and writes the tables of symbols that lattices of OpenFst go by.
    pub fn prepare(&self, graph: &Graph) -> Result<()> {
        #[cfg(feature = "neural")]
        self.posteriorgram.iter().filter(|path| !is_npy(path)).try_for_each(|folder| make(folder))?;
        let Some(folder) = &self.lattice else { return Ok(()) };
        make(folder)?;
        if self.lattice_format == LatticeFormat::Openfst {
            write_text(&folder.join("phones.txt"), &symbol_table(graph.symbols()))?;
            if !graph.words().is_empty() {
                let words: SymbolTable = graph.words().iter().map(|word| word.text.as_str()).collect();
                write_text(&folder.join("words.txt"), &symbol_table(&words))?;
            }
        }
        Ok(())
    }

    /// Names of the files of an utterance; two utterances may not share one.
    pub fn name_of(&self, utterance: &str) -> Option<String> {
        #[cfg(feature = "neural")]
        let is_wanted = self.lattice.is_some() || self.posteriorgram.is_some();
        #[cfg(not(feature = "neural"))]
        let is_wanted = self.lattice.is_some();
        is_wanted.then(|| utterance.replace(['/', '\\'], "_"))
    }

    /// Writes what is wanted of an utterance that was `decoded`, and gives it as an alignment with its best sequences.
    pub fn take(&self, heard: &Heard, decoded: Decoded, (utterance, output): (&str, &OutputArgs)) -> Result<Alignment> {
        let Heard { searcher, posteriors, timing } = *heard;
        let mut nbest = vec![];
        if self.nbest.is_some() || self.lattice.is_some() {
            let recording = searcher.recording(posteriors, &decoded.retries)?;
            if let Some(count) = self.nbest {
                let unit = if output.tier == Some(TierName::Phones) { GuessUnit::Phones } else { searcher.unit() };
                nbest = searcher.best_sequences(&recording, (count as usize, unit));
            }
            if let Some(folder) = &self.lattice {
                let times = (utterance, timing, decoded.samples);
                self.write_lattice(folder, &searcher.lattice(&recording, self.lattice_beam, times))?;
            }
        }
        #[cfg(feature = "neural")]
        if let Some(path) = &self.posteriorgram {
            let name = || path.join(format!("{}.npy", utterance.replace(['/', '\\'], "_")));
            npy::write(&if is_npy(path) { path.clone() } else { name() }, &posteriors.0)?;
        }
        Ok(Alignment { nbest, ..decoded.into_alignment(utterance, timing.sample_rate) })
    }

    fn write_lattice(&self, folder: &Path, lattice: &LabelledLattice) -> Result<()> {
        let path = |ending: &str| {
            let name = self.name_of(&lattice.utterance).unwrap_or_default();
            folder.join(format!("{name}.{ending}"))
        };
        match self.lattice_format {
            LatticeFormat::Slf => formats::atomic::write(&path("slf"), |out| write_slf(lattice, out)),
            LatticeFormat::Openfst => {
                formats::atomic::write(&path("fst.txt"), |out| write_openfst(lattice, out))?;
                formats::atomic::write(&path("times.txt"), |out| write_times(lattice, out))
            }
        }
    }
}

#[cfg(feature = "neural")]
fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| Error::io("create", folder, source))
}

fn write_text(path: &Path, text: &str) -> Result<()> {
    formats::atomic::write(path, |out| out.write_all(text.as_bytes()))
}
