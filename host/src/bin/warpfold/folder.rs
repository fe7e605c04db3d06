//! What folds elements of one type with one operator: all of the command that is compiled for each of them.

use std::marker::PhantomData;

use warpfold::{
    Error,
    files::DType,
    layout::Axes,
    ops::{
        EmptyInput as _, Reduction, TakesMask, Where,
        element::{Masked, Real, Two},
        monoids::{Arg, Best, Key},
    },
    pieces::Pieces,
};
use warpfold_kernels::kernels::Entry;

use crate::{
    Failure,
    answers::{Answer, Answers},
    device::{Device, HasKernel, Opened, Wanted, emulate},
    fold::Fold,
    reading::{self, each_piece},
    reduce::Element,
    scalar::Scalar,
    second_input::SecondInput,
    segments::Division,
};

/// An operator of one type of elements.
pub trait Folder {
    /// The operator's name.
    fn name(&self) -> &'static str;
    /// The type of its answers.
    fn dtype(&self) -> DType;
    /// How many numbers an answer is.
    fn parts(&self) -> u64;
    /// Its kernel.
    fn entry(&self) -> Result<&'static Entry, Error>;
    /// The device that was asked for, ready to fold with it.
    fn open(&self, wanted: Wanted, has_kernel: HasKernel<'_>) -> Result<Opened, Failure>;
    /// The answer of the whole array, a piece at a time, and the elements that it tells of.
    fn whole(&self, device: &Device) -> Result<(Answers, Vec<Scalar>), Failure>;
    /// The answer of each segment.
    fn segments(&self, device: &Device, division: &Division) -> Result<Answers, Failure>;
    /// The answers along axes, of the array as it lies in the file.
    fn along(&self, device: &Device, axes: &Axes) -> Result<Answers, Failure>;
}

/// A folder, if there is one.
pub type Choice<'a> = Option<Box<dyn Folder + 'a>>;

/// Of the state of the whole array, the elements that its answer tells of.
type Elements<State> = Box<dyn Fn(State) -> Vec<Scalar>>;

/// Folds a piece on a device.
type Piece<R, T, State> = fn(&Device, R, &[T]) -> Result<State, Failure>;

/// Operators over all elements.
pub mod plain {
    use super::*;

    /// Answers that speak for themselves.
    pub fn run<'a, T: Element, R: Reduction<T, Answer: Answer>>(fold: &'a Fold<'a>, op: R) -> Choice<'a> {
        locate::<T, R>(fold, op, |_| vec![])
    }

    /// An index, as `arg` finds it but for NaN; of the whole array, the element there, too.
    pub fn arg<'a, T, R>(fold: &'a Fold<'a>, op: R, arg: Arg) -> Choice<'a>
    where
        T: Element + Real + Into<Scalar>,
        R: Reduction<T, Answer = u64, State = Best<Key<T>>>,
    {
        locate::<T, R>(fold, op, move |best| vec![arg.value::<T>(best).into()])
    }

    /// Answers, and the elements that they tell of.
    pub fn locate<'a, T: Element, R: Reduction<T, Answer: Answer>>(
        fold: &'a Fold<'a>,
        op: R,
        elements: impl Fn(R::State) -> Vec<Scalar> + 'static,
    ) -> Choice<'a> {
        by::<T, R>(fold, op, elements, |device, op, values| device.fold(op, values))
    }

    /// The same, a piece being folded by `piece`.
    pub fn by<'a, T: Element, R: Reduction<T, Answer: Answer>>(
        fold: &'a Fold<'a>,
        op: R,
        elements: impl Fn(R::State) -> Vec<Scalar> + 'static,
        piece: Piece<R, T, R::State>,
    ) -> Choice<'a> {
        let elements = Box::new(elements);
        Some(Box::new(Plain::<T, R> {
            fold,
            op,
            elements,
            piece,
        }))
    }
}

/// Operators over all elements of a whole array, on the emulator.
pub mod emulated {
    use super::*;

    /// As [`plain::run`].
    pub fn run<'a, T: Element, R: Reduction<T, Answer: Answer>>(fold: &'a Fold<'a>, op: R) -> Choice<'a> {
        plain::by::<T, R>(fold, op, |_| vec![], |_, op, values| emulate(op, values))
    }

    /// As [`plain::arg`].
    pub fn arg<'a, T, R>(fold: &'a Fold<'a>, op: R, arg: Arg) -> Choice<'a>
    where
        T: Element + Real + Into<Scalar>,
        R: Reduction<T, Answer = u64, State = Best<Key<T>>>,
    {
        let element = move |best| vec![arg.value::<T>(best).into()];
        plain::by::<T, R>(fold, op, element, |_, op, values| emulate(op, values))
    }
}

/// Operators over the elements that are not NaN.
pub mod ignoring {
    use warpfold::ops::IgnoreNan;

    use super::*;

    /// As [`plain::run`].
    pub fn run<'a, T: Element, Op>(fold: &'a Fold<'a>, op: Op) -> Choice<'a>
    where
        IgnoreNan<Op>: Reduction<T, Answer: Answer>,
    {
        plain::run::<T, _>(fold, IgnoreNan(op))
    }

    /// As [`plain::arg`].
    pub fn arg<'a, T, Op>(fold: &'a Fold<'a>, op: Op, arg: Arg) -> Choice<'a>
    where
        T: Element + Real + Into<Scalar>,
        IgnoreNan<Op>: Reduction<T, Answer = u64, State = Best<Key<T>>>,
    {
        plain::arg::<T, _>(fold, IgnoreNan(op), arg)
    }
}

/// Operators over the elements that a mask selects.
pub mod masked {
    use super::*;

    /// As [`plain::run`].
    pub fn run<'a, T: Element, Op: TakesMask>(fold: &'a Fold<'a>, op: Op) -> Choice<'a>
    where
        Where<Op>: Reduction<Masked<T>, Answer: Answer>,
    {
        locate::<T, Op>(fold, op, |_| vec![])
    }

    /// As [`plain::arg`].
    pub fn arg<'a, T, Op: TakesMask>(fold: &'a Fold<'a>, op: Op, arg: Arg) -> Choice<'a>
    where
        T: Element + Real + Into<Scalar>,
        Where<Op>: Reduction<Masked<T>, Answer = u64, State = Best<Key<T>>>,
    {
        locate::<T, Op>(fold, op, move |best| vec![arg.value::<T>(best).into()])
    }

    fn locate<'a, T: Element, Op: TakesMask>(
        fold: &'a Fold<'a>,
        op: Op,
        elements: impl Fn(<Where<Op> as Reduction<Masked<T>>>::State) -> Vec<Scalar> + 'static,
    ) -> Choice<'a>
    where
        Where<Op>: Reduction<Masked<T>, Answer: Answer>,
    {
        let (elements, mask) = (Box::new(elements), fold.mask.as_ref()?);
        Some(Box::new(UnderMask::<T, Op> {
            fold,
            op,
            elements,
            mask,
        }))
    }
}

/// Operators over the elements that a mask selects and that are not NaN.
pub mod masked_ignoring {
    use warpfold::ops::IgnoreNan;

    use super::*;

    /// As [`plain::run`].
    pub fn run<'a, T: Element, Op>(fold: &'a Fold<'a>, op: Op) -> Choice<'a>
    where
        IgnoreNan<Op>: TakesMask,
        Where<IgnoreNan<Op>>: Reduction<Masked<T>, Answer: Answer>,
    {
        masked::run::<T, _>(fold, IgnoreNan(op))
    }

    /// As [`plain::arg`].
    pub fn arg<'a, T, Op>(fold: &'a Fold<'a>, op: Op, arg: Arg) -> Choice<'a>
    where
        T: Element + Real + Into<Scalar>,
        IgnoreNan<Op>: TakesMask,
        Where<IgnoreNan<Op>>: Reduction<Masked<T>, Answer = u64, State = Best<Key<T>>>,
    {
        masked::arg::<T, _>(fold, IgnoreNan(op), arg)
    }
}

/// Operators over two arrays, element by element.
pub mod pair {
    use super::*;

    /// As [`plain::run`].
    pub fn run<'a, T: Element, R: Reduction<Two<T>, Answer: Answer>>(fold: &'a Fold<'a>, op: R) -> Choice<'a> {
        let (second, items) = (fold.second.as_ref()?, PhantomData);
        Some(Box::new(OfTwo::<T, R> {
            fold,
            op,
            second,
            items,
        }))
    }
}

struct Plain<'a, T: Element, R: Reduction<T>> {
    fold: &'a Fold<'a>,
    op: R,
    elements: Elements<R::State>,
    piece: Piece<R, T, R::State>,
}

impl<T: Element, R: Reduction<T, Answer: Answer>> Folder for Plain<'_, T, R> {
    fn name(&self) -> &'static str {
        R::NAME
    }
    fn dtype(&self) -> DType {
        R::Answer::DTYPE
    }
    fn parts(&self) -> u64 {
        R::Answer::PARTS
    }
    fn entry(&self) -> Result<&'static Entry, Error> {
        self.op.kernel()
    }
    fn open(&self, wanted: Wanted, has_kernel: HasKernel<'_>) -> Result<Opened, Failure> {
        Device::open::<T, R>(wanted, self.op, has_kernel)
    }
    fn whole(&self, device: &Device) -> Result<(Answers, Vec<Scalar>), Failure> {
        let Self { fold, op, .. } = *self;
        let len = device.piece::<T>()?;
        let mut pieces = Pieces::<R, T>::new(op, len as u64)?;
        each_piece::<T::Read>(&fold.array, len, &mut |piece| {
            let state = (self.piece)(device, op, &T::of(piece)?)?;
            let pushed = pieces.push(state, piece.len() as u64);
            pushed.map_err(|error| fold.in_file(error))
        })?;
        let (answer, state) = pieces.finish().map_err(|error| fold.in_file(error))?;
        Ok((fold.one(answer)?, (self.elements)(state)))
    }
    fn segments(&self, device: &Device, division: &Division) -> Result<Answers, Failure> {
        let Self { fold, op, .. } = *self;
        division.fold::<T::Read, _>(&fold.array, device.piece::<T>()?, &mut |values, _, segments| {
            let answers = device.fold_segments(op, &T::of(values)?, segments);
            answers.map_err(|error| fold.in_file(error))
        })
    }
    fn along(&self, device: &Device, axes: &Axes) -> Result<Answers, Failure> {
        let (read, layout) = reading::in_place::<T::Read>(&self.fold.array)?;
        let values = T::of(&read).map_err(|error| self.fold.in_file(error))?;
        let folded = device.fold_axes(self.op, &values, &layout, axes);
        self.fold.along(folded)
    }
}

struct UnderMask<'a, T: Element, Op: TakesMask>
where
    Where<Op>: Reduction<Masked<T>>,
{
    fold: &'a Fold<'a>,
    op: Op,
    elements: Elements<<Where<Op> as Reduction<Masked<T>>>::State>,
    mask: &'a SecondInput,
}

impl<T: Element, Op: TakesMask> Folder for UnderMask<'_, T, Op>
where
    Where<Op>: Reduction<Masked<T>, Answer: Answer>,
{
    fn name(&self) -> &'static str {
        Op::NAME
    }
    fn dtype(&self) -> DType {
        <Where<Op> as Reduction<Masked<T>>>::Answer::DTYPE
    }
    fn parts(&self) -> u64 {
        <Where<Op> as Reduction<Masked<T>>>::Answer::PARTS
    }
    fn entry(&self) -> Result<&'static Entry, Error> {
        Where(self.op).kernel()
    }
    fn open(&self, wanted: Wanted, has_kernel: HasKernel<'_>) -> Result<Opened, Failure> {
        Device::open::<Masked<T>, Where<Op>>(wanted, Where(self.op), has_kernel)
    }
    fn whole(&self, device: &Device) -> Result<(Answers, Vec<Scalar>), Failure> {
        let Self { fold, op, mask, .. } = *self;
        let mask = mask.elements::<u8>()?;
        let len = device.piece::<Masked<T>>()?;
        let mut pieces = Pieces::<Where<Op>, Masked<T>>::new(Where(op), len as u64)?;
        each_piece::<T::Read>(&fold.array, len, &mut |piece| {
            let mask = &mask[pieces.len() as usize..][..piece.len()];
            let state = device.fold_where(op, &T::of(piece)?, mask)?;
            let pushed = pieces.push(state, piece.len() as u64);
            pushed.map_err(|error| fold.in_file(error))
        })?;
        let (answer, state) = pieces.finish().map_err(|error| fold.in_file(error))?;
        Ok((fold.one(answer)?, (self.elements)(state)))
    }
    fn segments(&self, device: &Device, division: &Division) -> Result<Answers, Failure> {
        let Self { fold, op, mask, .. } = *self;
        let mask = mask.elements::<u8>()?;
        division.fold::<T::Read, _>(
            &fold.array,
            device.piece::<Masked<T>>()?,
            &mut |values, first, segments| {
                let mask = &mask[first..][..values.len()];
                let answers = device.fold_where_segments(op, &T::of(values)?, mask, segments);
                answers.map_err(|error| fold.in_file(error))
            },
        )
    }
    fn along(&self, device: &Device, axes: &Axes) -> Result<Answers, Failure> {
        let (read, layout) = reading::in_place::<T::Read>(&self.fold.array)?;
        let mask = reading::in_place::<u8>(&self.mask.tensor)?.0;
        let values = T::of(&read).map_err(|error| self.fold.in_file(error))?;
        let folded = device.fold_where_axes(self.op, (&values, &layout), (&mask, &self.mask.layout), axes);
        self.fold.along(folded)
    }
}

struct OfTwo<'a, T: Element, R: Reduction<Two<T>>> {
    fold: &'a Fold<'a>,
    op: R,
    second: &'a SecondInput,
    items: PhantomData<fn(T)>,
}

impl<T: Element, R: Reduction<Two<T>, Answer: Answer>> Folder for OfTwo<'_, T, R> {
    fn name(&self) -> &'static str {
        R::NAME
    }
    fn dtype(&self) -> DType {
        R::Answer::DTYPE
    }
    fn parts(&self) -> u64 {
        R::Answer::PARTS
    }
    fn entry(&self) -> Result<&'static Entry, Error> {
        self.op.kernel()
    }
    fn open(&self, wanted: Wanted, has_kernel: HasKernel<'_>) -> Result<Opened, Failure> {
        Device::open::<Two<T>, R>(wanted, self.op, has_kernel)
    }
    fn whole(&self, device: &Device) -> Result<(Answers, Vec<Scalar>), Failure> {
        let Self { fold, op, second, .. } = *self;
        let second = second.elements::<T::Read>()?;
        let len = device.piece::<Two<T>>()?;
        let mut pieces = Pieces::<R, Two<T>>::new(op, len as u64)?;
        each_piece::<T::Read>(&fold.array, len, &mut |piece| {
            let second = &second[pieces.len() as usize..][..piece.len()];
            let state = device.fold_pair(op, &T::of(piece)?, &T::of(second)?)?;
            let pushed = pieces.push(state, piece.len() as u64);
            pushed.map_err(|error| fold.in_file(error))
        })?;
        let (answer, _) = pieces.finish().map_err(|error| fold.in_file(error))?;
        Ok((fold.one(answer)?, vec![]))
    }
    fn segments(&self, device: &Device, division: &Division) -> Result<Answers, Failure> {
        let Self { fold, op, second, .. } = *self;
        let second = second.elements::<T::Read>()?;
        division.fold::<T::Read, _>(
            &fold.array,
            device.piece::<Two<T>>()?,
            &mut |values, first, segments| {
                let (values, second) = (T::of(values)?, T::of(&second[first..][..values.len()])?);
                let answers = device.fold_pair_segments(op, &values, &second, segments);
                answers.map_err(|error| fold.in_file(error))
            },
        )
    }
    fn along(&self, device: &Device, axes: &Axes) -> Result<Answers, Failure> {
        let (first, layout) = reading::in_place::<T::Read>(&self.fold.array)?;
        let second = reading::in_place::<T::Read>(&self.second.tensor)?.0;
        let (first, second) = (T::of(&first)?, T::of(&second)?);
        let folded = device.fold_pair_axes(self.op, (&first, &layout), (&second, &self.second.layout), axes);
        self.fold.along(folded)
    }
}
