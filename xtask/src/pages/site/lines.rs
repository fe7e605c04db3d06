//! A line for each series over sizes, both axes by powers, beneath ceilings.

use super::{
    scale::{Scale, power_of_two, short},
    svg::{Anchor, Drawing, Sign, WIDTH},
};

/// What is drawn.
pub struct Lines {
    pub series: Vec<Series>,
    /// Ratios at the same places, drawn beneath.
    pub ratios: Vec<Series>,
    pub ceilings: Vec<Ceiling>,
    pub below: &'static str,
    pub beside: &'static str,
}

/// A line.
pub struct Series {
    pub name: String,
    /// Which colour and mark.
    pub number: usize,
    /// The class of a line without marks.
    pub dashes: Option<&'static str>,
    pub points: Vec<Point>,
}

/// A point of it.
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub title: String,
}

/// What no point should be above.
pub struct Ceiling {
    pub name: String,
    pub value: f64,
    pub class: &'static str,
}

const LEFT: f64 = 54.0;
const RIGHT: f64 = WIDTH - 12.0;
/// Top and bottom of the lines, and of the ratios beneath them.
const ABOVE: [f64; 2] = [24.0, 240.0];
const BENEATH: [f64; 2] = [282.0, 362.0];

impl Lines {
    pub fn draw(&self) -> Drawing {
        let mut drawing = Drawing::new();
        let points = self.series.iter().flat_map(|series| &series.points);
        let (first, last) = bounds(points.clone().map(|point| point.x));
        let x = Scale::log(2.0, first, last, LEFT + 10.0, RIGHT - 10.0);
        let ceilings = self.ceilings.iter().map(|ceiling| ceiling.value);
        let (least, most) = bounds(points.map(|point| point.y).chain(ceilings));
        let y = Scale::log(10.0, least, most, ABOVE[1], ABOVE[0]).up_to(1.2 * most);
        self.draw_axes(&mut drawing, x, y, self.beside, ABOVE);
        for ceiling in &self.ceilings {
            let (at, title) = (
                y.at(ceiling.value),
                format!("{}: {}", ceiling.name, short(ceiling.value)),
            );
            drawing.line(ceiling.class, [LEFT, at, RIGHT, at], &title);
        }
        draw_series(&mut drawing, &self.series, x, y);
        let bottom = if self.ratios.is_empty() { ABOVE[1] } else { BENEATH[1] };
        if !self.ratios.is_empty() {
            let (least, most) = bounds(
                self.ratios
                    .iter()
                    .flat_map(|series| &series.points)
                    .map(|point| point.y),
            );
            let y = Scale::log(2.0, least.min(0.7), most.max(1.5), BENEATH[1], BENEATH[0]);
            self.draw_axes(&mut drawing, x, y, "peer's time ÷ ours", BENEATH);
            drawing.line(
                "stroke s0",
                [LEFT, y.at(1.0), RIGHT, y.at(1.0)],
                "1: as fast as warpfold",
            );
            draw_series(&mut drawing, &self.ratios, x, y);
        }
        for tick in x.ticks() {
            drawing.text("tick", Anchor::Middle, (x.at(tick), bottom + 20.0), &power_of_two(tick));
        }
        drawing.text(
            "axis",
            Anchor::Middle,
            ((LEFT + RIGHT) / 2.0, bottom + 37.0),
            self.below,
        );
        let series = self.series.iter().map(|series| {
            (
                series.dashes.map_or(Sign::Mark(series.number), Sign::Line),
                &*series.name,
            )
        });
        let ceilings = self
            .ceilings
            .iter()
            .map(|ceiling| (Sign::Line(ceiling.class), &*ceiling.name));
        let items: Vec<(Sign, &str)> = series.chain(ceilings).collect();
        drawing.height = drawing.legend(&items, bottom + 57.0);
        drawing
    }

    fn draw_axes(&self, drawing: &mut Drawing, x: Scale, y: Scale, beside: &str, [top, bottom]: [f64; 2]) {
        drawing.text("axis", Anchor::Start, (8.0, top - 9.0), beside);
        for tick in y.ticks() {
            let at = y.at(tick);
            drawing.line("grid", [LEFT, at, RIGHT, at], "");
            drawing.text("tick", Anchor::End, (LEFT - 6.0, at + 4.0), &short(tick));
        }
        for tick in x.ticks() {
            drawing.line("base", [x.at(tick), bottom, x.at(tick), bottom + 4.0], "");
        }
        drawing.line("base", [LEFT, bottom, RIGHT, bottom], "");
    }
}

fn draw_series(drawing: &mut Drawing, series: &[Series], x: Scale, y: Scale) {
    // Ours last, so that it lies above the others.
    for series in series.iter().rev() {
        let at: Vec<(f64, f64)> = series
            .points
            .iter()
            .map(|point| (x.at(point.x), y.at(point.y)))
            .collect();
        let plain = format!("stroke s{}", series.number);
        drawing.polyline(series.dashes.unwrap_or(&plain), &at, &series.name);
        if series.dashes.is_some() {
            continue;
        }
        for (point, at) in series.points.iter().zip(at) {
            drawing.mark(series.number, at, &point.title);
        }
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
        (least.min(value), most.max(value))
    })
}
