//! How states meet: in a thread, a warp, a block, the grid. Each stage is the same for every operator.

pub mod block;
pub mod grid;
pub mod thread;
pub mod warp;

use crate::{monoids::Monoid, monoids::Words, simt::Simt};

/// Every word of `state` through `f`.
fn map_words<W: Words>(state: W, mut f: impl FnMut(u32) -> u32) -> W {
    let mut i = 0;
    W::from_words(|_| {
        let word = f(state.word(i));
        i += 1;
        word
    })
}

/// Reads the state at `slot` of an array of states that this launch wrote.
///
/// # Safety
///
/// As [`Simt::load`], for each of the state's words.
unsafe fn load<S: Simt, W: Words>(simt: S, slots: *const u32, slot: u64) -> W {
    // SAFETY: passed on to the caller.
    W::from_words(|i| unsafe { simt.load(slots.add(slot as usize * W::COUNT + i)) })
}

/// Writes `state` at `slot` of an array of states.
///
/// # Safety
///
/// As [`Simt::store`], for each of the state's words.
pub(crate) unsafe fn store<S: Simt, W: Words>(simt: S, slots: *mut u32, slot: u64, state: W) {
    for i in 0..W::COUNT {
        // SAFETY: passed on to the caller.
        unsafe { simt.store(slots.add(slot as usize * W::COUNT + i), state.word(i)) }
    }
}

/// Combines `N` neighbouring states in pairs: `(0,1) (2,3) …`, then the results in pairs again. `N` is a power of two,
/// at most 16. Straight-line code whatever the size of the operator, so that states stay in registers.
#[inline(always)]
fn pairs<const N: usize, T, M: Monoid<T>>(op: M, first: usize, state: &impl Fn(usize) -> M::State) -> M::State {
    const { assert!(matches!(N, 1 | 2 | 4 | 8 | 16)) };
    match N {
        1 => state(first),
        2 => op.combine(
            pairs::<1, T, M>(op, first, state),
            pairs::<1, T, M>(op, first + 1, state),
        ),
        4 => op.combine(
            pairs::<2, T, M>(op, first, state),
            pairs::<2, T, M>(op, first + 2, state),
        ),
        8 => op.combine(
            pairs::<4, T, M>(op, first, state),
            pairs::<4, T, M>(op, first + 4, state),
        ),
        _ => op.combine(
            pairs::<8, T, M>(op, first, state),
            pairs::<8, T, M>(op, first + 8, state),
        ),
    }
}
