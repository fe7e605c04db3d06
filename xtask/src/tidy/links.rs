//! Links in Markdown, from file to file.

use std::path::{Component, Path, PathBuf};

use super::{File, Tree, Violation};
use crate::paths;

/// Every link to a file of the repository leads to one.
pub fn lead_somewhere(tree: &Tree) -> Vec<Violation> {
    dead(tree, |path| paths::root().join(path).exists())
}

fn dead(tree: &Tree, exists: impl Fn(&Path) -> bool) -> Vec<Violation> {
    let pages = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    let mut found = vec![];
    for page in pages {
        for (line, target) in links(page) {
            let inside = resolve(&page.path, target).filter(|path| exists(path));
            if inside.is_none() {
                found.push(page.violation(line, format!("a link to {target}, which is not there")));
            }
        }
    }
    found
}

/// The files of the repository that a page links to.
pub fn of_files(page: &File) -> Vec<PathBuf> {
    let resolved = |(_, target)| resolve(&page.path, target);
    links(page).into_iter().filter_map(resolved).collect()
}

/// A page's links to files, with their lines: without those to other sites and to headings of the page itself.
fn links(page: &File) -> Vec<(usize, &str)> {
    let mut found = vec![];
    let mut in_code = false;
    for (number, line) in (1..).zip(page.text.lines()) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let targets = line
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', ' ']).next());
        let files = targets
            .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
            .map(|target| target.split('#').next().unwrap_or_default())
            .filter(|target| !target.is_empty());
        found.extend(files.map(|target| (number, target)));
    }
    found
}

/// The path in the repository that `target` means on the page at `page`; none if it leads out of the repository.
fn resolve(page: &str, target: &str) -> Option<PathBuf> {
    let mut path = Path::new(page).parent()?.to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_link_is_found() {
        let page =
            "[a](a.md) [b](../b.md#part) [c](https://c.example/x) [d](#here)\n```\n[e](e.md)\n```\n[f](../../f.md)\n";
        let tree = Tree::of(&[("docs/page.md", page)]);
        let there = |paths: &'static [&str]| move |path: &Path| paths.iter().any(|there| Path::new(there) == path);
        let lines = |violations: Vec<Violation>| violations.iter().map(|violation| violation.line).collect::<Vec<_>>();
        assert_eq!(lines(dead(&tree, there(&["docs/a.md", "b.md"]))), [5]);
        assert_eq!(lines(dead(&tree, there(&["b.md"]))), [1, 5]);
    }
}
