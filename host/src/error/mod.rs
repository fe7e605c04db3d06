//! The one error type.

mod checkpoint;
mod gguf;
mod offset;
mod partial;
mod row;
mod safetensors;
mod shapes;
mod tensors;
mod words;

use std::{io, path::PathBuf};

pub use checkpoint::CheckpointFault;
pub use gguf::GgufFault;
pub use offset::OffsetFault;
pub use partial::PartialFault;
pub use row::RowFault;
pub use safetensors::SafetensorsFault;
pub use tensors::TensorFault;
use words::{build_ptx, build_ptx_of, listed, pointed_to};

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

    /// A parameter of an operator that it has no meaning for.
    #[error("{op}: {name} is {value}, and must be {must}")]
    Parameter {
        /// The operator.
        op: &'static str,
        /// The parameter.
        name: &'static str,
        /// Given.
        value: f64,
        /// What it must be.
        must: &'static str,
    },

    /// What has no meaning of a row operation.
    #[error(transparent)]
    Row(RowFault),

    /// What has no meaning of a list of tensors.
    #[error(transparent)]
    Tensor(TensorFault),

    /// What has no meaning of a partial, or of its bytes.
    #[error(transparent)]
    Partial(PartialFault),

    /// A transport of a group that failed.
    #[error("rank {rank} of {size} has no messages of the others: {source}")]
    Transport {
        /// This rank.
        rank: usize,
        /// How many ranks there are.
        size: usize,
        /// The transport's words.
        source: io::Error,
    },

    /// A segment of nothing, over which the operator has no answer.
    #[error("{op} of segment {segment}, which is empty: {op} needs at least one element")]
    EmptySegment {
        /// The operator.
        op: &'static str,
        /// The first such segment, counted from 0.
        segment: usize,
    },

    /// Offsets that divide no array into segments.
    #[error("offset {at} of the segments {fault}")]
    Offset {
        /// Which, counted from 0.
        at: usize,
        /// What is wrong with it.
        fault: OffsetFault,
    },

    /// Segments of no elements, for an array that has some.
    #[error("segments of 0 elements for an array of {len}")]
    SegmentSize {
        /// Elements of the array.
        len: u64,
    },

    /// Segments of more elements, together, than can be numbered.
    #[error("the segments up to number {segment} have 2^63 elements or more")]
    SegmentOverflow {
        /// The segment with which there are too many, counted from 0.
        segment: usize,
    },

    /// A shape of more elements than can be numbered.
    #[error("an array of shape {shape:?} has 2^63 elements or more")]
    ShapeOverflow {
        /// Its extents.
        shape: Vec<u64>,
    },

    /// A fold along axes that needs more blocks than a grid can have.
    #[error("a fold to {count} answers needs {blocks} blocks: a grid has at most 2^31 - 1")]
    GridOverflow {
        /// Answers.
        count: u64,
        /// Blocks.
        blocks: u64,
    },

    /// Not as many of something as the array has axes.
    #[error("{got} {what} for an array of {axes} axes")]
    Rank {
        /// What there should be one of for each axis.
        what: &'static str,
        /// Given.
        got: usize,
        /// Axes of the array.
        axes: usize,
    },

    /// An axis that the array does not have.
    #[error("axis {axis} is out of bounds for an array of {axes} axes")]
    NoAxis {
        /// Asked for.
        axis: i64,
        /// Axes of the array.
        axes: usize,
    },

    /// An axis named twice.
    #[error("axis {axis} (of {axes}) is named twice")]
    AxisTwice {
        /// The axis, counted from the first.
        axis: usize,
        /// Axes of the array.
        axes: usize,
    },

    /// A layout that leaves the memory it is in.
    #[error("the elements lie at {lowest} to {highest}, in memory of {len} elements")]
    OutOfBounds {
        /// Where the lowest would be.
        lowest: i128,
        /// Where the highest would be.
        highest: i128,
        /// Elements in the memory.
        len: u64,
    },

    /// A slice that leaves its axis.
    #[error("{count} indices from {start} on by {step} leave an axis of {extent}")]
    Slice {
        /// The first index.
        start: u64,
        /// How many.
        count: u64,
        /// From one to the next.
        step: i64,
        /// Indices of the axis.
        extent: u64,
    },

    /// A shape that another does not broadcast to.
    #[error("shape {from:?} does not broadcast to {to:?}")]
    Broadcast {
        /// The array's.
        from: Vec<u64>,
        /// Asked for.
        to: Vec<u64>,
    },

    /// A number of elements whose bytes do not fit in memory, or in the address space.
    #[error(
        "{elements} elements of {element_bytes} bytes do not fit in memory: they are {} bytes",
        u128::from(*elements) * *element_bytes as u128
    )]
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
        "no PTX of {entry} for compute capability {}.{} (built for: {built:?}); run {} and build again",
        compute_capability.0, compute_capability.1, build_ptx_of(package, entry)
    )]
    NoPtx {
        /// The kernel.
        entry: &'static str,
        /// The package that they are of.
        package: &'static str,
        /// The device's compute capability.
        compute_capability: (u32, u32),
        /// The architectures that are there, as 90 for sm_90.
        built: Vec<u32>,
    },

    /// The kernels were built from another source than the program: they might write more than there is room for.
    #[error(
        "the PTX of {entry} was built from another source than this program; run {} and build again",
        build_ptx(package)
    )]
    StalePtx {
        /// The kernel.
        entry: &'static str,
        /// The package that it is of.
        package: &'static str,
    },

    /// The driver cannot read this build's PTX.
    #[error("the driver (for CUDA {}.{}) is too old for the PTX of {entry}: update it", driver / 1000, driver % 1000 / 10)]
    DriverTooOld {
        /// The kernel.
        entry: &'static str,
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

    /// Two arrays of different shapes, to be folded together.
    #[error("two arrays are folded together, of shapes {first:?} and {second:?}, which are not the same")]
    PairMismatch {
        /// The first array's.
        first: Vec<u64>,
        /// The second array's.
        second: Vec<u64>,
    },

    /// A mask that is of another shape than the array, and does not broadcast to it.
    #[error("a mask of shape {mask:?} is not one of an array of shape {array:?}, nor broadcasts to it")]
    MaskMismatch {
        /// The mask's shape.
        mask: Vec<u64>,
        /// The array's.
        array: Vec<u64>,
    },

    /// An array that is to be divided into segments, but whose layout is not of all its memory in order.
    #[error("segments are of elements in order: those of shape {shape:?} by strides {strides:?} are in another")]
    NotInOrder {
        /// The layout's shape.
        shape: Vec<u64>,
        /// Its strides.
        strides: Vec<i64>,
    },

    /// An operator that GPUs have no kernel of for such elements, under a mask, or behind a step.
    #[error(
        "GPUs have no such kernel of {op} for elements of type {element}: the CPU folds them, by the same calls of `cpu`"
    )]
    NoKernel {
        /// The operator.
        op: &'static str,
        /// The elements' type.
        element: &'static str,
    },

    /// An operator that has no meaning for elements of a type.
    #[error("{op} has no meaning for elements of type {dtype}")]
    Meaningless {
        /// The operator.
        op: String,
        /// The elements' type, as NumPy calls it.
        dtype: String,
    },

    /// A device address that no element can have.
    #[error("device address {address:#x} is no multiple of {alignment}")]
    Misaligned {
        /// The address.
        address: u64,
        /// What it must be a multiple of, in bytes.
        alignment: usize,
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

    /// A file that the system does not let us read, or whose compressed data is damaged.
    #[error("{}: {source}", path.display())]
    File {
        /// The file; `FILE:NAME` for an array of several.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },

    /// A file that is no `.npy` file, or a damaged one.
    #[error("{} is no .npy file that can be read: {reason}", path.display())]
    NotNpy {
        /// The file; `FILE:NAME` for a member of an archive.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// A file that is no `.npz` archive, or a damaged one.
    #[error("{} is no .npz file that can be read: {reason}", path.display())]
    NotNpz {
        /// The file; `FILE:NAME` for a member.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// A file that is no `.safetensors` file, or a damaged one.
    #[error("{} is no .safetensors file that can be read: {fault}", path.display())]
    NotSafetensors {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: SafetensorsFault,
    },

    /// A file that is no `.gguf` file, or a damaged one.
    #[error("{} is no .gguf file that can be read: {fault}", path.display())]
    NotGguf {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: GgufFault,
    },

    /// A checkpoint of several files that is not whole.
    #[error("{}: {fault}", path.display())]
    Checkpoint {
        /// Its folder, its index or the file that was named.
        path: PathBuf,
        /// What is wrong with it.
        fault: CheckpointFault,
    },

    /// A pickle of Python, as PyTorch writes by `torch.save`. Reading one may run any code.
    #[error(
        "{} is a pickle, which may run any code when it is read: convert it with \
         `safetensors.torch.save_file(torch.load(FILE, weights_only=True), \"model.safetensors\")` in Python",
        path.display()
    )]
    Pickle {
        /// The file.
        path: PathBuf,
    },

    /// A pointer file of Git LFS, in place of the file that it points to.
    #[error("{} is a Git LFS pointer, and not the file{}: `git lfs pull` fetches that", path.display(), pointed_to(oid, size))]
    GitLfsPointer {
        /// The pointer.
        path: PathBuf,
        /// What Git LFS calls the file: `sha256:` and its hash. None where the pointer does not say.
        oid: Option<String>,
        /// Bytes of the file. None where the pointer does not say.
        size: Option<u64>,
    },

    /// A file, or what comes from a pipe, that ends before its array does.
    #[error("{} is cut short: {needed} bytes by its header, {found} bytes there", path.display())]
    Truncated {
        /// The file; `FILE:NAME` for a member of an archive.
        path: PathBuf,
        /// Bytes up to the array's end.
        needed: u64,
        /// Bytes of the file; of a compressed member, those that could be inflated.
        found: u64,
    },

    /// A name that no array of the file has.
    #[error("{} has no array {name:?}: it has {}", path.display(), listed(names))]
    NoArray {
        /// The file.
        path: PathBuf,
        /// Asked for.
        name: String,
        /// The names there are. That of a `.npy` file's array is none.
        names: Vec<String>,
    },

    /// A file of several arrays or of none, where one is wanted.
    #[error("{} has {} arrays, and one is wanted; FILE:NAME picks it: {}", path.display(), names.len(), listed(names))]
    NotOneArray {
        /// The file.
        path: PathBuf,
        /// The names of its arrays.
        names: Vec<String>,
    },

    /// An array read as another type than its elements have.
    #[error("{} is of {dtype}, and was to be read as {wanted}", path.display())]
    WrongDtype {
        /// The file; `FILE:NAME` for an array of several.
        path: PathBuf,
        /// NumPy's name of its type.
        dtype: String,
        /// NumPy's name of the type asked for.
        wanted: &'static str,
    },

    /// Elements of a type that cannot be read, or that no operator folds.
    #[error(
        "{}: {dtype} cannot be folded; bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64, float8_e4m3fn, \
         float8_e5m2, complex64 and complex128 can",
        path.display()
    )]
    Dtype {
        /// The file; `FILE:NAME` for an array of several.
        path: PathBuf,
        /// NumPy's name of the type.
        dtype: String,
    },

    /// Elements of a type that a format to be written does not have.
    #[error("{format} has no type for elements of {dtype}")]
    NotWritable {
        /// NumPy, or the format.
        format: &'static str,
        /// Their type.
        dtype: &'static str,
    },

    /// An array of more axes than a `.npy` file can have.
    #[error("an array of {axes} axes: a .npy file has at most {most}")]
    TooManyAxes {
        /// Axes of the array.
        axes: usize,
        /// Axes of a file's array.
        most: usize,
    },
}
