//! `warpfold check`: whether the arrays of files hold NaN or infinities, and the files are whole.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;
use warpfold::files::{
    Tensor,
    check::{Finding, FindingKind, check},
};

use crate::{Failure, clock, device, inputs::Inputs, progress::Progress, shown::Shown};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CheckKind {
    Nan,
    Inf,
    Zeros,
    Constant,
}

impl CheckKind {
    fn is(self, kind: FindingKind) -> bool {
        kind == match self {
            Self::Nan => FindingKind::Nan,
            Self::Inf => FindingKind::Inf,
            Self::Zeros => FindingKind::Zeros,
            Self::Constant => FindingKind::Constant,
        }
    }
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
            report.faults.push(Finding::of_file(path.display().to_string(), fault));
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
        let findings = match check(tensor, &mut |bytes| progress.advance(bytes)) {
            Ok(Some(findings)) => findings,
            Err(error) => {
                report.faults.push(Finding::of_file(label, error.to_string()));
                return;
            }
            Ok(None) => {
                let dtype = tensor.dtype_name();
                report
                    .unread
                    .push(format!("{label}: elements of type {dtype} are not read"));
                return;
            }
        };
        report.tensors += 1;
        report.bytes += tensor.bytes();
        let is_among = |kinds: &[CheckKind], finding: &Finding| kinds.iter().any(|kind| kind.is(finding.kind));
        for finding in findings {
            if is_among(&self.allow, &finding) {
                continue;
            }
            match finding.kind.is_warning() && !is_among(&self.deny, &finding) {
                true => report.warnings.push(finding),
                false => report.faults.push(finding),
            }
        }
    }
}
