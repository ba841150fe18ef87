//! A tagger as one file: safetensors, with what is text in the one entry `about` of its metadata, as TOML (more entries would come
//! in an order that differs from run to run), and the features' names as bytes.
//!
//! | part | what |
//! |---|---|
//! | `format`, `learner` in `about` | version of the layout; name of the learner |
//! | `template` | the template file |
//! | `graph`, `tags` | the graph file; or, where every tag may follow every tag, their names, one a line |
//! | `network`, `input`, `prior_scale` | shape of a network; values that it reads; weight of the priors under a hidden Markov model |
//! | `features` | names of the features, one a line, UTF-8 |
//! | `scorer.first`, `scorer.pdf` | which tags each feature scores, see [`SparseScorer::parts`] |
//! | `theta` | weights of features, then of transitions |
//! | `embedding`, `network.*`, `transitions`, `priors` | of a network instead of the last two |

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

#[cfg(feature = "neural")]
use half::f16;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::learner::{Learner, Source};
#[cfg(feature = "neural")]
use super::neural::NetworkScores;
use super::tagger::{Scores, Tagger};
use super::{FeatureMap, TagSet, Template};
use crate::emission::SparseScorer;
use crate::formats::atomic;
use crate::graph::GraphSpec;
use crate::mmap::Mapped;
use crate::{Error, Result, settings};

/// The version of the layout that this program writes and reads.
const FORMAT: &str = "senone tagger 1";

/// The entry of the metadata.
const ABOUT: &str = "about";

/// Why a file is no tagger.
pub(super) type Reason<T> = std::result::Result<T, String>;

/// Named tensors to write: type, shape, bytes.
pub(super) struct Pack(BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>);

impl Pack {
    fn text(&mut self, name: &str, text: &str) {
        self.0.insert(name.into(), (Dtype::U8, vec![text.len()], text.as_bytes().to_vec()));
    }

    fn whole_numbers(&mut self, name: &str, values: &[u32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.0.insert(name.into(), (Dtype::U32, vec![values.len()], bytes));
    }

    /// A tensor of `f32`.
    pub(super) fn floats(&mut self, name: &str, shape: Vec<usize>, values: impl Iterator<Item = f32>) {
        let bytes = values.flat_map(f32::to_le_bytes).collect();
        self.0.insert(name.into(), (Dtype::F32, shape, bytes));
    }

    /// A tensor of `f16`.
    #[cfg(feature = "neural")]
    pub(super) fn halves(&mut self, name: &str, shape: Vec<usize>, values: &[f32]) {
        let bytes = values.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect();
        self.0.insert(name.into(), (Dtype::F16, shape, bytes));
    }
}

/// A file's tensors to read.
pub(super) struct Unpack<'a>(SafeTensors<'a>);

impl Unpack<'_> {
    /// Names of all tensors.
    #[cfg(feature = "neural")]
    pub(super) fn names(&self) -> Vec<String> {
        self.0.names().into_iter().map(ToString::to_string).collect()
    }

    fn view(&self, name: &str, dtype: Dtype) -> Reason<TensorView<'_>> {
        let view = self.0.tensor(name).map_err(|_| format!("the tensor {name} is missing"))?;
        match view.dtype() == dtype {
            true => Ok(view),
            false => Err(format!("the tensor {name} has type {:?}, expected {dtype:?}", view.dtype())),
        }
    }

    fn text(&self, name: &str) -> Reason<String> {
        let bytes = self.view(name, Dtype::U8)?.data().to_vec();
        String::from_utf8(bytes).map_err(|_| format!("the tensor {name} is not UTF-8 text"))
    }

    fn whole_numbers(&self, name: &str) -> Reason<Vec<u32>> {
        let view = self.view(name, Dtype::U32)?;
        Ok(view.data().as_chunks::<4>().0.iter().map(|&chunk| u32::from_le_bytes(chunk)).collect())
    }

    /// Shape and values of a tensor of `f32`.
    pub(super) fn floats(&self, name: &str) -> Reason<(Vec<usize>, Vec<f32>)> {
        let view = self.view(name, Dtype::F32)?;
        let values = view.data().as_chunks::<4>().0.iter().map(|&chunk| f32::from_le_bytes(chunk)).collect();
        Ok((view.shape().to_vec(), values))
    }

    /// Shape and values of a tensor of `f16`.
    #[cfg(feature = "neural")]
    pub(super) fn halves(&self, name: &str) -> Reason<(Vec<usize>, Vec<f32>)> {
        let view = self.view(name, Dtype::F16)?;
        let values = view.data().as_chunks::<2>().0.iter().map(|&chunk| f16::from_le_bytes(chunk).to_f32()).collect();
        Ok((view.shape().to_vec(), values))
    }
}

impl Tagger {
    /// Writes the tagger to the file `path`, whole or not at all.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut about = BTreeMap::from([
            ("format".to_owned(), FORMAT.to_owned()),
            ("learner".to_owned(), self.learner.to_string()),
            ("template".to_owned(), self.features.template().text().to_owned()),
        ]);
        match self.tags.graph_text() {
            Some(text) => about.insert("graph".into(), text.into()),
            None => about.insert("tags".into(), self.tags.names().join("\n")),
        };
        let mut pack = Pack(BTreeMap::new());
        pack.text("features", &self.features.names().join("\n"));
        match &self.scores {
            Scores::Linear { scorer, theta } => {
                let (first, pdf) = scorer.parts();
                pack.whole_numbers("scorer.first", first);
                pack.whole_numbers("scorer.pdf", pdf);
                pack.floats("theta", vec![theta.len()], theta.iter().map(|&value| value as f32));
            }
            #[cfg(feature = "neural")]
            Scores::Network(network) => network.pack(&mut pack, &mut about)?,
        }
        let views = pack
            .0
            .iter()
            .map(|(name, (dtype, shape, bytes))| Ok((name.as_str(), TensorView::new(*dtype, shape.clone(), bytes)?)));
        let views = views.collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>();
        let about = settings::to_text(&about).map_err(Error::Other)?;
        let metadata = HashMap::from([(ABOUT.to_owned(), about)]);
        let bytes = views.and_then(|views| safetensors::serialize(views, Some(metadata)));
        let bytes = bytes.map_err(|error| Error::Other(format!("the tagger cannot be laid out: {error}")))?;
        atomic::write(path, |file| file.write_all(&bytes))
    }

    /// Reads what [`Tagger::write`] wrote.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Config`] when the file is no tagger, or a broken one.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = Mapped::open(path)?;
        Self::parse(&bytes).map_err(|reason| Error::Config { path: path.to_owned(), reason })
    }

    fn parse(bytes: &[u8]) -> Reason<Self> {
        let broken = |_| "is no tagger, or broken: expected a file that `senone tag train` wrote".to_owned();
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
        let unpack = Unpack(SafeTensors::deserialize(bytes).map_err(broken)?);
        let about = metadata.metadata().as_ref().and_then(|metadata| metadata.get(ABOUT));
        let about: BTreeMap<String, String> = settings::parse(about.map_or("", String::as_str))?;
        let entry = |key: &str| about.get(key).map(String::as_str).ok_or_else(|| format!("does not say its {key}"));
        match about.get("format").map(String::as_str) {
            Some(FORMAT) => {}
            Some(other) => return Err(format!("has the format {other:?}, expected {FORMAT:?}")),
            None => return Err("is no tagger: expected a file that `senone tag train` wrote".into()),
        }
        let say = |error: Error| error.to_string();
        let learner: Learner = entry("learner")?.parse().map_err(say)?;
        let template = Template::parse_as("template".as_ref(), entry("template")?).map_err(say)?;
        let tags = match about.get("graph") {
            Some(text) => TagSet::restricted(GraphSpec::parse(text).map_err(say)?).map_err(say)?,
            None => TagSet::unrestricted(entry("tags")?.split('\n')).map_err(say)?,
        };
        let names = unpack.text("features")?;
        let names = if names.is_empty() { Vec::new() } else { names.split('\n').collect() };
        let features = FeatureMap::from_parts(template, names).map_err(say)?;
        let scores = match learner.source {
            Source::Linear => linear(&unpack, tags.spec()).map_err(say)?,
            #[cfg(feature = "neural")]
            _ => Scores::Network(Box::new(NetworkScores::unpack(&unpack, (&about, tags.spec().pdfs()))?)),
            #[cfg(not(feature = "neural"))]
            _ => return Err(format!("is a tagger by {learner}, and this senone was built without networks")),
        };
        Self::new(learner, (features, tags), scores).map_err(say)
    }
}

fn linear(unpack: &Unpack<'_>, spec: &GraphSpec) -> Result<Scores> {
    let wrong = Error::Other;
    let (first, pdf) = (unpack.whole_numbers("scorer.first"), unpack.whole_numbers("scorer.pdf"));
    let scorer = SparseScorer::from_parts(first.map_err(wrong)?, pdf.map_err(wrong)?, spec.pdfs())?;
    let (_, theta) = unpack.floats("theta").map_err(wrong)?;
    if theta.iter().any(|weight| weight.is_nan() || *weight == f32::INFINITY) {
        return Err(Error::Other("a weight is not a number".into()));
    }
    Ok(Scores::Linear { scorer, theta: theta.into_iter().map(f64::from).collect() })
}
