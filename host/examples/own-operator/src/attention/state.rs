//! The monoid: what some keys contribute to the answer of a query.

use warpfold_kernels::{
    arithmetic::single,
    monoids::{Monoid, Words},
};

/// What some keys contribute, in the `C` columns that a lane has. Every lane has the same `max` and `sum`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partial<const C: usize> {
    /// The largest score, `m`.
    pub max: f32,
    /// The sum of `exp(score − m)`, `l`.
    pub sum: f32,
    /// The accumulator: the sum of `exp(score − m) · value`.
    pub acc: [f32; C],
}

/// A key, as the monoid sees it: its score with the query, and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key<const C: usize> {
    /// The scaled score.
    pub score: f32,
    /// The value's columns.
    pub value: [f32; C],
}

/// An answer's columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Columns<const C: usize>(pub [f32; C]);

/// Attention of one query.
///
/// # Laws
///
/// To the bit, all NaNs being one: the identity is neutral, and two states may change places. Three states associate up to rounding
/// alone, so whoever folds must fix the tree, as [the kernel](super::attend) does.
///
/// # What it answers
///
/// | keys | answer |
/// |---|---|
/// | none, none visible, or all scores −∞ | NaN |
/// | a NaN or +∞ among the scores | NaN |
/// | a score of −∞ beside others | that key's weight is 0 |
/// | a key that is not visible | as if it were not there, whatever it holds |
///
/// NaN of nothing is what the formula says, 0 / 0, what the library's softmax answers, and what PyTorch does. It is seen where a row
/// of zeros would pass for an answer. States are no different: of nothing `sum` is 0, so whoever wants zeros looks for that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attend<const C: usize>;

/// `exp(score − max)`, where `max` is the largest score, or larger. Where even that is −∞, the weight is 0 and not NaN.
#[inline(always)]
pub(super) fn weight(score: f32, max: f32) -> f32 {
    single::exp_nonpositive(score - if max == f32::NEG_INFINITY { 0.0 } else { max })
}

/// `sum + Σ a · b`, column after column, each rounded once.
#[inline(always)]
pub(super) fn dot<const C: usize>(a: [f32; C], b: [f32; C]) -> f32 {
    let mut sum = -0.0;
    for i in 0..C {
        sum = single::fma(a[i], b[i], sum);
    }
    sum
}

/// `by · factor + acc` of each column, rounded once.
#[inline(always)]
pub(super) fn add_scaled<const C: usize>(mut acc: [f32; C], by: [f32; C], factor: f32) -> [f32; C] {
    for i in 0..C {
        acc[i] = single::fma(by[i], factor, acc[i]);
    }
    acc
}

impl<const C: usize> Monoid<Key<C>> for Attend<C> {
    type State = Partial<C>;
    type Answer = Columns<C>;

    #[inline(always)]
    fn identity(self) -> Partial<C> {
        Partial {
            max: f32::NEG_INFINITY,
            sum: 0.0,
            // Added to −0.0, every float stays as it is: +0.0 would lose the sign of another.
            acc: [-0.0; C],
        }
    }

    #[inline(always)]
    fn lift(self, Key { score, value }: Key<C>, _: u64) -> Partial<C> {
        let sum = weight(score, score);
        Partial {
            max: score,
            sum,
            acc: add_scaled([-0.0; C], value, sum),
        }
    }

    #[inline(always)]
    fn combine(self, a: Partial<C>, b: Partial<C>) -> Partial<C> {
        // Equal infinities have no difference.
        let gap = if a.max == b.max { 0.0 } else { a.max - b.max };
        let (larger, smaller) = if gap < 0.0 { (b, a) } else { (a, b) };
        let factor = single::exp_nonpositive(-gap.abs());
        Partial {
            max: single::maximum(a.max, b.max),
            sum: single::fma(smaller.sum, factor, larger.sum),
            acc: add_scaled(larger.acc, smaller.acc, factor),
        }
    }

    #[inline(always)]
    fn finish(self, Partial { sum, mut acc, .. }: Partial<C>, _: u64) -> Columns<C> {
        for column in &mut acc {
            let mean = *column / sum;
            // Which NaN a division gives is the hardware's choice.
            *column = if mean.is_nan() { f32::NAN } else { mean };
        }
        Columns(acc)
    }

    #[inline(always)]
    fn empty(self) -> Option<Columns<C>> {
        Some(Columns([f32::NAN; C]))
    }
}

impl<const C: usize> Words for Partial<C> {
    const COUNT: usize = C + 2;

    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        let float = match i {
            0 => self.max,
            1 => self.sum,
            _ => self.acc[i - 2],
        };
        float.to_bits()
    }

    #[inline(always)]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let (max, sum) = (f32::from_bits(word(0)), f32::from_bits(word(1)));
        let Columns(acc) = Columns::from_words(|i| word(i + 2));
        Self { max, sum, acc }
    }
}

impl<const C: usize> Words for Columns<C> {
    const COUNT: usize = C;

    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        self.0[i].to_bits()
    }

    #[inline(always)]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let mut columns = [0.0; C];
        for (i, column) in columns.iter_mut().enumerate() {
            *column = f32::from_bits(word(i));
        }
        Self(columns)
    }
}
