//! Embeds the PTX that `cargo xtask build-ptx` made, compressed: as text it would be most of a program. Where there is none the table is empty and the crate builds all the
//! same; a GPU call then answers with an error that names the command.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use flate2::{Compression, write::ZlibEncoder};

/// Where to look instead of the workspace's `target/ptx`.
const VARIABLE: &str = "WARPFOLD_PTX_DIR";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let wanted = env::var_os("CARGO_FEATURE_CUDA").is_some();
    let folder = if wanted { folder() } else { None };
    let table = match folder {
        Some(folder) => {
            println!("cargo::rerun-if-changed={}", folder.display());
            embed(&folder, &out).unwrap_or_else(|error| panic!("cannot embed the PTX in {}: {error}", folder.display()))
        }
        None => table(&[], &BTreeSet::new()),
    };
    fs::write(out.join("ptx_table.rs"), table).expect("OUT_DIR can be written");
}

/// The folder with the PTX: the one that the variable names, or the workspace's. None outside the workspace.
fn folder() -> Option<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        assert!(
            named.is_dir(),
            "{VARIABLE} names {}, which is no folder",
            named.display()
        );
        return Some(named);
    }
    let host = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = host.parent()?;
    if !root.join("kernels-gpu").is_dir() {
        return None;
    }
    // An empty folder to watch: cargo would run this script at every build for one that is missing.
    let folder = root.join("target/ptx");
    fs::create_dir_all(&folder).ok()?;
    Some(folder)
}

/// Copies the PTX to `out`, so that what is compiled is what this script saw, and gives the table.
fn embed(folder: &Path, out: &Path) -> io::Result<String> {
    let mut rows = vec![];
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
                rows.push((arch, stem, copy));
            } else if path.file_name().is_some_and(|name| name == "build.txt") {
                generators.insert(fs::read_to_string(&path)?.trim().to_owned());
            }
        }
    }
    rows.sort();
    Ok(table(&rows, &generators))
}

/// The table as Rust source.
fn table(rows: &[(u32, String, String)], generators: &BTreeSet<String>) -> String {
    let rows: String = rows
        .iter()
        .map(|(arch, family, file)| {
            format!("    Row {{ arch: {arch}, family: {family:?}, packed: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\")) }},\n")
        })
        .collect();
    let generators: Vec<&str> = generators.iter().map(String::as_str).collect();
    let generator = (!generators.is_empty()).then(|| generators.join("; "));
    format!("static TABLE: &[Row] = &[\n{rows}];\nstatic GENERATOR: Option<&str> = {generator:?};\n")
}
