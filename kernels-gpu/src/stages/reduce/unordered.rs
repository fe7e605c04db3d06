//! What of a state associates waits: a lane sets it aside until its last leaf, and what must be combined in the tree is combined without it.
//!
//! Of an operator that has [unordered words](crate::monoids::Algebra::unordered_words), [`OrderedPart`] and `UnorderedPart` are the operators on either part of its states,
//! of fewer words; so whatever combines states combines these.

use core::marker::PhantomData;

use crate::{
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        load::{contiguous, extents::Input, source::Source},
        reduce::{thread, warp},
    },
};

/// The operator on what must be combined in the tree.
#[derive(Clone, Copy)]
pub struct OrderedPart<M>(pub M);

/// The operator on what is set aside.
#[derive(Clone, Copy)]
struct UnorderedPart<M>(M);

macro_rules! part {
    ($op:ident, $state:ident, $doc:literal, $first:expr, $count:expr) => {
        #[doc = $doc]
        pub struct $state<T, M: Monoid<T>>(M::State, PhantomData<T>);

        impl<T, M: Monoid<T>> Clone for $state<T, M> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T, M: Monoid<T>> Copy for $state<T, M> {}

        impl<T, M: Monoid<T>> $state<T, M> {
            const FIRST: usize = $first;

            #[cfg_attr(target_arch = "nvptx64", inline(always))]
            fn of(state: M::State) -> Self {
                Self(state, PhantomData)
            }

            /// The state, its other part that of nothing.
            #[cfg_attr(target_arch = "nvptx64", inline(always))]
            fn alone(self, op: M) -> M::State {
                let nothing = op.identity();
                M::State::from_words(|i| {
                    if (Self::FIRST..Self::FIRST + Self::COUNT).contains(&i) {
                        self.0.word(i)
                    } else {
                        nothing.word(i)
                    }
                })
            }
        }

        impl<T, M: Monoid<T>> Words for $state<T, M> {
            const COUNT: usize = $count;
            #[cfg_attr(target_arch = "nvptx64", inline(always))]
            fn word(self, i: usize) -> u32 {
                self.0.word(Self::FIRST + i)
            }
            #[cfg_attr(target_arch = "nvptx64", inline(always))]
            fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
                Self::of(M::State::from_words(|i| {
                    if (Self::FIRST..Self::FIRST + Self::COUNT).contains(&i) {
                        word(i - Self::FIRST)
                    } else {
                        0 // made good before it is asked for
                    }
                }))
            }
        }

        impl<T, M: Monoid<T>> Monoid<T> for $op<M> {
            type State = $state<T, M>;
            type Answer = bool;

            #[cfg_attr(target_arch = "nvptx64", inline(always))]
            fn identity(self) -> $state<T, M> {
                $state::of(self.0.identity())
            }
            #[cfg_attr(target_arch = "nvptx64", inline(always))]
            fn lift(self, value: T, index: u64) -> $state<T, M> {
                $state::of(self.0.lift(value, index))
            }
            #[cfg_attr(target_arch = "nvptx64", inline(always))]
            fn combine(self, a: $state<T, M>, b: $state<T, M>) -> $state<T, M> {
                $state::of(self.0.combine(a.alone(self.0), b.alone(self.0)))
            }
            #[cfg_attr(target_arch = "nvptx64", inline(always))]
            fn finish(self, _: $state<T, M>, count: u64) -> bool {
                count > 0
            }
            #[cfg_attr(target_arch = "nvptx64", inline(always))]
            fn empty(self) -> Option<bool> {
                None
            }
        }
    };
}

part!(
    OrderedPart,
    OrderedState,
    "What must be combined in the tree, of a state.",
    0,
    M::State::COUNT - M::ALGEBRA.unordered_words
);
part!(
    UnorderedPart,
    UnorderedState,
    "What is set aside, of a state.",
    M::State::COUNT - M::ALGEBRA.unordered_words,
    M::ALGEBRA.unordered_words
);

/// What a lane has set aside.
pub struct Carried<T, M: Monoid<T>> {
    mine: UnorderedState<T, M>,
    /// What the warp has, to tell what may change it: of numbers of elements it has too many.
    seen: UnorderedState<T, M>,
}

impl<T: Source, M: Monoid<T>> Carried<T, M> {
    /// Nothing yet.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn nothing(op: M) -> Self {
        let nothing = UnorderedPart(op).identity();
        Self {
            mine: nothing,
            seen: nothing,
        }
    }

    /// What of this lane's part of a leaf must be combined in the tree; the rest is set aside.
    ///
    /// Called by: all 32 lanes together, on leaves in rising order · Valid in: every lane, its own columns · Scratch: none
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn fold_leaf<S: Simt>(&mut self, simt: S, op: M, input: Input<T>, leaf: u64) -> OrderedState<T, M> {
        let (mut is_known, mut is_folded) = (false, false);
        let mut state = op.identity();
        if contiguous::is_whole(input, leaf) {
            let read = contiguous::load_leaf(simt, op, input, leaf);
            is_known = !simt.any(read.may_change(simt, op, self.seen.alone(op)));
            (state, is_folded) = read.fold_fast(simt, op, is_known);
        }
        if !is_folded {
            state = thread::fold_slow(simt, op, input, leaf);
        }
        let unordered = UnorderedState::of(state);
        self.mine = UnorderedPart(op).combine(self.mine, unordered);
        if !is_known {
            self.seen = UnorderedPart(op).combine(self.seen, warp::reduce(simt, UnorderedPart(op), unordered));
        }
        OrderedState::of(state)
    }

    /// What all lanes have set aside.
    ///
    /// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn total<S: Simt>(&self, simt: S, op: M) -> UnorderedState<T, M> {
        warp::reduce(simt, UnorderedPart(op), self.mine)
    }
}

/// A state of its two parts; without the second, of nothing set aside.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn join<T, M: Monoid<T>>(op: M, combined: OrderedState<T, M>, unordered: Option<UnorderedState<T, M>>) -> M::State {
    let unordered = unordered.unwrap_or(UnorderedPart(op).identity());
    M::State::from_words(|i| {
        let first = UnorderedState::<T, M>::FIRST;
        if i < first {
            combined.word(i)
        } else {
            unordered.word(i - first)
        }
    })
}

/// [`warp::reduce_eight`]: what is set aside of all eight rows comes with the first.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_eight<S: Simt, T, M: Monoid<T>>(simt: S, op: M, state: impl Fn(u32) -> M::State) -> M::State {
    let mut mine = UnorderedPart(op).identity();
    let combined = warp::reduce_rows(simt, OrderedPart(op), simt.opaque(8), 8, |row| {
        let state = state(row);
        mine = UnorderedPart(op).combine(mine, UnorderedState::of(state));
        OrderedState::of(state)
    });
    let unordered = warp::reduce(simt, UnorderedPart(op), mine);
    join(op, combined, simt.lane().is_multiple_of(8).then_some(unordered))
}
