//! What the tests of several operators share.

extern crate std;

use std::vec::Vec;

use proptest::prelude::*;

use super::{Exponentials, Fixed, Moments2, Moments4, Monoid, Scaled, SumAndRest, Words};
use crate::element::{Scale, Squares};

/// A value as words; all NaNs of a state count as one, so compare floats by [`same`].
pub type Bits = Vec<u32>;

/// The words of a value.
pub fn bits<W: Words>(value: W) -> Bits {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

/// Folds neighbours, then the results in pairs again, as the canonical tree does; padded with the identity.
pub fn fold<T: Copy, M: Monoid<T>>(op: M, values: &[T]) -> M::State {
    let lifted = values.iter().enumerate();
    let mut states: Vec<M::State> = lifted.map(|(i, value)| op.lift(*value, i as u64)).collect();
    if states.is_empty() {
        return op.identity();
    }
    while states.len() > 1 {
        states = states
            .chunks(2)
            .map(|pair| op.combine(pair[0], pair.get(1).copied().unwrap_or(op.identity())))
            .collect();
    }
    states[0]
}

/// The answer over `values`.
pub fn answer<T: Copy, M: Monoid<T>>(op: M, values: &[T]) -> M::Answer {
    op.finish(fold(op, values), values.len() as u64)
}

/// A state that says whether it is the same as another, to the bit but for NaNs.
pub trait Same: Words + core::fmt::Debug {
    /// Its floats, widened.
    fn floats(self) -> Vec<f64>;
}

/// The words with every NaN made one.
pub fn same<S: Same>(a: S, b: S) -> bool {
    let of = |state: S| -> Vec<u64> {
        let one = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
        state.floats().into_iter().map(one).collect()
    };
    of(a) == of(b)
}

/// The identity is neutral and the order of two does not matter, to the bit.
pub fn check_laws<T: Copy, M: Monoid<T, State: Same>>(op: M, runs: &[Vec<T>; 2]) {
    let [a, b] = [0, 1].map(|i| fold(op, &runs[i]));
    for state in [a, b, op.identity()] {
        assert!(same(op.combine(op.identity(), state), state), "{state:?}");
        assert!(same(op.combine(state, op.identity()), state), "{state:?}");
        assert_eq!(bits(M::State::from_words(|i| state.word(i))), bits(state));
    }
    let (ab, ba) = (op.combine(a, b), op.combine(b, a));
    assert!(same(ab, ba), "{a:?} {b:?}: {ab:?} {ba:?}");
    assert_eq!(bits(op.finish(ab, 9)), bits(op.finish(ba, 9)));
}

/// One to nine floats: any at all, special ones, and small whole numbers.
pub fn special_or_any() -> impl Strategy<Value = Vec<f32>> {
    const SPECIAL: [f32; 12] = [
        0.0,
        -0.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        1e-45,
        -1e-45,
        1.0,
        88.0,
    ];
    let value = prop_oneof![
        1 => prop::sample::select(&SPECIAL[..]),
        2 => any::<u32>().prop_map(f32::from_bits),
        3 => -100.0_f32..100.0,
        2 => (-3..=3_i8).prop_map(f32::from),
    ];
    prop::collection::vec(value, 1..10)
}

impl Same for f32 {
    fn floats(self) -> Vec<f64> {
        [f64::from(self)].to_vec()
    }
}

impl Same for f64 {
    fn floats(self) -> Vec<f64> {
        [self].to_vec()
    }
}

impl Same for Exponentials {
    fn floats(self) -> Vec<f64> {
        [self.max, self.sum].map(f64::from).to_vec()
    }
}

impl Same for Scaled<f32> {
    fn floats(self) -> Vec<f64> {
        [self.max, self.sum].map(f64::from).to_vec()
    }
}

impl Same for Scaled<f64> {
    fn floats(self) -> Vec<f64> {
        [self.max, self.sum].to_vec()
    }
}

impl<S: Scale> Same for Moments2<S> {
    fn floats(self) -> Vec<f64> {
        let mut floats = [self.count as f64, self.mean, self.m2].to_vec();
        floats.extend(bits(self.scale).into_iter().map(f64::from));
        floats
    }
}

impl<S: Scale> Same for Moments4<S> {
    fn floats(self) -> Vec<f64> {
        [self.lower.floats(), [self.m3, self.m4].to_vec()].concat()
    }
}

impl<S: Scale> Same for Squares<S> {
    fn floats(self) -> Vec<f64> {
        [self.sum, self.scale.factor()].to_vec()
    }
}

impl<W: Words + Into<f64> + core::fmt::Debug> Same for SumAndRest<W> {
    fn floats(self) -> Vec<f64> {
        [self.sum, self.rest].map(Into::into).to_vec()
    }
}

/// It has no floats: its words are whole numbers.
impl<const WORDS: usize> Same for Fixed<WORDS> {
    fn floats(self) -> Vec<f64> {
        bits(self).into_iter().map(f64::from).collect()
    }
}
