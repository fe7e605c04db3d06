//! Entry points: what the host launches.
//!
//! [`LIBRARY`] is made from one list, `table.rs`: operators, and the types of elements each is built for. A kernel's symbol is
//! the operator's name, the kernel's, and the type's: `sum_f32`, `sum_small_f32`, `sum_rows_f32`, `sum_strided_f32`,
//! `sum_segments_f32`.
//!
//! Each is [load](crate::stages::load), [reduce](crate::stages::reduce), [emit](crate::stages::emit): one line a stage.
//!
//! [Row operations](rowwise) and [lists of tensors](gradients) have entries of their own, beside that list.

mod bounds;
pub mod columns;
mod entry;
pub mod gradients;
mod launch;
mod library;
pub mod row_entries;
pub mod rows;
pub mod rowwise;
pub mod segments;
pub mod strided;
mod table;
pub mod whole;

pub use crate::stages::emit::Output;
pub use crate::stages::load::extents::Array;
pub use launch::{Arguments, Launch, RowOperands};
pub use library::{Embedded, Facts, LaunchBounds, Library, Note, Pack, Ptx};
pub use table::{LIBRARY, PARTS, is_better_on_newer};

use rowwise::RowVariant;

use crate::{
    element::Type,
    monoids::{Algebra, Monoid, Then, Words},
    simt::Simt,
    stages::{
        load::source::Source,
        reduce::grid,
        strategy::{FEW_WORDS, Strategy},
    },
};

/// What the host and the build know of an entry point. The code that runs is in [`whole`], [`rows`], [`strided`] and
/// [`segments`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// What it was built with: the other kernels of its operator, and the PTX.
    pub library: &'static Library,
    /// Its symbol in the PTX.
    pub name: &'static str,
    /// The operator it folds with. Entries of one operator and different kernels give the same bits.
    pub op: &'static str,
    /// Another that folds alike, and that it finishes as where a launch says so.
    pub also: Option<&'static str>,
    /// The part of the build that has it.
    pub part: &'static str,
    /// The elements it reads.
    pub element: Type,
    /// How many arrays of them, a mask being one.
    pub arrays: usize,
    /// Whether the second array is a mask, of bytes.
    pub masked: bool,
    /// What it runs.
    pub kernel: Kernel,
    /// 32-bit words of its state, the unit of its slots.
    pub state_words: usize,
    /// The ways that its kernel takes.
    pub strategy: Strategy,
    /// 32-bit words of its answer.
    pub answer_words: usize,
    /// Bytes of its answer in memory.
    pub answer_bytes: usize,
    /// The largest block it may be launched with.
    pub max_threads: u32,
    /// Blocks of that size that a multiprocessor must have registers for; none leaves it to the assembler.
    pub min_blocks: Option<u32>,
    /// Whether it has no meaning without clusters of blocks: only builds for compute capability 9.0 and newer, of generators that have them, have such a kernel.
    pub needs_clusters: bool,
    /// Whether its source has fused multiply-adds.
    pub fuses: bool,
    /// Barriers in its source: as many must stand in its code.
    pub barriers: u32,
}

/// What an entry point runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// [`whole::reduce_all`]: extents of any length, each in one run, by any number of blocks each.
    All,
    /// [`whole::reduce_small`]: one extent, a leaf for each warp, a block for each of at most [`SMALL_TILES`] tiles.
    Small,
    /// [`rows::reduce_rows`]: extents of at most a leaf, each in one run.
    Rows,
    /// [`strided::reduce_strided`]: extents whose elements lie anywhere.
    Strided,
    /// [`segments::reduce_segments`]: extents of any lengths, each in one run.
    Segments,
    /// One of [`rowwise`]: a variant of a row operation.
    Row(RowVariant),
    /// One of its own, beside operators and row operations.
    Own,
}

impl Kernel {
    /// Each that operators have.
    pub const ALL: [Self; 5] = [Self::All, Self::Small, Self::Rows, Self::Strided, Self::Segments];
}

/// What a launch passes an entry point of its operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpParams {
    /// The operator's own [parameter](crate::ops::Operator::parameter).
    pub number: u64,
    /// Whether the other of the entry's two operators finishes: [`Entry::also`].
    pub also: bool,
    /// Whether the elements are the signed integers of the same bits.
    pub signed: bool,
    /// Behind a [`Step`](crate::monoids::Step), which the number is then of: what becomes of an element less the number.
    pub then: Then,
    /// Whether a NaN is left out, as what a mask does not select.
    pub numbers_only: bool,
    /// A small number more: that of the operator behind a step, or how a [`Count`](crate::monoids::Count) compares.
    pub mode: u8,
}

impl OpParams {
    /// By what a launch passes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn new(number: u64, flags: u32) -> Self {
        Self {
            number,
            also: flags & 1 != 0,
            signed: flags & 2 != 0,
            then: match flags >> 2 & 3 {
                0 => Then::Itself,
                1 => Then::Magnitude,
                2 => Then::Square,
                _ => Then::Exp,
            },
            numbers_only: flags & 16 != 0,
            mode: (flags >> 8) as u8,
        }
    }

    /// What the operator behind a step is passed.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn behind(self) -> Self {
        Self {
            number: self.mode.into(),
            ..self
        }
    }

    /// What a launch passes beside the number.
    #[must_use]
    pub fn flags(self) -> u32 {
        u32::from(self.also)
            | u32::from(self.signed) << 1
            | (self.then as u32) << 2
            | u32::from(self.numbers_only) << 4
            | u32::from(self.mode) << 8
    }
}

/// Runs a kernel, in the shape that its launch was planned for.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn run<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, kernel: Kernel, arguments: Arguments<T>) {
    match kernel {
        Kernel::Row(_) | Kernel::Own => unreachable!("no operator has it"),
        Kernel::All => whole::reduce_all(simt, op, arguments),
        Kernel::Small => whole::reduce_small(simt, op, arguments),
        Kernel::Rows => rows::reduce_rows(simt, op, arguments),
        Kernel::Strided => strided::reduce_strided(simt, op, arguments),
        Kernel::Segments => segments::reduce_segments(simt, op, arguments),
    }
}

/// Tiles that [`Kernel::Small`] takes.
pub const SMALL_TILES: u64 = grid::SLOTS_PER_WARP;

impl Entry {
    /// Bytes from an element to the next in an array by its number: of a mask one.
    #[must_use]
    pub const fn pitch(&self, array: usize) -> usize {
        if self.masked && array > 0 {
            1
        } else {
            self.element.bytes()
        }
    }

    /// Whether it folds as an operator of that name does: its own, or the one [beside](Self::also) it.
    #[must_use]
    pub fn folds(&self, op: &str) -> bool {
        self.op == op || self.also == Some(op)
    }

    /// The entry of the same operator and elements that runs `kernel`.
    #[must_use]
    pub fn with(&self, kernel: Kernel) -> Option<&'static Self> {
        self.library.find(self.op, self.element, kernel)
    }

    /// An entry of this crate that is no operator's, of elements of 4 bytes, states of so many words, and answers of one; with 256 threads, no
    /// fused multiply-add and no barrier. What differs says the entry.
    pub(crate) const fn of_no_operator(name: &'static str, part: &'static str, kernel: Kernel, words: usize) -> Self {
        let strategy = Strategy {
            element: Type::F32,
            arrays: 1,
            masked: false,
            words,
            algebra: Algebra::PLAIN,
            of_words: false,
        };
        Self {
            library: &LIBRARY,
            name,
            op: name,
            also: None,
            part,
            element: Type::F32,
            arrays: 1,
            masked: false,
            kernel,
            state_words: words,
            strategy,
            answer_words: 1,
            answer_bytes: 4,
            max_threads: 256,
            min_blocks: Some(1),
            needs_clusters: false,
            fuses: false,
            barriers: 0,
        }
    }

    /// The entry that folds items of `T` with `M` in `kernel`.
    #[doc(hidden)] // for `entries!`
    #[must_use]
    pub const fn new<T: Source, M: Monoid<T>>(
        library: &'static Library,
        kernel: Kernel,
        launch_bounds: LaunchBounds,
        also: Option<&'static str>,
        [op, name, part]: [&'static str; 3],
    ) -> Self {
        let words = <M::State as Words>::COUNT;
        let most = match kernel {
            Kernel::Small | Kernel::Rows => MOST_WORDS,
            _ => MOST_VAST_WORDS,
        };
        assert!(words >= 1 && words <= most, "a state has too many words");
        assert!(<M::Answer as Words>::COUNT <= most, "an answer has too many words");
        let strategy = Strategy::of::<T, M>();
        let (max_threads, blocks) = strategy.threads(kernel, launch_bounds);
        Self {
            library,
            name,
            op,
            also,
            part,
            element: T::ELEMENT,
            arrays: T::ARRAYS,
            masked: T::MASKED,
            kernel,
            state_words: words,
            strategy,
            answer_words: <M::Answer as Words>::COUNT,
            answer_bytes: <M::Answer as Words>::COUNT * <M::Answer as Words>::UNIT,
            max_threads,
            min_blocks: Some(blocks),
            needs_clusters: false,
            fuses: strategy.algebra.fuses,
            barriers: strategy.barriers(kernel),
        }
    }
}

/// Whether a build has the code of an entry point of that name. The variable `WARPFOLD_ENTRIES` has the names of those that it wants; without it
/// all are. The others are there and empty, so each has the code that it has among all: `cargo xtask build-ptx` leaves them out.
#[doc(hidden)] // for `entries!` and `row_entries!`
#[must_use]
pub const fn is_wanted(name: &str) -> bool {
    match option_env!("WARPFOLD_ENTRIES") {
        Some(names) => has_word(names.as_bytes(), name.as_bytes()),
        None => true,
    }
}

/// Whether a word is among those of a text, which have one space between them.
const fn has_word(text: &[u8], word: &[u8]) -> bool {
    let (mut start, mut at) = (0, 0);
    while at <= text.len() {
        if at == text.len() || text[at] == b' ' {
            let mut same = 0;
            while same < word.len() && start + same < at && text[start + same] == word[same] {
                same += 1;
            }
            if same == word.len() && start + same == at {
                return true;
            }
            start = at + 1;
        }
        at += 1;
    }
    false
}

/// The most 32-bit words of a state, and of an answer, of an operator that has every kernel.
pub const MOST_WORDS: usize = FEW_WORDS;

/// The same of one of [vast](crate::stages::strategy::is_vast) states.
pub const MOST_VAST_WORDS: usize = 70;

/// The entry of this crate that folds elements of a type with an operator in a kernel; none if it is not built.
#[must_use]
pub fn find(op: &str, element: Type, kernel: Kernel) -> Option<&'static Entry> {
    LIBRARY.find(op, element, kernel)
}

/// Every entry point of the library: those of operators, of row operations and of lists of tensors. Those of the [ladder](crate::ladder) are none.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    let operations = LIBRARY.entries().chain(LIBRARY.row_entries());
    operations.chain(&gradients::ENTRIES)
}

/// The entry point of that name.
#[must_use]
pub fn entry(name: &str) -> Option<&'static Entry> {
    entries().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_wanted_as_a_whole_word() {
        let has = |text: &str, word: &str| has_word(text.as_bytes(), word.as_bytes());
        for (text, word, is) in [
            ("sum_f32", "sum_f32", true),
            ("sum_small_f32 sum_f32", "sum_f32", true),
            ("sum_f32 sum_small_f32", "sum_f32", true),
            ("sum_f3 sum_f321 a_sum_f32", "sum_f32", false),
            ("", "sum_f32", false),
        ] {
            assert_eq!(has(text, word), is, "{word} in {text:?}");
        }
        assert!(is_wanted("sum_f32"), "without the variable all are");
    }
}
