//! Entry points: what the host launches.

pub mod whole;

use crate::monoids::Words;

/// What the host and the build know of an entry point. The code that runs is in [`whole`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its symbol in the PTX.
    pub name: &'static str,
    /// The module it is loaded with: entries of one family are built into one PTX file.
    pub family: &'static str,
    /// 32-bit words of its state, the unit of its slots.
    pub state_words: usize,
    /// 32-bit words of its answer.
    pub answer_words: usize,
    /// The largest block it may be launched with.
    pub max_threads: u32,
    /// Blocks of that size that a multiprocessor must have registers for; 0 leaves it to the assembler.
    pub min_blocks: u32,
    /// How often each instruction that matters stands in its code, by the source.
    pub instructions: Instructions,
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

/// An entry of the whole-array kernel, for blocks of up to 512 threads.
const fn whole<State: Words, Answer: Words>(name: &'static str, family: &'static str) -> Entry {
    Entry {
        name,
        family,
        state_words: State::COUNT,
        answer_words: Answer::COUNT,
        max_threads: 512,
        min_blocks: 0,
        instructions: whole::instructions(State::COUNT),
    }
}

/// The same for a state of several words: 80 registers a thread without spilling, and 24 warps a multiprocessor.
const fn whole_heavy<State: Words, Answer: Words>(name: &'static str, family: &'static str) -> Entry {
    Entry {
        max_threads: 256,
        min_blocks: 3,
        ..whole::<State, Answer>(name, family)
    }
}

/// Every entry point.
pub const ENTRIES: [Entry; 7] = {
    use crate::monoids::{Best, Key};
    [
        whole::<f32, f32>("sum_f32", "sum"),
        whole::<f32, f32>("mean_f32", "sum"),
        whole::<f32, f32>("product_f32", "product"),
        whole::<Key, f32>("min_f32", "extremum"),
        whole::<Key, f32>("max_f32", "extremum"),
        whole_heavy::<Best, u64>("argmin_f32", "arg"),
        whole_heavy::<Best, u64>("argmax_f32", "arg"),
    ]
};

/// The entry point of that name.
#[must_use]
pub fn entry(name: &str) -> Option<&'static Entry> {
    static TABLE: [Entry; 7] = ENTRIES;
    TABLE.iter().find(|entry| entry.name == name)
}

/// Defines the entry point `$name`: [`whole::reduce_all`] for one operator, made from the length.
#[macro_export]
macro_rules! reduce_all_entry {
    ($name:ident, |$len:ident| $op:expr) => {
        #[cfg(target_arch = "nvptx64")]
        /// Whole-array entry point; see `whole::reduce_all`.
        ///
        /// # Safety
        ///
        /// As `whole::reduce_all`.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            start: *const f32,
            $len: u64,
            tiles: u64,
            leaves_per_warp: u32,
            slots: *mut u32,
            tickets: *mut u32,
            answer: *mut u32,
            state: *mut u32,
        ) {
            let input = $crate::stages::thread::Input { start, len: $len };
            let meeting = $crate::stages::grid::Meeting {
                slots,
                tiles,
                tickets,
            };
            let output = $crate::kernels::whole::Output { answer, state };
            // SAFETY: passed on to the launcher.
            unsafe {
                $crate::kernels::whole::reduce_all(
                    $crate::simt::nvptx::Nvptx,
                    $op,
                    input,
                    leaves_per_warp,
                    meeting,
                    output,
                )
            }
        }
    };
}

mod entries {
    #[allow(unused_imports)]
    use crate::monoids::*;
    reduce_all_entry!(sum_f32, |len| Sum);
    reduce_all_entry!(product_f32, |len| Product);
    reduce_all_entry!(mean_f32, |len| Mean { count: len });
    reduce_all_entry!(min_f32, |len| Min);
    reduce_all_entry!(max_f32, |len| Max);
    reduce_all_entry!(argmin_f32, |len| ArgMin);
    reduce_all_entry!(argmax_f32, |len| ArgMax);
}
