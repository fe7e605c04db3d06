//! What the PTX's bytes are for: its instructions by the stage whose source they came of.
//!
//! The kernels are compiled once more, with line tables, and nothing of that is handed out. An instruction belongs to the innermost
//! stage that it was inlined into: an addition to the fold of a fragment, to lanes that meet, or to slots.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, bail};
use warpfold_kernels::kernels::{self, Kernel};

use crate::{generator::Generator, kernel_crate::KernelCrate, report, setup::Tools};

/// The stages, each with the files that are it, below `kernels-gpu/src`.
const STAGES: [(&str, &[&str]); 6] = [
    ("load", &["stages/load/"]),
    (
        "fold",
        &["stages/reduce/thread", "stages/reduce/apart", "stages/reduce/in_order"],
    ),
    ("shuffle", &["stages/reduce/warp", "stages/reduce/team"]),
    ("slots", &["stages/reduce/grid"]),
    ("block", &["stages/reduce/"]),
    ("store", &["stages/emit"]),
];

/// What is in no stage: a kernel's own lines.
const KERNEL: &str = "kernel";

/// Where in the sources: file, line and column.
type Place = (u32, u32, u32);

/// Bytes of each entry by stage.
type Bytes = BTreeMap<String, BTreeMap<&'static str, usize>>;

/// Compiles the part of the build that has an operator, and prints its kernels' bytes by stage, and those of all in it.
///
/// # Errors
///
/// There is no such operator, or no compiler that does.
pub fn print(op: &str, arch: &str, tools: &Tools) -> Result<()> {
    let Some(entry) = kernels::LIBRARY.entries().find(|entry| entry.which(op).is_some()) else {
        bail!("no operator is called {op}: kernels-gpu/src/kernels/table.rs has the list");
    };
    let Generator::Llvm(compiler) = &tools.generator else {
        bail!("only rustc's own backend writes lines of the source");
    };
    let kernels = KernelCrate::ours(&tools.generator)?.with_lines();
    let texts = compiler.compile_parts(&kernels, arch, &[entry.part], "-C debuginfo=line-tables-only")?;
    let bytes: Bytes = texts.iter().flat_map(|text| by_stage(text)).collect();
    let of_operator = bytes.iter().filter(|(name, _)| {
        let entry = kernels::entry(name);
        entry.is_some_and(|entry| entry.which(op).is_some())
    });
    println!("\nBytes of PTX instructions by stage, {arch}");
    print!("{}", table(of_operator.map(|(name, stages)| (name.clone(), stages))));
    println!("\nof part {}, an entry's in the mean", entry.part);
    let means = Kernel::ALL.into_iter().filter_map(|kernel| {
        let of_kernel = |name: &str| kernels::entry(name).is_some_and(|entry| entry.kernel == kernel);
        let all: Vec<_> = bytes.iter().filter(|(name, _)| of_kernel(name)).collect();
        let mut mean: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (stage, bytes) in all.iter().flat_map(|(_, stages)| stages.iter()) {
            *mean.entry(stage).or_default() += bytes;
        }
        mean.values_mut().for_each(|bytes| *bytes /= all.len());
        (!all.is_empty()).then(|| (format!("{kernel:?}, {}", all.len()), mean))
    });
    let means: Vec<_> = means.collect();
    print!("{}", table(means.iter().map(|(name, stages)| (name.clone(), stages))));
    Ok(())
}

fn table<'a>(rows: impl Iterator<Item = (String, &'a BTreeMap<&'static str, usize>)>) -> String {
    let stages = || STAGES.iter().map(|(stage, _)| *stage).chain([KERNEL]);
    let head = ["entry"].into_iter().chain(stages()).chain(["all"]);
    let rows = rows.map(|(name, bytes)| {
        let cells = stages().map(|stage| bytes.get(stage).copied().unwrap_or(0));
        let cells = cells.chain([bytes.values().sum()]).map(|bytes| bytes.to_string());
        [name].into_iter().chain(cells).collect()
    });
    report::columns([head.map(str::to_owned).collect()].into_iter().chain(rows).collect(), 1)
}

/// Bytes of the instructions of each entry of a text with line tables.
fn by_stage(text: &str) -> Bytes {
    let files: HashMap<u32, &str> = text.lines().filter_map(file).collect();
    let mut bytes = Bytes::new();
    let mut inlined_at: HashMap<Place, Option<Place>> = HashMap::new();
    let (mut entry, mut stage) = (None, KERNEL);
    for line in text.lines() {
        if let Some((_, name)) = line.split_once(".entry ") {
            entry = name.split(['(', ' ']).next();
        } else if line.starts_with('}') {
            entry = None;
        } else if let Some((place, at)) = location(line) {
            inlined_at.insert(place, at);
            stage = stage_of(place, &inlined_at, &files);
        } else if let Some(entry) = entry.filter(|_| is_instruction(line)) {
            let stages = bytes.entry(entry.to_owned()).or_default();
            *stages.entry(stage).or_default() += line.len() + 1;
        }
    }
    bytes
}

fn is_instruction(line: &str) -> bool {
    let line = line.trim_start();
    line.ends_with(';') && !line.starts_with('.') && !line.starts_with("//")
}

/// `.file 3 "path"`.
fn file(line: &str) -> Option<(u32, &str)> {
    let rest = line.trim_start().strip_prefix(".file")?.trim_start();
    let (number, path) = rest.split_once(char::is_whitespace)?;
    Some((number.parse().ok()?, path.trim().trim_matches('"')))
}

/// `.loc 3 12 5, function_name …, inlined_at 1 30 9`.
fn location(line: &str) -> Option<(Place, Option<Place>)> {
    let rest = line.trim_start().strip_prefix(".loc")?;
    let place = |text: &str| -> Option<Place> {
        let mut numbers = text
            .split_whitespace()
            .map(|number| number.trim_end_matches(',').parse());
        let mut next = || numbers.next()?.ok();
        Some((next()?, next()?, next()?))
    };
    let at = rest.split_once("inlined_at").and_then(|(_, at)| place(at));
    Some((place(rest)?, at))
}

/// The innermost stage that the code of a place was inlined into.
fn stage_of(place: Place, inlined_at: &HashMap<Place, Option<Place>>, files: &HashMap<u32, &str>) -> &'static str {
    let mut next = Some(place);
    // A circle would be a compiler's fault.
    for _ in 0..64 {
        let Some(place) = next else { break };
        let path = files.get(&place.0).copied().unwrap_or_default();
        let of = |files: &[&str]| files.iter().any(|file| path.contains(file));
        if let Some((stage, _)) = STAGES.iter().find(|(_, files)| of(files)) {
            return stage;
        }
        next = inlined_at.get(&place).copied().flatten();
    }
    KERNEL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_of_the_innermost_stage_that_it_is_inlined_into() {
        let text = "
\t.file\t1 \"kernels-gpu/src/kernels/whole.rs\"
\t.file\t2 \"kernels-gpu/src/stages/reduce/warp.rs\"
\t.file\t3 \"kernels-gpu/src/monoids/sum.rs\"
\t.file\t4 \"kernels-gpu/src/stages/load/words.rs\"
.visible .entry sum_f32(
\t.param .u64 sum_f32_param_0
)
{
\t.loc\t1 10 5
\tmov.u32 %r1, 0;
\t.loc\t2 20 9, function_name $L__info_string0, inlined_at 1 10 5
\t.loc\t3 30 9, function_name $L__info_string1, inlined_at 2 20 9
\tadd.f32 %f1, %f2, %f3;
$L__BB0_1:
\t.loc\t4 7 1, function_name $L__info_string2, inlined_at 1 11 5
\tld.global.f32 %f2, [%rd1];
\tret;
}
\t.func other
";
        let bytes = by_stage(text);
        let stages = &bytes["sum_f32"];
        assert_eq!(bytes.len(), 1);
        assert_eq!(stages["kernel"], "\tmov.u32 %r1, 0;\n".len());
        assert_eq!(stages["shuffle"], "\tadd.f32 %f1, %f2, %f3;\n".len());
        assert_eq!(stages["load"], "\tld.global.f32 %f2, [%rd1];\n\tret;\n".len());
    }

    #[test]
    fn every_file_of_the_stages_is_of_one() {
        let sources = crate::paths::root().join("kernels-gpu/src/stages/reduce");
        for file in std::fs::read_dir(sources).unwrap() {
            let path = file.unwrap().path();
            let path = format!("stages/reduce/{}", path.file_name().unwrap().display());
            let files = HashMap::from([(1, &*path)]);
            assert_ne!(stage_of((1, 1, 1), &HashMap::new(), &files), KERNEL, "{path}");
        }
    }
}
