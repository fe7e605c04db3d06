//! The programs that measure, and what they print.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::records::{Failed, Figure, Gpu, Machine};
use crate::{bundle, process::on_path};

/// The built programs: by what a bundle calls them.
pub struct Programs {
    folder: Option<PathBuf>,
    built: BTreeMap<String, PathBuf>,
}

impl Programs {
    /// Those of a bundle.
    pub fn of_bundle(folder: &Path) -> Self {
        let (folder, built) = (Some(folder.to_owned()), BTreeMap::new());
        Self { folder, built }
    }

    /// Builds them.
    pub fn build() -> Result<Self> {
        let mut built = BTreeMap::new();
        for arguments in [
            &[
                "build",
                "--release",
                "-p",
                "warpfold",
                "--features",
                "command,cuda",
                "--bin",
                "warpfold",
            ][..],
            &[
                "bench", "--no-run", "-p", "warpfold", "--bench", "gpu", "--bench", "rows",
            ],
        ] {
            for program in bundle::built(arguments)? {
                built.insert(program.name, program.file);
            }
        }
        Ok(Self { folder: None, built })
    }

    fn find(&self, name: &str) -> Result<PathBuf> {
        match &self.folder {
            Some(folder) => {
                let of = |kind: &str| folder.join(kind).join(name);
                let found = [of("bin"), of("benches")].into_iter().find(|file| file.is_file());
                found.with_context(|| format!("{} has no program {name}", folder.display()))
            }
            None => self
                .built
                .get(name)
                .cloned()
                .with_context(|| format!("cargo built no {name}")),
        }
    }

    /// What a program prints.
    fn run(&self, name: &str, arguments: &[&str]) -> Result<String> {
        output(Command::new(self.find(name)?).args(arguments))
    }

    /// The machine, as the command tells it.
    pub fn machine(&self) -> Result<Machine> {
        #[derive(Deserialize)]
        struct Said {
            gpus: Vec<Gpu>,
            threads: usize,
            vector_instructions: String,
            kernels: String,
        }
        let said: Said = serde_json::from_str(&self.run("warpfold", &["devices", "--json"])?)?;
        Ok(Machine {
            gpu: said.gpus.into_iter().next(),
            threads: said.threads,
            vector_instructions: said.vector_instructions,
            kernels: said.kernels,
        })
    }

    /// The figures of a subcommand that prints some.
    pub fn command(&self, arguments: &[&str]) -> Result<Vec<Figure>> {
        #[derive(Deserialize)]
        struct Said {
            figures: Vec<Figure>,
        }
        let said = self.run("warpfold", &[arguments, &["--json"]].concat())?;
        let said: Said = serde_json::from_str(&said).with_context(|| format!("warpfold {}", arguments.join(" ")))?;
        Ok(said.figures)
    }

    /// Those of a benchmark that prints CSV.
    pub fn bench(&self, name: &str, arguments: &[&str]) -> Result<Vec<Figure>> {
        let said = self.run(name, &[&["--bench"], arguments].concat())?;
        said.lines().filter_map(|line| of_csv(line).transpose()).collect()
    }

    /// What a process waits for at its first call.
    pub fn first_calls(&self) -> Result<Vec<Figure>> {
        let said = self.run("gpu", &["--bench", "first-calls"])?;
        let of = |line: &str| {
            let (op, ms) = line.rsplit_once(',')?;
            Some(figure(
                ["first-calls", op, "", "cold cache", "ms"],
                ms.trim().parse().ok()?,
                None,
            ))
        };
        Ok(said.lines().filter_map(of).collect())
    }
}

fn figure([group, op, dtype, case, metric]: [&str; 5], value: f64, bytes: Option<u64>) -> Figure {
    Figure {
        group: group.to_owned(),
        op: op.to_owned(),
        dtype: dtype.to_owned(),
        case: case.to_owned(),
        who: "warpfold".to_owned(),
        version: None,
        metric: metric.to_owned(),
        value,
        bytes,
        note: None,
    }
}

/// A line of a benchmark; nothing of a remark and of the heads.
fn of_csv(line: &str) -> Result<Option<Figure>> {
    if line.starts_with('#') || line.starts_with("op,") || line.trim().is_empty() {
        return Ok(None);
    }
    let [op, case, dtype, us, _, bytes] = line.split(',').collect::<Vec<_>>()[..] else {
        bail!("a line that is no measurement: {line}");
    };
    let (us, bytes) = (
        us.parse().context("a time")?,
        bytes.parse().context("a number of bytes")?,
    );
    let (group, op) = group_of(op, case);
    Ok(Some(figure([group, &op, dtype, &named(case), "us"], us, Some(bytes))))
}

/// A group of cases, and the operation's name in it: as the peers have them.
fn group_of(op: &str, case: &str) -> (&'static str, String) {
    if let Some(op) = op.strip_prefix("gpt2_") {
        return ("gpt2", op.to_owned());
    }
    for (ending, group) in [("_rows", "rows"), ("_columns", "columns")] {
        if let Some(op) = op.strip_suffix(ending) {
            return (group, op.to_owned());
        }
    }
    if let Some((op, _)) = op.split_once("_segments of ") {
        return ("segments", op.to_owned());
    }
    let group = if case.contains('x') { "maps" } else { "whole" };
    (group, op.to_owned())
}

/// Powers of two as such.
fn named(case: &str) -> String {
    match case.parse::<u64>() {
        Ok(elements) if elements.is_power_of_two() && elements >= 1 << 10 => format!("2^{}", elements.ilog2()),
        _ => case.to_owned(),
    }
}

/// What the peers' program printed.
#[derive(Default)]
pub struct Peers {
    /// What was measured.
    pub figures: Vec<Figure>,
    /// Who was not there.
    pub absent: BTreeMap<String, String>,
    /// What gave no answer.
    pub failed: Vec<Failed>,
}

/// Runs the peers' program, where there is a Python.
pub fn peers(root: &Path, groups: &[&str]) -> Result<Peers> {
    let program = root.join("host/benches/peers/peers.py");
    let Some(python) = on_path("python3") else {
        let absent = [("all peers".to_owned(), "no python3".to_owned())].into();
        return Ok(Peers {
            absent,
            ..Peers::default()
        });
    };
    let mut command = Command::new(python);
    command.arg(program);
    if !groups.is_empty() {
        command.args(["--group", &groups.join(",")]);
    }
    of_peers(&output(&mut command)?)
}

fn of_peers(said: &str) -> Result<Peers> {
    let mut peers = Peers::default();
    for line in said.lines() {
        let mut object: Value =
            serde_json::from_str(line).with_context(|| format!("a line that is no JSON: {line}"))?;
        let text = |key: &str| object[key].as_str().map(str::to_owned);
        if let (Some(who), Some(why)) = (text("who"), text("absent")) {
            peers.absent.insert(who, why);
        } else if object.get("failed").is_some() {
            peers.failed.push(serde_json::from_value(object.take())?);
        } else {
            peers.figures.push(serde_json::from_value(object.take())?);
        }
    }
    Ok(peers)
}

/// What a program prints; what it says of errors is shown.
fn output(command: &mut Command) -> Result<String> {
    println!("  $ {}", format!("{command:?}").replace('"', ""));
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if !output.status.success() {
        bail!("{:?}: {}", command.get_program(), output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_csv_is_a_figure_named_as_the_peers_name_it() {
        let of = |line: &str| {
            let figure = of_csv(line).unwrap().unwrap();
            [figure.group, figure.op, figure.dtype, figure.case].join(" ")
        };
        assert_eq!(of("sum,268435456,f32,239.9,4475,1073741824"), "whole sum f32 2^28");
        assert_eq!(
            of("max_rows,16384x4096,bf16,30.1,4475,134217728"),
            "rows max bf16 16384x4096"
        );
        assert_eq!(
            of("softmax,32768x256,f32,30.1,4475,67108864"),
            "maps softmax f32 32768x256"
        );
        assert_eq!(
            of("gpt2_causal_softmax,48x1024x1024,f32,1,2,3"),
            "gpt2 causal_softmax f32 48x1024x1024"
        );
        assert!(of_csv("# a remark").unwrap().is_none() && of_csv("op,case,dtype,us,GB/s,bytes").unwrap().is_none());
        assert!(of_csv("something else").is_err() && of_csv("sum,8,f32,x,1,2").is_err());
    }

    #[test]
    fn peers_are_figures_absences_and_failures() {
        let said = r#"{"who": "CUB", "version": "3", "group": "whole", "op": "sum", "dtype": "f32", "case": "2^10", "metric": "us", "value": 1.5, "bytes": 4096}
{"who": "CuPy", "absent": "No module named 'cupy'"}
{"who": "QuACK", "group": "maps", "op": "softmax", "dtype": "bf16", "case": "8x8", "failed": "NaN"}
"#;
        let peers = of_peers(said).unwrap();
        assert_eq!((peers.figures.len(), peers.absent.len(), peers.failed.len()), (1, 1, 1));
        assert_eq!(peers.figures[0].gb_per_s().unwrap().round(), 3.0);
        assert!(of_peers("nonsense").is_err());
    }
}
