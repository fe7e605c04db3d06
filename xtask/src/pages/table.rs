//! Tables: of the report in HTML, of the book's pages in Markdown.

use super::draw::escape;

/// Heads, and rows of which the first cell names the row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    text: String,
    /// Why there is no number.
    missing: Option<String>,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        let (text, missing) = (text.into(), None);
        Self { text, missing }
    }
}

impl Cell {
    /// In place of a number.
    pub fn missing(text: &str, why: &str) -> Self {
        let (text, missing) = (text.to_owned(), Some(why.to_owned()));
        Self { text, missing }
    }

    /// A text, or nothing, which is no lack.
    pub fn maybe(text: Option<String>) -> Self {
        text.map_or_else(|| Self::missing("–", ""), Self::from)
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

/// A column: its head, and what stands in it beside an item.
pub type Column<'a, T> = (&'a str, &'a dyn Fn(T) -> String);

/// What a table has a row for each of.
pub struct Items<'a, T>(pub &'a [T]);

impl<T: Copy> Items<'_, T> {
    /// The table of these columns.
    pub fn columns(self, columns: &[Column<'_, T>]) -> Table {
        let (heads, rows) = (vec![], vec![vec![]; self.0.len()]);
        let mut table = Table { heads, rows };
        for (head, text) in columns {
            table.add(*head, self.0.iter().map(|item| text(*item)));
        }
        table
    }
}

impl Table {
    /// One more column, a cell for each row.
    pub fn add(&mut self, head: impl Into<String>, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.heads.push(head.into());
        for (row, cell) in self.rows.iter_mut().zip(cells) {
            row.push(cell.into());
        }
    }

    /// A column for each name, in which the rows of other names have a cell, if there is something to say.
    pub fn add_all(
        &mut self,
        rows: &[&str],
        columns: &[&str],
        head: fn(&str) -> String,
        text: impl Fn(&str, &str) -> Option<String>,
    ) {
        for column in columns {
            self.add(head(column), rows.iter().map(|row| Cell::maybe(text(row, column))));
        }
    }

    /// In a box of its own, which scrolls where the page is narrower.
    pub fn html(&self, caption: &str) -> String {
        let head = |head: &String| format!("<th scope=\"col\">{}</th>", escape(head));
        let heads: String = self.heads.iter().map(head).collect();
        let row = |row: &Vec<Cell>| {
            let mut cells = row.iter().map(Cell::html);
            let name = cells.next().unwrap_or_default();
            let rest: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
            format!("<tr><th scope=\"row\">{name}</th>{rest}</tr>\n")
        };
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<tr>{heads}</tr>\n{}</table></div>\n",
            escape(caption),
            self.rows.iter().map(row).collect::<String>()
        )
    }

    /// Beneath a line of text.
    pub fn markdown(&self, says: &str) -> String {
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        let heads = line(self.heads.iter().map(String::as_str).collect());
        let row = |row: &Vec<Cell>| line(row.iter().map(|cell| &*cell.text).collect());
        let rows: String = self.rows.iter().map(row).collect();
        format!("{says}\n\n{heads}|{}\n{rows}", "---|".repeat(self.heads.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_escapes_its_texts() {
        let mut table = Items(&["1 & 2"]).columns(&[("a < b", &str::to_owned)]);
        table.add("CUB", [Cell::missing("failed", "\"NaN\"")]);
        let html = table.html("x");
        assert!(
            html.contains("<th scope=\"col\">a &lt; b</th>") && html.contains("1 &amp; 2"),
            "{html}"
        );
        assert!(html.contains("title=\"&quot;NaN&quot;\">failed<"), "{html}");
        assert_eq!(
            table.markdown("x"),
            "x\n\n| a < b | CUB |\n|---|---|\n| 1 & 2 | failed |\n"
        );
    }
}
