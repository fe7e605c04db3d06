//! f32.
//!
//! The method of [`exp`] is that of W. J. Cody and W. Waite, *Software Manual for the Elementary Functions* (1980):
//! `eˣ = 2ⁿ · eʳ` with `n` the integer nearest to `x / ln 2`, `r = x − n · ln 2` with ln 2 in two parts, and a polynomial
//! for `eʳ`. The polynomial is a minimax one, its coefficients rounded to f32 one after the other.

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

/// `1 / ln 2`.
pub(super) const LOG2_E: f32 = core::f32::consts::LOG2_E;

/// ln 2, rounded to f32, and what is missing.
const LN_2: f32 = core::f32::consts::LN_2;
const LN_2_REST: f32 = (core::f64::consts::LN_2 - LN_2 as f64) as f32;

/// Added to a float below 2²² in magnitude, it leaves the nearest integer in the low bits: 1.5 · 2²³.
pub(super) const TO_INTEGER: f32 = 12_582_912.0;

/// The exponent's place.
const EXPONENT: u32 = 23;

/// `a · b + c`, rounded once.
#[inline(always)]
#[must_use]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    return crate::simt::nvptx::arithmetic::fma_f32(a, b, c);
    #[cfg(not(target_arch = "nvptx64"))]
    a.mul_add(b, c)
}

/// The square root, correctly rounded. −0.0 has the root −0.0, other negative numbers have none: NaN.
#[inline(always)]
#[must_use]
pub fn sqrt(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    return crate::simt::nvptx::arithmetic::sqrt_f32(x);
    #[cfg(not(target_arch = "nvptx64"))]
    x.sqrt()
}

/// The larger one; +0.0 is larger than −0.0, a NaN is larger than anything (IEEE 754-2019's `maximum`).
#[inline(always)]
#[must_use]
pub fn maximum(a: f32, b: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    return crate::simt::nvptx::arithmetic::maximum_f32(a, b);
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let larger = if (a > b) | a.is_nan() { a } else { b };
        // Equal floats have equal bits, but for the two zeros.
        if a == b {
            f32::from_bits(a.to_bits() & b.to_bits())
        } else {
            larger
        }
    }
}

/// The larger one of two that are no NaN: one instruction. Of a NaN and a number any of them.
#[inline(always)]
#[must_use]
pub fn larger(a: f32, b: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    return f32::max(a, b);
    #[cfg(not(target_arch = "nvptx64"))]
    if a > b { a } else { b }
}

/// [`maximum`] of floats' bits.
#[inline(always)]
#[must_use]
pub fn maximum_bits(a: u32, b: u32) -> u32 {
    maximum(f32::from_bits(a), f32::from_bits(b)).to_bits()
}

/// `eˣ`, at most 0.94 ulp from the exact value (subnormal results too). NaN of a NaN; 0 and +∞ where it under- and
/// overflows; `e⁰ = 1`.
#[inline(always)]
#[must_use]
pub fn exp(x: f32) -> f32 {
    // Past these the answers are 0 and +∞. A NaN compares false and stays.
    let x = if x < -104.0 { -104.0 } else { x };
    let x = if x > 89.0 { 89.0 } else { x };
    let (shifted, n) = nearest_power(x, TO_INTEGER);
    // Two factors: 2ⁿ alone may be too large or too small for a float. The first product is exact.
    let n_bits = shifted.to_bits().wrapping_sub(TO_INTEGER.to_bits()) as i32;
    let half = n_bits >> 1;
    exp_small(rest(x, n)) * power_of_two(half) * power_of_two(n_bits.wrapping_sub(half))
}

/// [`exp`] to the bit, for `x ≤ 0` or NaN only, in fewer instructions.
#[inline(always)]
#[must_use]
pub fn exp_nonpositive(x: f32) -> f32 {
    let x = if x < -104.0 { -104.0 } else { x };
    // A factor that is 2⁶⁴ too large, so that no power of two is too small for a float; its exponent's bias and the 64 ride
    // along in the constant that rounds.
    let (shifted, n) = nearest_power(x, TO_INTEGER + 127.0 + 64.0);
    let scale = f32::from_bits(shifted.to_bits() << EXPONENT);
    exp_small(rest(x, n)) * scale * f32::from_bits((127 - 64) << EXPONENT)
}

/// `a · b + c`, rounded once, then no less than 0 and no more than 1; 0 of a NaN. On a GPU it is one instruction, as [`fma`] is.
#[inline(always)]
#[must_use]
pub fn fma_saturated(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    return crate::simt::nvptx::arithmetic::fma_saturated_f32(a, b, c);
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let x = a.mul_add(b, c);
        let x = if x > 0.0 { x } else { 0.0 };
        if x < 1.0 { x } else { 1.0 }
    }
}

/// `2^(−share · rate)` for a share between 0 and 1 of a rate between 128 and 256: what is below 2⁻¹²⁶ is exactly 0, or at most 2⁻¹²⁷; so 0 of a whole share. 1 of no share.
///
/// At most `(2.7 + |t| / 2) · 2⁻²⁴` from the value with `t = share · rate` for what `rate` stands for, relatively, if it is that rounded: the product is not rounded, so the rounding of
/// `rate` is all that grows with it. Of 128 [`LOG2_E`](core::f32::consts::LOG2_E) it is `|t| / 6`.
#[inline(always)]
#[must_use]
pub fn exp2_of_share(share: f32, rate: f32) -> f32 {
    let shifted = fma(share, -rate, TO_INTEGER);
    let power = exp2_small(fma(share, -rate, TO_INTEGER - shifted));
    // The sum of exponents. Of one too small for a float the sign's bit is set, which makes it a negative number.
    let bits = power.to_bits().wrapping_add(shifted.to_bits() << EXPONENT) as i32;
    f32::from_bits(i32::max(bits, 0) as u32)
}

/// `2^f` for `|f| ≤ 1/2`, and a little beyond: the polynomial is off by at most 1.6 · 2⁻²⁴, with its roundings by 2.7. `2⁰` is 1.
#[inline(always)]
pub(super) fn exp2_small(f: f32) -> f32 {
    #[allow(clippy::approx_constant)] // the best beside the others, rounded, is not ln 2
    const C: [f32; 5] = [0.693_147, 0.240_222_47, 0.055_507_11, 0.009_671_291, 0.001_326_952_1];
    let p = fma(C[4], f, C[3]);
    let p = fma(p, f, C[2]);
    let p = fma(p, f, C[1]);
    let p = fma(p, f, C[0]);
    fma(p, f, 1.0)
}

/// The natural logarithm, at most 0.66 ulp from the exact value (of all floats). NaN of a NaN or a negative number; −∞ of either zero; +∞ of +∞; `ln 1 = 0`.
///
/// As [`double::ln`](super::double::ln) has it, in f32: on a GPU every lane of a row's warps takes it, and f64 has half of the units.
///
/// # Source
///
/// The polynomial is that of FreeBSD's `logf` (Sun Microsystems 1993).
#[inline(always)]
#[must_use]
pub fn ln(x: f32) -> f32 {
    if x.is_nan() || x < 0.0 {
        return f32::NAN;
    }
    if x == 0.0 {
        return f32::NEG_INFINITY;
    }
    if x == f32::INFINITY {
        return x;
    }
    let subnormal = x < f32::MIN_POSITIVE;
    let [high, low] = if subnormal {
        ln_of_normal(x * 33_554_432.0, -25)
    } else {
        ln_of_normal(x, 0)
    };
    high + low
}

/// `ln x + powers · ln 2` of a normal number, in two parts: the second is far smaller.
#[inline(always)]
#[must_use]
pub(super) fn ln_of_normal(x: f32, powers: i32) -> [f32; 2] {
    const C: [f32; 4] = [0.666_666_6, 0.400_009_72, 0.284_987_87, 0.242_790_79];
    const HIGH: f32 = f32::from_bits(0x3f31_7180);
    const LOW: f32 = 9.058_001e-6;
    const SQRT_HALF: u32 = core::f32::consts::FRAC_1_SQRT_2.to_bits();
    let bits = x.to_bits();
    let above = bits.wrapping_sub(SQRT_HALF);
    let k = (above as i32 >> EXPONENT) + powers;
    let f = f32::from_bits(bits.wrapping_sub(above & (u32::MAX << EXPONENT))) - 1.0;
    let k = k as f32;
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * fma(fma(fma(C[3], z, C[2]), z, C[1]), z, C[0]);
    let half_square = 0.5 * f * f;
    let half_square_rest = fma(0.5 * f, f, -half_square);
    let high = f - half_square;
    let high_rest = (f - high) - half_square - half_square_rest;
    let whole = k * HIGH;
    let sum = whole + high;
    // |whole| is 0 or larger than |high|.
    let sum_rest = (whole - sum) + high;
    [sum, sum_rest + (fma(k, LOW, high_rest) + s * (half_square + r))]
}

/// `x / ln 2`, rounded to an integer `n`: what comes of adding `to_integer`, and `n` as a float.
#[inline(always)]
fn nearest_power(x: f32, to_integer: f32) -> (f32, f32) {
    let shifted = fma(x, LOG2_E, to_integer);
    (shifted, shifted - to_integer)
}

/// `x − n · ln 2`.
#[inline(always)]
fn rest(x: f32, n: f32) -> f32 {
    fma(n, -LN_2_REST, fma(n, -LN_2, x))
}

/// `eʳ` for `|r| ≤ ln 2 / 2`, and a little beyond: the polynomial is off by at most 0.12 · 2⁻²⁴. `e⁰` is 1.
#[inline(always)]
fn exp_small(r: f32) -> f32 {
    const C: [f32; 5] = [0.500_000_2, 0.166_664_5, 0.041_659_385, 0.008_375_716, 0.001_444_238_8];
    let p = fma(C[4], r, C[3]);
    let p = fma(p, r, C[2]);
    let p = fma(p, r, C[1]);
    let p = fma(p, r, C[0]);
    let p = fma(p, r, 1.0);
    fma(p, r, 1.0)
}

/// `2ⁿ`, for a normal one.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << EXPONENT)
}
