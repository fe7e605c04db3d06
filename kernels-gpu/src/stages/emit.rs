//! What a kernel writes.

use crate::{
    arithmetic::narrow::{f32_bits, to_bf16, to_f16},
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        StateArray,
        columns::{Floats, Held},
        each_word,
        load::words::WORDS,
    },
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

/// Where the rows go that a row operation makes.
#[derive(Clone, Copy)]
pub struct OutRows {
    start: *mut u8,
    stride: i64,
    floats: Floats,
}

/// A row of these, from its first element on.
#[derive(Clone, Copy)]
pub struct OutRow(*mut u8);

impl OutRow {
    /// Where its first element is.
    pub(crate) fn address(self) -> *mut u8 {
        self.0
    }
}

impl OutRows {
    /// From the first element of the first on, nowhere if null; a row is so many elements behind the one before.
    ///
    /// # Safety
    ///
    /// The address is null, or valid for writes of as many rows as the launch has, of which this launch's threads alone write, each its own elements.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub const unsafe fn new(start: *mut u8, stride: i64, floats: Floats) -> Self {
        Self { start, stride, floats }
    }

    /// Where they are; null for nowhere.
    pub(crate) fn start(self) -> *mut u8 {
        self.start
    }

    /// From a row to the next, in elements.
    pub(crate) fn stride(self) -> i64 {
        self.stride
    }

    /// What they are of.
    #[cfg(test)]
    pub(crate) fn floats(self) -> Floats {
        self.floats
    }

    /// The first row, or all of them as one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn first(self) -> OutRow {
        OutRow(self.start)
    }

    /// The row of that number.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn row(self, number: u64) -> OutRow {
        let bytes = self.floats.bytes() as isize;
        OutRow(
            self.start
                .wrapping_offset((number as i64 * self.stride) as isize * bytes),
        )
    }

    /// Where an element of a row is.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn element(self, OutRow(row): OutRow, place: u64) -> *mut u8 {
        row.wrapping_add((place as usize) << self.floats.shift())
    }

    /// Writes the first `count` of eight elements of a row, 4 or 8 of them, from a place on where they are aligned to as many bytes as they are, or to 16.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn store<S: Simt>(self, simt: S, row: OutRow, place: u64, values: Held<f32>, count: usize) {
        let to = self.element(row, place).cast::<u32>();
        let [a, b, c, d, e, f, g, h] = values;
        // SAFETY: they are among those that the maker of this has.
        unsafe {
            match self.floats {
                Floats::F32 => {
                    simt.store_vector(to, [f32_bits(a), f32_bits(b), f32_bits(c), f32_bits(d)]);
                    if count > WORDS {
                        let high = [f32_bits(e), f32_bits(f), f32_bits(g), f32_bits(h)];
                        simt.store_vector(to.wrapping_add(WORDS), high);
                    }
                }
                Floats::F16 if count > WORDS => {
                    simt.store_vector(to, [to_f16(a, b), to_f16(c, d), to_f16(e, f), to_f16(g, h)]);
                }
                Floats::F16 => simt.store_pair(to, [to_f16(a, b), to_f16(c, d)]),
                Floats::Bf16 if count > WORDS => {
                    simt.store_vector(to, [to_bf16(a, b), to_bf16(c, d), to_bf16(e, f), to_bf16(g, h)]);
                }
                Floats::Bf16 => simt.store_pair(to, [to_bf16(a, b), to_bf16(c, d)]),
            }
        }
    }

    /// Writes one element of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn store_one<S: Simt>(self, simt: S, row: OutRow, place: u64, value: f32) {
        let to = self.element(row, place);
        // SAFETY: as of `store`.
        unsafe {
            match self.floats {
                Floats::F32 => simt.store(to.cast(), f32_bits(value)),
                Floats::F16 => simt.store_short(to.cast(), to_f16(value, value)),
                Floats::Bf16 => simt.store_short(to.cast(), to_bf16(value, value)),
            }
        }
    }
}
