//! Integers bit by bit.

use super::Monoid;
use crate::{
    element::Integer,
    tree::{self, Part},
};

/// An operator on the bits of integers: exact, so any order will do.
macro_rules! operator {
    ($(#[$doc:meta])* $name:ident, |$zero:ident| $identity:expr, |$a:ident, $b:ident| $combine:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name;

        impl<T: Integer> Monoid<T> for $name {
            type State = T;
            type Answer = T;

            #[inline]
            fn identity(self) -> T {
                let $zero = T::from_bits(0);
                $identity
            }
            #[inline]
            fn lift(self, value: T, _: u64) -> T {
                value
            }
            #[inline]
            fn combine(self, $a: T, $b: T) -> T {
                $combine
            }
            #[inline(always)]
            fn fold_part(self, part: impl Part<T>) -> T {
                if tree::is_long::<T>() {
                    tree::chain(self, part)
                } else {
                    tree::chains(self, part)
                }
            }
            #[inline]
            fn finish(self, bits: T, _: u64) -> T {
                bits
            }
            #[inline]
            fn empty(self) -> Option<T> {
                Some(Monoid::<T>::identity(self))
            }
        }
    };
}

operator!(
    /// The bits that all elements have. All bits over nothing: −1, or the largest unsigned number.
    BitAnd, |zero| !zero, |a, b| a & b
);
operator!(
    /// The bits that any element has. 0 over nothing.
    BitOr, |zero| zero, |a, b| a | b
);
operator!(
    /// The bits that an odd number of elements have. 0 over nothing.
    BitXor, |zero| zero, |a, b| a ^ b
);

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
        assert_eq!(op.empty(), Some(op.identity()));
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
                    laws::<$int, _>(BitAnd, &runs, |a, b| a & b);
                    laws::<$int, _>(BitOr, &runs, |a, b| a | b);
                    laws::<$int, _>(BitXor, &runs, |a, b| a ^ b);
                )*};
            }
            each!(i8 i16 i32 i64 u8 u16 u32 u64);
        }
    }

    #[test]
    fn nothing_gives_the_identity() {
        assert_eq!(Monoid::<i8>::empty(BitAnd), Some(-1));
        assert_eq!(Monoid::<u64>::empty(BitAnd), Some(u64::MAX));
        assert_eq!(Monoid::<i32>::empty(BitOr), Some(0));
        assert_eq!(Monoid::<u16>::empty(BitXor), Some(0));
    }
}
