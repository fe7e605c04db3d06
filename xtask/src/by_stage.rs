//! What the PTX's bytes are for: its instructions by the stage whose source they came of.
//!
//! The kernels are compiled once more, with lines of the source, and nothing of that is handed out. An instruction is of the file that it
//! was written in; what all stages use (`simt/`, `stages/mod.rs`, `core`) is of the stage before it, for the compiler does not say what
//! it was inlined into.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, bail};
use warpfold_kernels::kernels::{self, Kernel};

use crate::{
    generator::Generator,
    packages, report,
    selection::{OF_EACH_SIZE, Selection},
    setup::Tools,
    wanted::Wanted,
};

/// The stages, each with the files that are it, below `kernels-gpu/src`.
const STAGES: [(&str, &[&str]); 8] = [
    ("load", &["/stages/load/"]),
    (
        "fold",
        &[
            "/stages/reduce/thread",
            "/stages/reduce/packed",
            "/stages/reduce/prefilter",
            "/stages/reduce/rows",
            "/stages/reduce/two_passes",
            "/stages/reduce/strided",
            "/stages/reduce/in_order",
        ],
    ),
    (
        "operator",
        &["/monoids/", "/rowwise/", "/element/", "/arithmetic/", "/tree"],
    ),
    ("shuffle", &["/stages/reduce/warp", "/stages/reduce/team"]),
    ("slots", &["/stages/reduce/grid"]),
    (
        "block",
        &[
            "/stages/reduce/block",
            "/stages/reduce/tile",
            "/stages/reduce/run",
            "/stages/reduce/unordered",
            "/stages/reduce/leaf",
        ],
    ),
    ("store", &["/stages/emit", "/stages/columns"]),
    (KERNEL, &["/kernels/"]),
];

/// A kernel's own lines, and what comes before any stage.
const KERNEL: &str = "kernel";

/// Bytes of each entry by stage.
type Bytes = BTreeMap<String, BTreeMap<&'static str, usize>>;

/// Compiles the part of the build that has an operator, and prints its kernels' bytes by stage, and those of all in it.
///
/// # Errors
///
/// There is no such operator, or no compiler that does.
pub fn print(op: &str, arch: &str, tools: &Tools) -> Result<()> {
    let Some(entry) = kernels::LIBRARY.entries().find(|entry| entry.folds(op)) else {
        bail!("no operator is called {op}: kernels-gpu/src/kernels/table.rs has the list");
    };
    let generator @ Generator::Llvm(_) = &tools.generator else {
        bail!("only rustc's own backend writes lines of the source");
    };
    let kernels = packages::ours(&tools.generator)?.with_lines();
    let _lock = kernels.lock()?;
    let selection = Selection::of_types(&OF_EACH_SIZE);
    let mut parts = Wanted::all(arch, &selection).parts();
    parts.retain(|part| part.name == entry.part);
    let texts = generator.compile_parts(&kernels, arch, &parts, "-C debuginfo=line-directives-only")?;
    let mut bytes: Bytes = texts.iter().flat_map(|text| by_stage(text)).collect();
    bytes.retain(|name, _| selection.has(name));
    let of_operator = bytes.iter().filter(|(name, _)| {
        let entry = kernels::entry(name);
        entry.is_some_and(|entry| entry.folds(op))
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
    let stages = || STAGES.iter().map(|(stage, _)| *stage);
    let head = ["entry"].into_iter().chain(stages()).chain(["all"]);
    let rows = rows.map(|(name, bytes)| {
        let cells = stages().map(|stage| bytes.get(stage).copied().unwrap_or(0));
        let cells = cells.chain([bytes.values().sum()]).map(|bytes| bytes.to_string());
        [name].into_iter().chain(cells).collect()
    });
    report::columns([head.map(str::to_owned).collect()].into_iter().chain(rows).collect(), 1)
}

/// Bytes of the instructions of each entry of a text with lines of the source.
fn by_stage(text: &str) -> Bytes {
    let stages: HashMap<u32, &'static str> = text.lines().filter_map(file).collect();
    let mut bytes = Bytes::new();
    let (mut entry, mut stage) = (None, KERNEL);
    for line in text.lines() {
        if let Some((_, name)) = line.split_once(".entry ") {
            (entry, stage) = (name.split(['(', ' ']).next(), KERNEL);
        } else if line.contains(".func ") {
            entry = None;
        } else if let Some(file) = location(line) {
            stage = stages.get(&file).copied().unwrap_or(stage);
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

/// The number and the stage of a file, of `.file 3 "path"`, if it is of one.
fn file(line: &str) -> Option<(u32, &'static str)> {
    let rest = line.trim_start().strip_prefix(".file")?.trim_start();
    let (number, path) = rest.split_once(char::is_whitespace)?;
    Some((number.parse().ok()?, stage_of(path)?))
}

/// The number of the file, of `.loc 3 12 5`.
fn location(line: &str) -> Option<u32> {
    let rest = line.trim_start().strip_prefix(".loc")?;
    rest.split_whitespace().next()?.parse().ok()
}

fn stage_of(path: &str) -> Option<&'static str> {
    let (_, ours) = path.rsplit_once("kernels-gpu/src")?;
    let of = |files: &[&str]| files.iter().any(|file| ours.starts_with(file));
    STAGES.iter().find(|(_, files)| of(files)).map(|(stage, _)| *stage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_of_the_stage_it_stands_in_or_of_the_one_before() {
        let text = "
.visible .entry sum_f32(
\t.param .u64 sum_f32_param_0
)
{
\tmov.u32 %r1, 0;
\t.loc\t2 20 9
\tshfl.sync.down.b32 %r2, %r1, 1, 31, -1;
\t.loc\t3 30 9
\tadd.f32 %f1, %f2, %f3;
$L__BB0_1:
\t.loc\t4 7 1
\tld.global.f32 %f2, [%rd1];
\tret;
}
\t.func other
\tret;
\t.file\t2 \"kernels-gpu/src/stages/reduce/warp.rs\"
\t.file\t3 \"kernels-gpu/src/monoids/sum.rs\"
\t.file\t4 \"kernels-gpu/src/simt/nvptx/mod.rs\"
";
        let bytes = by_stage(text);
        let stages = &bytes["sum_f32"];
        assert_eq!(bytes.len(), 1);
        assert_eq!(stages["kernel"], "\tmov.u32 %r1, 0;\n".len());
        assert_eq!(stages["shuffle"], "\tshfl.sync.down.b32 %r2, %r1, 1, 31, -1;\n".len());
        let operator = "\tadd.f32 %f1, %f2, %f3;\n\tld.global.f32 %f2, [%rd1];\n\tret;\n";
        assert_eq!(stages["operator"], operator.len());
    }

    #[test]
    fn every_file_of_the_stages_is_of_one() {
        let stages = crate::paths::root().join("kernels-gpu/src/stages");
        let files = [stages.join("load"), stages.join("reduce"), stages];
        let files = files.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let without: Vec<String> = files
            .map(|file| file.unwrap().path())
            .filter(|path| path.is_file() && stage_of(&path.to_string_lossy()).is_none())
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        // Modules alone; what all use; and a value.
        let mut without: Vec<&str> = without.iter().map(String::as_str).collect();
        without.sort_unstable();
        assert_eq!(without, ["each.rs", "mod.rs", "mod.rs", "strategy.rs"]);
    }
}
