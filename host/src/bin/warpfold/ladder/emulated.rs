//! The ladder without a GPU: rungs run lane by lane, and what they do is counted.

use std::collections::BTreeSet;

use warpfold::{Error, cpu, ops::Sum};
use warpfold_emulator::{
    Counts,
    ladder::{self, Climb, Rows, planted::PLANTED},
};
use warpfold_kernels::ladder::{LAYER_NORMS, RowKernel, Rung, SOFTMAXES, SUMS};

use super::{Args, Figure, Findings, What, case, counted, grouped, integers, numbers, text::table};
use crate::Failure;

/// Elements that the emulator sums unless said otherwise, and the most that it takes: it is a million times as slow as a GPU.
const FEW: u64 = 5000;
const MOST: u64 = 1 << 20;
/// Elements that are counted: what one block takes.
const COUNTED: usize = 2048;
/// Schedules on which bits are compared.
const SCHEDULES: u64 = 10;

/// Does what the command line asks for; `why` is why on no GPU.
pub fn run(args: &Args, why: Option<&Error>) -> Result<Findings, Failure> {
    let device = match why {
        Some(why) => format!("in the emulator, which has no clock, for there is no GPU to use: {why}"),
        None => "in the emulator, which has no clock".to_owned(),
    };
    let (text, figures) = match args.what {
        What::Sum => sum(args)?,
        What::Softmax => rows("softmax", &SOFTMAXES)?,
        What::LayerNorm => rows("layer-norm", &LAYER_NORMS)?,
        What::Stages => return Err("stages are times: they are measured on a GPU".into()),
        What::Bugs => (bugs()?, vec![]),
    };
    Ok(Findings { device, text, figures })
}

fn sum(args: &Args) -> Result<(String, Vec<Figure>), Failure> {
    let len = args.elements.unwrap_or(FEW);
    if len > MOST {
        return Err(format!("the emulator takes up to {MOST} elements, and not {len}").into());
    }
    let (mut rows, mut figures) = (vec![], vec![]);
    for rung in &SUMS {
        let len = len.min(rung.most.unwrap_or(len)) as usize;
        check(rung, len, args.factor)?;
        let values = numbers(len);
        let climb = |seed| Climb {
            factor: args.factor,
            ..Climb::new(seed)
        };
        let mut bits = BTreeSet::new();
        for seed in 0..SCHEDULES {
            bits.insert(ladder::sum(rung, &values, climb(seed))?.answer.to_bits());
        }
        let counts = counted(rung, &numbers(COUNTED), args.factor)?;
        let share = 100.0 * counts.divergent as f64 / counts.accesses.max(1) as f64;
        for (metric, value) in [
            ("atomics", counts.atomics as f64),
            ("barriers", counts.barriers as f64),
            ("shuffles", counts.shuffles as f64),
            ("accesses", counts.accesses as f64),
            ("divergent", counts.divergent as f64),
        ] {
            figures.push(figure(rung.name, case(COUNTED as u64), metric, value));
        }
        figures.push(figure(rung.name, case(len as u64), "distinct", bits.len() as f64));
        rows.push([
            rung.name.to_owned(),
            rung.title.to_owned(),
            grouped(counts.atomics),
            grouped(counts.barriers),
            grouped(counts.shuffles),
            grouped(counts.accesses),
            format!("{share:.0}"),
            bits.len().to_string(),
        ]);
    }
    let heads = [
        "rung",
        "",
        "atomics",
        "barriers",
        "shuffles",
        "accesses",
        "divergent, %",
        "distinct answers",
    ];
    let library = cpu::reduce(Sum, &numbers(len as usize))?;
    let text = format!(
        "{}\n\n\
         Each rung summed up to {} integers exactly. Counts are of {} elements: atomic operations, barriers of blocks, shuffles and\n\
         memory accesses of warps, and those of them that a part of a warp's lanes took part in. Distinct answers are those of {} schedules\n\
         over numbers whose sum depends on the order. The library's own kernel: {library}, on every device.",
        table(heads, 2, rows),
        grouped(len),
        grouped(COUNTED as u64),
        SCHEDULES,
    );
    Ok((text, figures))
}

fn figure(rung: &str, case: String, metric: &'static str, value: f64) -> Figure {
    Figure {
        group: "ladder",
        op: "sum",
        dtype: "f32",
        case,
        who: rung.to_owned(),
        metric,
        value,
        bytes: None,
        note: None,
    }
}

/// That the rung sums integers exactly.
fn check(rung: &Rung<warpfold_kernels::ladder::SumKernel>, len: usize, factor: u64) -> Result<(), Failure> {
    let values = integers(len);
    let climb = Climb {
        factor,
        ..Climb::new(7)
    };
    let (answer, exact) = (ladder::sum(rung, &values, climb)?.answer, values.iter().sum::<f32>());
    if answer == exact {
        Ok(())
    } else {
        Err(format!("{} says {answer} of {len} integers, whose sum is {exact}", rung.name).into())
    }
}

/// The rungs of a row operation, on a few rows.
fn rows(op: &'static str, rungs: &[Rung<RowKernel>]) -> Result<(String, Vec<Figure>), Failure> {
    const ROWS: usize = 8;
    const COLUMNS: usize = 128;
    let (values, ones) = (numbers(ROWS * COLUMNS), vec![1.0; COLUMNS]);
    let of = Rows {
        values: &values,
        columns: COLUMNS,
        causal: false,
        weight: &ones,
        bias: &ones,
        epsilon: 1e-5,
    };
    let (mut lines, mut figures) = (vec![], vec![]);
    for rung in rungs {
        let climb = Climb {
            traced: true,
            ..Climb::new(1)
        };
        let climbed = ladder::rows(rung, &of, climb)?;
        let counts = Counts::of(&climbed.events);
        lines.push([
            rung.name.to_owned(),
            rung.title.to_owned(),
            rung.steps.len().to_string(),
            grouped(counts.barriers),
            grouped(counts.shuffles),
            grouped(counts.accesses),
        ]);
        for (metric, value) in [("barriers", counts.barriers), ("accesses", counts.accesses)] {
            figures.push(Figure {
                op,
                ..figure(rung.name, format!("{ROWS}x{COLUMNS}"), metric, value as f64)
            });
        }
    }
    let heads = ["rung", "", "launches", "barriers", "shuffles", "accesses"];
    let text = format!(
        "{}\n\nCounts are of {ROWS} rows of {COLUMNS} elements: barriers of blocks, shuffles and memory accesses of warps.",
        table(heads, 2, lines)
    );
    Ok((text, figures))
}

/// What the emulator says of kernels that have a bug.
fn bugs() -> Result<String, Failure> {
    /// Two blocks, the second of which is not full.
    const ELEMENTS: usize = 300;
    let mut lines = vec![];
    for planted in &PLANTED {
        let found = planted
            .found(ELEMENTS, 1)
            .ok_or_else(|| format!("{}: the emulator found nothing", planted.name))?;
        lines.push(format!("{}\n  {}\n  found: {found}", planted.name, planted.wrong));
    }
    Ok(lines.join("\n\n"))
}
