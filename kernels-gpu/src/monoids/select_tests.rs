extern crate std;

use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::element::Type;
use crate::monoids::{
    Arg, Bits, Count, CountedMean, Extremum, IgnoreNan, LogSumExp, Mean, NO_INDEX, Order, Product, StdDev, Sum, Truth,
    Variance,
    testing::{answer, bits, check_laws, fold, special_or_any},
};

/// Values under a mask whose bits repeat.
fn masked<T: Copy>(values: &[T], mask: u32) -> Vec<Masked<T>> {
    let items = values.iter().enumerate();
    items
        .map(|(i, value)| Masked(*value, mask >> (i % 32) & 1 == 1))
        .collect()
}

fn selected<T: Copy>(items: &[Masked<T>]) -> Vec<T> {
    items.iter().filter(|item| item.1).map(|item| item.0).collect()
}

proptest! {
    #[test]
    fn laws_hold_to_the_bit(runs in [special_or_any(), special_or_any()], mask in any::<u32>()) {
        let items = runs.clone().map(|run| masked(&run, mask));
        check_laws::<Masked<f32>, _>(Where(Variance { correction: 1.0 }), &items);
        check_laws::<Masked<f32>, _>(Where(LogSumExp), &items);
        let wide = runs.map(|run| masked(&run.into_iter().map(f64::from).collect::<Vec<_>>(), mask));
        check_laws::<Masked<f64>, _>(Where(StdDev { correction: 0.0 }), &wide);
    }

    #[test]
    fn where_all_is_selected_it_is_the_plain_operator(values in special_or_any()) {
        fn is_plain<M: Monoid<f32>, P: Monoid<f32>>(op: M, plain: P, values: &[f32]) {
            let items = masked(values, u32::MAX);
            assert_eq!(bits(answer(Where(op), &items)), bits(answer(plain, values)), "{values:?}");
        }
        is_plain(Sum, Sum, &values);
        is_plain(Product, Product, &values);
        is_plain(CountedMean, Mean, &values);
        is_plain(Extremum::SMALLEST, Extremum::SMALLEST, &values);
        is_plain(Arg::LARGEST.last(), Arg::LARGEST.last(), &values);
        is_plain(Variance { correction: 0.0 }, Variance { correction: 0.0 }, &values);
        is_plain(IgnoreNan(Sum), IgnoreNan(Sum), &values);
        is_plain(Count::nonzero(Type::F32), Count::nonzero(Type::F32), &values);
    }

    /// What is left out is NaN here, and never shows.
    #[test]
    fn it_is_ignore_nan_of_what_is_selected(values in special_or_any(), mask in any::<u32>()) {
        fn is_same<M: Monoid<f32>>(op: M, items: &[Masked<f32>]) {
            let holes: Vec<f32> = items.iter().map(|item| if item.1 { item.0 } else { f32::NAN }).collect();
            assert_eq!(bits(answer(Where(op), items)), bits(answer(IgnoreNan(op), &holes)), "{items:?}");
            let hidden: Vec<_> = items.iter().zip(&holes).map(|(item, hole)| Masked(*hole, item.1)).collect();
            assert_eq!(bits(answer(Where(op), &hidden)), bits(answer(IgnoreNan(op), &holes)), "{items:?}");
        }
        let numbers: Vec<f32> = values.into_iter().map(|x| if x.is_nan() { 1.0 } else { x }).collect();
        let items = masked(&numbers, mask);
        is_same(Sum, &items);
        is_same(Product, &items);
        is_same(CountedMean, &items);
        is_same(Extremum::LARGEST, &items);
        is_same(Extremum::SMALLEST, &items);
        is_same(Arg::LARGEST, &items);
        is_same(Arg::SMALLEST.last(), &items);
        is_same(StdDev::default(), &items);
        is_same(LogSumExp, &items);
    }

    #[test]
    fn of_integers_it_answers_as_over_what_is_selected(values in prop::collection::vec(any::<u8>(), 1..40), mask in any::<u32>()) {
        let items = masked(&values, mask);
        let alone = selected(&items);
        prop_assume!(!alone.is_empty());
        prop_assert_eq!(answer(Where(Sum), &items), answer(Sum, &alone));
        prop_assert_eq!(answer(Where(Extremum::LARGEST), &items), answer(Extremum::LARGEST, &alone));
        prop_assert_eq!(answer(Where(Bits::And), &items), answer(Bits::And, &alone));
        let places: Vec<u64> = (0..).zip(&items).filter(|(_, item)| item.1).map(|(i, _)| i).collect();
        for op in [Arg::LARGEST, Arg::SMALLEST, Arg::LARGEST.last(), Arg::SMALLEST.last()] {
            prop_assert_eq!(answer(Where(op), &items), places[answer(op, &alone) as usize]);
        }
    }

    /// What nothing was selected before, any element may change: of integers the lowest, too.
    #[test]
    fn an_element_that_may_not_change_a_fold_does_not(values in prop::collection::vec(any::<i8>(), 1..9), mask in any::<u32>()) {
        fn law<M: Monoid<i8, State: PartialEq + core::fmt::Debug>>(op: M, before: &[Masked<i8>], item: Masked<i8>) {
            let best = fold(Where(op), before);
            if !Where(op).may_change(best, item) {
                let next = Where(op).lift(item, 100);
                assert_eq!(op.combine(best, next), best, "{before:?} then {item:?}");
            }
        }
        for before in [masked(&values, mask), masked(&values, 0)] {
            for value in [values[0], 0, i8::MIN, i8::MAX] {
                for selected in [true, false] {
                    let item = Masked(value, selected);
                    for end in [Extremum::LARGEST, Extremum::SMALLEST] {
                        law(end, &before, item);
                    }
                    for op in [Arg::LARGEST, Arg::SMALLEST, Arg::LARGEST.last(), Arg::SMALLEST.last()] {
                        law(op, &before, item);
                    }
                }
            }
        }
    }
}

#[test]
fn of_nothing_selected_there_is_what_the_documentation_says() {
    let none = masked(&[f32::NAN, 1.0, f32::INFINITY], 0);
    assert_eq!(answer(Where(Sum), &none).to_bits(), (-0.0_f32).to_bits());
    assert_eq!(answer(Where(Product), &none), 1.0);
    assert_eq!(answer(Where(LogSumExp), &none), f32::NEG_INFINITY);
    for nan in [
        answer(Where(CountedMean), &none),
        answer(Where(Extremum::LARGEST), &none),
        answer(Where(Extremum::SMALLEST), &none),
        answer(Where(StdDev::default()), &none),
    ] {
        assert_eq!(nan.to_bits(), 0x7fc0_0000);
    }
    for op in [Arg::LARGEST, Arg::SMALLEST, Arg::LARGEST.last(), Arg::SMALLEST.last()] {
        assert_eq!(answer(Where(op), &none), NO_INDEX);
        assert_eq!(answer(Where(op), &masked(&[1_i32, i32::MIN], 0)), NO_INDEX);
    }
    let none = masked(&[3_i16, 4], 0);
    assert_eq!(answer(Where(Extremum::LARGEST), &none), i16::MIN);
    assert_eq!(answer(Where(Extremum::SMALLEST), &none), i16::MAX);
    assert_eq!(answer(Where(Sum), &none), 0);
    assert!(!answer(Where(Truth::any(Type::F32)), &none) && answer(Where(Truth::all(Type::F32)), &none));
    // Kernels have the bits of signed ones as unsigned elements, and a flag says so.
    let (largest, smallest) = (Extremum::LARGEST, Extremum::SMALLEST);
    let signed = |op: Extremum| Extremum {
        order: Order {
            signed: true,
            ..op.order
        },
    };
    let (bytes, shorts) = (masked(&[3_u8, 4], 0), masked(&[3_u16, 4], 0));
    assert_eq!(answer(Where(signed(largest)), &bytes), i8::MIN as u8);
    assert_eq!(answer(Where(signed(smallest)), &bytes), i8::MAX as u8);
    assert_eq!(answer(Where(signed(largest)), &shorts), i16::MIN as u16);
    assert_eq!(answer(Where(signed(smallest)), &shorts), i16::MAX as u16);
}

/// As a launch without a mask passes it; and under one, of what is selected.
#[test]
fn numbers_that_are_selected() {
    let values = [f32::NAN, 1.0, -4.0, f32::NAN, 2.5];
    let params = |numbers_only| OpParams {
        numbers_only,
        ..OpParams::default()
    };
    let op = |numbers_only| WhereNumbers::of_params(Extremum::SMALLEST, params(numbers_only));
    let all = masked(&values, u32::MAX);
    assert_eq!(answer(op(true), &all), -4.0);
    assert!(answer(op(false), &all).is_nan());
    let some = masked(&values, 0b10010);
    assert_eq!((answer(op(true), &some), answer(op(false), &some)), (1.0, 1.0));
}
