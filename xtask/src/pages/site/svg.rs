//! A small writer of SVG. Colours and sizes of text are of `colours.css` and `chart.css`.

use std::fmt::Write;

use super::{chart::NOBODY, scale::RAISED};

/// The width of every drawing, in its own units: narrow, so that text can be read on a telephone.
pub const WIDTH: f64 = 420.0;

/// What a character takes at the size of labels, in a wide font.
const CHARACTER: f64 = 8.1;

/// What is drawn, without what is around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// Its height; the width is [`WIDTH`].
    pub height: f64,
    body: String,
}

/// Where a text's coordinate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A text that means itself in XML and in HTML, within an element or an attribute.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // XML has no other characters of control.
            control if control.is_control() && control != '\n' && control != '\t' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A text, its last digits raised where they are an exponent: fonts' own raised digits are too small to be read.
fn raised(text: &str) -> String {
    let digit = |c: char| {
        RAISED
            .iter()
            .position(|raised| *raised == c)
            .map(|digit| digit.to_string())
    };
    let digit = |c: char| digit(c).or_else(|| (c == '⁻').then(|| "−".to_owned()));
    let base = text.trim_end_matches(|c| digit(c).is_some());
    let exponent: String = text[base.len()..].chars().filter_map(digit).collect();
    match &*exponent {
        "" => escape(text),
        _ => format!("{}<tspan class=\"raised\" dy=\"-4\">{exponent}</tspan>", escape(base)),
    }
}

/// About how wide a label is.
pub fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

impl Drawing {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn element(&mut self, name: &str, class: &str, attributes: &str, title: &str) {
        let _ = match title {
            "" => writeln!(self.body, "<{name} class=\"{class}\" {attributes}/>"),
            title => writeln!(
                self.body,
                "<{name} class=\"{class}\" {attributes}><title>{}</title></{name}>",
                escape(title)
            ),
        };
    }

    /// A rectangle; `title` is what a pointer over it shows.
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
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            raised(text)
        );
    }

    /// The mark of a series: each has its own shape, for whom colours do not tell apart.
    pub fn mark(&mut self, series: usize, at: (f64, f64), title: &str) {
        self.shape(series, series, at, title);
    }

    /// The shape of one series in the colour of another.
    pub fn shape(&mut self, shape: usize, series: usize, (x, y): (f64, f64), title: &str) {
        let path = match shape {
            0 => "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z",
            1 => "M-3.5 -3.5H3.5V3.5H-3.5Z",
            2 => "M0 -4.5L4.3 3.2H-4.3Z",
            3 => "M0 -4.8L4.8 0L0 4.8L-4.8 0Z",
            4 => "M0 4.5L4.3 -3.2H-4.3Z",
            5 => "M-1.3 -4.5H1.3V-1.3H4.5V1.3H1.3V4.5H-1.3V1.3H-4.5V-1.3H-1.3Z",
            6 => "M-4 -2H4V2H-4Z",
            7 => "M-2 -4H2V4H-2Z",
            _ => "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z",
        };
        let attributes = format!("transform=\"translate({x:.1} {y:.1})\" d=\"{path}\"");
        self.element("path", &format!("mark s{series}"), &attributes, title);
    }

    /// Marks and names, in as many lines as they need. Says where it ends.
    pub fn legend(&mut self, items: &[(Sign, &str)], mut y: f64) -> f64 {
        let mut x = 8.0;
        for (sign, name) in items {
            let width = 24.0 + width_of(name) + 10.0;
            if x + width > WIDTH && x > 8.0 {
                (x, y) = (8.0, y + 20.0);
            }
            match sign {
                Sign::Mark(series) => {
                    self.line(&format!("stroke s{series}"), [x, y, x + 18.0, y], "");
                    self.mark(*series, (x + 9.0, y), "");
                }
                Sign::Dot(shape) => self.shape(*shape, NOBODY, (x + 9.0, y), ""),
                Sign::Fill(class) => self.rect(class, [x + 2.0, y - 6.0, 14.0, 12.0], ""),
                Sign::Line(class) => self.line(class, [x, y, x + 18.0, y], ""),
            }
            self.text("label", Anchor::Start, (x + 23.0, y + 4.0), name);
            x += width;
        }
        y + 14.0
    }

    /// As an element of a page.
    pub fn inline(&self, label: &str) -> String {
        format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
            self.height,
            escape(label),
            self.body
        )
    }

    /// As a file of its own: with a ground, its style, what it is and where it is from.
    pub fn file(&self, [title, label, source]: [&str; 3], style: &str) -> String {
        const ABOVE: f64 = 34.0;
        let height = self.height + ABOVE + 26.0;
        let mut around = Self::new();
        around.rect("ground", [0.0, 0.0, WIDTH, height], "");
        around.text("title", Anchor::Start, (8.0, 22.0), title);
        around.text("source", Anchor::Start, (8.0, height - 9.0), source);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
             aria-label=\"{}\">\n<style>\n{style}</style>\n{}<g transform=\"translate(0 {ABOVE})\">\n{}</g>\n</svg>\n",
            escape(label),
            around.body,
            self.body
        )
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(
            escape("a<b & \"c\" > 'd'\u{7}"),
            "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39;\u{fffd}"
        );
        let mut drawing = Drawing::new();
        drawing.rect("bar", [0.0; 4], "1 < 2");
        drawing.text("label", Anchor::Start, (0.0, 0.0), "<script>");
        let page = drawing.inline("\"quoted\"");
        assert!(page.contains("<title>1 &lt; 2</title>") && page.contains(">&lt;script&gt;<"));
        assert_eq!(raised("2²⁸"), "2<tspan class=\"raised\" dy=\"-4\">28</tspan>");
        assert!(page.contains("aria-label=\"&quot;quoted&quot;\""));
    }

    #[test]
    fn a_legend_takes_the_lines_that_it_needs() {
        let mut drawing = Drawing::new();
        let short = drawing.legend(&[(Sign::Mark(0), "warpfold")], 10.0);
        let long = drawing.legend(&[(Sign::Mark(1), "a peer with a long name"); 5], 10.0);
        assert!(long > short + 30.0);
    }
}
