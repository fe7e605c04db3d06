//! f64. Accuracy first: what is wanted of these once per answer need not be fast.

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

/// `1 / ln 2`.
const LOG2_E: f64 = core::f64::consts::LOG2_E;

/// ln 2 in two parts. The first has 20 trailing zeros, so its product with an exponent is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// Added to a float below 2⁵¹ in magnitude, it leaves the nearest integer in the low bits: 1.5 · 2⁵².
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// The exponent's place.
const EXPONENT: u32 = 52;

/// `a · b + c`, rounded once.
#[inline(always)]
#[must_use]
pub fn fma(a: f64, b: f64, c: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    return crate::simt::nvptx::arithmetic::fma_f64(a, b, c);
    #[cfg(not(target_arch = "nvptx64"))]
    a.mul_add(b, c)
}

/// The square root, correctly rounded. −0.0 has the root −0.0, other negative numbers have none: NaN.
#[inline(always)]
#[must_use]
pub fn sqrt(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    return crate::simt::nvptx::arithmetic::sqrt_f64(x);
    #[cfg(not(target_arch = "nvptx64"))]
    x.sqrt()
}

/// The larger one; +0.0 is larger than −0.0, a NaN is larger than anything (IEEE 754-2019's `maximum`).
#[inline(always)]
#[must_use]
pub fn maximum(a: f64, b: f64) -> f64 {
    let larger = if (a > b) | a.is_nan() { a } else { b };
    // Equal floats have equal bits, but for the two zeros.
    if a == b {
        f64::from_bits(a.to_bits() & b.to_bits())
    } else {
        larger
    }
}

/// `eˣ`, at most 0.65 ulp from the exact value where that is a normal number, 1 ulp where it is subnormal. NaN of a NaN; 0
/// and +∞ where it under- and overflows; `e⁰ = 1`. About 35 instructions, 25 of them f64 arithmetic.
///
/// The method is that of [`single::exp`](super::single::exp); what the reduction and the last additions round off is kept
/// and added.
#[inline(always)]
#[must_use]
pub fn exp(x: f64) -> f64 {
    // Past these the answers are 0 and +∞. A NaN compares false and stays.
    let x = if x < -746.0 { -746.0 } else { x };
    let x = if x > 710.0 { 710.0 } else { x };
    let (power, n) = exp_reduced(x);
    // Two factors: 2ⁿ alone may be too large or too small for a float. The first product is exact.
    let half = n >> 1;
    power * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// `e^−|gap|` for a sum in which terms below `e⁻⁷⁰⁸` don't matter: those are `e⁻⁷⁰⁸`, so none is subnormal. 1 if the gap
/// is 0 or NaN, as it is between equal infinities. Otherwise as [`exp`].
#[allow(clippy::manual_clamp)] // `clamp` keeps a NaN
#[inline(always)]
#[must_use]
pub fn exp_gap(gap: f64) -> f64 {
    // Of a NaN and a number, `min` and `max` take the number.
    let (power, n) = exp_reduced((-gap.abs()).min(0.0).max(-708.0));
    power * power_of_two(n)
}

/// The natural logarithm, at most 0.65 ulp from the exact value. NaN of a NaN or a negative number; −∞ of either zero; +∞
/// of +∞; `ln 1 = 0`.
///
/// `x = 2ᵏ · (1 + f)` with `1 + f` between `√½` and `√2`; `ln(1 + f) = 2 artanh(s)` with `s = f / (2 + f)`, in the form
/// `f − f²/2 + s · (f²/2 + R(s²))` of K. C. Ng's logarithm (fdlibm, 1993), with a minimax polynomial `R` of our own. What
/// `f − f²/2` and the addition to `k · ln 2` round off is kept and added.
#[inline(always)]
#[must_use]
pub fn ln(x: f64) -> f64 {
    const C: [f64; 7] = [
        0.666_666_666_666_673_4,
        0.399_999_999_994_166_4,
        0.285_714_287_420_287_4,
        0.222_221_986_050_617_08,
        0.181_835_628_505_596_76,
        0.153_140_848_725_096_8,
        0.147_956_328_841_371_66,
    ];
    const SQRT_HALF: u64 = core::f64::consts::FRAC_1_SQRT_2.to_bits();
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    let subnormal = x < f64::MIN_POSITIVE;
    let bits = if subnormal { x * power_of_two(54) } else { x }.to_bits();
    let above = bits.wrapping_sub(SQRT_HALF);
    let k = ((above as i64) >> EXPONENT) as i32 - if subnormal { 54 } else { 0 };
    let f = f64::from_bits(bits.wrapping_sub(above & (u64::MAX << EXPONENT))) - 1.0;
    let k = f64::from(k);

    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * polynomial(C, z);
    let half_square = 0.5 * f * f;
    let half_square_rest = fma(0.5 * f, f, -half_square);
    let high = f - half_square;
    let high_rest = (f - high) - half_square - half_square_rest;
    let whole = k * LN_2_HIGH;
    let sum = whole + high;
    // |whole| is 0 or larger than |high|.
    let sum_rest = (whole - sum) + high;
    sum + (sum_rest + (fma(k, LN_2_LOW, high_rest) + s * (half_square + r)))
}

/// `x = n · ln 2 + r`: `eʳ` and `n`.
#[inline(always)]
fn exp_reduced(x: f64) -> (f64, i32) {
    // From 1/2! on.
    const C: [f64; 11] = [
        0.5,
        0.1666666666666667,
        0.04166666666666667,
        0.008333333333326141,
        0.0013888888888883752,
        0.00019841269874800493,
        2.4801587325533363e-05,
        2.7557255425746435e-06,
        2.7557273661348637e-07,
        2.510520637395701e-08,
        2.091467937658394e-09,
    ];
    let shifted = fma(x, LOG2_E, TO_INTEGER);
    let n = shifted - TO_INTEGER;
    let high = fma(n, -LN_2_HIGH, x); // exact
    let r = fma(n, -LN_2_LOW, high);
    let r_rest = fma(n, -LN_2_LOW, high - r);
    // e^(r + rest) = 1 + r + (r² · p(r) + rest)
    let tail = fma(r * r, polynomial(C, r), r_rest);
    let sum = 1.0 + r;
    let sum_rest = (1.0 - sum) + r;
    (sum + (sum_rest + tail), shifted.to_bits() as i32)
}

/// `2ⁿ`, for a normal one.
#[inline(always)]
fn power_of_two(n: i32) -> f64 {
    f64::from_bits((n.wrapping_add(1023) as u32 as u64) << EXPONENT)
}

/// `c₀ + c₁ · x + …`, from the highest power down.
#[inline(always)]
fn polynomial<const N: usize>(c: [f64; N], x: f64) -> f64 {
    let mut sum = c[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = fma(sum, x, c[i]);
    }
    sum
}
