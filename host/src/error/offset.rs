//! What can be wrong with the offsets of segments.

/// What is wrong with an offset of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OffsetFault {
    /// There is none: even no segments at all have one.
    #[error("is missing: n segments have n + 1")]
    Missing,

    /// The first is not 0.
    #[error("is {offset}: the first must be 0, for nothing of the array is left out")]
    NotZero {
        /// The offset.
        offset: u64,
    },

    /// It is less than the one before.
    #[error("is {offset}, less than the {before} before it")]
    Falls {
        /// The offset.
        offset: u64,
        /// The one before.
        before: u64,
    },

    /// The last is not the length of the array.
    #[error("is {offset}: the last must be the number of elements, {len}")]
    NotLen {
        /// The offset.
        offset: u64,
        /// Elements of the array.
        len: u64,
    },
}
