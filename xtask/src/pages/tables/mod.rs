//! The tables, each of one record: the newest that has its figures, so that all were measured in one run on one card.

mod grid;
pub mod nvvm;

use anyhow::{Context, Result, ensure};
use warpfold_kernels::ladder::sum::stages::STAGES;

use super::{
    measured::{FEW, MANY, Of, PLAIN_READ, ensure_bytes, gb_per_s, once, rung_title, rungs, runs},
    numbers::{count, times, ulps, us},
    table::{Items, Table},
};
use crate::bench::records::{Figure, Record};

/// What makes a table of a record.
type Make = fn(Of<'_>) -> Result<Table>;

/// A table of a name, and where its figures are from.
pub fn make(name: &str, records: &[Record]) -> Result<String> {
    let (group, op, table): (&str, &str, Make) = match name {
        "nvvm" => return nvvm::make(),
        "ladder-sum" => ("ladder", "sum", ladder_sum),
        "ladder-few" => ("ladder", "sum", ladder_few),
        "ladder-softmax" => ("ladder", "softmax", |of| ladder_rows(of, "softmax")),
        "ladder-layer-norm" => ("ladder", "layer-norm", |of| ladder_rows(of, "layer-norm")),
        "ladder-stages" => ("ladder", "stages", stages),
        "determinism" => ("determinism", "sum", |of| Ok(determinism(of))),
        "first-calls" => ("first-calls", "sum f32", |of| Ok(first_calls(of))),
        "accuracy" => ("accuracy", "sum", |of| Ok(accuracy(of))),
        _ => {
            let grids = grid::all()?;
            return grids.get(name).context("there is none of that name")?.make(records);
        }
    };
    let of = Of::newest(records, group, op)?;
    let below = if name == "ladder-sum" {
        of_plain_read(of)?
    } else {
        String::new()
    };
    Ok(table(of)?.markdown(&of.sentence()) + &below)
}

/// A figure of a ladder; an error that names it where the record has none.
fn rung<'a>(of: Of<'a>, op: &str, case: &str, who: &str, metric: &str) -> Result<&'a Figure> {
    let found = of.figure(["ladder", op, "f32", case], who, metric);
    found.with_context(|| format!("the record has no {:?}", ["ladder", op, "f32", case, who, metric]))
}

/// A count beside a rung's time, where there is one.
fn counted(of: Of<'_>, figure: &Figure, metric: &str) -> String {
    let counted = rung(of, "sum", &figure.case, &figure.who, metric);
    counted.map_or_else(|_| String::new(), |figure| count(figure.value))
}

fn ladder_sum(of: Of<'_>) -> Result<Table> {
    let read = rung(of, "sum", MANY, PLAIN_READ, "us")?.value;
    let time = |who| rung(of, "sum", MANY, who, "us").ok();
    let rungs: Vec<&Figure> = rungs("sum").iter().filter_map(|(name, _)| time(name)).collect();
    ensure_bytes(rungs.iter().copied())?;
    // Of a rung, by its number.
    let time = |i: usize| rungs[i].value;
    let all: Vec<usize> = (0..rungs.len()).collect();
    Ok(Items(&all).columns(&[
        ("rung", &|i| rungs[i].who.clone()),
        ("", &|i| rung_title(rungs[i]).to_owned()),
        ("µs", &|i| us(time(i))),
        ("GB/s", &|i| count(gb_per_s(rungs[i]))),
        ("% of a read", &|i| format!("{:.1}", 100.0 * read / time(i))),
        ("× the first", &|i| times(time(0) / time(i))),
        ("× the one before", &|i| times(time(i.saturating_sub(1)) / time(i))),
        ("atomics", &|i| counted(of, rungs[i], "atomics")),
    ]))
}

/// What stands below the ladder.
fn of_plain_read(of: Of<'_>) -> Result<String> {
    let read = rung(of, "sum", MANY, PLAIN_READ, "us")?;
    let (time, speed) = (us(read.value), read.gb_per_s().context("bytes")?);
    let (speed, peak) = (count(speed), count(of.peak().context("the memory's peak")?));
    Ok(format!(
        "\nA plain read took {time} µs: {speed} GB/s, of {peak} by clock and width.\n"
    ))
}

fn ladder_few(of: Of<'_>) -> Result<Table> {
    let time = |(who, _)| rung(of, "sum", FEW, who, "us");
    let figures: Vec<&Figure> = rungs("sum").into_iter().map(time).collect::<Result<_>>()?;
    let share = |figure: &Figure| {
        let value = |metric| Some(rung(of, "sum", FEW, &figure.who, metric).ok()?.value);
        Some(format!("{:.0}", 100.0 * value("divergent")? / value("accesses")?))
    };
    Ok(Items(&figures).columns(&[
        ("rung", &|figure| figure.who.clone()),
        ("µs", &|figure| us(figure.value)),
        ("× the first", &|figure| times(figures[0].value / figure.value)),
        ("atomics", &|figure| counted(of, figure, "atomics")),
        ("barriers", &|figure| counted(of, figure, "barriers")),
        ("shuffles", &|figure| counted(of, figure, "shuffles")),
        ("divergent, %", &|figure| share(figure).unwrap_or_default()),
    ]))
}

/// The rungs of a row operation, a row for each, a column for each shape.
fn ladder_rows(of: Of<'_>, op: &str) -> Result<Table> {
    let figures = of.0.figures.iter().filter(|f| f.group == "ladder" && f.op == op);
    let cases = once(figures.map(|figure| &*figure.case));
    ensure!(cases.len() == 4, "{} shapes, where the table has four", cases.len());
    let rungs = rungs(op);
    let mut table = Items(&rungs).columns(&[
        ("rung", &|(name, _)| name.to_owned()),
        ("", &|(_, title)| title.to_owned()),
    ]);
    for case in cases {
        let time = |who: &str| rung(of, op, case, who, "us").map(|figure| figure.value);
        let first = time(rungs[0].0)?;
        let cell = |(name, _): &(&str, &str)| time(name).map(|time| format!("{} ({}×)", us(time), times(first / time)));
        table.add(case, rungs.iter().map(cell).collect::<Result<Vec<String>>>()?);
    }
    Ok(table)
}

fn stages(of: Of<'_>) -> Result<Table> {
    let peak = of.peak().context("the memory's peak")?;
    let logs: Vec<u32> = (10..=30).step_by(2).collect();
    let mut table = Items(&logs).columns(&[("elements", &|log| format!("2^{log}"))]);
    let mut before = vec![0.0; logs.len()];
    for stage in STAGES {
        let until = |log: &u32| rung(of, "stages", &format!("2^{log}"), stage, "us");
        let until: Vec<f64> = logs.iter().map(|log| Ok(until(log)?.value)).collect::<Result<_>>()?;
        let differences = until.iter().zip(before);
        table.add(
            stage,
            differences.map(|(until, before)| format!("{:.2}", until - before)),
        );
        before = until;
    }
    table.add("in all", before.into_iter().map(us));
    let model = |log: &u32| format!("{:.2}", 4.0 * f64::from(1 << log) / peak / 1e3);
    table.add("bytes ÷ peak", logs.iter().map(model));
    Ok(table)
}

/// How many different answers runs of everybody's sum had.
fn determinism(of: Of<'_>) -> Table {
    let figures: Vec<&Figure> = by_who(of, "determinism").iter().map(|figures| figures[0]).collect();
    let answers = |figure: &Figure| format!("{} in {}", count(figure.value), runs(figure));
    Items(&figures).columns(&[
        ("", &|figure| figure.who.clone()),
        ("elements", &|figure| figure.case.clone()),
        ("distinct answers", &|figure| answers(figure)),
    ])
}

/// What a process waits for at its first calls.
fn first_calls(of: Of<'_>) -> Table {
    let figures: Vec<&Figure> = of.figures("first-calls", "ms").collect();
    let ms = |figure: &Figure| count(figure.value);
    Items(&figures).columns(&[("", &|figure| figure.op.clone()), ("ms", &|figure| ms(figure))])
}

/// The errors of everybody's sums.
fn accuracy(of: Of<'_>) -> Table {
    let all = by_who(of, "accuracy");
    let mut table = Items(&all.iter().collect::<Vec<_>>()).columns(&[("", &|figures| figures[0].who.clone())]);
    for case in ["uniform", "ill-conditioned"] {
        let error = |figures: &Vec<&Figure>| {
            let found = figures.iter().find(|figure| figure.case.ends_with(&format!(" {case}")));
            found.map_or_else(String::new, |figure| ulps(figure.value))
        };
        table.add(case, all.iter().map(error));
    }
    table
}

/// Everybody's figures of a sum, in the order of the record.
fn by_who<'a>(of: Of<'a>, group: &str) -> Vec<Vec<&'a Figure>> {
    let figures = || of.0.figures.iter().filter(|f| f.group == group && f.op == "sum");
    let theirs = |who| figures().filter(|figure| figure.who == who).collect();
    let everybody = once(figures().map(|figure| &*figure.who));
    everybody.into_iter().map(theirs).collect()
}
