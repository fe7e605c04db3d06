//! Arithmetic that `core` has no function for: one instruction each, rounded once, nothing flushed to zero. Which compute capabilities have
//! one is said where not all do: others must not call it.

use core::arch::asm;

use super::IS_80;

/// Defines a function that is one instruction.
macro_rules! instruction {
    ($(#[$attribute:meta])* $name:ident($($operand:ident),+) -> $type:ident, $class:ident, $text:literal) => {
        $(#[$attribute])*
        #[inline(always)]
        #[must_use]
        pub fn $name($($operand: $type),+) -> $type {
            let result;
            // SAFETY: arithmetic on registers.
            unsafe {
                asm!($text, out($class) result, $(in($class) $operand),+, options(pure, nomem, nostack, preserves_flags));
            }
            result
        }
    };
}

instruction!(
    /// `a · b + c`.
    fma_f32(a, b, c) -> f32, reg32, "fma.rn.f32 {}, {}, {}, {};"
);
instruction!(
    /// `a · b + c`, no less than 0 and no more than 1; 0 of a NaN.
    fma_saturated_f32(a, b, c) -> f32, reg32, "fma.rn.sat.f32 {}, {}, {}, {};"
);
instruction!(
    /// `a · b + c`.
    fma_f64(a, b, c) -> f64, reg64, "fma.rn.f64 {}, {}, {}, {};"
);
instruction!(
    /// `√a`.
    sqrt_f32(a) -> f32, reg32, "sqrt.rn.f32 {}, {};"
);
instruction!(
    /// `√a`.
    sqrt_f64(a) -> f64, reg64, "sqrt.rn.f64 {}, {};"
);
instruction!(
    /// The larger one; +0.0 is larger than −0.0, a NaN is larger than anything: from 8.0 on.
    max_nan_f32(a, b) -> f32, reg32, "max.NaN.f32 {}, {}, {};"
);
instruction!(
    /// Of two f16 each larger one, likewise: from 8.0 on.
    maximum_f16_pair(a, b) -> u32, reg32, "max.NaN.f16x2 {}, {}, {};"
);
instruction!(
    /// Of two bf16 each larger one, likewise: from 8.0 on.
    maximum_bf16_pair(a, b) -> u32, reg32, "max.NaN.bf16x2 {}, {}, {};"
);
instruction!(
    /// Of two f16 all bits of each that equals the other word's: from 8.0 on.
    equal_f16_pair(a, b) -> u32, reg32, "set.eq.u32.f16x2 {}, {}, {};"
);
instruction!(
    /// Of two bf16, likewise: from 9.0 on.
    equal_bf16_pair(a, b) -> u32, reg32, "set.eq.u32.bf16x2 {}, {}, {};"
);
instruction!(
    /// The larger one; +0.0 is larger than −0.0, anything is larger than a NaN.
    max_f32(a, b) -> f32, reg32, "max.f32 {}, {}, {};"
);

/// The larger one; +0.0 is larger than −0.0, a NaN is larger than anything.
#[inline(always)]
#[must_use]
pub fn maximum_f32(a: f32, b: f32) -> f32 {
    if IS_80 {
        max_nan_f32(a, b)
    } else if a.is_nan() | b.is_nan() {
        f32::NAN
    } else {
        max_f32(a, b)
    }
}
