//! What a launch passes to an entry point.

use super::OpParams;
use crate::stages::{
    emit::Output,
    load::{
        around::Around,
        extents::Extents,
        source::{At, Source},
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
    /// [`Extents::layout`].
    pub layout: *const u64,
    /// [`Meeting::slots`].
    pub slots: *mut u32,
    /// [`Meeting::tiles`].
    pub tiles: u64,
    /// [`Meeting::tickets`].
    pub tickets: *mut u32,
    /// [`Output::answer`].
    pub answer: *mut u8,
    /// [`Output::state`].
    pub state: *mut u32,
    /// [`OpParams::number`].
    pub number: u64,
    /// [`OpParams::flags`].
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

/// Where one of the arrays lies, as [`Extents`] have it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Array {
    /// The first element of the first extent.
    pub start: *const u8,
    /// From the start of an extent to that of the next, in elements.
    pub stride: i64,
    /// From an element of an extent to the next, in elements.
    pub step: i64,
    /// Memory that may be read.
    pub around: Around,
}

impl Array {
    /// Of no memory.
    pub const NONE: Self = Self {
        start: core::ptr::null(),
        stride: 0,
        step: 0,
        around: Around(0, 0),
    };
}

impl Launch {
    /// What is passed of the operator.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn params(&self) -> OpParams {
        OpParams::new(self.number, self.flags as u32)
    }

    /// The rest, of a kernel that folds items of `T`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn arguments<T: Source>(&self) -> Arguments<T> {
        let [first, second] = self.arrays;
        let each = |array: usize| if array == 0 { first } else { second };
        let start: At<T> = T::each(|array| each(array).start.cast());
        Arguments {
            extents: Extents {
                start,
                len: self.len,
                count: self.count,
                stride: T::each(|array| each(array).stride),
                step: T::each(|array| each(array).step),
                layout: self.layout,
                around: T::each(|array| each(array).around),
            },
            meeting: Meeting {
                slots: self.slots,
                tiles: self.tiles,
                tickets: self.tickets,
                blocks: self.blocks as u32,
            },
            output: Output {
                answer: self.answer,
                state: self.state,
            },
            steps: self.steps as u32,
            answers: self.answers as u32,
            warps: self.warps as u32,
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
