//! That files of the kernels do not import each other in circles: by `use`; paths that are written out are not looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::{Tree, Violation};

/// Where the kernels are.
const ROOT: &str = "kernels-gpu/src/";

/// The path of a module, from the crate's root.
type Module = Vec<String>;

/// Of each module those that it imports from, with the line. A module and what is below it are one.
pub fn none_in_the_kernels(tree: &Tree) -> Vec<Violation> {
    let files = tree
        .files
        .iter()
        .filter(|file| file.path.starts_with(ROOT) && file.is_rust());
    let files: BTreeMap<Module, _> = files.map(|file| (module_of(&file.path), file)).collect();
    let mut imports: BTreeMap<&Module, BTreeMap<&Module, usize>> = BTreeMap::new();
    for (module, file) in &files {
        let tests = file.code.rfind("#[cfg(test)]\nmod ").unwrap_or(file.code.len());
        let code = &file.code[..tests];
        for (at, uses) in code
            .match_indices("use ")
            .map(|(at, text)| (at, &code[at + text.len()..]))
        {
            let line = 1 + code[..at].matches('\n').count();
            let uses: String = uses.split(';').next().unwrap_or_default().split_whitespace().collect();
            for path in expanded(&uses) {
                let found = resolved(module, &path).and_then(|path| longest(&files, &path));
                let is_other = |other: &&Module| !other.starts_with(module) && !module.starts_with(other);
                if let Some(other) = found.filter(is_other) {
                    imports.entry(module).or_default().entry(other).or_insert(line);
                }
            }
        }
    }
    let mut found = vec![];
    for (module, others) in &imports {
        for (other, line) in others {
            if reaches(&imports, other, module) {
                let (from, to) = (module.join("::"), other.join("::"));
                found.push(files[*module].violation(*line, format!("{from} imports from {to}, which imports from it")));
            }
        }
    }
    found
}

fn module_of(path: &str) -> Module {
    let path = path
        .trim_start_matches(ROOT)
        .trim_end_matches(".rs")
        .trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// Each path of a tree of imports.
fn expanded(uses: &str) -> Vec<String> {
    let Some((before, rest)) = uses.split_once('{') else {
        return vec![uses.to_owned()];
    };
    let mut paths = vec![];
    let (mut depth, mut start) = (0, 0);
    let body = rest.strip_suffix('}').unwrap_or(rest);
    for (at, sign) in body.char_indices().chain([(body.len(), ',')]) {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let each = expanded(&body[start..at]);
                paths.extend(
                    each.into_iter()
                        .filter(|path| !path.is_empty())
                        .map(|path| format!("{before}{path}")),
                );
                start = at + 1;
            }
            _ => {}
        }
    }
    paths
}

/// From the crate's root, if it is of the crate and not of the module's own children.
fn resolved(module: &Module, path: &str) -> Option<Module> {
    let mut parts = path.split("::").map(str::to_owned).peekable();
    let mut from = match parts.next()?.as_str() {
        "crate" => vec![],
        "self" => module.clone(),
        "super" => module[..module.len() - 1].to_vec(),
        _ => return None,
    };
    while parts.next_if(|part| part == "super").is_some() {
        from.pop();
    }
    from.extend(parts);
    Some(from)
}

/// The module that a path leads to, or what it leads to is in.
fn longest<'a, File>(files: &'a BTreeMap<Module, File>, path: &Module) -> Option<&'a Module> {
    let ends = (1..=path.len()).rev();
    ends.filter_map(|end| files.get_key_value(&path[..end]))
        .map(|(module, _)| module)
        .next()
}

fn reaches(imports: &BTreeMap<&Module, BTreeMap<&Module, usize>>, from: &Module, to: &Module) -> bool {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(module) = left.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            left.extend(imports.get(module).into_iter().flat_map(BTreeMap::keys).copied());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::File;

    #[test]
    fn a_circle_is_found_and_a_line_is_none() {
        let tree = |files: &[(&str, &str)]| Tree {
            files: files
                .iter()
                .map(|(path, text)| File::new(&format!("{ROOT}{path}"), text))
                .collect(),
        };
        let line = [
            ("tree.rs", "use crate::element::Item;"),
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
        assert_eq!(none_in_the_kernels(&tree(&line)), []);
        let mut circle = line.to_vec();
        circle[4].1 = "use crate::{\n    element,\n    stages::reduce::warp::meet,\n};";
        let found: Vec<String> = none_in_the_kernels(&tree(&circle))
            .iter()
            .map(Violation::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "kernels-gpu/src/stages/reduce/thread.rs:1: stages::reduce::thread imports from stages::reduce::warp, which imports from it",
                "kernels-gpu/src/stages/reduce/warp.rs:1: stages::reduce::warp imports from stages::reduce::thread, which imports from it"
            ]
        );
    }
}
