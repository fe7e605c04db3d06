//! Folds under a mask on the CPU: the canonical tree with holes, whatever is in them.

use proptest::prelude::*;
use warpfold::{
    Error, View, cpu, fold,
    layout::{Axes, Extents, Layout, Segments},
    ops::{
        All, Any, ArgMax, ArgMaxLast, ArgMin, BitOr, CountNonzero, Exact, IgnoreNan, LogSumExp, Max, Mean, Min, MinMax,
        NO_INDEX, NormL2, Product, Reduction, StdDev, Sum, TakesMask, Variance, Where,
        element::{Element, Masked, bf16, f16},
        monoids::Words,
    },
    pieces::Pieces,
};

/// Lengths where the tree or the backend changes shape.
const EDGES: [usize; 6] = [1, 4, 128, 1024, 8 * 1024, 70 * 1024];

fn lengths() -> impl Iterator<Item = usize> {
    EDGES.into_iter().flat_map(|edge| [edge - 1, edge, edge + 1])
}

/// Of each element a number, and a truth.
fn numbers<T>(len: usize, of: impl Fn(u8) -> T) -> (Vec<T>, Vec<bool>) {
    let truth = |i: usize| !(i * i + 3).is_multiple_of(7) && i % 83 != 5;
    let values = (0..len).map(|i| of((i * 37 % 251) as u8)).collect();
    (values, (0..len).map(truth).collect())
}

/// Elements of an array, and where they lie.
fn view<'a, T: Element>(values: &'a [T], layout: &Layout) -> View<'a, T> {
    View::new(values, layout).expect("within the array")
}

fn bits<W: Words>(value: W) -> Vec<u32> {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

/// All true: the bits without a mask. NaN where it is false: those of the operator that ignores it.
fn is_the_tree_with_holes<Op>(op: Op)
where
    Op: TakesMask + Reduction<f32>,
    Where<Op>: Reduction<Masked<f32>, Answer = Op::Answer>,
    IgnoreNan<Op>: Reduction<f32, Answer = Op::Answer>,
{
    for len in lengths().filter(|len| *len > 0) {
        let (values, mask) = numbers(len, |byte| f32::from(byte) / 97.0 - 1.1);
        let plain = cpu::reduce(op, &values).unwrap();
        let all = fold(op).masked(&vec![true; len]).on_cpu(&values).unwrap();
        assert_eq!(bits(all), bits(plain), "{len}");
        let items = values.iter().zip(&mask);
        let holes: Vec<f32> = items.map(|(x, truth)| if *truth { *x } else { f32::NAN }).collect();
        let expected = bits(cpu::reduce(IgnoreNan(op), &holes).unwrap());
        for values in [&values, &holes] {
            assert_eq!(bits(fold(op).masked(&mask).on_cpu(values).unwrap()), expected, "{len}");
        }
        // Bytes select where they are not 0.
        let bytes: Vec<u8> = (0..).zip(&mask).map(|(i, truth)| u8::from(*truth) << (i % 8)).collect();
        assert_eq!(bits(fold(op).masked(&bytes).on_cpu(&holes).unwrap()), expected, "{len}");
    }
}

#[test]
fn a_mask_makes_holes_in_the_tree() {
    is_the_tree_with_holes(Sum);
    is_the_tree_with_holes(Product);
    is_the_tree_with_holes(Mean);
    is_the_tree_with_holes(Max);
    is_the_tree_with_holes(ArgMin);
    is_the_tree_with_holes(ArgMaxLast);
    is_the_tree_with_holes(StdDev::default());
    is_the_tree_with_holes(Variance { correction: 0.0 });
}

/// What is exact answers as over the elements that are left when the others are taken out.
#[test]
fn what_is_exact_is_that_of_the_elements_that_are_left() {
    for len in lengths().filter(|len| *len > 1) {
        let (values, mask) = numbers(len, |byte| i64::from(byte) - 100);
        let items = || values.iter().zip(&mask).filter(|(_, truth)| **truth);
        let left: Vec<i64> = items().map(|(x, _)| *x).collect();
        let find = |best: i64| {
            (0..)
                .zip(&values)
                .zip(&mask)
                .position(|((_, x), truth)| *truth && *x == best)
        };
        let (least, most) = (*left.iter().min().unwrap(), *left.iter().max().unwrap());
        assert_eq!(
            fold(Sum).masked(&mask).on_cpu(&values).unwrap(),
            left.iter().sum::<i64>()
        );
        assert_eq!(fold(MinMax).masked(&mask).on_cpu(&values).unwrap(), (least, most));
        assert_eq!(
            fold(ArgMax).masked(&mask).on_cpu(&values).unwrap(),
            find(most).unwrap() as u64
        );
        assert_eq!(
            fold(ArgMin).masked(&mask).on_cpu(&values).unwrap(),
            find(least).unwrap() as u64
        );
        assert_eq!(
            fold(BitOr).masked(&mask).on_cpu(&values).unwrap(),
            left.iter().fold(0, |a, b| a | b)
        );
        let nonzero = left.iter().filter(|x| **x != 0).count() as u64;
        assert_eq!(fold(CountNonzero).masked(&mask).on_cpu(&values).unwrap(), nonzero);
        let mean = left.iter().sum::<i64>() as f64 / left.len() as f64;
        assert_eq!(fold(Mean).masked(&mask).on_cpu(&values).unwrap(), mean);
        let singles: Vec<f32> = values.iter().map(|x| *x as f32 * 0.1).collect();
        let exact: Vec<f32> = (0..)
            .zip(&singles)
            .filter(|(i, _): &(usize, _)| mask[*i])
            .map(|(_, x)| *x)
            .collect();
        let sum = fold(Exact(Sum)).masked(&mask).on_cpu(&singles).unwrap();
        assert_eq!(sum.to_bits(), cpu::reduce(Exact(Sum), &exact).unwrap().to_bits());
    }
}

#[test]
fn rounded_answers_are_near_those_in_f64() {
    let (values, mask) = numbers(100_003, |byte| f32::from(byte) / 97.0 + 0.1);
    let left: Vec<f64> = (0..values.len())
        .filter(|i| mask[*i])
        .map(|i| f64::from(values[i]))
        .collect();
    let near = |answer: f32, exact: f64| assert!((f64::from(answer) / exact - 1.0).abs() < 1e-6, "{answer} {exact}");
    let sum: f64 = left.iter().sum();
    near(fold(Sum).masked(&mask).on_cpu(&values).unwrap(), sum);
    let mean = sum / left.len() as f64;
    near(fold(Mean).masked(&mask).on_cpu(&values).unwrap(), mean);
    let squares: f64 = left.iter().map(|x| (x - mean) * (x - mean)).sum();
    near(
        fold(Variance { correction: 1.0 })
            .masked(&mask)
            .on_cpu(&values)
            .unwrap(),
        squares / (left.len() - 1) as f64,
    );
    near(
        fold(NormL2).masked(&mask).on_cpu(&values).unwrap(),
        left.iter().map(|x| x * x).sum::<f64>().sqrt(),
    );
    near(
        fold(LogSumExp).masked(&mask).on_cpu(&values).unwrap(),
        left.iter().map(|x| x.exp()).sum::<f64>().ln(),
    );
    // Halves are folded in f32 and rounded once.
    let (halves, mask) = numbers(3000, |byte| f16::from_bits(0x3c00 + u16::from(byte)));
    let wide: Vec<f32> = halves.iter().map(|x| x.wide()).collect();
    let holes: Vec<f32> = wide
        .iter()
        .zip(&mask)
        .map(|(x, truth)| if *truth { *x } else { f32::NAN })
        .collect();
    let mean = cpu::reduce(IgnoreNan(Mean), &holes).unwrap();
    assert!((fold(Mean).masked(&mask).on_cpu(&halves).unwrap().to_f64() - f64::from(mean)).abs() < 1e-3);
    let brains = [bf16::from_bits(0x3f80); 4];
    assert_eq!(
        fold(Sum).masked(&[1_u8, 0, 1, 1]).on_cpu(&brains).unwrap().to_f64(),
        3.0
    );
}

#[test]
fn of_nothing_selected() {
    for len in [1, 3, 5000] {
        let (values, none) = (vec![f32::NAN; len], vec![false; len]);
        assert_eq!(
            fold(Sum).masked(&none).on_cpu(&values).unwrap().to_bits(),
            (-0.0_f32).to_bits()
        );
        assert_eq!(fold(Product).masked(&none).on_cpu(&values).unwrap(), 1.0);
        assert!(fold(Mean).masked(&none).on_cpu(&values).unwrap().is_nan());
        assert!(fold(Max).masked(&none).on_cpu(&values).unwrap().is_nan());
        assert!(fold(StdDev::default()).masked(&none).on_cpu(&values).unwrap().is_nan());
        assert_eq!(fold(ArgMax).masked(&none).on_cpu(&values).unwrap(), NO_INDEX);
        assert_eq!(
            fold(LogSumExp).masked(&none).on_cpu(&values).unwrap(),
            f32::NEG_INFINITY
        );
        assert_eq!(fold(Min).masked(&none).on_cpu(&vec![1_u8; len]).unwrap(), u8::MAX);
        assert_eq!(fold(Max).masked(&none).on_cpu(&vec![1_i16; len]).unwrap(), i16::MIN);
        assert_eq!(fold(Max).masked(&none).on_cpu(&vec![1_u32; len]).unwrap(), 0);
        assert_eq!(fold(Min).masked(&none).on_cpu(&vec![1_i64; len]).unwrap(), i64::MAX);
        assert_eq!(fold(ArgMin).masked(&none).on_cpu(&vec![0_u8; len]).unwrap(), NO_INDEX);
        assert!(!fold(Any).masked(&none).on_cpu(&vec![1_u8; len]).unwrap());
        assert!(fold(All).masked(&none).on_cpu(&vec![0_u8; len]).unwrap());
    }
}

/// Behind what a mask leaves out even the lowest integer is found, in whichever leaf.
#[test]
fn the_lowest_integer_is_found() {
    for len in [5, 5000, 300_000] {
        let values = vec![0_u8; len];
        let mask: Vec<bool> = (0..len).map(|i| i >= len * 2 / 3).collect();
        let first = (len * 2 / 3) as u64;
        assert_eq!(fold(ArgMax).masked(&mask).on_cpu(&values).unwrap(), first);
        assert_eq!(fold(ArgMin).masked(&mask).on_cpu(&values).unwrap(), first);
        assert_eq!(fold(ArgMaxLast).masked(&mask).on_cpu(&values).unwrap(), len as u64 - 1);
    }
}

#[test]
fn mismatches_and_emptiness() {
    let wrong = fold(Sum).masked(&[true]).on_cpu(&[1.0_f32, 2.0]);
    assert!(
        matches!(&wrong, Err(Error::MaskMismatch { mask, array }) if (&mask[..], &array[..]) == (&[1][..], &[2][..]))
    );
    assert!(
        wrong
            .unwrap_err()
            .to_string()
            .contains("shape [1] is not one of an array of shape [2]")
    );
    let segments = Segments::by_lens([2]).unwrap();
    let wrong = fold(Sum)
        .segments(segments.clone())
        .masked(&[true; 3])
        .on_cpu(&[1.0_f32, 2.0]);
    assert!(matches!(wrong, Err(Error::MaskMismatch { .. })));
    let (matrix, axes) = (Layout::c_order(&[2, 3]).unwrap(), Axes::of(&[0]));
    for shape in [&[3, 2][..], &[2], &[1, 2, 3]] {
        let mask = Layout::c_order(shape).unwrap();
        let wrong = fold(Sum)
            .along(axes.clone())
            .masked(view(&[true; 6], &mask))
            .on_cpu(view(&[0.0_f32; 6], &matrix));
        assert!(
            matches!(wrong, Err(Error::MaskMismatch { mask, .. }) if mask == shape),
            "{shape:?}"
        );
    }
    let outside = View::new(&[true; 5], &matrix);
    assert!(matches!(outside, Err(Error::OutOfBounds { len: 5, .. })));
    assert_eq!(fold(Sum).masked(&[true; 0]).on_cpu(&[0.0_f32; 0]).unwrap().to_bits(), 0);
    let empty = fold(Max).masked(&[0_u8; 0]).on_cpu(&[0.0_f32; 0]);
    assert!(matches!(empty, Err(Error::EmptyExtent { op: "max" })));
}

#[test]
fn steps_of_a_fold() {
    let (values, mask) = ([1_i32, 5, 3, 4, 2, 6], [true, false, true, true, true, false]);
    assert_eq!(fold(Sum).masked(&mask).on_cpu(&values).unwrap(), 10);
    let layout = Layout::c_order(&[2, 3]).unwrap();
    let matrix = || View::new(&values, &layout).unwrap();
    let of = |mask| View::new(mask, &layout).unwrap();
    let rows = fold(Max).axis(-1).keepdim().masked(of(&mask)).on_cpu(matrix()).unwrap();
    assert_eq!((rows.shape, rows.answers), (vec![2, 1], vec![3, 4]));
    assert_eq!(fold(Sum).masked(&[0_u8, 1, 1]).on_cpu(matrix()).unwrap(), 16);
    let segments = Segments::by_size(6, 4).unwrap();
    let answers = fold(Sum)
        .output::<f64>()
        .segments(segments.clone())
        .masked(&mask)
        .on_cpu(&values)
        .unwrap();
    assert_eq!(answers, [8.0, 2.0]);
    // A layout of all the memory in order is as good as none.
    let answers = fold(Sum).segments(segments.clone()).masked(of(&mask)).on_cpu(matrix());
    assert_eq!(answers.unwrap(), [8, 2]);
    let backwards = Layout::strided(&[6], &[-1], 5).unwrap();
    let wrong = fold(Sum)
        .segments(segments)
        .masked(view(&mask, &backwards))
        .on_cpu(&values);
    assert!(matches!(wrong, Err(Error::NotInOrder { shape, strides }) if (&shape[..], &strides[..]) == (&[6], &[-1])));
    let whole = fold(Sum).masked(view(&mask, &backwards)).on_cpu(&values);
    assert_eq!(whole.unwrap(), 5 + 3 + 4 + 6);
}

#[test]
fn pieces_give_the_whole() {
    let (values, mask) = numbers(50_001, |byte| f32::from(byte) - 60.0);
    let mut pieces = Pieces::<_, Masked<f32>>::new(Where(Mean), 8192).unwrap();
    for (values, mask) in values.chunks(8192).zip(mask.chunks(8192)) {
        let state = fold(Mean).masked(mask).state_on_cpu(values).unwrap();
        pieces.push(state, values.len() as u64).unwrap();
    }
    let whole = fold(Mean).masked(&mask).on_cpu(&values).unwrap();
    assert_eq!(pieces.finish().unwrap().0.to_bits(), whole.to_bits());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Neither the rows beside one nor the strides nor a mask's repeating change a bit.
    #[test]
    fn each_extent_is_as_if_alone(rows in 1..30_u64, columns in 1..1500_u64, axis in 0..2_i64, way in 0..4) {
        let matrix = Layout::c_order(&[rows, columns]).unwrap();
        let mask_layout = match way {
            0 => matrix.clone(),
            1 => Layout::c_order(&[columns]).unwrap(),
            2 => Layout::c_order(&[rows, 1]).unwrap(),
            _ => Layout::fortran_order(&[rows, columns]).unwrap(),
        };
        let (values, mask) = numbers((rows * columns) as usize, |byte| f32::from(byte) / 97.0 - 1.1);
        let axes = Axes::of(&[axis]);
        let folded = fold(Mean).along(axes.clone()).masked(view(&mask, &mask_layout)).on_cpu(view(&values, &matrix)).unwrap();
        let [one, two] = Extents::of_masked(&matrix, &mask_layout, &axes).unwrap();
        for (i, answer) in (0..).zip(folded.answers) {
            let place = |extents: &Extents, j| extents.start(i).wrapping_add_signed(extents.step(j)) as usize;
            let row: Vec<f32> = (0..one.len).map(|j| values[place(&one, j)]).collect();
            let truths: Vec<bool> = (0..two.len).map(|j| mask[place(&two, j)]).collect();
            prop_assert_eq!(bits(answer), bits(fold(Mean).masked(&truths).on_cpu(&row).unwrap()));
        }
    }

    #[test]
    fn each_segment_is_as_if_alone(lens in prop::collection::vec(0..3000_u64, 0..40), one in 0..200_000_u64) {
        let segments = Segments::by_lens(lens.into_iter().chain([one])).unwrap();
        let (values, mask) = numbers(segments.len() as usize, |byte| f32::from(byte) / 97.0 - 1.1);
        let answers = fold(Sum).segments(segments.clone()).masked(&mask).on_cpu(&values).unwrap();
        for (i, answer) in answers.into_iter().enumerate() {
            let range = segments.get(i).start as usize..segments.get(i).end as usize;
            let alone = fold(Sum).masked(&mask[range.clone()]).on_cpu(&values[range]).unwrap();
            prop_assert_eq!(answer.to_bits(), alone.to_bits());
        }
    }
}
/// Recorded once: they hold on every machine.
#[test]
fn golden_bits() {
    let (values, mask) = numbers(100_003, |byte| f32::from(byte) / 97.0 - 1.1);
    let wide: Vec<f64> = values.iter().map(|x| f64::from(*x) * 1.1).collect();
    let single = |answer: Result<f32, Error>| u64::from(answer.unwrap().to_bits());
    let golden = [
        single(fold(Sum).masked(&mask).on_cpu(&values)),
        single(fold(Mean).masked(&mask).on_cpu(&values)),
        single(fold(StdDev::default()).masked(&mask).on_cpu(&values)),
        fold(Sum).masked(&mask).on_cpu(&wide).unwrap().to_bits(),
        fold(StdDev::default()).masked(&mask).on_cpu(&wide).unwrap().to_bits(),
    ];
    assert_eq!(
        golden,
        [
            0x464f_e51e,
            0x3e41_0ff9,
            0x3f3f_3b16,
            0x40cc_95e7_52b8_8cce,
            0x3fea_4b52_fc51_d61f
        ]
    );
}
