//! Launch bounds and barriers: of each kernel, what a [`Strategy`] needs of the machine.

use super::{Kernel, LaunchBounds};
use crate::{
    element::Type,
    stages::strategy::{Strategy, is_large, most_warps},
    tree::LANES,
};

impl Strategy {
    /// The largest block of a kernel, and how many of them a multiprocessor must have registers for, where the operator's line says `bounds`.
    #[must_use]
    pub const fn threads(self, kernel: Kernel, bounds: LaunchBounds) -> (u32, u32) {
        let all = bounds.threads * bounds.blocks;
        match kernel {
            Kernel::Row(_) | Kernel::Own => panic!("no operator has it"),
            Kernel::All => (bounds.threads, bounds.blocks),
            Kernel::Small => (bounds.small_threads, bounds.small_blocks),
            Kernel::Rows if self.folds_rows_at_once() => self.threads_for_rows(bounds),
            // Of large states four slots take all registers there are.
            Kernel::Rows if is_large(self.words) => (bounds.threads, 1),
            // An index among elements of 2 bytes would spill.
            Kernel::Rows if self.words == 3 && self.element.bytes() == 2 => (bounds.threads, bounds.blocks),
            Kernel::Rows if self.words <= 3 && self.arrays == 1 && all == 512 => (256, 3),
            // Of two arrays the smallest states fit, too: on an H200 on 2026-11-28 dot products of 32,768 rows of 768 f32 took 52.3 µs with 83 registers, which is two blocks, and 40.6 so.
            Kernel::Rows if self.words == 1 && self.bytes() == 4 && !self.masked && all == 512 => (256, 3),
            Kernel::Rows => (bounds.threads, bounds.blocks),
            // No warp waits for another of its block, so blocks are small, and bounds fine: the registers of the short segments' slots and of a leaf.
            Kernel::Segments => (64, least(all, self.resident_for_segments()) / 64),
            Kernel::Strided => {
                let (most, resident) = self.most_for_strided();
                let threads = least(LANES * most_warps(self.words), most);
                (threads, least(all, least(bounds.strided, resident)) / threads)
            }
        }
    }

    /// Rows that are folded at once: a warp has 4 KiB in flight, so that a few warps are enough for the memory. What selects
    /// among elements of 2 bytes unpacks them, and spills 4 bytes with 80 registers.
    const fn threads_for_rows(self, bounds: LaunchBounds) -> (u32, u32) {
        match (bounds.threads * bounds.blocks, self.words, self.bytes()) {
            (512, 1 | 3, 2) if self.algebra.in_any_order() => (128, 5),
            // With 96 registers terms of 2 bytes spill.
            (512, _, 2) if self.algebra.sums_relative => (128, 4),
            // Three blocks of small states, whose code would take a register or two more: on H200s on 2026-11-26 sums of rows of 1024 bf16 took
            // 28.0 µs with 81, which is two blocks, and 22.2 with at most 80.
            (512, ..) => (256, 3),
            (all @ 768.., ..) => (256, all / 256),
            _ => (bounds.threads, bounds.blocks),
        }
    }

    /// The most threads of a multiprocessor that fold segments.
    const fn resident_for_segments(self) -> u32 {
        match (self.words, self.element.bytes() < 4) {
            // Twice the vectors.
            (1 | 2, false) if self.arrays > 1 => 384,
            _ if self.arrays > 1 => 256,
            (1, false) | (2, false) => 512,
            (1, true) => 384,
            // Widening it takes more: with fewer registers, log-sum-exp spills on 7.5.
            (2, true) if matches!(self.element, Type::F16) => 256,
            _ if !is_large(self.words) && !self.algebra.folds_columns => 384,
            _ => 256,
        }
    }

    /// The most threads of a block that folds what lies apart, and of a multiprocessor: addresses take many registers, and so do the states that
    /// wait, if any do.
    const fn most_for_strided(self) -> (u32, u32) {
        match self.words {
            _ if self.arrays > 1 => (256, 256),
            1 | 2 => (256, 512),
            // Those of no order, of which none waits.
            _ if self.algebra.in_any_order() && self.element.bytes() > 2 => (256, 512),
            _ if self.algebra.in_any_order() && self.element.bytes() == 2 => (128, 384),
            _ => (256, 256),
        }
    }

    /// Barriers in the source of a kernel: as many must stand in its code.
    ///
    /// Of whole arrays the block's two, one behind the ticket, and, unless threads accumulate, one between two rounds of slots. Of what lies apart
    /// two exchanges of two, if warps share an answer; the slots' writers and readers; and in the loop of slots. Columns have an exchange of two,
    /// two of parts of two, and two about the ticket.
    #[must_use]
    pub const fn barriers(self, kernel: Kernel) -> u32 {
        match kernel {
            Kernel::All if self.accumulates_per_thread() => 3,
            Kernel::All => 4,
            Kernel::Small => 1,
            Kernel::Strided if self.has_columns() => 16,
            Kernel::Strided if most_warps(self.words) > 1 => 8,
            Kernel::Strided => 4,
            Kernel::Rows | Kernel::Segments | Kernel::Row(_) | Kernel::Own => 0,
        }
    }
}

const fn least(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}
