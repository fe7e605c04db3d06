//! libNVVM takes the kernels' inline assembly and intrinsics: each as rustc_codegen_nvvm hands it over, for the oldest and
//! the newest architectures, and the instructions come out as they were written.
//!
//! That is what can be asked of that code generator's last stage without the rest of it. Where there is no libNVVM each test
//! reports itself as ignored; `cargo xtask setup` gets one.

mod ir;
mod library;
mod source;

use std::{env, fs, path::PathBuf, process::ExitCode};

use library::{LibNvvm, Refusal};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use source::{Intrinsic, Source};

/// One for each dialect that libNVVM reads, and those that are built by default.
const ARCHS: [&str; 4] = ["compute_75", "compute_80", "compute_90", "compute_100"];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = ARCHS
        .iter()
        .map(|arch| Trial::ignorable_test(format!("libnvvm_takes_the_machine_for_{arch}"), || takes(arch)))
        .collect();
    trials.push(Trial::ignorable_test("what_libnvvm_does_not_know_is_refused", refuses));
    trials.push(Trial::test("the_source_is_read", reads));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The sources that rustc_codegen_nvvm compiles assembly and intrinsics from, for an architecture.
fn machine(arch: &str) -> Result<Source, Failed> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../kernels-gpu/src/simt/nvptx");
    let mut machine = Source::default();
    let has_clusters = !["compute_75", "compute_80"].contains(&arch);
    let clusters = has_clusters.then_some("clusters.rs");
    for file in ["mod.rs", "nvvm.rs"].into_iter().chain(clusters) {
        machine.read(&fs::read_to_string(folder.join(file))?)?;
    }
    if machine.assembly.is_empty() || machine.intrinsics.is_empty() {
        return Err("no assembly or no intrinsics in the machine: are these its sources?".into());
    }
    Ok(machine)
}

fn takes(arch: &str) -> Result<Completion, Failed> {
    let Some(library) = LibNvvm::find() else {
        return Ok(Completion::ignored_with("no libNVVM here"));
    };
    let machine = machine(arch)?;
    match library.compile(&ir::module(&machine, library.ir_version()), arch) {
        Err(Refusal::UnknownOption) => Ok(Completion::ignored_with("this libNVVM is older than the architecture")),
        Err(Refusal::Said(why)) => Err(why.into()),
        Ok(ptx) => {
            came_out(&machine, &ptx)?;
            Ok(Completion::Completed)
        }
    }
}

/// Whether each operation of the assembly and one instruction for each intrinsic is in the PTX.
fn came_out(machine: &Source, ptx: &str) -> Result<(), String> {
    // An intrinsic that it does not know passes for a function of somebody else's.
    if let Some(call) = ptx
        .lines()
        .find(|line| line.contains("call") || line.contains(".extern"))
    {
        return Err(format!("{:?}: not an intrinsic:\n{ptx}", call.trim()));
    }
    // An instruction without operands is a word with its semicolon.
    let operations: Vec<&str> = ptx.split_whitespace().map(|word| word.trim_end_matches(';')).collect();
    let mut written = machine.assembly.iter().flat_map(|assembly| assembly.operations());
    if let Some(lost) = written.find(|operation| !operations.contains(operation)) {
        return Err(format!("{lost:?} did not come out:\n{ptx}"));
    }
    const INSTRUCTIONS: [(&str, &str); 6] = [
        ("llvm.nvvm.barrier0", "bar.sync"),
        ("llvm.nvvm.bar.warp.sync", "bar.warp.sync"),
        ("llvm.nvvm.shfl.sync.bfly.i32", "shfl.sync.bfly.b32"),
        ("llvm.nvvm.shfl.sync.idx.i32", "shfl.sync.idx.b32"),
        ("llvm.nvvm.vote.ballot.sync", "vote.sync.ballot.b32"),
        ("llvm.nvvm.vote.any.sync", "vote.sync.any.pred"),
    ];
    for Intrinsic { name, .. } in &machine.intrinsics {
        let Some((_, instruction)) = INSTRUCTIONS.iter().find(|(intrinsic, _)| intrinsic == name) else {
            return Err(format!(
                "which instruction becomes of {name} is not in the list of this test"
            ));
        };
        let found = operations.iter().filter(|operation| *operation == instruction).count();
        if found != 1 {
            return Err(format!("{found} times {instruction} of one {name}:\n{ptx}"));
        }
    }
    Ok(())
}

fn refuses() -> Result<Completion, Failed> {
    let Some(library) = LibNvvm::find() else {
        return Ok(Completion::ignored_with("no libNVVM here"));
    };
    // What is no intrinsic passes for a function of somebody else's; another signature is an error of libNVVM's own.
    let refused = |text: &str, says: &str| -> Result<(), Failed> {
        let mut machine = Source::default();
        machine.read(text)?;
        let compiled = library.compile(&ir::module(&machine, library.ir_version()), "compute_90");
        let why = match compiled {
            Ok(ptx) => came_out(&machine, &ptx).err().unwrap_or_default(),
            Err(Refusal::UnknownOption) => return Err("compute_90 is not known".into()),
            Err(Refusal::Said(why)) => why,
        };
        if why.contains(says) {
            Ok(())
        } else {
            Err(format!("{text}: {why:?}, which does not say {says:?}").into())
        }
    };
    refused(
        "unsafe extern \"C\" { #[link_name = \"llvm.nvvm.no.such.thing\"] fn f(a: u32) -> u32; }",
        "not an intrinsic",
    )?;
    refused(
        "unsafe extern \"C\" { #[link_name = \"llvm.nvvm.vote.any.sync\"] fn f(a: u32) -> u32; }",
        "libNVVM answers",
    )?;
    Ok(Completion::Completed)
}

fn reads() -> Result<(), Failed> {
    source::is_read();
    Ok(())
}

/// Where libNVVM may lie: what a variable names, setup's own folder, CUDA installations.
fn candidates() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = env::var_os("WARPFOLD_LIBNVVM").map(PathBuf::from).into_iter().collect();
    let packages = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/tools/nvvm/nvidia");
    for package in fs::read_dir(packages).into_iter().flatten().flatten() {
        for folder in ["lib", "nvvm/lib64"] {
            let libraries = fs::read_dir(package.path().join(folder))
                .into_iter()
                .flatten()
                .flatten();
            let is_libnvvm = |file: &fs::DirEntry| file.file_name().to_string_lossy().starts_with("libnvvm.so");
            files.extend(libraries.filter(is_libnvvm).map(|file| file.path()));
        }
    }
    let named = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"]
        .into_iter()
        .filter_map(env::var_os);
    for cuda in named.map(PathBuf::from).chain(["/usr/local/cuda".into()]) {
        files.push(cuda.join("nvvm/lib64/libnvvm.so"));
    }
    files
}
