//! Norms of tensors of several types, as vectors of all their elements; and beside a norm how many elements are not finite.

use super::{Algebra, Monoid, NormInf, NormL1, NormL2, NormLp};
use crate::element::Rank as _;

/// A norm that tensors of f32, f16 and bf16 share: its states are the same for all three, an element being the f32 that it is. So a state of one tensor can be
/// combined with that of another, whatever they are of.
pub trait TensorNorm: Monoid<f32, Answer = f32> {
    /// Whether a state is of finite elements alone. It may say no of such, where they are too large for it.
    fn is_finite(self, state: Self::State) -> bool;
}

impl TensorNorm for NormL1 {
    #[inline(always)]
    fn is_finite(self, sum: f32) -> bool {
        sum < f32::INFINITY
    }
}

impl TensorNorm for NormL2 {
    #[inline(always)]
    fn is_finite(self, squares: Self::State) -> bool {
        squares.sum < f64::INFINITY
    }
}

impl TensorNorm for NormInf {
    #[inline(always)]
    fn is_finite(self, best: i32) -> bool {
        f32::of_key(best) < f32::INFINITY
    }
}

impl TensorNorm for NormLp {
    #[inline(always)]
    fn is_finite(self, state: Self::State) -> bool {
        state.max < f64::INFINITY
    }
}

/// A norm, and how many elements are infinite or NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted<N>(pub N);

/// What it answers: the norm, nothing, and the count. Memory has it in 16 bytes.
pub type NormAndCount = ((f32, u32), u64);

impl<N: TensorNorm> Monoid<f32> for Counted<N> {
    type State = (N::State, u64);
    type Answer = NormAndCount;

    #[inline(always)]
    fn identity(self) -> Self::State {
        (self.0.identity(), 0)
    }
    #[inline(always)]
    fn lift(self, value: f32, index: u64) -> Self::State {
        (self.0.lift(value, index), u64::from(!value.is_finite()))
    }
    #[inline(always)]
    fn combine(self, a: Self::State, b: Self::State) -> Self::State {
        (self.0.combine(a.0, b.0), a.1 + b.1)
    }
    const ALGEBRA: Algebra = Algebra {
        fuses: N::ALGEBRA.fuses,
        ..Algebra::PLAIN
    };
    #[inline(always)]
    fn finish(self, state: Self::State, len: u64) -> NormAndCount {
        ((self.0.finish(state.0, len), 0), state.1)
    }
    #[inline(always)]
    fn empty(self) -> Option<NormAndCount> {
        Some(((self.0.empty()?, 0), 0))
    }
}

/// What tensors are multiplied by, so that their norm is `max_norm` at most: `max_norm / (norm + 10⁻⁶)`, in f32, each operation rounded once. None where they stay as they
/// are: where that is no less than 1, and where the norm is not finite.
#[inline(always)]
#[must_use]
pub fn clip_factor(norm: f32, max_norm: f32) -> Option<f32> {
    let factor = max_norm / (norm + 1e-6);
    (norm < f32::INFINITY && factor < 1.0).then_some(factor)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        element::{Float, bf16, f16},
        monoids::testing::{answer, bits, fold, special_or_any},
    };

    /// The states of narrower elements are those of the f32 that each is.
    fn widens<T: Float<Wide = f32>, N>(norm: N, values: &[T])
    where
        N: TensorNorm + Monoid<T, State = <N as Monoid<f32>>::State>,
    {
        let wide: Vec<f32> = values.iter().map(|x| x.wide()).collect();
        let (a, b) = (fold::<T, N>(norm, values), fold::<f32, N>(norm, &wide));
        if Monoid::<f32>::finish(norm, a, 1).is_nan() {
            assert!(Monoid::<f32>::finish(norm, b, 1).is_nan());
        } else {
            assert_eq!(bits(a), bits(b));
        }
    }

    fn counts<N: TensorNorm>(norm: N, values: &[f32]) {
        let ((total, _), count) = answer(Counted(norm), values);
        assert_eq!(count, values.iter().filter(|x| !x.is_finite()).count() as u64);
        assert_eq!(total.to_bits(), answer::<f32, N>(norm, values).to_bits());
        let is_finite = norm.is_finite(fold::<f32, N>(norm, values));
        assert!(!is_finite || count == 0, "finite, with {count} that are not");
    }

    proptest! {
        #[test]
        fn narrower_elements_have_the_states_of_their_f32(words in prop::collection::vec(any::<u16>(), 0..40)) {
            let halves: Vec<f16> = words.iter().map(|x| f16::from_bits(*x)).collect();
            let brains: Vec<bf16> = words.iter().map(|x| bf16::from_bits(*x)).collect();
            macro_rules! all {
                ($($norm:expr),*) => {
                    $(widens($norm, &halves); widens($norm, &brains);)*
                };
            }
            all!(NormL1, NormL2, NormInf, NormLp { p: 3.0 });
        }

        #[test]
        fn what_is_not_finite_is_counted(values in special_or_any()) {
            counts(NormL1, &values);
            counts(NormL2, &values);
            counts(NormInf, &values);
            counts(NormLp { p: 1.5 }, &values);
        }

        #[test]
        fn what_is_clipped_is_no_larger(norm in 0.0_f32..1e30, max in 0.0_f32..1e3) {
            match clip_factor(norm, max) {
                Some(factor) => prop_assert!(factor < 1.0 && norm * factor <= max * (1.0 + 3.0 * f32::EPSILON)),
                None => prop_assert!(norm <= max),
            }
        }
    }

    #[test]
    fn what_has_no_finite_norm_stays() {
        for norm in [f32::NAN, f32::INFINITY] {
            assert_eq!(clip_factor(norm, 1.0), None);
        }
        assert_eq!(clip_factor(2.0, f32::INFINITY), None);
        assert_eq!(clip_factor(0.0, 0.0), Some(0.0));
        assert_eq!(clip_factor(4.0, 2.0), Some(2.0 / (4.0 + 1e-6)));
    }
}
