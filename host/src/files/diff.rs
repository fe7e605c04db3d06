//! In what the arrays of two files differ.

mod sums;

use std::collections::HashMap;

use super::{DType, Tensor, bf16, check::index_of, complex64, complex128, f8e4m3, f8e5m2, f16, reading};
use crate::Error;
use sums::{Compared, DiffSums};

/// When arrays are equal: by default if their bits are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Equality {
    /// If no two elements differ by more than this.
    pub tolerance: Option<f64>,
    /// A NaN is equal to a NaN.
    pub nan_equal: bool,
}

/// In what two arrays differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Whether both have the same type, shape and bits.
    pub equal_bits: bool,
    /// Whether they are equal by what was asked for.
    pub equal: bool,
    /// In what values differ. None of arrays of different shapes.
    pub values: Option<DifferentValues>,
}

/// In what values differ. Elements that are NaN in one alone count as differing, and in no other number.
#[derive(Clone, Debug, PartialEq)]
pub struct DifferentValues {
    /// How many elements differ.
    pub differing: u64,
    /// The largest difference.
    pub largest: f64,
    /// The index of the first element that differs by that much.
    pub at: Option<Vec<u64>>,
    /// The L2 norm of the differences over that of the first array.
    pub relative_l2: f64,
    /// The cosine of the angle between both.
    pub cosine: f64,
}

/// The arrays of two files, by name.
#[derive(Clone, Debug, Default)]
pub struct Matched<'a> {
    /// Those that are compared.
    pub both: Vec<[&'a Tensor; 2]>,
    /// Those that the first alone has.
    pub only_in_a: Vec<&'a Tensor>,
    /// Those that the second alone has.
    pub only_in_b: Vec<&'a Tensor>,
}

impl<'a> Matched<'a> {
    /// Arrays of one name; where each file has one array, these, whatever they are called.
    #[must_use]
    pub fn of(a: &'a [Tensor], b: &'a [Tensor]) -> Self {
        if let ([a], [b]) = (a, b) {
            let both = vec![[a, b]];
            return Self {
                both,
                ..Self::default()
            };
        }
        let mut matched = Self::default();
        let mut others: HashMap<&str, &Tensor> = b.iter().map(|tensor| (name_of(tensor), tensor)).collect();
        for a in a {
            match others.remove(name_of(a)) {
                Some(b) => matched.both.push([a, b]),
                None => matched.only_in_a.push(a),
            }
        }
        matched.only_in_b = b.iter().filter(|tensor| others.contains_key(name_of(tensor))).collect();
        matched
    }
}

/// What an array is called; without a name, as its file is.
#[must_use]
pub fn name_of(tensor: &Tensor) -> &str {
    tensor.called().unwrap_or("")
}

/// What is told how many more bytes of both were read.
type Advance<'a> = &'a mut dyn FnMut(u64);

/// In what two arrays differ, each of which is read once. None where one is of complex numbers and the other of another type.
///
/// # Errors
///
/// Those of their [faults](Tensor::fault), and of [`Tensor::read_at`] and [`Tensor::read`].
pub fn compare(a: &Tensor, b: &Tensor, by: Equality, advance: Advance<'_>) -> Result<Option<Difference>, Error> {
    for tensor in [a, b] {
        tensor.fault().map_or(Ok(()), Err)?;
    }
    if a.shape() != b.shape() {
        return Ok(Some(Difference::default()));
    }
    let Some(sums) = differences(a, b, by.nan_equal, advance)? else {
        return Ok(None);
    };
    let equal_bits = sums.equal_bits && a.dtype() == b.dtype();
    Ok(Some(Difference {
        equal_bits,
        equal: match by.tolerance {
            None => equal_bits || by.nan_equal && sums.differing == 0 && a.dtype() == b.dtype(),
            Some(tolerance) => sums.nan == 0 && sums.largest <= tolerance,
        },
        values: Some(DifferentValues {
            differing: sums.differing,
            largest: sums.largest,
            at: sums.at.map(|at| index_of(at, a.shape())),
            relative_l2: sums.relative_l2(),
            cosine: sums.cosine(),
        }),
    }))
}

/// Elements of a piece.
const PIECE: usize = 1 << 14;
/// Pieces that a thread reads one after the other, into the same buffers.
const PIECES_AT_ONCE: usize = 16;

/// In what the values of two arrays of one shape differ, in pieces that are the same on every machine: arrays of one type as they are, others
/// as float64. None of complex numbers and others.
fn differences(a: &Tensor, b: &Tensor, nan_equal: bool, advance: Advance<'_>) -> Result<Option<DiffSums>, Error> {
    macro_rules! of {
        ($($dtype:ident: $number:ty),*) => {
            match (a.dtype().decoded(), b.dtype().decoded()) {
                $((DType::$dtype, DType::$dtype) => both::<$number>(a, b, nan_equal, advance).map(Some),)*
                (DType::Complex64 | DType::Complex128, _) | (_, DType::Complex64 | DType::Complex128) => Ok(None),
                _ => both::<f64>(a, b, nan_equal, advance).map(Some),
            }
        };
    }
    of!(
        Bool: u8, U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32, I64: i64, F16: f16, Bf16: bf16, F32: f32,
        F64: f64, F8E4M3: f8e4m3, F8E5M2: f8e5m2, Complex64: complex64, Complex128: complex128
    )
}

fn both<T: Compared>(a: &Tensor, b: &Tensor, nan_equal: bool, advance: Advance<'_>) -> Result<DiffSums, Error> {
    let (len, run) = (a.len(), (PIECE * PIECES_AT_ONCE) as u64);
    let mut all = DiffSums::NOTHING;
    let of_piece = |first: u64, a: &[T], b: &[T]| DiffSums::of(first, a, b, nan_equal);
    if a.is_seekable() && b.is_seekable() {
        let of_run = |number: u64| -> Result<DiffSums, Error> {
            let (start, end) = (number * run, (number * run + run).min(len));
            let most = (end - start).min(PIECE as u64) as usize;
            let (mut of_a, mut of_b) = (vec![T::zeroed(); most], vec![T::zeroed(); most]);
            let mut sums = DiffSums::NOTHING;
            for first in (start..end).step_by(PIECE) {
                let size = (end - first).min(PIECE as u64) as usize;
                reading::part(a, first, &mut of_a[..size])?;
                reading::part(b, first, &mut of_b[..size])?;
                sums = sums.and(of_piece(first, &of_a[..size], &of_b[..size]));
            }
            Ok(sums)
        };
        let runs = len.div_ceil(run);
        super::in_order(runs, u64::MAX, &of_run, &mut |sums| -> Result<(), Error> {
            all = all.and(sums);
            advance((a.bytes() + b.bytes()).div_ceil(runs));
            Ok(())
        })?;
        return Ok(all);
    }
    // What comes in order, from archives, is held in memory.
    let (of_a, of_b) = (reading::in_order::<T>(a)?, reading::in_order::<T>(b)?);
    let runs = of_a.chunks(run as usize).zip(of_b.chunks(run as usize));
    for (start, (a, b)) in (0..).step_by(run as usize).zip(runs) {
        let pieces = (start..).step_by(PIECE).zip(a.chunks(PIECE).zip(b.chunks(PIECE)));
        let of_run = pieces.fold(DiffSums::NOTHING, |sums, (first, (a, b))| {
            sums.and(of_piece(first, a, b))
        });
        all = all.and(of_run);
    }
    advance(a.bytes() + b.bytes());
    Ok(all)
}
