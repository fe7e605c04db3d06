//! What a lane reads of rows, up to the values that an operation looks at.

use super::{Arguments, Second};
use crate::{
    arithmetic::single,
    element::{Element, Item as _, Two},
    rowwise::{Given, RowOp, Target, Value as _},
    simt::Simt,
    stages::{
        columns::{Held, MOST, each},
        load::{
            around::Around,
            source::{Aligned, Ragged, Way as _, load},
            words::{Vectors, load_element},
        },
    },
    tree::{place, vector_elements},
};

/// A vector of a row.
#[derive(Clone, Copy)]
pub(super) struct Spot<T> {
    /// The number of the row.
    pub(super) row: u64,
    /// Its first element, in both arrays: of the second how far from that array's.
    pub(super) start: Two<*const T>,
    /// The place in the row of the vector's first element.
    pub(super) first: u64,
    /// Elements that are seen from there on.
    pub(super) present: u32,
}

impl<T: Element> Arguments<T> {
    /// Of the vectors of a lane what the operation looks at: each whole or absent if they are `wide`, else a leaf's rows apart from the first on.
    ///
    /// # Safety
    ///
    /// As [`map_leaves`](super::map_leaves).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn load<S: Simt, O: RowOp, const N: usize>(
        self,
        simt: S,
        op: O,
        spots: &[Spot<T>; N],
        given: [Given; N],
        is_wide: bool,
    ) -> Held<O::Value, N> {
        let absent = op.absent().each();
        let signs = if !op.negates() {
            0
        } else if T::BYTES == 2 {
            0x8000_8000
        } else {
            0x8000_0000
        };
        // SAFETY: passed on to the caller.
        unsafe {
            let from = |spot: Spot<T>| spot.start.0.wrapping_add(spot.first as usize);
            let around = self.rows.around;
            let mut words = self.vectors(simt, spots.map(from), spots, around.0, absent[0], signs, is_wide);
            let mut others = [[0; 4]; N];
            if O::Value::ARRAYS == 2 {
                let from = |spot: Spot<T>| self.other(spot, T::BYTES).cast();
                others = self.vectors(simt, spots.map(from), spots, around.1, absent[1], 0, is_wide);
            }
            if signs != 0 {
                each!(row < N => words[row] = words[row].map(|word| word ^ signs));
            }
            // As long as they are packed: registers are dear.
            if O::MASKS && self.second == Second::Mask {
                words = self.masked(simt, words, spots, absent[0], is_wide);
            }
            if O::ADDS && self.second == Second::Residual {
                words = self.with_residual(simt, words, spots, is_wide);
            }
            let mut firsts = self.floats.unpack::<T, N>(&words);
            let mut seconds = [[0.0; MOST]; N];
            if O::Value::ARRAYS == 2 {
                seconds = self.floats.unpack::<T, N>(&others);
            }
            if O::MASKS && self.second == Second::Added {
                firsts = self.with_added(simt, firsts, spots, is_wide);
            }
            let mut values = [[op.absent(); MOST]; N];
            each!(row < N => each!(column < vector_elements::<T>() => {
                values[row][column] = O::Value::of([firsts[row][column], seconds[row][column]]);
            }));
            if O::TAKES_COLUMNS {
                values = self.taken(simt, op, values, spots, given, is_wide);
            }
            values
        }
    }

    /// Vectors of one of the arrays.
    ///
    /// # Safety
    ///
    /// As [`load`](Self::load).
    #[allow(clippy::too_many_arguments)]
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn vectors<S: Simt, const N: usize>(
        self,
        simt: S,
        from: [*const T; N],
        spots: &[Spot<T>; N],
        around: Around,
        absent: f32,
        signs: u32,
        is_wide: bool,
    ) -> Vectors<N> {
        let absent = self.floats.simple_bits(absent);
        // It is negated with the others.
        let word = if T::BYTES == 2 { absent | absent << 16 } else { absent } ^ signs;
        if is_wide {
            let mut words = [[word; 4]; N];
            // SAFETY: passed on to the caller.
            each!(row < N => words[row] = unsafe {
                simt.load_input_vector_if(spots[row].present > 0, from[row].cast(), [word; 4])
            });
            return words;
        }
        let filler = Some(T::from_bits(u64::from(if T::BYTES == 2 {
            word & 0xffff
        } else {
            word
        })));
        // SAFETY: passed on to the caller.
        unsafe { load::<S, T, _, N>(simt, Ragged, from[0], spots[0].present, around, filler) }
    }

    /// Where a vector of the second array begins, whose elements are of so many bytes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn other(self, spot: Spot<T>, bytes: usize) -> *const u8 {
        let further = (spot.start.1.addr() as isize / T::BYTES as isize).wrapping_add(spot.first as isize);
        self.other.wrapping_offset(further * bytes as isize)
    }

    /// What a mask leaves of elements.
    ///
    /// # Safety
    ///
    /// As [`load`](Self::load).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn masked<S: Simt, const N: usize>(
        self,
        simt: S,
        mut words: Vectors<N>,
        spots: &[Spot<T>; N],
        absent: f32,
        is_wide: bool,
    ) -> Vectors<N> {
        let around = self.rows.around.1;
        let mut mask = [[0; 4]; N];
        // SAFETY: passed on to the caller.
        unsafe {
            if is_wide {
                each!(row < N => {
                    let [word] = Aligned.mask::<S, T, 1>(simt, self.other(spots[row], 1), spots[row].present, around);
                    mask[row] = word;
                });
            } else {
                mask = Ragged.mask::<S, T, N>(simt, self.other(spots[0], 1), spots[0].present, around);
            }
        }
        let absent = self.floats.simple_bits(absent);
        each!(row < N => each!(column < vector_elements::<T>() => {
            if mask[row][column / 4] >> (8 * (column % 4)) & 0xff == 0 {
                let (word, shift) = if T::BYTES == 2 { (column / 2, 16 * (column as u32 % 2)) } else { (column, 0) };
                let of_element = if T::BYTES == 2 { 0xffff } else { u32::MAX };
                words[row][word % 4] = words[row][word % 4] & !(of_element << shift) | absent << shift;
            }
        }));
        words
    }

    /// Elements multiplied, with those of the second array added.
    ///
    /// # Safety
    ///
    /// As [`load`](Self::load).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn with_added<S: Simt, const N: usize>(
        self,
        simt: S,
        mut values: Held<f32, N>,
        spots: &[Spot<T>; N],
        is_wide: bool,
    ) -> Held<f32, N> {
        // SAFETY: passed on to the caller.
        let words = unsafe { self.others(simt, spots, is_wide) };
        each!(row < N => {
            let [others] = self.floats.unpack::<T, 1>(&[words[row]]);
            each!(column < vector_elements::<T>() => {
                values[row][column] = single::fma(values[row][column], self.factor, others[column]);
            });
        });
        values
    }

    /// Vectors of the second array, to be added.
    ///
    /// # Safety
    ///
    /// As [`load`](Self::load).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn others<S: Simt, const N: usize>(self, simt: S, spots: &[Spot<T>; N], is_wide: bool) -> Vectors<N> {
        let from = |spot: Spot<T>| self.other(spot, T::BYTES).cast();
        // SAFETY: passed on to the caller.
        unsafe { self.vectors(simt, spots.map(from), spots, self.rows.around.1, -0.0, 0, is_wide) }
    }

    /// The sums with a residual, rounded; and written.
    ///
    /// # Safety
    ///
    /// As [`load`](Self::load).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn with_residual<S: Simt, const N: usize>(
        self,
        simt: S,
        mut words: Vectors<N>,
        spots: &[Spot<T>; N],
        is_wide: bool,
    ) -> Vectors<N> {
        // SAFETY: passed on to the caller.
        let others = unsafe { self.others(simt, spots, is_wide) };
        each!(row < N => {
            let [a] = self.floats.unpack::<T, 1>(&[words[row]]);
            let [b] = self.floats.unpack::<T, 1>(&[others[row]]);
            each!(word < 4 => {
                words[row][word] = if T::BYTES == 2 {
                    self.floats.narrow(a[2 * word] + b[2 * word], a[2 * word + 1] + b[2 * word + 1])
                } else {
                    self.floats.narrow(a[word] + b[word], 0.0)
                };
            });
        });
        if !self.sums.is_null() && self.mode != super::Mode::Fold {
            // SAFETY: passed on to the caller; each vector has one lane.
            unsafe { self.store_sums(simt, words, spots, is_wide) };
        }
        words
    }

    /// # Safety
    ///
    /// As [`load`](Self::load).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn store_sums<S: Simt, const N: usize>(
        self,
        simt: S,
        mut words: Vectors<N>,
        spots: &[Spot<T>; N],
        is_wide: bool,
    ) {
        let at = |spot: Spot<T>, further: usize| {
            let place = (spot.row as i64 * self.out.stride) as isize + spot.first as isize;
            self.sums.cast::<T>().wrapping_offset(place).wrapping_add(further)
        };
        if is_wide {
            each!(row < N => if spots[row].present > 0 {
                // SAFETY: passed on to the caller.
                unsafe { simt.store_vector(at(spots[row], 0).cast(), words[row]) };
            });
            return;
        }
        let (spot, mut row) = (spots[0], simt.opaque(0));
        while row < N as u32 {
            let before = row * place::<T>(1, 0) as u32;
            each!(column < vector_elements::<T>() => if before + (column as u32) < spot.present {
                let to = at(spot, before as usize + column);
                // SAFETY: passed on to the caller.
                unsafe {
                    if T::BYTES == 2 {
                        simt.store_short(to.cast(), words[0][column / 2 % 4] >> (16 * (column % 2)));
                    } else {
                        simt.store(to.cast(), words[0][column % 4]);
                    }
                }
            });
            let before = words;
            each!(row < N => words[row] = before[(row + 1) % N]);
            row = simt.opaque(row + 1);
        }
    }

    /// Values as an operation takes them, by the weights of their columns and what is given of their rows.
    ///
    /// # Safety
    ///
    /// As [`load`](Self::load).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn taken<S: Simt, O: RowOp, const N: usize>(
        self,
        simt: S,
        op: O,
        mut values: Held<O::Value, N>,
        spots: &[Spot<T>; N],
        given: [Given; N],
        is_wide: bool,
    ) -> Held<O::Value, N> {
        if is_wide {
            each!(row < N => if spots[row].present > 0 {
                // SAFETY: passed on to the caller.
                let columns = unsafe { self.columns.from(spots[row].first).load(simt, 0, vector_elements::<T>()) };
                each!(column < vector_elements::<T>() => {
                    values[row][column] = op.take(values[row][column], columns.column(column), given[row]);
                });
            });
            return values;
        }
        let spot = spots[0];
        let mut row = simt.opaque(0);
        while row < N as u32 {
            let before = row * place::<T>(1, 0) as u32;
            each!(column < vector_elements::<T>() => if before + (column as u32) < spot.present {
                let at = spot.first + u64::from(before) + column as u64;
                // SAFETY: passed on to the caller.
                let params = unsafe { self.columns.load_one(simt, at) };
                values[0][column] = op.take(values[0][column], params, given[0]);
            });
            values = turned(values);
            row = simt.opaque(row + 1);
        }
        values
    }

    /// What is given of a row, whose first element is there; nothing of one that is not.
    ///
    /// # Safety
    ///
    /// As [`map_leaves`](super::map_leaves).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn given<S: Simt, O: RowOp>(self, simt: S, row: u64, start: *const T) -> Given {
        if row >= self.rows.count {
            return Target::Ignored.given(0.0);
        }
        // SAFETY: passed on to the caller.
        unsafe {
            if O::TARGETS {
                let target = self.target(simt, row);
                let is_there = (0..self.rows.len as i64).contains(&target);
                if target == self.targets.ignored {
                    Target::Ignored.given(0.0)
                } else if is_there {
                    let at = start.wrapping_offset((target * self.rows.step.0) as isize);
                    // Where rows are mapped in place it is written later: no load of what nobody writes.
                    let bits = if T::BYTES == 2 {
                        simt.load_short(at.cast())
                    } else {
                        simt.load(at.cast())
                    };
                    Target::There.given(self.floats.widen(bits))
                } else {
                    Target::Beyond.given(0.0)
                }
            } else if O::TAKES_COLUMNS {
                let [mean, reciprocal, ..] = self.known;
                let read = |from: *mut u32| {
                    if from.is_null() {
                        0.0
                    } else {
                        f32::from_bits(simt.load(from.wrapping_add(row as usize)))
                    }
                };
                [read(mean), read(reciprocal)]
            } else {
                [0.0; 2]
            }
        }
    }

    /// The target of a row; −1 where there are none.
    ///
    /// # Safety
    ///
    /// As [`given`](Self::given).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn target<S: Simt>(self, simt: S, row: u64) -> i64 {
        let (start, row) = (self.targets.start, row as usize);
        if start.is_null() {
            return -1;
        }
        // SAFETY: passed on to the caller.
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

/// The second row first, and so on: a loop over rows has each in one place.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn turned<X: Copy, const N: usize>(held: Held<X, N>) -> Held<X, N> {
    let mut to = held;
    each!(row < N => to[row] = held[(row + 1) % N]);
    to
}
