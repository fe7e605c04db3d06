//! The sources that pages show: put there from their files, so that what is read is what is compiled.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::paths;

/// What stands before a source, with its file, and behind it.
const BEFORE: &str = "<!-- code: ";
const BEHIND: &str = "<!-- end of code -->";

/// A page whose sources are what their files have.
pub fn made(page: &str) -> Result<String> {
    let mut made = String::new();
    let mut rest = page;
    while let Some((head, tail)) = rest.split_once(BEFORE) {
        let (file, tail) = tail.split_once(" -->\n").context("a source without a file")?;
        let Some((_, tail)) = tail.split_once(BEHIND) else {
            bail!("the source {file} does not end");
        };
        let source = fs::read_to_string(paths::root().join(file)).with_context(|| format!("cannot read {file}"))?;
        made += &format!(
            "{head}{BEFORE}{file} -->\n```rust,ignore\n{}\n```\n{BEHIND}",
            shown(&source)
        );
        rest = tail;
    }
    Ok(made + rest)
}

/// A source without its tests.
fn shown(source: &str) -> &str {
    source.split("\n#[cfg(test)]\n").next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_put_between_its_marks() {
        let file = "kernels-gpu/src/ladder/sum/all_atomic.rs";
        let page = |between: &str| format!("a\n<!-- code: {file} -->\n{between}<!-- end of code -->\nb\n");
        let made = made(&page("old\n")).unwrap();
        let source = fs::read_to_string(paths::root().join(file)).unwrap();
        assert_eq!(made, page(&format!("```rust,ignore\n{}```\n", source)));
        // Once more it is the same.
        assert_eq!(super::made(&made).unwrap(), made);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let of = |page: &str| format!("{:#}", made(page).unwrap_err());
        assert!(of("<!-- code: none.rs -->\n<!-- end of code -->").contains("none.rs"));
        assert!(of("<!-- code: none.rs -->\n").contains("does not end"));
    }

    #[test]
    fn tests_are_left_out() {
        assert_eq!(shown("fn a() {}\n\n#[cfg(test)]\nmod tests {}\n"), "fn a() {}");
    }
}
