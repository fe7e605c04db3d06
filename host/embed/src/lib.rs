//! For the build script of a crate that has kernels: embeds the PTX that `cargo xtask build-ptx` made of it.
//!
//! Of a crate of your own it is the whole script: a `main` that calls [`ptx`]. Neither it nor `warpfold-kernels` needs CUDA, or PTX: without
//! them an operator of your own folds on the CPU. On GPUs it does with the feature `cuda` of the crate `warpfold`.

mod pack;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

pub use pack::{INDEX, Pack, Packs, Ptx, Quality, read, write};

/// Embeds what `cargo xtask build-ptx --crate PATH` left in the package's `target/ptx`. Where there is nothing, the package builds
/// all the same, and a GPU call with its operators answers with an error that names the command.
///
/// # Panics
///
/// If the PTX that is there cannot be read or copied.
pub fn ptx() {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let folder = package.join("target/ptx");
    // While the kernels are compiled there is none that they could use.
    let on_gpu = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "nvptx64");
    // An empty folder to watch: cargo would run the script at every build for one that is missing.
    let there = !on_gpu && fs::create_dir_all(&folder).is_ok();
    ptx_in(there.then_some(&folder), None);
}

/// Embeds the PTX in `folder`, `ARCH/ENTRY.ptx`, or what is [packed](write()) there; none without one. Gives how many modules there were. Entries
/// whose names begin with `apart` are none of the library's: they go to `warpfold_apart.rs`, for what of the package has a use for them.
///
/// # Panics
///
/// As [`ptx`].
pub fn ptx_in(folder: Option<&PathBuf>, apart: Option<&str>) -> usize {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (modules, embedded, beside) = match folder {
        Some(folder) => {
            println!("cargo::rerun-if-changed={}", folder.display());
            embed(folder, &out, apart)
                .unwrap_or_else(|error| panic!("cannot embed the PTX in {}: {error}", folder.display()))
        }
        None => (0, expression(&Packs::default()), expression(&Packs::default())),
    };
    for (file, text) in [("warpfold_ptx.rs", embedded), ("warpfold_apart.rs", beside)] {
        fs::write(out.join(file), text).expect("OUT_DIR can be written");
    }
    modules
}

/// Copies the PTX to `out`, so that what is compiled is what the script saw. Gives how many modules there are, and what to compile: of the
/// library, and of what stands apart.
fn embed(folder: &Path, out: &Path, apart: Option<&str>) -> std::io::Result<(usize, String, String)> {
    let mut library = read(folder, Quality::Quick)?;
    for pack in &library.packs {
        fs::write(out.join(pack.file()), &pack.packed)?;
    }
    let modules = library.packs.iter().map(|pack| pack.modules.len()).sum();
    let is_apart = |pack: &mut Pack| apart.is_some_and(|apart| pack.name.starts_with(apart));
    let packs = library.packs.extract_if(.., is_apart).collect();
    let beside = Packs {
        packs,
        ..library.clone()
    };
    Ok((modules, expression(&library), expression(&beside)))
}

/// An `Embedded` of `warpfold_kernels::kernels`, as Rust source.
fn expression(all: &Packs) -> String {
    let Packs {
        packs,
        generator,
        fingerprint,
    } = all;
    let pack = |pack: &Pack| {
        let modules: String = pack.modules.iter().map(|module| format!("{module:?}, ")).collect();
        let file = format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{}\"))", pack.file());
        format!("    Pack {{ modules: &[{modules}], packed: {file} }},\n")
    };
    let packs: String = packs.iter().map(pack).collect();
    format!("Embedded {{ packs: &[\n{packs}], generator: {generator:?}, fingerprint: {fingerprint:?} }}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_folders_of_architectures_is_embedded() {
        let folder = env::temp_dir().join(format!("warpfold-embed-{}", std::process::id()));
        let (ptx, packed, out) = (folder.join("ptx"), folder.join("packed"), folder.join("out"));
        for (file, text) in [
            ("sm_90/mine_f32.ptx", ".version 7.8"),
            ("sm_90/mine_f64.ptx", ".version 7.8, f64"),
            ("sm_90/build.txt", "llvm: rustc 1\n"),
            ("sm_75/mine_f32.ptx", ".version 7.4"),
            ("sm_75/other.ptx", ".version 7.4, other"),
            ("sm_75/build.txt", "llvm: rustc 1\n"),
            ("sm_90a/mine_f32.ptx", "of one architecture alone"),
            ("report.json", "{}"),
        ] {
            let path = ptx.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(&out).unwrap();
        let (modules, source, nothing) = embed(&ptx, &out, None).unwrap();
        assert!(!nothing.contains("Pack {"), "{nothing}");
        let (_, others, beside) = embed(&ptx, &out, Some("mine")).unwrap();
        assert!(others.contains("other") && !others.contains("mine"), "{others}");
        assert!(beside.contains("mine_f64") && !beside.contains("other"), "{beside}");
        // Packed beforehand it is the same.
        let mut packs = read(&ptx, Quality::Best).unwrap();
        packs.fingerprint = Some(7);
        write(&packed, &packs).unwrap();
        let with_fingerprint = source.replace("fingerprint: None", "fingerprint: Some(7)");
        let (of_packs, again, _) = embed(&packed, &out, None).unwrap();
        assert_eq!((of_packs, again), (4, with_fingerprint));
        fs::write(packed.join(INDEX), "llvm\n7\nmine 75 mine_f32 0\n").unwrap();
        let wrong = embed(&packed, &out, None).unwrap_err().to_string();
        assert!(
            wrong.contains("a line that is none of its: mine 75 mine_f32 0"),
            "{wrong}"
        );
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(modules, 4);
        let packs: Vec<&str> = source
            .lines()
            .filter_map(|line| line.split("Pack { modules: ").nth(1))
            .collect();
        assert!(
            packs.len() == 2 && packs[1].starts_with("&[Ptx { arch: 75, name: \"other\", start: 0, len: 19 }, ]"),
            "{source}"
        );
        let mine = "&[Ptx { arch: 75, name: \"mine_f32\", start: 0, len: 12 }, Ptx { arch: 90, name: \"mine_f32\", start: 12, len: 12 }, \
                    Ptx { arch: 90, name: \"mine_f64\", start: 24, len: 17 }, ]";
        assert!(packs[0].starts_with(mine), "{source}");
        assert!(
            source.ends_with("], generator: Some(\"llvm: rustc 1\"), fingerprint: None }\n"),
            "{source}"
        );
    }

    #[test]
    fn without_ptx_nothing_is_embedded() {
        assert_eq!(
            expression(&Packs::default()),
            "Embedded { packs: &[\n], generator: None, fingerprint: None }\n"
        );
    }
}
