//! The fold in one still picture: a warp's five rounds of shuffles, and what comes after them.

use std::fmt::Write as _;

use warpfold_emulator::{
    Thread,
    picture::{Held, Picture, Place, Stage, WARPS},
};
use warpfold_kernels::tree::LANES;

use super::operators::short;

/// Pixels of the drawing, and of a lane's box in it.
const WIDTH: f32 = 1040.0;
const LEFT: f32 = 118.0;
const PITCH: f32 = 28.5;
const BOX: (f32, f32) = (27.4, 18.0);
const TOP: f32 = 78.0;
const ROUND: f32 = 56.0;

/// The rounds, the first being what lanes hold before any.
const REACHES: [u32; 5] = [1, 2, 4, 8, 16];

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#1f2328}.n{font:8.5px ui-monospace,monospace;text-anchor:middle}\
.v{font:12px ui-monospace,monospace;text-anchor:middle}.t{font-weight:600;font-size:15px}.q{fill:#57606a}\
.l{stroke:#8c959f;fill:none}.b{fill-opacity:.28;stroke-opacity:.75;stroke-width:1}.p{fill:none;stroke:#d0d7de}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.q{fill:#9198a1}.l{stroke:#6e7681}.p{stroke:#30363d}}";

/// The colour of what a run of lanes holds: within a warp by where it lies there, otherwise by where it lies in the grid.
fn hue(first: u32, last: u32, lanes: u32) -> u32 {
    let within = last - first < LANES - 1;
    let (place, of) = if within {
        (first + last - first / LANES * 2 * LANES, LANES)
    } else {
        (first + last, lanes)
    };
    20 + 140 * place / (of - 1)
}

/// Where lane `lane`'s box is in the middle, in a row of the warp.
fn x(lane: u32) -> f32 {
    LEFT + PITCH * (lane as f32 + 0.5)
}

fn y(row: usize) -> f32 {
    TOP + ROUND * row as f32
}

/// Draws it.
pub fn draw(picture: &Picture<f32, f32>) -> String {
    let height = y(5) + 258.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"fold-title\">\n\
         <title id=\"fold-title\">The sum of {} floats by {} blocks of {WARPS} warps, as the emulator ran it</title>\n\
         <style>{STYLE}</style>\n\
         <text class=\"t\" x=\"8\" y=\"22\">A sum of {} floats, by {} blocks of {WARPS} warps</text>\n\
         <text class=\"q\" x=\"8\" y=\"42\">The rows are the 32 lanes of one warp, before and after each round. Lines join the two states that are combined; equal colours are equal states.</text>\n",
        thousands(picture.len),
        picture.blocks,
        thousands(picture.len),
        picture.blocks
    );
    rounds(&mut svg, picture);
    ending(&mut svg, picture);
    svg.push_str("</svg>\n");
    svg
}

/// A number below a million, its thousands apart.
pub fn thousands(number: usize) -> String {
    if number < 1000 {
        number.to_string()
    } else {
        format!("{},{:03}", number / 1000, number % 1000)
    }
}

/// A number as people write it.
fn digits(x: f32) -> String {
    x.to_string().replace('-', "−")
}

/// What a place holds after a stage.
fn state(picture: &Picture<f32, f32>, stage: Stage, place: Place) -> Option<f32> {
    let step = picture.steps.iter().find(|step| step.stage == stage)?;
    let change = step.changes.iter().find(|change| change.place == place)?;
    match change.held {
        Held::State(state) => Some(state),
        _ => None,
    }
}

fn stage(row: usize) -> Stage {
    row.checked_sub(1)
        .map_or(Stage::Lane, |round| Stage::Shuffle { reach: REACHES[round] })
}

/// The first warp's lanes, before and after each round.
fn rounds(svg: &mut String, picture: &Picture<f32, f32>) {
    let lanes = picture.blocks * WARPS * LANES;
    for (round, reach) in REACHES.into_iter().enumerate() {
        let (from, to) = (y(round) + BOX.1, y(round + 1));
        let mut lines = String::new();
        for lane in 0..LANES {
            for source in [lane, lane ^ reach] {
                let _ = write!(lines, "M{:.1} {from}L{:.1} {to}", x(source), x(lane));
            }
        }
        let _ = writeln!(svg, "<path class=\"l\" stroke-width=\".8\" d=\"{lines}\"/>");
    }
    for row in 0..=REACHES.len() {
        let label = row.checked_sub(1).map_or("32 elements each".to_owned(), |round| {
            format!("shuffle over {}", REACHES[round])
        });
        let _ = writeln!(svg, "<text class=\"q\" x=\"8\" y=\"{}\">{label}</text>", y(row) + 13.0);
        for lane in 0..LANES {
            let place = Place::Lane(Thread { block: 0, thread: lane });
            let Some(state) = state(picture, stage(row), place) else {
                continue;
            };
            let group = 1 << row;
            let first = lane / group * group;
            boxed(
                svg,
                (x(lane), y(row)),
                BOX,
                hue(first, first + group - 1, lanes),
                "n",
                &short(state.into()),
            );
        }
    }
}

/// A box around `text`, its upper edge's middle at a point.
fn boxed(svg: &mut String, (x, y): (f32, f32), (width, height): (f32, f32), hue: u32, class: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<rect class=\"b\" x=\"{:.1}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\" fill=\"hsl({hue},70%,50%)\" stroke=\"hsl({hue},70%,45%)\"/>\
         <text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>",
        x - width / 2.0,
        y + height / 2.0 + if class == "n" { 3.2 } else { 4.2 },
    );
}

/// Where the levels below the lanes are drawn: shared memory, the blocks' slots, the answer; and how large their boxes are.
const LEVELS: [(f32, &str); 3] = [
    (TOP + 5.0 * ROUND + 64.0, "shared memory"),
    (TOP + 5.0 * ROUND + 134.0, "slots of blocks"),
    (TOP + 5.0 * ROUND + 204.0, "answer"),
];
const WIDE: (f32, f32) = (120.0, 24.0);

/// The middle of a box there, counted from the drawing's middle: warps' boxes are one apart.
fn column(place: f32) -> f32 {
    LEFT + 16.0 * PITCH + 230.0 * place
}

/// Shared memory, the slots, the answer.
fn ending(svg: &mut String, picture: &Picture<f32, f32>) {
    let lanes = picture.blocks * WARPS * LANES;
    let [(shared, _), (block, _), (answer, _)] = LEVELS;
    for (y, label) in LEVELS {
        let _ = writeln!(svg, "<text class=\"q\" x=\"8\" y=\"{}\">{label}</text>", y + 16.0);
    }
    let mut lines = format!("M{:.1} {}L{:.1} {shared}", x(0), y(5) + BOX.1, column(-1.5));
    for number in 0..picture.blocks {
        of_block(svg, &mut lines, picture, number);
    }
    let hue = hue(0, lanes - 1, lanes);
    boxed(
        svg,
        (column(0.0), answer),
        WIDE,
        hue,
        "v",
        &digits(picture.folded.answer),
    );
    let _ = writeln!(svg, "<path class=\"l\" d=\"{lines}\"/>");
    let who = "by the block that draws the last ticket, whichever that is";
    noted(
        svg,
        (column(0.0), block - 18.0),
        "a barrier, then each block's first warp combines",
    );
    noted(svg, (column(0.0), answer + 42.0), who);
}

/// A block's shared memory and its slot, and the lines that lead there and on to the answer.
fn of_block(svg: &mut String, lines: &mut String, picture: &Picture<f32, f32>, number: u32) {
    let lanes = picture.blocks * WARPS * LANES;
    let [(shared, _), (block, _), (answer, _)] = LEVELS;
    let middle = |warp: u32| column((number * WARPS + warp) as f32 - 1.5);
    let of_block = (middle(0) + middle(1)) / 2.0;
    for slot in 0..WARPS {
        let _ = write!(lines, "M{:.1} {}L{of_block:.1} {block}", middle(slot), shared + WIDE.1);
        let first = (number * WARPS + slot) * LANES;
        if let Some(state) = state(picture, Stage::Share, Place::Shared { block: number, slot }) {
            let hue = hue(first, first + LANES - 1, lanes);
            boxed(svg, (middle(slot), shared), WIDE, hue, "v", &digits(state));
        }
        if first == 0 {
            // Beside the line that comes from above.
            noted(svg, (middle(slot) - 74.0, shared - 6.0), "this warp");
        } else {
            let note = format!("block {number}, warp {slot}");
            noted(svg, (middle(slot), shared - 6.0), &note);
        }
    }
    let _ = write!(lines, "M{of_block:.1} {}L{:.1} {answer}", block + WIDE.1, column(0.0));
    let first = number * WARPS * LANES;
    if let Some(state) = state(picture, Stage::Slot, Place::Slot(number)) {
        let hue = hue(first, first + WARPS * LANES - 1, lanes);
        boxed(svg, (of_block, block), WIDE, hue, "v", &digits(state));
    }
}

/// A quiet line of text around a point.
fn noted(svg: &mut String, (x, y): (f32, f32), note: &str) {
    let _ = writeln!(
        svg,
        "<text class=\"q\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{note}</text>"
    );
}
