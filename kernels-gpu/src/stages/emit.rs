//! What a kernel writes.

use crate::{
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{each_word, store_state},
};

/// Where the answers go, one for each extent.
#[derive(Clone, Copy)]
pub struct Output {
    /// The finished answers, packed: [`Words::UNIT`] bytes for each word; may be null.
    pub answer: *mut u8,
    /// The unfinished states, for folds in pieces; may be null.
    pub state: *mut u32,
}

/// Writes the answer and the state of the extent of that number, `total` being its state and `len` its elements.
///
/// # Safety
///
/// `output`'s pointers are null or valid, and no other thread touches what is that extent's.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn finish<S: Simt, T, M: Monoid<T>>(simt: S, op: M, len: u64, total: M::State, output: Output, number: u64) {
    // Nothing may have been read as fillers.
    let total = if len == 0 { op.identity() } else { total };
    if !output.state.is_null() {
        // SAFETY: passed on to the caller.
        unsafe { store_state(simt, output.state, number, total) };
    }
    if !output.answer.is_null() {
        let answer = match op.empty() {
            Some(answer) if len == 0 => answer,
            _ => op.finish(total, len),
        };
        // SAFETY: passed on to the caller.
        unsafe { write(simt, output.answer, number, answer) };
    }
}

/// Writes a value at place `number` of packed values.
///
/// # Safety
///
/// As [`Simt::store`] and its kin, for each of the value's words.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn write<S: Simt, W: Words>(simt: S, to: *mut u8, number: u64, value: W) {
    let to = to.wrapping_add(number as usize * W::COUNT * W::UNIT);
    each_word(value, |i, word| {
        let to = to.wrapping_add(i * W::UNIT);
        // SAFETY: passed on to the caller; a value of a type is aligned to its unit.
        unsafe {
            match W::UNIT {
                1 => simt.store_byte(to, word),
                2 => simt.store_short(to.cast(), word),
                _ => simt.store(to.cast(), word),
            }
        }
    });
}
