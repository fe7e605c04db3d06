//! Folds whose operator is chosen while the program runs: for elements of one type, every operator is a [`Function`], in whatever table or map.
//!
//! Answers and states are bytes and words, so all that is compiled for each operator is its fold.
//!
//! ```
//! use warpfold::{View, dynamic::{Arrays, Function, Target, function}, fold::Extent, ops::{Max, Sum}};
//!
//! let table: [Box<dyn Function<f32>>; 2] = [function(Sum), function(Max)];
//! let chosen = table.iter().find(|function| function.op().name() == "max").unwrap();
//! let answers = chosen.answers(&Target::Cpu, &Arrays::one(&[1.0_f32, 3.0, 2.0]), Extent::Whole)?;
//! assert_eq!(answers.bytes, 3.0_f32.to_le_bytes());
//! # Ok::<(), warpfold::Error>(())
//! ```

mod answer;
#[cfg(feature = "table")]
mod table;

use std::{marker::PhantomData, sync::Arc};

use bytemuck::NoUninit;
use warpfold_kernels::element::{Element, Item, Masked, Two};

#[cfg(feature = "cuda")]
use crate::operand::{Array as _, Placed, Shape};
use crate::{
    Error, View,
    cpu::{self, erased::Fold},
    layout::{Layout, extent::Extent},
    operand::{
        AsView, Shapes,
        source::{One, Pair, Source},
    },
    ops::{AnyOp, Reduction, TakesMask, Where, untyped::Typed},
    partial,
};

pub use crate::{ops::untyped::Answers, partial::AnyPartial, pieces::AnyPieces};
pub use answer::{Answer, AnswerType};
#[cfg(feature = "table")]
pub use table::{Accuracy, Choice, InTable, find};

/// Where it is folded.
#[derive(Clone)]
pub enum Target {
    /// On the CPU.
    Cpu,
    /// On a GPU.
    #[cfg(feature = "cuda")]
    Gpu(crate::gpu::Gpu),
}

/// Bytes of arrays that the CPU is given at a time, so that three such pieces are little memory.
const CPU_PIECE: u64 = 16 << 20;

impl Target {
    /// How many elements to give it at a time of an array that is read as it is folded: a subtree of the canonical tree.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn piece(&self, op: &AnyOp) -> Result<u64, Error> {
        match self {
            Self::Cpu => {
                let leaves = (CPU_PIECE / op.leaf_bytes() as u64).max(1);
                Ok(op.leaf_elements() << leaves.ilog2())
            }
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => gpu.piece(op),
        }
    }
}

/// What a function folds.
#[derive(Clone, Debug)]
pub struct Arrays<'a, T> {
    first: View<'a, T>,
    second: Second<'a, T>,
}

#[derive(Clone, Debug)]
enum Second<'a, T> {
    None,
    Array(View<'a, T>),
    Mask(View<'a, u8>),
}

impl<'a, T: Element> Arrays<'a, T> {
    /// One array.
    pub fn one(array: impl AsView<'a, Element = T>) -> Self {
        Self {
            first: array.view(),
            second: Second::None,
        }
    }

    /// With a second one, element by element.
    #[must_use]
    pub fn with(self, second: impl AsView<'a, Element = T>) -> Self {
        let second = Second::Array(second.view());
        Self { second, ..self }
    }

    /// Of it what a mask selects, by bytes that are not 0.
    #[must_use]
    pub fn masked(self, mask: impl AsView<'a, Element = u8>) -> Self {
        let second = Second::Mask(mask.view());
        Self { second, ..self }
    }

    fn shapes(&self) -> Shapes {
        match &self.second {
            Second::None => Shapes::one(self.first.shape()),
            Second::Array(second) => Shapes::pair(self.first.shape(), second.shape()),
            Second::Mask(mask) => Shapes::masked(self.first.shape(), mask.shape()),
        }
    }

    #[cfg(feature = "cuda")]
    fn placed(&self) -> Placed<'a>
    where
        T: NoUninit,
    {
        let memory = |array: View<'a, T>| array.placed().memory;
        let second = match self.second.clone() {
            Second::None => None,
            Second::Array(second) => Some(memory(second)),
            Second::Mask(mask) => Some(mask.placed().memory),
        };
        Placed {
            shapes: self.shapes(),
            arrays: [Some(memory(self.first.clone())), second]
                .into_iter()
                .flatten()
                .collect(),
        }
    }
}

/// How arrays lie that are prepared for, in memory as large as they need.
#[derive(Clone, Copy, Debug)]
pub enum Layouts<'a> {
    /// One array.
    One(&'a Layout),
    /// Two, element by element.
    Two(&'a Layout, &'a Layout),
    /// One, and its mask.
    Masked(&'a Layout, &'a Layout),
}

#[cfg(feature = "cuda")]
impl Layouts<'_> {
    fn shapes(self) -> Shapes {
        match self {
            Self::One(array) => Shapes::one(Shape::prepared(array)),
            Self::Two(first, second) => Shapes::pair(Shape::prepared(first), Shape::prepared(second)),
            Self::Masked(array, mask) => Shapes::masked(Shape::prepared(array), Shape::prepared(mask)),
        }
    }
}

/// An operator over elements of one type, which one being forgotten.
pub trait Function<T>: Send + Sync {
    /// What is known of it.
    fn op(&self) -> &AnyOp;

    /// What its answers are.
    fn answer(&self) -> AnswerType;

    /// The elements that the state of a whole array tells of: those at the indices that are answered. None of other operators.
    ///
    /// # Panics
    ///
    /// If these are fewer words than a state has.
    fn selected(&self, state: &[u32]) -> Vec<T>;

    /// Folds to answers, as [`Fold::on_cpu`](crate::Fold::on_cpu) and `Fold::on`.
    ///
    /// # Errors
    ///
    /// As those.
    ///
    /// # Panics
    ///
    /// If the arrays are not as many as the operator is of, or have no mask where it is under one.
    fn answers(&self, target: &Target, arrays: &Arrays<'_, T>, extent: Extent<'_>) -> Result<Answers, Error>;

    /// Folds all of the arrays to the words of a state, for [`AnyPieces::push`].
    ///
    /// # Errors
    ///
    /// As [`answers`](Self::answers).
    ///
    /// # Panics
    ///
    /// As [`answers`](Self::answers).
    fn state(&self, target: &Target, arrays: &Arrays<'_, T>) -> Result<Vec<u32>, Error>;

    /// Plans it for arrays of those layouts in a GPU's memory, and loads its kernel, for launches of your own.
    ///
    /// # Errors
    ///
    /// As [`Fold::prepare`](crate::Fold::prepare).
    ///
    /// # Panics
    ///
    /// As [`answers`](Self::answers).
    #[cfg(feature = "cuda")]
    fn prepare(
        &self,
        gpu: &crate::gpu::Gpu,
        layouts: Layouts<'_>,
        extent: Extent<'_>,
    ) -> Result<crate::gpu::AnyPrepared, Error>;

    /// Pieces of so many elements, with states as [`state`](Self::state) makes them.
    ///
    /// # Errors
    ///
    /// As [`Pieces::new`](crate::pieces::Pieces::new).
    fn pieces(&self, piece: u64) -> Result<AnyPieces, Error>;

    /// Folds a part of arrays, from element `first` of each extent on: [`Fold::partial_on_cpu`](crate::Fold::partial_on_cpu) and `Fold::partial_on`.
    ///
    /// # Errors
    ///
    /// As those; [`PartialFault::Segments`](crate::PartialFault::Segments) in segments.
    ///
    /// # Panics
    ///
    /// As [`answers`](Self::answers).
    fn partial(
        &self,
        target: &Target,
        arrays: &Arrays<'_, T>,
        extent: Extent<'_>,
        first: u64,
    ) -> Result<AnyPartial, Error>;

    /// Plans the same for arrays of those layouts in a GPU's memory.
    ///
    /// # Errors
    ///
    /// As `Fold::partial_on`, but for those of memory.
    #[cfg(feature = "cuda")]
    fn prepare_partial(
        &self,
        gpu: &crate::gpu::Gpu,
        layouts: Layouts<'_>,
        extent: Extent<'_>,
        first: u64,
    ) -> Result<crate::gpu::PreparedPartial, Error>;

    /// The partial of bytes that [`AnyPartial::to_bytes`] gave.
    ///
    /// # Errors
    ///
    /// As [`Partial::from_bytes`](crate::partial::Partial::from_bytes).
    fn partial_from_bytes(&self, bytes: &[u8]) -> Result<AnyPartial, Error>;
}

/// An operator of one array.
pub fn function<T: Element + NoUninit, R: Reduction<T, Answer: Answer>>(op: R) -> Box<dyn Function<T>> {
    by::<T, R, OfOne>(op, |_| vec![])
}

/// An operator of two arrays.
pub fn function_of_two<T: Element + NoUninit, R: Reduction<Two<T>, Answer: Answer>>(op: R) -> Box<dyn Function<T>> {
    by::<T, R, OfTwo>(op, |_| vec![])
}

/// An operator under a mask.
pub fn function_where<T: Element + NoUninit, Op: TakesMask>(op: Op) -> Box<dyn Function<T>>
where
    Where<Op>: Reduction<Masked<T>, Answer: Answer>,
{
    by::<T, Where<Op>, UnderMask>(Where(op), |_| vec![])
}

/// What an operator is of.
trait Kind<T: Element>: Send + Sync + 'static {
    type Item: Item;
    type Source<'a>: Source<Self::Item>;

    fn source<'a>(arrays: &Arrays<'a, T>) -> Self::Source<'a>;
}

struct OfOne;
struct OfTwo;
struct UnderMask;

impl<T: Element> Kind<T> for OfOne {
    type Item = T;
    type Source<'a> = One<'a, T>;

    fn source<'a>(arrays: &Arrays<'a, T>) -> One<'a, T> {
        match arrays.second {
            Second::None => One(arrays.first.values),
            _ => panic!("an operator of one array, and two are given"),
        }
    }
}

impl<T: Element> Kind<T> for OfTwo {
    type Item = Two<T>;
    type Source<'a> = Pair<'a, T, T>;

    fn source<'a>(arrays: &Arrays<'a, T>) -> Pair<'a, T, T> {
        match &arrays.second {
            Second::Array(second) => Pair(arrays.first.values, second.values),
            _ => panic!("an operator of two arrays, and no second is given"),
        }
    }
}

impl<T: Element> Kind<T> for UnderMask {
    type Item = Masked<T>;
    type Source<'a> = Pair<'a, T, u8>;

    fn source<'a>(arrays: &Arrays<'a, T>) -> Pair<'a, T, u8> {
        match &arrays.second {
            Second::Mask(mask) => Pair(arrays.first.values, mask.values),
            _ => panic!("an operator under a mask, and none is given"),
        }
    }
}

struct By<T, R, K> {
    op: R,
    any: AnyOp,
    /// The elements that a state tells of.
    selected: fn(&[u32]) -> Vec<T>,
    kind: PhantomData<fn(K)>,
}

fn by<T, R, K>(op: R, selected: fn(&[u32]) -> Vec<T>) -> Box<dyn Function<T>>
where
    T: Element + NoUninit,
    R: Reduction<K::Item, Answer: Answer>,
    K: Kind<T>,
{
    let (any, kind) = (AnyOp::of::<K::Item, R>(op), PhantomData::<fn(K)>);
    Box::new(By {
        op,
        any,
        selected,
        kind,
    })
}

impl<T, R, K> Function<T> for By<T, R, K>
where
    T: Element + NoUninit,
    R: Reduction<K::Item, Answer: Answer>,
    K: Kind<T>,
{
    fn op(&self) -> &AnyOp {
        &self.any
    }

    fn answer(&self) -> AnswerType {
        R::Answer::ANSWER
    }

    fn selected(&self, state: &[u32]) -> Vec<T> {
        (self.selected)(state)
    }

    fn answers(&self, target: &Target, arrays: &Arrays<'_, T>, extent: Extent<'_>) -> Result<Answers, Error> {
        match target {
            #[cfg(feature = "cuda")]
            Target::Gpu(gpu) => gpu.answers(&self.any, &arrays.placed(), extent, &|piece| self.pieces(piece)),
            Target::Cpu => cpu::answers(&Fold::new(self.op, K::source(arrays)), &arrays.shapes(), extent),
        }
    }

    fn state(&self, target: &Target, arrays: &Arrays<'_, T>) -> Result<Vec<u32>, Error> {
        match target {
            #[cfg(feature = "cuda")]
            Target::Gpu(gpu) => gpu.state(&self.any, &arrays.placed(), &|piece| self.pieces(piece)),
            Target::Cpu => cpu::state(&Fold::new(self.op, K::source(arrays)), &arrays.shapes()),
        }
    }

    #[cfg(feature = "cuda")]
    fn prepare(
        &self,
        gpu: &crate::gpu::Gpu,
        layouts: Layouts<'_>,
        extent: Extent<'_>,
    ) -> Result<crate::gpu::AnyPrepared, Error> {
        Ok(crate::gpu::AnyPrepared::new(gpu.ready(
            &self.any,
            &layouts.shapes(),
            extent,
        )?))
    }

    fn pieces(&self, piece: u64) -> Result<AnyPieces, Error> {
        AnyPieces::new(Arc::new(Typed::<R, K::Item>::new(self.op)), piece)
    }

    fn partial(
        &self,
        target: &Target,
        arrays: &Arrays<'_, T>,
        extent: Extent<'_>,
        first: u64,
    ) -> Result<AnyPartial, Error> {
        let op = Arc::new(Typed::<R, K::Item>::new(self.op));
        match target {
            #[cfg(feature = "cuda")]
            Target::Gpu(gpu) => gpu.partial(op, &self.any, &arrays.placed(), extent, first),
            Target::Cpu => {
                let fold = Fold::new(self.op, K::source(arrays));
                partial::cpu::partial(op, &fold, &arrays.shapes(), extent, first)
            }
        }
    }

    #[cfg(feature = "cuda")]
    fn prepare_partial(
        &self,
        gpu: &crate::gpu::Gpu,
        layouts: Layouts<'_>,
        extent: Extent<'_>,
        first: u64,
    ) -> Result<crate::gpu::PreparedPartial, Error> {
        let op = Arc::new(Typed::<R, K::Item>::new(self.op));
        gpu.prepare_partial(op, &self.any, &layouts.shapes(), extent, first)
    }

    fn partial_from_bytes(&self, bytes: &[u8]) -> Result<AnyPartial, Error> {
        AnyPartial::from_bytes(Arc::new(Typed::<R, K::Item>::new(self.op)), bytes)
    }
}
