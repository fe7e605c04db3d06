//! A table of numbers, its cells coloured: ratios by how far they are from 1, shares by how near.

use super::svg::{Anchor, Drawing, WIDTH, width_of};

/// What is drawn.
pub struct Heat {
    /// What the rows are.
    pub corner: &'static str,
    pub columns: Vec<String>,
    pub rows: Vec<(String, Vec<Option<Cell>>)>,
    pub measure: Measure,
}

/// A cell.
pub struct Cell {
    pub value: f64,
    /// What a pointer over it shows.
    pub title: String,
}

/// What the numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The other's time by ours: above 1 ours is less.
    Ratio,
    /// A part of what can be had.
    Share,
}

/// Classes of a cell and of its text, what is below them, and what the legend says.
type Step = (&'static str, &'static str, f64, &'static str);

/// Blue is where we are faster, orange where we are slower.
const RATIOS: [Step; 7] = [
    ("hm3", "tm3", 0.5, "< 0.5"),
    ("hm2", "tm2", 0.8, "< 0.8"),
    ("hm1", "tm1", 0.95, "< 0.95"),
    ("h0", "t0", 1.05, "even"),
    ("h1", "t1", 1.25, "> 1.05"),
    ("h2", "t2", 2.0, "> 1.25"),
    ("h3", "t3", f64::INFINITY, "> 2"),
];

/// The more blue, the more is had.
const SHARES: [Step; 4] = [
    ("h0", "t0", 0.25, "< 25 %"),
    ("h1", "t1", 0.5, "< 50 %"),
    ("h2", "t2", 0.8, "< 80 %"),
    ("h3", "t3", f64::INFINITY, "≥ 80 %"),
];

impl Measure {
    fn steps(self) -> &'static [Step] {
        match self {
            Self::Ratio => &RATIOS,
            Self::Share => &SHARES,
        }
    }

    fn step(self, value: f64) -> &'static Step {
        let steps = self.steps();
        let found = steps.iter().find(|(_, _, end, _)| value < *end);
        found.unwrap_or(&steps[steps.len() - 1])
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Ratio if value < 9.995 => format!("{value:.2}"),
            Self::Ratio => format!("{value:.1}"),
            Self::Share => format!("{:.0} %", 100.0 * value),
        }
    }
}

const HEAD: f64 = 40.0;
const ROW: f64 = 30.0;
const WIDEST: f64 = 110.0;

impl Heat {
    pub fn draw(&self) -> Drawing {
        let rows: Vec<(Vec<&str>, &Vec<Option<Cell>>)> =
            self.rows.iter().map(|(name, cells)| (in_two(name), cells)).collect();
        let names = rows.iter().flat_map(|(name, _)| name).chain([&self.corner]);
        let left = names.map(|name| width_of(name)).fold(0.0, f64::max) + 16.0;
        let width = ((WIDTH - left - 6.0) / self.columns.len().max(1) as f64).min(WIDEST);
        let mut drawing = Drawing::new();
        drawing.text("axis", Anchor::End, (left - 8.0, 31.0), self.corner);
        self.heads(&mut drawing, left, width);
        for ((name, cells), i) in rows.into_iter().zip(0..) {
            let y = HEAD + ROW * f64::from(i);
            let first = if name.len() > 1 { y + 13.0 } else { y + 19.5 };
            for (line, i) in name.into_iter().zip(0..) {
                drawing.text("label", Anchor::End, (left - 8.0, first + 13.0 * f64::from(i)), line);
            }
            for (cell, i) in cells.iter().zip(0..) {
                let x = left + width * f64::from(i);
                let Some(cell) = cell else {
                    drawing.text("tick", Anchor::Middle, (x + width / 2.0, y + 19.5), "–");
                    continue;
                };
                let (fill, text, ..) = self.measure.step(cell.value);
                drawing.rect(fill, [x + 1.0, y + 1.0, width - 2.0, ROW - 2.0], &cell.title);
                let number = self.measure.text(cell.value);
                drawing.text(text, Anchor::Middle, (x + width / 2.0, y + 19.5), &number);
            }
        }
        drawing.height = self.legend(&mut drawing, HEAD + ROW * self.rows.len() as f64 + 10.0);
        drawing
    }

    /// Names of columns. One that is long takes two lines, or every other stands higher.
    fn heads(&self, drawing: &mut Drawing, left: f64, width: f64) {
        let is_wide = |name: &String| width_of(name) > width - 6.0;
        // Widths are guessed for a wide font: a name that is a little too long by them fits.
        let steps = self
            .columns
            .iter()
            .any(|name| !name.contains('_') && 0.85 * width_of(name) > width);
        for (column, i) in self.columns.iter().zip(0_u32..) {
            let x = left + width * (f64::from(i) + 0.5);
            match column.split_once('_') {
                Some((first, second)) if is_wide(column) && !steps => {
                    drawing.text("label", Anchor::Middle, (x, 15.0), &format!("{first}_"));
                    drawing.text("label", Anchor::Middle, (x, 31.0), second);
                }
                _ => {
                    let y = if steps && i.is_multiple_of(2) { 15.0 } else { 31.0 };
                    drawing.text("label", Anchor::Middle, (x, y), column);
                }
            }
        }
    }

    /// The steps, side by side. Says where it ends.
    fn legend(&self, drawing: &mut Drawing, y: f64) -> f64 {
        let steps = self.measure.steps();
        let width = (WIDTH - 16.0) / steps.len() as f64;
        for ((fill, text, _, name), i) in steps.iter().zip(0..) {
            let x = 8.0 + width * f64::from(i);
            drawing.rect(fill, [x, y, width, 18.0], "");
            drawing.text(text, Anchor::Middle, (x + width / 2.0, y + 13.0), name);
        }
        y + 24.0
    }
}

/// A name in one line, or in two where it is long.
fn in_two(name: &str) -> Vec<&str> {
    const LONG: usize = 18;
    let middle = |at: &usize| at.abs_diff(name.len() / 2);
    let spaces = name.match_indices(' ').map(|(at, _)| at);
    match spaces.min_by_key(middle) {
        Some(at) if name.chars().count() > LONG => vec![&name[..at], &name[at + 1..]],
        _ => vec![name],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_the_colour_of_its_step() {
        let of = [0.1, 0.79, 0.9, 1.0, 1.1, 1.9, 40.0].map(|ratio| Measure::Ratio.step(ratio).0);
        assert_eq!(of, ["hm3", "hm2", "hm1", "h0", "h1", "h2", "h3"]);
    }

    #[test]
    fn a_long_name_takes_two_lines() {
        assert_eq!(in_two("32768 × 256"), ["32768 × 256"]);
        assert_eq!(
            in_two("one huge among a million of 3"),
            ["one huge among", "a million of 3"]
        );
        assert_eq!(in_two("no-space-in-all-of-this"), ["no-space-in-all-of-this"]);
    }
}
