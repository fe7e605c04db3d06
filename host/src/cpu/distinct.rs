//! Numbers of distinct elements.
//!
//! ```text
//! elements of 1 and 2 bytes: a mark for each value, thread by thread ─ or ─ marks
//! few elements: a hash table
//! many: keys by the high bits of their hashes, thread by thread ─ a table for each part, small enough for a near cache
//! ```
//!
//! No key is in two parts, so the parts' numbers add up; and each is a number of a set, whoever comes first.

use warpfold_distinct::{
    equality::{has_key, hash, key},
    table::Slot,
};
use warpfold_kernels::element::Element;

use super::pool;
use crate::{
    Error,
    layout::{Axes, Extents, Folded, Layout, Segments},
    operand::source::gather,
    room::room,
};

/// Elements that one thread counts by itself, in one table: 128 KiB of 4 bytes.
const FEW: usize = 1 << 14;
/// The most parts: each thread writes to as many places in turn.
const MOST_PARTS: usize = 512;
/// Keys that a thread has just met, which it does not hand on again: as much as leaves a first cache room.
const NEAR: usize = 1 << 11;

/// How many distinct elements `values` has; of nothing 0.
///
/// All NaN are one value, whatever their bits, as in NumPy's `unique`; −0.0 and +0.0 are one. So are, in each part, those of complex
/// numbers, and all that have a NaN in either part. The number is exact, and that of a set: it depends on neither the order of the
/// elements nor the threads.
///
/// Elements of at most 8 bytes: of complex128 it does not compile.
///
/// Cost: one reading of every element. Those of 1 or 2 bytes mark their value. Of the others each thread hands the keys on to
/// as many parts by their hashes (8 bytes for an element of 8, 4 for others, but no key again that it has just met), and each part is
/// counted in a hash table, by linear probing: so of an array without repetitions twice its size is allocated, about, and little of one
/// with few distinct elements. With hashes that collide by design the tables, not the answer, degrade.
///
/// ```
/// use warpfold::cpu;
///
/// assert_eq!(cpu::distinct(&[3_i32, 1, 3, 2, 1]), 3);
/// assert_eq!(cpu::distinct(&[0.0_f32, -0.0, f32::NAN, -f32::NAN]), 2);
/// assert_eq!(cpu::distinct::<u8>(&[]), 0);
/// ```
#[must_use]
pub fn distinct<T: Element>(values: &[T]) -> u64 {
    const { assert!(has_key::<T>(), "elements of at most 8 bytes have keys") };
    if T::TYPE.bytes() == 8 {
        count::<T, u64>(values, &mut KeyTable::default())
    } else {
        count::<T, u32>(values, &mut KeyTable::default())
    }
}

/// How many distinct elements each extent of an array along axes has: [`distinct`] of each.
///
/// Cost: as [`distinct`]; extents that are no runs of memory are gathered, some at a time.
///
/// # Errors
///
/// [`Error::OutOfBounds`] if the layout leaves `values`; [`Error::NoAxis`], [`Error::AxisTwice`]; [`Error::LengthOverflow`] if there is
/// no memory for the answers.
///
/// ```
/// use warpfold::{cpu, layout::{Axes, Layout}};
///
/// let matrix = Layout::c_order(&[2, 3])?;
/// let rows = cpu::distinct_axes(&[1_u8, 2, 1, 5, 5, 5], &matrix, &Axes::of(&[-1]))?;
/// assert_eq!((rows.shape, rows.answers), (vec![2], vec![2, 1]));
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn distinct_axes<T: Element>(values: &[T], layout: &Layout, axes: &Axes) -> Result<Folded<u64>, Error> {
    const { assert!(has_key::<T>(), "elements of at most 8 bytes have keys") };
    layout.check(values.len() as u64)?;
    let extents = Extents::new(layout, axes)?;
    let mut answers = zeros(extents.count)?;
    if extents.len > 0 {
        if T::TYPE.bytes() == 8 {
            count_extents::<T, u64>(values, &extents, &mut answers);
        } else {
            count_extents::<T, u32>(values, &extents, &mut answers);
        }
    }
    Ok(Folded {
        shape: extents.shape,
        answers,
    })
}

/// How many distinct elements each segment of an array has: [`distinct`] of each.
///
/// Cost: as [`distinct`]; long segments are shared among threads.
///
/// # Errors
///
/// [`Error::Offset`] if the segments are not of as many elements as `values` has; [`Error::LengthOverflow`] if there is no memory for
/// the answers.
///
/// ```
/// use warpfold::{cpu, layout::Segments};
///
/// let segments = Segments::by_lens([2, 0, 3])?;
/// assert_eq!(cpu::distinct_segments(&[7_i64, 7, 1, 2, 1], &segments)?, [1, 0, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn distinct_segments<T: Element>(values: &[T], segments: &Segments) -> Result<Vec<u64>, Error> {
    const { assert!(has_key::<T>(), "elements of at most 8 bytes have keys") };
    segments.check(values.len() as u64)?;
    let mut answers = zeros(segments.count() as u64)?;
    if T::TYPE.bytes() == 8 {
        count_segments::<T, u64>(values, segments, &mut answers);
    } else {
        count_segments::<T, u32>(values, segments, &mut answers);
    }
    Ok(answers)
}

/// An answer for each extent.
fn zeros(count: u64) -> Result<Vec<u64>, Error> {
    let mut answers = room(count)?;
    answers.resize(count as usize, 0);
    Ok(answers)
}

fn count_segments<T: Element, K: Key>(values: &[T], segments: &Segments, answers: &mut [u64]) {
    pool::runs(answers, 1, 1, &|first, run| {
        let table = &mut KeyTable::<K>::default();
        for (answer, ends) in run.iter_mut().zip(segments.offsets()[first..].windows(2)) {
            *answer = count(&values[ends[0] as usize..ends[1] as usize], table);
        }
    });
}

/// None of the extents is empty.
fn count_extents<T: Element, K: Key>(values: &[T], extents: &Extents, answers: &mut [u64]) {
    let len = extents.len as usize;
    // Neighbours together, so that what a cache line holds for several of them is read once.
    let group = (FEW / len).max(1);
    pool::runs(answers, group, 1, &|first, run| {
        let (table, starts) = (&mut KeyTable::<K>::default(), &mut vec![]);
        for (i, answers) in (first..).zip(run.chunks_mut(group)) {
            let first = (i * group) as u64;
            if extents.is_contiguous() {
                starts.resize(answers.len(), 0);
                extents.starts(first, starts);
                for (answer, start) in answers.iter_mut().zip(&*starts) {
                    *answer = count(&values[*start as usize..][..len], table);
                }
            } else {
                let gathered = gather(values, extents, (first, answers.len()), (0, len), len);
                for (answer, extent) in answers.iter_mut().zip(gathered.chunks_exact(len)) {
                    *answer = count(extent, table);
                }
            }
        }
    });
}

/// What tables hold.
trait Key: Slot + Default + Send + Sync {}

impl Key for u32 {}
impl Key for u64 {}

/// The number of distinct elements; `table` is anything.
fn count<T: Element, K: Key>(values: &[T], table: &mut KeyTable<K>) -> u64 {
    if values.len() > FEW {
        return if T::TYPE.bytes() <= 2 {
            count_marked(values)
        } else {
            count_parts::<T, K>(values)
        };
    }
    table.empty(values.len());
    let new = values.iter().map(|value| {
        let key = key(*value);
        u64::from(table.insert(K::of_key(key), hash(key)))
    });
    new.sum()
}

/// By a mark for each value: a byte, so that marking one waits for no other.
fn count_marked<T: Element>(values: &[T]) -> u64 {
    let kinds = 1 << (8 * T::TYPE.bytes());
    let shares: Vec<&[T]> = values.chunks(values.len().div_ceil(pool::threads()).max(FEW)).collect();
    let marked = pool::map(shares.len(), &|i| {
        let mut marked = vec![0_u8; kinds];
        for value in shares[i] {
            marked[key(*value) as usize] = 1;
        }
        marked
    });
    let is_marked = |kind: &usize| marked.iter().any(|marked| marked[*kind] == 1);
    (0..kinds).filter(is_marked).count() as u64
}

/// By parts that have no key in common.
fn count_parts<T: Element, K: Key>(values: &[T]) -> u64 {
    let parts = (values.len() / FEW).next_power_of_two().min(MOST_PARTS);
    let shares: Vec<&[T]> = values
        .chunks(values.len().div_ceil(2 * pool::threads()).max(FEW))
        .collect();
    let handed_on = pool::map(shares.len(), &|i| {
        let mut handed_on = vec![Vec::new(); parts];
        let (mut near, mut has_zero) = (vec![K::EMPTY; NEAR], false);
        for value in shares[i] {
            let key = key(*value);
            let (hash, content) = (hash(key), K::of_key(key));
            let is_known = if content == K::EMPTY {
                std::mem::replace(&mut has_zero, true)
            } else {
                std::mem::replace(&mut near[hash as usize % NEAR], content) == content
            };
            if !is_known {
                // By the high bits: tables go by the low ones.
                let part = (u128::from(hash) * parts as u128) >> 64;
                handed_on[part as usize].push(content);
            }
        }
        handed_on
    });
    let of_part = |table: &mut KeyTable<K>, part: usize| {
        let keys = || handed_on.iter().map(|all| &all[part]);
        table.empty(keys().map(Vec::len).sum());
        let new = keys()
            .flatten()
            .map(|key| u64::from(table.insert(*key, hash(key.to_key()))));
        new.sum::<u64>()
    };
    let mut new = vec![0; parts];
    pool::runs(&mut new, 1, 1, &|first, run| {
        let table = &mut KeyTable::default();
        (first..).zip(run).for_each(|(part, new)| *new = of_part(table, part));
    });
    new.iter().sum()
}

/// A hash table, by open addressing with linear probing, a power of two of slots, at most half of which are taken.
#[derive(Default)]
struct KeyTable<K> {
    slots: Vec<K>,
    /// Whether the key 0, whose bits are those of an empty slot, was inserted.
    has_zero: bool,
}

impl<K: Key> KeyTable<K> {
    /// Takes all keys out, and has room for as many as `keys`.
    fn empty(&mut self, keys: usize) {
        self.slots.clear();
        self.slots.resize((2 * keys).next_power_of_two(), K::EMPTY);
        self.has_zero = false;
    }

    /// Puts a key in, unless it is there: whether it was not.
    fn insert(&mut self, key: K, hash: u64) -> bool {
        if key == K::EMPTY {
            return !std::mem::replace(&mut self.has_zero, true);
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if *slot == K::EMPTY {
                *slot = key;
                return true;
            }
            if *slot == key {
                return false;
            }
            at = (at + 1) & mask;
        }
    }
}
