//! The kernels: how a thread counts what it is the first to insert.

use warpfold_kernels::{
    element::{Element, Item},
    kernels::Launch,
    monoids::Count,
    simt::Simt,
    stages::{
        load::{
            extents::Extents,
            source::{At, Source, load_item},
        },
        reduce::warp,
    },
    tree::LANES,
};

use crate::{
    equality::{Equality, bits, hash},
    table::{NearCache, Region, Slot},
};

/// Elements that a lane of [`count_whole`] reads before it looks any up.
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

/// What is passed beside extents, table and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// How elements are shared out.
    pub order: Order,
    /// What makes two the same.
    pub equality: Equality,
    /// Slots of an extent, beside that of the key 0; segments have each their own number.
    pub slots: u64,
    /// Rows of a warp's chunk: of 32 elements, or of as many extents' elements.
    pub rows: u32,
}

impl Params {
    /// A launch with these: its slots are the table's, its answers a u64 for each extent. Of segments the length is that of all together, and the layout the numbers: each one's first element and
    /// that of all, as many as there are and one; then as many of slots: each one's first, and that of all.
    #[must_use]
    pub fn passed(self, launch: Launch) -> Launch {
        let (kind, highest) = self.equality.params();
        Launch {
            flags: self.order as u64,
            numbers: [highest, kind.into()],
            tiles: self.slots,
            steps: self.rows.into(),
            ..launch
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of(launch: &Launch) -> Self {
        let [highest, kind] = launch.numbers;
        Self {
            order: Order::of_params(launch.flags as u32),
            equality: Equality::of_params(kind as u32, highest),
            slots: launch.tiles,
            rows: launch.steps as u32,
        }
    }
}

/// A launch, as a kernel takes it.
#[derive(Clone, Copy)]
pub struct CountArguments<T: Source> {
    extents: Extents<T>,
    params: Params,
    table: *mut u32,
    answers: *mut u64,
}

impl<T: Source> CountArguments<T> {
    /// Of a launch that [passes](Params::passed) what a kernel is to know. Whoever has it may read and write what it says is there.
    ///
    /// # Safety
    ///
    /// The extents are as [`Extents::new`] has them; the table has the slots that are passed, all of them empty, and more of an
    /// extent's than it has distinct elements; the answers are valid, and 0. Nothing else touches table and answers during the launch. All
    /// threads of the grid run one kernel.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub unsafe fn new(launch: &Launch) -> Self {
        Self {
            // SAFETY: the caller's word.
            extents: unsafe { Extents::new(launch.arrays, launch.len, launch.count, launch.layout) },
            params: Params::of(launch),
            table: launch.slots,
            answers: launch.answer.cast(),
        }
    }
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
/// lane: 4 elements ─ keys ─ near cache ─ slot: load, compare-and-swap ─ count ─ warp: 5 shuffles ─ add to the answer
/// ```
///
/// Any number of blocks of any number of warps; none of them changes the answer.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn count_whole<S: Simt, T: Width>(simt: S, arguments: CountArguments<T>) {
    let counter = Counter { simt, arguments };
    let near = NearCache::empty(simt);
    let threads = u64::from(simt.blocks()) * u64::from(simt.threads());
    let mut place = u64::from(simt.block()) * u64::from(simt.threads()) + u64::from(simt.thread());
    let len = arguments.extents.len();
    let region = counter.region(0, arguments.params.slots);
    let (mut counted, mut has_zero) = (0_u64, false);
    while place < len {
        let read = |i: u32| counter.element_of_run(place + u64::from(i) * threads);
        let mut elements = [read(0), read(1), read(2), read(3)];
        let left = (len - 1 - place) / threads.max(1) + 1;
        // A number of turns that no compiler knows: this is much code, and stands once.
        let present = simt.opaque(left.min(AHEAD.into()) as u32);
        for _ in 0..present {
            let (key, hash) = arguments.key(elements[0]);
            let cached = near.cached::<T::Slot>(hash);
            let is_zero = key == T::Slot::EMPTY;
            let is_known = if is_zero { has_zero } else { cached.get() == key };
            if !is_known {
                counted += u64::from(region.insert(simt, key, hash));
                if is_zero {
                    has_zero = true;
                } else {
                    cached.put(key);
                }
            }
            elements = [elements[1], elements[2], elements[3], 0];
        }
        place += u64::from(AHEAD) * threads;
    }
    let all = warp::reduce::<S, u64, Count>(simt, Count::nonzero(u64::TYPE), counted);
    if simt.lane() == 0 && all > 0 {
        counter.add(0, all);
    }
}

/// Adds to each answer the number of distinct elements of its extent, wherever those lie.
///
/// ```text
/// lane: extent ─ element ─ key ─ slot: load, compare-and-swap ─ count ─ add to the answer
/// ```
///
/// Any number of blocks of any number of warps; none of them changes an answer.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn count_extents<S: Simt, T: Width>(simt: S, arguments: CountArguments<T>) {
    let counter = Counter { simt, arguments };
    let Params { order, rows, .. } = arguments.params;
    let warps = u64::from(simt.blocks()) * u64::from(simt.warps());
    let mut chunk = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    let chunks = chunks(order, arguments.extents.len(), arguments.extents.count(), rows);
    let mut here = counter.nowhere();
    let mut counted = 0;
    while chunk < chunks {
        let mut walk = arguments.walk(simt, chunk);
        if order == Order::Across {
            // Its places are those in an extent: each chunk has others.
            here.end = 0;
        }
        while walk.next < walk.end {
            if walk.next >= here.end {
                let found = counter.find(walk);
                if found.number != here.number && counted > 0 {
                    counter.add(here.number, counted);
                    counted = 0;
                }
                here = found;
            }
            let element = counter.element(&here, walk.next - here.first);
            let (key, hash) = arguments.key(element);
            let is_zero = key == T::Slot::EMPTY;
            if !(is_zero && here.has_zero) {
                counted += u64::from(here.region.insert(simt, key, hash));
                here.has_zero |= is_zero;
            }
            walk.next += walk.step;
        }
        chunk += warps;
    }
    if counted > 0 {
        counter.add(here.number, counted);
    }
}

/// The elements of a lane in a chunk, by their places on the line of all, or in an extent.
#[derive(Clone, Copy)]
struct Walk {
    next: u64,
    end: u64,
    /// From one to the next.
    step: u64,
    /// The extent, where lanes have each one.
    extent: u64,
}

/// The extent that a lane is in.
#[derive(Clone, Copy)]
struct Here<T: Source, K> {
    number: u64,
    /// The places of its first element and after its last.
    first: u64,
    end: u64,
    start: At<T>,
    region: Region<K>,
    /// Whether this lane has inserted the key 0.
    has_zero: bool,
}

impl<T: Width> CountArguments<T> {
    /// An element's key, and the hash of that.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn key(&self, bits: u64) -> (T::Slot, u64) {
        let key = self.params.equality.key(bits, 8 * T::BYTES as u32);
        (T::Slot::of_key(key), hash(key))
    }

    /// This lane's part of a chunk.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn walk<S: Simt>(&self, simt: S, chunk: u64) -> Walk {
        let Params { order, rows, .. } = self.params;
        let rows = u64::from(rows);
        let lane = u64::from(simt.lane());
        let (len, count) = (self.extents.len(), self.extents.count());
        if order == Order::Across {
            let groups = count.div_ceil(LANES.into()).max(1);
            let extent = chunk % groups * u64::from(LANES) + lane;
            let next = chunk / groups * rows;
            let end = if extent < count { len.min(next + rows) } else { 0 };
            return Walk {
                next,
                end,
                step: 1,
                extent,
            };
        }
        let all = if order == Order::Segments { len } else { len * count };
        let first = chunk * u64::from(LANES) * rows;
        Walk {
            next: first + lane,
            end: all.min(first + u64::from(LANES) * rows),
            step: LANES.into(),
            extent: 0,
        }
    }
}

/// What a lane does with the memory of a launch, whose word it has.
#[derive(Clone, Copy)]
struct Counter<S, T: Source> {
    simt: S,
    arguments: CountArguments<T>,
}

impl<S: Simt, T: Width> Counter<S, T> {
    fn nowhere(self) -> Here<T, T::Slot> {
        Here {
            number: 0,
            first: 0,
            end: 0,
            start: self.arguments.extents.start(),
            region: self.region(0, self.arguments.params.slots),
            has_zero: false,
        }
    }

    /// So many slots, from number `first` on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn region(self, first: u64, slots: u64) -> Region<T::Slot> {
        let table = self.arguments.table.cast::<T::Slot>();
        // SAFETY: the slots that are passed are the table's, as the launch has it.
        unsafe { Region::new(table.wrapping_add(first as usize), slots) }
    }

    /// Adds to the answer of an extent.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn add(self, number: u64, counted: u64) {
        let answer = self.arguments.answers.wrapping_add(number as usize);
        // SAFETY: each extent has an answer, as the launch has it.
        unsafe { self.simt.atomic_add_u64(answer, counted) }
    }

    /// The element of the array at a place; 0 past its end.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn element_of_run(self, place: u64) -> u64 {
        self.arguments.extents.all().get(self.simt, place).map_or(0, bits)
    }

    /// The extent of a lane's next element.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn find(self, walk: Walk) -> Here<T, T::Slot> {
        let CountArguments { extents, params, .. } = self.arguments;
        let Params { order, slots, .. } = params;
        let len = extents.len().max(1);
        let (number, first, end) = match order {
            Order::Whole | Order::Along => {
                let number = walk.next / len;
                (number, number * len, number * len + len)
            }
            Order::Across => (walk.extent, 0, u64::MAX),
            Order::Segments => {
                // The last that begins at the element or before it, which is not empty. It is one of low..high.
                let (mut low, mut high) = (0, extents.count());
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    if self.number(middle) <= walk.next {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                (low, self.number(low), self.number(low + 1))
            }
        };
        let (start, slot, slots) = if order == Order::Segments {
            let at = extents.count() + 1 + number;
            let slot = self.number(at);
            let start = T::further(extents.start(), T::each(|_| first as isize));
            (start, slot, self.number(at + 1) - slot - 1)
        } else {
            let slot = number * (slots + 1);
            (extents.first(self.simt, number), slot, slots)
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

    /// A number of segments, of which there are two for each and two more.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn number(self, at: u64) -> u64 {
        let from = self.arguments.extents.layout().wrapping_add(at as usize).cast::<u32>();
        // SAFETY: of segments the layout is as many numbers, as the launch has it.
        unsafe { u64::from(self.simt.load(from)) | u64::from(self.simt.load(from.wrapping_add(1))) << 32 }
    }

    /// The element of an extent by its number there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn element(self, here: &Here<T, T::Slot>, number: u64) -> u64 {
        let CountArguments { extents, params, .. } = self.arguments;
        let by = if params.order == Order::Segments {
            T::each(|_| number as i64)
        } else {
            extents.within(self.simt, number)
        };
        let from = T::further(here.start, T::map(by, |by| by as isize));
        // SAFETY: a walk goes over the elements that there are, as the launch has it.
        bits(unsafe { load_item::<S, T>(self.simt, from) })
    }
}
