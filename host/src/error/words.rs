//! How parts of an error's message are put.

/// What to run for the kernels of a package.
pub(super) fn build_ptx(package: &str) -> String {
    if package == warpfold_kernels::kernels::LIBRARY.package {
        "`cargo xtask build-ptx` in warpfold's repository".into()
    } else {
        format!("`cargo xtask build-ptx --crate PATH` in warpfold's repository, PATH being the folder of {package},")
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
