//! A launch as a kernel of rows takes it: checked once, and safe to read and write by.

use super::{Mode, Second};
use crate::{
    element::{Element, Two},
    rowwise::RowOp,
    stages::{
        StateArray,
        columns::{ColumnParams, Floats},
        emit::OutRows,
        load::extents::Extents,
    },
};

/// The targets of rows: indices of elements.
#[derive(Clone, Copy)]
pub struct Targets {
    /// The first; null where there are none.
    pub start: *const u8,
    /// Whether they are of 64 bits, or of 32: signed.
    pub are_wide: bool,
    /// One that stands for none.
    pub ignored: i64,
}

/// A launch, as a kernel that reads elements of the size of `T` takes it.
#[derive(Clone, Copy)]
pub struct RowArguments<T: Element> {
    /// The rows of both arrays; of the second only how far from its first element, counted in elements.
    pub(super) rows: Extents<Two<T>>,
    /// The second's first element.
    pub(super) other: *const u8,
    /// What the second array is.
    pub(super) second: Second,
    /// What elements are multiplied by before others are added.
    pub(super) factor: f32,
    /// What elements are.
    pub(super) floats: Floats,
    /// Weights and biases.
    pub(super) columns: ColumnParams,
    /// Where the answers go; nowhere if null.
    pub(super) out: OutRows,
    /// Where answers lie, counted from the first, where their elements lie apart.
    pub(super) to: Extents<u8>,
    /// Where sums with a residual go.
    pub(super) sums: OutRows,
    /// [`RowOperands::known`](crate::kernels::RowOperands::known).
    pub(super) known: [*mut u32; 4],
    /// The rows' targets.
    pub(super) targets: Targets,
    /// What this launch does.
    pub(super) mode: Mode,
    /// States of leaves.
    pub(super) states: StateArray,
    /// States of rows.
    pub(super) row_states: StateArray,
    /// Leaves of a row; or states of it, where a launch does nothing but combine them, or make of them what is known of the row.
    pub(super) leaves: u32,
    /// Blocks that have a row together: a cluster's, if this launch folds and maps.
    pub(super) blocks: u32,
    /// Leaves that a warp folds one after the other, where leaves are [folded alone](super::fold_leaves): then nothing is written over a target's element. 0 where they are not.
    pub(super) run: u32,
    /// [`RowOperands::period`](crate::kernels::RowOperands::period).
    pub(super) period: u64,
    /// Whether all rows, weights and answers are aligned vectors, each whole or absent, rows a stride apart and seen as a whole.
    pub(super) is_wide: bool,
    /// [`RowOperands::prefetch`](crate::kernels::RowOperands::prefetch).
    pub(super) prefetch: u64,
    /// [`RowFlags::is_folded`](super::RowFlags::is_folded).
    pub(super) is_folded: bool,
    /// [`RowOperands::shown`](crate::kernels::RowOperands::shown).
    pub(super) shown: i64,
    /// [`RowOperands::before`](crate::kernels::RowOperands::before).
    pub(super) before: u64,
    /// [`RowOperands::others`](crate::kernels::RowOperands::others).
    pub(super) others: u64,
}

impl<T: Element> RowArguments<T> {
    /// Where sums of columns go, whatever answers are: f32.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn sums_of_columns(&self) -> OutRows {
        // SAFETY: a launch of such sums has room for as many f32.
        unsafe { OutRows::new(self.out.start(), self.out.stride(), Floats::F32) }
    }

    /// Whether others have elements of the rows, too.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) const fn is_part<O: RowOp>(&self) -> bool {
        O::TARGETS && self.others > 0
    }

    /// Elements of the whole row, of which so many are seen here.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) const fn whole<O: RowOp>(&self, seen: u64) -> u64 {
        if O::TARGETS { seen + self.others } else { seen }
    }

    /// A target as an index of the elements that are here; none of them, if it is another's.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) const fn here(&self, target: i64) -> i64 {
        i64::wrapping_sub(target, self.before as i64)
    }
}
