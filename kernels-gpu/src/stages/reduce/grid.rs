//! Grid stage: one state per tile in global memory; the last block to arrive folds them.

use crate::{
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        StateArray,
        load::source::Source,
        reduce::{
            block::{self, Turn},
            team::Team,
            thread::{eight, fold_eight},
            unordered, warp,
        },
        strategy::{Strategy, slots_at_once},
    },
    tree::LANES,
};

/// The slots of the tiles of one extent, and the tickets of its blocks.
#[derive(Clone, Copy)]
pub struct TileSlots {
    slots: StateArray,
    tiles: u64,
    tickets: *mut u32,
    blocks: u32,
}

impl TileSlots {
    /// A state for each of as many tiles, and tickets for as many blocks: zero before the launch, and zero again after it.
    ///
    /// # Safety
    ///
    /// They are this launch's own, and there are as many of them as the kernel has extents, tiles or groups of these.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn new(slots: *mut u32, tiles: u64, tickets: *mut u32, blocks: u32) -> Self {
        Self {
            // SAFETY: the caller's word.
            slots: unsafe { StateArray::new(slots) },
            tiles,
            tickets,
            blocks,
        }
    }

    /// One state per tile.
    pub fn slots(self) -> StateArray {
        self.slots
    }

    /// How many tiles.
    pub fn tiles(self) -> u64 {
        self.tiles
    }

    /// How many blocks draw a ticket.
    pub fn blocks(self) -> u32 {
        self.blocks
    }

    /// Those of extent `number`, `self` being the first's: slots lie extent by extent, and so do tickets.
    #[must_use]
    pub fn of<State: Words>(self, number: u64) -> Self {
        Self {
            slots: self.slots.from::<State>(number * self.tiles),
            tickets: self.tickets.wrapping_add(number as usize),
            ..self
        }
    }

    /// Those of `tiles` tiles from number `first` on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn part<State: Words>(self, first: u64, tiles: u64) -> Self {
        Self {
            slots: self.slots.from::<State>(first),
            tickets: self.tickets.wrapping_add(first as usize),
            tiles,
            ..self
        }
    }

    /// Draws the next ticket of the set of that number, and says whether it is the last of `count`.
    ///
    /// Release: what this thread stored, or saw behind a barrier. Acquire: who draws the last sees what all others released.
    fn draws_last<S: Simt>(self, simt: S, set: u64, count: u32) -> bool {
        let last = count - 1;
        // SAFETY: the ticket is this launch's, as the maker of these has it.
        unsafe { simt.ticket(self.tickets.wrapping_add(set as usize), last) == last }
    }
}

/// Rows of 32 slots that a warp loads before it combines any.
const ROWS: u32 = 8;

/// Slots that one warp folds at once.
pub const SLOTS_PER_WARP: u64 = (ROWS * LANES) as u64;

/// Puts the `total` of tile number `tile` of an extent into its slot, where the last block finds it.
///
/// Called by: all threads of the block together, thread 0 having the total · Scratch: the slots
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn put<S: Simt, State: Words>(simt: S, extent: u32, tile: u64, total: State, tile_slots: TileSlots) {
    if tile_slots.tiles > 1 && simt.thread() == 0 {
        debug_assert!(tile < tile_slots.tiles, "a tile has a slot");
        tile_slots
            .slots
            .store(simt, u64::from(extent) * tile_slots.tiles + tile, total);
    }
}

/// Folds the slots of all tiles of an extent, neighbours first, in the last of its blocks to arrive. `None` in every other. The one tile
/// that an extent may have waits for nobody: its `total` is all there is.
///
/// Called by: all threads of the block together, thread 0 having stored the block's slots · Valid in: thread 0 of the
/// last block · Scratch: the slots, the shared buffers and their notice word
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn last_block_folds<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    extent: u32,
    total: M::State,
    tile_slots: TileSlots,
) -> Option<M::State> {
    if tile_slots.tiles <= 1 {
        // The tile's block, or where there is none the first, needs nobody else; others have nothing to say.
        return (simt.block() == extent * tile_slots.blocks).then_some(total);
    }
    let tile_slots = tile_slots.of::<M::State>(extent.into());
    let last = draws_last(simt, tile_slots);
    if const { Strategy::of::<T, M>().accumulates_per_thread() } {
        return all_hear(simt, last).then(|| fold_in_any_order(simt, op, tile_slots));
    }
    // Few slots are the first warp's affair: no barrier.
    if tile_slots.tiles <= SLOTS_PER_WARP {
        if simt.warp() != 0 || !simt.any(last) {
            return None;
        }
        // Hands on to the warp what thread 0 saw with its ticket: a vote orders no memory.
        simt.warp_barrier();
    } else if !all_hear(simt, last) {
        return None;
    }
    Some(fold_slots(simt, op, tile_slots))
}

/// Whether this is the last block to arrive, which then sees the slots that all blocks stored.
///
/// Called by: all threads of the block together, behind a barrier after its slots were stored · Valid in: every thread ·
/// Scratch: the notice word
pub fn arrives_last<S: Simt>(simt: S, tile_slots: TileSlots) -> bool {
    all_hear(simt, draws_last(simt, tile_slots))
}

/// The same of a set of answers by its number, each of which has a ticket and so many blocks; the slots may have just been stored.
///
/// Called by: all threads of the block together · Valid in: every thread · Scratch: the notice word
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn arrives_last_of<S: Simt>(simt: S, tile_slots: TileSlots, set: u32, blocks: u32) -> bool {
    simt.barrier();
    let here = TileSlots {
        tickets: tile_slots.tickets.wrapping_add(set as usize),
        blocks,
        ..tile_slots
    };
    arrives_last(simt, here)
}

/// What thread 0 says, in every thread.
fn all_hear<S: Simt>(simt: S, said: bool) -> bool {
    if simt.thread() == 0 {
        simt.store_shared(block::NOTICE, u32::from(said));
    }
    // Hands on to the block what thread 0 saw with its ticket.
    simt.barrier();
    simt.load_shared(block::NOTICE) == 1
}

/// The same for at most [`SLOTS_PER_WARP`] tiles, by the block's first warp alone: no barrier, and less code.
///
/// Called by, Valid in: as [`last_block_folds`] · Scratch: the slots
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn last_warp_folds<S: Simt, T, M: Monoid<T>>(simt: S, op: M, tile_slots: TileSlots) -> Option<M::State> {
    first_warp_folds(simt, op, tile_slots, draws_last(simt, tile_slots))
}

/// The first warp's fold of at most [`SLOTS_PER_WARP`] slots, if its thread 0 drew the `last` ticket.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn first_warp_folds<S: Simt, T, M: Monoid<T>>(simt: S, op: M, tile_slots: TileSlots, last: bool) -> Option<M::State> {
    if simt.warp() != 0 || !simt.any(last) {
        return None;
    }
    // Hands on to the warp what thread 0 saw with its ticket: a vote orders no memory.
    simt.warp_barrier();
    let rows = reduce_8_rows(simt, op, tile_slots.slots, 1, tile_slots.tiles as u32);
    Some(warp::reduce_8_lanes(simt, op, rows))
}

/// Folds the states of all tiles, neighbours first, where each is a warp's: the last warp to arrive of each [`SLOTS_PER_WARP`] tiles folds
/// theirs, the last of as many of those all of them, and so on. `None` in every warp but the last of all.
///
/// Slots and tickets have a place for each tile; its number of blocks is not asked for.
///
/// Called by: all 32 lanes together; lane 0 has the `state` of tile number `tile` · Valid in: every lane · Scratch: the slots
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn last_warps_fold<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    tile_slots: TileSlots,
    tile: u64,
    mut state: M::State,
) -> Option<M::State> {
    // What is combined lies so many slots apart, as a power of two: the first slot of each is the whole's.
    let (mut shift, mut level) = (0, 0);
    let mut place = tile;
    let mut members = tile_slots.tiles;
    while members > 1 {
        let group = place / SLOTS_PER_WARP;
        let first = group * SLOTS_PER_WARP;
        let present = (members - first).min(SLOTS_PER_WARP) as u32;
        if present > 1 {
            let here = first << shift;
            let slots = tile_slots.slots.from::<M::State>(here);
            let mut last = false;
            if simt.lane() == 0 {
                // This slot is this warp's, which has read what it had before.
                slots.store(simt, (place - first) << shift, state);
                // Two levels' groups may begin at one tile: each level has the next ticket.
                last = tile_slots.draws_last(simt, here + level, present);
            }
            if !simt.any(last) {
                return None;
            }
            // Hands on to the warp what lane 0 saw with its ticket.
            simt.warp_barrier();
            state = fold_warp_slots(simt, op, slots, 1 << shift, present);
            // The slots were read.
            simt.warp_barrier();
        }
        (place, members) = (group, members.div_ceil(SLOTS_PER_WARP));
        shift += u32::trailing_zeros(SLOTS_PER_WARP as u32);
        level += 1;
    }
    Some(state)
}

/// Folds the slots of all tiles of the teams' answers, neighbours first, in the last block of a set to arrive; `None` in every other. The
/// one tile that there may be waits for nobody.
///
/// Called by: all threads of the block together, with the numbers of their set and their team; lanes that [hold an answer](Team::holds_answer)
/// have the `total` of `tile` · Valid in: those lanes · Scratch: the slots, the shared buffers and their notice word
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn last_teams_fold<S: Simt, T, M: Monoid<T>>(
    simt: S,
    op: M,
    team: Team,
    [set, number]: [u64; 2],
    tile: u32,
    total: M::State,
    tile_slots: TileSlots,
) -> Option<M::State> {
    if tile_slots.tiles <= 1 {
        return Some(total);
    }
    let slot = |tile: u64| (number * tile_slots.tiles + tile) * u64::from(team.answers) + u64::from(team.answer(simt));
    if team.holds_answer(simt) {
        tile_slots.slots.store(simt, slot(tile.into()), total);
    }
    if !arrives_last_of(simt, tile_slots, set as u32, tile_slots.tiles as u32) {
        return None;
    }
    Some(fold_team_slots(simt, op, team, tile_slots, slot))
}

/// The slots of each team in turns, each of which leaves a slot where there were more than a team folds at once: seldom.
///
/// Called by: all threads of the block together · Valid in: lanes that hold an answer · Scratch: the slots and the shared buffers
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_team_slots<S: Simt, T, M: Monoid<T>>(
    simt: S,
    op: M,
    team: Team,
    tile_slots: TileSlots,
    slot: impl Fn(u64) -> u64,
) -> M::State {
    let each = const { slots_at_once(M::State::COUNT, M::ALGEBRA) };
    let holds = team.holds_answer(simt);
    let mut left = tile_slots.tiles as u32;
    loop {
        let units = left.div_ceil(each);
        let (team, turns) = team.of_slots::<M::State>(units);
        let (mut turn, mut total) = (0, op.identity());
        while turn < turns {
            let before = turn * team.units() as u32;
            total = team.fold(simt, op, (units - before).into(), |unit| {
                let first = (before + unit as u32) * each;
                some_slots(op, u32::saturating_sub(left, first), |i| {
                    tile_slots.slots.load(simt, slot(u64::from(first + i)))
                })
            });
            if turns > 1 {
                // This slot was read in this turn or before.
                simt.barrier();
                if holds {
                    tile_slots.slots.store(simt, slot(u64::from(turn)), total);
                }
            }
            turn += 1;
        }
        if turns == 1 {
            return total;
        }
        simt.barrier();
        left = turns;
    }
}

/// Combines the states of as many slots as a team's lane [folds at once](slots_at_once), of which the first `present` are there.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn some_slots<T, M: Monoid<T>>(op: M, present: u32, slot: impl Fn(u32) -> M::State) -> M::State {
    let state = |i| if i < present { slot(i) } else { op.identity() };
    if const { slots_at_once(M::State::COUNT, M::ALGEBRA) } == 1 {
        state(0)
    } else {
        fold_eight(op, eight(state))
    }
}

/// Whether this is thread 0 of the last block to arrive, which then sees the slots that all blocks stored.
fn draws_last<S: Simt>(simt: S, tile_slots: TileSlots) -> bool {
    simt.thread() == 0 && tile_slots.draws_last(simt, 0, tile_slots.blocks)
}

/// Folds all slots of an operator that associates: each thread some of them, before threads combine theirs. The number of warps is a power of
/// two.
///
/// Called by, Valid in, Scratch: as [`fold_slots`]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_in_any_order<S: Simt, T, M: Monoid<T>>(simt: S, op: M, tile_slots: TileSlots) -> M::State {
    let mut mine = op.identity();
    let mut slot = u64::from(simt.thread());
    while slot < tile_slots.tiles {
        mine = op.combine(mine, tile_slots.slots.load(simt, slot));
        slot += u64::from(simt.warps() * LANES);
    }
    block::reduce(simt, op, warp::reduce(simt, op, mine), Turn::FIRST)
}

/// Folds all slots, neighbours first. The number of warps is a power of two.
///
/// Called by: all threads of the last block together, or, of at most [`SLOTS_PER_WARP`] slots, of its first warp · Valid in: thread 0 · Scratch: the slots and the shared buffers
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_slots<S: Simt, T, M: Monoid<T>>(simt: S, op: M, tile_slots: TileSlots) -> M::State {
    let mut turn = Turn::FIRST;
    // One warp folds a run of 1024 slots (32 rows of 32, lane `j` keeping row `j`), a block a group of such runs.
    let run = LANES * LANES;
    let group = u32::trailing_zeros(run * simt.warps());
    let mut left = tile_slots.tiles;
    loop {
        let groups = ((left - 1) >> group) + 1;
        let mut total = op.identity();
        for g in 0..groups {
            let first = (g << group) + u64::from(simt.warp() * run);
            total = fold_run(simt, op, tile_slots.slots, first, left);
            if tile_slots.tiles <= SLOTS_PER_WARP {
                return total;
            }
            total = block::reduce(simt, op, total, turn);
            turn = turn.next();
            if groups > 1 {
                // Slot g was read by this group or one before it: other warps are behind the block stage's barrier, the
                // lanes of this one are behind this.
                simt.warp_barrier();
                if simt.thread() == 0 {
                    tile_slots.slots.store(simt, g, total);
                }
            }
        }
        if groups == 1 {
            return total;
        }
        simt.barrier();
        left = groups;
    }
}

/// Folds slots `first..first + 1024`, those from `end` on being the identity.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_run<S: Simt, T, M: Monoid<T>>(simt: S, op: M, slots: StateArray, first: u64, end: u64) -> M::State {
    let mut kept = op.identity();
    let present = u64::saturating_sub(end, first).min(u64::from(LANES * LANES)) as u32;
    // A number of turns that no compiler knows: one unrolls the loop otherwise, and this is code that one block runs once.
    let turns = present.div_ceil(ROWS * LANES);
    for i in 0..turns {
        let before = i * ROWS * LANES;
        let slots = slots.from::<M::State>(first + u64::from(before));
        let totals = reduce_8_rows(simt, op, slots, 1, present - before);
        if simt.lane() / ROWS == i {
            kept = totals;
        }
    }
    warp::reduce(simt, op, kept)
}

/// Folds at most [`SLOTS_PER_WARP`] slots, `step` from one to the next, those from `present` on being the identity.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_warp_slots<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    slots: StateArray,
    step: u64,
    present: u32,
) -> M::State {
    if !const { Strategy::of::<T, M>().accumulates_per_thread() } {
        let rows = reduce_8_rows(simt, op, slots, step, present);
        return warp::reduce_8_lanes(simt, op, rows);
    }
    let mut mine = op.identity();
    let mut slot = simt.lane();
    while slot < present {
        mine = op.combine(mine, slots.load(simt, u64::from(slot) * step));
        slot += LANES;
    }
    warp::reduce(simt, op, mine)
}

/// Folds each of eight rows of 32 slots, `step` from one to the next, those from `present` on being the identity.
///
/// Called by: all 32 lanes together · Valid in: lane `l` has row `l % 8` · Scratch: none
// The large stages are inlined, all of them: a call would put states of many words into memory.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn reduce_8_rows<S: Simt, T, M: Monoid<T>>(simt: S, op: M, slots: StateArray, step: u64, present: u32) -> M::State {
    // One address for the eight loads, and comparisons of one number, in 32 bits: this shares the registers of the whole kernel.
    let column = slots.from::<M::State>(u64::from(simt.lane()) * step);
    let left = simt.opaque(u32::saturating_sub(present, simt.lane()));
    let slot = |row| {
        if row * LANES < left {
            column.load(simt, u64::from(row * LANES) * step)
        } else {
            op.identity()
        }
    };
    if M::ALGEBRA.unordered_words > 0 {
        unordered::reduce_eight(simt, op, slot)
    } else {
        warp::reduce_eight(simt, op, slot)
    }
}
