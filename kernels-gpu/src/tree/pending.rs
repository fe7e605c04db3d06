//! States that come one after the other, and meet as the tree has it.

use crate::monoids::Monoid;

/// Subtrees that wait for their right neighbours: state `i` is of `2ⁱ` units. As binary addition does, so that units that come
/// one after the other meet as the tree has it: at most `2` to the power of `LEVELS`, and the state of all of these is the first,
/// for then none waits.
#[derive(Clone, Copy)]
pub(crate) struct Pending<State, const LEVELS: u32>(State, State, State, State, State);

impl<State: Copy, const LEVELS: u32> Pending<State, LEVELS> {
    pub(crate) fn nothing<T, M: Monoid<T, State = State>>(op: M) -> Self {
        const { assert!(LEVELS <= 5, "five states are written out") };
        let none = op.identity();
        Self(none, none, none, none, none)
    }

    /// Takes unit `number`: they come in order, from 0.
    // Written out, not an array: one that is indexed by a number would lie in memory.
    #[inline(always)]
    pub(crate) fn push<T, M: Monoid<T, State = State>>(&mut self, op: M, number: u32, state: State) {
        if M::IN_ANY_ORDER {
            self.0 = op.combine(self.0, state);
            return;
        }
        if LEVELS == 0 || number & 1 == 0 {
            self.0 = state;
            return;
        }
        let two = op.combine(self.0, state);
        if LEVELS > 1 && number & 2 == 0 {
            self.1 = two;
            return;
        }
        let four = if LEVELS > 1 { op.combine(self.1, two) } else { two };
        if LEVELS > 2 && number & 4 == 0 {
            self.2 = four;
            return;
        }
        let eight = if LEVELS > 2 { op.combine(self.2, four) } else { four };
        if LEVELS > 3 && number & 8 == 0 {
            self.3 = eight;
            return;
        }
        let sixteen = if LEVELS > 3 { op.combine(self.3, eight) } else { eight };
        if LEVELS > 4 && number & 16 == 0 {
            self.4 = sixteen;
            return;
        }
        self.0 = if LEVELS > 4 {
            op.combine(self.4, sixteen)
        } else {
            sixteen
        };
    }

    /// The state of all `count` units that came.
    #[inline(always)]
    pub(crate) fn total<T, M: Monoid<T, State = State>>(self, op: M, count: u32) -> State {
        if M::IN_ANY_ORDER || count == 1 << LEVELS {
            return self.0;
        }
        let mut total = op.identity();
        if LEVELS > 0 && count & 1 != 0 {
            total = self.0;
        }
        if LEVELS > 1 && count & 2 != 0 {
            total = op.combine(self.1, total);
        }
        if LEVELS > 2 && count & 4 != 0 {
            total = op.combine(self.2, total);
        }
        if LEVELS > 3 && count & 8 != 0 {
            total = op.combine(self.3, total);
        }
        if LEVELS > 4 && count & 16 != 0 {
            total = op.combine(self.4, total);
        }
        total
    }
}
