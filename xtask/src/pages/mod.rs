//! `cargo xtask report`: the tables of figures in the pages, the pictures beside them and the report's page, made from the records. They
//! have no figure that no record has. Sources that pages show are put there from their files.

#[cfg(test)]
mod browser;
mod charts;
mod code;
mod draw;
mod fold;
mod measured;
mod numbers;
#[cfg(test)]
mod prose;
mod rungs;
mod table;
mod tables;

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context, Result, bail};

use crate::{
    bench::records::{self, Record},
    paths,
    process::write_if_changed,
};

/// What is put into pages between marks that name it: what it is, what stands before its name, and what stands behind it.
type Marks = [&'static str; 3];

/// Tables, of the records.
const TABLE: Marks = ["table", "<!-- table: ", "<!-- end of table -->"];

/// Sources, of their files.
const CODE: Marks = ["source", "<!-- code: ", "<!-- end of code -->"];

/// Runs the task.
pub fn run() -> Result<()> {
    let records = records::all(&records::folder())?;
    let (mut tables, mut wrong) = (0, vec![]);
    for page in pages()? {
        let text = fs::read_to_string(&page)?;
        let made = made(&text, &records);
        tables += made.text.matches(TABLE[1]).count();
        wrong.extend(made.wrong.iter().map(|why| format!("{}: {why}", page.display())));
        write_if_changed(&page, &made.text)?;
    }
    let sections = charts::sections(&records)?;
    let pictures = pictures(&sections)?;
    for name in there()?.keys().filter(|name| !pictures.contains_key(*name)) {
        let file = folder_of_pictures().join(name);
        fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    for (name, text) in &pictures {
        write_if_changed(&folder_of_pictures().join(name), text)?;
    }
    let page = paths::target().join("report/index.html");
    let text = charts::page(&sections, &fold::section()?);
    write_if_changed(&page, &text)?;
    println!(
        "{tables} tables and {} pictures, of {} records, and {} ({} kB)",
        pictures.len(),
        records.len(),
        page.display(),
        text.len() / 1000
    );
    if !wrong.is_empty() {
        bail!("{} tables cannot be made:\n{}", wrong.len(), wrong.join("\n"));
    }
    Ok(())
}

/// All pictures, by name: charts of the records, stills of folds, and steps of rungs.
fn pictures(sections: &[charts::Section]) -> Result<BTreeMap<String, String>> {
    let charts = charts::pictures(sections).into_iter();
    Ok(charts.chain(fold::pictures()?).chain(rungs::pictures()?).collect())
}

/// Where the pictures lie, all of which are made here.
fn folder_of_pictures() -> PathBuf {
    paths::root().join("docs/pictures")
}

/// The pictures that lie there, by name.
fn there() -> Result<BTreeMap<String, String>> {
    let mut there = BTreeMap::new();
    for file in fs::read_dir(folder_of_pictures()).into_iter().flatten() {
        let file = file?.path();
        if file.extension().is_some_and(|extension| extension == "svg") {
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let name = file.file_name().unwrap_or_default();
            there.insert(name.to_string_lossy().into_owned(), text);
        }
    }
    Ok(there)
}

/// The README, and all pages of `docs`.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![paths::root().join("README.md")];
    let mut folders = vec![paths::root().join("docs")];
    while let Some(folder) = folders.pop() {
        for file in fs::read_dir(folder)? {
            let file = file?.path();
            if file.is_dir() {
                folders.push(file);
            } else if file.extension().is_some_and(|extension| extension == "md") {
                pages.push(file);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// A page whose tables are what the records say, and whose sources are what their files have.
#[derive(Default)]
struct Made {
    text: String,
    /// Of what cannot be made, and stays as it is.
    wrong: Vec<String>,
}

fn made(page: &str, records: &[Record]) -> Made {
    let tables = filled(page, TABLE, |name| tables::make(name, records));
    let mut made = filled(&tables.text, CODE, code::of);
    made.wrong.splice(0..0, tables.wrong);
    made
}

/// A page in which all of a kind is made anew.
fn filled(page: &str, [what, before, behind]: Marks, make: impl Fn(&str) -> Result<String>) -> Made {
    let mut made = Made::default();
    let mut rest = page;
    while let Some((head, tail)) = rest.split_once(before) {
        let parts = tail.split_once(" -->\n");
        let parts = parts.and_then(|(name, tail)| Some((name, tail.split_once(behind)?)));
        // The end of another's is not its own.
        let parts = parts.filter(|(_, (old, _))| !old.contains(before));
        let Some((name, (old, tail))) = parts else {
            let name = tail.lines().next().unwrap_or_default();
            made.wrong.push(format!("the {what} {name} does not end"));
            break;
        };
        let new = make(name).unwrap_or_else(|error| {
            made.wrong.push(format!("the {what} {name}: {error:#}"));
            old.to_owned()
        });
        made.text += &format!("{head}{before}{name} -->\n{new}{behind}");
        rest = tail;
    }
    made.text += rest;
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_and_sources_of_all_pages_are_what_records_and_files_say() {
        let records = records::all(&records::folder()).unwrap();
        let mut wrong = vec![];
        for page in pages().unwrap() {
            let text = fs::read_to_string(&page).unwrap();
            let made = made(&text, &records);
            wrong.extend(made.wrong.iter().map(|why| format!("{}: {why}", page.display())));
            if text != made.text {
                wrong.push(format!("{}: run `cargo xtask report`", page.display()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn the_pictures_are_what_the_records_say() {
        let records = records::all(&records::folder()).unwrap();
        let made = pictures(&charts::sections(&records).unwrap()).unwrap();
        let there = there().unwrap();
        let names = |pictures: &BTreeMap<String, String>| pictures.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&there), names(&made), "run `cargo xtask report`");
        for (name, text) in made {
            assert!(there[&name] == text, "{name}: run `cargo xtask report`");
        }
    }

    #[test]
    fn a_table_that_is_none_is_found() {
        let of = |page: &str| made(page, &[]).wrong.join("\n");
        assert!(of("<!-- table: nonsense -->\n<!-- end of table -->").contains("nonsense"));
        assert!(of("<!-- table: ladder-sum -->\n").contains("does not end"));
        assert!(
            of("<!-- table: ladder-sum -->\n<!-- table: whole -->\n<!-- end of table -->\n").contains("does not end")
        );
        assert!(of("<!-- code: none.rs -->\n<!-- end of code -->").contains("none.rs"));
        // Its figures are in no record, so it stays as it is.
        for name in ["ladder-sum", "whole"] {
            let page = format!("a page\n<!-- table: {name} -->\nold\n<!-- end of table -->\n");
            assert!(of(&page).contains("no record has"), "{}", of(&page));
            assert_eq!(made(&page, &[]).text, page);
        }
        assert_eq!(made("a page\n", &[]).text, "a page\n");
    }
}
