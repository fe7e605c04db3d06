//! What is wrong with a row operation.

/// What has no meaning of a row operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowFault {
    /// Weights or biases that are not as many as columns.
    #[error("{got} {name} for rows of {columns} elements")]
    Columns {
        /// Which.
        name: &'static str,
        /// Elements of a row.
        columns: u64,
        /// Given.
        got: u64,
    },

    /// Rows of which each is to be seen in part, of an array that has none: the last axis is a row, and the last but one counts them.
    #[error("causal rows lie along the last of at least 2 axes, not along another of an array of {axes} axes")]
    NotAMatrix {
        /// Axes of the array.
        axes: usize,
    },

    /// A row that cannot be folded and mapped in one reading.
    #[error("a row of {len} elements is to be read once, and here that is possible of {most} at most")]
    TooLong {
        /// Elements of the row.
        len: u64,
        /// The most.
        most: u64,
    },
}
