//! What a launch passes to an entry point.

use core::ptr;

use super::OpParams;
use crate::stages::{
    emit::Output,
    load::{
        extents::{Array, Extents},
        source::Source,
    },
    reduce::grid::Meeting,
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
    /// The slots of a [`Meeting`].
    pub slots: *mut u32,
    /// [`Meeting::tiles`].
    pub tiles: u64,
    /// Its tickets.
    pub tickets: *mut u32,
    /// The answers of an [`Output`].
    pub answer: *mut u8,
    /// Its states.
    pub state: *mut u32,
    /// [`OpParams::number`].
    pub number: u64,
    /// What [`OpParams::flags`] makes of the rest.
    pub flags: u64,
    /// [`Meeting::blocks`].
    pub blocks: u64,
    /// [`Arguments::steps`].
    pub steps: u64,
    /// [`Arguments::answers`].
    pub answers: u64,
    /// [`Arguments::warps`].
    pub warps: u64,
}

impl Launch {
    /// Of no extents, and no memory.
    pub const NOTHING: Self = Self {
        arrays: [Array::NONE; 2],
        len: 0,
        count: 0,
        layout: ptr::null(),
        slots: ptr::null_mut(),
        tiles: 0,
        tickets: ptr::null_mut(),
        answer: ptr::null_mut(),
        state: ptr::null_mut(),
        number: 0,
        flags: 0,
        blocks: 1,
        steps: 1,
        answers: 1,
        warps: 1,
    };

    /// What is passed of the operator.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn params(&self) -> OpParams {
        OpParams::new(self.number, self.flags as u32)
    }

    /// The rest, of a kernel that folds items of `T`. Whoever has it may read and write what it says is there.
    ///
    /// # Safety
    ///
    /// The arrays, the layout and the memory around are as [`Extents::new`] has them; slots and tickets as [`Meeting::new`], and answers and states as [`Output::new`]. All threads
    /// of the grid run one kernel, in the shape that it was planned for.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub unsafe fn arguments<T: Source>(&self) -> Arguments<T> {
        // SAFETY: the caller's word.
        unsafe {
            Arguments {
                extents: Extents::new(self.arrays, self.len, self.count, self.layout),
                meeting: Meeting::new(self.slots, self.tiles, self.tickets, self.blocks as u32),
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
    /// Where blocks meet.
    pub meeting: Meeting,
    /// Where the answers go.
    pub output: Output,
    /// Leaves that each warp folds of a tile; steps of a team; leaves of a tile of segments.
    pub steps: u32,
    /// Answers in a warp of a team; rows of a warp.
    pub answers: u32,
    /// Warps of a team.
    pub warps: u32,
}
