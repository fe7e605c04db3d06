//! Global memory: buffers at real addresses, with exact ends.
//!
//! Kernels get pointers to compute with; the machine never follows one. It looks the address up among the registered
//! buffers and reads or writes its own words, so a wild pointer is a fault and never an access.

use warpfold_kernels::element::Element;

use crate::{
    clock::Track,
    fault::{Fault, Nearest, Site},
};

/// Words around each buffer, so that what lies just outside it is no other buffer.
const GUARD_WORDS: usize = 1024;

/// What guards hold: a NaN as a float, an unlikely number as an integer.
const POISON: u32 = 0x7fc0_dead;

/// Four words at an address that a wide load accepts.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Quad([u32; 4]);

/// Bytes at real, consecutive addresses, with guards to both sides.
struct Space {
    quads: Vec<Quad>,
    /// The first byte, counted from the first guard.
    first: usize,
    bytes: usize,
}

impl Space {
    /// `bytes` bytes; the first is `misalign` bytes past a 16-byte boundary.
    fn new(bytes: usize, misalign: usize) -> Self {
        assert!(
            misalign < size_of::<Quad>(),
            "a misalignment of {misalign} bytes: there are only 0 to 15"
        );
        let first = 4 * GUARD_WORDS + misalign;
        let quads = vec![Quad([POISON; 4]); (first + bytes + 4 * GUARD_WORDS).div_ceil(size_of::<Quad>())];
        Self { quads, first, bytes }
    }

    fn start(&self) -> *const u8 {
        self.quads.as_ptr().cast::<u8>().wrapping_add(self.first)
    }

    /// Where `address` lies, in bytes from the start, if all of `bytes` bytes from there on are inside.
    fn offset(&self, address: usize, bytes: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.start().addr());
        (offset < self.bytes && self.bytes - offset >= bytes).then_some(offset)
    }

    /// The word that has the byte at an offset.
    fn word(&mut self, offset: usize) -> &mut u32 {
        let at = (self.first + offset) / 4;
        &mut self.quads[at / 4].0[at % 4]
    }

    /// The word at an offset, its address being a multiple of 4.
    fn get(&self, offset: usize) -> u32 {
        let at = (self.first + offset) / 4;
        self.quads[at / 4].0[at % 4]
    }

    fn byte(&self, offset: usize) -> u8 {
        (self.get(offset) >> (8 * ((self.first + offset) % 4))) as u8
    }

    fn set_byte(&mut self, offset: usize, byte: u8) {
        let shift = 8 * ((self.first + offset) % 4);
        let word = self.word(offset);
        *word = *word & !(0xff << shift) | u32::from(byte) << shift;
    }
}

struct InputBuffer {
    name: &'static str,
    space: Space,
}

/// A buffer that kernels may write, with the accesses to each of its words.
pub(crate) struct WordBuffer {
    pub name: &'static str,
    space: Space,
    /// Bytes of a word, at most 4.
    unit: usize,
    pub tracks: Vec<Track>,
}

impl WordBuffer {
    pub fn get(&self, at: usize) -> u32 {
        let byte = |i| u32::from(self.space.byte(self.unit * at + i)) << (8 * i);
        (0..self.unit).map(byte).sum()
    }
    pub fn set(&mut self, at: usize, word: u32) {
        for i in 0..self.unit {
            self.space.set_byte(self.unit * at + i, (word >> (8 * i)) as u8);
        }
    }
}

/// A read-write buffer of words, of 32 bits or fewer, registered in a [`Memory`].
#[derive(Clone, Copy, Debug)]
pub struct Words {
    index: usize,
    start: *mut u32,
}

impl Words {
    /// The first word's address, to pass to a kernel.
    #[must_use]
    pub fn start(self) -> *mut u32 {
        self.start
    }
}

/// The global memory of a machine: every buffer that a kernel may touch.
#[derive(Default)]
pub struct Memory {
    inputs: Vec<InputBuffer>,
    words: Vec<WordBuffer>,
}

impl Memory {
    /// No buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a read-only copy of `values`. Its first element lies `misalign` elements past a 16-byte boundary.
    ///
    /// # Panics
    ///
    /// If `misalign` elements are 16 bytes or more.
    pub fn input<T: Element>(&mut self, name: &'static str, values: &[T], misalign: usize) -> *const T {
        let mut space = Space::new(size_of_val(values), misalign * size_of::<T>());
        for (at, value) in values.iter().enumerate() {
            for byte in 0..size_of::<T>() {
                let bits = value.word(byte / 4) >> (8 * (byte % 4));
                space.set_byte(at * size_of::<T>() + byte, bits as u8);
            }
        }
        let start = space.start().cast();
        self.inputs.push(InputBuffer { name, space });
        start
    }

    /// Registers `count` words that nobody has written yet.
    pub fn words(&mut self, name: &'static str, count: usize) -> Words {
        self.packed(name, count, 4)
    }

    /// Registers `count` words of `unit` bytes, 1, 2 or 4, that nobody has written yet. Each is written at once.
    pub fn packed(&mut self, name: &'static str, count: usize, unit: usize) -> Words {
        let space = Space::new(unit * count, 0);
        let tracks = vec![Track::default(); count];
        let words = Words {
            index: self.words.len(),
            start: space.start().cast_mut().cast(),
        };
        self.words.push(WordBuffer {
            name,
            space,
            unit,
            tracks,
        });
        words
    }

    /// Registers a read-write copy of `values`.
    pub fn words_from(&mut self, name: &'static str, values: &[u32]) -> Words {
        let words = self.words(name, values.len());
        let buffer = &mut self.words[words.index];
        for (at, &value) in values.iter().enumerate() {
            buffer.set(at, value);
            buffer.tracks[at].written = true;
        }
        words
    }

    /// Word `at` of a buffer; `None` if nobody wrote it.
    ///
    /// # Panics
    ///
    /// If the buffer has no such word.
    #[must_use]
    pub fn word(&self, words: Words, at: usize) -> Option<u32> {
        let buffer = &self.words[words.index];
        buffer.tracks[at].written.then(|| buffer.get(at))
    }

    pub(crate) fn split(self) -> (Inputs, Vec<WordBuffer>) {
        (Inputs(self.inputs), self.words)
    }

    pub(crate) fn join(inputs: Inputs, words: Vec<WordBuffer>) -> Self {
        Self {
            inputs: inputs.0,
            words,
        }
    }
}

/// The read-only buffers: no launch changes them, so reading them needs no bookkeeping.
pub(crate) struct Inputs(Vec<InputBuffer>);

impl Inputs {
    /// The word at `address`, if an input has it.
    pub fn word(&self, address: usize) -> Option<u32> {
        self.find(address, 4).map(|(space, offset)| space.get(offset))
    }

    /// The byte at `address`, if an input has it.
    pub fn byte(&self, address: usize) -> Option<u8> {
        self.find(address, 1).map(|(space, offset)| space.byte(offset))
    }

    /// The two bytes at the aligned `address`, if an input has both.
    pub fn short(&self, address: usize) -> Option<u16> {
        self.find(address, 2)
            .map(|(space, offset)| u16::from_le_bytes([space.byte(offset), space.byte(offset + 1)]))
    }

    /// The four words at the aligned `address`, if an input has them all.
    pub fn quad(&self, address: usize) -> Option<[u32; 4]> {
        self.find(address, 16)
            .map(|(space, offset)| space.quads[(space.first + offset) / size_of::<Quad>()].0)
    }

    /// The input that has `address`, and the word of it that lies there.
    pub fn name(&self, address: usize) -> Option<(&'static str, usize)> {
        let named = |input: &InputBuffer| Some((input.name, input.space.offset(address, 1)? / 4));
        self.0.iter().find_map(named)
    }

    fn find(&self, address: usize, bytes: usize) -> Option<(&Space, usize)> {
        self.0
            .iter()
            .find_map(|input| Some((&input.space, input.space.offset(address, bytes)?)))
    }

    /// That an address is in neither an input nor one of `words`.
    pub fn out_of_bounds(&self, words: &[WordBuffer], by: Site, address: usize, bytes: usize) -> Fault {
        let inputs = self.0.iter().map(|input| (input.name, &input.space));
        let words = words.iter().map(|buffer| (buffer.name, &buffer.space));
        let nearest = inputs.chain(words).map(|(buffer, space)| Nearest {
            buffer,
            offset: address.wrapping_sub(space.start().addr()).cast_signed(),
            bytes: space.bytes,
        });
        let distance = |near: &Nearest| match usize::try_from(near.offset) {
            Ok(offset) => offset.saturating_sub(near.bytes),
            Err(_) => near.offset.unsigned_abs(),
        };
        Fault::OutOfBounds {
            by,
            address,
            bytes,
            nearest: nearest.min_by_key(distance),
        }
    }
}

/// The read-write buffer of words of so many bytes that has `address`, and the word of it that lies there.
pub(crate) fn find_word(words: &[WordBuffer], address: usize, bytes: usize) -> Option<(usize, usize)> {
    let find = |(index, buffer): (usize, &WordBuffer)| Some((index, buffer.space.offset(address, bytes)? / bytes));
    words
        .iter()
        .enumerate()
        .filter(|(_, buffer)| buffer.unit == bytes)
        .find_map(find)
}
