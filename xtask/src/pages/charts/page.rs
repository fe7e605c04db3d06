//! The page around the charts.

use super::{Chart, STYLE, Section};
use crate::pages::{
    draw::{COLOURS, escape},
    fold,
};

const PAGE_STYLE: &str = include_str!("page.css");

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

impl Chart {
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
