//! Errors against [`oracle`], edges, and the bits that were recorded.

extern crate std;

use std::{vec, vec::Vec};

use super::{double, golden, oracle, single};

/// Numbers that look random, the same every time.
fn random() -> impl FnMut() -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Between 0 and 1.
fn fraction(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

fn worst(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |worst, error| worst.max(error.abs()))
}

#[test]
fn the_oracle_knows_e() {
    let (mantissa, exponent) = oracle::exp(1.0);
    assert_eq!(mantissa >> (-exponent - 60), 3_133_965_575_612_453_542_u64.into()); // e · 2⁶⁰
    assert_eq!(oracle::exp_error(0.0, 1.0, 53, -1074), 0.0);
    assert!((oracle::exp_error(0.0, 1.0_f64.next_up(), 53, -1074) - 1.0).abs() < 1e-9);
    assert!(oracle::exp_error(-745.0, 5e-324, 53, -1074).abs() < 0.5);
    assert!((oracle::ln_error(2.0, core::f64::consts::LN_2)).abs() < 0.5);
    assert!((oracle::ln_error(2.0, core::f64::consts::LN_2.next_up())).abs() > 0.5);
}

#[test]
fn exp_of_f64_is_within_its_bound() {
    let mut random = random();
    let mut at = |low: f64, high: f64| low + (high - low) * fraction(random());
    let error = |x: f64| oracle::exp_error(x, double::exp(x), 53, -1074);
    let normal = worst((0..20_000).map(|i| match i % 4 {
        0 => error(at(-708.0, 709.7)),
        1 => error(at(-2.0, 2.0)),
        2 => error(at(-1e-3, 1e-3)),
        // Where rounding to an integer could go either way, and |r| is largest.
        _ => error((f64::from(i / 8 % 2000 - 1000) + 0.5) * core::f64::consts::LN_2 + at(-1e-9, 1e-9)),
    }));
    let subnormal = worst((0..5000).map(|_| error(at(-745.2, -708.4))));
    std::eprintln!("exp f64: {normal} ulp, {subnormal} ulp where subnormal");
    assert!(normal <= 0.65, "{normal}");
    assert!(subnormal <= 1.0, "{subnormal}");
}

#[test]
fn ln_of_f64_is_within_its_bound() {
    let mut random = random();
    let error = |x: f64| oracle::ln_error(x, double::ln(x));
    let worst = worst((0..20_000).map(|i| {
        let bits = random();
        error(match i % 4 {
            // Any positive number.
            0 => f64::from_bits(bits % 0x7ff0_0000_0000_0000).max(5e-324),
            // Near 1, where the logarithm is small.
            1 => 0.6 + fraction(bits),
            2 => 1.0 + (fraction(bits) - 0.5) * 2.0_f64.powi(-(i / 4 % 50)),
            // Where the exponent changes.
            _ => (core::f64::consts::SQRT_2 + (fraction(bits) - 0.5) * 1e-3) * 2.0_f64.powi(i % 5 - 2),
        })
    }));
    std::eprintln!("ln f64: {worst} ulp");
    assert!(worst <= 0.65, "{worst}");
}

/// Floats between −104 and 89: one in 977, or all with `WARPFOLD_EXHAUSTIVE`, which takes minutes.
fn arguments_of_exp() -> impl Iterator<Item = f32> {
    let every = std::env::var_os("WARPFOLD_EXHAUSTIVE").is_some();
    let step = if every { 1 } else { 977 };
    let negative = ((-0.0_f32).to_bits()..=(-104.0_f32).to_bits()).step_by(step);
    let positive = (0..=89.0_f32.to_bits()).step_by(step);
    negative.chain(positive).map(f32::from_bits)
}

/// The error in ulp against f64's, which was tested above: it is off by less than a millionth ulp of an f32.
fn error_of_single(exact: f64, y: f32) -> f64 {
    let magnitude = (exact.abs() as f32).min(f32::MAX);
    let ulp = f64::from(
        if f64::from(magnitude) > exact.abs() && magnitude.to_bits() & 0x7f_ffff == 0 {
            magnitude - magnitude.next_down()
        } else {
            magnitude.next_up() - magnitude
        },
    );
    (f64::from(y) - exact) / ulp
}

#[test]
fn exp_of_f32_is_within_its_bound() {
    let mut worst = (0.0, 0.0);
    for x in arguments_of_exp() {
        let y = single::exp(x);
        if x <= 0.0 {
            assert_eq!(single::exp_nonpositive(x).to_bits(), y.to_bits(), "{x:e}");
        }
        let exact = double::exp(f64::from(x));
        if exact < f64::from(f32::MAX) {
            let error = error_of_single(exact, y).abs();
            if error > worst.0 {
                worst = (error, x);
            }
        } else {
            assert!(y >= f32::MAX, "{x}");
        }
    }
    std::eprintln!("exp f32: {worst:?}");
    assert!(worst.0 <= 0.94, "{worst:?}");
}

#[test]
fn exp_of_a_gap_is_within_its_bound() {
    let mut random = random();
    for _ in 0..1000 {
        let gap = 708.0 * fraction(random());
        assert_eq!(double::exp_gap(gap), double::exp(-gap));
        assert_eq!(double::exp_gap(-gap), double::exp(-gap));
    }
    for gap in [0.0, -0.0, f64::NAN] {
        assert_eq!(double::exp_gap(gap), 1.0);
    }
    assert!(double::exp_gap(f64::INFINITY) < 4e-308);
}

#[test]
fn ln_of_f32_is_within_its_bound() {
    // Among them the worst of all 2³¹, which were gone through once.
    let all = (1..f32::INFINITY.to_bits()).step_by(977).chain([0x3fb3_ee9f]);
    let worst = worst(
        all.map(f32::from_bits)
            .map(|x| error_of_single(double::ln(f64::from(x)), single::ln(x))),
    );
    std::eprintln!("ln f32: {worst}");
    assert!((0.65..=0.66).contains(&worst), "{worst}");
}

#[test]
fn edges() {
    assert_eq!(
        (single::exp(0.0), single::exp(-0.0), single::exp_nonpositive(-0.0)),
        (1.0, 1.0, 1.0)
    );
    assert_eq!((double::exp(0.0), double::exp(-0.0)), (1.0, 1.0));
    assert_eq!((single::ln(1.0).to_bits(), double::ln(1.0).to_bits()), (0, 0));
    for (x, y) in [
        (f32::NEG_INFINITY, 0.0),
        (-1e30, 0.0),
        (-104.0, 0.0),
        (-103.9, f32::from_bits(1)),
        (88.73, f32::INFINITY),
        (1e30, f32::INFINITY),
        (f32::INFINITY, f32::INFINITY),
        (f32::from_bits(1), 1.0),
    ] {
        assert_eq!(single::exp(x), y, "{x}");
        if x <= 0.0 {
            assert_eq!(single::exp_nonpositive(x), y, "{x}");
        }
    }
    for (x, y) in [
        (f64::NEG_INFINITY, 0.0),
        (-1e300, 0.0),
        (-745.2, 0.0),
        (-745.1, 5e-324),
        (709.79, f64::INFINITY),
        (1e300, f64::INFINITY),
        (f64::INFINITY, f64::INFINITY),
        (5e-324, 1.0),
    ] {
        assert_eq!(double::exp(x), y, "{x}");
    }
    for (x, y) in [
        (0.0, f64::NEG_INFINITY),
        (-0.0, f64::NEG_INFINITY),
        (f64::INFINITY, f64::INFINITY),
    ] {
        assert_eq!((double::ln(x), f64::from(single::ln(x as f32))), (y, y));
    }
    for x in [-1.0, f64::NEG_INFINITY, -5e-324, f64::NAN, -f64::NAN] {
        assert!(
            double::ln(x).is_nan() && (x == -5e-324 || single::ln(x as f32).is_nan()),
            "{x}"
        );
    }
    // Every NaN stays one, whatever its low bits do to the integers.
    for low in [1, 0x40_0000, 0x7f_ffff, 0x40_1234] {
        for sign in [0, 1 << 31] {
            let nan = f32::from_bits(0x7f80_0000 | sign | low);
            assert!(single::exp(nan).is_nan() && single::exp_nonpositive(nan).is_nan());
            assert!(double::exp(f64::from(nan)).is_nan());
        }
    }
    assert_eq!(
        (single::sqrt(2.0), double::sqrt(2.0)),
        (core::f32::consts::SQRT_2, core::f64::consts::SQRT_2)
    );
    assert_eq!(single::fma(0.1, 10.0, -1.0), 1.490_116_1e-8);
    assert_eq!(double::fma(0.1, 10.0, -1.0), 5.551_115_123_125_783e-17);
}

#[test]
fn the_maximum_orders_zeros_and_nans() {
    let values = [f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, f32::INFINITY];
    for (i, &a) in values.iter().enumerate() {
        for (j, &b) in values.iter().enumerate() {
            let larger = values[i.max(j)];
            assert_eq!(single::maximum(a, b).to_bits(), larger.to_bits(), "{a} {b}");
            let double = double::maximum(f64::from(a), f64::from(b));
            assert_eq!(double.to_bits(), f64::from(larger).to_bits(), "{a} {b}");
        }
        assert!(single::maximum(a, f32::NAN).is_nan() && single::maximum(f32::NAN, a).is_nan());
        let a = f64::from(a);
        assert!(double::maximum(a, f64::NAN).is_nan() && double::maximum(f64::NAN, a).is_nan());
    }
}

#[test]
fn exp2_of_a_share_is_within_its_bound() {
    let mut random = random();
    let mut worst = 0.0_f64;
    for i in 0..400_000 {
        // Rates are from 128 to 256; most shares are of so few powers of two as matter.
        let rate = f32::from_bits(128.0_f32.to_bits() | (random() >> 41) as u32);
        let most = if i % 2 == 0 { 1.0 } else { 20.0 / 128.0 };
        let share = (most * fraction(random())) as f32;
        let y = single::exp2_of_share(share, rate);
        let t = f64::from(share) * f64::from(rate);
        let exact = double::exp(-t * core::f64::consts::LN_2);
        if t < 126.0 {
            worst = worst.max((f64::from(y) / exact - 1.0).abs() * 2.0_f64.powi(24));
        } else {
            assert!((0.0..=2.0_f32.powi(-126)).contains(&y), "{share:e} of {rate}: {y:e}");
        }
    }
    std::eprintln!("exp2 of a share: {worst} · 2⁻²⁴");
    assert!(worst <= 2.7, "{worst}");
    for rate in [128.0, 128.0_f32.next_up(), 184.664_96, 256.0_f32.next_down()] {
        assert_eq!(single::exp2_of_share(0.0, rate), 1.0);
        assert_eq!(single::exp2_of_share(1.0, rate).to_bits(), 0, "{rate}");
    }
    for (a, c, share) in [
        (2.0, -1.0, 1.0),
        (0.25, 0.5, 0.75),
        (-3.0, 1.0, 0.0),
        (f32::INFINITY, 0.0, 1.0),
        (f32::NEG_INFINITY, 0.0, 0.0),
        (f32::INFINITY, f32::NEG_INFINITY, 0.0),
        (f32::NAN, 0.0, 0.0),
        (0.0, -0.0, 0.0),
    ] {
        assert_eq!(
            single::fma_saturated(a, 1.0, c).to_bits(),
            f32::to_bits(share),
            "{a} and {c}"
        );
    }
}

/// 64 arguments each.
fn bits() -> [Vec<u64>; 4] {
    let mut random = random();
    let mut answers = [vec![], vec![], vec![], vec![]];
    for i in 0..64 {
        let part = fraction(random());
        // The whole range for half of them, and the middle for the other.
        let (low, high) = if i % 2 == 0 { (-750.0, 712.0) } else { (-3.0, 3.0) };
        let x = low + (high - low) * part;
        answers[0].push(double::exp(x).to_bits());
        answers[1].push(u64::from(single::exp((x / 7.5) as f32).to_bits()));
        let positive = if i % 2 == 0 {
            f64::from_bits(random() % 0x7ff0_0000_0000_0000)
        } else {
            0.5 + part
        };
        answers[2].push(double::ln(positive).to_bits());
        let positive = if i % 2 == 0 {
            f32::from_bits((random() % 0x7f80_0000) as u32)
        } else {
            positive as f32
        };
        answers[3].push(u64::from(single::ln(positive).to_bits()));
    }
    answers
}

#[test]
fn bits_are_as_recorded() {
    let [exp_f64, exp_f32, ln_f64, ln_f32] = bits();
    assert_eq!(exp_f64, golden::EXP_F64);
    assert_eq!(exp_f32, golden::EXP_F32.map(u64::from));
    assert_eq!(ln_f64, golden::LN_F64);
    assert_eq!(ln_f32, golden::LN_F32.map(u64::from));
}
