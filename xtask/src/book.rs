//! `cargo xtask book`: the pages of `docs` as a book, by mdBook, with the sources that they link to beside it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{
    paths,
    process::{cargo, on_path, watched, write_if_changed},
    tidy,
};

/// The release that the book was looked at with.
const MDBOOK: &str = "0.5.4";

/// Runs the task.
pub fn run() -> Result<()> {
    let folder = paths::target().join("book");
    let mdbook = mdbook()?;
    watched(
        Command::new(mdbook)
            .arg("build")
            .arg(paths::root().join("docs"))
            .arg("--dest-dir")
            .arg(folder.join("docs")),
    )?;
    let linked = tidy::linked_from("docs/")?;
    // Pages are the book's own.
    let sources: Vec<&PathBuf> = linked.iter().filter(|path| !path.starts_with("docs")).collect();
    for path in &sources {
        copy(path, &folder)?;
    }
    let dead = mend(&folder.join("docs"), &sources)?;
    ensure!(
        dead.is_empty(),
        "links of the book that lead nowhere:\n{}",
        dead.join("\n")
    );
    println!(
        "{}, and {} files that it links to beside it",
        folder.join("docs/index.html").display(),
        sources.len()
    );
    Ok(())
}

/// Puts a file beside the book, or of a folder its files.
fn copy(path: &Path, folder: &Path) -> Result<()> {
    let (from, to) = (paths::root().join(path), folder.join(path));
    if !from.is_dir() {
        let parent = to.parent().context("a file lies in a folder")?;
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        fs::copy(&from, &to).with_context(|| format!("cannot write {}", to.display()))?;
        return Ok(());
    }
    for file in fs::read_dir(&from)? {
        let file = file?;
        if file.file_type()?.is_file() {
            copy(&path.join(file.file_name()), folder)?;
        }
    }
    Ok(())
}

/// mdBook takes any Markdown for a page of the book. Gives links to what is none their names back, and tells those that lead nowhere.
fn mend(folder: &Path, sources: &[&PathBuf]) -> Result<Vec<String>> {
    let mut dead = vec![];
    for file in fs::read_dir(folder)? {
        let file = file?.path();
        if file.is_dir() {
            dead.extend(mend(&file, sources)?);
        } else if file.extension().is_some_and(|extension| extension == "html") {
            let text = fs::read_to_string(&file)?;
            let mended = mended(&text, sources);
            write_if_changed(&file, &mended)?;
            let leads = |link: &&str| folder.join(link).exists();
            let lost = links(&mended).filter(|link| !leads(link));
            dead.extend(lost.map(|link| format!("{}: {link}", file.display())));
        }
    }
    Ok(dead)
}

fn mended(text: &str, sources: &[&PathBuf]) -> String {
    let pages = sources.iter().filter_map(|path| path.to_str()?.strip_suffix(".md"));
    pages.fold(text.to_owned(), |text, page| {
        text.replace(&format!("../{page}.html"), &format!("../{page}.md"))
    })
}

/// The links to files that the text of a page has.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let main = text
        .split_once("<main>")
        .and_then(|(_, rest)| rest.split_once("</main>"));
    let links = main.map_or("", |(main, _)| main).split(" href=\"").skip(1);
    let files = links.filter_map(|rest| rest.split(['"', '#']).next());
    files.filter(|link| !link.is_empty() && !link.contains("://"))
}

/// mdBook: the one on the path, or one of our own, which is built once.
fn mdbook() -> Result<PathBuf> {
    if let Some(found) = on_path("mdbook") {
        return Ok(found);
    }
    let folder = paths::target().join("tools/mdbook");
    let program = folder.join("bin/mdbook");
    if !program.is_file() {
        println!("building mdBook {MDBOOK}, once: minutes");
        let install = [
            "install",
            "mdbook",
            "--version",
            MDBOOK,
            "--locked",
            "--no-default-features",
        ];
        watched(
            cargo()
                .args(install)
                .args(["--features", "search", "--root"])
                .arg(&folder),
        )?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_page_of_the_book_keeps_its_name() {
        let page = "<nav href=\"x.html\"><main><a href=\"../../host/README.html#part\"> <a href=\"page.html\"> <a href=\"#here\"> <a href=\"https://a.b\"></main>";
        let (outside, source) = (PathBuf::from("host/README.md"), PathBuf::from("host/lib.rs"));
        let mended = mended(page, &[&outside, &source]);
        assert_eq!(
            links(&mended).collect::<Vec<_>>(),
            ["../../host/README.md", "page.html"]
        );
    }
}
