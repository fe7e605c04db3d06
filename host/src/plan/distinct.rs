//! Plans of counts of distinct elements.

use std::{fmt, time::Duration};

use warpfold_distinct::{self as distinct, EntryPoint, Order};
use warpfold_kernels::{element::Type, tree::LANES};

use super::{Memory, WARPS};
use crate::{
    Error,
    layout::{Extents, Segments},
};

/// A launch that counts distinct elements: the kernel, how the elements are shared out, and the table, by far the most of what it
/// costs.
///
/// The table has two slots for each element that an extent may have at most, or for each value there is where those are fewer, and one
/// for zero: of 4 bytes each, of 8 where elements have 8. So it is twice as large as an array of elements of 4 or 8 bytes, and of
/// smaller ones at most 512 KiB for each answer.
///
/// ```
/// use warpfold::{ops::element::Type, plan::DistinctPlan};
///
/// let plan = DistinctPlan::new(Type::F32, 1_000_000)?;
/// assert_eq!((plan.bytes(), plan.workspace_bytes()), (4_000_008, 8_000_004));
/// assert_eq!(DistinctPlan::new(Type::I8, 1_000_000)?.workspace_bytes(), 2052);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistinctPlan {
    /// The kernel: that of the elements' width.
    pub entry: &'static EntryPoint,
    /// The elements.
    pub element: Type,
    /// Elements of an extent: of the input, where it is counted whole or in segments.
    pub len: u64,
    /// Extents, each counted by itself.
    pub count: u64,
    /// How the elements are shared out.
    pub order: Order,
    /// Slots of an extent, beside that of zero; 0 in segments, which have each their own number.
    pub slots: u64,
    /// Slots of the table.
    pub table_slots: u64,
    /// Rows of a warp's chunk.
    pub rows: u32,
    /// Blocks in the grid.
    pub blocks: u32,
}

/// Multiprocessors of an H200, which blocks fill, as many as have registers there: they go on to chunk after chunk.
const MULTIPROCESSORS: u64 = 132;

/// Rows of a chunk: as many as a lane of a whole array reads at once, and so many that a warp does not look for its extent too often.
const LEAST_ROWS: u64 = distinct::AHEAD as u64;
const MOST_ROWS: u64 = 32;

/// Neighbouring answers that are worth a lane each.
const ENOUGH_ANSWERS: u64 = LANES as u64;

impl DistinctPlan {
    /// The plan for a whole array.
    ///
    /// # Errors
    ///
    /// [`Error::LengthOverflow`] where the table would not fit in the address space.
    pub fn new(element: Type, len: u64) -> Result<Self, Error> {
        Self::uniform(element, len, 1, Order::Whole)
    }

    /// The plan along axes.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn along(element: Type, extents: &Extents) -> Result<Self, Error> {
        let order = if extents.count == 1 && extents.is_contiguous() {
            Order::Whole
        } else if extents.answers_are_closer() && extents.count >= ENOUGH_ANSWERS {
            Order::Across
        } else {
            Order::Along
        };
        Self::uniform(element, extents.len, extents.count, order)
    }

    /// The plan for segments.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn segments(element: Type, segments: &Segments) -> Result<Self, Error> {
        let (len, count) = (segments.len(), segments.count() as u64);
        if count == 1 {
            return Self::new(element, len);
        }
        let slots = first_slots(element, segments).last();
        Self::of(element, [len, count], Order::Segments, 0, slots)
    }

    fn uniform(element: Type, len: u64, count: u64, order: Order) -> Result<Self, Error> {
        let slots = slots(element, len);
        let all = slots.checked_add(1).and_then(|slots| slots.checked_mul(count));
        Self::of(element, [len, count], order, slots, all)
    }

    fn of(element: Type, sizes: [u64; 2], order: Order, slots: u64, table: Option<u64>) -> Result<Self, Error> {
        let [len, count] = sizes;
        if element.bytes() > 8 {
            return Err(Error::NoKernel {
                op: distinct::NAME,
                element: element.name(),
            });
        }
        let entry = distinct::find(element.bytes(), order);
        let elements = match order {
            Order::Whole | Order::Segments => Some(len),
            Order::Along | Order::Across => len.checked_mul(count),
        };
        let fits = |slots: &u64| *slots <= isize::MAX as u64 / (4 * entry.slot_words as u64);
        let (Some(elements), Some(table_slots)) = (elements, table.filter(fits)) else {
            return Err(Error::LengthOverflow {
                elements: elements.unwrap_or(u64::MAX),
                element_bytes: element.bytes(),
            });
        };
        let most_blocks = MULTIPROCESSORS * u64::from(entry.min_blocks);
        let threads = most_blocks * u64::from(WARPS * LANES);
        let rows = match order {
            Order::Whole => LEAST_ROWS,
            _ => (elements / threads).clamp(LEAST_ROWS, MOST_ROWS),
        } as u32;
        let chunks = distinct::chunks(order, len, count, rows);
        Ok(Self {
            entry,
            element,
            len,
            count,
            order,
            slots,
            table_slots,
            rows,
            blocks: chunks.div_ceil(WARPS.into()).clamp(1, most_blocks) as u32,
        })
    }

    /// Elements that are counted.
    fn elements(&self) -> u64 {
        match self.order {
            Order::Whole | Order::Segments => self.len,
            Order::Along | Order::Across => self.len * self.count,
        }
    }

    /// Whether there is nothing to launch: every answer is 0, or there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements() == 0
    }

    /// Threads in a block.
    #[must_use]
    pub fn threads(&self) -> u32 {
        WARPS * LANES
    }

    /// Bytes to move at least: the elements, each once, the segments' numbers, the answers. What is looked for and written in the table
    /// comes to that, of numbers far apart 32 bytes each time.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let elements = self.elements().saturating_mul(self.element.bytes() as u64);
        let of_answer = match self.order {
            Order::Segments => 3 * size_of::<u64>(),
            _ => size_of::<u64>(),
        };
        elements.saturating_add(self.count.saturating_mul(of_answer as u64))
    }

    /// How long the launch takes at least on the device: for the elements to be read, and the table to be cleared. Looking for keys in a
    /// table that no cache holds comes to that, and is in no model here.
    #[must_use]
    pub fn least_time(&self, memory: &Memory) -> Duration {
        let bytes = self.bytes() as f64 + self.workspace_bytes() as f64;
        memory.launch + Duration::try_from_secs_f64(bytes / memory.bandwidth).unwrap_or(Duration::MAX)
    }

    /// Words of the workspace: the table.
    #[must_use]
    pub fn workspace_words(&self) -> usize {
        self.table_slots as usize * self.entry.slot_words
    }

    /// Bytes of the workspace, all of which each launch writes first.
    #[must_use]
    pub fn workspace_bytes(&self) -> usize {
        4 * self.workspace_words()
    }
}

/// Slots for `len` elements of a type, at most half of which are taken: there are no more keys than elements, nor than values.
fn slots(element: Type, len: u64) -> u64 {
    let values = 1_u64.checked_shl(8 * element.bytes() as u32).unwrap_or(u64::MAX);
    u64::saturating_mul(2, len.min(values))
}

/// The number of each segment's first slot, and that of all slots.
pub(crate) fn first_slots(element: Type, segments: &Segments) -> impl Iterator<Item = u64> {
    let lens = segments.offsets().windows(2).map(|ends| ends[1] - ends[0]);
    let mut all = 0_u64;
    let each = lens.map(move |len| {
        all = all.saturating_add(slots(element, len).saturating_add(1));
        all
    });
    [0].into_iter().chain(each)
}

impl fmt::Display for DistinctPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elements = self.len;
        write!(f, "{} of ", self.entry.name)?;
        match (self.order, self.count) {
            (Order::Segments, count) => write!(f, "{elements} elements in {count} segments")?,
            (_, 1) => write!(f, "{elements} elements")?,
            (_, count) => write!(f, "{count} extents of {elements} elements")?,
        }
        let (of_slot, threads) = (4 * self.entry.slot_words, self.threads());
        write!(
            f,
            ": {} slots of {of_slot} bytes, {} blocks of {threads} threads, {} rows a chunk, {} bytes to read, {} bytes of \
             workspace to clear and to search",
            self.table_slots,
            self.blocks,
            self.rows,
            self.bytes(),
            self.workspace_bytes(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Axes, Layout};

    #[test]
    fn more_slots_than_keys_and_not_many_more() {
        for element in [Type::Bool, Type::U8, Type::F16, Type::F32, Type::Complex64] {
            for len in [0, 1, 2, 255, 256, 257, 65_536, 65_537, 1 << 20, (1 << 32) + 1, 1 << 40] {
                let plan = DistinctPlan::new(element, len).expect("fits");
                let values = 2_f64.powi(8 * element.bytes() as i32);
                let keys = (len as f64).min(values);
                assert_eq!(plan.slots as f64, 2.0 * keys, "{plan}");
                assert_eq!(plan.table_slots, plan.slots + 1);
                assert_eq!(plan.threads() % 32, 0);
                assert!(plan.blocks >= 1 && plan.threads() <= plan.entry.max_threads, "{plan}");
                assert_eq!(plan.is_empty(), len == 0);
            }
        }
    }

    #[test]
    fn segments_have_slots_of_their_own() {
        let segments = Segments::by_lens([3, 0, 1000, 70_000]).expect("few");
        assert!(first_slots(Type::U8, &segments).eq([0, 7, 8, 521, 1034]));
        assert!(first_slots(Type::I64, &segments).eq([0, 7, 8, 2009, 142_010]));
        let plan = DistinctPlan::segments(Type::I64, &segments).expect("fits");
        assert_eq!((plan.table_slots, plan.workspace_bytes()), (142_010, 8 * 142_010));
    }

    #[test]
    fn columns_are_taken_across() {
        let matrix = Layout::c_order(&[1000, 1000]).expect("few");
        let order = |axis| {
            let extents = Extents::new(&matrix, &Axes::of(&[axis])).expect("an axis");
            DistinctPlan::along(Type::F32, &extents).expect("fits").order
        };
        assert_eq!((order(0), order(1)), (Order::Across, Order::Along));
        let one = Extents::new(&matrix, &Axes::all()).expect("axes");
        let plan = DistinctPlan::along(Type::F32, &one).expect("fits");
        assert_eq!(plan, DistinctPlan::new(Type::F32, 1_000_000).expect("fits"));
        assert_eq!((plan.order, plan.entry.name), (Order::Whole, "distinct_u32"));
    }

    #[test]
    fn tables_past_the_address_space_are_an_error() {
        let plan = DistinctPlan::new(Type::U64, 1 << 60);
        assert!(matches!(plan, Err(Error::LengthOverflow { elements, element_bytes: 8 }) if elements == 1 << 60));
        let repeated = Layout::strided(&[1 << 61, 2], &[0, 1], 0).expect("a layout");
        let extents = Extents::new(&repeated, &Axes::of(&[1])).expect("an axis");
        assert!(DistinctPlan::along(Type::U8, &extents).is_err());
    }
}
