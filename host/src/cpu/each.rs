//! Short extents side by side: as in a strip of leaves, but that each comes to a state of its own.

use pulp::{Arch, Simd, WithSimd};
use warpfold_kernels::{
    element::Element,
    monoids::{Monoid, Words},
    tree::{leaf_elements, row_elements},
};

use super::run::{States, WIDTH, fold_rows, set};

/// Folds extents of `len` elements each, at least one and at most a leaf: the one that starts at `starts[i]` to
/// `states[i]`, positions counted from its start.
pub(super) fn fold<T: Element, M: Monoid<T>>(
    arch: Arch,
    op: M,
    values: &[T],
    starts: &[i64],
    len: usize,
    states: &mut [M::State],
) {
    arch.dispatch(Each {
        op,
        values,
        starts,
        len,
        states,
    });
}

struct Each<'a, T, M: Monoid<T>> {
    op: M,
    values: &'a [T],
    starts: &'a [i64],
    len: usize,
    states: &'a mut [M::State],
}

impl<T: Element, M: Monoid<T>> WithSimd for Each<'_, T, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        const { assert!(M::State::COUNT <= 16, "a state has at most 16 words") };
        match M::State::COUNT {
            1 => self.fold::<1>(),
            2 => self.fold::<2>(),
            3 => self.fold::<3>(),
            4..=8 => self.fold::<8>(),
            _ => self.fold::<16>(),
        }
    }
}

impl<T: Element, M: Monoid<T>> Each<'_, T, M> {
    /// `WORDS` is at least the words of a state.
    #[inline(always)]
    fn fold<const WORDS: usize>(self) {
        let Self {
            op,
            values,
            starts,
            len,
            states,
        } = self;
        let (row, leaf) = const { (row_elements::<T>(), leaf_elements::<T>()) };
        let mut columns = States::<WIDTH, WORDS>::new();
        let mut pairs = States::<{ WIDTH / 2 }, WORDS>::new();
        let mut padded = Vec::new();
        // Up to a row every element is a column, and identities fill up to a power of two.
        let width = len.min(row).next_power_of_two();
        let lot = WIDTH / width;
        for (starts, states) in starts.chunks(lot).zip(states.chunks_mut(lot)) {
            for (j, start) in starts.iter().enumerate() {
                let extent = &values[*start as usize..][..len];
                if len <= row {
                    let mut columns = columns.columns(j * width, width);
                    for (at, value) in extent.iter().enumerate() {
                        set(&mut columns, at, op.lift(*value, at as u64));
                    }
                    for at in len..width {
                        set(&mut columns, at, op.identity());
                    }
                    continue;
                }
                let mut whole = extent;
                if len < leaf {
                    // Past the end anything but a hole: the state there is the identity, whatever is read.
                    padded.resize(leaf, extent[0]);
                    padded[..len].copy_from_slice(extent);
                    whole = &padded;
                }
                let whole = &whole[..leaf];
                fold_rows(op, columns.leaf::<T>(j), |at| {
                    let state = op.lift(whole[at], at as u64);
                    if at < len { state } else { op.identity() }
                });
            }
            meet(op, &mut columns, &mut pairs, width, states);
        }
    }
}

/// Each `width` columns, a power of two, meet to a state.
#[inline(always)]
fn meet<T, M: Monoid<T>, const WORDS: usize>(
    op: M,
    columns: &mut States<WIDTH, WORDS>,
    pairs: &mut States<{ WIDTH / 2 }, WORDS>,
    mut width: usize,
    states: &mut [M::State],
) {
    let count = states.len();
    loop {
        if width == 1 {
            states
                .iter_mut()
                .enumerate()
                .for_each(|(i, state)| *state = columns.at(i));
            return;
        }
        pairs.pair_up(op, columns, count * width / 2);
        if width == 2 {
            states
                .iter_mut()
                .enumerate()
                .for_each(|(i, state)| *state = pairs.at(i));
            return;
        }
        columns.pair_up(op, pairs, count * width / 4);
        width /= 4;
    }
}
