//! What folds elements of one type with one operator, and how an array of a file is brought to it.

use std::{borrow::Cow, time::Instant};

use bytemuck::Zeroable as _;
use warpfold::{
    Error, View,
    dynamic::{AnyPieces, Arrays, Function, Target, function, function_of_two, function_where},
    fold::Extent,
    layout::Axes,
    ops::{
        IgnoreNan, Reduction, TakesMask, Where,
        element::{Masked, Real, Two},
        monoids::{Arg, Best, Key, Words},
    },
};
use warpfold_kernels::kernels::Entry;

use crate::{
    Failure,
    answers::{Answer, AnswerType, Answers},
    device::{Copied, Device, Estimate, WHOLE_ONLY, Wanted, emulate, not_emulated},
    fold::{Fold, Folder},
    opened::{HasKernel, Opened},
    progress::Progress,
    reading::{self, FoldElement, each_piece},
    scalar::Scalar,
    segments::Division,
};

/// The operator that was asked for, if there is one of such elements.
pub type Choice<T> = Option<Chosen<T>>;

/// An operator of elements of type `T`: all that is compiled for each of them is in here.
pub struct Chosen<T> {
    function: Box<dyn Function<T>>,
    answer: AnswerType,
    /// Of the words of the state of the whole array, the elements that its answer tells of.
    elements: Elements,
    /// Folds a piece on the emulator to the words of a state, if this program has its kernel there.
    emulated: Option<Emulated<T>>,
}

type Elements = Box<dyn Fn(&[u32]) -> Vec<Scalar>>;
type Emulated<T> = Box<dyn Fn(&[T]) -> Result<Vec<u32>, Failure>>;

impl<T> Chosen<T> {
    fn new<A: Answer>(
        function: Box<dyn Function<T>>,
        elements: impl Fn(&[u32]) -> Vec<Scalar> + 'static,
    ) -> Option<Self> {
        Some(Self {
            function,
            answer: AnswerType::of::<A>(),
            elements: Box::new(elements),
            emulated: None,
        })
    }
}

/// The element that a state of `arg` tells of.
fn selected<T: Real + Into<Scalar>>(arg: Arg) -> impl Fn(&[u32]) -> Vec<Scalar>
where
    Best<Key<T>>: Words,
{
    move |state| vec![arg.value::<T>(Best::from_words(|word| state[word])).into()]
}

/// Operators over all elements.
pub mod plain {
    use super::*;

    /// Answers that speak for themselves.
    pub fn run<T: FoldElement, R: Reduction<T, Answer: Answer>>(op: R) -> Choice<T> {
        Chosen::new::<R::Answer>(function(op), |_| vec![])
    }

    /// An index, as `arg` finds it but for NaN; of the whole array, the element there, too.
    pub fn arg<T, R>(op: R, arg: Arg) -> Choice<T>
    where
        T: FoldElement + Real + Into<Scalar>,
        R: Reduction<T, Answer = u64, State = Best<Key<T>>>,
    {
        Chosen::new::<u64>(function(op), selected::<T>(arg))
    }

    /// Two indices, and the elements there.
    pub fn two_args<T, R>(op: R) -> Choice<T>
    where
        T: FoldElement + Real + Into<Scalar>,
        R: Reduction<T, Answer = (u64, u64), State = (Best<Key<T>>, Best<Key<T>>)>,
    {
        Chosen::new::<(u64, u64)>(function(op), |state| {
            let best = R::State::from_words(|word| state[word]);
            let smallest = Arg::SMALLEST.value::<T>(best.0);
            vec![smallest.into(), Arg::LARGEST.value::<T>(best.1).into()]
        })
    }
}

/// Operators over all elements of a whole array, on the emulator, too.
pub mod emulated {
    use super::*;

    /// As [`plain::run`].
    pub fn run<T: FoldElement, R: Reduction<T, Answer: Answer>>(op: R) -> Choice<T> {
        on_emulator(op, plain::run(op)?)
    }

    /// As [`plain::arg`].
    pub fn arg<T, R>(op: R, arg: Arg) -> Choice<T>
    where
        T: FoldElement + Real + Into<Scalar>,
        R: Reduction<T, Answer = u64, State = Best<Key<T>>>,
    {
        on_emulator(op, plain::arg(op, arg)?)
    }

    fn on_emulator<T: FoldElement, R: Reduction<T>>(op: R, chosen: Chosen<T>) -> Choice<T> {
        let fold = move |values: &[T]| {
            let state = emulate(op, values)?;
            Ok((0..R::State::COUNT).map(|word| state.word(word)).collect())
        };
        Some(Chosen {
            emulated: Some(Box::new(fold)),
            ..chosen
        })
    }
}

/// Operators over the elements that are not NaN.
pub mod ignoring {
    use super::*;

    /// As [`plain::run`].
    pub fn run<T: FoldElement, Op>(op: Op) -> Choice<T>
    where
        IgnoreNan<Op>: Reduction<T, Answer: Answer>,
    {
        plain::run(IgnoreNan(op))
    }

    /// As [`plain::arg`].
    pub fn arg<T, Op>(op: Op, arg: Arg) -> Choice<T>
    where
        T: FoldElement + Real + Into<Scalar>,
        IgnoreNan<Op>: Reduction<T, Answer = u64, State = Best<Key<T>>>,
    {
        plain::arg(IgnoreNan(op), arg)
    }
}

/// Operators over the elements that a mask selects.
pub mod masked {
    use super::*;

    /// As [`plain::run`].
    pub fn run<T: FoldElement, Op: TakesMask>(op: Op) -> Choice<T>
    where
        Where<Op>: Reduction<Masked<T>, Answer: Answer>,
    {
        Chosen::new::<<Where<Op> as Reduction<Masked<T>>>::Answer>(function_where(op), |_| vec![])
    }

    /// As [`plain::arg`].
    pub fn arg<T, Op: TakesMask>(op: Op, arg: Arg) -> Choice<T>
    where
        T: FoldElement + Real + Into<Scalar>,
        Where<Op>: Reduction<Masked<T>, Answer = u64, State = Best<Key<T>>>,
    {
        Chosen::new::<u64>(function_where(op), selected::<T>(arg))
    }
}

/// Operators over the elements that a mask selects and that are not NaN.
pub mod masked_ignoring {
    use super::*;

    /// As [`plain::run`].
    pub fn run<T: FoldElement, Op>(op: Op) -> Choice<T>
    where
        IgnoreNan<Op>: TakesMask,
        Where<IgnoreNan<Op>>: Reduction<Masked<T>, Answer: Answer>,
    {
        masked::run(IgnoreNan(op))
    }

    /// As [`plain::arg`].
    pub fn arg<T, Op>(op: Op, arg: Arg) -> Choice<T>
    where
        T: FoldElement + Real + Into<Scalar>,
        IgnoreNan<Op>: TakesMask,
        Where<IgnoreNan<Op>>: Reduction<Masked<T>, Answer = u64, State = Best<Key<T>>>,
    {
        masked::arg(IgnoreNan(op), arg)
    }
}

/// Operators over two arrays, element by element.
pub mod pair {
    use super::*;

    /// As [`plain::run`].
    pub fn run<T: FoldElement, R: Reduction<Two<T>, Answer: Answer>>(op: R) -> Choice<T> {
        Chosen::new::<R::Answer>(function_of_two(op), |_| vec![])
    }
}

/// An array that is folded by what was chosen.
pub struct Folding<'a, T> {
    pub fold: &'a Fold<'a>,
    pub chosen: Chosen<T>,
}

/// What is read beside the array.
enum SecondArray<T: FoldElement> {
    None,
    Array(Vec<T::Read>),
    Mask(Vec<u8>),
}

impl<T: FoldElement> SecondArray<T> {
    /// An element for each of the array, in C order.
    fn in_order(fold: &Fold<'_>) -> Result<Self, Failure> {
        Ok(match (&fold.mask, &fold.second) {
            (Some(mask), _) => Self::Mask(mask.elements::<u8>()?),
            (_, Some(second)) => Self::Array(second.elements::<T::Read>()?),
            _ => Self::None,
        })
    }

    /// So many of these from one on, as elements.
    fn elements(&self, first: usize, len: usize) -> Result<Cow<'_, [T]>, Error> {
        match self {
            Self::Array(second) => T::of(&second[first..][..len]),
            Self::None | Self::Mask(_) => Ok(Cow::Borrowed(&[])),
        }
    }

    /// An array, and beside it the `elements` and the truths from number `first` on.
    fn beside<'s>(&'s self, values: &'s [T], elements: &'s [T], first: usize) -> Arrays<'s, T> {
        let arrays = Arrays::one(values);
        match self {
            Self::None => arrays,
            Self::Array(_) => arrays.with(elements),
            Self::Mask(mask) => arrays.masked(&mask[first..][..values.len()]),
        }
    }
}

impl<T: FoldElement> Folding<'_, T> {
    /// The answer of all pieces, and the elements that it tells of.
    fn finish(&self, pieces: AnyPieces) -> Result<(Answers, Vec<Scalar>), Failure> {
        let (bytes, state) = pieces.finish().map_err(|error| self.fold.in_file(error))?;
        Ok((self.fold.one(self.answer(), bytes), (self.chosen.elements)(&state)))
    }
}

impl<T: FoldElement> Folder for Folding<'_, T> {
    fn name(&self) -> &'static str {
        self.chosen.function.op().name()
    }
    fn answer(&self) -> AnswerType {
        self.chosen.answer
    }
    fn entry(&self) -> Result<&'static Entry, Error> {
        self.chosen.function.op().kernel()
    }
    fn open(&self, wanted: Wanted, has_kernel: HasKernel<'_>) -> Result<Opened, Failure> {
        Opened::of(wanted, self.chosen.function.op(), has_kernel)
    }
    fn estimate(&self, copied: Copied) -> Result<Option<Estimate>, Failure> {
        let (array, function) = (&self.fold.array, &self.chosen.function);
        // A second array is in memory, and folded with a part of the first here: too little is known of it.
        if !array.is_seekable() || self.fold.mask.is_some() || self.fold.second.is_some() {
            return Ok(None);
        }
        let sample = reading::cpu_piece(function.op());
        let fold = |first: u64, values: &mut Vec<T::Read>| -> Result<(), Failure> {
            reading::part(array, first, values)?;
            function.state(&Target::Cpu, &Arrays::one(&*T::of(values)?))?;
            Ok(())
        };
        Estimate::of(copied, array.bytes(), array.len(), sample as u64, &mut |first, len| {
            let mut values = vec![T::Read::zeroed(); len as usize];
            // Once for what is only slow the first time.
            fold(first, &mut values)?;
            let start = Instant::now();
            fold(first, &mut values)?;
            Ok(start.elapsed())
        })
        .transpose()
    }
    fn whole(&self, device: &Device) -> Result<(Answers, Vec<Scalar>), Failure> {
        let (fold, function) = (self.fold, &self.chosen.function);
        let second = SecondArray::<T>::in_order(fold)?;
        if let (Device::Folding(Target::Cpu), true) = (device, fold.array.is_seekable()) {
            let len = reading::cpu_piece(function.op());
            let (mut pieces, mut progress) = (function.pieces(len as u64)?, Progress::of_bytes(fold.array.bytes()));
            let state = |first: u64, piece: &[T::Read]| -> Result<Vec<u32>, Failure> {
                let (values, first) = (T::of(piece)?, first as usize);
                let elements = second.elements(first, values.len())?;
                Ok(function.state(&Target::Cpu, &second.beside(&values, &elements, first))?)
            };
            reading::map_pieces::<T::Read, _>(&fold.array, len, &mut progress, &state, &mut |state, len| {
                pieces.push(&state, len).map_err(|error| fold.in_file(error))
            })?;
            return self.finish(pieces);
        }
        #[cfg(feature = "cuda")]
        if let (Device::Folding(Target::Gpu(gpu)), SecondArray::None, true) = (device, &second, fold.array.is_seekable())
            // A truth is read as a byte, whose bits may be any.
            && T::TYPE != warpfold::ops::element::Type::Bool
        {
            let op = function.op();
            let pieces = function.pieces(gpu.stream_piece(op))?;
            let fill = |first: u64, bytes: &mut [u8]| {
                reading::part::<T::Read>(&fold.array, first, bytemuck::cast_slice_mut(bytes))
            };
            return self.finish(gpu.fold_stream(op, fold.array.len(), pieces, &fill)?);
        }
        let len = device.piece(function.op())?;
        let mut pieces = function.pieces(len as u64)?;
        each_piece::<T::Read>(&fold.array, len, &mut |piece| {
            let values = T::of(piece)?;
            let first = pieces.len() as usize;
            let elements = second.elements(first, values.len())?;
            let state = match (device, &self.chosen.emulated) {
                (Device::Folding(target), _) => function.state(target, &second.beside(&values, &elements, first))?,
                (Device::Emulator, Some(emulated)) => emulated(&values)?,
                (Device::Emulator, None) => return Err(not_emulated(self.name())),
            };
            let pushed = pieces.push(&state, piece.len() as u64);
            pushed.map_err(|error| fold.in_file(error))
        })?;
        self.finish(pieces)
    }
    fn segments(&self, device: &Device, division: &Division) -> Result<Answers, Failure> {
        let (fold, function) = (self.fold, &self.chosen.function);
        let target = device.folding(WHOLE_ONLY)?;
        let second = SecondArray::<T>::in_order(fold)?;
        let piece = device.piece(function.op())?;
        division.fold::<T::Read>(&fold.array, piece, self.answer(), &mut |values, first, segments| {
            let values = T::of(values)?;
            let elements = second.elements(first, values.len())?;
            let answers = function.answers(target, &second.beside(&values, &elements, first), Extent::In(segments));
            Ok(answers.map_err(|error| fold.in_file(error))?.bytes)
        })
    }
    fn along(&self, device: &Device, axes: &Axes) -> Result<Answers, Failure> {
        let (fold, target) = (self.fold, device.folding(WHOLE_ONLY)?);
        let (read, layout) = reading::in_place::<T::Read>(&fold.array)?;
        let values = T::of(&read).map_err(|error| fold.in_file(error))?;
        let arrays = Arrays::one(View::new(&values, &layout)?);
        let (second, read, mask);
        let arrays = match (&fold.mask, &fold.second) {
            (Some(by), _) => {
                mask = reading::in_place::<u8>(&by.named.tensor)?.0;
                arrays.masked(View::new(&mask, &by.layout)?)
            }
            (_, Some(with)) => {
                read = reading::in_place::<T::Read>(&with.named.tensor)?.0;
                second = T::of(&read)?;
                arrays.with(View::new(&second, &with.layout)?)
            }
            _ => arrays,
        };
        let answers = self.chosen.function.answers(target, &arrays, Extent::Along(axes));
        let answers = answers.map_err(|error| fold.in_file(error))?;
        Ok(self.answer().answers(answers.shape, answers.bytes))
    }
}
