//! Exponentials of f32 relative to a power of two.
//!
//! `eˣ = 2ᵏ · mantissa`. `k` is the integer nearest to `x · log₂ e`, where the constant is rounded to f32 and the product is not. The mantissa is
//! `2^(x · log₂ e − k)`, between `2^−½` and `2^½`, by a polynomial. Neither depends on anything but `x`. So a sum relative to the `2ᵏ` of one element becomes a sum relative to
//! that of another by a multiplication with a power of two, which is exact.
//!
//! # Sums relative to one element
//!
//! Up to 64 exponentials may be summed relative to the largest element, one [`term`](RelativeTo::term) each. The bits are those of adding them in pairs, each pair
//! relative to its own larger element:
//!
//! 1. A power of two commutes with rounding. So all terms that fit a float give the same sums, but for the power.
//! 2. A term below `2^−156` of the largest is replaced by about `2^−157`. Such a term and its replacement are both small.
//! 3. Where one summand is at most `2^−25` of the other, the sum is the larger one, whichever the smaller one is. Then the replacement changes nothing from there on.
//! 4. Where it is more than that, the sum is less than `2^25 + 1` times the smaller one. In [`DEPTH`] additions it grows by less than `2^151`.
//! 5. The whole sum is as large as the largest term, so each replaced term has been lost by then.
//!
//! Where the largest element is out of [bounds](BOUND), products with log₂ e take f64.

use super::single::{LOG2_E, TO_INTEGER, exp2_small, fma, larger, ln_of_normal, maximum};

/// Elements up to this magnitude are within bounds: two instructions give their `k`, and that of any element within 2¹⁸ powers of two of them.
pub const BOUND: f32 = 1_400_000.0;

/// Levels of additions in which exponentials may be summed relative to one element: of 64 of them.
pub const DEPTH: u32 = 6;

/// Up to this magnitude `k` is an integer that [`TO_INTEGER`] leaves.
const DIRECT: f32 = 4_194_300.0;

/// Terms are multiplied by so many powers of two, so that small ones fit a float.
const RAISED: f32 = 32.0;

/// The power of two of the smallest term, before it is raised.
const LEAST: f32 = -125.0 - RAISED;

/// What [`RAISED`] is undone by.
const LOWERED: f32 = 1.0 / (1_u64 << 32) as f32;

/// The exponent's place, and its bias.
const EXPONENT: u32 = 23;
const BIAS: f32 = 127.0;

/// `k` of elements within bounds; of others it is far from all of those, or a NaN.
#[inline(always)]
fn whole(x: f32) -> f32 {
    fma(x, LOG2_E, TO_INTEGER) - TO_INTEGER
}

/// `2^(x · log₂ e − k)`: 0 of an infinity, a NaN of a NaN.
#[inline(always)]
#[must_use]
pub fn mantissa(x: f32) -> f32 {
    let k = whole(x);
    let rest = if k.abs() <= DIRECT {
        fma(x, LOG2_E, -k)
    } else {
        Power::of(x).rest
    };
    if x.abs() == f32::INFINITY {
        0.0
    } else {
        exp2_small(rest)
    }
}

/// Whether an element is at most [`BOUND`] in magnitude, or −∞.
#[inline(always)]
#[must_use]
pub fn is_bounded(x: f32) -> bool {
    (x.abs() <= BOUND) | (x == f32::NEG_INFINITY)
}

/// How many powers of two `a` is above `b`: a NaN between equal infinities, and of a NaN.
#[inline(always)]
#[must_use]
pub fn gap(a: f32, b: f32) -> f32 {
    if is_bounded(maximum(a, b)) {
        gap_bounded(a, b)
    } else {
        (Power::of(a).whole - Power::of(b).whole) as f32
    }
}

/// The same where the larger one is [within bounds](is_bounded).
#[inline(always)]
#[must_use]
pub fn gap_bounded(a: f32, b: f32) -> f32 {
    whole(a) - whole(b)
}

/// The sum of two sums relative to the larger of two elements, which are `gap` powers of two apart.
// The product is exact where it is not lost in the sum. So this commutes.
#[inline(always)]
#[must_use]
pub fn add(gap: f32, a: f32, b: f32) -> f32 {
    let (smaller, larger) = if gap < 0.0 { (a, b) } else { (b, a) };
    fma(smaller, power_of_two(-gap.abs()), larger)
}

/// `2ⁿ` of an integer that is not positive: 0 from −127 on, and of a NaN.
#[inline(always)]
fn power_of_two(n: f32) -> f32 {
    let n = larger(n, -BIAS);
    f32::from_bits((n + (TO_INTEGER + BIAS)).to_bits() << EXPONENT)
}

/// `x · log₂ e` of any `x`: the nearest integer, and what is left. In f64, where the product is exact.
#[derive(Clone, Copy)]
struct Power {
    whole: f64,
    rest: f32,
}

impl Power {
    #[inline(always)]
    fn of(x: f32) -> Self {
        /// Leaves the nearest integer of what is below 2⁵¹; what is not is one.
        const TO_INTEGER: f64 = 1.5 * (1_u64 << 52) as f64;
        let product = f64::from(x) * f64::from(LOG2_E);
        let whole = if product.abs() < TO_INTEGER / 3.0 {
            (product + TO_INTEGER) - TO_INTEGER
        } else {
            product
        };
        let rest = (product - whole) as f32;
        Self { whole, rest }
    }
}

/// What elements are summed relative to: the largest of them.
#[derive(Clone, Copy, Debug)]
pub struct RelativeTo {
    /// Added to powers of two, it leaves an exponent in the low bits.
    shift: f32,
    /// Elements below count as this.
    least: f32,
}

impl RelativeTo {
    /// The largest element, which is [within bounds](is_bounded).
    #[inline(always)]
    #[must_use]
    pub fn of(largest: f32) -> Self {
        const LN_2: f32 = core::f32::consts::LN_2;
        // Where that is −∞, so are all.
        let k = whole(larger(largest, -BOUND));
        Self {
            shift: (TO_INTEGER + RAISED) - k,
            least: fma(k, LN_2, LEAST * LN_2),
        }
    }

    /// The exponential of an element that is no larger, raised as [`sum`](Self::sum) undoes it.
    #[inline(always)]
    #[must_use]
    pub fn term(self, x: f32) -> f32 {
        let x = larger(x, self.least);
        let shifted = fma(x, LOG2_E, self.shift);
        let mantissa = exp2_small(fma(x, LOG2_E, self.shift - shifted));
        f32::from_bits(mantissa.to_bits().wrapping_add(shifted.to_bits() << EXPONENT))
    }

    /// The sum of exponentials relative to the largest, by the sum of their terms.
    #[inline(always)]
    #[must_use]
    pub fn sum(largest: f32, terms: f32) -> f32 {
        if largest < -BOUND { 0.0 } else { terms * LOWERED }
    }
}

/// The exponential of an element relative to the largest, whichever they are, raised as [`RelativeTo::term`] has it. Where the largest is infinite, any number.
#[inline(always)]
#[must_use]
pub fn term_of_any(largest: f32, x: f32) -> f32 {
    let Power { whole, rest } = Power::of(x);
    let n = larger((whole - Power::of(largest).whole) as f32, LEAST);
    let mantissa = if n > LEAST { exp2_small(rest) } else { 1.0 };
    let bits = (n + (TO_INTEGER + RAISED)).to_bits() << EXPONENT;
    f32::from_bits(mantissa.to_bits().wrapping_add(bits))
}

/// The same relative to any largest element: 0 of an infinity, a NaN of a NaN.
#[inline(always)]
#[must_use]
pub fn sum_of_any(largest: f32, terms: f32) -> f32 {
    if largest.abs() == f32::INFINITY {
        0.0
    } else if largest.is_nan() {
        largest
    } else {
        terms * LOWERED
    }
}

/// `ln(exp(max) · sum / mantissa(max))` of the state of finite elements: of one element exactly that. It is rounded once, but for what is `2^−48` of it.
#[inline(always)]
#[must_use]
pub fn ln(max: f32, sum: f32) -> f32 {
    let [high, low] = ln_of_normal(sum / mantissa(max), 0);
    // The sum of both is one float, and what that is off.
    let total = max + high;
    let of_high = total - max;
    let off = (max - (total - of_high)) + (high - of_high);
    total + (off + low)
}
