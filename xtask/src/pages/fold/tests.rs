use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use super::*;
use crate::setup;

#[test]
fn block_0_is_the_last() {
    assert_eq!(data::block_of_ticket(&sum().unwrap(), 1), Some(0));
}

#[test]
fn boxes_have_room_for_numbers() {
    for (x, text) in [
        (0.0, "0.00"),
        (-9.949, "−9.95"),
        (-9.996, "−10.0"),
        (20.85, "20.85"),
        (-99.4, "−99.4"),
        (99.6, "100"),
        (-5120.3, "−5120"),
        (10_207.0, "10.2k"),
        (-10_207.0, "−10k"),
        (f64::NEG_INFINITY, "−inf"),
    ] {
        assert_eq!(operators::short(x), text);
        assert!(text.chars().count() <= 5);
    }
}

#[test]
fn the_page_stands_alone() {
    let page = page_text().unwrap();
    for absent in ["{{", "src=", "https://", "<link rel=\"stylesheet\""] {
        assert!(!page.contains(absent), "{absent}");
    }
    // Without its script it has the still and the steps.
    let still = page.find("<svg").unwrap();
    let items = page[..page.find("<script").unwrap()].matches("<li>").count();
    assert!(still < page.find("<script").unwrap());
    assert_eq!(items, 17);
}

/// What the page is once its script has run, and what the browser said of it.
fn opened(browser: &Path, page: &Path, folder: &Path) -> (String, String) {
    let output = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
        ])
        .args(["--virtual-time-budget=60000", "--timeout=60000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}#check", page.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_browser_goes_through_all_steps() {
    let Some(browser) = setup::browser() else {
        println!("skipped: no browser on PATH");
        return;
    };
    let folder = std::env::temp_dir().join(format!("warpfold-fold-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let page = folder.join("fold.html");
    fs::write(&page, page_text().unwrap()).unwrap();
    let (shown, said) = opened(&browser, &page, &folder);
    let _ = fs::remove_dir_all(&folder);
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    // Four operators of 17 steps.
    assert!(
        shown.contains("data-checked=\"68\""),
        "the script did not come to its end"
    );
}
