//! The programs that measure, and what they print.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::records::{Figure, Gpu, Machine, Measured};
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

    /// Builds the command and benchmarks.
    pub fn build(benches: &BTreeSet<&str>) -> Result<Self> {
        let mut built = BTreeMap::new();
        let command = "build --release -p warpfold --features command,cuda --bin warpfold";
        let bench = |bench| format!("bench --no-run -p warpfold --bench {bench}");
        for arguments in benches.iter().map(bench).chain([command.to_owned()]) {
            for program in bundle::built(&arguments.split(' ').collect::<Vec<_>>())? {
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
            cpu: cpu(),
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
    pub fn csv(&self, name: &str, arguments: &[&str]) -> Result<Measured> {
        let said = self.run(name, &[&["--bench"], arguments].concat())?;
        let figures: Result<_> = said.lines().filter_map(|line| of_csv(line).transpose()).collect();
        let figures = figures?;
        Ok(Measured {
            figures,
            ..Measured::default()
        })
    }

    /// Those of a benchmark that prints JSON, as the peers' program does.
    pub fn json(&self, name: &str, arguments: &[&str]) -> Result<Measured> {
        of_json(&self.run(name, &[&["--bench"], arguments].concat())?)
    }
}

/// A line of a benchmark; nothing of a remark and of the heads.
fn of_csv(line: &str) -> Result<Option<Figure>> {
    if line.starts_with('#') || line.starts_with("group,") || line.trim().is_empty() {
        return Ok(None);
    }
    let [group, op, case, dtype, us, _, bytes] = line.split(',').collect::<Vec<_>>()[..] else {
        bail!("a line that is no measurement: {line}");
    };
    Ok(Some(Figure {
        group: group.to_owned(),
        op: op.to_owned(),
        dtype: dtype.to_owned(),
        case: case.to_owned(),
        who: "warpfold".to_owned(),
        version: None,
        metric: "us".to_owned(),
        value: us.parse().context("a time")?,
        bytes: Some(bytes.parse().context("a number of bytes")?),
        note: None,
    }))
}

/// What this machine's processor is called, where the system says.
fn cpu() -> Option<String> {
    let said = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = said.lines().find(|line| line.starts_with("model name"))?;
    let (_, name) = line.split_once(':')?;
    Some(name.trim().to_owned())
}

/// Runs the peers' program, where there is a Python.
pub fn peers(root: &Path, groups: &[&str]) -> Result<Measured> {
    let program = root.join("host/benches/peers/peers.py");
    let Some(python) = on_path("python3") else {
        let absent = [("all peers".to_owned(), "no python3".to_owned())].into();
        return Ok(Measured {
            absent,
            ..Measured::default()
        });
    };
    let mut command = Command::new(python);
    command.arg(program);
    if !groups.is_empty() {
        command.args(["--group", &groups.join(",")]);
    }
    of_json(&output(&mut command)?)
}

fn of_json(said: &str) -> Result<Measured> {
    let mut measured = Measured::default();
    for line in said.lines() {
        let mut object: Value =
            serde_json::from_str(line).with_context(|| format!("a line that is no JSON: {line}"))?;
        let text = |key: &str| object[key].as_str().map(str::to_owned);
        if let (Some(who), Some(why)) = (text("who"), text("absent")) {
            measured.absent.insert(who, why);
        } else if object.get("failed").is_some() {
            measured.failed.push(serde_json::from_value(object.take())?);
        } else {
            measured.figures.push(serde_json::from_value(object.take())?);
        }
    }
    Ok(measured)
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
        assert_eq!(of("whole,sum,2^28,f32,239.9,4475,1073741824"), "whole sum f32 2^28");
        assert_eq!(
            of("gpt2,causal_softmax,48x1024x1024,f32,1,2,3"),
            "gpt2 causal_softmax f32 48x1024x1024"
        );
        assert!(
            of_csv("# a remark").unwrap().is_none() && of_csv("group,op,case,dtype,us,GB/s,bytes").unwrap().is_none()
        );
        assert!(of_csv("something else").is_err() && of_csv("whole,sum,8,f32,x,1,2").is_err());
    }

    #[test]
    fn peers_are_figures_absences_and_failures() {
        let said = r#"{"who": "CUB", "version": "3", "group": "whole", "op": "sum", "dtype": "f32", "case": "2^10", "metric": "us", "value": 1.5, "bytes": 4096}
{"who": "CuPy", "absent": "No module named 'cupy'"}
{"who": "QuACK", "group": "maps", "op": "softmax", "dtype": "bf16", "case": "8x8", "failed": "NaN"}
"#;
        let peers = of_json(said).unwrap();
        assert_eq!((peers.figures.len(), peers.absent.len(), peers.failed.len()), (1, 1, 1));
        assert_eq!(peers.figures[0].gb_per_s().unwrap().round(), 3.0);
        assert!(of_json("nonsense").is_err());
    }
}
