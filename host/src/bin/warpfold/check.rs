//! `warpfold check`: whether the arrays of files hold NaN or infinities, and the files are whole.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;
use warpfold::files::{DType, Tensor, bf16, complex64, complex128, f8e4m3, f8e5m2, f16};

use crate::{
    Failure, clock, device,
    inputs::Inputs,
    progress::Progress,
    reading::{self, Read},
    shown::Shown,
};

/// `warpfold check`.
#[derive(clap::Args)]
pub struct Args {
    /// The files or folders; FILE:NAME for one array, FILE:PATTERN for several.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Makes faults of what is a warning: zeros (all elements are 0), constant (all elements are equal).
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    deny: Vec<CheckKind>,
    /// Leaves out what would be a fault or a warning: nan, inf, zeros, constant.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "WHAT",
        conflicts_with = "deny"
    )]
    allow: Vec<CheckKind>,
    /// Prints one JSON object: faults, warnings and unread (lists of tensor, kind, count, first, message), tensors, bytes, seconds.
    #[arg(long)]
    json: bool,
}

/// What can be found in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum CheckKind {
    Nan,
    Inf,
    Zeros,
    Constant,
    /// The file itself is short, spoiled or missing.
    #[value(skip)]
    File,
}

impl CheckKind {
    fn is_warning(self) -> bool {
        matches!(self, Self::Zeros | Self::Constant)
    }
}

/// Something that was found.
#[derive(Serialize)]
struct Finding {
    tensor: String,
    kind: CheckKind,
    /// How many elements.
    count: u64,
    /// The index of the first, in C order.
    first: Option<Vec<u64>>,
    message: String,
}

/// What was found in all files.
#[derive(Serialize)]
pub struct Report {
    faults: Vec<Finding>,
    warnings: Vec<Finding>,
    /// Arrays of types that were not looked at, and files that are none.
    unread: Vec<String>,
    tensors: usize,
    bytes: u64,
    seconds: f64,
    #[serde(skip)]
    json: bool,
}

impl Report {
    /// 0 where nothing is wrong, 1 where something is, 2 where something was not looked at.
    pub fn exit_code(&self) -> u8 {
        match (self.faults.is_empty(), self.unread.is_empty()) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 0,
        }
    }

    /// A line a fault, a line a warning, and one for all.
    pub fn text(&self) -> Result<String, Failure> {
        if self.json {
            return Ok(serde_json::to_string(self)?);
        }
        let line = |level: &'static str| move |finding: &Finding| format!("{level}: {}", Shown(&finding.message));
        let mut lines: Vec<String> = self.faults.iter().map(line("fault")).collect();
        lines.extend(self.warnings.iter().map(line("warning")));
        lines.extend(
            self.unread
                .iter()
                .map(|unread| format!("not checked: {}", Shown(unread))),
        );
        lines.push(format!(
            "{}, {} bytes in {:.3} s, {:.3} GB/s: {}, {}{}",
            counted(self.tensors, "array"),
            self.bytes,
            self.seconds,
            self.bytes as f64 / self.seconds.max(1e-9) / 1e9,
            counted(self.faults.len(), "fault"),
            counted(self.warnings.len(), "warning"),
            match self.unread.len() {
                0 => String::new(),
                some => format!(", {some} not checked"),
            }
        ));
        Ok(lines.join("\n"))
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Does what the command line asks for.
pub fn run(args: &Args) -> Report {
    device::warn_of_threads();
    let mut report = Report {
        faults: vec![],
        warnings: vec![],
        unread: vec![],
        tensors: 0,
        bytes: 0,
        seconds: 0.0,
        json: args.json,
    };
    for path in &args.files {
        let inputs = Inputs::open(path);
        for fault in inputs.faults {
            report.faults.push(Finding {
                tensor: path.display().to_string(),
                kind: CheckKind::File,
                count: 0,
                first: None,
                message: fault,
            });
        }
        report.unread.extend(inputs.foreign.iter().map(ToString::to_string));
        let mut progress = Progress::of_bytes(inputs.tensors.iter().map(Tensor::bytes).sum());
        for tensor in &inputs.tensors {
            args.check(tensor, &mut progress, &mut report);
        }
    }
    report.seconds = clock::seconds();
    report
}

impl Args {
    fn check(&self, tensor: &Tensor, progress: &mut Progress, report: &mut Report) {
        let label = tensor.label().display().to_string();
        let found = match found(tensor, progress) {
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                report.faults.push(Finding {
                    tensor: label,
                    kind: CheckKind::File,
                    count: 0,
                    first: None,
                    message: error.to_string(),
                });
                return;
            }
            None => {
                let dtype = tensor.dtype_name();
                report
                    .unread
                    .push(format!("{label}: elements of type {dtype} are not read"));
                return;
            }
        };
        report.tensors += 1;
        report.bytes += tensor.bytes();
        for (kind, count, first, what) in found.findings(tensor.len()) {
            if self.allow.contains(&kind) {
                continue;
            }
            let first = first.map(|first| index_of(first, tensor.shape()));
            let at = first
                .as_ref()
                .map_or(String::new(), |first| format!(", first at {first:?}"));
            let finding = Finding {
                message: format!("{label}: {what}{at}"),
                tensor: label.clone(),
                kind,
                count,
                first,
            };
            match kind.is_warning() && !self.deny.contains(&kind) {
                true => report.warnings.push(finding),
                false => report.faults.push(finding),
            }
        }
    }
}

/// The index of an element along each axis, in C order.
pub fn index_of(element: u64, shape: &[u64]) -> Vec<u64> {
    let mut left = element;
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|extent| {
            let at = left % extent.max(&1);
            left /= extent.max(&1);
            at
        })
        .collect();
    index.reverse();
    index
}

/// What is in an array, or a run of one.
#[derive(Clone, Copy, Default)]
struct CheckFound {
    nan: u64,
    infinite: u64,
    /// The first of either.
    first_nan: Option<u64>,
    first_infinite: Option<u64>,
    /// Whether all elements have the bits of the first one of the array; and that one is 0, of either sign.
    is_constant: bool,
    is_zero: bool,
}

impl CheckFound {
    /// With what is in the run that follows.
    fn and(self, next: Self) -> Self {
        Self {
            nan: self.nan + next.nan,
            infinite: self.infinite + next.infinite,
            first_nan: self.first_nan.or(next.first_nan),
            first_infinite: self.first_infinite.or(next.first_infinite),
            is_constant: self.is_constant && next.is_constant,
            is_zero: self.is_zero && next.is_zero,
        }
    }

    /// What is to be told of an array of so many elements.
    fn findings(self, len: u64) -> Vec<(CheckKind, u64, Option<u64>, String)> {
        let mut findings = vec![];
        if self.nan > 0 {
            let what = format!("{} of {len} elements are NaN", self.nan);
            findings.push((CheckKind::Nan, self.nan, self.first_nan, what));
        }
        if self.infinite > 0 {
            let what = format!("{} of {len} elements are infinite", self.infinite);
            findings.push((CheckKind::Inf, self.infinite, self.first_infinite, what));
        }
        // Of one element that says nothing.
        if findings.is_empty() && len > 1 {
            if self.is_zero {
                findings.push((CheckKind::Zeros, len, None, format!("all {len} elements are 0")));
            } else if self.is_constant {
                findings.push((CheckKind::Constant, len, None, format!("all {len} elements are equal")));
            }
        }
        findings
    }
}

/// Elements that are checked.
trait Checked: Read + PartialEq {
    /// Whether it is neither NaN nor infinite.
    fn is_finite(self) -> bool;
    fn is_nan(self) -> bool;
}

macro_rules! floats {
    ($($float:ty)*) => {
        $(impl Checked for $float {
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
        })*
    };
}

macro_rules! by_f32 {
    ($($float:ty)*) => {
        $(impl Checked for $float {
            fn is_finite(self) -> bool {
                self.to_f32().is_finite()
            }
            fn is_nan(self) -> bool {
                self.to_f32().is_nan()
            }
        })*
    };
}

macro_rules! halves {
    ($($half:ty, $exponent:literal)*) => {
        $(impl Checked for $half {
            fn is_finite(self) -> bool {
                self.to_bits() & $exponent != $exponent
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
        })*
    };
}

macro_rules! complex {
    ($($complex:ty)*) => {
        $(impl Checked for $complex {
            fn is_finite(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }
            fn is_nan(self) -> bool {
                self.re.is_nan() || self.im.is_nan()
            }
        })*
    };
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl Checked for $integer {
            fn is_finite(self) -> bool {
                true
            }
            fn is_nan(self) -> bool {
                false
            }
        })*
    };
}

floats!(f32 f64);
halves!(f16, 0x7c00 bf16, 0x7f80);
by_f32!(f8e4m3 f8e5m2);
complex!(complex64 complex128);
integers!(u8 u16 u32 u64 i8 i16 i32 i64);

/// What is in an array, if its elements are of a type that is read.
fn found(tensor: &Tensor, progress: &mut Progress) -> Option<Result<CheckFound, Failure>> {
    if let Some(fault) = tensor.fault() {
        return Some(Err(fault.into()));
    }
    Some(match tensor.dtype().decoded() {
        DType::Bool | DType::U8 => found_of::<u8>(tensor, progress),
        DType::U16 => found_of::<u16>(tensor, progress),
        DType::U32 => found_of::<u32>(tensor, progress),
        DType::U64 => found_of::<u64>(tensor, progress),
        DType::I8 => found_of::<i8>(tensor, progress),
        DType::I16 => found_of::<i16>(tensor, progress),
        DType::I32 => found_of::<i32>(tensor, progress),
        DType::I64 => found_of::<i64>(tensor, progress),
        DType::F16 => found_of::<f16>(tensor, progress),
        DType::Bf16 => found_of::<bf16>(tensor, progress),
        DType::F32 => found_of::<f32>(tensor, progress),
        DType::F64 => found_of::<f64>(tensor, progress),
        DType::F8E4M3 => found_of::<f8e4m3>(tensor, progress),
        DType::F8E5M2 => found_of::<f8e5m2>(tensor, progress),
        DType::Complex64 => found_of::<complex64>(tensor, progress),
        DType::Complex128 => found_of::<complex128>(tensor, progress),
        _ => return None,
    })
}

/// Elements that are looked at together: where all of them are finite, none of them is looked at again.
const BLOCK: usize = 1 << 10;

fn found_of<T: Checked>(tensor: &Tensor, progress: &mut Progress) -> Result<CheckFound, Failure> {
    let piece = (1 << 18) / size_of::<T>();
    let mut all = CheckFound {
        is_constant: true,
        is_zero: true,
        ..CheckFound::default()
    };
    if tensor.is_empty() {
        return Ok(all);
    }
    // Constant is what has the first element's value in every piece, so that is read first.
    let mut head = None;
    let in_piece = |first: u64, values: &[T], head: T| -> CheckFound {
        let mut found = CheckFound {
            is_constant: values.iter().all(|value| *value == head),
            ..CheckFound::default()
        };
        found.is_zero = found.is_constant && head == T::zeroed();
        for (block, values) in values.chunks(BLOCK).enumerate() {
            if values.iter().fold(true, |all, value| all & value.is_finite()) {
                continue;
            }
            for (at, value) in values.iter().enumerate().filter(|(_, value)| !value.is_finite()) {
                let index = first + (block * BLOCK + at) as u64;
                if value.is_nan() {
                    found.nan += 1;
                    found.first_nan.get_or_insert(index);
                } else {
                    found.infinite += 1;
                    found.first_infinite.get_or_insert(index);
                }
            }
        }
        found
    };
    if tensor.is_seekable() {
        let mut one = [T::zeroed()];
        reading::part(tensor, 0, &mut one)?;
        let map = |first: u64, values: &[T]| Ok(in_piece(first, values, one[0]));
        reading::map_pieces(tensor, piece, progress, &map, &mut |found, _| {
            all = all.and(found);
            Ok(())
        })?;
    } else {
        let mut first = 0;
        reading::each_piece::<T>(tensor, piece, &mut |values| {
            let head = *head.get_or_insert(values[0]);
            all = all.and(in_piece(first, values, head));
            first += values.len() as u64;
            Ok(())
        })?;
        progress.advance(tensor.bytes());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_an_index_along_each_axis() {
        for (element, shape, index) in [
            (0, &[][..], &[][..]),
            (7, &[9], &[7]),
            (7, &[3, 4], &[1, 3]),
            (23, &[2, 3, 4], &[1, 2, 3]),
        ] {
            assert_eq!(index_of(element, shape), index);
        }
    }
}
