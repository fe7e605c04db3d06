//! `eˣ` and exact sums, in integers of any length: what errors are measured against.

extern crate std;

use num_bigint::{BigInt, Sign};

/// Bits behind the point of a [`Fixed`].
const POINT: u32 = 1400;

/// Bits that `eˣ` is computed with.
const BITS: u32 = 240;

/// A number with [`POINT`] bits behind the point: every f64 is one exactly.
pub type Fixed = BigInt;

/// A finite number, exactly.
pub fn fixed(x: f64) -> Fixed {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as u32;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = if exponent == 0 {
        (fraction, 1)
    } else {
        (fraction | 1 << 52, exponent)
    };
    let sign = if x.is_sign_negative() { Sign::Minus } else { Sign::Plus };
    BigInt::from_biguint(sign, mantissa.into()) << (exponent + POINT - 1075)
}

/// `a / b`, to about 50 bits.
pub fn ratio(a: &BigInt, b: &BigInt) -> f64 {
    if a.sign() == Sign::NoSign {
        return 0.0;
    }
    let shift = b.bits() as i64 - a.bits() as i64 + 60;
    let (a, b) = if shift >= 0 {
        (a << shift, b.clone())
    } else {
        (a.clone(), b << -shift)
    };
    let quotient: i128 = (a / b).try_into().expect("62 bits");
    quotient as f64 * 2.0_f64.powi(-(shift / 2) as i32) * 2.0_f64.powi(-(shift - shift / 2) as i32)
}

/// ln 2 with `bits` bits behind the point: `2 artanh(1/3)`.
fn ln_2(bits: u32) -> BigInt {
    let (mut power, mut sum, mut k): (BigInt, _, u32) = ((BigInt::from(2) << bits) / 3, BigInt::ZERO, 1);
    while power.sign() != Sign::NoSign {
        sum += &power / k;
        power /= 9;
        k += 2;
    }
    sum
}

/// `eˣ` as `(mantissa, exponent)`: `mantissa · 2^exponent`, to about 220 bits. `x` is between −800 and 800.
pub fn exp(x: f64) -> (BigInt, i64) {
    let x = fixed(x) >> (POINT - BITS);
    let ln_2 = ln_2(BITS);
    let n = &x / &ln_2;
    let r = x - &n * &ln_2;
    let (mut term, mut sum, mut k): (BigInt, _, u32) = (BigInt::from(1) << BITS, BigInt::ZERO, 1);
    while term.sign() != Sign::NoSign && k < 200 {
        sum += &term;
        term = ((term * &r) >> BITS) / k;
        k += 1;
    }
    let n: i64 = n.try_into().expect("small");
    (sum, n - i64::from(BITS))
}

/// `(y − eˣ) / (the distance of neighbouring floats there)`, with `digits` digits in a float, the smallest `2^least`.
pub fn exp_error(x: f64, y: f64, digits: i64, least: i64) -> f64 {
    let (mantissa, exponent) = exp(x);
    let ulp = (mantissa.bits() as i64 + exponent - digits).max(least);
    let y = fixed(y);
    // Both with as many bits behind the point as the finer one has.
    let point = i64::from(POINT).max(-exponent);
    let difference = (y << (point - i64::from(POINT))) - (mantissa << (point + exponent));
    let ulp = BigInt::from(1) << (ulp + point);
    ratio(&difference, &ulp)
}

/// `(y − ln x) / (the distance of neighbouring floats there)`, for f64: `y − ln x` is `(e^y − x) / x`, but for its square.
pub fn ln_error(x: f64, y: f64) -> f64 {
    let (mantissa, exponent) = exp(y);
    let point = i64::from(POINT).max(-exponent);
    let x = fixed(x) << (point - i64::from(POINT));
    let difference = (mantissa << (point + exponent)) - &x;
    let ulp = y.abs().next_up() - y.abs();
    ratio(&difference, &x) / ulp
}
