//! What a lane reads of rows, and the values that an operation looks at.

use core::marker::PhantomData;

use super::{Mode, RowArguments, Second, Variant, position::Position};
use crate::{
    arithmetic::single,
    element::{Element, Item as _},
    rowwise::{Given, RowOp, Value as _},
    simt::Simt,
    stages::{
        columns::{Held, MOST},
        each::each,
        load::{
            around::Around,
            source::{Access as _, Aligned, Ragged, load},
            words::{Span, Vectors, WORDS},
        },
        reduce::leaf::{PackedLeaf, rotated},
    },
    tree::{place, vector_elements},
};

/// How much is there of what lanes read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Aligned vectors, each whole or absent.
    Vectors,
    /// Any elements.
    Elements,
}

/// What a lane holds: a vector of each of a leaf's `N` rows, or of `N` short rows, if there is a `row_step` from one to the next.
#[derive(Clone, Copy)]
pub(super) struct Lane<S, T: Element, O, V, const N: usize> {
    pub(super) simt: S,
    pub(super) op: O,
    pub(super) arguments: RowArguments<T>,
    /// Of the first.
    pub(super) position: Position<T>,
    pub(super) row_step: Option<u64>,
    /// Of the first, and of the others if they are apart.
    pub(super) given: [Given; N],
    /// Whether vectors are whole or absent.
    pub(super) is_wide: bool,
    pub(super) firsts: Vectors<N>,
    seconds: Vectors<N>,
    /// Weights of the vectors' columns, and biases, if they were [asked for](Self::ask): of short rows those of the first.
    pub(super) asked: Option<[Vectors<N>; 2]>,
    variant: PhantomData<V>,
}

impl<S: Simt, T: Element, O: RowOp, V: Variant, const N: usize> Lane<S, T, O, V, N> {
    /// Reads it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn read(
        simt: S,
        op: O,
        arguments: RowArguments<T>,
        position: Position<T>,
        row_step: Option<u64>,
        reach: Reach,
    ) -> Self {
        let mut lane = Self::unread(simt, op, arguments, position, row_step, reach);
        let [absent, second] = op.absent().each();
        lane.firsts = lane.vectors(RowArguments::first, arguments.rows.around().0, absent, lane.signs());
        if O::Value::ARRAYS == 2 {
            lane.seconds = lane.others(second);
        } else if V::ADDED {
            lane.seconds = lane.others(-0.0);
        } else if O::MASKS && !V::PLAIN && arguments.second == Second::Mask {
            lane.mask(absent);
        } else if O::ADDS && arguments.second == Second::Residual {
            lane.add_residual();
        }
        if O::MASKS && V::PLAIN && row_step.is_none() && arguments.period != 0 {
            lane.hide(absent);
        }
        lane
    }

    /// By vectors that were read, each whole or absent, of one array and nothing beside it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn loaded(
        simt: S,
        op: O,
        arguments: RowArguments<T>,
        position: Position<T>,
        firsts: Vectors<N>,
    ) -> Self {
        let mut lane = Self {
            firsts,
            ..Self::unread(simt, op, arguments, position, None, Reach::Vectors)
        };
        if O::MASKS && arguments.period != 0 {
            let [absent, _] = op.absent().each();
            lane.hide(absent);
        }
        lane
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn unread(
        simt: S,
        op: O,
        arguments: RowArguments<T>,
        position: Position<T>,
        row_step: Option<u64>,
        reach: Reach,
    ) -> Self {
        Self {
            simt,
            op,
            arguments,
            position,
            row_step,
            given: [[0.0; 2]; N],
            is_wide: reach != Reach::Elements,
            firsts: [[0; WORDS]; N],
            seconds: [[0; WORDS]; N],
            asked: None,
            variant: PhantomData,
        }
    }

    /// What negates the elements of a word, if they are to be.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn signs(self) -> u32 {
        match T::BYTES {
            _ if !self.op.negates() => 0,
            2 => 0x8000_8000,
            _ => 0x8000_0000,
        }
    }

    /// Vectors of the second array.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn others(self, absent: f32) -> Vectors<N> {
        self.vectors(RowArguments::second, self.arguments.rows.around().1, absent, 0)
    }

    /// Vectors of one of the arrays.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn vectors(
        self,
        at: fn(RowArguments<T>, Position<T>) -> *const T,
        around: Around,
        absent: f32,
        signs: u32,
    ) -> Vectors<N> {
        let Self { simt, arguments, .. } = self;
        let absent = arguments.floats.simple_bits(absent);
        // It is negated with the others.
        let word = if T::BYTES == 2 { absent | absent << 16 } else { absent } ^ signs;
        let mut words = [[word; WORDS]; N];
        if self.is_wide {
            each!(row < N, 4 => {
                let position = self.position_of(row);
                // SAFETY: where an element is visible, all of an aligned vector is there.
                words[row] = unsafe {
                    simt.load_input_vector_if(position.present() > 0, at(arguments, position).cast(), [word; WORDS])
                };
            });
        } else {
            words = self.ragged_vectors(at(arguments, self.position), around, word);
        }
        if signs != 0 {
            each!(row < N, 4 => words[row] = words[row].map(|word| word ^ signs));
        }
        words
    }

    /// The same where elements are not aligned, or not whole vectors: from `at` on, and where there is none a word.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn ragged_vectors(self, at: *const T, around: Around, word: u32) -> Vectors<N> {
        let of_element = if T::BYTES == 2 { word & 0xffff } else { word };
        let filler = Some(T::from_bits(of_element.into()));
        // SAFETY: so many elements are there, and all memory around them.
        unsafe { load::<S, T, _, N>(self.simt, Ragged, at, self.position.present(), around, filler) }
    }

    /// Where the vector of a row is.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn position_of(&self, row: usize) -> Position<T> {
        let Self {
            arguments, position, ..
        } = *self;
        match self.row_step {
            Some(rows) => arguments.later_position(position, row, rows),
            None => position.further(place::<T>(row, 0)),
        }
    }

    /// What a mask takes away becomes absent.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn mask(&mut self, absent: f32) {
        let Self {
            simt,
            arguments,
            position,
            ..
        } = *self;
        let around = arguments.rows.around().1;
        // SAFETY: the mask has a byte for each element that is visible; vectors are aligned where it is wide.
        let of = |position: Position<T>| unsafe {
            Span::new(arguments.other(position, 1), position.present(), around, None)
        };
        let mut mask = [[0; WORDS]; N];
        if self.is_wide {
            each!(row < N, 4 => {
                let [word] = Aligned.mask::<S, T, 1>(simt, of(self.position_of(row)));
                mask[row] = word;
            });
        } else {
            mask = Ragged.mask::<S, T, N>(simt, of(position));
        }
        let absent = arguments.floats.simple_bits(absent);
        each!(row < N, 4 => each!(column < vector_elements::<T>() => {
            if mask[row][column / 4] >> (8 * (column % 4)) & 0xff == 0 {
                let (word, shift) = if T::BYTES == 2 { (column / 2, 16 * (column as u32 % 2)) } else { (column, 0) };
                let of_element = if T::BYTES == 2 { 0xffff } else { u32::MAX };
                let word = &mut self.firsts[row][word % WORDS];
                *word = *word & !(of_element << shift) | absent << shift;
            }
        }));
    }

    /// What is not seen becomes absent: vectors were read as a whole.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn hide(&mut self, absent: f32) {
        let absent = self.arguments.floats.simple_bits(absent);
        each!(row < N, 4 => {
            let present = self.position_of(row).present();
            each!(word < WORDS, 4 => {
                let left = u32::saturating_sub(present, (word * 4 / T::BYTES) as u32);
                let hidden = match T::BYTES {
                    2 if left == 1 => self.firsts[row][word] & 0xffff | absent << 16,
                    2 => absent | absent << 16,
                    _ => absent,
                };
                if left < (4 / T::BYTES) as u32 {
                    self.firsts[row][word] = hidden;
                }
            });
        });
    }

    /// Adds a residual; each sum is rounded, and written if that is asked for.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn add_residual(&mut self) {
        let arguments = self.arguments;
        let floats = arguments.floats;
        let others = self.others(-0.0);
        each!(row < N, 4 => {
            let a = floats.unpack::<T>(self.firsts[row]);
            let b = floats.unpack::<T>(others[row]);
            each!(word < WORDS, 4 => {
                self.firsts[row][word] = if T::BYTES == 2 {
                    floats.narrow(a[2 * word] + b[2 * word], a[2 * word + 1] + b[2 * word + 1])
                } else {
                    floats.narrow(a[word] + b[word], 0.0)
                };
            });
        });
        if !arguments.sums.start().is_null() && arguments.mode != Mode::Fold {
            self.store_sums();
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn store_sums(self) {
        let Self { simt, arguments, .. } = self;
        let to = |position: Position<T>| {
            let of_row = (position.row() as i64 * arguments.out.stride()) as isize;
            arguments
                .sums
                .start()
                .cast::<T>()
                .wrapping_offset(of_row + position.first() as isize)
        };
        if self.is_wide {
            each!(row < N, 4 => {
                let position = self.position_of(row);
                if position.present() > 0 {
                    // SAFETY: sums lie as the answers do, and each vector has one lane.
                    unsafe { simt.store_vector(to(position).cast(), self.firsts[row]) };
                }
            });
            return;
        }
        let (mut lane, mut row) = (self, simt.opaque(0));
        while row < N as u32 {
            let at = to(lane.position);
            let words = lane.firsts[0];
            each!(column < vector_elements::<T>() => if (column as u32) < lane.position.present() {
                let at = at.wrapping_add(column);
                // SAFETY: as above, of an element.
                unsafe {
                    if T::BYTES == 2 {
                        simt.store_short(at.cast(), words[column / 2 % WORDS] >> (16 * (column % 2)));
                    } else {
                        simt.store(at.cast(), words[column % WORDS]);
                    }
                }
            });
            lane = lane.next_row();
            row = simt.opaque(row + 1);
        }
    }

    /// Values of the elements of words: of those of a row's vector, if the operation takes weights.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn values(&self, firsts: [u32; WORDS], seconds: [u32; WORDS], row: usize) -> Held<O::Value> {
        let Self { op, arguments, .. } = *self;
        let mut first = arguments.floats.unpack::<T>(firsts);
        let mut second = [0.0; MOST];
        if O::Value::ARRAYS == 2 || V::ADDED {
            second = arguments.floats.unpack::<T>(seconds);
        }
        if V::ADDED {
            each!(i < vector_elements::<T>() => first[i] = single::fma(first[i], arguments.factor, second[i]));
        }
        let mut values = [op.absent(); MOST];
        each!(i < vector_elements::<T>() => values[i] = O::Value::of([first[i], second[i]]));
        if O::TAKES_COLUMNS {
            let given = self.given[if self.row_step.is_some() { row } else { 0 }];
            each!(half < vector_elements::<T>() / WORDS, 2 => {
                let before = half * WORDS;
                let columns = self.columns(row, half);
                each!(i < WORDS, 4 => {
                    let value = &mut values[before + i];
                    *value = op.take(*value, columns.column(i), given);
                });
            });
        }
        values
    }
}

impl<S: Simt, T: Element, O: RowOp, V: Variant, const N: usize> PackedLeaf<O, N> for Lane<S, T, O, V, N> {
    const PLAIN: bool = V::PLAIN;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn vector(&self, row: usize) -> Held<O::Value> {
        self.values(self.firsts[row], self.seconds[row], row)
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn word(&self, word: usize) -> Held<O::Value> {
        let mut of = [[0; WORDS]; 2];
        each!(row < N, 4 => {
            of[0][row % WORDS] = self.firsts[row][word % WORDS];
            of[1][row % WORDS] = self.seconds[row][word % WORDS];
        });
        self.values(of[0], of[1], 0)
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn largest<const K: usize>(&self) -> Option<[f32; K]> {
        // Not every architecture without clusters has an instruction for it.
        if !V::PLAIN || T::BYTES != 2 || !S::HAS_CLUSTERS {
            return None;
        }
        let floats = self.arguments.floats;
        let mut of = [[0; WORDS]; K];
        each!(row < N, 4 => {
            let words = self.firsts[row];
            let leaf = row % K;
            each!(word < WORDS, 4 => {
                of[leaf][word] = if row < K { words[word] } else { floats.larger(of[leaf][word], words[word]) };
            });
        });
        Some(of.map(|[a, b, c, d]| {
            let pair = floats.larger(floats.larger(a, b), floats.larger(c, d));
            single::maximum(floats.widen(pair & 0xffff), floats.widen(pair >> 16))
        }))
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn again(mut self) -> Self {
        let simt = self.simt;
        each!(row < N, 4 => {
            self.firsts[row] = self.firsts[row].map(|word| simt.opaque(word));
            if O::Value::ARRAYS == 2 || V::ADDED {
                self.seconds[row] = self.seconds[row].map(|word| simt.opaque(word));
            }
        });
        if O::TAKES_COLUMNS {
            self.position = self.position.opaque(simt);
        }
        self
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn has(&self, row: usize, column: usize) -> bool {
        let present = self.position_of(row).present();
        // Vectors of plain launches are whole or absent, but for what is hidden.
        let first = if V::PLAIN && !O::MASKS { 0 } else { column };
        (first as u32) < present
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn next_row(mut self) -> Self {
        self.position = self.position_of(1);
        if self.row_step.is_some() {
            self.given = rotated(self.given);
        }
        let (firsts, seconds) = (self.firsts, self.seconds);
        // Word by word: whole vectors would be copied through memory.
        each!(row < N, 4 => each!(word < WORDS, 4 => {
            self.firsts[row][word] = firsts[(row + 1) % N][word];
            self.seconds[row][word] = seconds[(row + 1) % N][word];
        }));
        self
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn next_words(mut self) -> Self {
        self.position = self.position.further(vector_elements::<T>() as u64 / 2);
        each!(row < N, 4 => {
            let ([a, b, c, d], [e, f, g, h]) = (self.firsts[row], self.seconds[row]);
            self.firsts[row] = [c, d, a, b];
            self.seconds[row] = [g, h, e, f];
        });
        self
    }
}
