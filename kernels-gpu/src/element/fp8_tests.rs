extern crate std;

use super::*;

/// The value of bits, by the text of the specification: `(-1)^S · 2^(E − bias) · 1.M`, and `0.M` of the lowest exponent.
fn decoded(bits: u8, exponent_bits: u32, bias: i32) -> f64 {
    let mantissa_bits = 7 - exponent_bits;
    let exponent = i32::from(bits & 0x7f) >> mantissa_bits;
    let mantissa = f64::from(bits & ((1 << mantissa_bits) - 1)) / f64::from(1 << mantissa_bits);
    let magnitude = if exponent == 0 {
        mantissa * 2_f64.powi(1 - bias)
    } else {
        (1.0 + mantissa) * 2_f64.powi(exponent - bias)
    };
    if bits & 0x80 == 0 { magnitude } else { -magnitude }
}

fn e4m3(bits: u8) -> f64 {
    if bits & 0x7f == 0x7f {
        f64::NAN
    } else {
        decoded(bits, 4, 7)
    }
}

fn e5m2(bits: u8) -> f64 {
    match bits & 0x7f {
        0x7c => f64::INFINITY.copysign(decoded(bits, 5, 15)),
        0x7d.. => f64::NAN,
        _ => decoded(bits, 5, 15),
    }
}

/// Every number there is.
fn every_number<T>(of: fn(u8) -> T, decoded: fn(u8) -> f64, nan: u8)
where
    T: Normed<Size = f32, Largest = T> + Real<Rank = f32, Wide = f32> + Into<f32>,
{
    for bits in 0..=u8::MAX {
        let (number, expected) = (of(bits), decoded(bits));
        assert_eq!(number.is_nan(), expected.is_nan(), "{bits:#x}");
        assert_eq!(number.word(0), u32::from(bits));
        assert_eq!(number.is_nonzero(), expected != 0.0, "{bits:#x}");
        let again = |back: T| back.word(0) as u8;
        if expected.is_nan() {
            assert!(number.rank().is_nan() && number.size().is_nan());
            assert_eq!(
                (again(T::from_rank(number.rank())), again(T::largest(number.size()))),
                (nan, nan)
            );
            continue;
        }
        for other in 0..=u8::MAX {
            let (order, expected) = (
                of(other).rank().partial_cmp(&number.rank()),
                decoded(other).partial_cmp(&expected),
            );
            assert_eq!(order, expected, "{other:#x} and {bits:#x}");
        }
        assert_eq!(f64::from(number.into()).to_bits(), expected.to_bits());
        assert_eq!((number.to_f64(), f64::from(number.wide())), (expected, expected));
        assert_eq!(number.square(1.0), expected * expected);
        assert_eq!(again(T::from_rank(number.rank())), bits);
        assert_eq!(again(T::largest(number.size())), bits & 0x7f);
        // Through its key, as extrema do it.
        assert_eq!(again(T::from_rank(<f32 as Rank>::of_key(number.rank().key()))), bits);
    }
}

#[test]
fn every_number_is_what_its_bits_say() {
    every_number(f8e4m3::from_bits, e4m3, 0x7f);
    every_number(f8e5m2::from_bits, e5m2, 0x7e);
    assert_eq!(f8e4m3::from_bits(0x7e).to_f32(), 448.0);
    assert_eq!(f8e5m2::from_bits(0x7b).to_f32(), 57344.0);
}

/// The bits of the number nearest to a finite one, by comparing with all; of two the even bits. `past` is what would come next.
fn nearest(value: f64, decoded: fn(u8) -> f64, largest: u8, past: f64, beyond: u8) -> u8 {
    let number = |bits: u8| if bits > largest { past } else { decoded(bits) };
    let distance = |bits: u8| (value.abs() - number(bits)).abs();
    let best = (0..=largest + 1)
        .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a % 2).cmp(&(b % 2))))
        .expect("numbers");
    let best = if best > largest { beyond } else { best };
    if best == 0x7f {
        best
    } else {
        best | u8::from(value.is_sign_negative()) << 7
    }
}

/// Middles between neighbours and what is just beside them, and numbers of every exponent.
fn round_about(round: fn(f64) -> u8, decoded: fn(u8) -> f64, largest: u8, past: f64, beyond: u8) {
    let check = |value: f64| {
        let (found, expected) = (round(value), nearest(value, decoded, largest, past, beyond));
        // A NaN has no sign.
        assert_eq!(
            found
                & if beyond == 0x7f && found & 0x7f == 0x7f {
                    0x7f
                } else {
                    0xff
                },
            expected,
            "{value:e}"
        );
    };
    for low in 0..=largest {
        let high = if low == largest { past } else { decoded(low + 1) };
        let middle = f64::midpoint(decoded(low), high);
        for value in [decoded(low), middle.next_down(), middle, middle.next_up()] {
            check(value);
            check(-value);
        }
    }
    let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..20_000 {
        bits = bits
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let exponent = 1023 - 24 + (bits >> 53) % 42;
        check(f64::from_bits(bits & ((1 << 63) | ((1 << 52) - 1)) | exponent << 52));
    }
}

#[test]
fn numbers_round_once_to_nearest_even() {
    round_about(|value| f8e4m3::from_f64(value).to_bits(), e4m3, 0x7e, 480.0, 0x7f);
    round_about(|value| f8e5m2::from_f64(value).to_bits(), e5m2, 0x7b, 65536.0, 0x7c);
    let bits = |value: f64| (f8e4m3::from_f64(value).to_bits(), f8e5m2::from_f64(value).to_bits());
    // 464 is in the middle between 448 and what would come next; 61440 is, too, of the other.
    assert_eq!(bits(464.0), (0x7e, 0x5f));
    assert_eq!(bits(464.1).0 & 0x7f, 0x7f);
    assert_eq!((bits(61_439.9).1, bits(61_440.0).1), (0x7b, 0x7c));
    for (value, both) in [
        (1e300, (0x7f, 0x7c)),
        (f64::INFINITY, (0x7f, 0x7c)),
        (f64::NAN, (0x7f, 0x7e)),
        (-f64::NAN, (0x7f, 0x7e)),
    ] {
        assert_eq!(bits(value), both, "{value}");
    }
    assert_eq!(bits(f64::NEG_INFINITY), (0xff, 0xfc));
    assert_eq!(bits(-1e-300), (0x80, 0x80));
    assert_eq!(
        (f8e4m3::from_f32(0.1).to_f32(), f8e5m2::from_f32(0.1).to_f32()),
        (0.101_562_5, 0.09375)
    );
}

#[test]
fn they_compare_and_print_as_the_numbers_that_they_are() {
    let [zero, minus_zero, one, nan] = [0x00, 0x80, 0x38, 0x7f].map(f8e4m3::from_bits);
    assert!(zero == minus_zero && zero < one && nan != nan && one.partial_cmp(&nan).is_none());
    assert_eq!(std::format!("{one} {one:?} {nan:?}"), "1 1.0 NaN");
}
