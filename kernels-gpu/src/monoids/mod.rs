//! The operators. Each is a monoid: a state, a neutral state, and an associative, commutative way for two states to
//! become one.
//!
//! An operator never sees the machine: no thread numbers, no shuffles, no memory. That is why the same source runs on
//! the GPU, on the CPU and in the emulator.

mod arg;
mod count;
mod extremum;
mod log_sum_exp;
mod lp;
pub mod moments;
mod norm;
mod pair;
mod product;
mod sum;
#[cfg(test)]
mod testing;
mod variance;

pub use arg::{ArgMax, ArgMin, Best};
pub use count::{All, Any, CountInf, CountNan, CountNonzero};
pub use extremum::{Key, Max, Min};
pub use log_sum_exp::{LogSumExp, Scaled};
pub use lp::NormLp;
pub use moments::{Moments2, Moments4};
pub use norm::{NormInf, NormL1, NormL2, SumOfSquares};
pub use product::Product;
pub use sum::{Mean, Sum};
pub use variance::{Kurtosis, MeanVariance, Skewness, StdDev, Variance};

/// How elements of type `T` fold into one answer.
///
/// Laws, for all states `a`, `b`, `c` that come from `lift` and `combine`, **to the bit**:
///
/// * `combine(identity, a) == a == combine(a, identity)`;
/// * `combine(a, b) == combine(b, a)`.
///
/// All NaNs count as one here: which of two payloads an addition keeps is the hardware's choice, and `finish` gives a
/// single one.
///
/// Mark the methods `#[inline]`: the CPU backend is another crate, and an operator that is not inlined there is ten times
/// slower.
///
/// `combine` is associative as mathematics; where rounding breaks associativity, the canonical [tree](crate::tree)
/// fixes the order. Operators are values, so what an answer needs (a count, an ε) rides along.
pub trait Monoid<T>: Copy {
    /// What is carried up the tree.
    type State: Words;
    /// What the caller gets.
    type Answer: Words;

    /// The neutral state.
    fn identity(self) -> Self::State;

    /// The state of one element, at `index` of the run it belongs to.
    fn lift(self, value: T, index: u64) -> Self::State;

    /// The state of two runs together.
    fn combine(self, a: Self::State, b: Self::State) -> Self::State;

    /// The state of the same run, were it to start `by` elements later. Only operators that report positions care.
    #[inline]
    fn shift(self, state: Self::State, by: u64) -> Self::State {
        let _ = by;
        state
    }

    /// Whether the operator selects one of its elements, and [`may_change`](Self::may_change) is worth asking.
    const SELECTS: bool = false;

    /// Whether `value`, coming after elements that folded to `best`, could change the fold. An operator that selects
    /// says no to most, and a stage then spares itself the rest of the work. `best` folds at least one element.
    #[inline]
    fn may_change(self, best: Self::State, value: T) -> bool {
        let _ = (best, value);
        true
    }

    /// The answer for an extent of at least one element.
    fn finish(self, state: Self::State) -> Self::Answer;

    /// The answer for an extent of no elements; `None` where there is none to give.
    fn empty(self) -> Option<Self::Answer>;
}

/// A value that travels as 32-bit words: through shuffles, shared memory and global memory.
pub trait Words: Copy {
    /// How many words.
    const COUNT: usize;

    /// Word `i`, for `i < COUNT`.
    fn word(self, i: usize) -> u32;

    /// The value whose words are `word(0)`, …, `word(COUNT - 1)`, asked for once each and in that order.
    fn from_words(word: impl FnMut(usize) -> u32) -> Self;
}

impl Words for f32 {
    const COUNT: usize = 1;
    #[inline]
    fn word(self, _: usize) -> u32 {
        self.to_bits()
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        Self::from_bits(word(0))
    }
}

impl Words for bool {
    const COUNT: usize = 1;
    #[inline]
    fn word(self, _: usize) -> u32 {
        u32::from(self)
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        word(0) != 0
    }
}

impl Words for u32 {
    const COUNT: usize = 1;
    #[inline]
    fn word(self, _: usize) -> u32 {
        self
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        word(0)
    }
}

impl Words for f64 {
    const COUNT: usize = 2;
    #[inline]
    fn word(self, i: usize) -> u32 {
        self.to_bits().word(i)
    }
    #[inline]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        Self::from_bits(u64::from_words(word))
    }
}

impl Words for u64 {
    const COUNT: usize = 2;
    #[inline]
    fn word(self, i: usize) -> u32 {
        (self >> (32 * i)) as u32
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let low = u64::from(word(0));
        low | u64::from(word(1)) << 32
    }
}

/// A NaN answer has one bit pattern everywhere: hardware differs in the payloads and signs it makes.
#[inline]
fn canonical(value: f32) -> f32 {
    if value.is_nan() {
        f32::from_bits(0x7fc0_0000)
    } else {
        value
    }
}
