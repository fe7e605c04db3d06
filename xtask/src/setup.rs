//! `cargo xtask setup`: finds what building and checking kernels needs, and installs what is missing.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    generator::{
        Codegen, Generator,
        llvm::{self as compiler, Compiler},
        nvvm,
    },
    paths,
    process::{capture, on_path, watched},
    ptxas::{self, Ptxas},
};

/// What kernels are built and checked with.
pub struct Tools {
    /// What makes PTX.
    pub generator: Generator,
    /// The assembler, for the checks.
    pub ptxas: Option<Ptxas>,
}

impl Tools {
    /// The versions of both, by which PTX that others made is known.
    pub fn versions(&self) -> [String; 2] {
        let assembler = self.ptxas.as_ref().map(|ptxas| ptxas.version.clone());
        [self.generator.version(), assembler.unwrap_or_else(|| "none".to_owned())]
    }
}

/// Runs the task.
pub fn run() -> Result<()> {
    let tools = ensure(Codegen::Llvm)?;
    if let Generator::Llvm(compiler) = &tools.generator {
        println!("kernel compiler: {} ({})", compiler.version, compiler.rustc.display());
    }
    ensure_libnvvm();
    match ensure_numpy() {
        Some(folder) => println!("NumPy: {}", folder.display()),
        None => println!("NumPy: none that set-up has; answers are compared with it where Python finds one by itself"),
    }
    ensure_valgrind();
    ensure_browser();
    match nvvm::search()? {
        Ok(toolchain) => println!("for --codegen nvvm: {}", toolchain.version),
        Err(_) => {
            println!("for --codegen nvvm: not whole; `cargo xtask build-ptx --codegen nvvm` says what is missing")
        }
    }
    match tools.ptxas {
        Some(ptxas) => println!("ptxas: release {} ({})", ptxas.version, ptxas.path.display()),
        None => println!("ptxas: none; kernels are built all the same, and their registers and spills not checked"),
    }
    Ok(())
}

/// Whether an NVIDIA driver is here.
pub fn has_driver() -> bool {
    GPU_FILES.iter().any(|file| Path::new(file).exists())
}

/// One of them is there where an NVIDIA driver is: on Linux, and in its subsystem of Windows.
const GPU_FILES: [&str; 2] = ["/dev/nvidiactl", "/dev/dxg"];

/// The least compute capability of the GPUs here, as 90 for 9.0; none where nvidia-smi finds none.
pub fn gpu() -> Option<u32> {
    let query = ["--query-gpu=compute_cap", "--format=csv,noheader"];
    least(&capture(Command::new("nvidia-smi").args(query)).ok()?)
}

/// The least in a list of compute capabilities.
fn least(said: &str) -> Option<u32> {
    let number = |line: &str| {
        let (major, minor) = line.trim().split_once('.')?;
        Some(10 * major.parse::<u32>().ok()? + minor.parse::<u32>().ok()?)
    };
    said.lines().filter_map(number).min()
}

/// What is there; an error that says what to do where there is no compiler.
pub fn find(codegen: Codegen) -> Result<Tools> {
    let generator = generator(codegen, || {
        let search = compiler::find()?;
        search.found.with_context(|| {
            let skipped = reasons(&search.skipped);
            format!("no kernel compiler{skipped}\n`cargo xtask setup` installs one")
        })
    })?;
    Ok(Tools {
        generator,
        ptxas: ptxas::find(),
    })
}

/// The code generator that is asked for, given a way to rustc's own.
fn generator(codegen: Codegen, llvm: impl Fn() -> Result<Compiler>) -> Result<Generator> {
    match codegen {
        Codegen::Llvm => Ok(Generator::Llvm(llvm()?)),
        Codegen::Nvvm => Ok(Generator::Nvvm(nvvm::find()?)),
        Codegen::Auto => match nvvm::search()? {
            Ok(toolchain) => {
                println!("code generator: nvvm, for its toolchain is whole");
                Ok(Generator::Nvvm(toolchain))
            }
            Err(missing) => {
                println!("code generator: llvm, for nvvm lacks {} parts:", missing.len());
                missing.iter().for_each(|part| println!("  * {part}"));
                Ok(Generator::Llvm(llvm()?))
            }
        },
    }
}

/// What is there, once what was missing has been installed. The parts of nvvm's toolchain are not ours to install.
pub fn ensure(codegen: Codegen) -> Result<Tools> {
    let generator = generator(codegen, || {
        let search = compiler::find()?;
        search.found.map_or_else(
            || {
                println!("no kernel compiler yet{}", reasons(&search.skipped));
                install_compiler()
            },
            Ok,
        )
    })?;
    let ptxas = match ptxas::find() {
        Some(ptxas) => Some(ptxas),
        None => {
            println!("no ptxas yet");
            install_ptxas()
                .inspect_err(|error| println!("warning: no ptxas, so some checks are left out: {error:#}"))
                .ok()
        }
    };
    Ok(Tools { generator, ptxas })
}

fn reasons(skipped: &[String]) -> String {
    skipped.iter().map(|why| format!("\n  passed over {why}")).collect()
}

/// A way to come by a compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The distribution's packages.
    Packages,
    /// A nightly of rustup's.
    Rustup,
}

/// Names of a distribution's packages with a compiler and its sources; the first is Debian's newest.
const PACKAGES: [[&str; 2]; 2] = [["rustc-web", "rust-web-src"], ["rustc", "rust-src"]];

/// The ways that are open on a machine.
fn ways(os_release: &str, root: bool, rustup: bool) -> Vec<Way> {
    let packages = root && is_debian(os_release);
    let open = [(Way::Packages, packages), (Way::Rustup, rustup)];
    open.into_iter().filter(|(_, open)| *open).map(|(way, _)| way).collect()
}

/// Whether /etc/os-release tells of Debian or of a child of it, such as Ubuntu.
fn is_debian(os_release: &str) -> bool {
    os_release
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or(line.strip_prefix("ID_LIKE=")))
        .any(|ids| {
            ids.trim_matches('"')
                .split(' ')
                .any(|id| id == "debian" || id == "ubuntu")
        })
}

/// The ways open here.
fn ways_here() -> Vec<Way> {
    let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    ways(&os_release, is_root(), on_path("rustup").is_some())
}

fn is_root() -> bool {
    capture(Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0")
}

fn install_compiler() -> Result<Compiler> {
    let mut failures = vec![];
    for way in ways_here() {
        match install_by(way) {
            Ok(compiler) => return Ok(compiler),
            Err(why) => {
                println!("  that did not work: {why:#}");
                failures.push(format!("\n  {why:#}"));
            }
        }
    }
    bail!(
        "there is no kernel compiler and none could be installed. Either of these makes one:\n  \
         * Debian, as root: apt-get update && apt-get install {}\n  \
         * rustup: rustup toolchain install nightly --profile minimal --component rust-src\n\
         or name a rustc that has its sources in {}.{}",
        PACKAGES[0].join(" "),
        compiler::VARIABLE,
        failures.concat()
    )
}

fn install_by(way: Way) -> Result<Compiler> {
    match way {
        Way::Packages => {
            println!("installing the distribution's compiler and its sources");
            apt_update()?;
            let offered = |packages: &&[&str; 2]| compiler::is_new_enough(&candidate(packages[0]));
            let Some(packages) = PACKAGES.iter().find(offered) else {
                bail!("this distribution has no package of a compiler that is new enough");
            };
            apt_install(packages)?;
            found()
        }
        Way::Rustup => {
            println!("installing a nightly toolchain with its sources");
            let install = [
                "toolchain",
                "install",
                "nightly",
                "--profile",
                "minimal",
                "--component",
                "rust-src",
            ];
            watched(Command::new("rustup").args(install).arg("--no-self-update"))?;
            found()
        }
    }
}

/// The version of a package that apt would install.
fn candidate(package: &str) -> String {
    let said = capture(Command::new("apt-cache").args(["policy", package])).unwrap_or_default();
    candidate_in(&said).to_owned()
}

/// The candidate's version in what `apt-cache policy` prints; nothing for a package that is not known.
fn candidate_in(said: &str) -> &str {
    let line = said.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
    line.unwrap_or_default()
}

/// The compiler that is there now.
fn found() -> Result<Compiler> {
    let search = compiler::find()?;
    search
        .found
        .with_context(|| format!("still no kernel compiler{}", reasons(&search.skipped)))
}

/// apt-get that asks nothing, waits for no one long, and tells of its progress by lines.
fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args([
            "-q",
            "-o",
            "Acquire::http::Timeout=60",
            "-o",
            "Acquire::https::Timeout=60",
        ])
        .args([
            "-o",
            "Acquire::Retries=2",
            "-o",
            "DPkg::Lock::Timeout=50",
            "-o",
            "Dpkg::Use-Pty=0",
        ]);
    command
}

fn apt_update() -> Result<()> {
    watched(apt_get().arg("update"))
}

fn apt_install(packages: &[&str]) -> Result<()> {
    watched(
        apt_get()
            .args(["install", "-y", "--no-install-recommends"])
            .args(packages),
    )
}

fn install_ptxas() -> Result<Ptxas> {
    // The package brings a whole compiler; the assembler is all that is used.
    install_package(ptxas::PACKAGE, &ptxas::folder())?;
    ptxas::find().with_context(|| format!("the package {} has no ptxas that runs here", ptxas::PACKAGE))
}

/// Gets libNVVM for the test of what it takes: NVIDIA's package of it alone.
pub fn ensure_libnvvm() {
    const PACKAGE: &str = "nvidia-nvvm";
    let folder = paths::tools().join("nvvm");
    if folder.join("nvidia").is_dir() {
        return;
    }
    if let Err(error) = install_package(PACKAGE, &folder) {
        println!("warning: no libNVVM, so what it takes is not tested: {error:#}");
    }
}

/// Where NumPy is that answers are compared with, once it was got; none where it cannot be had. It is for the python3 that is here:
/// for another one it is got anew.
pub fn ensure_numpy() -> Option<PathBuf> {
    let folder = paths::tools().join("numpy");
    let works = || {
        capture(
            Command::new("python3")
                .env("PYTHONPATH", &folder)
                .args(["-c", "import numpy"]),
        )
        .is_ok()
    };
    if folder.is_dir() && works() {
        return Some(folder);
    }
    match install_package("numpy", &folder) {
        Ok(()) if works() => Some(folder),
        Ok(()) => {
            println!("warning: NumPy was got and python3 cannot use it, so answers are not compared with it");
            None
        }
        Err(error) => {
            println!("warning: no NumPy, so answers are not compared with it: {error:#}");
            None
        }
    }
}

/// Makes sure that python3 makes environments of its own.
pub fn ensure_venv() -> Result<()> {
    let has = || capture(Command::new("python3").args(["-c", "import ensurepip, venv"])).is_ok();
    if has() {
        return Ok(());
    }
    if !ways_here().contains(&Way::Packages) {
        bail!("python3 makes no environments here: it lacks the modules venv and ensurepip");
    }
    println!("installing python3-venv");
    apt_update()?;
    apt_install(&["python3-venv"])
}

/// Gets valgrind, which counts the CPU backend's instructions.
pub fn ensure_valgrind() {
    ensure_program(
        &["valgrind"],
        "valgrind",
        "the CPU backend's instructions are not counted",
    );
}

/// Names of a browser that shows a page without a screen.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Gets a browser, in which the report's pages are tested.
pub fn ensure_browser() {
    ensure_program(&BROWSERS, "chromium", "the report's pages are not tested in one");
}

/// The browser that is here, if there is one.
#[cfg(test)]
pub fn browser() -> Option<PathBuf> {
    BROWSERS.iter().find_map(|name| on_path(name))
}

/// Gets a program of one of these names, where there is none and the distribution's packages are ours to install.
fn ensure_program(names: &[&str], package: &str, without: &str) {
    if names.iter().any(|name| on_path(name).is_some()) {
        return;
    }
    let got = if ways_here().contains(&Way::Packages) {
        println!("installing {package}");
        apt_update().and_then(|()| apt_install(&[package]))
    } else {
        Err(anyhow::anyhow!("it is not here, and packages are not ours to install"))
    };
    if let Err(error) = got {
        println!("warning: no {package}, so {without}: {error:#}");
    }
}

/// Gets a package of the Python package index into a folder of its own.
fn install_package(package: &str, folder: &Path) -> Result<()> {
    let python = Path::new("python3");
    let has_pip = || capture(Command::new(python).args(["-m", "pip", "--version"])).is_ok();
    if !has_pip() {
        if !ways_here().contains(&Way::Packages) {
            bail!("there is no pip to get the package {package} with");
        }
        println!("installing pip, to get {package} with");
        apt_update()?;
        apt_install(&["python3-pip"])?;
    }
    println!("getting the Python package {package}");
    let pip = [
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-compile",
        "--no-input",
        "--upgrade",
        "--target",
    ];
    watched(
        Command::new(python)
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .args(pip)
            .arg(folder)
            .arg(package),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n";
    const UBUNTU: &str = "ID=ubuntu\nID_LIKE=debian\n";
    const MINT: &str = "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n";
    const FEDORA: &str = "ID=fedora\n";

    #[test]
    fn the_gpus_compute_capability_is_read() {
        assert_eq!(least("9.0\n8.6\n"), Some(86));
        assert_eq!(least("12.1\n"), Some(121));
        assert_eq!(least("No devices were found\n"), None);
    }

    #[test]
    fn packages_are_for_root_on_debian_and_its_children() {
        for system in [DEBIAN, UBUNTU, MINT] {
            assert_eq!(ways(system, true, true), [Way::Packages, Way::Rustup]);
            assert_eq!(ways(system, false, true), [Way::Rustup]);
        }
        assert_eq!(ways(FEDORA, true, true), [Way::Rustup]);
        assert!(ways(FEDORA, true, false).is_empty());
        assert!(ways("", false, false).is_empty());
    }

    #[test]
    fn a_candidates_version_is_read() {
        let said = "rustc-web:\n  Installed: (none)\n  Candidate: 1.96.0+dfsg1-1~deb12u2\n  Version table:\n";
        assert_eq!(candidate_in(said), "1.96.0+dfsg1-1~deb12u2");
        assert_eq!(candidate_in("N: Unable to locate package\n"), "");
    }

    #[test]
    fn what_was_passed_over_is_named() {
        assert_eq!(reasons(&["a: too old".to_owned()]), "\n  passed over a: too old");
    }
}
