//! Cross-entropy of rows that are split over several arrays.

use std::array;

use warpfold_kernels::{
    monoids::Words as _,
    rowwise::{self, RowFold as _, RowMap as _, Target, Weighted},
};

use super::{CrossEntropy, Losses, Mapped, Operation as _, Problem, Row, RowElement};
use crate::{
    Error, RowFault,
    cpu::rowwise::MappedRows,
    operand::{AsView, View},
};

/// Which columns of each row an array has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The number of the first.
    pub(crate) first: u64,
    /// Columns of the whole row.
    pub(crate) whole: u64,
}

impl Span {
    /// Columns that other parts have, once `len` from the first on are found to be of the whole row.
    ///
    /// # Errors
    ///
    /// [`RowFault::Part`].
    pub(crate) fn others(self, len: u64) -> Result<u64, Error> {
        let Self { first, whole } = self;
        match first.checked_add(len) {
            Some(end) if end <= whole && whole <= i64::MAX as u64 => Ok(whole - len),
            _ => Err(Error::Row(RowFault::Part { first, len, whole })),
        }
    }
}

/// A part of each row's cross-entropy: see [`Row::part`].
#[derive(Clone, Debug)]
#[must_use = "nothing is folded before its last step"]
pub struct Part<'a>(pub(crate) Row<'a, CrossEntropy>);

/// What is found of each row in its columns of one part, or of several that were [combined](Self::combine): the plain words that ranks exchange.
///
/// With `n` rows they are `5 · n` f32. First come four of each row, row after row: the largest element; the sum of `exp(x − largest)`; the sum of those, each times
/// `x − largest`; and the sum of the elements, −0.0 without label smoothing. Then comes one of each row, the target's element; −0.0 where the target is no column of the part.
/// The words of a part are a function of its elements; a NaN there has any payload on a GPU. On the CPU and on GPUs they lie alike, so either combines the other's.
#[derive(Clone, Debug, PartialEq)]
pub struct Partials {
    words: Vec<f32>,
}

/// Words of a row's state; one more is its target's element.
const STATE: usize = Weighted::COUNT;

impl Partials {
    /// Words of a row.
    pub const WORDS: usize = STATE + 1;

    /// Of words that another rank sent.
    ///
    /// # Errors
    ///
    /// [`RowFault::Words`] where they are not [`WORDS`](Self::WORDS) of each row.
    pub fn from_words(words: Vec<f32>) -> Result<Self, Error> {
        if words.len().is_multiple_of(Self::WORDS) {
            return Ok(Self { words });
        }
        Err(Error::Row(RowFault::Words {
            got: words.len(),
            each: Self::WORDS,
        }))
    }

    /// The words.
    #[must_use]
    pub fn words(&self) -> &[f32] {
        &self.words
    }

    /// The same, given away.
    #[must_use]
    pub fn into_words(self) -> Vec<f32> {
        self.words
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.words.len() / Self::WORDS
    }

    /// What is found in all of the parts, which are in the order of their columns: neighbours are combined first, as leaves are in the canonical tree.
    ///
    /// What comes of it may be combined again. Of no parts there are no rows. Cost: each word is read once.
    ///
    /// # Errors
    ///
    /// [`RowFault::Rows`] where one has not as many rows as the first.
    ///
    /// ```
    /// use warpfold::row::{self, Partials};
    ///
    /// let loss = row::cross_entropy(&[4_i64]);
    /// let part = |first, logits: &[f32]| loss.clone().part(first, 6).fold_on_cpu(logits);
    /// // Of three ranks: two columns, three, and one.
    /// let gathered = [part(0, &[0.0, 1.0])?, part(2, &[2.0, 0.5, 1.5])?, part(5, &[-1.0])?];
    /// let row = Partials::combine(&gathered)?;
    /// assert_eq!(row.words()[0], 2.0); // the largest
    /// assert_eq!(row.words()[4], 1.5); // the target's
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn combine(parts: &[Self]) -> Result<Self, Error> {
        let rows = parts.first().map_or(0, Self::rows);
        for part in parts {
            part.check(rows as u64)?;
        }
        let op = rowwise::CrossEntropy::new(0.0, 0.0, 0.0);
        let states = |row: usize| {
            let states = parts.iter().map(|part| part.state(row)).collect();
            combine_pairs(states, |a, b| op.combine(of_words(a), of_words(b)), words_of)
        };
        let logits = |row: usize| {
            combine_pairs(
                parts.iter().map(|part| part.logit(row)).collect(),
                |a, b| a + b,
                |sum| sum,
            )
        };
        Ok(Self {
            words: (0..rows).flat_map(states).chain((0..rows).map(logits)).collect(),
        })
    }

    /// Of the words of each row's state, and each row's target.
    pub(crate) fn of(states: &[[f32; STATE]], logits: &[f32]) -> Self {
        let words = [states.as_flattened(), logits].concat();
        Self { words }
    }

    fn state(&self, row: usize) -> [f32; STATE] {
        array::from_fn(|i| self.words[STATE * row + i])
    }

    fn logit(&self, row: usize) -> f32 {
        self.words[STATE * self.rows() + row]
    }

    /// That there are so many rows.
    pub(crate) fn check(&self, rows: u64) -> Result<(), Error> {
        if self.rows() as u64 == rows {
            return Ok(());
        }
        Err(Error::Row(RowFault::Rows {
            what: "partial states",
            rows,
            got: self.rows() as u64,
        }))
    }
}

fn of_words(words: [f32; STATE]) -> Weighted {
    Weighted::from_words(|i| words[i].to_bits())
}

fn words_of(state: Weighted) -> [f32; STATE] {
    array::from_fn(|i| f32::from_bits(state.word(i)))
}

/// Neighbours are combined until one is left, of at least one; a last one that has no neighbour stays as it is.
fn combine_pairs<X: Copy, Y>(mut all: Vec<X>, combine: impl Fn(X, X) -> Y, of: impl Fn(Y) -> X) -> X {
    while all.len() > 1 {
        let pair = |pair: &[X]| match *pair {
            [a, b] => of(combine(a, b)),
            _ => pair[0],
        };
        all = all.chunks(2).map(pair).collect();
    }
    all[0]
}

impl<'a> Row<'a, CrossEntropy> {
    /// Of rows of `whole` columns the array has those from `first` on: so is a vocabulary that is split over ranks. Targets and label smoothing are of the whole row.
    ///
    /// Each rank [folds](Part::fold_on_cpu) its part, all ranks gather what was found and [combine](Partials::combine) it, and each maps its part to the
    /// [gradient](Row::gradient) of its own columns. Any [step](Row::label_smoothing) comes before this one.
    ///
    /// **Bits.** Every part but the last of the same length, a power of two leaves (of 512 f32, of 1024 f16 or bf16), is a subtree of the canonical tree; the last may be
    /// shorter. Then losses and gradients have the bits of the whole row. At other cuts they are a function of the rows and the cuts, within the same bounds.
    ///
    /// Cost: each part is read once to be folded and once more for the gradient; five words of each row are exchanged.
    ///
    /// ```
    /// use warpfold::row::{self, Partials};
    ///
    /// let logits: Vec<f32> = (0..1500).map(|i| (i % 13) as f32).collect();
    /// let loss = row::cross_entropy(&[700_i64]).label_smoothing(0.1).gradient(1.0);
    /// // Two ranks: 1024 columns, which are two leaves, and the rest.
    /// let ((a, b), whole) = (logits.split_at(1024), logits.len() as u64);
    /// let (rank_0, rank_1) = (loss.clone().part(0, whole), loss.clone().part(1024, whole));
    /// let row = Partials::combine(&[rank_0.fold_on_cpu(a)?, rank_1.fold_on_cpu(b)?])?;
    /// let (of_a, of_b) = (rank_0.map_on_cpu::<_, f32>(a, &row)?, rank_1.map_on_cpu::<_, f32>(b, &row)?);
    ///
    /// let of_all = loss.on_cpu::<_, f32>(&logits)?;
    /// assert_eq!([of_a.values, of_b.values].concat(), of_all.values);
    /// assert_eq!((&of_a.known, &of_b.known), (&of_all.known, &of_all.known));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn part(self, first: u64, whole: u64) -> Part<'a> {
        Part(Row {
            part: Some(Span { first, whole }),
            ..self
        })
    }
}

impl Part<'_> {
    /// Folds the part of each row that an array in host memory has.
    ///
    /// A part of no columns is as good as none, and so is, without label smoothing, one of all −∞; a NaN and a +∞ make the row's loss NaN, as in whole rows. Cost: each element is read once.
    ///
    /// # Errors
    ///
    /// As [`Row::on_cpu`]; [`RowFault::Part`] of columns that the whole row does not have; [`RowFault::Target`] of a target that is no column of the whole row.
    pub fn fold_on_cpu<'v, V>(&self, values: V) -> Result<Partials, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement,
    {
        let view = values.view();
        let mut row = self.0.clone();
        row.op.gradient = None;
        let (problem, done): (_, MappedRows<V::Element, f32>) = row.done_on_cpu(&view, None, None)?;
        let logits = self.logits(&view, &problem)?;
        Ok(Partials::of(&done.known, &logits))
    }

    /// What is known of the rows, by what was found in all of their parts. Here there is no array that targets could broadcast to: there must be one for each row.
    ///
    /// # Errors
    ///
    /// [`RowFault::Rows`] where there are not as many targets; [`RowFault::Target`]; [`Error::Parameter`].
    pub fn losses(&self, of_rows: &Partials) -> Result<Losses, Error> {
        self.0.op.check()?;
        let Some((targets, ignored)) = &self.0.targets else {
            return Err(Error::Row(RowFault::Missing { what: "targets" }));
        };
        let positions = targets.own_positions()?;
        let rows = of_rows.rows() as u64;
        let targets = targets
            .values
            .checked(rows, self.span().whole, *ignored, positions.as_deref())?;
        Ok(self.losses_of(of_rows, &targets, *ignored))
    }

    /// The same, of targets that were checked.
    fn losses_of(&self, of_rows: &Partials, targets: &[i64], ignored: i64) -> Losses {
        let (op, whole) = (self.0.op.op(), self.span().whole);
        let known = targets.iter().enumerate().map(|(row, target)| {
            let kind = if *target == ignored {
                Target::Ignored
            } else {
                Target::There
            };
            op.known(of_words(of_rows.state(row)), whole, kind.given(of_rows.logit(row)))
        });
        known.collect::<Vec<_>>().into()
    }

    /// The gradient of the array's own columns, if it is [asked for](Row::gradient), and what is known of the rows: by what was found in all of their parts.
    ///
    /// Cost: each element is read once more, and from a near cache to be mapped; each gradient is written once.
    ///
    /// # Errors
    ///
    /// As [`fold_on_cpu`](Self::fold_on_cpu); [`RowFault::Rows`] where the array has not as many rows.
    pub fn map_on_cpu<'v, V, U>(&self, values: V, of_rows: &Partials) -> Result<Mapped<U, Losses>, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement,
        U: RowElement,
    {
        let view = values.view();
        let states: Vec<[f32; STATE]> = (0..of_rows.rows()).map(|row| of_rows.state(row)).collect();
        let layout = view.its_layout()?;
        let problem = self.0.problem(&layout)?;
        of_rows.check(problem.from[0].count)?;
        let (targets, ignored) = self.0.checked_targets(&problem)?.unwrap_or_default();
        let known = self.losses_of(of_rows, &targets, ignored);
        let values = if self.0.op.maps() {
            self.0.clone().done_on_cpu(&view, Some(&states), None)?.1.answers
        } else {
            vec![]
        };
        Ok(Mapped {
            shape: layout.shape().to_vec(),
            values,
            sums: None,
            known,
        })
    }

    pub(crate) fn span(&self) -> Span {
        self.0.part.expect("only Row::part makes one")
    }

    /// The element of each row's target, where it is one of the array's: any other changes no sum.
    fn logits<T: RowElement>(&self, view: &View<'_, T>, problem: &Problem) -> Result<Vec<f32>, Error> {
        let rows = &problem.from[0];
        let (targets, ignored) = self.0.checked_targets(problem)?.unwrap_or_default();
        let here = |target: i64| {
            (target as u64)
                .checked_sub(self.span().first)
                .filter(|at| *at < rows.len)
        };
        let logit = |(row, target): (usize, &i64)| match here(*target) {
            _ if *target == ignored => 0.0,
            Some(at) => view.values[rows.start(row as u64).wrapping_add_signed(rows.step(at)) as usize].wide(),
            None => -0.0,
        };
        Ok(targets.iter().enumerate().map(logit).collect())
    }
}
