//! rustc's own PTX backend: a rustc that has it, and the sources of its own `core`.

use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::with_entries;
use crate::{
    arch::number,
    compiled::Compiled,
    process::{capture, on_path, untangled},
    wanted::PartOfBuild,
};

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

impl Compiler {
    /// The PTX of a crate, or a part of ours, for `arch`, with more flags for the compiler; what is needed on the way goes to `cache`.
    pub fn compile(
        &self,
        cache: &Path,
        kernels: &Compiled,
        arch: &str,
        part: Option<&PartOfBuild>,
        more_flags: &str,
    ) -> Result<String> {
        // Fat LTO and one unit leave no calls. There is nothing to link: the assembly is the product. JumpThreading copies
        // barriers into divergent branches (rust-lang/rust 137086). Whatever its size, a function is inlined; and no lanes of
        // vectors are looked for in straight-line code, which the target hardly has and which costs registers.
        let flags = format!(
            "-C target-cpu={arch} {} -C linker=true -Zmir-enable-passes=-JumpThreading -C no-vectorize-slp -C no-vectorize-loops -C llvm-args=-inline-threshold=1000000 {more_flags}",
            language(arch)
        );
        capture(
            with_entries(&mut self.cargo(), part)
                .current_dir(&kernels.folder)
                .args([
                    "rustc",
                    "--release",
                    "--quiet",
                    "--lib",
                    "--crate-type=cdylib",
                    "-Zbuild-std=core",
                ])
                .args(["--target", TARGET, "--package", &kernels.package])
                .args(kernels.features)
                .args(["--config", "profile.release.lto=\"fat\""])
                .args(["--config", "profile.release.codegen-units=1"])
                .args(["--config", "profile.release.panic=\"abort\""])
                .args(["--config", "profile.release.opt-level=3"])
                .args(["--config", "profile.release.debug=0"])
                // Of this crate alone, so that nothing else is compiled for a part, nor `core` written as assembly.
                .args(["--", "--emit=asm"])
                .args(part.filter(|_| kernels.part.is_none()).map_or(vec![], |part| {
                    let name = format!("warpfold_part=\"{}\"", part.name);
                    ["--cfg", "warpfold_part", "--cfg", &name].map(str::to_owned).to_vec()
                }))
                .env("RUSTFLAGS", flags)
                .env("CARGO_TARGET_DIR", cache),
        )
        .with_context(|| format!("cannot compile {} for {arch}", kernels.package))?;
        let output = cache
            .join(TARGET)
            .join("release/deps")
            .join(format!("{}.s", kernels.library));
        fs::read_to_string(&output).with_context(|| format!("the compiler left no {}", output.display()))
    }

    /// A cargo command that compiles with this compiler.
    fn cargo(&self) -> Command {
        let mut command = untangled(&self.cargo);
        // The kernels use unstable features; a distribution's compiler takes them when told so.
        command.env("RUSTC", &self.rustc).env("RUSTC_BOOTSTRAP", "1");
        command
    }
}

/// The option that sets the version of PTX. The older architectures' own versions lack instructions that the kernels use;
/// 7.4 is what the oldest driver that cust knows takes (CUDA 11.4); 8.1 needs one of CUDA 12.1. Newer architectures need a newer version anyway.
fn language(arch: &str) -> &'static str {
    match number(arch) {
        Some(..=89) => "-C target-feature=+ptx74",
        // Blocks of a cluster send each other words by instructions of 8.1.
        Some(90) => "-C target-feature=+ptx81",
        _ => "",
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
    fn a_link_to_rustup_is_no_compiler() {
        let folder = env::temp_dir().join(format!("warpfold-proxy-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("rustup"), "").unwrap();
        std::os::unix::fs::symlink("rustup", folder.join("rustc")).unwrap();
        assert!(is_rustup(&folder.join("rustc")));
        fs::remove_dir_all(&folder).unwrap();
    }
}
