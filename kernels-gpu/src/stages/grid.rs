//! Grid stage: one state per tile in global memory; the last block to arrive folds them.

use super::{block, block::Turn, load, store, warp};
use crate::{monoids::Monoid, simt::Simt, tree::LANES};

/// Where the blocks of one launch meet.
#[derive(Clone, Copy)]
pub struct Meeting {
    /// One state per tile.
    pub slots: *mut u32,
    /// How many tiles.
    pub tiles: u64,
    /// The tickets: zero before the launch, and zero again after it.
    pub tickets: *mut u32,
}

/// Slots that each lane loads before it combines any.
const ROWS_IN_FLIGHT: u32 = 8;

/// Whether this block is the last to arrive; if so, it sees the slots that all blocks wrote.
///
/// Called by: all threads of the block together · Valid in: every thread · Scratch: the shared word of `turn`
///
/// # Safety
///
/// `meeting` is this launch's own.
pub unsafe fn last_to_arrive<S: Simt>(simt: S, meeting: Meeting) -> bool {
    // Every warp's last shared access is behind this barrier, so the word is free.
    simt.barrier();
    if simt.thread() == 0 {
        let last = simt.blocks() - 1;
        // SAFETY: passed on to the caller. Release: thread 0 wrote this block's slots. Acquire: the barrier below
        // hands on what it sees to the block.
        let drawn = unsafe { simt.ticket(meeting.tickets, last) };
        simt.store_shared(0, u32::from(drawn == last));
    }
    simt.barrier();
    simt.load_shared(0) == 1
}

/// Folds the slots of all tiles, neighbours first.
///
/// Called by: all threads of the last block together · Valid in: thread 0 · Scratch: the slots and both shared buffers
///
/// # Safety
///
/// `meeting` is this launch's own, and this block saw [`last_to_arrive`].
pub unsafe fn fold_slots<S: Simt, T, M: Monoid<T>>(simt: S, op: M, meeting: Meeting) -> M::State {
    let mut turn = Turn::FIRST;
    // One warp folds a run of 1024 slots (32 rows of 32, lane `j` keeping row `j`), a block a group of such runs.
    let run = u64::from(LANES * LANES);
    let group = run * u64::from(simt.warps().max(1)); // never 0, but the compiler can't know
    let mut left = meeting.tiles;
    loop {
        let groups = left.div_ceil(group);
        let mut total = op.identity();
        for g in 0..groups {
            let first = g * group + u64::from(simt.warp()) * run;
            // SAFETY: passed on to the caller.
            let mine = unsafe { fold_run(simt, op, meeting.slots, first, left) };
            simt.barrier();
            total = block::reduce(simt, op, mine, turn);
            turn = turn.next();
            if groups > 1 && simt.thread() == 0 {
                // SAFETY: slot g was read behind the barrier above, by this group or one before it.
                unsafe { store(simt, meeting.slots, g, total) }
            }
        }
        if groups <= 1 {
            return total;
        }
        simt.barrier();
        left = groups;
    }
}

/// Folds slots `first..first + 1024`, those from `end` on being the identity.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// The slots up to `end` are valid and synchronised with.
unsafe fn fold_run<S: Simt, T, M: Monoid<T>>(simt: S, op: M, slots: *const u32, first: u64, end: u64) -> M::State {
    let mut kept = op.identity();
    for eight in 0..LANES / ROWS_IN_FLIGHT {
        let first = first + u64::from(eight * ROWS_IN_FLIGHT * LANES);
        if first >= end {
            break;
        }
        let totals = warp::reduce_eight(simt, op, |row| {
            let slot = first + u64::from(row * LANES + simt.lane());
            if slot < end {
                // SAFETY: the slot is below `end`.
                unsafe { load(simt, slots, slot) }
            } else {
                op.identity()
            }
        });
        if simt.lane() / ROWS_IN_FLIGHT == eight {
            kept = totals;
        }
    }
    warp::reduce(simt, op, kept)
}
