//! How many elements are of a kind, and whether any or all are.
//!
//! NaN is not zero, so it counts as nonzero and as true, as NumPy has it.

use super::{Monoid, sum::total};
use crate::{
    element::{Element, Float, Normed, Rank},
    tree::Part,
};

/// A count of the elements of a kind.
macro_rules! count {
    ($(#[$doc:meta])* $name:ident of $kind:ident, |$value:ident| $is:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name;

        impl<T: $kind> Monoid<T> for $name {
            type State = u64;
            type Answer = u64;

            #[inline]
            fn identity(self) -> u64 {
                0
            }
            #[inline]
            fn lift(self, $value: T, _: u64) -> u64 {
                u64::from($is)
            }
            #[inline]
            fn combine(self, a: u64, b: u64) -> u64 {
                a + b
            }
            #[inline(always)]
            fn fold_part(self, part: impl Part<T>) -> u64 {
                total(part, |$value: T| i32::from($is)) as u64
            }
            #[inline]
            fn finish(self, count: u64, _: u64) -> u64 {
                count
            }
            #[inline]
            fn empty(self) -> Option<u64> {
                Some(0)
            }
        }
    };
}

count!(
    /// How many elements are not zero; neither zero counts, a NaN does. 0 over nothing.
    CountNonzero of Element, |value| value.is_nonzero()
);
count!(
    /// How many elements are NaN. 0 over nothing.
    CountNan of Normed, |value| value.is_nan()
);
count!(
    /// How many elements are +∞ or −∞. 0 over nothing.
    CountInf of Float, |value| value.magnitude() == T::Rank::HIGHEST
);

/// Whether elements are not zero: one of them, or all.
macro_rules! truth {
    ($(#[$doc:meta])* $name:ident, $identity:literal, |$a:ident, $b:ident| $combine:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name;

        impl<T: Element> Monoid<T> for $name {
            type State = bool;
            type Answer = bool;

            #[inline]
            fn identity(self) -> bool {
                $identity
            }
            #[inline]
            fn lift(self, value: T, _: u64) -> bool {
                value.is_nonzero()
            }
            #[inline]
            fn combine(self, $a: bool, $b: bool) -> bool {
                $combine
            }
            #[inline]
            fn finish(self, truth: bool, _: u64) -> bool {
                truth
            }
            #[inline]
            fn empty(self) -> Option<bool> {
                Some($identity)
            }
        }
    };
}

truth!(
    /// Whether any element is not zero; a NaN is not. False over nothing.
    Any, false, |a, b| a | b
);
truth!(
    /// Whether no element is zero; a NaN is not. True over nothing.
    All, true, |a, b| a & b
);
