//! An operator that writes down what it does, and does what it did before.

use std::cell::RefCell;

use warpfold_kernels::{
    element::Item,
    monoids::{Algebra, Monoid, PartFold, Positional},
    tree::{self, Part},
};

use crate::lane::Lane;

/// Something that an operator did.
#[derive(Clone, Debug, PartialEq)]
pub enum Act<State, Answer> {
    /// Folded a lane's part of a leaf, or some columns of it.
    Folded {
        /// The state of each column.
        columns: Vec<State>,
        /// That of all.
        state: State,
    },
    /// Moved a state to where its elements are.
    Shifted {
        /// The state, moved.
        state: State,
    },
    /// Combined two states.
    Combined {
        /// The left operand.
        left: State,
        /// The right one.
        right: State,
        /// What they became.
        state: State,
    },
    /// Made an answer of a state.
    Finished {
        /// The state.
        state: State,
        /// The answer.
        answer: Answer,
    },
}

/// What an operator did, in order.
pub type Acts<State, Answer> = RefCell<Vec<Act<State, Answer>>>;

/// An operator in the hands of one lane. Each [`Act`] goes to a list, and its number among the launch's events.
///
/// Its algebra and all its methods are the operator's own, so that a kernel takes the same ways with it. But elements are not summed relative to the largest, nor compared by words:
/// that has the same bits, and no states to show.
pub struct Watched<'lane, 'acts, M, State, Answer> {
    /// The operator.
    pub op: M,
    /// Who has it.
    pub lane: Lane<'lane>,
    /// Where acts go.
    pub acts: &'acts Acts<State, Answer>,
}

impl<M: Copy, State, Answer> Clone for Watched<'_, '_, M, State, Answer> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Copy, State, Answer> Copy for Watched<'_, '_, M, State, Answer> {}

impl<M, State, Answer> Watched<'_, '_, M, State, Answer> {
    fn write(&self, act: Act<State, Answer>) {
        let number = self.acts.borrow().len();
        self.acts.borrow_mut().push(act);
        self.lane.mark(number);
    }
}

/// The state of each column of a part.
fn columns<T: Item, M: Monoid<T>, P: Part<T>>(op: M, part: P) -> Vec<M::State> {
    let column = |column| tree::fold_column(op, part, column);
    (0..P::COLUMNS).map(column).collect()
}

impl<T, M: Monoid<T>> Monoid<T> for Watched<'_, '_, M, M::State, M::Answer> {
    type State = M::State;
    type Answer = M::Answer;

    const ALGEBRA: Algebra = Algebra {
        sums_relative: false,
        has_word_maximum: false,
        has_word_equal: false,
        ..M::ALGEBRA
    };

    fn identity(self) -> M::State {
        self.op.identity()
    }

    fn lift(self, value: T, index: u64) -> M::State {
        self.op.lift(value, index)
    }

    fn combine(self, left: M::State, right: M::State) -> M::State {
        let state = self.op.combine(left, right);
        self.write(Act::Combined { left, right, state });
        state
    }

    fn filler(self) -> Option<T> {
        self.op.filler()
    }

    fn positional(self) -> impl Positional<M::State> {
        let Self { op, lane, acts } = self;
        let op = op.positional();
        Watched { op, lane, acts }
    }

    warpfold_kernels::opt_in!(T: Prefilter, ColumnFold, Unordered; of |outer| outer.op);
    warpfold_kernels::opt_in!(T: PartFold);

    fn finish(self, state: M::State, count: u64) -> M::Answer {
        let answer = self.op.finish(state, count);
        self.write(Act::Finished { state, answer });
        answer
    }

    fn empty(self) -> Option<M::Answer> {
        self.op.empty()
    }
}

impl<State: Copy, Answer, P: Positional<State>> Positional<State> for Watched<'_, '_, P, State, Answer> {
    fn shift(self, state: State, by: u64) -> State {
        let state = self.op.shift(state, by);
        self.write(Act::Shifted { state });
        state
    }
}

impl<T, M: Monoid<T>> PartFold<T, M::State> for Watched<'_, '_, M, M::State, M::Answer> {
    /// The state by the operator's own way. Its columns are those of the canonical tree, whatever that way is.
    fn fold_part(self, part: impl Part<T>) -> M::State
    where
        T: Item,
    {
        let state = self.op.part_fold().fold_part(part);
        let columns = columns(self.op, part);
        self.write(Act::Folded { columns, state });
        state
    }

    fn fold_parts<P: Part<T>>(
        self,
        _: impl Monoid<T, State = M::State>,
        state: M::State,
        next: impl FnMut() -> Option<P>,
    ) -> M::State
    where
        T: Item,
    {
        let state = self.op.part_fold().fold_parts(self.op, state, next);
        let columns = vec![];
        self.write(Act::Folded { columns, state });
        state
    }
}
