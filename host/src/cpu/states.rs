//! States side by side, field by field: a structure of arrays, of which each step is a loop over neighbours that the compiler makes
//! vector code of.

use pulp::{Simd, WithSimd};
use warpfold_kernels::monoids::{Monoid, Words};

/// A field of a state: a word, or two together where a state's fields are that wide, so that none is taken apart.
pub(super) trait Word: Copy {
    /// Words in a field.
    const WORDS: usize;
    const ZERO: Self;

    /// The field that begins with word `first` of `state`.
    fn of(state: impl Words, first: usize) -> Self;
    /// One of its words.
    fn word(self, number: usize) -> u32;
}

impl Word for u32 {
    const WORDS: usize = 1;
    const ZERO: Self = 0;

    #[inline(always)]
    fn of(state: impl Words, first: usize) -> Self {
        state.word(first)
    }
    #[inline(always)]
    fn word(self, _: usize) -> u32 {
        self
    }
}

impl Word for u64 {
    const WORDS: usize = 2;
    const ZERO: Self = 0;

    #[inline(always)]
    fn of(state: impl Words, first: usize) -> Self {
        Self::from(state.word(first)) | Self::from(state.word(first + 1)) << 32
    }
    #[inline(always)]
    fn word(self, number: usize) -> u32 {
        (self >> (32 * number)) as u32
    }
}

/// `WIDTH` states of at most `FIELDS` fields.
pub(super) struct States<W, const WIDTH: usize, const FIELDS: usize>([Field<W, WIDTH>; FIELDS]);

/// One field of them all, and a gap: fields a power of two apart would fight for the same lines of the cache.
struct Field<W, const WIDTH: usize> {
    words: [W; WIDTH],
    _gap: [W; 16],
}

impl<W: Word, const WIDTH: usize> Field<W, WIDTH> {
    const ZEROS: Self = Self {
        words: [W::ZERO; WIDTH],
        _gap: [W::ZERO; 16],
    };
}

/// Some of them, to be written.
pub(super) struct StatesPart<'a, W, const FIELDS: usize>([&'a mut [W]; FIELDS]);

/// A few states, written one after the other before they are put where they belong: of arrays a compiler knows the lengths, so no index is
/// checked in the loop, which would keep it from being vector code.
pub(super) struct Block<W, const COUNT: usize, const FIELDS: usize>([[W; COUNT]; FIELDS]);

impl<W: Word, const COUNT: usize, const FIELDS: usize> Block<W, COUNT, FIELDS> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self([[W::ZERO; COUNT]; FIELDS])
    }

    #[inline(always)]
    pub(super) fn at<S: Words>(&self, at: usize) -> S {
        S::from_words(|word| self.0[word / W::WORDS][at].word(word % W::WORDS))
    }

    #[inline(always)]
    pub(super) fn set<S: Words>(&mut self, at: usize, state: S) {
        for (number, field) in self.0.iter_mut().enumerate().take(S::COUNT / W::WORDS) {
            field[at] = W::of(state, number * W::WORDS);
        }
    }
}

impl<W: Word, const FIELDS: usize> StatesPart<'_, W, FIELDS> {
    /// Writes as many states as a block has from `first` on.
    #[inline(always)]
    pub(super) fn put<const COUNT: usize>(&mut self, first: usize, block: &Block<W, COUNT, FIELDS>) {
        for (field, block) in self.0.iter_mut().zip(&block.0) {
            field[first..first + COUNT].copy_from_slice(block);
        }
    }

    #[inline(always)]
    pub(super) fn set<S: Words>(&mut self, at: usize, state: S) {
        for (number, field) in self.0.iter_mut().enumerate().take(S::COUNT / W::WORDS) {
            field[at] = W::of(state, number * W::WORDS);
        }
    }
}

impl<W: Word, const WIDTH: usize, const FIELDS: usize> States<W, WIDTH, FIELDS> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        // A constant is written where it is to be. Fields that were made one by one were moved, too: a tenth of the time of a short row.
        Self([const { Field::<W, WIDTH>::ZEROS }; FIELDS])
    }

    #[inline(always)]
    pub(super) fn at<S: Words>(&self, at: usize) -> S {
        S::from_words(|word| self.0[word / W::WORDS].words[at].word(word % W::WORDS))
    }

    /// `count` states from `first` on.
    #[inline(always)]
    pub(super) fn part(&mut self, first: usize, count: usize) -> StatesPart<'_, W, FIELDS> {
        StatesPart(self.0.each_mut().map(|field| &mut field.words[first..first + count]))
    }

    /// Writes one state to all from `first` up to `end`.
    #[inline(always)]
    pub(super) fn fill<S: Words>(&mut self, first: usize, end: usize, state: S) {
        let mut part = self.part(first, end - first);
        for at in 0..end - first {
            part.set(at, state);
        }
    }

    /// Writes the first `count` states: each a pair of neighbours in `from`.
    #[inline(always)]
    fn pair_up<T, M: Monoid<T>, const FROM: usize>(&mut self, op: M, from: &States<W, FROM, FIELDS>, count: usize) {
        // Slices of one known length: no bounds are checked in the loop, which would keep it from being vector code.
        let from = from.0.each_ref().map(|field| &field.words.as_chunks::<2>().0[..count]);
        let mut to = self.part(0, count);
        #[expect(clippy::needless_range_loop, reason = "every field of every array is indexed alike")]
        for at in 0..count {
            let a = M::State::from_words(|word| from[word / W::WORDS][at][0].word(word % W::WORDS));
            let b = M::State::from_words(|word| from[word / W::WORDS][at][1].word(word % W::WORDS));
            to.set(at, op.combine(a, b));
        }
    }
}

/// Each `width` columns, a power of two, are combined to a state, neighbours first. What folds them is compiled once for the short extents and the
/// long ones of an operator.
#[inline(always)]
pub(super) fn combine_columns<
    S: Simd,
    T,
    M: Monoid<T>,
    W: Word,
    const WIDTH: usize,
    const HALF: usize,
    const FIELDS: usize,
>(
    simd: S,
    op: M,
    columns: &mut States<W, WIDTH, FIELDS>,
    pairs: &mut States<W, HALF, FIELDS>,
    width: usize,
    states: &mut [M::State],
) {
    simd.vectorize(Meet {
        op,
        columns,
        pairs,
        width,
        states,
    });
}

struct Meet<'a, T, M: Monoid<T>, W, const WIDTH: usize, const HALF: usize, const FIELDS: usize> {
    op: M,
    columns: &'a mut States<W, WIDTH, FIELDS>,
    pairs: &'a mut States<W, HALF, FIELDS>,
    width: usize,
    states: &'a mut [M::State],
}

impl<T, M: Monoid<T>, W: Word, const WIDTH: usize, const HALF: usize, const FIELDS: usize> WithSimd
    for Meet<'_, T, M, W, WIDTH, HALF, FIELDS>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self {
            op,
            columns,
            pairs,
            mut width,
            states,
        } = self;
        let count = states.len();
        while width > 1 {
            pairs.pair_up(op, columns, count * width / 2);
            if width == 2 {
                for (i, state) in states.iter_mut().enumerate() {
                    *state = pairs.at(i);
                }
                return;
            }
            columns.pair_up(op, pairs, count * width / 4);
            width /= 4;
        }
        for (i, state) in states.iter_mut().enumerate() {
            *state = columns.at(i);
        }
    }
}
