//! The page in a real browser, where there is one.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use super::{
    page, sections,
    tests::{of_a_cpu, records},
};
use crate::{
    pages::{fold, rungs},
    setup,
};

/// A telephone, and a desk. A window has a least width of its own, so that the page is in a frame.
const WIDTHS: [u32; 2] = [390, 1280];

/// What looks at the page in its frame, and says what it saw.
const LOOK: &str = r#"
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const page = frame.contentDocument, root = page.documentElement, faults = [];
  page.querySelectorAll("details").forEach(details => details.open = true);
  if (root.scrollWidth > root.clientWidth) faults.push(`the page is ${root.scrollWidth} wide`);
  for (const svg of page.querySelectorAll("svg")) {
    const { width, height } = svg.viewBox.baseVal;
    const boxes = [...svg.querySelectorAll("text")].map(text => {
      const box = text.getBBox();
      // What a file has around it moves it down.
      box.y += text.closest(".chart > g[transform]")?.transform.baseVal[0].matrix.f ?? 0;
      return [text.textContent, box];
    });
    boxes.forEach(([text, box], i) => {
      if (box.x < 0 || box.y < -2 || box.x + box.width > width || box.y + box.height > height + 2)
        faults.push(`cut off: ${text} of ${svg.getAttribute("aria-label")}`);
      for (const [other, at] of boxes.slice(0, i))
        if (box.x < at.x + at.width && at.x < box.x + box.width && box.y + 4 < at.y + at.height && at.y + 4 < box.y + box.height)
          faults.push(`overlap: ${text}, ${other} of ${svg.getAttribute("aria-label")}`);
    });
  }
  document.body.dataset.saw = `${root.clientWidth} wide; ${page.querySelectorAll("svg").length} charts; faults: ${faults.join("; ")}.`;
});
"#;

#[test]
fn a_browser_shows_the_page() {
    let Some(browser) = setup::browser() else {
        println!("skipped: no browser is on the path");
        return;
    };
    let folder = std::env::temp_dir().join(format!("warpfold-report-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let records = [records(), vec![of_a_cpu()]].concat();
    // The book's pictures of rungs are looked at, too.
    let rungs = rungs::pictures().unwrap().into_iter().map(|(_, picture)| picture);
    let rungs: String = rungs.collect();
    let text = page(&sections(&records).unwrap(), &fold::section().unwrap()) + &rungs;
    fs::write(folder.join("index.html"), &text).unwrap();
    // The script of the fold makes one more.
    let charts = text.matches("<svg").count() + 1;
    for width in WIDTHS {
        let frame = format!(
            "<!doctype html><link rel=icon href=data:,><body style=margin:0>\
             <iframe src=index.html style=\"border:0;width:{width}px;height:2000px\"></iframe><script>{LOOK}</script>"
        );
        fs::write(folder.join("frame.html"), frame).unwrap();
        let said = run(&browser, &folder, width, "--dump-dom");
        let dom = String::from_utf8_lossy(&said.stdout);
        let saw = format!("data-saw=\"{width} wide; {charts} charts; faults: .\"");
        assert!(
            dom.contains(&saw),
            "{width}: {}",
            dom.split("data-saw").last().unwrap_or_default()
        );
        let console = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(!console.contains(":CONSOLE"), "{console}");
        let picture = folder.join(format!("{width}.png"));
        run(&browser, &folder, width, &format!("--screenshot={}", picture.display()));
        // Charts are no single colour, which a few hundred bytes hold.
        assert!(fs::read(&picture).unwrap().len() > 20_000, "{}", picture.display());
    }
    fs::remove_dir_all(&folder).unwrap();
}

fn run(browser: &Path, folder: &Path, width: u32, what: &str) -> Output {
    let mut command = Command::new(browser);
    // Its sandbox does not take root, and the page is ours.
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
    ]);
    command.args([
        "--enable-logging=stderr",
        "--virtual-time-budget=5000",
        "--hide-scrollbars",
        what,
    ]);
    command.arg(format!("--window-size={},2000", width.max(500)));
    command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    command.arg(format!("file://{}", folder.join("frame.html").display()));
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    output
}
