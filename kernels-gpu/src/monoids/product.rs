//! Products.

use super::Monoid;
use crate::{
    element::{Accumulator as _, Product as _, Real, Wide},
    tree::{self, Part, Place, ROWS},
};

/// `x₀ · x₁ · …`, pairwise. Over nothing, 1.
///
/// In f32 of f16, bf16 and f32, in f64 of f64, with a relative error of at most `(n − 1) · u` to first order. A float's state has an
/// [exponent of its own](crate::element::Extended), so nothing over- or underflows on the way: the answer is a zero where an element is,
/// and none infinite or NaN. Integers are answered in 64 bits and wrap around there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Product;

impl<T: Real> Monoid<T> for Product {
    type State = <T::Wide as Wide>::Product;
    type Answer = T::Total;

    #[inline]
    fn identity(self) -> Self::State {
        Self::State::ONE
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> Self::State {
        Self::State::of(value.wide())
    }
    #[inline]
    fn combine(self, a: Self::State, b: Self::State) -> Self::State {
        a.times(b)
    }
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> Self::State {
        // The product of small integers is exact.
        if T::SMALL.is_some() {
            tree::chain(self, part)
        } else {
            tree::fold_part(self, part)
        }
    }
    const ASSOCIATES: bool = T::Wide::EXACT;
    /// The bits are those of pairs: it is less code.
    const FOLDS_COLUMNS: bool = !T::Wide::EXACT;
    #[inline(always)]
    fn fold_column(self, column: [Place<T>; ROWS], _: u64, _: u64) -> Self::State {
        Self::State::of_column(column.map(|place| {
            if place.is_there {
                place.value.wide()
            } else {
                T::Wide::ONE
            }
        }))
    }
    #[inline]
    fn finish(self, product: Self::State, _: u64) -> T::Total {
        T::total(product.value())
    }
    #[inline]
    fn empty(self) -> Option<T::Total> {
        Some(T::total(T::Wide::ONE))
    }
}
