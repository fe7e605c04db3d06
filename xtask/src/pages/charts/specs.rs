//! Every chart: what it is of, how it is titled, and which kind of chart it is.

use anyhow::{Context, Result, bail};

use super::{
    Drawn, add_peers,
    bars::BarChart,
    dots::DotChart,
    heat::{self, Measure},
    lines, stacked,
};
use crate::{
    bench::records::Figure,
    pages::{
        measured::{MANY, OWN, Of, PLAIN_READ, gb_per_s, once, peers, rung_title, runs, what},
        numbers::{case, count, percent, shape, short, times, ulps, us},
        table::Items,
    },
};

/// A section: its title, what it says, and what its charts are of.
type Subject = (&'static str, &'static str, Vec<&'static str>);

/// Sections whose charts few records have: they are passed over where they are absent, and not named.
pub const PASSED_OVER: [&str; 2] = ["Segments", "On the CPU"];

/// All sections, in the order of the page.
pub fn subjects() -> Result<Vec<Subject>> {
    serde_json::from_str(include_str!("sections.json")).context("the sections")
}

/// The chart of what is named; nothing where the record has no figures of it.
pub fn chart(of: Of<'_>, name: &str) -> Result<Option<Drawn>> {
    match name.split(", ").collect::<Vec<_>>()[..] {
        ["whole", op] => lines::chart(of, op),
        ["ladder", "sum"] => LADDER_SUM.chart(of),
        ["ladder", "stages"] => stacked::chart(of),
        ["ladder", "softmax"] => LADDER_SOFTMAX.chart(of),
        ["ladder", "layer-norm"] => LADDER_LAYER_NORM.chart(of),
        ["gpt2"] => GPT2.chart(of),
        ["accuracy"] => Ok(ACCURACY.chart(of)),
        ["determinism"] => Ok(DETERMINISM.chart(of)),
        ["first-calls"] => FIRST_CALLS.chart(of),
        ["cpu", "share"] => CPU.chart(of),
        [group, dtype] => Ok(heat::chart(of, Measure::Ratio, group, dtype)),
        [group, dtype, "share"] => Ok(heat::chart(of, Measure::Share, group, dtype)),
        _ => bail!("there is none of that name"),
    }
}

/// GB/s of the rungs of a sum.
const LADDER_SUM: BarChart = BarChart {
    title: "Sum of 2²⁸ f32: bandwidth by rung",
    says: "Bytes of the input by time. Longer is better; each rung changes one thing.",
    figures: |of| {
        let is_rung = |f: &&Figure| f.op == "sum" && f.case == MANY && f.who != PLAIN_READ;
        of.figures("ladder", "us").filter(is_rung).collect()
    },
    heading: |_| String::new(),
    name: |f| f.who.clone(),
    value: gb_per_s,
    text: |f| short(gb_per_s(f)),
    hover: |f| {
        format!(
            "{}, {}: {} GB/s, {} µs",
            f.who,
            rung_title(f),
            short(gb_per_s(f)),
            us(f.value)
        )
    },
    axis: Some("GB/s"),
    table: |_, figures| {
        Items(figures).columns(&[
            ("rung", &|f| f.who.clone()),
            ("µs", &|f| us(f.value)),
            ("GB/s", &|f| short(gb_per_s(f))),
            ("× the first", &|f| times(figures[0].value / f.value)),
            ("what is new", &|f| rung_title(f).to_owned()),
        ])
    },
};

/// Times of the rungs of a row operation.
const LADDER_SOFTMAX: BarChart = BarChart {
    title: "Softmax of f32: time by rung",
    says: "Time in µs. Shorter is better. Each shape has a scale of its own.",
    figures: |of| of.figures("ladder", "us").filter(|f| f.op == "softmax").collect(),
    heading: |f| shape(&f.case),
    name: |f| f.who.clone(),
    value: |f| f.value,
    text: |f| format!("{} µs", us(f.value)),
    hover: |f| format!("{}, {}: {} µs", f.who, rung_title(f), us(f.value)),
    axis: None,
    table: |_, figures| {
        let cases = once(figures.iter().map(|f| &*f.case));
        let rungs = once(figures.iter().map(|f| &*f.who));
        let mut table = Items(&cases).columns(&[("shape", &shape)]);
        table.add_all(&cases, &rungs, str::to_owned, |case, rung| {
            Some(us(find(figures, case, rung)?))
        });
        table
    },
};

const LADDER_LAYER_NORM: BarChart = BarChart {
    title: "Layer-norm of f32: time by rung",
    figures: |of| of.figures("ladder", "us").filter(|f| f.op == "layer-norm").collect(),
    ..LADDER_SOFTMAX
};

/// Times of row operations, a bar for everybody who has one.
const GPT2: BarChart = BarChart {
    title: "GPT-2's row operations",
    says: "Time in µs. Shorter is better. Each case has a scale of its own.",
    figures: |of| {
        let time = move |ours, who: &&str| of.figure(what(ours), who, "us");
        let all = |ours| [OWN].iter().chain(peers("gpt2")).filter_map(move |who| time(ours, who));
        let ours = of.figures("gpt2", "us").filter(|f| f.who == OWN);
        ours.flat_map(all).collect()
    },
    heading: |f| format!("{} of {}, {}", f.op, shape(&f.case), f.dtype),
    hover: |f| {
        format!(
            "{}, {} of {}, {}: {} µs",
            f.who,
            f.op,
            shape(&f.case),
            f.dtype,
            us(f.value)
        )
    },
    table: |of, figures| {
        let ours: Vec<&Figure> = figures.iter().copied().filter(|f| f.who == OWN).collect();
        let mut table = Items(&ours).columns(&[
            ("case", &|f| f.op.clone()),
            ("elements", &|f| shape(&f.case)),
            ("warpfold, µs", &|f| us(f.value)),
            ("GB/s", &|f| short(gb_per_s(f))),
        ]);
        add_peers(&mut table, of, "gpt2", &ours);
        table
    },
    ..LADDER_SOFTMAX
};

/// What a process waits for once.
const FIRST_CALLS: BarChart = BarChart {
    title: "First call of a process",
    says: "Time of a process's first call, the driver's cache off: most of it is the driver compiling PTX. Shorter is better.",
    figures: |of| of.figures("first-calls", "ms").collect(),
    heading: |_| String::new(),
    name: |f| f.op.clone(),
    value: |f| f.value,
    text: |f| short(f.value),
    hover: |f| format!("{}: {} ms", f.op, short(f.value)),
    axis: Some("ms"),
    table: |_, figures| Items(figures).columns(&[("first call", &|f| f.op.clone()), ("ms", &|f| short(f.value))]),
};

/// How much of a plain read's speed the CPU's operators have.
const CPU: BarChart = BarChart {
    title: "On the CPU: share of a plain read",
    says: "A plain read's time by ours. Longer is better; 100 % is as fast as a plain read of the same bytes.",
    figures: |of| of.figures("cpu", "share").collect(),
    heading: |f| format!("{} {}", shape(&f.case), f.dtype),
    name: on_cpu,
    value: |f| 100.0 * f.value,
    text: |f| percent(f.value),
    hover: |f| {
        format!(
            "{} of {} {}: {} of a plain read",
            on_cpu(f),
            shape(&f.case),
            f.dtype,
            percent(f.value)
        )
    },
    axis: Some("%"),
    table: |_, figures| {
        Items(figures).columns(&[
            ("operation", &|f| f.op.clone()),
            ("type", &|f| f.dtype.clone()),
            ("elements", &|f| shape(&f.case)),
            ("by", &|f| f.who.clone()),
            ("% of a plain read", &|f| percent(f.value)),
        ])
    },
};

/// An operation, and who does it where it is somebody else.
fn on_cpu(figure: &Figure) -> String {
    match &*figure.who {
        OWN => figure.op.clone(),
        who => format!("{}, {who}", figure.op),
    }
}

/// Errors of sums.
const ACCURACY: DotChart = DotChart {
    title: "Errors of sums of f32",
    says: "Distance from the exact sum, in units of its last place. Further left is better; 0 is the exact sum, rounded once.",
    group: "accuracy",
    metric: "ulp",
    axis: "error, ulp of the exact sum",
    mark: |f| &f.case,
    hover: |f| format!("{}, {}: {} ulp", f.who, f.case, ulps(f.value)),
    table: |figures| {
        let sums = once(figures.iter().map(|f| &*f.who));
        let cases = once(figures.iter().map(|f| &*f.case));
        let mut table = Items(&sums).columns(&[("sum by", &str::to_owned)]);
        table.add_all(&sums, &cases, case, |sum, case| Some(ulps(find(figures, case, sum)?)));
        table
    },
};

/// How many answers runs over the same elements have.
const DETERMINISM: DotChart = DotChart {
    title: "Bits of one sum, run again and again",
    says: "How many different answers runs over the same elements have. 1 is the same bits in every run.",
    group: "determinism",
    metric: "distinct",
    axis: "distinct answers",
    mark: |_| "",
    hover: |f| format!("{}, {}: {} in {}", f.who, f.case, count(f.value), runs(f)),
    table: |figures| {
        Items(figures).columns(&[
            ("sum by", &|f| f.who.clone()),
            ("distinct answers", &|f| count(f.value)),
            ("elements", &|f| case(&f.case)),
            ("of", &|f| runs(f).to_owned()),
        ])
    },
};

/// Somebody's figure of a case.
fn find(figures: &[&Figure], case: &str, who: &str) -> Option<f64> {
    let found = figures.iter().find(|f| f.case == case && f.who == who);
    found.map(|figure| figure.value)
}
