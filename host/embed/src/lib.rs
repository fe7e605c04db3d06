//! For the build script of a crate that has kernels: embeds the PTX that `cargo xtask build-ptx` made of it.
//!
//! Of a crate of your own it is the whole script: a `main` that calls [`ptx`]. Neither it nor `warpfold-kernels` needs CUDA, or PTX: without
//! them an operator of your own folds on the CPU. On GPUs it does with the feature `cuda` of the crate `warpfold`.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use flate2::{Compression, write::ZlibEncoder};

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
    ptx_in(there.then_some(&folder));
}

/// Embeds the PTX in `folder`, `ARCH/ENTRY.ptx`; none without one. It is compressed: as text it would be most of a program. Gives how
/// many modules there were.
///
/// # Panics
///
/// As [`ptx`].
pub fn ptx_in(folder: Option<&PathBuf>) -> usize {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (modules, embedded) = match folder {
        Some(folder) => {
            println!("cargo::rerun-if-changed={}", folder.display());
            embed(folder, &out).unwrap_or_else(|error| panic!("cannot embed the PTX in {}: {error}", folder.display()))
        }
        None => (0, expression(&[], &BTreeSet::new())),
    };
    fs::write(out.join("warpfold_ptx.rs"), embedded).expect("OUT_DIR can be written");
    modules
}

/// Copies the PTX to `out`, so that what is compiled is what the script saw. Gives how many modules there are, and what to compile.
fn embed(folder: &Path, out: &Path) -> io::Result<(usize, String)> {
    let mut modules = vec![];
    let mut generators = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // `sm_90`; anything else in there is none of ours.
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(arch) = name.strip_prefix("sm_").and_then(|number| number.parse::<u32>().ok()) else {
            continue;
        };
        for file in fs::read_dir(entry.path())? {
            let path = file?.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.extension().is_some_and(|extension| extension == "ptx") {
                let copy = format!("{name}-{stem}.ptx.z");
                let mut packed = ZlibEncoder::new(vec![], Compression::default());
                packed.write_all(&fs::read(&path)?)?;
                fs::write(out.join(&copy), packed.finish()?)?;
                modules.push((arch, stem, copy));
            } else if path.file_name().is_some_and(|name| name == "build.txt") {
                generators.insert(fs::read_to_string(&path)?.trim().to_owned());
            }
        }
    }
    modules.sort();
    Ok((modules.len(), expression(&modules, &generators)))
}

/// An `Embedded` of `warpfold_kernels::kernels`, as Rust source.
fn expression(modules: &[(u32, String, String)], generators: &BTreeSet<String>) -> String {
    let modules: String = modules
        .iter()
        .map(|(arch, name, file)| {
            format!("    Ptx {{ arch: {arch}, name: {name:?}, packed: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\")) }},\n")
        })
        .collect();
    let generators: Vec<&str> = generators.iter().map(String::as_str).collect();
    let generator = (!generators.is_empty()).then(|| generators.join("; "));
    format!("Embedded {{ modules: &[\n{modules}], generator: {generator:?} }}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_folders_of_architectures_is_embedded() {
        let folder = env::temp_dir().join(format!("warpfold-embed-{}", std::process::id()));
        let (ptx, out) = (folder.join("ptx"), folder.join("out"));
        for (file, text) in [
            ("sm_90/mine_f32.ptx", ".version 7.8"),
            ("sm_90/build.txt", "llvm: rustc 1\n"),
            ("sm_75/mine_f32.ptx", ".version 7.4"),
            ("sm_75/build.txt", "llvm: rustc 1\n"),
            ("sm_90a/mine_f32.ptx", "of one architecture alone"),
            ("report.json", "{}"),
        ] {
            let path = ptx.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(&out).unwrap();
        let (modules, source) = embed(&ptx, &out).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(modules, 2);
        let archs: Vec<&str> = source
            .lines()
            .filter_map(|line| line.split("Ptx { arch: ").nth(1))
            .collect();
        assert!(
            archs.len() == 2 && archs[0].starts_with("75, name: \"mine_f32\"") && archs[1].starts_with("90,"),
            "{source}"
        );
        assert!(
            source.ends_with("], generator: Some(\"llvm: rustc 1\") }\n"),
            "{source}"
        );
    }

    #[test]
    fn without_ptx_nothing_is_embedded() {
        let nothing = expression(&[], &BTreeSet::new());
        assert_eq!(nothing, "Embedded { modules: &[\n], generator: None }\n");
    }
}
