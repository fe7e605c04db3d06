//! The canonical tree, version 1: which two states meet, as a function of the length alone.
//!
//! Element `i` of an extent sits in **leaf** `i / LEAF`. A leaf is [`ROWS`] rows of [`row_elements`] columns, in
//! index order. States meet in pairs of neighbours, always `(0,1) (2,3) …`, then the results in pairs again:
//!
//! 1. the rows of a leaf, column by column: `ROWS` states become one per column;
//! 2. the columns of a leaf: neighbours, until one state is left;
//! 3. the leaves: neighbours, until one state is left.
//!
//! A place past the end of the extent holds the operator's identity, which is neutral to the bit, so padding to a
//! power of two changes nothing. The full text is `docs/canonical-tree.md`.
//!
//! Any power-of-two group of neighbouring leaves is a subtree. That is why a warp may fold 1, 2, 4 … leaves, a block
//! any power-of-two number of warps, and a grid any number of blocks, without changing a bit of the answer.

/// The version of the canonical tree. A change to any constant here, or to the order above, is a new version.
pub const VERSION: u32 = 1;

/// Lanes in a warp.
pub const LANES: u32 = 32;

/// Bytes one lane loads at once.
pub const VECTOR_BYTES: usize = 16;

/// Rows of a leaf: the vectors each lane has in flight.
pub const ROWS: usize = 8;

/// Elements of `T` in one vector.
#[must_use]
pub const fn vector_elements<T>() -> usize {
    VECTOR_BYTES / size_of::<T>()
}

/// Elements of `T` in one row of a leaf: one vector for each lane of a warp.
#[must_use]
pub const fn row_elements<T>() -> usize {
    LANES as usize * vector_elements::<T>()
}

/// Elements of `T` in one leaf.
#[must_use]
pub const fn leaf_elements<T>() -> usize {
    ROWS * row_elements::<T>()
}

/// Leaves that an extent of `len` elements of `T` touches.
#[must_use]
pub const fn leaves<T>(len: u64) -> u64 {
    len.div_ceil(leaf_elements::<T>() as u64)
}
