//! The table and the known codes, compared with the sources of `cust` and `cust_raw` that this build uses.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{codes, sys};

/// Defined by hand, outside the table.
const BY_HAND: [&str; 2] = ["cuGetErrorString", "cuGetErrorName"];
/// Newer than `cust_raw`.
const NEWER: [&str; 2] = ["cuLaunchKernelEx", "cuOccupancyMaxActiveClusters"];

#[test]
fn codes_are_those_of_cust() {
    let codes_where = |holds: fn(u32) -> bool| (0..=u32::from(u16::MAX)).filter(|&code| holds(code)).collect();
    let in_enum: BTreeSet<u32> = codes_where(codes::in_enum);
    assert_eq!(in_enum, values(&bindings(), "pub enum cudaError_enum {"));

    let error = fs::read_to_string(sources_of("cust").join("error.rs")).expect("cust keeps its errors in one file");
    let mut has_variant: BTreeSet<u32> = codes_where(codes::has_variant);
    assert!(has_variant.remove(&codes::SUCCESS), "not an error, and no variant");
    let of_the_driver = values(&error, "pub enum CudaError {")
        .into_iter()
        .filter(|&code| code <= codes::UNKNOWN);
    assert_eq!(has_variant, of_the_driver.collect());
}

/// The values of an enum's variants.
fn values(source: &str, head: &str) -> BTreeSet<u32> {
    let (_, variants) = source.split_once(head).expect("the enum is declared");
    let (variants, _) = variants.split_once('}').expect("and ends");
    let values = variants.split(" = ").skip(1).filter_map(|rest| rest.split(',').next());
    values
        .map(|value| value.trim().replace('_', "").parse().expect("a number"))
        .collect()
}

#[test]
fn every_function_that_cust_names_is_defined() {
    let defined: BTreeSet<&str> = sys::TABLE.iter().map(|row| row.0).chain(BY_HAND).collect();
    let raw = bindings();
    let declared = declarations(&raw);
    let mut sources = String::new();
    read_all(&sources_of("cust"), &mut sources);
    let named: BTreeSet<&str> = words(&sources).filter(|word| declared.contains_key(word)).collect();
    assert!(named.len() > 100, "{named:?}");
    let missing: Vec<_> = named.difference(&defined).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn parameters_are_those_of_cust_raw() {
    let raw = bindings();
    let declared = declarations(&raw);
    for &(name, ours) in sys::TABLE {
        let Some(parameters) = declared.get(name) else {
            assert!(NEWER.contains(&name), "{name}: cust_raw has no such function");
            continue;
        };
        let ours: Vec<Passed> = ours.iter().map(|ty| passed(ty, &raw)).collect();
        let theirs: Vec<Passed> = parameters
            .split(": ")
            .skip(1)
            .map(|rest| passed(rest.split(',').next().unwrap_or(rest), &raw))
            .collect();
        assert_eq!(ours, theirs, "{name}");
    }
}

/// How the C calling convention sees a parameter.
#[derive(Debug, PartialEq)]
enum Passed {
    /// Pointers to data and to functions, and what they point to as far as the table says.
    Pointer(Option<usize>),
    /// Bytes of an integer.
    Integer(usize),
}

fn passed(ty: &str, raw: &str) -> Passed {
    let ty = ty.trim().trim_end_matches(',').trim();
    if let Some(target) = ty.strip_prefix("*mut ").or(ty.strip_prefix("*const ")) {
        return Passed::Pointer(width(target, raw));
    }
    match (ty, width(ty, raw)) {
        ("Handle" | "HostFn" | "BlockToShared", _) => Passed::Pointer(None),
        (_, Some(bytes)) => Passed::Integer(bytes),
        _ if alias(ty, raw).is_some_and(|of| of.starts_with("*mut") || of.contains("Option<")) => Passed::Pointer(None),
        _ => panic!("{ty}: neither a pointer nor an integer"),
    }
}

/// Bytes of an integer or an enum; `None` for anything else.
fn width(ty: &str, raw: &str) -> Option<usize> {
    let ty = ty.trim_start_matches("::std::os::raw::");
    Some(match ty {
        "u8" | "c_uchar" | "c_char" => 1,
        "u16" | "c_ushort" => 2,
        "u32" | "i32" | "f32" | "c_uint" | "c_int" => 4,
        "u64" | "usize" | "c_ulonglong" | "DevicePtr" => 8,
        _ if raw.contains(&format!("pub enum {ty} {{")) => 4,
        _ => return alias(ty, raw).and_then(|of| width(of, raw)),
    })
}

fn alias<'a>(ty: &str, raw: &'a str) -> Option<&'a str> {
    if let Some((_, of)) = raw.split_once(&format!("pub type {ty} =")) {
        return Some(of.split(';').next()?.trim());
    }
    let (before, _) = raw.split_once(&format!(" as {ty};"))?;
    before.rsplit("::").next()
}

/// `cust_raw`'s functions: name to parameters.
fn declarations(raw: &str) -> BTreeMap<&str, &str> {
    let functions = raw.split("pub fn ").skip(1).filter(|text| text.starts_with("cu"));
    functions
        .filter_map(|text| text.split_once(')')?.0.split_once('('))
        .collect()
}

fn words(source: &str) -> impl Iterator<Item = &str> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
}

fn bindings() -> String {
    fs::read_to_string(sources_of("cust_raw").join("cuda.rs")).expect("cust_raw keeps its bindings in one file")
}

fn read_all(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("a folder of sources").path();
        if path.is_dir() {
            read_all(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") {
            into.push_str(&fs::read_to_string(&path).expect("source text"));
        }
    }
}

/// Where cargo keeps a dependency's `src`.
fn sources_of(package: &str) -> PathBuf {
    // The filter keeps cargo from wanting the sources of dependencies for other systems, which it may not have.
    let here = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "metadata",
            "--format-version=1",
            "--filter-platform",
            &here,
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    let manifests = metadata
        .split("\"manifest_path\":\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    let of = manifests.map(Path::new).filter_map(Path::parent).find(|folder| {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_prefix(package).is_some_and(|rest| {
            rest.is_empty()
                || rest
                    .strip_prefix('-')
                    .is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
        })
    });
    of.unwrap_or_else(|| panic!("{package} is a dependency")).join("src")
}
