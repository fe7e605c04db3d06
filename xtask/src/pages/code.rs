//! The sources that pages show: put there from their files, so that what is read is what is compiled.

use std::fs;

use anyhow::{Context, Result};

use crate::paths;

/// A file's source, as a page shows it.
pub fn of(file: &str) -> Result<String> {
    let source = fs::read_to_string(paths::root().join(file)).with_context(|| format!("cannot read {file}"))?;
    Ok(format!("```rust,ignore\n{}\n```\n", without_tests(&source)))
}

fn without_tests(source: &str) -> &str {
    source.split("\n#[cfg(test)]\n").next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_what_its_file_has() {
        let file = "kernels-gpu/src/ladder/sum/all_atomic.rs";
        let source = fs::read_to_string(paths::root().join(file)).unwrap();
        assert_eq!(of(file).unwrap(), format!("```rust,ignore\n{source}```\n"));
        assert!(format!("{:#}", of("none.rs").unwrap_err()).contains("none.rs"));
    }

    #[test]
    fn tests_are_left_out() {
        assert_eq!(without_tests("fn a() {}\n\n#[cfg(test)]\nmod tests {}\n"), "fn a() {}");
    }
}
