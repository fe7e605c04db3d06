//! The kernel compiler: a rustc that can generate PTX, and has the sources of its own `core`.

use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, bail};

use crate::process::{capture, on_path, untangled};

/// The target of rustc's PTX backend.
pub const TARGET: &str = "nvptx64-nvidia-cuda";

/// The variable that names a kernel compiler.
pub const VARIABLE: &str = "WARPFOLD_KERNEL_RUSTC";

/// The oldest compiler whose output was checked: 1.(this).
const OLDEST_MINOR: u32 = 96;

/// The least compute capability that the kernels' instructions need.
const OLDEST_ARCH: u32 = 70;

/// A compiler that passed every check.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The rustc itself, never rustup's proxy.
    pub rustc: PathBuf,
    /// The cargo that drives it.
    pub cargo: PathBuf,
    /// Its version with that of its LLVM, to the commit.
    pub version: String,
    /// The architectures it generates code for, as `sm_NN`.
    pub archs: Vec<String>,
}

/// What a search came to.
pub struct Search {
    /// The first compiler that does.
    pub found: Option<Compiler>,
    /// Those before it, each with the reason why not.
    pub skipped: Vec<String>,
}

/// Looks for a compiler: the one that the variable names, or else rustup's (a nightly first), or else the system's.
///
/// # Errors
///
/// The variable names one that does not do.
pub fn find() -> Result<Search> {
    if let Some(named) = env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        return match check(&named) {
            Ok(compiler) => Ok(Search {
                found: Some(compiler),
                skipped: vec![],
            }),
            Err(why) => bail!("{VARIABLE} names {}, which does not do: {why:#}", named.display()),
        };
    }
    let mut skipped = vec![];
    for rustc in rustup_compilers().into_iter().chain(system_compilers()) {
        match check(&rustc) {
            Ok(compiler) => {
                return Ok(Search {
                    found: Some(compiler),
                    skipped,
                });
            }
            Err(why) => skipped.push(format!("{}: {why:#}", rustc.display())),
        }
    }
    Ok(Search { found: None, skipped })
}

/// The compilers of rustup's toolchains, nightlies first.
fn rustup_compilers() -> Vec<PathBuf> {
    let list = capture(untangled("rustup").args(["toolchain", "list"])).unwrap_or_default();
    let which = |toolchain: String| {
        let path = capture(untangled("rustup").args(["which", "--toolchain", &toolchain, "rustc"])).ok()?;
        Some(PathBuf::from(path.trim()))
    };
    toolchains_in(&list).into_iter().filter_map(which).collect()
}

/// The names in what `rustup toolchain list` prints, nightlies first.
fn toolchains_in(list: &str) -> Vec<String> {
    let mut names: Vec<String> = list
        .lines()
        .filter(|line| !line.starts_with("no installed"))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    names.sort_by_key(|name| !name.starts_with("nightly"));
    names
}

/// The compilers outside rustup.
fn system_compilers() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    folders.extend(["/usr/local/bin", "/usr/bin"].map(PathBuf::from));
    let mut found: Vec<PathBuf> = vec![];
    for folder in folders {
        let rustc = folder.join("rustc");
        // One folder often has two names.
        let known = found
            .iter()
            .any(|known| known.canonicalize().ok() == rustc.canonicalize().ok());
        if rustc.is_file() && !is_rustup(&rustc) && !known {
            found.push(rustc);
        }
    }
    found
}

/// Whether a program is rustup's proxy: a link to rustup, symbolic or hard.
fn is_rustup(program: &Path) -> bool {
    let file = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    let real = program.canonicalize().unwrap_or_default();
    real.file_stem()
        .is_some_and(|name| name == "rustup" || name == "rustup-init")
        || on_path("rustup").is_some_and(|rustup| file(&rustup) == file(program))
}

/// Checks that `rustc` can build the kernels.
fn check(rustc: &Path) -> Result<Compiler> {
    let ask = |args: &[&str]| capture(untangled(rustc).args(args));
    let verbose = ask(&["-vV"])?;
    let release = field(&verbose, "release");
    if !is_new_enough(release) {
        bail!("version {release}, and 1.{OLDEST_MINOR} is the oldest that does");
    }
    let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim());
    if !sysroot.join("lib/rustlib/src/rust/library/core/src/lib.rs").is_file() {
        bail!("version {release}, without the sources of its core library (the component rust-src)");
    }
    let archs = archs_in(&ask(&["--print", "target-cpus", "--target", TARGET])?);
    if archs.is_empty() {
        bail!("version {release}, without the target {TARGET}");
    }
    Ok(Compiler {
        rustc: rustc.to_owned(),
        cargo: cargo_of(rustc, release),
        version: format!(
            "{}, LLVM {}",
            verbose.lines().next().unwrap_or_default(),
            field(&verbose, "LLVM version")
        ),
        archs,
    })
}

/// The cargo beside a compiler, if it is of the same version (it knows how that version's `core` is built), else ours.
fn cargo_of(rustc: &Path, release: &str) -> PathBuf {
    let beside = rustc.with_file_name("cargo");
    let same = !is_rustup(&beside)
        && capture(untangled(&beside).arg("-vV")).is_ok_and(|said| minor(field(&said, "release")) == minor(release));
    if same {
        beside
    } else {
        crate::process::cargo().get_program().into()
    }
}

/// The value of `name` in what `rustc -vV` or `cargo -vV` prints.
fn field<'a>(verbose: &'a str, name: &str) -> &'a str {
    verbose
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        .unwrap_or("unknown")
}

/// `NN` of a version `1.NN.…`.
fn minor(release: &str) -> Option<u32> {
    release.strip_prefix("1.")?.split('.').next()?.parse().ok()
}

/// Whether a compiler of this version may do.
pub fn is_new_enough(release: &str) -> bool {
    minor(release).is_some_and(|minor| minor >= OLDEST_MINOR)
}

/// The architectures in a list of the compiler's target CPUs. Those with a letter run on one architecture alone and on
/// nothing newer, so they are no use as modules that later devices load.
fn archs_in(cpus: &str) -> Vec<String> {
    let mut archs: Vec<String> = cpus
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| number(name).is_some_and(|number| number >= OLDEST_ARCH))
        .map(str::to_owned)
        .collect();
    archs.sort_by_key(|name| number(name));
    archs
}

/// `90` of `sm_90`.
pub fn number(arch: &str) -> Option<u32> {
    arch.strip_prefix("sm_")?.parse().ok()
}

impl Compiler {
    /// Checks the name of an architecture.
    pub fn knows(&self, arch: &str) -> Result<()> {
        if self.archs.iter().any(|known| known == arch) {
            return Ok(());
        }
        bail!(
            "no architecture {arch:?}: this compiler generates code for {}",
            self.archs.join(", ")
        )
    }

    /// A cargo command that compiles with this compiler.
    pub fn cargo(&self) -> Command {
        let mut command = untangled(&self.cargo);
        // The kernels use unstable features; a distribution's compiler takes them when told so.
        command.env("RUSTC", &self.rustc).env("RUSTC_BOOTSTRAP", "1");
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nightlies_come_first() {
        let list =
            "stable-x86_64-unknown-linux-gnu (active, default)\nnightly-x86_64-unknown-linux-gnu\n1.95.0-x86_64\n";
        assert_eq!(
            toolchains_in(list),
            [
                "nightly-x86_64-unknown-linux-gnu",
                "stable-x86_64-unknown-linux-gnu",
                "1.95.0-x86_64"
            ]
        );
        assert!(toolchains_in("no installed toolchains\n").is_empty());
    }

    #[test]
    fn versions_are_read() {
        let said = "rustc 1.96.0 (ac68faa20 2026-05-25)\nbinary: rustc\nrelease: 1.96.0\nLLVM version: 22.1.8\n";
        assert_eq!(field(said, "release"), "1.96.0");
        assert_eq!(field(said, "LLVM version"), "22.1.8");
        assert_eq!(field("", "release"), "unknown");
        assert_eq!(minor("1.96.0"), Some(96));
        assert_eq!(minor("1.97.0-nightly"), Some(97));
        assert_eq!(minor("unknown"), None);
        assert!(is_new_enough("1.96.0+dfsg1-1~deb12u2") && !is_new_enough("1.85.0") && !is_new_enough("(none)"));
    }

    #[test]
    fn architectures_are_plain_and_new_enough() {
        let cpus =
            "Available CPUs for this target:\n    sm_100\n    sm_100a\n    sm_30   - This is the default\n    sm_90\n";
        assert_eq!(archs_in(cpus), ["sm_90", "sm_100"]);
        assert!(archs_in("error: no such target").is_empty());
    }

    #[test]
    fn an_architecture_that_does_not_exist_is_named() {
        let compiler = Compiler {
            rustc: "rustc".into(),
            cargo: "cargo".into(),
            version: String::new(),
            archs: vec!["sm_80".into(), "sm_90".into()],
        };
        assert!(compiler.knows("sm_90").is_ok());
        let error = compiler.knows("sm_91").unwrap_err().to_string();
        assert!(error.contains("sm_91") && error.contains("sm_80, sm_90"), "{error}");
    }

    #[test]
    fn a_link_to_rustup_is_no_compiler() {
        let folder = env::temp_dir().join(format!("warpfold-proxy-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("rustup"), "").unwrap();
        std::os::unix::fs::symlink("rustup", folder.join("rustc")).unwrap();
        assert!(is_rustup(&folder.join("rustc")));
        fs::remove_dir_all(&folder).unwrap();
    }
}
