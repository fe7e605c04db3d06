//! What is attended to, and how the kernel is launched for it: plain numbers.

use warpfold_kernels::{
    kernels::{Facts, Note},
    monoids::Words,
    stages::strategy::most_warps,
    tree::LANES,
};

use super::{Launch, Partial};

/// Keys of a tile: one for each lane, as its score.
pub const TILE: u64 = LANES as u64;

/// The most columns of a lane: head sizes go to 256.
pub const MOST_COLUMNS: usize = 8;

/// The largest number of warps of a block, where states are small.
const MOST_WARPS: u32 = 8;

/// The most tiles that a warp folds, one after the other.
const MOST_STEPS: u32 = 8;

/// The sizes of all arrays, each in C order: queries and answers `[heads, queries, head_size]`, keys and values
/// `[heads, keys, head_size]`. A batch is so many more heads. Queries that share keys, as in grouped-query attention, are of one head.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Sizes {
    /// Heads, of all sequences.
    pub heads: u64,
    /// Queries of a head: few, for each reads the keys again.
    pub queries: u64,
    /// Keys of a head, and values.
    pub keys: u64,
    /// Columns: 1 to 256, of any multiple.
    pub head_size: u64,
    /// Query `i` sees keys `0 ..= i + offset`: see [`causal`](Self::causal) and [`full`](Self::full).
    pub offset: i64,
    /// What scores are multiplied by.
    pub scale: f32,
}

impl Sizes {
    /// Every query sees every key; the scale is `1 / √head_size`.
    #[must_use]
    pub fn full(heads: u64, queries: u64, keys: u64, head_size: u64) -> Self {
        Self {
            heads,
            queries,
            keys,
            head_size,
            offset: keys as i64,
            scale: 1.0 / warpfold_kernels::arithmetic::single::sqrt(head_size as f32),
        }
    }

    /// The same, with the last query at the last key: the mask is aligned to the lower right.
    #[must_use]
    pub fn causal(self) -> Self {
        let offset = self.keys as i64 - self.queries as i64;
        Self { offset, ..self }
    }

    /// Queries of all heads.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.heads * self.queries
    }

    /// How many keys query `query` of a head sees, from the first on.
    #[inline(always)]
    #[must_use]
    pub fn visible(&self, query: u64) -> u64 {
        let behind = (query as i64).saturating_add(self.offset).saturating_add(1);
        (behind.max(0) as u64).min(self.keys)
    }

    /// Columns of a lane, a power of two; none of a head size that no kernel has.
    #[must_use]
    pub fn columns(&self) -> Option<usize> {
        let columns = self.head_size.div_ceil(LANES.into()).next_power_of_two() as usize;
        (self.head_size > 0 && columns <= MOST_COLUMNS).then_some(columns)
    }
}

/// How the kernel is launched. None of it changes a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Columns of a lane.
    pub columns: usize,
    /// Warps of a block, a power of two.
    pub warps: u32,
    /// Tiles of a warp, a power of two.
    pub steps: u32,
    /// Blocks of a query.
    pub parts: u32,
    /// Blocks of the grid.
    pub blocks: u64,
}

impl Plan {
    /// For a device of so many multiprocessors: enough blocks for all of them, and as many tiles in each as that leaves. None of a
    /// head size that no kernel has.
    #[must_use]
    pub fn new(sizes: &Sizes, multiprocessors: u32) -> Option<Self> {
        let warps = most_warps(sizes.columns()? + 2).min(MOST_WARPS);
        let mut plan = Self::shaped(sizes, warps, MOST_STEPS)?;
        while plan.steps > 1 && plan.blocks < 8 * u64::from(multiprocessors) {
            plan = Self::shaped(sizes, warps, plan.steps / 2)?;
        }
        Some(plan)
    }

    /// With warps of a block and tiles of a warp as given, powers of two. None where the kernel has no room for the warps' states, and
    /// where a block would fold one tile alone: the last of a query's blocks folds as many of their states at once, so it would never end.
    #[must_use]
    pub fn shaped(sizes: &Sizes, warps: u32, steps: u32) -> Option<Self> {
        let columns = sizes.columns()?;
        let fits = warps.is_power_of_two() && warps <= most_warps(columns + 2).min(MOST_WARPS);
        let units = u64::from(warps) * u64::from(steps);
        if units < 2 {
            return None;
        }
        let parts = sizes.keys.div_ceil(TILE).div_ceil(units).max(1);
        (fits && steps.is_power_of_two() && steps <= 32).then_some(Self {
            columns,
            warps,
            steps,
            parts: parts as u32,
            blocks: parts * sizes.rows(),
        })
    }

    /// Threads of a block.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.warps * LANES
    }

    /// Words that the states of blocks take in memory: none where each query has one block.
    #[must_use]
    pub fn slot_words(&self) -> u64 {
        if self.parts == 1 {
            return 0;
        }
        self.blocks * u64::from(LANES) * (self.columns as u64 + 2)
    }

    /// The entry point.
    ///
    /// # Panics
    ///
    /// If `columns` is no plan's.
    #[must_use]
    pub fn entry(&self) -> &'static str {
        match self.columns {
            1 => "attention_32",
            2 => "attention_64",
            4 => "attention_128",
            8 => "attention_256",
            _ => panic!("no kernel has so many columns"),
        }
    }
}

/// What the build is to know of the entry of `C` columns.
pub(super) const fn facts<const C: usize>() -> Facts {
    let words = <Partial<C> as Words>::COUNT;
    let warps = most_warps(words);
    let threads = LANES * if warps < MOST_WARPS { warps } else { MOST_WARPS };
    // As many threads leave 128 registers to each, 168, and all that a thread can have: without spills.
    let resident = match C {
        1 | 2 => 512,
        4 => 384,
        _ => 256,
    };
    // Two of each `Team::fold`, of tiles and of slots; and those about the ticket and the turns.
    let barriers = 8;
    [
        threads,
        resident / threads,
        words as u32,
        C as u32,
        1,
        barriers,
        size_of::<Launch>() as u32,
    ]
}

/// The line of the module of a plan's entry, by which PTX of another source is told.
#[must_use]
pub fn note(plan: &Plan) -> Note<'static> {
    let facts = match plan.columns {
        1 => facts::<1>(),
        2 => facts::<2>(),
        4 => facts::<4>(),
        _ => facts::<8>(),
    };
    Note {
        name: plan.entry(),
        facts,
    }
}
