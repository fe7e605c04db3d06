//! The segments that a command line asks for.

use std::{borrow::Cow, path::Path};

use warpfold::{
    Error,
    files::{DType, Tensor},
    layout::Segments,
};

use crate::{
    Failure,
    answers::{AnswerType, Answers},
    reading,
    room::room,
};

/// How an array is divided.
pub enum Division {
    /// Into segments of so many elements, the last of them shorter where the size does not divide the array. There may be as many as
    /// elements, so their offsets are never in memory all at once.
    BySize { size: u64, len: u64 },
    /// Anywhere.
    ByOffsets(Segments),
}

/// Segments of one size that are folded at once, if a piece of the array has as many: their offsets are 8 MiB then.
const MOST_AT_ONCE: u64 = 1 << 20;

/// Folds the elements of some segments to the bytes of answers. The first of them has that index in the array.
type Fold<'a, Read> = &'a mut dyn FnMut(&[Read], usize, &Segments) -> Result<Vec<u8>, Failure>;

impl Division {
    pub fn by_offsets(file: &Path, offsets: &Tensor, len: u64) -> Result<Self, Failure> {
        let named = |error: Error| -> Failure { format!("{}: {error}", file.display()).into() };
        let segments = Segments::by_offsets(&integers(offsets)?).map_err(named)?;
        segments.check(len).map_err(named)?;
        Ok(Self::ByOffsets(segments))
    }

    /// How many segments.
    pub fn count(&self) -> u64 {
        match self {
            Self::BySize { size, len } => len.div_ceil(*size),
            Self::ByOffsets(segments) => segments.count() as u64,
        }
    }

    /// All of them together.
    pub fn len(&self) -> u64 {
        match self {
            Self::BySize { len, .. } => *len,
            Self::ByOffsets(segments) => segments.len(),
        }
    }

    /// Each of them.
    pub fn all(&self) -> Result<Cow<'_, Segments>, Error> {
        Ok(match self {
            Self::BySize { size, len } => Cow::Owned(Segments::by_size(*len, *size)?),
            Self::ByOffsets(segments) => Cow::Borrowed(segments),
        })
    }

    /// Folds each segment of an array: those of one size as many at a time as a piece of so many elements holds, others at once.
    pub fn fold<Read: reading::Read>(
        &self,
        array: &Tensor,
        piece: usize,
        answer: AnswerType,
        fold: Fold<'_, Read>,
    ) -> Result<Answers, Failure> {
        let named = |error: Error| format!("{}: {error}", array.label().display());
        let mut answers = answer.room(vec![self.count()]).map_err(named)?;
        match self {
            Self::ByOffsets(segments) => answers.bytes.extend(fold(&reading::in_order(array)?, 0, segments)?),
            Self::BySize { size, len } => {
                let size = (*size).min(*len).max(1);
                let at_once = (piece as u64 / size).clamp(1, MOST_AT_ONCE);
                let piece = usize::try_from(at_once * size).unwrap_or(usize::MAX);
                let mut first = 0;
                reading::each_piece(array, piece, &mut |values| {
                    let segments = Segments::by_size(values.len() as u64, size)?;
                    answers.bytes.extend(fold(values, first, &segments)?);
                    first += values.len();
                    Ok(())
                })?;
            }
        }
        Ok(answers)
    }
}

/// An array of integers of any type.
fn integers(array: &Tensor) -> Result<Vec<u64>, Failure> {
    match array.dtype() {
        DType::U8 => numbers::<u8>(array),
        DType::I8 => numbers::<i8>(array),
        DType::U16 => numbers::<u16>(array),
        DType::I16 => numbers::<i16>(array),
        DType::U32 => numbers::<u32>(array),
        DType::I32 => numbers::<i32>(array),
        DType::U64 => numbers::<u64>(array),
        DType::I64 => numbers::<i64>(array),
        _ => {
            let (label, dtype) = (array.label(), array.dtype_name());
            Err(format!("{}: offsets are integers, and it is of {dtype}", label.display()).into())
        }
    }
}

fn numbers<T: reading::Read + TryInto<u64> + std::fmt::Display>(array: &Tensor) -> Result<Vec<u64>, Failure> {
    let read = reading::in_order::<T>(array)?;
    let mut numbers = room(array.len())?;
    for (at, number) in read.into_iter().enumerate() {
        let error = || {
            format!(
                "{}: offset {at} is {number}, and none is negative",
                array.label().display()
            )
        };
        numbers.push(number.try_into().map_err(|_| error())?);
    }
    Ok(numbers)
}
