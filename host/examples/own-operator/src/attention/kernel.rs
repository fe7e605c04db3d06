//! The kernel: attention of one query or a few for each head, as in decoding.

use warpfold_kernels::{
    arithmetic::single,
    monoids::{Monoid, Sum, Words},
    simt::Simt,
    stages::reduce::{
        grid::{self, TileSlots},
        team::Team,
        warp,
    },
    tree::LANES,
};

use super::{
    Attend, Columns, Partial, Sizes, TILE,
    state::{add_scaled, dot, weight},
};

/// Keys whose loads are in flight together.
const ROWS: u32 = 8;

/// A piece of code for each of those keys. Written out, for what a loop indexes may lie in memory.
macro_rules! each_row {
    ($row:ident => $do:expr) => {
        each_row!(@ $row, $do, 0 1 2 3 4 5 6 7)
    };
    (@ $row:ident, $do:expr, $($number:literal)*) => {
        $({
            let $row: usize = $number;
            $do;
        })*
    };
}

/// What a launch passes, in one parameter.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Launch {
    /// The sizes of all arrays.
    pub sizes: Sizes,
    /// Queries.
    pub queries: *const f32,
    /// Keys.
    pub keys: *const f32,
    /// Values.
    pub values: *const f32,
    /// Answers.
    pub out: *mut f32,
    /// States of blocks: [`Plan::slot_words`](super::Plan::slot_words).
    pub slots: *mut u32,
    /// A ticket for each query of each head: zero before the launch, and zero again after it.
    pub tickets: *mut u32,
    /// Tiles of a warp.
    pub steps: u32,
    /// Blocks of a query.
    pub parts: u32,
}

/// Attends with each query of each head, in head sizes of at most `32 · C`.
///
/// ```text
/// warp: 32 scores ─ largest ─ weights ─ weighted values: a tile ─ team: tiles of a warp, warps ─ block's slot
/// last block of a query: all its slots ─ finish
/// ```
///
/// # Safety
///
/// `launch` is of a [`Plan`](super::Plan) for these sizes, which this grid has: its arrays are as long as that says, the inputs
/// unwritten for the whole launch. All threads of the grid call this alike.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn attend<S: Simt, const C: usize>(simt: S, launch: Launch) {
    let (row, part) = (simt.block() / launch.parts.max(1), simt.block() % launch.parts.max(1));
    // SAFETY: passed on to the caller.
    let query = unsafe { Query::<S, C>::load(simt, &launch, row.into()) };
    let team = Team {
        answers: LANES,
        warps: simt.warps(),
        steps: launch.steps,
    };
    let tiles = query.visible.div_ceil(TILE);
    // SAFETY: passed on to the caller.
    let tile_slots = unsafe { launch.tile_slots::<C>(row, tiles.div_ceil(team.units().max(1))) };
    if part > 0 && u64::from(part) >= tile_slots.tiles() {
        // No key of this block is visible: nobody waits for it.
        return;
    }
    let before = u64::from(part) * team.units();
    let total = team.fold(simt, Attend::<C>, tiles - before, |tile| {
        // SAFETY: passed on to the caller; such a tile has a visible key. All lanes of a warp are at one tile.
        unsafe { query.tile(before + tile) }
    });
    if let Some(total) = grid::last_teams_fold(simt, Attend::<C>, team, [0, 0], part, total, tile_slots)
        && team.holds_answer(simt)
    {
        // SAFETY: passed on to the caller; one warp has the answer of a query.
        unsafe { query.store(launch.out, row.into(), Attend::<C>.finish(total, query.visible)) };
    }
}

impl Launch {
    /// Where the blocks of a query combine their states, of which so many have something to say.
    ///
    /// # Safety
    ///
    /// As [`attend`].
    #[inline(always)]
    unsafe fn tile_slots<const C: usize>(&self, row: u32, blocks: u64) -> TileSlots {
        let before = u64::from(row) * u64::from(self.parts) * u64::from(LANES) * Partial::<C>::COUNT as u64;
        let slots = self.slots.wrapping_add(before as usize);
        // SAFETY: slots and tickets of a query are its own, by the caller's word.
        unsafe { TileSlots::new(slots, blocks, self.tickets.wrapping_add(row as usize), blocks as u32) }
    }
}

/// A query of a head, as a lane has it: columns `lane`, `lane + 32`, … of everything.
#[derive(Clone, Copy)]
struct Query<S, const C: usize> {
    simt: S,
    query: [f32; C],
    /// This lane's first column of the head's first key and value.
    keys: *const f32,
    values: *const f32,
    visible: u64,
    head_size: u64,
    scale: f32,
}

impl<S: Simt, const C: usize> Query<S, C> {
    /// # Safety
    ///
    /// As [`attend`].
    #[inline(always)]
    unsafe fn load(simt: S, launch: &Launch, row: u64) -> Self {
        let Sizes { head_size, scale, .. } = launch.sizes;
        let (head, number) = (row / launch.sizes.queries.max(1), row % launch.sizes.queries.max(1));
        let head = (head * launch.sizes.keys * head_size) as usize + simt.lane() as usize;
        let mut query = Self {
            simt,
            query: [0.0; C],
            keys: launch.keys.wrapping_add(head),
            values: launch.values.wrapping_add(head),
            visible: launch.sizes.visible(number),
            head_size,
            scale,
        };
        let first = launch.queries.wrapping_add(simt.lane() as usize);
        // SAFETY: passed on to the caller.
        query.query = unsafe { query.columns(first, row, true) };
        query
    }

    /// The state of a tile.
    ///
    /// Called by: all 32 lanes together · Valid in: every lane, of its columns · Scratch: none
    ///
    /// # Safety
    ///
    /// As [`attend`]; the tile has a visible key.
    #[inline(always)]
    unsafe fn tile(self, tile: u64) -> Partial<C> {
        let first = tile * TILE;
        let count = (self.visible - first).min(TILE) as u32;
        // SAFETY: passed on to the caller.
        unsafe {
            let score = self.score(first, count);
            let max = self.largest(score);
            let weight = weight(score, max);
            Partial {
                max,
                sum: warp::reduce::<S, f32, Sum>(self.simt, Sum, weight),
                acc: self.weighted_values(first, count, weight),
            }
        }
    }

    /// The scaled score of the key of this lane's number, `count` keys from `first` on being there; −∞ without one.
    ///
    /// # Safety
    ///
    /// As [`attend`].
    #[inline(always)]
    unsafe fn score(self, first: u64, count: u32) -> f32 {
        let Self { simt, query, scale, .. } = self;
        let (mut score, mut before) = (f32::NEG_INFINITY, 0);
        while before < count {
            // Each lane has a part of all eight scores; then lane `l` has the score of row `l % 8`.
            let of_row = warp::reduce_eight::<S, f32, Sum>(simt, Sum, |row| {
                let key = before + row;
                // SAFETY: passed on to the caller.
                dot(query, unsafe {
                    self.columns(self.keys, first + u64::from(key), key < count)
                })
            });
            if simt.lane() / ROWS == before / ROWS && simt.lane() < count {
                score = of_row * scale;
            }
            before += ROWS;
        }
        score
    }

    /// The largest of all lanes' scores; NaN if one is.
    ///
    /// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
    #[inline(always)]
    fn largest(self, mut score: f32) -> f32 {
        let mut reach = 1;
        while reach < LANES {
            score = single::maximum(score, f32::from_bits(self.simt.shuffle_xor(score.to_bits(), reach)));
            reach *= 2;
        }
        score
    }

    /// The sum of the values of `count` keys from `first` on, weighted by what the lanes of their numbers have.
    ///
    /// # Safety
    ///
    /// As [`attend`].
    #[inline(always)]
    unsafe fn weighted_values(self, first: u64, count: u32, weight: f32) -> [f32; C] {
        let (mut acc, mut before) = ([-0.0; C], 0);
        while before < count {
            let mut values = [[0.0; C]; ROWS as usize];
            each_row!(row => {
                let key = before + row as u32;
                // SAFETY: passed on to the caller.
                values[row] = unsafe { self.columns(self.values, first + u64::from(key), key < count) };
            });
            each_row!(row => {
                let weight = f32::from_bits(self.simt.shuffle(weight.to_bits(), before + row as u32));
                acc = add_scaled(acc, values[row], weight);
            });
            before += ROWS;
        }
        acc
    }

    /// This lane's columns of a row. What is not there is −0.0: a product with a weight, which is never negative, is then neutral.
    ///
    /// # Safety
    ///
    /// There is such a row, if it is wanted, and nobody writes it.
    #[inline(always)]
    unsafe fn columns(self, first: *const f32, row: u64, wanted: bool) -> [f32; C] {
        let from = first.wrapping_add((row * self.head_size) as usize);
        let mut columns = [-0.0_f32; C];
        for (i, column) in columns.iter_mut().enumerate() {
            let (is_there, from) = (wanted && self.has(i), from.wrapping_add(i * LANES as usize));
            // SAFETY: passed on to the caller.
            *column = f32::from_bits(unsafe { self.simt.load_input_if(is_there, from.cast(), column.to_bits()) });
        }
        columns
    }

    /// Whether the head has this lane's column of that number.
    #[inline(always)]
    fn has(self, i: usize) -> bool {
        self.simt.lane() + i as u32 * LANES < self.head_size as u32
    }

    /// Writes this lane's columns of the answer.
    ///
    /// # Safety
    ///
    /// As [`attend`].
    #[inline(always)]
    unsafe fn store(self, out: *mut f32, row: u64, Columns(answer): Columns<C>) {
        let to = out.wrapping_add((row * self.head_size) as usize + self.simt.lane() as usize);
        for (i, column) in answer.iter().enumerate() {
            if self.has(i) {
                // SAFETY: passed on to the caller.
                unsafe {
                    self.simt
                        .store(to.wrapping_add(i * LANES as usize).cast(), column.to_bits())
                };
            }
        }
    }
}

/// The entry points, and what the build is to know of each.
macro_rules! points {
    ($($name:literal: $columns:literal;)*) => {
        $(
            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                warpfold_kernels::kernel! {
                    /// [`attend`], with so many columns in a lane.
                    ///
                    /// # Safety
                    ///
                    /// As [`attend`].
                    #[unsafe(export_name = $name)]
                    pub unsafe fn entry(launch: Launch) {
                        // SAFETY: passed on to the launcher.
                        unsafe { attend::<_, $columns>(warpfold_kernels::simt::nvptx::Nvptx, launch) }
                    }
                }

                #[used]
                #[unsafe(export_name = concat!(env!("CARGO_CRATE_NAME"), "$", $name))]
                static FACTS: warpfold_kernels::kernels::Facts = super::plan::facts::<$columns>();
            };
        )*
    };
}

points! {
    "attention_32": 1;
    "attention_64": 2;
    "attention_128": 4;
    "attention_256": 8;
}
