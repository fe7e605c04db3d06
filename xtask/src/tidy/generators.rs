//! Rules that keep the kernels to what both code generators get right. What rustc_codegen_nvvm does with the rest at the
//! pinned commit was seen by running it; `docs/code-generators.md` has the list.

use super::{File, Tree, Violation, source::words};
use crate::pages::tables::nvvm;

/// The page that has what was run of Rust-CUDA.
const GENERATORS_PAGE: &str = "docs/code-generators.md";

/// Where the kernels' source lies.
const KERNELS: [&str; 2] = ["kernels-gpu/src/", "distinct/src/"];

/// The part of it that one generator alone compiles.
const LLVM_ONLY: &str = "kernels-gpu/src/simt/nvptx/llvm.rs";

/// LLVM's intrinsics that both generators take, without `llvm.nvvm.`: compiled by both and run.
const INTRINSICS: [&str; 18] = [
    "bar.warp.sync",
    "barrier.sync",
    "barrier0",
    "barrier0.or",
    "barrier0.popc",
    "ex2.approx.ftz.f",
    "match.any.sync.i32",
    "membar.gl",
    "read.ptx.sreg.laneid",
    "read.ptx.sreg.tid.x",
    "rsqrt.approx.ftz.f",
    "shfl.sync.bfly.i32",
    "shfl.sync.down.f32",
    "shfl.sync.down.i32",
    "shfl.sync.idx.i32",
    "vote.all.sync",
    "vote.any.sync",
    "vote.ballot.sync",
];

/// Methods that count bits: undefined on 64 and 128 bits.
const BIT_COUNTS: [&str; 9] = [
    "count_ones",
    "count_zeros",
    "leading_ones",
    "leading_zeros",
    "trailing_ones",
    "trailing_zeros",
    "ilog2",
    "is_power_of_two",
    "next_power_of_two",
];

/// Prefixes of methods that look at overflow: on 8 bits they never see any.
const OVERFLOW: [&str; 3] = ["checked_", "saturating_", "overflowing_"];

/// Words that must not stand in kernels, and why. What `cuda_std` has that goes wrong needs no word here: the stand-in that the
/// kernels are compiled with has none of it.
const WORDS: [(&str, &str); 8] = [
    ("fence", "does not compile: order memory by assembly"),
    ("compiler_fence", "does not compile: order memory by assembly"),
    ("atomic", "loses its ordering: use assembly"),
    ("alloc", "does not link"),
    ("print", "does not link"),
    ("println", "does not link"),
    ("f128", "does not compile"),
    (
        "to_int_unchecked",
        "is what every cast of a float to an integer is: cast none",
    ),
];

fn kernels(tree: &Tree) -> impl Iterator<Item = &File> {
    KERNELS.iter().flat_map(|folder| tree.rust_below(folder))
}

/// Intrinsics are among those that both generators take.
pub fn intrinsics_are_known_to_both(tree: &Tree) -> Vec<Violation> {
    let mut found = vec![];
    for file in kernels(tree).filter(|file| file.path != LLVM_ONLY) {
        let linked = (1..)
            .zip(file.text.lines())
            .filter(|(_, line)| line.contains("link_name"));
        for (number, line) in linked {
            let names = line.split("\"llvm.").skip(1).filter_map(|rest| rest.split('"').next());
            let unknown = names.filter(|name| {
                name.strip_prefix("nvvm.")
                    .is_none_or(|name| !INTRINSICS.contains(&name))
            });
            found.extend(unknown.map(|name| {
                file.violation(
                    number,
                    format!("`llvm.{name}` is not in the list of what both generators take"),
                )
            }));
        }
    }
    found
}

/// Kernels use nothing that a generator is known to get wrong.
pub fn kernels_use_what_both_get_right(tree: &Tree) -> Vec<Violation> {
    let mut found = vec![];
    for file in kernels(tree) {
        for (number, line) in file.code_lines() {
            let words: Vec<&str> = words(line).collect();
            for (at, &word) in words.iter().enumerate() {
                let of_type = at.checked_sub(1).map_or("", |before| words[before]);
                let by_type = line.contains(&format!("{of_type}::{word}"));
                found.extend(wrong(word, if by_type { of_type } else { "" }).map(|why| file.violation(number, why)));
            }
        }
        found.extend(initialised_shared(file));
    }
    found
}

/// What is wrong with a word that is called as a function of `of_type`; an empty one for a method, whose type is not seen.
fn wrong(word: &str, of_type: &str) -> Option<String> {
    if let Some((_, why)) = WORDS.iter().find(|(banned, _)| *banned == word) {
        return Some(format!("`{word}` {why}"));
    }
    let counted = word.strip_prefix("checked_").unwrap_or(word);
    if BIT_COUNTS.contains(&counted) && !["u32", "i32"].contains(&of_type) {
        return Some(format!(
            "`{word}` is undefined on 64 bits under rustc_codegen_nvvm: count in 32, and call it as `u32::{word}`"
        ));
    }
    let wide = ["u16", "i16", "u32", "i32", "u64", "i64", "usize", "isize"];
    if OVERFLOW.iter().any(|prefix| word.starts_with(prefix)) && !wide.contains(&of_type) {
        return Some(format!(
            "`{word}` never sees an overflow on 8 bits under rustc_codegen_nvvm: call it by its type, as `u64::{word}`"
        ));
    }
    None
}

/// Statics in shared memory that have a value.
fn initialised_shared(file: &File) -> Vec<Violation> {
    let lines: Vec<&str> = file.code.lines().collect();
    let marked = (0..lines.len()).filter(|&at| lines[at].contains("#[address_space(shared)]"));
    let bad = marked.filter(|&at| {
        !lines[at..]
            .iter()
            .take(3)
            .any(|line| line.contains("MaybeUninit::uninit()"))
    });
    bad.map(|at| {
        file.violation(
            at + 1,
            "shared memory with a value: only `MaybeUninit::uninit()` is taken",
        )
    })
    .collect()
}

/// The page on the code generators has the table of what Rust-CUDA last made of the kernels, which says whether they changed since.
pub fn page_has_the_last_build(tree: &Tree) -> Vec<Violation> {
    let wrong = |file: &File| match nvvm::make() {
        Ok(table) if file.text.contains(&table) => None,
        Ok(_) => Some(file.violation(1, "not what is recorded of the last build: run `cargo xtask report`")),
        Err(error) => Some(file.violation(1, format!("{error:#}"))),
    };
    let is_page = |file: &&File| file.path == GENERATORS_PAGE;
    tree.files.iter().filter(is_page).filter_map(wrong).collect()
}

/// `cuda_std` is named where the machine is made of it, and nowhere else.
pub fn cuda_std_stays_in_simt(tree: &Tree) -> Vec<Violation> {
    let elsewhere = |file: &&File| !file.path.starts_with("kernels-gpu/src/simt/nvptx/");
    super::rules::lines_with(
        tree.rust_below("").filter(elsewhere),
        &["cuda_std"],
        "outside kernels-gpu/src/simt/nvptx",
    )
}

#[cfg(test)]
mod tests {
    use super::{super::lines, *};

    #[test]
    fn an_intrinsic_that_one_generator_lacks_is_found() {
        let text = "#[link_name = \"llvm.nvvm.barrier0\"]\n#[link_name = \"llvm.nvvm.shfl.sync.up.i32\"]\n\
                    #[link_name = \"llvm.sqrt.f32\"]\n";
        let of = |path| lines(intrinsics_are_known_to_both, path, text);
        assert_eq!(of("kernels-gpu/src/simt/nvptx/mod.rs"), [2, 3]);
        assert_eq!(of("kernels-gpu/src/simt/nvptx/nvvm.rs"), [2, 3]);
        assert!(of(LLVM_ONLY).is_empty());
    }

    #[test]
    fn a_page_without_the_last_build_is_found() {
        let of = |text: &str| lines(page_has_the_last_build, GENERATORS_PAGE, text);
        let table = nvvm::make().unwrap();
        assert!(of(&format!("Before.\n{table}After.\n")).is_empty());
        assert_eq!(of(&table.replace("Built on", "Built before")), [1]);
        assert_eq!(of(""), [1]);
    }

    #[test]
    fn what_is_known_to_go_wrong_is_found() {
        let of = |text| lines(kernels_use_what_both_get_right, "kernels-gpu/src/stages/a.rs", text);
        for wrong in [
            "let a = b.leading_zeros();",
            "let a = u64::trailing_zeros(b);",
            "let a = b.saturating_sub(c);",
            "let a = u8::checked_add(b, c);",
            "core::sync::atomic::fence(order);",
            "println!();",
            "let a = u64::checked_ilog2(b);",
        ] {
            assert!(!of(wrong).is_empty(), "{wrong}");
        }
        for right in [
            "let a = u32::leading_zeros(b);",
            "let a = u64::saturating_sub(c, d);",
            "// b.leading_zeros() and a fence\n",
            "let fenced = 1;",
        ] {
            assert!(of(right).is_empty(), "{right}");
        }
        assert!(lines(kernels_use_what_both_get_right, "host/src/a.rs", "a.ilog2();").is_empty());
    }

    #[test]
    fn shared_memory_with_a_value_is_found() {
        let of = |text| {
            lines(
                kernels_use_what_both_get_right,
                "kernels-gpu/src/simt/nvptx/nvvm.rs",
                text,
            )
        };
        assert_eq!(
            of("\n#[address_space(shared)]\nstatic mut A: [u32; 2] = [0; 2];\n"),
            [2]
        );
        assert!(of("#[address_space(shared)]\nstatic mut A: B =\n    MaybeUninit::uninit();\n").is_empty());
    }

    #[test]
    fn cuda_std_in_a_stage_is_found() {
        let of = |path| lines(cuda_std_stays_in_simt, path, "use cuda_std::thread;\n// cuda_std\n");
        assert_eq!(of("kernels-gpu/src/stages/a.rs"), [1]);
        assert_eq!(of("host/src/a.rs"), [1]);
        assert!(of("kernels-gpu/src/simt/nvptx/nvvm.rs").is_empty());
    }
}
