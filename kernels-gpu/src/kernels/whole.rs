//! Extents of any length, each by one block or by several: whole arrays, and rows of more than a leaf.

use super::output::{Output, finish};
use crate::{
    element::Type,
    monoids::Monoid,
    simt::Simt,
    stages::{
        aside::Carried,
        block,
        block::Turn,
        extents::{Extents, Input},
        grid,
        grid::Meeting,
        narrow,
        run::Run,
        source::Source,
        store,
        strategy::{Partials, Strategy},
        thread, warp,
        warp::{Row, Seen},
    },
    tree::{LANES, leaves},
};

/// Elements of a type in a tile: what one block folds to one state.
#[must_use]
pub const fn tile_elements(element: Type, warps: u32, leaves_per_warp: u32) -> u64 {
    element.leaf_elements() * warps as u64 * leaves_per_warp as u64
}

/// Folds each extent to its answer.
///
/// ```text
/// thread: 8 vectors ─ warp: 5 shuffles ─ block: shared memory ─ tile's slot ─ last block: all slots ─ finish
/// ```
///
/// The first `blocks` blocks fold the first extent, as many the next. Warps take the leaves of a tile in turns, so that a
/// block reads its tile from one end to the other; or each a run of neighbours, where these meet in the warp.
///
/// The number of warps in a block is a power of two, at most [`most_states`](crate::stages::strategy::most_states); a warp folds as many leaves of a tile
/// as [`Strategy::most_leaves`] has it, and `blocks` is any number. None of them changes a bit.
///
/// # Safety
///
/// `extents` are valid and unwritten for the whole launch; an extent has `tiles` tiles, fewer than 2³²; `slots` has room for every tile's state,
/// and there is a ticket for each extent, at zero, unless there is but one tile; `output`'s pointers are null or valid. All
/// threads of the grid call this alike.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn reduce_all<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    extents: Extents<T>,
    leaves_per_warp: u32,
    meeting: Meeting,
    output: Output,
) {
    let strategy = const { Strategy::of::<T, M>() };
    let (block, input) = if extents.count == 1 {
        (simt.block(), extents.whole())
    } else {
        let blocks = meeting.blocks.max(1);
        let extent = simt.block() / blocks;
        // SAFETY: passed on to the caller.
        (simt.block() % blocks, unsafe { extents.run(simt, extent.into()) })
    };
    // Asked for once, and once in a tile: a division each time, and no register while leaves are folded.
    let extent = || {
        if extents.count == 1 {
            0
        } else {
            simt.block() / simt.opaque(meeting.blocks).max(1)
        }
    };

    let tile_leaves = simt.warps() * leaves_per_warp;
    let mut turn = Turn::FIRST;
    let mut seen = Seen::nothing(op);
    let mut carried = Carried::nothing(op);
    let are_apart = matches!(strategy.partials(), Partials::PerLeaf);
    let mut tile = block;
    // Memory has room for no more: each has at least a leaf.
    let tiles = narrow(simt, meeting.tiles);
    let mut total = op.identity();
    while tile < tiles {
        let first = u64::from(tile) * u64::from(tile_leaves);
        let leaf = |at: u32| first + u64::from(at);
        // How many leaves of the tile have elements, and how many of those can be read at once, which come first.
        let present = narrow(simt, u64::saturating_sub(leaves::<T>(input.len), first));
        let loadable = narrow(simt, u64::saturating_sub(thread::loadable_leaves::<T, M>(input), first));
        let whole = tile_leaves.min(loadable);
        let mut at = simt.warp();
        if strategy.accumulates_per_thread() {
            let mut mine = op.fold_parts(op.identity(), || {
                if at >= whole {
                    return None;
                }
                let leaf = leaf(at);
                at += simt.warps();
                // SAFETY: passed on to the caller; the leaf is one of those that are read at once.
                Some(unsafe { thread::load_leaf::<S, T, M>(simt, input, leaf) }.part())
            });
            while at < tile_leaves.min(present) {
                // SAFETY: passed on to the caller.
                mine = unsafe { thread::fold_ragged_onto(simt, op, input, leaf(at), mine) };
                at += simt.warps();
            }
            block::put(simt, simt.warp(), warp::reduce(simt, op, mine), turn);
        }
        if strategy.reduces_four_leaves() && are_apart {
            while at < whole {
                let mut four = Turns {
                    simt,
                    op,
                    input,
                    first: leaf(at),
                    count: whole - at,
                };
                let state = warp::fold_four::<S, T, M, false>(simt, op, 0, simt.opaque(LANES), &mut four);
                let mine = at + simt.lane() * simt.warps();
                if simt.lane() < warp::FOUR && mine < whole {
                    block::put_own(simt, mine, state, turn);
                }
                at += warp::FOUR * simt.warps();
            }
            // This warp's first of the others.
            at = whole + (u32::wrapping_sub(simt.warp(), whole) & (simt.warps() - 1));
        }
        if matches!(strategy.partials(), Partials::PerRun { .. }) {
            let run = Run {
                simt,
                op,
                input,
                first: leaf(simt.warp() * leaves_per_warp),
                count: leaves_per_warp,
            };
            // What is set aside comes with the block's last tile.
            // SAFETY: passed on to the caller.
            let state = unsafe { run.fold(&mut carried, tile + meeting.blocks >= tiles) };
            block::put(simt, simt.warp(), state, turn);
        }
        while M::COMMUTES && are_apart && !strategy.reduces_four_leaves() && at < whole {
            // SAFETY: passed on to the caller; the leaf is one of those.
            let state = unsafe { warp::fold_loadable(simt, op, input, leaf(at), &mut seen) };
            block::put(simt, at, state, turn);
            at += simt.warps();
        }
        while are_apart && at < tile_leaves {
            let state = if at < present {
                // SAFETY: passed on to the caller.
                unsafe { warp::fold_ragged(simt, op, input, leaf(at)) }
            } else {
                op.identity()
            };
            block::put(simt, at, state, turn);
            at += simt.warps();
        }
        let states = if are_apart { tile_leaves } else { simt.warps() };
        total = block::fold(simt, op, states, turn);
        turn = turn.next();
        if meeting.tiles > 1 && simt.thread() == 0 {
            let slot = u64::from(extent()) * meeting.tiles + u64::from(tile);
            // SAFETY: passed on to the caller; each tile has one block.
            unsafe { store(simt, meeting.slots, slot, total) };
        }
        tile += meeting.blocks;
    }
    let extent = extent();
    if meeting.tiles > 1 {
        // SAFETY: passed on to the caller.
        match unsafe { grid::last_block_folds(simt, op, meeting.of::<M::State>(extent.into())) } {
            Some(folded) => total = folded,
            None => return,
        }
    } else if simt.block() != extent * meeting.blocks {
        // A single tile's block, or that of none, needs nobody else; others have nothing to say.
        return;
    }
    if simt.thread() == 0 {
        // SAFETY: passed on to the caller.
        unsafe { finish(simt, op, input.len, total, output, extent.into()) }
    }
}

/// A warp's next leaves of a tile, as many apart as there are warps, of those that can be read at once: those among the `count` from leaf
/// `first` on. Others hold the identity.
struct Turns<S, T: Source, M> {
    simt: S,
    op: M,
    input: Input<T>,
    first: u64,
    count: u32,
}

impl<S: Simt, T: Source, M: Monoid<T>> Row<M::State> for Turns<S, T, M> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row(&mut self, number: u32) -> M::State {
        let &mut Self { simt, op, input, .. } = self;
        let at = number * simt.warps();
        if at >= self.count {
            return op.identity();
        }
        // SAFETY: the kernel's caller has it so; the leaf is one of those that are read at once.
        unsafe { thread::load_leaf::<S, T, M>(simt, input, self.first + u64::from(at)) }.fold(simt, op)
    }
}

/// Folds one extent of at most [`grid::SLOTS_PER_WARP`] tiles, each warp folding one leaf and each block one tile: no loop, little code, so the first instruction of every stage is soon fetched.
///
/// The number of warps in a block is a power of two, at most 32; there is a block for each tile, and at least one.
///
/// # Safety
///
/// As [`reduce_all`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn reduce_small<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    input: Input<T>,
    meeting: Meeting,
    output: Output,
) {
    let leaf = u64::from(simt.block() * simt.warps() + simt.warp());
    // SAFETY: passed on to the caller.
    let mine = unsafe {
        if leaf < thread::loadable_leaves::<T, M>(input) {
            thread::load_leaf::<S, T, M>(simt, input, leaf).fold(simt, op)
        } else if const { Strategy::of::<T, M>().accumulates_per_thread() } {
            thread::fold_ragged_onto(simt, op, input, leaf, op.identity())
        } else {
            thread::fold_ragged(simt, op, input, leaf)
        }
    };
    let state = warp::reduce(simt, op, mine);
    let mut total = block::reduce(simt, op, state, Turn::FIRST);
    if meeting.tiles > 1 {
        // SAFETY: passed on to the caller.
        unsafe {
            if simt.thread() == 0 {
                store(simt, meeting.slots, u64::from(simt.block()), total);
            }
            match grid::last_warp_folds(simt, op, meeting) {
                Some(folded) => total = folded,
                None => return,
            }
        }
    }
    if simt.thread() == 0 {
        // SAFETY: passed on to the caller.
        unsafe { finish(simt, op, input.len, total, output, 0) }
    }
}
