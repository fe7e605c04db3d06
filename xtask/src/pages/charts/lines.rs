//! Bandwidth of an operation: a line for each series over lengths, both axes by powers, beneath ceilings.

use anyhow::Result;

use super::{Ceiling, Drawn, add_peers, ceilings, draw_ceilings};
use crate::{
    bench::records::Figure,
    pages::{
        draw::{Anchor, Drawing, Sign, WIDTH, scale::AxisScale},
        measured::{OWN, Of, ensure_bytes, gb_per_s, peers, series, what},
        numbers::{capital, power_of_two, short, times, us},
        table::Items,
    },
};

/// A point: where it is, and what a pointer over it shows.
type Point = (f64, f64, String);

/// A line: its name, what stands for it, and its points.
type Series = (String, Sign, Vec<Point>);

const SAYS: &str = "Bytes of the input by time; beneath, the peers' times by ours: above 1 warpfold is faster.";

/// Types beside f32 of which ours are drawn, and how.
const OTHERS: [(&str, &str); 2] = [("bf16", "stroke s0 dashed"), ("f64", "stroke s0 dotted")];

const LEFT: f64 = 54.0;
const RIGHT: f64 = WIDTH - 12.0;
/// Top and bottom of the lines, and of the ratios beneath them.
const ABOVE: [f64; 2] = [24.0, 240.0];
const BENEATH: [f64; 2] = [282.0, 362.0];

/// GB/s of an operation over whole arrays of f32; nothing where we have no times of it.
pub fn chart(of: Of<'_>, op: &str) -> Result<Option<Drawn>> {
    let lengths = lengths(of, op, "f32");
    if lengths.is_empty() {
        return Ok(None);
    }
    let ours: Vec<&Figure> = lengths.iter().map(|(figure, _)| *figure).collect();
    ensure_bytes(of.figures("whole", "us").filter(|figure| figure.op == op))?;
    let (mut speeds, mut ratios): (Vec<Series>, Vec<Series>) = (vec![], vec![]);
    for who in [OWN].iter().chain(peers("whole")) {
        let (mut their_speeds, mut their_ratios) = (vec![], vec![]);
        for (ours, x) in &lengths {
            let Some(figure) = of.figure(what(ours), who, "us") else {
                continue;
            };
            let (name, time) = (format!("{who}, {}", power_of_two(*x)), us(figure.value));
            let (speed, ratio) = (gb_per_s(figure), figure.value / ours.value);
            their_speeds.push((*x, speed, format!("{name}: {} GB/s, {time} µs", short(speed))));
            their_ratios.push((*x, ratio, format!("{name}: {} times warpfold's time", times(ratio))));
        }
        let sign = Sign::Mark(series(who));
        speeds.push(((*who).to_owned(), sign, their_speeds));
        ratios.extend((*who != OWN).then(|| ((*who).to_owned(), sign, their_ratios)));
    }
    for (dtype, dashes) in OTHERS {
        let point = |(ours, x)| (x, gb_per_s(ours), String::new());
        let points: Vec<Point> = self::lengths(of, op, dtype).into_iter().map(point).collect();
        let is_line = points.len() > 1;
        speeds.extend(is_line.then(|| (format!("{OWN}, {dtype}"), Sign::Line(dashes), points)));
    }
    speeds.retain(|(_, _, points)| !points.is_empty());
    ratios.retain(|(_, _, points)| !points.is_empty());
    let mut table = Items(&lengths).columns(&[
        ("elements", &|(_, length)| power_of_two(length)),
        ("warpfold, µs", &|(ours, _)| us(ours.value)),
        ("GB/s", &|(ours, _)| short(gb_per_s(ours))),
    ]);
    add_peers(&mut table, of, "whole", &ours);
    let title = format!("{} of f32: bandwidth by length", capital(op));
    Ok(Some((
        title,
        SAYS.to_owned(),
        draw(&speeds, &ratios, &ceilings(of)?),
        table,
    )))
}

/// Our times of lengths that are powers of two, the shortest first.
fn lengths<'a>(of: Of<'a>, op: &str, dtype: &str) -> Vec<(&'a Figure, f64)> {
    let is_ours = move |f: &&Figure| f.op == op && f.dtype == dtype && f.who == OWN;
    let ours = of.figures("whole", "us").filter(is_ours);
    let power = |figure: &'a Figure| Some((figure, figure.case.strip_prefix("2^")?.parse::<f64>().ok()?.exp2()));
    let mut lengths: Vec<(&Figure, f64)> = ours.filter_map(power).collect();
    lengths.sort_by(|a, b| a.1.total_cmp(&b.1));
    lengths
}

/// Speeds, and ratios at the same places beneath them.
fn draw(speeds: &[Series], ratios: &[Series], ceilings: &[Ceiling]) -> Drawing {
    let mut drawing = Drawing::new(WIDTH);
    let (first, last) = bounds(points(speeds).map(|(x, ..)| *x));
    let x = AxisScale::log(2.0, first, last, LEFT + 10.0, RIGHT - 10.0);
    let values = points(speeds).map(|(_, y, _)| *y);
    let (least, most) = bounds(values.chain(ceilings.iter().map(|(_, value, _)| *value)));
    let y = AxisScale::log(10.0, least, most, ABOVE[1], ABOVE[0]).up_to(1.2 * most);
    draw_axes(&mut drawing, x, y, "GB/s", ABOVE);
    draw_ceilings(&mut drawing, ceilings, y, |at| [LEFT, at, RIGHT, at]);
    draw_series(&mut drawing, speeds, x, y);
    let bottom = if ratios.is_empty() { ABOVE[1] } else { BENEATH[1] };
    if !ratios.is_empty() {
        let (least, most) = bounds(points(ratios).map(|(_, y, _)| *y));
        let y = AxisScale::log(2.0, least.min(0.7), most.max(1.5), BENEATH[1], BENEATH[0]);
        draw_axes(&mut drawing, x, y, "peer's time ÷ ours", BENEATH);
        let one = [LEFT, y.at(1.0), RIGHT, y.at(1.0)];
        drawing.line("stroke s0", one, "1: as fast as warpfold");
        draw_series(&mut drawing, ratios, x, y);
    }
    for (at, text) in x.labelled(power_of_two) {
        drawing.text("tick", Anchor::Middle, (at, bottom + 20.0), &text);
    }
    let middle = (LEFT + RIGHT) / 2.0;
    drawing.text("axis", Anchor::Middle, (middle, bottom + 37.0), "elements");
    let items = speeds.iter().map(|(name, sign, _)| (*sign, &**name));
    let items: Vec<(Sign, &str)> = items.chain(super::items(ceilings)).collect();
    drawing.height = drawing.legend(&items, bottom + 57.0);
    drawing
}

fn points(series: &[Series]) -> impl Iterator<Item = &Point> {
    series.iter().flat_map(|(_, _, points)| points)
}

fn draw_axes(drawing: &mut Drawing, x: AxisScale, y: AxisScale, beside: &str, [top, bottom]: [f64; 2]) {
    drawing.text("axis", Anchor::Start, (8.0, top - 9.0), beside);
    for (at, text) in y.labelled(short) {
        drawing.line("grid", [LEFT, at, RIGHT, at], "");
        drawing.text("tick", Anchor::End, (LEFT - 6.0, at + 4.0), &text);
    }
    for tick in x.ticks() {
        drawing.line("base", [x.at(tick), bottom, x.at(tick), bottom + 4.0], "");
    }
    drawing.line("base", [LEFT, bottom, RIGHT, bottom], "");
}

fn draw_series(drawing: &mut Drawing, series: &[Series], x: AxisScale, y: AxisScale) {
    // Ours last, so that it lies above the others.
    for (name, sign, points) in series.iter().rev() {
        let places: Vec<(f64, f64)> = points.iter().map(|(at, value, _)| (x.at(*at), y.at(*value))).collect();
        drawing.polyline(&sign.class(), &places, name);
        for ((_, _, hover), place) in points.iter().zip(places) {
            if let Sign::Mark(number) = *sign {
                drawing.mark([number; 2], place, hover);
            }
        }
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let wider = |(least, most): (f64, f64), value: f64| (least.min(value), most.max(value));
    values.fold((f64::INFINITY, 0.0), wider)
}
