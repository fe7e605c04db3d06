//! What a launch over a list of tensors passes.

use core::ptr;

use crate::{
    simt::Simt,
    stages::{columns::Floats, load::words::WORDS},
    tree::LANES,
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

/// All of it, in one parameter: the host writes what the kernel reads. Each field is of 64 bits, as [`Launch`](crate::kernels::Launch)'s.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TensorsLaunch {
    /// The tensors.
    pub tensors: *const TensorEntry,
    /// Where what becomes of them goes: the same table, where that is in place. A norm has no use for it.
    pub to: *const TensorEntry,
    /// How many there are.
    pub count: u64,
    /// Tiles of all of them.
    pub tiles: u64,
    /// Leaves of a tile, a power of two, at most [`MOST_LEAVES`](super::MOST_LEAVES).
    pub leaves: u64,
    /// Elements of all of them.
    pub elements: u64,
    /// A state for each tile, and behind those for each tensor.
    pub slots: *mut u32,
    /// A ticket for each of the same, zero before the launch and after it.
    pub tickets: *mut u32,
    /// The [answer](crate::monoids::NormAndCount): a norm writes it, and clipping reads it.
    pub answer: *mut u32,
    /// The power of a norm, the bits of an f64; the largest norm to be had, those of an f32.
    pub number: u64,
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

    /// The entry of that number in a table.
    ///
    /// # Safety
    ///
    /// The table has it, and nobody writes it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn load<S: Simt>(simt: S, table: *const Self, number: u64) -> Self {
        let from = table.wrapping_add(number as usize).cast::<u32>();
        // SAFETY: passed on to the caller; an entry is two vectors.
        let ([a, b, c, d], [e, f, g, h]) = unsafe {
            (
                simt.load_shared_input_vector(from),
                simt.load_shared_input_vector(from.wrapping_add(WORDS)),
            )
        };
        Self {
            start: joined(a, b),
            len: joined(c, d),
            first_tile: joined(e, f),
            floats: joined(g, h),
        }
    }
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl TensorsLaunch {
    /// The number of this warp's tile; none where there are no more.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn tile_number<S: Simt>(&self, simt: S) -> Option<u64> {
        let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
        (warp < self.tiles).then_some(warp)
    }

    /// The tile of that number.
    ///
    /// Called by: all 32 lanes together · Valid in: every lane
    ///
    /// # Safety
    ///
    /// The table is valid and unwritten; there is such a tile.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn tile<S: Simt>(&self, simt: S, tile: u64) -> Tile {
        // The last tensor that begins at the tile or before it is one of low..high. Each turn the lanes ask at 32 places: a search by halves would wait five
        // times as often.
        let (mut low, mut high) = (0, self.count);
        while high - low > 1 {
            let apart = (high - low).div_ceil(u64::from(LANES));
            let at = low + u64::from(simt.lane()) * apart;
            // SAFETY: passed on to the caller.
            let begins = at < high && unsafe { self.first_tile(simt, at) } <= tile;
            // Neighbours, for first tiles rise; that of `low` is among them.
            let lanes = u64::from(u32::count_ones(simt.ballot(begins)));
            low += u64::saturating_sub(lanes, 1) * apart;
            high = high.min(low + apart);
        }
        // SAFETY: passed on to the caller; behind each tensor there is one more entry.
        let (tensor, end) = unsafe {
            (
                TensorEntry::load(simt, self.tensors, low),
                self.first_tile(simt, low + 1),
            )
        };
        Tile {
            number: low,
            tensor,
            tile: tile - tensor.first_tile,
            tiles: end - tensor.first_tile,
        }
    }

    /// # Safety
    ///
    /// As [`tile`](Self::tile); there is such an entry.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn first_tile<S: Simt>(&self, simt: S, number: u64) -> u64 {
        const FIRST_TILE: usize = core::mem::offset_of!(TensorEntry, first_tile);
        let from = self
            .tensors
            .wrapping_add(number as usize)
            .wrapping_byte_add(FIRST_TILE)
            .cast::<u32>();
        // SAFETY: passed on to the caller.
        unsafe { joined(simt.load_input(from), simt.load_input(from.wrapping_add(1))) }
    }
}
