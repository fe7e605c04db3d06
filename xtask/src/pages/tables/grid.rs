//! Tables that are grids: a row and a column say together which figure stands where they meet. `grids.json` says what they are.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::{
    bench::records::{Figure, Record},
    pages::{
        measured::{OWN, Of, What},
        numbers::{sizes, speed, times, us},
        table::Items,
    },
};

/// A table. What rows and columns leave open, it says itself; its name is its group, unless it says another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    own: Lines,
    rows: Vec<Lines>,
    columns: Vec<Lines>,
}

/// Rows or columns: one for each of what is listed, which their heads name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    head: Option<String>,
    show: Option<Show>,
    group: Option<Names>,
    op: Option<Names>,
    dtype: Option<Names>,
    case: Option<Names>,
}

/// One name, or several. In a list a head of its own stands in front of a name, with a colon.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Listed(Vec<String>),
}

/// What of a figure stands in a cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Show {
    /// Microseconds, and in brackets the ratio where there is a peer.
    Us,
    /// GB/s, and in brackets the ratio where there is a peer.
    Speed,
    /// GB/s alone.
    PlainSpeed,
    /// A number of another metric, alone.
    Number(String),
}

/// A row or a column: its head in parts, and what it says of its cells: group, operation, type and case.
#[derive(Clone, Default)]
struct Line {
    heads: Vec<String>,
    said: [String; 4],
    show: Option<Show>,
}

impl Lines {
    fn lines(&self) -> Vec<Line> {
        let mut line = Line::default();
        (line.heads, line.show) = (self.head.iter().cloned().collect(), self.show.clone());
        let mut lines = vec![line];
        for (names, place) in [(&self.group, 0), (&self.dtype, 2), (&self.op, 1), (&self.case, 3)] {
            match names {
                None => {}
                Some(Names::One(name)) => lines.iter_mut().for_each(|line| line.said[place].clone_from(name)),
                Some(Names::Listed(names)) => {
                    let each = |line: &Line| names.iter().map(|name| line.with(place, name)).collect::<Vec<_>>();
                    lines = lines.iter().flat_map(each).collect();
                }
            }
        }
        lines
    }
}

impl Line {
    /// The same of one of several, whose name is in the head.
    fn with(&self, place: usize, name: &str) -> Self {
        let (head, name) = match name.split_once(": ") {
            Some((head, name)) => (head.to_owned(), name),
            None => (sizes(name), name),
        };
        let mut line = self.clone();
        line.heads.insert(0, head);
        line.said[place] = name.to_owned();
        line
    }
}

/// A table, its rows and columns one by one.
pub struct Grid {
    own: Line,
    rows: Vec<Line>,
    columns: Vec<Line>,
}

/// Every grid by name.
pub fn all() -> Result<BTreeMap<String, Grid>> {
    parse(include_str!("grids.json"))
}

fn parse(text: &str) -> Result<BTreeMap<String, Grid>> {
    let specs: BTreeMap<String, Spec> = serde_json::from_str(text).context("the grids")?;
    let grid = |(name, spec): (String, Spec)| {
        let lines = |of: &[Lines]| of.iter().flat_map(Lines::lines).collect();
        let (rows, columns, mut own) = (lines(&spec.rows), lines(&spec.columns), spec.own.lines().remove(0));
        if own.said[0].is_empty() {
            own.said[0].clone_from(&name);
        }
        (name, Grid { own, rows, columns })
    };
    Ok(specs.into_iter().map(grid).collect())
}

/// What stands in a cell: our figure, the fastest peer, and the ratio of its time to ours.
type Compared<'a> = (String, Option<(&'a str, f64)>);

impl Grid {
    /// What a cell is of, and what of it is shown.
    fn key<'a>(&'a self, row: &'a Line, column: &'a Line) -> (What<'a>, &'a Show) {
        let lines = [row, column, &self.own];
        let said = |i: usize| {
            lines
                .into_iter()
                .map(|line| &*line.said[i])
                .find(|said| !said.is_empty())
        };
        let show = lines.into_iter().find_map(|line| line.show.as_ref());
        (
            [0, 1, 2, 3].map(|i| said(i).unwrap_or_default()),
            show.unwrap_or(&Show::Us),
        )
    }

    fn ours<'a>(&self, of: Of<'a>, row: &Line, column: &Line) -> Option<&'a Figure> {
        let (key, show) = self.key(row, column);
        of.figure(key, OWN, show.metric())
    }

    /// What the first cell of a row or of a column is of, none of whose cells has a figure of ours.
    fn missing(&self, of: Of<'_>) -> Option<String> {
        let is_there = |row: &Line, column: &Line| self.ours(of, row, column).is_some();
        let is_empty_row = |row: &&Line| !self.columns.iter().any(|column| is_there(row, column));
        let is_empty_column = |column: &&Line| !self.rows.iter().any(|row| is_there(row, column));
        let row = self.rows.iter().find(is_empty_row);
        let column = self.columns.iter().find(is_empty_column);
        let of_row = row.map(|row| (row, &self.columns[0]));
        let (row, column) = of_row.or_else(|| Some((&self.rows[0], column?)))?;
        Some(self.key(row, column).0.join(", "))
    }

    /// The newest record that has a figure of ours in each row and in each column.
    fn newest<'a>(&self, records: &'a [Record]) -> Result<Of<'a>> {
        let found = records.iter().rev().map(Of).find(|of| self.missing(*of).is_none());
        found.with_context(|| {
            let last = records.last().and_then(|record| self.missing(Of(record))).unwrap_or_default();
            format!(
                "no record has all of its rows and columns (the newest has none of: {last}); `cargo xtask bench` makes one"
            )
        })
    }

    /// The table, of the newest record that has its figures.
    pub fn make(&self, records: &[Record]) -> Result<String> {
        let of = self.newest(records)?;
        let column = |column| self.rows.iter().map(|row| self.cell(of, row, column)).collect();
        let columns: Vec<Vec<Option<Compared<'_>>>> = self.columns.iter().map(column).collect();
        let compared = columns.iter().flatten().flatten().filter_map(|(_, peer)| *peer);
        let peers: BTreeSet<&str> = compared.map(|(who, _)| who).collect();
        let brackets = match (peers.first(), peers.len()) {
            (None, _) => String::new(),
            (Some(one), 1) => format!(" In brackets: the time of the fastest peer, {one}, over ours."),
            (Some(_), _) => " In brackets: the fastest peer's time over ours, and who it is.".to_owned(),
        };
        let text = |(ours, peer): Compared<'_>| match peer {
            None => ours,
            Some((_, ratio)) if peers.len() == 1 => format!("{ours} ({})", bold(ratio)),
            Some((who, ratio)) => format!("{ours} ({} {who})", bold(ratio)),
        };
        let rows: Vec<&Line> = self.rows.iter().collect();
        let mut table = Items(&rows).columns(&[("", &|row| row.heads.join(", "))]);
        for (line, cells) in self.columns.iter().zip(columns) {
            let texts = cells.into_iter().map(|cell| cell.map_or_else(String::new, text));
            table.add(line.heads.join(", "), texts);
        }
        Ok(table.markdown(&(of.sentence() + &brackets)))
    }

    fn cell<'a>(&self, of: Of<'a>, row: &Line, column: &Line) -> Option<Compared<'a>> {
        let ours = self.ours(of, row, column)?;
        let (key, show) = self.key(row, column);
        let text = match show {
            Show::Us => us(ours.value),
            Show::Speed | Show::PlainSpeed => ours.gb_per_s().map_or_else(String::new, speed),
            Show::Number(_) => times(ours.value),
        };
        let best = fastest_peer(of, key).filter(|_| matches!(show, Show::Us | Show::Speed));
        Some((text, best.map(|best| (&*best.who, best.value / ours.value))))
    }
}

impl Show {
    fn metric(&self) -> &str {
        match self {
            Self::Number(metric) => metric,
            _ => "us",
        }
    }
}

/// Peers are launched as their libraries do it, early too where those can.
fn fastest_peer<'a>(of: Of<'a>, [group, op, dtype, case]: What<'_>) -> Option<&'a Figure> {
    let early = op.strip_suffix(" early");
    let is_peers = |figure: &&Figure| {
        let [of_group, of_op, of_dtype, of_case, who, metric] = figure.key();
        let is_group = of_group == group || early.is_some() && of_group == "early";
        is_group && [of_op, of_dtype, of_case, metric] == [early.unwrap_or(op), dtype, case, "us"] && who != OWN
    };
    of.fastest(is_peers)
}

/// A ratio: bold below 1, where a peer is faster.
fn bold(ratio: f64) -> String {
    let text = times(ratio);
    if ratio < 0.995 { format!("**{text}**") } else { text }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;
    use crate::{
        bench::records::tests::{figure, record},
        pages::measured::tests::figure_of,
    };

    fn grid() -> Grid {
        let text = r#"{"whole": {"own": {"show": "us", "dtype": "f32"},
            "rows": [{"case": ["2^10", "2^20"]}],
            "columns": [{"op": ["sum"]}, {"op": ["sum"], "show": "speed"}, {"head": "share", "op": "sum", "show": {"number": "share"}}]}}"#;
        parse(text).unwrap().remove("whole").unwrap()
    }

    fn figures() -> Vec<Figure> {
        let share = figure_of(["whole", "sum", "f32", "2^20", OWN, "share"], 0.5);
        vec![figure(OWN, "2^10", 2.0), figure(OWN, "2^20", 40.0), share]
    }

    #[test]
    fn a_cell_has_our_figure_and_the_fastest_peers_ratio() {
        let peers = [("CUB", "2^10", 1.0), ("PyTorch", "2^10", 1.5), ("CUB", "2^20", 50.0)];
        let figures = [figures(), peers.map(|(who, case, us)| figure(who, case, us)).into()].concat();
        let mut whole = record("2026-11-27T01:02:03Z", "GPU", figures);
        let made = grid().make(slice::from_ref(&whole)).unwrap();
        let expected = "Measured on 2026-11-27 at commit abc1234, on one GPU. In brackets: the time of the fastest peer, CUB, over ours.\n\n\
                        |  | sum | sum | share |\n|---|---|---|---|\n\
                        | 2¹⁰ | 2.00 (**0.50**) | 2,000 (**0.50**) |  |\n\
                        | 2²⁰ | 40.00 (1.25) | 100 (1.25) | 0.50 |\n";
        assert_eq!(made, expected);
        whole.figures.push(figure("Triton", "2^20", 45.0));
        assert!(grid().make(&[whole]).unwrap().contains("40.00 (1.12 Triton)"));
    }

    #[test]
    fn a_record_that_lacks_a_row_is_passed_over() {
        let older = record("2026-11-26T01:02:03Z", "older", figures());
        let newer = record("2026-11-27T01:02:03Z", "newer", figures()[1..].to_vec());
        assert!(grid().make(&[older, newer.clone()]).unwrap().contains("on one older."));
        let error = format!("{:#}", grid().make(&[newer]).unwrap_err());
        assert!(
            error.contains("no record has") && error.contains("whole, sum, f32, 2^10"),
            "{error}"
        );
    }

    #[test]
    fn every_table_is_made_of_what_it_asks_for() {
        for (name, grid) in all().unwrap() {
            let of_row = |row| grid.columns.iter().map(move |column| (row, column));
            let cells = grid
                .rows
                .iter()
                .flat_map(of_row)
                .map(|(row, column)| grid.key(row, column));
            let of = |([group, op, dtype, case], show): (What<'_>, &Show)| {
                assert!(
                    [group, op, dtype, case].iter().all(|said| !said.is_empty()),
                    "{name}: {group}, {op}, {dtype}, {case}"
                );
                figure_of([group, op, dtype, case, OWN, show.metric()], 2.0)
            };
            let first = grid.key(&grid.rows[0], &grid.columns[0]).0.join(", ");
            let all = record("2026-11-27T01:02:03Z", "GPU", cells.map(of).collect());
            let made = grid.make(slice::from_ref(&all)).unwrap();
            assert!(!made.contains("|  |\n"), "{name}: {made}");
            // A row whose figures the record lacks is named.
            let error = grid.make(&[Record { figures: vec![], ..all }]).unwrap_err().to_string();
            assert!(
                error.contains("no record has") && error.contains(&first),
                "{name}: {error}"
            );
        }
    }
}
