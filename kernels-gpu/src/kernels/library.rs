//! What a crate has built, as the host sees it.

use core::fmt;

use super::{Entry, Kernel, Launch};
use crate::element::Type;

/// What one crate has built: this one, or one of a user's own.
pub struct Library {
    /// The crate's package.
    pub package: &'static str,
    /// Its operators' entry points, in lists; [`entries`](Self::entries) are all of them.
    pub lists: &'static [&'static [Entry]],
    /// Its row operations' entry points, in lists; [`row_entries`](Self::row_entries) are all of them.
    pub rows: &'static [&'static [Entry]],
    /// Their PTX; none for those of warpfold's own crates, which the host library embeds.
    pub ptx: Option<Embedded>,
}

impl Library {
    /// Its operators' entry points.
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> + use<> {
        self.lists.iter().copied().flatten()
    }

    /// Those of its row operations.
    pub fn row_entries(&self) -> impl Iterator<Item = &'static Entry> + use<> {
        self.rows.iter().copied().flatten()
    }

    /// The entry that folds elements of a type with an operator in a kernel; none if it is not built. Where an operator folds signed
    /// integers or bool as it does unsigned ones (their sums in 64 bits, counts, bitwise operations, extrema once
    /// [passed](super::OpParams::signed)), it is built for the unsigned type alone, and its entry is that one's.
    #[must_use]
    pub fn find(&self, op: &str, element: Type, kernel: Kernel) -> Option<&'static Entry> {
        let built = |element: Type| {
            let is = |entry: &&Entry| entry.folds(op) && entry.element == element && entry.kernel == kernel;
            self.entries().find(is)
        };
        built(element).or_else(|| built(element.unsigned()))
    }

    /// A number that changes with the names and the [facts](Entry::facts) of its entries: PTX of another one is of another source. Code that changes
    /// none of them shows in no number: packages of one version are of one source.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        let mut hash = Fnv::NEW;
        let mut list = 0;
        while list < self.lists.len() {
            let mut i = 0;
            while i < self.lists[list].len() {
                let entry = &self.lists[list][i];
                hash = hash.bytes(entry.name.as_bytes());
                let facts = entry.facts();
                let mut fact = 0;
                while fact < facts.len() {
                    hash = hash.bytes(&facts[fact].to_le_bytes());
                    fact += 1;
                }
                i += 1;
            }
            list += 1;
        }
        hash.0
    }
}

/// The hash of Fowler, Noll and Vo, FNV-1a of 64 bits: short, and computed while a program is compiled.
struct Fnv(u64);

impl Fnv {
    const NEW: Self = Self(0xcbf2_9ce4_8422_2325);

    const fn bytes(self, bytes: &[u8]) -> Self {
        let (mut hash, mut i) = (self.0, 0);
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
            i += 1;
        }
        Self(hash)
    }
}

/// Its entries know it, so it is shown by its name.
impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.package)
    }
}

/// There is one of each.
impl PartialEq for Library {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

/// PTX in a program.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// Modules that are alike are packed together.
    pub packs: &'static [Pack],
    /// What made them; none where there are none.
    pub generator: Option<&'static str>,
    /// The [fingerprint](Library::fingerprint) of the library that they are of, where they were packed beforehand.
    pub fingerprint: Option<u64>,
}

/// Modules of PTX, for every architecture and entry of an operator's kernel, whose texts are much alike.
#[derive(Clone, Copy, Debug)]
pub struct Pack {
    /// Where each is in the text.
    pub modules: &'static [Ptx],
    /// Their text, one after the other, compressed by brotli.
    pub packed: &'static [u8],
}

/// A module of PTX.
#[derive(Clone, Copy, Debug)]
pub struct Ptx {
    /// The architecture it was compiled for: 90 for compute capability 9.0.
    pub arch: u32,
    /// Its entry; of what a user's crate has beside its operators, the crate.
    pub name: &'static str,
    /// Where its text begins in that of its pack, in bytes.
    pub start: usize,
    /// Bytes of its text.
    pub len: usize,
}

/// What the build must know of an entry: largest block, blocks of that size (0 if it does not matter), words of the state and of
/// the answer, whether it fuses, how many barriers it has, and the bytes of what a launch passes.
pub type Facts = [u32; 7];

impl Entry {
    /// What the build must know of it.
    #[must_use]
    pub const fn facts(&self) -> Facts {
        let blocks = match self.min_blocks {
            Some(blocks) => blocks,
            None => 0,
        };
        [
            self.max_threads,
            blocks,
            self.state_words as u32,
            self.answer_words as u32,
            self.fuses as u32,
            self.barriers,
            size_of::<Launch>() as u32,
        ]
    }

    /// The line of its module by which the host knows that the module is of this very entry.
    #[must_use]
    pub fn note(&self) -> Note<'static> {
        Note {
            name: self.name,
            facts: self.facts(),
        }
    }
}

/// A line in a module of PTX, a comment: an entry and its facts. Where they are others than the host's, the module was built
/// from another source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// The entry.
    pub name: &'a str,
    /// What it was built as.
    pub facts: Facts,
}

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "// {} {:?}", self.name, self.facts)
    }
}

/// How many registers an operator's kernels may use, said as launch bounds.
///
/// Take the first that does: `cargo xtask build-ptx` fails where registers spill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchBounds {
    /// The largest block of [`Kernel::All`].
    pub(super) threads: u32,
    /// How many of those a multiprocessor must have registers for.
    pub(super) blocks: u32,
    /// The largest block of [`Kernel::Small`].
    pub(super) small_threads: u32,
    /// How many of those a multiprocessor must have registers for. With two, all of its 256 blocks run at once; without any bound
    /// the assembler would save registers where there is no occupancy to gain, and keep fewer loads in flight.
    pub(super) small_blocks: u32,
    /// How many threads a multiprocessor must have registers for, at most, where [elements lie apart](Kernel::Strided).
    pub(super) strided: u32,
}

impl LaunchBounds {
    /// 32 warps with 64 registers a thread.
    pub const REGS_64: Self = Self {
        threads: 512,
        blocks: 2,
        small_threads: 512,
        small_blocks: 2,
        strided: 512,
    };
    /// For operators that would spill then: 24 warps with 80 registers a thread.
    pub const REGS_80: Self = Self {
        threads: 256,
        blocks: 3,
        small_threads: 512,
        small_blocks: 2,
        strided: 512,
    };
    /// For operators that would spill even then, and for many small elements in a vector: 16 warps with 128 registers a thread.
    pub const REGS_128: Self = Self {
        threads: 256,
        blocks: 2,
        small_threads: 512,
        small_blocks: 1,
        strided: 512,
    };
    /// The same, with all the registers that a thread can have where elements lie apart.
    pub const REGS_128_STRIDED_255: Self = Self {
        strided: 256,
        ..Self::REGS_128
    };
    /// For operators whose states are of many words, a column of them at a time: 12 warps with 168 registers a thread.
    pub const REGS_168: Self = Self {
        threads: 128,
        blocks: 3,
        small_threads: 256,
        small_blocks: 1,
        strided: 512,
    };
    /// For many states of two words: 8 warps with all the registers that a thread can have.
    pub const REGS_255: Self = Self {
        threads: 256,
        blocks: 1,
        small_threads: 256,
        small_blocks: 1,
        strided: 512,
    };
}
