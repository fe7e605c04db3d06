//! What is wrong with a list of tensors.

/// What has no meaning of a list of tensors. Tensors are named by their places in the list, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorFault {
    /// A tensor of a type that has no norm here.
    #[error("tensor {tensor} is of {element}: gradients are of f32, f16 and bf16")]
    Type {
        /// Its place in the list.
        tensor: usize,
        /// What it is of.
        element: &'static str,
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
