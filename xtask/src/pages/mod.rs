//! `cargo xtask report`: the tables of figures in the pages, made from the records. A page has no figure that no record has.

mod beside;
mod fold;
mod tables;

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, bail};

use crate::{
    bench::records::{self, Record},
    paths,
    process::write_if_changed,
};

/// What stands before a table, with its name, and behind it.
const BEFORE: &str = "<!-- table: ";
const BEHIND: &str = "<!-- end of table -->";

/// Runs the task.
pub fn run() -> Result<()> {
    fold::write()?;
    let records = records::all(&records::folder())?;
    let mut tables = 0;
    for page in pages()? {
        let text = fs::read_to_string(&page)?;
        let made = made(&text, &records).with_context(|| page.display().to_string())?;
        tables += made.matches(BEFORE).count();
        write_if_changed(&page, &made)?;
    }
    println!("{tables} tables, of {} records", records.len());
    Ok(())
}

/// The README, and the pages beside it.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![paths::root().join("README.md")];
    for file in fs::read_dir(paths::root().join("docs"))? {
        let file = file?.path();
        if file.extension().is_some_and(|extension| extension == "md") {
            pages.push(file);
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
    fn the_tables_of_all_pages_are_what_the_records_say() {
        let records = records::all(&records::folder()).unwrap();
        for page in pages().unwrap() {
            let text = fs::read_to_string(&page).unwrap();
            let made = made(&text, &records).unwrap_or_else(|error| panic!("{}: {error:#}", page.display()));
            assert!(text == made, "{}: run `cargo xtask report`", page.display());
        }
    }

    #[test]
    fn a_table_that_is_none_is_found() {
        let of = |page: &str| format!("{:#}", made(page, &[]).unwrap_err());
        assert!(of("<!-- table: nonsense -->\n<!-- end of table -->").contains("nonsense"));
        assert!(of("<!-- table: ladder-sum -->\n").contains("does not end"));
        assert_eq!(made("a page\n", &[]).unwrap(), "a page\n");
    }
}
