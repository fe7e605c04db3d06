//! Tables of cells that are all made in one way: a row and a column say together which figure stands where they meet.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::tables::{count, from, markdown, times, us};
use crate::bench::records::{Figure, Record};

/// What a row or a column says of its cells. What one leaves open, the other says.
#[derive(Clone, Debug, Default)]
pub struct Line {
    head: String,
    group: &'static str,
    op: &'static str,
    dtype: &'static str,
    case: &'static str,
    show: Option<Show>,
}

/// What of a figure stands in a cell.
#[derive(Clone, Copy, Debug)]
pub enum Show {
    /// Microseconds, and in brackets the ratio where there is a peer.
    Us,
    /// GB/s, and in brackets the ratio where there is a peer.
    Speed,
    /// GB/s alone.
    PlainSpeed,
    /// A number of another metric, alone.
    Number(&'static str),
}

impl Show {
    fn metric(self) -> &'static str {
        match self {
            Self::Number(metric) => metric,
            Self::Us | Self::Speed | Self::PlainSpeed => "us",
        }
    }
}

impl Line {
    /// One that says nothing.
    pub fn headed(head: impl Into<String>) -> Self {
        Self {
            head: head.into(),
            ..Self::default()
        }
    }

    /// Of a case, under its own name.
    pub fn case(case: &'static str) -> Self {
        Self {
            case,
            ..Self::headed(named(case))
        }
    }

    /// Of an operation.
    pub fn op(head: &'static str, op: &'static str) -> Self {
        Self {
            op,
            ..Self::headed(head)
        }
    }

    /// Of a group, too.
    pub fn group(self, group: &'static str) -> Self {
        Self { group, ..self }
    }

    /// Of a type of elements, too.
    pub fn dtype(self, dtype: &'static str) -> Self {
        Self { dtype, ..self }
    }

    /// Of a case, too.
    pub fn at(self, case: &'static str) -> Self {
        Self { case, ..self }
    }

    /// Under another head.
    pub fn under(self, head: &'static str) -> Self {
        Self {
            head: head.to_owned(),
            ..self
        }
    }

    /// Shown in another way than the table's other cells.
    pub fn show(self, show: Show) -> Self {
        Self {
            show: Some(show),
            ..self
        }
    }

    /// Of a case, unless one is said already.
    pub fn at_least(self, case: &'static str) -> Self {
        if self.case.is_empty() { self.at(case) } else { self }
    }

    /// With something behind its head.
    pub fn suffixed(self, suffix: &str) -> Self {
        let head = self.head + suffix;
        Self { head, ..self }
    }

    /// The same of a type of elements.
    pub fn of_dtype(lines: Vec<Self>, dtype: &'static str) -> Vec<Self> {
        lines.into_iter().map(|line| line.dtype(dtype)).collect()
    }

    /// The same for types of elements, each named in the head.
    pub fn for_each(lines: &[Self], dtypes: &[&'static str]) -> Vec<Self> {
        let of = |dtype: &'static str| lines.iter().map(move |line| line.clone().named_dtype(dtype));
        dtypes.iter().copied().flat_map(of).collect()
    }

    fn named_dtype(self, dtype: &'static str) -> Self {
        let head = format!("{}, {dtype}", self.head);
        Self { head, dtype, ..self }
    }
}

/// A table.
#[derive(Clone, Debug)]
pub struct Grid {
    group: &'static str,
    show: Show,
    rows: Vec<Line>,
    columns: Vec<Line>,
}

impl Grid {
    /// Of a group, unless a row or a column is of another.
    pub fn of(group: &'static str, show: Show, rows: Vec<Line>, columns: Vec<Line>) -> Self {
        Self {
            group,
            show,
            rows,
            columns,
        }
    }

    /// What the cell is of: group, operation, type and case.
    fn key(&self, row: &Line, column: &Line) -> [&'static str; 4] {
        let said = |row: &'static str, column: &'static str| if row.is_empty() { column } else { row };
        let group = said(said(row.group, column.group), self.group);
        [
            group,
            said(row.op, column.op),
            said(row.dtype, column.dtype),
            said(row.case, column.case),
        ]
    }

    /// All that its cells are of, with the metric.
    #[cfg(test)]
    pub fn keys(&self) -> Vec<([&'static str; 4], &'static str)> {
        let cells = self
            .rows
            .iter()
            .flat_map(|row| self.columns.iter().map(move |column| (row, column)));
        cells
            .map(|(row, column)| (self.key(row, column), self.show(row, column).metric()))
            .collect()
    }

    fn show(&self, row: &Line, column: &Line) -> Show {
        row.show.or(column.show).unwrap_or(self.show)
    }

    fn ours<'a>(&self, record: &'a Record, row: &Line, column: &Line) -> Option<&'a Figure> {
        let [group, op, dtype, case] = self.key(row, column);
        let key = [group, op, dtype, case, "warpfold", self.show(row, column).metric()];
        record.figures.iter().find(|figure| figure.key() == key)
    }

    /// The newest record that has a figure of ours in each row and in each column.
    fn newest<'a>(&self, records: &'a [Record]) -> Result<&'a Record> {
        let found = records.iter().rev().find(|record| self.missing(record).is_none());
        found.with_context(|| {
            let last = records.iter().rev().find_map(|record| self.missing(record));
            format!(
                "no record has all of its rows and columns (the newest has none of: {}); `cargo xtask bench` makes one",
                last.unwrap_or_default()
            )
        })
    }

    /// What the first cell of a row or of a column is of, none of whose cells has a figure of ours.
    fn missing(&self, record: &Record) -> Option<String> {
        type Cells<'a> = Vec<(&'a Line, &'a Line)>;
        let cells_of_row = |row| -> Cells<'_> { self.columns.iter().map(|column| (row, column)).collect() };
        let cells_of_column = |column| -> Cells<'_> { self.rows.iter().map(|row| (row, column)).collect() };
        let rows = self.rows.iter().map(cells_of_row);
        let mut lines = rows.chain(self.columns.iter().map(cells_of_column));
        let is_empty = |cells: &Cells<'_>| {
            cells
                .iter()
                .all(|(row, column)| self.ours(record, row, column).is_none())
        };
        let cells = lines.find(is_empty)?;
        let (row, column) = cells.first()?;
        Some(self.key(row, column).join(", "))
    }

    /// The table, of the newest record that has its figures.
    pub fn make(&self, records: &[Record]) -> Result<String> {
        let record = self.newest(records)?;
        let cells_of = |row: &Line| -> Vec<_> {
            self.columns
                .iter()
                .map(|column| self.cell(record, row, column))
                .collect()
        };
        let cells: Vec<Vec<Option<Cell<'_>>>> = self.rows.iter().map(cells_of).collect();
        let peers: BTreeSet<&str> = cells.iter().flatten().flatten().filter_map(Cell::peer).collect();
        let mut says = from(record);
        match (peers.first(), peers.len()) {
            (None, _) => {}
            (Some(one), 1) => says += &format!(" In brackets: the time of the fastest peer, {one}, over ours."),
            (Some(_), _) => says += " In brackets: the fastest peer's time over ours, and who it is.",
        }
        let headed =
            |head: &str, texts: Vec<String>| -> Vec<String> { [head.to_owned()].into_iter().chain(texts).collect() };
        let heads = headed("", self.columns.iter().map(|line| line.head.clone()).collect());
        let text = |cell: &Option<Cell<'_>>| {
            cell.as_ref()
                .map_or_else(String::new, |cell| cell.text(peers.len() > 1))
        };
        let rows = self.rows.iter().zip(&cells);
        let rows: Vec<Vec<String>> = rows
            .map(|(line, cells)| headed(&line.head, cells.iter().map(text).collect()))
            .collect();
        Ok(markdown(&says, &heads, &rows))
    }

    fn cell<'a>(&self, record: &'a Record, row: &Line, column: &Line) -> Option<Cell<'a>> {
        let ours = self.ours(record, row, column)?;
        let [group, op, dtype, case] = self.key(row, column);
        // Peers are launched as their libraries do it, early too where those can.
        let early = op.strip_suffix(" early");
        let op = early.unwrap_or(op);
        let is_peers = |figure: &&Figure| {
            let [of_group, of_op, of_dtype, of_case, who, metric] = figure.key();
            let is_group = of_group == group || early.is_some() && of_group == "early";
            is_group && [of_op, of_dtype, of_case, metric] == [op, dtype, case, "us"] && who != "warpfold"
        };
        let show = self.show(row, column);
        let peers = record.figures.iter().filter(is_peers);
        let best = peers.min_by(|a, b| a.value.total_cmp(&b.value));
        let best = best.filter(|_| matches!(show, Show::Us | Show::Speed));
        Some(Cell { ours, best, show })
    }
}

/// What stands in a cell.
struct Cell<'a> {
    ours: &'a Figure,
    best: Option<&'a Figure>,
    show: Show,
}

impl<'a> Cell<'a> {
    fn peer(&self) -> Option<&'a str> {
        self.best.map(|figure| &*figure.who)
    }

    fn text(&self, is_named: bool) -> String {
        let ours = match self.show {
            Show::Us => us(self.ours.value),
            Show::Speed | Show::PlainSpeed => self.ours.gb_per_s().map_or_else(String::new, speed),
            Show::Number(_) => times(self.ours.value),
        };
        let Some(best) = self.best else {
            return ours;
        };
        let ratio = ratio(best.value / self.ours.value);
        let who = if is_named {
            format!(" {}", best.who)
        } else {
            String::new()
        };
        format!("{ours} ({ratio}{who})")
    }
}

/// Below 1 a peer is faster, which is bold.
fn ratio(ratio: f64) -> String {
    let text = times(ratio);
    if ratio < 0.995 { format!("**{text}**") } else { text }
}

/// GB/s.
fn speed(speed: f64) -> String {
    if speed < 100.0 {
        format!("{speed:.1}")
    } else {
        count(speed)
    }
}

/// A case as people write it: 2¹⁰, 32,768 × 256.
fn named(case: &str) -> String {
    let sizes: Option<Vec<f64>> = case.split('x').map(|size| size.parse().ok()).collect();
    match sizes {
        Some(sizes) => sizes.into_iter().map(count).collect::<Vec<_>>().join(" × "),
        None => super::site::case(case),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::records::tests::{figure, record};

    fn grid() -> Grid {
        let column = |show| Line::op("sum", "sum").dtype("f32").show(show);
        let columns = vec![
            column(Show::Us),
            column(Show::Speed),
            column(Show::Number("share")).under("share"),
        ];
        Grid::of("whole", Show::Us, vec![Line::case("2^10"), Line::case("2^20")], columns)
    }

    #[test]
    fn a_cell_has_our_figure_and_the_fastest_peers_ratio() {
        let mut figures = vec![figure("warpfold", "2^10", 2.0), figure("warpfold", "2^20", 40.0)];
        let mut share = figure("warpfold", "2^20", 0.5);
        share.metric = "share".into();
        figures.push(share);
        figures.extend([
            figure("CUB", "2^10", 1.0),
            figure("PyTorch", "2^10", 1.5),
            figure("CUB", "2^20", 50.0),
        ]);
        let whole = record("2026-11-27T01:02:03Z", "GPU", figures);
        let made = grid().make(std::slice::from_ref(&whole)).unwrap();
        let expected = "Measured on 2026-11-27 at commit abc1234, on one GPU. In brackets: the time of the fastest peer, CUB, over ours.\n\n\
                        |  | sum | sum | share |\n|---|---|---|---|\n\
                        | 2¹⁰ | 2.00 (**0.50**) | 2,000 (**0.50**) |  |\n\
                        | 2²⁰ | 40.00 (1.25) | 100 (1.25) | 0.50 |\n";
        assert_eq!(made, expected);
        let mut two = whole;
        two.figures.push(figure("Triton", "2^20", 45.0));
        assert!(grid().make(&[two]).unwrap().contains("40.00 (1.12 Triton)"));
    }

    #[test]
    fn a_record_that_lacks_a_row_is_passed_over() {
        let mut share = figure("warpfold", "2^20", 0.5);
        share.metric = "share".into();
        let all = vec![figure("warpfold", "2^10", 2.0), figure("warpfold", "2^20", 40.0), share];
        let older = record("2026-11-26T01:02:03Z", "older", all.clone());
        let newer = record("2026-11-27T01:02:03Z", "newer", all[1..].to_vec());
        assert!(grid().make(&[older, newer.clone()]).unwrap().contains("on one older."));
        let error = format!("{:#}", grid().make(&[newer]).unwrap_err());
        assert!(
            error.contains("no record has") && error.contains("whole, sum, f32, 2^10"),
            "{error}"
        );
    }

    #[test]
    fn cases_read_as_people_write_them() {
        let of = ["2^28", "32768x256", "1000", "1..2047", "12 layers of 768"].map(named);
        assert_eq!(of, ["2²⁸", "32,768 × 256", "1,000", "1..2047", "12 layers of 768"]);
    }
}
