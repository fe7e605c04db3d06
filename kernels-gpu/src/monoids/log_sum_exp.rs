//! The logarithm of a sum of exponentials, without overflow.

use super::{Algebra, Monoid, Words, extremum::word_maximum, relative};
use crate::{
    arithmetic::{
        double,
        power::{self, RelativeTo},
        single,
    },
    element::Float,
    tree::{Again, ByWords, Part, RelativeSum},
};

/// A state of two numbers of one type.
macro_rules! two_words {
    ($state:ty: $number:ty) => {
        impl Words for $state {
            const COUNT: usize = <($number, $number)>::COUNT;
            #[inline]
            fn word(self, i: usize) -> u32 {
                (self.max, self.sum).word(i)
            }
            #[inline]
            fn from_words(word: impl FnMut(usize) -> u32) -> Self {
                let (max, sum) = <($number, $number)>::from_words(word);
                Self { max, sum }
            }
        }
    };
}

/// `Σ exp(xᵢ)` as `sum · exp(max)`, `max` being the largest `xᵢ`: in this form it neither over- nor underflows.
///
/// `max` is NaN if an element is. Where it is infinite or NaN, `sum` is the number of elements that are. Otherwise `sum`
/// is between 1 and the number of all elements; over nothing the state is (−∞, 0).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled<T> {
    /// The largest element.
    pub max: T,
    /// The sum of `exp(xᵢ − max)`.
    pub sum: T,
}

two_words!(Scaled<f32>: f32);
two_words!(Scaled<f64>: f64);

/// `Σ exp(xᵢ)` as `sum · 2ᵏ`, `k` being the integer nearest to `max · log₂ e`, and `max` the largest `xᵢ`.
///
/// Where `max` is infinite `sum` is 0, and a NaN where it is one. Otherwise `sum` is between `2^−½` and the number of all elements times
/// `2^½`; over nothing the state is (−∞, 0).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponentials {
    /// The largest element.
    pub max: f32,
    /// The sum of `exp(xᵢ) · 2^−k`.
    pub sum: f32,
}

two_words!(Exponentials: f32);

/// `ln(exp(x₀) + exp(x₁) + …)`, in one pass. All −∞ gives −∞, as nothing does; a +∞ gives +∞; a NaN gives NaN.
///
/// # Error
///
/// To first order, with `d = ⌈log₂ n⌉`, the absolute error is at most
///
/// ```text
/// f32: (d + 6.5 + 0.23 · ln n) · 2⁻²⁴,  and the rounding of the answer
/// f64: (2.3 · d + ln n) · 2⁻⁵³,         and two roundings of at most 0.65 ulp of the answer or of ln n
/// ```
///
/// In f32 each level rounds once. An element's exponential is off by 2.7 · 2⁻²⁴ at most. So is that of the largest, which the sum is divided by; the quotient is rounded once.
/// The rounding of `log₂ e` adds 0.23 · 2⁻²⁴ of an element's distance from the largest. Weighted with the elements' shares of the sum these distances
/// come to at most `ln n`: they are the entropy of the shares, which is `ln n` at most, less `ln sum`.
///
/// In f64 combining two multiplies by an exponential (off by 1.2 roundings at most) and rounds once: 2.3 for each of `d` levels. Terms below `e⁻⁷⁰⁸` of a
/// maximum count as that much: nothing, beside a sum of at least 1.
///
/// # Cost
///
/// In f32 an exponential for each element, of about ten instructions where several are [relative to one](crate::arithmetic::power), and no other. In f64 one for each two that are
/// combined, whichever of them is larger.
///
/// # Source
///
/// M. Milakov and N. Gimelshein, *Online normalizer calculation for softmax* (2018), made symmetric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogSumExp;

/// A type that exponentials are summed in, and how.
pub trait Base: Words {
    /// The state.
    type State: Words;

    /// Of no elements.
    fn empty() -> Self::State;
    /// Of one element.
    fn of(self) -> Self::State;
    /// Of the elements of both. Neutral with [`empty`](Self::empty) and commutative, to the bit.
    fn combine(a: Self::State, b: Self::State) -> Self::State;
    /// The logarithm of what a state stands for.
    fn ln(state: Self::State) -> f64;

    /// Whether elements are summed relative to the largest, as the functions below have it.
    const SUMS_RELATIVE: bool = false;
    /// Where they are: the number as f32.
    #[inline(always)]
    fn number(self) -> f32 {
        0.0
    }
    /// The state of several, by the largest and their sum.
    #[inline(always)]
    fn of_sum(largest: f32, sum: f32) -> Self::State {
        let _ = (largest, sum);
        Self::empty()
    }
    /// [`combine`](Self::combine) of those within bounds.
    #[inline(always)]
    fn combine_bounded(a: Self::State, b: Self::State) -> Self::State {
        Self::combine(a, b)
    }
}

impl Base for f32 {
    type State = Exponentials;

    #[inline(always)]
    fn empty() -> Exponentials {
        Exponentials {
            max: Self::NEG_INFINITY,
            sum: 0.0,
        }
    }
    #[inline(always)]
    fn of(self) -> Exponentials {
        Self::of_sum(self, power::mantissa(self))
    }
    #[inline(always)]
    fn combine(a: Exponentials, b: Exponentials) -> Exponentials {
        Exponentials {
            max: single::maximum(a.max, b.max),
            sum: power::add(power::gap(a.max, b.max), a.sum, b.sum),
        }
    }
    #[inline(always)]
    fn ln(Exponentials { max, sum }: Exponentials) -> f64 {
        f64::from(if max.is_finite() { power::ln(max, sum) } else { max })
    }

    const SUMS_RELATIVE: bool = true;
    #[inline(always)]
    fn number(self) -> f32 {
        self
    }
    #[inline(always)]
    fn of_sum(max: f32, sum: f32) -> Exponentials {
        // One zero, so that any maximum will do.
        let max = max + 0.0;
        Exponentials { max, sum }
    }
    #[inline(always)]
    fn combine_bounded(a: Exponentials, b: Exponentials) -> Exponentials {
        Exponentials {
            max: single::larger(a.max, b.max),
            sum: power::add(power::gap_bounded(a.max, b.max), a.sum, b.sum),
        }
    }
}

impl Scaled<f32> {
    /// Of no elements.
    pub const EMPTY: Self = Self {
        max: f32::NEG_INFINITY,
        sum: 0.0,
    };
}

impl Scaled<f64> {
    /// Of no elements.
    pub const EMPTY: Self = Self {
        max: f64::NEG_INFINITY,
        sum: 0.0,
    };
}

impl Base for f64 {
    type State = Scaled<f64>;

    #[inline(always)]
    fn empty() -> Scaled<f64> {
        Scaled::<f64>::EMPTY
    }
    #[inline(always)]
    fn of(self) -> Scaled<f64> {
        Scaled { max: self, sum: 1.0 }
    }
    // Equal maxima, and infinite or NaN ones, have a gap of 0 or NaN, whose exponential is 1: then it does not matter
    // which sum is called the larger one's.
    #[inline(always)]
    fn combine(a: Scaled<f64>, b: Scaled<f64>) -> Scaled<f64> {
        let gap = a.max - b.max;
        let (larger, smaller) = if gap < 0.0 { (b.sum, a.sum) } else { (a.sum, b.sum) };
        Scaled {
            max: double::maximum(a.max, b.max),
            sum: double::fma(smaller, double::exp_gap(gap), larger),
        }
    }
    #[inline(always)]
    fn ln(state: Scaled<f64>) -> f64 {
        state.max + double::ln(state.sum)
    }
}

impl<T: Float<Wide: Base>> Monoid<T> for LogSumExp {
    type State = <T::Wide as Base>::State;
    type Answer = T;

    #[inline(always)]
    fn identity(self) -> Self::State {
        T::Wide::empty()
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> Self::State {
        value.wide().of()
    }
    #[inline(always)]
    fn combine(self, a: Self::State, b: Self::State) -> Self::State {
        T::Wide::combine(a, b)
    }
    const ALGEBRA: Algebra = Algebra {
        sums_relative: T::Wide::SUMS_RELATIVE,
        fuses: true,
        has_word_maximum: T::Wide::SUMS_RELATIVE && T::WORD_MAXIMUM.is_some(),
        ..Algebra::PLAIN
    };
    #[inline(always)]
    fn filler(self) -> Option<T> {
        T::Wide::SUMS_RELATIVE.then(|| T::from_f64(f64::NEG_INFINITY))
    }
    crate::opt_in!(T: RelativeSum, ByWords);
    #[inline]
    fn finish(self, state: Self::State, _: u64) -> T {
        T::from_f64(T::Wide::ln(state))
    }
    #[inline]
    fn empty(self) -> Option<T> {
        Some(T::from_f64(f64::NEG_INFINITY))
    }
}

impl<T: Float<Wide: Base>> RelativeSum<T, <T::Wide as Base>::State> for LogSumExp {
    #[inline(always)]
    fn number(self, value: T) -> f32 {
        value.wide().number()
    }
    #[inline(always)]
    fn is_bounded(self, number: f32) -> bool {
        power::is_bounded(number)
    }
    #[inline(always)]
    fn term(self, largest: f32, number: f32, is_bounded: bool) -> f32 {
        if is_bounded {
            RelativeTo::of(largest).term(number)
        } else {
            power::term_of_any(largest, number)
        }
    }
    #[inline(always)]
    fn of_terms(self, largest: f32, terms: f32, is_bounded: bool) -> <T::Wide as Base>::State {
        T::Wide::of_sum(
            largest,
            if is_bounded {
                RelativeTo::sum(largest, terms)
            } else {
                power::sum_of_any(largest, terms)
            },
        )
    }
    #[inline(always)]
    fn combine_bounded(self, a: <T::Wide as Base>::State, b: <T::Wide as Base>::State) -> <T::Wide as Base>::State {
        T::Wide::combine_bounded(a, b)
    }
    #[inline(always)]
    fn fold_at_hand<P: Again<T> + Part<T>>(self, part: P) -> <T::Wide as Base>::State {
        relative::fold_at_hand(self, part)
    }
}

impl<T: Float> ByWords<T> for LogSumExp {
    #[inline(always)]
    fn maximum(self, a: u32, b: u32) -> u32 {
        word_maximum::<T>(a, b)
    }
}
