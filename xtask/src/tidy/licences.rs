//! The licences of everything that is compiled in.

use std::path::PathBuf;

use anyhow::Result;
use serde::Deserialize;
use spdx::{Expression, ParseMode};

use super::Violation;
use crate::{
    paths,
    process::{capture, cargo},
};

/// Licences that ask for no more than to be named, and those that bind only their own files.
const ALLOWED: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

/// Every dependency's licence is on the list.
pub fn check() -> Result<Vec<Violation>> {
    let metadata = capture(
        cargo()
            .args(["metadata", "--format-version=1"])
            .current_dir(paths::root()),
    )?;
    unusable(&metadata)
}

fn unusable(metadata: &str) -> Result<Vec<Violation>> {
    let metadata: Metadata = serde_json::from_str(metadata)?;
    let violation = |package: &Package, what: String| Violation {
        path: "Cargo.lock".to_owned(),
        line: 1,
        what: format!("{} {}: {what}", package.name, package.version),
    };
    let mut found = vec![];
    for package in &metadata.packages {
        match package.license.as_deref() {
            Some(licence) if is_usable(licence) => {}
            Some(licence) => found.push(violation(package, format!("the licence {licence}"))),
            None => found.push(violation(package, "no licence named".to_owned())),
        }
        // A dependency from elsewhere than the registry and this repository cannot be resolved everywhere.
        let local = package.manifest_path.starts_with(paths::root());
        match &package.source {
            None if !local => found.push(violation(package, "a folder outside this repository".to_owned())),
            Some(source) if !source.starts_with("registry+") => {
                found.push(violation(package, "not from the registry".to_owned()));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Whether a licence expression can be met by licences of the list alone.
fn is_usable(licence: &str) -> bool {
    let allowed = |name: &str| ALLOWED.contains(&name);
    Expression::parse_mode(licence, ParseMode::LAX)
        .is_ok_and(|expression| expression.evaluate(|needed| needed.license.id().is_some_and(|id| allowed(id.name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met_by_the_list_or_not() {
        for usable in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "(MIT OR GPL-3.0-only) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR MIT",
        ] {
            assert!(is_usable(usable), "{usable}");
        }
        for unusable in ["GPL-3.0-only", "MIT AND AGPL-3.0-only", "nonsense licence", ""] {
            assert!(!is_usable(unusable), "{unusable}");
        }
    }

    #[test]
    fn planted_packages_are_found() {
        let package = |name: &str, licence: &str, source: &str| {
            format!(
                r#"{{"name":"{name}","version":"1.0.0","license":{licence},"source":{source},"manifest_path":"/a/Cargo.toml"}}"#
            )
        };
        let registry = r#""registry+index""#;
        let packages = [
            package("good", r#""MIT""#, registry),
            package("copyleft", r#""GPL-3.0-only""#, registry),
            package("silent", "null", registry),
            package("elsewhere", r#""MIT""#, r#""git+somewhere""#),
            package("outside", r#""MIT""#, "null"),
        ];
        let found = unusable(&format!(r#"{{"packages":[{}]}}"#, packages.join(","))).unwrap();
        let names: Vec<_> = found.iter().filter_map(|v| v.what.split(' ').next()).collect();
        assert_eq!(names, ["copyleft", "silent", "elsewhere", "outside"]);
    }
}
