//! The book: its contents name every page, and the tests compile every block of Rust.

use super::{File, Tree, Violation, links};

/// The book's contents.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Every page of `docs` is in the contents.
pub fn names_every_page(tree: &Tree) -> Vec<Violation> {
    let contents = tree.files.iter().find(|file| file.path == CONTENTS);
    let named: Vec<_> = contents.iter().flat_map(|contents| links::of_files(contents)).collect();
    pages(tree)
        .filter(|page| page.path != CONTENTS && !named.iter().any(|named| named.as_os_str() == page.path.as_str()))
        .map(|page| page.violation(1, format!("a page that {CONTENTS} does not name")))
        .collect()
}

/// Every page of `docs` that has Rust is among the documentation tests of a crate.
pub fn is_compiled(tree: &Tree) -> Vec<Violation> {
    let is_included = |page: &File| {
        let name = page
            .path
            .strip_prefix("docs/")
            .and_then(|name| name.strip_suffix(".md"));
        // As documentation, by its own line or in the book's list: to read it is not to compile it.
        let forms = [
            format!("doc = include_str!(\"../../{}\")", page.path),
            format!(" = \"{}\";", name.unwrap_or_default()),
        ];
        let sources = tree.files.iter().filter(|file| file.is_rust());
        let lists = |text: &str| forms.iter().any(|form| text.contains(form));
        sources
            .map(|file| &file.text)
            .any(|text| text.contains("doc = include_str!(") && lists(text))
    };
    pages(tree)
        .filter_map(|page| {
            Some((
                page,
                (1..).zip(page.text.lines()).find(|(_, line)| is_compiled_rust(line))?.0,
            ))
        })
        .filter(|(page, _)| !is_included(page))
        .map(|(page, line)| page.violation(line, "a block of Rust that no test compiles"))
        .collect()
}

/// Whether a fence begins Rust that documentation tests compile.
fn is_compiled_rust(line: &str) -> bool {
    let tags = line.strip_prefix("```").unwrap_or_default().split(',');
    let tags: Vec<&str> = tags.map(str::trim).collect();
    tags[0] == "rust" && !tags.contains(&"ignore")
}

fn pages(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files
        .iter()
        .filter(|file| file.path.starts_with("docs/") && file.path.ends_with(".md"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_left_out_is_found() {
        let contents = "- [a](a.md)\n- [b](book/b.md)\n";
        let there = [
            (CONTENTS, contents),
            ("docs/a.md", ""),
            ("docs/book/b.md", ""),
            ("docs/book/c.md", ""),
        ];
        assert_eq!(names_every_page(&Tree::of(&there)).len(), 1);
        assert!(names_every_page(&Tree::of(&there[..3])).is_empty());
        assert_eq!(names_every_page(&Tree::of(&there[1..])).len(), 3);
    }

    #[test]
    fn rust_that_nobody_compiles_is_found() {
        let page = "text\n```rust\nlet a = 1;\n```\n";
        let of = |source: &str| is_compiled(&Tree::of(&[("docs/book/a.md", page), ("tests/src/book.rs", source)]));
        assert_eq!(of("")[0].line, 2);
        assert!(of("#[doc = include_str!(concat!())] mod name {} a = \"book/a\";").is_empty());
        assert!(of("#![doc = include_str!(\"../../docs/book/a.md\")]").is_empty());
        assert_eq!(of("#![doc = include_str!(\"../../docs/a.md\")]").len(), 1);
        assert_eq!(of("let page = include_str!(\"../../docs/book/a.md\");").len(), 1);
        assert!(
            is_compiled_rust("```rust,no_run") && !is_compiled_rust("```rust,ignore") && !is_compiled_rust("```sh")
        );
        // Sources that are shown from their files are compiled there.
        assert!(is_compiled(&Tree::of(&[("docs/a.md", "```rust,ignore\n```\n")])).is_empty());
    }
}
