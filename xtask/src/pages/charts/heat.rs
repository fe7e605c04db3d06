//! Our speed by operation and shape: a table of numbers, its cells coloured. Ratios by how far they are from 1, shares by how near.

use super::{Drawn, add_peers};
use crate::{
    bench::records::Figure,
    pages::{
        draw::{Anchor, Drawing, WIDTH, widest, width_of},
        measured::{OWN, Of, PLAIN_READ, gb_per_s, once, what},
        numbers::{percent, shape, short, times, us},
        table::{Column, Items},
    },
};

/// What the numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The best peer's time by ours: above 1 ours is less.
    Ratio,
    /// A share of what can be had.
    Share,
}

/// Classes of a cell and of its text, what is below them, and what the legend says.
type Colour = (&'static str, &'static str, f64, &'static str);

/// Blue is where we are faster, orange where we are slower.
const RATIOS: [Colour; 7] = [
    ("hm3", "tm3", 0.5, "< 0.5"),
    ("hm2", "tm2", 0.8, "< 0.8"),
    ("hm1", "tm1", 0.95, "< 0.95"),
    ("h0", "t0", 1.05, "even"),
    ("h1", "t1", 1.25, "> 1.05"),
    ("h2", "t2", 2.0, "> 1.25"),
    ("h3", "t3", f64::INFINITY, "> 2"),
];

/// The more blue, the more is had.
const SHARES: [Colour; 4] = [
    ("h0", "t0", 0.25, "< 25 %"),
    ("h1", "t1", 0.5, "< 50 %"),
    ("h2", "t2", 0.8, "< 80 %"),
    ("h3", "t3", f64::INFINITY, "≥ 80 %"),
];

impl Measure {
    fn colours(self) -> &'static [Colour] {
        match self {
            Self::Ratio => &RATIOS,
            Self::Share => &SHARES,
        }
    }

    fn colour(self, value: f64) -> &'static Colour {
        let colours = self.colours();
        let found = colours.iter().find(|(_, _, end, _)| value < *end);
        found.unwrap_or(&colours[colours.len() - 1])
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Ratio if value < 9.995 => format!("{value:.2}"),
            Self::Ratio => format!("{value:.1}"),
            Self::Share => percent(value),
        }
    }
}

/// A cell: a figure of ours, its number, and what a pointer over it shows.
type Square<'a> = (&'a Figure, f64, String);

/// A group's cases of a type; nothing where none can be compared.
pub fn chart(of: Of<'_>, measure: Measure, group: &str, dtype: &str) -> Option<Drawn> {
    let (rows, title) = match group {
        "rows" => ("shape", "Rows"),
        "columns" => ("shape", "Columns"),
        "segments" => ("lengths", "Segments"),
        _ => ("shape", "Row operations"),
    };
    // What speeds are shares of: a plain read where the record has one, the peak where not.
    let read = of.plain_read().and_then(Figure::gb_per_s);
    let read = read.map(|speed| (PLAIN_READ, speed));
    let most = read.or_else(|| Some(("the peak", of.peak()?)));
    let ours = of.figures(group, "us").filter(|f| f.dtype == dtype && f.who == OWN);
    let compared = |ours: &'_ Figure| match measure {
        Measure::Ratio => ratio(of, ours),
        Measure::Share => share(ours, most?),
    };
    let square = |ours| {
        let (value, text) = compared(ours)?;
        Some((ours, value, format!("{} of {}: {text}", ours.op, shape(&ours.case))))
    };
    let squares: Vec<Square<'_>> = ours.filter_map(square).collect();
    let figures: Vec<&Figure> = squares.iter().map(|(ours, ..)| *ours).collect();
    let drawing = (!figures.is_empty()).then(|| draw(&squares, measure, rows))?;
    let columns: [Column<'_, &Figure>; 2] = [(rows, &|f| shape(&f.case)), ("operation", &|f| f.op.clone())];
    let mut table = Items(&figures).columns(&columns);
    let values = squares.iter().map(|(_, value, _)| *value);
    let (title, says) = match measure {
        Measure::Ratio => {
            table.add("warpfold, µs", figures.iter().map(|f| us(f.value)));
            add_peers(&mut table, of, group, &figures);
            table.add("best peer ÷ ours", values.map(times));
            let says = "The best peer's time by ours. Above 1 warpfold is faster (blue), below 1 slower (orange).";
            (format!("{title}, {dtype}: beside peers"), says.to_owned())
        }
        Measure::Share => {
            table.add("µs", figures.iter().map(|f| us(f.value)));
            table.add("GB/s", figures.iter().map(|f| short(gb_per_s(f))));
            table.add("share", values.map(percent));
            let (name, _) = most?;
            let says =
                format!("Bytes that are read and written, by time, as a share of the speed of {name}. More is better.");
            (format!("{title}, {dtype}: share of {name}"), says)
        }
    };
    Some((title, says, drawing, table))
}

/// The fastest peer's time by ours, and in words.
fn ratio(of: Of<'_>, ours: &Figure) -> Option<(f64, String)> {
    let is_peers = |f: &&Figure| f.metric == "us" && what(f) == what(ours) && f.who != OWN && f.who != PLAIN_READ;
    let best = of.fastest(is_peers)?;
    let (own, theirs, ratio) = (us(ours.value), us(best.value), best.value / ours.value);
    Some((
        ratio,
        format!("warpfold {own} µs, {} {theirs} µs, {} times", best.who, times(ratio)),
    ))
}

/// Our speed as a share of the most, and in words.
fn share(ours: &Figure, (name, most): (&str, f64)) -> Option<(f64, String)> {
    let speed = ours.gb_per_s()?;
    Some((
        speed / most,
        format!("{} GB/s, {} of {name}", short(speed), percent(speed / most)),
    ))
}

const HEAD: f64 = 40.0;
const ROW: f64 = 30.0;
const WIDEST: f64 = 110.0;

/// The cells; `corner` is what the rows are.
fn draw(squares: &[Square<'_>], measure: Measure, corner: &str) -> Drawing {
    let columns = once(squares.iter().map(|(ours, ..)| &*ours.op));
    let cases = once(squares.iter().map(|(ours, ..)| &*ours.case));
    let names: Vec<String> = cases.iter().map(|case| shape(case)).collect();
    let names: Vec<Vec<&str>> = names.iter().map(|name| in_two(name)).collect();
    let left = widest(names.iter().flatten().copied().chain([corner])) + 16.0;
    let width = ((WIDTH - left - 6.0) / columns.len() as f64).min(WIDEST);
    let mut drawing = Drawing::new(WIDTH);
    drawing.text("axis", Anchor::End, (left - 8.0, 31.0), corner);
    draw_heads(&mut drawing, &columns, left, width);
    for ((case, name), i) in cases.iter().zip(names).zip(0..) {
        let y = HEAD + ROW * f64::from(i);
        let first = if name.len() > 1 { y + 13.0 } else { y + 19.5 };
        for (line, i) in name.into_iter().zip(0..) {
            drawing.text("label", Anchor::End, (left - 8.0, first + 13.0 * f64::from(i)), line);
        }
        for (op, i) in columns.iter().zip(0..) {
            let x = left + width * f64::from(i);
            let middle = (x + width / 2.0, y + 19.5);
            let found = squares.iter().find(|(ours, ..)| ours.op == *op && ours.case == *case);
            let Some((_, value, hover)) = found else {
                drawing.text("tick", Anchor::Middle, middle, "–");
                continue;
            };
            let (fill, text, ..) = measure.colour(*value);
            drawing.rect(fill, [x + 1.0, y + 1.0, width - 2.0, ROW - 2.0], hover);
            drawing.text(text, Anchor::Middle, middle, &measure.text(*value));
        }
    }
    let (y, colours) = (HEAD + ROW * cases.len() as f64 + 10.0, measure.colours());
    let width = (WIDTH - 16.0) / colours.len() as f64;
    for ((fill, text, _, name), i) in colours.iter().zip(0..) {
        let x = 8.0 + width * f64::from(i);
        drawing.rect(fill, [x, y, width, 18.0], "");
        drawing.text(text, Anchor::Middle, (x + width / 2.0, y + 13.0), name);
    }
    drawing.height = y + 24.0;
    drawing
}

/// Names of columns. One that is long takes two lines, or every other stands higher.
fn draw_heads(drawing: &mut Drawing, columns: &[&str], left: f64, width: f64) {
    // Widths are guessed for a wide font: a name that is a little too long by them fits.
    let is_long = |name: &&str| !name.contains('_') && 0.85 * width_of(name) > width;
    let steps = columns.iter().any(is_long);
    for (column, i) in columns.iter().zip(0_u32..) {
        let x = left + width * (f64::from(i) + 0.5);
        match column.split_once('_') {
            Some((first, second)) if width_of(column) > width - 6.0 && !steps => {
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
        let of = [0.1, 0.79, 0.9, 1.0, 1.1, 1.9, 40.0].map(|ratio| Measure::Ratio.colour(ratio).0);
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
