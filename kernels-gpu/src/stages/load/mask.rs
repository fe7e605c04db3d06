//! How a lane reads its part of a mask: for each vector of the array a byte for each of its elements, in the first bytes of the
//! words of a vector.

use crate::{
    element::{Element, Item},
    simt::Simt,
    stages::load::words::{Filler, Span, Vectors, WORDS, each_row, shifted_by_bytes},
    tree::{place, row_elements, vector_elements},
};

/// The address of a mask that there is not: everything is selected, and nothing read. Addresses of its elements have the highest bit, too,
/// which none in memory has, for no offset reaches 2⁶².
pub const NO_MASK: u64 = 3 << 62;

/// Whether an address is of a mask.
pub(crate) fn is_there<T>(from: *const T) -> bool {
    (from.addr() as u64) < 1 << 63
}

/// A mask's part that selects all of each row of which a place is present.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn all<T: Item, const N: usize>(present: u32) -> Vectors<N> {
    each_row(|row| {
        let word = |i: usize| {
            let is_selected = 4 * i < vector_elements::<T>() && (place::<T>(row, 0) as u32) < present;
            if is_selected { 0x0101_0101 } else { 0 }
        };
        [word(0), word(1), word(2), word(3)]
    })
}

/// Nothing is selected where there is no element.
pub(crate) const NOTHING: Filler = Some([0; WORDS]);

/// Whether the bytes of a vector's elements are a vector themselves.
const fn is_vector<T: Item>() -> bool {
    vector_elements::<T>() == 4 * WORDS
}

/// Words that the bytes of a vector's elements touch at most.
const fn touched<T: Item>() -> usize {
    vector_elements::<T>().div_ceil(4) + 1
}

/// As many bytes as a vector has elements, from a multiple of as many on, if they are wanted.
///
/// # Safety
///
/// If they are wanted, `from` is valid for them, and nobody writes them.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_row<S: Simt, T: Element>(simt: S, wanted: bool, from: *const u8) -> [u32; WORDS] {
    // SAFETY: the caller's word.
    let word = |i: usize| unsafe { simt.load_input_if(wanted, from.wrapping_add(4 * i).cast(), 0) };
    match vector_elements::<T>() {
        // SAFETY: as above.
        16 => unsafe { simt.load_input_vector_if(wanted, from.cast(), [0; WORDS]) },
        8 => [word(0), word(1), 0, 0],
        4 => [word(0), 0, 0, 0],
        // SAFETY: as above.
        2 if wanted => [unsafe { simt.load_input_short(from.cast()) }, 0, 0, 0],
        2 => [0; WORDS],
        _ => panic!("no element under a mask is as large as a vector"),
    }
}

/// By the widest loads that have as many bytes as a vector has elements: all is there, and aligned to so many.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn load_whole<S: Simt, T: Element, const N: usize>(simt: S, span: Span<u8>) -> Vectors<N> {
    each_row(|row| {
        let from = span.from().wrapping_add(row * row_elements::<T>());
        // SAFETY: so the span's maker has it.
        unsafe {
            if is_vector::<T>() {
                simt.load_input_vector(from.cast())
            } else {
                load_row::<S, T>(simt, true, from)
            }
        }
    })
}

/// The same, and zeros for rows of which no place is present; others are there as a whole.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn load_wide<S: Simt, T: Element, const N: usize>(simt: S, span: Span<u8>) -> Vectors<N> {
    each_row(|row| {
        let is_present = (place::<T>(row, 0) as u32) < span.present();
        // SAFETY: so the span's maker has it.
        unsafe { load_row::<S, T>(simt, is_present, span.from().wrapping_add(row * row_elements::<T>())) }
    })
}

/// Of any alignment. What is read where there is no element is anything.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn load_ragged<S: Simt, T: Element, const N: usize>(simt: S, span: Span<u8>) -> Vectors<N> {
    let rows = span.present().div_ceil(row_elements::<T>() as u32).clamp(1, N as u32);
    let bytes = (rows - 1) as usize * row_elements::<T>() + vector_elements::<T>();
    // Every word that is touched may be read; else only what is present is.
    if span.has_words(bytes) {
        load_words::<S, T, N>(simt, span)
    } else {
        load_bytes::<S, T, N>(simt, span)
    }
}

/// By the words that hold a place that is present, shifted into place. These may be read.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn load_words<S: Simt, T: Element, const N: usize>(simt: S, span: Span<u8>) -> Vectors<N> {
    let offset = span.from().addr() as u32 & 3;
    let aligned = span.from().map_addr(|address| address & !3);
    each_row(|row| {
        let here = u32::saturating_sub(span.present(), place::<T>(row, 0) as u32).min(vector_elements::<T>() as u32);
        let end = if here > 0 { offset + here } else { 0 };
        let from = aligned.wrapping_add(row * row_elements::<T>());
        let word = |i: usize| {
            if i >= touched::<T>() {
                return 0;
            }
            // SAFETY: the span's words may be read.
            unsafe { simt.load_input_if(4 * (i as u32) < end, from.wrapping_add(4 * i).cast(), 0) }
        };
        let first = if is_vector::<T>() {
            // SAFETY: as above.
            unsafe { simt.load_input_words(end.div_ceil(4).min(4), from.cast(), [0; WORDS]) }
        } else {
            [word(0), word(1), word(2), 0]
        };
        shifted_by_bytes(first, word(4), offset)
    })
}

/// Byte by byte: at an end of what may be read, which few blocks reach.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn load_bytes<S: Simt, T: Element, const N: usize>(simt: S, span: Span<u8>) -> Vectors<N> {
    let mut rows = [[0; WORDS]; N];
    // No compiler knows how many turns there are nor counts them: so short a loop would be unrolled even so.
    let mut row = simt.opaque(0);
    while row < N as u32 {
        let first = row * row_elements::<T>() as u32;
        let bytes = u32::saturating_sub(span.present(), first);
        let from = span.from().wrapping_add(first as usize);
        let read = packed::<T>(|i| {
            if i as u32 >= bytes {
                return 0;
            }
            // SAFETY: the byte is present.
            unsafe { simt.load_input_byte(from.wrapping_add(i)) }
        });
        let before = rows;
        rows = each_row(|i| if i + 1 < N { before[i + 1] } else { read });
        row = simt.opaque(row + 1);
    }
    rows
}

/// As many bytes as a vector has elements, which are asked for in order.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn packed<T: Item>(mut byte: impl FnMut(usize) -> u32) -> [u32; WORDS] {
    let mut at = |i: usize| if i < vector_elements::<T>() { byte(i) } else { 0 };
    let mut word = |i: usize| at(i) | at(i + 1) << 8 | at(i + 2) << 16 | at(i + 3) << 24;
    [word(0), word(4), word(8), word(12)]
}
