//! That no fold notices a filler, to the bit.

extern crate std;

use std::{vec, vec::Vec};

use super::{
    BitXor, Bits, Compensated, Cosine, Count, Dot, Either, Exact, Extremum, Mean, Monoid, NormInf, NormL1, NormL2,
    Product, Sum, SumOfSquares, Truth, Where, Wide,
    testing::{bits, fold},
};
use crate::element::{Element, Masked, Two, Type, bf16, complex32, complex64, complex128, f8e4m3, f8e5m2, f16};

/// Edges of a type: zeros of both signs, the smallest and the largest numbers, infinities, and what lies between.
fn edges<T: Element>() -> Vec<T> {
    let size = 8 * T::TYPE.bytes() as u32;
    let top = u64::MAX >> (64 - size.min(64));
    let mut all = vec![
        0,
        1,
        2,
        3,
        top,
        top - 1,
        top / 2,
        top / 2 + 1,
        top / 3,
        top / 5,
        top / 7 * 5,
    ];
    all.extend(T::TYPE.infinity());
    all.extend((0..40_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & top));
    all.retain(|bits| T::TYPE.lowest_nan().is_none_or(|nan| bits & (top / 2) < nan));
    if T::TYPE == Type::Bool {
        all.retain(|bits| *bits < 2);
    }
    let element = |bits| T::from_bits(bits);
    if T::TYPE.is_complex() {
        // Parts that are no NaN.
        let part = |i: usize| (i as u32 % 2 * 0x3c00_3c00) ^ (i as u32 / 2 % 2 * 0x8000_8000);
        return (0..4).map(|i| T::from_words(|word| part(i + word))).collect();
    }
    all.into_iter().map(element).collect()
}

/// Folds of elements, with fillers at every place among them.
fn check<T: Copy, M: Monoid<T>>(op: M, elements: &[T]) {
    let filler = op.filler().expect("an operator with a filler");
    for (i, element) in elements.iter().enumerate() {
        let alone = bits(op.lift(*element, 3));
        let with = |run: &[T]| bits(op.combine(op.lift(*element, 3), fold(op, run)));
        assert_eq!(with(&[filler]), alone, "{}, element {i}", core::any::type_name::<M>());
        assert_eq!(
            with(&[filler; 5]),
            alone,
            "{}, element {i}",
            core::any::type_name::<M>()
        );
        assert_eq!(bits(op.combine(op.lift(filler, 9), op.lift(*element, 3))), alone);
        let next = elements[(i + 1) % elements.len()];
        let both = op.combine(op.lift(*element, 0), op.lift(next, 2));
        assert_eq!(bits(fold(op, &[*element, filler, next, filler])), bits(both));
    }
}

macro_rules! check_types {
    ($op:expr; $($type:ty)*) => {
        $(check::<$type, _>($op, &edges::<$type>());)*
    };
}

#[test]
fn no_fold_notices_a_filler() {
    check_types!(Sum; f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 f8e4m3 f8e5m2 complex32 complex64 complex128);
    check_types!(Mean; f32 f64 f16 bf16 i8 u16 i32 u64 f8e4m3 complex32 complex64 complex128);
    check_types!(Product; f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 f8e4m3 f8e5m2 complex32 complex64 complex128);
    check_types!(NormL1; f32 f64 f16 bf16);
    check_types!(SumOfSquares; f32 f64 f16 bf16 complex32 complex64 complex128);
    check_types!(NormL2; f32 f64 f16 bf16 complex32 complex64 complex128);
    check_types!(NormInf; f32 f64 f16 bf16 f8e4m3 f8e5m2 complex32 complex64 complex128);
    for op in [Extremum::LARGEST, Extremum::SMALLEST] {
        check_types!(op; f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool f8e4m3 f8e5m2);
        let params = crate::kernels::OpParams {
            signed: true,
            ..Default::default()
        };
        check_types!(op.signed(params); u8 u16 u32 u64);
    }
    for op in [Bits::And, Bits::Or] {
        check_types!(op; u8 u16 u32 u64 i8 i64);
    }
    check_types!(BitXor; u8 u16 u32 u64);
    check_types!(Wide(Sum); f32 f16 bf16);
    check_types!(Compensated(Sum); f32 f64);
    check_types!(Exact(Sum); f32 f64);
    check_types!(Either::of_params(Sum, Mean, Default::default()); f32 u8);
    macro_rules! of_kinds {
        ($($type:ty)*) => {$(
            for op in [Truth::any(<$type>::TYPE), Truth::all(<$type>::TYPE)] {
                check_types!(op; $type);
            }
            check_types!(Count::nonzero(<$type>::TYPE); $type);
        )*};
    }
    of_kinds!(f32 f64 f16 bf16 u8 u16 u32 u64 bool);
    check_types!(Count::nan(Type::F32); f32);
    check_types!(Count::infinite(Type::F16); f16);
}

#[test]
fn nor_one_of_two_arrays_or_under_a_mask() {
    let numbers = edges::<f32>();
    let pairs: Vec<_> = numbers
        .iter()
        .flat_map(|a| numbers.iter().map(move |b| Two(*a, *b)))
        .collect();
    check(Dot, &pairs);
    check(Cosine, &pairs);
    let masked: Vec<_> = numbers
        .iter()
        .flat_map(|a| [Masked(*a, true), Masked(*a, false)])
        .collect();
    check(Where(Sum), &masked);
    check(Where(super::Variance { correction: 1.0 }), &masked);
    check(Where(super::LogSumExp), &masked);
    check(Where(super::Arg::SMALLEST), &masked);
}
