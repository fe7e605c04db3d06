//! How many distinct elements there are: of a whole array, of extents, of segments.
//!
//! No fold of small states: what is carried is the set of what was seen. So it has no monoid, but a [table](crate::stages::table) in
//! global memory, and entries of its own, one for each width of elements, which are told [what makes two the
//! same](crate::element::equality).

use super::{Entry, Instructions, Kernel, LIBRARY};
use crate::{
    element::{
        Element, Item,
        equality::{Equality, bits, scattered},
    },
    monoids::Sum,
    simt::Simt,
    stages::{
        extents::Extents,
        source::{At, Source},
        table::{Region, Slot, empty_near, near},
        warp,
    },
    tree::LANES,
};

/// Elements that a lane reads before it looks for any.
const AHEAD: usize = 4;

/// The largest block, and how many a multiprocessor must have registers for: what hides the way to the table is warps.
const THREADS: u32 = 256;
const BLOCKS: u32 = 5;

/// Unsigned integers, for all elements of their width.
pub trait Width: Element {
    /// What a slot holds.
    type Slot: Slot;
}

impl Width for u8 {
    type Slot = u32;
}
impl Width for u16 {
    type Slot = u32;
}
impl Width for u32 {
    type Slot = u32;
}
impl Width for u64 {
    type Slot = u64;
}

/// How the lanes share out the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Extent after extent, lanes side by side on neighbouring elements.
    Along,
    /// Lanes side by side on neighbouring extents: those of columns.
    Across,
    /// Segments, one after another.
    Segments,
}

impl Order {
    /// By what a launch tells: the order's number.
    #[inline(always)]
    #[must_use]
    pub const fn of_told(number: u32) -> Self {
        match number {
            0 => Self::Along,
            1 => Self::Across,
            _ => Self::Segments,
        }
    }
}

/// What a launch tells.
#[derive(Clone, Copy)]
pub struct Arguments<T: Source> {
    /// The elements. Of segments `len` is that of all together, and the layout the numbers: each one's first element and that of all,
    /// `count + 1`, then as many of slots: each one's first, and that of all.
    pub extents: Extents<T>,
    /// How they are shared out.
    pub order: Order,
    /// What makes two the same.
    pub equality: Equality,
    /// The slots, empty: of each extent as many as `slots`, and one.
    pub table: *mut u32,
    /// Slots of an extent, beside that of the key 0; segments have each their own number.
    pub slots: u64,
    /// An answer for each extent, 0 before.
    pub answers: *mut u64,
    /// Rows of a warp's chunk: of 32 elements, or of as many extents' elements.
    pub rows: u32,
}

/// Chunks of so many rows.
#[must_use]
pub const fn chunks(order: Order, len: u64, count: u64, rows: u32) -> u64 {
    let (lanes, rows) = (LANES as u64, rows as u64);
    match order {
        Order::Across => u64::saturating_mul(count.div_ceil(lanes), len.div_ceil(rows)),
        Order::Along => u64::saturating_mul(len, count).div_ceil(lanes * rows),
        Order::Segments => len.div_ceil(lanes * rows),
    }
}

/// How often the instructions that matter stand in the code of [`count_distinct`].
#[must_use]
pub const fn instructions<T: Width>() -> Instructions {
    Instructions {
        vector_loads: 0,
        scalar_loads: AHEAD * T::BYTES.div_ceil(4),
        shuffles: warp::shuffles(2)[0],
        // The near cache is empty.
        barriers: 1,
        // The claim of a slot; a lane's count where its extent ends; the last, or the warp's.
        tickets: 1 + 2,
    }
}

/// Adds to each answer the number of distinct elements of its extent.
///
/// ```text
/// lane: 4 elements ─ key ─ near cache ─ slot: peek, exchange ─ count ─ warp: 5 shuffles ─ add to the answer
/// ```
///
/// Any number of blocks of any number of warps; none of them changes an answer.
///
/// # Safety
///
/// `extents` are valid and unwritten for the whole launch; the table has the slots that are told, all of them empty, and more of an
/// extent's than it has distinct elements; the answers are valid, and 0. Nothing else touches table and answers during the launch. All
/// threads of the grid call this alike.
#[inline(always)]
pub unsafe fn count_distinct<S: Simt, T: Width>(simt: S, arguments: Arguments<T>) {
    let is_one = arguments.extents.count == 1;
    if is_one {
        empty_near(simt);
    }
    let Arguments { order, rows, .. } = arguments;
    let warps = u64::from(simt.blocks()) * u64::from(simt.warps());
    let mut chunk = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    let chunks = chunks(order, arguments.extents.len, arguments.extents.count, rows);
    let mut here = arguments.nowhere();
    let mut counted = 0;
    while chunk < chunks {
        let mut walk = arguments.walk(simt, chunk);
        if order == Order::Across {
            // Its places are those in an extent: each chunk has others.
            here.end = 0;
        }
        while walk.next < walk.end {
            if walk.next >= here.end {
                // SAFETY: passed on to the caller.
                let found = unsafe { arguments.find(simt, walk) };
                if found.number != here.number && counted > 0 {
                    // SAFETY: passed on to the caller.
                    unsafe { simt.add_wide(arguments.answer(here.number), counted) };
                    counted = 0;
                }
                here = found;
            }
            // SAFETY: passed on to the caller.
            counted += unsafe { arguments.count_some(simt, &mut walk, &mut here, is_one) };
        }
        chunk += warps;
    }
    let mut adds = true;
    if is_one {
        counted = warp::reduce::<S, u64, Sum>(simt, Sum, counted);
        adds = simt.lane() == 0;
    }
    if adds && counted > 0 {
        // SAFETY: passed on to the caller.
        unsafe { simt.add_wide(arguments.answer(here.number), counted) }
    }
}

/// The elements of a lane in a chunk, by their places on the line of all, or in an extent.
#[derive(Clone, Copy)]
struct Walk {
    next: u64,
    end: u64,
    /// From one to the next, as a power of two.
    apart: u32,
    /// The extent, where lanes have each one.
    extent: u64,
}

/// The extent that a lane is in.
#[derive(Clone, Copy)]
struct Here<T: Source, K> {
    number: u64,
    /// The places of its first element and behind its last.
    first: u64,
    end: u64,
    start: At<T>,
    region: Region<K>,
    /// Whether this lane has brought the key 0.
    has_zero: bool,
}

impl<T: Width> Arguments<T> {
    fn nowhere(&self) -> Here<T, T::Slot> {
        let region = Region {
            first: self.table.cast(),
            slots: self.slots,
        };
        Here {
            number: 0,
            first: 0,
            end: 0,
            start: self.extents.start,
            region,
            has_zero: false,
        }
    }

    fn answer(&self, number: u64) -> *mut u64 {
        self.answers.wrapping_add(number as usize)
    }

    /// This lane's part of a chunk.
    #[inline(always)]
    fn walk<S: Simt>(&self, simt: S, chunk: u64) -> Walk {
        let rows = u64::from(self.rows);
        let lane = u64::from(simt.lane());
        let Extents { len, count, .. } = self.extents;
        if self.order == Order::Across {
            let groups = count.div_ceil(LANES.into()).max(1);
            let extent = chunk % groups * u64::from(LANES) + lane;
            let next = chunk / groups * rows;
            let end = if extent < count { len.min(next + rows) } else { 0 };
            return Walk {
                next,
                end,
                apart: 0,
                extent,
            };
        }
        let all = if self.order == Order::Segments {
            len
        } else {
            len * count
        };
        let first = chunk * u64::from(LANES) * rows;
        Walk {
            next: first + lane,
            end: all.min(first + u64::from(LANES) * rows),
            apart: u32::trailing_zeros(LANES),
            extent: 0,
        }
    }

    /// The extent of a lane's next element.
    ///
    /// # Safety
    ///
    /// As [`count_distinct`].
    #[inline(always)]
    unsafe fn find<S: Simt>(&self, simt: S, walk: Walk) -> Here<T, T::Slot> {
        let len = self.extents.len.max(1);
        let (number, first, end) = match self.order {
            Order::Along => {
                let number = walk.next / len;
                (number, number * len, number * len + len)
            }
            Order::Across => (walk.extent, 0, u64::MAX),
            Order::Segments => {
                // The last that begins at the element or before it, which is not empty. It is one of low..high.
                let (mut low, mut high) = (0, self.extents.count);
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    // SAFETY: passed on to the caller.
                    if unsafe { self.number(simt, middle) } <= walk.next {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                // SAFETY: passed on to the caller.
                unsafe { (low, self.number(simt, low), self.number(simt, low + 1)) }
            }
        };
        // SAFETY: passed on to the caller.
        let (start, slot, slots) = unsafe {
            if self.order == Order::Segments {
                let at = self.extents.count + 1 + number;
                let slot = self.number(simt, at);
                let start = T::further(self.extents.start, T::each(|_| first as isize));
                (start, slot, self.number(simt, at + 1) - slot - 1)
            } else {
                let slot = number * (self.slots + 1);
                (self.extents.first(simt, number), slot, self.slots)
            }
        };
        let region = Region {
            first: self.table.cast::<T::Slot>().wrapping_add(slot as usize),
            slots,
        };
        Here {
            number,
            first,
            end,
            start,
            region,
            has_zero: false,
        }
    }

    /// A number of segments.
    ///
    /// # Safety
    ///
    /// As [`count_distinct`]; there is one.
    #[inline(always)]
    unsafe fn number<S: Simt>(&self, simt: S, at: u64) -> u64 {
        let from = self.extents.layout.wrapping_add(at as usize).cast::<u32>();
        // SAFETY: passed on to the caller.
        unsafe { u64::from(simt.load(from)) | u64::from(simt.load(from.wrapping_add(1))) << 32 }
    }

    /// The element of an extent by its number there.
    ///
    /// # Safety
    ///
    /// As [`count_distinct`]; there is one.
    #[inline(always)]
    unsafe fn element<S: Simt>(&self, simt: S, here: &Here<T, T::Slot>, number: u64) -> u64 {
        let by = if self.order == Order::Segments {
            T::each(|_| number as i64)
        } else if self.extents.layout.is_null() {
            T::map(self.extents.step, |step| number as i64 * step)
        } else {
            // SAFETY: passed on to the caller.
            unsafe { self.extents.within(simt, number) }
        };
        let from = T::further(here.start, T::map(by, |by| by as isize));
        // SAFETY: passed on to the caller.
        bits(unsafe { T::read_item(simt, from) })
    }

    /// Brings the next few elements of an extent to its table; how many are new.
    ///
    /// # Safety
    ///
    /// As [`count_distinct`]; there is one at least.
    #[inline(always)]
    unsafe fn count_some<S: Simt>(&self, simt: S, walk: &mut Walk, here: &mut Here<T, T::Slot>, is_one: bool) -> u64 {
        let end = walk.end.min(here.end);
        let read = |i: u32| {
            let place = walk.next + (u64::from(i) << walk.apart);
            if place < end {
                // SAFETY: passed on to the caller; the place has an element.
                unsafe { self.element(simt, here, place - here.first) }
            } else {
                0
            }
        };
        let mut elements = [read(0), read(1), read(2), read(3)];
        let left = (end - walk.next).div_ceil(1 << walk.apart);
        // A number of turns that no compiler knows: this is much code, and stands once.
        let present = simt.anew(left.min(AHEAD as u64) as u32);
        let mut new = 0;
        for _ in 0..present {
            // SAFETY: passed on to the caller.
            new += u64::from(unsafe { self.bring(simt, here, elements[0], is_one) });
            elements = [elements[1], elements[2], elements[3], 0];
        }
        walk.next += u64::from(present) << walk.apart;
        new
    }

    /// Whether an element is new to its extent. Where there is but one, the block has a near cache.
    ///
    /// # Safety
    ///
    /// As [`count_distinct`].
    #[inline(always)]
    unsafe fn bring<S: Simt>(&self, simt: S, here: &mut Here<T, T::Slot>, bits: u64, is_one: bool) -> bool {
        let key = T::Slot::of_key(self.equality.key(bits, 8 * T::BYTES as u32));
        let is_zero = key == T::Slot::EMPTY;
        let scattered = scattered(key.to_key());
        let near = near::<T::Slot>(scattered);
        let is_known = if is_zero {
            here.has_zero
        } else {
            is_one && T::Slot::peek_shared(simt, near) == key
        };
        if is_known {
            return false;
        }
        // SAFETY: passed on to the caller.
        let is_new = unsafe { here.region.bring(simt, key, scattered) };
        if is_zero {
            here.has_zero = true;
        } else if is_one {
            T::Slot::post_shared(simt, near, key);
        }
        is_new
    }
}

/// The entries, by the width of elements.
pub static ENTRIES: [Entry; 4] = [
    entry::<u8>("distinct_u8"),
    entry::<u16>("distinct_u16"),
    entry::<u32>("distinct_u32"),
    entry::<u64>("distinct_u64"),
];

/// The entry for elements of so many bytes: 1, 2, 4 or 8.
#[must_use]
pub fn of_bytes(bytes: usize) -> &'static Entry {
    &ENTRIES[bytes.ilog2() as usize]
}

const fn entry<T: Width>(name: &'static str) -> Entry {
    Entry {
        library: &LIBRARY,
        name,
        op: "distinct",
        also: None,
        part: "statistics",
        element: T::TYPE,
        arrays: 1,
        masked: false,
        kernel: Kernel::Distinct,
        family: "distinct",
        state_words: T::Slot::WORDS,
        answer_words: 2,
        answer_bytes: 8,
        max_threads: THREADS,
        min_blocks: Some(BLOCKS),
        fuses: false,
        instructions: instructions::<T>(),
    }
}

macro_rules! points {
    ($($name:literal: $element:ident, if $when:meta;)*) => {
        $(
            #[cfg(all(
                target_arch = "nvptx64",
                feature = "entries",
                any(not(warpfold_part), warpfold_part = "statistics"),
                $when
            ))]
            const _: () = {
                crate::kernel! {
                    /// [`count_distinct`] of elements of a width.
                    ///
                    /// # Safety
                    ///
                    /// As [`count_distinct`].
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
                        let extents = Extents {
                            start,
                            len,
                            count,
                            stride,
                            step,
                            layout,
                            // Elements are read one by one.
                            around: crate::stages::extents::Around(0, 0),
                        };
                        let arguments = Arguments {
                            extents,
                            order: Order::of_told(order),
                            equality: Equality::of_told(kind, highest),
                            table,
                            slots,
                            answers,
                            rows,
                        };
                        // SAFETY: passed on to the launcher.
                        unsafe { count_distinct(crate::simt::nvptx::Nvptx, arguments) }
                    }
                }
            };
        )*
    };
}

points! {
    "distinct_u8": u8, if all();
    "distinct_u16": u16, if not(warpfold_sample);
    "distinct_u32": u32, if not(warpfold_sample);
    "distinct_u64": u64, if not(warpfold_sample);
}
