//! `cargo xtask tidy`: the invariants of the design, as absences one can check.

mod book;
mod circles;
mod generators;
mod licences;
mod links;
mod rules;
mod source;

use std::{
    collections::BTreeSet,
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::paths;

/// One rule: what it holds, and what breaks it in a tree.
type Rule = (&'static str, fn(&Tree) -> Vec<Violation>);

/// Every rule on the sources.
const RULES: [Rule; 19] = [
    (
        "the kernels depend on nothing else",
        rules::kernels_depend_on_nothing_else,
    ),
    ("the kernels know no host and no emulator", rules::kernels_know_no_host),
    ("a monoid never sees the machine", rules::monoids_see_no_machine),
    ("a stage never names a monoid", rules::stages_name_no_monoid),
    ("files of a crate use each other in no circle", circles::none_in_a_crate),
    ("intrinsics and assembly stay in simt", rules::intrinsics_stay_in_simt),
    (
        "what threads do together is no assembly",
        rules::collectives_are_no_assembly,
    ),
    (
        "intrinsics are known to both code generators",
        generators::intrinsics_are_known_to_both,
    ),
    (
        "kernels use what both code generators get right",
        generators::kernels_use_what_both_get_right,
    ),
    ("cuda_std stays in simt", generators::cuda_std_stays_in_simt),
    (
        "the page says whether the kernels changed since Rust-CUDA built them",
        generators::page_has_the_last_build,
    ),
    ("unsafe stays in its rooms", rules::unsafe_stays_in_its_rooms),
    ("unsafe blocks name who guarantees them", rules::unsafe_is_explained),
    ("nothing is left unfinished", rules::nothing_is_unfinished),
    ("no file is too long", rules::files_are_short),
    ("a rung of the ladder is short", rules::rungs_are_short),
    ("links between files lead somewhere", links::lead_somewhere),
    ("the book's contents name every page", book::names_every_page),
    ("the tests compile the pages' Rust", book::is_compiled),
];

/// The files of the repository that pages below a folder link to.
pub fn linked_from(folder: &str) -> Result<BTreeSet<PathBuf>> {
    let tree = Tree::load(&paths::root())?;
    let pages = tree
        .files
        .iter()
        .filter(|file| file.path.starts_with(folder) && file.path.ends_with(".md"));
    Ok(pages.flat_map(links::of_files).collect())
}

/// A file of the repository.
#[derive(Debug)]
pub struct File {
    /// Its path in the repository, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Rust's text with comments and literals blanked out; of other files the text.
    pub code: String,
}

/// The files that people write.
#[derive(Debug, Default)]
pub struct Tree {
    /// All of them, by path.
    pub files: Vec<File>,
}

/// Where something breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    path: String,
    line: usize,
    what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl File {
    /// A file with this text.
    pub fn new(path: &str, text: &str) -> Self {
        let code = if path.ends_with(".rs") {
            source::blank(text)
        } else {
            text.to_owned()
        };
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
        }
    }

    /// Whether it is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The numbered lines of its code.
    pub fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.code.lines())
    }

    /// A violation at a line.
    pub fn violation(&self, line: usize, what: impl Into<String>) -> Violation {
        Violation {
            path: self.path.clone(),
            line,
            what: what.into(),
        }
    }
}

impl Tree {
    /// The text files below `root`, without what is hidden or built.
    fn load(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.load_folder(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn load_folder(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if name.starts_with('.') || name == "target" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                self.load_folder(&entry.path(), &format!("{path}/"))?;
            } else if [".rs", ".md", ".toml"].iter().any(|end| name.ends_with(end)) {
                self.files.push(File::new(&path, &fs::read_to_string(entry.path())?));
            }
        }
        Ok(())
    }

    /// The Rust files below a folder.
    pub fn rust_below(&self, folder: &str) -> impl Iterator<Item = &File> {
        self.files
            .iter()
            .filter(move |file| file.is_rust() && file.path.starts_with(folder))
    }

    /// The Rust files of the kernels: of their crate, and of the one that counts distinct elements.
    pub fn kernels(&self) -> impl Iterator<Item = &File> {
        self.rust_below("kernels-gpu/").chain(self.rust_below("distinct/"))
    }

    /// A file by its path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// Runs the task.
pub fn run() -> Result<()> {
    let tree = Tree::load(&paths::root())?;
    let mut broken = 0;
    for (rule, check) in RULES {
        broken += tell(rule, &check(&tree));
    }
    broken += tell("every dependency's licence is one we can use", &licences::check()?);
    println!("not checked: security advisories, whose database is not part of the repository");
    if broken > 0 {
        bail!("{broken} violations");
    }
    println!("{} rules hold in {} files", RULES.len() + 1, tree.files.len());
    Ok(())
}

/// Prints what breaks a rule, and counts it.
fn tell(rule: &str, violations: &[Violation]) -> usize {
    if !violations.is_empty() {
        println!("broken: {rule}");
    }
    for violation in violations {
        println!("  {violation}");
    }
    violations.len()
}

/// Lines that `rule` finds in a tree of one file.
#[cfg(test)]
fn lines(rule: fn(&Tree) -> Vec<Violation>, path: &str, text: &str) -> Vec<usize> {
    let found = rule(&Tree::of(&[(path, text)]));
    found.iter().map(|violation| violation.line).collect()
}

#[cfg(test)]
impl Tree {
    /// A tree of these files.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File::new(path, text)).collect();
        Self { files }
    }
}
