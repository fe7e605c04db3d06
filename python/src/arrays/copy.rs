//! Where elements lie, and copies of arrays that are not aligned.

use pyo3::{
    PyResult,
    exceptions::{PyMemoryError, PyTypeError},
};
use warpfold::ops::element::{Type, f16};

use super::{Array, Device, Hold};
use crate::dtypes;

/// What addresses of elements are multiples of.
pub(super) fn alignment(element: Type) -> usize {
    match element {
        Type::Complex64 => 4,
        Type::Complex128 => 8,
        element => element.bytes(),
    }
}

/// The steps of an array in C order.
pub(super) fn c_strides(shape: &[u64]) -> Vec<i64> {
    let mut step = 1;
    let mut strides: Vec<i64> = shape
        .iter()
        .rev()
        .map(|extent| {
            let next = step * (*extent).max(1) as i64;
            std::mem::replace(&mut step, next)
        })
        .collect();
    strides.reverse();
    strides
}

impl Array<'_> {
    /// A copy in C order of an array in host memory.
    ///
    /// # Errors
    ///
    /// `MemoryError`.
    pub(super) fn copied(&self) -> PyResult<Vec<u128>> {
        let bytes = self.element.bytes() as i64;
        let steps: Vec<i64> = self.strides.iter().map(|stride| stride * bytes).collect();
        copied(self.first, &self.shape, &steps, self.element)
    }

    /// The same array in that copy.
    pub(super) fn in_copy(mut self, element: Type, copy: Vec<u128>) -> Self {
        self.element = element;
        self.first = copy.as_ptr() as usize;
        self.strides = c_strides(&self.shape);
        self.hold = Hold::Copy(copy);
        self
    }

    /// The numbers of a buffer of the standard library's as float64.
    ///
    /// # Errors
    ///
    /// `TypeError` of complex numbers.
    pub(super) fn buffer_as_f64(self) -> PyResult<Self> {
        debug_assert!(self.device == Device::Cpu, "in host memory");
        let copy = self.copied()?;
        let bytes = &bytemuck::cast_slice::<u128, u8>(&copy)[..self.bytes() as usize];
        macro_rules! wide {
            ($($name:ident: $number:ty),*) => {
                match self.element {
                    $(Type::$name => bytemuck::cast_slice::<u8, $number>(bytes).iter().map(|number| *number as f64).collect(),)*
                    Type::F16 => bytemuck::cast_slice::<u8, f16>(bytes).iter().map(|number| number.to_f64()).collect(),
                    other => {
                        let name = dtypes::name(other);
                        return Err(PyTypeError::new_err(format!("a buffer of {name} is not cast to float64")));
                    }
                }
            };
        }
        let numbers: Vec<f64> = wide!(
            Bool: u8, I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64, F32: f32, F64: f64
        );
        let mut wide = room(Some(numbers.len()), size_of::<f64>())?;
        bytemuck::cast_slice_mut::<u128, f64>(&mut wide)[..numbers.len()].copy_from_slice(&numbers);
        Ok(self.in_copy(Type::F64, wide))
    }
}

/// A copy in C order of elements at those steps in bytes.
///
/// # Errors
///
/// `MemoryError`.
pub(super) fn copied(first: usize, shape: &[u64], steps: &[i64], element: Type) -> PyResult<Vec<u128>> {
    let bytes = element.bytes();
    let len = shape
        .iter()
        .try_fold(1, |len: usize, extent| len.checked_mul(*extent as usize));
    let mut copy = room(len, bytes)?;
    let len = len.unwrap_or(0);
    let places = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut copy)[..len * bytes];
    match bytes {
        1 => copy_to::<1>(places, first, shape, steps),
        2 => copy_to::<2>(places, first, shape, steps),
        4 => copy_to::<4>(places, first, shape, steps),
        8 => copy_to::<8>(places, first, shape, steps),
        _ => copy_to::<16>(places, first, shape, steps),
    }
    Ok(copy)
}

/// Room for so many elements of so many bytes.
fn room(len: Option<usize>, bytes: usize) -> PyResult<Vec<u128>> {
    let words = len
        .and_then(|len| len.checked_mul(bytes))
        .map(|bytes| bytes.div_ceil(16).max(1));
    let mut room = vec![];
    match words.map(|words| room.try_reserve_exact(words)) {
        Some(Ok(())) => room.resize(words.unwrap_or(0), 0),
        _ => {
            return Err(PyMemoryError::new_err(
                "no memory for a copy of an array that is not in order",
            ));
        }
    }
    Ok(room)
}

/// Elements of so many bytes, the last axis in a loop of its own.
fn copy_to<const BYTES: usize>(places: &mut [u8], first: usize, shape: &[u64], steps: &[i64]) {
    let (places, _) = places.as_chunks_mut::<BYTES>();
    let (last, outer) = shape
        .split_last()
        .map_or((1, shape), |(last, outer)| (*last as usize, outer));
    let step = steps.last().copied().unwrap_or(0);
    let mut index = vec![0_u64; outer.len()];
    for run in places.chunks_exact_mut(last.max(1)) {
        let at: i64 = index.iter().zip(steps).map(|(i, step)| *i as i64 * step).sum();
        for (i, place) in run.iter_mut().enumerate() {
            let from = (first as i64 + at + i as i64 * step) as *const [u8; BYTES];
            // SAFETY: its library says that this element is the array's; bytes are aligned anywhere.
            *place = unsafe { from.read() };
        }
        for (i, extent) in index.iter_mut().zip(outer).rev() {
            *i += 1;
            if *i < *extent {
                break;
            }
            *i = 0;
        }
    }
}
