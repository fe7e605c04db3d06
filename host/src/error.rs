//! The one error type.

use std::{io, path::PathBuf};

/// What went wrong, with the numbers involved.
///
/// An error leaves inputs and outputs as they were.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operator has no answer over nothing.
    #[error("{op} of an empty array: the reduced extent is 0, and {op} needs at least one element")]
    EmptyExtent {
        /// The operator.
        op: &'static str,
    },

    /// A number of elements whose bytes do not fit in the address space.
    #[error("an array of {elements} elements of {element_bytes} bytes does not fit in the address space")]
    LengthOverflow {
        /// Elements asked for.
        elements: u64,
        /// Bytes of one element.
        element_bytes: usize,
    },

    /// A piece size that is no subtree of the canonical tree.
    #[error("pieces of {piece} elements: the length of a piece must be a power of two times {leaf}")]
    PieceLength {
        /// Elements asked for.
        piece: u64,
        /// Elements in a leaf of the canonical tree.
        leaf: u64,
    },

    /// A piece that does not go where it was pushed.
    #[error(
        "a piece of {len} elements after {before} others: all pieces have {piece} elements, but the last, which may be \
         shorter"
    )]
    PieceOrder {
        /// Its elements.
        len: u64,
        /// Elements of the whole pieces.
        piece: u64,
        /// Elements pushed before it.
        before: u64,
    },

    /// A launch shape that the kernel does not take.
    #[error(
        "{entry} does not take {shape:?}: numbers are powers of two, a block has no more threads and a tile no more leaves \
         than the kernel has room for, and the small kernel has a leaf for each warp and a block for each tile"
    )]
    Shape {
        /// The kernel.
        entry: &'static str,
        /// What was asked for.
        shape: crate::plan::Shape,
    },

    /// No NVIDIA driver on this machine.
    #[error("no NVIDIA driver: {reason}")]
    NoDriver {
        /// The loader's words.
        reason: String,
    },

    /// A device index past the last.
    #[error("no GPU {index}: there are {count}")]
    NoDevice {
        /// Asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },

    /// This build has no kernels for the device.
    #[error(
        "no PTX of family {family} for compute capability {}.{} (built for: {built:?}); run `cargo xtask build-ptx` and \
         build again", compute_capability.0, compute_capability.1
    )]
    NoPtx {
        /// The family of kernels.
        family: &'static str,
        /// The device's compute capability.
        compute_capability: (u32, u32),
        /// The architectures that are there, as 90 for sm_90.
        built: Vec<u32>,
    },

    /// The driver cannot read this build's PTX.
    #[error("the driver (for CUDA {}.{}) is too old for the PTX of family {family}: update it", driver / 1000, driver % 1000 / 10)]
    DriverTooOld {
        /// The family of kernels.
        family: &'static str,
        /// The newest CUDA version it supports, as 1000 × major + 10 × minor.
        driver: i32,
    },

    /// Device memory ran out. Nothing was allocated.
    #[error("out of device memory: {bytes} bytes asked for, {free} free of {total}")]
    OutOfMemory {
        /// Asked for.
        bytes: usize,
        /// Free.
        free: usize,
        /// Of the device.
        total: usize,
    },

    /// A workspace made for a smaller plan.
    #[error("a workspace of {got} bytes, where the plan needs {needed}")]
    WorkspaceTooSmall {
        /// Bytes needed.
        needed: usize,
        /// Bytes there.
        got: usize,
    },

    /// An output with no room for the answers.
    #[error("an output of {got} answers, where {needed} are written")]
    OutputTooSmall {
        /// Answers written.
        needed: usize,
        /// Room there is.
        got: usize,
    },

    /// An input of another length than was prepared for.
    #[error("an input of {got} elements, where {prepared} were prepared for")]
    LengthMismatch {
        /// Prepared for.
        prepared: u64,
        /// Given.
        got: u64,
    },

    /// A device address that no element can have.
    #[error("device address {address:#x} is no multiple of 4")]
    Misaligned {
        /// The address.
        address: u64,
    },

    /// Memory that is not the GPU's.
    #[error("address {address:#x} is no memory of gpu:{index}")]
    ForeignMemory {
        /// The address.
        address: u64,
        /// The GPU's index.
        index: usize,
    },

    /// A stream of another context.
    #[error("the stream belongs to another context than the GPU's")]
    ForeignStream,

    /// A call of the CUDA driver failed.
    #[error("{call} failed with CUDA error {code}: {message}")]
    Driver {
        /// The call.
        call: &'static str,
        /// The driver's code.
        code: u32,
        /// The driver's words.
        message: String,
    },

    /// A file that the system does not let us read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },

    /// A file that is no `.npy` file, or a damaged one.
    #[error("{} is no .npy file that can be read: {reason}", path.display())]
    NotNpy {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// A file that ends before its array does.
    #[error("{} is cut short: {needed} bytes by its header, {found} bytes there", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes of header and array.
        needed: u64,
        /// Bytes of the file.
        found: u64,
    },

    /// A file of elements of another type.
    #[error(
        "{}: {dtype} is not supported yet; convert with numpy.save(\"f32.npy\", numpy.load(…).astype(\"float32\"))",
        path.display()
    )]
    Dtype {
        /// The file.
        path: PathBuf,
        /// NumPy's name of the type.
        dtype: String,
    },
}
