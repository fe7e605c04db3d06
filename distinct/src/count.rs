//! The kernels: how a thread counts what it is the first to insert.

use warpfold_kernels::{
    element::{Element, Item},
    monoids::Count,
    simt::Simt,
    stages::{
        load::{
            extents::Extents,
            source::{At, Source},
        },
        reduce::warp,
    },
    tree::LANES,
};

use crate::{
    equality::{Equality, bits, scattered},
    table::{Region, Slot, empty_near, near},
};

/// Elements that a lane of [`count_whole`] reads before it looks for any.
pub const AHEAD: u32 = 4;

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
    /// One extent, in one run: [`count_whole`].
    Whole,
    /// Extent after extent, lanes side by side on neighbouring elements.
    Along,
    /// Lanes side by side on neighbouring extents: those of columns.
    Across,
    /// Segments, one after another.
    Segments,
}

impl Order {
    /// By what a launch passes: the order's number.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub const fn of_params(number: u32) -> Self {
        match number {
            0 => Self::Whole,
            1 => Self::Along,
            2 => Self::Across,
            _ => Self::Segments,
        }
    }
}

/// What a launch passes.
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

/// Chunks of so many rows: each one warp's.
#[must_use]
pub const fn chunks(order: Order, len: u64, count: u64, rows: u32) -> u64 {
    // That there is one is for the compiler, which would have a panic for none.
    let (lanes, rows) = (LANES as u64, if rows == 0 { 1 } else { rows as u64 });
    match order {
        Order::Across => u64::saturating_mul(count.div_ceil(lanes), len.div_ceil(rows)),
        Order::Along => u64::saturating_mul(len, count).div_ceil(lanes * rows),
        Order::Whole | Order::Segments => len.div_ceil(lanes * rows),
    }
}

/// Adds to the answer the number of distinct elements of one extent, which lies in one run.
///
/// ```text
/// lane: 4 elements ─ keys ─ near cache ─ slot: peek, exchange ─ count ─ warp: 5 shuffles ─ add to the answer
/// ```
///
/// Any number of blocks of any number of warps; none of them changes the answer.
///
/// # Safety
///
/// As [`count_extents`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn count_whole<S: Simt, T: Width>(simt: S, arguments: Arguments<T>) {
    empty_near(simt);
    let threads = u64::from(simt.blocks()) * u64::from(simt.threads());
    let mut place = u64::from(simt.block()) * u64::from(simt.threads()) + u64::from(simt.thread());
    let Extents { start, len, .. } = arguments.extents;
    let region = arguments.region(0, arguments.slots);
    let (mut counted, mut has_zero) = (0_u64, false);
    while place < len {
        let read = |i: u32| {
            let place = place + u64::from(i) * threads;
            let from = T::further(start, T::each(|_| place as isize));
            if place >= len {
                return 0;
            }
            // SAFETY: passed on to the caller; there is such an element.
            bits(unsafe { T::read_item(simt, from) })
        };
        let mut elements = [read(0), read(1), read(2), read(3)];
        let left = (len - 1 - place) / threads.max(1) + 1;
        // A number of turns that no compiler knows: this is much code, and stands once.
        let present = simt.opaque(left.min(AHEAD.into()) as u32);
        for _ in 0..present {
            let (key, scattered) = arguments.key(elements[0]);
            let near = near::<T::Slot>(scattered);
            let is_zero = key == T::Slot::EMPTY;
            let is_known = if is_zero {
                has_zero
            } else {
                T::Slot::load_shared_relaxed(simt, near) == key
            };
            if !is_known {
                // SAFETY: passed on to the caller.
                counted += u64::from(unsafe { region.bring(simt, key, scattered) });
                if is_zero {
                    has_zero = true;
                } else {
                    T::Slot::store_shared_relaxed(simt, near, key);
                }
            }
            elements = [elements[1], elements[2], elements[3], 0];
        }
        place += u64::from(AHEAD) * threads;
    }
    let all = warp::reduce::<S, u64, Count>(simt, Count::nonzero(u64::TYPE), counted);
    if simt.lane() == 0 && all > 0 {
        // SAFETY: passed on to the caller.
        unsafe { simt.atomic_add_u64(arguments.answer(0), all) }
    }
}

/// Adds to each answer the number of distinct elements of its extent, wherever those lie.
///
/// ```text
/// lane: extent ─ element ─ key ─ slot: peek, exchange ─ count ─ add to the answer
/// ```
///
/// Any number of blocks of any number of warps; none of them changes an answer.
///
/// # Safety
///
/// `extents` are valid and unwritten for the whole launch; the table has the slots that are passed, all of them empty, and more of an
/// extent's than it has distinct elements; the answers are valid, and 0. Nothing else touches table and answers during the launch. All
/// threads of the grid call this alike.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn count_extents<S: Simt, T: Width>(simt: S, arguments: Arguments<T>) {
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
                    unsafe { simt.atomic_add_u64(arguments.answer(here.number), counted) };
                    counted = 0;
                }
                here = found;
            }
            // SAFETY: passed on to the caller.
            let element = unsafe { arguments.element(simt, &here, walk.next - here.first) };
            let (key, scattered) = arguments.key(element);
            let is_zero = key == T::Slot::EMPTY;
            if !(is_zero && here.has_zero) {
                // SAFETY: passed on to the caller.
                counted += u64::from(unsafe { here.region.bring(simt, key, scattered) });
                here.has_zero |= is_zero;
            }
            walk.next += walk.apart;
        }
        chunk += warps;
    }
    if counted > 0 {
        // SAFETY: passed on to the caller.
        unsafe { simt.atomic_add_u64(arguments.answer(here.number), counted) }
    }
}

/// The elements of a lane in a chunk, by their places on the line of all, or in an extent.
#[derive(Clone, Copy)]
struct Walk {
    next: u64,
    end: u64,
    /// From one to the next.
    apart: u64,
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
        Here {
            number: 0,
            first: 0,
            end: 0,
            start: self.extents.start,
            region: self.region(0, self.slots),
            has_zero: false,
        }
    }

    /// So many slots, from number `first` on.
    fn region(&self, first: u64, slots: u64) -> Region<T::Slot> {
        Region {
            first: self.table.cast::<T::Slot>().wrapping_add(first as usize),
            slots,
        }
    }

    /// An element's key, and that scattered.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn key(&self, bits: u64) -> (T::Slot, u64) {
        let key = self.equality.key(bits, 8 * T::BYTES as u32);
        (T::Slot::of_key(key), scattered(key))
    }

    fn answer(&self, number: u64) -> *mut u64 {
        self.answers.wrapping_add(number as usize)
    }

    /// This lane's part of a chunk.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
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
                apart: 1,
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
            apart: LANES.into(),
            extent: 0,
        }
    }

    /// The extent of a lane's next element.
    ///
    /// # Safety
    ///
    /// As [`count_extents`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn find<S: Simt>(&self, simt: S, walk: Walk) -> Here<T, T::Slot> {
        let len = self.extents.len.max(1);
        let (number, first, end) = match self.order {
            Order::Whole | Order::Along => {
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
        Here {
            number,
            first,
            end,
            start,
            region: self.region(slot, slots),
            has_zero: false,
        }
    }

    /// A number of segments.
    ///
    /// # Safety
    ///
    /// As [`count_extents`]; there is one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn number<S: Simt>(&self, simt: S, at: u64) -> u64 {
        let from = self.extents.layout.wrapping_add(at as usize).cast::<u32>();
        // SAFETY: passed on to the caller.
        unsafe { u64::from(simt.load(from)) | u64::from(simt.load(from.wrapping_add(1))) << 32 }
    }

    /// The element of an extent by its number there.
    ///
    /// # Safety
    ///
    /// As [`count_extents`]; there is one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
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
}
