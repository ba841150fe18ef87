//! Where the utterances of a batch lie on a device, and how rows are spliced there.
//!
//! Each layer runs over all rows at once, those too that see the end of one utterance and the begin of the next: they cost little,
//! nobody reads them, and their gradient is zero. So an utterance stays where it is, and splicing is to take stretches of rows,
//! without lists of indices.

use candle_core::{Device, Result, Tensor};

use crate::network::splice::{Segments, Splice};

/// Where each utterance begins among the rows of a layer.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    segments: Segments,
    firsts: Vec<usize>,
    /// All rows, those of no utterance too.
    rows: usize,
}

impl Layout {
    /// Utterances one after another, each beginning at a multiple of `step` rows.
    pub(super) fn new(segments: &Segments, step: usize) -> Self {
        let mut rows = 0;
        let mut place = |(_, count): (usize, usize)| {
            let first = rows;
            rows += count.next_multiple_of(step);
            first
        };
        let firsts = segments.iter().map(&mut place).collect();
        Self { segments: segments.clone(), firsts, rows }
    }

    /// What a layer that splices so leaves of them.
    pub(super) fn after(&self, splice: &Splice) -> Self {
        Self {
            segments: self.segments.after(splice),
            firsts: self.firsts.iter().map(|first| first / splice.stride()).collect(),
            rows: splice.rows_out(self.rows),
        }
    }

    /// The utterances' rows.
    pub(super) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// All rows, those of no utterance too.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The place of each row of the utterances.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        let stretches = self.firsts.iter().zip(self.segments.iter());
        stretches.flat_map(|(&first, (_, rows))| first..first + rows)
    }

    /// The utterances' rows of `cols` values, brought to their places `[rows x cols]` among zeros.
    pub(super) fn upload(&self, values: &[f32], device: &Device) -> Result<Tensor> {
        let cols = values.len() / self.segments.rows();
        let mut all = vec![0.0; self.rows * cols];
        for (place, row) in self.places().zip(values.chunks_exact(cols)) {
            all[place * cols..][..cols].copy_from_slice(row);
        }
        Tensor::from_vec(all, (self.rows, cols), device)
    }

    /// The utterances' rows of `x` `[rows x cols]`, one after another.
    pub(super) fn download(&self, x: &Tensor) -> Result<Vec<f32>> {
        let (cols, all) = (x.dim(1)?, x.flatten_all()?.to_vec1::<f32>()?);
        Ok(self.places().flat_map(|place| &all[place * cols..][..cols]).copied().collect())
    }
}

/// What each output row sees of x, side by side: `[.. x rows x cols]` to `[.. x rows_out x count * cols]`, the rows being dimension
/// `dim`.
pub(super) fn spliced(x: &Tensor, dim: usize, splice: &Splice) -> Result<Tensor> {
    let (rows, cols, stride) = (x.dim(dim)?, x.dim(dim + 1)?, splice.stride());
    let (out, blocks) = (splice.rows_out(rows), rows.div_ceil(stride));
    let mut shape = x.dims().to_vec();
    (shape[dim], shape[dim + 1]) = (blocks, stride * cols);
    let blocks = x.pad_with_zeros(dim, 0, blocks * stride - rows)?.reshape(shape)?;
    let seen =
        |part: &Stretch| blocks.narrow(dim, part.block, out)?.narrow(dim + 1, part.row * cols, part.count * cols);
    let seen = stretches(splice).iter().map(seen).collect::<Result<Vec<_>>>()?;
    Tensor::cat(&seen, dim + 1)?.contiguous()
}

/// `count` neighbouring rows from number `row` on, in the `block`th block of `stride` rows from an output row's own.
struct Stretch {
    block: usize,
    row: usize,
    count: usize,
}

fn stretches(splice: &Splice) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for offset in splice.singles().map(|single| single.offset) {
        let (block, row) = (offset / splice.stride(), offset % splice.stride());
        match stretches.last_mut() {
            Some(last) if last.block == block && last.row + last.count == row => last.count += 1,
            _ => stretches.push(Stretch { block, row, count: 1 }),
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_brought_to_its_place_is_found_there_after_each_splice() {
        let device = Device::Cpu;
        let lengths = [13, 0, 7, 10];
        let splices = [Splice::window(2, 1), Splice::window(5, 3), Splice::triple(1), Splice::none()];
        let mut layout = Layout::new(&Segments::new(lengths), 3);
        let values: Vec<f32> = (0..30).map(|row| row as f32).collect();
        let mut x = layout.upload(&values, &device).unwrap();
        let mut expected: Vec<Vec<Vec<f32>>> = layout
            .segments()
            .iter()
            .map(|(first, rows)| (first..first + rows).map(|row| vec![row as f32]).collect())
            .collect();
        for splice in &splices {
            let see = |rows: &Vec<Vec<f32>>, row: usize| {
                splice.singles().flat_map(|single| rows[row * splice.stride() + single.offset].clone()).collect()
            };
            let after = |rows: &Vec<Vec<f32>>| (0..splice.rows_out(rows.len())).map(|row| see(rows, row)).collect();
            expected = expected.iter().map(after).collect();
            (x, layout) = (spliced(&x, 0, splice).unwrap(), layout.after(splice));
            assert_eq!(x.dim(0).unwrap(), layout.rows());
            assert_eq!(layout.download(&x).unwrap(), expected.concat().concat(), "{splice:?}");
        }
        assert_eq!(layout.segments().iter().map(|(_, rows)| rows).collect::<Vec<_>>(), [1, 0, 0, 0]);
    }
}
