//! The norm of any power.

use super::{Algebra, Monoid, Scaled, log_sum_exp::Base};
use crate::{arithmetic::double, element::Float};

/// `(|x₀|ᵖ + |x₁|ᵖ + …)^(1/p)`. NaN if there is a NaN, otherwise ∞ if there is an infinity. 0 over nothing.
///
/// It is `exp(log-sum-exp(p · ln|xᵢ|) / p)`, by the states of [`LogSumExp`](super::LogSumExp), all in f64 and rounded to the
/// elements' type once. So no power over- or underflows, for any `p` up to 10³⁰⁵: the answer is finite wherever the norm
/// itself fits its type, and subnormal numbers count.
///
/// With `d = ⌈log₂ n⌉` and `L` the largest `|ln|xᵢ||` (103.3 at most), a relative error of at most
/// `2⁻²⁴ + (4 · L + 1 + (2.3 · d + 3 · ln n) / p) · 2⁻⁵³` to first order.
///
/// A logarithm for each element and an exponential for each combination, both in f64, are about 70 instructions of f64
/// arithmetic: several times what reading the element takes, and more on a GPU with few f64 units. `p` of 1, 2 and ∞ have
/// operators of their own, which cost next to nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormLp {
    /// The power, finite and above 0. Below 1 this is no norm, for the triangle inequality fails, but is still what the
    /// formula says. Any other gives a number without meaning.
    pub p: f64,
}

impl<T: Float> Monoid<T> for NormLp {
    type State = Scaled<f64>;
    type Answer = T;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn identity(self) -> Scaled<f64> {
        Scaled::<f64>::EMPTY
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn lift(self, value: T, _: u64) -> Scaled<f64> {
        // ln 0 is −∞, and stays it: a term that is 0.
        Base::of(self.p * double::ln(value.to_f64().abs()))
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn combine(self, a: Scaled<f64>, b: Scaled<f64>) -> Scaled<f64> {
        f64::combine(a, b)
    }
    const ALGEBRA: Algebra = Algebra {
        fuses: true,
        ..Algebra::PLAIN
    };
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn finish(self, state: Scaled<f64>, _: u64) -> T {
        T::from_f64(double::exp(<f64 as Base>::ln(state) / self.p))
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn empty(self) -> Option<T> {
        Some(T::from_f64(0.0))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        arithmetic::oracle::{self, fixed},
        monoids::testing::{answer, check_laws, special_or_any},
    };

    fn norm(p: f64, values: &[f32]) -> f32 {
        answer(NormLp { p }, values)
    }

    proptest! {
        #[test]
        fn laws_hold_to_the_bit(runs in [special_or_any(), special_or_any()], p in 0.1_f64..9.0) {
            check_laws(NormLp { p }, &runs);
        }

        /// Whole powers against exact ones: `yᵖ` and `Σ|x|ᵖ` differ by `p` relative errors of `y`.
        #[test]
        fn whole_powers_are_right(values in prop::collection::vec(-1e3_f32..1e3, 1..300), p in 1..7_u32) {
            let y = norm(f64::from(p), &values);
            let power = |x: f32| (fixed(f64::from(x).abs()) >> 1200_u32).pow(p);
            let exact = values.iter().map(|x| power(*x)).fold(num_bigint::BigInt::ZERO, |a, b| a + b);
            let off = oracle::ratio(&(power(y) - &exact), &exact).abs() / f64::from(p);
            prop_assert!(off <= 1.001 * 2.0_f64.powi(-24), "{off:e}");
        }

        /// One element is its own norm, whatever its size, and `p`.
        #[test]
        fn one_element_is_its_own_norm(bits in 0..0x7f80_0000_u32, p in 1e-3_f64..1e3) {
            let x = f32::from_bits(bits);
            prop_assert_eq!(norm(p, &[x]), x);
            prop_assert_eq!(norm(p, &[-x]), x);
        }
    }

    #[test]
    fn nothing_over_or_underflows_on_the_way() {
        for x in [f32::MAX / 2.0, 1e-44, f32::MIN_POSITIVE, 1.0] {
            for p in [0.5_f64, 1.5, 3.0, 64.0, 1e6] {
                let exact = f64::from(x) * 16.0_f64.powf(1.0 / p);
                let rounded = if exact > f64::from(f32::MAX) {
                    f32::INFINITY
                } else {
                    exact as f32
                };
                let got = norm(p, &[x; 16]);
                assert!(
                    got == rounded || got == rounded.next_up() || got == rounded.next_down(),
                    "{x:e} {p}: {got:e}"
                );
            }
        }
        assert_eq!(norm(0.5, &[f32::MAX, f32::MAX]), f32::INFINITY);
    }

    #[test]
    fn edges() {
        let inf = f32::INFINITY;
        for p in [0.5, 3.0] {
            assert_eq!(norm(p, &[]).to_bits(), 0);
            assert_eq!(norm(p, &[0.0, -0.0, 0.0]).to_bits(), 0);
            assert_eq!(norm(p, &[0.0, -3.0, 0.0]), 3.0);
            assert_eq!(norm(p, &[1.0, -inf]), inf);
            for values in [&[f32::NAN][..], &[f32::NAN, inf], &[0.0, 1.0, -f32::NAN]] {
                assert_eq!(norm(p, values).to_bits(), 0x7fc0_0000);
            }
        }
        assert_eq!(norm(3.0, &[3.0, 4.0, 5.0]), 6.0);
        assert_eq!(NormLp { p: 3.0 }.empty(), Some(0.0));
    }

    #[test]
    fn bits_are_as_recorded() {
        let values: Vec<f32> = (0..1000_u16).map(|i| f32::from(i * 37 % 251) / 16.0 - 8.0).collect();
        let bits = [0.5, 1.5, 3.0, 7.5].map(|p| norm(p, &values).to_bits());
        assert_eq!(bits, [1_247_088_740, 1_138_052_368, 1_111_886_057, 1_097_705_892]);
    }
}
