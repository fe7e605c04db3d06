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
pub mod tables;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

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

/// Files by path.
type Files = BTreeMap<PathBuf, String>;

/// Runs the task.
pub fn run() -> Result<()> {
    let records = records::all(&records::folder())?;
    let sections = charts::sections(&records)?;
    let ((pages, wrong), pictures) = (pages(&records)?, pictures(&sections)?);
    for file in files("docs/pictures", "svg")?
        .into_keys()
        .filter(|file| !pictures.contains_key(file))
    {
        fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    let page = paths::target().join("report/index.html");
    let report = charts::page(&sections, &fold::section()?);
    for (file, text) in pages.iter().chain(&pictures).chain([(&page, &report)]) {
        write_if_changed(file, text)?;
    }
    let [_, before, _] = TABLE;
    println!(
        "{} tables and {} pictures, of {} records, and {} ({} kB)",
        pages.values().map(|text| text.matches(before).count()).sum::<usize>(),
        pictures.len(),
        records.len(),
        page.display(),
        report.len() / 1000
    );
    ensure!(
        wrong.is_empty(),
        "{} tables cannot be made:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    Ok(())
}

/// All pictures: charts of the records, stills of folds, and steps of rungs.
fn pictures(sections: &[charts::Section]) -> Result<Files> {
    let pictures = charts::pictures(sections).into_iter();
    let pictures = pictures.chain(fold::pictures()?).chain(rungs::pictures()?);
    let file = |name| paths::root().join("docs/pictures").join(name);
    Ok(pictures.map(|(name, text)| (file(name), text)).collect())
}

/// The README and all pages of `docs`, as they should be, and what of them cannot be made.
fn pages(records: &[Record]) -> Result<(Files, Vec<String>)> {
    let (mut pages, mut wrong) = (Files::new(), vec![]);
    for (file, text) in there()? {
        let (text, not_made) = made(&text, records);
        wrong.extend(not_made.iter().map(|why| format!("{}: {why}", file.display())));
        pages.insert(file, text);
    }
    Ok((pages, wrong))
}

/// The same as they are.
fn there() -> Result<Files> {
    let mut pages = files("docs", "md")?;
    let readme = paths::root().join("README.md");
    pages.insert(readme.clone(), fs::read_to_string(readme)?);
    Ok(pages)
}

/// What there is in a folder of the repository and below it, of a kind.
fn files(folder: impl AsRef<Path>, extension: &str) -> Result<Files> {
    let mut found = Files::new();
    for file in fs::read_dir(paths::root().join(folder)).into_iter().flatten() {
        let file = file?.path();
        if file.is_dir() {
            found.append(&mut files(file, extension)?);
        } else if file.extension().is_some_and(|its| its == extension) {
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            found.insert(file, text);
        }
    }
    Ok(found)
}

/// A page whose tables are what the records say, and whose sources are what their files have; and of what cannot be made, why.
fn made(page: &str, records: &[Record]) -> (String, Vec<String>) {
    let (text, mut wrong) = filled(page, TABLE, |name| tables::make(name, records));
    let (text, more) = filled(&text, CODE, code::of);
    wrong.extend(more);
    (text, wrong)
}

/// A page in which all between marks is made anew. What cannot be made stays as it is.
fn filled(page: &str, [what, before, behind]: Marks, make: impl Fn(&str) -> Result<String>) -> (String, Vec<String>) {
    let (mut text, mut wrong) = (String::new(), vec![]);
    let mut rest = page;
    while let Some((head, tail)) = rest.split_once(before) {
        let parts = tail.split_once(" -->\n");
        let parts = parts.and_then(|(name, tail)| Some((name, tail.split_once(behind)?)));
        // The end of another's is not its own.
        let parts = parts.filter(|(_, (old, _))| !old.contains(before));
        let Some((name, (old, tail))) = parts else {
            let name = tail.lines().next().unwrap_or_default();
            wrong.push(format!("the {what} {name} does not end"));
            break;
        };
        let new = make(name).unwrap_or_else(|error| {
            wrong.push(format!("the {what} {name}: {error:#}"));
            old.to_owned()
        });
        text += &format!("{head}{before}{name} -->\n{new}{behind}");
        rest = tail;
    }
    (text + rest, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_pictures_are_what_records_and_files_say() {
        let records = records::all(&records::folder()).unwrap();
        let (pages, wrong) = pages(&records).unwrap();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let pictures = pictures(&charts::sections(&records).unwrap()).unwrap();
        for (made, is) in [
            (pages, there().unwrap()),
            (pictures, files("docs/pictures", "svg").unwrap()),
        ] {
            assert!(made.keys().eq(is.keys()), "run `cargo xtask report`");
            let differs = made.iter().find(|(file, text)| is[*file] != **text);
            assert!(
                differs.is_none(),
                "{:?}: run `cargo xtask report`",
                differs.map(|(file, _)| file)
            );
        }
    }

    #[test]
    fn a_table_that_is_none_is_found() {
        let of = |page: &str| made(page, &[]).1.join("\n");
        assert!(of("<!-- table: nonsense -->\n<!-- end of table -->").contains("nonsense"));
        assert!(of("<!-- table: ladder-sum -->\n").contains("does not end"));
        let two = "<!-- table: ladder-sum -->\n<!-- table: whole -->\n<!-- end of table -->\n";
        assert!(of(two).contains("does not end"));
        assert!(of("<!-- code: none.rs -->\n<!-- end of code -->").contains("none.rs"));
        // Its figures are in no record, so it stays as it is.
        for name in ["ladder-sum", "whole"] {
            let page = format!("a page\n<!-- table: {name} -->\nold\n<!-- end of table -->\n");
            assert!(of(&page).contains("no record has"), "{}", of(&page));
            assert_eq!(made(&page, &[]).0, page);
        }
        assert_eq!(made("a page\n", &[]).0, "a page\n");
    }
}
