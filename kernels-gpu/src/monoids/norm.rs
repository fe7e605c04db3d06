//! Norms: how large an array is as a vector.

use super::{Monoid, Sum, canonical};

/// `|x₀| + |x₁| + …` in f32, pairwise: a relative error of at most `⌈log₂ n⌉ · 2⁻²⁴` to first order. 0 over nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NormL1;

impl Monoid<f32> for NormL1 {
    type State = f32;
    type Answer = f32;

    #[inline]
    fn identity(self) -> f32 {
        Sum.identity()
    }
    #[inline]
    fn lift(self, value: f32, _: u64) -> f32 {
        abs(value)
    }
    #[inline]
    fn combine(self, a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline]
    fn finish(self, sum: f32) -> f32 {
        canonical(sum)
    }
    #[inline]
    fn empty(self) -> Option<f32> {
        Some(0.0)
    }
}

/// `x₀² + x₁² + …`, summed in f64 and rounded to f32 once. Squares of f32 are exact in f64 and cannot over- or underflow
/// there, so the answer is infinite only if an element is, or if it is too large for f32. A relative error of at most
/// `2⁻²⁴ + ⌈log₂ n⌉ · 2⁻⁵³` to first order. 0 over nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SumOfSquares;

impl Monoid<f32> for SumOfSquares {
    type State = f64;
    type Answer = f32;

    #[inline]
    fn identity(self) -> f64 {
        // Squares are never −0.0, so +0.0 is neutral to the bit.
        0.0
    }
    #[inline]
    fn lift(self, value: f32, _: u64) -> f64 {
        f64::from(value) * f64::from(value)
    }
    #[inline]
    fn combine(self, a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline]
    fn finish(self, sum: f64) -> f32 {
        canonical(sum as f32)
    }
    #[inline]
    fn empty(self) -> Option<f32> {
        Some(0.0)
    }
}

/// `√(x₀² + x₁² + …)`: the f64 sum of [`SumOfSquares`], its root rounded to f32 once. It is finite wherever the norm itself
/// fits an f32, and subnormal numbers count. 0 over nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NormL2;

impl Monoid<f32> for NormL2 {
    type State = f64;
    type Answer = f32;

    #[inline]
    fn identity(self) -> f64 {
        SumOfSquares.identity()
    }
    #[inline]
    fn lift(self, value: f32, index: u64) -> f64 {
        SumOfSquares.lift(value, index)
    }
    #[inline]
    fn combine(self, a: f64, b: f64) -> f64 {
        SumOfSquares.combine(a, b)
    }
    #[inline]
    fn finish(self, sum: f64) -> f32 {
        canonical(root(sum))
    }
    #[inline]
    fn empty(self) -> Option<f32> {
        Some(0.0)
    }
}

/// The largest magnitude; NaN if there is a NaN. 0 over nothing.
///
/// The state is the magnitude's bits: they order as the magnitudes do, and those of a NaN are past all others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NormInf;

impl Monoid<f32> for NormInf {
    type State = u32;
    type Answer = f32;

    #[inline]
    fn identity(self) -> u32 {
        0
    }
    #[inline]
    fn lift(self, value: f32, _: u64) -> u32 {
        abs(value).to_bits()
    }
    #[inline]
    fn combine(self, a: u32, b: u32) -> u32 {
        if b > a { b } else { a }
    }
    const SELECTS: bool = true;
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // one instruction, and true for a NaN
    #[inline]
    fn may_change(self, best: u32, value: f32) -> bool {
        !(abs(value) <= f32::from_bits(best))
    }
    #[inline]
    fn finish(self, bits: u32) -> f32 {
        canonical(f32::from_bits(bits))
    }
    #[inline]
    fn empty(self) -> Option<f32> {
        Some(0.0)
    }
}

#[inline]
fn abs(value: f32) -> f32 {
    f32::from_bits(value.to_bits() & 0x7fff_ffff)
}

/// The square root of `sum`, rounded once, to f32. In integers: `core` has no root, and this one gives the same bits on every
/// machine. `sum` is a NaN, an infinity, zero, or a positive normal number whose root is far from the ends of f64.
fn root(sum: f64) -> f32 {
    let bits = sum.to_bits();
    let exponent = (bits >> 52) as i32;
    if sum.is_nan() || exponent == 0 || exponent == 0x7ff {
        return sum as f32;
    }
    // sum = mantissa · 2^power, the power even and the mantissa at least 2⁶²: its root has 32 bits, and f32 keeps 24.
    let mantissa = (bits & ((1 << 52) - 1) | 1 << 52) << 10;
    let power = exponent - 1075 - 10;
    let odd = power & 1;
    let (mantissa, half_power) = (mantissa << odd, (power - odd) / 2);
    let mut root = 0_u64;
    let mut bit = 1_u64 << 31;
    while bit > 0 {
        let next = root | bit;
        if next * next <= mantissa {
            root = next;
        }
        bit >>= 1;
    }
    // One more bit says whether anything is left, which is all that rounding needs to know.
    let sticky = u64::from(root * root != mantissa);
    let scale = f64::from_bits(((half_power - 1 + 1023) as u64) << 52);
    ((2 * root + sticky) as f64 * scale) as f32
}

#[cfg(test)]
mod tests {
    use super::root;

    /// Whether `root` is `sum`'s root, rounded: the middle between two f32 has 25 bits, so its square is exact in f64.
    fn is_root(sum: f64, root: f32) -> bool {
        let middle = |a: f32, b: f32| f64::midpoint(f64::from(a), f64::from(b));
        let (low, high) = (middle(root.next_down(), root), middle(root, root.next_up()));
        let even = root.to_bits().is_multiple_of(2);
        let above = low * low < sum || (even && low * low == sum);
        above && (sum < high * high || (even && sum == high * high))
    }

    #[test]
    fn roots_are_rounded_once() {
        assert_eq!(root(0.0), 0.0);
        assert_eq!(root(4.0), 2.0);
        assert_eq!(root(f64::INFINITY), f32::INFINITY);
        assert!(root(f64::NAN).is_nan());
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..200_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Exponents of sums of squares of f32 that are neither too large for f32 nor below its smallest number.
            let exponent = 1023 - 290 + (bits >> 54) % 540;
            let sum = f64::from_bits(exponent << 52 | bits & ((1 << 52) - 1));
            assert!(is_root(sum, root(sum)), "{sum:e}: {:e}", root(sum));
        }
        for whole in 1..2000_u32 {
            let exact = f64::from(whole) / 64.0;
            assert_eq!(f64::from(root(exact * exact)), exact);
            // Halfway between two f32: the even one.
            let tie = f64::from(0x0100_0001 + 2 * whole);
            assert!(is_root(tie * tie, root(tie * tie)), "{tie}");
        }
    }

    #[test]
    fn a_root_too_large_for_f32_is_infinite() {
        assert_eq!(root(1e80), f32::INFINITY);
        assert_eq!(root(f64::from(f32::MAX) * f64::from(f32::MAX)), f32::MAX);
    }
}
