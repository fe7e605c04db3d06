//! Tile stage: a block's warps fold the leaves of a tile, each to a state or several, which are combined in shared memory.

use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::{
        load::{contiguous, extents::Input, source::Source},
        reduce::{
            block::{self, Turn},
            run::LeafRun,
            thread,
            unordered::Carried,
            warp::{self, FOUR, RowStates, Seen},
        },
        strategy::{Partials, Strategy},
    },
    tree::{LANES, PartFold as _, leaves},
};

/// The leaves of an extent that a block folds together.
#[derive(Clone, Copy)]
pub struct Tile<S, T: Source, M> {
    /// The machine.
    pub simt: S,
    /// The operator.
    pub op: M,
    /// The extent.
    pub input: Input<T>,
    /// Its first leaf.
    pub first: u64,
    /// Leaves of a warp.
    pub leaves_per_warp: u32,
}

/// What a warp knows from the tiles that its block folded before.
pub struct Before<T: Source, M: Monoid<T>> {
    seen: Seen<M::State>,
    carried: Carried<T, M>,
}

impl<T: Source, M: Monoid<T>> Before<T, M> {
    /// Nothing yet.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn nothing(op: M) -> Self {
        Self {
            seen: Seen::nothing(op),
            carried: Carried::nothing(op),
        }
    }
}

impl<S: Simt, T: Source, M: Monoid<T>> Tile<S, T, M> {
    /// Folds it, as its [`Partials`] have it; what is set aside comes with the block's last tile.
    ///
    /// Called by: all threads of the block together, on tiles in rising order · Valid in: thread 0 · Scratch: one of the two shared
    /// buffers, by `turn`
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn fold(self, before: &mut Before<T, M>, is_last: bool, turn: Turn) -> M::State {
        let Self { simt, op, .. } = self;
        let strategy = const { Strategy::of::<T, M>() };
        let states = match strategy.partials() {
            Partials::PerThread => {
                block::put(simt, simt.warp(), self.fold_per_thread(), turn);
                simt.warps()
            }
            Partials::PerRun { .. } => {
                let state = self.run().fold(&mut before.carried, is_last);
                block::put(simt, simt.warp(), state, turn);
                simt.warps()
            }
            Partials::PerLeaf if strategy.reduces_four_leaves() => {
                self.fold_four_at_a_time(turn);
                simt.warps() * self.leaves_per_warp
            }
            Partials::PerLeaf => {
                self.fold_per_leaf(&mut before.seen, turn);
                simt.warps() * self.leaves_per_warp
            }
        };
        block::fold(simt, op, states, turn)
    }

    /// How many of its leaves have elements.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn present(self) -> u32 {
        let left = u64::saturating_sub(leaves::<T>(self.input.len()), self.first);
        crate::stages::narrow(self.simt, left).min(self.simt.warps() * self.leaves_per_warp)
    }

    /// This warp's leaves in one state: a lane combines its parts of all of them.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_per_thread(self) -> M::State {
        let Self { simt, op, input, .. } = self;
        let (mut at, present) = (simt.warp(), self.present());
        let mine = op.part_fold().fold_parts(op, op.identity(), || {
            if at >= present {
                return None;
            }
            let leaf = self.first + u64::from(at);
            at += simt.warps();
            Some(contiguous::load_leaf(simt, op, input, leaf))
        });
        warp::reduce(simt, op, mine)
    }

    /// This warp's leaves, which are neighbours.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn run(self) -> LeafRun<S, T, M> {
        let Self { simt, op, input, .. } = self;
        LeafRun {
            simt,
            op,
            input,
            first: self.first + u64::from(simt.warp() * self.leaves_per_warp),
            count: self.leaves_per_warp,
        }
    }

    /// Warps take leaves in turns, four at a time, so that the block reads its tile from one end to the other.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_four_at_a_time(self, turn: Turn) {
        let Self { simt, op, .. } = self;
        let (mut at, leaves) = (simt.warp(), simt.warps() * self.leaves_per_warp);
        while at < leaves {
            let mut four = Turns {
                tile: self,
                from: at,
                present: self.present(),
            };
            let state = warp::fold_four::<S, T, M, false>(simt, op, 0, simt.opaque(LANES), &mut four);
            let mine = at + simt.lane() * simt.warps();
            if simt.lane() < FOUR && mine < leaves {
                block::put_own(simt, mine, state, turn);
            }
            at += FOUR * simt.warps();
        }
    }

    /// The same, one at a time.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_per_leaf(self, seen: &mut Seen<M::State>, turn: Turn) {
        let Self { simt, op, input, .. } = self;
        let (mut at, leaves, present) = (simt.warp(), simt.warps() * self.leaves_per_warp, self.present());
        while at < leaves {
            let mut state = op.identity();
            if at < present {
                state = warp::fold_leaf(simt, op, input, self.first + u64::from(at), seen);
            }
            block::put(simt, at, state, turn);
            at += simt.warps();
        }
    }
}

/// A warp's next leaves of a tile, as many apart as there are warps. Those that are not there hold the identity.
struct Turns<S, T: Source, M> {
    tile: Tile<S, T, M>,
    from: u32,
    present: u32,
}

impl<S: Simt, T: Source, M: Monoid<T>> RowStates<M::State> for Turns<S, T, M> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row(&mut self, number: u32) -> M::State {
        let Tile {
            simt, op, input, first, ..
        } = self.tile;
        let at = self.from + number * simt.warps();
        if at >= self.present {
            return op.identity();
        }
        thread::fold_leaf(simt, op, input, first + u64::from(at))
    }
}
