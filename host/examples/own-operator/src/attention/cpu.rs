//! The same on the CPU: each warp is 32 lanes in a loop, and every lane computes what it computes in the kernel.

use warpfold_kernels::{arithmetic::single, monoids::Monoid, tree::LANES};

use super::{
    Attend, Columns, Partial, Sizes, TILE,
    state::{add_scaled, dot, weight},
};

/// A warp's states.
type Warp<const C: usize> = [Partial<C>; LANES as usize];

/// Levels of the tree: keys of a query are fewer than 2³⁷.
const LEVELS: usize = 32;

/// Attends with each query of each head, as the kernel does and with its bits.
///
/// # Panics
///
/// If a slice is not as long as `sizes` have it, or if no kernel has that head size.
pub fn attend_on_cpu(sizes: &Sizes, queries: &[f32], keys: &[f32], values: &[f32], out: &mut [f32]) {
    match sizes.columns() {
        Some(1) => attend_in_columns::<1>(sizes, queries, keys, values, out),
        Some(2) => attend_in_columns::<2>(sizes, queries, keys, values, out),
        Some(4) => attend_in_columns::<4>(sizes, queries, keys, values, out),
        Some(8) => attend_in_columns::<8>(sizes, queries, keys, values, out),
        _ => panic!("no kernel has a head size of {}", sizes.head_size),
    }
}

fn attend_in_columns<const C: usize>(sizes: &Sizes, queries: &[f32], keys: &[f32], values: &[f32], out: &mut [f32]) {
    let size = sizes.head_size as usize;
    let of_head = sizes.keys as usize * size;
    assert_eq!(queries.len(), sizes.rows() as usize * size, "queries");
    assert_eq!(out.len(), queries.len(), "answers");
    assert_eq!(keys.len(), sizes.heads as usize * of_head, "keys");
    assert_eq!(values.len(), keys.len(), "values");
    for (row, (query, out)) in queries.chunks_exact(size).zip(out.chunks_exact_mut(size)).enumerate() {
        let (head, number) = (row / sizes.queries as usize, row % sizes.queries as usize);
        let first = head * of_head;
        let seen = first..first + sizes.visible(number as u64) as usize * size;
        let mut fold = Fold::<C>::new(query, sizes.scale);
        fold.push(&keys[seen.clone()], &values[seen]);
        fold.finish(out);
    }
}

/// Attention of one query over keys that come in pieces, as a cache's pages do. Where the pieces end changes no bit.
///
/// Tiles that wait for their right neighbours are kept as a binary counter keeps its digits.
#[derive(Clone, Debug)]
pub struct Fold<'a, const C: usize> {
    query: &'a [f32],
    scale: f32,
    /// Of level `i` the state of `2ⁱ` tiles, where that bit of `tiles` is set.
    waiting: [Warp<C>; LEVELS],
    tiles: u64,
    is_ragged: bool,
}

impl<'a, const C: usize> Fold<'a, C> {
    /// Of no keys yet.
    ///
    /// # Panics
    ///
    /// If the query has more than `32 · C` columns, or none.
    #[must_use]
    pub fn new(query: &'a [f32], scale: f32) -> Self {
        assert!(
            (1..=C * LANES as usize).contains(&query.len()),
            "{} columns",
            query.len()
        );
        Self {
            query,
            scale,
            waiting: [[Attend::<C>.identity(); LANES as usize]; LEVELS],
            tiles: 0,
            is_ragged: false,
        }
    }

    /// The next keys and values: of whole tiles of 32, but for the last piece.
    ///
    /// # Panics
    ///
    /// If there are not as many keys as values, or if an earlier piece ended within a tile.
    pub fn push(&mut self, keys: &[f32], values: &[f32]) {
        let tile = TILE as usize * self.query.len();
        assert_eq!(keys.len(), values.len(), "as many keys as values");
        assert!(keys.len().is_multiple_of(self.query.len()), "whole keys");
        for (keys, values) in keys.chunks(tile).zip(values.chunks(tile)) {
            assert!(!self.is_ragged, "an earlier piece ended within a tile");
            self.is_ragged = keys.len() < tile;
            let mut state = self.tile(keys, values);
            let mut level = 0;
            while self.tiles >> level & 1 != 0 {
                state = combined(&self.waiting[level], &state);
                level += 1;
            }
            self.waiting[level] = state;
            self.tiles += 1;
        }
    }

    /// Writes the answer.
    ///
    /// # Panics
    ///
    /// If `out` is not as long as the query.
    pub fn finish(self, out: &mut [f32]) {
        assert_eq!(out.len(), self.query.len(), "as many columns as the query has");
        let mut total = [Attend::<C>.identity(); LANES as usize];
        for (level, state) in self.waiting.iter().enumerate() {
            if self.tiles >> level & 1 != 0 {
                total = combined(state, &total);
            }
        }
        for (lane, state) in total.into_iter().enumerate() {
            let Columns(answer) = Attend::<C>.finish(state, 0);
            for (column, answer) in out.iter_mut().skip(lane).step_by(LANES as usize).zip(answer) {
                *column = answer;
            }
        }
    }

    /// The states of a tile.
    fn tile(&self, keys: &[f32], values: &[f32]) -> Warp<C> {
        let mut scores = [f32::NEG_INFINITY; LANES as usize];
        for (score, key) in scores.iter_mut().zip(keys.chunks_exact(self.query.len())) {
            let parts = lanes(|lane| dot(columns::<C>(self.query, lane), columns(key, lane)));
            *score = neighbours_first(parts, |a, b| a + b) * self.scale;
        }
        let max = neighbours_first(scores, single::maximum);
        let weights = scores.map(|score| weight(score, max));
        let sum = neighbours_first(weights, |a, b| a + b);
        lanes(|lane| {
            let mut acc = [-0.0; C];
            for (value, weight) in values.chunks_exact(self.query.len()).zip(weights) {
                acc = add_scaled(acc, columns(value, lane), weight);
            }
            Partial { max, sum, acc }
        })
    }
}

/// What each lane has.
fn lanes<T>(of: impl FnMut(usize) -> T) -> [T; LANES as usize] {
    core::array::from_fn(of)
}

/// A lane's columns of a row, −0.0 where it ends.
fn columns<const C: usize>(row: &[f32], lane: usize) -> [f32; C] {
    core::array::from_fn(|i| row.get(lane + i * LANES as usize).copied().unwrap_or(-0.0))
}

/// All lanes' numbers in one, neighbours first.
fn neighbours_first(mut of: [f32; LANES as usize], combine: impl Fn(f32, f32) -> f32) -> f32 {
    let mut count = of.len() / 2;
    while count > 0 {
        for i in 0..count {
            of[i] = combine(of[2 * i], of[2 * i + 1]);
        }
        count /= 2;
    }
    of[0]
}

/// Two states, lane by lane.
fn combined<const C: usize>(a: &Warp<C>, b: &Warp<C>) -> Warp<C> {
    lanes(|lane| Attend::<C>.combine(a[lane], b[lane]))
}
