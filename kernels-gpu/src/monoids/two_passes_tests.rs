//! That an index found in two passes over words is the operator's.

extern crate std;

use std::vec::Vec;

use proptest::prelude::{Strategy, *};

use super::{Arg, Monoid};
use crate::{
    element::{Float, Real, bf16, f16},
    stages::{
        load::{
            source::Source,
            words::{WORDS, word_elements},
        },
        reduce::two_passes::TwoPasses,
    },
    tree::vector_elements,
};

/// Few different numbers, so that many are equal; zeros of both signs, subnormal ones, infinities.
fn numbers() -> impl Strategy<Value = Vec<f32>> {
    const SOME: [f32; 10] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1.5,
        -3.0e-5,
        3.0e-5,
        f32::INFINITY,
        f32::NEG_INFINITY,
        7.0e-6,
    ];
    prop::collection::vec(prop::sample::select(&SOME[..]), 8)
}

/// The vectors of elements, the operator's state of each vector by words, and that of them all.
fn is_found<T: Real + Source>(values: &[f32], from: impl Fn(f32) -> T) -> Result<(), TestCaseError> {
    let width = vector_elements::<T>();
    for op in [Arg::LARGEST, Arg::SMALLEST, Arg::LARGEST.last(), Arg::SMALLEST.last()] {
        let (mut by_words, mut expected) = (Monoid::<T>::identity(TwoPasses(op)), Monoid::<T>::identity(op));
        for (number, values) in values.chunks(width).enumerate() {
            let first = (number * width) as u32;
            let mut vector = [0; WORDS];
            for (i, &value) in values.iter().enumerate() {
                let value = from(value);
                vector[i / word_elements::<T>()] |=
                    value.word(0) << (32 / word_elements::<T>() * (i % word_elements::<T>()));
                let index = u64::from(first) + i as u64;
                expected = Monoid::<T>::combine(op, expected, op.lift(value, index));
            }
            let largest = TwoPasses(op).largest::<T>(vector);
            prop_assert!(!TwoPasses(op).is_nan::<T>(largest));
            let matches = TwoPasses(op).matches::<T>(vector, largest);
            let state = TwoPasses(op).state::<T>(largest, matches, first);
            by_words = Monoid::<T>::combine(TwoPasses(op), by_words, state);
        }
        prop_assert!(TwoPasses(op).found::<T>(by_words) == expected, "{op:?} of {values:?}");
        prop_assert_eq!(
            Monoid::<T>::finish(TwoPasses(op), by_words, 8),
            Monoid::<T>::finish(op, expected, 8)
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn an_index_by_words_is_the_operators(values in numbers()) {
        is_found::<f32>(&values, |value| value)?;
        is_found::<f16>(&values, |value| <f16 as Float>::from_f64(value.into()))?;
        is_found::<bf16>(&values, |value| <bf16 as Float>::from_f64(value.into()))?;
    }
}

#[test]
fn a_nan_is_told() {
    for op in [Arg::LARGEST, Arg::SMALLEST] {
        for at in 0..4 {
            let mut vector = [1.0_f32.to_bits(); WORDS];
            vector[at] = f32::NAN.to_bits();
            assert!(TwoPasses(op).is_nan::<f32>(TwoPasses(op).largest::<f32>(vector)));
            vector = [0x3f80_3f80; WORDS];
            vector[at] = 0x7fc0_3f80;
            assert!(TwoPasses(op).is_nan::<bf16>(TwoPasses(op).largest::<bf16>(vector)));
        }
        let none = TwoPasses(op).state::<f32>(0, 0, 0);
        assert_eq!(none, Monoid::<f32>::identity(TwoPasses(op)));
    }
}
