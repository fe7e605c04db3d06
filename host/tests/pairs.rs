//! Two arrays on the CPU: the canonical tree of one of them, whatever the shape around it.

use proptest::prelude::*;
use warpfold::{
    Error, View, cpu, fold,
    layout::{Axes, Layout, Segments},
    ops::{
        Cosine, Dot, Reduction, Sum,
        element::{Element, Float, Two, bf16, f16},
    },
    pieces::Pieces,
};

/// Lengths where the tree or the backend changes shape, and one to each side.
const EDGES: [usize; 7] = [1, 4, 128, 1024, 8 * 1024, 64 * 1024, 200 * 1024];

fn numbers<T: Float>(len: usize, seed: usize) -> Vec<T> {
    let number = |i: usize| ((i * 37 + seed * 91) % 251) as f64 / 97.0 - 1.1;
    (0..len).map(|i| T::from_f64(number(i))).collect()
}

/// Elements of an array, and where they lie.
fn view<'a, T: Element>(values: &'a [T], layout: &Layout) -> View<'a, T> {
    View::new(values, layout).expect("within the array")
}

fn lengths() -> impl Iterator<Item = usize> {
    EDGES.into_iter().flat_map(|edge| [edge - 1, edge, edge + 1])
}

/// Products by themselves are exact in f32 for f16, so that their sum is the dot product; and of f32 and f64 they are rounded.
#[test]
fn a_dot_product_has_the_bits_of_the_sum_of_products() {
    for len in lengths() {
        let (a, b) = (numbers::<f32>(len, 1), numbers::<f32>(len, 2));
        let products: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
        let dot = fold(Dot).on_cpu((&a, &b)).unwrap();
        assert_eq!(dot.to_bits(), cpu::reduce(Sum, &products).unwrap().to_bits(), "{len}");
        let (a, b) = (numbers::<f64>(len, 1), numbers::<f64>(len, 2));
        let products: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
        let dot = fold(Dot).on_cpu((&a, &b)).unwrap();
        assert_eq!(dot.to_bits(), cpu::reduce(Sum, &products).unwrap().to_bits(), "{len}");
        let ones = vec![f16::from_f64(1.0); len];
        let a = numbers::<f16>(len, 3);
        let dot = fold(Dot).on_cpu((&a, &ones)).unwrap();
        assert_eq!(dot.to_bits(), cpu::reduce(Sum, &a).unwrap().to_bits(), "{len}");
        let ones = vec![bf16::from_f64(1.0); len];
        let a = numbers::<bf16>(len, 3);
        let dot = fold(Dot).on_cpu((&ones, &a)).unwrap();
        assert_eq!(dot.to_bits(), cpu::reduce(Sum, &a).unwrap().to_bits(), "{len}");
    }
}

/// Recorded once: they hold on every machine.
#[test]
fn golden_bits() {
    const LEN: usize = 100_003;
    fn bits<R>(op: R) -> [u64; 2]
    where
        R: Reduction<Two<f32>, Answer = f32> + Reduction<Two<f64>, Answer = f64>,
    {
        [
            fold(op)
                .on_cpu((&numbers::<f32>(LEN, 1), &numbers(LEN, 2)))
                .unwrap()
                .to_bits()
                .into(),
            fold(op)
                .on_cpu((&numbers::<f64>(LEN, 1), &numbers(LEN, 2)))
                .unwrap()
                .to_bits(),
        ]
    }
    assert_eq!(bits(Dot), [0xc68c_c26b, 0xc0d1_984d_63d2_ee37]);
    assert_eq!(bits(Cosine), [0xbe9b_686d, 0xbfd3_6d0d_956d_3166]);
    let half = fold(Dot).on_cpu((&numbers::<f16>(LEN, 1), &numbers(LEN, 2))).unwrap();
    assert_eq!(half.to_bits(), 0xf466);
}

#[test]
fn pieces_give_the_whole() {
    let (a, b) = (numbers::<f32>(50_001, 5), numbers::<f32>(50_001, 6));
    let mut pieces = Pieces::<_, Two<f32>>::new(Cosine, 8192).unwrap();
    for (a, b) in a.chunks(8192).zip(b.chunks(8192)) {
        pieces
            .push(fold(Cosine).state_on_cpu((a, b)).unwrap(), a.len() as u64)
            .unwrap();
    }
    let whole = fold(Cosine).on_cpu((&a, &b)).unwrap();
    assert_eq!(pieces.finish().unwrap().0.to_bits(), whole.to_bits());
}

#[test]
fn mismatches_and_emptiness() {
    assert!(matches!(
        fold(Dot).on_cpu((&[1.0_f32, 2.0], &[1.0])),
        Err(Error::PairMismatch { first, second }) if (&first[..], &second[..]) == (&[2][..], &[1][..])
    ));
    let segments = Segments::by_lens([2]).unwrap();
    let wrong = fold(Dot).segments(segments.clone()).on_cpu((&[1.0_f32, 2.0], &[1.0]));
    assert!(wrong.unwrap_err().to_string().contains("[2] and [1]"));
    let (two, three) = (Layout::c_order(&[2, 3]).unwrap(), Layout::c_order(&[3, 2]).unwrap());
    let axes = Axes::of(&[0]);
    let wrong = fold(Dot)
        .along(axes.clone())
        .on_cpu((view(&[0.0_f32; 6], &two), view(&[0.0; 6], &three)));
    assert!(wrong.unwrap_err().to_string().contains("[2, 3] and [3, 2]"));
    let values = [0.0_f32; 6];
    let both = || (view(&values, &two), view(&values, &three));
    assert!(matches!(fold(Dot).on_cpu(both()), Err(Error::PairMismatch { .. })));
    assert!(matches!(
        fold(Dot).state_on_cpu(both()),
        Err(Error::PairMismatch { .. })
    ));
    // No answers, of however long extents.
    let none = Layout::c_order(&[0, 1 << 40]).unwrap();
    let folded = fold(Dot)
        .axis(1)
        .on_cpu((view::<f32>(&[], &none), view(&[], &none)))
        .unwrap();
    assert!(folded.answers.is_empty() && folded.shape == [0]);
    let outside = View::new(&[0.0_f32; 5], &two);
    assert!(matches!(outside, Err(Error::OutOfBounds { len: 5, .. })));
    assert_eq!(fold(Dot).on_cpu((&[0.0_f32; 0], &[0.0; 0])).unwrap().to_bits(), 0);
    assert!(fold(Cosine).on_cpu((&[0.0_f64; 0], &[0.0; 0])).unwrap().is_nan());
    let nothing = Layout::c_order(&[2, 0]).unwrap();
    let empty = fold(Dot)
        .along(Axes::of(&[1]))
        .on_cpu((view::<f32>(&[], &nothing), view(&[], &nothing)))
        .unwrap();
    assert_eq!(empty.answers, [0.0, 0.0]);
}

/// Every answer along axes is that of its extents alone.
fn along<T: Float, R: Reduction<Two<T>, Answer: PartialEq + std::fmt::Debug>>(
    op: R,
    first: &Layout,
    second: &Layout,
    axis: i64,
) {
    let room = |layout: &Layout| layout.reach().map_or(0, |reach| reach.1 as usize);
    let (a, b) = (numbers::<T>(room(first), 7), numbers::<T>(room(second), 8));
    let axes = Axes::of(&[axis]);
    let answers = fold(op)
        .along(axes.clone())
        .on_cpu((view(&a, first), view(&b, second)))
        .unwrap()
        .answers;
    let [one, two] = warpfold::layout::Extents::of_pair(first, second, &axes).unwrap();
    for (i, answer) in (0..).zip(answers) {
        let of = |values: &[T], extents: &warpfold::layout::Extents| -> Vec<T> {
            let place = |j| extents.start(i).wrapping_add_signed(extents.step(j)) as usize;
            (0..extents.len).map(|j| values[place(j)]).collect()
        };
        let alone = fold(op).on_cpu((&of(&a, &one), &of(&b, &two))).unwrap();
        assert_eq!(answer, alone, "answer {i} of {first:?}, {second:?} along {axis}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Neither the rows beside one nor the strides change a bit.
    #[test]
    fn each_extent_is_as_if_alone(rows in 1..30_u64, columns in 1..1500_u64, axis in 0..2_i64, way in 0..4) {
        let matrix = Layout::c_order(&[rows, columns]).unwrap();
        let other = match way {
            0 => matrix.clone(),
            1 => Layout::c_order(&[columns]).unwrap().broadcast(&[rows, columns]).unwrap(),
            2 => Layout::c_order(&[rows, 1]).unwrap().broadcast(&[rows, columns]).unwrap(),
            _ => Layout::fortran_order(&[rows, columns]).unwrap(),
        };
        along::<f32, _>(Dot, &matrix, &other, axis);
        along::<f64, _>(Cosine, &other, &matrix, axis);
        along::<bf16, _>(Dot, &other, &matrix, axis);
    }

    #[test]
    fn each_segment_is_as_if_alone(lens in prop::collection::vec(0..3000_u64, 0..40), one in 0..200_000_u64) {
        let lens: Vec<u64> = lens.into_iter().chain([one]).collect();
        let segments = Segments::by_lens(lens).unwrap();
        let (a, b) = (numbers::<f32>(segments.len() as usize, 1), numbers::<f32>(segments.len() as usize, 2));
        let answers = fold(Dot).segments(segments.clone()).on_cpu((&a, &b)).unwrap();
        for (i, answer) in answers.into_iter().enumerate() {
            let range = segments.get(i).start as usize..segments.get(i).end as usize;
            let alone = fold(Dot).on_cpu((&a[range.clone()], &b[range])).unwrap();
            prop_assert_eq!(answer.to_bits(), alone.to_bits());
        }
    }

    #[test]
    fn the_order_of_the_two_does_not_matter(len in 0..70_000_usize) {
        let (a, b) = (numbers::<f32>(len, 1), numbers::<f32>(len, 2));
        for (a, b) in [(&a, &b), (&b, &a)] {
            prop_assert_eq!(fold(Dot).on_cpu((a, b)).unwrap().to_bits(), fold(Dot).on_cpu((b, a)).unwrap().to_bits());
            let cosine = |a: &Vec<f32>, b: &Vec<f32>| fold(Cosine).on_cpu((a, b)).unwrap().to_bits();
            prop_assert_eq!(cosine(a, b), cosine(b, a));
        }
    }
}

/// A pair's element is one of its arrays'.
#[test]
fn a_pair_is_of_its_elements() {
    fn of<T: Element>() -> usize {
        warpfold_kernels::tree::leaf_elements::<Two<T>>()
    }
    assert_eq!([of::<bf16>(), of::<f32>(), of::<f64>()], [2048, 1024, 512]);
}
