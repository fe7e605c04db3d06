//! A table of ratios, its cells coloured by how far they are from 1.

use super::svg::{Anchor, Drawing, WIDTH, width_of};

/// What is drawn.
pub struct Heat {
    pub columns: Vec<String>,
    pub rows: Vec<(String, Vec<Option<Cell>>)>,
}

/// A cell.
pub struct Cell {
    /// The other's time by ours: above 1 ours is less.
    pub ratio: f64,
    /// What a pointer over it shows.
    pub title: String,
}

/// Classes of a cell and of its text, and what is below them. Blue is where we are faster, orange where we are slower.
const STEPS: [(&str, &str, f64, &str); 7] = [
    ("hm3", "tm3", 0.5, "< 0.5"),
    ("hm2", "tm2", 0.8, "< 0.8"),
    ("hm1", "tm1", 0.95, "< 0.95"),
    ("h0", "t0", 1.05, "even"),
    ("h1", "t1", 1.25, "> 1.05"),
    ("h2", "t2", 2.0, "> 1.25"),
    ("h3", "t3", f64::INFINITY, "> 2"),
];

const HEAD: f64 = 40.0;
const ROW: f64 = 30.0;
const WIDEST: f64 = 110.0;

impl Heat {
    pub fn draw(&self) -> Drawing {
        let left = self.rows.iter().map(|(name, _)| width_of(name)).fold(0.0, f64::max) + 16.0;
        let width = ((WIDTH - left - 6.0) / self.columns.len().max(1) as f64).min(WIDEST);
        let mut drawing = Drawing::new();
        for (column, i) in self.columns.iter().zip(0..) {
            let x = left + width * (f64::from(i) + 0.5);
            // A long name takes two lines.
            match column.split_once('_') {
                Some((first, second)) if width_of(column) > width - 6.0 => {
                    drawing.text("label", Anchor::Middle, (x, 15.0), &format!("{first}_"));
                    drawing.text("label", Anchor::Middle, (x, 31.0), second);
                }
                _ => drawing.text("label", Anchor::Middle, (x, 31.0), column),
            }
        }
        for ((name, cells), i) in self.rows.iter().zip(0..) {
            let y = HEAD + ROW * f64::from(i);
            drawing.text("label", Anchor::End, (left - 8.0, y + 19.5), name);
            for (cell, i) in cells.iter().zip(0..) {
                let x = left + width * f64::from(i);
                let Some(cell) = cell else {
                    drawing.text("tick", Anchor::Middle, (x + width / 2.0, y + 19.5), "–");
                    continue;
                };
                let (fill, text, ..) = step(cell.ratio);
                drawing.rect(fill, [x + 1.0, y + 1.0, width - 2.0, ROW - 2.0], &cell.title);
                drawing.text(
                    text,
                    Anchor::Middle,
                    (x + width / 2.0, y + 19.5),
                    &format!("{:.2}", cell.ratio),
                );
            }
        }
        drawing.height = legend(&mut drawing, HEAD + ROW * self.rows.len() as f64 + 10.0);
        drawing
    }
}

/// The steps, side by side. Says where it ends.
fn legend(drawing: &mut Drawing, y: f64) -> f64 {
    let width = (WIDTH - 16.0) / STEPS.len() as f64;
    for ((fill, text, _, name), i) in STEPS.iter().zip(0..) {
        let x = 8.0 + width * f64::from(i);
        drawing.rect(fill, [x, y, width, 18.0], "");
        drawing.text(text, Anchor::Middle, (x + width / 2.0, y + 13.0), name);
    }
    y + 24.0
}

fn step(ratio: f64) -> (&'static str, &'static str, f64, &'static str) {
    let found = STEPS.into_iter().find(|(_, _, end, _)| ratio < *end);
    found.unwrap_or(STEPS[STEPS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_the_colour_of_its_step() {
        let of = [0.1, 0.79, 0.9, 1.0, 1.1, 1.9, 40.0].map(|ratio| step(ratio).0);
        assert_eq!(of, ["hm3", "hm2", "hm1", "h0", "h1", "h2", "h3"]);
    }
}
