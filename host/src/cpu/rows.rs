//! The rows of a leaf, side by side, and the fold of its columns.
//!
//! Every step of the loop is written out and inlined. A closure or a function that the compiler does not inline is compiled for the
//! baseline instructions and called for each column: that cost a factor of five once, and `tests/tests/machine_code.rs` would see it.
//!
//! The rows of a leaf are eight streams of half a KiB, which the machine's prefetcher does not follow, so the next leaf is asked for.
//! (AMD EPYC with AVX2, two threads, 2²⁶ f32, 2026-11-25: the sum reads 0.96 of what a plain read does.)

use warpfold_kernels::{
    element::Item,
    monoids::{Monoid, relative},
    tree::{ColumnFold as _, LEAF_BYTES, Predicated, ROWS, RelativeSum, leaf_elements, row_elements},
};

use super::states::{Block, StatesPart, Word};

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Columns between prefetches, which every row is a number of: so many that the compiler still makes a loop of them, and so vector code.
const BLOCK: usize = 32;

/// The rows of a leaf, of which the first elements are there.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a, T, const WHOLE: bool> {
    rows: [&'a [T]; ROWS],
    there: u32,
}

/// The same block of columns of each row. No function: with an array of slices the compiler kept calls in the loop.
macro_rules! blocks {
    ($start:ident: $($row:ident)*) => {
        $(let $row = &$row[$start..][..BLOCK];)*
    };
}

impl<'a, T: Item> Rows<'a, T, true> {
    /// Of a leaf all of which is there.
    #[inline(always)]
    pub(super) fn whole(leaf: &'a [T]) -> Self {
        const { assert!(ROWS == 8, "eight rows are written out") };
        let width = const { row_elements::<T>() };
        let leaf = &leaf[..ROWS * width];
        Self {
            rows: [
                &leaf[..width],
                &leaf[width..2 * width],
                &leaf[2 * width..3 * width],
                &leaf[3 * width..4 * width],
                &leaf[4 * width..5 * width],
                &leaf[5 * width..6 * width],
                &leaf[6 * width..7 * width],
                &leaf[7 * width..],
            ],
            there: const { leaf_elements::<T>() as u32 },
        }
    }
}

impl<'a, T: Item> Rows<'a, T, false> {
    /// Of a leaf that ends early. `last` holds any elements, and gets those of the last row.
    #[inline(always)]
    pub(super) fn ragged(leaf: &'a [T], last: &'a mut [T]) -> Self {
        let width = const { row_elements::<T>() };
        let last = &mut last[..width];
        let rows = leaf.chunks_exact(width);
        last[..rows.remainder().len()].copy_from_slice(rows.remainder());
        let mut all = [&*last; ROWS];
        for (row, whole) in all.iter_mut().zip(rows) {
            *row = whole;
        }
        Self {
            rows: all,
            there: leaf.len() as u32,
        }
    }
}

impl<T: Item, const WHOLE: bool> Rows<'_, T, WHOLE> {
    /// Folds the columns, each to a state; the leaf begins at `first` of its run. Of an operator that [sums relative to the largest
    /// element](warpfold_kernels::monoids::Algebra::sums_relative) it says whether all elements are within bounds.
    #[inline(always)]
    pub(super) fn fold<M: Monoid<T>, W: Word, const FIELDS: usize>(
        self,
        op: M,
        mut columns: StatesPart<'_, W, FIELDS>,
        first: u64,
    ) -> bool {
        if const { M::ALGEBRA.sums_relative } {
            return self.fold_relative(op, columns, first);
        }
        let width = const { row_elements::<T>() };
        let [a, b, c, d, e, f, g, h] = self.rows;
        let mut start = 0;
        while start < width {
            if WHOLE {
                prefetch(a, start / BLOCK, width / BLOCK);
            }
            blocks!(start: a b c d e f g h);
            let mut block = Block::<W, BLOCK, FIELDS>::new();
            for at in 0..BLOCK {
                let column = start + at;
                let places = [
                    self.place(a[at], 0, column),
                    self.place(b[at], 1, column),
                    self.place(c[at], 2, column),
                    self.place(d[at], 3, column),
                    self.place(e[at], 4, column),
                    self.place(f[at], 5, column),
                    self.place(g[at], 6, column),
                    self.place(h[at], 7, column),
                ];
                block.set(
                    at,
                    op.column_fold()
                        .fold_column(places, first + column as u64, width as u64),
                );
            }
            columns.put(start, &block);
            start += BLOCK;
        }
        false
    }

    /// The same by terms, without branches; a block of columns with an element out of bounds by states.
    #[inline(always)]
    fn fold_relative<M: Monoid<T>, W: Word, const FIELDS: usize>(
        self,
        op: M,
        mut columns: StatesPart<'_, W, FIELDS>,
        first: u64,
    ) -> bool {
        let width = const { row_elements::<T>() };
        let [a, b, c, d, e, f, g, h] = self.rows;
        let (mut start, mut all_bounded) = (0, true);
        while start < width {
            if WHOLE {
                prefetch(a, start / BLOCK, width / BLOCK);
            }
            blocks!(start: a b c d e f g h);
            let (mut block, mut out) = (Block::<W, BLOCK, FIELDS>::new(), 0_u32);
            for at in 0..BLOCK {
                let column = start + at;
                let places = [
                    self.place(a[at], 0, column),
                    self.place(b[at], 1, column),
                    self.place(c[at], 2, column),
                    self.place(d[at], 3, column),
                    self.place(e[at], 4, column),
                    self.place(f[at], 5, column),
                    self.place(g[at], 6, column),
                    self.place(h[at], 7, column),
                ];
                let (state, is_bounded) = relative::fold_column(op, places);
                block.set(at, state);
                out |= u32::from(!is_bounded);
            }
            if out != 0 {
                all_bounded = false;
                for at in 0..BLOCK {
                    let column = start + at;
                    let place = |row: usize| self.place(self.rows[row][column], row as u32, column);
                    let places = std::array::from_fn(place);
                    block.set(
                        at,
                        op.column_fold()
                            .fold_column(places, first + column as u64, width as u64),
                    );
                }
            }
            columns.put(start, &block);
            start += BLOCK;
        }
        all_bounded
    }

    #[inline(always)]
    fn place(self, value: T, row: u32, column: usize) -> Predicated<T> {
        let number = row * const { row_elements::<T>() as u32 } + column as u32;
        Predicated {
            value,
            is_there: WHOLE || number < self.there,
        }
    }
}

/// Whether all elements are [within bounds](RelativeSum::is_bounded).
#[inline(always)]
pub(super) fn are_bounded<T: Item, M: Monoid<T>>(op: M, values: &[T]) -> bool {
    let (op, mut out) = (op.relative_sum(), 0_u32);
    for value in values {
        out |= u32::from(!op.is_bounded(op.number(*value)));
    }
    out == 0
}

/// Asks for one of so many parts of the leaf behind the one that begins with a row. An address past the array's end is none that
/// anybody reads.
#[inline(always)]
fn prefetch<T>(row: &[T], part: usize, parts: usize) {
    let lines = LEAF_BYTES / LINE / parts;
    let next = row.as_ptr().cast::<i8>().wrapping_add(LEAF_BYTES + part * lines * LINE);
    #[cfg(target_arch = "x86_64")]
    if let Some(sse) = pulp::core_arch::x86::Sse::try_new() {
        const NEAR: i32 = 3;
        for line in 0..lines {
            sse._mm_prefetch::<NEAR>(next.wrapping_add(line * LINE));
        }
    }
    // Others rely on the machine's own.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = next;
}
