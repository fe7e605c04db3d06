//! The memory around an array that may be read with it.

use crate::tree::VECTOR_BYTES;

/// The addresses that may be read: from the first on, before the second.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Around(pub usize, pub usize);

impl Around {
    /// Whether all from the address `first` up to `end` may be read.
    pub(crate) fn has(self, first: usize, end: usize) -> bool {
        self.0 <= first && end <= self.1
    }

    /// Whether all aligned words that `bytes` bytes from the address `first` on touch may be read.
    pub(crate) fn has_words(self, first: usize, bytes: usize) -> bool {
        self.has(first & !3, (first + bytes).next_multiple_of(4))
    }

    /// Whether all aligned vectors that `bytes` bytes from the address `first` on touch may be read.
    pub(crate) fn has_vectors(self, first: usize, bytes: usize) -> bool {
        self.has(
            first & !(VECTOR_BYTES - 1),
            (first + bytes).next_multiple_of(VECTOR_BYTES),
        )
    }
}
