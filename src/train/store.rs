//! What training hears: features of all utterances, made once and then mapped from an archive in the work folder, and the recordings
//! themselves where augmentation changes them.

use std::path::Path;
use std::sync::Arc;

use super::config::TrainConfig;
use super::{Event, Origin, Progress, context, gaussian};
use crate::audio::{Audio, Clip, read_clips};
use crate::data::archive::{Archive, Draft};
use crate::features::{FeatureConfig, Moments, extract, extract_warped, normalise};
use crate::learn::neural::{Change, Recording};
use crate::matrix::Matrix;
use crate::{Error, Result};

/// Name of the archive in the work folder.
pub(super) const ARCHIVE: &str = "features.safetensors";

/// Recordings read before their features are written.
const BLOCK: usize = 256;

/// An utterance before its audio is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) clip: &'a Clip,
    pub(super) role: Role,
}

/// What an utterance is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// To learn from.
    Training,
    /// To tune on.
    Development,
}

/// What was made of one recording.
pub(super) struct Heard {
    /// Normalised frames of the network, `[T x D]`, in the archive.
    pub(super) frames: Matrix,
    /// Frames of the Gaussian model as they are, where they are wanted.
    pub(super) gmm_frames: Matrix,
    /// Length in samples.
    pub(super) samples: u64,
    /// The recording, where it was kept.
    pub(super) again: Option<Again>,
}

/// A recording that can be heard again, changed.
#[derive(Debug)]
pub struct Again {
    name: String,
    ear: Arc<Ear>,
}

/// What all recordings are heard with.
#[derive(Debug)]
struct Ear {
    archive: Archive,
    features: FeatureConfig,
    moments: Moments,
}

impl Recording for Again {
    fn changed(&self, change: &Change) -> Result<Matrix> {
        let Ear { archive, features, moments } = &*self.ear;
        let missing = || Error::Other(format!("the recording of {} is not in the archive of features", self.name));
        let samples = archive.samples(&self.name).ok_or_else(missing)?;
        let samples = change.audio.apply(&samples, features.sample_rate_hz)?;
        let mut frames = extract_warped(features, &samples, change.warp)?;
        normalise(features, &mut frames, Some(moments))?;
        Ok(frames)
    }
}

/// A run's settings, and the model that it starts from, if there is one.
pub(super) type Run<'a> = (&'a TrainConfig, Option<Origin<'a>>);

/// Features of `sources`, in their order, and the moments that those of the network are normalised with: from the archive in
/// the folder `work` when it is of the same recordings as they are now, else made anew.
///
/// # Errors
/// When the archive cannot be read or written.
pub(super) fn hear(
    run: Run<'_>,
    (sources, work): (&[Source<'_>], &Path),
    progress: &mut Progress<'_>,
) -> Result<(Vec<Result<Heard>>, Moments)> {
    let path = work.join(ARCHIVE);
    let digest = digest(run, sources);
    if path.exists() && !wants_gaussian(run, work) {
        let archive = Archive::open(&path)?;
        if let Some(about) = About::parse(archive.about()).filter(|about| about.digest == digest) {
            progress(Event::Resumed("features".into()));
            let plain = sources.iter().map(|_| Ok(Matrix::default())).collect();
            return taken((run, sources), (archive, about), plain);
        }
    }
    progress(Event::Reading { utterances: sources.len() });
    let draft = Draft::create(&work.join(ARCHIVE).with_extension("draft"))?;
    let mut making = Making { run, draft, about: About::new(digest, run.0.features.dim()), gaussian: Vec::new() };
    for block in sources.chunks(BLOCK) {
        making.read(block, wants_gaussian(run, work))?;
    }
    let Making { draft, mut about, gaussian, .. } = making;
    if let Some(moments) = run.1.and_then(|origin| origin.moments(run.0)) {
        about.moments = moments.clone();
    }
    if about.moments.count == 0.0 {
        let unheard = gaussian.into_iter().filter_map(|made| made.err().map(Err)).collect();
        return Ok((unheard, about.moments));
    }
    let normalised = |frames: &mut Matrix| normalise(&run.0.features, frames, Some(&about.moments));
    draft.finish(&path, (&about.to_text(), &normalised))?;
    taken((run, sources), (Archive::open(&path)?, about), gaussian)
}

/// Whether the Gaussian model, or the tree that ties states by its features, is still to be made.
fn wants_gaussian((config, origin): Run<'_>, work: &Path) -> bool {
    let is_there = |name: &str| work.join(name).exists();
    let done = is_there(gaussian::ALIGNMENT) && (config.context.is_none() || is_there(context::TREE));
    config.gmm.is_some() && origin.and_then(Origin::whole).is_none() && !done
}

/// Whether some epoch changes recordings.
fn keeps_recordings(config: &TrainConfig) -> bool {
    config.trainings().any(|training| training.augment.changes_recordings())
}

/// Features on their way into the archive.
struct Making<'a> {
    run: Run<'a>,
    draft: Draft,
    about: About,
    /// Of each source so far, empty where they are not wanted.
    gaussian: Vec<Result<Matrix>>,
}

impl Making<'_> {
    /// Reads a block of recordings.
    fn read(&mut self, sources: &[Source<'_>], wants_gaussian: bool) -> Result<()> {
        let config = self.run.0;
        let gmm = config.gmm.as_ref().filter(|_| wants_gaussian).map(|gmm| &gmm.features);
        let clips: Vec<&Clip> = sources.iter().map(|source| source.clip).collect();
        let of = |_: usize, audio: Result<Audio>| -> Result<(Vec<f32>, Matrix, Matrix)> {
            let samples = audio?.samples;
            let frames = features(&config.features, &samples)?;
            let gmm_frames = gmm.map_or(Ok(Matrix::default()), |gmm| features(gmm, &samples))?;
            Ok((samples, frames, gmm_frames))
        };
        for (source, made) in sources.iter().zip(read_clips(&clips, config.features.sample_rate_hz, of)) {
            let made = made.map(|(samples, frames, gmm_frames)| (self.keep(source, (&samples, &frames)), gmm_frames));
            self.gaussian.push(match made {
                Ok((kept, gmm_frames)) => kept.map(|()| Ok(gmm_frames))?,
                Err(error) => Err(error),
            });
        }
        Ok(())
    }

    fn keep(&mut self, source: &Source<'_>, (samples, frames): (&[f32], &Matrix)) -> Result<()> {
        let learns = source.role == Role::Training;
        if learns {
            self.about.moments.accumulate(frames);
        }
        self.about.samples.push((source.name.to_owned(), samples.len() as u64));
        let recording = (learns && keeps_recordings(self.run.0)).then_some(samples);
        self.draft.push(source.name, frames, recording)
    }
}

fn features(config: &FeatureConfig, samples: &[f32]) -> Result<Matrix> {
    let frames = extract(config, samples)?;
    match frames.first_not_finite() {
        Some(frame) => Err(Error::NotFinite { what: "features", frame }),
        None if frames.rows() == 0 => Err(Error::Other(format!("only {} samples: less than one frame", samples.len()))),
        None => Ok(frames),
    }
}

/// What the archive has of each source, beside its Gaussian frames or why it could not be read.
///
/// # Errors
/// When the archive lacks frames of which it tells.
fn taken(
    ((config, _), sources): (Run<'_>, &[Source<'_>]),
    (archive, about): (Archive, About),
    gaussian: Vec<Result<Matrix>>,
) -> Result<(Vec<Result<Heard>>, Moments)> {
    let moments = about.moments.clone();
    let lengths: std::collections::BTreeMap<&str, u64> = about.samples.iter().map(|(name, n)| (&**name, *n)).collect();
    let ear = Arc::new(Ear { archive, features: config.features.clone(), moments: about.moments.clone() });
    let one = |(source, gmm_frames): (&Source<'_>, Result<Matrix>)| {
        let unread = || Error::Other("it could not be read when the features were made".into());
        let length = || lengths.get(source.name).copied().ok_or_else(unread);
        let (gmm_frames, samples) = match gmm_frames.and_then(|frames| Ok((frames, length()?))) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let again = (source.role == Role::Training && keeps_recordings(config))
            .then(|| Again { name: source.name.to_owned(), ear: Arc::clone(&ear) });
        Ok(Ok(Heard { frames: ear.archive.frames(source.name)?, gmm_frames, samples, again }))
    };
    Ok((sources.iter().zip(gaussian).map(one).collect::<Result<_>>()?, moments))
}

/// What an archive says of itself.
struct About {
    /// Of settings and recordings.
    digest: String,
    moments: Moments,
    /// Length of every recording.
    samples: Vec<(String, u64)>,
}

impl About {
    fn new(digest: String, dim: usize) -> Self {
        Self { digest, moments: Moments::new(dim), samples: Vec::new() }
    }

    /// Lines: digest; a digest of all that follows; frames, sums and sums of squares of the moments; a line for each recording.
    fn to_text(&self) -> String {
        let list = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
        let Moments { count, sum, square } = &self.moments;
        let mut text = format!("{count}\n{}\n{}\n", list(sum), list(square));
        self.samples.iter().for_each(|(name, samples)| text.push_str(&format!("{samples} {name}\n")));
        format!("{}\n{}\n{text}", self.digest, seal(&text))
    }

    /// What [`About::to_text`] told; `None` when the text is not that, to the last bit.
    fn parse(text: &str) -> Option<Self> {
        let (digest, text) = text.split_once('\n')?;
        let (digest, text) = (digest.to_owned(), text.split_once('\n').filter(|(found, text)| *found == seal(text))?.1);
        let mut lines = text.lines();
        let count = lines.next()?.parse().ok()?;
        let mut list = || lines.next()?.split(' ').map(|value| value.parse().ok()).collect::<Option<Vec<f64>>>();
        let moments = Moments { count, sum: list()?, square: list()? };
        let row = |line: &str| line.split_once(' ').and_then(|(n, name)| Some((name.to_owned(), n.parse().ok()?)));
        Some(Self { digest, moments, samples: lines.map(row).collect::<Option<_>>()? })
    }
}

/// What tells whether `text` is as it was written.
fn seal(text: &str) -> String {
    format!("{:016x}", super::digest(text.bytes()))
}

/// Changes when the settings of features do, or a recording: its place, part, length or time of change.
fn digest((config, origin): Run<'_>, sources: &[Source<'_>]) -> String {
    let recording = |source: &Source<'_>| {
        let file = std::fs::metadata(&source.clip.path).ok();
        let changed = file.as_ref().and_then(|file| file.modified().ok());
        format!("{source:?} {:?} {changed:?}\n", file.map(|file| file.len()))
    };
    let moments = origin.and_then(|origin| origin.moments(config));
    let head = format!("{:?} {moments:?} {}\n", config.features, keeps_recordings(config));
    let all = std::iter::once(head).chain(sources.iter().map(recording));
    format!("{:016x}", super::digest(all.flat_map(String::into_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_archive_says_is_read_again_to_the_bit() {
        let mut about = About::new("ab".into(), 2);
        about.moments = Moments { count: 7.0, sum: vec![0.1, -3e-9], square: vec![1.0 / 3.0, 1e300] };
        about.samples = vec![("a b".into(), 16_000), ("c".into(), 1)];
        let again = About::parse(&about.to_text()).unwrap();
        assert!(About::parse(&about.to_text().replace("16000", "16001")).is_none());
        assert_eq!((again.moments, again.samples, &*again.digest), (about.moments, about.samples, "ab"));
        assert!(About::parse("").is_none() && About::parse("ab\n7\n1 x\n2 3\n").is_none());
    }
}
