//! Whether what a lane has read could change what was folded before: if not, a warp spares itself the fold.

use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::{
        load::{
            fragment::Fragment,
            source::Source,
            words::{ALL, Vectors, each_row},
        },
        reduce::packed::{Packed, has_maximum},
    },
    tree::{self, Prefilter as _},
};

impl<T: Source, const N: usize> Fragment<T, N> {
    /// Whether any element could change a fold of earlier elements, `best`; it may be said of what is none.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn may_change<S: Simt, M: Monoid<T>>(self, _: S, op: M, best: M::State) -> bool {
        if const { has_maximum::<S, T, M>() } {
            // If any may, the largest may.
            let largest = Packed(op).word(T::of(self.words, 0));
            return op.prefilter().may_change(best, Packed(op).finish(largest, 0));
        }
        if M::ALGEBRA.asks_at_once && T::ARRAYS == 1 {
            const {
                assert!(
                    !M::ALGEBRA.asks_at_once || T::BYTES < 4,
                    "a word holds several elements"
                )
            };
            let mut any = 0;
            let words = T::of(self.words, 0);
            let _: Vectors<N> = each_row(|row| {
                words[row].map(|word| {
                    any |= op.prefilter().may_change_among(best, word);
                    0
                })
            });
            return any != 0;
        }
        let all = Self { present: ALL, ..self };
        tree::chain(MayChange { op, best }, all)
    }
}

/// Whether any element could change a fold.
#[derive(Clone, Copy)]
struct MayChange<M, State> {
    op: M,
    best: State,
}

impl<T, M: Monoid<T>> Monoid<T> for MayChange<M, M::State> {
    type State = bool;
    type Answer = bool;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn identity(self) -> bool {
        false
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift(self, value: T, _: u64) -> bool {
        self.op.prefilter().may_change(self.best, value)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn combine(self, a: bool, b: bool) -> bool {
        a | b
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn finish(self, any: bool, _: u64) -> bool {
        any
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn empty(self) -> Option<bool> {
        Some(false)
    }
}
