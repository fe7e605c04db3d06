//! The rungs of the sum, step by step: a picture of each, of a small run in the emulator. Which thread works in which step, and what the
//! step is, the run's events say.

mod board;
mod steps;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result, ensure};
use warpfold_emulator::{
    Event,
    ladder::{Climb, sum_in_steps},
};
use warpfold_kernels::{
    ladder::{Grid, Rung, SUMS, SumKernel, sum::wide::TILE},
    tree::LANES,
};

use self::{board::Board, steps::PictureStep};
use super::{
    draw::{Anchor, Drawing, Sign, WIDTH},
    numbers::count,
};

/// A launch that is small enough to be drawn: a rung, blocks and threads of its first kernel, and elements. A second kernel has a block of
/// one warp.
type Small = (&'static str, [u32; 2], u64);

/// A launch of each rung: the fewest threads that show what is new in it. Tiles of wide loads are of blocks of 256 threads.
const SMALL: [Small; SUMS.len()] = [
    ("atomic", [2, 32], 64),
    ("interleaved", [1, 64], 128),
    ("prefix", [1, 64], 128),
    ("shared", [1, 64], 128),
    ("segmented", [4, 32], 256),
    ("coarsened", [2, 32], 256),
    ("block-atomic", [2, 64], 128),
    ("shuffled", [2, 64], 128),
    ("grid-stride", [2, 64], 512),
    ("wide", [2, 256], 4 * TILE),
    ("two-kernels", [3, 256], 3 * TILE),
    ("grid-barrier", [3, 256], 3 * TILE),
    ("last-block", [3, 256], 3 * TILE),
];

/// Colours of what is done.
const STYLE: &str = include_str!("rungs.css");

/// Characters of a line above the columns.
const LINE: usize = 68;

/// What the legend says of what is drawn.
const LEGEND: [(Sign, &str); 11] = [
    (Sign::Fill("load"), "load"),
    (Sign::Fill("store"), "store"),
    (Sign::Fill("shared"), "shared memory"),
    (Sign::Fill("shuffle"), "shuffle, partners in two tints"),
    (Sign::Fill("atomic"), "atomic"),
    (Sign::Fill("later"), "its turn comes later"),
    (Sign::Fill("poll"), "asks until it may go on"),
    (Sign::Fill("waits"), "the whole warp waits"),
    (Sign::Line("idle"), "idle, its warp works"),
    (Sign::Line("barrier"), "barrier"),
    (Sign::Line("grid-barrier"), "blocks wait for each other"),
];

/// The schedule: with it, the last block is not the one with the largest number.
const SEED: u64 = 1;

/// A launch, as it went.
struct Launched {
    blocks: u32,
    threads: u32,
    steps: Vec<PictureStep>,
}

/// Runs a rung's small launch.
fn run(&(name, [blocks, threads], len): &Small) -> Result<(&'static Rung<SumKernel>, Vec<Launched>)> {
    let rung = SUMS.iter().find(|rung| rung.name == name).context("no rung")?;
    let mut kernels = rung.steps.to_vec();
    for (i, kernel) in kernels.iter_mut().enumerate() {
        (kernel.threads, kernel.grid) = match i {
            0 => (threads, Grid::Each(len / u64::from(blocks))),
            _ => (LANES, Grid::One),
        };
    }
    // Sums of these are exact in any order.
    let values: Vec<f32> = (0..len).map(|i| (i % 7) as f32).collect();
    let mut climb = Climb::new(SEED);
    climb.traced = true;
    let climbed = sum_in_steps(rung, &kernels, &values, climb)?;
    ensure!(climbed.answer == values.iter().sum::<f32>(), "{name} is wrong");
    let launched = |(i, events): (usize, &[Event])| {
        let (blocks, threads) = (if i == 0 { blocks } else { 1 }, kernels[i].threads);
        Launched {
            blocks,
            threads,
            steps: steps::of(events),
        }
    };
    let launches = climbed.launches().enumerate().map(launched).collect();
    Ok((rung, launches))
}

/// The pictures: names and texts.
pub fn pictures() -> Result<Vec<(String, String)>> {
    let picture = |small: &Small| {
        let &(name, _, len) = small;
        let (rung, launches) = run(small).context(name)?;
        Ok((format!("rung-{name}.svg"), draw(rung, len, &launches)))
    };
    SMALL.iter().map(picture).collect()
}

/// Draws a rung's launches.
fn draw(rung: &Rung<SumKernel>, len: u64, launches: &[Launched]) -> String {
    let mut drawing = Drawing::new(WIDTH);
    let mut y = 6.0;
    drawing.text("label", Anchor::Start, (8.0, y), rung.title);
    for line in wrapped(rung.why) {
        y += 16.0;
        drawing.text("why", Anchor::Start, (8.0, y), &line);
    }
    let (mut classes, mut shares) = (Vec::<&str>::new(), false);
    for (number, launched) in launches.iter().enumerate() {
        y += 14.0;
        if launches.len() > 1 {
            drawing.text(
                "word",
                Anchor::Start,
                (8.0, y + 12.0),
                &format!("launch {}", number + 1),
            );
        }
        let board = Board::new(launched, y);
        board.heads(&mut drawing);
        classes.extend(board.draw(&mut drawing));
        shares |= board.shares_columns();
        y = board.bottom();
    }
    let drawn = |sign: &Sign| matches!(sign, Sign::Fill(class) | Sign::Line(class) if classes.contains(class));
    let legend: Vec<(Sign, &str)> = LEGEND.into_iter().filter(|(sign, _)| drawn(sign)).collect();
    y = drawing.legend(&legend, y + 18.0);
    if shares {
        y += 12.0;
        let says = "Warps that do the same in each step share a column.";
        drawing.text("why", Anchor::Start, (8.0, y), says);
    }
    drawing.height = y;

    let mut shape = format!("{} elements", count(len as f64));
    for (number, Launched { blocks, threads, .. }) in launches.iter().enumerate() {
        shape += &match (number, blocks) {
            (0, 1) => format!(", 1 block of {threads} threads"),
            (0, _) => format!(", {blocks} blocks of {threads} threads"),
            _ => format!(", then {blocks} of {threads}"),
        };
    }
    let label = format!(
        "Steps of {}: {}. {shape}. Columns are threads, rows are steps.",
        rung.name, rung.title
    );
    let source = format!("{shape}; emulator");
    drawing.chart_file([rung.name, &label, &source], STYLE)
}

/// A text in lines.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = word.to_owned(),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= LINE => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
