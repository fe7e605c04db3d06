//! f32 rounded to the types of 16 bits, two at a time, to nearest, ties to even. A NaN becomes `0x7fff`, which is what GPUs make of one.

use super::single::maximum;
use crate::element::{Element as _, f16};

/// Whether one instruction does it.
pub const IS_ONE_INSTRUCTION: bool = {
    #[cfg(target_arch = "nvptx64")]
    {
        crate::simt::nvptx::IS_80
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        false
    }
};

/// Two f32 as f16, the first in the lower half.
#[inline(always)]
#[must_use]
pub fn to_f16(low: f32, high: f32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return crate::simt::nvptx::convert::narrow_f16(low, high);
    #[cfg(not(target_arch = "nvptx64"))]
    {
        u32::from(f16_bits(low)) | u32::from(f16_bits(high)) << 16
    }
}

/// Two f32 as bf16, the first in the lower half.
#[inline(always)]
#[must_use]
pub fn to_bf16(low: f32, high: f32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    if crate::simt::nvptx::IS_80 {
        return crate::simt::nvptx::convert::narrow_bf16(low, high);
    }
    u32::from(bf16_bits(low)) | u32::from(bf16_bits(high)) << 16
}

/// Of two f16 in each word each larger one, as [`single::maximum`](super::single::maximum) has it.
#[inline(always)]
#[must_use]
pub fn maximum_f16_pair(a: u32, b: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    if crate::simt::nvptx::IS_80 {
        return crate::simt::nvptx::arithmetic::maximum_f16_pair(a, b);
    }
    let both = |shift: u32| {
        let wide = |word: u32| f16::from_bits((word >> shift) as u16).wide();
        maximum(wide(a), wide(b))
    };
    to_f16(both(0), both(16))
}

/// The same of two bf16.
#[inline(always)]
#[must_use]
pub fn maximum_bf16_pair(a: u32, b: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    if crate::simt::nvptx::IS_80 {
        return crate::simt::nvptx::arithmetic::maximum_bf16_pair(a, b);
    }
    let high = |word: u32| f32::from_bits(word & 0xffff_0000);
    let low = |word: u32| f32::from_bits(word << 16);
    // One of two bf16 is one, so nothing is rounded.
    let bits = |larger: f32| if larger.is_nan() { 0x7fff_0000 } else { larger.to_bits() };
    bits(maximum(low(a), low(b))) >> 16 | bits(maximum(high(a), high(b)))
}

/// Of two f16 in each word all bits of each that equals the other word's: zeros are equal, and a NaN equals nothing.
#[inline(always)]
#[must_use]
pub fn equal_f16_pair(a: u32, b: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    if crate::simt::nvptx::IS_80 {
        return crate::simt::nvptx::arithmetic::equal_f16_pair(a, b);
    }
    let wide = |word: u32, shift: u32| f16::from_bits((word >> shift) as u16).wide();
    all_bits(wide(a, 0) == wide(b, 0)) >> 16 | all_bits(wide(a, 16) == wide(b, 16)) << 16
}

/// The same of two bf16.
#[inline(always)]
#[must_use]
pub fn equal_bf16_pair(a: u32, b: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    if crate::simt::nvptx::IS_90 {
        return crate::simt::nvptx::arithmetic::equal_bf16_pair(a, b);
    }
    let high = |word: u32| f32::from_bits(word & 0xffff_0000);
    let low = |word: u32| f32::from_bits(word << 16);
    all_bits(low(a) == low(b)) >> 16 | all_bits(high(a) == high(b)) << 16
}

/// The same of an f32 in each.
#[inline(always)]
#[must_use]
pub fn equal_f32(a: u32, b: u32) -> u32 {
    all_bits(f32::from_bits(a) == f32::from_bits(b))
}

/// All bits, or none.
#[inline(always)]
const fn all_bits(yes: bool) -> u32 {
    if yes { u32::MAX } else { 0 }
}

/// The bits of an f32, those of a NaN being `0x7fff_ffff`, which is what arithmetic on GPUs has.
#[inline(always)]
#[must_use]
pub fn f32_bits(value: f32) -> u32 {
    let is_nan = cfg!(not(target_arch = "nvptx64")) && value.is_nan();
    if is_nan { 0x7fff_ffff } else { value.to_bits() }
}

/// The bits of the f16 nearest to `value`. Without branches, so that a compiler makes vector code of it.
#[cfg_attr(target_arch = "nvptx64", allow(dead_code))]
#[inline(always)]
#[must_use]
pub fn f16_bits(value: f32) -> u16 {
    const INFINITE: u32 = 0x7f80_0000;
    /// 2¹⁶, past which everything is infinite; 2⁻¹⁴, below which it is subnormal.
    const TOO_LARGE: u32 = 0x4780_0000;
    const LEAST_NORMAL: u32 = 0x3880_0000;
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // Beside 0.5 a float's last place is that of a subnormal f16: adding rounds.
    let subnormal = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0.5_f32.to_bits());
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_sub((127 - 15) << 23).wrapping_add(0xfff + odd) >> 13;
    let finite = if magnitude < LEAST_NORMAL { subnormal } else { normal };
    let number = if magnitude >= TOO_LARGE { 0x7c00 } else { finite };
    let signed = number | bits >> 16 & 0x8000;
    (if magnitude > INFINITE { 0x7fff } else { signed }) as u16
}

/// The bits of the bf16 nearest to `value`.
#[cfg_attr(target_arch = "nvptx64", allow(dead_code))]
#[inline(always)]
#[must_use]
pub fn bf16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let is_nan = bits & 0x7fff_ffff > 0x7f80_0000;
    (if is_nan { 0x7fff } else { rounded }) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of one half of each f32 there is, by the rounding of the crate `half` and of this crate.
    #[test]
    fn every_upper_half_and_its_neighbours_round_as_elsewhere() {
        for high in 0..=u16::MAX {
            for low in [
                0_u32, 1, 0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff,
            ] {
                let value = f32::from_bits(u32::from(high) << 16 | low);
                let (f16, bf16) = (f16_bits(value), bf16_bits(value));
                if value.is_nan() {
                    assert_eq!((f16, bf16), (0x7fff, 0x7fff));
                } else {
                    let expected: f16 = crate::element::Float::from_f64(f64::from(value));
                    assert_eq!(f16, expected.to_bits(), "{value:e}");
                    let expected: crate::element::bf16 = crate::element::Float::from_f64(f64::from(value));
                    assert_eq!(bf16, expected.to_bits(), "{value:e}");
                }
            }
        }
    }
}
