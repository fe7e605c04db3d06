//! The report's page in a real browser, where there is one.

use std::{fs, process::Command};

use super::{charts, fold, rungs};
use crate::{bench::records, setup};

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

/// What goes through all steps of all operators, chooses every place in each, and uses the keys.
const STEPS: &str = r##"<script type="module">
const $ = (id) => document.getElementById(`fold-${id}`);
const cells = () => [...document.querySelectorAll("#fold-board .cell")];
const go = (step) => (($("slider").value = step), $("slider").dispatchEvent(new Event("input")));
let checked = 0;
for (const operator of $("operators").children) {
  operator.click();
  for (let step = 0; step <= $("slider").max; step++, checked++) {
    go(step);
    cells().forEach((cell) => cell.dispatchEvent(new Event("click")));
  }
}
const press = (target, key) => (target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })), $("slider").value);
go(3);
const pressed = [press($("board"), "ArrowRight"), press(cells()[7], "ArrowRight"), press($("slider"), "ArrowLeft"), press(document.body, "ArrowRight")];
const plays = [0, 1].map(() => (press(cells()[7], " "), $("play").textContent));
Object.assign(document.documentElement.dataset, { checked, pressed, plays });
</script>"##;

/// What a page is once its scripts have run, in a window of a width; none without a browser. `files` are what it is of, the page
/// first.
fn opened(files: &[(&str, &str)], width: u32) -> Option<String> {
    let Some(browser) = setup::browser() else {
        println!("skipped: no browser is on the path");
        return None;
    };
    let folder = std::env::temp_dir().join(format!("warpfold-page-{}-{width}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    // Its sandbox does not take root, and the page is ours.
    let flags = "--headless=new --no-sandbox --disable-gpu --allow-file-access-from-files --enable-logging=stderr \
                 --virtual-time-budget=60000 --timeout=60000 --hide-scrollbars --dump-dom";
    let mut command = Command::new(browser);
    command.args(flags.split(' '));
    let picture = folder.join("picture.png");
    command.arg(format!("--screenshot={}", picture.display()));
    command.arg(format!("--window-size={},2000", width.max(500)));
    command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    command.arg(format!("file://{}", folder.join(files[0].0).display()));
    let output = command.output().unwrap();
    // Charts are no single colour, which a few hundred bytes hold.
    assert!(fs::read(&picture).unwrap().len() > 20_000, "{}", picture.display());
    let _ = fs::remove_dir_all(&folder);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !said.contains(":CONSOLE"),
        "{}: {said}",
        output.status
    );
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_browser_shows_the_page() {
    let sections = charts::sections(&records::all(&records::folder()).unwrap()).unwrap();
    // The book's pictures of rungs are looked at, too.
    let rungs = rungs::pictures().unwrap().into_iter();
    let rungs: String = rungs.map(|(_, picture)| picture).collect();
    let page = charts::page(&sections, &fold::section().unwrap()) + &rungs;
    // The script of the fold makes one more.
    let charts = page.matches("<svg").count() + 1;
    for width in WIDTHS {
        let frame = format!(
            "<!doctype html><link rel=icon href=data:,><body style=margin:0>\
             <iframe src=index.html style=\"border:0;width:{width}px;height:2000px\"></iframe><script>{LOOK}</script>"
        );
        let files = [("frame.html", &*frame), ("index.html", &page)];
        let Some(shown) = opened(&files, width) else { return };
        let saw = shown.split("data-saw").last().unwrap_or_default();
        assert!(
            saw.starts_with(&format!("=\"{width} wide; {charts} charts; faults: .\"")),
            "{width}: {saw}"
        );
    }
}

#[test]
fn a_browser_goes_through_all_steps() {
    let page = charts::page(&[], &fold::section().unwrap()) + STEPS;
    let Some(shown) = opened(&[("index.html", &page)], 800) else {
        return;
    };
    // Four operators of 17 steps. Keys work on the board, in a lane and on the slider, and not outside the section.
    for done in ["checked=\"68\"", "pressed=\"4,5,4,4\"", "plays=\"Pause,Play\""] {
        assert!(
            shown.contains(&format!("data-{done}")),
            "the script did not come to {done}"
        );
    }
}
