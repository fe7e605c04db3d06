//! Operators that ask for bits in a range, of whatever elements: kernels of unsigned integers of the same size fold them.

use warpfold_kernels::{
    element::{Element, Type, bf16, f8e4m3, f8e5m2, f16},
    kernels::{Entry, OpParams},
    monoids,
    monoids::Monoid,
};

use super::{Operator, Reduction, TakesMask};

/// `Operator: Monoid::constructor, "name", "kernels"; for elements`.
macro_rules! by_bits {
    ($(
        $(#[$doc:meta])*
        $op:ident: $monoid:ident::$make:ident, $name:literal, $entry:literal; for $($element:ident)*;
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $op;

        impl Operator for $op {
            const NAME: &'static str = $name;
            const ENTRY: &'static str = $entry;
        }

        impl TakesMask for $op {
            const ENTRY_WHERE: &'static str = concat!($entry, "_where");
            type Counted = monoids::$monoid;
            fn counted(self, element: Type) -> monoids::$monoid {
                monoids::$monoid::$make(element)
            }
        }

        $(impl Reduction<$element> for $op {
            type Answer = <monoids::$monoid as Monoid<$element>>::Answer;
            type State = <monoids::$monoid as Monoid<$element>>::State;
            type Monoid = monoids::$monoid;
            const BUILT: Type = <$element as Element>::TYPE.bits();
            fn monoid(self) -> monoids::$monoid {
                monoids::$monoid::$make(<$element as Element>::TYPE)
            }
            fn params(self, _: &Entry) -> OpParams {
                Reduction::<$element>::monoid(self).params()
            }
        })*
    )*};
}

by_bits! {
    /// How many elements are not zero; a NaN is not. 0 over nothing.
    CountNonzero: Count::nonzero, "count-nonzero", "count"; for f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool;
    /// How many elements are NaN. 0 over nothing.
    CountNan: Count::nan, "count-nan", "count"; for f16 bf16 f32 f64 f8e4m3 f8e5m2;
    /// How many elements are +∞ or −∞. 0 over nothing.
    CountInf: Count::infinite, "count-inf", "count"; for f16 bf16 f32 f64;
    /// Whether any element is not zero; a NaN is not. False over nothing.
    Any: Truth::any, "any", "truth"; for f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool;
    /// Whether no element is zero; a NaN is not. True over nothing.
    All: Truth::all, "all", "truth"; for f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool;
}
