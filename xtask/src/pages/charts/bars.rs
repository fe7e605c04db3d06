//! Horizontal bars, in groups where there are some.

use anyhow::Result;

use super::{Ceiling, Drawn, ceilings, draw_ceilings, items};
use crate::{
    bench::records::Figure,
    pages::{
        draw::{Anchor, Drawing, NOBODY, Sign, WIDTH, scale::AxisScale, width_of},
        measured::{OWN, Of, ensure_bytes, once, series},
        numbers::short,
        table::Table,
    },
};

/// A chart of bars, each of a figure.
pub struct BarChart {
    pub title: &'static str,
    pub says: &'static str,
    pub figures: for<'a> fn(Of<'a>) -> Vec<&'a Figure>,
    /// What it stands beneath with others, which may be empty.
    pub heading: fn(&Figure) -> String,
    pub name: fn(&Figure) -> String,
    pub value: fn(&Figure) -> f64,
    /// What stands at its end.
    pub text: fn(&Figure) -> String,
    /// What a pointer over it shows.
    pub hover: fn(&Figure) -> String,
    /// What bars of one scale are measured by. Groups without it have scales of their own, which their longest bar fills.
    pub axis: Option<&'static str>,
    pub table: fn(Of<'_>, &[&Figure]) -> Table,
}

/// Bars beneath a heading.
type Group<'a> = (String, Vec<&'a Figure>);

const ROW: f64 = 22.0;
const HEAD: f64 = 26.0;

impl BarChart {
    /// Nothing where there are no figures.
    pub fn chart(&self, of: Of<'_>) -> Result<Option<Drawn>> {
        let figures = (self.figures)(of);
        ensure_bytes(figures.iter().copied().filter(|figure| figure.metric == "us"))?;
        let headings: Vec<String> = figures.iter().map(|figure| (self.heading)(figure)).collect();
        let group = |heading: &str| -> Group<'_> {
            let of_heading = figures.iter().zip(&headings).filter(|(_, other)| *other == heading);
            (heading.to_owned(), of_heading.map(|(figure, _)| *figure).collect())
        };
        let names = once(headings.iter().map(String::as_str));
        let groups: Vec<Group<'_>> = names.into_iter().map(group).collect();
        if groups.is_empty() {
            return Ok(None);
        }
        let ceilings = if self.axis == Some("GB/s") {
            ceilings(of)?
        } else {
            vec![]
        };
        let (drawing, table) = (self.draw(&groups, &ceilings), (self.table)(of, &figures));
        Ok(Some((self.title.to_owned(), self.says.to_owned(), drawing, table)))
    }

    fn draw(&self, groups: &[Group<'_>], ceilings: &[Ceiling]) -> Drawing {
        let all = || groups.iter().flat_map(|(_, figures)| figures);
        let widest = |text: fn(&Figure) -> String| all().map(|figure| width_of(&text(figure))).fold(0.0, f64::max);
        let left = (widest(self.name) + 14.0).min(WIDTH * 0.45);
        let right = WIDTH - 10.0 - widest(self.text);
        let heads = groups.iter().filter(|(heading, _)| !heading.is_empty()).count();
        let top = if self.axis.is_some() { 24.0 } else { 4.0 };
        let bottom = top + ROW * all().count() as f64 + HEAD * heads as f64;
        let mut drawing = Drawing::new(WIDTH);
        let longest =
            |figures: &[&Figure], least| figures.iter().map(|figure| (self.value)(figure)).fold(least, f64::max);
        let most = ceilings.iter().map(|(_, value, _)| *value).fold(0.0, f64::max);
        let most = groups.iter().fold(most, |most, (_, figures)| longest(figures, most));
        let shared = AxisScale::linear(most, left, right);
        if let Some(axis) = self.axis {
            drawing.text("axis", Anchor::Start, (8.0, 14.0), axis);
            drawing.grid(shared.labelled(short), 14.0, [top, bottom]);
        }
        let mut y = top;
        // Ceilings would cross a text at a bar's end.
        let column = (!ceilings.is_empty()).then_some(WIDTH - 8.0);
        for (heading, figures) in groups {
            if !heading.is_empty() {
                drawing.text("own", Anchor::Start, (8.0, y + 18.0), heading);
                y += HEAD;
            }
            let own = AxisScale::linear_to(longest(figures, f64::MIN_POSITIVE), left, right);
            let scale = self.axis.map_or(own, |_| shared);
            drawing.line("base", [left, y, left, y + ROW * figures.len() as f64], "");
            for figure in figures {
                self.draw_bar(&mut drawing, figure, scale, (column, y));
                y += ROW;
            }
        }
        draw_ceilings(&mut drawing, ceilings, shared, |at| [at, top, at, bottom]);
        let items: Vec<(Sign, &str)> = items(ceilings).collect();
        drawing.height = if items.is_empty() {
            bottom + 6.0
        } else {
            drawing.legend(&items, bottom + 18.0)
        };
        drawing
    }

    fn draw_bar(&self, drawing: &mut Drawing, figure: &Figure, scale: AxisScale, (column, y): (Option<f64>, f64)) {
        let (left, name, is_own) = (scale.at(0.0), (self.name)(figure), figure.who == OWN);
        let class = if is_own { "own" } else { "label" };
        let fill = match series(if is_own { OWN } else { &name }) {
            NOBODY => "bar".to_owned(),
            known => format!("fill s{known}"),
        };
        drawing.text(class, Anchor::End, (left - 7.0, y + 15.5), &name);
        // A bar that is there is seen.
        let end = scale.at((self.value)(figure)).max(left + 1.5);
        drawing.rect(&fill, [left, y + 3.0, end - left, ROW - 6.0], &(self.hover)(figure));
        let (anchor, x) = column.map_or((Anchor::Start, end + 5.0), |x| (Anchor::End, x));
        drawing.text(class, anchor, (x, y + 15.5), &(self.text)(figure));
    }
}
