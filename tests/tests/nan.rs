//! Operators that leave NaN out, against the plain ones over what is left.

use proptest::prelude::*;
use warpfold_kernels::element::Type;
use warpfold_tests::{
    Bits,
    cases::{self, mix},
    operations::{self, Operation},
    oracle::{self, Exact},
    samples::drawn,
};

/// The operators that leave NaN out, each with the plain one.
fn pairs() -> Vec<(Box<dyn Operation>, Box<dyn Operation>)> {
    let (ignoring, mut plain): (Vec<_>, Vec<_>) = operations::all()
        .into_iter()
        .partition(|op| op.name().starts_with("nan"));
    assert_eq!(ignoring.len(), 9 * 4);
    let of = |op: Box<dyn Operation>| {
        let is = |plain: &dyn Operation| op.name() == format!("nan{}", plain.name()) && op.ty() == plain.ty();
        let at = plain.iter().position(|plain| is(&**plain));
        let at = at.expect("each has a plain one");
        (op, plain.swap_remove(at))
    };
    ignoring.into_iter().map(of).collect()
}

fn is_nan(ty: Type, bits: u64) -> bool {
    let infinity = match ty {
        Type::F16 => 0x7c00,
        Type::Bf16 => 0x7f80,
        Type::F32 => 0x7f80_0000,
        _ => 0x7ff0_0000_0000_0000,
    };
    bits & (u64::MAX >> (65 - 8 * ty.bytes())) > infinity
}

/// An array with NaNs, and where its numbers are.
fn array(ty: Type, seed: u64, len: usize) -> (Vec<u64>, Vec<usize>) {
    let elements: Vec<u64> = (0..len).map(|at| drawn(ty, mix(seed, at))).collect();
    let numbers = (0..len).filter(|&at| !is_nan(ty, elements[at])).collect();
    (elements, numbers)
}

fn index(bits: &Bits) -> usize {
    (u64::from(bits.0[1]) << 32 | u64::from(bits.0[0])) as usize
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn without_nan_it_is_the_plain_operator(seed: u64, len in 0..20_000_usize, nans in 0..5_000_usize) {
        for (ignoring, plain) in pairs() {
            let (elements, numbers) = array(ignoring.ty(), seed, len);
            let mut left: Vec<u64> = numbers.iter().map(|&at| elements[at]).collect();
            let (expected, what) = (plain.cpu(&left), (plain.name(), plain.ty(), len));
            prop_assert_eq!(&ignoring.cpu(&left), &expected, "{:?}", what);
            // The end of an array is as if there were NaNs behind.
            if !left.is_empty() {
                left.resize(left.len() + nans, u64::MAX);
                prop_assert_eq!(&ignoring.cpu(&left), &expected, "{:?}, {} NaNs behind", what, nans);
            }
        }
    }

    #[test]
    fn exact_operators_answer_as_over_the_numbers_alone(seed: u64, len in 1..20_000_usize) {
        for (ignoring, plain) in pairs() {
            let (elements, numbers) = array(ignoring.ty(), seed, len);
            let left: Vec<u64> = numbers.iter().map(|&at| elements[at]).collect();
            let (Some(expected), Some(answer)) = (plain.cpu(&left), ignoring.cpu(&elements)) else {
                prop_assert!(left.is_empty());
                continue;
            };
            let what = (plain.name(), plain.ty(), len);
            if plain.name().starts_with("arg") {
                prop_assert_eq!(index(&answer), numbers[index(&expected)], "{:?}", what);
            } else if matches!(plain.name(), "min" | "max") {
                prop_assert_eq!(answer, expected, "{:?}", what);
            }
        }
    }
}

/// With a third of the elements NaN, the sum of the others is as near to the exact one as the plain sum's tree makes it.
#[test]
fn sums_and_means_of_numbers_are_within_their_bound() {
    let (mut sums, mut means) = (0, 0);
    for (ignoring, _) in pairs().iter().filter(|(op, _)| op.ty() == Type::F32) {
        for len in [2, 1000, 1025, 100_003] {
            let mut values = cases::UNIFORM.array(len);
            let holes = |at: &usize| mix(77, *at).is_multiple_of(3);
            (0..len).filter(holes).for_each(|at| values[at] = f32::NAN);
            let numbers: Vec<f32> = values.iter().copied().filter(|value| !value.is_nan()).collect();
            let (exact, size) = (
                oracle::sum(numbers.iter().copied()),
                oracle::sum_of_magnitudes(&numbers),
            );
            let elements: Vec<u64> = values.iter().map(|value| value.to_bits().into()).collect();
            let answer = || Exact::of(f32::from_bits(ignoring.cpu(&elements).expect("an answer").0[0]));
            match ignoring.name() {
                "nansum" => {
                    assert!(answer().within(oracle::depth(len), &size, &exact), "sum of {len}");
                    sums += 1;
                }
                "nanmean" => {
                    let back = answer().times(numbers.len() as u64);
                    assert!(back.within(oracle::depth(len) + 2, &size, &exact), "mean of {len}");
                    means += 1;
                }
                _ => {}
            }
        }
    }
    assert_eq!((sums, means), (4, 4));
}

#[test]
fn of_nan_alone_there_is_the_answer_of_semantics() {
    for (ignoring, _) in pairs() {
        let (name, ty) = (ignoring.name(), ignoring.ty());
        let number = |f16: u32, bf16, f32, f64: [u32; 2]| match ty {
            Type::F16 => Bits(vec![f16]),
            Type::Bf16 => Bits(vec![bf16]),
            Type::F32 => Bits(vec![f32]),
            _ => Bits(f64.to_vec()),
        };
        let expected = match name {
            "nansum" => number(0x8000, 0x8000, 0x8000_0000, [0, 0x8000_0000]),
            "nanprod" => number(0x3c00, 0x3f80, 0x3f80_0000, [0, 0x3ff0_0000]),
            "nanmean" | "nanmin" | "nanmax" => number(0x7e00, 0x7fc0, 0x7fc0_0000, [0, 0x7ff8_0000]),
            _ => Bits(vec![u32::MAX, u32::MAX]),
        };
        for len in [1, 2, 1000, 100_003] {
            let answer = ignoring.cpu(&vec![u64::MAX; len]);
            assert_eq!(answer.as_ref(), Some(&expected), "{name} of {len} {}", ty.name());
        }
    }
}
