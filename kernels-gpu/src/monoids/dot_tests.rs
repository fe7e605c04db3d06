//! Dot products and cosines, against exact ones.

extern crate std;

use std::vec::Vec;

use num_bigint::BigInt;
use proptest::prelude::*;

use super::*;
use crate::{
    arithmetic::oracle::{fixed, ratio},
    monoids::{
        Sum,
        testing::{Same, answer, check_laws, special_or_any},
    },
};

impl<S: Scale> Same for Products<S> {
    fn floats(self) -> Vec<f64> {
        [[self.both].to_vec(), self.first.floats(), self.second.floats()].concat()
    }
}

fn pairs<T: Copy>(a: &[T], b: &[T]) -> Vec<Two<T>> {
    a.iter().zip(b).map(|(a, b)| Two(*a, *b)).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    answer(Dot, &pairs(a, b))
}

fn cosine_of<T: Float>(a: &[T], b: &[T]) -> T {
    answer(Cosine, &pairs(a, b))
}

/// The sum of products, exactly.
fn exact(a: &[f32], b: &[f32]) -> BigInt {
    let product = |(a, b): (&f32, &f32)| fixed((*a).into()) * fixed((*b).into());
    a.iter().zip(b).map(product).sum()
}

/// Two runs of numbers, as long as each other.
fn two(most: usize) -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
    prop::collection::vec((-1e3_f32..1e3, -1e3_f32..1e3), 1..most).prop_map(|both| both.into_iter().unzip())
}

proptest! {
    #[test]
    fn laws_hold_to_the_bit(runs in [(special_or_any(), special_or_any()), (special_or_any(), special_or_any())]) {
        let runs = runs.map(|(a, b)| pairs(&a, &b));
        if runs.iter().all(|run| !run.is_empty()) {
            check_laws(Dot, &runs);
            check_laws(Cosine, &runs);
        }
    }

    #[test]
    fn both_are_symmetric_to_the_bit((a, b) in two(300)) {
        prop_assert_eq!(dot(&a, &b).to_bits(), dot(&b, &a).to_bits());
        prop_assert_eq!(cosine_of(&a, &b).to_bits(), cosine_of(&b, &a).to_bits());
    }

    /// Nothing is fused: a dot product is the sum of the rounded products.
    #[test]
    fn a_dot_product_is_the_sum_of_the_products((a, b) in two(300)) {
        let products: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
        prop_assert_eq!(dot(&a, &b).to_bits(), answer::<f32, _>(Sum, &products).to_bits());
        let ones = std::vec![1.0; a.len()];
        prop_assert_eq!(dot(&a, &ones).to_bits(), answer::<f32, _>(Sum, &a).to_bits());
    }

    #[test]
    fn a_dot_product_is_within_its_bound((a, b) in two(300)) {
        let magnitudes: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(a * b).abs()).sum();
        let error = (fixed(dot(&a, &b).into()) * fixed(1.0) - exact(&a, &b)).magnitude().clone();
        let steps = f64::from(u32::ilog2(u32::next_power_of_two(a.len() as u32)) + 1);
        let bound = 1.001 * steps * 2.0_f64.powi(-24) * magnitudes + 1e-40;
        prop_assert!(BigInt::from(error) <= fixed(bound) * fixed(1.0));
    }

    #[test]
    fn a_cosine_is_rounded_but_once((a, b) in two(300)) {
        let (both, norms) = (exact(&a, &b), exact(&a, &a) * exact(&b, &b));
        prop_assume!(norms != BigInt::ZERO);
        let magnitude = ratio(&(&both * &both), &norms).sqrt();
        let exact = if both < BigInt::ZERO { -magnitude } else { magnitude };
        let computed = f64::from(cosine_of(&a, &b));
        // `Cosine`'s bound, with 1 for the cosine of the magnitudes; the reference's ratio and root; the rounding to f32.
        let levels = f64::from(u32::ilog2(u32::next_power_of_two(a.len() as u32)));
        let bound = 1.001 * (2.0 * levels + 3.0 + 4.0) * 2.0_f64.powi(-53);
        prop_assert!((computed - exact).abs() <= 2.0_f64.powi(-24) * magnitude + bound, "{computed:e} {exact:e}");
        prop_assert!(computed.abs() <= 1.0);
    }

    /// Powers of two scale exactly, whatever the size.
    #[test]
    fn a_cosine_does_not_know_of_size((a, b) in two(100), power in -60..60_i32) {
        let scaled: Vec<f32> = a.iter().map(|a| a * 2.0_f32.powi(power)).collect();
        prop_assert_eq!(cosine_of(&scaled, &b).to_bits(), cosine_of(&a, &b).to_bits());
    }

    #[test]
    fn an_array_and_itself_have_a_cosine_of_one((a, _) in two(300)) {
        prop_assume!(a.iter().any(|a| *a != 0.0));
        let minus: Vec<f32> = a.iter().map(|a| -a).collect();
        prop_assert_eq!((cosine_of(&a, &a), cosine_of(&a, &minus)), (1.0, -1.0));
        let wide: Vec<f64> = a.iter().map(|a| f64::from(*a) * 1e60).collect();
        prop_assert_eq!(cosine_of(&wide, &wide), 1.0);
    }
}

#[test]
fn nothing_over_or_underflows_where_the_answer_fits() {
    for size in [f32::MAX, 1e-45, f32::MIN_POSITIVE] {
        assert_eq!(cosine_of(&[size, size], &[size, 0.0]), 0.5_f32.sqrt(), "{size:e}");
    }
    // Of f64 too, whatever either array is scaled by.
    for size in [f64::MAX, 1e200, 1e150, 1.0, 1e-150, 1e-200, f64::MIN_POSITIVE] {
        for other in [f64::MAX, 1e100, 1e-300] {
            assert!(
                (cosine_of(&[size, 0.0, size], &[other, other, 0.0]) - 0.5).abs() < 2e-16,
                "{size:e} {other:e}"
            );
            assert_eq!(cosine_of(&[size, 0.0], &[0.0, other]), 0.0, "{size:e} {other:e}");
        }
    }
}

#[test]
fn special_values() {
    const NAN: u32 = 0x7fc0_0000;
    const INF: f32 = f32::INFINITY;
    assert_eq!(dot(&[INF], &[0.0]).to_bits(), NAN);
    assert_eq!(dot(&[f32::NAN, 1.0], &[0.0, 1.0]).to_bits(), NAN);
    assert_eq!(dot(&[INF, 1.0], &[2.0, -3.0]), INF);
    assert_eq!(dot(&[INF, INF], &[1.0, -1.0]).to_bits(), NAN);
    assert_eq!(dot(&[-0.0], &[1.0]).to_bits(), (-0.0_f32).to_bits());
    assert_eq!(dot(&[f32::MAX], &[2.0]), INF);
    for (a, b) in [
        ([0.0, 0.0], [1.0, 2.0]),
        ([1.0, INF], [1.0, 2.0]),
        ([1.0, INF], [1.0, INF]),
        ([1.0, f32::NAN], [1.0, 2.0]),
        ([0.0, 0.0], [0.0, 0.0]),
    ] {
        assert_eq!(cosine_of(&a, &b).to_bits(), NAN, "{a:?} {b:?}");
    }
    assert_eq!(cosine_of(&[1.0, 0.0], &[0.0, 1.0]), 0.0_f32);
    assert_eq!(Monoid::<Two<f32>>::empty(Dot).map(f32::to_bits), Some(0));
    assert_eq!(Monoid::<Two<f32>>::empty(Cosine).map(f32::to_bits), Some(NAN));
}
