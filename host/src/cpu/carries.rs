//! Subtrees that wait for their right neighbours: binary addition, whose carries are pairs of one size.

use warpfold_kernels::monoids::Monoid;

/// Those of one extent, the largest first.
pub(super) struct Carries<State> {
    waiting: Vec<State>,
    count: usize,
}

impl<State: Copy> Carries<State> {
    pub(super) fn new() -> Self {
        Self {
            waiting: vec![],
            count: 0,
        }
    }

    /// How many subtrees of the smallest size came.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Takes the next one of the smallest size.
    #[inline(always)]
    pub(super) fn push<T, M: Monoid<T, State = State>>(&mut self, op: M, mut state: State) {
        for _ in 0..self.count.trailing_ones() {
            let left = self
                .waiting
                .pop()
                .expect("one waits for each of the number's last ones");
            state = op.combine(left, state);
        }
        self.waiting.push(state);
        self.count += 1;
    }

    /// All of them. What is missing to a power of two is identities, neutral to the bit.
    #[inline(always)]
    pub(super) fn total<T, M: Monoid<T, State = State>>(self, op: M) -> State {
        let mut states = self.waiting.into_iter().rev();
        let last = states.next().unwrap_or(op.identity());
        states.fold(last, |right, left| op.combine(left, right))
    }
}
