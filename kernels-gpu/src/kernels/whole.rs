//! Extents of any length, each by one block or by several: whole arrays, and rows of more than a leaf.

use super::Arguments;
use crate::{
    element::Type,
    monoids::Monoid,
    simt::Simt,
    stages::{
        emit::finish,
        load::{
            extents::{Extents, Input},
            source::Source,
        },
        narrow,
        reduce::{
            block::{self, Turn},
            grid::{self, TileSlots},
            thread,
            tile::{Before, Tile},
            warp,
        },
    },
    tree::leaves,
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
/// block reads its tile from one end to the other; or each a run of neighbours, where these are combined in the warp.
///
/// The number of warps in a block is a power of two, at most [`most_states`](crate::stages::strategy::most_states); a warp folds as many leaves of a tile
/// as [`Strategy::most_leaves`](crate::stages::strategy::Strategy::most_leaves) has it, and `blocks` is any number. None of them changes a bit.
///
/// An extent has fewer than 2³² tiles. There is a slot for each, and a ticket for each extent unless it is one tile. All threads of the grid call this alike.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_all<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, arguments: Arguments<T>) {
    let Arguments {
        extents,
        tile_slots,
        output,
        steps: leaves_per_warp,
        ..
    } = arguments;
    let (block, input) = block_and_extent(simt, extents, tile_slots.blocks().max(1));
    // Memory has room for no more: each has at least a leaf.
    let tiles = narrow(simt, tile_slots.tiles());
    let (mut before, mut turn) = (Before::nothing(op), Turn::FIRST);
    let (mut total, mut number) = (op.identity(), block);
    while number < tiles {
        let tile = Tile {
            simt,
            op,
            input,
            first: u64::from(number) * u64::from(simt.warps() * leaves_per_warp),
            leaves_per_warp,
        };
        total = tile.fold(&mut before, number + tile_slots.blocks() >= tiles, turn);
        grid::put(
            simt,
            extent_of(simt, extents, tile_slots),
            number.into(),
            total,
            tile_slots,
        );
        turn = turn.next();
        number += tile_slots.blocks();
    }
    let extent = extent_of(simt, extents, tile_slots);
    if let Some(total) = grid::last_block_folds(simt, op, extent, total, tile_slots)
        && simt.thread() == 0
    {
        finish(simt, op, input.len(), total, output, extent.into());
    }
}

/// This block's number among those of its extent, and the extent.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn block_and_extent<S: Simt, T: Source>(simt: S, extents: Extents<T>, blocks: u32) -> (u32, Input<T>) {
    if extents.count() == 1 {
        (simt.block(), extents.whole())
    } else {
        let extent = simt.block() / blocks;
        (simt.block() % blocks, extents.run(simt, extent.into()))
    }
}

/// The number of this block's extent. Asked for once in a tile: a division each time, and no register while leaves are folded.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn extent_of<S: Simt, T: Source>(simt: S, extents: Extents<T>, tile_slots: TileSlots) -> u32 {
    if extents.count() == 1 {
        0
    } else {
        simt.block() / simt.opaque(tile_slots.blocks()).max(1)
    }
}

/// Folds one extent of at most [`grid::SLOTS_PER_WARP`] tiles, each warp folding one leaf and each block one tile: no loop, little code, so the first instruction of every stage is soon fetched.
///
/// The number of warps in a block is a power of two, at most 32; there is a block for each tile, and at least one.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_small<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, arguments: Arguments<T>) {
    let (input, tile_slots) = (arguments.extents.whole(), arguments.tile_slots);
    let leaf = u64::from(simt.block() * simt.warps() + simt.warp());
    let mut mine = op.identity();
    if leaf < leaves::<T>(input.len()) {
        mine = thread::fold_leaf(simt, op, input, leaf);
    }
    let state = warp::reduce(simt, op, mine);
    let mut total = block::reduce(simt, op, state, Turn::FIRST);
    if tile_slots.tiles() > 1 {
        grid::put(simt, 0, simt.block().into(), total, tile_slots);
        match grid::last_warp_folds(simt, op, tile_slots) {
            Some(folded) => total = folded,
            None => return,
        }
    }
    if simt.thread() == 0 {
        finish(simt, op, input.len(), total, arguments.output, 0);
    }
}
