//! What a launch over a list of tensors passes.

use core::ptr;

use crate::{
    kernels::Launch,
    simt::Simt,
    stages::{
        columns::Floats,
        emit::Output,
        load::{search::first_not, words::WORDS},
        reduce::grid::TileSlots,
    },
};

/// A tensor, as the table in device memory has it. The table has one more at its end, of nothing, whose first tile is the number of all tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct TensorEntry {
    /// The address of its first element.
    pub start: u64,
    /// Elements.
    pub len: u64,
    /// Tiles of all tensors before it. It has one at least, even if it is empty.
    pub first_tile: u64,
    /// What it is of, by the number of [`Floats`].
    pub floats: u64,
}

/// The tile that a warp has.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    /// The number of its tensor.
    pub number: u64,
    /// Its tensor.
    pub tensor: TensorEntry,
    /// The number of the tile in the tensor.
    pub tile: u64,
    /// Tiles of the tensor.
    pub tiles: u64,
}

impl TensorEntry {
    /// What it is of.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn floats(&self) -> Floats {
        Floats::of_params(self.floats as u32)
    }

    /// Where its first element is.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn address<T>(&self) -> *mut T {
        ptr::without_provenance_mut(self.start as usize)
    }
}

/// A table of tensors that is valid, and so are they.
#[derive(Clone, Copy)]
pub(super) struct TensorTable(*const TensorEntry);

impl TensorTable {
    /// The entry of that number, which the table has.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn get<S: Simt>(self, simt: S, number: u64) -> TensorEntry {
        let from = self.0.wrapping_add(number as usize).cast::<u32>();
        // SAFETY: as `Launch::tensors_arguments` has it; an entry is two vectors.
        let ([a, b, c, d], [e, f, g, h]) = unsafe {
            (
                simt.load_shared_input_vector(from),
                simt.load_shared_input_vector(from.wrapping_add(WORDS)),
            )
        };
        TensorEntry {
            start: joined(a, b),
            len: joined(c, d),
            first_tile: joined(e, f),
            floats: joined(g, h),
        }
    }

    /// The first tile of that entry.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn first_tile<S: Simt>(self, simt: S, number: u64) -> u64 {
        const FIRST_TILE: usize = core::mem::offset_of!(TensorEntry, first_tile);
        let from = self
            .0
            .wrapping_add(number as usize)
            .wrapping_byte_add(FIRST_TILE)
            .cast::<u32>();
        // SAFETY: as above.
        unsafe { joined(simt.load_input(from), simt.load_input(from.wrapping_add(1))) }
    }
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// A launch over a list of tensors. Its first array begins with their table, its second with that of what becomes of them: the same table, where that is in place; a norm has no use for it. There are `count` tensors, of
/// `len` elements in all, in `tiles` tiles of `steps` leaves, a power of two, at most [`MOST_LEAVES`](super::MOST_LEAVES). Of slots and tickets there is one for each tile, and behind those for each tensor. The answer is
/// a [norm and a count](crate::monoids::NormAndCount): a norm writes it, and clipping reads it. The number is the power of a norm, the bits of an f64; or the largest norm to be had, those of an f32.
impl Launch {
    /// The launch, as a kernel takes it. Whoever has that may read and write what it says is there.
    ///
    /// # Safety
    ///
    /// The tables are valid and unwritten for the whole launch, and so are the tensors, but those that are written: nobody else has these. They may be the same, of the same types. There are slots and
    /// tickets for each tile and each tensor, the tickets at zero; the answer is valid for writes. All threads of the grid run one kernel.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub unsafe fn tensors_arguments(&self) -> TensorsArguments {
        TensorsArguments {
            tensors: TensorTable(self.arrays[0].start.cast()),
            to: TensorTable(self.arrays[1].start.cast()),
            count: self.count,
            tiles: self.tiles,
            leaves: self.steps,
            elements: self.len,
            // SAFETY: the caller's word. Warps draw tickets, whichever block they are of.
            tile_slots: unsafe { TileSlots::new(self.slots, self.tiles, self.tickets, 0) },
            // SAFETY: as above.
            output: unsafe { Output::new(self.answer, ptr::null_mut()) },
            answer: self.answer.cast(),
            number: self.numbers[0],
        }
    }
}

/// A launch, as a kernel takes it.
#[derive(Clone, Copy)]
pub struct TensorsArguments {
    pub(super) tensors: TensorTable,
    pub(super) to: TensorTable,
    pub(super) count: u64,
    pub(super) tiles: u64,
    pub(super) leaves: u64,
    pub(super) elements: u64,
    pub(super) tile_slots: TileSlots,
    pub(super) output: Output,
    answer: *mut u32,
    number: u64,
}

impl TensorsArguments {
    /// The power of a norm.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn power(&self) -> f64 {
        f64::from_bits(self.number)
    }

    /// The norm that a launch before wrote, and the largest to be had.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn norms<S: Simt>(&self, simt: S) -> [f32; 2] {
        // SAFETY: the answer is there, as the launch has it.
        let norm = unsafe { simt.load(self.answer) };
        [norm, self.number as u32].map(f32::from_bits)
    }

    /// The number of this warp's tile; none where there are no more.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn tile_number<S: Simt>(&self, simt: S) -> Option<u64> {
        let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
        (warp < self.tiles).then_some(warp)
    }

    /// The tile of that number, which there is.
    ///
    /// Called by: all 32 lanes together · Valid in: every lane
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn tile<S: Simt>(&self, simt: S, tile: u64) -> Tile {
        // The last that begins at the tile or before it: the first does.
        let behind = first_not(simt, self.count, |at| self.tensors.first_tile(simt, at) <= tile);
        let number = u64::saturating_sub(behind, 1);
        // Behind each tensor there is one more entry.
        let (tensor, end) = (
            self.tensors.get(simt, number),
            self.tensors.first_tile(simt, number + 1),
        );
        Tile {
            number,
            tensor,
            tile: tile - tensor.first_tile,
            tiles: end - tensor.first_tile,
        }
    }
}
