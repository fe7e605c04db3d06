//! A run of leaves on one thread, with the vector instructions of the machine.
//!
//! ```text
//! strip of 8 leaves: rows of each leaf, column by column ─ 8 × 128 columns, neighbours first
//! run: strips, neighbours first
//! ```
//!
//! The operator is whatever it is; the compiler makes its vector code. What lets it: states lie word by word (a
//! structure of arrays), each step is one plain loop over neighbouring columns, and all of it is inlined into a
//! function that has the instruction set switched on. Leaves lie side by side in a strip, so that the steps from a
//! leaf's columns to its total, each waiting for the one before, are long enough to keep the machine busy.

use pulp::{Arch, Simd, WithSimd};
use warpfold_kernels::{
    element::Item,
    monoids::{Bounded, Monoid, Words},
    stages::strategy::is_large,
    tree::{Positional as _, leaf_elements, row_elements},
};

use super::{
    any_order, in_order,
    leaves::{WIDTH, fold_leaves, strip},
    plain,
    prefilter::Bar,
    rows::are_bounded,
    short,
    states::{States, Word},
    unordered,
};
use crate::ops::untyped::Lens;

/// Folds at most [`RUN`](crate::operand::source::RUN) leaves; element 0 has index `first`.
pub(super) fn fold<T: Item, M: Monoid<T>>(arch: Arch, op: M, values: &[T], first: u64) -> M::State {
    let mut state = [op.identity()];
    fold_each(arch, op, values, &[0], Lens::All(values.len()), &mut state);
    op.positional().shift(state[0], first)
}

/// Folds extents of at most [`RUN`](crate::operand::source::RUN) leaves each: the one that starts at `starts[i]` to `states[i]`,
/// positions counted from its start. All in one call, for short ones take less time than its buffers.
pub(super) fn fold_each<T: Item, M: Monoid<T>>(
    arch: Arch,
    op: M,
    values: &[T],
    starts: &[i64],
    lens: Lens<'_>,
    states: &mut [M::State],
) {
    if !M::ALGEBRA.commutes {
        return in_order::fold_each(op, values, starts, lens, states);
    }
    if const { M::ALGEBRA.associates && is_large(M::State::COUNT) } {
        return any_order::fold_each(op, values, starts, lens, states);
    }
    let run = Run {
        op,
        values,
        starts,
        lens,
        states,
    };
    match arch {
        #[cfg(target_arch = "x86_64")]
        // One array alone is folded by both: items of two are half of all operators and types, and so of what is compiled.
        Arch::V4(simd) if const { size_of::<T>() == T::BYTES } => Simd::vectorize(simd, run),
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => Simd::vectorize(*simd, run),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => Simd::vectorize(simd, run),
        #[cfg(target_arch = "aarch64")]
        Arch::Neon(simd) => Simd::vectorize(simd, run),
        _ => plain::fold_each(run.op, run.values, run.starts, run.lens, run.states),
    }
}

struct Run<'a, T, M: Monoid<T>> {
    op: M,
    values: &'a [T],
    starts: &'a [i64],
    lens: Lens<'a>,
    states: &'a mut [M::State],
}

impl<T: Item, M: Monoid<T>> WithSimd for Run<'_, T, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if M::ALGEBRA.associates {
            return any_order::fold_leaves(self.op, self.values, self.starts, self.lens, self.states);
        }
        if const { M::ALGEBRA.unordered_words > 0 } {
            return unordered::fold_each(simd, self.op, self.values, self.starts, self.lens, self.states);
        }
        const {
            assert!(
                M::ALGEBRA.associates || M::State::COUNT <= 40,
                "a state has at most 40 words"
            )
        };
        if const { align_of::<M::State>() == 8 && M::State::COUNT % 2 == 0 } {
            match const { M::State::COUNT / 2 } {
                1 => self.fold::<S, u64, 1>(simd),
                2 => self.fold::<S, u64, 2>(simd),
                3 => self.fold::<S, u64, 3>(simd),
                4 => self.fold::<S, u64, 4>(simd),
                5 => self.fold::<S, u64, 5>(simd),
                6..=8 => self.fold::<S, u64, 8>(simd),
                _ => self.fold::<S, u64, 20>(simd),
            }
        } else {
            match M::State::COUNT {
                1 => self.fold::<S, u32, 1>(simd),
                2 => self.fold::<S, u32, 2>(simd),
                3 => self.fold::<S, u32, 3>(simd),
                4 => self.fold::<S, u32, 4>(simd),
                5..=8 => self.fold::<S, u32, 8>(simd),
                9..=16 => self.fold::<S, u32, 16>(simd),
                _ => self.fold::<S, u32, 40>(simd),
            }
        }
    }
}

impl<T: Item, M: Monoid<T>> Run<'_, T, M> {
    /// `FIELDS` is at least those of a state.
    #[inline(always)]
    fn fold<S: Simd, W: Word, const FIELDS: usize>(self, simd: S) {
        let Self {
            op,
            values,
            starts,
            lens,
            states,
        } = self;
        let mut columns = States::<W, WIDTH, FIELDS>::new();
        let mut pairs = States::<W, { WIDTH / 2 }, FIELDS>::new();
        let mut first = 0;
        while first < starts.len() {
            // Side by side, as many as are of one length and short.
            let (len, next) = match lens {
                Lens::All(len) => (len, starts.len()),
                Lens::Each(lens) => (lens[first], first + 1),
            };
            let (starts, states) = (&starts[first..next], &mut states[first..next]);
            first = next;
            if len <= const { row_elements::<T>() } {
                let mut all_bounded = M::ALGEBRA.sums_relative;
                if const { M::ALGEBRA.sums_relative } {
                    for start in starts {
                        all_bounded &= are_bounded(op, &values[*start as usize..][..len]);
                    }
                }
                let (columns, pairs) = (&mut columns, &mut pairs);
                if const { M::ALGEBRA.sums_relative } && all_bounded {
                    let op = Bounded(op);
                    short::fold::<_, _, _, _, _, true>(simd, op, values, starts, len, states, columns, pairs);
                } else {
                    short::fold::<_, _, _, _, _, false>(simd, op, values, starts, len, states, columns, pairs);
                }
                continue;
            }
            for (start, state) in starts.iter().zip(states) {
                let extent = &values[*start as usize..][..len];
                *state = if M::ALGEBRA.selects {
                    select(simd, op, extent, &mut columns, &mut pairs)
                } else {
                    fold_strips(simd, op, extent, &mut columns, &mut pairs)
                };
            }
        }
    }
}

/// Strips, neighbours first.
#[inline(always)]
fn fold_strips<S: Simd, T: Item, M: Monoid<T>, W: Word, const FIELDS: usize>(
    simd: S,
    op: M,
    values: &[T],
    columns: &mut States<W, WIDTH, FIELDS>,
    pairs: &mut States<W, { WIDTH / 2 }, FIELDS>,
) -> M::State {
    let length = const { strip::<T>() * leaf_elements::<T>() };
    // Subtrees that wait for their right neighbour, the largest first: binary addition, whose carries are pairs of one size.
    let mut waiting = [op.identity(); usize::BITS as usize];
    let mut count = 0;
    for (i, strip) in values.chunks(length).enumerate() {
        let mut state = op
            .positional()
            .shift(fold_leaves(simd, op, strip, columns, pairs), (i * length) as u64);
        for _ in 0..i.trailing_ones() {
            count -= 1;
            state = op.combine(waiting[count], state);
        }
        waiting[count] = state;
        count += 1;
    }
    // What is missing to a power of two is identities, neutral to the bit.
    let mut state = op.identity();
    while count > 0 {
        count -= 1;
        state = op.combine(waiting[count], state);
    }
    state
}

/// The fold by an operator that selects, to which no order matters: leaf after leaf, but those that cannot change the best so far.
#[inline(always)]
fn select<S: Simd, T: Item, M: Monoid<T>, W: Word, const FIELDS: usize>(
    simd: S,
    op: M,
    values: &[T],
    columns: &mut States<W, WIDTH, FIELDS>,
    pairs: &mut States<W, { WIDTH / 2 }, FIELDS>,
) -> M::State {
    let length = const { leaf_elements::<T>() };
    let (mut best, mut bar) = (op.identity(), None);
    for (i, leaf) in values.chunks(length).enumerate() {
        if i == 0 || bar.get_or_insert_with(|| Bar::of(op, best)).may_change(op, best, leaf) {
            let state = op
                .positional()
                .shift(fold_leaves(simd, op, leaf, columns, pairs), (i * length) as u64);
            (best, bar) = (op.combine(best, state), None);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use warpfold_kernels::monoids::{Arg, Extremum, LogSumExp, Mean, NormL2, StdDev, Sum};

    use super::*;
    use crate::operand::source::RUN;

    /// Those of the widest instructions there are, of AVX2's, and of none.
    fn is_one<T: Item, M: Monoid<T>>(op: M, values: &[T], first: u64) {
        let words = |arch| {
            let state = fold(arch, op, values, first);
            (0..M::State::COUNT).map(|word| state.word(word)).collect::<Vec<_>>()
        };
        let plain = words(Arch::Scalar);
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = pulp::x86::V3::try_new() {
            assert_eq!(words(Arch::V3(avx2)), plain, "{} elements", values.len());
        }
        assert_eq!(words(Arch::new()), plain, "{} elements", values.len());
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let leaf = leaf_elements::<f32>();
        for len in [
            0,
            1,
            3,
            127,
            128,
            129,
            1000,
            leaf,
            leaf + 1,
            3 * leaf + 77,
            9 * leaf,
            RUN * leaf - 3,
        ] {
            let values: Vec<f32> = (0..len).map(|i| (i * 37 % 251) as f32 / 977.0 - 0.1).collect();
            is_one(Sum, &values, 0);
            is_one(Extremum::LARGEST, &values, 0);
            is_one(Arg::SMALLEST, &values, 5);
            is_one(NormL2, &values, 0);
            is_one(LogSumExp, &values, 0);
            is_one(StdDev { correction: 1.0 }, &values, 0);
            let integers: Vec<i64> = (0..len as i64).map(|i| i * 37 % 251 - 99).collect();
            is_one(Mean, &integers[..len.min(RUN * leaf / 2)], 0);
        }
    }
}
