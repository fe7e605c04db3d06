//! Records of measurements: dated files, one for each run, from which every table of figures is made.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::{paths, process::write_if_changed};

/// What a record's `schema` is.
const SCHEMA: u32 = 1;

/// What one run measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Which form of record it is.
    pub schema: u32,
    /// When: RFC 3339.
    pub date: String,
    /// What the programs were built from.
    pub commit: String,
    /// The machine.
    pub machine: Machine,
    /// What was measured.
    pub figures: Vec<Figure>,
    /// Peers that were not there, and why.
    #[serde(default)]
    pub absent: BTreeMap<String, String>,
    /// Cases in which a peer gave no answer, or a wrong one.
    #[serde(default)]
    pub failed: Vec<Failed>,
}

/// Where it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The first GPU.
    pub gpu: Option<Gpu>,
    /// The processor's name, where the system says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Threads of the CPU backend.
    pub threads: usize,
    /// The vector instructions that it used.
    pub vector_instructions: String,
    /// What made the kernels.
    pub kernels: String,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// The product's name.
    pub name: String,
    /// As `9.0`.
    pub compute_capability: String,
    /// How many it has.
    pub multiprocessors: u32,
    /// Bytes of its memory.
    pub memory_bytes: u64,
    /// By clock and width, where the driver says.
    pub peak_gb_per_s: Option<f64>,
    /// The newest CUDA that the driver takes.
    pub cuda: String,
}

/// One number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What cases are compared with each other.
    pub group: String,
    /// The operation.
    pub op: String,
    /// The elements' type.
    pub dtype: String,
    /// Length or shape.
    pub case: String,
    /// Ours, or a peer.
    pub who: String,
    /// The peer's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// us, ms, ulp, distinct, or what is counted.
    pub metric: String,
    /// The number.
    pub value: f64,
    /// Bytes that are read and written, each once, where it is a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What is to be known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A case without a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    /// As of a figure.
    pub who: String,
    /// As of a figure.
    pub group: String,
    /// As of a figure.
    pub op: String,
    /// As of a figure.
    pub dtype: String,
    /// As of a figure.
    pub case: String,
    /// Why.
    pub failed: String,
}

/// What a program measured.
#[derive(Default)]
pub struct Measured {
    /// What was measured.
    pub figures: Vec<Figure>,
    /// Who was not there.
    pub absent: BTreeMap<String, String>,
    /// What gave no answer.
    pub failed: Vec<Failed>,
}

/// What a figure is of: no record has two of one.
pub type Key<'a> = [&'a str; 6];

impl Figure {
    /// What it is of.
    pub fn key(&self) -> Key<'_> {
        [&self.group, &self.op, &self.dtype, &self.case, &self.who, &self.metric].map(String::as_str)
    }

    /// GB/s of a time.
    pub fn gb_per_s(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|_| self.metric == "us")?;
        Some(bytes as f64 / self.value / 1e3)
    }
}

impl Record {
    /// Takes what a program measured.
    pub fn take(&mut self, measured: Measured) {
        self.figures.extend(measured.figures);
        self.absent.extend(measured.absent);
        self.failed.extend(measured.failed);
    }

    /// A record in a file, if it is sound.
    pub fn load(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let record: Self = serde_json::from_str(&text).with_context(|| format!("{} is no record", file.display()))?;
        record.check().with_context(|| format!("{}", file.display()))?;
        Ok(record)
    }

    fn check(&self) -> Result<()> {
        ensure!(
            self.schema == SCHEMA,
            "a record of schema {}, where {SCHEMA} is known",
            self.schema
        );
        self.date
            .parse::<jiff::Timestamp>()
            .with_context(|| format!("{:?} is no date", self.date))?;
        let mut seen = BTreeMap::new();
        for figure in &self.figures {
            let key = figure.key();
            ensure!(
                figure.value.is_finite() && figure.value >= 0.0,
                "{key:?} is {}",
                figure.value
            );
            ensure!(figure.metric != "us" || figure.value > 0.0, "{key:?} takes no time");
            if let Some(other) = seen.insert(key, figure.value) {
                bail!("{key:?} is there twice: {other} and {}", figure.value);
            }
        }
        Ok(())
    }

    /// Leaves out figures of which there is one already, and says which: a program that measures twice loses nothing.
    pub fn keep_first(&mut self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut twice = vec![];
        self.figures.retain(|figure| {
            let key = figure.key().map(str::to_owned);
            let is_new = seen.insert(key.clone());
            if !is_new {
                twice.push(format!("measured twice: {}", key.join(", ")));
            }
            is_new
        });
        twice
    }

    /// The card, or the processor of a record of CPUs.
    pub fn card(&self) -> &str {
        let cpu = self.machine.cpu.as_deref().unwrap_or("cpu");
        self.machine.gpu.as_ref().map_or(cpu, |gpu| &gpu.name)
    }

    /// Whether the other is of such a machine, too: of two no times are compared.
    pub fn is_of_machine_of(&self, other: &Self) -> bool {
        let cpu = |record: &Self| (record.machine.threads, record.machine.vector_instructions.clone());
        self.card() == other.card()
            && self.machine.gpu.is_some() == other.machine.gpu.is_some()
            && (self.machine.gpu.is_some() || cpu(self) == cpu(other))
    }

    /// Day, month and year.
    pub fn day(&self) -> &str {
        self.date.split('T').next().unwrap_or(&self.date)
    }

    /// Writes it to a folder, under a name of its own; says which.
    pub fn save(&self, folder: &Path) -> Result<PathBuf> {
        self.check()?;
        let card = self.card().to_lowercase();
        let words = card
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty());
        let card = words.collect::<Vec<_>>().join("-");
        let name = |number: u32| folder.join(format!("{}-{card}-{number}.json", self.day()));
        let mut number = 1;
        while name(number).exists() {
            number += 1;
        }
        let file = name(number);
        let mut text = serde_json::to_string(&Self {
            figures: vec![],
            ..self.clone()
        })?;
        // A figure a line: so that what changed shows.
        let figures: Vec<String> = self
            .figures
            .iter()
            .map(serde_json::to_string)
            .collect::<Result<_, _>>()?;
        let lines = format!("\"figures\":[\n{}\n]", figures.join(",\n"));
        text = text.replace("\"figures\":[]", &lines);
        write_if_changed(&file, &format!("{text}\n"))?;
        Ok(file)
    }
}

/// Where records lie.
pub fn folder() -> PathBuf {
    paths::root().join("host/benches/records")
}

/// All records of a folder, the oldest first. One that is not sound is an error that names it.
pub fn all(folder: &Path) -> Result<Vec<Record>> {
    let mut records = vec![];
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "json") {
            records.push(Record::load(&file)?);
        }
    }
    records.sort_by(|a, b| a.date.cmp(&b.date));
    Ok(records)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn figure(who: &str, case: &str, us: f64) -> Figure {
        Figure {
            group: "whole".into(),
            op: "sum".into(),
            dtype: "f32".into(),
            case: case.into(),
            who: who.into(),
            version: None,
            metric: "us".into(),
            value: us,
            bytes: Some(4_000_000),
            note: None,
        }
    }

    pub fn record(date: &str, gpu: &str, figures: Vec<Figure>) -> Record {
        Record {
            schema: SCHEMA,
            date: date.into(),
            commit: "abc1234".into(),
            machine: Machine {
                gpu: Some(Gpu {
                    name: gpu.into(),
                    compute_capability: "9.0".into(),
                    multiprocessors: 132,
                    memory_bytes: 1 << 37,
                    peak_gb_per_s: Some(4800.0),
                    cuda: "13.0".into(),
                }),
                cpu: Some("A CPU (R) of 2 cores".into()),
                threads: 2,
                vector_instructions: "AVX2".into(),
                kernels: "none".into(),
            },
            figures,
            absent: BTreeMap::new(),
            failed: vec![],
        }
    }

    #[test]
    fn a_record_is_written_and_read() {
        let folder = std::env::temp_dir().join(format!("warpfold-records-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let record = record(
            "2026-11-27T01:02:03Z",
            "NVIDIA H200",
            vec![figure("warpfold", "2^10", 2.0)],
        );
        let first = record.save(&folder).unwrap();
        assert!(first.ends_with("2026-11-27-nvidia-h200-1.json"), "{}", first.display());
        // Nothing is overwritten.
        assert!(record.save(&folder).unwrap().ends_with("2026-11-27-nvidia-h200-2.json"));
        assert_eq!(all(&folder).unwrap(), [record.clone(), record]);
        for (broken, says) in [
            ("{", "is no record"),
            ("{\"schema\":1}", "is no record"),
            (
                &fs::read_to_string(&first)
                    .unwrap()
                    .replace("\"schema\":1", "\"schema\":9"),
                "schema 9",
            ),
            (
                &fs::read_to_string(&first).unwrap().replace("2026-11-27T", "yesterday"),
                "no date",
            ),
            (
                &fs::read_to_string(&first)
                    .unwrap()
                    .replace("\"value\":2.0", "\"value\":-2.0"),
                "is -2",
            ),
        ] {
            fs::write(&first, broken).unwrap();
            let error = format!("{:#}", all(&folder).unwrap_err());
            assert!(error.contains(says) && error.contains("nvidia-h200-1.json"), "{error}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_record_of_a_cpu_is_compared_with_that_of_the_same_machine() {
        let on_gpu = record("2026-11-27T01:02:03Z", "GPU", vec![]);
        let mut on_cpu = on_gpu.clone();
        on_cpu.machine.gpu = None;
        assert_eq!(on_cpu.card(), "A CPU (R) of 2 cores");
        let mut of_more = on_cpu.clone();
        of_more.machine.threads = 16;
        assert!(on_cpu.is_of_machine_of(&on_cpu.clone()) && on_gpu.is_of_machine_of(&on_gpu.clone()));
        assert!(!on_cpu.is_of_machine_of(&of_more) && !on_cpu.is_of_machine_of(&on_gpu));
        let folder = std::env::temp_dir().join(format!("warpfold-records-of-cpus-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = on_cpu.save(&folder).unwrap();
        assert!(
            file.ends_with("2026-11-27-a-cpu-r-of-2-cores-1.json"),
            "{}",
            file.display()
        );
        assert_eq!(all(&folder).unwrap(), [on_cpu]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_figure_that_is_there_twice_is_found() {
        let twice = vec![figure("warpfold", "2^10", 2.0), figure("warpfold", "2^10", 3.0)];
        let mut record = record("2026-11-27T01:02:03Z", "GPU", twice);
        let error = record.check().unwrap_err();
        assert!(error.to_string().contains("twice"), "{error}");
        assert_eq!(
            record.keep_first(),
            ["measured twice: whole, sum, f32, 2^10, warpfold, us"]
        );
        assert_eq!((record.figures.len(), record.figures[0].value), (1, 2.0));
    }

    #[test]
    fn the_repositorys_records_are_sound() {
        all(&folder()).unwrap();
    }
}
