//! The entries, and their entry points.

use super::{
    super::{Entry, Kernel},
    Order, Width,
};
use crate::{
    monoids::Algebra,
    stages::{strategy::Strategy, table::Slot as _},
};
#[cfg(target_arch = "nvptx64")]
use {
    super::{Arguments, count_extents, count_whole},
    crate::{element::equality::Equality, stages::load::extents::Extents},
};

/// The largest block.
const THREADS: u32 = 256;

/// Blocks of that size that a multiprocessor must have registers for. What hides the way to the table is warps; where extents lie
/// anywhere, addresses take more registers.
const WHOLE_BLOCKS: u32 = 6;
const EXTENTS_BLOCKS: u32 = 3;

/// The entries: of whole arrays, whose blocks have a near cache and so a barrier, and of extents, by the width of elements.
pub static ENTRIES: [Entry; 8] = [
    entry::<u8>("distinct_u8", WHOLE_BLOCKS, 1),
    entry::<u16>("distinct_u16", WHOLE_BLOCKS, 1),
    entry::<u32>("distinct_u32", WHOLE_BLOCKS, 1),
    entry::<u64>("distinct_u64", WHOLE_BLOCKS, 1),
    entry::<u8>("distinct_extents_u8", EXTENTS_BLOCKS, 0),
    entry::<u16>("distinct_extents_u16", EXTENTS_BLOCKS, 0),
    entry::<u32>("distinct_extents_u32", EXTENTS_BLOCKS, 0),
    entry::<u64>("distinct_extents_u64", EXTENTS_BLOCKS, 0),
];

/// The entry for elements of so many bytes, 1, 2, 4 or 8, in an order.
#[must_use]
pub fn find(bytes: usize, order: Order) -> &'static Entry {
    let first = if order == Order::Whole { 0 } else { 4 };
    let width = match bytes {
        1 => 0,
        2 => 1,
        4 => 2,
        _ => 3,
    };
    &ENTRIES[first + width]
}

const fn entry<T: Width>(name: &'static str, blocks: u32, barriers: u32) -> Entry {
    let words = T::Slot::WORDS;
    let plain = Entry::of_no_operator(name, "statistics", Kernel::Distinct, words);
    Entry {
        op: "distinct",
        element: T::TYPE,
        // Whoever comes first changes nothing.
        strategy: Strategy {
            element: T::TYPE,
            algebra: Algebra {
                associates: true,
                ..Algebra::PLAIN
            },
            ..plain.strategy
        },
        answer_words: 2,
        answer_bytes: 8,
        max_threads: THREADS,
        min_blocks: Some(blocks),
        barriers,
        ..plain
    }
}

macro_rules! points {
    ($($name:literal: $kernel:ident of $element:ident;)*) => {
        $(
            #[cfg(all(
                target_arch = "nvptx64",
                feature = "entries",
                any(not(warpfold_part), warpfold_part = "statistics")
            ))]
            const _: () = {
                crate::kernel! {
                    /// One of the kernels above, of elements of a width.
                    ///
                    /// # Safety
                    ///
                    /// As the kernel's.
                    #[unsafe(export_name = $name)]
                    pub unsafe fn entry(
                        start: *const $element,
                        len: u64,
                        count: u64,
                        stride: i64,
                        step: i64,
                        layout: *const u64,
                        order: u32,
                        kind: u32,
                        highest: u64,
                        table: *mut u32,
                        slots: u64,
                        answers: *mut u64,
                        rows: u32,
                    ) {
                        if const { crate::kernels::is_wanted($name) } {
                            let extents = Extents::<$element> {
                                start,
                                len,
                                count,
                                stride,
                                step,
                                layout,
                                // Elements are read one by one.
                                around: crate::stages::load::around::Around(0, 0),
                            };
                            let arguments = Arguments {
                                extents,
                                order: Order::of_params(order),
                                equality: Equality::of_params(kind, highest),
                                table,
                                slots,
                                answers,
                                rows,
                            };
                            // SAFETY: passed on to the launcher.
                            unsafe { $kernel(crate::simt::nvptx::Nvptx, arguments) }
                        }
                    }
                }
            };
        )*
    };
}

points! {
    "distinct_u8": count_whole of u8;
    "distinct_u16": count_whole of u16;
    "distinct_u32": count_whole of u32;
    "distinct_u64": count_whole of u64;
    "distinct_extents_u8": count_extents of u8;
    "distinct_extents_u16": count_extents of u16;
    "distinct_extents_u32": count_extents of u32;
    "distinct_extents_u64": count_extents of u64;
}
