//! The innermost loops, once for each kind of processor, chosen when the program runs.
//!
//! A kernel multiplies a few rows of a with a panel of b, all sums in registers, and adds the sums to the output. Each cell's
//! sum runs over k in the same order in every kernel, so a row's bits depend neither on the rows beside it nor, where the
//! processor has fused multiply-add, on the processor.

use std::sync::LazyLock;

/// A few rows of a, and a panel of a few columns of b: cell (r, c) of their product is
/// `sum_k a[a_rows[r] + k * a_step] b[k * b_step + c]`.
#[derive(Clone, Copy)]
pub(super) struct Tile<'a> {
    pub(super) depth: usize,
    pub(super) a: &'a [f32],
    pub(super) a_rows: &'a [usize],
    pub(super) a_step: usize,
    pub(super) b: &'a [f32],
    pub(super) b_step: usize,
    /// What the sums are added to: this row for each of them, or what the output is already.
    pub(super) start: Option<&'a [f32]>,
}

type Run = unsafe fn(&Tile<'_>, *mut f32, &[usize]);

/// A kind of processor's tiles.
pub(super) struct Kernel {
    /// By rows - 1, then by vectors - 1.
    runs: &'static [&'static [Run]],
    /// Values in a vector.
    pub(super) lanes: usize,
    level: Level,
}

/// What a processor can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Kernel {
    /// Most rows of a tile.
    pub(super) fn rows(&self) -> usize {
        self.runs.len()
    }

    /// Most columns of a tile that has so many rows, or fewer.
    pub(super) fn cols(&self, rows: usize) -> usize {
        self.runs[rows - 1].len() * self.lanes
    }

    /// Whether it multiplies and adds at once, with one rounding.
    #[cfg(test)]
    pub(super) fn fuses(&self) -> bool {
        self.level != Level::Portable || FUSED_HERE
    }

    /// Writes a tile of `cols` columns, a multiple of `lanes`: row r begins at `out[out_rows[r]]`.
    ///
    /// # Panics
    /// When the tile reaches beyond what it is given, or has more rows or columns than the kernel.
    #[allow(unsafe_code)] // See the SAFETY line.
    pub(super) fn run(&self, tile: &Tile<'_>, cols: usize, (out, out_rows): (&mut [f32], &[usize])) {
        let last = tile.depth.checked_sub(1).expect("a tile has a depth");
        assert!(tile.a_rows.iter().all(|first| first + last * tile.a_step < tile.a.len()), "a must hold its rows");
        assert!(last * tile.b_step + cols <= tile.b.len(), "b must hold its panel");
        assert!(tile.start.is_none_or(|start| cols <= start.len()), "a start has as many columns");
        assert!(out_rows.iter().all(|first| first + cols <= out.len()), "the output must hold its rows");
        assert!(tile.a_rows.len() == out_rows.len() && cols.is_multiple_of(self.lanes), "a tile must fit its kernel");
        let run = self.runs[tile.a_rows.len() - 1][cols / self.lanes - 1];
        // SAFETY: every place that a run reads or writes was checked above, and `kernels` gives only what this processor has.
        unsafe { run(tile, out.as_mut_ptr(), out_rows) }
    }
}

/// Work on many values that is compiled for each kind of processor, whose vectors it then uses.
pub(in super::super) trait Loop {
    /// Does it; the body must be `#[inline(always)]`, and use [`fused`] for a * b + c.
    fn run<const FUSED: bool>(self);
}

/// Runs a loop as compiled for this processor.
#[allow(unsafe_code)] // See the SAFETY line.
pub(in super::super) fn vectorised(work: impl Loop) {
    match kernel().level {
        // SAFETY: `kernels` gives this level only where the processor has these features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { vectorised_avx512(work) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { vectorised_avx2(work) },
        Level::Portable => work.run::<FUSED_HERE>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn vectorised_avx512(work: impl Loop) {
    work.run::<true>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn vectorised_avx2(work: impl Loop) {
    work.run::<true>();
}

/// Whether every processor of this kind multiplies and adds at once.
const FUSED_HERE: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

/// a * b + c, rounded once where the processor does so at no cost.
#[inline(always)]
pub(in super::super) fn fused<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// The best kernel of this processor.
pub(super) fn kernel() -> &'static Kernel {
    static BEST: LazyLock<&'static Kernel> = LazyLock::new(|| kernels()[0]);
    *BEST
}

/// The kernels that this processor has, the best one first.
pub(super) fn kernels() -> Vec<&'static Kernel> {
    let mut all = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        let has_wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        let has_fused = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        if has_wide && has_fused {
            all.push(&AVX512);
        }
        if has_fused {
            all.push(&AVX2);
        }
    }
    all.push(&PORTABLE);
    all
}

/// The table of a kernel's runs: for each number of rows, the numbers of vectors.
macro_rules! runs {
    ($run:ident: $($rows:literal $vectors:tt)*) => { &[$(runs!(@row $run $rows $vectors)),*] };
    (@row $run:ident $rows:literal [$($vectors:literal)*]) => { &[$($run::<$rows, $vectors>),*] };
}

// As many sums as there are registers for, or for one row enough that none waits for the one before it.
#[cfg(target_arch = "x86_64")]
static AVX512: Kernel = Kernel {
    runs: runs!(avx512: 1 [1 2 3 4 5 6 7 8] 2 [1 2 3 4 5 6 7 8] 3 [1 2 3 4 5 6] 4 [1 2 3 4 5 6] 5 [1 2 3] 6 [1 2 3] 7 [1 2 3] 8 [1 2 3]),
    lanes: 16,
    level: Level::Avx512,
};
#[cfg(target_arch = "x86_64")]
static AVX2: Kernel = Kernel {
    runs: runs!(avx2: 1 [1 2 3 4 5 6 7 8] 2 [1 2 3 4] 3 [1 2 3] 4 [1 2] 5 [1 2] 6 [1 2]),
    lanes: 8,
    level: Level::Avx2,
};
static PORTABLE: Kernel = Kernel { runs: runs!(portable: 1 [1 2] 2 [1] 3 [1] 4 [1]), lanes: 8, level: Level::Portable };

/// The instructions of one kind of processor, for a kernel.
macro_rules! kernel {
    ($name:ident($features:literal), $lanes:literal: $zero:ident, $load:ident, $splat:ident, $fused:ident, $add:ident, $store:ident) => {
        /// Adds a tile of so many rows and vectors to its start.
        ///
        /// # Safety
        /// The processor has the features; all that the tile names lies inside `tile.a`, `tile.b`, `tile.start` and `out`.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        #[target_feature(enable = $features)]
        unsafe fn $name<const ROWS: usize, const VECTORS: usize>(tile: &Tile<'_>, out: *mut f32, out_rows: &[usize]) {
            use std::arch::x86_64::*;
            // SAFETY: see above.
            unsafe {
                let a: [*const f32; ROWS] = std::array::from_fn(|row| tile.a.as_ptr().add(tile.a_rows[row]));
                let b = tile.b.as_ptr();
                let mut sums = [[$zero(); VECTORS]; ROWS];
                for k in 0..tile.depth {
                    let b: [_; VECTORS] = std::array::from_fn(|at| $load(b.add(k * tile.b_step + at * $lanes)));
                    for row in 0..ROWS {
                        let a = $splat(*a[row].add(k * tile.a_step));
                        for at in 0..VECTORS {
                            sums[row][at] = $fused(a, b[at], sums[row][at]);
                        }
                    }
                }
                for row in 0..ROWS {
                    let out = out.add(out_rows[row]);
                    let start = tile.start.map_or(out as *const f32, <[f32]>::as_ptr);
                    for at in 0..VECTORS {
                        $store(out.add(at * $lanes), $add($load(start.add(at * $lanes)), sums[row][at]));
                    }
                }
            }
        }
    };
}

kernel!(avx512("avx512f"), 16: _mm512_setzero_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps, _mm512_storeu_ps);
kernel!(avx2("avx2,fma"), 8: _mm256_setzero_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_storeu_ps);

/// The same in plain Rust, for every other processor.
///
/// # Safety
/// All that the tile names lies inside `tile.a`, `tile.b`, `tile.start` and `out`.
#[allow(unsafe_code)]
unsafe fn portable<const ROWS: usize, const VECTORS: usize>(tile: &Tile<'_>, out: *mut f32, out_rows: &[usize]) {
    const LANES: usize = 8;
    let mut sums = [[[0.0f32; LANES]; VECTORS]; ROWS];
    for k in 0..tile.depth {
        let b = &tile.b[k * tile.b_step..][..VECTORS * LANES];
        for (sums, &first) in sums.iter_mut().zip(tile.a_rows) {
            let a = tile.a[first + k * tile.a_step];
            for (sum, &b) in sums.as_flattened_mut().iter_mut().zip(b) {
                *sum = fused::<FUSED_HERE>(a, b, *sum);
            }
        }
    }
    for (sums, &first) in sums.iter().zip(out_rows) {
        // SAFETY: see above.
        let out = unsafe { std::slice::from_raw_parts_mut(out.add(first), VECTORS * LANES) };
        for (at, (out, sum)) in out.iter_mut().zip(sums.as_flattened()).enumerate() {
            *out = tile.start.map_or(*out, |start| start[at]) + sum;
        }
    }
}
