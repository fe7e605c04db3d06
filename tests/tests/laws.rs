//! The laws that every operator promises, to the bit, over values of f32 that fold badly; `type_laws.rs` has the other types.
//!
//! Everything else rests on them: padding with the identity, any number of warps and blocks, folds in pieces, and the
//! shortcut of the operators that select.

use proptest::prelude::*;
use warpfold::ops::{OpFacts, Reduction};
use warpfold_kernels::monoids::{Best, Monoid, Positional as _, Prefilter as _, Words};
use warpfold_tests::{Bits, cases, each_operator, rounded_floats, spec};

/// Any float at all, and often a special one.
fn value() -> impl Strategy<Value = f32> {
    prop_oneof![
        prop::sample::select(&cases::SPECIAL[..]).prop_map(f32::from_bits),
        any::<u32>().prop_map(f32::from_bits),
        (-3..=3_i8).prop_map(f32::from),
    ]
}

/// One to five values: what a state folds.
fn run() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(value(), 1..=5)
}

/// The state of a run whose first element has index `first`.
fn state<M: Monoid<f32>>(op: M, run: &[f32], first: u64) -> M::State {
    let lifted = run
        .iter()
        .enumerate()
        .map(|(i, &value)| op.lift(value, first + i as u64));
    lifted.reduce(|a, b| op.combine(a, b)).expect("a run has an element")
}

/// States of three runs that share no index, in an order of no meaning.
fn three<R: Reduction<f32>>(op: R, runs: &[Vec<f32>; 3], order: usize) -> [R::State; 3] {
    let firsts = [
        [0, 10, 20],
        [0, 20, 10],
        [10, 0, 20],
        [20, 0, 10],
        [10, 20, 0],
        [20, 10, 0],
    ][order];
    [0, 1, 2].map(|i| state(op.monoid(), &runs[i], firsts[i]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn the_identity_changes_nothing(run in run()) {
        fn law<R: Reduction<f32>>(op: R, run: &[f32]) {
            let monoid = op.monoid();
            let (nothing, some) = (monoid.identity(), state(monoid, run, 7));
            let bits = Bits::of_state(op, some);
            assert_eq!(Bits::of_state(op, monoid.combine(nothing, some)), bits, "{} {run:?}", R::NAME);
            assert_eq!(Bits::of_state(op, monoid.combine(some, nothing)), bits, "{} {run:?}", R::NAME);
            let still_nothing = monoid.combine(nothing, nothing);
            assert_eq!(Bits::of(still_nothing), Bits::of(nothing), "{}", R::NAME);
        }
        each_operator!(law(&run));
    }

    #[test]
    fn the_order_of_two_does_not_matter(runs in [run(), run(), run()], order in 0..6_usize) {
        fn law<R: Reduction<f32>>(op: R, runs: &[Vec<f32>; 3], order: usize) {
            let monoid = op.monoid();
            let [a, b, _] = three(op, runs, order);
            let (ab, ba) = (monoid.combine(a, b), monoid.combine(b, a));
            assert_eq!(Bits::of_state(op, ab), Bits::of_state(op, ba), "{} {runs:?}", R::NAME);
            assert_eq!(Bits::of(monoid.finish(ab, 15)), Bits::of(monoid.finish(ba, 15)), "{} {runs:?}", R::NAME);
        }
        each_operator!(law(&runs, order));
    }

    /// Rounding breaks this for sums and products; for the others nothing may.
    #[test]
    fn the_grouping_of_three_does_not_matter_where_nothing_is_rounded(
        runs in [run(), run(), run()],
        order in 0..6_usize,
    ) {
        fn law<R: Reduction<f32>>(op: R, runs: &[Vec<f32>; 3], order: usize) {
            if rounded_floats(R::NAME).is_some() {
                return;
            }
            let monoid = op.monoid();
            let [a, b, c] = three(op, runs, order);
            let left = monoid.combine(monoid.combine(a, b), c);
            let right = monoid.combine(a, monoid.combine(b, c));
            assert_eq!(Bits::of(left), Bits::of(right), "{} {runs:?}", R::NAME);
        }
        each_operator!(law(&runs, order));
    }

    #[test]
    fn shifting_a_run_shifts_its_parts(runs in [run(), run(), run()], order in 0..6_usize, by in 0..1_u64 << 40) {
        fn law<R: Reduction<f32>>(op: R, runs: &[Vec<f32>; 3], order: usize, by: u64) {
            let monoid = op.monoid();
            let [a, b, _] = three(op, runs, order);
            let together = monoid.positional().shift(monoid.combine(a, b), by);
            let apart = monoid.combine(monoid.positional().shift(a, by), monoid.positional().shift(b, by));
            assert_eq!(Bits::of_state(op, together), Bits::of_state(op, apart), "{} {runs:?}", R::NAME);

            let value = runs[0][0];
            let (shifted, lifted) = (monoid.positional().shift(monoid.lift(value, 3), by), monoid.lift(value, 3 + by));
            assert_eq!(Bits::of(shifted), Bits::of(lifted), "{} {value}", R::NAME);
            let nothing = monoid.identity();
            assert_eq!(Bits::of(monoid.positional().shift(nothing, by)), Bits::of(nothing), "{}", R::NAME);
        }
        each_operator!(law(&runs, order, by));
    }

    /// What a kernel skips because of this answer is never read again, so a wrong no is a wrong fold.
    #[test]
    fn a_value_that_may_not_change_a_fold_does_not(run in run(), later in value(), gap in 0..1000_u64) {
        fn law<R: Reduction<f32>>(op: R, run: &[f32], later: f32, gap: u64) {
            let monoid = op.monoid();
            let best = state(monoid, run, 3);
            let next = monoid.lift(later, 3 + run.len() as u64 + gap);
            if !monoid.prefilter().may_change(best, later) {
                let bits = Bits::of(best);
                assert_eq!(Bits::of(monoid.combine(best, next)), bits, "{} {run:?} then {later:?}", R::NAME);
                assert_eq!(Bits::of(monoid.combine(next, best)), bits, "{} {run:?} then {later:?}", R::NAME);
            }
        }
        each_operator!(law(&run, later, gap));
    }

    /// The shortcut is worth its question: a value that is plainly worse is told so.
    #[test]
    fn a_selecting_operator_says_no_to_what_is_worse(best in -1e6_f32..1e6, by in 1e-3_f32..1e6) {
        fn law<R: Reduction<f32>>(op: R, best: f32, by: f32) {
            let monoid = op.monoid();
            let worse = match R::NAME {
                "max" | "argmax" | "argmax-last" => best - by,
                "min" | "argmin" | "argmin-last" => best + by,
                "linf" => best / 2.0,
                // Neither below nor above what was seen.
                "minmax" | "argminmax" => best,
                _ => {
                    assert!(!R::Monoid::ALGEBRA.selects, "{}", R::NAME);
                    return;
                }
            };
            assert!(R::Monoid::ALGEBRA.selects, "{}", R::NAME);
            // Too small a step is lost in rounding.
            if worse != best || R::NAME.ends_with("minmax") {
                assert!(!monoid.prefilter().may_change(monoid.lift(best, 0), worse), "{} {best} {worse}", R::NAME);
            }
        }
        each_operator!(law(best, by));
    }

    #[test]
    fn a_nan_answer_has_one_bit_pattern(run in run(), nan in 1..1_u32 << 23, negative: bool, at in 0..6_usize) {
        fn law<R: Reduction<f32>>(op: R, run: &[f32]) {
            let monoid = op.monoid();
            let answer = Bits::of(monoid.finish(state(monoid, run, 0), run.len() as u64));
            let no_numbers = ["arg", "count", "any", "all"].iter().any(|name| R::NAME.starts_with(name));
            if !no_numbers {
                let nans = vec![spec::NAN; <R::Answer as Words>::COUNT];
                assert_eq!(answer, Bits(nans), "{} {run:?}", R::NAME);
            }
        }
        let mut run = run;
        let nan = f32::from_bits(0x7f80_0000 | nan | u32::from(negative) << 31);
        run.insert(at.min(run.len()), nan);
        each_operator!(law(&run));
    }

    #[test]
    fn a_value_survives_its_journey_as_words(bits: u32, index: u64) {
        fn law<W: Words>(value: W) {
            let mut asked = 0;
            let back = W::from_words(|i| {
                assert_eq!(i, asked, "each word once, in order");
                asked += 1;
                value.word(i)
            });
            assert_eq!(asked, W::COUNT);
            assert_eq!(Bits::of(back), Bits::of(value));
        }
        law(f32::from_bits(bits));
        law(index);
        law(Best { key: bits as i32, place: index });
        law(Best { key: index as i64, place: index });
        for value in [bits as i32, -1] {
            law(value);
        }
        law(bits);
        law(bits.is_multiple_of(2));
        law(f64::from_bits(index));
        law((bits as i32, index));
        law((f64::from_bits(index), (f32::from_bits(bits), bits)));
    }
}

/// What each operator answers over nothing.
#[test]
fn nothing_has_the_answer_that_semantics_give_it() {
    fn law<R: Reduction<f32>>(op: R) {
        let empty = op.monoid().empty().map(Bits::of);
        assert_eq!(empty, spec::answer(R::NAME, &[]), "{}", R::NAME);
        let any = OpFacts::of::<f32, R>(op);
        assert_eq!(any.check_extent(0).is_ok(), empty.is_some(), "{}", R::NAME);
        assert!(any.check_extent(1).is_ok(), "{}", R::NAME);
    }
    each_operator!(law());
}
