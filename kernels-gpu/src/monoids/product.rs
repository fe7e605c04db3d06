//! Products.

use super::{Algebra, Monoid};
use crate::{
    element::{Accumulator as _, Element, Wide},
    tree::{self, Part, PartFold},
};

/// `x₀ · x₁ · …`, pairwise. Over nothing, 1.
///
/// In the types of [`Sum`](super::Sum): for floats a relative error of at most `(n − 1) · u` to first order, as long as nothing over- or
/// underflows on the way. It may where the answer does not: numbers are combined in pairs, and a zero does not make up for an infinity, so the
/// product of 0, 1, …, 55 in f32 is NaN. States with an exponent of their own would mend that, and took 7.0 instructions an element on a
/// CPU where these take 0.52. Where factors reach far, fold f64, or add up logarithms. Integers wrap around.
///
/// Of complex numbers each of four products and two sums is rounded; a factor that is 1 changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Product;

impl<T: Element> Monoid<T> for Product {
    type State = T::Wide;
    type Answer = T::Total;

    #[inline]
    fn identity(self) -> T::Wide {
        T::Wide::ONE
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> T::Wide {
        value.wide()
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Some(T::from_bits(T::TYPE.one()))
    }
    #[inline]
    fn combine(self, a: T::Wide, b: T::Wide) -> T::Wide {
        a.times(b)
    }
    crate::opt_in!(T: PartFold);
    const ALGEBRA: Algebra = Algebra {
        associates: T::Wide::EXACT,
        ..Algebra::PLAIN
    };
    #[inline]
    fn finish(self, product: T::Wide, _: u64) -> T::Total {
        T::total(product)
    }
    #[inline]
    fn empty(self) -> Option<T::Total> {
        Some(T::total(T::Wide::ONE))
    }
}

impl<T: Element> PartFold<T, T::Wide> for Product {
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> T::Wide {
        // The product of small integers is exact.
        if T::SMALL.is_some() {
            tree::chain(self, part)
        } else {
            tree::fold_part(self, part)
        }
    }
}
