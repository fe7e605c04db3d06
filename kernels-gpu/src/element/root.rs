//! Square roots that are rounded once.

/// A number that rounds to f32, and to any narrower type, as the square root of `sum` does: its first 33 bits, and whether
/// anything is left. In integers: `core` has no root, and this one gives the same bits on every machine. `sum` is a NaN, an
/// infinity, zero, or a positive normal number whose root is far from the ends of f64.
pub(super) fn root(sum: f64) -> f64 {
    let bits = sum.to_bits();
    let exponent = (bits >> 52) as i32;
    if sum.is_nan() || exponent == 0 || exponent == 0x7ff {
        return sum;
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
    (2 * root + sticky) as f64 * scale
}

#[cfg(test)]
mod tests {
    fn root(sum: f64) -> f32 {
        super::root(sum) as f32
    }

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
