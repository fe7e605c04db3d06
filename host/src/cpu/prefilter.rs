//! Which leaves an operator that selects must fold: those that have an element that could change the best so far.

use warpfold_kernels::{
    element::Item,
    monoids::{Monoid, Prefilter as _},
};

/// Which elements could change the best so far.
#[derive(Clone, Copy)]
pub(super) enum Bar {
    /// Those that the operator [says so of](warpfold_kernels::tree::Prefilter::may_change).
    Asked,
    /// Of bytes the `count` values from `first` on, 0 being the one after 255: those in order above the best. So a byte is compared as one, and not
    /// as the integer of four that an operator makes of it.
    Bytes { first: u8, count: u8 },
}

impl Bar {
    /// By the best so far, of at least one element.
    #[inline(always)]
    pub(super) fn of<T: Item, M: Monoid<T>>(op: M, best: M::State) -> Self {
        if const { size_of::<T>() != 1 } {
            return Self::Asked;
        }
        let may: [bool; 256] =
            std::array::from_fn(|bits| op.prefilter().may_change(best, T::from_words(|_| bits as u32)));
        let count = may.iter().filter(|may| **may).count();
        let mut firsts = (0..256).filter(|i| may[*i] && !may[(*i + 255) % 256]);
        match (u8::try_from(count), firsts.next(), firsts.next()) {
            (Ok(0), ..) => Self::Bytes { first: 0, count: 0 },
            (Ok(count), Some(first), None) => Self::Bytes {
                first: first as u8,
                count,
            },
            _ => Self::Asked,
        }
    }

    /// Whether an element of a leaf could.
    #[inline(always)]
    pub(super) fn may_change<T: Item, M: Monoid<T>>(self, op: M, best: M::State, leaf: &[T]) -> bool {
        match self {
            Self::Asked => may_change(op, best, leaf),
            Self::Bytes { first, count } => {
                let mut any = 0;
                for value in leaf {
                    any |= u8::from((value.word(0) as u8).wrapping_sub(first) < count);
                }
                any != 0
            }
        }
    }
}

/// Whether an element of a leaf could change the best so far.
#[inline(always)]
pub(super) fn may_change<T: Item, M: Monoid<T>>(op: M, best: M::State, leaf: &[T]) -> bool {
    let mut any = false;
    for value in leaf {
        any |= op.prefilter().may_change(best, *value);
    }
    any
}
