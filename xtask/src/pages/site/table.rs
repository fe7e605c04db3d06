//! Tables of a page.

use super::svg::escape;

/// Heads, and rows of which the first cell names the row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    text: String,
    /// Why there is no number.
    missing: Option<String>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, missing: None }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    /// In place of a number.
    pub fn missing(text: &str, why: &str) -> Self {
        let missing = Some(why.to_owned());
        Self {
            text: text.to_owned(),
            missing,
        }
    }

    /// Nothing, which is no lack.
    pub fn none() -> Self {
        Self::missing("–", "")
    }

    fn html(&self) -> String {
        let text = escape(&self.text);
        match self.missing.as_deref() {
            None => text,
            Some("") => format!("<span class=\"missing\">{text}</span>"),
            Some(why) => format!("<span class=\"missing\" title=\"{}\">{text}</span>", escape(why)),
        }
    }
}

impl Table {
    /// With a column of numbers for each head but the first.
    pub fn new<T: Into<String>>(heads: impl IntoIterator<Item = T>) -> Self {
        let heads = heads.into_iter().map(Into::into).collect();
        Self { heads, rows: vec![] }
    }

    /// In a box of its own, which scrolls where the page is narrower.
    pub fn html(&self, caption: &str) -> String {
        let heads = self
            .heads
            .iter()
            .map(|head| format!("<th scope=\"col\">{}</th>", escape(head)));
        let mut html = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<tr>{}</tr>\n",
            escape(caption),
            heads.collect::<String>()
        );
        for row in &self.rows {
            let mut cells = row.iter().map(Cell::html);
            let name = cells.next().unwrap_or_default();
            let rest: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
            html += &format!("<tr><th scope=\"row\">{name}</th>{rest}</tr>\n");
        }
        html + "</table></div>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_escapes_its_texts() {
        let mut table = Table::new(["a < b", "CUB"]);
        table
            .rows
            .push(vec!["1 & 2".into(), Cell::missing("failed", "\"NaN\"")]);
        let html = table.html("x");
        assert!(
            html.contains("<th scope=\"col\">a &lt; b</th>") && html.contains("1 &amp; 2"),
            "{html}"
        );
        assert!(html.contains("title=\"&quot;NaN&quot;\">failed<"), "{html}");
    }
}
