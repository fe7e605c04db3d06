//! How many elements are of a kind, and whether any or all are.
//!
//! NaN is not zero, so it counts as nonzero and as true, as NumPy has it.

use super::Monoid;

/// An operator whose state is its answer, over nothing too: what one element gives, and how two answers become one.
macro_rules! operator {
    ($(#[$doc:meta])* $name:ident: $state:ty, $identity:literal, |$value:ident| $lift:expr, |$a:ident, $b:ident| $combine:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name;

        impl Monoid<f32> for $name {
            type State = $state;
            type Answer = $state;

            #[inline]
            fn identity(self) -> $state {
                $identity
            }
            #[inline]
            fn lift(self, $value: f32, _: u64) -> $state {
                $lift
            }
            #[inline]
            fn combine(self, $a: $state, $b: $state) -> $state {
                $combine
            }
            #[inline]
            fn finish(self, state: $state) -> $state {
                state
            }
            #[inline]
            fn empty(self) -> Option<$state> {
                Some($identity)
            }
        }
    };
}

operator!(
    /// How many elements are not zero; neither zero counts, a NaN does. 0 over nothing.
    CountNonzero: u64, 0, |value| u64::from(value != 0.0), |a, b| a + b
);
operator!(
    /// How many elements are NaN. 0 over nothing.
    CountNan: u64, 0, |value| u64::from(value.is_nan()), |a, b| a + b
);
operator!(
    /// How many elements are +∞ or −∞. 0 over nothing.
    CountInf: u64, 0, |value| u64::from(value.is_infinite()), |a, b| a + b
);
operator!(
    /// Whether any element is not zero; a NaN is not. False over nothing.
    Any: bool, false, |value| value != 0.0, |a, b| a | b
);
operator!(
    /// Whether no element is zero; a NaN is not. True over nothing.
    All: bool, true, |value| value != 0.0, |a, b| a & b
);
