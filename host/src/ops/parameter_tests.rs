//! What an operator's parameters must be.

use crate::{
    Error, cpu, fold,
    layout::{Axes, Layout, Segments},
    ops::{
        Describe, IgnoreNan, Mapped, Max, MeanVariance, NormLp, OpFacts, Reduction, StdDev, Step, Sum, TakesMask,
        Variance, Where, element::Masked,
    },
    pieces::Pieces,
};

fn check<R: Reduction<f64>>(op: R) -> Result<(), Error> {
    OpFacts::of::<f64, R>(op).check()
}

#[track_caller]
fn names(error: Option<Error>, parameter: &str, given: f64) {
    match error {
        Some(Error::Parameter { name, value, .. }) => {
            assert_eq!((name, value.to_bits()), (parameter, given.to_bits()));
        }
        other => panic!("{parameter} of {given}: {other:?}"),
    }
}

/// Every call refuses it, of some elements and of none, which would otherwise have an answer.
#[track_caller]
fn refused<R: Reduction<f64>>(op: R, name: &str, value: f64) {
    for values in [&[1.0, 2.0][..], &[]] {
        names(cpu::reduce(op, values).err(), name, value);
        let line = Layout::c_order(&[values.len() as u64]).expect("small");
        names(cpu::reduce_axes(op, values, &line, &Axes::all()).err(), name, value);
        let segments = Segments::by_lens([values.len() as u64]).expect("small");
        names(cpu::reduce_segments(op, values, &segments).err(), name, value);
    }
    let none = Layout::c_order(&[0, 3]).expect("small");
    names(cpu::reduce_axes(op, &[], &none, &Axes::of(&[1])).err(), name, value);
    let segments = Segments::by_lens([]).expect("none");
    names(cpu::reduce_segments(op, &[], &segments).err(), name, value);
    names(Pieces::<R, f64>::new(op, 512).err(), name, value);
}

/// So do the calls of what a mask selects.
#[track_caller]
fn refused_where<Op: TakesMask>(op: Op, name: &str, value: f64)
where
    Where<Op>: Reduction<Masked<f64>>,
{
    for values in [&[1.0, 2.0][..], &[]] {
        let mask = vec![true; values.len()];
        names(fold(op).masked(&mask).on_cpu(values).err(), name, value);
        names(fold(op).axis(0).masked(&mask).on_cpu(values).err(), name, value);
        let segments = Segments::by_lens([values.len() as u64]).expect("small");
        names(
            fold(op).segments(segments).masked(&mask).on_cpu(values).err(),
            name,
            value,
        );
    }
}

#[test]
fn numbers_without_a_meaning_are_named() {
    for correction in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        refused(Variance { correction }, "correction", correction);
        refused(StdDev { correction }, "correction", correction);
        refused(MeanVariance { correction }, "correction", correction);
        refused(Describe { correction }, "correction", correction);
        refused(IgnoreNan(Variance { correction }), "correction", correction);
        refused(IgnoreNan(StdDev { correction }), "correction", correction);
        refused_where(Variance { correction }, "correction", correction);
        refused_where(StdDev { correction }, "correction", correction);
        refused_where(MeanVariance { correction }, "correction", correction);
        refused_where(IgnoreNan(Variance { correction }), "correction", correction);
        refused_where(IgnoreNan(StdDev { correction }), "correction", correction);
        refused(Mapped(Sum, Step::minus(correction)), "minus", correction);
        refused(Mapped(Variance { correction }, Step::ABS), "correction", correction);
        refused_where(Mapped(Sum, Step::minus(correction)), "minus", correction);
    }
    for p in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0] {
        refused(NormLp { p }, "p", p);
        refused_where(NormLp { p }, "p", p);
    }
    let error = check(NormLp { p: -1.0 }).expect_err("below 0").to_string();
    assert!(error.starts_with("lp: p is -1, and must be finite"), "{error}");
}

#[test]
fn numbers_with_a_meaning_are_taken() {
    for correction in [0.0, 1.0, -3.0, 1e300] {
        assert!(check(Variance { correction }).is_ok());
        assert!(check(IgnoreNan(StdDev { correction })).is_ok());
    }
    assert!(check(NormLp { p: 1e-300 }).is_ok() && check(NormLp { p: 1e300 }).is_ok());
    assert!(check(Sum).is_ok() && check(IgnoreNan(Max)).is_ok());
}
