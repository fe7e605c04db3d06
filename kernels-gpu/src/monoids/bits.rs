//! Integers bit by bit: exact, so any order will do.

use super::{Algebra, Monoid};
use crate::{
    element::Integer,
    kernels::OpParams,
    tree::{Exactly, PartFold},
};

/// What becomes of each bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// Whether all elements have it. All bits over nothing: −1, or the largest unsigned number.
    And,
    /// Whether any element has it. 0 over nothing.
    Or,
}

impl Bits {
    /// By the number that a launch passes: 1 for those that all have.
    #[inline]
    #[must_use]
    pub fn of_params(params: OpParams) -> Self {
        if params.number == 1 { Self::And } else { Self::Or }
    }

    /// The number that a launch passes.
    #[must_use]
    pub fn parameter(self) -> u64 {
        u64::from(self == Self::And)
    }

    /// All elements have the bits that none has not.
    #[inline]
    fn turned<T: Integer>(self, bits: T) -> T {
        if self == Self::And { !bits } else { bits }
    }
}

impl<T: Integer> Monoid<T> for Bits {
    /// The bits that any has, or has not.
    type State = T;
    type Answer = T;

    #[inline]
    fn identity(self) -> T {
        T::from_bits(0)
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> T {
        self.turned(value)
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Some(self.turned(T::from_bits(0)))
    }
    #[inline]
    fn combine(self, a: T, b: T) -> T {
        a | b
    }
    #[inline(always)]
    fn part_fold(self) -> impl PartFold<T, T> {
        Exactly(self)
    }
    const ALGEBRA: Algebra = Algebra {
        associates: true,
        ..Algebra::PLAIN
    };
    #[inline]
    fn finish(self, bits: T, _: u64) -> T {
        self.turned(bits)
    }
    #[inline]
    fn empty(self) -> Option<T> {
        Some(self.turned(T::from_bits(0)))
    }
}

/// The bits that an odd number of elements have. 0 over nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BitXor;

impl<T: Integer> Monoid<T> for BitXor {
    type State = T;
    type Answer = T;

    #[inline]
    fn identity(self) -> T {
        T::from_bits(0)
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> T {
        value
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Some(T::from_bits(0))
    }
    #[inline]
    fn combine(self, a: T, b: T) -> T {
        a ^ b
    }
    #[inline(always)]
    fn part_fold(self) -> impl PartFold<T, T> {
        Exactly(self)
    }
    const ALGEBRA: Algebra = Algebra {
        associates: true,
        ..Algebra::PLAIN
    };
    #[inline]
    fn finish(self, bits: T, _: u64) -> T {
        bits
    }
    #[inline]
    fn empty(self) -> Option<T> {
        Some(T::from_bits(0))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::monoids::testing::{answer, bits, fold};

    fn laws<T: Integer + core::fmt::Debug, M: Monoid<T, State = T, Answer = T>>(
        op: M,
        runs: &[Vec<u64>; 3],
        plain: fn(u64, u64) -> u64,
    ) {
        let elements = |run: &[u64]| run.iter().map(|&bits| T::from_bits(bits)).collect::<Vec<T>>();
        let [a, b, c] = [0, 1, 2].map(|i| fold(op, &elements(&runs[i])));
        for state in [a, b, op.identity()] {
            assert_eq!(op.combine(op.identity(), state), state);
            assert_eq!(op.combine(state, op.identity()), state);
            assert_eq!(T::from_words(|i| state.word(i)), state);
        }
        assert_eq!(op.combine(a, b), op.combine(b, a));
        assert_eq!(op.combine(op.combine(a, b), c), op.combine(a, op.combine(b, c)));
        assert_eq!(op.empty(), Some(op.finish(op.identity(), 0)));
        let of_all = runs[0].iter().copied().reduce(plain).expect("a run has an element");
        assert_eq!(bits(answer(op, &elements(&runs[0]))), bits(T::from_bits(of_all)));
    }

    fn run() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(any::<u64>(), 1..10)
    }

    proptest! {
        #[test]
        fn laws_hold(runs in [run(), run(), run()]) {
            macro_rules! each {
                ($($int:ty)*) => {$(
                    laws::<$int, _>(Bits::And, &runs, |a, b| a & b);
                    laws::<$int, _>(Bits::Or, &runs, |a, b| a | b);
                    laws::<$int, _>(BitXor, &runs, |a, b| a ^ b);
                )*};
            }
            each!(i8 i16 i32 i64 u8 u16 u32 u64);
        }
    }

    #[test]
    fn nothing_gives_the_identity() {
        assert_eq!(Monoid::<i8>::empty(Bits::And), Some(-1));
        assert_eq!(Monoid::<u64>::empty(Bits::And), Some(u64::MAX));
        assert_eq!(Monoid::<i32>::empty(Bits::Or), Some(0));
        assert_eq!(Monoid::<u16>::empty(BitXor), Some(0));
    }
}
