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
