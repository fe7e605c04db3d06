//! Folds put together step by step give what the calls give that they stand for.

use warpfold::{
    Error, Plan, View, cpu, fold,
    layout::{Axes, Extents, Layout, Segments},
    ops::{
        ArgMax, ArgMaxLast, ArgMin, Compensated, Exact, IgnoreNan, Max, Mean, MinMax, Reduction, StdDev, Sum, Variance,
        Wide, element::bf16,
    },
};

fn uneven(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37) % 251) as f32 / 977.0 - 0.1).collect()
}

#[test]
fn whole_arrays() {
    let values = uneven(5000);
    assert_eq!(fold(Sum).on_cpu(&values).unwrap(), cpu::reduce(Sum, &values).unwrap());
    assert_eq!(fold(Sum).on_cpu(&values[..7]).unwrap(), cpu::sum(&values[..7]).unwrap());
    let exact = fold(Mean).accuracy(Exact).on_cpu(&values).unwrap();
    assert_eq!(exact, cpu::reduce(Exact(Mean), &values).unwrap());
    let both = [
        fold(Sum).accuracy(Wide).on_cpu(&values),
        fold(Sum).accuracy(Compensated).on_cpu(&values),
    ];
    assert!(both.iter().all(|sum| sum.is_ok()));
    // Every other element, backwards.
    let layout = Layout::strided(&[50, 50], &[-100, -2], 4999).unwrap();
    let seen: Vec<f32> = (0..2500).map(|i| values[4999 - 2 * i]).collect();
    let view = View::new(&values, &layout).unwrap();
    assert_eq!(fold(ArgMin).on_cpu(view).unwrap(), cpu::argmin(&seen).unwrap());
    assert!(matches!(
        View::new(&values[1..], &layout),
        Err(Error::OutOfBounds { .. })
    ));
    assert!(matches!(
        fold(Max).on_cpu(&[0.0_f32; 0]),
        Err(Error::EmptyExtent { .. })
    ));
}

#[test]
fn options() {
    let values = [2.0_f64, f64::NAN, 5.0, 5.0];
    assert_eq!(fold(ArgMax).ignore_nan().on_cpu(&values).unwrap(), 2);
    assert_eq!(fold(ArgMax).ignore_nan().last_of_equals().on_cpu(&values).unwrap(), 3);
    assert_eq!(fold(ArgMax).last_of_equals().ignore_nan().on_cpu(&values).unwrap(), 3);
    assert_eq!(
        fold(ArgMax).last_of_equals().on_cpu(&values[2..]).unwrap(),
        cpu::reduce(ArgMaxLast, &values[2..]).unwrap()
    );
    for correction in [0.0, 2.5] {
        let expected = cpu::reduce(IgnoreNan(Variance { correction }), &values).unwrap();
        let steps = [
            fold(Variance::default())
                .correction(correction)
                .ignore_nan()
                .on_cpu(&values),
            fold(Variance::default())
                .ignore_nan()
                .correction(correction)
                .on_cpu(&values),
        ];
        assert_eq!(steps.map(Result::unwrap).map(f64::to_bits), [expected.to_bits(); 2]);
    }
    let wrong = fold(StdDev::default()).correction(f64::NAN).on_cpu(&values);
    assert!(matches!(wrong, Err(Error::Parameter { name: "correction", .. })));
}

#[test]
fn axes_and_segments() {
    let values = uneven(24);
    let layout = Layout::c_order(&[2, 3, 4]).unwrap();
    let view = || View::new(&values, &layout).unwrap();
    for (steps, axes) in [
        (fold(Max).axis(1), Axes::of(&[1])),
        (fold(Max).axis(-1).axis(0), Axes::of(&[0, 2])),
        (fold(Max).axes(&[2, 1]).keepdim(), Axes::of(&[1, 2]).keepdim()),
        (fold(Max).axes(&[]), Axes::of(&[])),
        (fold(Max).keepdim(), Axes::all().keepdim()),
        (fold(Max).keepdim().axis(1), Axes::of(&[1]).keepdim()),
    ] {
        let expected = cpu::reduce_axes(Max, &values, &layout, &axes).unwrap();
        assert_eq!(steps.clone().on_cpu(view()).unwrap(), expected);
        let extents = Extents::new(&layout, &axes).unwrap();
        let plan = Plan::along(Reduction::<f32>::entry(Max), &extents).unwrap();
        assert_eq!(steps.plan::<f32>(&layout).unwrap(), plan);
    }
    assert!(matches!(
        fold(Max).axis(3).on_cpu(view()),
        Err(Error::NoAxis { axis: 3, axes: 3 })
    ));
    assert!(matches!(
        fold(Max).axis(1).axis(-2).on_cpu(view()),
        Err(Error::AxisTwice { axis: 1, .. })
    ));
    // A slice has one axis.
    assert_eq!(fold(Sum).axis(0).on_cpu(&[1, 2]).unwrap().answers, [3_i64]);

    let segments = Segments::by_lens([2, 0, 3]).unwrap();
    let expected = cpu::reduce_segments(MinMax, &values[..5], &Segments::by_lens([2, 3]).unwrap()).unwrap();
    assert_eq!(
        fold(Sum).segments(segments.clone()).on_cpu(&values[..5]).unwrap().len(),
        3
    );
    let by_two = Segments::by_lens([2, 3]).unwrap();
    assert_eq!(fold(MinMax).segments(by_two).on_cpu(&values[..5]).unwrap(), expected);
    let plan = Plan::segments(Reduction::<f32>::entry(Sum), 5, 3).unwrap();
    assert_eq!(fold(Sum).segments(segments).plan::<f32>().unwrap(), plan);
    assert_eq!(
        fold(Sum).plan::<f32>(5).expect("a kernel"),
        Plan::new(Reduction::<f32>::entry(Sum), 5)
    );
}

#[test]
fn outputs_are_casts() {
    assert_eq!(fold(Sum).output::<f64>().on_cpu(&[1_u8, 255]).unwrap(), 256.0);
    assert_eq!(fold(Sum).output::<u8>().on_cpu(&[1_u8, 255]).unwrap(), 0);
    assert_eq!(fold(Mean).output::<i8>().on_cpu(&[-1.0_f32, -2.0]).unwrap(), -1);
    assert_eq!(fold(Mean).output::<i8>().on_cpu(&[f32::NAN]).unwrap(), 0);
    assert_eq!(fold(Max).output::<u8>().on_cpu(&[-4.0_f64, 1e9]).unwrap(), 255);
    let halves = [bf16::from_bits(0x3f00), bf16::from_bits(0x3f80)];
    assert_eq!(
        fold(Max).output::<f64>().axis(0).on_cpu(&halves).unwrap().answers,
        [1.0]
    );
    assert_eq!(
        fold(Sum).axis(0).output::<f32>().on_cpu(&[3_i64]).unwrap().answers,
        [3.0]
    );
}

#[test]
fn names() {
    let values = uneven(300);
    assert_eq!(
        cpu::min_max(&values).unwrap(),
        (cpu::min(&values).unwrap(), cpu::max(&values).unwrap())
    );
    assert_eq!(cpu::product(&[2_i8, 3]).unwrap(), 6);
    assert_eq!(
        cpu::std_dev(&values).unwrap(),
        cpu::reduce(StdDev::default(), &values).unwrap()
    );
    assert_eq!(
        (
            cpu::any(&[0, 1]).unwrap(),
            cpu::all(&[0, 1]).unwrap(),
            cpu::count_nonzero(&[0, 1]).unwrap()
        ),
        (true, false, 1_u64)
    );
    assert!(matches!(cpu::max::<f32>(&[]), Err(Error::EmptyExtent { op: "max" })));
}
