//! The entry points: one list of them, for the host and for the GPU.

use warpfold_kernels::{
    element::Type,
    kernels::{Facts, Launch, Note},
};
#[cfg(target_arch = "nvptx64")]
use {
    crate::count::{CountArguments, count_extents, count_whole},
    warpfold_kernels::simt::nvptx::Nvptx,
};

use crate::{
    count::{Order, Width},
    table::Slot as _,
};

/// The largest block.
const THREADS: u32 = 256;

/// Blocks of that size that a multiprocessor must have registers for. What hides the latency of the table is warps; where extents lie
/// anywhere, addresses take more registers.
const WHOLE_BLOCKS: u32 = 6;
const EXTENTS_BLOCKS: u32 = 3;

/// 32-bit words of an answer.
const ANSWER_WORDS: u32 = 2;

/// Bytes of what a launch passes.
const PARAMETER_BYTES: u32 = size_of::<Launch>() as u32;

/// What the host and the build know of an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// Its symbol in the PTX.
    pub name: &'static str,
    /// The unsigned integers that it reads, for all elements of their width.
    pub element: Type,
    /// 32-bit words of a slot.
    pub slot_words: usize,
    /// The largest block it may be launched with.
    pub max_threads: u32,
    /// Blocks of that size that a multiprocessor must have registers for.
    pub min_blocks: u32,
    /// Barriers in its source: as many must stand in its code.
    pub barriers: u32,
}

impl EntryPoint {
    const fn new<T: Width>(name: &'static str, min_blocks: u32, barriers: u32) -> Self {
        Self {
            name,
            element: T::TYPE,
            slot_words: T::Slot::WORDS,
            max_threads: THREADS,
            min_blocks,
            barriers,
        }
    }

    /// What the build must know of it. Nothing is fused.
    #[must_use]
    pub const fn facts(&self) -> Facts {
        [
            self.max_threads,
            self.min_blocks,
            self.slot_words as u32,
            ANSWER_WORDS,
            0,
            self.barriers,
            PARAMETER_BYTES,
        ]
    }

    /// The line of its module by which the host knows that the module is of this very entry point.
    #[must_use]
    pub const fn note(&self) -> Note<'static> {
        Note {
            name: self.name,
            facts: self.facts(),
        }
    }
}

/// The entry point for elements of so many bytes, 1, 2, 4 or 8, in an order.
#[must_use]
pub fn find(bytes: usize, order: Order) -> &'static EntryPoint {
    let first = if order == Order::Whole { 0 } else { 4 };
    let width = match bytes {
        1 => 0,
        2 => 1,
        4 => 2,
        _ => 3,
    };
    &ENTRIES[first + width]
}

macro_rules! points {
    ($($name:literal: $kernel:ident of $element:ident, $blocks:ident blocks, $barriers:literal barriers;)*) => {
        /// The entry points: of whole arrays, whose blocks have a near cache and so a barrier, and of extents, by the width of elements.
        pub static ENTRIES: [EntryPoint; [$($name),*].len()] = [
            $(EntryPoint::new::<$element>($name, $blocks, $barriers)),*
        ];

        $(
            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                warpfold_kernels::kernel! {
                    /// One of the kernels, of elements of a width.
                    ///
                    /// # Safety
                    ///
                    /// As the kernel's.
                    #[unsafe(export_name = $name)]
                    pub unsafe fn entry(launch: Launch) {
                        // SAFETY: the launcher's word.
                        let arguments: CountArguments<$element> = unsafe { CountArguments::new(&launch) };
                        $kernel(Nvptx, arguments)
                    }
                }

                /// The build compiles the crate for the GPU and runs nothing of it: it reads this in the PTX.
                #[used]
                #[unsafe(export_name = concat!(env!("CARGO_CRATE_NAME"), "$", $name))]
                static FACTS: Facts = EntryPoint::new::<$element>($name, $blocks, $barriers).facts();
            };
        )*
    };
}

points! {
    "distinct_u8": count_whole of u8, WHOLE_BLOCKS blocks, 1 barriers;
    "distinct_u16": count_whole of u16, WHOLE_BLOCKS blocks, 1 barriers;
    "distinct_u32": count_whole of u32, WHOLE_BLOCKS blocks, 1 barriers;
    "distinct_u64": count_whole of u64, WHOLE_BLOCKS blocks, 1 barriers;
    "distinct_extents_u8": count_extents of u8, EXTENTS_BLOCKS blocks, 0 barriers;
    "distinct_extents_u16": count_extents of u16, EXTENTS_BLOCKS blocks, 0 barriers;
    "distinct_extents_u32": count_extents of u32, EXTENTS_BLOCKS blocks, 0 barriers;
    "distinct_extents_u64": count_extents of u64, EXTENTS_BLOCKS blocks, 0 barriers;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_width_has_an_entry_point_of_either_kind() {
        for (order, prefix) in [(Order::Whole, "distinct_"), (Order::Segments, "distinct_extents_")] {
            for element in [Type::U8, Type::U16, Type::U32, Type::U64] {
                let found = find(element.bytes(), order);
                assert_eq!(found.element, element);
                assert_eq!(found.name.strip_prefix(prefix), Some(element.name()));
            }
        }
    }

    #[test]
    fn the_build_is_told_what_the_host_knows() {
        let whole = find(8, Order::Whole).note();
        let launch = size_of::<Launch>() as u32;
        assert_eq!(
            (whole.name, whole.facts),
            ("distinct_u64", [256, 6, 2, 2, 0, 1, launch])
        );
    }
}
