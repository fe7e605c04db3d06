//! The laws of a row operation.

use super::{
    check_journey, same,
    std::{fmt::Debug, vec::Vec},
    words,
};

use crate::{
    ops::OwnRowOp,
    rowwise::{Column, LeafFound, RowOp, Sums as _, Value as _},
};

/// A leaf, as both looks have it.
#[derive(Clone, Copy)]
struct Leaf<O: RowOp> {
    first: f32,
    reference: f32,
    sums: O::Sums,
    state: O::State,
}

impl<O: RowOp> Leaf<O> {
    /// Of at least one element, one after the other.
    fn of(op: O, run: &[O::Value]) -> Self {
        let (values, len) = (|| run.iter().copied(), run.len() as u32);
        let first = values()
            .map(|value| op.first(value))
            .reduce(|a, b| op.both(a, b))
            .unwrap_or(op.nothing());
        let reference = op.reference(first, len);
        let sums = values()
            .map(|value| op.term(op.beside(value, reference)))
            .reduce(O::Sums::plus)
            .unwrap_or(O::Sums::nothing());
        let total = if op.totals() {
            values().fold(-0.0, |sum, value| sum + value.each()[0])
        } else {
            -0.0
        };
        let found = LeafFound {
            first,
            reference,
            total,
        };
        Self {
            first,
            reference,
            sums,
            state: op.leaf(found, sums, len),
        }
    }
}

/// The samples, or each with each of an operation of two arrays.
fn values<O: RowOp>(op: O, samples: &[f32]) -> Vec<O::Value> {
    let seconds = if O::Value::ARRAYS == 2 { samples } else { &[0.0] };
    samples
        .iter()
        .flat_map(|first| seconds.iter().map(|second| O::Value::of([*first, *second])))
        .map(|value| op.take(value, Column::PLAIN, [0.0, 1.0]))
        .collect()
}

/// Runs of one, two and three.
fn runs<X: Copy>(values: &[X]) -> Vec<Vec<X>> {
    let run = |first, len| values.iter().cycle().skip(first).take(len).copied().collect();
    (1..=3)
        .flat_map(|len| (0..values.len()).map(move |first| (first, len)))
        .map(|(first, len)| run(first, len))
        .collect()
}

/// What can be seen of a row's state: what is known of the row, and the answers of leaves.
fn seen<O: RowOp>(op: O, row: O::State, runs: &[(Vec<O::Value>, Leaf<O>)]) -> Vec<f32> {
    let (len, given) = (4, [0.0, 1.0]);
    let mut all = op.known(row, len, given).to_vec();
    for (run, leaf) in runs {
        let factors = op.factors(leaf.reference, leaf.state, row, len, given);
        let besides = run.iter().map(|value| op.beside(*value, leaf.reference));
        all.extend(besides.map(|beside| op.map(beside, factors, Column::PLAIN)));
    }
    all
}

/// Fails unless two states are the same, or nobody can tell them apart: not by themselves, nor once others are combined with them.
fn alike<O: RowOp>(op: O, [a, b]: [O::State; 2], what: &str, of: &dyn Debug, runs: &[(Vec<O::Value>, Leaf<O>)]) {
    if words(a) == words(b) {
        return;
    }
    let none = op.identity();
    for third in runs.iter().map(|(_, leaf)| leaf.state).chain([none]) {
        let [a, b] = [a, b].map(|state| seen(op, op.combine(state, third), runs));
        for (a, b) in a.into_iter().zip(b) {
            same(a, b, what, of);
        }
    }
}

/// Checks what every [`RowOp`] promises, **to the bit**, over leaves of one, two and three of `samples`: pick those with which it could go
/// wrong, as for [`check_laws`](super::check_laws).
///
/// * What is absent is of zeros and infinities, and the first look has nothing of it.
/// * `both` is commutative, and `nothing` is neutral in it.
/// * Sums are commutative, and neither what is absent nor what it is [moved](RowOp::moved) to changes one.
/// * `combine` is commutative, and `identity` is neutral in it. States may differ where no answer shows it, as of a row with a NaN.
/// * States and sums survive their journey as words.
///
/// NaNs count as one.
///
/// # Panics
///
/// Where a law does not hold; the message says which, and over what.
pub fn check_row_laws<O: RowOp>(op: O, samples: &[f32]) {
    assert!(!samples.is_empty(), "no samples");
    let (absent, nothing, none, identity) = (op.absent(), op.nothing(), O::Sums::nothing(), op.identity());
    for part in absent.each() {
        let is_plain = part == 0.0 || part.is_infinite();
        assert!(is_plain, "an absent element is {part}, neither zero nor infinite");
    }
    if O::FINDS_LARGEST {
        let is_plain = O::LOOKS_FIRST && !O::TAKES_COLUMNS && O::Value::ARRAYS == 1;
        assert!(is_plain, "the largest of elements as they are read");
        let largest = |a: f32, b: f32| crate::arithmetic::single::maximum(a, b);
        for (a, b) in samples.iter().flat_map(|a| samples.iter().map(move |b| (*a, *b))) {
            let of = |value: f32| op.first(O::value_of(value));
            same(
                op.both(of(a), of(b)),
                largest(a, b),
                "the first look's largest",
                &(a, b),
            );
        }
    }
    if O::LOOKS_FIRST {
        same(
            op.first(absent),
            nothing,
            "what the first look has of an absent element",
            &(),
        );
        same(
            op.both(nothing, nothing),
            nothing,
            "nothing in the first look, twice",
            &(),
        );
    }
    let runs: Vec<(Vec<O::Value>, Leaf<O>)> = runs(&values(op, samples))
        .into_iter()
        .map(|run| (run.clone(), Leaf::of(op, &run)))
        .collect();
    let alike = |a, b, what: &str, of: &dyn Debug| alike(op, [a, b], what, of, &runs);
    alike(op.combine(identity, identity), identity, "two identities", &());
    let each = |run: &[O::Value]| run.iter().map(|value| value.each()).collect::<Vec<_>>();
    for (run, a) in &runs {
        let run = &each(run);
        same(
            op.both(nothing, a.first),
            a.first,
            "nothing in the first look, first",
            run,
        );
        same(
            op.both(a.first, nothing),
            a.first,
            "nothing in the first look, last",
            run,
        );
        same(none.plus(a.sums), a.sums, "the sum of nothing, first", run);
        same(a.sums.plus(none), a.sums, "the sum of nothing, last", run);
        let hole = if O::MOVES { op.moved(a.reference) } else { absent };
        let hole = op.term(op.beside(hole, a.reference));
        for hole in [hole, hole.plus(hole), hole.plus(none)] {
            same(hole.plus(a.sums), a.sums, "the term of an absent element, first", run);
            same(a.sums.plus(hole), a.sums, "the term of an absent element, last", run);
        }
        check_journey(a.sums, run);
        check_journey(a.state, run);
        alike(op.combine(identity, a.state), a.state, "the identity first", run);
        alike(op.combine(a.state, identity), a.state, "the identity last", run);
        for (other, b) in &runs {
            let of = &(run, each(other));
            same(
                op.both(a.first, b.first),
                op.both(b.first, a.first),
                "two in the first look",
                of,
            );
            same(
                a.sums.plus(b.sums),
                b.sums.plus(a.sums),
                "two sums that change places",
                of,
            );
            let (ab, ba) = (op.combine(a.state, b.state), op.combine(b.state, a.state));
            alike(ab, ba, "two states that change places", of);
            alike(op.combine(identity, ab), ab, "the identity first", of);
            alike(op.combine(ab, identity), ab, "the identity last", of);
        }
    }
}

/// Checks that a row operation and the one that its kernels make of [`params`](OwnRowOp::params) fold and map rows of `samples` alike.
///
/// # Panics
///
/// Where they do not.
pub fn check_row_params<O: OwnRowOp>(op: O, samples: &[f32]) {
    let there = O::of_params(op.params());
    let values = values(op, samples);
    for run in runs(&values) {
        let of = |op: O| {
            let leaf = Leaf::of(op, &run);
            let len = run.len() as u64;
            let alone = op.factors_alone(leaf.reference, leaf.state, len, [0.0; 2]);
            let state = op.combine(leaf.state, leaf.state);
            let factors = op.factors(leaf.reference, leaf.state, state, 2 * len, [0.0; 2]);
            let answers: Vec<f32> = run
                .iter()
                .map(|value| op.beside(*value, leaf.reference))
                .flat_map(|beside| [alone, factors].map(|factors| op.map(beside, factors, Column::PLAIN)))
                .chain(op.known(state, 2 * len, [0.0; 2]))
                .collect();
            (leaf.state, answers)
        };
        let ((state, answers), (expected, of)) = (of(there), of(op));
        same(state, expected, "a state by the parameters", &run);
        for (answer, expected) in answers.into_iter().zip(of) {
            same(answer, expected, "an answer by the parameters", &run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::std::panic::catch_unwind, *};
    use crate::rowwise::{
        CrossEntropy, LayerNorm, LogSoftmax, LogSoftmaxGradient, NormGradient, RmsNorm, Scale, Softmax, SoftmaxGradient,
    };

    const SAMPLES: [f32; 9] = [
        0.0,
        -0.0,
        1.5,
        -3.0,
        90.0,
        -1e-40,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];

    #[test]
    fn the_librarys_operations_keep_the_laws() {
        for scale in [1.0, -0.25] {
            let scale = Scale::by(scale);
            let zero_if_masked = true;
            check_row_laws(Softmax { scale, zero_if_masked }, &SAMPLES);
            check_row_laws(LogSoftmax { scale }, &SAMPLES);
        }
        check_row_laws(LayerNorm { epsilon: 1e-5 }, &SAMPLES);
        check_row_laws(
            RmsNorm {
                epsilon: 1e-6,
                plus: -0.0,
            },
            &SAMPLES,
        );
        check_row_laws(CrossEntropy::new(0.1, 1e-3, 0.5), &SAMPLES);
        check_row_laws(SoftmaxGradient { scale: 0.5 }, &SAMPLES);
        check_row_laws(LogSoftmaxGradient { scale: 0.5 }, &SAMPLES);
        for centers in [false, true] {
            let plus = 1.0;
            check_row_laws(NormGradient { centers, plus }, &SAMPLES);
        }
    }

    /// The sum of elements, which breaks a law as `of` says.
    #[derive(Clone, Copy, Debug)]
    struct Broken {
        of: &'static str,
    }

    impl RowOp for Broken {
        type Value = f32;
        type Beside = f32;
        type Sums = f32;
        type State = f32;
        type Factors = f32;

        fn absent(self) -> f32 {
            match self.of {
                "absent" => 1.0,
                // Its term is not neutral.
                "hole" => f32::INFINITY,
                _ => -0.0,
            }
        }
        fn nothing(self) -> f32 {
            if self.of == "nothing" { 1.0 } else { -0.0 }
        }
        fn first(self, value: f32) -> f32 {
            if self.of == "first" {
                1.0
            } else {
                value + self.nothing()
            }
        }
        fn both(self, a: f32, b: f32) -> f32 {
            if self.of == "both" && a != 0.0 { a } else { a + b }
        }
        fn reference(self, _: f32, _: u32) -> f32 {
            0.0
        }
        fn beside(self, value: f32, _: f32) -> f32 {
            value
        }
        fn term(self, value: f32) -> f32 {
            value
        }
        fn leaf(self, _: LeafFound, sum: f32, _: u32) -> f32 {
            sum
        }
        fn identity(self) -> f32 {
            if self.of == "identity" { 0.0 } else { -0.0 }
        }
        fn combine(self, a: f32, b: f32) -> f32 {
            if self.of == "combine" && a != 0.0 && b != 0.0 {
                a
            } else {
                a + b
            }
        }
        fn factors(self, _: f32, _: f32, row: f32, _: u64, _: crate::rowwise::Given) -> f32 {
            row
        }
        fn map(self, value: f32, sum: f32, _: Column) -> f32 {
            value + sum
        }
    }

    #[test]
    fn a_broken_law_is_found() {
        check_row_laws(Broken { of: "none" }, &SAMPLES);
        for of in ["absent", "hole", "nothing", "first", "both", "identity", "combine"] {
            let found = catch_unwind(|| check_row_laws(Broken { of }, &SAMPLES));
            assert!(found.is_err(), "{of}");
        }
    }
}
