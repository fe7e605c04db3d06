//! `cargo xtask book`: the pages of `docs` as a book, by mdBook, with the sources that they link to beside it.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result};

use crate::{
    paths,
    process::{cargo, on_path, watched},
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
    let mut sources = 0;
    for path in tidy::linked_from("docs/")? {
        let from = paths::root().join(&path);
        // Pages are the book's own, and a folder has no one page to show.
        if path.starts_with("docs") || !from.is_file() {
            continue;
        }
        let to = folder.join(&path);
        let parent = to.parent().context("a file lies in a folder")?;
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        fs::copy(&from, &to).with_context(|| format!("cannot write {}", to.display()))?;
        sources += 1;
    }
    println!(
        "{}, and {sources} files that it links to beside it",
        folder.join("docs/index.html").display()
    );
    Ok(())
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
