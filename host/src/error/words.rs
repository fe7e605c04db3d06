//! How parts of an error's message are put.

use warpfold_distinct as distinct;
use warpfold_kernels::{
    element::Type,
    kernels::{self, LIBRARY},
    ladder,
};

/// What to run for the kernels of a package.
pub(super) fn build_ptx(package: &str) -> String {
    if [LIBRARY.package, distinct::LIBRARY.package].contains(&package) {
        "`cargo xtask build-ptx` in warpfold's repository".into()
    } else {
        format!("`cargo xtask build-ptx --crate PATH` in warpfold's repository, PATH being the folder of {package},")
    }
}

/// What to run for one of them: of the library's own, the kernels of its operator for elements of its type.
pub(super) fn build_ptx_of(package: &str, entry: &str) -> String {
    let rungs = || ladder::ENTRIES.into_iter().find(|rung| rung.name == entry);
    let own = kernels::entry(entry).or_else(rungs);
    let of_elements = |op: &str, element: Type| {
        format!(
            "`cargo xtask build-ptx {op} --types {}` in warpfold's repository",
            element.name()
        )
    };
    if package == distinct::LIBRARY.package
        && let Some(entry) = distinct::ENTRIES.iter().find(|known| known.name == entry)
    {
        return of_elements(distinct::NAME, entry.element);
    }
    match own.filter(|_| package == LIBRARY.package) {
        Some(rung) if rung.part == ladder::PART => {
            format!("`cargo xtask build-ptx {}` in warpfold's repository", rung.part)
        }
        Some(entry) => of_elements(entry.op, entry.element),
        None => build_ptx(package),
    }
}

/// What a pointer says of a file, in parentheses.
pub(super) fn pointed_to(oid: &Option<String>, size: &Option<u64>) -> String {
    match (oid, size) {
        (Some(oid), Some(size)) => format!(" ({oid}, {size} bytes)"),
        (Some(oid), None) => format!(" ({oid})"),
        (None, Some(size)) => format!(" ({size} bytes)"),
        (None, None) => String::new(),
    }
}

/// Names for an error's text, the first of many.
pub(super) fn listed(names: &[String]) -> String {
    const MOST: usize = 10;
    if names.is_empty() {
        return "none with a name".into();
    }
    let mut text = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST {
        text += &format!(" and {} more", names.len() - MOST);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_for_a_kernel_builds_its_operator() {
        for (package, entry, command) in [
            (
                LIBRARY.package,
                "sum_small_f32",
                "`cargo xtask build-ptx sum --types f32`",
            ),
            (
                LIBRARY.package,
                "softmax_any_b16",
                "`cargo xtask build-ptx softmax --types bf16`",
            ),
            (LIBRARY.package, "ladder_sum_atomic", "`cargo xtask build-ptx ladder`"),
            (
                distinct::LIBRARY.package,
                "distinct_extents_u32",
                "`cargo xtask build-ptx distinct --types u32`",
            ),
            ("mine", "cubes_f32", "`cargo xtask build-ptx --crate PATH`"),
        ] {
            let says = build_ptx_of(package, entry);
            assert!(says.starts_with(command), "{entry}: {says}");
        }
    }
}
