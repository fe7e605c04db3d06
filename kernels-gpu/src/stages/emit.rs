//! What a kernel writes.

use crate::{
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{StateArray, each_word},
};

/// Where the answers go, one for each extent.
#[derive(Clone, Copy)]
pub struct Output {
    answer: *mut u8,
    state: StateArray,
}

impl Output {
    /// The finished answers, packed, [`Words::UNIT`] bytes for each word; and the unfinished states, for folds in pieces. Either may be null.
    ///
    /// # Safety
    ///
    /// Each is null, or valid for as many as there are extents, of which nobody else touches one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn new(answer: *mut u8, state: *mut u32) -> Self {
        // SAFETY: the caller's word.
        let state = unsafe { StateArray::new(state) };
        Self { answer, state }
    }

    /// Writes a value at place `number` of packed values.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn write<S: Simt, W: Words>(self, simt: S, number: u64, value: W) {
        let to = self.answer.wrapping_add(number as usize * W::COUNT * W::UNIT);
        each_word(value, |i, word| {
            let to = to.wrapping_add(i * W::UNIT);
            // SAFETY: the place is an extent's; a value of a type is aligned to its unit.
            unsafe {
                match W::UNIT {
                    1 => simt.store_byte(to, word),
                    2 => simt.store_short(to.cast(), word),
                    _ => simt.store(to.cast(), word),
                }
            }
        });
    }
}

/// Writes the answer and the state of the extent of that number, `total` being its state and `len` its elements.
///
/// Called by: one thread for each extent that there is
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn finish<S: Simt, T, M: Monoid<T>>(simt: S, op: M, len: u64, total: M::State, output: Output, number: u64) {
    // Nothing may have been read as fillers.
    let total = if len == 0 { op.identity() } else { total };
    if !output.state.is_null() {
        output.state.store(simt, number, total);
    }
    if !output.answer.is_null() {
        let answer = match op.empty() {
            Some(answer) if len == 0 => answer,
            _ => op.finish(total, len),
        };
        output.write(simt, number, answer);
    }
}
