//! Conversions for which the hardware has an instruction, and `core` no function.

use core::arch::asm;

/// A number of IEEE 754 half precision as an f32, exactly.
#[inline]
#[must_use]
pub fn widen_f16(bits: u16) -> f32 {
    let word: u32;
    // SAFETY: converts a register. (In a 32-bit one: not every code generator has an operand class for 16 bits.)
    unsafe {
        asm!("{{ .reg .b16 half, rest; mov.b32 {{half, rest}}, {}; cvt.f32.f16 {}, half; }}",
            in(reg32) u32::from(bits), out(reg32) word, options(pure, nomem, nostack, preserves_flags));
    }
    f32::from_bits(word)
}

/// Two f32 as numbers of IEEE 754 half precision, rounded to nearest, the first in the lower half; a NaN is `0x7fff`.
#[inline(always)]
#[must_use]
pub fn narrow_f16(low: f32, high: f32) -> u32 {
    let word: u32;
    // SAFETY: converts registers.
    unsafe {
        asm!("{{ .reg .b16 low, high; cvt.rn.f16.f32 low, {}; cvt.rn.f16.f32 high, {}; mov.b32 {}, {{low, high}}; }}",
            in(reg32) low, in(reg32) high, out(reg32) word, options(pure, nomem, nostack, preserves_flags));
    }
    word
}

/// Two f32 as bf16, rounded to nearest, the first in the lower half; a NaN is `0x7fff`. From compute capability 8.0 on: others must not call it.
#[inline(always)]
#[must_use]
pub fn narrow_bf16(low: f32, high: f32) -> u32 {
    let word: u32;
    // SAFETY: converts registers.
    unsafe {
        asm!("cvt.rn.bf16x2.f32 {}, {}, {};", out(reg32) word, in(reg32) high, in(reg32) low,
            options(pure, nomem, nostack, preserves_flags));
    }
    word
}
