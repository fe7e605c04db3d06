//! The laws of an operator and of a row operation, checked: for the tests of a crate of your own (feature `testing`).
//!
//! ```
//! use warpfold_kernels::{monoids::Sum, testing::check_laws};
//!
//! check_laws(Sum, &[0.0_f32, -0.0, 1.5, -3.0, 1e38, f32::INFINITY, f32::NAN]);
//! ```

extern crate std;

mod opt_in;
mod rows;

pub use rows::{check_row_laws, check_row_params};

use std::{fmt::Debug, vec::Vec};

use crate::{
    element::Element,
    monoids::{Monoid, Words},
    ops::OwnOperator,
    tree::{Positional as _, Prefilter as _},
};
use opt_in::{check_aside, check_at_once, check_by_words, check_columns, check_known, check_parts, check_relative};

/// Checks what every operator promises, **to the bit**, over states of one, two and three of `samples`, so pick those with which it
/// could go wrong: both zeros, NaN, infinities, the largest and smallest numbers, equal ones, and some of no distinction.
///
/// * The identity is neutral, on either side.
/// * Two states may change places, and so may their answer; but [in order](crate::monoids::InOrder).
/// * A state survives its journey as words, each of which is asked for once and in order.
/// * A state that is shifted is one of elements further on.
/// * No fold notices a [`filler`](Monoid::filler), of an operator that has one.
/// * A column has the state that pairs of neighbours have, unless the operator [folds columns](crate::monoids::Algebra::folds_columns) in its own way; of nothing it is the
///   identity.
/// * What `may_change` says changes nothing, changes nothing; and `may_change_among` misses no element that may change something.
/// * Of one that [associates](crate::monoids::Algebra::associates), three states may be combined in either order, and none is changed by a shift.
/// * Of one that sets something [aside](crate::monoids::Algebra::unordered_words), either part of a state is what it is without the other, what is aside associates,
///   `fold_fast` and `fold_slow` give what the canonical tree gives, and where nothing may change what is aside, nothing does.
/// * A `fold_part` of the operator's own gives what the canonical tree gives.
/// * Of one that [sums relative to the largest element](crate::monoids::Algebra::sums_relative), such sums have the bits of states that are combined.
///
/// * Of one that has a [maximum of words](crate::monoids::Algebra::has_word_maximum), the larger of two elements in words may what either may.
///
/// NaNs of a state count as one, for their payloads are the hardware's choice: words that differ are let pass where both are a NaN,
/// as an f32 or, in pairs, as an f64. An answer has one bit pattern.
///
/// # Panics
///
/// Where a law does not hold; the message says which, and over what.
pub fn check_laws<T: Element + Debug, M: Monoid<T>>(op: M, samples: &[T]) {
    assert!(!samples.is_empty(), "no samples");
    let runs: Vec<Vec<T>> = (1..=3)
        .flat_map(|len| (0..samples.len()).map(move |first| (first, len)))
        .map(|(first, len)| samples.iter().cycle().skip(first).take(len).copied().collect())
        .collect();
    let identity = op.identity();
    same(op.combine(identity, identity), identity, "two identities", &());
    for a in &runs {
        let state = fold(op, a, 7);
        same(op.combine(identity, state), state, "the identity first", a);
        same(op.combine(state, identity), state, "the identity last", a);
        check_journey(state, a);
        check_journey(op.finish(state, a.len() as u64), a);
        for by in [1, 1 << 33] {
            same(
                op.positional().shift(state, by),
                fold(op, a, 7 + by),
                "shifted elements",
                a,
            );
        }
        for b in &runs {
            let other = fold(op, b, 100);
            let (ab, ba) = (op.combine(state, other), op.combine(other, state));
            if M::ALGEBRA.commutes {
                same(ab, ba, "two states that change places", &(a, b));
                let count = (a.len() + b.len()) as u64;
                let answers = [ab, ba].map(|state| words(op.finish(state, count)));
                assert_eq!(answers[0], answers[1], "the answer of {a:?} and {b:?} in either order");
            }
            if M::ALGEBRA.associates {
                let third = fold(op, &runs[0], 300);
                let last = op.combine(state, op.combine(other, third));
                same(op.combine(ab, third), last, "three states, the last two first", &(a, b));
                same(
                    op.positional().shift(state, 5),
                    state,
                    "a shifted state of an operator that associates",
                    a,
                );
            }
        }
        if M::ALGEBRA.unordered_words > 0 {
            for b in &runs {
                check_aside(op, [state, fold(op, b, 100), fold(op, &runs[0], 300)], &(a, b));
            }
            check_known(op, samples, state);
        }
        if M::ALGEBRA.asks_at_once {
            check_at_once(op, samples, state);
        }
        if M::ALGEBRA.sums_relative {
            check_relative(op, a, state);
        }
        if M::ALGEBRA.has_word_maximum {
            check_by_words(op, samples, state);
        }
        if let Some(filler) = op.filler() {
            let filler = [7, 1000].map(|index| op.lift(filler, index));
            for filler in [filler[0], filler[1], op.combine(filler[0], filler[1])] {
                same(op.combine(filler, state), state, "a filler first", a);
                same(op.combine(state, filler), state, "a filler last", a);
            }
        }
        for value in samples {
            if M::ALGEBRA.selects && !op.prefilter().may_change(state, *value) {
                let after = op.combine(state, op.lift(*value, 1000));
                same(after, state, "an element that may not change the fold", &(a, value));
            }
        }
    }
    check_parts(op, samples);
    check_columns(op, samples);
}

/// Checks that an operator and the one that its kernels make of [`parameter`](OwnOperator::parameter) fold `samples` alike.
///
/// # Panics
///
/// Where they do not.
pub fn check_parameter<T: Element + Debug, R: OwnOperator<Monoid: Monoid<T>>>(op: R, samples: &[T]) {
    let (there, here) = (R::of_parameter(op.parameter()).monoid(), op.monoid());
    same(there.identity(), here.identity(), "the identity by the parameter", &());
    for len in 1..=samples.len() {
        let state = |op| fold(op, &samples[..len], 0);
        same(state(there), state(here), "a fold by the parameter", &len);
        let answer = |op: R::Monoid| words(op.finish(state(op), len as u64));
        assert_eq!(
            answer(there),
            answer(here),
            "the answer by the parameter, of {:?}",
            &samples[..len]
        );
    }
}

/// The state of a run whose first element has index `first`.
fn fold<T: Copy, M: Monoid<T>>(op: M, run: &[T], first: u64) -> M::State {
    let lifted = (first..).zip(run).map(|(index, value)| op.lift(*value, index));
    lifted.reduce(|a, b| op.combine(a, b)).unwrap_or(op.identity())
}

fn words<W: Words>(value: W) -> Vec<u32> {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

fn check_journey<W: Words>(value: W, of: &dyn Debug) {
    let mut asked = 0;
    let back = W::from_words(|i| {
        assert_eq!(i, asked, "words are asked for once each and in order");
        asked += 1;
        value.word(i)
    });
    assert_eq!(asked, W::COUNT, "as many words as `COUNT` says");
    assert_eq!(
        words(back),
        words(value),
        "a value came back from its words another, of {of:?}"
    );
}

/// Fails unless two states are the same but for the payloads of NaNs.
fn same<W: Words>(a: W, b: W, what: &str, over: &dyn Debug) {
    let (a, b) = (words(a), words(b));
    let single = |word: u32| f32::from_bits(word).is_nan();
    let double = |words: &[u32], high: usize| {
        high > 0 && f64::from_bits(u64::from(words[high]) << 32 | u64::from(words[high - 1])).is_nan()
    };
    let nan =
        |words: &[u32], i: usize| single(words[i]) || double(words, i) || i + 1 < words.len() && double(words, i + 1);
    for i in 0..a.len() {
        assert!(
            a[i] == b[i] || nan(&a, i) && nan(&b, i),
            "{what}: {a:x?} is not {b:x?}, over {over:?}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        monoids::{Algebra, Arg, Describe, Extremum, Map, Mean, PartFold, Product, Sum, Transform},
        ops::Commutative,
        tree::{self, Part},
    };

    const SAMPLES: [f32; 8] = [0.0, -0.0, 1.5, -3.0, 1e38, 1e-40, f32::INFINITY, f32::NAN];

    /// The size of a number, as a step in front of another operator.
    #[derive(Clone, Copy, Debug)]
    struct Size;

    impl Transform<f32> for Size {
        type Output = f64;
        fn apply(self, value: f32) -> f64 {
            f64::from(value.abs())
        }
    }

    #[test]
    fn operators_and_steps_in_front_of_them_keep_the_laws() {
        check_laws(Sum, &SAMPLES);
        check_laws(Product, &SAMPLES);
        check_laws((Extremum::SMALLEST, Extremum::LARGEST), &SAMPLES);
        check_laws(Arg::LARGEST, &SAMPLES);
        check_laws(Sum, &[3_u8, 0, 255, 7]);
        check_laws(Arg::SMALLEST.last(), &[3_u8, 0, 255, 7, 128, 3]);
        check_laws((Extremum::SMALLEST, Extremum::LARGEST), &[3_i16, 0, -1, i16::MIN, 256]);
        let of_size = |op| Map { transform: Size, op };
        check_laws(of_size(Arg::LARGEST), &SAMPLES);
        check_laws(
            Map {
                transform: Size,
                op: Mean,
            },
            &SAMPLES,
        );
        // The state of a step and an operator is the operator's state of what the step makes.
        for value in SAMPLES {
            let (through, direct) = (
                of_size(Arg::LARGEST).lift(value, 5),
                Arg::LARGEST.lift(Size.apply(value), 5),
            );
            same(through, direct, "a step in front", &value);
        }
    }

    /// Descriptions keep those of what is set aside; a sum that is does not.
    #[test]
    fn what_is_set_aside_associates() {
        let samples = [
            0.5_f32,
            -0.0,
            0.0,
            1.5,
            -3.0,
            1e30,
            1e-40,
            f32::INFINITY,
            f32::NAN,
            -2.0,
        ];
        check_laws(Describe::default(), &samples);
        check_laws(Describe::default(), &samples.map(f64::from));
        // Without what is not finite, so that something is known of more.
        check_laws(Describe::default(), &samples[..7]);

        #[derive(Clone, Copy)]
        struct Careless;

        impl Monoid<f32> for Careless {
            type State = (u32, f32);
            type Answer = u32;
            fn identity(self) -> (u32, f32) {
                (0, -0.0)
            }
            fn lift(self, value: f32, _: u64) -> (u32, f32) {
                (1, value)
            }
            fn combine(self, a: (u32, f32), b: (u32, f32)) -> (u32, f32) {
                (a.0 + b.0, a.1 + b.1)
            }
            const ALGEBRA: Algebra = Algebra {
                unordered_words: 1,
                ..Algebra::PLAIN
            };
            fn finish(self, state: (u32, f32), _: u64) -> u32 {
                state.0
            }
            fn empty(self) -> Option<u32> {
                None
            }
        }
        let law =
            std::panic::catch_unwind(|| check_laws(Careless, &[1.0_f32, 1e-8, -1.0, 3.0])).expect_err("it rounds");
        let said = law.downcast::<std::string::String>().expect("a message");
        assert!(said.starts_with("what is set aside of three states"), "{said}");
    }

    /// Operators that each break one law.
    #[derive(Clone, Copy, Debug)]
    enum Broken {
        Identity,
        Order,
        Fold,
        Parameter,
    }

    impl Monoid<f32> for Broken {
        type State = f32;
        type Answer = f32;
        fn identity(self) -> f32 {
            if matches!(self, Self::Identity) { 0.0 } else { -0.0 }
        }
        fn lift(self, value: f32, _: u64) -> f32 {
            value
        }
        fn combine(self, a: f32, b: f32) -> f32 {
            match self {
                // The first that is none.
                Self::Order if a.to_bits() == (-0.0_f32).to_bits() => b,
                Self::Order => a,
                _ => a + b,
            }
        }
        crate::opt_in!(f32: PartFold);
        fn finish(self, sum: f32, _: u64) -> f32 {
            if sum.is_nan() { f32::NAN } else { sum }
        }
        fn empty(self) -> Option<f32> {
            Some(0.0)
        }
    }

    impl PartFold<f32, f32> for Broken {
        fn fold_part(self, part: impl Part<f32>) -> f32 {
            match self {
                Self::Fold => tree::chain(self, part),
                _ => tree::fold_part(self, part),
            }
        }
    }

    impl Commutative for Broken {}

    impl OwnOperator for Broken {
        type Monoid = Self;
        fn monoid(self) -> Self {
            self
        }
        fn of_parameter(_: u64) -> Self {
            Self::Identity
        }
    }

    #[test]
    #[should_panic(expected = "the identity first")]
    fn an_identity_that_changes_a_bit_is_found() {
        check_laws(Broken::Identity, &SAMPLES);
    }

    #[test]
    #[should_panic(expected = "two states that change places")]
    fn an_operator_that_does_not_commute_is_found() {
        check_laws(Broken::Order, &[0.0, 1.5, 1.0]);
    }

    #[test]
    #[should_panic(expected = "its own fold")]
    fn another_order_in_a_lane_is_found() {
        check_laws(Broken::Fold, &[1.0, 1e8, -1e8, 3.0]);
    }

    #[test]
    #[should_panic(expected = "by the parameter")]
    fn a_parameter_that_loses_something_is_found() {
        check_parameter(Broken::Parameter, &[0.0_f32]);
    }
}
