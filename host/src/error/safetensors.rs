//! What can be wrong with a `.safetensors` file.

/// What is wrong with a `.safetensors` file. Offsets count bytes from the first byte behind the header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SafetensorsFault {
    /// No room for the eight bytes that every file starts with.
    #[error("it has {found} bytes, fewer than the 8 of the header's length")]
    TooShort {
        /// Bytes of the file.
        found: u64,
    },

    /// A header longer than the format allows.
    #[error("a header of {header} bytes is longer than the {most} that a header may have")]
    HeaderTooLong {
        /// Bytes by the file's first eight.
        header: u64,
        /// Bytes allowed.
        most: u64,
    },

    /// A header longer than the file.
    #[error("its header has {header} bytes, the file {found} behind the header's length")]
    HeaderCut {
        /// Bytes by the file's first eight.
        header: u64,
        /// Bytes behind them.
        found: u64,
    },

    /// A header that is not JSON, or not of tensors.
    #[error("its header is damaged: {reason}")]
    Header {
        /// What the parser says: with the tensor, where it was within one.
        reason: String,
    },

    /// Two tensors of one name.
    #[error("two tensors are named {tensor:?}")]
    Duplicate {
        /// The name.
        tensor: String,
    },

    /// A tensor of more axes than are read.
    #[error("tensor {tensor:?} has {axes} axes, and an array has at most {most}")]
    TooManyAxes {
        /// The tensor.
        tensor: String,
        /// Its axes.
        axes: usize,
        /// Axes that are read.
        most: usize,
    },

    /// A tensor of 2⁶³ bytes or more.
    #[error("tensor {tensor:?} of shape {shape:?} has 2^63 bytes or more")]
    Shape {
        /// The tensor.
        tensor: String,
        /// Its extents.
        shape: Vec<u64>,
    },

    /// A tensor that ends within a byte.
    #[error("tensor {tensor:?} has {elements} elements of {bits} bits, which are no whole bytes")]
    Bits {
        /// The tensor.
        tensor: String,
        /// Its elements.
        elements: u64,
        /// Bits of one.
        bits: u32,
    },

    /// A shape and a type that need other bytes than the offsets give.
    #[error(
        "tensor {tensor:?}, {dtype} of shape {shape:?}, needs {needed} bytes, and its offsets {begin} to {end} do not give them"
    )]
    Bytes {
        /// The tensor.
        tensor: String,
        /// NumPy's name of its type.
        dtype: &'static str,
        /// Its extents.
        shape: Vec<u64>,
        /// Bytes that these need.
        needed: u64,
        /// Its first byte.
        begin: u64,
        /// The byte behind its last.
        end: u64,
    },

    /// Two tensors that share bytes.
    #[error("tensor {tensor:?} starts at byte {begin}, within tensor {other:?}, which ends at {end}")]
    Overlap {
        /// The tensor.
        tensor: String,
        /// Its first byte.
        begin: u64,
        /// The tensor before it.
        other: String,
        /// The byte behind that one's last.
        end: u64,
    },

    /// Bytes of no tensor.
    #[error("bytes {begin} to {end} belong to no tensor")]
    Hole {
        /// The first of them.
        begin: u64,
        /// The byte behind the last.
        end: u64,
    },

    /// A tensor past the end of the file.
    #[error("tensor {tensor:?} ends at byte {end}, and the file holds {data}: it is cut short")]
    PastEnd {
        /// The tensor.
        tensor: String,
        /// The byte behind its last.
        end: u64,
        /// Bytes behind the header.
        data: u64,
    },
}
