//! Attention as a reduction: one pass over keys and values, with no row of scores in memory.
//!
//! A query `q` has a score with each key, `sᵢ = scale · q·kᵢ`, and its answer is the mean of the values, weighted by `exp(sᵢ)`:
//!
//! ```text
//! y = Σ exp(sᵢ) · vᵢ / Σ exp(sᵢ)
//! ```
//!
//! What some keys contribute is a state of a [monoid](Attend): the largest score `m`, the sum `l` of `exp(sᵢ − m)`, and the
//! accumulator, the sum of `exp(sᵢ − m) · vᵢ`. So any split of the keys can be folded apart and combined.
//!
//! * [`Attend`] and [`Partial`]: the monoid, its laws, and what it answers of nothing.
//! * [`attend`]: the kernel, of one query or a few for each head, as in decoding. [`Plan`] says how it is launched.
//! * [`attend_on_cpu`]: the same bits on the CPU, and [`Fold`], which takes keys in pieces.
//!
//! # The bits
//!
//! They depend on the query, the keys and values that it sees, the head size and the scale: on nothing else. Combining rounds, so it
//! is associative only up to rounding, and the tree is fixed:
//!
//! 1. A score sums products in 32 lanes, lane `j` those of columns `j`, `j + 32`, …, by fused multiply-adds. Then lanes, neighbours
//!    first; then it is multiplied by the scale.
//! 2. A **tile** is 32 keys. Its `m` is the largest score. Its `l` sums the weights, neighbours first. Its accumulator adds weighted
//!    values in the order of keys, by fused multiply-adds.
//! 3. Tiles are combined, neighbours first: `(0,1) (2,3) …`, then the results in pairs again.
//!
//! Keys that are not visible are not read. Tiles past the last hold the identity, which is neutral to the bit. So neither the warps
//! of a block, nor the blocks of a query, nor the queries beside it change a bit.
//!
//! # Sources
//!
//! M. Milakov and N. Gimelshein, *Online normalizer calculation for softmax* (2018): `m` and `l` in one pass. M. N. Rabe and
//! C. Staats, *Self-attention does not need O(n²) memory* (2021): the accumulator beside them. T. Dao et al., *FlashAttention* (2022):
//! tiles in fast memory. Splitting the keys over blocks is known as Flash-Decoding (T. Dao et al. 2023).

mod cpu;
mod kernel;
mod plan;
mod state;

pub use cpu::{Fold, attend_on_cpu};
pub use kernel::{Launch, attend};
pub use plan::{MOST_COLUMNS, Plan, Sizes, TILE, note};
pub use state::{Attend, Columns, Key, Partial};
