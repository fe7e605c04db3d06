//! The shape of a leaf of the canonical tree.

/// Lanes in a warp.
pub const LANES: u32 = 32;

/// Bytes one lane loads at once.
pub const VECTOR_BYTES: usize = 16;

/// Rows of a leaf: the vectors each lane has in flight.
pub const ROWS: usize = 8;

/// Bytes of a leaf.
pub const LEAF_BYTES: usize = ROWS * LANES as usize * VECTOR_BYTES;
