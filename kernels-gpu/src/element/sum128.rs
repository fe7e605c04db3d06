//! Sums of integers that never wrap around.

use super::Accumulator;

/// An integer of 128 bits in two's complement. `core`'s own has no place in a state: it is aligned to 16 bytes, and a sum of it is no
/// vector code on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum128 {
    /// The lower bits.
    pub low: u64,
    /// The upper bits, and the sign.
    pub high: i64,
}

crate::words_of_fields!(Sum128 { low: u64, high: i64 });

impl From<i64> for Sum128 {
    #[inline]
    fn from(value: i64) -> Self {
        Self {
            low: value as u64,
            high: value >> 63,
        }
    }
}

impl From<u64> for Sum128 {
    #[inline]
    fn from(low: u64) -> Self {
        Self { low, high: 0 }
    }
}

impl Accumulator for Sum128 {
    const EXACT: bool = true;
    const NOTHING: Self = Self { low: 0, high: 0 };
    const ZERO: Self = Self::NOTHING;
    #[inline]
    fn plus(self, other: Self) -> Self {
        let low = u64::wrapping_add(self.low, other.low);
        let carry = i64::from(low < self.low);
        let high = i64::wrapping_add(i64::wrapping_add(self.high, other.high), carry);
        Self { low, high }
    }
}

impl Sum128 {
    /// The nearest f64, to even of two.
    #[inline]
    #[must_use]
    pub fn to_f64(self) -> f64 {
        let is_negative = self.high < 0;
        let (low, high) = if is_negative {
            let low = u64::wrapping_neg(self.low);
            let borrow = i64::from(low != 0);
            (low, i64::wrapping_sub(i64::wrapping_neg(self.high), borrow) as u64)
        } else {
            (self.low, self.high as u64)
        };
        let magnitude = if high == 0 {
            low as f64
        } else {
            // The upper 64 bits, of which the last says whether there is anything below: more than the conversion keeps.
            let zeros = zeros_above(high);
            let upper = high << zeros | if zeros == 0 { 0 } else { low >> (64 - zeros) };
            let sticky = u64::from(low << zeros != 0);
            (upper | sticky) as f64 * f64::from_bits(u64::from(1023 + 64 - zeros) << 52)
        };
        if is_negative { -magnitude } else { magnitude }
    }
}

/// By halves: one of the code generators has it wrong of 64 bits.
#[inline]
fn zeros_above(value: u64) -> u32 {
    let upper = (value >> 32) as u32;
    if upper == 0 {
        32 + u32::leading_zeros(value as u32)
    } else {
        u32::leading_zeros(upper)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn wide(sum: Sum128) -> i128 {
        i128::from(sum.high) << 64 | i128::from(sum.low)
    }

    proptest! {
        #[test]
        fn sums_and_conversions_are_those_of_i128(
            signed in prop::collection::vec(any::<i64>(), 0..20),
            unsigned in prop::collection::vec(any::<u64>(), 0..20),
            shift in 0_u32..64,
        ) {
            let all: Vec<Sum128> = signed.iter().map(|value| Sum128::from(value >> shift))
                .chain(unsigned.iter().map(|value| Sum128::from(value >> shift))).collect();
            let sum = all.iter().fold(Sum128::ZERO, |a, b| a.plus(*b));
            let exact = all.iter().map(|value| wide(*value)).sum::<i128>();
            prop_assert_eq!(wide(sum), exact);
            prop_assert_eq!(sum.to_f64(), exact as f64);
        }

        #[test]
        fn any_bits_are_rounded_once(low in any::<u64>(), high in any::<i64>(), shift in 0_u32..64) {
            let sum = Sum128 { low, high: high >> shift };
            prop_assert_eq!(sum.to_f64(), wide(sum) as f64);
        }
    }

    #[test]
    fn ties_go_to_even() {
        // Halfway between two f64, and just past it.
        for (low, high) in [
            (0, 1_i64),
            (1 << 11, 1),
            ((1 << 11) + 1, 1),
            (3 << 11, 1),
            (u64::MAX, i64::MAX),
            (0, i64::MIN),
            (1, -1),
        ] {
            let sum = Sum128 { low, high };
            assert_eq!(sum.to_f64(), wide(sum) as f64);
        }
    }
}
