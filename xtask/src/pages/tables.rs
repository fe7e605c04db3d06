//! The tables, each of one record: the newest that has its figures, so that all were measured in one run on one card.

use anyhow::{Context, Result, bail};
use warpfold_kernels::ladder::{LAYER_NORMS, Rung, SOFTMAXES, SUMS, sum::stages::STAGES};

use super::grids::grid;
use crate::bench::records::{Figure, Record};

/// A table of a name, and where its figures are from.
pub fn make(name: &str, records: &[Record]) -> Result<String> {
    match name {
        "ladder-sum" => Table::newest(records, "ladder", "sum")?.ladder_sum(),
        "ladder-few" => Table::newest(records, "ladder", "sum")?.ladder_few(),
        "ladder-softmax" => Table::newest(records, "ladder", "softmax")?.ladder_rows("softmax", &SOFTMAXES),
        "ladder-layer-norm" => Table::newest(records, "ladder", "layer-norm")?.ladder_rows("layer-norm", &LAYER_NORMS),
        "ladder-stages" => Table::newest(records, "ladder", "stages")?.stages(),
        "determinism" => Ok(Table::newest(records, "determinism", "sum")?.determinism()),
        "first-calls" => Ok(Table::newest(records, "first-calls", "sum f32")?.first_calls()),
        "accuracy" => Ok(Table::newest(records, "accuracy", "sum")?.accuracy()),
        _ => grid(name).context("there is none of that name")?.make(records),
    }
}

/// What a table is made of.
struct Table<'a> {
    record: &'a Record,
    group: &'a str,
    op: &'a str,
}

/// The length that the ladder of the sum is climbed at, and the one that every rung takes.
pub const MANY: &str = "2^28";
const FEW: &str = "2^11";

/// Who reads the elements and does nothing with them.
pub const PLAIN_READ: &str = "a plain read";

impl<'a> Table<'a> {
    /// The newest record that has such figures.
    fn newest(records: &'a [Record], group: &'a str, op: &'a str) -> Result<Self> {
        let has = |record: &&Record| record.figures.iter().any(|f| f.group == group && f.op == op);
        let record = records.iter().rev().find(has);
        let record = record.with_context(|| format!("no record has figures of {group}, {op}"))?;
        Ok(Self { record, group, op })
    }

    fn figure(&self, case: &str, who: &str, metric: &str) -> Result<&Figure> {
        let key = [self.group, self.op, "f32", case, who, metric];
        let found = self.record.figures.iter().find(|figure| figure.key() == key);
        found.with_context(|| format!("the record has no {key:?}"))
    }

    fn value(&self, case: &str, who: &str, metric: &str) -> Result<f64> {
        Ok(self.figure(case, who, metric)?.value)
    }

    /// The table, and above it where it is from.
    fn table<const N: usize>(&self, heads: [&str; N], rows: Vec<[String; N]>) -> String {
        let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
        markdown(&from(self.record), &heads.map(str::to_owned), &rows)
    }

    fn ladder_sum(&self) -> Result<String> {
        let read = self.value(MANY, PLAIN_READ, "us")?;
        let mut rows = vec![];
        let (mut first, mut before) = (None, None);
        for (name, title) in names(&SUMS) {
            let Ok(figure) = self.figure(MANY, name, "us") else {
                continue;
            };
            let time = figure.value;
            let speed = figure.gb_per_s().context("bytes")?;
            rows.push([
                name.to_owned(),
                title.to_owned(),
                us(time),
                count(speed),
                format!("{:.1}", 100.0 * read / time),
                times(*first.get_or_insert(time) / time),
                times(before.replace(time).unwrap_or(time) / time),
                self.value(MANY, name, "atomics").map_or_else(|_| String::new(), count),
            ]);
        }
        let heads = [
            "rung",
            "",
            "µs",
            "GB/s",
            "% of a read",
            "× the first",
            "× the one before",
            "atomics",
        ];
        let peak = self.record.machine.gpu.as_ref().and_then(|gpu| gpu.peak_gb_per_s);
        let read = self.figure(MANY, PLAIN_READ, "us")?;
        Ok(format!(
            "{}\nA plain read took {} µs: {} GB/s, of {} by clock and width.\n",
            self.table(heads, rows),
            us(read.value),
            count(read.gb_per_s().context("bytes")?),
            count(peak.context("the memory's peak")?)
        ))
    }

    fn ladder_few(&self) -> Result<String> {
        let mut rows = vec![];
        let mut first = None;
        for (name, _) in names(&SUMS) {
            let time = self.value(FEW, name, "us")?;
            let of = |metric: &str| self.value(FEW, name, metric).map_or_else(|_| String::new(), count);
            let share = self
                .value(FEW, name, "divergent")
                .and_then(|divergent| Ok(100.0 * divergent / self.value(FEW, name, "accesses")?));
            rows.push([
                name.to_owned(),
                us(time),
                times(*first.get_or_insert(time) / time),
                of("atomics"),
                of("barriers"),
                of("shuffles"),
                share.map_or_else(|_| String::new(), |share| format!("{share:.0}")),
            ]);
        }
        let heads = [
            "rung",
            "µs",
            "× the first",
            "atomics",
            "barriers",
            "shuffles",
            "divergent, %",
        ];
        Ok(self.table(heads, rows))
    }

    /// The rungs of a row operation, a row for each, a column for each shape.
    fn ladder_rows<K>(&self, op: &str, rungs: &[Rung<K>]) -> Result<String> {
        let mut cases: Vec<&str> = vec![];
        for figure in self
            .record
            .figures
            .iter()
            .filter(|f| f.group == self.group && f.op == op)
        {
            if !cases.contains(&&*figure.case) {
                cases.push(&figure.case);
            }
        }
        let [a, b, c, d] = cases[..] else {
            bail!("{} shapes, where the table has four", cases.len());
        };
        let mut rows = vec![];
        for (name, title) in names(rungs) {
            let cell = |case: &str| -> Result<String> {
                let time = self.value(case, name, "us")?;
                let first = self.value(case, rungs[0].name, "us")?;
                Ok(format!("{} ({}×)", us(time), times(first / time)))
            };
            rows.push([
                name.to_owned(),
                title.to_owned(),
                cell(a)?,
                cell(b)?,
                cell(c)?,
                cell(d)?,
            ]);
        }
        Ok(self.table(["rung", "", a, b, c, d], rows))
    }

    fn stages(&self) -> Result<String> {
        let peak = self.record.machine.gpu.as_ref().and_then(|gpu| gpu.peak_gb_per_s);
        let peak = peak.context("the memory's peak")?;
        let mut rows = vec![];
        for log in (10..=30).step_by(2) {
            let case = format!("2^{log}");
            let until = STAGES.map(|stage| self.value(&case, stage, "us"));
            let [launch, load, shuffle, block, grid] = until;
            let (launch, load, shuffle, block, grid) = (launch?, load?, shuffle?, block?, grid?);
            rows.push([
                case,
                format!("{launch:.2}"),
                format!("{:.2}", load - launch),
                format!("{:.2}", shuffle - load),
                format!("{:.2}", block - shuffle),
                format!("{:.2}", grid - block),
                us(grid),
                format!("{:.2}", f64::from(4) * f64::from(1 << log) / peak / 1e3),
            ]);
        }
        let heads = [
            "elements",
            "launch",
            "load",
            "shuffle",
            "block",
            "grid",
            "in all",
            "bytes ÷ peak",
        ];
        Ok(self.table(heads, rows))
    }

    /// How many different answers runs of everybody's sum had.
    fn determinism(&self) -> String {
        let row = |(who, figures): (&str, Vec<&Figure>)| {
            let [figure, ..] = figures[..] else {
                unreachable!("of a figure")
            };
            // The peers' program said nothing of it in the first records.
            let runs = figure.note.as_deref().unwrap_or("1000 runs");
            [
                who.to_owned(),
                figure.case.clone(),
                format!("{} in {runs}", count(figure.value)),
            ]
        };
        let rows = self.by_who().into_iter().map(row).collect();
        self.table(["", "elements", "distinct answers"], rows)
    }

    /// What a process waits for at its first calls.
    fn first_calls(&self) -> String {
        let figures = self.record.figures.iter().filter(|figure| figure.group == self.group);
        let rows = figures.map(|figure| [figure.op.clone(), count(figure.value)]).collect();
        self.table(["", "ms"], rows)
    }

    /// The errors of everybody's sums.
    fn accuracy(&self) -> String {
        let row = |(who, figures): (&str, Vec<&Figure>)| {
            let of = |ending: &str| {
                let found = figures.iter().find(|figure| figure.case.ends_with(ending));
                found.map_or_else(String::new, |figure| ulps(figure.value))
            };
            [who.to_owned(), of(" uniform"), of(" ill-conditioned")]
        };
        let rows = self.by_who().into_iter().map(row).collect();
        self.table(["", "uniform", "ill-conditioned"], rows)
    }

    /// Everybody's figures, in the order of the record.
    fn by_who(&self) -> Vec<(&'a str, Vec<&'a Figure>)> {
        let mut all: Vec<(&str, Vec<&Figure>)> = vec![];
        let figures = self.record.figures.iter();
        for figure in figures.filter(|f| f.group == self.group && f.op == self.op) {
            match all.iter_mut().find(|(who, _)| *who == figure.who) {
                Some((_, theirs)) => theirs.push(figure),
                None => all.push((&figure.who, vec![figure])),
            }
        }
        all
    }
}

/// When, of which source, and where it was measured.
pub fn from(record: &Record) -> String {
    let machine = &record.machine;
    let on = match &machine.gpu {
        Some(gpu) => format!("one {}", gpu.name),
        None => format!(
            "{} threads of one {}, {}",
            machine.threads,
            record.card(),
            machine.vector_instructions
        ),
    };
    format!("Measured on {} at commit {}, on {on}.", record.day(), record.commit)
}

/// A table, and something above it.
pub fn markdown(says: &str, heads: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rows: String = rows.iter().map(|row| line(row)).collect();
    format!("{says}\n\n{}|{}\n{rows}", line(heads), "---|".repeat(heads.len()))
}

/// Names and titles of rungs, and of the library's own kernel.
pub fn names<K>(rungs: &[Rung<K>]) -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = ("warpfold", "the library's own");
    rungs.iter().map(|rung| (rung.name, rung.title)).chain([own])
}

/// Microseconds, to as many digits as mean something.
pub fn us(us: f64) -> String {
    match us {
        us if us < 100.0 => format!("{us:.2}"),
        us if us < 10_000.0 => format!("{us:.1}"),
        us => count(us),
    }
}

pub fn times(times: f64) -> String {
    match times {
        times if times < 10.0 => format!("{times:.2}"),
        times if times < 100.0 => format!("{times:.1}"),
        times => count(times),
    }
}

pub fn ulps(error: f64) -> String {
    match error {
        error if error < 100.0 => format!("{error:.2}"),
        error => count(error),
    }
}

/// A whole number, its digits grouped.
pub fn count(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        assert_eq!([1.234, 123.45, 471_451.3].map(us), ["1.23", "123.5", "471,451"]);
        assert_eq!([1.234, 12.34, 1982.6].map(times), ["1.23", "12.3", "1,983"]);
        assert_eq!([0.0, 999.0, 268_435_456.0].map(count), ["0", "999", "268,435,456"]);
    }
}
