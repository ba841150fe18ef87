//! Recordings to phones and words: the whole journey, with a model.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rayon::prelude::*;
use senone::audio::{Channel, Reader};
use senone::bundle::{self, Bundle};
use senone::decode::{Decoded, Decoder, Recogniser};
use senone::emission::LogPosteriors;
use senone::graph::GraphSpec;
use senone::symbols::{PdfId, SymbolId};
use senone::{Error, Result};

use super::extras::Heard;
use super::output::{Heading, Notices, Said, Sink, Told};
use super::{DecodeArgs, stream};
use crate::cli::inputs::{self, Input};
use crate::cli::{Outcome, say};

/// What to decode, and with which model.
#[derive(Debug, Args)]
pub struct RecordingArgs {
    /// WAV, FLAC, Ogg, MP3, AIFF, SPHERE files, folders of them, corpora (manifests .tsv, Kaldi data folders, LibriSpeech,
    /// TIMIT, THCHS-30, AISHELL-1), or - for standard input
    #[arg(required_unless_present = "posteriors", value_name = "AUDIO")]
    pub audio: Vec<PathBuf>,
    /// The model's folder [default: the built-in English model]
    #[arg(long, value_name = "DIR")]
    pub model: Option<PathBuf>,
    /// Phone n-gram (ARPA) in place of the model's own
    #[arg(long, value_name = "FILE", conflicts_with = "no_graph")]
    ngram: Option<PathBuf>,
    /// Take this channel (1 is the first) instead of mixing all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "posteriors")]
    channel: Option<u16>,
}

impl RecordingArgs {
    /// The model, with the n-gram that was asked for.
    pub fn bundle(&self) -> Result<Bundle> {
        let bundle = bundle::open_or_builtin(self.model.as_ref())?;
        match &self.ngram {
            Some(path) => bundle.with_ngram(path),
            None => Ok(bundle),
        }
    }

    /// Opens `input`, to be read at `rate_hz`.
    pub fn reader(&self, input: &Input, (rate_hz, raw_hz): (u32, Option<u32>)) -> Result<Reader> {
        let channel = self.channel.map(|number| Channel::Only(usize::from(number) - 1));
        match raw_hz {
            Some(raw_hz) => input.open_raw((raw_hz, rate_hz)),
            None => input.open(rate_hz, channel),
        }
    }
}

/// Recordings decoded before their output is written.
const BATCH_FILES: usize = 64;

/// Decodes all recordings; output keeps the order of the inputs.
pub fn run(args: &DecodeArgs) -> Result<Outcome> {
    let inputs = inputs::expand(&args.recordings.audio)?;
    check(args, &inputs)?;
    let recogniser = recogniser(args)?;
    args.extras.prepare(recogniser.graph())?;
    args.output.check_tier(recogniser.graph())?;
    args.output.syllables.check(recogniser.graph().symbols())?;
    if args.stream.stream {
        return stream::run(args, (&recogniser, &inputs));
    }
    let heading = if inputs.len() > 1 { Heading::Name } else { Heading::None };
    let mut sink = Sink::new((&args.output, recogniser.bundle().graph.symbols()), heading)?;
    let all = decode_all(&recogniser, (args, &inputs), &mut sink);
    sink.outcome(all, "recordings")
}

/// The model, with its own graph or the one that was asked for.
fn recogniser(args: &DecodeArgs) -> Result<Recogniser> {
    let bundle = args.recordings.bundle()?;
    let (own, confidence) = (bundle.description.search, bundle.description.confidence);
    match &args.search.graph {
        None => Recogniser::new(Arc::new(bundle), args.extras.rated(args.search.options(own)?, confidence)),
        Some(_) if args.search.no_graph => {
            Err(Error::Other("--graph has no use with --no-graph: leave one out".into()))
        }
        Some(path) => {
            let spec = GraphSpec::read_on(path, || Ok(bundle.graph.clone()))?;
            let options = args.extras.rated(args.search.options_with(&spec, own)?, confidence);
            let unknown = spec.lexicon().and_then(|lexicon| lexicon.unknown);
            let recogniser = Recogniser::constrained(Arc::new(bundle), spec, options)?;
            unknown.into_iter().for_each(|symbol| say_if_unheard(&recogniser, symbol, path));
            Ok(recogniser)
        }
    }
}

/// Says so where the model cannot hear the `symbol` that the graph file at `path` lets stand for unknown words.
fn say_if_unheard(recogniser: &Recogniser, symbol: SymbolId, path: &Path) {
    let bundle = recogniser.bundle();
    let Bundle { graph, priors, .. } = bundle;
    let dead: BTreeSet<PdfId> = priors.dead().collect();
    if graph.pdfs_of(symbol).all(|pdf| dead.contains(&pdf)) {
        let (path, name) = (path.display(), graph.symbols().name(symbol));
        let why = match bundle.filler() == Some(symbol) {
            true => format!("{name} is the model's filler, which takes the place of unknown words in alignment only"),
            false => format!("the model has never heard {name}"),
        };
        say(format_args!(
            "senone: {path}: {why}, so that no word is recognised as {name}, which `unknown` of [lexicon] names"
        ));
    }
}

fn check(args: &DecodeArgs, inputs: &[Input]) -> Result<()> {
    if inputs.iter().filter(|input| input.is_stdin()).count() > 1 {
        return Err(Error::Other("standard input (-) can be read only once".into()));
    }
    args.output.check_count(inputs.len())?;
    args.extras.check(&args.output, Some(inputs.len()))?;
    inputs::check_names(inputs, |utterance| args.extras.name_of(utterance))?;
    inputs::check_names(inputs, |utterance| args.output.name_of(utterance))?;
    inputs::check_beside(inputs, |utterance| args.output.path_of(utterance))?;
    args.output.make_folder()
}

/// Decodes batch by batch.
fn decode_all(recogniser: &Recogniser, (args, inputs): (&DecodeArgs, &[Input]), sink: &mut Sink<'_>) -> Result<()> {
    for batch in inputs.chunks(BATCH_FILES) {
        let decoded: Vec<_> = batch.par_iter().map(|input| decode(recogniser, args, input)).collect();
        for (input, result) in batch.iter().zip(decoded) {
            sink.take(&input.place(), result)?;
        }
    }
    Ok(())
}

fn decode(recogniser: &Recogniser, args: &DecodeArgs, input: &Input) -> Result<Told> {
    let rate = recogniser.bundle().description.features.sample_rate_hz;
    let in_file = |error: Error| match error {
        Error::Audio { .. } | Error::Io { .. } => error,
        other => Error::Audio { path: input.path().to_owned(), reason: other.to_string() },
    };
    let mut notices = vec![];
    let mut arrived = Arrived::default();
    let mut play = |take: &mut dyn FnMut(&[f32]) -> Result<()>| {
        if !arrived.samples.is_empty() {
            return arrived.samples.chunks(BLOCK_SAMPLES).try_for_each(take);
        }
        let mut reader = args.recordings.reader(input, (rate, args.stream.raw))?;
        while let Some(samples) = reader.next_block()? {
            if input.is_stdin() {
                arrived.keep(&samples);
            }
            take(&samples)?;
        }
        notices = reader.notices().iter().map(Said::of_notice).collect();
        Ok(())
    };
    let heard = match args.extras.need_posteriors() {
        true => whole(recogniser, &mut play).map(|(decoded, posteriors)| (decoded, Some(posteriors))),
        false => {
            let all = |decoder: &mut Decoder| play(&mut |samples| decoder.push(samples).map(drop));
            recogniser.decode_played(all).map(|decoded| (decoded, None))
        }
    };
    let (decoded, posteriors) = heard.map_err(in_file)?;
    let retries = decoded.retries.iter().map(|retry| (retry.to_string(), Said::Always)).collect();
    notices.extend::<Notices>(retries);
    let alignment = match &posteriors {
        Some(posteriors) => {
            let heard = Heard { searcher: recogniser.searcher(), posteriors, timing: recogniser.bundle().timing() };
            args.extras.take(&heard, decoded, (&input.utterance, &args.output))?
        }
        None => decoded.into_alignment(&input.utterance, rate),
    };
    Ok((alignment, notices))
}

/// Samples of standard input, which cannot be read again: those of a recording that is not too long.
#[derive(Default)]
struct Arrived {
    samples: Vec<f32>,
    is_too_long: bool,
}

/// Ten minutes at 16 kHz.
const MOST_SAMPLES: usize = 9_600_000;
/// Samples that are handed on at once.
const BLOCK_SAMPLES: usize = 160_000;

impl Arrived {
    fn keep(&mut self, samples: &[f32]) {
        self.is_too_long |= self.samples.len() + samples.len() > MOST_SAMPLES;
        match self.is_too_long {
            true => self.samples = vec![],
            false => self.samples.extend_from_slice(samples),
        }
    }
}

/// Hands out a recording from its beginning, block by block.
type Play<'a> = dyn FnMut(&mut dyn FnMut(&[f32]) -> Result<()>) -> Result<()> + 'a;

/// Decodes a recording, and keeps what the network says of it.
fn whole(recogniser: &Recogniser, play: &mut Play) -> Result<(Decoded, LogPosteriors)> {
    let mut samples = vec![];
    play(&mut |block| {
        samples.extend_from_slice(block);
        Ok(())
    })?;
    let (bundle, count) = (recogniser.bundle(), samples.len() as u64);
    let posteriors = senone::decode::posteriors(bundle, &samples)?;
    let decoded = recogniser.searcher().decode_within(&posteriors, (bundle.timing(), count))?;
    Ok((decoded, posteriors))
}
