//! The rungs as data: what each is called, why it is faster, how it is launched and what it costs. The host launches by it, the emulator
//! runs by it, and the page and the command print it.

use super::{
    entries::{RowKernel, SumKernel},
    sum::wide::TILE,
};

/// A rung: one or several kernels, launched one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Rung<K: 'static> {
    /// What it is called by, as in `warpfold ladder --rung`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Why it is faster than the rung before, or what it gives up for what.
    pub why: &'static str,
    /// Its file, in `kernels-gpu/src/ladder`.
    pub file: &'static str,
    /// Its kernels, in the order of their launches. None is the library's own.
    pub steps: &'static [Step<K>],
    /// The most elements that it takes; none for any.
    pub most: Option<u64>,
    /// Whether it overwrites the elements.
    pub in_place: bool,
    /// What it does atomically.
    pub atomics: Atomics,
    /// When its answers have the same bits.
    pub same: Same,
}

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<K> {
    /// The kernel.
    pub kernel: K,
    /// Threads of a block.
    pub threads: u32,
    /// How many blocks.
    pub grid: Grid,
    /// Whether all blocks must run at once.
    pub cooperative: bool,
}

/// How many blocks a launch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// One.
    One,
    /// One for so many elements; of rows, for so many rows.
    Each(u64),
    /// One for as many elements as its threads have, times the launch's factor.
    Coarsened,
    /// So many for each multiprocessor, but no more than one for so many elements.
    Resident(u32, u64),
}

/// What a rung does atomically, for `n` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomics {
    /// Nothing.
    None,
    /// An addition for each element.
    EachElement,
    /// An addition for each block.
    EachBlock,
    /// A ticket for each block.
    Tickets,
}

/// When answers have the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Same {
    /// By chance.
    Never,
    /// In every run on one GPU.
    OnOneGpu,
    /// In every run, on every GPU.
    OnGpus,
    /// In every run, on every GPU and CPU, for every launch.
    Always,
}

impl Grid {
    /// How many blocks of `threads` an input of `len` elements, or rows, has on a GPU of so many multiprocessors.
    #[must_use]
    pub fn blocks(self, threads: u32, len: u64, factor: u64, multiprocessors: u32) -> u64 {
        let of = |elements: u64| len.div_ceil(elements.max(1)).max(1);
        match self {
            Self::One => 1,
            Self::Each(elements) => of(elements),
            Self::Coarsened => of(u64::from(threads) * factor),
            Self::Resident(each, elements) => u64::from(each * multiprocessors).clamp(1, of(elements)),
        }
    }
}

impl<K: Copy> Rung<K> {
    /// How many atomic operations it does for `len` elements.
    #[must_use]
    pub fn atomics(&self, len: u64, factor: u64, multiprocessors: u32) -> u64 {
        let blocks = |step: &Step<K>| step.grid.blocks(step.threads, len, factor, multiprocessors);
        match (self.atomics, self.steps) {
            (Atomics::None, _) | (_, []) => 0,
            (Atomics::EachElement, _) => len,
            (Atomics::EachBlock | Atomics::Tickets, [first, ..]) => blocks(first),
        }
    }
}

/// Elements that a block of the tree in shared memory takes at most: two for each of 1,024 threads.
const OF_BLOCK: u64 = 2048;

const fn step<K>(kernel: K, threads: u32, grid: Grid) -> Step<K> {
    Step {
        kernel,
        threads,
        grid,
        cooperative: false,
    }
}

/// Blocks of 256 threads for each multiprocessor that walk through the array: as many as it holds, of the registers that they take.
const RESIDENT: u32 = 4;

/// Elements of a block of [`last_block`](super::sum::last_block): its grid depends on the length alone.
const RUN: u64 = 16 * TILE;

/// The ladder of the sum.
pub static SUMS: [Rung<SumKernel>; 13] = [
    Rung {
        name: "atomic",
        title: "one global atomic for each element",
        why: "right, and nothing more: all threads queue for one word of memory",
        file: "sum/all_atomic.rs",
        steps: &[step(SumKernel::Atomic, 256, Grid::Each(256))],
        most: None,
        in_place: false,
        atomics: Atomics::EachElement,
        same: Same::Never,
    },
    Rung {
        name: "interleaved",
        title: "tree in global memory, interleaved",
        why: "log n steps instead of n; but the lanes that add are scattered, so warps diverge",
        file: "sum/interleaved.rs",
        steps: &[step(SumKernel::Interleaved, 1024, Grid::One)],
        most: Some(OF_BLOCK),
        in_place: true,
        atomics: Atomics::None,
        same: Same::OnGpus,
    },
    Rung {
        name: "prefix",
        title: "tree in global memory, contiguous",
        why: "the threads that add are the first ones, so whole warps are done, and loads are neighbours",
        file: "sum/prefix.rs",
        steps: &[step(SumKernel::Prefix, 1024, Grid::One)],
        most: Some(OF_BLOCK),
        in_place: true,
        atomics: Atomics::None,
        same: Same::OnGpus,
    },
    Rung {
        name: "shared",
        title: "tree in shared memory, one block",
        why: "each element is read from memory once; the steps stay on the chip",
        file: "sum/shared.rs",
        steps: &[step(SumKernel::Shared, 1024, Grid::One)],
        most: Some(OF_BLOCK),
        in_place: false,
        atomics: Atomics::None,
        same: Same::OnGpus,
    },
    Rung {
        name: "segmented",
        title: "many blocks, an atomic for each",
        why: "any length, all multiprocessors; an atomic for 2,048 elements is no queue",
        file: "sum/segmented.rs",
        steps: &[step(SumKernel::Segmented, 1024, Grid::Each(OF_BLOCK))],
        most: None,
        in_place: false,
        atomics: Atomics::EachBlock,
        same: Same::Never,
    },
    Rung {
        name: "coarsened",
        title: "several elements for each thread",
        why: "additions in registers need no barrier, and there are fewer blocks to start",
        file: "sum/coarsened.rs",
        steps: &[step(SumKernel::Coarsened, 1024, Grid::Coarsened)],
        most: None,
        in_place: false,
        atomics: Atomics::EachBlock,
        same: Same::Never,
    },
    Rung {
        name: "block-atomic",
        title: "an element for each thread, one atomic for each block",
        why: "a step back, from which the next three change one thing each",
        file: "sum/block_atomic.rs",
        steps: &[step(SumKernel::BlockAtomic, 1024, Grid::Each(1024))],
        most: None,
        in_place: false,
        atomics: Atomics::EachBlock,
        same: Same::Never,
    },
    Rung {
        name: "shuffled",
        title: "warp shuffles, one barrier",
        why: "lanes hand on registers: no shared memory and no barrier within a warp",
        file: "sum/shuffled.rs",
        steps: &[step(SumKernel::Shuffled, 1024, Grid::Each(1024))],
        most: None,
        in_place: false,
        atomics: Atomics::EachBlock,
        same: Same::Never,
    },
    Rung {
        name: "grid-stride",
        title: "a grid that fits the machine, walking",
        why: "shuffles, barrier and atomic are paid once for thousands of elements",
        file: "sum/grid_stride.rs",
        steps: &[step(SumKernel::GridStride, 256, Grid::Resident(8, 256))],
        most: None,
        in_place: false,
        atomics: Atomics::EachBlock,
        same: Same::Never,
    },
    Rung {
        name: "wide",
        title: "wide loads, eight in flight",
        why: "what is read in a load's time is what was asked for: each thread asks for 128 bytes at once",
        file: "sum/wide.rs",
        steps: &[step(SumKernel::Wide, 256, Grid::Resident(RESIDENT, TILE))],
        most: None,
        in_place: false,
        atomics: Atomics::EachBlock,
        same: Same::Never,
    },
    Rung {
        name: "two-kernels",
        title: "two kernels, slots for the blocks",
        why: "no atomic, so the same bits in every run; for a second launch",
        file: "sum/two_kernels.rs",
        steps: &[
            step(SumKernel::ToSlots, 256, Grid::Resident(RESIDENT, TILE)),
            step(SumKernel::OfSlots, 1024, Grid::One),
        ],
        most: None,
        in_place: false,
        atomics: Atomics::None,
        same: Same::OnOneGpu,
    },
    Rung {
        name: "grid-barrier",
        title: "a barrier of the grid, cooperative launch",
        why: "one launch; but all blocks wait for the slowest, and all must run at once",
        file: "sum/grid_barrier.rs",
        steps: &[Step {
            cooperative: true,
            ..step(SumKernel::GridBarrier, 256, Grid::Resident(RESIDENT, TILE))
        }],
        most: None,
        in_place: false,
        atomics: Atomics::Tickets,
        same: Same::OnOneGpu,
    },
    Rung {
        name: "last-block",
        title: "the last block sums the slots",
        why: "one launch, nobody waits, any grid: so the grid can depend on the length alone",
        file: "sum/last_block.rs",
        steps: &[step(SumKernel::LastBlock, 256, Grid::Each(RUN))],
        most: None,
        in_place: false,
        atomics: Atomics::Tickets,
        same: Same::OnGpus,
    },
];

/// A rung of rows: nothing atomic, and order fixed.
const fn of_rows([name, title, why, file]: [&'static str; 4], steps: &'static [Step<RowKernel>]) -> Rung<RowKernel> {
    Rung {
        name,
        title,
        why,
        file,
        steps,
        most: None,
        in_place: false,
        atomics: Atomics::None,
        same: Same::OnGpus,
    }
}

/// Threads of a block that has a row.
const OF_ROW: u32 = 256;

/// Rows of a block where each thread has one.
const ROWS: u32 = 128;

/// The ladder of softmax.
pub static SOFTMAXES: [Rung<RowKernel>; 4] = [
    of_rows(
        [
            "thread-a-row",
            "a thread for each row, three loops",
            "right; each load of a warp is 32 lines, and few rows are few threads",
            "softmax/thread_a_row.rs",
        ],
        &[step(RowKernel::SoftmaxOfThread, ROWS, Grid::Each(ROWS as u64))],
    ),
    of_rows(
        [
            "three-kernels",
            "three kernels, a block for each row",
            "loads are neighbours; each row is read three times",
            "softmax/three_kernels.rs",
        ],
        &[
            step(RowKernel::SoftmaxLargest, OF_ROW, Grid::Each(1)),
            step(RowKernel::SoftmaxSum, OF_ROW, Grid::Each(1)),
            step(RowKernel::SoftmaxDivide, OF_ROW, Grid::Each(1)),
        ],
    ),
    of_rows(
        [
            "fused",
            "one kernel, three loops",
            "what loops need of each other stays on the chip, and the row in a cache",
            "softmax/fused.rs",
        ],
        &[step(RowKernel::SoftmaxFused, OF_ROW, Grid::Each(1))],
    ),
    of_rows(
        [
            "online",
            "largest and sum in one loop",
            "one reading less: what was summed is scaled when a larger element comes",
            "softmax/online.rs",
        ],
        &[step(RowKernel::SoftmaxOnline, OF_ROW, Grid::Each(1))],
    ),
];

/// The ladder of layer norm.
pub static LAYER_NORMS: [Rung<RowKernel>; 2] = [
    of_rows(
        [
            "thread-a-row",
            "a thread for each row, three loops",
            "right; each load of a warp is 32 lines, and few rows are few threads",
            "layer_norm/thread_a_row.rs",
        ],
        &[step(RowKernel::NormOfThread, ROWS, Grid::Each(ROWS as u64))],
    ),
    of_rows(
        [
            "two-stage",
            "a block for each row, sums in two stages",
            "as many threads as a row deserves, neighbouring loads, two barriers",
            "layer_norm/two_stage.rs",
        ],
        &[step(RowKernel::NormTwoStage, OF_ROW, Grid::Each(1))],
    ),
];
