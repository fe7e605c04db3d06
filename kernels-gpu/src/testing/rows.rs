//! The laws of a row operation.

use super::{
    check_journey, same,
    std::{fmt::Debug, vec::Vec},
    words,
};

use crate::rowwise::{Column, LeafFound, OwnRowOp, RowOp, Sums as _, Value as _};

/// A leaf, as both passes have it.
#[derive(Clone, Copy)]
struct TestedLeaf<O: RowOp> {
    first: f32,
    reference: f32,
    sums: O::Sums,
    state: O::State,
}

impl<O: RowOp> TestedLeaf<O> {
    /// Of at least one element, one after the other.
    fn of(op: O, run: &[O::Value]) -> Self {
        let (values, len) = (|| run.iter().copied(), run.len() as u32);
        let first = values()
            .map(|value| op.first(value))
            .reduce(|a, b| op.both(a, b))
            .unwrap_or(op.nothing());
        let reference = op.reference(first, len);
        let sums = values()
            .map(|value| op.term(op.relative(value, reference)))
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
fn seen<O: RowOp>(op: O, row: O::State, runs: &[(Vec<O::Value>, TestedLeaf<O>)]) -> Vec<f32> {
    let (len, given) = (4, [0.0, 1.0]);
    let mut all = op.known(row, len, given).to_vec();
    for (run, leaf) in runs {
        let factors = op.factors(leaf.reference, Some(leaf.state), row, len, given);
        let each = run.iter().map(|value| op.relative(*value, leaf.reference));
        all.extend(each.map(|relative| op.map(relative, factors, Column::PLAIN)));
    }
    all
}

/// Fails unless two states are the same, or nobody can tell them apart: not by themselves, nor once others are combined with them.
fn alike<O: RowOp>(op: O, [a, b]: [O::State; 2], what: &str, of: &dyn Debug, runs: &[(Vec<O::Value>, TestedLeaf<O>)]) {
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
/// * What is absent is of zeros and infinities, and the first pass has nothing of it.
/// * Sums are commutative, and what stands for an absent element in the second pass changes none.
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
        let is_plain = !O::TAKES_COLUMNS && O::Value::ARRAYS == 1;
        assert!(is_plain, "the largest of elements as they are read");
        for value in samples {
            let first = op.first(O::value_of(*value));
            same(first, *value, "what the first pass has of an element", value);
        }
    }
    if O::HAS_FIRST_PASS {
        same(
            op.first(absent),
            nothing,
            "what the first pass has of an absent element",
            &(),
        );
    }
    let runs: Vec<(Vec<O::Value>, TestedLeaf<O>)> = runs(&values(op, samples))
        .into_iter()
        .map(|run| (run.clone(), TestedLeaf::of(op, &run)))
        .collect();
    let alike = |a, b, what: &str, of: &dyn Debug| alike(op, [a, b], what, of, &runs);
    alike(op.combine(identity, identity), identity, "two identities", &());
    let each = |run: &[O::Value]| run.iter().map(|value| value.each()).collect::<Vec<_>>();
    for (run, a) in &runs {
        let run = &each(run);
        for both in [op.both(nothing, a.first), op.both(a.first, nothing)] {
            same(both, a.first, "nothing in the first pass", run);
        }
        same(none.plus(a.sums), a.sums, "the sum of nothing, first", run);
        same(a.sums.plus(none), a.sums, "the sum of nothing, last", run);
        let hole = op.term(op.relative(op.moved(a.reference), a.reference));
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
pub fn check_row_params<O: OwnRowOp<Value: Debug>>(op: O, samples: &[f32]) {
    let there = O::of_params(op.params());
    let values = values(op, samples);
    for run in runs(&values) {
        let of = |op: O| {
            let leaf = TestedLeaf::of(op, &run);
            let len = run.len() as u64;
            let alone = op.factors(leaf.reference, None, leaf.state, len, [0.0; 2]);
            let state = op.combine(leaf.state, leaf.state);
            let factors = op.factors(leaf.reference, Some(leaf.state), state, 2 * len, [0.0; 2]);
            let answers: Vec<f32> = run
                .iter()
                .map(|value| op.relative(*value, leaf.reference))
                .flat_map(|relative| [alone, factors].map(|factors| op.map(relative, factors, Column::PLAIN)))
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
        CrossEntropy, FirstPass, LayerNorm, LogSoftmax, LogSoftmaxGradient, NormGradient, RmsNorm, RowAlgebra, RowFold,
        RowMap, Scale, Softmax, SoftmaxGradient,
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
        fn check<O: OwnRowOp<Value: Debug>>(op: O) {
            check_row_laws(op, &SAMPLES);
            check_row_params(op, &SAMPLES);
            assert_eq!(op.bad_parameter(), None, "{op:?}");
        }
        for scale in [1.0, -0.25] {
            let scale = Scale::by(scale);
            let zero_if_masked = true;
            check(Softmax { scale, zero_if_masked });
            check(LogSoftmax { scale });
        }
        check(LayerNorm { epsilon: 1e-5 });
        check(RmsNorm {
            epsilon: 1e-6,
            plus: -0.0,
        });
        check(CrossEntropy::new(0.1, 1e-3, 0.5));
        check(SoftmaxGradient { scale: 0.5 });
        check(LogSoftmaxGradient { scale: 0.5 });
        for centers in [false, true] {
            let plus = 1.0;
            check(NormGradient { centers, plus });
        }
    }

    #[test]
    fn parameters_without_a_meaning_are_named() {
        fn name<O: OwnRowOp>(op: O) -> &'static str {
            op.bad_parameter().expect("no meaning").name
        }
        assert_eq!(name(LayerNorm { epsilon: 0.0 }), "epsilon");
        assert_eq!(name(CrossEntropy::new(1.5, 0.0, 0.0)), "the label smoothing");
        let square = CrossEntropy::new(0.0, -1.0, 0.0);
        assert_eq!(name(square), "the weight of the squared log-sum-exp");
        let gradient = CrossEntropy::new(0.0, 0.0, f32::NAN);
        assert_eq!(name(gradient), "what the gradient is multiplied by");
        assert_eq!(name(SoftmaxGradient { scale: f32::INFINITY }), "the scale");
        assert_eq!(SoftmaxGradient { scale: 0.0 }.bad_parameter(), None);
        let none = LogSoftmax { scale: Scale::by(0.0) };
        let must = none.bad_parameter().expect("no exponentials by 0").must;
        assert!(must.starts_with("between"), "{must}");
    }

    /// The sum of elements, which breaks a law as `OF` says.
    #[derive(Clone, Copy, Debug)]
    struct Broken<const OF: usize>;

    const NOTHING: usize = 0;
    const ABSENT: usize = 1;
    const HOLE: usize = 2;
    const FIRST: usize = 3;
    const IDENTITY: usize = 4;
    const COMBINE: usize = 5;

    impl<const OF: usize> RowFold for Broken<OF> {
        type Value = f32;
        type Relative = f32;
        type Sums = f32;
        type State = f32;
        const ALGEBRA: RowAlgebra = RowAlgebra {
            absent: match OF {
                ABSENT => [1.0, 0.0],
                // Its term is not neutral.
                HOLE => [f32::INFINITY, 0.0],
                _ => [-0.0, 0.0],
            },
            first_pass: FirstPass::Sum,
            ..RowAlgebra::PLAIN
        };

        fn first(self, value: f32) -> f32 {
            if OF == FIRST { 1.0 } else { value }
        }
        fn reference(self, _: f32, _: u32) -> f32 {
            0.0
        }
        fn relative(self, value: f32, _: f32) -> f32 {
            value
        }
        fn term(self, value: f32) -> f32 {
            value
        }
        fn leaf(self, _: LeafFound, sum: f32, _: u32) -> f32 {
            sum
        }
        fn identity(self) -> f32 {
            if OF == IDENTITY { 0.0 } else { -0.0 }
        }
        fn combine(self, a: f32, b: f32) -> f32 {
            if OF == COMBINE && a != 0.0 && b != 0.0 {
                a
            } else {
                a + b
            }
        }
    }

    impl<const OF: usize> RowMap for Broken<OF> {
        type Factors = f32;

        fn factors(self, _: f32, _: Option<f32>, row: f32, _: u64, _: crate::rowwise::Given) -> f32 {
            row
        }
        fn map(self, value: f32, sum: f32, _: Column) -> f32 {
            value + sum
        }
    }

    fn is_found<const OF: usize>() -> bool {
        catch_unwind(|| check_row_laws(Broken::<OF>, &SAMPLES)).is_err()
    }

    #[test]
    fn a_broken_law_is_found() {
        assert!(!is_found::<NOTHING>());
        let found = [
            is_found::<ABSENT>(),
            is_found::<HOLE>(),
            is_found::<FIRST>(),
            is_found::<IDENTITY>(),
            is_found::<COMBINE>(),
        ];
        assert_eq!(found, [true; 5]);
    }
}
