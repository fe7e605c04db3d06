//! The picture of a rung: its title, its launches, a legend of what occurs in them.

use warpfold_kernels::ladder::{Rung, SumKernel};

use super::{Launched, board::Board};
use crate::pages::{
    draw::{Anchor, Drawing, Sign, WIDTH},
    numbers::count,
};

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

/// Draws a rung's launches.
pub fn draw(rung: &Rung<SumKernel>, len: u64, launches: &[Launched]) -> String {
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
