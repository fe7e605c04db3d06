//! The segments that a command line asks for.

use std::path::Path;

use warpfold::{
    Error,
    files::{DType, Element, Tensor, TensorFile},
    layout::Segments,
};

use crate::{Failure, Reduce};

/// The segments of an array of `len` elements; none if no segments are asked for.
pub fn of(args: &Reduce, len: u64) -> Result<Option<Segments>, Failure> {
    if let Some(size) = args.segment_size {
        return Ok(Some(Segments::by_size(len, size)?));
    }
    let Some(file) = &args.offsets else {
        return Ok(None);
    };
    let named = |error: Error| -> Failure { format!("{}: {error}", file.display()).into() };
    let segments = Segments::by_offsets(&offsets(file)?).map_err(named)?;
    segments.check(len).map_err(named)?;
    Ok(Some(segments))
}

/// An array of integers of any type.
fn offsets(file: &Path) -> Result<Vec<u64>, Failure> {
    let array = TensorFile::open(file)?.one()?;
    match array.dtype() {
        DType::U8 => numbers::<u8>(&array),
        DType::I8 => numbers::<i8>(&array),
        DType::U16 => numbers::<u16>(&array),
        DType::I16 => numbers::<i16>(&array),
        DType::U32 => numbers::<u32>(&array),
        DType::I32 => numbers::<i32>(&array),
        DType::U64 => numbers::<u64>(&array),
        DType::I64 => numbers::<i64>(&array),
        _ => {
            let (label, dtype) = (array.label(), array.dtype_name());
            Err(format!("{}: offsets are integers, and it is of {dtype}", label.display()).into())
        }
    }
}

fn numbers<T: Element + TryInto<u64> + std::fmt::Display>(array: &Tensor) -> Result<Vec<u64>, Failure> {
    let number = |(at, number): (usize, T)| {
        let error = || {
            format!(
                "{}: offset {at} is {number}, and none is negative",
                array.label().display()
            )
        };
        number.try_into().map_err(|_| error())
    };
    let numbers: Result<_, String> = array.read::<T>()?.into_iter().enumerate().map(number).collect();
    Ok(numbers?)
}
