//! Entry points: what the host launches.

pub mod whole;

use crate::{monoids::Words, stages::grid};

/// What the host and the build know of an entry point. The code that runs is in [`whole`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its symbol in the PTX.
    pub name: &'static str,
    /// The operator it folds with. Entries of one operator and different kernels give the same bits.
    pub op: &'static str,
    /// What it runs.
    pub kernel: Kernel,
    /// The module it is loaded with: entries of one family are built into one PTX file.
    pub family: &'static str,
    /// 32-bit words of its state, the unit of its slots.
    pub state_words: usize,
    /// 32-bit words of its answer.
    pub answer_words: usize,
    /// The largest block it may be launched with.
    pub max_threads: u32,
    /// Blocks of that size that a multiprocessor must have registers for; none leaves it to the assembler.
    pub min_blocks: Option<u32>,
    /// How often each instruction that matters stands in its code, by the source.
    pub instructions: Instructions,
}

/// What an entry point runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// [`whole::reduce_all`]: any length, any grid.
    All,
    /// [`whole::reduce_small`]: a leaf for each warp, a block for each of at most [`SMALL_TILES`] tiles.
    Small,
}

/// Tiles that [`Kernel::Small`] takes.
pub const SMALL_TILES: u64 = grid::OCTET;

impl Entry {
    /// The entry of the same operator that runs `kernel`.
    #[must_use]
    pub fn with(&self, kernel: Kernel) -> Option<&'static Self> {
        ENTRIES
            .iter()
            .find(|entry| entry.op == self.op && entry.kernel == kernel)
    }
}

/// How often each instruction that matters stands in an entry's PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions {
    /// 16-byte loads of the input.
    pub vector_loads: usize,
    /// Single-element loads of the input: the path for a ragged end or an unaligned start.
    pub scalar_loads: usize,
    /// Shuffles.
    pub shuffles: usize,
    /// Barriers.
    pub barriers: usize,
    /// Tickets drawn: atomic read-modify-writes.
    pub tickets: usize,
}

/// How many registers an operator's kernels may use, said as launch bounds.
#[derive(Clone, Copy)]
struct Room {
    /// The largest block of [`Kernel::All`].
    threads: u32,
    /// How many of those a multiprocessor must have registers for.
    blocks: u32,
    /// The same for blocks of 512 threads of [`Kernel::Small`]. With two, all of its 256 blocks run at once; without any bound
    /// the assembler would save registers where there is no occupancy to gain, and keep fewer loads in flight.
    small_blocks: u32,
}

/// 32 warps with 64 registers a thread.
const LIGHT: Room = Room {
    threads: 512,
    blocks: 2,
    small_blocks: 2,
};
/// For operators that would spill then: 24 warps with 80 registers a thread.
const HEAVY: Room = Room {
    threads: 256,
    blocks: 3,
    small_blocks: 2,
};
/// For operators that would spill even then: 16 warps with 128 registers a thread.
const WIDE: Room = Room {
    threads: 256,
    blocks: 2,
    small_blocks: 1,
};

/// Both entries of an operator.
const fn both<State: Words, Answer: Words>(
    op: &'static str,
    room: Room,
    names: [&'static str; 2],
    families: [&'static str; 2],
) -> [Entry; 2] {
    let all = Entry {
        name: names[0],
        op,
        kernel: Kernel::All,
        family: families[0],
        state_words: State::COUNT,
        answer_words: Answer::COUNT,
        max_threads: room.threads,
        min_blocks: Some(room.blocks),
        instructions: whole::instructions(State::COUNT),
    };
    let small = Entry {
        name: names[1],
        kernel: Kernel::Small,
        family: families[1],
        max_threads: 512,
        min_blocks: Some(room.small_blocks),
        instructions: whole::instructions_small(State::COUNT),
        ..all
    };
    [all, small]
}

/// Operators that have entry points.
const OPERATORS: usize = 18;

/// Every entry point.
pub static ENTRIES: [Entry; 2 * OPERATORS] = {
    use crate::monoids::{Best, Key};
    const fn flat(pairs: [[Entry; 2]; OPERATORS]) -> [Entry; 2 * OPERATORS] {
        let mut entries = [pairs[0][0]; 2 * OPERATORS];
        let mut i = 0;
        while i < 2 * OPERATORS {
            entries[i] = pairs[i / 2][i % 2];
            i += 1;
        }
        entries
    }
    const SUM: [&str; 2] = ["sum", "sum_small"];
    const PRODUCT: [&str; 2] = ["product", "product_small"];
    const EXTREMUM: [&str; 2] = ["extremum", "extremum_small"];
    const ARG: [&str; 2] = ["arg", "arg_small"];
    const NORM: [&str; 2] = ["norm", "norm_small"];
    const COUNT: [&str; 2] = ["count", "count_small"];
    const BOTH: [&str; 2] = ["both", "both_small"];
    flat([
        both::<f32, f32>("sum", LIGHT, ["sum_f32", "sum_small_f32"], SUM),
        both::<f32, f32>("mean", LIGHT, ["mean_f32", "mean_small_f32"], SUM),
        both::<f32, f32>("product", LIGHT, ["product_f32", "product_small_f32"], PRODUCT),
        both::<Key, f32>("min", HEAVY, ["min_f32", "min_small_f32"], EXTREMUM),
        both::<Key, f32>("max", HEAVY, ["max_f32", "max_small_f32"], EXTREMUM),
        both::<Best, u64>("argmin", HEAVY, ["argmin_f32", "argmin_small_f32"], ARG),
        both::<Best, u64>("argmax", HEAVY, ["argmax_f32", "argmax_small_f32"], ARG),
        both::<f32, f32>("norm_l1", LIGHT, ["norm_l1_f32", "norm_l1_small_f32"], NORM),
        both::<f64, f32>("norm_l2", HEAVY, ["norm_l2_f32", "norm_l2_small_f32"], NORM),
        both::<u32, f32>("norm_inf", HEAVY, ["norm_inf_f32", "norm_inf_small_f32"], NORM),
        both::<f64, f32>(
            "sum_of_squares",
            HEAVY,
            ["sum_of_squares_f32", "sum_of_squares_small_f32"],
            NORM,
        ),
        both::<u64, u64>(
            "count_nonzero",
            WIDE,
            ["count_nonzero_f32", "count_nonzero_small_f32"],
            COUNT,
        ),
        both::<u64, u64>("count_nan", WIDE, ["count_nan_f32", "count_nan_small_f32"], COUNT),
        both::<u64, u64>("count_inf", WIDE, ["count_inf_f32", "count_inf_small_f32"], COUNT),
        both::<bool, bool>("any", HEAVY, ["any_f32", "any_small_f32"], COUNT),
        both::<bool, bool>("all", HEAVY, ["all_f32", "all_small_f32"], COUNT),
        both::<(Key, Key), (f32, f32)>("min_max", HEAVY, ["min_max_f32", "min_max_small_f32"], BOTH),
        both::<(Best, Best), (u64, u64)>(
            "argmin_argmax",
            WIDE,
            ["argmin_argmax_f32", "argmin_argmax_small_f32"],
            BOTH,
        ),
    ])
};

/// The entry point of that name.
#[must_use]
pub fn entry(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// Defines the entry points `$name` and `$small`: [`whole::reduce_all`] and [`whole::reduce_small`] for one operator, made
/// from the length. A crate of your own that uses it needs
/// `#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]`; `cargo xtask build-ptx --crate PATH` compiles it.
#[macro_export]
macro_rules! reduce_all_entry {
    ($name:ident, $small:ident, |$len:ident| $op:expr) => {
        $crate::reduce_all_entry!(@entry $name, $len, |simt, input, leaves_per_warp, meeting, output| {
            $crate::kernels::whole::reduce_all(simt, $op, input, leaves_per_warp, meeting, output)
        });
        $crate::reduce_all_entry!(@entry $small, $len, |simt, input, _leaves_per_warp, meeting, output| {
            $crate::kernels::whole::reduce_small(simt, $op, input, meeting, output)
        });
    };
    (@entry $name:ident, $len:ident, |$simt:ident, $input:ident, $leaves:ident, $meeting:ident, $output:ident| $call:expr) => {
        #[cfg(target_arch = "nvptx64")]
        $crate::kernel! {
            /// Whole-array entry point; see `kernels::whole`.
            ///
            /// # Safety
            ///
            /// As the function of `kernels::whole` that it calls.
            pub unsafe fn $name(
                start: *const f32,
                $len: u64,
                tiles: u64,
                $leaves: u32,
                slots: *mut u32,
                tickets: *mut u32,
                answer: *mut u32,
                state: *mut u32,
            ) {
                let $simt = $crate::simt::nvptx::Nvptx;
                let $input = $crate::stages::thread::Input { start, len: $len };
                let $meeting = $crate::stages::grid::Meeting { slots, tiles, tickets };
                let $output = $crate::kernels::whole::Output { answer, state };
                // SAFETY: passed on to the launcher.
                unsafe { $call }
            }
        }
    };
}

mod entries {
    #[allow(unused_imports)]
    use crate::monoids::*;
    reduce_all_entry!(sum_f32, sum_small_f32, |len| Sum);
    reduce_all_entry!(product_f32, product_small_f32, |len| Product);
    reduce_all_entry!(mean_f32, mean_small_f32, |len| Mean { count: len });
    reduce_all_entry!(min_f32, min_small_f32, |len| Min);
    reduce_all_entry!(max_f32, max_small_f32, |len| Max);
    reduce_all_entry!(argmin_f32, argmin_small_f32, |len| ArgMin);
    reduce_all_entry!(argmax_f32, argmax_small_f32, |len| ArgMax);
    reduce_all_entry!(norm_l1_f32, norm_l1_small_f32, |len| NormL1);
    reduce_all_entry!(norm_l2_f32, norm_l2_small_f32, |len| NormL2);
    reduce_all_entry!(norm_inf_f32, norm_inf_small_f32, |len| NormInf);
    reduce_all_entry!(sum_of_squares_f32, sum_of_squares_small_f32, |len| SumOfSquares);
    reduce_all_entry!(count_nonzero_f32, count_nonzero_small_f32, |len| CountNonzero);
    reduce_all_entry!(count_nan_f32, count_nan_small_f32, |len| CountNan);
    reduce_all_entry!(count_inf_f32, count_inf_small_f32, |len| CountInf);
    reduce_all_entry!(any_f32, any_small_f32, |len| Any);
    reduce_all_entry!(all_f32, all_small_f32, |len| All);
    reduce_all_entry!(min_max_f32, min_max_small_f32, |len| (Min, Max));
    reduce_all_entry!(argmin_argmax_f32, argmin_argmax_small_f32, |len| (ArgMin, ArgMax));
}
