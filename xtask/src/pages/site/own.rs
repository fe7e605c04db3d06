//! Charts of what is measured of sums themselves: the ladder, its stages, first calls, errors and bits.

use anyhow::{Context, Result};
use warpfold_kernels::ladder::{LAYER_NORMS, SOFTMAXES, SUMS, sum::stages::STAGES};

use super::{
    bars::{Bar, Bars, Group, Parts, Stacked},
    chart::{Chart, OWN, Of, gb_per_s, once},
    dots::{Dot, Dots, Row},
    scale::{self, case, short},
    table::{Cell, Table},
    versus::{capital, ceilings, shape_of},
};
use crate::{
    bench::records::Figure,
    pages::tables::{MANY, PLAIN_READ, count, names, times, ulps, us},
};

/// GB/s of the rungs of a sum.
pub fn ladder_sum(of: Of<'_>) -> Result<Option<Chart>> {
    let is = |f: &&Figure| f.op == "sum" && f.case == MANY && f.who != PLAIN_READ;
    let figures: Vec<&Figure> = of.figures("ladder", "us").filter(is).collect();
    if figures.is_empty() {
        return Ok(None);
    }
    let titles: Vec<(&str, &str)> = names(&SUMS).collect();
    let mut table = Table::new(["rung", "µs", "GB/s", "× the first", "what is new"]);
    let mut bars = vec![];
    for figure in &figures {
        let (speed, who) = (gb_per_s(figure)?, &*figure.who);
        let title = titles
            .iter()
            .find(|(name, _)| *name == who)
            .map_or("", |(_, title)| title);
        let gain = times(figures[0].value / figure.value);
        let row = [who.to_owned(), us(figure.value), short(speed), gain, title.to_owned()];
        table.rows.push(row.map(Cell::from).into());
        bars.push(Bar {
            name: who.to_owned(),
            value: speed,
            text: short(speed),
            own: who == OWN,
            title: format!("{who}, {title}: {} GB/s, {} µs", short(speed), us(figure.value)),
        });
    }
    let (name, axis) = (String::new(), Some("GB/s"));
    let groups = vec![Group { name, bars }];
    let ceilings = ceilings(of)?;
    Ok(Some(Chart {
        name: "ladder-sum".to_owned(),
        title: "Sum of 2²⁸ f32: bandwidth by rung".to_owned(),
        says: "Bytes of the input by time. Longer is better; each rung changes one thing.".to_owned(),
        drawing: Bars { groups, axis, ceilings }.draw(),
        table,
        source: of.source(),
    }))
}

/// Times of the rungs of a row operation.
pub fn ladder_rows(of: Of<'_>, op: &str) -> Result<Option<Chart>> {
    let figures: Vec<&Figure> = of.figures("ladder", "us").filter(|f| f.op == op).collect();
    if figures.is_empty() {
        return Ok(None);
    }
    let titles: Vec<(&str, &str)> = names(&SOFTMAXES).chain(names(&LAYER_NORMS)).collect();
    let cases = once(figures.iter().map(|f| &*f.case));
    let rungs = once(figures.iter().map(|f| &*f.who));
    let mut table = Table::new(["shape"].iter().chain(&rungs).copied());
    let mut groups = vec![];
    for case in cases {
        let of_case: Vec<&&Figure> = figures.iter().filter(|f| f.case == case).collect();
        let bar = |figure: &&&Figure| {
            let (who, time) = (&*figure.who, us(figure.value));
            let title = titles
                .iter()
                .find(|(name, _)| *name == who)
                .map_or("", |(_, title)| title);
            Bar {
                name: who.to_owned(),
                value: figure.value,
                text: format!("{time} µs"),
                own: who == OWN,
                title: format!("{who}, {title}: {time} µs"),
            }
        };
        groups.push(Group {
            name: shape_of(case),
            bars: of_case.iter().map(bar).collect(),
        });
        let mut row: Vec<Cell> = vec![shape_of(case).into()];
        let time = |who: &&str| {
            of_case
                .iter()
                .find(|f| f.who == *who)
                .map_or_else(Cell::none, |f| us(f.value).into())
        };
        row.extend(rungs.iter().map(time));
        table.rows.push(row);
    }
    let (axis, ceilings) = (None, vec![]);
    Ok(Some(Chart {
        name: format!("ladder-{op}"),
        title: format!("{} of f32: time by rung", capital(op)),
        says: "Time in µs. Shorter is better. Each shape has a scale of its own.".to_owned(),
        drawing: Bars { groups, axis, ceilings }.draw(),
        table,
        source: of.source(),
    }))
}

/// Where the time of a sum goes.
pub fn stages(of: Of<'_>) -> Result<Option<Chart>> {
    let figures: Vec<&Figure> = of.figures("ladder", "us").filter(|f| f.op == "stages").collect();
    if figures.is_empty() {
        return Ok(None);
    }
    let mut table = Table::new(
        ["elements"]
            .into_iter()
            .chain(STAGES)
            .chain(["in all, µs", "bytes ÷ peak, µs"]),
    );
    let mut rows = vec![];
    for case in once(figures.iter().map(|f| &*f.case)) {
        let until = STAGES.map(|stage| figures.iter().find(|f| f.case == case && f.who == stage));
        let mut values = vec![];
        let (mut before, mut bytes) = (0.0, None);
        for (figure, stage) in until.into_iter().zip(STAGES) {
            let figure = figure.with_context(|| format!("ladder, stages of {case}: no {stage}"))?;
            values.push(figure.value - before);
            (before, bytes) = (figure.value, figure.bytes);
        }
        let model = of.peak().zip(bytes).map(|(peak, bytes)| bytes as f64 / peak / 1e3);
        let name = scale::case(case);
        let mut row: Vec<Cell> = vec![name.clone().into()];
        row.extend(values.iter().map(|value| Cell::from(format!("{value:.2}"))));
        row.extend([
            us(before).into(),
            model.map_or_else(Cell::none, |model| us(model).into()),
        ]);
        table.rows.push(row);
        values.iter_mut().for_each(|value| *value = value.max(0.0));
        let text = format!("{} µs", us(before));
        rows.push(Parts {
            name,
            values,
            model,
            text,
        });
    }
    let stacked = Stacked {
        parts: STAGES.to_vec(),
        model: "bytes ÷ peak",
        rows,
    };
    Ok(Some(Chart {
        name: "ladder-stages".to_owned(),
        title: "Where the time of a sum goes".to_owned(),
        says: "Shares of the time of a sum of so many f32, by stage: differences of the times of a kernel that stops behind each. \
               The thin bar is the model: bytes by the peak bandwidth. A difference below 0 is drawn as 0."
            .to_owned(),
        drawing: stacked.draw(),
        table,
        source: of.source(),
    }))
}

/// What a process waits for once.
pub fn first_calls(of: Of<'_>) -> Result<Option<Chart>> {
    let figures: Vec<&Figure> = of.figures("first-calls", "ms").collect();
    if figures.is_empty() {
        return Ok(None);
    }
    let mut table = Table::new(["first call", "ms"]);
    let mut bars = vec![];
    for figure in figures {
        let (name, ms) = (figure.op.clone(), short(figure.value));
        table.rows.push(vec![(&*name).into(), (&*ms).into()]);
        let title = format!("{name}: {ms} ms");
        bars.push(Bar {
            name,
            value: figure.value,
            text: ms,
            own: true,
            title,
        });
    }
    let groups = vec![Group {
        name: String::new(),
        bars,
    }];
    let (axis, ceilings) = (Some("ms"), vec![]);
    Ok(Some(Chart {
        name: "first-calls".to_owned(),
        title: "First call of a process".to_owned(),
        says: "Time of a process's first call, the driver's cache off: most of it is the driver compiling PTX. Shorter is better.".to_owned(),
        drawing: Bars { groups, axis, ceilings }.draw(),
        table,
        source: of.source(),
    }))
}

/// Errors of sums.
pub fn accuracy(of: Of<'_>) -> Result<Option<Chart>> {
    let figures: Vec<&Figure> = of.figures("accuracy", "ulp").collect();
    if figures.is_empty() {
        return Ok(None);
    }
    let cases = once(figures.iter().map(|f| &*f.case));
    let mut table = Table::new(
        ["sum by".to_owned()]
            .into_iter()
            .chain(cases.iter().map(|name| case(name))),
    );
    let mut rows = vec![];
    for who in once(figures.iter().map(|f| &*f.who)) {
        let found = |case: &&str| figures.iter().find(|f| f.who == who && f.case == *case);
        let dot = |case: &&str| {
            let value = found(case)?.value;
            let title = format!("{who}, {case}: {} ulp", ulps(value));
            Some(Dot { value, title })
        };
        let mut row: Vec<Cell> = vec![who.into()];
        row.extend(
            cases
                .iter()
                .map(|case| found(case).map_or_else(Cell::none, |f| ulps(f.value).into())),
        );
        table.rows.push(row);
        rows.push(Row {
            name: who.to_owned(),
            own: who.starts_with(OWN),
            values: cases.iter().map(dot).collect(),
        });
    }
    let dots = Dots {
        axis: "error, ulp of the exact sum",
        marks: cases.into_iter().map(case).collect(),
        rows,
    };
    Ok(Some(Chart {
        name: "accuracy".to_owned(),
        title: "Errors of sums of f32".to_owned(),
        says: "Distance from the exact sum, in units of its last place. Further left is better; 0 is the exact sum, rounded once."
            .to_owned(),
        drawing: dots.draw(),
        table,
        source: of.source(),
    }))
}

/// How many answers runs over the same elements have.
pub fn determinism(of: Of<'_>) -> Result<Option<Chart>> {
    let figures: Vec<&Figure> = of.figures("determinism", "distinct").collect();
    if figures.is_empty() {
        return Ok(None);
    }
    let mut table = Table::new(["sum by", "distinct answers", "elements", "of"]);
    let mut rows = vec![];
    for figure in figures {
        let (who, runs) = (figure.who.clone(), figure.note.as_deref().unwrap_or("1000 runs"));
        let row = [who.clone(), count(figure.value), case(&figure.case), runs.to_owned()];
        table.rows.push(row.map(Cell::from).into());
        let title = format!("{who}, {}: {} in {runs}", figure.case, count(figure.value));
        let (own, value) = (who == OWN, figure.value);
        rows.push(Row {
            name: who,
            own,
            values: vec![Some(Dot { value, title })],
        });
    }
    let dots = Dots {
        axis: "distinct answers",
        marks: vec![],
        rows,
    };
    Ok(Some(Chart {
        name: "determinism".to_owned(),
        title: "Bits of one sum, run again and again".to_owned(),
        says: "How many different answers runs over the same elements have. 1 is the same bits in every run."
            .to_owned(),
        drawing: dots.draw(),
        table,
        source: of.source(),
    }))
}

/// How much of a plain read's speed the CPU's operators have.
pub fn cpu(of: Of<'_>) -> Result<Option<Chart>> {
    let figures: Vec<&Figure> = of.figures("cpu", "share").collect();
    if figures.is_empty() {
        return Ok(None);
    }
    let mut table = Table::new(["operation", "type", "elements", "by", "% of a plain read"]);
    let mut groups: Vec<Group> = vec![];
    for figure in figures {
        let (percent, size) = (100.0 * figure.value, shape_of(&figure.case));
        let text = format!("{percent:.0} %");
        let row = [&*figure.op, &figure.dtype, &size, &figure.who, &text];
        table.rows.push(row.map(Cell::from).into());
        let own = figure.who == OWN;
        let by = if own {
            String::new()
        } else {
            format!(", {}", figure.who)
        };
        let name = format!("{}{by}", figure.op);
        let title = format!("{name} of {size} {}: {text} of a plain read", figure.dtype);
        let bar = Bar {
            name,
            value: percent,
            text,
            own,
            title,
        };
        let name = format!("{size} {}", figure.dtype);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.bars.push(bar),
            None => groups.push(Group { name, bars: vec![bar] }),
        }
    }
    let (axis, ceilings) = (Some("%"), vec![]);
    Ok(Some(Chart {
        name: "cpu-share".to_owned(),
        title: "On the CPU: share of a plain read".to_owned(),
        says: "A plain read's time by ours. Longer is better; 100 % is as fast as a plain read of the same bytes."
            .to_owned(),
        drawing: Bars { groups, axis, ceilings }.draw(),
        table,
        source: of.source(),
    }))
}
