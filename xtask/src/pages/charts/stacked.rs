//! Bars of parts: where the time of a sum goes.

use anyhow::{Context, Result};
use warpfold_kernels::ladder::sum::stages::STAGES;

use super::Drawn;
use crate::{
    bench::records::Figure,
    pages::{
        draw::{Anchor, Drawing, Sign, WIDTH, scale::AxisScale, widest},
        measured::{Of, once},
        numbers::{case, percent, short, us},
        table::{Cell, Items},
    },
};

/// A bar: a length, the time in all, that of each stage, and how long a model says that it is.
type Parts = (String, f64, [f64; STAGES.len()], Option<f64>);

/// Classes of the parts: no colours of a series, and each lighter than the one before.
const FILLS: [&str; STAGES.len()] = ["fill p0", "fill p1", "fill p2", "fill p3", "fill p4"];

const MODEL: &str = "bytes ÷ peak";
const TITLE: &str = "Where the time of a sum goes";
const SAYS: &str = "Shares of the time of a sum of so many f32, by stage: differences of the times of a kernel that stops behind each. \
                    The thin bar is the model: bytes by the peak bandwidth. A difference below 0 is drawn as 0.";

/// The stages of sums of all lengths.
pub fn chart(of: Of<'_>) -> Result<Option<Drawn>> {
    let figures: Vec<&Figure> = of.figures("ladder", "us").filter(|f| f.op == "stages").collect();
    let lengths = once(figures.iter().map(|f| &*f.case)).into_iter();
    let rows = lengths.map(|length| parts(of, &figures, length));
    let rows: Vec<Parts> = rows.collect::<Result<_>>()?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut table = Items(&rows.iter().collect::<Vec<_>>()).columns(&[("elements", &|(name, ..)| name.clone())]);
    for (i, stage) in STAGES.iter().enumerate() {
        table.add(*stage, rows.iter().map(|(_, _, values, _)| format!("{:.2}", values[i])));
    }
    table.add("in all, µs", rows.iter().map(|(_, all, ..)| us(*all)));
    let model = |(.., model): &Parts| Cell::maybe(model.map(us));
    table.add("bytes ÷ peak, µs", rows.iter().map(model));
    Ok(Some((TITLE.to_owned(), SAYS.to_owned(), draw(&rows), table)))
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
    Ok((case(length), all, values, model))
}

/// What is drawn, and its sum: nothing is less than nothing.
fn drawn(values: &[f64; STAGES.len()]) -> ([f64; STAGES.len()], f64) {
    let drawn = values.map(|value| value.max(0.0));
    (drawn, drawn.iter().sum::<f64>().max(f64::MIN_POSITIVE))
}

/// Each fills the width, so that shares can be compared.
fn draw(rows: &[Parts]) -> Drawing {
    const PITCH: f64 = 27.0;
    const TOP: f64 = 24.0;
    let texts: Vec<String> = rows.iter().map(|(_, all, ..)| format!("{} µs", us(*all))).collect();
    let left = widest(rows.iter().map(|(name, ..)| &**name)).max(30.0) + 14.0;
    let right = WIDTH - 14.0 - widest(texts.iter().map(|text| &**text));
    // A model that is longer than what was measured lengthens the axis.
    let share = |(_, _, values, model): &Parts| model.map_or(0.0, |model| model / drawn(values).1);
    let scale = AxisScale::linear_to(rows.iter().map(share).fold(1.0, f64::max), left, right);
    let bottom = TOP + PITCH * rows.len() as f64;
    let mut drawing = Drawing::new(WIDTH);
    drawing.grid(scale.labelled(percent), 14.0, [TOP, bottom]);
    for ((row, text), i) in rows.iter().zip(texts).zip(0..) {
        draw_row(&mut drawing, scale, row, TOP + PITCH * f64::from(i));
        let y = TOP + PITCH * f64::from(i) + 15.0;
        drawing.text("label", Anchor::Start, (scale.at(1.0).max(left) + 6.0, y), &text);
    }
    let parts = FILLS.into_iter().zip(STAGES).chain([("model", MODEL)]);
    let items: Vec<(Sign, &str)> = parts.map(|(fill, part)| (Sign::Fill(fill), part)).collect();
    drawing.height = drawing.legend(&items, bottom + 18.0);
    drawing
}

fn draw_row(drawing: &mut Drawing, scale: AxisScale, (name, _, values, model): &Parts, y: f64) {
    let (left, (values, sum)) = (scale.at(0.0), drawn(values));
    drawing.text("label", Anchor::End, (left - 7.0, y + 15.0), name);
    let mut from = 0.0;
    for ((part, value), fill) in STAGES.iter().zip(values).zip(FILLS) {
        let (start, end) = (scale.at(from / sum), scale.at((from + value) / sum));
        if value > 0.0 {
            let title = format!("{name}, {part}: {} µs", short(value));
            drawing.rect(fill, [start, y + 3.0, end - start, 14.0], &title);
        }
        from += value;
    }
    if let Some(model) = model {
        let width = (scale.at(model / sum) - left).max(1.0);
        let title = format!("{name}, {MODEL}: {} µs", short(*model));
        drawing.rect("model", [left, y + 18.0, width, 4.0], &title);
    }
}
