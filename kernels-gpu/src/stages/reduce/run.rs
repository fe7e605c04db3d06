//! Run stage: a warp folds leaves that are neighbours to one state, where states are too large for each leaf to have one.

use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::{
        load::{extents::Input, source::Source},
        reduce::{
            thread,
            unordered::{self, Carried, OrderedPart, OrderedState},
            warp::{self, RowStates},
        },
    },
    tree::{LANES, leaves},
};

/// A warp's leaves of an extent, where they are neighbours: at most `count`, from leaf `first` on. Those that are not there hold the
/// identity.
#[derive(Clone, Copy)]
pub struct LeafRun<S, T: Source, M> {
    /// The machine.
    pub simt: S,
    /// The operator.
    pub op: M,
    /// The extent.
    pub input: Input<T>,
    /// The first leaf.
    pub first: u64,
    /// How many there may be, at most 32.
    pub count: u32,
}

impl<S: Simt, T: Source, M: Monoid<T>> LeafRun<S, T, M> {
    /// Folds them: [`Partials::PerRun`](crate::stages::strategy::Partials::PerRun). What is set aside is `carried` on, and joins the state of the run that
    /// `is_last`.
    ///
    /// Called by: all 32 lanes together, on runs in rising order · Valid in: every lane · Scratch: none
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn fold(self, carried: &mut Carried<T, M>, is_last: bool) -> M::State {
        let Self { simt, op, count, .. } = self;
        if M::ALGEBRA.unordered_words == 0 {
            return warp::reduce(simt, op, warp::reduce_rows(simt, op, count, LANES, self));
        }
        let combined = warp::reduce_rows(simt, OrderedPart(op), count, LANES, RunOrdered(self, carried));
        let combined = warp::reduce(simt, OrderedPart(op), combined);
        unordered::join(op, combined, is_last.then(|| carried.total(simt, op)))
    }

    /// The leaf of a row, if it is there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn leaf(&self, number: u32) -> Option<u64> {
        let leaf = self.first + u64::from(number);
        (number < self.count && leaf < leaves::<T>(self.input.len())).then_some(leaf)
    }
}

impl<S: Simt, T: Source, M: Monoid<T>> RowStates<M::State> for LeafRun<S, T, M> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row(&mut self, number: u32) -> M::State {
        let &mut Self { simt, op, input, .. } = self;
        let Some(leaf) = self.leaf(number) else {
            return op.identity();
        };
        thread::fold_leaf(simt, op, input, leaf)
    }
}

/// The same, with what associates set aside.
struct RunOrdered<'a, S, T: Source, M: Monoid<T>>(LeafRun<S, T, M>, &'a mut Carried<T, M>);

impl<S: Simt, T: Source, M: Monoid<T>> RowStates<OrderedState<T, M>> for RunOrdered<'_, S, T, M> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row(&mut self, number: u32) -> OrderedState<T, M> {
        let Self(run, carried) = self;
        let Some(leaf) = run.leaf(number) else {
            return OrderedPart(run.op).identity();
        };
        carried.fold_leaf(run.simt, run.op, run.input, leaf)
    }
}
