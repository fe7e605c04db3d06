//! The rules on the sources, each a function of the tree.

use std::collections::BTreeSet;

use super::{File, Tree, Violation, source::words};

/// Where `unsafe` may stand in the library: the rooms that launch, that load the driver, and that play the machine.
/// Kernels have raw pointers for parameters, so their crates are rooms as a whole.
const UNSAFE_ROOMS: [&str; 8] = [
    "kernels-gpu/src/",
    "distinct/src/",
    "host/src/gpu/",
    "host/driver/",
    "tests/emulator/",
    // Python's arrays, and launches on their streams.
    "python/src/arrays",
    "python/src/gpu",
    "python/src/rows/gpu.rs",
];

/// What the rule on `unsafe` is about. Tests, benches and examples may call the unsafe functions that users have.
const SAFE_CODE: [&str; 5] = ["host/src/", "host/build.rs", "xtask/", "tests/emulator/", "python/src/"];

/// What of the kernels rustc_codegen_nvvm alone compiles.
const NVVM_ONLY: &str = "kernels-gpu/src/simt/nvptx/nvvm.rs";

/// The most lines of a file.
const LONGEST: usize = 500;

/// Files that are lists, and as long as what they list.
const LISTS: [&str; 2] = ["host/src/error/mod.rs", "tests/emulator/tests/litmus.rs"];

/// How far above its block a `SAFETY:` comment may begin.
const REACH: usize = 6;

/// Lines of code in `files` with one of `banned` as a word.
pub fn lines_with<'a>(files: impl Iterator<Item = &'a File>, banned: &[&str], why: &str) -> Vec<Violation> {
    let mut found = vec![];
    for file in files {
        for (number, line) in file.code_lines() {
            found.extend(
                words(line)
                    .find(|word| banned.contains(word))
                    .map(|word| file.violation(number, format!("`{word}` {why}"))),
            );
        }
    }
    found
}

/// `kernels-gpu` has no dependencies, bar optional ones and those of its tests. `distinct` has `kernels-gpu` alone.
pub fn kernels_depend_on_nothing_else(tree: &Tree) -> Vec<Violation> {
    const CRATES: [(&str, &[&str]); 2] = [
        ("kernels-gpu/Cargo.toml", &[]),
        ("distinct/Cargo.toml", &["warpfold-kernels"]),
    ];
    let manifests = CRATES.iter().filter_map(|(path, may)| Some((tree.file(path)?, *may)));
    manifests
        .flat_map(|(manifest, may)| dependencies_but(manifest, may))
        .collect()
}

/// Dependencies that are not optional, those of tests apart, but for some.
fn dependencies_but(manifest: &File, may: &[&str]) -> Vec<Violation> {
    let mut found = vec![];
    let mut in_dependencies = false;
    for (number, line) in manifest.code_lines() {
        let line = line.trim();
        if line.starts_with('[') {
            let section = line.trim_matches(['[', ']']);
            in_dependencies = section
                .split('.')
                .any(|part| part == "dependencies" || part == "build-dependencies");
            if in_dependencies && !section.ends_with("dependencies") {
                found.push(manifest.violation(number, "a dependency"));
            }
        } else if in_dependencies
            && line.contains('=')
            && !line.starts_with('#')
            && !line.contains("optional = true")
            && !line
                .split(['=', '.'])
                .next()
                .is_some_and(|name| may.contains(&name.trim()))
        {
            found.push(manifest.violation(number, format!("a dependency: {line}")));
        }
    }
    found
}

/// The kernels never mention the host or the emulator.
pub fn kernels_know_no_host(tree: &Tree) -> Vec<Violation> {
    let banned = ["warpfold", "warpfold_driver", "warpfold_emulator", "emulator", "cust"];
    lines_with(tree.kernels(), &banned, "is none of the kernels' business")
}

/// A monoid never sees the machine.
pub fn monoids_see_no_machine(tree: &Tree) -> Vec<Violation> {
    let monoids = tree.rust_below("kernels-gpu/src/monoids/");
    lines_with(
        monoids,
        &["simt", "Simt"],
        "in a monoid: an operator never sees the machine",
    )
}

/// A stage never names a monoid.
pub fn stages_name_no_monoid(tree: &Tree) -> Vec<Violation> {
    let monoids: BTreeSet<&str> = tree
        .file("kernels-gpu/src/monoids/mod.rs")
        .into_iter()
        .flat_map(|file| file.code.split("pub use ").skip(1))
        .filter_map(|list| list.split(';').next())
        // What every operator is, and what is known of any, is of rooms below.
        .filter(|list| !list.starts_with("crate::"))
        .flat_map(words)
        .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
        .collect();
    let monoids: Vec<&str> = monoids.into_iter().collect();
    let stages = tree
        .rust_below("kernels-gpu/src/stages/")
        .chain(tree.file("distinct/src/table.rs"));
    lines_with(stages, &monoids, "in a stage: a stage knows no operator by name")
}

/// Inline assembly and LLVM's intrinsics stand in `simt` only. (The driver's functions are no part of the machine.)
pub fn intrinsics_stay_in_simt(tree: &Tree) -> Vec<Violation> {
    let outside = |file: &&File| !file.path.contains("/simt/") && !file.path.starts_with("host/driver/");
    let banned = ["asm", "global_asm", "naked_asm", "link_name"];
    let mut found = lines_with(
        tree.rust_below("").filter(outside),
        &banned,
        "outside kernels-gpu/src/simt",
    );
    for file in tree.kernels().filter(outside) {
        for (number, line) in (1..).zip(file.text.lines()) {
            if line.contains("\"llvm.") {
                found.push(file.violation(number, "an LLVM intrinsic outside kernels-gpu/src/simt"));
            }
        }
    }
    found
}

/// Barriers, shuffles, votes and matches are never assembly: the optimiser copies that into divergent branches. The barrier of a cluster,
/// which one generator has no intrinsic for, directly follows a warp barrier, which keeps it from being copied.
pub fn collectives_are_no_assembly(tree: &Tree) -> Vec<Violation> {
    const COLLECTIVES: [&str; 7] = ["bar.", "barrier.", "shfl.", "vote.", "match.", "elect.", "activemask."];
    let mut found = vec![];
    for file in tree.kernels() {
        let lines: Vec<&str> = file.text.lines().collect();
        for (number, line) in (1..).zip(&lines) {
            let before = &lines[number.max(4) - 4..number - 1];
            let is_held = file.path == NVVM_ONLY && before.iter().any(|line| line.contains("warp_barrier();"));
            // The texts in a line: every other piece between quotation marks.
            let statements = line
                .split('"')
                .skip(1)
                .step_by(2)
                .flat_map(|text| text.split([';', '\n', '}']));
            for statement in statements {
                let statement = statement.trim();
                if is_held && statement.starts_with("barrier.cluster.") {
                    continue;
                }
                let begins = |collective: &&&str| statement.starts_with(**collective);
                found.extend(
                    COLLECTIVES
                        .iter()
                        .find(begins)
                        .map(|what| file.violation(number, format!("`{what}` in assembly: use LLVM's intrinsic"))),
                );
            }
        }
    }
    found
}

/// `unsafe` stands in its rooms only.
pub fn unsafe_stays_in_its_rooms(tree: &Tree) -> Vec<Violation> {
    let of_rule = |file: &&File| SAFE_CODE.iter().any(|folder| file.path.starts_with(folder));
    let in_room = |file: &&File| UNSAFE_ROOMS.iter().any(|room| file.path.starts_with(room));
    let files = tree.rust_below("").filter(of_rule).filter(|file| !in_room(file));
    lines_with(files, &["unsafe"], "outside its rooms")
}

/// Every unsafe block and impl has a `SAFETY:` comment, on its line or just above.
pub fn unsafe_is_explained(tree: &Tree) -> Vec<Violation> {
    let mut found = vec![];
    for file in tree.rust_below("") {
        let lines: Vec<&str> = file.text.lines().collect();
        for (number, code) in file.code_lines() {
            let mut after = code.split("unsafe").skip(1);
            let opens = after.any(|rest| rest.trim_start().starts_with('{') || rest.starts_with(" impl "));
            let from = number.saturating_sub(REACH + 1);
            if opens && !lines[from..number].iter().any(|line| line.contains("SAFETY:")) {
                found.push(file.violation(number, "unsafe without a `SAFETY:` line"));
            }
        }
    }
    found
}

/// Nothing is left unfinished.
pub fn nothing_is_unfinished(tree: &Tree) -> Vec<Violation> {
    let mut found = vec![];
    for file in tree.rust_below("") {
        for (number, line) in file.code_lines() {
            let unfinished = ["todo!", "unimplemented!", "dbg!"]
                .into_iter()
                .find(|word| line.contains(word));
            found.extend(unfinished.map(|word| file.violation(number, format!("`{word}`"))));
        }
    }
    found
}

/// No file is too long to be about one thing.
pub fn files_are_short(tree: &Tree) -> Vec<Violation> {
    let long = |file: &&File| file.text.lines().count() > LONGEST && !LISTS.contains(&&*file.path);
    let violation = |file: &File| file.violation(LONGEST + 1, format!("more than {LONGEST} lines"));
    tree.rust_below("").filter(long).map(violation).collect()
}

/// Each kernel of the ladder is short: what a rung does that the one before did not is seen at once. Notes do not count.
pub fn rungs_are_short(tree: &Tree) -> Vec<Violation> {
    const LADDER: &str = "kernels-gpu/src/ladder/";
    const LONGEST: usize = 40;
    let is_rung = |file: &&File| file.path[LADDER.len()..].contains('/') && !file.path.ends_with("/mod.rs");
    let lines = |file: &File| file.code_lines().filter(|(_, line)| !line.trim().is_empty()).count();
    let long = tree
        .rust_below(LADDER)
        .filter(is_rung)
        .filter(|file| lines(file) > LONGEST);
    long.map(|file| file.violation(1, format!("a rung of more than {LONGEST} lines of code")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{super::lines, *};

    #[test]
    fn a_long_rung_is_found() {
        let code = "//! A note.\n\n".to_owned() + &"let _ = 1;\n".repeat(41);
        let of = |path, text: &str| lines(rungs_are_short, path, text);
        assert_eq!(of("kernels-gpu/src/ladder/sum/long.rs", &code), [1]);
        assert!(of("kernels-gpu/src/ladder/sum/mod.rs", &code).is_empty());
        assert!(of("kernels-gpu/src/ladder/rungs.rs", &code).is_empty());
        assert!(of("kernels-gpu/src/ladder/sum/long.rs", &"// note\n\n".repeat(50)).is_empty());
    }

    #[test]
    fn a_dependency_of_the_kernels_is_found() {
        let of = |text| lines(kernels_depend_on_nothing_else, "kernels-gpu/Cargo.toml", text);
        assert_eq!(of("[package]\nname = \"k\"\n[dependencies]\nlibm = \"1\"\n"), [4]);
        assert_eq!(of("[target.'cfg(x)'.dependencies]\nlibm = \"1\"\n"), [2]);
        assert_eq!(of("[dependencies.libm]\nversion = \"1\"\n"), [1, 2]);
        let allowed =
            "[dependencies]\n# a = \"1\"\nb = { version = \"1\", optional = true }\n[dev-dependencies]\nc = \"1\"\n";
        assert!(of(allowed).is_empty());
        let on_kernels = "[dependencies]\nwarpfold-kernels = { path = \"../kernels-gpu\" }\nlibm = \"1\"\n";
        assert_eq!(of(on_kernels), [2, 3]);
        assert_eq!(
            lines(kernels_depend_on_nothing_else, "distinct/Cargo.toml", on_kernels),
            [3]
        );
    }

    #[test]
    fn kernels_that_mention_the_host_are_found() {
        let of = |text| lines(kernels_know_no_host, "kernels-gpu/src/a.rs", text);
        assert_eq!(
            of("// the emulator\nuse warpfold::Gpu;\nuse warpfold_emulator as e;\n"),
            [2, 3]
        );
        assert!(of("const A: &str = \"warpfold\"; use warpfold_kernels as w;").is_empty());
    }

    #[test]
    fn a_monoid_that_sees_the_machine_is_found() {
        let of = |text| lines(monoids_see_no_machine, "kernels-gpu/src/monoids/a.rs", text);
        assert_eq!(of("use crate::simt::LANES;\nfn f<S: Simt>(s: S) {}\n"), [1, 2]);
        assert!(of("//! Not a simt.\nfn simtlike() {}\n").is_empty());
    }

    #[test]
    fn a_stage_that_names_a_monoid_is_found() {
        let tree = |stage| {
            Tree::of(&[
                (
                    "kernels-gpu/src/monoids/mod.rs",
                    "pub use sum::{Mean, Sum};\npub use arg::Best;\n",
                ),
                ("kernels-gpu/src/stages/reduce/warp.rs", stage),
            ])
        };
        assert_eq!(
            stages_name_no_monoid(&tree("fn f() {\n    Sum.identity();\n}\n")).len(),
            1
        );
        assert_eq!(stages_name_no_monoid(&tree("fn f(best: Best) {}\n")).len(), 1);
        assert!(stages_name_no_monoid(&tree("/// Not a Sum.\nfn f<M: Monoid<f32>>(mean: M) {}\n")).is_empty());
    }

    #[test]
    fn intrinsics_outside_simt_are_found() {
        let text = "fn f() {\n    asm!(\"\");\n}\n#[link_name = \"llvm.nvvm.barrier0\"]\n";
        assert_eq!(
            lines(intrinsics_stay_in_simt, "kernels-gpu/src/stages/a.rs", text),
            [2, 4, 4]
        );
        assert_eq!(lines(intrinsics_stay_in_simt, "host/src/cpu.rs", text), [2, 4]);
        assert!(lines(intrinsics_stay_in_simt, "kernels-gpu/src/simt/nvptx.rs", text).is_empty());
    }

    #[test]
    fn a_barrier_in_assembly_is_found() {
        let of = |text| lines(collectives_are_no_assembly, "kernels-gpu/src/simt/a.rs", text);
        assert_eq!(
            of("asm!(\"bar.sync 0;\");\nasm!(\"mov.u32 {}, 1; shfl.sync.idx.b32 a, b;\")\n"),
            [1, 2]
        );
        assert!(of("asm!(\"ld.shared.u32 {}, [{}];\")\n#[link_name = \"llvm.nvvm.barrier0\"]\n").is_empty());
        let held = "Nvptx.warp_barrier();\n// Why.\nasm!(\"barrier.cluster.wait;\")\n";
        assert_eq!(of(held), [3]);
        let of = |text: &str| lines(collectives_are_no_assembly, NVVM_ONLY, text);
        assert!(of(held).is_empty());
        assert_eq!(of(&held.replace("cluster.wait", "sync")), [3]);
        assert_eq!(of("\n\n\nasm!(\"barrier.cluster.wait;\")\n"), [4]);
    }

    #[test]
    fn unsafe_outside_its_rooms_is_found() {
        let text = "// unsafe\nfn f() {\n    unsafe { g() }\n}\n";
        for (path, found) in [
            ("host/src/plan.rs", true),
            ("xtask/src/main.rs", true),
            ("host/src/gpu/launch.rs", false),
            ("host/driver/src/lib.rs", false),
            ("tests/emulator/src/lib.rs", false),
            ("tests/tests/device.rs", false),
        ] {
            assert_eq!(
                !lines(unsafe_stays_in_its_rooms, path, text).is_empty(),
                found,
                "{path}"
            );
        }
    }

    #[test]
    fn unexplained_unsafe_is_found() {
        let of = |text| lines(unsafe_is_explained, "host/src/gpu/a.rs", text);
        assert_eq!(
            of("fn f() {\n    unsafe { g() }\n}\nunsafe impl Send for A {}\n"),
            [2, 4]
        );
        assert!(
            of("// SAFETY: g has no conditions.\nlet a = unsafe { g() };\n/// # Safety\nunsafe fn h() {}\n").is_empty()
        );
    }

    #[test]
    fn unfinished_code_is_found() {
        let text = "fn f() {\n    todo!()\n}\n// todo!\nfn g() {\n    dbg!(1);\n    unimplemented!()\n}\n";
        assert_eq!(lines(nothing_is_unfinished, "host/src/a.rs", text), [2, 6, 7]);
    }

    #[test]
    fn a_long_file_is_found() {
        let long = "\n".repeat(LONGEST + 1);
        assert_eq!(lines(files_are_short, "host/src/a.rs", &long), [LONGEST + 1]);
        assert!(lines(files_are_short, LISTS[0], &long).is_empty());
    }
}
