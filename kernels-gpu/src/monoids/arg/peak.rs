//! Where the highest of some elements at hand is: how high it is first, and then which have it. That is half the instructions of keys and
//! indices that compete from one element to the next.

use super::{Near, Ties};
use crate::{
    element::{Rank, Real},
    monoids::{
        Monoid,
        extremum::{Key, Order},
    },
    tree::{Columns, Part, chains, row_elements},
};

/// Elements that a mask has bits for.
const MOST: usize = u32::BITS as usize;

/// What [`Near`] makes of a part that is [at hand](Part::AT_HAND).
#[inline(always)]
pub(super) fn find<T: Real, P: Part<T>>(near: Near, part: P) -> (Key<T>, i32) {
    if P::ROWS * P::COLUMNS <= MOST {
        find_among(near, part, 0)
    } else {
        find_in_pairs(near, part)
    }
}

/// The same of eight columns, two after two, so that small elements leave their words a few at a time: each takes a register then.
#[inline(always)]
fn find_in_pairs<T: Real, P: Part<T>>(near: Near, part: P) -> (Key<T>, i32) {
    // One after the other: the code of all stands here whatever its size, and no closure is for a compiler to call.
    let found = find_among(near, Columns::<P, 2> { part, first: 0 }, 0);
    let next = find_among(near, Columns::<P, 2> { part, first: 2 }, 2);
    let found = Monoid::<T>::combine(near, found, next);
    let next = find_among(near, Columns::<P, 2> { part, first: 4 }, 4);
    let found = Monoid::<T>::combine(near, found, next);
    let next = find_among(near, Columns::<P, 2> { part, first: 6 }, 6);
    Monoid::<T>::combine(near, found, next)
}

/// The same of as many as a mask has bits for, the columns from number `first` on.
#[inline(always)]
fn find_among<T: Real, P: Part<T>>(near: Near, part: P, first: usize) -> (Key<T>, i32) {
    let order = near.0.order;
    // Where words say which is the highest, others are compared with it as they are: equals are equal in either order.
    let (highest, any_nan, order, of) = match part.largest(near.0, 0, P::COLUMNS).map(T::rank) {
        Some(rank) => (order.rank::<T>(rank), rank.unordered(), Order::RISING, rank),
        None => {
            let (highest, any_nan) = chains(Highest(order), part);
            (highest, any_nan, order, highest)
        }
    };
    let columns = P::COLUMNS;
    // A NaN beats any number.
    let (key, marks) = match T::Rank::UNORDERED {
        Some(key) if any_nan => {
            let of = None;
            (key, chains(Marks::<T::Rank> { order, columns, of }, part))
        }
        _ => {
            let of = Some(of);
            (highest.zeros_alike().key(), chains(Marks { order, columns, of }, part))
        }
    };
    if marks == 0 {
        return Monoid::<T>::identity(near);
    }
    let number = match near.0.ties {
        Ties::First => u32::trailing_zeros(marks),
        Ties::Last => MOST as u32 - 1 - u32::leading_zeros(marks),
    } as usize;
    let index = number / columns * row_elements::<T>() + first + number % columns;
    (key, index as i32)
}

/// The highest rank but NaN, the lowest there is if there is no element; and whether there is a NaN.
#[derive(Clone, Copy)]
struct Highest(Order);

impl<T: Real> Monoid<T> for Highest {
    type State = (T::Rank, bool);
    type Answer = bool;

    #[inline(always)]
    fn identity(self) -> (T::Rank, bool) {
        (T::Rank::LOWEST, false)
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> (T::Rank, bool) {
        let rank = self.0.rank::<T>(value.rank());
        (rank, rank.unordered())
    }
    #[inline(always)]
    fn combine(self, a: (T::Rank, bool), b: (T::Rank, bool)) -> (T::Rank, bool) {
        (a.0.higher(b.0), a.1 | b.1)
    }
    #[inline(always)]
    fn finish(self, (_, any_nan): (T::Rank, bool), _: u64) -> bool {
        any_nan
    }
    #[inline(always)]
    fn empty(self) -> Option<bool> {
        None
    }
}

/// A bit for each element that has a rank, or for each NaN; those of a row of `columns` beside each other.
#[derive(Clone, Copy)]
struct Marks<R> {
    order: Order,
    columns: usize,
    of: Option<R>,
}

impl<T: Real> Monoid<T> for Marks<T::Rank> {
    type State = u32;
    type Answer = u32;

    #[inline(always)]
    fn identity(self) -> u32 {
        0
    }
    #[inline(always)]
    fn lift(self, value: T, index: u64) -> u32 {
        let rank = self.order.rank::<T>(value.rank());
        let has = self.of.map_or(rank.unordered(), |of| rank == of);
        let (row, column) = (
            index as usize / row_elements::<T>(),
            index as usize % row_elements::<T>(),
        );
        u32::from(has) << (row * self.columns + column % self.columns)
    }
    #[inline(always)]
    fn combine(self, a: u32, b: u32) -> u32 {
        a | b
    }
    #[inline(always)]
    fn finish(self, marks: u32, _: u64) -> u32 {
        marks
    }
    #[inline(always)]
    fn empty(self) -> Option<u32> {
        None
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        element::{Float, bf16},
        monoids::Arg,
        tree::{ByWords as _, fold_exactly, place, vector_elements},
    };

    /// The elements of `N` rows of a lane's part, some of them absent.
    #[derive(Clone, Copy)]
    struct Held<'a, T, const N: usize>(&'a [Option<T>]);

    impl<T: Real, const N: usize> Part<T> for Held<'_, T, N> {
        const ROWS: usize = N;
        const COLUMNS: usize = vector_elements::<T>();
        const AT_HAND: bool = true;

        fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
            match self.0[row * vector_elements::<T>() + column] {
                Some(value) => op.lift(value, place::<T>(row, column)),
                None => op.identity(),
            }
        }
        /// As words have it, where all are there.
        fn largest<M: Monoid<T>>(self, op: M, first: usize, count: usize) -> Option<T> {
            if !M::ALGEBRA.has_word_maximum {
                return None;
            }
            let (by_words, signs) = (op.by_words(), op.by_words().turned_signs());
            let places = (0..N).flat_map(|row| (first..first + count).map(move |column| row * Self::COLUMNS + column));
            let words: Option<Vec<u32>> = places.map(|at| self.0[at].map(|value| value.word(0) ^ signs)).collect();
            let largest = words?.into_iter().reduce(|a, b| by_words.maximum(a, b))?;
            Some(T::from_words(|_| largest ^ signs))
        }
    }

    /// What is found is what one after the other gives.
    fn finds<T: Real, const N: usize>(of: impl Fn(f64) -> T, values: &[Option<f64>]) {
        let held: Vec<Option<T>> = values.iter().map(|value| value.map(&of)).collect();
        for arg in [Arg::LARGEST, Arg::SMALLEST] {
            for near in [Near(arg), Near(arg.last())] {
                let part = Held::<T, N>(&held);
                let same = find(near, part) == fold_exactly::<T, _>(near, part);
                assert!(same, "{near:?} of {values:?}");
            }
        }
    }

    proptest! {
        // Few values, so that there are ties.
        #[test]
        fn the_first_and_the_last_of_equals(
            values in prop::collection::vec(
                prop::option::weighted(0.8, prop::sample::select(
                    &[f64::NEG_INFINITY, -2.0, -0.0, 0.0, 1.5, 3.0, f64::INFINITY, f64::NAN, -f64::NAN][..],
                )),
                64,
            ),
            kind in 0_usize..9,
        ) {
            // Mostly without NaN, which is found in another way.
            let values: Vec<_> = values.iter().map(|value| value.filter(|value| {
                !value.is_nan() || kind > 6
            })).collect();
            // Often with all of them there.
            let values: Vec<_> = values.iter().map(|value| value.or((kind % 2 == 0).then_some(-2.0))).collect();
            finds::<f64, 8>(|value| value, &values);
            finds::<f32, 8>(|value| value as f32, &values);
            finds::<f32, 4>(|value| value as f32, &values);
            finds::<bf16, 8>(Float::from_f64, &values);
            finds::<bf16, 4>(Float::from_f64, &values);
            finds::<bf16, 1>(Float::from_f64, &values);
            finds::<i32, 8>(|value| value as i32, &values);
            finds::<u16, 8>(|value| value as u16, &values);
        }
    }

    #[test]
    fn nothing_is_found_nowhere() {
        finds::<f32, 8>(|value| value as f32, &[None; 64]);
        finds::<f32, 8>(|value| value as f32, &[Some(f64::NEG_INFINITY); 64]);
        finds::<bf16, 8>(Float::from_f64, &[Some(f64::NAN); 64]);
        finds::<i32, 8>(|_| i32::MIN, &[Some(0.0); 64]);
    }
}
