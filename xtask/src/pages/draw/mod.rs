//! Pictures: a small writer of SVG. Colours are of `colours.css`, strokes and sizes of text of the style that a picture comes with.

pub mod scale;

use std::fmt::Write;

use super::numbers::exponent;

/// Colours of everything that is drawn, on a light ground and on a dark one.
pub const COLOURS: &str = include_str!("colours.css");

/// The width of a chart, in its own units: narrow, so that text can be read on a telephone.
pub const WIDTH: f64 = 420.0;

/// The colour and the mark of who has none of their own: those of the series before it have.
pub const NOBODY: usize = 8;

/// Shapes of marks, by series: each has its own, for whom colours do not tell apart.
const SHAPES: [&str; NOBODY + 1] = [
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z",
    "M-3.5 -3.5H3.5V3.5H-3.5Z",
    "M0 -4.5L4.3 3.2H-4.3Z",
    "M0 -4.8L4.8 0L0 4.8L-4.8 0Z",
    "M0 4.5L4.3 -3.2H-4.3Z",
    "M-1.3 -4.5H1.3V-1.3H4.5V1.3H1.3V4.5H-1.3V1.3H-4.5V-1.3H-1.3Z",
    "M-4 -2H4V2H-4Z",
    "M-2 -4H2V4H-2Z",
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z",
];

/// What is drawn, without what is around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    width: f64,
    pub height: f64,
    body: String,
}

/// Where a text's coordinate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
    /// As the style says.
    Styled,
}

/// What stands for a series in a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A line with marks.
    Mark(usize),
    /// A shape by itself, in nobody's colour.
    Dot(usize),
    /// An area of a class.
    Fill(&'static str),
    /// A line of a class.
    Line(&'static str),
}

impl Sign {
    /// The class of its line or its area.
    pub fn class(&self) -> String {
        match self {
            Self::Mark(series) | Self::Dot(series) => format!("stroke s{series}"),
            Self::Fill(class) | Self::Line(class) => (*class).to_owned(),
        }
    }
}

/// A text that means itself in XML and in HTML, within an element or an attribute.
pub fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let text = text.replace('"', "&quot;").replace('\'', "&#39;");
    // XML has no other characters of control.
    text.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "\u{fffd}")
}

/// A text, its last digits raised where they are an exponent: fonts' own raised digits are too small to be read.
fn raised(text: &str) -> String {
    match exponent(text) {
        (_, none) if none.is_empty() => escape(text),
        (base, exponent) => format!("{}<tspan class=\"raised\" dy=\"-4\">{exponent}</tspan>", escape(base)),
    }
}

/// About how wide a label is, in a wide font.
pub fn width_of(text: &str) -> f64 {
    8.1 * text.chars().count() as f64
}

/// The widest of some labels.
pub fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> f64 {
    texts.map(width_of).fold(0.0, f64::max)
}

/// A coordinate of a path: a tenth of a pixel is all that is seen.
pub fn at(coordinate: f64) -> String {
    let text = format!("{:.1}", coordinate as f32);
    text.trim_end_matches(".0").to_owned()
}

/// What has a class, unless that is empty.
fn classed(name: &str, class: &str) -> String {
    match class {
        "" => name.to_owned(),
        class => format!("{name} class=\"{class}\""),
    }
}

impl Drawing {
    /// Nothing yet.
    pub fn new(width: f64) -> Self {
        let (height, body) = (0.0, String::new());
        Self { width, height, body }
    }

    /// An element; `title` is what a pointer over it shows.
    fn element(&mut self, name: &str, class: &str, attributes: &str, title: &str) {
        let (start, shown) = (classed(name, class), escape(title));
        let _ = match title {
            "" => writeln!(self.body, "<{start} {attributes}/>"),
            _ => writeln!(self.body, "<{start} {attributes}><title>{shown}</title></{name}>"),
        };
    }

    /// A rectangle.
    pub fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4], title: &str) {
        let attributes = format!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
        self.element("rect", class, &attributes, title);
    }

    /// A line.
    pub fn line(&mut self, class: &str, [x1, y1, x2, y2]: [f64; 4], title: &str) {
        let attributes = format!("x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"");
        self.element("line", class, &attributes, title);
    }

    /// A path.
    pub fn path(&mut self, class: &str, path: &str) {
        self.element("path", class, &format!("d=\"{path}\""), "");
    }

    /// A line through points.
    pub fn polyline(&mut self, class: &str, points: &[(f64, f64)], title: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.element("polyline", class, &format!("points=\"{}\"", points.join(" ")), title);
    }

    /// A line of text.
    pub fn text(&mut self, class: &str, anchor: Anchor, (x, y): (f64, f64), text: &str) {
        let anchor = match anchor {
            Anchor::Start => " text-anchor=\"start\"",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
            Anchor::Styled => "",
        };
        let (start, text) = (classed("text", class), raised(text));
        let _ = writeln!(self.body, "<{start}{anchor} x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    }

    /// What is drawn next, in a group of a class.
    pub fn group(&mut self, class: &str, draw: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.body, "<g class=\"{class}\">");
        draw(self);
        self.body += "</g>\n";
    }

    /// Lines of text below each other, in a group of a class that says where their coordinates are.
    pub fn lines<T: AsRef<str>>(&mut self, class: &str, (x, y): (f64, f64), pitch: f64, lines: &[T]) {
        self.group(class, |drawing| {
            for (line, i) in lines.iter().zip(0..) {
                drawing.text("", Anchor::Styled, (x, y + pitch * f64::from(i)), line.as_ref());
            }
        });
    }

    /// Boxes with round corners, of one size and of one colour; each has its upper edge's middle at a place.
    pub fn boxes(&mut self, class: &str, hue: u32, (width, height): (f64, f64), places: &[(f64, f64)]) {
        let (fill, stroke) = (format!("hsl({hue},70%,50%)"), format!("hsl({hue},70%,45%)"));
        let boxed = |(x, y): &(f64, f64)| {
            let (x, y) = (at(x - width / 2.0), at(*y));
            format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\"/>")
        };
        let boxes: String = places.iter().map(boxed).collect();
        let _ = writeln!(
            self.body,
            "<g class=\"{class}\" fill=\"{fill}\" stroke=\"{stroke}\">{boxes}</g>"
        );
    }

    /// Grid lines of an axis that lies above, from the top to the bottom of what is drawn, with a tick's text at `y`.
    pub fn grid(&mut self, ticks: impl Iterator<Item = (f64, String)>, y: f64, [top, bottom]: [f64; 2]) {
        for (x, text) in ticks {
            self.line("grid", [x, top, x, bottom], "");
            self.text("tick", Anchor::Middle, (x, y), &text);
        }
    }

    /// A mark: the shape of one series in the colour of another, most often the same.
    pub fn mark(&mut self, [shape, series]: [usize; 2], (x, y): (f64, f64), title: &str) {
        let path = SHAPES[shape.min(NOBODY)];
        let attributes = format!("transform=\"translate({x:.1} {y:.1})\" d=\"{path}\"");
        self.element("path", &format!("mark s{series}"), &attributes, title);
    }

    /// Signs and names, in as many lines as they need. Says where it ends.
    pub fn legend(&mut self, items: &[(Sign, &str)], mut y: f64) -> f64 {
        let mut x = 8.0;
        for (sign, name) in items {
            let width = 24.0 + width_of(name) + 10.0;
            if x + width > self.width && x > 8.0 {
                (x, y) = (8.0, y + 20.0);
            }
            match sign {
                Sign::Mark(_) | Sign::Line(_) => self.line(&sign.class(), [x, y, x + 18.0, y], ""),
                Sign::Fill(class) => self.rect(class, [x + 2.0, y - 6.0, 14.0, 12.0], ""),
                Sign::Dot(shape) => self.mark([*shape, NOBODY], (x + 9.0, y), ""),
            }
            if let Sign::Mark(series) = *sign {
                self.mark([series; 2], (x + 9.0, y), "");
            }
            self.text("label", Anchor::Start, (x + 23.0, y + 4.0), name);
            x += width;
        }
        y + 14.0
    }

    /// The element: what it is called by, how high it is, and what is in it.
    fn svg(&self, start: &str, height: f64, called: &str, inside: &str) -> String {
        let (width, height) = (self.width, at(height));
        format!("<{start} viewBox=\"0 0 {width} {height}\" role=\"img\" {called}>\n{inside}</svg>\n")
    }

    /// As an element of a page, which has rules for its class.
    pub fn inline(&self, class: &str, label: &str) -> String {
        let called = format!("aria-label=\"{}\"", escape(label));
        self.svg(&classed("svg", class), self.height, &called, &self.body)
    }

    /// As a file of its own: with its style, and a ground of a class.
    pub fn file(&self, class: &str, title: &str, style: &str, ground: &str) -> String {
        let (start, Self { width, height, body }) = (classed(FILE, class), self);
        let title = escape(title);
        let inside = format!(
            "<title id=\"title\">{title}</title>\n<style>\n{COLOURS}{style}</style>\n\
             <rect class=\"{ground}\" width=\"{width}\" height=\"{height}\"/>\n{body}"
        );
        self.svg(&start, *height, "aria-labelledby=\"title\"", &inside)
    }

    /// As a file of its own: with a ground, its style, what it is and where it is from.
    pub fn chart_file(&self, [title, label, source]: [&str; 3], style: &str) -> String {
        const ABOVE: f64 = 34.0;
        let height = self.height + ABOVE + 26.0;
        let mut around = Self::new(self.width);
        around.rect("ground", [0.0, 0.0, self.width, height], "");
        around.text("title", Anchor::Start, (8.0, 22.0), title);
        around.text("source", Anchor::Start, (8.0, height - 9.0), source);
        let (above, body) = (around.body, &self.body);
        let inside = format!("{above}<g transform=\"translate(0 {ABOVE})\">\n{body}</g>\n");
        let inside = format!("<style>\n{COLOURS}{style}</style>\n{inside}");
        let called = format!("aria-label=\"{}\"", escape(label));
        self.svg(&classed(FILE, "chart"), height, &called, &inside)
    }
}

/// The name of a file's element.
const FILE: &str = "svg xmlns=\"http://www.w3.org/2000/svg\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(
            escape("a<b & \"c\" > 'd'\u{7}"),
            "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39;\u{fffd}"
        );
        let mut drawing = Drawing::new(WIDTH);
        drawing.rect("bar", [0.0; 4], "1 < 2");
        drawing.text("label", Anchor::Start, (0.0, 0.0), "<script>");
        let page = drawing.inline("chart", "\"quoted\"");
        assert!(page.contains("<title>1 &lt; 2</title>") && page.contains(">&lt;script&gt;<"));
        assert_eq!(raised("2²⁸"), "2<tspan class=\"raised\" dy=\"-4\">28</tspan>");
        assert!(page.contains("aria-label=\"&quot;quoted&quot;\""));
    }

    #[test]
    fn a_legend_takes_the_lines_that_it_needs() {
        let mut drawing = Drawing::new(WIDTH);
        let short = drawing.legend(&[(Sign::Mark(0), "warpfold")], 10.0);
        let long = drawing.legend(&[(Sign::Mark(1), "a peer with a long name"); 5], 10.0);
        assert!(long > short + 30.0);
    }
}
