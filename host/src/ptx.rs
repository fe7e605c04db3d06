//! The kernels' PTX, embedded when this crate was built: a module for each architecture and entry.

use std::io::Read as _;

use flate2::read::ZlibDecoder;
use warpfold_kernels::kernels::{Embedded, Entry, Ptx as Packed};

use crate::Error;

/// The library's own.
static OWN: Embedded = warpfold_kernels::embedded!();

/// A module to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ptx {
    /// The architecture it was compiled for: 90 for compute capability 9.0.
    pub(crate) arch: u32,
    /// Its text.
    pub(crate) text: String,
}

/// The module of an entry for a device: the newest that it can take.
///
/// # Errors
///
/// [`Error::NoPtx`] if nothing was embedded, or nothing that old; [`Error::StalePtx`] if it was built from another source than the
/// entry: its kernel might write more than there is room for.
pub(crate) fn find(entry: &Entry, compute_capability: (u32, u32)) -> Result<Ptx, Error> {
    let modules = entry.library.ptx.as_ref().unwrap_or(&OWN).modules;
    let package = entry.library.package;
    let ptx = choose(modules, entry.name, compute_capability).ok_or_else(|| Error::NoPtx {
        entry: entry.name,
        package,
        compute_capability,
        built: archs_of(modules),
    })?;
    check(entry, &ptx.text)?;
    Ok(ptx)
}

/// Fails unless a module says of the entry what the entry says of itself.
fn check(entry: &Entry, text: &str) -> Result<(), Error> {
    let note = entry.note().to_string();
    if text.lines().any(|line| line == note) {
        return Ok(());
    }
    Err(Error::StalePtx {
        entry: entry.name,
        package: entry.library.package,
    })
}

/// The architectures that are embedded, oldest first: 90 for compute capability 9.0. Empty if this crate was built
/// before `cargo xtask build-ptx` was run.
#[must_use]
pub fn archs() -> Vec<u32> {
    archs_of(OWN.modules)
}

fn archs_of(modules: &[Packed]) -> Vec<u32> {
    let mut archs: Vec<u32> = modules.iter().map(|module| module.arch).collect();
    archs.sort_unstable();
    archs.dedup();
    archs
}

/// What made the embedded modules: the code generator, `llvm` or `nvvm`, a colon, and the versions of all that decided on
/// its output. None if nothing is embedded. The answers have the same bits whichever it was.
#[must_use]
pub fn generator() -> Option<&'static str> {
    OWN.generator
}

/// PTX runs on its own architecture and on every later one.
fn choose(table: &[Packed], name: &str, (major, minor): (u32, u32)) -> Option<Ptx> {
    let device = 10 * major + minor;
    table
        .iter()
        .filter(|row| row.name == name && row.arch <= device)
        .max_by_key(|row| row.arch)
        .map(|row| Ptx {
            arch: row.arch,
            text: unpack(row.packed),
        })
}

/// The text that the build script packed.
fn unpack(packed: &[u8]) -> String {
    let mut text = String::new();
    let read = ZlibDecoder::new(packed).read_to_string(&mut text);
    read.expect("this program holds what its build script wrote");
    text
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::ZlibEncoder};

    use super::*;

    fn sample() -> Vec<Packed> {
        let row = |arch, name, text: &str| {
            let mut packed = ZlibEncoder::new(vec![], Compression::fast());
            packed.write_all(text.as_bytes()).expect("memory");
            let packed = packed.finish().expect("memory").leak();
            Packed { arch, name, packed }
        };
        vec![
            row(75, "sum", "sum for 75"),
            row(90, "sum", "sum for 90"),
            row(80, "sum", "sum for 80"),
            row(75, "arg", "arg for 75"),
        ]
    }

    #[test]
    fn a_device_takes_the_newest_module_it_can() {
        let text = |name, device| choose(&sample(), name, device).map(|ptx| ptx.text);
        for (device, answer) in [
            ((7, 5), "sum for 75"),
            ((8, 0), "sum for 80"),
            ((8, 9), "sum for 80"),
            ((9, 0), "sum for 90"),
            ((10, 3), "sum for 90"),
            ((12, 1), "sum for 90"),
        ] {
            assert_eq!(text("sum", device), Some(answer.to_owned()), "{device:?}");
        }
        assert_eq!(text("arg", (9, 0)), Some("arg for 75".to_owned()));
    }

    #[test]
    fn an_older_device_or_another_entry_takes_none() {
        assert_eq!(choose(&sample(), "sum", (7, 0)), None);
        assert_eq!(choose(&sample(), "rows", (9, 0)), None);
        assert_eq!(choose(&[], "sum", (9, 0)), None);
    }

    #[test]
    fn a_module_of_another_source_is_refused() {
        let entry = warpfold_kernels::kernels::entry("sum_f32").expect("listed");
        assert!(check(entry, &format!("// other\n{}\n.version 7.8\n", entry.note())).is_ok());
        let grown = entry.note().to_string().replace(']', "0]");
        for text in [grown.as_str(), ".version 7.8\n.entry sum_f32(", ""] {
            let error = check(entry, text).expect_err("not of this source");
            assert!(error.to_string().contains("sum_f32"), "{error}");
        }
    }

    #[test]
    fn what_is_embedded_is_ptx_of_every_entry() {
        let entries = warpfold_kernels::kernels::entries;
        // A demo leaves a sample.
        let is_there = |name| OWN.modules.iter().any(|module| module.name == name);
        let is_sample = !entries().any(|entry| !entry.element.is_sampled() && is_there(entry.name));
        for arch in archs() {
            for entry in entries().filter(|entry| !is_sample || entry.element.is_sampled()) {
                let device = (arch / 10, arch % 10);
                let ptx =
                    find(entry, device).expect("every entry is built for the oldest architecture, of this source");
                assert!(ptx.arch <= arch);
                assert!(
                    ptx.text.contains(&format!(".entry {}(", entry.name)),
                    "{} for {arch}",
                    entry.name
                );
            }
        }
        assert_eq!(archs().is_empty(), generator().is_none());
        let known = |generator: &str| ["llvm: ", "nvvm: "].iter().any(|name| generator.starts_with(name));
        assert!(generator().is_none_or(known));
    }
}
