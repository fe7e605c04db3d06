//! FP8 as OCP specifies it ("8-bit Floating Point Specification", revision 1.0, 2023): carried as its bits, computed with as f32.
//!
//! What is computed of such numbers is answered as f32: a sum of them is soon past their largest number (448 of e4m3, which has no
//! infinity to say so), and a mean lies between two of them, which are up to an eighth apart. What is one of the elements, as the
//! largest is, has their type.

use super::{
    Element, Normed, Rank, Real, Squares, Type, Unscaled,
    half::{HalfFormat, widen_f16},
};
use crate::words::Words;

macro_rules! fp8 {
    ($(#[$doc:meta])* $fp8:ident, $type:ident, widen: $widen:ident, nan: $nan:literal, highest: $highest:literal, shift: $shift:literal, format: $format:expr) => {
        $(#[$doc])*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Default)]
        #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
        #[repr(transparent)]
        pub struct $fp8(u8);

        impl $fp8 {
            /// The number of those bits.
            #[inline]
            #[must_use]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }
            /// Its bits.
            #[inline]
            #[must_use]
            pub const fn to_bits(self) -> u8 {
                self.0
            }
            /// The number as an f32, exactly.
            #[inline]
            #[must_use]
            pub fn to_f32(self) -> f32 {
                $widen(self.0)
            }
            /// The nearest number, of two the one with even bits; every NaN gives the same one. What is too large is not brought down to
            /// the largest number: it becomes what it becomes in PyTorch, the infinity of `f8e5m2` and the NaN of `f8e4m3`.
            #[inline]
            #[must_use]
            pub fn from_f32(value: f32) -> Self {
                Self::from_f64(f64::from(value))
            }
            /// The same, rounded once.
            #[inline]
            #[must_use]
            pub fn from_f64(value: f64) -> Self {
                const FORMAT: HalfFormat = $format;
                let bits = FORMAT.round(value);
                Self(bits as u8 & 0x7f | (bits >> 8) as u8 & 0x80)
            }
        }

        impl core::fmt::Debug for $fp8 {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl core::fmt::Display for $fp8 {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        impl From<$fp8> for f32 {
            #[inline]
            fn from(value: $fp8) -> Self {
                value.to_f32()
            }
        }

        impl PartialEq for $fp8 {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $fp8 {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl Words for $fp8 {
            const COUNT: usize = 1;
            const UNIT: usize = 1;
            #[inline]
            fn word(self, _: usize) -> u32 {
                u32::from(self.0)
            }
            #[inline]
            fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
                Self(word(0) as u8)
            }
        }

        impl Element for $fp8 {
            const TYPE: Type = Type::$type;
            #[inline]
            fn from_bits(bits: u64) -> Self {
                Self(bits as u8)
            }
            type Wide = f32;
            #[inline]
            fn wide(self) -> f32 {
                self.to_f32()
            }
            type Total = f32;
            #[inline]
            fn total(wide: f32) -> f32 {
                <f32 as Element>::total(wide)
            }
            sums_in_wide!();
            type Scale = Unscaled;
            type Mean = f32;
            #[inline]
            fn mean(sum: f32, count: u64) -> f32 {
                <f32 as Element>::mean(sum, count)
            }
            #[inline]
            fn is_nonzero(self) -> bool {
                self.0 & 0x7f != 0
            }
        }

        impl Real for $fp8 {
            /// The number times a power of two, which leaves exponent and mantissa as they are: no arithmetic, for there are many in a
            /// vector.
            type Rank = f32;
            #[inline]
            fn rank(self) -> f32 {
                let magnitude = u32::from(self.0 & 0x7f) << $shift;
                f32::from_bits(if Normed::is_nan(self) {
                    f32::NAN.to_bits()
                } else {
                    magnitude | u32::from(self.0 & 0x80) << 24
                })
            }
            #[inline]
            fn from_rank(rank: f32) -> Self {
                let bits = rank.to_bits();
                Self(if rank.unordered() {
                    $nan
                } else {
                    (bits >> $shift) as u8 & 0x7f | (bits >> 24) as u8 & 0x80
                })
            }
            const PACKED: bool = true;
            #[inline(always)]
            fn beyond(word: u32, zero: f32, bar: Option<f32>) -> u32 {
                // No bar is as a NaN: whatever is compared with it is not below.
                beyond(word, zero.is_sign_negative(), bar.unwrap_or(f32::NAN), $highest, $shift)
            }
            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self.to_f32())
            }
            #[inline]
            fn measure(value: f64) -> f32 {
                <f32 as Real>::measure(value)
            }
            type Computed = f32;
            #[inline]
            fn computed(self) -> f32 {
                self.wide()
            }
        }

        impl Normed for $fp8 {
            type Size = f32;
            #[inline]
            fn size(self) -> f32 {
                self.rank().size()
            }
            type Largest = Self;
            #[inline]
            fn largest(size: f32) -> Self {
                Self::from_rank(size)
            }
            #[inline]
            fn is_nan(self) -> bool {
                self.0 & 0x7f > $highest
            }
            #[inline]
            fn reach(self) -> f64 {
                0.0
            }
            #[inline]
            fn square(self, _: f64) -> f64 {
                // Exactly: 8 bits at most, and no exponent that f32 has not.
                f64::from(self.to_f32() * self.to_f32())
            }
            type Norm = f32;
            #[inline]
            fn norm(value: f64) -> f32 {
                <f32 as Normed>::norm(value)
            }
            #[inline]
            fn norm_of_squares(squares: Squares<Unscaled>) -> f32 {
                <f32 as Normed>::norm_of_squares(squares)
            }
        }
    };
}

fp8!(
    /// 4 bits of exponent, 3 of mantissa: up to 448, in steps of 2⁻⁹ below 2⁻⁶. It has no infinities, and one NaN of either sign.
    /// PyTorch's `float8_e4m3fn`, and `F8_E4M3` in `.safetensors` files.
    f8e4m3, F8E4M3, widen: widen_e4m3, nan: 0x7f, highest: 0x7e, shift: 20, format: HalfFormat { mantissa: 3, least: -6, bias: 7, infinite: false }
);
fp8!(
    /// 5 bits of exponent, 2 of mantissa: up to 57344, with infinities and NaN. The upper half of an IEEE binary16. PyTorch's
    /// `float8_e5m2`, and `F8_E5M2` in `.safetensors` files.
    f8e5m2, F8E5M2, widen: widen_e5m2, nan: 0x7e, highest: 0x7c, shift: 21, format: HalfFormat { mantissa: 2, least: -14, bias: 15, infinite: true }
);

/// [`Real::beyond`] of numbers whose magnitudes are NaN past `highest`, and are ranks' bits without the lowest `shift`.
///
/// Magnitudes are compared by adding what another lacks of the sign bit: the sum has it where they are no less, and never runs into the
/// next number. Above a bar that is no less than zero are positive numbers of a larger magnitude; above another all positive ones, and
/// negative ones of a smaller magnitude. Either way a NaN is.
#[inline(always)]
fn beyond(word: u32, reversed: bool, bar: f32, highest: u32, shift: u32) -> u32 {
    const EACH: u32 = 0x0101_0101;
    const SIGNS: u32 = 0x80 * EACH;
    let magnitudes = word & !SIGNS;
    let positive = !word ^ if reversed { SIGNS } else { 0 };
    let nan = magnitudes + (0x7f - highest) * EACH;
    let bits = bar.to_bits() & 0x7fff_ffff;
    let far = if bar >= 0.0 {
        let larger = magnitudes + (0x7f - u32::min(bits >> shift, 0x7f)) * EACH;
        larger & positive
    } else {
        let no_smaller = magnitudes + (0x80 - u32::min((bits + (1 << shift) - 1) >> shift, 0x80)) * EACH;
        !no_smaller | positive
    };
    let any = if bar.is_nan() { SIGNS } else { 0 };
    (far | nan | any) & SIGNS
}

#[inline]
fn widen_e5m2(bits: u8) -> f32 {
    widen_f16(u16::from(bits) << 8)
}

/// Exponent and mantissa take their places below an f32's, and a multiplication moves the exponent by the 120 between the biases: that
/// does for subnormal numbers, too.
#[inline]
fn widen_e4m3(bits: u8) -> f32 {
    let signed = u32::from(bits & 0x80) << 24;
    let magnitude = u32::from(bits & 0x7f);
    let number = f32::from_bits(signed | magnitude << 20) * f32::from_bits((127 + 120) << 23);
    if magnitude == 0x7f { f32::NAN } else { number }
}

#[cfg(test)]
#[path = "fp8_tests.rs"]
mod tests;
