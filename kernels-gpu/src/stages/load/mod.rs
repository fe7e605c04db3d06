//! Load: what a lane reads. Where elements lie, in which ways memory is read, and the fragments that come of it.
//!
//! | elements lie | read by |
//! |---|---|
//! | one after the other, of any alignment and length | [`contiguous`] |
//! | apart, each lane its own | [`gather`] |
//! | apart, neighbours' by words that lanes exchange | [`transposed`] |
//! | under a mask | [`mask`], beside either |
//! | in two arrays | either, by [`source`] |
//! | in columns that are neighbours | [`columns`] |
//! | in short rows of whole vectors, several a warp | [`rows`] |
//!
//! Nothing here folds. A launch vouches once for its memory, where [`Extents`](extents::Extents) are made; what is read through them, and through the views that they
//! give, is within.

pub mod around;
pub mod columns;
pub mod contiguous;
pub mod extents;
pub mod fragment;
pub mod gather;
pub mod mask;
pub mod rows;
pub(crate) mod search;
pub mod segments;
pub mod source;
pub mod transposed;
pub mod words;
