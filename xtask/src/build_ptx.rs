//! `cargo xtask build-ptx`: the kernels' Rust to PTX, once for each architecture, a module for each entry, checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use thiserror::Error;

use crate::{
    arch, asked, by_stage,
    facts::Violation,
    generator::{Codegen, Generator, stand_in},
    judge::{self, Devices},
    kernel_crate::KernelCrate,
    packages, paths,
    process::write_if_changed,
    ptx::Module,
    record,
    report::{self, Build, Report},
    selection::Selection,
    setup::{self, Tools},
    wanted::{self, Wanted},
    weight,
};

#[derive(clap::Args)]
pub struct Args {
    /// Operators, row operations or kernels to build, such as sum softmax; `ladder` for the lessons' kernels. They are added to those that are there.
    #[arg(value_name = "OPERATOR", conflicts_with_all = ["user_crate", "bless"])]
    operators: Vec<String>,
    /// Types of elements to build kernels for, such as f32,bf16; the default is all.
    #[arg(long, value_delimiter = ',', value_name = "TYPE", conflicts_with_all = ["user_crate", "bless"])]
    types: Vec<String>,
    /// Architectures, such as sm_80,sm_90; the default covers compute capability 7.5 and up, or for operators the GPU that is found.
    #[arg(long, value_delimiter = ',', value_name = "ARCH")]
    arch: Vec<String>,
    /// The code generator.
    #[arg(long, value_enum, default_value = "llvm")]
    codegen: Codegen,
    /// A crate of your own that defines entry points; its PTX goes to its own target/ptx.
    #[arg(long = "crate", value_name = "PATH")]
    user_crate: Option<PathBuf>,
    /// Hand out the PTX even where facts of it do not hold: for measuring a kernel that is being worked on.
    #[arg(long)]
    unproven: bool,
    /// Assemble the PTX in the checks for every device of compute capability 7.5 to 12.0, as before a release: it takes four times
    /// as long.
    #[arg(long)]
    every_device: bool,
    /// Print a table of what each kernel's code is made of.
    #[arg(long)]
    table: bool,
    /// Record what the code is made of now, in kernels-gpu/facts: after a change of the kernels, or of the compiler.
    #[arg(long)]
    bless: bool,
    /// Print what the bytes of an operator's kernels are for, by stage, of a sample of types; nothing else is built.
    #[arg(long, value_name = "OPERATOR", conflicts_with_all = ["operators", "types", "user_crate", "unproven", "every_device", "bless"])]
    by_stage: Option<String>,
}

/// What is asked of a build beside the PTX.
#[derive(Clone, Copy)]
struct Checks {
    devices: Devices,
    unproven: bool,
    bless: bool,
    table: bool,
}

impl Checks {
    /// Those of a task that wants kernels which are, as a rule, those that were recorded: `build-ptx` assembled them for other devices, too.
    const OF_RECORDED: Self = Self {
        devices: Devices::Own,
        unproven: false,
        bless: false,
        table: false,
    };

    /// Devices that the PTX of an architecture is assembled for.
    fn devices(self, arch: &str) -> BTreeSet<u32> {
        self.devices.of(arch::number(arch).unwrap_or(0))
    }
}

/// Runs the task.
pub fn run(args: &Args) -> Result<()> {
    let codegen = match &args.user_crate {
        // Its manifest is for one of them.
        Some(path) if args.codegen == Codegen::Auto => packages::users_codegen(path)?.unwrap_or(Codegen::Auto),
        _ => args.codegen,
    };
    let tools = setup::find(codegen)?;
    if let Some(op) = &args.by_stage {
        if args.arch.len() > 1 {
            bail!("--by-stage is of one architecture");
        }
        let arch = args.arch.first().map_or(wanted::DEFAULT_ARCHS[0], |arch| arch.trim());
        tools.generator.knows(arch)?;
        return by_stage::print(op, arch, &tools);
    }
    let kernels = match &args.user_crate {
        None => packages::ours(&tools.generator)?,
        Some(path) => packages::users(path, &tools.generator)?,
    };
    let checks = Checks {
        unproven: args.unproven,
        devices: match args.every_device {
            true => Devices::Every,
            false => Devices::Defaults,
        },
        bless: args.bless,
        table: args.table,
    };
    let selection = Selection::parse(&args.operators, &args.types)?;
    let asked = asked::wanted(&args.arch, &selection, setup::gpu())?;
    let is_default = args.arch.is_empty() && selection.is_all();
    build(&kernels, &asked, is_default, &tools, checks).map(|_| ())
}

/// Builds the kernels for the default architectures, all of them.
///
/// # Errors
///
/// [`IsPart`], where a part of them is there: who had it built has no use for the others, or has yet to ask for them.
pub fn build_default(tools: &Tools) -> Result<Vec<Build>> {
    let kernels = packages::ours(&tools.generator)?;
    let asked = asked::wanted(&[], &Selection::all(), None)?;
    refuse_part(&kernels, &asked, &kernels.stamp(&tools.versions())?)?;
    build(&kernels, &asked, true, tools, Checks::OF_RECORDED)
}

/// Builds what is selected of the kernels for the GPU that is found.
pub fn build_some(selection: &Selection, tools: &Tools) -> Result<()> {
    let kernels = packages::ours(&tools.generator)?;
    let asked = asked::wanted(&[], selection, setup::gpu())?;
    build(&kernels, &asked, false, tools, Checks::OF_RECORDED).map(|_| ())
}

/// A part of the kernels where all are needed.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{} has a part of the kernels, {there} of {all}, and all are needed: `cargo xtask build-ptx` builds the others", folder.display())]
pub struct IsPart {
    folder: PathBuf,
    there: usize,
    all: usize,
}

/// Fails where a part of what is asked for is there. What was made from something older is none: it is built anew.
fn refuse_part(kernels: &KernelCrate, asked: &[Wanted], stamp: &str) -> Result<(), IsPart> {
    for wanted in asked {
        let folder = kernels.ptx.join(&wanted.arch);
        let (there, all) = (kernels.fresh(&folder, wanted, stamp).len(), wanted.entries.len());
        if there < all && kernels.is_current(&folder, stamp) {
            return Err(IsPart { folder, there, all });
        }
    }
    Ok(())
}

/// Builds the kernels of the example of a user's crate, which is compiled by rustc's own backend, for the default architectures.
pub fn build_example() -> Result<()> {
    let tools = setup::ensure(Codegen::Llvm)?;
    let kernels = packages::users(&paths::own_operator(), &tools.generator)?;
    let asked = asked::wanted(&[], &Selection::all(), None)?;
    build(&kernels, &asked, true, &tools, Checks::OF_RECORDED).map(|_| ())
}

/// Builds and checks the kernels for the default architectures, or the one that is checked with the stand-in, and hands
/// nothing out.
pub fn prove_default(tools: &Tools) -> Result<Vec<Build>> {
    let kernels = packages::ours(&tools.generator)?;
    let asked = match tools.generator {
        Generator::StandIn(_) => {
            vec![Wanted::all(stand_in::ARCH, &Selection::of_types(&stand_in::TYPES))]
        }
        _ => asked::wanted(&[], &Selection::all(), None)?,
    };
    let _lock = kernels.lock()?;
    prove(&kernels, &asked, tools, Checks::OF_RECORDED)
}

fn build(kernels: &KernelCrate, asked: &[Wanted], default: bool, tools: &Tools, checks: Checks) -> Result<Vec<Build>> {
    let _lock = kernels.lock()?;
    remove_stale(kernels, asked, default, tools)?;
    let builds = prove(kernels, asked, tools, checks)?;
    for build in &builds {
        publish(kernels, build)?;
    }
    println!("PTX in {}", kernels.ptx.display());
    Ok(builds)
}

/// Compiles and checks what is not up to date; all of it is then in the cache, with what is up to date there and was not asked for.
fn prove(kernels: &KernelCrate, asked: &[Wanted], tools: &Tools, checks: Checks) -> Result<Vec<Build>> {
    for wanted in asked {
        tools.generator.knows(&wanted.arch)?;
    }
    let stamp = kernels.stamp(&tools.versions())?;
    let is_kept = |build: &Build| {
        let is_asked = asked.iter().any(|wanted| wanted.arch == build.arch);
        let judged = |device: &u32| build.devices.contains(device);
        let is_judged = checks.devices != Devices::Every || checks.devices(&build.arch).iter().all(judged);
        is_asked && is_judged && kernels.is_current(&kernels.staged(&build.arch), &stamp)
    };
    let mut builds = Report::load(&kernels.cache).builds;
    builds.retain(is_kept);
    let mut todo = vec![];
    for wanted in asked {
        let is_kept = builds.iter().any(|build| build.arch == wanted.arch);
        let staged = kernels.staged(&wanted.arch);
        let fresh = if is_kept {
            kernels.fresh(&staged, wanted, &stamp)
        } else {
            vec![]
        };
        if !fresh.is_empty() {
            println!("up to date for {}: {} kernels", wanted.arch, fresh.len());
        }
        if !is_kept {
            let _ = fs::remove_dir_all(&staged);
        }
        let missing = wanted.without(&fresh);
        if !(kernels.ours && missing.entries.is_empty()) {
            todo.push(missing);
        }
    }
    if todo.is_empty() {
        return Ok(builds);
    }
    if tools.ptxas.is_none() {
        println!(
            "warning: no ptxas, so registers, spills and stack are not checked (`cargo xtask setup` looks for it)"
        );
    }

    let compiled = tools.generator.compile_all(kernels, &todo)?;
    let (mut wrong, mut current) = (vec![], vec![]);
    for (wanted, texts) in todo.iter().zip(compiled) {
        let (arch, modules) = (
            &*wanted.arch,
            texts.iter().map(|text| Module::parse(text)).collect::<Vec<_>>(),
        );
        kernels.mark_stale(arch);
        let (mut build, violations) = judge::check(kernels, wanted, &modules, tools, &checks.devices(arch))?;
        if checks.table {
            println!("\n{arch}: {}", build.generator);
            print!("{}", report::table(&build));
        }
        for device in checks.devices(arch) {
            if let Some(ptxas) = tools.ptxas.as_ref().filter(|_| !build.devices.contains(&device)) {
                println!(
                    "warning: ptxas {} does not know sm_{device}: not checked there",
                    ptxas.version
                );
            }
        }
        let on: Vec<_> = build.devices.iter().map(|device| format!("sm_{device}")).collect();
        let on = if on.is_empty() {
            "no device".to_owned()
        } else {
            on.join(", ")
        };
        println!("  {arch}: {} kernels checked, assembled for {on}", build.entries.len());
        if let Some(at) = builds.iter().position(|kept| kept.arch == arch) {
            build.add(builds.remove(at));
        }
        let recorded = record::check(kernels, &build, tools, checks.bless)?;
        let violations: Vec<_> = violations.into_iter().chain(recorded).collect();
        if violations.is_empty() {
            current.push(arch.to_owned());
        }
        builds.push(build);
        wrong.extend(violations);
    }
    // What was recorded just now is part of it, of all architectures.
    let stamp = kernels.stamp(&tools.versions())?;
    for arch in &current {
        kernels.mark_current(arch, &stamp)?;
    }
    let mut report = Report::load(&kernels.cache);
    for build in &builds {
        report.put(build.clone());
    }
    report.save(&kernels.cache)?;
    wrong.extend(weight::check(kernels, &builds));
    let lines = gathered(&wrong);
    for line in &lines {
        println!("{}: {line}", if checks.unproven { "warning" } else { "error" });
    }
    if !lines.is_empty() && !checks.unproven {
        bail!(
            "{} facts of the generated code do not hold; it lies in {}",
            lines.len(),
            kernels.cache.display()
        );
    }
    Ok(builds)
}

/// One line for each thing that is wrong, with the places where it is.
fn gathered(wrong: &[(String, Violation)]) -> Vec<String> {
    let mut places: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (place, violation) in wrong {
        let place = match &violation.extent {
            Some(extent) => format!("{place}: {extent}"),
            None => place.clone(),
        };
        let at = places.entry((&violation.entry, &violation.what)).or_default();
        at.push(place);
    }
    let line =
        |((entry, what), places): ((&str, &str), Vec<String>)| format!("{entry}: {what} ({})", places.join(", "));
    places.into_iter().map(line).collect()
}

/// Removes what would mislead: in a default build, every other architecture; otherwise those others that were made from
/// something older than what is there now, for the host crate embeds all it finds. In a user's crate, those that another code
/// generator made.
fn remove_stale(kernels: &KernelCrate, asked: &[Wanted], default: bool, tools: &Tools) -> Result<()> {
    let stamp = kernels.stamp(&tools.versions())?;
    let stale = |folder: &Path| {
        if kernels.ours {
            return default || !kernels.is_current(folder, &stamp);
        }
        let generator = fs::read_to_string(folder.join("build.txt")).unwrap_or_default();
        generator.trim() != tools.generator.version()
    };
    let mut report = Report::load(&kernels.ptx);
    for folder in fs::read_dir(&kernels.ptx).into_iter().flatten().flatten() {
        let name = folder.file_name().to_string_lossy().into_owned();
        let other = arch::number(&name).is_some() && asked.iter().all(|wanted| wanted.arch != name);
        if other && stale(&folder.path()) {
            println!(
                "removing {name}: {}",
                if default { "not a default" } else { "out of date" }
            );
            fs::remove_dir_all(folder.path())?;
            report.builds.retain(|build| build.arch != name);
            report.save(&kernels.ptx)?;
        }
    }
    Ok(())
}

/// Puts the staged files where the host crate finds them, and nothing else beside them.
fn publish(kernels: &KernelCrate, build: &Build) -> Result<()> {
    let staged = kernels.staged(&build.arch);
    let folder = kernels.ptx.join(&build.arch);
    let mut names = BTreeSet::new();
    for file in fs::read_dir(&staged)? {
        let file = file?;
        write_if_changed(&folder.join(file.file_name()), &fs::read_to_string(file.path())?)?;
        names.insert(file.file_name());
    }
    for file in fs::read_dir(&folder)? {
        let file = file?;
        if !names.contains(&file.file_name()) {
            fs::remove_file(file.path())?;
        }
    }
    let mut report = Report::load(&kernels.ptx);
    report.put(build.clone());
    report.save(&kernels.ptx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled::Compiled;

    #[test]
    fn a_part_is_refused_where_all_are_needed() {
        let folder = std::env::temp_dir().join(format!("warpfold-part-{}", std::process::id()));
        let kernels = KernelCrate {
            own: Compiled::default(),
            beside: vec![],
            sources: vec![],
            ptx: folder.clone(),
            cache: folder.clone(),
            ours: true,
        };
        let all = [Wanted::all("sm_75", &Selection::all())];
        let refused = |stamp| refuse_part(&kernels, &all, stamp);
        assert_eq!(refused("1"), Ok(()), "nothing is there");
        let arch = folder.join("sm_75");
        fs::create_dir_all(&arch).unwrap();
        fs::write(arch.join("stamp"), "1").unwrap();
        fs::write(arch.join("sum_f32.ptx"), "").unwrap();
        let error = refused("1").unwrap_err();
        assert_eq!((error.there, error.all), (1, all[0].entries.len()));
        let says = error.to_string();
        assert!(
            says.contains("sm_75 has a part") && says.contains("`cargo xtask build-ptx`"),
            "{says}"
        );
        assert_eq!(refused("2"), Ok(()), "made from something older");
        for entry in &all[0].entries {
            fs::write(arch.join(format!("{}.ptx", entry.name())), "").unwrap();
        }
        assert_eq!(refused("1"), Ok(()), "all are there");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_wrong_everywhere_is_said_once() {
        let violation = |extent: Option<&str>| Violation {
            entry: "sum_f32".to_owned(),
            what: "a stack".to_owned(),
            extent: extent.map(str::to_owned),
        };
        let wrong = [
            ("sm_75".to_owned(), violation(None)),
            ("sm_80".to_owned(), violation(Some("8 bytes"))),
        ];
        assert_eq!(gathered(&wrong), ["sum_f32: a stack (sm_75, sm_80: 8 bytes)"]);
    }
}
