//! Folds in parts: whatever the parts are, and in whatever order they are merged, the bits are those of one fold of the whole.

mod wire;

use warpfold::{
    Error, PartialFault, Plan, View, fold,
    fold::Along,
    layout::{Layout, Segments},
    ops::{
        ArgMax, ArgMin, Cosine, CountNonzero, Dot, Exact, IgnoreNan, Mapped, Max, Mean, Operator, Reduction, Step, Sum,
        TakesMask, Variance, Where,
        element::{Element, Masked, Two, bf16, f16},
    },
    partial::{Partial, subtrees},
};
use warpfold_kernels::tree::leaf_elements;
use warpfold_tests::{
    Bits, backends, cases, operations,
    partials::{self, Divided, Way, length, splits},
    samples::{self, Sample, elements},
};

#[test]
fn every_operator_of_every_type_in_parts() {
    for (number, op) in operations::all().iter().enumerate() {
        let [_, _, leaf] = operations::extents(op.ty());
        for (turn, sample) in [samples::PLAIN, samples::ANY, samples::FACTORS, samples::ODD_ONE]
            .into_iter()
            .enumerate()
        {
            let elements = sample.array(op.ty(), length(leaf, number + turn));
            let divided = op.divided(&elements, Way::Whole);
            partials::check(&divided, (4 * number + turn) as u64, splits(8, 4));
        }
    }
}

/// The middle of an array that is divided along its outermost axis, and rows in memory.
#[test]
fn every_operator_of_every_type_along_axes() {
    for (number, op) in operations::all().iter().enumerate() {
        let [_, _, leaf] = operations::extents(op.ty());
        let way = [Way::Around(3, 5), Way::Rows(3), Way::Around(2, 1)][number % 3];
        let len = (2 * leaf + 9) / way.unit() * way.unit();
        let elements = [samples::PLAIN, samples::ANY][number % 2].array(op.ty(), len * way.cells());
        partials::check(&op.divided(&elements, way), number as u64, splits(3, 1));
    }
}

/// The states that a GPU's kernel writes of a part are those that the CPU's partial has of it: each of its subtrees is a segment.
#[test]
fn states_of_parts_on_the_emulator() {
    let mut states = 0;
    for (number, op) in operations::all().iter().enumerate() {
        let [_, _, leaf] = operations::extents(op.ty());
        let leaf = leaf as u64;
        let draw = |i: usize, end: u64| (cases::mix(number as u64, i) >> 16) % end;
        let (first, len) = (draw(0, 9 * leaf), leaf + draw(1, 6 * leaf));
        let parts: Vec<_> = subtrees(first, len, leaf).collect();
        let lens = parts.iter().map(|part| part.end - part.start);
        let segments = Segments::by_lens(lens).expect("few");
        if segments.is_empty() {
            continue;
        }
        let values = samples::PLAIN.array(op.ty(), segments.len() as usize);
        let plan = Plan::segments(op.entry(), segments.len(), segments.count() as u64).expect("few blocks");
        let plan = if number % 2 == 0 {
            plan
        } else {
            backends::in_tiles(plan, 1)
        };
        let written = op.segments(&values, &plan, &segments, false, number as u64);
        for (i, written) in written.iter().enumerate() {
            let part = segments.get(i);
            let alone = op.state(&values[part.start as usize..part.end as usize]);
            assert_eq!(written.state, alone, "{} of {:?}, {:?}", op.name(), op.ty(), parts[i]);
            states += 1;
        }
    }
    assert!(states >= 400, "{states}");
}

fn two<T: Element, R: Reduction<Two<T>>>(op: R, seed: u64) {
    let len = length(leaf_elements::<T>(), seed as usize);
    let arrays = [samples::PLAIN, samples::FACTORS].map(|sample| elements::<T>(&sample.array(T::TYPE, len)));
    let answer = Bits::of(fold(op).on_cpu((&arrays[0], &arrays[1])).expect("an answer"));
    let divided = Divided {
        name: format!("{} of {}", R::NAME, T::TYPE.name()),
        leaf: leaf_elements::<T>(),
        len,
        unit: 1,
        has_one_form: true,
        whole: vec![answer],
        part: Box::new(move |part| {
            let first = part.start as u64;
            let arrays = (&arrays[0][part.clone()], &arrays[1][part]);
            fold(op).partial_on_cpu(arrays, first).expect("a part").into_any()
        }),
        finish: Box::new(move |bytes| {
            let partial = Partial::<R, Two<T>>::from_bytes(op, bytes)?;
            Ok(vec![Bits::of(partial.finish(len as u64)?)])
        }),
    };
    partials::check(&divided, seed, splits(20, 1));
}

#[test]
fn two_arrays() {
    two::<f16, _>(Dot, 0);
    two::<bf16, _>(Dot, 1);
    two::<f32, _>(Dot, 2);
    two::<f64, _>(Dot, 3);
    two::<f32, _>(Cosine, 5);
    two::<f64, _>(Cosine, 6);
}

/// Whole arrays, and along axes by a mask of the array's shape.
fn masked<T: Element, Op: TakesMask + Reduction<T>>(op: Op, sample: Sample, seed: u64)
where
    Where<Op>: Reduction<Masked<T>, Answer = <Op as Reduction<T>>::Answer>,
{
    let leaf = leaf_elements::<T>();
    for way in [Way::Whole, Way::Around(2, 3)] {
        let len = length(leaf, seed as usize) / way.unit() * way.unit();
        let values = elements::<T>(&sample.array(T::TYPE, len * way.cells()));
        let mask: Vec<bool> = (0..values.len())
            .map(|i| !cases::mix(seed, i).is_multiple_of(3))
            .collect();
        let alone = |cell: usize| {
            let extent = cell * len..(cell + 1) * len;
            let answer = fold(op).masked(&mask[extent.clone()]).on_cpu(&values[extent]);
            Bits::of(answer.expect("an answer"))
        };
        let divided = Divided {
            name: format!("{} of {} under a mask, {way:?}", Op::NAME, T::TYPE.name()),
            leaf,
            len,
            unit: way.unit(),
            has_one_form: true,
            whole: (0..way.cells()).map(alone).collect(),
            part: Box::new(move |part| {
                let first = part.start as u64;
                let (values, layout) = way.part(&values, len, part.clone());
                let (mask, _) = way.part(&mask, len, part);
                let partial = match way {
                    Way::Whole => {
                        let fold = fold(op).masked(&mask);
                        fold.partial_on_cpu(&values, first).map(Partial::into_any)
                    }
                    _ => {
                        let view = View::new(&values, &layout).expect("all of it");
                        let mask = View::new(&mask, &layout).expect("all of it");
                        let fold = fold(op).axes(way.axes()).masked(mask);
                        fold.partial_on_cpu(view, first).map(Partial::into_any)
                    }
                };
                partial.expect("a part")
            }),
            finish: Box::new(move |bytes| match way {
                Way::Whole => {
                    let partial = Partial::<Where<Op>, Masked<T>>::from_bytes(Where(op), bytes)?;
                    Ok(vec![Bits::of(partial.finish(len as u64)?)])
                }
                _ => {
                    let partial = Partial::<Where<Op>, Masked<T>, Along>::from_bytes(Where(op), bytes)?;
                    let answers = partial.finish(len as u64)?.answers;
                    Ok(answers.into_iter().map(Bits::of).collect())
                }
            }),
        };
        partials::check(&divided, seed, splits(15, 1));
    }
}

#[test]
fn under_a_mask() {
    masked::<f32, _>(Sum, samples::PLAIN, 0);
    masked::<f64, _>(Sum, samples::PLAIN, 1);
    masked::<u8, _>(Sum, samples::ANY, 2);
    masked::<i32, _>(Mean, samples::ANY, 3);
    masked::<bf16, _>(Mean, samples::PLAIN, 0);
    masked::<f32, _>(ArgMax, samples::FEW, 1);
    masked::<i64, _>(ArgMin, samples::ANY, 2);
    masked::<f16, _>(Max, samples::PLAIN, 3);
    masked::<bool, _>(CountNonzero, samples::ANY, 0);
    masked::<f32, _>(Variance { correction: 1.0 }, samples::PLAIN, 2);
    masked::<f32, _>(IgnoreNan(Sum), samples::PLAIN, 3);
    masked::<f32, _>(Exact(Sum), samples::ANY, 0);
}

/// Elements that a run has by themselves are those before the step.
#[test]
fn behind_a_step() {
    fn mapped<T: Element, Op: Operator>(op: Op, step: Step, seed: u64)
    where
        Mapped<Op>: Reduction<T>,
    {
        let values = samples::PLAIN.array(T::TYPE, length(leaf_elements::<T>(), seed as usize));
        let divided = Divided::new(Mapped(op, step), elements::<T>(&values), Way::Whole);
        partials::check(&divided, seed, splits(20, 1));
    }
    mapped::<f32, _>(Sum, Step::minus(1.5).square(), 0);
    mapped::<bf16, _>(Sum, Step::EXP, 1);
    mapped::<i16, _>(Mean, Step::minus(0.5).abs(), 2);
    mapped::<f32, _>(ArgMin, Step::minus(-2.0).abs(), 3);
    mapped::<f32, _>(Variance { correction: 0.0 }, Step::SQUARE, 0);
    mapped::<f32, _>(Mapped(Sum, Step::SQUARE), Step::minus(0.25), 2);
}

/// Not of one fold: by operator, NaN policy, elements, operands, parameter, step, shape.
#[test]
fn partials_of_other_folds_are_told_apart() {
    let values = [1.0_f32, 2.0, 3.0];
    let bytes = fold(Sum).partial_on_cpu(&values, 5).expect("a part").to_bytes();
    fn other<P>(found: Result<P, Error>) -> &'static str {
        match found {
            Err(Error::Partial(PartialFault::Other { what, this, other })) if this != other => what,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("they are of one fold"),
        }
    }
    assert_eq!(other(Partial::<_, f32>::from_bytes(Mean, &bytes)), "operator");
    assert_eq!(other(Partial::<_, f32>::from_bytes(IgnoreNan(Sum), &bytes)), "operator");
    assert_eq!(other(Partial::<_, f32>::from_bytes(Exact(Sum), &bytes)), "operator");
    assert_eq!(other(Partial::<_, f64>::from_bytes(Sum, &bytes)), "elements");
    assert_eq!(
        other(Partial::<_, Masked<f32>>::from_bytes(Where(Sum), &bytes)),
        "operands"
    );
    assert_eq!(
        other(Partial::<_, f32>::from_bytes(Mapped(Sum, Step::ABS), &bytes)),
        "steps"
    );
    let square = |correction, minus| {
        let fold = fold(Variance::default()).correction(correction);
        fold.mapped(Step::minus(minus).square())
    };
    let mut partial = square(1.0, 0.5).partial_on_cpu(&values, 0).expect("a part");
    assert_eq!(
        other(partial.merge(square(1.0, 0.0).partial_on_cpu(&values, 3).expect("a part"))),
        "steps"
    );
    assert_eq!(
        other(partial.merge(square(0.0, 0.5).partial_on_cpu(&values, 3).expect("a part"))),
        "parameter"
    );
    partial
        .merge(square(1.0, 0.5).partial_on_cpu(&values, 3).expect("a part"))
        .expect("the same fold");
    assert_eq!(partial.runs().next(), Some(0..6));
    let rows = |columns| {
        View::new(
            &[0.0_f32; 12],
            &Layout::c_order(&[12 / columns, columns]).expect("small"),
        )
        .expect("all of it")
    };
    let mut along = fold(Sum).axis(0).partial_on_cpu(rows(4), 0).expect("a part");
    assert_eq!(
        other(along.merge(fold(Sum).axis(0).partial_on_cpu(rows(3), 3).expect("a part"))),
        "shape of the answers"
    );
    assert_eq!(
        other(Partial::<_, f32>::from_bytes(Sum, &along.to_bytes())),
        "shape of the answers"
    );
}
