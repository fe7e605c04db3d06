//! Marks on lines, by powers of ten: for values of which some are a million times others.

use super::{
    chart::series_of,
    scale::{Scale, power_of_ten},
    svg::{Anchor, Drawing, Sign, WIDTH, width_of},
};

/// What is drawn.
pub struct Dots {
    pub axis: &'static str,
    /// What the marks are, in the order of a row's values; none where there is one.
    pub marks: Vec<String>,
    pub rows: Vec<Row>,
}

/// A line.
pub struct Row {
    pub name: String,
    /// Whether it is warpfold's.
    pub own: bool,
    pub values: Vec<Option<Dot>>,
}

/// A mark.
pub struct Dot {
    pub value: f64,
    /// What a pointer over it shows.
    pub title: String,
}

const ROW: f64 = 24.0;
const TOP: f64 = 42.0;

impl Dots {
    pub fn draw(&self) -> Drawing {
        let values = || {
            self.rows
                .iter()
                .flat_map(|row| row.values.iter().flatten())
                .map(|dot| dot.value)
        };
        // What is ours is bold.
        let width = |row: &Row| width_of(&row.name) * if row.own { 1.1 } else { 1.0 };
        let left = self.rows.iter().map(width).fold(0.0, f64::max).min(WIDTH * 0.45) + 14.0;
        let zeros = values().any(|value| value == 0.0);
        // 0 is no power: it has a place of its own, left of them.
        let zero = left + 14.0;
        let start = if zeros { left + 50.0 } else { left + 14.0 };
        let least = values().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let most = values().fold(0.0, f64::max);
        let (least, most) = if least.is_finite() { (least, most) } else { (1.0, 10.0) };
        let scale = Scale::log(10.0, least, most, start, WIDTH - 26.0);
        let at = |value: f64| if value > 0.0 { scale.at(value) } else { zero };
        let bottom = TOP + ROW * self.rows.len() as f64;
        let mut drawing = Drawing::new();
        drawing.text("axis", Anchor::End, (WIDTH - 8.0, 14.0), self.axis);
        for tick in scale.ticks().into_iter().chain(zeros.then_some(0.0)) {
            drawing.line("grid", [at(tick), TOP - 4.0, at(tick), bottom], "");
            drawing.text("tick", Anchor::Middle, (at(tick), TOP - 10.0), &power_of_ten(tick));
        }
        for (row, i) in self.rows.iter().zip(0..) {
            let y = TOP + ROW * (f64::from(i) + 0.5);
            drawing.line("grid", [left, y, WIDTH - 14.0, y], "");
            drawing.text(
                if row.own { "own" } else { "label" },
                Anchor::End,
                (left - 4.0, y + 4.5),
                &row.name,
            );
            for ((dot, mark), place) in row.values.iter().zip(MARKS).zip(0..) {
                if let Some(dot) = dot {
                    // Side by side, where values are the same.
                    let aside = 6.0 * (f64::from(place) - (row.values.len() as f64 - 1.0) / 2.0);
                    drawing.shape(mark, series_of(&row.name), (at(dot.value), y + aside), &dot.title);
                }
            }
        }
        drawing.height = bottom + 6.0;
        if self.marks.len() > 1 {
            let items: Vec<(Sign, &str)> = MARKS
                .into_iter()
                .zip(&self.marks)
                .map(|(mark, name)| (Sign::Dot(mark), &**name))
                .collect();
            drawing.height = drawing.legend(&items, bottom + 18.0);
        }
        drawing
    }
}

/// Shapes of a row's marks; their colour is the row's.
const MARKS: [usize; 4] = [0, 1, 2, 3];
