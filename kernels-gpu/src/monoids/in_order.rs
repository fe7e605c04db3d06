//! Operators that do not commute.

use super::{Algebra, Monoid};

/// `M` over elements that are combined in their order, so that `combine` need not commute: what it is given first comes before the
/// second in the array, always. For the composition of maps, a running difference, the first or the last element of a kind, text that is
/// joined.
///
/// # The tree
///
/// That of eight rows of one column: `(0,1) (2,3) …`, then the results in pairs again, over all elements. It is a function of the length
/// alone, whatever the type of the elements.
///
/// # Cost
///
/// Memory is read element by element, each lane a run of its own, where lanes otherwise read vectors side by side; and the CPU uses no
/// vector instructions. So it is slower than an operator that commutes; by how much was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InOrder<M>(pub M);

impl<T, M: Monoid<T>> Monoid<T> for InOrder<M> {
    type State = M::State;
    type Answer = M::Answer;

    #[inline]
    fn identity(self) -> M::State {
        self.0.identity()
    }
    #[inline]
    fn lift(self, value: T, index: u64) -> M::State {
        self.0.lift(value, index)
    }
    #[inline]
    fn combine(self, a: M::State, b: M::State) -> M::State {
        self.0.combine(a, b)
    }
    const ALGEBRA: Algebra = Algebra {
        commutes: false,
        fuses: M::ALGEBRA.fuses,
        ..Algebra::PLAIN
    };
    crate::opt_in!(T: Positional; of |in_order| in_order.0);
    #[inline]
    fn finish(self, state: M::State, count: u64) -> M::Answer {
        self.0.finish(state, count)
    }
    #[inline]
    fn empty(self) -> Option<M::Answer> {
        self.0.empty()
    }
}
