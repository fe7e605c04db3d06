//! `warpfold diff`: in what the arrays of two files differ.

mod sums;

use std::{collections::HashMap, path::PathBuf};

use serde::Serialize;
use warpfold::files::{self, DType, Tensor, bf16, complex64, complex128, f8e4m3, f8e5m2, f16};

use crate::{
    Failure, check::index_of, clock, device, inputs::Inputs, progress::Progress, reading, report::tuple,
    scalar::Scalar, shown::Shown, values,
};
use sums::{Compared, DiffSums};

/// `warpfold diff`.
#[derive(clap::Args)]
pub struct Args {
    /// The first: a file or a folder; FILE:NAME for one array, FILE:PATTERN for several.
    a: PathBuf,
    /// The second. Arrays of one name are compared; where each has one array, these are.
    b: PathBuf,
    /// Arrays are equal if no two elements differ by more than this; without it, if their bits are.
    #[arg(long, value_name = "T", value_parser = values::tolerance, allow_hyphen_values = true)]
    tolerance: Option<f64>,
    /// A NaN is equal to a NaN.
    #[arg(long)]
    nan_equal: bool,
    /// Prints one JSON object: tensors (a list, an object for each), only_in_a, only_in_b, unread, equal, seconds.
    #[arg(long)]
    json: bool,
}

/// In what two arrays of one name differ.
#[derive(Serialize)]
struct Pair {
    name: String,
    dtypes: [String; 2],
    shapes: [Vec<u64>; 2],
    /// Whether both have the same type, shape and bits.
    equal_bits: bool,
    /// Whether they are equal by what was asked for.
    equal: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<DiffValues>,
}

/// In what values differ. Elements that are NaN in one alone count as differing, and in no other number.
#[derive(Serialize)]
struct DiffValues {
    /// How many elements differ.
    differing: u64,
    largest_difference: Scalar,
    /// The index of the first element that differs by that much.
    at: Option<Vec<u64>>,
    /// The L2 norm of the differences over that of the first array.
    relative_l2: Scalar,
    cosine: Scalar,
}

/// In what two files differ.
#[derive(Serialize)]
pub struct Report {
    tensors: Vec<Pair>,
    only_in_a: Vec<String>,
    only_in_b: Vec<String>,
    /// What could not be compared.
    unread: Vec<String>,
    equal: bool,
    seconds: f64,
    #[serde(skip)]
    bytes: u64,
    #[serde(skip)]
    json: bool,
}

impl Report {
    /// 0 where both are equal, 1 where they differ, 2 where something could not be compared.
    pub fn exit_code(&self) -> u8 {
        match (self.equal, self.unread.is_empty()) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 0,
        }
    }

    /// A line for each array that differs, or is in one alone, and one for all.
    pub fn text(&self) -> Result<String, Failure> {
        if self.json {
            return Ok(serde_json::to_string(self)?);
        }
        let mut lines: Vec<String> = self
            .tensors
            .iter()
            .filter(|pair| !pair.equal_bits || !pair.equal)
            .map(Pair::line)
            .collect();
        let only = |which: &'static str| move |name: &String| format!("{}: only in the {which}", Shown(name));
        lines.extend(self.only_in_a.iter().map(only("first")));
        lines.extend(self.only_in_b.iter().map(only("second")));
        lines.extend(
            self.unread
                .iter()
                .map(|unread| format!("not compared: {}", Shown(unread))),
        );
        let same = self.tensors.iter().filter(|pair| pair.equal_bits).count();
        let more = self
            .tensors
            .iter()
            .filter(|pair| pair.equal && !pair.equal_bits)
            .count();
        lines.push(format!(
            "{} of {} arrays are equal to the bit{}, {} bytes in {:.3} s, {:.3} GB/s",
            same,
            self.tensors.len(),
            match more {
                0 => String::new(),
                more => format!(", {more} more by what was asked for"),
            },
            self.bytes,
            self.seconds,
            self.bytes as f64 / self.seconds.max(1e-9) / 1e9,
        ));
        Ok(lines.join("\n"))
    }
}

impl Pair {
    fn line(&self) -> String {
        let name = Shown(&self.name);
        let [a, b] = &self.shapes;
        let Some(values) = &self.values else {
            return format!("{name}: shape {} and {}", tuple(a), tuple(b));
        };
        let [first, second] = &self.dtypes;
        let dtypes = match first == second {
            true => String::new(),
            false => format!("{first} and {second}, "),
        };
        let at = values.at.as_ref().map_or(String::new(), |at| format!(" at {at:?}"));
        format!(
            "{name}: {dtypes}{} of {} elements differ, largest difference {}{at}, relative L2 {}, cosine {}",
            values.differing,
            a.iter().product::<u64>(),
            values.largest_difference,
            values.relative_l2,
            values.cosine,
        )
    }
}

/// Does what the command line asks for.
pub fn run(args: &Args) -> Report {
    let [a, b] = [Inputs::open(&args.a), Inputs::open(&args.b)];
    device::warn_of_threads();
    let faults = [&a, &b].map(|inputs| {
        let foreign = inputs.foreign.iter().map(ToString::to_string);
        inputs.faults.iter().cloned().chain(foreign)
    });
    let mut report = Report {
        tensors: vec![],
        only_in_a: vec![],
        only_in_b: vec![],
        unread: faults.into_iter().flatten().collect(),
        equal: true,
        seconds: 0.0,
        bytes: 0,
        json: args.json,
    };
    if !report.unread.is_empty() {
        // Of what is not all there, nothing is said.
        return report;
    }
    let mut progress = Progress::of_bytes(a.tensors.iter().chain(&b.tensors).map(Tensor::bytes).sum());
    let mut compare = |name: String, a: &Tensor, b: &Tensor, report: &mut Report| {
        report.bytes += a.bytes() + b.bytes();
        match args.compare(&name, a, b, &mut progress) {
            Ok(pair) => {
                report.equal &= pair.equal;
                report.tensors.push(pair);
            }
            Err(error) => report.unread.push(error.to_string()),
        }
    };
    match (&a.tensors[..], &b.tensors[..]) {
        // Whatever they are called.
        ([a], [b]) => compare(name_of(a).to_owned(), a, b, &mut report),
        _ => {
            let mut others: HashMap<&str, &Tensor> = b.tensors.iter().map(|tensor| (name_of(tensor), tensor)).collect();
            for a in &a.tensors {
                match others.remove(name_of(a)) {
                    Some(b) => compare(name_of(a).to_owned(), a, b, &mut report),
                    None => report.only_in_a.push(name_of(a).to_owned()),
                }
            }
            let left = b.tensors.iter().map(name_of).filter(|name| others.contains_key(name));
            report.only_in_b.extend(left.map(str::to_owned));
            report.equal &= report.only_in_a.is_empty() && report.only_in_b.is_empty();
        }
    }
    report.seconds = clock::seconds();
    report
}

/// What an array is called; without a name, as its file is.
fn name_of(tensor: &Tensor) -> &str {
    tensor.called().unwrap_or("")
}

impl Args {
    fn compare(&self, name: &str, a: &Tensor, b: &Tensor, progress: &mut Progress) -> Result<Pair, Failure> {
        for tensor in [a, b] {
            tensor.fault().map_or(Ok(()), Err)?;
        }
        let mut pair = Pair {
            name: name.to_owned(),
            dtypes: [a, b].map(|tensor| tensor.dtype_name().to_owned()),
            shapes: [a, b].map(|tensor| tensor.shape().to_vec()),
            equal_bits: false,
            equal: false,
            values: None,
        };
        if a.shape() != b.shape() {
            return Ok(pair);
        }
        let sums = differences(a, b, self.nan_equal, progress)?;
        pair.equal_bits = sums.equal_bits && a.dtype() == b.dtype();
        pair.equal = match self.tolerance {
            None => pair.equal_bits || self.nan_equal && sums.differing == 0 && a.dtype() == b.dtype(),
            Some(tolerance) => sums.nan == 0 && sums.largest <= tolerance,
        };
        pair.values = Some(DiffValues {
            differing: sums.differing,
            largest_difference: sums.largest.into(),
            at: sums.at.map(|at| index_of(at, a.shape())),
            relative_l2: sums.relative_l2().into(),
            cosine: sums.cosine().into(),
        });
        Ok(pair)
    }
}

/// Elements of a piece.
const PIECE: usize = 1 << 14;
/// Pieces that a thread reads one after the other, into the same buffers.
const PIECES_AT_ONCE: usize = 16;

/// In what the values of two arrays of one shape differ, in pieces that are the same on every machine: arrays of one type as they are, others
/// as float64.
fn differences(a: &Tensor, b: &Tensor, nan_equal: bool, progress: &mut Progress) -> Result<DiffSums, Failure> {
    macro_rules! of {
        ($($dtype:ident: $number:ty),*) => {
            match (a.dtype().decoded(), b.dtype().decoded()) {
                $((DType::$dtype, DType::$dtype) => both::<$number>(a, b, nan_equal, progress),)*
                (DType::Complex64 | DType::Complex128, _) | (_, DType::Complex64 | DType::Complex128) => Err(format!(
                    "{} is of {}, and {} of {}: complex numbers are compared with those of their type",
                    a.label().display(),
                    a.dtype_name(),
                    b.label().display(),
                    b.dtype_name()
                )
                .into()),
                _ => both::<f64>(a, b, nan_equal, progress),
            }
        };
    }
    of!(
        Bool: u8, U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32, I64: i64, F16: f16, Bf16: bf16, F32: f32,
        F64: f64, F8E4M3: f8e4m3, F8E5M2: f8e5m2, Complex64: complex64, Complex128: complex128
    )
}

fn both<T: Compared>(a: &Tensor, b: &Tensor, nan_equal: bool, progress: &mut Progress) -> Result<DiffSums, Failure> {
    let (len, run) = (a.len(), (PIECE * PIECES_AT_ONCE) as u64);
    let mut all = DiffSums::NOTHING;
    let of_piece = |first: u64, a: &[T], b: &[T]| DiffSums::of(first, a, b, nan_equal);
    if a.is_seekable() && b.is_seekable() {
        let of_run = |number: u64| -> Result<DiffSums, Failure> {
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
        files::in_order(runs, u64::MAX, &of_run, &mut |sums| -> Result<(), Failure> {
            all = all.and(sums);
            progress.advance((a.bytes() + b.bytes()).div_ceil(runs));
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
    progress.advance(a.bytes() + b.bytes());
    Ok(all)
}
