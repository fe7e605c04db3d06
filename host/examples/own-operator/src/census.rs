//! An operator with the largest state there can be, of 16 words.

use warpfold_kernels::{
    monoids::{Monoid, PartFold},
    ops::{Commutative, OwnOperator},
    tree::{self, Part},
    words_of_fields,
};

/// How many elements are of which kind. Nothing is rounded, so every order of folding gives the same counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// NaN.
    pub nan: u64,
    /// Infinite, of either sign.
    pub infinite: u64,
    /// Normal numbers.
    pub normal: u64,
    /// Subnormal numbers: closer to zero than 2⁻¹²⁶.
    pub subnormal: u64,
    /// Zeros of either sign.
    pub zero: u64,
    /// Those with the sign bit: negative numbers, −0.0, −∞ and such NaN.
    pub negative: u64,
    /// Whole numbers, zeros among them.
    pub whole: u64,
    /// Numbers that f16 has no room for: 65520 and more, which would be rounded to an infinity.
    pub past_f16: u64,
}

words_of_fields!(Census {
    nan: u64,
    infinite: u64,
    normal: u64,
    subnormal: u64,
    zero: u64,
    negative: u64,
    whole: u64,
    past_f16: u64,
});

impl Census {
    /// Of counts below 256, each a byte.
    #[inline(always)]
    fn of_bytes(counts: u64) -> Self {
        let byte = |i: u32| counts >> (8 * i) & 0xff;
        Self {
            nan: byte(0),
            infinite: byte(1),
            normal: byte(2),
            subnormal: byte(3),
            zero: byte(4),
            negative: byte(5),
            whole: byte(6),
            past_f16: byte(7),
        }
    }
}

/// Counts the elements by kind: the [`Census`] is what is carried, and what is answered.
#[derive(Clone, Copy, Debug)]
pub struct TakeCensus;

impl Monoid<f32> for TakeCensus {
    type State = Census;
    type Answer = Census;

    #[inline]
    fn identity(self) -> Census {
        Census::default()
    }
    #[inline]
    fn lift(self, value: f32, _: u64) -> Census {
        Census::of_bytes(Bytes.lift(value, 0))
    }
    #[inline]
    fn combine(self, a: Census, b: Census) -> Census {
        Census {
            nan: a.nan + b.nan,
            infinite: a.infinite + b.infinite,
            normal: a.normal + b.normal,
            subnormal: a.subnormal + b.subnormal,
            zero: a.zero + b.zero,
            negative: a.negative + b.negative,
            whole: a.whole + b.whole,
            past_f16: a.past_f16 + b.past_f16,
        }
    }
    warpfold_kernels::opt_in!(f32: PartFold);
    #[inline]
    fn finish(self, census: Census, _: u64) -> Census {
        census
    }
    #[inline]
    fn empty(self) -> Option<Census> {
        Some(Census::default())
    }
}

impl PartFold<f32, Census> for TakeCensus {
    #[inline(always)]
    fn fold_part(self, part: impl Part<f32>) -> Census {
        // Exact, so any order will do, and any way to count: states of 16 words for each of a lane's 32 elements would not fit in
        // registers.
        Census::of_bytes(tree::chain(Bytes, part))
    }
}

/// A census of at most 255 elements: a byte for each count.
#[derive(Clone, Copy)]
struct Bytes;

impl Monoid<f32> for Bytes {
    type State = u64;
    type Answer = u64;

    #[inline(always)]
    fn identity(self) -> u64 {
        0
    }
    #[inline(always)]
    fn lift(self, value: f32, _: u64) -> u64 {
        // From 2²³ on there are whole numbers alone. What is below is rounded to one when 2²³ is added.
        const ALL_WHOLE: f32 = 8_388_608.0;
        let magnitude = value.abs();
        let finite = magnitude < f32::INFINITY;
        let (zero, normal) = (magnitude == 0.0, finite && magnitude >= f32::MIN_POSITIVE);
        let whole = finite && (magnitude >= ALL_WHOLE || (magnitude + ALL_WHOLE) - ALL_WHOLE == magnitude);
        let one = |is: bool, i: u32| u64::from(is) << (8 * i);
        one(value.is_nan(), 0)
            | one(magnitude == f32::INFINITY, 1)
            | one(normal, 2)
            | one(finite && !zero && !normal, 3)
            | one(zero, 4)
            | one(value.is_sign_negative(), 5)
            | one(whole, 6)
            | one(finite && magnitude >= 65_520.0, 7)
    }
    #[inline(always)]
    fn combine(self, a: u64, b: u64) -> u64 {
        a + b
    }
    #[inline(always)]
    fn finish(self, counts: u64, _: u64) -> u64 {
        counts
    }
    #[inline(always)]
    fn empty(self) -> Option<u64> {
        Some(0)
    }
}

impl Commutative for TakeCensus {}

impl OwnOperator for TakeCensus {
    type Monoid = Self;

    fn monoid(self) -> Self {
        self
    }
    fn of_parameter(_: u64) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use warpfold_kernels::testing::check_laws;

    use super::*;

    #[test]
    fn laws_hold() {
        check_laws(
            TakeCensus,
            &[0.0, -0.0, 1.5, -3.0, 1e-40, 1e30, f32::NEG_INFINITY, f32::NAN],
        );
    }
}
