//! How many elements are of a kind, and whether any or all are.
//!
//! NaN is not zero, so it counts as nonzero and as true, as NumPy has it.

use super::{Monoid, sum::total};
use crate::{
    element::{Element, Float, Normed, Rank},
    kernels::Told,
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
            const ASSOCIATES: bool = true;
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

/// Whether elements are not zero, as a NaN is not: any of them, or all.
///
/// All are where none is zero, so either asks for one of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// Whether any element is not zero. False over nothing.
    Any,
    /// Whether no element is zero. True over nothing.
    All,
}

impl Truth {
    /// By the number that a launch passes: 1 for all.
    #[inline]
    #[must_use]
    pub fn told(told: Told) -> Self {
        if told.number == 1 { Self::All } else { Self::Any }
    }

    /// The number that a launch passes.
    #[must_use]
    pub fn parameter(self) -> u64 {
        u64::from(self == Self::All)
    }
}

impl<T: Element> Monoid<T> for Truth {
    /// Whether there is one of the kind.
    type State = bool;
    type Answer = bool;

    #[inline]
    fn identity(self) -> bool {
        false
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> bool {
        value.is_nonzero() != (self == Self::All)
    }
    #[inline]
    fn combine(self, a: bool, b: bool) -> bool {
        a | b
    }
    const ASSOCIATES: bool = true;
    #[inline]
    fn finish(self, found: bool, _: u64) -> bool {
        found != (self == Self::All)
    }
    #[inline]
    fn empty(self) -> Option<bool> {
        Some(self == Self::All)
    }
}
