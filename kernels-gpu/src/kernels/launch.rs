//! What a launch passes to an entry point.

use core::ptr;

use super::OpParams;
use crate::stages::{
    columns::Shares,
    emit::Output,
    load::{
        extents::{Array, Extents},
        source::Source,
    },
    reduce::{grid::TileSlots, team::Team},
};

/// All of it, in one parameter: the host writes what the kernel reads. Each field is of 64 bits, for rustc passes the whole as an array
/// of those, and halves of one would be taken apart in registers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Launch {
    /// The arrays that are folded together; the second is zeros if there is but one.
    pub arrays: [Array; 2],
    /// [`Extents::len`].
    pub len: u64,
    /// [`Extents::count`].
    pub count: u64,
    /// The layout that [`Extents::new`] speaks of.
    pub layout: *const u64,
    /// The slots of a [`TileSlots`]: of rows the states of their leaves, which a launch writes that folds, and reads that maps. Of distinct elements the hash table.
    pub slots: *mut u32,
    /// How many tiles an extent has: of rows, leaves, or states of each; of distinct elements, slots of a table.
    pub tiles: u64,
    /// Its tickets.
    pub tickets: *mut u32,
    /// The answers of an [`Output`].
    pub answer: *mut u8,
    /// Its states; of rows that were folded by an earlier launch theirs, to be read.
    pub state: *mut u32,
    /// What the operator is passed: [`OpParams::number`]; of a row operation the bits of two f32 each, the first lower; what lists of tensors and distinct elements are passed stands there.
    pub numbers: [u64; 2],
    /// What [`OpParams::flags`] makes of the rest, or [`RowFlags::bits`](super::rowwise::RowFlags::bits).
    pub flags: u64,
    /// How many blocks draw a ticket: of a row, those of a cluster; of sums of columns, those of a chunk.
    pub blocks: u64,
    /// [`Arguments::steps`]; of rows, leaves that a warp folds one after the other, where leaves are [folded alone](super::rowwise::fold_leaves), else 0.
    pub steps: u64,
    /// [`Arguments::answers`].
    pub answers: u64,
    /// [`Arguments::warps`].
    pub warps: u64,
    /// What is passed of row operations alone.
    pub rows: RowOperands,
}

/// What stands beside rows that are mapped.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RowOperands {
    /// From a row of the answers to the next, in elements.
    pub stride: i64,
    /// From an element of one to the next.
    pub step: i64,
    /// The dimensions of the answers, where their elements lie apart.
    pub layout: *const u64,
    /// Where the sums with a residual go, which lie as the answers do.
    pub sums: *mut u8,
    /// The weights, the biases.
    pub columns: [*const u8; 2],
    /// Whose they are.
    pub shares: Shares,
    /// Where to write what else is known of each row, nowhere if null; or where to read what is [given](crate::rowwise::Given) of each.
    pub known: [*mut u32; 4],
    /// The rows' targets: indices of elements.
    pub targets: *const u8,
    /// One that stands for none.
    pub ignored: i64,
    /// Of row `r` only the first `r mod period + shown` elements are seen; all, if it is 0.
    pub period: u64,
    /// The same as `period`; where it comes to less than nothing, none is.
    pub shown: i64,
    /// How many rows on the one is that blocks which begin about when these end will read: its elements are asked for beforehand. None are, if it is 0.
    pub prefetch: u64,
    /// Elements of a row that lie before these, in an array that others have: of rows that have [targets](crate::rowwise::RowOp::TARGETS), which count from the whole row's first.
    pub before: u64,
    /// Elements of a row that others have, before these or after; 0 where rows are whole.
    pub others: u64,
}

impl RowOperands {
    /// None.
    pub const NONE: Self = Self {
        stride: 0,
        step: 1,
        layout: ptr::null(),
        sums: ptr::null_mut(),
        columns: [ptr::null(); 2],
        shares: Shares::NONE,
        known: [ptr::null_mut(); 4],
        targets: ptr::null(),
        ignored: 0,
        period: 0,
        shown: 0,
        prefetch: 0,
        before: 0,
        others: 0,
    };

    /// Where answers lie, from the first.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn answers(&self) -> Array {
        Array {
            stride: self.stride,
            step: self.step,
            ..Array::NONE
        }
    }
}

impl Launch {
    /// Of no extents, and no memory.
    pub const NOTHING: Self = Self {
        arrays: [Array::NONE; 2],
        len: 0,
        count: 0,
        layout: ptr::null(),
        slots: ptr::null_mut(),
        tiles: 1,
        tickets: ptr::null_mut(),
        answer: ptr::null_mut(),
        state: ptr::null_mut(),
        numbers: [0; 2],
        flags: 0,
        blocks: 1,
        steps: 0,
        answers: 1,
        warps: 1,
        rows: RowOperands::NONE,
    };

    /// What is passed of the operator.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn params(&self) -> OpParams {
        OpParams::new(self.numbers[0], self.flags as u32)
    }

    /// The rest, of a kernel that folds items of `T`. Whoever has it may read and write what it says is there.
    ///
    /// # Safety
    ///
    /// The arrays, the layout and the memory around are as [`Extents::new`] has them; slots and tickets as [`TileSlots::new`], and answers and states as [`Output::new`]. All threads
    /// of the grid run one kernel, in the shape that it was planned for.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub unsafe fn arguments<T: Source>(&self) -> Arguments<T> {
        // SAFETY: the caller's word.
        unsafe {
            Arguments {
                extents: Extents::new(self.arrays, self.len, self.count, self.layout),
                tile_slots: TileSlots::new(self.slots, self.tiles, self.tickets, self.blocks as u32),
                output: Output::new(self.answer, self.state),
                steps: self.steps as u32,
                answers: self.answers as u32,
                warps: self.warps as u32,
            }
        }
    }
}

/// A launch, as a kernel that folds items of `T` takes it.
#[derive(Clone, Copy)]
pub struct Arguments<T: Source> {
    /// What is folded.
    pub extents: Extents<T>,
    /// Slots and tickets.
    pub tile_slots: TileSlots,
    /// Where the answers go.
    pub output: Output,
    /// Leaves that each warp folds of a tile; steps of a team; leaves of a tile of segments.
    pub steps: u32,
    /// Answers in a warp of a team; rows of a warp.
    pub answers: u32,
    /// Warps of a team.
    pub warps: u32,
}

impl<T: Source> Arguments<T> {
    /// The team of a launch of columns.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn team(&self) -> Team {
        Team {
            answers: self.answers,
            warps: self.warps,
            steps: self.steps,
        }
    }
}
