//! The CPU backend and folds in pieces, against the canonical tree written out as plainly as can be.

use proptest::prelude::*;
use warpfold::{
    Error, cpu,
    ops::{ArgMax, ArgMin, Max, Mean, Min, Product, Reduction, Sum},
    pieces::Pieces,
};
use warpfold_kernels::{
    monoids::{Monoid, Words},
    tree::{ROWS, leaf_elements, row_elements},
};

const LEAF: usize = leaf_elements::<f32>();

/// Lengths where the tree or the backend changes shape: row, leaf, strip (8 leaves), run (64 leaves), two threads.
const EDGES: [usize; 9] = [1, 4, 128, LEAF, 2 * LEAF, 8 * LEAF, 64 * LEAF, 128 * LEAF, 200 * LEAF];

/// `docs/canonical-tree.md` in as many words: rows, columns, leaves; neighbours meet.
fn plain<M: Monoid<f32>>(op: M, values: &[f32]) -> M::State {
    fn meet<M: Monoid<f32>>(op: M, states: &[M::State]) -> M::State {
        match states {
            [] => op.identity(),
            [state] => *state,
            _ => {
                let (low, high) = states.split_at(states.len().next_power_of_two() / 2);
                op.combine(meet(op, low), meet(op, high))
            }
        }
    }
    let state = |at: usize| match values.get(at) {
        Some(value) => op.lift(*value, at as u64),
        None => op.identity(),
    };
    let leaves: Vec<_> = (0..values.len())
        .step_by(LEAF)
        .map(|first| {
            let columns: Vec<_> = (0..row_elements::<f32>())
                .map(|column| {
                    let rows: [_; ROWS] =
                        std::array::from_fn(|row| state(first + row * row_elements::<f32>() + column));
                    meet(op, &rows)
                })
                .collect();
            meet(op, &columns)
        })
        .collect();
    meet(op, &leaves)
}

fn words<W: Words>(value: W) -> Vec<u32> {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

/// The words of whole, plain and pieced folds are the same. A NaN's payload is the hardware's until `finish`, so the
/// state of a sum is only compared where it is none.
fn check<R: Reduction<f32>>(op: R, values: &[f32], piece: usize) {
    let monoid = op.monoid();
    let expected = plain(monoid, values);
    let answer = match cpu::reduce(op, values) {
        Ok(answer) => words(answer),
        Err(Error::EmptyExtent { op }) => {
            assert!(values.is_empty() && op == R::NAME);
            assert!(monoid.empty().is_none());
            return;
        }
        Err(error) => panic!("{error}"),
    };
    if !values.is_empty() {
        assert_eq!(
            answer,
            words(monoid.finish(expected, values.len() as u64)),
            "{} of {} elements",
            R::NAME,
            values.len()
        );
    }
    let state = cpu::fold(op, values);
    if !values.iter().any(|value| value.is_nan() || value.is_infinite()) {
        assert_eq!(
            words(state),
            words(expected),
            "state of {} of {} elements",
            R::NAME,
            values.len()
        );
    }

    let mut pieces = Pieces::new(op, piece as u64).unwrap();
    for piece in values.chunks(piece) {
        pieces.push(cpu::fold(op, piece), piece.len() as u64).unwrap();
    }
    assert_eq!(pieces.len(), values.len() as u64);
    let (pieced, _) = pieces.finish().unwrap();
    assert_eq!(
        words(pieced),
        answer,
        "{} of {} elements by {piece}",
        R::NAME,
        values.len()
    );
}

fn check_all(values: &[f32], piece: usize) {
    check(Sum, values, piece);
    check(Product, values, piece);
    check(Mean, values, piece);
    check(Min, values, piece);
    check(Max, values, piece);
    check(ArgMin, values, piece);
    check(ArgMax, values, piece);
}

/// 251 is prime, so that swapped tiles show; the steps are uneven, so that another order of adding does.
fn cycle(len: usize) -> Vec<f32> {
    (0..len)
        .map(|i| 1.0 + (i % 251) as f32 / 977.0 * if i % 3 == 0 { -1.0 } else { 1.0 })
        .collect()
}

#[test]
fn follows_the_tree_at_every_edge() {
    for edge in EDGES {
        for len in [edge - 1, edge, edge + 1] {
            check_all(&cycle(len), 4 * LEAF);
        }
    }
}

#[test]
fn finds_one_odd_element_wherever_it_is() {
    let len = 70 * LEAF + 5;
    for at in (0..len).step_by(509).chain([len - 1]) {
        let mut values = vec![1.0; len];
        values[at] = 2.0;
        assert_eq!(cpu::reduce(ArgMax, &values).unwrap(), at as u64);
        assert_eq!(cpu::reduce(Sum, &values).unwrap(), (len + 1) as f32);
        values[at] = f32::NAN;
        assert_eq!(cpu::reduce(ArgMin, &values).unwrap(), at as u64);
        assert!(cpu::reduce(Max, &values).unwrap().is_nan());
    }
}

#[test]
fn skips_no_leaf_that_matters() {
    let len = 40 * LEAF + 7;
    let zero = |negative: bool| if negative { -0.0_f32 } else { 0.0 };
    // What comes later never changes the answer, always does, does once by the sign of a zero.
    check_all(&(0..len).map(|i| i as f32).collect::<Vec<_>>(), 16 * LEAF);
    check_all(&(0..len).map(|i| -(i as f32)).collect::<Vec<_>>(), 16 * LEAF);
    for at in [0, 9 * LEAF, len - 1] {
        check_all(&(0..len).map(|i| zero(i == at)).collect::<Vec<_>>(), 16 * LEAF);
        check_all(&(0..len).map(|i| zero(i != at)).collect::<Vec<_>>(), 16 * LEAF);
    }
    check_all(&vec![f32::NEG_INFINITY; len], 16 * LEAF);
    check_all(&vec![f32::INFINITY; len], 16 * LEAF);
    check_all(&vec![f32::NAN; len], 16 * LEAF);
}

#[test]
fn keeps_subnormals_on_every_thread() {
    let tiny = f32::from_bits(1);
    assert_eq!(
        cpu::reduce(Sum, &vec![tiny; 512 * LEAF]).unwrap().to_bits(),
        512 * LEAF as u32
    );
}

#[test]
fn nothing_has_an_answer_or_a_typed_error() {
    assert_eq!(cpu::reduce::<f32, _>(Sum, &[]).unwrap().to_bits(), 0.0_f32.to_bits());
    assert_eq!(cpu::reduce::<f32, _>(Product, &[]).unwrap(), 1.0);
    assert!(cpu::reduce::<f32, _>(Mean, &[]).unwrap().is_nan());
    assert!(matches!(
        cpu::reduce::<f32, _>(Min, &[]),
        Err(Error::EmptyExtent { op: "min" })
    ));
    assert!(matches!(
        cpu::reduce::<f32, _>(ArgMax, &[]),
        Err(Error::EmptyExtent { op: "argmax" })
    ));
    let pieces = Pieces::<_, f32>::new(Max, LEAF as u64).unwrap();
    assert!(pieces.is_empty());
    assert!(matches!(pieces.finish(), Err(Error::EmptyExtent { op: "max" })));
}

#[test]
fn pieces_that_are_no_subtree_are_refused() {
    for piece in [0, 1, 1000, 1025, 3 * LEAF as u64] {
        let error = Pieces::<_, f32>::new(Sum, piece).unwrap_err();
        assert!(error.to_string().contains(&piece.to_string()), "{error}");
    }
    let mut pieces = Pieces::<_, f32>::new(Sum, 2 * LEAF as u64).unwrap();
    assert!(matches!(
        pieces.push(1.0, 2 * LEAF as u64 + 1),
        Err(Error::PieceOrder { before: 0, .. })
    ));
    pieces.push(1.0, 2 * LEAF as u64).unwrap();
    pieces.push(9.0, 0).unwrap();
    pieces.push(2.0, 1).unwrap();
    assert!(matches!(
        pieces.push(4.0, 1),
        Err(Error::PieceOrder { before: 2049, .. })
    ));
    assert_eq!(pieces.finish().unwrap(), (3.0, 3.0));
}

#[test]
fn pieces_reach_past_two_to_the_32_and_stop_at_two_to_the_64() {
    let piece = 1 << 62;
    let mut pieces = Pieces::<_, f32>::new(ArgMax, piece).unwrap();
    for value in [1.0, 5.0, 2.0] {
        pieces.push(cpu::fold(ArgMax, &[0.0_f32, value]), piece).unwrap();
    }
    assert!(matches!(
        pieces.push(cpu::fold(ArgMax, &[9.0_f32]), piece),
        Err(Error::LengthOverflow { .. })
    ));
    assert_eq!(pieces.finish().unwrap().0, piece + 1);
}

/// Values that fold badly: signed zeros, subnormals, infinities, NaN, and sums that cancel.
fn value() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -1e6_f32..1e6,
        2 => prop::sample::select(vec![0.0, -0.0, f32::MIN_POSITIVE / 4.0, 1e30, -1e30, 1.0, -1.0]),
        1 => any::<f32>().prop_filter("finite", |value| value.is_finite()),
    ]
}

/// A few values over and over, at a prime period: as telling as fresh ones, and quick to make.
fn array() -> impl Strategy<Value = Vec<f32>> {
    let special = prop::option::weighted(0.2, (any::<prop::sample::Index>(), any::<f32>()));
    (0..300 * LEAF, prop::collection::vec(value(), 997), special).prop_map(|(len, values, special)| {
        let mut array: Vec<f32> = values.into_iter().cycle().take(len).collect();
        if let (Some((at, value)), false) = (special, array.is_empty()) {
            let at = at.index(array.len());
            array[at] = value;
        }
        array
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn follows_the_tree_at_any_length(values in array(), piece in 0..8_u32, skip in 0..4_usize) {
        // `skip` moves the start off every alignment.
        let values = values.get(skip..).unwrap_or_default();
        check_all(values, LEAF << piece);
    }
}
