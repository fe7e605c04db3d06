//! Bars of parts: where the time of a sum goes.

use anyhow::{Context, Result};
use warpfold_kernels::ladder::sum::stages::STAGES;

use super::Chart;
use crate::{
    bench::records::Figure,
    pages::{
        draw::{Anchor, Drawing, Sign, WIDTH, scale::Scale, widest},
        measured::{Of, once},
        numbers::{case, percent, short, us},
        table::{Cell, Table},
    },
};

/// A bar: a length, the time in all, that of each stage, and how long a model says that it is.
struct Parts {
    name: String,
    all: f64,
    values: [f64; STAGES.len()],
    model: Option<f64>,
}

/// Classes of the parts: no colours of a series, and each lighter than the one before.
const FILLS: [&str; STAGES.len()] = ["fill p0", "fill p1", "fill p2", "fill p3", "fill p4"];

const MODEL: &str = "bytes ÷ peak";
const SAYS: &str = "Shares of the time of a sum of so many f32, by stage: differences of the times of a kernel that stops behind each. \
                    The thin bar is the model: bytes by the peak bandwidth. A difference below 0 is drawn as 0.";

/// The stages of sums of all lengths.
pub fn chart(of: Of<'_>) -> Result<Option<Chart>> {
    let figures: Vec<&Figure> = of.figures("ladder", "us").filter(|f| f.op == "stages").collect();
    let lengths = once(figures.iter().map(|f| &*f.case)).into_iter();
    let rows = lengths.map(|length| parts(of, &figures, length));
    let rows: Vec<Parts> = rows.collect::<Result<_>>()?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut table = Table::of(
        &rows.iter().collect::<Vec<_>>(),
        &[("elements", &|row| row.name.clone())],
    );
    for (i, stage) in STAGES.iter().enumerate() {
        table.add(*stage, rows.iter().map(|row| format!("{:.2}", row.values[i])));
    }
    table.add("in all, µs", rows.iter().map(|row| us(row.all)));
    table.add(
        "bytes ÷ peak, µs",
        rows.iter().map(|row| Cell::maybe(row.model.map(us))),
    );
    Ok(Some(Chart::new(
        "Where the time of a sum goes",
        SAYS,
        draw(&rows),
        table,
    )))
}

/// What a sum of a length takes, in which each stage is what a kernel takes more that stops behind it.
fn parts(of: Of<'_>, figures: &[&Figure], length: &str) -> Result<Parts> {
    let (mut all, mut bytes, mut values) = (0.0, None, [0.0; STAGES.len()]);
    for (value, stage) in values.iter_mut().zip(STAGES) {
        let figure = figures.iter().find(|f| f.case == length && f.who == stage);
        let figure = figure.with_context(|| format!("ladder, stages of {length}: no {stage}"))?;
        *value = figure.value - all;
        (all, bytes) = (figure.value, figure.bytes);
    }
    let model = of.peak().zip(bytes).map(|(peak, bytes)| bytes as f64 / peak / 1e3);
    Ok(Parts {
        name: case(length),
        all,
        values,
        model,
    })
}

impl Parts {
    /// What is drawn: nothing is less than nothing.
    fn drawn(&self) -> [f64; STAGES.len()] {
        self.values.map(|value| value.max(0.0))
    }

    fn sum(&self) -> f64 {
        self.drawn().iter().sum::<f64>().max(f64::MIN_POSITIVE)
    }

    fn text(&self) -> String {
        format!("{} µs", us(self.all))
    }
}

/// Each fills the width, so that shares can be compared.
fn draw(rows: &[Parts]) -> Drawing {
    const PITCH: f64 = 27.0;
    const TOP: f64 = 24.0;
    let texts: Vec<String> = rows.iter().map(Parts::text).collect();
    let left = widest(rows.iter().map(|row| &*row.name)).max(30.0) + 14.0;
    let right = WIDTH - 14.0 - widest(texts.iter().map(|text| &**text));
    // A model that is longer than what was measured lengthens the axis.
    let share = |row: &Parts| row.model.map_or(0.0, |model| model / row.sum());
    let scale = Scale::linear_to(rows.iter().map(share).fold(1.0, f64::max), left, right);
    let bottom = TOP + PITCH * rows.len() as f64;
    let mut drawing = Drawing::new(WIDTH);
    drawing.grid(scale.labelled(percent), 14.0, [TOP, bottom]);
    for (row, i) in rows.iter().zip(0..) {
        draw_row(&mut drawing, scale, row, TOP + PITCH * f64::from(i));
    }
    let parts = FILLS.into_iter().zip(STAGES).chain([("model", MODEL)]);
    let items: Vec<(Sign, &str)> = parts.map(|(fill, part)| (Sign::Fill(fill), part)).collect();
    drawing.height = drawing.legend(&items, bottom + 18.0);
    drawing
}

fn draw_row(drawing: &mut Drawing, scale: Scale, row: &Parts, y: f64) {
    let (left, sum, name) = (scale.at(0.0), row.sum(), &row.name);
    drawing.text("label", Anchor::End, (left - 7.0, y + 15.0), name);
    let mut from = 0.0;
    for ((part, value), fill) in STAGES.iter().zip(row.drawn()).zip(FILLS) {
        let (start, end) = (scale.at(from / sum), scale.at((from + value) / sum));
        if value > 0.0 {
            drawing.rect(
                fill,
                [start, y + 3.0, end - start, 14.0],
                &format!("{name}, {part}: {} µs", short(value)),
            );
        }
        from += value;
    }
    if let Some(model) = row.model {
        let width = (scale.at(model / sum) - left).max(1.0);
        drawing.rect(
            "model",
            [left, y + 18.0, width, 4.0],
            &format!("{name}, {MODEL}: {} µs", short(model)),
        );
    }
    drawing.text(
        "label",
        Anchor::Start,
        (scale.at(1.0).max(left) + 6.0, y + 15.0),
        &row.text(),
    );
}
