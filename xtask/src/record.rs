//! What is recorded of every entry's code: a line each in a file for each architecture and code generator, so that a change of the kernels
//! shows what it did to which of them, and none changes unseen.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    facts::Violation,
    generator::{Generator, nvvm},
    kernel_crate::KernelCrate,
    paths,
    process::write_if_changed,
    report::{Build, ReportRow},
    setup::Tools,
    wanted::Wanted,
};
use anyhow::{Context, Result};

/// The heads of the columns; those of the last two are ptxas's figures.
const HEADS: &str = "entry bytes instructions wide-loads scalar-loads shuffles barriers atomics fused registers shared";

/// Of these columns, bytes, instructions and registers, a little depends on what else the compiler has in the module: on the order of
/// functions, and the length of the labels that it gives them. Built beside fewer entries, those of 70 had up to 1.7 % fewer bytes.
const LOOSE: [usize; 3] = [0, 1, 8];

/// How much those may differ: a fortieth, or so much.
const SLACK: u64 = 8;

/// What is recorded of an architecture's entries.
#[derive(Debug, Default, PartialEq)]
pub struct Record {
    /// The code generator and the assembler that they were recorded with: those of others differ.
    made_by: String,
    lines: BTreeMap<String, Vec<u64>>,
}

/// How a build and what is recorded differ.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// Not at all.
    Same,
    /// Other tools made it, so nothing is compared.
    OtherTools,
    /// A line of each entry that does.
    Differs(Vec<String>),
}

impl Record {
    /// What is recorded of an architecture, in a code generator's folder; nothing where nothing is.
    pub fn load(folder: &Path, arch: &str) -> Self {
        Self::parse(&fs::read_to_string(file(folder, arch)).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let made_by = lines.next().unwrap_or_default().to_owned();
        let lines = lines.skip(1).filter_map(|line| {
            let (name, rest) = line.split_once(' ')?;
            let numbers = rest.split(' ').map(str::parse).collect::<Result<_, _>>();
            Some((name.to_owned(), numbers.ok()?))
        });
        Self {
            made_by,
            lines: lines.collect(),
        }
    }

    /// That of a build.
    pub fn of(build: &Build) -> Self {
        let ptxas = build.ptxas.as_deref().unwrap_or("none");
        Self {
            made_by: format!("{}; ptxas {ptxas}", build.generator),
            lines: build.entries.iter().map(|row| (row.name.clone(), line(row))).collect(),
        }
    }

    /// The code generator and the assembler that it was recorded with.
    pub fn made_by(&self) -> &str {
        &self.made_by
    }

    /// What is recorded of each entry.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &[u64])> {
        self.lines.iter().map(|(name, numbers)| (&**name, &**numbers))
    }

    /// What is recorded of an entry.
    pub fn of_entry(&self, name: &str) -> Option<&[u64]> {
        self.lines.get(name).map(Vec::as_slice)
    }

    /// How `built` differs from it.
    pub fn compare(&self, built: &Self) -> Verdict {
        if self.made_by != built.made_by {
            return Verdict::OtherTools;
        }
        let mut names: Vec<&String> = self.lines.keys().chain(built.lines.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let shown = |numbers: Option<&[u64]>| numbers.map_or_else(|| "nothing".to_owned(), joined);
        let differences = names.into_iter().filter_map(|name| {
            let (was, is) = (self.of_entry(name), built.of_entry(name));
            (!are_alike(was, is)).then(|| format!("{name}: {} -> {}", shown(was), shown(is)))
        });
        let differences: Vec<String> = differences.collect();
        if differences.is_empty() {
            Verdict::Same
        } else {
            Verdict::Differs(differences)
        }
    }

    /// Writes it down.
    fn save(&self, folder: &Path, arch: &str) -> Result<()> {
        write_if_changed(&file(folder, arch), &self.text()).with_context(|| format!("the facts of {arch}"))
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n{HEADS}\n", self.made_by);
        for (name, line) in &self.lines {
            let _ = writeln!(text, "{name} {}", joined(line));
        }
        text
    }
}

/// What is recorded of a build beside what it is; or writes that down. Of a part, what is recorded of that.
pub fn check(kernels: &KernelCrate, build: &Build, tools: &Tools, bless: bool) -> Result<Vec<(String, Violation)>> {
    let arch = &build.arch;
    let names: Vec<&str> = build.entries.iter().map(|row| &*row.name).collect();
    let folder = match tools.generator {
        Generator::Llvm(_) => folder(),
        Generator::Nvvm(_) => nvvm::facts(),
        Generator::StandIn(_) => return Ok(vec![]),
    };
    // For a default architecture, no more than the default build has.
    let all = Wanted::default(arch).filter(|all| kernels.ours && names.iter().all(|name| all.has(name)));
    let Some(all) = all else {
        return Ok(vec![]);
    };
    let is = Record::of(build);
    let is_part = names.len() < all.entries.len();
    if bless && !is_part {
        println!("  recorded what the code of {arch} is made of");
        is.save(&folder, arch)?;
        if let Generator::Nvvm(_) = tools.generator {
            nvvm::Run::of_now()?.save()?;
        }
        return Ok(vec![]);
    }
    let mut was = Record::load(&folder, arch);
    if is_part {
        was.lines.retain(|name, _| is.lines.contains_key(name));
    }
    match was.compare(&is) {
        Verdict::Same => Ok(vec![]),
        Verdict::OtherTools => {
            println!("  what is recorded of {arch} was made by other tools, and is not compared");
            Ok(vec![])
        }
        Verdict::Differs(lines) => {
            println!("{}", lines.join("\n"));
            let violation = Violation {
                entry: format!("{} entries of {arch}", lines.len()),
                what: "not as they are recorded; if that is meant, run again with --bless".to_owned(),
                extent: None,
            };
            Ok(vec![(arch.clone(), violation)])
        }
    }
}

/// Whether two lines are of the same code.
fn are_alike(was: Option<&[u64]>, is: Option<&[u64]>) -> bool {
    let (Some(was), Some(is)) = (was, is) else {
        return false;
    };
    was.len() == is.len()
        && was.iter().zip(is).enumerate().all(|(column, (was, is))| {
            let slack = if LOOSE.contains(&column) {
                SLACK.max(was / 40)
            } else {
                0
            };
            was.abs_diff(*is) <= slack
        })
}

/// Where the facts of an architecture are recorded.
fn file(folder: &Path, arch: &str) -> PathBuf {
    folder.join(format!("{arch}.txt"))
}

/// Where facts are recorded of what rustc's own backend makes.
pub fn folder() -> PathBuf {
    paths::root().join("kernels-gpu/facts")
}

fn joined(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

fn line(row: &ReportRow) -> Vec<u64> {
    let figures = row.figures.unwrap_or_default();
    let figures = [figures.registers as usize, figures.shared as usize];
    let numbers = row.counts.columns().into_iter().chain(figures);
    numbers.map(|number| number as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Counts;

    fn build(names: &[&str], shuffles: usize) -> Build {
        let row = |name: &&str| ReportRow {
            name: (*name).to_owned(),
            counts: Counts {
                shuffles,
                ..Counts::default()
            },
            figures: None,
        };
        Build {
            arch: "sm_75".to_owned(),
            generator: "llvm: a".to_owned(),
            ptxas: Some("13.0".to_owned()),
            devices: vec![],
            entries: names.iter().map(row).collect(),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = Record::of(&build(&["sum_f32", "max_f32"], 5));
        assert_eq!(Record::parse(&record.text()), record);
        assert_eq!(record.compare(&record), Verdict::Same);
    }

    #[test]
    fn what_changed_came_and_went_is_named() {
        let record = Record::of(&build(&["sum_f32", "max_f32"], 5));
        let Verdict::Differs(lines) = record.compare(&Record::of(&build(&["sum_f32", "arg_f32"], 6))) else {
            panic!("they differ");
        };
        assert_eq!(
            lines,
            [
                "arg_f32: nothing -> 0 0 0 0 6 0 0 0 0 0",
                "max_f32: 0 0 0 0 5 0 0 0 0 0 -> nothing",
                "sum_f32: 0 0 0 0 5 0 0 0 0 0 -> 0 0 0 0 6 0 0 0 0 0"
            ]
        );
    }

    #[test]
    fn sizes_may_differ_a_little_and_counts_not_at_all() {
        let was = "30000 900 8 32 26 4 1 0 54 4112";
        for (is, alike) in [
            ("30700 905 8 32 26 4 1 0 56 4112", true),
            ("30800 900 8 32 26 4 1 0 54 4112", false),
            ("30000 900 8 32 27 4 1 0 54 4112", false),
            ("30000 900 8 32 26 4 1 0 64 4112", false),
            ("30000 900 8 32 26 4 1 0 54", false),
        ] {
            let numbers = |line: &str| {
                line.split(' ')
                    .map(|number| number.parse().unwrap())
                    .collect::<Vec<u64>>()
            };
            assert_eq!(are_alike(Some(&numbers(was)), Some(&numbers(is))), alike, "{is}");
        }
        assert!(!are_alike(None, Some(&[1])) && !are_alike(Some(&[1]), None));
    }

    #[test]
    fn what_other_tools_made_is_not_compared() {
        let record = Record::of(&build(&["sum_f32"], 5));
        let other = Build {
            ptxas: None,
            ..build(&["sum_f32"], 6)
        };
        assert_eq!(record.compare(&Record::of(&other)), Verdict::OtherTools);
    }
}
