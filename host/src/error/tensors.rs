//! What is wrong with a list of tensors.

/// What has no meaning of a list of tensors. Tensors are named by their places in the list, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorFault {
    /// A tensor on a GPU of a type that GPUs have no kernel for.
    #[error(
        "tensor {tensor} is of {element}: on GPUs gradients are of f32, f16 and bf16; the CPU takes f64 and FP8, too"
    )]
    Type {
        /// Its place in the list.
        tensor: usize,
        /// What it is of.
        element: &'static str,
    },

    /// A tensor on the CPU of a type that has no norm.
    #[error("tensor {tensor} is of {element}: gradients are of f64, f32, f16, bf16, f8e4m3 and f8e5m2")]
    NoNorm {
        /// Its place in the list.
        tensor: usize,
        /// What it is of.
        element: &'static str,
    },

    /// A piece of a tensor that is of another type.
    #[error("a piece of {piece} of tensor {tensor}, which is of {element}")]
    Piece {
        /// The tensor's place in the list.
        tensor: usize,
        /// What it is of.
        element: &'static str,
        /// What the piece is of.
        piece: &'static str,
    },

    /// A tensor with which all together do not fit in the address space.
    #[error("tensor {tensor} has {elements} elements: with it the list is larger than the address space")]
    TooLong {
        /// Its place in the list.
        tensor: usize,
        /// Its elements.
        elements: u64,
    },

    /// An address that is no multiple of an element's bytes.
    #[error("tensor {tensor} is at {address:#x}, which is no multiple of {alignment}")]
    Misaligned {
        /// Its place in the list.
        tensor: usize,
        /// Its address.
        address: u64,
        /// Bytes of an element.
        alignment: usize,
    },

    /// A tensor that has elements, at address 0.
    #[error("tensor {tensor} has {elements} elements, and its address is 0")]
    Nowhere {
        /// Its place in the list.
        tensor: usize,
        /// Its elements.
        elements: u64,
    },

    /// Not as many addresses as tensors were prepared.
    #[error("{got} addresses for {prepared} tensors")]
    Count {
        /// Tensors that were prepared.
        prepared: usize,
        /// Addresses given.
        got: usize,
    },
}
