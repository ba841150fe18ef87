//! What computes gradients: the processor, with the layers' own kernels, or a graphics processor that candle drives.

use candle_core::Error::{NotCompiledWithCudaSupport, NotCompiledWithMetalSupport};

use crate::parallel::SHARDS;
use crate::{Error, Result};

/// What computes the gradients of training. Decoding is the processor's in any case, which is fast enough for it.
#[derive(Debug, Clone, Default)]
pub struct Device {
    /// What candle's operations run on; `None` is the layers' own kernels.
    candle: Option<candle_core::Device>,
}

impl Device {
    /// The processor.
    pub fn cpu() -> Self {
        Self::default()
    }

    /// The first graphics processor that CUDA finds.
    ///
    /// # Errors
    /// [`Error::Other`] when this program was built without the Cargo feature `cuda`, or finds none.
    pub fn cuda() -> Result<Self> {
        Self::opened("cuda", candle_core::Device::new_cuda(0))
    }

    /// The graphics processor of an Apple computer.
    ///
    /// # Errors
    /// [`Error::Other`] when this program was built without the Cargo feature `metal`, or finds none.
    pub fn metal() -> Result<Self> {
        Self::opened("metal", candle_core::Device::new_metal(0))
    }

    /// The processor doing what a graphics processor would: slow, but it shows whether that is right.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { candle: Some(candle_core::Device::Cpu) }
    }

    fn opened(feature: &str, device: candle_core::Result<candle_core::Device>) -> Result<Self> {
        let reason = match device {
            Ok(device) => return Ok(Self { candle: Some(device) }),
            Err(NotCompiledWithCudaSupport | NotCompiledWithMetalSupport) => {
                format!("this senone was built without it: build with `cargo build --release --features {feature}`")
            }
            Err(error) => error.to_string(),
        };
        Err(Error::Other(format!("cannot train on {feature}: {reason}, or train on the cpu")))
    }

    /// Its name, as `--device` takes it.
    pub fn name(&self) -> &'static str {
        match self.candle {
            None => "cpu",
            Some(candle_core::Device::Cpu) => "plain",
            Some(candle_core::Device::Cuda(_)) => "cuda",
            Some(candle_core::Device::Metal(_)) => "metal",
        }
    }

    /// What candle's operations run on, if they compute the gradient.
    pub(super) fn candle(&self) -> Option<&candle_core::Device> {
        self.candle.as_ref()
    }

    /// Parts that a batch is best cut into: a graphics processor takes it whole.
    pub(crate) fn shards(&self) -> usize {
        if self.candle.is_some() { 1 } else { SHARDS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(not(any(feature = "cuda", feature = "metal")))]
    fn a_device_that_was_not_built_in_is_named_with_its_feature() {
        for (feature, opened) in [("cuda", Device::cuda()), ("metal", Device::metal())] {
            let expected = format!(
                "cannot train on {feature}: this senone was built without it: build with `cargo build --release --features \
                 {feature}`, or train on the cpu"
            );
            assert_eq!(opened.unwrap_err().to_string(), expected);
        }
    }
}
