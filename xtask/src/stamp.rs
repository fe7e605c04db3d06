//! What PTX was made from, as a short text: where that is the same, neither it nor what was found of it is another.

use std::{
    fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::paths;

/// Of this program what makes PTX and checks it.
const MAKERS: [&str; 15] = [
    "arch.rs",
    "build_ptx.rs",
    "compiled.rs",
    "facts.rs",
    "generator",
    "judge.rs",
    "kernel_crate.rs",
    "packages.rs",
    "process.rs",
    "ptx.rs",
    "ptxas.rs",
    "record.rs",
    "setup.rs",
    "stamp.rs",
    "weight.rs",
];

/// The stamp of kernels from these files and folders, made and checked by tools of these versions.
pub fn of(sources: &[PathBuf], versions: &[&str]) -> Result<String> {
    let program = paths::root().join("xtask/src");
    let makers = MAKERS.map(|maker| program.join(maker));
    let sources: Vec<PathBuf> = sources.iter().chain(&makers).cloned().collect();
    let mut hasher = hash(&sources)?;
    versions.hash(&mut hasher);
    Ok(format!("{:016x}\n", hasher.finish()))
}

/// That of the sources alone, whoever makes something of them: the same in every clone.
pub fn of_sources(sources: &[PathBuf]) -> Result<String> {
    Ok(format!("{:016x}", hash(sources)?.finish()))
}

fn hash(sources: &[PathBuf]) -> Result<Fnv> {
    let mut files = vec![];
    for source in sources {
        files_below(source, &mut files)?;
    }
    files.sort();
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    for file in files {
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        // Of a user's crate the whole path.
        file.strip_prefix(paths::root()).unwrap_or(&file).hash(&mut hasher);
        match String::from_utf8(bytes) {
            Ok(text) if file.extension().is_some_and(|extension| extension == "rs") => code(&text).hash(&mut hasher),
            Ok(text) => text.hash(&mut hasher),
            Err(other) => other.as_bytes().hash(&mut hasher),
        }
    }
    Ok(hasher)
}

/// FNV-1a of 64 bits, for the standard library's own hash may be another one in its next version.
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The lines of a Rust file but comments, empty ones, and a module of tests at its end.
fn code(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//"))
        .collect();
    let tests = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{'));
    // Nothing but that module is behind it.
    let is_last =
        |at: &usize| lines[*at..].iter().filter(|line| **line == "}").count() == 1 && lines.last() == Some(&"}");
    lines[..tests.filter(is_last).unwrap_or(lines.len())].to_vec()
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if folder.is_file() {
        let name = folder.to_string_lossy();
        if !name.ends_with("_tests.rs") {
            files.push(folder.to_owned());
        }
        return Ok(());
    }
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        files_below(&entry?.path(), files)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_and_tests_are_no_code() {
        let text = "//! What it is.\n\nfn one() {\n    // Why.\n    two();\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n";
        assert_eq!(code(text), ["fn one() {", "    two();", "}"]);
        assert_eq!(
            code("#[cfg(test)]\nmod more;\nfn one() {}"),
            ["#[cfg(test)]", "mod more;", "fn one() {}"]
        );
    }

    #[test]
    fn every_maker_is_there_and_a_stamp_is_of_all_it_is_given() {
        let kernels = paths::root().join("kernels-gpu/src/tree.rs");
        let stamp = |version| of(std::slice::from_ref(&kernels), &[version]).unwrap();
        assert_eq!(stamp("1"), stamp("1"));
        assert_ne!(stamp("1"), stamp("2"));
        assert_ne!(stamp("1"), of(&[], &["1"]).unwrap());
        let sources = |of: &[PathBuf]| of_sources(of).unwrap();
        assert_ne!(sources(&[]), sources(std::slice::from_ref(&kernels)));
        let mut fnv = Fnv(0xcbf2_9ce4_8422_2325);
        fnv.write(b"foobar");
        assert_eq!(fnv.finish(), 0x8594_4171_f739_67e8);
    }
}
