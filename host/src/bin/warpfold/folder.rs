//! What folds elements of one type with one operator, and how an array of a file is brought to it.

use std::{borrow::Cow, time::Instant};

use bytemuck::Zeroable as _;
use warpfold::{
    Error, View,
    dynamic::{AnyPieces, Arrays, Function, Target},
    fold::Extent,
    layout::Axes,
};
use warpfold_kernels::kernels::Entry;

use crate::{
    Failure,
    answers::{AnswerType, Answers},
    device::{Copied, Device, Estimate, WHOLE_ONLY, Wanted, not_emulated},
    fold::{Fold, Folder},
    opened::{HasKernel, Opened},
    progress::Progress,
    reading::{self, FoldElement, each_piece},
    scalar::Scalar,
    segments::Division,
};

/// Folds a piece on the emulator to the words of a state.
pub type Emulated<T> = Box<dyn Fn(&[T]) -> Result<Vec<u32>, Failure>>;

/// An array that is folded by what was chosen.
pub struct Folding<'a, T> {
    pub fold: &'a Fold<'a>,
    pub function: Box<dyn Function<T>>,
    /// The same on the emulator, if it is asked for.
    pub emulated: Option<Emulated<T>>,
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

impl<T: FoldElement + Into<Scalar>> Folding<'_, T> {
    /// The answer of all pieces, and the elements that it tells of.
    fn finish(&self, pieces: AnyPieces) -> Result<(Answers, Vec<Scalar>), Failure> {
        let (bytes, state) = pieces.finish().map_err(|error| self.fold.in_file(error))?;
        Ok((
            self.fold.one(self.answer(), bytes),
            self.function.selected(&state).into_iter().map(Into::into).collect(),
        ))
    }
}

impl<T: FoldElement + Into<Scalar>> Folder for Folding<'_, T> {
    fn name(&self) -> &'static str {
        self.function.op().name()
    }
    fn answer(&self) -> AnswerType {
        AnswerType::of(self.function.answer())
    }
    fn entry(&self) -> Result<&'static Entry, Error> {
        self.function.op().kernel()
    }
    fn open(&self, wanted: Wanted, has_kernel: HasKernel<'_>) -> Result<Opened, Failure> {
        Opened::of(wanted, self.function.op(), has_kernel)
    }
    fn estimate(&self, copied: Copied) -> Result<Option<Estimate>, Failure> {
        let (array, function) = (&self.fold.array, &self.function);
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
        let (fold, function) = (self.fold, &self.function);
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
            let state = match (device, &self.emulated) {
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
        let (fold, function) = (self.fold, &self.function);
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
        let answers = self.function.answers(target, &arrays, Extent::Along(axes));
        let answers = answers.map_err(|error| fold.in_file(error))?;
        Ok(self.answer().answers(answers.shape, answers.bytes))
    }
}
