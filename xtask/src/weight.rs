//! How much PTX there is: a driver compiles what is called, and a program carries all of it.

use crate::{facts::Violation, kernel_crate::KernelCrate, report::Build, wanted};

/// The most bytes of PTX text that all modules of a default build may have: every one of them is compiled by somebody's driver.
const MOST_BYTES: usize = 90_000_000;

/// Says how much PTX there is, and whether it is too much.
pub fn check(kernels: &KernelCrate, builds: &[Build]) -> Option<(String, Violation)> {
    let sizes = || {
        builds
            .iter()
            .flat_map(|build| &build.entries)
            .map(|row| row.counts.bytes)
    };
    let (entries, bytes) = (sizes().count(), sizes().sum::<usize>());
    println!("{:.1} MB of PTX, {entries} kernels", bytes as f64 / 1e6);
    let is_default = kernels.ours && builds.iter().all(|build| wanted::DEFAULT_ARCHS.contains(&&*build.arch));
    (is_default && bytes > MOST_BYTES).then(|| {
        let what = format!("{bytes} bytes of PTX, where {MOST_BYTES} are the most");
        let violation = Violation {
            entry: "all entries".to_owned(),
            what,
            extent: None,
        };
        ("in all".to_owned(), violation)
    })
}
