//! `cargo xtask report`: the tables of figures in the pages, the pictures beside them and the report's page, made from the records. They
//! have no figure that no record has. Sources that pages show are put there from their files.

mod beside;
mod code;
mod fold;
mod site;
mod tables;

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context, Result, bail};

use crate::{
    bench::records::{self, Record},
    paths,
    process::write_if_changed,
};

/// Colours of everything that is drawn, on a light ground and on a dark one.
const COLOURS: &str = include_str!("colours.css");

/// What stands before a table, with its name, and behind it.
const BEFORE: &str = "<!-- table: ";
const BEHIND: &str = "<!-- end of table -->";

/// Runs the task.
pub fn run() -> Result<()> {
    let records = records::all(&records::folder())?;
    let mut tables = 0;
    for page in pages()? {
        let text = fs::read_to_string(&page)?;
        let made = made(&text, &records).and_then(|made| code::made(&made));
        let made = made.with_context(|| page.display().to_string())?;
        tables += made.matches(BEFORE).count();
        write_if_changed(&page, &made)?;
    }
    let sections = site::sections(&records)?;
    let pictures = pictures(&sections)?;
    for name in there()?.keys().filter(|name| !pictures.contains_key(*name)) {
        let file = folder_of_pictures().join(name);
        fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    for (name, text) in &pictures {
        write_if_changed(&folder_of_pictures().join(name), text)?;
    }
    let page = paths::target().join("report/index.html");
    let text = site::page(&sections, &fold::section()?);
    write_if_changed(&page, &text)?;
    println!(
        "{tables} tables and {} pictures, of {} records, and {} ({} kB)",
        pictures.len(),
        records.len(),
        page.display(),
        text.len() / 1000
    );
    Ok(())
}

/// All pictures, by name: charts of the records, and stills of folds.
fn pictures(sections: &[site::Section]) -> Result<BTreeMap<String, String>> {
    Ok(site::pictures(sections).into_iter().chain(fold::pictures()?).collect())
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

/// The README, and the pages of the book.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![paths::root().join("README.md")];
    for folder in ["docs", "docs/book"] {
        for file in fs::read_dir(paths::root().join(folder))? {
            let file = file?.path();
            if file.extension().is_some_and(|extension| extension == "md") {
                pages.push(file);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// A page whose tables are what the records say.
fn made(page: &str, records: &[Record]) -> Result<String> {
    let mut made = String::new();
    let mut rest = page;
    while let Some((head, tail)) = rest.split_once(BEFORE) {
        let (name, tail) = tail.split_once(" -->\n").context("a table without a name")?;
        let Some((_, tail)) = tail.split_once(BEHIND) else {
            bail!("the table {name} does not end");
        };
        let table = tables::make(name, records).with_context(|| format!("the table {name}"))?;
        made += &format!("{head}{BEFORE}{name} -->\n{table}{BEHIND}");
        rest = tail;
    }
    Ok(made + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_and_sources_of_all_pages_are_what_records_and_files_say() {
        let records = records::all(&records::folder()).unwrap();
        for page in pages().unwrap() {
            let text = fs::read_to_string(&page).unwrap();
            let made = made(&text, &records).and_then(|made| code::made(&made));
            let made = made.unwrap_or_else(|error| panic!("{}: {error:#}", page.display()));
            assert!(text == made, "{}: run `cargo xtask report`", page.display());
        }
    }

    #[test]
    fn the_pictures_are_what_the_records_say() {
        let records = records::all(&records::folder()).unwrap();
        let made = pictures(&site::sections(&records).unwrap()).unwrap();
        let there = there().unwrap();
        let names = |pictures: &BTreeMap<String, String>| pictures.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&there), names(&made), "run `cargo xtask report`");
        for (name, text) in made {
            assert!(there[&name] == text, "{name}: run `cargo xtask report`");
        }
    }

    #[test]
    fn a_table_that_is_none_is_found() {
        let of = |page: &str| format!("{:#}", made(page, &[]).unwrap_err());
        assert!(of("<!-- table: nonsense -->\n<!-- end of table -->").contains("nonsense"));
        assert!(of("<!-- table: ladder-sum -->\n").contains("does not end"));
        assert_eq!(made("a page\n", &[]).unwrap(), "a page\n");
        // Its figures are in no record.
        assert!(of("<!-- table: ladder-sum -->\n<!-- end of table -->\n").contains("no record has"));
    }
}
