//! How many elements are of a kind, and whether any or all are.
//!
//! NaN is not zero, so it counts as nonzero and as true, as NumPy has it.

use super::Monoid;

macro_rules! count {
    ($(#[$doc:meta])* $name:ident, |$value:ident| $counts:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name;

        impl Monoid<f32> for $name {
            type State = u64;
            type Answer = u64;

            #[inline]
            fn identity(self) -> u64 {
                0
            }
            #[inline]
            fn lift(self, $value: f32, _: u64) -> u64 {
                u64::from($counts)
            }
            #[inline]
            fn combine(self, a: u64, b: u64) -> u64 {
                a + b
            }
            #[inline]
            fn finish(self, count: u64) -> u64 {
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
    CountNonzero, |value| value != 0.0
);
count!(
    /// How many elements are NaN. 0 over nothing.
    CountNan, |value| value.is_nan()
);
count!(
    /// How many elements are +∞ or −∞. 0 over nothing.
    CountInf, |value| value.is_infinite()
);

/// Whether any element is not zero; a NaN is not. False over nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Any;

impl Monoid<f32> for Any {
    type State = bool;
    type Answer = bool;

    #[inline]
    fn identity(self) -> bool {
        false
    }
    #[inline]
    fn lift(self, value: f32, _: u64) -> bool {
        value != 0.0
    }
    #[inline]
    fn combine(self, a: bool, b: bool) -> bool {
        a | b
    }
    #[inline]
    fn finish(self, any: bool) -> bool {
        any
    }
    #[inline]
    fn empty(self) -> Option<bool> {
        Some(false)
    }
}

/// Whether no element is zero; a NaN is not. True over nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct All;

impl Monoid<f32> for All {
    type State = bool;
    type Answer = bool;

    #[inline]
    fn identity(self) -> bool {
        true
    }
    #[inline]
    fn lift(self, value: f32, _: u64) -> bool {
        value != 0.0
    }
    #[inline]
    fn combine(self, a: bool, b: bool) -> bool {
        a & b
    }
    #[inline]
    fn finish(self, all: bool) -> bool {
        all
    }
    #[inline]
    fn empty(self) -> Option<bool> {
        Some(true)
    }
}
