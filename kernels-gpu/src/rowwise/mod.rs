//! Row operations: a fold of a row, and a map of its elements by what the fold found.
//!
//! A monoid folds a leaf in one look at its elements. Here a leaf is looked at twice. The first look gives a **reference** (the largest
//! element, or the mean); then each element becomes what it is **beside** that (an exponential, a distance), and the second look sums terms of those. Of leaves states are
//! combined, as of any fold; and the map takes what each element is beside its leaf's reference. So the arithmetic is the textbook's wherever a row is no longer than a leaf, and
//! no form of it, one pass or several, has bits of its own:
//!
//! ```text
//! leaf:  value ─ first look ─ reference ─ beside ─ second look: sums of terms, in the canonical tree ─ state
//! row:   states of leaves, neighbours first
//! map:   answer = map(what is beside, factors(leaf's state, row's state), weight, bias)
//! ```
//!
//! All of it is in f32, whatever the elements are. [`docs/row-operations.md`](../../../docs/row-operations.md) is the specification.
//!
//! Like a monoid, a row operation never sees the machine: its source runs on the GPU, on the CPU and in the emulator.

mod cross_entropy;
mod gradient;
mod look;
mod norm;
mod softmax;

pub use cross_entropy::{CrossEntropy, Target, Weighted};
pub use gradient::{LogSoftmaxGradient, NormGradient, SoftmaxGradient};
pub use look::{First, Look, Second, States, Total};
pub use norm::{LayerNorm, Moments, RmsNorm};
pub use softmax::{LogSoftmax, Scale, Softmax};

use crate::{
    arithmetic::narrow::{bf16_bits, f16_bits, f32_bits},
    element::{Float, bf16, f16},
    monoids::Words,
    tree::{LANES, VECTOR_BYTES},
};

/// The version of the row operations' canonical ways. A change of any bit is a new version.
pub const VERSION: u32 = 3;

/// Rows of 512 bytes in a leaf, of all arrays that are read together: of two arrays half as many of each.
pub const ROWS: usize = 4;

/// Elements of a leaf, of so many bytes, in each of so many arrays.
#[must_use]
pub const fn leaf_elements(bytes: usize, arrays: usize) -> usize {
    ROWS / arrays * LANES as usize * VECTOR_BYTES / bytes
}

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

/// What a row operation takes one of at a time: an element, or one of each of two arrays.
pub trait Value: Copy + Send + Sync {
    /// How many arrays.
    const ARRAYS: usize;
    /// By the element of each array.
    fn of(each: [f32; 2]) -> Self;
    /// The element of each array.
    fn each(self) -> [f32; 2];
}

impl Value for f32 {
    const ARRAYS: usize = 1;
    #[inline(always)]
    fn of([only, _]: [f32; 2]) -> Self {
        only
    }
    #[inline(always)]
    fn each(self) -> [f32; 2] {
        [self, 0.0]
    }
}

impl Value for (f32, f32) {
    const ARRAYS: usize = 2;
    #[inline(always)]
    fn of([first, second]: [f32; 2]) -> Self {
        (first, second)
    }
    #[inline(always)]
    fn each(self) -> [f32; 2] {
        [self.0, self.1]
    }
}

/// What is known of a row before it is read: two numbers of an operation's own.
pub type Given = [f32; 2];

/// What is found in a leaf before the second look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeafFound {
    /// In the first look.
    pub first: f32,
    /// The reference.
    pub reference: f32,
    /// The sum of the elements, where that is asked for.
    pub total: f32,
}

/// A fold of a row, in two looks at each of its leaves, and a map.
///
/// Laws, to the bit: `combine` is neutral with `identity` and commutative, as a [`Monoid`](crate::monoids::Monoid)'s; `both` is so with `nothing`; `first` of what is
/// [`absent`](Self::absent) is `nothing`; and its term is neutral in sums, or that of what it is [moved](Self::moved) to. Of states and sums only what answers
/// show counts, and of sums those of elements. `testing::check_row_laws` (feature `testing`) checks all of it.
///
/// For one of your own see [`OwnRowOp`](crate::ops::OwnRowOp). Mark the methods `#[inline(always)]`.
pub trait RowOp: Copy + Send + Sync {
    /// What it takes one of at a time.
    type Value: Value;
    /// What an element is beside the reference.
    type Beside: Copy + Send + Sync;
    /// What the second look sums.
    type Sums: Sums;
    /// What is known of a leaf, and of a row.
    type State: Words + Send + Sync;
    /// What the map needs of both, the same for all elements of a leaf: lanes hand it on.
    type Factors: Words + Send + Sync;

    /// Whether what an element is [beside](Self::beside) the reference is dear enough to be kept for the map rather than made again.
    const KEEPS: bool = false;
    /// Whether the first look is for the largest element, as elements are read: `first` gives the element, and `both` the larger one. Those of 16 bits may then be compared packed.
    const FINDS_LARGEST: bool = false;
    /// Whether there is a first look.
    const LOOKS_FIRST: bool = true;
    /// Whether one warp of a block combines states, and all wait for it: of operations of two passes, whose states are expensive to combine. On one H200 on 2026-11-28, bf16, µs:
    ///
    /// | | one warp combines | each warp |
    /// |---|---|---|
    /// | log-softmax of 8,192 rows of 65,536 | 603 | 682 |
    /// | gradient of a norm of 16,384 rows of 4,096 | 114 | 110 |
    const COMBINES_ONCE: bool = Self::LOOKS_FIRST;
    /// Whether the map takes weights and biases.
    const HAS_COLUMNS: bool = false;
    /// Whether it then takes biases, too. Weights alone are so few registers that they are asked for before the first look: on an H200 on
    /// 2026-11-27 RMS norm of a row of 4096 bf16 took 2.2 µs for 2.9. With biases those of f32 are asked for behind the last, a vector ahead: layer norm of a row of 4096 f32 took 2.9 µs
    /// for 3.2 on 2026-11-28.
    const HAS_BIASES: bool = true;
    /// Whether [`take`](Self::take) does, and needs what is given of a row.
    const TAKES_COLUMNS: bool = false;
    /// Whether a row may be a group of channels: along several dimensions, and with weights that columns share.
    const GROUPS: bool = false;
    /// Whether elements may be masked, or have others added to them before the first look.
    const MASKS: bool = false;
    /// Whether elements may have others added to them, rounded.
    const ADDS: bool = false;
    /// Whether a row has a target, whose answer is another's: [`at_target`](Self::at_target).
    const TARGETS: bool = false;
    /// How many of the numbers that are [known](Self::known) of a row plain launches may ask for, the first ones.
    const PLAIN_KNOWS: usize = 4;
    /// Whether the second look would notice what is absent, so that it is [moved](Self::moved).
    const MOVES: bool = false;
    /// Whether the sum of the elements may be asked for.
    const TOTALS: bool = false;

    /// The same operation, of [plain](crate::kernels::rowwise::RowLaunch::is_plain) launches only: nothing is negated, and of a row no more is known than [`PLAIN_KNOWS`](Self::PLAIN_KNOWS).
    #[must_use]
    fn plain(self) -> Self {
        self
    }
    /// Whether each element is negated before anything else is done with it.
    fn negates(self) -> bool {
        false
    }
    /// What stands where there is no element: zeros and infinities only.
    fn absent(self) -> Self::Value;
    /// An element of the first array alone.
    #[inline(always)]
    fn value_of(first: f32) -> Self::Value {
        Self::Value::of([first, 0.0])
    }
    /// What becomes of an element before it is looked at.
    fn take(self, value: Self::Value, column: Column, given: Given) -> Self::Value {
        let _ = (column, given);
        value
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

    /// Whether the sum of the elements is asked for.
    fn totals(self) -> bool {
        false
    }

    /// What an element is beside the reference.
    fn beside(self, value: Self::Value, reference: f32) -> Self::Beside;
    /// What stands for an absent element in the second look.
    fn moved(self, reference: f32) -> Self::Value {
        let _ = reference;
        self.absent()
    }
    /// What the second look sums of an element.
    fn term(self, beside: Self::Beside) -> Self::Sums;
    /// Whether only the first of several sums is asked for, the others being nothing.
    fn sums_one(self) -> bool {
        false
    }
    /// The state of a leaf of `len` elements, at least one.
    fn leaf(self, found: LeafFound, sums: Self::Sums, len: u32) -> Self::State;
    /// The state of nothing.
    fn identity(self) -> Self::State;
    /// The state of two runs together.
    fn combine(self, a: Self::State, b: Self::State) -> Self::State;

    /// What the map needs of a leaf and of the row of `len` elements that it is of.
    fn factors(self, reference: f32, leaf: Self::State, row: Self::State, len: u64, given: Given) -> Self::Factors;
    /// The same of a row that is one leaf, which may be had by less arithmetic: for those this is the way.
    #[inline(always)]
    fn factors_alone(self, reference: f32, row: Self::State, len: u64, given: Given) -> Self::Factors {
        self.factors(reference, row, row, len, given)
    }
    /// What becomes of an element.
    fn map(self, beside: Self::Beside, factors: Self::Factors, column: Column) -> f32;
    /// The same of a row's target.
    fn at_target(self, beside: Self::Beside, factors: Self::Factors) -> f32 {
        self.map(beside, factors, Column::PLAIN)
    }
    /// What else is known of a row, up to four numbers: a softmax's log-sum-exp; a norm's mean, and the reciprocal deviation.
    fn known(self, row: Self::State, len: u64, given: Given) -> [f32; 4] {
        let _ = (row, len, given);
        [0.0; 4]
    }
}

/// Sums of f32: one, or several side by side.
pub trait Sums: Words {
    /// Of nothing: −0.0, which is neutral to the bit.
    fn nothing() -> Self;
    /// Of both.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// The first.
    fn first(self) -> f32;
    /// With another first.
    #[must_use]
    fn with_first(self, first: f32) -> Self;
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
    #[inline(always)]
    fn first(self) -> f32 {
        self
    }
    #[inline(always)]
    fn with_first(self, first: f32) -> Self {
        first
    }
}

/// Several sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Several<const N: usize>(pub [f32; N]);

impl Words for Several<2> {
    const COUNT: usize = 2;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        self.0[i].to_bits()
    }
    #[inline(always)]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        Self([f32::from_bits(word(0)), f32::from_bits(word(1))])
    }
}

impl Words for [f32; 3] {
    const COUNT: usize = 3;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        self[i].to_bits()
    }
    #[inline(always)]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let mut next = |i: usize| f32::from_bits(word(i));
        [next(0), next(1), next(2)]
    }
}

impl Sums for Several<2> {
    #[inline(always)]
    fn nothing() -> Self {
        Self([-0.0; 2])
    }
    #[inline(always)]
    fn plus(self, Self([c, d]): Self) -> Self {
        let Self([a, b]) = self;
        Self([a + c, b + d])
    }
    #[inline(always)]
    fn first(self) -> f32 {
        self.0[0]
    }
    #[inline(always)]
    fn with_first(self, first: f32) -> Self {
        Self([first, self.0[1]])
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
