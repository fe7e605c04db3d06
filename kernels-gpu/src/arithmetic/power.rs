//! Exponentials of f32 beside a power of two.
//!
//! `eˣ = 2ᵏ · mantissa`: `k` is the integer nearest to `x · log₂ e`, the constant being rounded to f32 and the product not at all; the mantissa is
//! `2^(x · log₂ e − k)`, between `2^−½` and `2^½`, by a polynomial. Neither depends on anything but `x`. So what a sum of exponentials is beside `2ᵏ` of one element
//! becomes what it is beside that of another by a multiplication with a power of two, which rounds nothing.
//!
//! # Sums beside one element
//!
//! A sum of several exponentials may be taken beside the largest element, where each is one [`term`](Beside::term), and no bit shows it: two neighbours' exponentials add up to
//! the same float, but for the power of two, whichever that is. What is too small for a float beside the largest, below `2^−156` of it, no bit shows either. For of two sums the smaller one changes the larger one's
//! last bit only from `2^−25` of it on; so what is added to in [`DEPTH`] steps has grown by less than `2^151` if it was never lost, and the whole is as large as the largest.
//!
//! Where `|x|` is above [`NEAR`] the same takes f64.

use super::single::{LOG2_E, TO_INTEGER, exp2_small, fma, larger, ln_of_normal, maximum};

/// Elements up to this magnitude have an integer `k` that is had in two instructions, whatever they are summed beside.
pub const NEAR: f32 = 1_400_000.0;

/// The most steps in which exponentials beside one element may be summed: 64 of them in pairs.
pub const DEPTH: u32 = 6;

/// Up to this magnitude `k` is an integer that [`TO_INTEGER`] leaves.
const DIRECT: f32 = 4_194_300.0;

/// Sums beside an element are so many powers of two larger than they are, so that what is far smaller fits a float.
const RAISED: f32 = 32.0;

/// What terms stand for at least.
const LEAST: f32 = -125.0 - RAISED;

/// What [`RAISED`] is undone by.
const LOWERED: f32 = 1.0 / (1_u64 << 32) as f32;

/// The exponent's place, and its bias.
const EXPONENT: u32 = 23;
const BIAS: f32 = 127.0;

/// `k` of elements that are near; of others it is far from all of those, or a NaN.
#[inline(always)]
fn whole(x: f32) -> f32 {
    fma(x, LOG2_E, TO_INTEGER) - TO_INTEGER
}

/// `2^(x · log₂ e − k)`: of an infinity 0, of a NaN that.
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

/// Whether an element is at most [`NEAR`] in magnitude, or −∞.
#[inline(always)]
#[must_use]
pub fn is_near(x: f32) -> bool {
    (x.abs() <= NEAR) | (x == f32::NEG_INFINITY)
}

/// How many powers of two `a` is above `b`: a NaN between equal infinities, and of a NaN.
#[inline(always)]
#[must_use]
pub fn gap(a: f32, b: f32) -> f32 {
    if is_near(maximum(a, b)) {
        gap_near(a, b)
    } else {
        (Power::of(a).whole - Power::of(b).whole) as f32
    }
}

/// The same where the larger one is [near](is_near).
#[inline(always)]
#[must_use]
pub fn gap_near(a: f32, b: f32) -> f32 {
    whole(a) - whole(b)
}

/// The sum of two sums beside the larger of two elements, so many powers of two apart.
// The product is exact, but for what is far too small to matter: so it commutes.
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

/// What elements are summed beside: the largest of them.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// Added to powers of two, it leaves an exponent in the low bits.
    shift: f32,
    /// Elements below count as this.
    least: f32,
}

impl Beside {
    /// The largest element, which is [near](is_near).
    #[inline(always)]
    #[must_use]
    pub fn of(largest: f32) -> Self {
        const LN_2: f32 = core::f32::consts::LN_2;
        // Beside −∞ there is nothing but that.
        let k = whole(larger(largest, -NEAR));
        Self {
            shift: (TO_INTEGER + RAISED) - k,
            least: fma(k, LN_2, LEAST * LN_2),
        }
    }

    /// The exponential of an element that is no larger, raised: see [`sum`](Self::sum).
    #[inline(always)]
    #[must_use]
    pub fn term(self, x: f32) -> f32 {
        let x = larger(x, self.least);
        let shifted = fma(x, LOG2_E, self.shift);
        let mantissa = exp2_small(fma(x, LOG2_E, self.shift - shifted));
        f32::from_bits(mantissa.to_bits().wrapping_add(shifted.to_bits() << EXPONENT))
    }

    /// The sum of exponentials beside the largest, by that of their terms.
    #[inline(always)]
    #[must_use]
    pub fn sum(largest: f32, terms: f32) -> f32 {
        if largest < -NEAR { 0.0 } else { terms * LOWERED }
    }
}

/// The exponential of an element beside the largest, whichever they are, raised as [`Beside::term`] has it. Where the largest is infinite, any number.
#[inline(always)]
#[must_use]
pub fn term_of_any(largest: f32, x: f32) -> f32 {
    let Power { whole, rest } = Power::of(x);
    let n = larger((whole - Power::of(largest).whole) as f32, LEAST);
    let mantissa = if n > LEAST { exp2_small(rest) } else { 1.0 };
    let bits = (n + (TO_INTEGER + RAISED)).to_bits() << EXPONENT;
    f32::from_bits(mantissa.to_bits().wrapping_add(bits))
}

/// The sum of exponentials beside any largest element, by that of their terms: of an infinity 0, of a NaN that.
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
