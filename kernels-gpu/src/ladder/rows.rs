//! What the rungs of softmax and layer norm have in common: rows in memory, and numbers that a block agrees on.

use crate::{arithmetic::single, simt::Simt, tree::LANES};

/// What a launch passes to each of these kernels.
///
/// `input` and `out` are valid for `rows · columns` elements, `weight` and `bias` for `columns`, and `states` for two numbers a row, where
/// a kernel has a use for them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RowsLaunch {
    /// The elements.
    pub input: *const f32,
    /// The answers.
    pub out: *mut f32,
    /// A factor for each column.
    pub weight: *const f32,
    /// An addend for each column.
    pub bias: *const f32,
    /// Two numbers of each row, between kernels.
    pub states: *mut f32,
    /// How many rows there are.
    pub rows: u64,
    /// Elements of a row.
    pub columns: u64,
    /// Whether row `r` is of position `r % columns`, and sees the elements up to there alone: 1 or 0.
    pub causal: u64,
    /// The bits of what is added to a variance.
    pub epsilon: u64,
}

/// `exp(x − max)`, of `x` no larger.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn exp_less(x: f32, max: f32) -> f32 {
    single::exp_nonpositive(x - max)
}

/// The largest of each thread's number. Words from `32 · place` on of shared memory are taken: two such calls have two places, or one would
/// overwrite what the other's last warp still reads.
///
/// Called by: all threads of the block together · Valid in: every thread
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn largest_of_block<S: Simt>(simt: S, value: f32, place: u32) -> f32 {
    of_block(simt, value, f32::NEG_INFINITY, place, larger)
}

/// The sum of each thread's number, likewise.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum_of_block<S: Simt>(simt: S, value: f32, place: u32) -> f32 {
    of_block(simt, value, 0.0, place, |a, b| a + b)
}

/// In two stages: shuffles in a warp, and behind a barrier, shuffles in each warp over what the warps have.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn of_block<S: Simt>(simt: S, value: f32, identity: f32, place: u32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let value = of_warp(simt, value, &combine);
    if simt.lane() == 0 {
        simt.store_shared(32 * place + simt.warp(), value.to_bits());
    }
    simt.barrier();
    let is_there = simt.lane() < simt.warps();
    let bits = if is_there {
        simt.load_shared(32 * place + simt.lane())
    } else {
        identity.to_bits()
    };
    of_warp(simt, f32::from_bits(bits), &combine)
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn of_warp<S: Simt>(simt: S, mut value: f32, combine: &impl Fn(f32, f32) -> f32) -> f32 {
    let mut reach = LANES / 2;
    while reach >= 1 {
        value = combine(value, f32::from_bits(simt.shuffle_xor(value.to_bits(), reach)));
        reach /= 2;
    }
    value
}

/// The larger of two numbers.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// A launch at its word: what a kernel reads and writes is there.
#[derive(Clone, Copy, Debug)]
pub struct RowsView(RowsLaunch);

impl RowsLaunch {
    /// Its memory.
    ///
    /// # Safety
    ///
    /// All is as this type says, for the whole launch; a row is written by one block, or thread.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub unsafe fn view(self) -> RowsView {
        RowsView(self)
    }
}

impl RowsView {
    /// How many rows there are.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.0.rows
    }

    /// Elements of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn columns(&self) -> u64 {
        self.0.columns
    }

    /// How many elements of a row count.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn seen(&self, row: u64) -> u64 {
        if self.0.causal == 0 {
            self.0.columns
        } else {
            row % self.0.columns.max(1) + 1
        }
    }

    /// What is added to a variance.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn epsilon(&self) -> f32 {
        f32::from_bits(self.0.epsilon as u32)
    }

    /// An element.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn element<S: Simt>(&self, simt: S, row: u64, i: u64) -> f32 {
        debug_assert!(row < self.0.rows && i < self.0.columns, "an element that is there");
        // SAFETY: it is there.
        f32::from_bits(unsafe { simt.load_input(self.0.input.add((row * self.0.columns + i) as usize).cast()) })
    }

    /// Each of a row's elements that count, and which it is: neighbouring threads have neighbours.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn each_seen<S: Simt>(&self, simt: S, row: u64, mut each: impl FnMut(u64, f32)) {
        let (mut i, seen) = (u64::from(simt.thread()), self.seen(row));
        while i < seen {
            each(i, self.element(simt, row, i));
            i += u64::from(simt.threads());
        }
    }

    /// Writes what `map` makes of a row's elements, and 0 for those that do not count.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn map<S: Simt>(&self, simt: S, row: u64, map: impl Fn(f32) -> f32) {
        let (mut i, seen) = (u64::from(simt.thread()), self.seen(row));
        while i < self.0.columns {
            let answer = if i < seen { map(self.element(simt, row, i)) } else { 0.0 };
            self.write(simt, row, i, answer);
            i += u64::from(simt.threads());
        }
    }

    /// Writes an answer.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn write<S: Simt>(&self, simt: S, row: u64, i: u64, answer: f32) {
        debug_assert!(row < self.0.rows && i < self.0.columns, "a place that is there");
        // SAFETY: it is there.
        unsafe {
            simt.store(
                self.0.out.add((row * self.0.columns + i) as usize).cast(),
                answer.to_bits(),
            )
        };
    }

    /// Writes an answer, times its column's weight and with its bias added.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn write_weighted<S: Simt>(&self, simt: S, row: u64, i: u64, answer: f32) {
        // SAFETY: there is one of each column.
        let of_column = |from: *const f32| f32::from_bits(unsafe { simt.load_input(from.add(i as usize).cast()) });
        self.write(simt, row, i, answer * of_column(self.0.weight) + of_column(self.0.bias));
    }

    /// Number `which` of a row, which an earlier kernel wrote.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn state<S: Simt>(&self, simt: S, row: u64, which: usize) -> f32 {
        // SAFETY: each row has two.
        f32::from_bits(unsafe { simt.load(self.0.states.add(2 * row as usize + which).cast()) })
    }

    /// Has the first thread write it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn write_state<S: Simt>(&self, simt: S, row: u64, which: usize, state: f32) {
        if simt.thread() == 0 {
            // SAFETY: each row has two.
            unsafe { simt.store(self.0.states.add(2 * row as usize + which).cast(), state.to_bits()) };
        }
    }
}
