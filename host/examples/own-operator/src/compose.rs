//! An operator that does not commute: the composition of maps.

use warpfold_kernels::{
    monoids::{InOrder, Monoid},
    ops::OwnOperator,
    words_of_fields,
};

/// Each element is a step of a linear congruential generator: it says by how much the seed is multiplied, which is made odd, and how
/// much is added. Folded, they are the one step that does all of them, the first first.
#[derive(Clone, Copy, Debug)]
pub struct Compose;

/// The map `x ↦ factor · x + term`, in arithmetic that wraps around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// What `x` is multiplied by.
    pub factor: u32,
    /// What is added.
    pub term: u32,
}

words_of_fields!(Affine { factor: u32, term: u32 });

impl Affine {
    /// Of an element.
    #[inline]
    #[must_use]
    pub fn of(element: u32) -> Self {
        Self {
            factor: element | 1,
            term: element,
        }
    }

    /// What becomes of `x`.
    #[inline]
    #[must_use]
    pub fn apply(self, x: u32) -> u32 {
        self.factor.wrapping_mul(x).wrapping_add(self.term)
    }
}

impl<T: Into<u32>> Monoid<T> for Compose {
    type State = Affine;
    type Answer = Affine;

    #[inline]
    fn identity(self) -> Affine {
        Affine { factor: 1, term: 0 }
    }
    #[inline]
    fn lift(self, element: T, _: u64) -> Affine {
        Affine::of(element.into())
    }
    #[inline]
    fn combine(self, first: Affine, then: Affine) -> Affine {
        Affine {
            factor: then.factor.wrapping_mul(first.factor),
            term: then.apply(first.term),
        }
    }
    #[inline]
    fn finish(self, all: Affine, _: u64) -> Affine {
        all
    }
    #[inline]
    fn empty(self) -> Option<Affine> {
        Some(Monoid::<T>::identity(self))
    }
}

/// Asked for in order, as it must be: `Compose` itself is no [`Commutative`](warpfold_kernels::ops::Commutative) monoid.
impl OwnOperator for Compose {
    type Monoid = InOrder<Self>;

    fn monoid(self) -> InOrder<Self> {
        InOrder(self)
    }
    fn of_parameter(_: u64) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use warpfold_kernels::testing::check_laws;

    use super::*;

    #[test]
    fn it_keeps_the_laws_of_what_is_folded_in_order() {
        check_laws(InOrder(Compose), &[0_u32, 1, 2, 0x1234_5678, u32::MAX, 0xff00_00fe]);
    }

    #[test]
    fn it_does_not_commute() {
        let [a, b] = [0x0000_0103, 0x0000_0205].map(Affine::of);
        let both = |first, then| Monoid::<u32>::combine(Compose, first, then);
        assert_ne!(both(a, b), both(b, a));
        assert_eq!(both(a, b).apply(7), b.apply(a.apply(7)));
    }
}
