//! The kernels' PTX, embedded when this crate was built: a module for each architecture and entry.

use warpfold_kernels::{
    kernels::{Embedded, Entry, Library, Note, Pack, Ptx as Place},
    ladder,
};

use crate::Error;

/// The library's own.
const OWN: Embedded = warpfold_kernels::embedded!();

/// The ladder's, which the command alone has a use for.
#[cfg(feature = "command")]
const LADDER: Embedded = {
    #[allow(unused_imports, reason = "where there is no PTX, none is named")]
    use warpfold_kernels::kernels::Ptx;
    include!(concat!(env!("OUT_DIR"), "/warpfold_apart.rs"))
};
#[cfg(not(feature = "command"))]
const LADDER: Embedded = Embedded { packs: &[], ..OWN };

// What a package has was packed beforehand, for the kernels that it says it needs.
const _: () = {
    let fits = match OWN.fingerprint {
        Some(packed) => packed == warpfold_kernels::kernels::LIBRARY.fingerprint(),
        None => true,
    };
    assert!(
        fits,
        "the PTX in this package was built from another source of warpfold-kernels: `cargo xtask package` makes one that fits"
    );
};

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
/// As [`kernel`].
pub(crate) fn find(entry: &Entry, compute_capability: (u32, u32)) -> Result<Ptx, Error> {
    let embedded = match entry.part {
        ladder::PART => &LADDER,
        _ => of(entry.library),
    };
    module(embedded, entry.library, entry.note(), compute_capability)
}

/// The PTX of an entry point that a crate has beside its operators, for a device: the newest that it can take. `note` is what the
/// crate has the build know of it. Load it by `cust::module::Module::from_ptx`, and launch it as you do any: example `13_attention`.
///
/// # Errors
///
/// [`Error::NoPtx`] if nothing was embedded, or nothing that old; [`Error::StalePtx`] if it was built from another source than the
/// entry: its kernel might write more than there is room for.
pub fn kernel(library: &Library, note: Note<'static>, compute_capability: (u32, u32)) -> Result<String, Error> {
    module(of(library), library, note, compute_capability).map(|ptx| ptx.text)
}

fn module(
    embedded: &Embedded,
    library: &Library,
    note: Note<'static>,
    compute_capability: (u32, u32),
) -> Result<Ptx, Error> {
    let packs = embedded.packs;
    let ptx = choose(packs, note.name, compute_capability).ok_or_else(|| Error::NoPtx {
        entry: note.name,
        package: library.package,
        compute_capability,
        built: archs_of(packs),
    })?;
    check(library, note, &ptx.text)?;
    Ok(ptx)
}

/// What is embedded of a library: with this one's own what is of warpfold's other crates.
fn of(library: &Library) -> &Embedded {
    library.ptx.as_ref().unwrap_or(&OWN)
}

/// Fails unless a module says of the entry what the entry says of itself.
fn check(library: &Library, note: Note<'static>, text: &str) -> Result<(), Error> {
    let line = note.to_string();
    if text.lines().any(|other| other == line) {
        return Ok(());
    }
    Err(Error::StalePtx {
        entry: note.name,
        package: library.package,
    })
}

/// The architectures that are embedded, oldest first: 90 for compute capability 9.0. Empty if this crate was built
/// before `cargo xtask build-ptx` was run.
#[must_use]
pub fn archs() -> Vec<u32> {
    archs_of(OWN.packs)
}

/// Whether an entry's kernel for that device has clusters of blocks: those for 9.0 and newer have, by rustc's own backend.
pub(crate) fn has_clusters(entry: &Entry, compute_capability: (u32, u32)) -> bool {
    let embedded = of(entry.library);
    let newest = newest(embedded.packs, entry.name, compute_capability);
    newest.is_some_and(|(_, module)| module.arch >= 90)
        && embedded
            .generator
            .is_some_and(|generator| generator.starts_with("llvm"))
}

fn archs_of(packs: &[Pack]) -> Vec<u32> {
    let modules = packs.iter().flat_map(|pack| pack.modules);
    let mut archs: Vec<u32> = modules.map(|module| module.arch).collect();
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

/// The newest module of a name that a device can take, and its pack: PTX runs on its own architecture and on every later one.
fn newest<'a>(packs: &'a [Pack], name: &str, (major, minor): (u32, u32)) -> Option<(&'a Pack, &'a Place)> {
    let device = 10 * major + minor;
    let modules = packs
        .iter()
        .flat_map(|pack| pack.modules.iter().map(move |module| (pack, module)));
    modules
        .filter(|(_, module)| module.name == name && module.arch <= device)
        .max_by_key(|(_, module)| module.arch)
}

/// Its text.
fn choose(packs: &[Pack], name: &str, compute_capability: (u32, u32)) -> Option<Ptx> {
    let (pack, module) = newest(packs, name, compute_capability)?;
    Some(Ptx {
        arch: module.arch,
        text: text_of(&unpack(pack), module).to_owned(),
    })
}

/// The texts that the build script packed.
fn unpack(pack: &Pack) -> String {
    let mut text = vec![];
    brotli_decompressor::BrotliDecompress(&mut &pack.packed[..], &mut text)
        .ok()
        .and_then(|()| String::from_utf8(text).ok())
        .expect("this program holds what its build script wrote")
}

/// One of them.
fn text_of<'a>(text: &'a str, module: &Place) -> &'a str {
    &text[module.start..][..module.len]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Brotli of a text that it does not compress: a block of the text as it is, and an empty last one.
    fn stored(text: &str) -> &'static [u8] {
        assert!((1..1 << 16).contains(&text.len()));
        // A window of 16 bits; no last block, lengths of 4 digits, the length less 1, not compressed.
        let bits = (text.len() as u32 - 1) << 4 | 1 << 20;
        let mut packed = bits.to_le_bytes()[..3].to_vec();
        packed.extend(text.as_bytes());
        packed.push(0b11);
        packed.leak()
    }

    fn sample() -> Vec<Pack> {
        let pack = |texts: &[(u32, &'static str, &str)]| {
            let mut text = String::new();
            let mut modules = vec![];
            for (arch, name, own) in texts {
                let (start, len) = (text.len(), own.len());
                text += own;
                modules.push(Place {
                    arch: *arch,
                    name,
                    start,
                    len,
                });
            }
            Pack {
                modules: modules.leak(),
                packed: stored(&text),
            }
        };
        vec![
            pack(&[
                (75, "sum", "sum for 75"),
                (80, "sum", "sum for 80"),
                (90, "sum", "sum for 90"),
            ]),
            pack(&[(75, "arg", "arg for 75")]),
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
        let check = |text: &str| check(entry.library, entry.note(), text);
        assert!(check(&format!("// other\n{}\n.version 7.8\n", entry.note())).is_ok());
        let grown = entry.note().to_string().replace(']', "0]");
        for text in [grown.as_str(), ".version 7.8\n.entry sum_f32(", ""] {
            let error = check(text).expect_err("not of this source");
            assert!(error.to_string().contains("sum_f32"), "{error}");
        }
    }

    #[test]
    fn what_is_embedded_is_ptx_of_entries() {
        // Which of them is the build's to say: it refuses a part where all are needed.
        let rungs = || ladder::ENTRIES.into_iter();
        let counts = || warpfold_distinct::ENTRIES.iter();
        let entries = || warpfold_kernels::kernels::entries().chain(rungs());
        let of_folds = || entries().map(|entry| (entry.library, entry.note()));
        let all = || of_folds().chain(counts().map(|entry| (&warpfold_distinct::LIBRARY, entry.note())));
        let modules = || OWN.packs.iter().flat_map(|pack| pack.modules);
        let is_there = |name| modules().any(|module| module.name == name);
        assert!(!rungs().any(|rung| is_there(rung.name)), "the library embeds no rung");
        for pack in OWN.packs.iter().chain(LADDER.packs) {
            let text = unpack(pack);
            for module in pack.modules {
                let found = all().find(|(_, note)| note.name == module.name);
                let (library, note) = found.expect("a module is of an entry");
                let text = text_of(&text, module);
                let is_of_this_source = check(library, note, text).is_ok();
                assert!(is_of_this_source, "{} is of another source", module.name);
                assert!(text.contains(&format!(".entry {}(", module.name)), "{}", module.name);
            }
        }
        // A part may be the ladder's alone.
        assert!(archs().is_empty() || generator().is_some());
        let known = |generator: &str| ["llvm: ", "nvvm: "].iter().any(|name| generator.starts_with(name));
        assert!(generator().is_none_or(known));
    }
}
