//! How a lane reads its vectors: whole, in part, of any alignment.

use crate::{
    element::{Element, Item},
    simt::Simt,
    stages::load::around::Around,
    tree::{LANES, ROWS, VECTOR_BYTES, place, row_elements, vector_elements},
};

/// 32-bit words in a vector.
pub const WORDS: usize = VECTOR_BYTES / 4;

/// A lane's vectors of as many rows of a leaf.
pub type Vectors<const N: usize> = [[u32; WORDS]; N];

/// What a vector has where memory has no element: an operator's [`filler`](crate::monoids::Monoid::filler) again and again; or anything.
pub(crate) type Filler = Option<[u32; WORDS]>;

/// As many places as a part may have: all hold elements.
pub(crate) const ALL: u32 = u32::MAX;

/// Elements in a word: of larger ones, one.
pub(crate) const fn word_elements<T: Item>() -> usize {
    if T::BYTES < 4 { 4 / T::BYTES } else { 1 }
}

/// Whether an element is a vector.
pub(crate) const fn is_vector<T: Item>() -> bool {
    T::BYTES == VECTOR_BYTES
}

/// An element's bytes, of at most 8.
///
/// # Safety
///
/// `from` is valid for an element, aligned and unwritten.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) unsafe fn load_element<S: Simt, T: Element>(simt: S, from: *const T) -> u64 {
    // SAFETY: the caller's word.
    unsafe {
        match size_of::<T>() {
            1 => u64::from(simt.load_input_byte(from.cast())),
            2 => u64::from(simt.load_input_short(from.cast())),
            4 => u64::from(simt.load_input(from.cast())),
            _ => {
                let low = u64::from(simt.load_input(from.cast()));
                low | u64::from(simt.load_input(from.cast::<u32>().wrapping_add(1))) << 32
            }
        }
    }
}

/// Memory that a lane reads vectors of: a row of a leaf apart, of which the first `present` places hold elements.
#[derive(Clone, Copy)]
pub(crate) struct Span<T> {
    from: *const T,
    present: u32,
    around: Around,
    filler: Filler,
}

impl<T> Span<T> {
    /// From an address on. What is absent is read as the filler, if there is one.
    ///
    /// # Safety
    ///
    /// `from` is valid for `present` places' elements, and `around` for all of itself, and nobody writes them; a [way](super::source::Access) that reads it may read all that it says it does.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) unsafe fn new(from: *const T, present: u32, around: Around, filler: Filler) -> Self {
        Self {
            from,
            present,
            around,
            filler,
        }
    }

    /// How many places hold elements.
    pub(crate) fn present(self) -> u32 {
        self.present
    }

    /// What stands where there is none.
    pub(crate) fn filler(self) -> Filler {
        self.filler
    }

    /// The address of the first place.
    pub(crate) fn from(self) -> *const T {
        self.from
    }

    /// Whether all aligned words from the first place's up to `bytes` bytes behind it may be read.
    pub(crate) fn has_words(self, bytes: usize) -> bool {
        self.around.has_words(self.from.addr(), bytes)
    }

    /// The same memory, as elements of another type.
    pub(crate) fn cast<U>(self) -> Span<U> {
        Span {
            from: self.from.cast(),
            present: self.present,
            around: self.around,
            filler: self.filler,
        }
    }
}

/// `N` vectors of any alignment, and fillers: of small elements where all of a vector is absent, the rest being to be [`filled`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn load_ragged<S: Simt, T: Element, const N: usize>(simt: S, span: Span<T>) -> Vectors<N> {
    if size_of::<T>() >= 4 {
        return load_words(simt, span);
    }
    let Span {
        from, present, around, ..
    } = span;
    let rows = present.div_ceil(row_elements::<T>() as u32).clamp(1, N as u32);
    let bytes = (rows - 1) as usize * row_elements::<T>() * size_of::<T>() + VECTOR_BYTES;
    let held = present.min(vector_elements::<T>() as u32) as usize * size_of::<T>();
    // Every word, or every aligned vector, that is touched may be read; else only what is present is.
    if N == 1 && (present == 0 || around.has_words(from.addr(), held)) {
        load_words(simt, span)
    } else if N > 1 && around.has_vectors(from.addr(), bytes) {
        load_across(simt, span)
    } else {
        load_elements(simt, span)
    }
}

/// Vectors of small elements of `T`, or of the bytes of its mask, each of `bytes` bytes: with a filler's words in the one vector that may
/// have `present` places in part. Where all of a vector is absent they are there already.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn filled<T: Item, const N: usize>(
    vectors: Vectors<N>,
    present: u32,
    bytes: usize,
    filler: Filler,
) -> Vectors<N> {
    let Some(filler) = filler else {
        return vectors;
    };
    let last = if N == 1 {
        0
    } else {
        present / row_elements::<T>() as u32
    };
    let here = (present - last * row_elements::<T>() as u32).min(vector_elements::<T>() as u32);
    let bits = 8 * bytes as u32 * here;
    let (low, high) = (low_bits(bits), low_bits(u32::saturating_sub(bits, 64)));
    let kept = [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32];
    let mut rows = vectors;
    macro_rules! write_out {
        ($($i:literal)*) => {
            $(if $i < N && $i == last {
                rows[$i] = mixed(vectors[$i], filler, kept);
            })*
        };
    }
    const { assert!(N <= 8, "eight rows are written out") };
    write_out!(0 1 2 3 4 5 6 7);
    rows
}

/// The first `bits` bits, of 64.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn low_bits(bits: u32) -> u64 {
    if bits < 64 { !(u64::MAX << bits) } else { u64::MAX }
}

/// A vector's bits that are kept, the others a filler's.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn mixed(vector: [u32; WORDS], filler: [u32; WORDS], kept: [u32; WORDS]) -> [u32; WORDS] {
    let ([a, b, c, d], [e, f, g, h], [i, j, k, l]) = (vector, filler, kept);
    [a & i | e & !i, b & j | f & !j, c & k | g & !k, d & l | h & !l]
}

/// Row `i` of `N` rows, each by its own piece of code: a loop is none that the compiler unrolls where it is long, and the words
/// would lie in memory.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn each_row<const N: usize>(mut row: impl FnMut(usize) -> [u32; WORDS]) -> Vectors<N> {
    const { assert!(N <= 8, "eight rows are written out") };
    let mut rows = [[0; WORDS]; N];
    macro_rules! write_out {
        ($($i:literal)*) => {
            $(if $i < N {
                rows[$i] = row($i);
            })*
        };
    }
    write_out!(0 1 2 3 4 5 6 7);
    rows
}

/// By 16-byte loads: all is there, and 16-byte aligned.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn load_whole<S: Simt, T: Element, const N: usize>(simt: S, Span { from, .. }: Span<T>) -> Vectors<N> {
    // SAFETY: so the span's maker has it.
    each_row(|row| unsafe { simt.load_input_vector(from.wrapping_add(row * row_elements::<T>()).cast()) })
}

/// By 16-byte loads, and a filler for rows of which no place is present: all is 16-byte aligned, and there as a whole where a place is present.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn load_wide<S: Simt, T: Element, const N: usize>(simt: S, span: Span<T>) -> Vectors<N> {
    each_row(|row| {
        let is_present = (place::<T>(row, 0) as u32) < span.present;
        let from = span.from.wrapping_add(row * row_elements::<T>()).cast();
        // SAFETY: so the span's maker has it.
        unsafe { simt.load_input_vector_if(is_present, from, span.filler.unwrap_or_default()) }
    })
}

/// By 4-byte loads: of elements of whole words those that are present, and a filler; of smaller ones the words that hold any of those,
/// shifted into place. These may be read.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn load_words<S: Simt, T: Element, const N: usize>(simt: S, span: Span<T>) -> Vectors<N> {
    let Span {
        from, present, filler, ..
    } = span;
    let aligned = from.map_addr(|address| address & !3).cast::<u32>();
    let offset = from.addr() as u32 & 3;
    each_row(|row| {
        let from = aligned.wrapping_add(row * LANES as usize * WORDS);
        let here = u32::saturating_sub(present, place::<T>(row, 0) as u32).min(vector_elements::<T>() as u32);
        if size_of::<T>() >= 4 {
            // SAFETY: so many words are present.
            return unsafe {
                simt.load_input_words(here * (size_of::<T>() / 4) as u32, from, filler.unwrap_or_default())
            };
        }
        let bytes = if here > 0 {
            offset + here * size_of::<T>() as u32
        } else {
            0
        };
        // SAFETY: the span's words may be read; a vector lies across five at most.
        unsafe {
            let words = simt.load_input_words(bytes.div_ceil(4).min(4), from, [0; WORDS]);
            let last = if bytes > VECTOR_BYTES as u32 {
                simt.load_input(from.wrapping_add(WORDS))
            } else {
                0
            };
            shifted_by_bytes(words, last, offset)
        }
    })
}

/// By 16-byte loads whatever the alignment: of the two aligned vectors that each vector lies across, shifted into place. Rows of
/// which no place is present have the filler. All aligned vectors that are touched may be read. More instructions than [`load_words`], and less than half of what the cache must serve.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn load_across<S: Simt, T: Element, const N: usize>(simt: S, span: Span<T>) -> Vectors<N> {
    let Span {
        from, present, filler, ..
    } = span;
    let offset = from.addr() as u32 % VECTOR_BYTES as u32;
    let aligned = from.map_addr(|address| address - offset as usize).cast::<u32>();
    // Shifted by whole elements it is the same.
    let absent = filler.unwrap_or_default();
    each_row(|row| {
        let is_present = (place::<T>(row, 0) as u32) < present;
        let from = aligned.wrapping_add(row * LANES as usize * WORDS);
        // SAFETY: the span's vectors may be read.
        let (low, high) = unsafe {
            let high = is_present && offset != 0;
            (
                simt.load_input_vector_if(is_present, from, absent),
                simt.load_input_vector_if(high, from.wrapping_add(WORDS), absent),
            )
        };
        shifted(low, high, offset)
    })
}

/// The vector that begins `offset` bytes into `low`, and ends in `high`.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn shifted([a, b, c, d]: [u32; WORDS], [e, f, g, h]: [u32; WORDS], offset: u32) -> [u32; WORDS] {
    // By two words, by one, and by bytes.
    let by = |yes: bool, from: u32, to: u32| if yes { to } else { from };
    let two = offset & 8 != 0;
    let (a, b, c) = (by(two, a, c), by(two, b, d), by(two, c, e));
    let (d, e, f) = (by(two, d, f), by(two, e, g), by(two, f, h));
    let one = offset & 4 != 0;
    let (a, b, c) = (by(one, a, b), by(one, b, c), by(one, c, d));
    let (d, e) = (by(one, d, e), by(one, e, f));
    shifted_by_bytes([a, b, c, d], e, offset & 3)
}

/// The vector that begins `offset` bytes into the word `a`, at most 3, and ends in `e`.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn shifted_by_bytes([a, b, c, d]: [u32; WORDS], e: u32, offset: u32) -> [u32; WORDS] {
    let bits = 8 * offset;
    let across = |low: u32, high: u32| low >> bits | (high << 1) << (31 - bits);
    [across(a, b), across(b, c), across(c, d), across(d, e)]
}

/// The bits of a filler's element, of at most 8 bytes; of none anything.
pub(crate) fn absent_bits<T: Item>(filler: Filler) -> u64 {
    let [low, high, ..] = filler.unwrap_or_default();
    match T::BYTES {
        1 => u64::from(low & 0xff),
        2 => u64::from(low & 0xffff),
        4 => low.into(),
        _ => u64::from(low) | u64::from(high) << 32,
    }
}

/// Element by element: of small ones at an end of what may be read, which few blocks reach.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn load_elements<S: Simt, T: Element, const N: usize>(simt: S, span: Span<T>) -> Vectors<N> {
    let Span {
        from, present, filler, ..
    } = span;
    let mut rows = [[0; WORDS]; N];
    let absent = absent_bits::<T>(filler) as u32;
    // No compiler knows how many turns there are nor counts them: it would unroll so short a loop, and this is code that is seldom run.
    let mut row = simt.opaque(0);
    while row < N as u32 {
        let first = row * row_elements::<T>() as u32;
        let here = u32::saturating_sub(present, first);
        let from = from.wrapping_add(first as usize);
        let element = |i: usize| {
            if i as u32 >= here {
                return absent;
            }
            // SAFETY: the element is present.
            unsafe { load_element::<S, T>(simt, from.wrapping_add(i)) as u32 }
        };
        let word = |i: usize| {
            if size_of::<T>() == 2 {
                element(2 * i) | element(2 * i + 1) << 16
            } else {
                let half = |i: usize| element(i) | element(i + 1) << 8;
                half(4 * i) | half(4 * i + 2) << 16
            }
        };
        let read = [word(0), word(1), word(2), word(3)];
        let before = rows;
        rows = each_row(|i| if i + 1 < N { before[i + 1] } else { read });
        row = simt.opaque(row + 1);
    }
    rows
}

/// The rows of a part, `N` of them in a turn.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn rows_in_turns<S: Simt, const N: usize>(
    simt: S,
    mut row: impl FnMut(usize) -> [u32; WORDS],
) -> Vectors<ROWS> {
    let mut rows = [[0; WORDS]; ROWS];
    let turns = simt.opaque((ROWS / N) as u32) as usize;
    let mut turn = 0;
    while turn < turns {
        let read = each_row::<N>(|i| row(turn * N + i));
        let before = rows;
        rows = each_row(|i| {
            if i + N < ROWS {
                before[i + N]
            } else {
                read[i + N - ROWS]
            }
        });
        turn += 1;
    }
    rows
}

/// A vector made of its elements, which are asked for in order.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn vector<T: Item>(mut element: impl FnMut(usize) -> u64) -> [u32; WORDS] {
    if T::BYTES == 8 {
        let (a, b) = (element(0), element(1));
        return [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32];
    }
    let mut word = |i: usize| match T::BYTES {
        1 => {
            let mut byte = |column: usize| (element(4 * i + column) as u32) << (8 * column);
            byte(0) | byte(1) | byte(2) | byte(3)
        }
        2 => element(2 * i) as u32 | (element(2 * i + 1) as u32) << 16,
        _ => element(i) as u32,
    };
    [word(0), word(1), word(2), word(3)]
}

/// Element `column` of a vector.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn element<T: Element>(words: [u32; WORDS], column: usize) -> T {
    if is_vector::<T>() {
        T::from_words(|i| words[i])
    } else {
        T::from_bits(element_bits::<T>(words, column))
    }
}

/// The bits of element `column` of a vector, of at most 8 bytes.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn element_bits<T: Element>(words: [u32; WORDS], column: usize) -> u64 {
    let bytes = size_of::<T>();
    let first = column * bytes;
    let word = u64::from(words[first / 4]);
    if bytes == 8 {
        word | u64::from(words[first / 4 + 1]) << 32
    } else {
        word >> (8 * (first % 4))
    }
}
