//! What can be wrong with a `.gguf` file.

/// What is wrong with a `.gguf` file. Offsets count bytes from the start of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GgufFault {
    /// A version of the format that is not read.
    #[error("it is of version {version} of the format, and versions 2 and 3 are read")]
    Version {
        /// The file's.
        version: u32,
    },

    /// A header that goes on past the end of the file.
    #[error("{what} at byte {at} needs {needed} bytes, and {left} bytes of the file are left")]
    Cut {
        /// The part of the header.
        what: &'static str,
        /// Where it starts.
        at: u64,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes up to the end of the file.
        left: u64,
    },

    /// Metadata of a type that the format does not have.
    #[error("its metadata {key:?} has values of type {kind}, which the format does not have")]
    Value {
        /// The key.
        key: String,
        /// The type's number.
        kind: u32,
    },

    /// Arrays within arrays that are nested too deep.
    #[error("its metadata {key:?} has arrays nested deeper than {most}")]
    Nested {
        /// The key.
        key: String,
        /// Levels that are read.
        most: usize,
    },

    /// An alignment that is no power of two.
    #[error("its alignment is {alignment}, and must be a power of two")]
    Alignment {
        /// The metadata `general.alignment`.
        alignment: u64,
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
        axes: u64,
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

    /// A quantised tensor whose rows are no whole blocks.
    #[error("tensor {tensor:?} has rows of {row} elements, and a block of {dtype} has {block}")]
    Row {
        /// The tensor.
        tensor: String,
        /// The format's name of its type.
        dtype: &'static str,
        /// Elements of a row.
        row: u64,
        /// Elements of a block.
        block: usize,
    },

    /// A tensor at an offset that is no multiple of the file's alignment.
    #[error("tensor {tensor:?} is at offset {offset} of the data, which is no multiple of the alignment {alignment}")]
    Misaligned {
        /// The tensor.
        tensor: String,
        /// Bytes from the start of the data.
        offset: u64,
        /// The file's alignment.
        alignment: u64,
    },

    /// A tensor that ends past the end of the file.
    #[error("tensor {tensor:?} ends at byte {end}, and the file has {found}: it is cut short")]
    PastEnd {
        /// The tensor.
        tensor: String,
        /// The byte after its last.
        end: u128,
        /// Bytes of the file.
        found: u64,
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
        /// The byte after that one's last.
        end: u64,
    },

    /// Quantised blocks in a file of big-endian numbers.
    #[error("tensor {tensor:?} has big-endian blocks of {dtype}, and only little-endian ones are read")]
    BigEndian {
        /// The tensor.
        tensor: String,
        /// The format's name of its type.
        dtype: &'static str,
    },
}
