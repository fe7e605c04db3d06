//! The laws of [`laws`](../laws.rs) for every operator of every type of elements.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use warpfold::ops::{
    All, Any, ArgMax, ArgMaxLast, ArgMin, ArgMinLast, Cosine, CountNan, CountNonzero, Dot, IgnoreNan, LIST, Listed,
    LogSumExp, Mapped, Max, Mean, Min, NormInf, NormL1, NormL2, Product, Reduction, StdDev, Step, Sum, SumOfSquares,
    TakesMask, Then, Variance, Where,
};
use warpfold_kernels::{
    element::{Element, Masked, Real, Two, Type, bf16, complex128, f16},
    kernels::{Kernel, LIBRARY, MOST_WORDS, OpParams},
    monoids::Words,
    tree::ROWS,
};
use warpfold_tests::{
    each_statistic,
    operations::{self, Eight, Operation, extents},
    rounded_floats,
    samples::drawn,
    spec::typed,
};

/// Numbers that each type makes an element of.
fn run() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 1..=5)
}

/// The state of a run whose first element has index `first`.
fn state(op: &dyn Operation, run: &[u64], first: u64) -> Eight {
    let lifted = run
        .iter()
        .zip(first..)
        .map(|(&draw, index)| op.lift(drawn(op.ty(), draw), index));
    lifted.reduce(|a, b| op.combine(a, b)).expect("a run has an element")
}

/// States of three runs that share no index, in an order of no meaning.
fn three(op: &dyn Operation, runs: &[Vec<u64>; 3], order: usize) -> [Eight; 3] {
    let firsts = [
        [0, 10, 20],
        [0, 20, 10],
        [10, 0, 20],
        [20, 0, 10],
        [10, 20, 0],
        [20, 10, 0],
    ][order];
    [0, 1, 2].map(|i| state(op, &runs[i], firsts[i]))
}

/// Whether its combine rounds.
fn rounds(op: &dyn Operation) -> bool {
    let floats = op.ty().name().contains('f') || op.ty().name().starts_with("complex");
    floats && rounded_floats(op.name()).is_some()
}

fn what(op: &dyn Operation) -> String {
    format!("{} of {}", op.name(), op.ty().name())
}

/// Neighbours, then neighbours of those.
fn pairs(op: &dyn Operation, mut states: Vec<Eight>) -> Eight {
    while states.len() > 1 {
        states = states.chunks(2).map(|pair| op.combine(pair[0], pair[1])).collect();
    }
    states[0]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn the_identity_changes_nothing(run in run()) {
        for op in &operations::all() {
            let (nothing, some) = (op.identity(), state(&**op, &run, 7));
            prop_assert_eq!(op.bits(op.combine(nothing, some)), op.bits(some), "{}", what(&**op));
            prop_assert_eq!(op.bits(op.combine(some, nothing)), op.bits(some), "{}", what(&**op));
            prop_assert_eq!(op.combine(nothing, nothing), nothing, "{}", what(&**op));
            prop_assert_eq!(op.shift(nothing, 1 << 40), nothing, "{}", what(&**op));
        }
    }

    #[test]
    fn neither_the_order_of_two_nor_the_grouping_of_three_matters(runs in [run(), run(), run()], order in 0..6_usize) {
        for op in &operations::all() {
            let [a, b, c] = three(&**op, &runs, order);
            let (ab, ba) = (op.combine(a, b), op.combine(b, a));
            prop_assert_eq!(op.bits(ab), op.bits(ba), "{}", what(&**op));
            prop_assert_eq!(op.finish(ab, 15), op.finish(ba, 15), "{}", what(&**op));
            if !rounds(&**op) {
                let (left, right) = (op.combine(ab, c), op.combine(a, op.combine(b, c)));
                prop_assert_eq!(left, right, "{}", what(&**op));
            }
        }
    }

    #[test]
    fn shifting_a_run_shifts_its_parts(runs in [run(), run(), run()], order in 0..6_usize, by in 0..1_u64 << 40) {
        for op in &operations::all() {
            let [a, b, _] = three(&**op, &runs, order);
            let together = op.shift(op.combine(a, b), by);
            let apart = op.combine(op.shift(a, by), op.shift(b, by));
            prop_assert_eq!(op.bits(together), op.bits(apart), "{}", what(&**op));
            let element = drawn(op.ty(), runs[0][0]);
            prop_assert_eq!(op.shift(op.lift(element, 3), by), op.lift(element, 3 + by), "{}", what(&**op));
        }
    }

    /// What a kernel skips because of this answer is never read again, so a wrong no is a wrong fold.
    #[test]
    fn a_value_that_may_not_change_a_fold_does_not(run in run(), later: u64, gap in 0..1000_u64) {
        for op in &operations::all() {
            let (best, later) = (state(&**op, &run, 3), drawn(op.ty(), later));
            if !op.may_change(best, later) {
                prop_assert!(op.selects(), "{}", what(&**op));
                let next = op.lift(later, 3 + run.len() as u64 + gap);
                prop_assert_eq!(op.combine(best, next), best, "{}: {:#x}", what(&**op), later);
                prop_assert_eq!(op.combine(next, best), best, "{}: {:#x}", what(&**op), later);
            }
        }
    }

    /// A state finishes to the answer of the specification.
    #[test]
    fn a_single_element_has_the_answer_of_the_specification(draw: u64) {
        for op in &operations::all() {
            let element = drawn(op.ty(), draw);
            let answer = op.finish(op.lift(element, 0), 1).bits(op.words().1);
            let expected = typed::answer(op.name(), op.ty().name(), &[element]);
            prop_assert_eq!(Some(answer), expected, "{} {:#x}", what(&**op), element);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// However an operator folds a lane's part of a leaf, it is as the tree has it.
    #[test]
    fn a_part_folds_as_the_tree_has_it(draws in prop::collection::vec(any::<u64>(), 128), present in 0..=128_usize) {
        for op in &operations::all() {
            let [columns, row, _] = extents(op.ty());
            let place = |row_at: usize, column: usize| {
                let index = row_at * columns + column;
                (index < present).then(|| drawn(op.ty(), draws[index]))
            };
            let places: Vec<_> = (0..ROWS * columns).map(|at| place(at / columns, at % columns)).collect();
            let of_column = |column: usize| {
                let state = |row_at: usize| match place(row_at, column) {
                    Some(element) => op.lift(element, (row_at * row + column) as u64),
                    None => op.identity(),
                };
                pairs(&**op, (0..ROWS).map(state).collect())
            };
            let expected = pairs(&**op, (0..columns).map(of_column).collect());
            prop_assert_eq!(op.bits(op.fold_part(&places)), op.bits(expected), "{}", what(&**op));
        }
    }
}

/// What each operator answers over nothing.
#[test]
fn nothing_has_the_answer_that_semantics_give_it() {
    for op in operations::all() {
        assert_eq!(
            op.empty(),
            typed::answer(op.name(), op.ty().name(), &[]),
            "{}",
            what(&*op)
        );
    }
}

/// The type that an operator's kernels for another are built for: that of the same bits, where those of states and answers are the same
/// for either.
fn built_for(op: &str, ty: Type) -> Type {
    let is_unsigned = match op {
        // Of floats, too.
        "count-nonzero" | "count-nan" | "count-inf" | "any" | "all" => return ty.bits(),
        "bit-and" | "bit-or" | "bit-xor" => true,
        "min" | "max" | "argmin" | "argmax" | "argmin-last" | "argmax-last" | "minmax" | "argminmax" => ty.is_signed(),
        "prod" => matches!(ty, Type::I64 | Type::Bool),
        // Of i64 in 128 bits, which are not those of the unsigned ones.
        "sum" | "mean" => ty == Type::Bool,
        _ => false,
    };
    if is_unsigned { ty.unsigned() } else { ty }
}

/// What operators of two arrays and behind a step have.
const BUT_SMALL: [Kernel; 4] = [Kernel::All, Kernel::Rows, Kernel::Strided, Kernel::Segments];

/// Names and kernels belong together: each entry is of one operator and one type, several operators sharing one where only a
/// parameter tells them apart.
#[test]
fn every_operator_has_its_entries_and_every_entry_its_operator() {
    let mut seen = BTreeMap::<&'static str, Vec<(&'static str, OpParams)>>::new();
    for op in operations::all() {
        let all = op.entry();
        assert_eq!(all.kernel, Kernel::All);
        assert_eq!(all.element, built_for(op.name(), op.ty()), "{}", what(&*op));
        for entry in LIBRARY
            .entries()
            .filter(|entry| (entry.op, entry.element) == (all.op, all.element))
        {
            assert_eq!((entry.state_words, entry.answer_words), op.words(), "{}", entry.name);
            assert_eq!(all.with(entry.kernel), Some(entry));
            let of = seen.entry(entry.name).or_default();
            // Once for signed integers and unsigned ones.
            let params = OpParams {
                signed: false,
                ..op.params()
            };
            if !of.contains(&(op.name(), params)) {
                of.push((op.name(), params));
            }
        }
    }
    fn statistic<T: Element, R: Reduction<T>>(op: R, seen: &mut BTreeMap<&'static str, Vec<(&'static str, OpParams)>>) {
        for kernel in Kernel::ALL {
            let Some(entry) = op.entry().with(kernel) else {
                let is_vast = <R::State as Words>::COUNT > MOST_WORDS;
                let can_do_without = kernel == Kernel::Small || kernel == Kernel::Rows && is_vast;
                assert!(can_do_without, "{} of {kernel:?}", R::NAME);
                continue;
            };
            let words = (<R::State as Words>::COUNT, <R::Answer as Words>::COUNT);
            assert_eq!((entry.state_words, entry.answer_words), words, "{}", entry.name);
            assert_eq!(entry.element, T::TYPE);
            seen.entry(entry.name)
                .or_default()
                .push((R::NAME, op.params(op.entry())));
        }
    }
    each_statistic!(statistic(&mut seen));
    // Of too many bits for [`operations`].
    statistic::<complex128, _>(Sum, &mut seen);
    statistic::<complex128, _>(Product, &mut seen);
    statistic::<complex128, _>(Mean, &mut seen);
    statistic::<complex128, _>(NormL2, &mut seen);
    statistic::<complex128, _>(NormInf, &mut seen);
    fn pair<T: Element, R: Reduction<Two<T>>>(op: R, seen: &mut BTreeMap<&'static str, Vec<(&'static str, OpParams)>>) {
        for kernel in BUT_SMALL {
            let entry = op.entry().with(kernel).expect("each kernel is built");
            let words = (<R::State as Words>::COUNT, <R::Answer as Words>::COUNT);
            assert_eq!((entry.state_words, entry.answer_words), words, "{}", entry.name);
            assert_eq!((entry.element, entry.arrays), (T::TYPE, 2), "{}", entry.name);
            seen.entry(entry.name)
                .or_default()
                .push((R::NAME, op.params(op.entry())));
        }
    }
    pair::<f16, _>(Dot, &mut seen);
    pair::<bf16, _>(Dot, &mut seen);
    pair::<f32, _>(Dot, &mut seen);
    pair::<f64, _>(Dot, &mut seen);
    pair::<f16, _>(Cosine, &mut seen);
    pair::<bf16, _>(Cosine, &mut seen);
    pair::<f32, _>(Cosine, &mut seen);
    pair::<f64, _>(Cosine, &mut seen);
    fn masked<T: Element, Op: TakesMask>(op: Op, seen: &mut BTreeMap<&'static str, Vec<(&'static str, OpParams)>>)
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        for kernel in Kernel::ALL {
            let entry = Where(op).entry().with(kernel).expect("each kernel is built");
            let words = (
                <<Where<Op> as Reduction<Masked<T>>>::State as Words>::COUNT,
                <<Where<Op> as Reduction<Masked<T>>>::Answer as Words>::COUNT,
            );
            assert_eq!((entry.state_words, entry.answer_words), words, "{}", entry.name);
            assert!(entry.masked && entry.arrays == 2, "{}", entry.name);
            assert_eq!([entry.pitch(0), entry.pitch(1)], [T::TYPE.bytes(), 1]);
            // Of its own type: a signed integer's must not be found in the unsigned one's place, which sums what is no sum of its.
            assert_eq!(entry.element, T::TYPE, "{}", entry.name);
            let params = Where(op).params(entry);
            seen.entry(entry.name).or_default().push((Op::NAME, params));
        }
    }
    macro_rules! masked {
        ($($op:expr => $($element:ty)*;)*) => {
            $($(masked::<$element, _>($op, &mut seen);)*)*
        };
    }
    masked! {
        Sum => f16 bf16 f32 f64 i8 i16 i32 u8 u16 u32 u64;
        Mean => f16 bf16 f32 f64;
        Product => f16 bf16 f32 f64;
        NormL1 => f16 bf16 f32 f64;
        NormL2 => f16 bf16 f32 f64;
        NormInf => f16 bf16 f32 f64;
        SumOfSquares => f16 bf16 f32 f64;
        LogSumExp => f16 bf16 f32 f64;
        CountNonzero => u8 u16 u32 u64;
        Any => u8 u16 u32 u64;
        All => u8 u16 u32 u64;
        Min => f16 bf16 f32 f64 u8 u16 u32 u64 bool;
        Max => f16 bf16 f32 f64 u8 u16 u32 u64 bool;
        ArgMin => f16 bf16 f32 f64;
        ArgMax => f16 bf16 f32 f64;
        ArgMinLast => f16 bf16 f32 f64;
        ArgMaxLast => f16 bf16 f32 f64;
        Variance { correction: 1.0 } => f16 bf16 f32 f64;
        StdDev { correction: 1.0 } => f16 bf16 f32 f64;
    }
    fn mapped<T: Real, Op: Reduction<T::Computed>>(
        op: Op,
        steps: &[Step],
        seen: &mut BTreeMap<&'static str, Vec<(&'static str, OpParams)>>,
    ) {
        for step in steps {
            let op = Mapped(op, *step);
            for kernel in BUT_SMALL {
                let entry = Reduction::<T>::entry(op).with(kernel).expect("each kernel is built");
                let words = (<Op::State as Words>::COUNT, <Op::Answer as Words>::COUNT);
                assert_eq!((entry.state_words, entry.answer_words), words, "{}", entry.name);
                assert_eq!(
                    (entry.element, entry.fuses),
                    (T::TYPE, step.then == Then::Exp),
                    "{}",
                    entry.name
                );
                let params = Reduction::<T>::params(op, entry);
                seen.entry(entry.name).or_default().push((Op::NAME, params));
            }
        }
    }
    macro_rules! mapped {
        ($($op:expr => $steps:expr;)*) => {
            $(
                mapped::<f16, _>($op, &$steps, &mut seen);
                mapped::<bf16, _>($op, &$steps, &mut seen);
                mapped::<f32, _>($op, &$steps, &mut seen);
                mapped::<f64, _>($op, &$steps, &mut seen);
            )*
        };
    }
    let all = [Step::CAST, Step::ABS, Step::SQUARE, Step::EXP];
    mapped! {
        Sum => all;
        Mean => all;
        Min => all[..3];
        Max => all[..3];
        ArgMin => all[..3];
        ArgMax => all[..3];
        ArgMinLast => all[..3];
        ArgMaxLast => all[..3];
    }
    assert!(Reduction::<f32>::built(Mapped(Max, Step::EXP)).is_none());
    assert!(Reduction::<i8>::built(Mapped(Sum, Step::ABS)).is_none());
    // A signed integer is taken for an unsigned one where it is told that it is none, or nothing comes of it; what is not built is none.
    let signed = Reduction::<Masked<i16>>::entry(Where(Max));
    assert_eq!(signed.element, Type::U16);
    assert!(Reduction::<Masked<i16>>::params(Where(Max), signed).signed);
    assert_eq!(Reduction::<Masked<i16>>::entry(Where(Sum)).element, Type::I16);
    assert_eq!(Reduction::<Masked<i32>>::entry(Where(All)).element, Type::U32);
    assert!(Reduction::<Masked<u8>>::built(Where(ArgMax)).is_none());
    // Kinds of floats are ranges of bits; and NaN is left out by the kernels for masks.
    let kinds = Reduction::<Masked<f16>>::entry(Where(CountNan));
    assert_eq!((kinds.name, kinds.element), ("count_where_u16", Type::U16));
    assert_eq!(
        Reduction::<f32>::entry(IgnoreNan(StdDev::default())).name,
        "variance_where_f32"
    );
    let params = |entry| Reduction::<Masked<f32>>::params(Where(IgnoreNan(Sum)), entry);
    assert!(params(Reduction::<Masked<f32>>::entry(Where(Sum))).numbers_only);
    let asked: BTreeSet<&str> = seen.values().flatten().map(|(op, _)| *op).collect();
    let missed = |listed: &&Listed| !asked.contains(listed.name);
    assert_eq!(LIST.iter().find(missed), None, "an operator that no test runs");
    let mut names: Vec<&str> = LIBRARY.entries().map(|entry| entry.name).collect();
    names.sort_unstable();
    assert_eq!(
        seen.keys().copied().collect::<Vec<_>>(),
        names,
        "an entry twice, or of no operator"
    );
    for (entry, ops) in seen {
        for (i, (op, params)) in ops.iter().enumerate() {
            let alike = ops[..i].iter().find(|(_, other)| other == params);
            assert_eq!(alike, None, "{entry} cannot tell {op} from it");
        }
    }
}
