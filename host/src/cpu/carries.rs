//! Subtrees that wait for their right neighbours: binary addition, whose carries are pairs of one size.

/// Those of one extent, the largest first.
#[derive(Clone)]
pub(crate) struct Carries<State> {
    waiting: Vec<State>,
    count: usize,
}

impl<State> Carries<State> {
    pub(crate) fn new() -> Self {
        Self {
            waiting: vec![],
            count: 0,
        }
    }

    /// How many subtrees of the smallest size came.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Takes the next one of the smallest size.
    #[inline(always)]
    pub(crate) fn push(&mut self, mut state: State, combine: impl Fn(State, State) -> State) {
        for _ in 0..self.count.trailing_ones() {
            let left = self
                .waiting
                .pop()
                .expect("one waits for each of the number's last ones");
            state = combine(left, state);
        }
        self.waiting.push(state);
        self.count += 1;
    }

    /// All of them, if there are any. What is missing to a power of two is identities, neutral to the bit.
    #[inline(always)]
    pub(crate) fn total(self, combine: impl Fn(State, State) -> State) -> Option<State> {
        let states = self.waiting.into_iter().rev();
        states.reduce(|right, left| combine(left, right))
    }
}
