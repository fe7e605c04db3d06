//! Reduce: how states are combined, in a thread, a warp, a block, the grid.
//!
//! | states of | are combined in |
//! |---|---|
//! | the elements of a fragment | [`thread`], or [`strided`] and [`in_order`]; of words, [`packed`] |
//! | lanes | [`warp`]; of several rows at once, [`rows`] |
//! | warps | [`block`], by way of a [`tile`] and its [`run`]s; [`team`], for answers side by side |
//! | blocks | [`grid`] |
//! | leaves of a row operation, in two passes | [`leaf`] |
//!
//! What cannot change a fold is not folded: `prefilter`. What may be combined in any order is set aside: [`unordered`]. What is read is read by [`load`](super::load).

pub mod block;
pub mod grid;
pub mod in_order;
pub mod leaf;
pub mod packed;
mod prefilter;
pub mod rows;
pub mod run;
pub mod strided;
pub mod team;
pub mod thread;
pub mod tile;
pub mod two_passes;
pub mod unordered;
pub mod warp;
