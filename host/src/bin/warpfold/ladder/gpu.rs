//! The ladder on a GPU: each rung is checked, then timed.

use warpfold::{
    Error,
    gpu::{
        Gpu,
        ladder::{Ladder, PATTERN, Rows},
    },
    ops::Sum,
    row::{self, Operation, Row},
};
use warpfold_emulator::Counts;
use warpfold_kernels::ladder::{LAYER_NORMS, RowKernel, Rung, SOFTMAXES, SUMS, sum::stages::STAGES};

use super::{Args, Figure, Findings, What, case, counted, grouped, integers, numbers, text::table};
use crate::Failure;

/// Elements that every rung takes.
const SMALL: u64 = 2048;
/// Elements unless said otherwise.
const LARGE: u64 = 1 << 28;
/// Elements over which answers are compared: small enough for many runs of the slowest rung.
const COMPARED: u64 = 1 << 24;

/// A GPU whose kernels this build has.
pub fn open(index: usize) -> Result<Gpu, Error> {
    let gpu = Gpu::new(index)?;
    gpu.prepare::<f32, _>(Sum, 1)?;
    Ok(gpu)
}

/// Does what the command line asks for.
pub fn run(gpu: &Gpu, args: &Args) -> Result<Findings, Failure> {
    let ladder = Ladder::new(gpu, &integers(PATTERN))?;
    let (text, figures) = match args.what {
        What::Sum => sum(&ladder, args)?,
        What::Softmax => softmax(&ladder)?,
        What::LayerNorm => layer_norm(&ladder)?,
        What::Stages => stages(gpu, &ladder)?,
        What::Bugs => return Err("bugs are planted in the emulator".into()),
    };
    let device = format!("on {}", gpu.facts());
    Ok(Findings { device, text, figures })
}

/// What was found out of a rung, or of the library's own kernel.
struct Climbed {
    name: &'static str,
    title: &'static str,
    /// Microseconds of many elements, where it takes so many.
    large: Option<f64>,
    /// Microseconds of few.
    small: f64,
    atomics: Option<u64>,
    /// What it does for few, where the emulator runs it.
    counts: Option<Counts>,
    /// How many answers of different bits so many elements had.
    distinct: usize,
    compared: u64,
}

fn sum(ladder: &Ladder<'_>, args: &Args) -> Result<(String, Vec<Figure>), Failure> {
    let len = args.elements.unwrap_or(LARGE).min(ladder.elements());
    check(ladder, args.factor)?;
    ladder.fill(&numbers(PATTERN))?;
    let ceiling = read_ceiling(ladder, len)?;
    let mut climbed = vec![];
    for rung in &SUMS {
        let compared = COMPARED.min(rung.most.unwrap_or(COMPARED)).min(len);
        let takes_all = rung.most.is_none_or(|most| len <= most);
        let time = |len| ladder.time_sum(rung, len, args.factor);
        climbed.push(Climbed {
            name: rung.name,
            title: rung.title,
            large: takes_all.then(|| time(len)).transpose()?,
            small: time(SMALL)?,
            atomics: takes_all.then(|| rung.atomics(len, args.factor, ladder.multiprocessors())),
            counts: Some(counted(rung, &numbers(SMALL as usize), args.factor)?),
            distinct: ladder.distinct(rung, compared, args.factor, args.runs as usize)?,
            compared,
        });
    }
    let compared = COMPARED.min(len);
    climbed.push(Climbed {
        name: "warpfold",
        title: "the library's own: last block, canonical order",
        large: Some(ladder.time_library(len)?),
        small: ladder.time_library(SMALL)?,
        atomics: None,
        counts: None,
        distinct: ladder.distinct_of_library(compared, args.runs as usize)?.0,
        compared,
    });
    let text = format!(
        "{} elements; a plain read of them takes {} µs, {:.0} GB/s\n\n{}\n\n\
         Distinct answers are those of {} runs over the same {} elements, or as many as the rung takes.\n\n\
         {} elements, which every rung takes; counts are the emulator's\n\n{}",
        grouped(len),
        us(ceiling),
        gb_per_s(4 * len, ceiling),
        large_table(&climbed, len, ceiling),
        args.runs,
        grouped(compared),
        grouped(SMALL),
        small_table(&climbed),
    );
    let mut figures = vec![figure("sum", case(len), "a plain read", "us", ceiling, Some(4 * len))];
    for climbed in &climbed {
        figures.extend(climbed.figures(len, args.runs as u32));
    }
    Ok((text, figures))
}

impl Climbed {
    fn figures(&self, len: u64, runs: u32) -> Vec<Figure> {
        let counted = |len, metric, value| figure("sum", case(len), self.name, metric, value, None);
        let timed = |len, us| figure("sum", case(len), self.name, "us", us, Some(4 * len));
        let mut figures = vec![timed(SMALL, self.small)];
        if len != SMALL {
            figures.extend(self.large.map(|us| timed(len, us)));
            figures.extend(self.atomics.map(|atomics| counted(len, "atomics", atomics as f64)));
        }
        if let Some(counts) = self.counts {
            for (metric, count) in [
                ("atomics", counts.atomics),
                ("barriers", counts.barriers),
                ("shuffles", counts.shuffles),
                ("accesses", counts.accesses),
                ("divergent", counts.divergent),
            ] {
                figures.push(counted(SMALL, metric, count as f64));
            }
        }
        figures.push(Figure {
            group: "determinism",
            who: if self.name == "warpfold" {
                self.name.to_owned()
            } else {
                format!("rung {}", self.name)
            },
            note: Some(format!("{runs} runs")),
            ..counted(self.compared, "distinct", self.distinct as f64)
        });
        figures
    }
}

fn large_table(climbed: &[Climbed], len: u64, ceiling: f64) -> String {
    let mut column = LadderColumn::new(4 * len);
    let row = |climbed: &Climbed| {
        let time = climbed.large?;
        let [us, speed, first, before] = column.next(time);
        Some([
            climbed.name.to_owned(),
            climbed.title.to_owned(),
            us,
            speed,
            format!("{:.1}", 100.0 * ceiling / time),
            first,
            before,
            climbed.atomics.map_or_else(String::new, grouped),
            climbed.distinct.to_string(),
        ])
    };
    let rows = climbed.iter().filter_map(row).collect();
    let heads = [
        "rung",
        "",
        "µs",
        "GB/s",
        "% of a read",
        "× the first",
        "× the one before",
        "atomics",
        "distinct answers",
    ];
    table(heads, 2, rows)
}

fn small_table(climbed: &[Climbed]) -> String {
    let mut column = LadderColumn::new(4 * SMALL);
    let row = |climbed: &Climbed| {
        let [us, _, first, before] = column.next(climbed.small);
        let count = |of: fn(&Counts) -> u64| climbed.counts.as_ref().map_or_else(String::new, |c| grouped(of(c)));
        [
            climbed.name.to_owned(),
            us,
            first,
            before,
            count(|counts| counts.atomics),
            count(|counts| counts.barriers),
            count(|counts| counts.shuffles),
            count(|counts| 100 * counts.divergent / counts.accesses.max(1)),
        ]
    };
    let rows = climbed.iter().map(row).collect();
    let heads = [
        "rung",
        "µs",
        "× the first",
        "× the one before",
        "atomics",
        "barriers",
        "shuffles",
        "divergent, %",
    ];
    table(heads, 1, rows)
}

/// That each rung sums integers exactly, in lengths that are no multiple of anything.
fn check(ladder: &Ladder<'_>, factor: u64) -> Result<(), Failure> {
    let values = integers(PATTERN);
    for rung in &SUMS {
        for len in [1, 31, 33, 1000, 1025, 2048, 100_003, PATTERN as u64 - 5] {
            if rung.most.is_some_and(|most| len > most) {
                continue;
            }
            let answer = ladder.sum(rung, len, factor)?;
            let exact: f32 = values[..len as usize].iter().sum();
            if answer != exact {
                return Err(format!("{} says {answer} of {len} integers, whose sum is {exact}", rung.name).into());
            }
        }
    }
    Ok(())
}

/// Microseconds of reading so many elements and doing nothing with them: the least of several launches.
fn read_ceiling(ladder: &Ladder<'_>, len: u64) -> Result<f64, Error> {
    let mut least = f64::INFINITY;
    for blocks in [2, 3, 4, 8] {
        least = least.min(ladder.time_stages(len, 1, blocks)?);
    }
    Ok(least)
}

/// A column of times, each of which is compared with the first and the one before.
struct LadderColumn {
    bytes: u64,
    first: Option<f64>,
    before: Option<f64>,
}

impl LadderColumn {
    fn new(bytes: u64) -> Self {
        let (first, before) = (None, None);
        Self { bytes, first, before }
    }

    /// The time, GB/s, how many times as fast as the first, and as the one before.
    fn next(&mut self, time: f64) -> [String; 4] {
        let first = *self.first.get_or_insert(time);
        let before = self.before.replace(time).unwrap_or(time);
        [
            us(time),
            format!("{:.0}", gb_per_s(self.bytes, time)),
            times(first / time),
            times(before / time),
        ]
    }
}

fn figure(op: &'static str, case: String, who: &str, metric: &'static str, value: f64, bytes: Option<u64>) -> Figure {
    Figure {
        group: "ladder",
        op,
        dtype: "f32",
        case,
        who: who.to_owned(),
        metric,
        value,
        bytes,
        note: None,
    }
}

fn gb_per_s(bytes: u64, us: f64) -> f64 {
    bytes as f64 / us / 1e3
}

/// Rows of a few lengths, and GPT-2's attention: 4 texts of 1,024 tokens, 12 heads; and one text.
fn softmax(ladder: &Ladder<'_>) -> Result<(String, Vec<Figure>), Failure> {
    let of = |rows, columns, causal| Rows { rows, columns, causal };
    let shapes = [
        of(32_768, 1024, false),
        of(16_384, 4096, false),
        of(48 * 1024, 1024, true),
        of(12 * 1024, 1024, true),
    ];
    climb_rows(ladder, "softmax", &SOFTMAXES, &shapes, |rows| {
        let plain = row::softmax();
        if rows.causal { plain.causal() } else { plain }
    })
}

/// The same, and GPT-2's tokens of 768 numbers.
fn layer_norm(ladder: &Ladder<'_>) -> Result<(String, Vec<Figure>), Failure> {
    let of = |rows, columns| Rows {
        rows,
        columns,
        causal: false,
    };
    let shapes = [of(32_768, 1024), of(16_384, 4096), of(4096, 768), of(1024, 768)];
    climb_rows(ladder, "layer-norm", &LAYER_NORMS, &shapes, |_| row::layer_norm(1e-5))
}

fn climb_rows<'o, Op: Operation>(
    ladder: &Ladder<'_>,
    op: &'static str,
    rungs: &[Rung<RowKernel>],
    shapes: &[Rows],
    operation: impl Fn(Rows) -> Row<'o, Op>,
) -> Result<(String, Vec<Figure>), Failure> {
    ladder.fill(&numbers(PATTERN))?;
    check_rows(ladder, op, rungs)?;
    let (mut texts, mut figures) = (vec![], vec![]);
    for &shape in shapes {
        let elements = shape.rows * shape.columns;
        if elements > ladder.elements() {
            continue;
        }
        let case = format!(
            "{}x{}{}",
            shape.rows,
            shape.columns,
            if shape.causal { " causal" } else { "" }
        );
        let bytes = 8 * elements;
        let (mut column, mut lines) = (LadderColumn::new(bytes), vec![]);
        let mut line = |who: &str, title: &str, time: f64| {
            let [us, speed, first, before] = column.next(time);
            lines.push([who.to_owned(), title.to_owned(), us, speed, first, before]);
            figures.push(figure(op, case.clone(), who, "us", time, Some(bytes)));
        };
        for rung in rungs {
            line(rung.name, rung.title, ladder.time_rows(rung, shape)?);
        }
        line(
            "warpfold",
            "the library's own",
            ladder.time_operation(&operation(shape), shape, op == "layer-norm")?,
        );
        let heads = ["rung", "", "µs", "GB/s", "× the first", "× the one before"];
        texts.push(format!("{op} of {case}, float32\n\n{}", table(heads, 2, lines)));
    }
    Ok((texts.join("\n\n"), figures))
}

/// That rungs agree with each other on rows that are no multiple of anything. The first is a plain loop.
fn check_rows(ladder: &Ladder<'_>, op: &str, rungs: &[Rung<RowKernel>]) -> Result<(), Failure> {
    for (rows, columns, causal) in [
        (70, 33, false),
        (9, 1000, false),
        (3, 4096, false),
        (200, 100, op == "softmax"),
    ] {
        let shape = Rows { rows, columns, causal };
        let expected = ladder.map(&rungs[0], shape)?;
        for rung in &rungs[1..] {
            let differ = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-5 * (1.0 + b.abs());
            if ladder.map(rung, shape)?.iter().zip(&expected).any(differ) {
                return Err(format!("{op}: {} and {} differ", rung.name, rungs[0].name).into());
            }
        }
    }
    Ok(())
}

/// Where the time of a sum goes, by differences: each stage is the time of the kernel that stops behind it, less that of the one that stops
/// before it.
fn stages(gpu: &Gpu, ladder: &Ladder<'_>) -> Result<(String, Vec<Figure>), Failure> {
    let peak = gpu.facts().peak_bandwidth;
    let (mut rows, mut figures) = (vec![], vec![]);
    for log in (10..=30).step_by(2) {
        let len = 1_u64 << log;
        if len > ladder.elements() {
            continue;
        }
        let mut until = [0.0; STAGES.len()];
        for (last, us) in until.iter_mut().enumerate() {
            *us = ladder.time_stages(len, last as u64, 4)?;
            figures.push(figure("stages", case(len), STAGES[last], "us", *us, Some(4 * len)));
        }
        let of = |stage: usize| {
            format!(
                "{:.2}",
                if stage == 0 {
                    until[0]
                } else {
                    until[stage] - until[stage - 1]
                }
            )
        };
        let model = peak.map_or_else(String::new, |peak| format!("{:.2}", 4e6 * len as f64 / peak));
        rows.push([
            format!("2^{log}"),
            of(0),
            of(1),
            of(2),
            of(3),
            of(4),
            us(until[4]),
            model,
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
    let text = format!(
        "{}\n\nMicroseconds. A stage is the difference of two kernels, one of which stops behind it and one before it; launches follow one\n\
         another in a graph. The last column is the lesson's model: reading at the memory's peak, and nothing else.",
        table(heads, 1, rows)
    );
    Ok((text, figures))
}

/// Microseconds, to as many digits as mean something.
fn us(us: f64) -> String {
    match us {
        us if us < 100.0 => format!("{us:.2}"),
        us if us < 10_000.0 => format!("{us:.1}"),
        us => format!("{us:.0}"),
    }
}

/// How many times as fast.
fn times(times: f64) -> String {
    if times < 10.0 {
        format!("{times:.2}")
    } else {
        format!("{times:.1}")
    }
}
