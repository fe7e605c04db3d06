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
    ptx::{Bounds, Module},
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
            let file = staged.join(format!("{name}.ptx"));
            let notes = members.iter().filter_map(|part| part.note);
            let notes: String = notes.map(|note| format!("{note}\n")).collect();
            let mut bounds: Vec<Bounds> = members.iter().map(|part| part.bounds).collect();
            loop {
                let of_file = |name: &str| {
                    let at = members.iter().position(|part| part.item.name == name)?;
                    bounds.get(at).copied()
                };
                write_if_changed(&file, &(notes.clone() + &module.select(of_file)))?;
                let Some(ptxas) = &tools.ptxas else {
                    return Ok(Assembled {
                        own: vec![None; members.len()],
                        ..Assembled::default()
                    });
                };
                let assembled = assemble(ptxas, &file, arch, devices, members)?;
                let is_other = matches!(tools.generator, Generator::Nvvm(_));
                if !(is_other && loosen(&mut bounds, &assembled.spills)) {
                    return Ok(assembled);
                }
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

/// Gives room for a block less to each entry whose registers spill. The bounds are for the code of rustc's own backend, and the other
/// generator's needs more registers here and there: fewer of its blocks run at once, and it stores none of them to memory. Says whether
/// there was anything to give up.
fn loosen(bounds: &mut [Bounds], spills: &[bool]) -> bool {
    let mut is_looser = false;
    for (bounds, _) in bounds.iter_mut().zip(spills).filter(|(_, spills)| **spills) {
        if let Some(blocks) = bounds.min_blocks.filter(|blocks| *blocks > 1) {
            bounds.min_blocks = Some(blocks - 1);
            is_looser = true;
        }
    }
    is_looser
}

/// What ptxas said of a module.
#[derive(Default)]
struct Assembled {
    /// The devices that it knows.
    devices: Vec<u32>,
    /// The members' figures on the architecture itself.
    own: Vec<Option<Figures>>,
    /// Whether the members' registers spill on any of them.
    spills: Vec<bool>,
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
        spills: vec![false; members.len()],
        ..Assembled::default()
    };
    for &device in devices {
        let Assembly::Assembled(said) = ptxas.assemble(file, device)? else {
            continue;
        };
        assembled.devices.push(device);
        let figures = facts::figures(&said);
        for (i, part) in members.iter().enumerate() {
            let name = &part.item.name;
            let of_entry = figures.get(name).copied();
            let found = facts::in_figures(name, of_entry.as_ref());
            let place = |violation| (format!("sm_{device}"), violation);
            assembled.wrong.extend(found.into_iter().map(place));
            assembled.spills[i] |= of_entry.is_some_and(|figures| figures.spill_stores > 0);
            if device == arch {
                assembled.own[i] = of_entry;
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
    fn blocks_are_given_up_for_registers_until_one_is_left() {
        let of = |blocks: [Option<u32>; 3]| {
            blocks.map(|min_blocks| Bounds {
                max_threads: 512,
                min_blocks,
            })
        };
        let mut bounds = of([Some(4), Some(3), None]);
        assert!(!loosen(&mut bounds, &[false; 3]) && bounds == of([Some(4), Some(3), None]));
        assert!(loosen(&mut bounds, &[false, true, true]) && bounds == of([Some(4), Some(2), None]));
        assert!(loosen(&mut bounds, &[true; 3]) && bounds == of([Some(3), Some(1), None]));
        assert!(!loosen(&mut bounds, &[false, true, true]));
    }

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
