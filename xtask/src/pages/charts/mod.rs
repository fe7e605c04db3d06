//! The report: charts of the records, as one page that needs nothing else, and as pictures for the README and the pages beside it.

mod bars;
mod dots;
mod heat;
mod lines;
mod specs;
mod stacked;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result};

use super::{
    draw::{COLOURS, Drawing, Sign, escape, scale::AxisScale},
    fold,
    measured::{Of, ensure_bytes, gb_per_s, peers, what},
    numbers::{short, us},
    table::{Cell, Table},
};
use crate::bench::records::{Figure, Record};
use specs::{PASSED_OVER, subjects};

/// Strokes, fills and sizes of charts.
const STYLE: &str = include_str!("chart.css");

/// The same of the page.
const PAGE_STYLE: &str = include_str!("page.css");

/// A chart of a record: its title, how it is read in a sentence or two, what is drawn, and its table.
type Drawn = (String, String, Drawing, Table);

/// The same, with what its file is called, and the record's card, day and commit.
pub struct Chart {
    name: String,
    drawn: Drawn,
    source: String,
}

impl Chart {
    /// What it shows, for those who do not see it.
    fn label(&self) -> String {
        let (title, says, ..) = &self.drawn;
        format!("Chart: {title}. {says} {}.", self.source)
    }

    fn html(&self) -> String {
        let (title, says, drawing, table) = &self.drawn;
        format!(
            "<figure>\n<h3>{}</h3>\n<p class=\"says\">{}</p>\n{}<figcaption>{}</figcaption>\n\
             <details><summary>Table</summary>\n{}</details>\n</figure>\n",
            escape(title),
            escape(says),
            drawing.inline("chart", &self.label()),
            escape(&self.source),
            table.html(&format!("Table: {title}")),
        )
    }
}

/// Charts of one subject.
pub struct Section {
    title: &'static str,
    says: &'static str,
    charts: Vec<Chart>,
    /// Figures that no record has, so that their charts are left out.
    missing: Vec<&'static str>,
}

/// All sections, each chart of the newest record that has its figures.
pub fn sections(records: &[Record]) -> Result<Vec<Section>> {
    let mut sections = vec![];
    for (title, says, names) in subjects()? {
        let (mut charts, mut missing) = (vec![], vec![]);
        for name in names {
            match newest(records, name).with_context(|| format!("the chart of {name}"))? {
                Some(chart) => charts.push(chart),
                None if PASSED_OVER.contains(&title) => {}
                None => missing.push(name),
            }
        }
        if !(charts.is_empty() && missing.is_empty()) {
            sections.push(Section {
                title,
                says,
                charts,
                missing,
            });
        }
    }
    Ok(sections)
}

/// A chart of the newest record that has figures of it. What is measured on GPUs is never of a record without one.
fn newest(records: &[Record], name: &str) -> Result<Option<Chart>> {
    let is_taken = |record: &&Record| record.machine.gpu.is_some() || name.starts_with("cpu");
    for record in records.iter().rev().filter(is_taken) {
        let made = specs::chart(Of(record), name);
        let made = made.with_context(|| format!("the record of {} on {}", record.date, record.card()))?;
        if let Some(drawn) = made {
            let (name, source) = (name.replace(", ", "-"), Of(record).source());
            return Ok(Some(Chart { name, drawn, source }));
        }
    }
    Ok(None)
}

/// Each chart as a file: its name and its text.
pub fn pictures(sections: &[Section]) -> Vec<(String, String)> {
    let charts = sections.iter().flat_map(|section| &section.charts);
    let picture = |chart: &Chart| {
        let (title, _, drawing, _) = &chart.drawn;
        let texts = [&**title, &*chart.label(), &*chart.source];
        (format!("{}.svg", chart.name), drawing.chart_file(texts, STYLE))
    };
    charts.map(picture).collect()
}

/// The page. It reads without a network, without another file and without script; `fold` is the section of a fold.
pub fn page(sections: &[Section], fold: &str) -> String {
    let links = sections.iter().filter(|section| !section.charts.is_empty());
    let links = links.map(|section| (anchor(section.title), section.title));
    let links = links.chain([("fold".to_owned(), fold::TITLE)]);
    let links = links.map(|(anchor, title)| format!("<a href=\"#{anchor}\">{}</a>\n", escape(title)));
    let styles = [COLOURS, STYLE, PAGE_STYLE].into_iter().chain(fold::STYLES);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>warpfold: measurements</title>\n<style>\n{}</style>\n</head>\n<body>\n<header>\n\
         <h1>warpfold: measurements</h1>\n\
         <p>Reductions on a GPU, whose bits are a function of the input alone, beside other libraries. Every chart is made from one \
         dated record, the newest that has its figures, and names its card, day and commit. A table of the same figures stands \
         below each. <a href=\"#fold\">A fold, step by step</a>, ends the page.</p>\n<nav>\n{}</nav>\n</header>\n<main>\n{}{fold}</main>\n\
         </body>\n</html>\n",
        styles.collect::<String>(),
        links.collect::<String>(),
        sections.iter().map(Section::html).collect::<String>()
    )
}

/// What a heading is found by.
fn anchor(title: &str) -> String {
    title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

impl Section {
    fn html(&self) -> String {
        let charts: String = self.charts.iter().map(Chart::html).collect();
        let missing = match &self.missing[..] {
            [] => String::new(),
            missing => format!(
                "<p class=\"missing\">Left out, for no record has their figures: {}.</p>\n",
                escape(&missing.join("; "))
            ),
        };
        let anchor = anchor(self.title);
        format!(
            "<section aria-labelledby=\"{anchor}\">\n<h2 id=\"{anchor}\">{}</h2>\n<p>{}</p>\n<div class=\"charts\">\n{charts}</div>\n\
             {missing}</section>\n",
            escape(self.title),
            escape(self.says)
        )
    }
}

/// What nothing should be above: its name, its value and its class.
type Ceiling = (&'static str, f64, &'static str);

/// Lines, whose ends are those of a coordinate.
fn draw_ceilings(drawing: &mut Drawing, ceilings: &[Ceiling], scale: AxisScale, ends: impl Fn(f64) -> [f64; 4]) {
    for (name, value, class) in ceilings {
        drawing.line(class, ends(scale.at(*value)), &format!("{name}: {}", short(*value)));
    }
}

/// As items of a legend.
fn items(ceilings: &[Ceiling]) -> impl Iterator<Item = (Sign, &str)> {
    ceilings.iter().map(|(name, _, class)| (Sign::Line(class), *name))
}

/// The peak, and a plain read where it was measured.
fn ceilings(of: Of<'_>) -> Result<Vec<Ceiling>> {
    ensure_bytes(of.plain_read())?;
    let peak = of.peak().map(|peak| ("peak (clock × width)", peak, "ceiling"));
    let read = of.plain_read().map(gb_per_s);
    let read = read.map(|speed| ("plain read, measured", speed, "read"));
    Ok(peak.into_iter().chain(read).collect())
}

/// A column for each peer: its times of what figures of ours are of, or what there is in their place.
fn add_peers(table: &mut Table, of: Of<'_>, group: &str, ours: &[&Figure]) {
    for who in peers(group) {
        let cell = |ours: &&Figure| match (of.figure(what(ours), who, "us"), of.missing(what(ours), who)) {
            (Some(figure), _) => us(figure.value).into(),
            (None, Some((text, why))) => Cell::missing(text, why),
            (None, None) => Cell::maybe(None),
        };
        table.add(format!("{who}, µs"), ours.iter().map(cell));
    }
}
