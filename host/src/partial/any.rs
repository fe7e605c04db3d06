//! A partial, all types forgotten: what merges and finishes is compiled once.

use std::{collections::BTreeMap, fmt, iter, ops::Range, sync::Arc};

use super::{
    run::{Cells, Division, Run},
    split::subtrees,
};
use crate::{
    Error, PartialFault,
    cpu::{erased::PackedFold, filled},
    ops::{
        OpFacts, Signature,
        untyped::{Answers, Lens},
    },
    pieces::subtrees::{Subtree, Subtrees},
};

/// [`Partial`](super::Partial) of an operator that is chosen while the program runs: answers are bytes.
#[derive(Clone)]
pub struct AnyPartial {
    pub(super) op: Arc<dyn PackedFold>,
    /// The shape of what is kept, and how many indices that has.
    pub(super) shape: Vec<u64>,
    pub(super) cells: usize,
    /// By their first elements; none touches another.
    pub(super) runs: BTreeMap<u64, Run>,
    /// Of an operator that any order serves, the states of all elements; none where there are no runs.
    pub(super) total: Option<Vec<u32>>,
}

/// What a run is folded from: extents that are read, or states that a GPU made of them.
///
/// Its parts are subtrees, in their order, or all of it where any order serves. They are counted from the run's first element, and positions
/// from that of the whole extent.
pub(crate) trait Parts {
    /// The states of all cells, of each part.
    fn states(&self, parts: &[Range<u64>]) -> Result<Vec<Vec<u32>>, Error>;
    /// The elements of all cells, packed.
    fn packed(&self, part: &Range<u64>) -> Result<Vec<u8>, Error>;
}

impl AnyPartial {
    /// No run yet.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`]; [`Error::ShapeOverflow`].
    pub(crate) fn new(op: Arc<dyn PackedFold>, shape: Vec<u64>) -> Result<Self, Error> {
        op.facts().check()?;
        let cells = cells(&shape).ok_or_else(|| Error::ShapeOverflow { shape: shape.clone() })?;
        Ok(Self {
            op,
            shape,
            cells,
            runs: BTreeMap::new(),
            total: None,
        })
    }

    /// With the run of `len` elements from `first` on, where there was none.
    pub(crate) fn with(mut self, first: u64, len: u64, parts: &dyn Parts) -> Result<Self, Error> {
        let facts = self.op.facts();
        let end = end_of(facts, first, len)?;
        if len == 0 {
            return Ok(self);
        }
        let mut run = Run {
            end,
            before: vec![],
            whole: Subtrees::default(),
            after: vec![],
        };
        if facts.in_any_order() {
            self.total = parts.states(&parts_of(facts, first, len))?.pop();
        } else {
            let division = Division::by(facts, first, end);
            run.before = parts.packed(&(0..division.before))?;
            let states = parts.states(&parts_of(facts, first, len))?;
            for ((level, index), states) in division.subtrees().zip(states) {
                run.whole.push(&*self.op, Subtree { level, index, states });
            }
            run.after = parts.packed(&(len - division.after..len))?;
        }
        self.runs.insert(first, run);
        Ok(self)
    }

    /// One of the same fold that has no elements.
    #[must_use]
    pub fn empty(&self) -> Self {
        Self {
            op: Arc::clone(&self.op),
            shape: self.shape.clone(),
            cells: self.cells,
            runs: BTreeMap::new(),
            total: None,
        }
    }

    /// Another partial of the same operator, of its [bytes](Self::to_bytes).
    ///
    /// # Errors
    ///
    /// As [`Partial::from_bytes`](super::Partial::from_bytes).
    pub fn read(&self, bytes: &[u8]) -> Result<Self, Error> {
        Self::from_bytes(Arc::clone(&self.op), bytes)
    }

    /// Which operator it is of.
    #[must_use]
    pub fn signature(&self) -> Signature {
        self.op.signature()
    }

    /// What it has of each extent: runs of elements in their order, no two of which touch.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = Range<u64>> + '_ {
        self.runs.iter().map(|(first, run)| *first..run.end)
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The shape of the answers; of no axes where a whole array is folded.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// [`Partial::merge`](super::Partial::merge).
    ///
    /// # Errors
    ///
    /// As that.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        self.is_of(&other)?;
        for run in other.runs() {
            self.lacks(&run)?;
        }
        self.total = match (self.total.take(), other.total) {
            (Some(mut low), Some(high)) => {
                self.op.combine(&mut low, &high);
                Some(low)
            }
            (one, another) => one.or(another),
        };
        for (first, run) in other.runs {
            self.add(first, run);
        }
        Ok(())
    }

    /// Whether another partial is of the same fold.
    fn is_of(&self, other: &Self) -> Result<(), Error> {
        let other_op = (!Arc::ptr_eq(&self.op, &other.op)).then(|| other.op.signature());
        let of_op = other_op.and_then(|other| self.op.signature().difference(&other));
        let shapes = [&self.shape, &other.shape].map(|shape| format!("{shape:?}"));
        let of_shape = (self.shape != other.shape).then_some(("shape of the answers", shapes));
        match of_op.or(of_shape) {
            None => Ok(()),
            Some((what, [this, other])) => Err(Error::Partial(PartialFault::Other { what, this, other })),
        }
    }

    /// Whether no element of a run is here.
    fn lacks(&self, run: &Range<u64>) -> Result<(), Error> {
        let before = self.runs.range(..=run.start).next_back();
        let common = before.filter(|(_, before)| before.end > run.start);
        match common.or_else(|| self.runs.range(run.start..run.end).next()) {
            None => Ok(()),
            Some((first, here)) => Err(Error::Partial(PartialFault::Overlap {
                first: run.start.max(*first),
                end: run.end.min(here.end),
            })),
        }
    }

    /// Takes a run that is not here yet, and makes one of it and those that touch it.
    fn add(&mut self, mut first: u64, mut run: Run) {
        let op = Arc::clone(&self.op);
        let cells = Cells {
            op: &*op,
            count: self.cells,
        };
        if let Some(next) = self.runs.remove(&run.end) {
            run = cells.joined(first, run, next);
        }
        let before = self.runs.range(..first).next_back();
        if let Some(start) = before.and_then(|(start, before)| (before.end == first).then_some(*start)) {
            let before = self.runs.remove(&start).expect("it was found");
            run = cells.joined(start, before, run);
            first = start;
        }
        self.runs.insert(first, run);
    }

    /// [`Partial::finish`](super::Partial::finish): the answers, packed.
    ///
    /// # Errors
    ///
    /// As that.
    pub fn finish(&self, len: u64) -> Result<Answers, Error> {
        let states = self.state(len)?;
        if self.cells > 0 {
            self.op.facts().check_extent(len)?;
        }
        let mut bytes = filled(&self.op.over_nothing(), self.cells as u64)?;
        if let Some(states) = states.filter(|_| self.cells > 0) {
            self.op.finish_each(&states, Lens::All(len as usize), &mut bytes);
        }
        Ok(Answers {
            shape: self.shape.clone(),
            bytes,
        })
    }

    /// The states of extents of that length, of which it must have all elements; none where that is 0.
    pub(crate) fn state(&self, len: u64) -> Result<Option<Vec<u32>>, Error> {
        self.is_all(len)?;
        Ok(self.states())
    }

    /// Whether the elements are those of extents of that length, all of them.
    fn is_all(&self, len: u64) -> Result<(), Error> {
        let mut here = 0;
        for run in self.runs() {
            if run.end > len {
                return Err(Error::Partial(PartialFault::TooLong { end: run.end, len }));
            }
            if run.start > here {
                let (first, end) = (here, run.start);
                return Err(Error::Partial(PartialFault::Gap { first, end, len }));
            }
            here = run.end;
        }
        if here < len {
            let (first, end) = (here, len);
            return Err(Error::Partial(PartialFault::Gap { first, end, len }));
        }
        Ok(())
    }

    /// The states of the one run, from element 0 on.
    fn states(&self) -> Option<Vec<u32>> {
        let Some(run) = self.runs.get(&0).filter(|_| self.total.is_none()) else {
            return self.total.clone();
        };
        let cells = Cells {
            op: &*self.op,
            count: self.cells,
        };
        let leaf = self.op.facts().leaf_elements();
        let ragged = (run.end % leaf > 0).then(|| cells.leaf_states(&run.after, run.end / leaf * leaf));
        run.whole.total(&*self.op, ragged)
    }
}

/// Where a run ends.
///
/// # Errors
///
/// [`Error::LengthOverflow`] past 2⁶⁴ − 1.
pub(crate) fn end_of(facts: &OpFacts, first: u64, len: u64) -> Result<u64, Error> {
    first.checked_add(len).ok_or_else(|| Error::LengthOverflow {
        elements: u64::MAX,
        element_bytes: facts.element_bytes(),
    })
}

/// The parts that have states, of a run of `len` elements from `first` on: [`Parts`]. Its last position is below 2⁶⁴.
pub(crate) fn parts_of(facts: &OpFacts, first: u64, len: u64) -> Vec<Range<u64>> {
    if facts.in_any_order() {
        return iter::once(0..len).collect();
    }
    let subtrees = subtrees(first, len, facts.leaf_elements());
    subtrees.map(|part| part.start - first..part.end - first).collect()
}

/// How many indices a shape has, if they can be numbered.
pub(super) fn cells(shape: &[u64]) -> Option<usize> {
    let each = shape.iter().map(|extent| usize::try_from(*extent).ok());
    each.collect::<Option<Vec<usize>>>()?
        .into_iter()
        .try_fold(1, usize::checked_mul)
}

impl fmt::Debug for AnyPartial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyPartial")
            .field("op", &self.op.facts().name())
            .field("shape", &self.shape)
            .field("runs", &self.runs().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
