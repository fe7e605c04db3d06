//! Row operations: a fold of a row, and a map of its elements by what the fold found.
//!
//! A monoid folds a leaf in one look at its elements. Here a leaf is looked at twice. The first look gives a **reference** (the largest
//! element, or the mean); the second sums what each element is beside it (an exponential, a square). Of leaves states are combined, as of any fold. So the
//! arithmetic is the textbook's wherever a row is no longer than a leaf, and no form of it, one pass or several, has bits of its own:
//!
//! ```text
//! leaf:  first look ─ reference r ─ second look: sums of term(x, r), in the canonical tree ─ state
//! row:   states of leaves, neighbours first
//! map:   y[i] = map(x[i], r, factors(leaf's state, row's state), weight[i], bias[i])
//! ```
//!
//! All of it is in f32, whatever the elements are. [`docs/row-operations.md`](../../../docs/row-operations.md) is the specification.
//!
//! Like a monoid, a row operation never sees the machine: its source runs on the GPU, on the CPU and in the emulator.

mod look;
mod norm;
mod softmax;

pub use look::{First, Second, States};
pub use norm::{LayerNorm, Moments, RmsNorm};
pub use softmax::{LogSoftmax, Scale, Softmax};

use crate::{
    arithmetic::narrow::{bf16_bits, f16_bits, f32_bits},
    element::{Float, Masked, Two, bf16, f16},
    monoids::Words,
};

/// The version of the row operations' canonical ways. A change of any bit is a new version.
pub const VERSION: u32 = 1;

/// What an element is multiplied by, and what is added: a column's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// 1 where there are no weights.
    pub weight: f32,
    /// −0.0, which changes nothing, where there are no biases.
    pub bias: f32,
}

impl Column {
    /// Of no weights and no biases.
    pub const PLAIN: Self = Self {
        weight: 1.0,
        bias: -0.0,
    };
}

/// A fold of a row, in two looks at each of its leaves, and a map.
///
/// Laws, to the bit: `combine` is neutral with `identity` and commutative, as a [`Monoid`](crate::monoids::Monoid)'s; `first` is too; and if there is
/// a [`filler`](Self::filler), no sum, no first look and no other element's answer notices elements of it.
///
/// Mark the methods `#[inline(always)]`.
pub trait RowOp: Copy + Send + Sync {
    /// What it takes one of at a time: an f32, or one of each of two arrays.
    type Value: Copy;
    /// What the second look sums.
    type Sums: Sums;
    /// What is known of a leaf, and of a row.
    type State: Words + Send + Sync;
    /// What the map needs of both, the same for all elements of a leaf.
    type Factors: Copy + Send + Sync;

    /// Whether there is a first look.
    const LOOKS_FIRST: bool = true;
    /// Whether the map takes weights and biases.
    const HAS_COLUMNS: bool = false;
    /// Whether what the second look makes of an element is better kept for the map than made again: it is much arithmetic.
    const KEEPS_TERMS: bool = false;
    /// Whether states are combined by multiplications that are fused.
    const FUSES: bool = true;

    /// Whether each element is negated before anything else is done with it.
    fn negates(self) -> bool {
        false
    }

    /// An element that no look notices; before it is negated, if it is.
    fn filler(self) -> Option<f32> {
        None
    }

    /// What the first look has of no element.
    fn nothing(self) -> f32 {
        -0.0
    }
    /// What it has of one.
    fn first(self, value: Self::Value) -> f32 {
        let _ = value;
        -0.0
    }
    /// What it has of two runs together.
    fn both(self, a: f32, b: f32) -> f32 {
        a + b
    }
    /// The reference of a leaf of `len` elements, at least one, by what the first look found.
    fn reference(self, found: f32, len: u32) -> f32 {
        let _ = len;
        found
    }

    /// What the second look sums of an element.
    fn term(self, value: Self::Value, reference: f32) -> Self::Sums;
    /// The state of a leaf of `len` elements, at least one.
    fn leaf(self, found: f32, reference: f32, sums: Self::Sums, len: u32) -> Self::State;
    /// The state of nothing.
    fn identity(self) -> Self::State;
    /// The state of two runs together.
    fn combine(self, a: Self::State, b: Self::State) -> Self::State;

    /// What the map needs of a leaf and of the row of `len` elements that it is of.
    fn factors(self, reference: f32, leaf: Self::State, row: Self::State, len: u64) -> Self::Factors;
    /// The same of a row that is one leaf, which may be had by less arithmetic: for those this is the way.
    #[inline(always)]
    fn factors_alone(self, reference: f32, row: Self::State, len: u64) -> Self::Factors {
        self.factors(reference, row, row, len)
    }
    /// What becomes of an element.
    fn map(self, value: Self::Value, reference: f32, factors: Self::Factors, column: Column) -> f32;
    /// What else is known of a row: a softmax's log-sum-exp; a norm's mean, and the reciprocal deviation.
    fn statistics(self, row: Self::State, len: u64) -> [f32; 2];
}

/// Sums of f32: one, or two side by side.
pub trait Sums: Words {
    /// Of nothing: −0.0, which is neutral to the bit.
    fn nothing() -> Self;
    /// Of both.
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

impl Sums for f32 {
    #[inline(always)]
    fn nothing() -> Self {
        -0.0
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

impl Sums for (f32, f32) {
    #[inline(always)]
    fn nothing() -> Self {
        (-0.0, -0.0)
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        (self.0 + other.0, self.1 + other.1)
    }
}

/// Items that a row operation takes as values of `V`.
pub trait Valued<V>: Copy {
    /// The value: exact.
    fn value(self) -> V;
    /// The same with the other sign.
    #[must_use]
    fn negated(self) -> Self;
    /// The item of a filler.
    fn filled(filler: f32) -> Self;
}

impl<T: Float<Wide = f32>> Valued<f32> for T {
    #[inline(always)]
    fn value(self) -> f32 {
        self.wide()
    }
    #[inline(always)]
    fn negated(self) -> Self {
        let sign = 1 << (8 * size_of::<T>() - 1);
        T::from_bits(u64::from(self.word(0) ^ sign))
    }
    #[inline(always)]
    fn filled(filler: f32) -> Self {
        T::from_f64(filler.into())
    }
}

/// One of each of two arrays.
impl<T: Float<Wide = f32>> Valued<(f32, f32)> for Two<T> {
    #[inline(always)]
    fn value(self) -> (f32, f32) {
        (self.0.wide(), self.1.wide())
    }
    #[inline(always)]
    fn negated(self) -> Self {
        Self(Valued::<f32>::negated(self.0), Valued::<f32>::negated(self.1))
    }
    #[inline(always)]
    fn filled(filler: f32) -> Self {
        let filler = T::from_f64(filler.into());
        Self(filler, filler)
    }
}

/// An element that a mask selects, and −∞ in place of any other: where it is not selected it does not show, be it a NaN.
impl<T: Float<Wide = f32>> Valued<f32> for Masked<T> {
    #[inline(always)]
    fn value(self) -> f32 {
        if self.1 { self.0.wide() } else { f32::NEG_INFINITY }
    }
    #[inline(always)]
    fn negated(self) -> Self {
        Self(Valued::<f32>::negated(self.0), self.1)
    }
    #[inline(always)]
    fn filled(filler: f32) -> Self {
        Self(T::from_f64(filler.into()), false)
    }
}

/// Elements that row operations read and write: f32, f16, bf16.
pub trait RowElement: Float<Wide = f32> {
    /// The nearest to `value`, to even of two; a NaN has all bits but the sign's.
    fn narrowed(value: f32) -> Self;
}

impl RowElement for f32 {
    #[inline(always)]
    fn narrowed(value: f32) -> Self {
        f32::from_bits(f32_bits(value))
    }
}

impl RowElement for f16 {
    #[inline(always)]
    fn narrowed(value: f32) -> Self {
        f16::from_bits(f16_bits(value))
    }
}

impl RowElement for bf16 {
    #[inline(always)]
    fn narrowed(value: f32) -> Self {
        bf16::from_bits(bf16_bits(value))
    }
}
