//! Posteriors that anyone's network computed, to phones: our priors, graph and search.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use senone::data::files as folders;
use senone::data::posteriors::{self, NetworkOutput, NetworkOutputs};
use senone::emission::{LogPosteriors, PosteriorKind};
use senone::matrix::Matrix;
use senone::{Error, Result};

use super::DecodeArgs;
use super::extras::Heard;
use super::model::Model;
use super::output::{Heading, Said, Sink, Told};
use crate::cli::Outcome;

/// Posteriors in place of audio.
#[derive(Debug, Args)]
#[command(next_help_heading = "Posteriors of another network, in place of audio")]
pub struct PosteriorArgs {
    /// Decode these [frames x pdfs]: .npy files, Kaldi archives and scripts, folders of .npy and .ark, or -; once for each
    ///
    /// A file is known by its content: .npy of f32 or f64; a Kaldi archive in text or binary, compressed or not; a Kaldi
    /// script of such matrices. A .npy file is one utterance, named after the file.
    #[arg(long, value_name = "FILE")]
    #[cfg_attr(not(feature = "neural"), arg(required = true))]
    posteriors: Vec<PathBuf>,
    /// What the values are [default: log or probability, as rows sum to 1]
    #[arg(long, value_name = "KIND", value_enum, requires = "posteriors")]
    posterior_kind: Option<KindName>,
    /// State priors, a number for each pdf: natural logs if any is negative, else frame counts or probabilities
    ///
    /// Text (a Kaldi vector in brackets or one number a line), a Kaldi vector in binary, or .npy. A pdf of count 0 is never
    /// recognised. Without this, the model's priors are taken; with --graph and without --model, posteriors are used as
    /// they are (prior scale 0).
    #[arg(long, value_name = "FILE", requires = "posteriors")]
    pub priors: Option<PathBuf>,
    /// Milliseconds from one frame to the next [default: 10 with --graph alone, else the model's]
    #[arg(long, value_name = "X", allow_negative_numbers = true, requires = "posteriors")]
    pub frame_shift_ms: Option<f64>,
}

/// Names of [`PosteriorKind`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KindName {
    /// Natural logs of posteriors
    Log,
    /// Posteriors
    Probability,
    /// Log-likelihoods, up to a constant: no priors are taken off
    Likelihood,
}

impl From<KindName> for PosteriorKind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Log => Self::Log,
            KindName::Probability => Self::Probability,
            KindName::Likelihood => Self::Likelihood,
        }
    }
}

impl PosteriorArgs {
    /// Whether posteriors are to be decoded, and not audio.
    #[cfg(feature = "neural")]
    pub fn are_given(&self) -> bool {
        !self.posteriors.is_empty()
    }

    /// Whether the user says that the values are likelihoods.
    pub fn are_likelihoods(&self) -> bool {
        self.posterior_kind == Some(KindName::Likelihood)
    }
}

/// Decodes all posteriors; output keeps the order of the inputs.
pub fn run(args: &DecodeArgs) -> Result<Outcome> {
    let files = files(args)?;
    let kind = args.posteriors.posterior_kind.map(PosteriorKind::from);
    args.extras.check(&args.output, None)?;
    let decoder = Decoder { model: Model::new(args)?, kind, args };
    args.extras.prepare(decoder.model.searcher.graph())?;
    args.output.check_tier(decoder.model.searcher.graph())?;
    args.output.syllables.check(decoder.model.searcher.symbols())?;
    args.output.make_folder()?;
    let mut outputs: NetworkOutputs = Box::new(files.into_iter().flat_map(|file| open(&file)));
    let first = next_batch(&mut outputs);
    args.output.check_count(first.len())?;
    let heading = if first.len() > 1 { Heading::Name } else { Heading::None };
    let mut sink = Sink::new((&args.output, decoder.model.searcher.symbols()), heading)?;
    let all = decode_all(&decoder, (first, outputs), &mut sink);
    sink.outcome(all, "utterances")
}

/// The files that are named, folders replaced by what is in them.
fn files(args: &DecodeArgs) -> Result<Vec<PathBuf>> {
    #[cfg(feature = "neural")]
    if let Some(audio) = args.recordings.audio.first() {
        return Err(Error::Other(format!(
            "{}: audio is not decoded together with posteriors: write --posteriors before each file of posteriors, or before \
             a folder of them",
            audio.display()
        )));
    }
    let mut files = Vec::new();
    for named in &args.posteriors.posteriors {
        match named.is_dir() {
            true => files.extend(folders::files(named, is_posteriors_name, ".npy or .ark files")?),
            false => files.push(named.clone()),
        }
    }
    match files.iter().filter(|file| is_standard_input(file)).count() {
        0 | 1 => Ok(files),
        _ => Err(Error::Other("standard input (-) can be read only once".into())),
    }
}

fn is_posteriors_name(path: &Path) -> bool {
    let known = |extension: &std::ffi::OsStr| ["npy", "ark"].iter().any(|known| extension.eq_ignore_ascii_case(known));
    path.extension().is_some_and(known)
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn open(path: &Path) -> NetworkOutputs {
    match is_standard_input(path) {
        true => posteriors::read(path, std::io::stdin().lock()),
        false => posteriors::open(path),
    }
}

/// Most utterances, and most posteriors, that are read before they are decoded.
const BATCH: (usize, usize) = (64, 1 << 23);

/// The next utterances: two at least, if there are two, so that the first batch tells whether there are several.
fn next_batch(outputs: &mut NetworkOutputs) -> Vec<NetworkOutput> {
    let (mut batch, mut cells) = (Vec::new(), 0);
    while batch.len() < 2 || batch.len() < BATCH.0 && cells < BATCH.1 {
        let Some(output) = outputs.next() else { break };
        cells += output.matrix.as_ref().map_or(0, |matrix| matrix.as_slice().len());
        batch.push(output);
    }
    batch
}

/// Decodes batch by batch, `first` being the first.
fn decode_all(
    decoder: &Decoder<'_>,
    (first, mut outputs): (Vec<NetworkOutput>, NetworkOutputs),
    sink: &mut Sink<'_>,
) -> Result<()> {
    let mut names = BTreeSet::new();
    let mut batch = first;
    while !batch.is_empty() {
        for output in &mut batch {
            let name = sink.args().name_of(&output.utterance).unwrap_or_else(|| output.utterance.clone());
            if !names.insert(name) {
                let reason = "an utterance of this name came before: names must differ".to_owned();
                output.matrix = Err(in_utterance(output, Error::Other(reason)));
            }
        }
        let decoded: Vec<(String, Result<Told>)> = batch.into_par_iter().map(|output| decoder.decode(output)).collect();
        for (place, result) in decoded {
            sink.take(&place, result)?;
        }
        batch = next_batch(&mut outputs);
    }
    Ok(())
}

/// `error` with the place of `output`.
fn in_utterance(output: &NetworkOutput, error: Error) -> Error {
    let (path, utterance) = (output.path.clone(), output.utterance.clone());
    Error::Utterance { path, utterance, source: Box::new(error) }
}

/// What makes phones of posteriors, and what these are.
struct Decoder<'a> {
    model: Model,
    kind: Option<PosteriorKind>,
    args: &'a DecodeArgs,
}

impl Decoder<'_> {
    /// The phones of `output`, and the place that is said of them.
    fn decode(&self, mut output: NetworkOutput) -> (String, Result<Told>) {
        let matrix = std::mem::replace(&mut output.matrix, Ok(Matrix::default()));
        let told = matrix
            .and_then(|matrix| self.alignment(&output.utterance, matrix).map_err(|error| in_utterance(&output, error)));
        (format!("{}: utterance {}", output.path.display(), output.utterance), told)
    }

    fn alignment(&self, utterance: &str, matrix: Matrix) -> Result<Told> {
        let (network, graph) = (matrix.cols(), self.model.searcher.pdfs());
        if matrix.rows() > 0 && network != graph {
            return Err(Error::PdfCount { network, graph });
        }
        let posteriors = LogPosteriors::from_output(matrix, self.kind)?;
        let decoded = self.model.searcher.decode(&posteriors, self.model.timing)?;
        let notices = decoded.retries.iter().map(|retry| (retry.to_string(), Said::Always)).collect();
        let Model { searcher, timing } = &self.model;
        let heard = Heard { searcher, posteriors: &posteriors, timing: *timing };
        Ok((self.args.extras.take(&heard, decoded, (utterance, &self.args.output))?, notices))
    }
}
