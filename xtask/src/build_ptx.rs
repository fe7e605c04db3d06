//! `cargo xtask build-ptx`: the kernels' Rust to PTX, once for each architecture, a module for each entry, checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use warpfold_kernels::kernels::PARTS_OF_NEWER;

use crate::{
    by_stage,
    facts::{self, Figures, Violation},
    generator::{self, Codegen, Generator, stand_in},
    kernel_crate::{KernelCrate, Part, Wanted},
    paths,
    process::write_if_changed,
    ptx::Module,
    ptxas::{Outcome, Ptxas},
    record,
    report::{self, Build, Report, Row},
    setup::{self, Tools},
    weight,
};

/// What is built unless said otherwise: a base, and what is better on an architecture with instructions that the base has not. The
/// driver compiles the newest that a device can take.
pub const DEFAULT_ARCHS: [&str; 2] = ["sm_75", "sm_90"];

/// Devices that the PTX is assembled for in the checks: those of the default architectures, for each takes minutes.
const DEVICES: [u32; 2] = [75, 90];

/// The others, for which the assembler allots registers almost alike: checked when asked for.
const OTHER_DEVICES: [u32; 6] = [80, 86, 89, 100, 103, 120];

#[derive(clap::Args)]
pub struct Args {
    /// Architectures, such as sm_80,sm_90; the default covers compute capability 7.5 and up.
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
    /// Record what the code is made of now, in kernels-gpu/facts: after a change of the kernels, or of the compiler.
    #[arg(long)]
    bless: bool,
    /// Print what the bytes of an operator's kernels are for, by stage, of a sample of types; nothing else is built.
    #[arg(long, value_name = "OPERATOR", conflicts_with_all = ["user_crate", "unproven", "every_device", "bless"])]
    by_stage: Option<String>,
}

/// What is asked of a build beside the PTX.
#[derive(Clone, Copy, Default)]
struct Checks {
    unproven: bool,
    every_device: bool,
    bless: bool,
}

impl Checks {
    /// Devices that the PTX of an architecture is assembled for.
    fn devices(self, arch: u32, tools: &Tools) -> BTreeSet<u32> {
        match tools.generator {
            // That it assembles is all that is asked.
            Generator::StandIn(_) => [arch].into(),
            _ => devices_of(arch, self.every_device),
        }
    }
}

/// Runs the task.
pub fn run(args: &Args) -> Result<()> {
    let codegen = match &args.user_crate {
        // Its manifest is for one of them.
        Some(path) if args.codegen == Codegen::Auto => KernelCrate::users_codegen(path)?.unwrap_or(Codegen::Auto),
        _ => args.codegen,
    };
    let tools = setup::find(codegen)?;
    if let Some(op) = &args.by_stage {
        if args.arch.len() > 1 {
            bail!("--by-stage is of one architecture");
        }
        let arch = args.arch.first().map_or(DEFAULT_ARCHS[0], |arch| arch.trim());
        tools.generator.knows(arch)?;
        return by_stage::print(op, arch, &tools);
    }
    let kernels = match &args.user_crate {
        None => KernelCrate::ours(&tools.generator)?,
        Some(path) => KernelCrate::users(path, &tools.generator)?,
    };
    let checks = Checks {
        unproven: args.unproven,
        every_device: args.every_device,
        bless: args.bless,
    };
    build(&kernels, &args.arch, &tools, checks).map(|_| ())
}

/// Builds the kernels for the default architectures.
pub fn build_default(tools: &Tools) -> Result<Vec<Build>> {
    build(&KernelCrate::ours(&tools.generator)?, &[], tools, Checks::default())
}

/// The same, or where they are not up to date, a sample of them: a third of the work, for who wants to see something. Whether it is one.
pub fn build_sample(tools: &Tools) -> Result<bool> {
    let mut kernels = KernelCrate::ours(&tools.generator)?;
    let stamp = kernels.stamp(tools)?;
    let is_current = |wanted: &Wanted| kernels.is_current(&kernels.staged(&wanted.arch), wanted.parts, &stamp);
    if !wanted(&[], tools).iter().all(is_current) {
        kernels = kernels.sampled();
    }
    build(&kernels, &[], tools, Checks::default())?;
    Ok(kernels.sample)
}

/// Builds the kernels of the example of a user's crate, which is compiled by rustc's own backend, for the default architectures.
pub fn build_example() -> Result<()> {
    let tools = setup::ensure(Codegen::Llvm)?;
    let kernels = KernelCrate::users(&paths::own_operator(), &tools.generator)?;
    build(&kernels, &[], &tools, Checks::default()).map(|_| ())
}

/// Builds and checks the kernels for the default architectures, or the one that is checked with the stand-in, and hands
/// nothing out.
pub fn prove_default(tools: &Tools) -> Result<Vec<Build>> {
    let kernels = KernelCrate::ours(&tools.generator)?;
    let wanted = match tools.generator {
        Generator::StandIn(_) => vec![Wanted::all(stand_in::ARCH)],
        _ => wanted(&[], tools),
    };
    let _lock = lock(&kernels)?;
    prove(&kernels, &wanted, tools, Checks::default())
}

/// What is to be built: all for architectures that are asked for; else all for the base, and for the other defaults what is better
/// there, if the code generator can be told so.
fn wanted(archs: &[String], tools: &Tools) -> Vec<Wanted> {
    if !archs.is_empty() {
        let asked: BTreeSet<&str> = archs.iter().map(|arch| arch.trim()).collect();
        return asked.into_iter().map(Wanted::all).collect();
    }
    let [base, newer @ ..] = DEFAULT_ARCHS;
    let newer = newer.iter().map(|arch| match tools.generator.knows_parts() {
        true => Wanted::newer(arch),
        false => Wanted::all(arch),
    });
    [Wanted::all(base)].into_iter().chain(newer).collect()
}

fn build(kernels: &KernelCrate, archs: &[String], tools: &Tools, checks: Checks) -> Result<Vec<Build>> {
    let asked = wanted(archs, tools);
    let _lock = lock(kernels)?;
    remove_stale(kernels, &asked, archs.is_empty(), tools)?;
    let builds = prove(kernels, &asked, tools, checks)?;
    for build in &builds {
        publish(kernels, build)?;
    }
    println!("PTX in {}", kernels.ptx.display());
    Ok(builds)
}

/// Two builds at once would mix their files. The lock goes with the file's handle.
pub fn lock(kernels: &KernelCrate) -> Result<fs::File> {
    fs::create_dir_all(&kernels.cache).with_context(|| format!("cannot make {}", kernels.cache.display()))?;
    let lock = fs::File::create(kernels.cache.with_file_name("lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Compiles and checks what is not up to date; all of it then lies in the cache.
fn prove(kernels: &KernelCrate, asked: &[Wanted], tools: &Tools, checks: Checks) -> Result<Vec<Build>> {
    for wanted in asked {
        tools.generator.knows(&wanted.arch)?;
    }
    let stamp = kernels.stamp(tools)?;
    let earlier = Report::load(&kernels.cache);
    let mut builds: Vec<Build> = earlier
        .builds
        .into_iter()
        .filter(|build| {
            let wanted = asked.iter().find(|wanted| wanted.arch == build.arch);
            wanted.is_some_and(|wanted| kernels.is_current(&kernels.staged(&build.arch), wanted.parts, &stamp))
        })
        .filter(|build| {
            let asked = checks.devices(generator::number(&build.arch).unwrap_or(0), tools);
            !checks.every_device || asked.iter().all(|device| build.devices.contains(device))
        })
        .collect();
    let built: Vec<&str> = builds.iter().map(|build| &*build.arch).collect();
    let is_missing = |wanted: &&Wanted| !built.contains(&&*wanted.arch);
    let todo: Vec<Wanted> = asked.iter().filter(is_missing).cloned().collect();
    if !built.is_empty() {
        println!("up to date, by {}: {}", tools.generator.version(), built.join(", "));
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
    let mut wrong = vec![];
    for (wanted, texts) in todo.iter().zip(compiled) {
        let (arch, modules) = (
            &*wanted.arch,
            texts.iter().map(|text| Module::parse(text)).collect::<Vec<_>>(),
        );
        let (build, violations) = check(kernels, wanted, &modules, tools, checks)?;
        println!("\n{arch}: {}", build.generator);
        print!("{}", report::table(&build));
        for device in checks.devices(generator::number(arch).unwrap_or(0), tools) {
            if let Some(ptxas) = tools.ptxas.as_ref().filter(|_| !build.devices.contains(&device)) {
                println!(
                    "warning: ptxas {} does not know sm_{device}: not checked there",
                    ptxas.version
                );
            }
        }
        if build.devices.len() > 1 {
            let devices: Vec<_> = build.devices.iter().map(|device| format!("sm_{device}")).collect();
            println!("  assembled for {}", devices.join(", "));
        }
        let violations = violations
            .into_iter()
            .chain(record::check(kernels, wanted, &build, tools, checks.bless)?);
        let violations: Vec<_> = violations.collect();
        if violations.is_empty() {
            // What was recorded just now is part of it.
            kernels.mark_current(arch, &kernels.stamp(tools)?)?;
        }
        builds.push(build);
        wrong.extend(violations);
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
    println!();
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
    let stamp = kernels.stamp(tools)?;
    let stale = |folder: &Path| {
        if kernels.ours {
            return default || !kernels.is_current(folder, &PARTS_OF_NEWER, &stamp);
        }
        let generator = fs::read_to_string(folder.join("build.txt")).unwrap_or_default();
        generator.trim() != tools.generator.version()
    };
    let mut report = Report::load(&kernels.ptx);
    for folder in fs::read_dir(&kernels.ptx).into_iter().flatten().flatten() {
        let name = folder.file_name().to_string_lossy().into_owned();
        let other = generator::number(&name).is_some() && asked.iter().all(|wanted| wanted.arch != name);
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

/// A duration, to a tenth of a second.
pub fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// Takes the compiler's PTX apart by module and judges it; the files lie in the cache until they are published.
fn check(
    kernels: &KernelCrate,
    wanted: &Wanted,
    modules: &[Module],
    tools: &Tools,
    checks: Checks,
) -> Result<(Build, Vec<(String, Violation)>)> {
    let arch = &*wanted.arch;
    let mut parts: Vec<(&Module, Part)> = vec![];
    for module in modules {
        parts.extend(kernels.parts(module)?.into_iter().map(|part| (module, part)));
    }
    if parts.is_empty() {
        bail!("{} defines no entry point", kernels.package);
    }
    let names: Vec<&str> = parts.iter().map(|(_, part)| &*part.item.name).collect();
    let in_texts = parts
        .iter()
        .flat_map(|(_, part)| facts::in_text(&part.item.name, &part.item.text, part.expected));
    let mut wrong: Vec<(String, Violation)> = kernels
        .missing(wanted, &names)
        .into_iter()
        .chain(in_texts)
        .map(|violation| (arch.to_owned(), violation))
        .collect();

    let staged = kernels.staged(arch);
    let _ = fs::remove_dir_all(&staged);
    let mut files: BTreeMap<&str, (&Module, Vec<&Part>)> = BTreeMap::new();
    for (module, part) in &parts {
        let (_, members) = files.entry(&part.module).or_insert((module, vec![]));
        members.push(part);
    }
    let mut build = Build {
        arch: arch.to_owned(),
        generator: tools.generator.version(),
        ptxas: tools.ptxas.as_ref().map(|ptxas| ptxas.version.clone()),
        devices: vec![],
        entries: vec![],
    };
    write_if_changed(&staged.join("build.txt"), &format!("{}\n", build.generator))?;
    // Assembling takes longer than all else: a module on each core.
    let devices = checks.devices(generator::number(arch).context("an architecture is a number")?, tools);
    let assembled: Vec<Assembled> = files
        .par_iter()
        .map(|(name, (module, members))| {
            let of_file = |name: &str| {
                let part = members.iter().find(|part| part.item.name == name);
                part.map(|part| part.bounds)
            };
            let file = staged.join(format!("{name}.ptx"));
            let notes = members.iter().filter_map(|part| part.note);
            let notes: String = notes.map(|note| format!("{note}\n")).collect();
            write_if_changed(&file, &(notes + &module.select(of_file)))?;
            match &tools.ptxas {
                Some(ptxas) => assemble(ptxas, &file, arch, &devices, members),
                None => Ok(Assembled {
                    own: vec![None; members.len()],
                    ..Assembled::default()
                }),
            }
        })
        .collect::<Result<_>>()?;
    let mut on_devices = vec![];
    for ((_, members), assembled) in files.values().zip(assembled) {
        let rows = members.iter().zip(assembled.own).map(|(part, figures)| Row {
            name: part.item.name.clone(),
            counts: facts::count(&part.item.text),
            figures,
        });
        build.entries.extend(rows);
        build.devices = assembled.devices;
        on_devices.extend(assembled.wrong);
    }
    // With the stand-in, shared memory is a global variable: ptxas's word counts for the instructions, not for the figures.
    if !matches!(tools.generator, Generator::StandIn(_)) {
        wrong.extend(on_devices);
    }
    Ok((build, wrong))
}

/// What ptxas said of a module.
#[derive(Default)]
struct Assembled {
    /// The devices that it knows.
    devices: Vec<u32>,
    /// The members' figures on the architecture itself.
    own: Vec<Option<Figures>>,
    wrong: Vec<(String, Violation)>,
}

/// Assembles a module for devices that will load it, and judges each.
fn assemble(ptxas: &Ptxas, file: &Path, arch: &str, devices: &BTreeSet<u32>, members: &[&Part]) -> Result<Assembled> {
    let arch = generator::number(arch).context("an architecture is a number")?;
    let mut assembled = Assembled {
        own: vec![None; members.len()],
        ..Assembled::default()
    };
    for &device in devices {
        let Outcome::Assembled(said) = ptxas.assemble(file, device)? else {
            continue;
        };
        assembled.devices.push(device);
        let figures = facts::figures(&said);
        for (part, own) in members.iter().zip(&mut assembled.own) {
            let name = &part.item.name;
            let found = facts::in_figures(name, figures.get(name));
            let place = |violation| (format!("sm_{device}"), violation);
            assembled.wrong.extend(found.into_iter().map(place));
            if device == arch {
                *own = figures.get(name).copied();
            }
        }
    }
    Ok(assembled)
}

/// The devices that the PTX of `arch` is assembled for: its own, and later ones.
fn devices_of(arch: u32, every: bool) -> BTreeSet<u32> {
    let mut devices: BTreeSet<u32> = DEVICES.into();
    if every {
        devices.extend(OTHER_DEVICES);
    }
    devices.insert(arch);
    devices.into_iter().filter(|device| *device >= arch).collect()
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

    #[test]
    fn ptx_is_assembled_for_its_own_devices_and_later_ones() {
        assert_eq!(devices_of(75, false), BTreeSet::from(DEVICES));
        assert_eq!(devices_of(90, false), BTreeSet::from([90]));
        assert_eq!(devices_of(121, false), BTreeSet::from([121]));
        assert_eq!(
            devices_of(75, true),
            BTreeSet::from([75, 80, 86, 89, 90, 100, 103, 120])
        );
        assert_eq!(devices_of(90, true), BTreeSet::from([90, 100, 103, 120]));
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
