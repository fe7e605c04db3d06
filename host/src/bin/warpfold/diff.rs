//! `warpfold diff`: in what the arrays of two files differ.

use std::path::PathBuf;

use serde::Serialize;
use warpfold::files::{
    Tensor,
    diff::{Equality, Matched, compare, name_of},
};

use crate::{
    Failure, clock, device, inputs::Inputs, progress::Progress, report::tuple, scalar::Scalar, shown::Shown, values,
};

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
    let Matched {
        both,
        only_in_a,
        only_in_b,
    } = Matched::of(&a.tensors, &b.tensors);
    for [a, b] in both {
        report.bytes += a.bytes() + b.bytes();
        match args.compare(a, b, &mut progress) {
            Ok(pair) => {
                report.equal &= pair.equal;
                report.tensors.push(pair);
            }
            Err(error) => report.unread.push(error.to_string()),
        }
    }
    let names = |tensors: Vec<&Tensor>| tensors.into_iter().map(|tensor| name_of(tensor).to_owned()).collect();
    (report.only_in_a, report.only_in_b) = (names(only_in_a), names(only_in_b));
    report.equal &= report.only_in_a.is_empty() && report.only_in_b.is_empty();
    report.seconds = clock::seconds();
    report
}

impl Args {
    fn compare(&self, a: &Tensor, b: &Tensor, progress: &mut Progress) -> Result<Pair, Failure> {
        let by = Equality {
            tolerance: self.tolerance,
            nan_equal: self.nan_equal,
        };
        let difference = compare(a, b, by, &mut |bytes| progress.advance(bytes))?.ok_or_else(|| {
            format!(
                "{} is of {}, and {} of {}: complex numbers are compared with those of their type",
                a.label().display(),
                a.dtype_name(),
                b.label().display(),
                b.dtype_name()
            )
        })?;
        Ok(Pair {
            name: name_of(a).to_owned(),
            dtypes: [a, b].map(|tensor| tensor.dtype_name().to_owned()),
            shapes: [a, b].map(|tensor| tensor.shape().to_vec()),
            equal_bits: difference.equal_bits,
            equal: difference.equal,
            values: difference.values.map(|values| DiffValues {
                differing: values.differing,
                largest_difference: values.largest.into(),
                at: values.at,
                relative_l2: values.relative_l2.into(),
                cosine: values.cosine.into(),
            }),
        })
    }
}
