//! What is wrong with partials and with their bytes.

/// What has no meaning of a partial, or of bytes that should be one. Elements are numbered by their positions in the extent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartialFault {
    /// Two partials that have elements in common.
    #[error("both partials have the elements from {first} up to {end}: each may be in one of them")]
    Overlap {
        /// The first element that both have.
        first: u64,
        /// The first one after it that not both have.
        end: u64,
    },

    /// Elements that are not there, of an extent that is to be finished.
    #[error("the partial lacks the elements from {first} up to {end}, of {len}")]
    Gap {
        /// The first of them.
        first: u64,
        /// The first one after them that is there, or the length.
        end: u64,
        /// Elements of the extent.
        len: u64,
    },

    /// Elements past the end of an extent that is to be finished.
    #[error("the partial has elements up to {end}, and is to be finished as one of {len}")]
    TooLong {
        /// Where its elements end.
        end: u64,
        /// Elements of the extent.
        len: u64,
    },

    /// Two partials that are not of one fold, or bytes of another fold than they are read as.
    #[error("the {what} is {this} of one, and {other} of the other: partials of one fold are merged")]
    Other {
        /// What is not the same.
        what: &'static str,
        /// What it is of the partial, or of the fold that asks.
        this: String,
        /// What it is of the other, or of the bytes.
        other: String,
    },

    /// A partial of a fold in segments.
    #[error("a partial is of a whole array or along axes, and not of segments")]
    Segments,

    /// A part whose folded axes a GPU cannot take a run of elements of.
    #[error(
        "a part on a GPU: several axes are folded that are not one run of memory, and the part is of no whole indices of the first at each \
         leaf: fold it on the CPU"
    )]
    Axes,

    /// Not a message from each rank of a group.
    #[error("{got} messages in a group of {size} ranks, of which this is rank {rank}")]
    Ranks {
        /// This one.
        rank: usize,
        /// How many ranks there are.
        size: usize,
        /// Messages that came.
        got: usize,
    },

    /// Bytes that do not begin as a partial's.
    #[error("these {found} bytes are no partial: a partial begins with \"WFPT\"")]
    NotPartial {
        /// How many.
        found: u64,
    },

    /// Bytes of a version that this library does not read.
    #[error(
        "the {what} is of version {found}, and this library has version {known}: partials are merged by libraries of one version"
    )]
    Version {
        /// The format, the canonical tree or the states of operators.
        what: &'static str,
        /// What the bytes are of.
        found: u32,
        /// What is known here.
        known: u32,
    },

    /// Bytes that end too early, or go on too long.
    #[error("a partial of {needed} bytes by its head, and {found} are there")]
    Length {
        /// By the head.
        needed: u64,
        /// There.
        found: u64,
    },

    /// Bytes that were changed on their way.
    #[error("the checksum is {found:#010x}, and the bytes have {computed:#010x}: they were changed on their way")]
    Checksum {
        /// At the end of the bytes.
        found: u32,
        /// Computed.
        computed: u32,
    },

    /// A part of the bytes that has no meaning, though their checksum is right.
    #[error("the partial's {what} has no meaning, at byte {at}: {found}")]
    Malformed {
        /// Of the format.
        what: &'static str,
        /// Where it is, or ends.
        at: u64,
        /// The value.
        found: String,
    },
}
