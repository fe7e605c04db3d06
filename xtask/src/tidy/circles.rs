//! That files of a crate do not use each other in circles: by `use`, and by paths that are written out. Tests may.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Attribute, Item, ItemMod, ItemUse, Path, UseTree, spanned::Spanned, visit::Visit};

use super::{File, Tree, Violation};

/// The crates, by where their sources are.
const CRATES: [&str; 8] = [
    "kernels-gpu/src/",
    "distinct/src/",
    "host/src/",
    "host/src/bin/warpfold/",
    "tests/emulator/src/",
    "tests/src/",
    "xtask/src/",
    "python/src/",
];

/// The path of a module, from the crate's root.
type Module = Vec<String>;

/// What each module uses, with the line. A module and what is below it are one.
type Uses = BTreeMap<Module, BTreeMap<Module, usize>>;

/// Each use that is part of a circle.
pub fn none_in_a_crate(tree: &Tree) -> Vec<Violation> {
    CRATES.iter().flat_map(|root| none_below(tree, root)).collect()
}

fn none_below(tree: &Tree, root: &str) -> Vec<Violation> {
    let of_crate = tree
        .files
        .iter()
        .filter(|file| file.path.starts_with(root) && file.is_rust());
    let files: BTreeMap<Module, &File> = of_crate.map(|file| (module_of(root, &file.path), file)).collect();
    let mut found: BTreeMap<Module, CircleFound> = BTreeMap::new();
    for (module, file) in &files {
        match syn::parse_file(&file.text) {
            Ok(parsed) => {
                let mut uses = CircleFound::new(module);
                uses.visit_file(&parsed);
                found.insert(module.clone(), uses);
            }
            Err(error) => {
                return vec![file.violation(error.span().start().line, format!("it does not parse: {error}"))];
            }
        }
    }
    let tests: BTreeSet<Module> = found.values().flat_map(|found| found.tests.clone()).collect();
    let is_test = |module: &Module| tests.iter().any(|test| module.starts_with(test));
    let mut uses = Uses::new();
    for (module, found) in found.iter().filter(|(module, _)| !is_test(module)) {
        for (path, line) in &found.paths {
            let other = longest(&files, path);
            let is_other = |other: &&Module| !other.starts_with(module) && !module.starts_with(other);
            if let Some(other) = other.filter(is_other) {
                uses.entry(module.clone())
                    .or_default()
                    .entry(other.clone())
                    .or_insert(*line);
            }
        }
    }
    let in_circles = uses.iter().flat_map(|(module, others)| {
        let circular = others.iter().filter(|(other, _)| reaches(&uses, other, module));
        circular.map(|(other, line)| {
            let (from, to) = (module.join("::"), other.join("::"));
            files[module].violation(*line, format!("{from} uses {to}, which uses it"))
        })
    });
    in_circles.collect()
}

fn module_of(root: &str, path: &str) -> Module {
    let path = path
        .trim_start_matches(root)
        .trim_end_matches(".rs")
        .trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// What a file uses.
struct CircleFound<'a> {
    /// Its module, and those within it that are being read.
    module: &'a Module,
    within: Vec<String>,
    /// Paths from the crate's root.
    paths: Vec<(Module, usize)>,
    /// Modules of other files that are tests.
    tests: Vec<Module>,
}

impl<'a> CircleFound<'a> {
    fn new(module: &'a Module) -> Self {
        Self {
            module,
            within: vec![],
            paths: vec![],
            tests: vec![],
        }
    }

    /// Notes a path, if it is of the crate.
    fn note(&mut self, parts: &[String], line: usize) {
        let here: Module = self.module.iter().chain(&self.within).cloned().collect();
        let (mut from, rest) = match parts {
            [first, rest @ ..] if first == "crate" => (vec![], rest),
            [first, rest @ ..] if first == "self" => (here, rest),
            [first, ..] if first == "super" => (here, parts),
            _ => return,
        };
        let ups = rest.iter().take_while(|part| *part == "super").count();
        from.truncate(from.len().saturating_sub(ups));
        from.extend_from_slice(&rest[ups..]);
        self.paths.push((from, line));
    }

    fn note_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.note_tree(&with(path.ident.to_string()), &path.tree),
            UseTree::Name(name) => self.note(&with(name.ident.to_string()), name.span().start().line),
            UseTree::Rename(name) => self.note(&with(name.ident.to_string()), name.span().start().line),
            UseTree::Glob(glob) => self.note(before, glob.span().start().line),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.note_tree(before, tree)),
        }
    }
}

impl<'ast> Visit<'ast> for CircleFound<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !attributes.iter().any(is_of_tests) {
            return syn::visit::visit_item(self, item);
        }
        if let Item::Mod(ItemMod {
            ident,
            content: None,
            attrs,
            ..
        }) = item
        {
            let named = attrs.iter().find_map(path_of).unwrap_or_else(|| ident.to_string());
            // A path is beside the file that names it.
            let depth = self.module.len() - usize::from(attrs.iter().any(|attribute| path_of(attribute).is_some()));
            let mut test = self.module[..depth].to_vec();
            test.push(named);
            self.tests.push(test);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.within.push(item.ident.to_string());
        syn::visit::visit_item_mod(self, item);
        self.within.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.note_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let parts: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.note(&parts, path.span().start().line);
        syn::visit::visit_path(self, path);
    }
}

/// Whether an attribute is `cfg(test)`.
fn is_of_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<Path>().is_ok_and(|path| path.is_ident("test"))
}

/// The module of an attribute `path = "file.rs"`.
fn path_of(attribute: &Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    let syn::Expr::Lit(syn::ExprLit {
        lit: syn::Lit::Str(file),
        ..
    }) = &pair.value
    else {
        return None;
    };
    let file = file.value();
    pair.path
        .is_ident("path")
        .then(|| file.trim_end_matches(".rs").to_owned())
}

/// The module that a path leads to, or what it leads to is in.
fn longest<'a>(files: &'a BTreeMap<Module, &File>, path: &[String]) -> Option<&'a Module> {
    let ends = (1..=path.len()).rev();
    ends.filter_map(|end| files.get_key_value(&path[..end]))
        .map(|(module, _)| module)
        .next()
}

fn reaches(uses: &Uses, from: &Module, to: &Module) -> bool {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(module) = left.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            left.extend(uses.get(module).into_iter().flat_map(BTreeMap::keys));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| File::new(&format!("kernels-gpu/src/{path}"), text);
        let tree = Tree {
            files: files.iter().map(file).collect(),
        };
        none_in_a_crate(&tree).iter().map(Violation::to_string).collect()
    }

    #[test]
    fn a_circle_is_found_and_a_line_is_none() {
        let line = [
            ("tree.rs", "#[cfg(test)]\nmod line_tests;\nuse crate::element::Item;"),
            ("tree/line_tests.rs", "use crate::stages::reduce::warp;"),
            ("element/mod.rs", "mod half;\npub use half::F16;"),
            (
                "element/half.rs",
                "use super::Element;\n// use crate::tree::LEAF;\n#[cfg(test)]\nmod tests { use crate::tree::LEAF; }",
            ),
            (
                "stages/reduce/warp.rs",
                "use super::{thread::{self, Rows}};\nuse crate::{element::half::F16, tree::LANES};",
            ),
            ("stages/reduce/thread.rs", "use crate::tree;"),
        ];
        assert_eq!(found(&line), [""; 0]);
        let mut circle = line;
        circle[5].1 = "use crate::{\n    element,\n    stages::reduce::warp::meet,\n};";
        let expected = [
            "kernels-gpu/src/stages/reduce/thread.rs:3: stages::reduce::thread uses stages::reduce::warp, which uses it",
            "kernels-gpu/src/stages/reduce/warp.rs:1: stages::reduce::warp uses stages::reduce::thread, which uses it",
        ];
        assert_eq!(found(&circle), expected);
        // Paths that are written out, behind a module of tests, and in a module within the file.
        circle[5].1 = "#[cfg(test)]\nmod tests;\nmod inner { fn f() { super::super::warp::meet(); } }";
        assert_eq!(found(&circle).len(), 2);
        circle[5].1 = "fn f(";
        assert!(found(&circle)[0].contains("does not parse"), "{:?}", found(&circle));
    }
}
