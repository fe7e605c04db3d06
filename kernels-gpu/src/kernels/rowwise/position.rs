//! Where vectors of rows are, and what is known of a row before it is read.
//!
//! Both types here are made by this file alone, of what a launch [passes](RowArguments), and lie within it: whoever has one may read what it says is there.

use super::RowArguments;
use crate::{
    element::{Element, Item as _, Two},
    rowwise::{Given, RowOp, Target},
    simt::Simt,
    stages::{
        load::{source::Source as _, words::load_element},
        narrow,
    },
};

/// Where a row begins: its number, and its first element in both arrays, of the second how far from that array's. It may be past the last row.
#[derive(Clone, Copy)]
pub(super) struct RowStart<T> {
    row: u64,
    at: Two<*const T>,
}

/// A vector of a row: of a leaf's rows the first.
#[derive(Clone, Copy)]
pub(super) struct Position<T> {
    start: RowStart<T>,
    first: u64,
    present: u32,
}

impl<T> RowStart<T> {
    /// The number of the row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn row(self) -> u64 {
        self.row
    }
}

impl<T> Position<T> {
    /// Where its row begins.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn start(self) -> RowStart<T> {
        self.start
    }

    /// The number of the row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn row(self) -> u64 {
        self.start.row
    }

    /// The position in the row of the vector's first element.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn first(self) -> u64 {
        self.first
    }

    /// Elements that are visible from there on: they may be read.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn present(self) -> u32 {
        self.present
    }

    /// So many elements further on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn further(self, by: u64) -> Self {
        Self {
            first: self.first + by,
            present: u32::saturating_sub(self.present, by as u32),
            ..self
        }
    }

    /// The same, of which the compiler does not know where it is.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn opaque<S: Simt>(self, simt: S) -> Self {
        Self {
            first: self.first + u64::from(simt.opaque(0)),
            ..self
        }
    }
}

impl<T: Element> RowArguments<T> {
    /// Where a row begins, which may lie along several dimensions.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn start<S: Simt>(self, simt: S, row: u64) -> RowStart<T> {
        let at = self.rows.first(simt, row);
        RowStart { row, at }
    }

    /// The same of rows that are a stride apart.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn regular_start(self, row: u64) -> RowStart<T> {
        let at = self.rows.regular_start(row);
        RowStart { row, at }
    }

    /// The vector at a position of a row that is there, of which so many elements are visible.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn position<S: Simt>(self, simt: S, start: RowStart<T>, first: u64, visible: u64) -> Position<T> {
        debug_assert!(
            start.row < self.rows.count() && visible <= self.rows.len(),
            "within the rows"
        );
        let present = narrow(simt, u64::saturating_sub(visible, first));
        Position { start, first, present }
    }

    /// The vector at a position of a row, which is wide.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn wide_position(self, row: u64, first: u64) -> Position<T> {
        Position {
            start: self.regular_start(row),
            first,
            present: u64::saturating_sub(self.there(row), first).min(u32::MAX.into()) as u32,
        }
    }

    /// The vector of a leaf that is [folded alone](super::fold_leaves), counted in the leaf: so many elements of the row are visible from that on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn folded_position(self, row: u64, first: u32, visible: u32) -> Position<T> {
        Position {
            start: self.regular_start(row),
            first: first.into(),
            present: u32::saturating_sub(visible, first),
        }
    }

    /// The vector at the same position of one of the next rows, each `row_step` from the one before. By additions: a product of 64 bits is four instructions.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn later_position(self, position: Position<T>, number: usize, row_step: u64) -> Position<T> {
        let RowStart { row, at } = position.start;
        let left = u64::saturating_sub(self.rows.count(), row).min(u32::MAX.into()) as u32;
        let further = Two::<T>::map(self.rows.stride(), |stride| {
            ((row_step as i64 * stride) * number as i64) as isize
        });
        let start = RowStart {
            row: row + number as u64 * row_step,
            at: Two::<T>::further(at, further),
        };
        let is_there = number as u32 * (row_step as u32) < left;
        let present = if is_there { position.present } else { 0 };
        Position {
            start,
            first: position.first,
            present,
        }
    }

    /// Where a vector of the first array begins.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn first(self, position: Position<T>) -> *const T {
        position.start.at.0.wrapping_add(position.first as usize)
    }

    /// And one of the second, whose elements are of the same size.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn second(self, position: Position<T>) -> *const T {
        self.other(position, T::BYTES).cast()
    }

    /// Where a vector of the second array begins, whose elements are of so many bytes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn other(self, position: Position<T>, bytes: usize) -> *const u8 {
        self.other_at(position.start, position.first as i64, bytes)
    }

    /// The address of an element of the first array, so far from its row's first.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn first_at(self, start: RowStart<T>, offset: i64) -> *const T {
        start.at.0.wrapping_offset(offset as isize)
    }

    /// The same of the second, whose elements are of so many bytes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn other_at(self, start: RowStart<T>, offset: i64, bytes: usize) -> *const u8 {
        let further = (start.at.1.addr() as isize / T::BYTES as isize).wrapping_add(offset as isize);
        self.other.wrapping_offset(further * bytes as isize)
    }

    /// The same, by the number of its type: a product with its bytes would be shared by loops, and wait in a register.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn second_at(self, start: RowStart<T>, offset: i64) -> *const T {
        let further = (start.at.1.addr() as isize / T::BYTES as isize).wrapping_add(offset as isize);
        self.other.cast::<T>().wrapping_offset(further)
    }

    /// How far an element of a row lies from its first, in each array.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn offset<S: Simt>(self, simt: S, number: u64) -> Two<i64> {
        if self.is_folded {
            self.rows.within(simt, number)
        } else {
            self.by_step(number)
        }
    }

    /// The same of a row of one dimension.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn by_step(self, number: u64) -> Two<i64> {
        let Two(first, second) = self.rows.step();
        Two(
            (number as i64).wrapping_mul(first),
            (number as i64).wrapping_mul(second),
        )
    }

    /// What is given of a row; nothing of one that is not there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn given<S: Simt, O: RowOp>(self, simt: S, start: RowStart<T>) -> Given {
        let row = start.row;
        if row >= self.rows.count() {
            return Target::Ignored.given(0.0);
        }
        if O::TARGETS {
            self.given_target::<S, O>(simt, start)
        } else if O::TAKES_COLUMNS {
            let [mean, reciprocal, ..] = self.known;
            let read = |from: *mut u32| {
                if from.is_null() {
                    return 0.0;
                }
                // SAFETY: a launch passes a number for each row, or null.
                f32::from_bits(unsafe { simt.load(from.wrapping_add(row as usize)) })
            };
            [read(mean), read(reciprocal)]
        } else {
            [0.0; 2]
        }
    }

    /// The element of a row's target.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn given_target<S: Simt, O: RowOp>(self, simt: S, start: RowStart<T>) -> Given {
        let target = self.target(simt, start.row);
        let here = self.here(target);
        let is_there = (0..self.rows.len() as i64).contains(&here);
        if target == self.targets.ignored {
            Target::Ignored.given(0.0)
        } else if is_there {
            let at = self.first_at(start, here * self.rows.step().0);
            // Where rows are mapped in place it is written later: no load of what nobody writes.
            // SAFETY: the row has that element.
            let bits = unsafe {
                if T::BYTES == 2 {
                    simt.load_short(at.cast())
                } else {
                    simt.load(at.cast())
                }
            };
            Target::There.given(self.floats.widen(bits))
        } else if self.is_part::<O>() && (0..self.whole::<O>(self.rows.len()) as i64).contains(&target) {
            // Others have it: what a sum over all parts does not notice.
            Target::There.given(-0.0)
        } else {
            Target::Beyond.given(0.0)
        }
    }

    /// The target of a row; −1 where there are none.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn target<S: Simt>(self, simt: S, row: u64) -> i64 {
        let (start, row) = (self.targets.start, row as usize);
        if start.is_null() {
            return -1;
        }
        debug_assert!((row as u64) < self.rows.count(), "a row that is there");
        // SAFETY: a launch passes a target for each row, or null.
        unsafe {
            if self.targets.are_wide {
                load_element(simt, start.cast::<u64>().wrapping_add(row)) as i64
            } else {
                i64::from(simt.load_input(start.cast::<u32>().wrapping_add(row)) as i32)
            }
        }
    }

    /// One element.
    ///
    /// # Safety
    ///
    /// It is valid and unwritten.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn element<S: Simt>(self, simt: S, from: *const T) -> f32 {
        // SAFETY: passed on to the caller.
        self.floats.widen(unsafe { load_element(simt, from) } as u32)
    }
}
