//! Marks on lines, by powers of ten: for values of which some are a million times others.

use super::Drawn;
use crate::{
    bench::records::Figure,
    pages::{
        draw::{Anchor, Drawing, Sign, WIDTH, scale::AxisScale, width_of},
        measured::{OWN, Of, once, series_of},
        numbers::{case, power_of_ten},
        table::Table,
    },
};

/// A chart of marks: a line for everybody.
pub struct DotChart {
    pub title: &'static str,
    pub says: &'static str,
    pub group: &'static str,
    pub metric: &'static str,
    pub axis: &'static str,
    /// What a mark on a line stands for, where there are several: each has a shape of its own.
    pub mark: fn(&Figure) -> &str,
    /// What a pointer over a mark shows.
    pub hover: fn(&Figure) -> String,
    pub table: fn(&[&Figure]) -> Table,
}

const ROW: f64 = 24.0;
const TOP: f64 = 42.0;

impl DotChart {
    /// Nothing where there are no figures.
    pub fn chart(&self, of: Of<'_>) -> Option<Drawn> {
        let figures: Vec<&Figure> = of.figures(self.group, self.metric).collect();
        let drawing = (!figures.is_empty()).then(|| self.draw(&figures))?;
        Some((
            self.title.to_owned(),
            self.says.to_owned(),
            drawing,
            (self.table)(&figures),
        ))
    }

    fn draw(&self, figures: &[&Figure]) -> Drawing {
        let names = once(figures.iter().map(|figure| &*figure.who));
        let marks = once(figures.iter().map(|figure| (self.mark)(figure)));
        // What is ours is bold.
        let width = |name: &&str| width_of(name) * if name.starts_with(OWN) { 1.1 } else { 1.0 };
        let left = names.iter().map(width).fold(0.0, f64::max).min(WIDTH * 0.45) + 14.0;
        let zeros = figures.iter().any(|figure| figure.value == 0.0);
        // 0 is no power: it has a place of its own, left of them.
        let (zero, start) = (left + 14.0, if zeros { left + 50.0 } else { left + 14.0 });
        let values = figures.iter().map(|figure| figure.value).filter(|value| *value > 0.0);
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let (least, most) = if least.is_finite() {
            (least, values.fold(0.0, f64::max))
        } else {
            (1.0, 10.0)
        };
        let scale = AxisScale::log(10.0, least, most, start, WIDTH - 26.0);
        let at = |value: f64| if value > 0.0 { scale.at(value) } else { zero };
        let bottom = TOP + ROW * names.len() as f64;
        let mut drawing = Drawing::new(WIDTH);
        drawing.text("axis", Anchor::End, (WIDTH - 8.0, 14.0), self.axis);
        let of_zero = zeros.then(|| (zero, power_of_ten(0.0)));
        drawing.grid(
            scale.labelled(power_of_ten).chain(of_zero),
            TOP - 10.0,
            [TOP - 4.0, bottom],
        );
        for (name, i) in names.into_iter().zip(0..) {
            let y = TOP + ROW * (f64::from(i) + 0.5);
            drawing.line("grid", [left, y, WIDTH - 14.0, y], "");
            let class = if name.starts_with(OWN) { "own" } else { "label" };
            drawing.text(class, Anchor::End, (left - 4.0, y + 4.5), name);
            for (shape, mark) in marks.iter().enumerate() {
                let is_its = |figure: &&&Figure| figure.who == name && (self.mark)(figure) == *mark;
                if let Some(figure) = figures.iter().find(is_its) {
                    // Side by side, where values are the same.
                    let aside = 6.0 * (shape as f64 - (marks.len() as f64 - 1.0) / 2.0);
                    drawing.mark(
                        [shape, series_of(name)],
                        (at(figure.value), y + aside),
                        &(self.hover)(figure),
                    );
                }
            }
        }
        let marks: Vec<String> = marks.into_iter().map(case).collect();
        let items: Vec<(Sign, &str)> = (0..).map(Sign::Dot).zip(marks.iter().map(String::as_str)).collect();
        drawing.height = if items.len() > 1 {
            drawing.legend(&items, bottom + 18.0)
        } else {
            bottom + 6.0
        };
        drawing
    }
}
