//! Folds in parts: arrays that are divided at random, whose parts travel as bytes and are merged in any order.

use std::{env, ops::Range};

use warpfold::{
    Error, PartialFault, View, fold,
    layout::Layout,
    ops::{OpFacts, Reduction},
    partial::{AnyPartial, Partial},
};
use warpfold_kernels::{element::Element, tree};

use crate::{Bits, backends, cases::mix};

/// How an array lies of which parts are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One run.
    Whole,
    /// So many kept indices between the folded axis that is divided and another one, of so many indices.
    Around(usize, usize),
    /// So many kept indices before the folded axis: each extent is a run of memory.
    Rows(usize),
}

impl Way {
    /// How many answers.
    #[must_use]
    pub fn cells(self) -> usize {
        match self {
            Self::Whole => 1,
            Self::Around(kept, _) | Self::Rows(kept) => kept,
        }
    }

    /// What parts have a multiple of elements of.
    #[must_use]
    pub fn unit(self) -> usize {
        match self {
            Self::Whole | Self::Rows(_) => 1,
            Self::Around(_, inner) => inner,
        }
    }

    /// The elements of a part of each extent as they lie, of extents of `len` elements that lie one after the other in `values`, and their
    /// layout.
    ///
    /// # Panics
    ///
    /// If they are too many to be numbered.
    #[must_use]
    pub fn part<T: Copy>(self, values: &[T], len: usize, part: Range<usize>) -> (Vec<T>, Layout) {
        let count = part.len();
        let place = |i: usize| match self {
            Self::Whole => i,
            Self::Rows(_) => i / count * len + i % count,
            Self::Around(kept, inner) => i / inner % kept * len + i / (kept * inner) * inner + i % inner,
        };
        let shape = match self {
            Self::Whole => vec![count],
            Self::Rows(kept) => vec![kept, count],
            Self::Around(kept, inner) => vec![count / inner, kept, inner],
        };
        let values = (0..count * self.cells()).map(|i| values[part.start + place(i)]);
        let shape: Vec<u64> = shape.into_iter().map(|extent| extent as u64).collect();
        (values.collect(), Layout::c_order(&shape).expect("small"))
    }

    /// The axes that are folded.
    #[must_use]
    pub fn axes(self) -> &'static [i64] {
        match self {
            Self::Whole => &[0],
            Self::Rows(_) => &[1],
            Self::Around(..) => &[0, 2],
        }
    }
}

/// Bytes to the answers, or to what is wrong with them.
pub type Finish = Box<dyn Fn(&[u8]) -> Result<Vec<Bits>, Error>>;

/// A fold of extents that are divided.
pub struct Divided {
    /// What it is, in messages.
    pub name: String,
    /// Elements of a leaf, and of each extent.
    pub leaf: usize,
    /// Elements of each extent.
    pub len: usize,
    /// What parts have a multiple of elements of.
    pub unit: usize,
    /// Whether bytes are the same however the extents were divided: no state has one NaN of several, of which the machine keeps which it likes.
    pub has_one_form: bool,
    /// The answers, each of its extent alone.
    pub whole: Vec<Bits>,
    /// Of a part.
    pub part: Box<dyn Fn(Range<usize>) -> AnyPartial>,
    /// The answers of bytes.
    pub finish: Finish,
}

impl Divided {
    /// An operator of one array, whose extents of `len` elements lie one after the other in `values`.
    pub fn new<T: Element, R: Reduction<T>>(op: R, values: Vec<T>, way: Way) -> Self {
        let len = values.len() / way.cells();
        let alone = |extent: &[T]| backends::cpu(op, extent).expect("elements");
        #[expect(clippy::eq_op, reason = "a NaN equals nothing")]
        let has_nan = values.iter().any(|value| value != value);
        Self {
            name: format!("{} of {} {way:?} of {len}", R::NAME, T::TYPE.name()),
            leaf: tree::leaf_elements::<T>(),
            len,
            unit: way.unit(),
            has_one_form: !has_nan || OpFacts::of::<T, R>(op).in_any_order(),
            whole: values.chunks(len).map(alone).collect(),
            part: Box::new(move |part| {
                let first = part.start as u64;
                let (values, layout) = way.part(&values, len, part);
                let partial = match way {
                    Way::Whole => fold(op).partial_on_cpu(&values, first).map(Partial::into_any),
                    _ => {
                        let view = View::new(&values, &layout).expect("all of it");
                        let fold = fold(op).axes(way.axes());
                        fold.partial_on_cpu(view, first).map(Partial::into_any)
                    }
                };
                partial.expect("a part")
            }),
            finish: Box::new(move |bytes| match way {
                Way::Whole => {
                    let partial = Partial::<R, T>::from_bytes(op, bytes)?;
                    Ok(vec![Bits::of(partial.finish(len as u64)?)])
                }
                _ => {
                    let partial = Partial::<R, T, fold::Along>::from_bytes(op, bytes)?;
                    let answers = partial.finish(len as u64)?.answers;
                    Ok(answers.into_iter().map(Bits::of).collect())
                }
            }),
        }
    }
}

/// How many splits of a fold of one of `samples`: so many, or with `WARPFOLD_EXHAUSTIVE` those of which all samples together have ten thousand.
#[must_use]
pub fn splits(few: u64, samples: u64) -> u64 {
    if env::var_os("WARPFOLD_EXHAUSTIVE").is_some() {
        10_000 / samples
    } else {
        few
    }
}

/// Numbers of a seed.
struct Draws {
    seed: u64,
    count: usize,
}

impl Draws {
    /// A number below another.
    fn below(&mut self, end: usize) -> usize {
        self.count += 1;
        (mix(self.seed, self.count) >> 16) as usize % end
    }
}

/// One to nine runs that are all elements, in any order. Some begin and end at leaves or beside them, and some are short.
fn runs(divided: &Divided, draws: &mut Draws) -> Vec<Range<usize>> {
    let (len, unit) = (divided.len, divided.unit);
    let mut cuts = vec![0, len];
    for _ in 0..draws.below(9) {
        let anywhere = draws.below(len + 1);
        let cut = match draws.below(4) {
            0 => anywhere / divided.leaf * divided.leaf,
            1 => anywhere / divided.leaf * divided.leaf + 1,
            2 => cuts[draws.below(cuts.len())] + draws.below(5),
            _ => anywhere,
        };
        cuts.push(cut.min(len) / unit * unit);
    }
    cuts.sort_unstable();
    cuts.dedup();
    let mut runs: Vec<_> = cuts.windows(2).map(|ends| ends[0]..ends[1]).collect();
    for i in (1..runs.len()).rev() {
        runs.swap(i, draws.below(i + 1));
    }
    runs
}

/// Merges two at a time, whichever, until one is left.
fn merged(mut partials: Vec<AnyPartial>, draws: &mut Draws, by_bytes: bool) -> AnyPartial {
    while partials.len() > 1 {
        let other = partials.swap_remove(draws.below(partials.len()));
        let into = draws.below(partials.len());
        let other = if by_bytes {
            other.read(&other.to_bytes()).expect("its own bytes")
        } else {
            other
        };
        partials[into].merge(other).expect("disjoint runs");
    }
    partials.pop().expect("one at least")
}

/// Divides the extents of a fold in random ways: the answers are those of the whole, and the bytes the same in whatever order the parts are
/// merged. What is missing is named, and what is there twice.
pub fn check(divided: &Divided, seed: u64, splits: u64) {
    let whole = divided.has_one_form.then(|| (divided.part)(0..divided.len).to_bytes());
    for split in 0..splits {
        let mut draws = Draws {
            seed: seed << 16 ^ split,
            count: 0,
        };
        let runs = runs(divided, &mut draws);
        let what = || format!("{}, split {split} of seed {seed}: {runs:?}", divided.name);
        let parts: Vec<AnyPartial> = runs.iter().map(|run| (divided.part)(run.clone())).collect();
        let all = merged(parts.clone(), &mut draws, true);
        let bytes = all.to_bytes();
        assert_eq!(
            (divided.finish)(&bytes).expect("all elements"),
            divided.whole,
            "{}",
            what()
        );
        if split % 2 == 0 {
            let again = merged(parts.clone(), &mut draws, false);
            assert!(again.to_bytes() == bytes, "another order: {}", what());
        }
        if let Some(whole) = &whole {
            assert!(*whole == bytes, "the whole: {}", what());
        }
        if split % 5 == 0 {
            is_told(divided, &runs, parts, &all, &mut draws);
        }
    }
}

/// What is missing of all parts but one, and what is there twice.
fn is_told(divided: &Divided, runs: &[Range<usize>], parts: Vec<AnyPartial>, all: &AnyPartial, draws: &mut Draws) {
    let at = draws.below(runs.len());
    let (first, end) = (runs[at].start as u64, runs[at].end as u64);
    let mut others = parts.clone();
    let one = others.swap_remove(at);
    let mut lacking = others.into_iter().fold(one.empty(), |mut lacking, part| {
        lacking.merge(part).expect("disjoint runs");
        lacking
    });
    let gap = lacking.finish(divided.len as u64);
    let expected = PartialFault::Gap {
        first,
        end,
        len: divided.len as u64,
    };
    assert!(matches!(gap, Err(Error::Partial(fault)) if fault == expected));
    let (before, mut twice) = (all.to_bytes(), all.clone());
    let overlap = twice.merge(one.clone());
    assert!(matches!(overlap, Err(Error::Partial(fault)) if fault == PartialFault::Overlap { first, end }));
    assert!(
        twice.to_bytes() == before,
        "an overlap changed something: {}",
        divided.name
    );
    let too_long = twice.finish(divided.len as u64 - 1);
    assert!(matches!(too_long, Err(Error::Partial(PartialFault::TooLong { .. }))));
    lacking.merge(one).expect("what was missing");
    assert!(lacking.to_bytes() == before);
}

/// Lengths of extents that have few leaves or some dozens, and ragged ends.
#[must_use]
pub fn length(leaf: usize, number: usize) -> usize {
    [3 * leaf + 7, leaf + 1, 9 * leaf, leaf / 2 + 3, 37 * leaf + 5][number % 5]
}
