//! The manifest of operators, held against the kernels' list and the README. That each operator is run by some test is seen in
//! `type_laws.rs`.

use std::collections::BTreeSet;

use warpfold::ops::LIST;
use warpfold_kernels::{
    element::Type,
    kernels::{Kernel, LIBRARY},
};

/// Groups of elements, as the README has them.
const GROUPS: [(&str, &[Type]); 5] = [
    ("floats", &[Type::F16, Type::Bf16, Type::F32, Type::F64]),
    (
        "integers",
        &[
            Type::I8,
            Type::I16,
            Type::I32,
            Type::I64,
            Type::U8,
            Type::U16,
            Type::U32,
            Type::U64,
        ],
    ),
    ("bool", &[Type::Bool]),
    ("FP8", &[Type::F8E4M3, Type::F8E5M2]),
    ("complex", &[Type::Complex32, Type::Complex64, Type::Complex128]),
];

/// Elements by their groups, and those of a group that is not whole by name.
fn in_words(types: &BTreeSet<Type>) -> String {
    let words: Vec<&str> = GROUPS
        .iter()
        .flat_map(|(group, of)| match of.iter().all(|ty| types.contains(ty)) {
            true => vec![*group],
            false => of.iter().filter(|ty| types.contains(ty)).map(|ty| ty.name()).collect(),
        })
        .collect();
    if words.len() == GROUPS.len() {
        return "all".to_owned();
    }
    words.join(", ")
}

/// The README's table has the operators of the manifest, those that are alike in a row.
#[test]
fn the_readme_has_the_operators_of_the_manifest() {
    let mut rows: Vec<(Vec<String>, String)> = vec![];
    for listed in LIST {
        let nan = if listed.skips_nan { "floats" } else { "" };
        let cells = [
            in_words(&listed.elements().collect()),
            in_words(&listed.elements_where().collect()),
            nan.to_owned(),
        ];
        let cells = cells.map(|cell| format!("{cell} |").trim_start().to_owned()).join(" ");
        let name = format!("`{}`", listed.op);
        match rows.iter_mut().find(|(_, others)| *others == cells) {
            Some((names, _)) => names.push(name),
            None => rows.push((vec![name], cells)),
        }
    }
    let rows = rows
        .into_iter()
        .map(|(names, cells)| format!("| {} | {cells}", names.join(", ")));
    let readme = include_str!("../../README.md");
    let is_row = |line: &&str| line.starts_with("| `") && !line.starts_with("| `Compensated`");
    assert_eq!(
        readme.lines().filter(is_row).collect::<Vec<_>>(),
        rows.collect::<Vec<_>>()
    );
    let maskless: Vec<&str> = LIST
        .iter()
        .filter(|listed| !listed.takes_mask)
        .map(|listed| listed.op)
        .collect();
    assert_eq!(
        maskless,
        ["Describe", "Dot", "Cosine"],
        "as the README says above the table"
    );
}

/// What the list says of an operator is what its kernels are.
#[test]
fn the_list_has_the_kernels_of_each_operator() {
    for listed in LIST {
        for element in listed.elements() {
            let element = if listed.of_bits { element.bits() } else { element };
            let entry = LIBRARY.find(listed.entry, element, Kernel::All).expect(listed.op);
            assert_eq!(entry.arrays == 2, listed.of_two, "{}", listed.op);
        }
        assert!(listed.says.ends_with('.'), "{}", listed.op);
    }
}
