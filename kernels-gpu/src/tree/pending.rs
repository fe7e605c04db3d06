//! States that come one after the other, and are combined as the tree has it.

use super::Monoid;
use crate::simt::Simt;

/// Subtrees that wait for their right neighbours: state `i` is of `2ⁱ` units. As binary addition does, so that units that come
/// one after the other are combined as the tree has it: at most `2` to the power of `LEVELS`, and the state of all of these is the first,
/// for then none waits.
///
/// Combining two states stands once, in a loop that takes the states round in a circle: one that is indexed by a number would lie in
/// memory.
#[derive(Clone, Copy)]
pub(crate) struct Pending<State, const LEVELS: u32>([State; 5]);

impl<State: Copy, const LEVELS: u32> Pending<State, LEVELS> {
    pub(crate) fn nothing<T, M: Monoid<T, State = State>>(op: M) -> Self {
        const { assert!(LEVELS <= 5, "five states are written out") };
        let none = op.identity();
        Self([none; 5])
    }

    /// Takes unit `number`: they come in order, from 0.
    #[inline(always)]
    pub(crate) fn push<S: Simt, T, M: Monoid<T, State = State>>(&mut self, simt: S, op: M, number: u32, state: State) {
        if M::ALGEBRA.in_any_order() {
            self.0[0] = op.combine(self.0[0], state);
            return;
        }
        let mut state = state;
        let (mut left, mut level) = (number, simt.opaque(0));
        while left & 1 != 0 && level < LEVELS {
            state = op.combine(self.0[0], state);
            self.turn();
            left >>= 1;
            level = simt.opaque(level + 1);
        }
        self.0[0] = state;
        let mut back = if level == 0 { LEVELS } else { level };
        while back < LEVELS {
            self.turn();
            back = simt.opaque(back + 1);
        }
    }

    /// The state of all `count` units that came.
    #[inline(always)]
    pub(crate) fn total<S: Simt, T, M: Monoid<T, State = State>>(mut self, simt: S, op: M, count: u32) -> State {
        if M::ALGEBRA.in_any_order() || count == 1 << LEVELS {
            return self.0[0];
        }
        let (mut total, mut left) = (op.identity(), simt.opaque(count));
        while left != 0 {
            if left & 1 != 0 {
                total = op.combine(self.0[0], total);
            }
            self.turn();
            left = simt.opaque(left >> 1);
        }
        total
    }

    /// Each state a place down, the first to the last.
    #[inline(always)]
    fn turn(&mut self) {
        let [a, b, c, d, e] = self.0;
        self.0 = match LEVELS {
            0 | 1 => [a, b, c, d, e],
            2 => [b, a, c, d, e],
            3 => [b, c, a, d, e],
            4 => [b, c, d, a, e],
            _ => [b, c, d, e, a],
        };
    }
}
