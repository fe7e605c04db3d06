//! Horizontal bars, in groups where there are some; and bars of parts.

use super::{
    chart::{NOBODY, OWN, series},
    lines::Ceiling,
    scale::{Scale, short},
    svg::{Anchor, Drawing, Sign, WIDTH, width_of},
};

/// What is drawn.
pub struct Bars {
    pub groups: Vec<Group>,
    /// Of bars of one scale: what they are measured by. Groups without one have scales of their own, which their longest bar fills.
    pub axis: Option<&'static str>,
    pub ceilings: Vec<Ceiling>,
}

/// Bars beneath a name, which may be empty.
pub struct Group {
    pub name: String,
    pub bars: Vec<Bar>,
}

/// A bar.
pub struct Bar {
    pub name: String,
    pub value: f64,
    /// What stands at its end.
    pub text: String,
    /// Whether it is warpfold's.
    pub own: bool,
    /// What a pointer over it shows.
    pub title: String,
}

const ROW: f64 = 22.0;
const HEAD: f64 = 26.0;

impl Bars {
    pub fn draw(&self) -> Drawing {
        let bars = || self.groups.iter().flat_map(|group| &group.bars);
        let widest = |text: fn(&Bar) -> &str| bars().map(|bar| width_of(text(bar))).fold(0.0, f64::max);
        let left = (widest(|bar| &bar.name) + 14.0).min(WIDTH * 0.45);
        let right = WIDTH - 10.0 - widest(|bar| &bar.text);
        let heads = self.groups.iter().filter(|group| !group.name.is_empty()).count();
        let top = if self.axis.is_some() { 24.0 } else { 4.0 };
        let bottom = top + ROW * bars().count() as f64 + HEAD * heads as f64;
        let mut drawing = Drawing::new();
        let most = bars().map(|bar| bar.value).fold(0.0, f64::max);
        let most = self.ceilings.iter().map(|ceiling| ceiling.value).fold(most, f64::max);
        let shared = Scale::linear(most, left, right);
        if let Some(axis) = self.axis {
            drawing.text("axis", Anchor::Start, (8.0, 14.0), axis);
            for tick in shared.ticks() {
                let at = shared.at(tick);
                drawing.line("grid", [at, top, at, bottom], "");
                drawing.text("tick", Anchor::Middle, (at, 14.0), &short(tick));
            }
        }
        let mut y = top;
        for group in &self.groups {
            if !group.name.is_empty() {
                drawing.text("own", Anchor::Start, (8.0, y + 18.0), &group.name);
                y += HEAD;
            }
            let longest = group.bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
            let scale = if self.axis.is_some() {
                shared
            } else {
                Scale::linear_to(longest, left, right)
            };
            drawing.line("base", [left, y, left, y + ROW * group.bars.len() as f64], "");
            // Ceilings would cross a text at a bar's end.
            let column = (!self.ceilings.is_empty()).then_some(WIDTH - 8.0);
            for bar in &group.bars {
                bar.draw(&mut drawing, scale, (left, column), y);
                y += ROW;
            }
        }
        drawing.height = self.draw_ceilings(&mut drawing, shared, top, bottom);
        drawing
    }

    /// Says where they end.
    fn draw_ceilings(&self, drawing: &mut Drawing, scale: Scale, top: f64, bottom: f64) -> f64 {
        for ceiling in &self.ceilings {
            let at = scale.at(ceiling.value);
            drawing.line(
                ceiling.class,
                [at, top, at, bottom],
                &format!("{}: {}", ceiling.name, short(ceiling.value)),
            );
        }
        if self.ceilings.is_empty() {
            return bottom + 6.0;
        }
        let items: Vec<(Sign, &str)> = self
            .ceilings
            .iter()
            .map(|ceiling| (Sign::Line(ceiling.class), &*ceiling.name))
            .collect();
        drawing.legend(&items, bottom + 18.0)
    }
}

impl Bar {
    fn draw(&self, drawing: &mut Drawing, scale: Scale, (left, column): (f64, Option<f64>), y: f64) {
        let text = if self.own { "own" } else { "label" };
        let fill = match series(if self.own { OWN } else { &self.name }) {
            NOBODY => "bar".to_owned(),
            known => format!("fill s{known}"),
        };
        drawing.text(text, Anchor::End, (left - 7.0, y + 15.5), &self.name);
        // A bar that is there is seen.
        let end = scale.at(self.value).max(left + 1.5);
        drawing.rect(&fill, [left, y + 3.0, end - left, ROW - 6.0], &self.title);
        match column {
            Some(x) => drawing.text(text, Anchor::End, (x, y + 15.5), &self.text),
            None => drawing.text(text, Anchor::Start, (end + 5.0, y + 15.5), &self.text),
        }
    }
}

/// Bars of parts, each filling the width, so that shares can be compared; beneath each how long a model says that it is.
pub struct Stacked {
    pub parts: Vec<&'static str>,
    pub model: &'static str,
    pub rows: Vec<Parts>,
}

/// One of them.
pub struct Parts {
    pub name: String,
    pub values: Vec<f64>,
    pub model: Option<f64>,
    /// What stands at its end.
    pub text: String,
}

/// Classes of the parts: no colours of a series, and each lighter than the one before.
const FILLS: [&str; 5] = ["fill p0", "fill p1", "fill p2", "fill p3", "fill p4"];

impl Stacked {
    pub fn draw(&self) -> Drawing {
        const PITCH: f64 = 27.0;
        const TOP: f64 = 24.0;
        let widest = |text: fn(&Parts) -> &str| self.rows.iter().map(|row| width_of(text(row))).fold(0.0, f64::max);
        let (left, right) = (
            widest(|row| &row.name).max(30.0) + 14.0,
            WIDTH - 14.0 - widest(|row| &row.text),
        );
        // A model that is longer than what was measured lengthens the axis.
        let share = |row: &Parts| row.model.map_or(0.0, |model| model / row.sum());
        let scale = Scale::linear_to(self.rows.iter().map(share).fold(1.0, f64::max), left, right);
        let bottom = TOP + PITCH * self.rows.len() as f64;
        let mut drawing = Drawing::new();
        for tick in scale.ticks() {
            let at = scale.at(tick);
            drawing.line("grid", [at, TOP, at, bottom], "");
            drawing.text("tick", Anchor::Middle, (at, 14.0), &format!("{:.0} %", 100.0 * tick));
        }
        for (row, i) in self.rows.iter().zip(0..) {
            self.draw_row(&mut drawing, scale, row, TOP + PITCH * f64::from(i));
        }
        let mut items: Vec<(Sign, &str)> = FILLS
            .iter()
            .zip(&self.parts)
            .map(|(fill, part)| (Sign::Fill(fill), *part))
            .collect();
        items.push((Sign::Fill("model"), self.model));
        drawing.height = drawing.legend(&items, bottom + 18.0);
        drawing
    }

    fn draw_row(&self, drawing: &mut Drawing, scale: Scale, row: &Parts, y: f64) {
        let (left, sum) = (scale.at(0.0), row.sum());
        drawing.text("label", Anchor::End, (left - 7.0, y + 15.0), &row.name);
        let mut from = 0.0;
        for ((part, value), fill) in self.parts.iter().zip(&row.values).zip(FILLS) {
            let (start, end) = (scale.at(from / sum), scale.at((from + value) / sum));
            if *value > 0.0 {
                let title = format!("{}, {part}: {} µs", row.name, short(*value));
                drawing.rect(fill, [start, y + 3.0, end - start, 14.0], &title);
            }
            from += value;
        }
        if let Some(model) = row.model {
            let title = format!("{}, {}: {} µs", row.name, self.model, short(model));
            let width = (scale.at(model / sum) - left).max(1.0);
            drawing.rect("model", [left, y + 18.0, width, 4.0], &title);
        }
        drawing.text(
            "label",
            Anchor::Start,
            (scale.at(1.0).max(left) + 6.0, y + 15.0),
            &row.text,
        );
    }
}

impl Parts {
    fn sum(&self) -> f64 {
        self.values.iter().sum::<f64>().max(f64::MIN_POSITIVE)
    }
}
