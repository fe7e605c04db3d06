//! The command `warpfold`: what is in files, and reductions of it on the best device there is.
//!
//! Exit codes: 0 done, 1 the operation failed, 2 the command line is wrong.

#![cfg_attr(test, allow(dead_code, unused_imports))]

mod accuracy;
mod answers;
mod check;
mod cli;
mod clock;
#[cfg(not(test))]
mod describe;
/// As [`reduce`].
#[cfg(test)]
mod describe {
    pub fn run(_: &crate::cli::Describe) -> Result<crate::summaries::Summaries, crate::Failure> {
        Err("not in unit tests".into())
    }
}
mod device;
mod diff;
#[cfg(not(test))]
mod distinct;
/// As [`reduce`].
#[cfg(test)]
use reduce as distinct;
mod cross_entropy;
#[cfg(not(test))]
mod fold;
#[cfg(not(test))]
mod folder;
mod grad_norm;
mod inputs;
mod ladder;
mod list;
mod named;
mod op;
mod opened;
mod options;
mod out;
mod progress;
mod reading;
#[cfg(not(test))]
mod reduce;
/// Unit tests run no command. They are compiled without its folds, each operator of each type on each device: that is most of the
/// program, and it is tested as a program.
#[cfg(test)]
mod reduce {
    pub fn run(_: &crate::cli::Reduce) -> Result<crate::report::Report, crate::Failure> {
        Err("not in unit tests".into())
    }
}
mod report;
mod room;
mod rows;
mod scalar;
mod second_input;
#[cfg(not(test))]
mod segments;
mod shown;
mod summaries;
mod table;
mod unfinished;
mod values;

use std::{
    error::Error,
    fmt::Display,
    io::{self, BufWriter, Write},
    process::{self, ExitCode},
};

use clap::Parser;

use cli::{Cli, Command};
use op::Op;
use shown::Shown;

/// What the command fails with: printed as it is.
type Failure = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    clock::start();
    let Cli { mut command, raw } = Cli::try_parse().unwrap_or_else(|error| wrong(&error));
    if let Some(dtype) = raw {
        reading::read_raw_as(dtype);
    }
    if let Command::Reduce(reduce) = &mut command {
        reduce.settle().unwrap_or_else(|error| wrong(&error));
    }
    let Done { failures, exit_code } = run(&command).unwrap_or_else(|error| vec![error].into());
    if failures.iter().any(|error| is_closed_pipe(&**error)) {
        // Whoever read the answers wants no more of them: that is not to be told.
        return ExitCode::SUCCESS;
    }
    for error in &failures {
        eprintln!("warpfold: {}", Shown(error));
    }
    exit_code.into()
}

/// What came of a command.
struct Done {
    /// What could not be done, where the rest was.
    failures: Vec<Failure>,
    exit_code: u8,
}

impl From<Vec<Failure>> for Done {
    fn from(failures: Vec<Failure>) -> Self {
        let exit_code = u8::from(!failures.is_empty());
        Self { failures, exit_code }
    }
}

/// Whether nobody reads standard output any more.
fn is_closed_pipe(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let in_json = || {
        error
            .downcast_ref::<serde_json::Error>()
            .and_then(serde_json::Error::io_error_kind)
    };
    kind.or_else(in_json) == Some(io::ErrorKind::BrokenPipe)
}

/// Says what is wrong with a command line, which may hold names from a folder, and ends the program.
fn wrong<T>(error: &clap::Error) -> T {
    let text = error.to_string();
    let lines: Vec<String> = text.lines().map(|line| Shown(line).to_string()).collect();
    if lines.iter().map(String::as_str).eq(text.lines()) {
        // With its colours.
        error.exit();
    }
    eprintln!("{}", lines.join("\n"));
    process::exit(error.exit_code());
}

/// Does what is asked for.
fn run(command: &Command) -> Result<Done, Failure> {
    // Not println, which panics where nobody reads on.
    let mut out = BufWriter::new(io::stdout().lock());
    let mut done = Done::from(vec![]);
    match command {
        Command::Devices { json: true } => writeln!(out, "{}", device::json()?)?,
        Command::Devices { json: false } => writeln!(out, "{}", device::list())?,
        Command::Ops { json } => writeln!(out, "{}", op::list(*json)?)?,
        Command::List(args) => {
            let (text, faults) = list::run(args)?;
            done = faults.into();
            if !text.is_empty() {
                writeln!(out, "{text}")?;
            }
        }
        Command::Reduce(reduce) => {
            let report = match reduce.op {
                Op::Distinct => distinct::run(reduce)?,
                _ => reduce::run(reduce)?,
            };
            match (reduce.json, report.to_stderr) {
                (true, false) => report.write_json(&mut out)?,
                (true, true) => report.write_json(&mut io::stderr().lock())?,
                (false, to_stderr) => print(&mut out, report.text(), to_stderr)?,
            }
        }
        Command::Check(args) => {
            let report = check::run(args);
            done.exit_code = report.exit_code();
            writeln!(out, "{}", report.text()?)?;
        }
        Command::Diff(args) => {
            let report = diff::run(args);
            done.exit_code = report.exit_code();
            writeln!(out, "{}", report.text()?)?;
        }
        Command::Softmax(args) => rows(&mut out, args.softmax()?)?,
        Command::LogSoftmax(args) => rows(&mut out, args.log_softmax()?)?,
        Command::GroupNorm(args) => rows(&mut out, args.run()?)?,
        Command::LayerNorm(args) => rows(&mut out, args.run()?)?,
        Command::RmsNorm(args) => rows(&mut out, args.run()?)?,
        Command::CrossEntropy(args) => {
            let report = args.run()?;
            print(&mut out, &report, report.to_stderr)?;
        }
        Command::GradNorm(args) => writeln!(out, "{}", args.run()?)?,
        Command::Accuracy(args) => writeln!(out, "{}", accuracy::run(args)?)?,
        Command::Ladder(args) => writeln!(out, "{}", ladder::run(args)?)?,
        Command::Describe(describe) => {
            let summaries = describe::run(describe)?;
            done = summaries.failures().into();
            let text = if describe.json {
                summaries.json()?
            } else if describe.csv {
                summaries.csv()?
            } else {
                summaries.text(describe.wide)
            };
            writeln!(out, "{text}")?;
        }
    }
    out.flush()?;
    Ok(done)
}

/// Prints a report: on standard error where standard output has the answers.
fn print(out: &mut dyn Write, report: impl Display, to_stderr: bool) -> io::Result<()> {
    if to_stderr {
        writeln!(io::stderr(), "{report}")
    } else {
        writeln!(out, "{report}")
    }
}

fn rows(out: &mut dyn Write, report: rows::Report) -> io::Result<()> {
    let to_stderr = report.to_stderr;
    print(out, report, to_stderr)
}
