//! The tables that are grids, by name.

use super::grid::{
    Grid, Line,
    Show::{Number, PlainSpeed, Speed, Us},
};

/// Matrices whose rows and columns are folded.
const MATRICES: [&str; 6] = [
    "1048576x64",
    "32768x256",
    "32768x1024",
    "16384x4096",
    "2048x65536",
    "1024x262144",
];

/// Matrices of row operations.
const MAPS: [&str; 6] = [
    "32768x256",
    "32768x1024",
    "16384x4096",
    "8192x8192",
    "2048x65536",
    "1024x262144",
];

/// Kinds of segments.
const SEGMENTS: [&str; 11] = [
    "2^4",
    "2^6",
    "2^8",
    "2^10",
    "2^12",
    "2^16",
    "2^20",
    "2^24",
    "1..2047",
    "power law",
    "one huge among a million of 3",
];

/// Types of elements.
const TYPES: [&str; 14] = [
    "f32",
    "f16",
    "bf16",
    "f64",
    "i8",
    "u8",
    "i16",
    "i32",
    "i64",
    "f8e4m3",
    "f8e5m2",
    "complex32",
    "complex64",
    "complex128",
];

const FLOATS: [&str; 2] = ["f32", "bf16"];

/// The table of a name.
pub fn grid(name: &str) -> Option<Grid> {
    let f32 = |lines: Vec<Line>| Line::of_dtype(lines, "f32");
    let bf16 = |lines: Vec<Line>| Line::of_dtype(lines, "bf16");
    let of_floats = |lines: &[Line]| Line::for_each(lines, &FLOATS);
    Some(match name {
        "speed" => {
            let rows = |dtype| Line::case("16384x4096").group("rows").dtype(dtype);
            let columns = vec![
                Line::case("2^28").group("whole").dtype("f32").under("2²⁸ f32"),
                rows("f32").under("rows of 16,384 × 4,096 f32"),
                rows("bf16").under("the same of bf16"),
            ];
            Grid::of("", Speed, ops(&["sum", "max", "argmax"]), columns)
        }
        "whole" => {
            let lengths = [
                "2^10", "2^12", "2^14", "2^16", "2^18", "2^20", "2^22", "2^24", "2^26", "2^28", "2^30",
            ];
            let columns = ops(&["sum", "sum early", "max", "max early", "argmax", "argmax early"]);
            Grid::of("whole", Us, cases(&lengths), f32(columns))
        }
        "unaligned" => {
            let columns = vec![Line::op("µs", "sum"), Line::op("GB/s", "sum").show(PlainSpeed)];
            Grid::of(
                "unaligned",
                Us,
                cases(&["2^12 - 4", "2^20 - 4", "2^28 - 4"]),
                f32(columns),
            )
        }
        "host" => {
            let call = Line::op("an asynchronous call of a prepared sum", "asynchronous call");
            Grid::of("host", Us, f32(vec![call]), vec![Line::case("2^10").under("µs")])
        }
        "operators" => {
            let rows = f32(ops(&OPERATORS));
            let speed = Line::case("2^28").under("GB/s at 2²⁸").show(PlainSpeed);
            let mut columns = cases(&["2^12", "2^16", "2^20", "2^24", "2^28"]);
            columns.push(speed);
            Grid::of("operators", Us, rows, columns)
        }
        "types" => {
            let mut columns = vec![
                Line::op("sum of 256 MiB", "sum").at("256 MiB"),
                Line::op("of 256 MiB, unaligned", "sum unaligned").at("256 MiB"),
                Line::op("sum of 1 GiB", "sum"),
            ];
            columns.extend(ops(&[
                "max",
                "argmax",
                "minmax",
                "count-nonzero",
                "linf",
                "l2",
                "std",
                "skew",
            ]));
            let columns = columns.into_iter().map(|line| line.at_least("1 GiB")).collect();
            Grid::of(
                "types",
                Speed,
                TYPES.map(|dtype| Line::headed(dtype).dtype(dtype)).into(),
                columns,
            )
        }
        "exact" => {
            let columns = ops(&["sum", "exact sum", "exact sum of any exponent"]);
            let columns = columns.into_iter().map(|line| line.at("1 GiB")).collect();
            Grid::of(
                "exact",
                Speed,
                ["f32", "f64"].map(|dtype| Line::headed(dtype).dtype(dtype)).into(),
                columns,
            )
        }
        "pairs" => {
            let columns = cases(&["2^16", "2^20", "2^24", "2^28", "32768x768", "262144x128", "4096x16384"]);
            Grid::of("pairs", Speed, of_floats(&ops(&["dot", "cosine"])), columns)
        }
        "masks" => {
            let mut rows = Line::for_each(&ops(&["sum", "max", "argmax", "std"]), &["f32"]);
            rows.extend(Line::for_each(&ops(&["sum", "std"]), &["bf16"]));
            Grid::of("masks", Speed, rows, cases(&["2^20", "2^24", "2^28"]))
        }
        "steps" => {
            let rows = [
                Line::op("sum of \\|x\\|", "sum of |x|"),
                Line::op("mean of (x − 1)²", "mean of (x - 1)²"),
                Line::op("sum of exp(x − 1)", "sum of exp(x - 1)"),
                Line::op("argmin of \\|x − 1\\|", "argmin of |x - 1|"),
            ];
            Grid::of("steps", Speed, of_floats(&rows), cases(&["256 MiB", "1 GiB"]))
        }
        "rows" | "columns" => {
            let group = if name == "rows" { "rows" } else { "columns" };
            Grid::of(
                group,
                Speed,
                cases(&MATRICES),
                of_floats(&ops(&["sum", "max", "argmax", "logsumexp"])),
            )
        }
        "segments" => {
            let columns = of_floats(&ops(&["sum", "max", "argmax", "logsumexp"]));
            Grid::of("segments", Speed, cases(&SEGMENTS), columns)
        }
        "large-states" => Grid::of("", Speed, cases(&MATRICES), large_states(&["rows", "columns"])),
        "large-states-segments" => Grid::of("", Speed, cases(&SEGMENTS), large_states(&["segments"])),
        "distinct" => {
            let rows = [
                Line::op("16 kinds", "16 kinds"),
                Line::op("2¹⁶ kinds", "2^16 kinds"),
                Line::op("all different", "all different"),
            ];
            Grid::of(
                "distinct",
                Us,
                Line::for_each(&rows, &["u32", "u64"]),
                cases(&["2^20", "2^24", "2^28"]),
            )
        }
        "maps-f32" => Grid::of("maps", Us, cases(&MAPS), f32(ops(&ROW_OPERATIONS))),
        "maps-bf16" => Grid::of("maps", Us, cases(&MAPS), bf16(ops(&ROW_OPERATIONS))),
        "backward" => Grid::of("backward", Us, cases(&MAPS), bf16(backward())),
        "vocabulary" => {
            let rows = cases(&["1x152064", "16x152064", "256x152064", "1024x152064"]);
            Grid::of(
                "vocabulary",
                Us,
                rows,
                bf16(ops(&["softmax", "log_softmax", "cross_entropy"])),
            )
        }
        "serving" => {
            let columns = vec![
                Line::op("µs", "rms_norm"),
                Line::op("launched early, µs", "rms_norm early"),
                Line::op("GB/s", "rms_norm").show(PlainSpeed),
            ];
            Grid::of("serving", Us, cases(&SERVING), bf16(columns))
        }
        "group-norm" => {
            let rows = cases(&["16x320x64x64", "16x640x32x32", "8x1280x16x16", "4x128x512x512"]);
            let columns = [
                Line::op("forward", "group_norm"),
                Line::op("backward", "group_norm_gradient"),
            ];
            Grid::of("group_norm", Us, rows, of_floats(&columns))
        }
        "forms" => {
            let columns = vec![
                Line::op("read once, `Form::Online`", "online"),
                Line::op("read twice in one launch, `Form::TwoPass`", "two_pass"),
                Line::op("three launches, `Form::Unfused`", "unfused"),
                Line::op("with a second array added", "plus"),
            ];
            Grid::of("forms", Us, of_floats(&cases(&["8192x8192", "2048x65536"])), columns)
        }
        "gpt2" => {
            let rows = vec![
                Line::op("layer norm", "layer_norm").at("4096x768"),
                Line::op("causal softmax", "causal_softmax").at("48x1024x1024"),
            ];
            Grid::of(
                "gpt2",
                Us,
                f32(rows),
                vec![Line::headed("µs"), Line::headed("GB/s").show(PlainSpeed)],
            )
        }
        "gradients" => {
            let lists = [
                "12 layers of 768",
                "16 layers of 2048",
                "one of 2^28",
                "10000 of 4096",
                "1000 of 1001",
            ];
            let columns = [
                Line::op("L2", "norm L2"),
                Line::op("L∞", "norm Inf"),
                Line::op("clipping alone", "clip"),
            ];
            Grid::of("gradients", Us, cases(&lists), of_floats(&columns))
        }
        "cpu" => {
            let mut columns = vec![
                Line::case("2^26")
                    .under("share of a read")
                    .show(Number("share of a read")),
                Line::case("2^26").under("GB/s at 2²⁶").show(Speed),
            ];
            let in_cache = ["1000", "2^10", "2^16", "2^20"].map(|case| Line::case(case).suffixed(", µs"));
            columns.extend(in_cache);
            Grid::of("cpu", Us, on_cpu(), columns)
        }
        "cpu-rows" => {
            let shapes = ["4096x1024", "512x8192", "8x262144"];
            let of = |shape| {
                let share = Line::case(shape)
                    .under("share of a copy")
                    .show(Number("share of a copy"));
                [Line::case(shape).suffixed(", GB/s"), share]
            };
            let ops = [
                "softmax",
                "softmax into",
                "log-softmax",
                "log-softmax into",
                "layer-norm",
                "layer-norm into",
                "rms-norm",
                "rms-norm into",
                "cross-entropy",
                "softmax-gradient",
            ];
            Grid::of(
                "cpu rows",
                Speed,
                of_floats(&self::ops(&ops)),
                shapes.into_iter().flat_map(of).collect(),
            )
        }
        _ => return None,
    })
}

const OPERATORS: [&str; 22] = [
    "mean",
    "prod",
    "min",
    "argmin",
    "minmax",
    "argminmax",
    "any",
    "all",
    "count-nonzero",
    "l1",
    "linf",
    "sumsq",
    "l2",
    "logsumexp",
    "var",
    "std",
    "skew",
    "kurtosis",
    "lp",
    "describe",
    "nansum",
    "nanargmax",
];

const ROW_OPERATIONS: [&str; 5] = ["softmax", "log_softmax", "layer_norm", "rms_norm", "cross_entropy"];

/// Rows and columns of the RMS norms of a server.
const SERVING: [&str; 16] = [
    "1x128",
    "1x1024",
    "1x4096",
    "1x16384",
    "16x128",
    "16x1024",
    "16x4096",
    "16x16384",
    "256x128",
    "256x1024",
    "256x4096",
    "256x16384",
    "4096x128",
    "4096x1024",
    "4096x4096",
    "4096x16384",
];

fn cases(names: &[&'static str]) -> Vec<Line> {
    names.iter().map(|name| Line::case(name)).collect()
}

fn ops(names: &[&'static str]) -> Vec<Line> {
    names.iter().map(|name| Line::op(name, name)).collect()
}

/// The largest states, in each of the groups.
fn large_states(groups: &[&'static str]) -> Vec<Line> {
    let of = |group: &&'static str| {
        let line = |op, dtype, what: &str| {
            let line = Line::op("", op).group(group).dtype(dtype);
            line.suffixed(&format!("{what}, {group}"))
        };
        [
            line("describe", "f32", "`describe` of f32"),
            line("sum-exact", "f64", "exact sum of f64"),
        ]
    };
    groups.iter().flat_map(of).collect()
}

fn backward() -> Vec<Line> {
    vec![
        Line::op("softmax", "softmax_gradient"),
        Line::op("log_softmax", "log_softmax_gradient"),
        Line::op("layer_norm", "layer_norm_gradient"),
        Line::op("rms_norm", "rms_norm_gradient"),
        Line::op("weights of a norm", "norm_column_gradients"),
        Line::op("cross_entropy, loss and gradient", "cross_entropy_and_gradient"),
    ]
}

/// Operators and types on a CPU.
fn on_cpu() -> Vec<Line> {
    const ORDERED: [&str; 3] = ["sum", "max", "argmax"];
    const REAL: [&str; 6] = ["sum", "max", "argmax", "l2", "std", "logsumexp"];
    const ALL: [&str; 10] = [
        "sum",
        "mean",
        "prod",
        "max",
        "argmax",
        "count-nonzero",
        "l1",
        "l2",
        "std",
        "logsumexp",
    ];
    let of: [(&str, &[&str]); 6] = [
        ("f32", &ALL),
        ("f64", &REAL),
        ("bf16", &REAL),
        ("i32", &ORDERED),
        ("i64", &ORDERED),
        ("u8", &ORDERED),
    ];
    of.iter()
        .flat_map(|(dtype, names)| Line::for_each(&ops(names), &[dtype]))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;
    use crate::{
        bench::records::{
            Figure,
            tests::{figure, record},
        },
        pages::{TABLE, pages},
    };

    /// The names of all tables of the pages.
    fn names() -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for page in pages().unwrap() {
            let text = fs::read_to_string(page).unwrap();
            let tables = text.split(TABLE.before).skip(1);
            names.extend(tables.filter_map(|rest| Some(rest.split_once(" -->")?.0.to_owned())));
        }
        names
    }

    /// A record that has all that a table asks for.
    fn figures(grid: &Grid) -> Vec<Figure> {
        let of = |([group, op, dtype, case], metric): ([&str; 4], &str)| Figure {
            group: group.into(),
            op: op.into(),
            dtype: dtype.into(),
            metric: metric.into(),
            ..figure("warpfold", case, 2.0)
        };
        let mut figures: Vec<Figure> = grid.keys().into_iter().map(of).collect();
        figures.sort_by(|a, b| a.key().cmp(&b.key()));
        figures.dedup_by(|a, b| a.key() == b.key());
        figures
    }

    #[test]
    fn every_table_is_made_of_what_it_asks_for() {
        let names = names();
        let grids: Vec<(&String, Grid)> = names.iter().filter_map(|name| Some((name, grid(name)?))).collect();
        assert!(!grids.is_empty());
        for (name, grid) in grids {
            let figures = figures(&grid);
            for figure in &figures {
                let [group, op, dtype, case, ..] = figure.key();
                assert!(
                    [group, op, dtype, case].iter().all(|said| !said.is_empty()),
                    "{name}: {:?}",
                    figure.key()
                );
            }
            let all = record("2026-11-27T01:02:03Z", "GPU", figures);
            let made = grid.make(std::slice::from_ref(&all)).unwrap();
            assert!(!made.contains("|  |\n"), "{name}: {made}");
            // A row whose figures the record lacks is named.
            let first = grid.keys()[0].0[2..].join(", ");
            let mut less = all;
            less.figures.clear();
            let error = grid.make(&[less]).unwrap_err().to_string();
            assert!(
                error.contains("no record has") && error.contains(&first),
                "{name}: {error}"
            );
        }
        assert!(grid("nonsense").is_none());
    }
}
