//! Sums that nothing is rounded off from.

mod doubles;
mod fixed;
mod singles;

pub use fixed::Fixed;

use super::{Algebra, Monoid, sum::SumOrMean};
use crate::{
    element::{Element, Float},
    tree::{Part, PartFold},
};

/// A [`Sum`](super::Sum) or [`Mean`](super::Mean) without error: the sum of the real numbers, or that divided by their count, rounded
/// to nearest even once. No order of the elements changes a bit of it.
///
/// A NaN, or infinities of both signs, give NaN; infinities of one sign that one. Nothing overflows on the way: `MAX + MAX − MAX` is
/// `MAX`, and the mean of finite numbers is finite. A sum of zero is +0.0, but −0.0 where every element is −0.0, as IEEE 754 has it.
/// Over nothing the sum is +0.0 and the mean NaN.
///
/// A state is a whole number of the smallest float in two's complement ([`Fixed`]): the 277 bits of f32, or the 2098 of f64, and room
/// for 2⁶⁴ of them. Such a long accumulator is U. Kulisch's (*Computer Arithmetic and Validity*, 2008). Few elements reach it by
/// themselves: most are added to floats that nothing is rounded off from, of f32 within a part of a leaf, of f64 all that a
/// lane reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exact<Op>(pub Op);

/// What an exact sum of `$float` is, and how a lane's part of a leaf and all its parts are folded.
macro_rules! exact {
    ($($float:ty: $words:literal words, $fold_part:path, $fold_parts:path;)*) => {
        $(impl<Op: SumOrMean> Monoid<$float> for Exact<Op> {
            type State = Fixed<$words>;
            type Answer = $float;

            #[inline(always)]
            fn identity(self) -> Fixed<$words> {
                Fixed::NOTHING
            }
            #[inline(always)]
            fn lift(self, value: $float, _: u64) -> Fixed<$words> {
                Fixed::of(value)
            }
            #[inline(always)]
            fn filler(self) -> Option<$float> {
                Some(Element::nothing())
            }
            #[inline(always)]
            fn combine(self, a: Fixed<$words>, b: Fixed<$words>) -> Fixed<$words> {
                a.plus(b)
            }
            const ALGEBRA: Algebra = Algebra {
                associates: true,
                ..Algebra::PLAIN
            };
            crate::opt_in!($float: PartFold);
            #[inline(always)]
            fn finish(self, sum: Fixed<$words>, count: u64) -> $float {
                Float::from_f64(sum.divided_by::<$float>(Op::divisor(count)))
            }
            #[inline]
            fn empty(self) -> Option<$float> {
                Some(Float::from_f64(Op::OF_NOTHING))
            }
        }

        impl<Op: SumOrMean> PartFold<$float, Fixed<$words>> for Exact<Op> {
            #[inline(always)]
            fn fold_part(self, part: impl Part<$float>) -> Fixed<$words> {
                $fold_part(part)
            }
            #[inline(always)]
            fn fold_parts<P: Part<$float>>(
                self,
                _: impl Monoid<$float, State = Fixed<$words>>,
                sum: Fixed<$words>,
                next: impl FnMut() -> Option<P>,
            ) -> Fixed<$words> {
                $fold_parts(sum, next)
            }
        })*
    };
}

exact! {
    f32: 11 words, singles::fold_part, singles::fold_parts;
    f64: 68 words, doubles::fold_part, doubles::fold_parts;
}

#[cfg(test)]
#[path = "exact_tests.rs"]
mod tests;
