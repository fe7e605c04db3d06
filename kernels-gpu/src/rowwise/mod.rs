//! Row operations: a fold of a row, and a map of its elements by what was folded.
//!
//! A monoid folds a leaf in one pass over its elements; here there are two. The first pass gives a **reference** (the largest
//! element, or the mean). The second sums terms of what each element is **relative** to that (an exponential, a distance). The states of leaves are
//! combined as those of any fold, and the map takes what each element is relative to its leaf's reference. So the arithmetic is the textbook's wherever a row is no longer than a leaf,
//! and no variant of a kernel has bits of its own:
//!
//! ```text
//! leaf:  value ─ first pass ─ reference ─ relative to it ─ second pass: sums of terms, in the canonical tree ─ state
//! row:   states of leaves, neighbours first
//! map:   answer = map(what is relative, factors(leaf's state, row's state), weight, bias)
//! ```
//!
//! All of it is in f32, whatever the elements are. [`docs/row-operations.md`](../../../docs/row-operations.md) is the specification.
//!
//! An operation is a [`RowFold`] and a [`RowMap`]; what it reads, and how it folds, is one value, its [`RowAlgebra`]. Of these [`RowOp`] derives what kernels and CPU ask for.
//! Like a monoid, a row operation never sees the machine: its source runs on the GPU, on the CPU and in the emulator.

mod algebra;
mod cross_entropy;
mod gradient;
mod norm;
mod params;
mod pass;
mod softmax;

pub use algebra::{ColumnUse, FirstPass, RowAlgebra};
pub use cross_entropy::{CrossEntropy, Target, Weighted};
pub use gradient::{LogSoftmaxGradient, NormGradient, SoftmaxGradient};
pub use norm::{LayerNorm, Moments, RmsNorm};
pub use params::{OwnRowOp, RowParams};
pub use pass::{Pass, ReferencePass, StatesPass, TermsPass, TotalPass};
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

/// What is found in a leaf before the second pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeafFound {
    /// In the first pass.
    pub first: f32,
    /// The reference.
    pub reference: f32,
    /// The sum of the elements, where that is asked for.
    pub total: f32,
}

/// How a row folds: each leaf in two passes, then the states of leaves.
///
/// Laws, to the bit: `combine` is commutative and neutral with `identity`, as a [`Monoid`](crate::monoids::Monoid)'s; the first pass has nothing of what is
/// [absent](RowAlgebra::absent); and the term of that is neutral in sums, or that of the reference, where the [algebra](RowAlgebra::absent_is_reference) says so. Of states and
/// sums only what answers show counts, and of sums those of elements. `testing::check_row_laws` (feature `testing`) checks all of it.
///
/// For one of your own see [`OwnRowOp`]. Mark the methods `#[inline(always)]`.
pub trait RowFold: Copy + Send + Sync {
    /// What it takes one of at a time.
    type Value: Value;
    /// What an element is relative to the reference.
    type Relative: Copy + Send + Sync;
    /// What the second pass sums.
    type Sums: Sums;
    /// The state of a leaf, and of a row.
    type State: Words + Send + Sync;

    /// What it reads, and how it folds.
    const ALGEBRA: RowAlgebra;

    /// The same operation, of [plain](crate::kernels::Launch::is_plain) launches only: nothing is negated, and of a row no more is known than
    /// [so many](RowAlgebra::plain_statistics) numbers.
    #[must_use]
    fn plain(self) -> Self {
        self
    }
    /// Whether each element is negated before anything else is done with it.
    fn negates(self) -> bool {
        false
    }
    /// What becomes of an element before the first pass, of an operation that [takes weights there](ColumnUse::BeforeFirst).
    fn take(self, value: Self::Value, column: Column, given: Given) -> Self::Value {
        let _ = (column, given);
        value
    }
    /// What the first pass has of an element: the element of the first array, but of [`FirstPass::LargestOf`].
    #[inline(always)]
    fn first(self, value: Self::Value) -> f32 {
        value.each()[0]
    }
    /// The reference of a leaf of `len` elements, at least one, by what the first pass found.
    #[inline(always)]
    fn reference(self, found: f32, len: u32) -> f32 {
        let _ = len;
        found
    }
    /// Whether the sum of the elements is asked for, of an operation that [can have it](RowAlgebra::sums_elements).
    fn totals(self) -> bool {
        false
    }
    /// What an element is relative to the reference.
    fn relative(self, value: Self::Value, reference: f32) -> Self::Relative;
    /// What the second pass sums of an element.
    fn term(self, relative: Self::Relative) -> Self::Sums;
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
}

/// What becomes of the elements of a row that was folded.
pub trait RowMap: RowFold {
    /// What the map needs of a leaf and of its row, the same for all elements of the leaf: one lane computes it for others.
    type Factors: Words + Send + Sync;

    /// That of a leaf, by its reference and its state, and of the row of `len` elements that it is of. A row that is one leaf has no other state: less arithmetic may do
    /// there, and is then the way for those rows.
    fn factors(
        self,
        reference: f32,
        leaf: Option<Self::State>,
        row: Self::State,
        len: u64,
        given: Given,
    ) -> Self::Factors;
    /// What becomes of an element.
    fn map(self, relative: Self::Relative, factors: Self::Factors, column: Column) -> f32;
    /// The same of a row's [target](RowAlgebra::has_targets).
    fn at_target(self, relative: Self::Relative, factors: Self::Factors) -> f32 {
        self.map(relative, factors, Column::PLAIN)
    }
    /// What else is known of a row, up to four numbers: a softmax's log-sum-exp; a norm's mean, and the reciprocal deviation.
    fn known(self, row: Self::State, len: u64, given: Given) -> [f32; 4] {
        let _ = (row, len, given);
        [0.0; 4]
    }
}

/// What kernels and CPU ask of a row operation: derived of its [algebra](RowAlgebra), and implemented by nobody.
pub trait RowOp: RowMap {
    /// [`RowAlgebra::keeps_relative`].
    const KEEPS: bool = Self::ALGEBRA.keeps_relative;
    /// Whether the first pass is for the largest element as elements are read: those of 16 bits may then be compared packed.
    const FINDS_LARGEST: bool = matches!(Self::ALGEBRA.first_pass, FirstPass::Largest);
    /// Whether there is a first pass.
    const HAS_FIRST_PASS: bool = !matches!(Self::ALGEBRA.first_pass, FirstPass::None);
    /// Whether one warp of a block combines states, and all wait for it: of operations of two passes, whose states are expensive to combine. On one H200 on 2026-11-28, bf16, µs:
    ///
    /// | | one warp combines | each warp |
    /// |---|---|---|
    /// | log-softmax of 8,192 rows of 65,536 | 603 | 682 |
    /// | gradient of a norm of 16,384 rows of 4,096 | 114 | 110 |
    const COMBINES_ONCE: bool = Self::HAS_FIRST_PASS;
    /// Whether the map takes weights.
    const HAS_COLUMNS: bool = matches!(Self::ALGEBRA.columns, ColumnUse::Weights | ColumnUse::WeightsAndBiases);
    /// Whether it takes biases, too.
    const HAS_BIASES: bool = matches!(Self::ALGEBRA.columns, ColumnUse::WeightsAndBiases);
    /// Whether [`take`](RowFold::take) takes weights, and what is given of a row.
    const TAKES_COLUMNS: bool = matches!(Self::ALGEBRA.columns, ColumnUse::BeforeFirst);
    /// [`RowAlgebra::groups`].
    const GROUPS: bool = Self::ALGEBRA.groups;
    /// [`RowAlgebra::masks`].
    const MASKS: bool = Self::ALGEBRA.masks;
    /// [`RowAlgebra::adds_residual`].
    const ADDS: bool = Self::ALGEBRA.adds_residual;
    /// [`RowAlgebra::has_targets`].
    const TARGETS: bool = Self::ALGEBRA.has_targets;
    /// [`RowAlgebra::plain_statistics`].
    const PLAIN_KNOWS: usize = Self::ALGEBRA.plain_statistics;
    /// [`RowAlgebra::absent_is_reference`].
    const MOVES: bool = Self::ALGEBRA.absent_is_reference;
    /// [`RowAlgebra::sums_elements`].
    const TOTALS: bool = Self::ALGEBRA.sums_elements;

    /// What stands where there is no element.
    #[inline(always)]
    fn absent(self) -> Self::Value {
        Self::Value::of(Self::ALGEBRA.absent)
    }
    /// An element of the first array alone.
    #[inline(always)]
    fn value_of(first: f32) -> Self::Value {
        Self::Value::of([first, 0.0])
    }
    /// What stands for an absent element in the second pass.
    #[inline(always)]
    fn moved(self, reference: f32) -> Self::Value {
        if Self::MOVES {
            Self::value_of(reference)
        } else {
            self.absent()
        }
    }
    /// What the first pass has of no element.
    #[inline(always)]
    fn nothing(self) -> f32 {
        match Self::ALGEBRA.first_pass {
            FirstPass::None | FirstPass::Sum => -0.0,
            FirstPass::Largest => f32::NEG_INFINITY,
            FirstPass::LargestOf => self.first(self.absent()),
        }
    }
    /// What it has of two runs together.
    #[inline(always)]
    fn both(self, a: f32, b: f32) -> f32 {
        Self::ALGEBRA.first_pass.combine(a, b)
    }
}

impl<O: RowMap> RowOp for O {}

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
