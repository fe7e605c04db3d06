//! The kernels that a build of ours makes: those of `warpfold-kernels`, and those of the crate that counts distinct elements.

use warpfold_distinct::{self as distinct, EntryPoint};
use warpfold_kernels::{
    kernels::{self, Entry, Facts, Kernel, PARTS},
    ladder,
};

/// The part of the build that is a crate of its own.
pub const DISTINCT: &str = distinct::NAME;

/// A kernel of ours, as the build knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OurKernel {
    /// One of `warpfold-kernels`.
    Entry(&'static Entry),
    /// One that counts distinct elements.
    Distinct(&'static EntryPoint),
}

/// Every kernel of ours: the library's, those that count distinct elements, and the ladder's.
pub fn kernels() -> impl Iterator<Item = OurKernel> {
    let entries = kernels::entries().chain(ladder::ENTRIES);
    let counts = distinct::ENTRIES.iter().map(OurKernel::Distinct);
    entries.map(OurKernel::Entry).chain(counts)
}

/// The parts of the build, the dearest first.
pub fn parts() -> impl Iterator<Item = &'static str> {
    PARTS.into_iter().chain([DISTINCT])
}

impl OurKernel {
    /// Its symbol in the PTX.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entry(entry) => entry.name,
            Self::Distinct(entry) => entry.name,
        }
    }

    /// The part of the build that has it.
    pub fn part(self) -> &'static str {
        match self {
            Self::Entry(entry) => entry.part,
            Self::Distinct(_) => DISTINCT,
        }
    }

    /// What it runs, where it is one of the kernels that operators, rows or tensors have.
    pub fn kernel(self) -> Option<Kernel> {
        match self {
            Self::Entry(entry) => Some(entry.kernel),
            Self::Distinct(_) => None,
        }
    }

    /// The names of what it answers.
    pub fn ops(self) -> impl Iterator<Item = &'static str> {
        let ops = match self {
            Self::Entry(entry) => [Some(entry.op), entry.also],
            Self::Distinct(_) => [Some(distinct::NAME), None],
        };
        ops.into_iter().flatten()
    }

    /// What must be known of it to check its code. The PTX of a crate that is built as users' are states the same.
    pub fn facts(self) -> Facts {
        match self {
            Self::Entry(entry) => entry.facts(),
            Self::Distinct(entry) => entry.facts(),
        }
    }

    /// Whether it has no meaning without clusters of blocks.
    pub fn needs_clusters(self) -> bool {
        matches!(self, Self::Entry(entry) if entry.needs_clusters)
    }

    /// Whether newer architectures have instructions for it that the oldest has not.
    pub fn is_better_on_newer(self) -> bool {
        matches!(self, Self::Entry(entry) if kernels::is_better_on_newer(entry))
    }
}
