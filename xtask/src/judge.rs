//! What the compiler made, taken apart by module, and judged: by its text, and by what ptxas says of it on devices.

use std::{collections::BTreeMap, collections::BTreeSet, path::Path};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;

use crate::{
    arch,
    facts::{self, Figures, Violation},
    generator::Generator,
    kernel_crate::{BuildPart, KernelCrate},
    process::write_if_changed,
    ptx::Module,
    ptxas::{Assembly, Ptxas},
    report::{Build, ReportRow},
    setup::Tools,
    wanted::Wanted,
};

/// Devices that the PTX is assembled for in the checks: those of the default architectures, for each takes minutes.
const DEVICES: [u32; 2] = [75, 90];

/// The others, for which the assembler allots registers almost alike: checked when asked for.
const OTHER_DEVICES: [u32; 6] = [80, 86, 89, 100, 103, 120];

/// Takes the compiler's PTX apart by module and judges it on these devices. The files are in the cache until they are published, with those
/// that are there.
pub fn check(
    kernels: &KernelCrate,
    wanted: &Wanted,
    modules: &[Module],
    tools: &Tools,
    devices: &BTreeSet<u32>,
) -> Result<(Build, Vec<(String, Violation)>)> {
    let arch = &*wanted.arch;
    let mut parts: Vec<(&Module, BuildPart)> = vec![];
    for module in modules {
        parts.extend(kernels.parts(wanted, module)?.into_iter().map(|part| (module, part)));
    }
    if parts.is_empty() {
        bail!("{} defines no entry point", kernels.own.package);
    }
    let names: Vec<&str> = parts.iter().map(|(_, part)| &*part.item.name).collect();
    let in_texts: Vec<Violation> = parts
        .par_iter()
        .flat_map_iter(|(_, part)| facts::in_text(&part.item.name, &part.item.text, part.expected))
        .collect();
    let mut wrong: Vec<(String, Violation)> = kernels
        .missing(wanted, &names)
        .into_iter()
        .chain(in_texts)
        .map(|violation| (arch.to_owned(), violation))
        .collect();

    let staged = kernels.staged(arch);
    let mut files: BTreeMap<&str, (&Module, Vec<&BuildPart>)> = BTreeMap::new();
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
                Some(ptxas) => assemble(ptxas, &file, arch, devices, members),
                None => Ok(Assembled {
                    own: vec![None; members.len()],
                    ..Assembled::default()
                }),
            }
        })
        .collect::<Result<_>>()?;
    let mut on_devices = vec![];
    for ((_, members), assembled) in files.values().zip(assembled) {
        let rows = members.iter().zip(assembled.own).map(|(part, figures)| ReportRow {
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
fn assemble(
    ptxas: &Ptxas,
    file: &Path,
    arch: &str,
    devices: &BTreeSet<u32>,
    members: &[&BuildPart],
) -> Result<Assembled> {
    let arch = arch::number(arch).context("an architecture is a number")?;
    let mut assembled = Assembled {
        own: vec![None; members.len()],
        ..Assembled::default()
    };
    for &device in devices {
        let Assembly::Assembled(said) = ptxas.assemble(file, device)? else {
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

/// Which devices the PTX is assembled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Devices {
    /// The architecture's own.
    Own,
    /// Those of the default architectures.
    Defaults,
    /// All that are known.
    Every,
}

impl Devices {
    /// Those for the PTX of `arch`: its own, and later ones.
    pub fn of(self, arch: u32) -> BTreeSet<u32> {
        let mut devices: BTreeSet<u32> = match self {
            Self::Own => [].into(),
            Self::Defaults => DEVICES.into(),
            Self::Every => DEVICES.into_iter().chain(OTHER_DEVICES).collect(),
        };
        devices.insert(arch);
        devices.into_iter().filter(|device| *device >= arch).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_is_assembled_for_its_own_devices_and_later_ones() {
        assert_eq!(Devices::Own.of(75), BTreeSet::from([75]));
        assert_eq!(Devices::Defaults.of(75), BTreeSet::from(DEVICES));
        assert_eq!(Devices::Defaults.of(90), BTreeSet::from([90]));
        assert_eq!(Devices::Defaults.of(121), BTreeSet::from([121]));
        assert_eq!(
            Devices::Every.of(75),
            BTreeSet::from([75, 80, 86, 89, 90, 100, 103, 120])
        );
        assert_eq!(Devices::Every.of(90), BTreeSet::from([90, 100, 103, 120]));
    }
}
