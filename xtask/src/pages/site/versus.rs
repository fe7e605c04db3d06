//! Charts of warpfold beside its peers: bandwidth over sizes, ratios by shape, times by case.

use anyhow::Result;

use super::{
    bars::{Bar, Bars, Group},
    chart::{Chart, OWN, Of, gb_per_s, once, peers, series},
    heat::{Cell as Square, Heat, Measure},
    lines::{Ceiling, Lines, Point, Series},
    scale::{self, power_of_two, short},
    table::{Cell, Table},
};
use crate::{
    bench::records::Figure,
    pages::tables::{MANY, PLAIN_READ, times, us},
};

/// GB/s of an operation over whole arrays of f32.
pub fn bandwidth(of: Of<'_>, op: &str) -> Result<Option<Chart>> {
    let sizes = sizes(of, [op, "f32"]);
    if sizes.is_empty() {
        return Ok(None);
    }
    let mut lines = Lines {
        series: vec![],
        ratios: vec![],
        ceilings: ceilings(of)?,
        below: "elements",
        beside: "GB/s",
    };
    for who in [OWN].iter().chain(peers("whole")) {
        let (mut points, mut ratios) = (vec![], vec![]);
        for (case, x) in &sizes {
            let key = |who| ["whole", op, "f32", case, who];
            let (Some(figure), Some(ours)) = (of.time(key(who)), of.time(key(OWN))) else {
                continue;
            };
            let (x, y, ratio) = (*x, gb_per_s(figure)?, figure.value / ours.value);
            let name = format!("{who}, {}", power_of_two(x));
            let title = format!("{name}: {} GB/s, {} µs", short(y), us(figure.value));
            points.push(Point { x, y, title });
            let title = format!("{name}: {} times warpfold's time", times(ratio));
            ratios.push(Point { x, y: ratio, title });
        }
        let series = |points| Series {
            name: (*who).to_owned(),
            number: series(who),
            dashes: None,
            points,
        };
        if *who != OWN && !ratios.is_empty() {
            lines.ratios.push(series(ratios));
        }
        if !points.is_empty() {
            lines.series.push(series(points));
        }
    }
    lines.series.extend(of_other_types(of, op)?);
    Ok(Some(Chart {
        name: format!("whole-{op}"),
        title: format!("{} of f32: bandwidth by length", capital(op)),
        says: "Bytes of the input by time; beneath, the peers' times by ours: above 1 warpfold is faster.".to_owned(),
        drawing: lines.draw(),
        table: bandwidth_table(of, op, &sizes)?,
        source: of.source(),
    }))
}

/// Types beside f32 of which ours are drawn, and how.
const OTHERS: [(&str, &str); 2] = [("bf16", "stroke s0 dashed"), ("f64", "stroke s0 dotted")];

/// Our own lines of other types, where there is a line of at least two lengths.
fn of_other_types(of: Of<'_>, op: &str) -> Result<Vec<Series>> {
    let mut lines = vec![];
    for (dtype, dashes) in OTHERS {
        let mut points = vec![];
        for (case, x) in sizes(of, [op, dtype]) {
            if let Some(figure) = of.time(["whole", op, dtype, case, OWN]) {
                let (y, title) = (gb_per_s(figure)?, String::new());
                points.push(Point { x, y, title });
            }
        }
        if points.len() > 1 {
            let (name, number, dashes) = (format!("{OWN}, {dtype}"), series(OWN), Some(dashes));
            lines.push(Series {
                name,
                number,
                dashes,
                points,
            });
        }
    }
    Ok(lines)
}

/// Lengths by powers of two that we have a time of, the shortest first.
fn sizes<'a>(of: Of<'a>, [op, dtype]: [&str; 2]) -> Vec<(&'a str, f64)> {
    let ours = of
        .figures("whole", "us")
        .filter(|f| f.op == op && f.dtype == dtype && f.who == OWN);
    let power = |figure: &'a Figure| {
        Some((
            &*figure.case,
            figure.case.strip_prefix("2^")?.parse::<f64>().ok()?.exp2(),
        ))
    };
    let mut sizes: Vec<(&str, f64)> = ours.filter_map(power).collect();
    sizes.sort_by(|a, b| a.1.total_cmp(&b.1));
    sizes
}

/// The peak, and a plain read where it was measured.
pub fn ceilings(of: Of<'_>) -> Result<Vec<Ceiling>> {
    let mut ceilings = vec![];
    if let Some(value) = of.peak() {
        let name = "peak (clock × width)".to_owned();
        ceilings.push(Ceiling {
            name,
            value,
            class: "ceiling",
        });
    }
    if let Some(figure) = of.time(["ladder", "sum", "f32", "2^28", "a plain read"]) {
        let (name, value) = ("plain read, measured".to_owned(), gb_per_s(figure)?);
        ceilings.push(Ceiling {
            name,
            value,
            class: "read",
        });
    }
    Ok(ceilings)
}

fn bandwidth_table(of: Of<'_>, op: &str, sizes: &[(&str, f64)]) -> Result<Table> {
    let peers = peers("whole");
    let heads = ["elements", "warpfold, µs", "GB/s"].map(str::to_owned).into_iter();
    let mut table = Table::new(heads.chain(peers.iter().map(|who| format!("{who}, µs"))));
    for (case, size) in sizes {
        let key = |who| ["whole", op, "f32", case, who];
        let mut row: Vec<Cell> = vec![power_of_two(*size).into()];
        if let Some(ours) = of.time(key(OWN)) {
            row.extend([us(ours.value).into(), short(gb_per_s(ours)?).into()]);
        }
        row.extend(peers.iter().map(|who| time_of_peer(of, key(who))));
        table.rows.push(row);
    }
    Ok(table)
}

/// A peer's time, or what there is in its place.
fn time_of_peer(of: Of<'_>, key: [&str; 5]) -> Cell {
    let [.., who] = key;
    match (of.time(key), of.failed(key), of.absent(who)) {
        (Some(figure), ..) => us(figure.value).into(),
        (None, Some(why), _) => Cell::missing("failed", why),
        (None, None, Some(why)) => Cell::missing("not present", why),
        (None, None, None) => Cell::none(),
    }
}

/// The fastest of the peers in a case.
fn best<'a>(of: Of<'a>, [group, op, dtype, case]: [&str; 4]) -> Option<&'a Figure> {
    let others = of.figures(group, "us").filter(|f| f.who != OWN && f.who != PLAIN_READ);
    others
        .filter(|f| f.op == op && f.dtype == dtype && f.case == case)
        .min_by(|a, b| a.value.total_cmp(&b.value))
}

/// How many times as fast as the best peer, by operation and shape.
pub fn ratios(of: Of<'_>, group: &str, dtype: &str) -> Result<Option<Chart>> {
    // Cases that we and a peer have a time of.
    let compared: Vec<(&Figure, &Figure)> = of
        .figures(group, "us")
        .filter(|f| f.dtype == dtype && f.who == OWN)
        .filter_map(|ours| Some((ours, best(of, [group, &ours.op, dtype, &ours.case])?)))
        .collect();
    if compared.is_empty() {
        return Ok(None);
    }
    let ops = once(compared.iter().map(|(ours, _)| &*ours.op));
    let shapes = once(compared.iter().map(|(ours, _)| &*ours.case));
    let cell = |op: &str, shape: &str| {
        let (ours, best) = compared.iter().find(|(ours, _)| ours.op == op && ours.case == shape)?;
        let ratio = best.value / ours.value;
        let both = format!("warpfold {} µs, {} {} µs", us(ours.value), best.who, us(best.value));
        let title = format!("{op} of {}: {both}, {} times", shape_of(shape), times(ratio));
        Some(Square { value: ratio, title })
    };
    let row = |shape: &&str| (shape_of(shape), ops.iter().map(|op| cell(op, shape)).collect());
    let heat = Heat {
        corner: rows_of(group),
        measure: Measure::Ratio,
        columns: ops.iter().map(|op| (*op).to_owned()).collect(),
        rows: shapes.iter().map(row).collect(),
    };
    Ok(Some(Chart {
        name: format!("{group}-{dtype}"),
        title: format!("{}, {dtype}: beside peers", title_of(group)),
        says: "The best peer's time by ours. Above 1 warpfold is faster (blue), below 1 slower (orange).".to_owned(),
        drawing: heat.draw(),
        table: ratios_table(of, group, dtype, &compared),
        source: of.source(),
    }))
}

/// What speeds are shares of: a plain read where the record has one, the peak where not.
fn reference(of: Of<'_>) -> Option<(&'static str, f64)> {
    let read = of.time(["ladder", "sum", "f32", MANY, PLAIN_READ]);
    let read = read.and_then(Figure::gb_per_s).map(|speed| ("a plain read", speed));
    read.or_else(|| Some(("the peak", of.peak()?)))
}

/// How much of a plain read's speed a group's cases have, by operation.
pub fn shares(of: Of<'_>, group: &str, dtype: &str) -> Result<Option<Chart>> {
    let ours: Vec<(&Figure, f64)> = of
        .figures(group, "us")
        .filter(|f| f.dtype == dtype && f.who == OWN)
        .filter_map(|figure| Some((figure, figure.gb_per_s()?)))
        .collect();
    let Some((name, most)) = reference(of).filter(|_| !ours.is_empty()) else {
        return Ok(None);
    };
    let ops = once(ours.iter().map(|(figure, _)| &*figure.op));
    let shapes = once(ours.iter().map(|(figure, _)| &*figure.case));
    let cell = |op: &str, shape: &str| {
        let (_, speed) = ours
            .iter()
            .find(|(figure, _)| figure.op == op && figure.case == shape)?;
        let value = speed / most;
        let title = format!(
            "{op} of {}: {} GB/s, {:.0} % of {name}",
            shape_of(shape),
            short(*speed),
            100.0 * value
        );
        Some(Square { value, title })
    };
    let row = |shape: &&str| (shape_of(shape), ops.iter().map(|op| cell(op, shape)).collect());
    let heat = Heat {
        corner: rows_of(group),
        measure: Measure::Share,
        columns: ops.iter().map(|op| (*op).to_owned()).collect(),
        rows: shapes.iter().map(row).collect(),
    };
    let mut table = Table::new([rows_of(group), "operation", "µs", "GB/s", "share"]);
    for (figure, speed) in &ours {
        let share = format!("{:.0} %", 100.0 * speed / most);
        let row = [
            shape_of(&figure.case),
            figure.op.clone(),
            us(figure.value),
            short(*speed),
            share,
        ];
        table.rows.push(row.map(Cell::from).into());
    }
    Ok(Some(Chart {
        name: format!("{group}-{dtype}-share"),
        title: format!("{}, {dtype}: share of {name}", title_of(group)),
        says: format!("Bytes that are read and written, by time, as a share of the speed of {name}. More is better."),
        drawing: heat.draw(),
        table,
        source: of.source(),
    }))
}

fn ratios_table(of: Of<'_>, group: &str, dtype: &str, compared: &[(&Figure, &Figure)]) -> Table {
    let peers = peers(group);
    let heads = [rows_of(group), "operation", "warpfold, µs"]
        .map(str::to_owned)
        .into_iter();
    let others = peers.iter().map(|who| format!("{who}, µs"));
    let mut table = Table::new(heads.chain(others).chain(["best peer ÷ ours".to_owned()]));
    for (ours, best) in compared {
        let mut row: Vec<Cell> = vec![shape_of(&ours.case).into(), (&*ours.op).into(), us(ours.value).into()];
        row.extend(
            peers
                .iter()
                .map(|who| time_of_peer(of, [group, &ours.op, dtype, &ours.case, who])),
        );
        row.push(times(best.value / ours.value).into());
        table.rows.push(row);
    }
    table
}

/// Times of a group's cases, a bar for everybody who has one.
pub fn cases(of: Of<'_>, group: &str, title: &str) -> Result<Option<Chart>> {
    let ours: Vec<&Figure> = of.figures(group, "us").filter(|f| f.who == OWN).collect();
    if ours.is_empty() {
        return Ok(None);
    }
    let peers = peers(group);
    let mut table = Table::new(
        ["case", "elements", "warpfold, µs", "GB/s"]
            .map(str::to_owned)
            .into_iter()
            .chain(peers.iter().map(|who| format!("{who}, µs"))),
    );
    let mut groups = vec![];
    for figure in ours {
        let key = |who| [group, &*figure.op, &*figure.dtype, &*figure.case, who];
        let name = format!("{} of {}, {}", figure.op, shape_of(&figure.case), figure.dtype);
        let bar = |who: &&'static str| {
            let time = of.time(key(*who))?.value;
            Some(Bar {
                name: (*who).to_owned(),
                value: time,
                text: format!("{} µs", us(time)),
                own: *who == OWN,
                title: format!("{who}, {name}: {} µs", us(time)),
            })
        };
        let bars = [OWN].iter().chain(peers).filter_map(bar).collect();
        let mut row: Vec<Cell> = vec![
            (&*figure.op).into(),
            shape_of(&figure.case).into(),
            us(figure.value).into(),
        ];
        row.push(short(gb_per_s(figure)?).into());
        row.extend(peers.iter().map(|who| time_of_peer(of, key(who))));
        table.rows.push(row);
        groups.push(Group { name, bars });
    }
    let (axis, ceilings) = (None, vec![]);
    Ok(Some(Chart {
        name: group.to_owned(),
        title: title.to_owned(),
        says: "Time in µs. Shorter is better. Each case has a scale of its own.".to_owned(),
        drawing: Bars { groups, axis, ceilings }.draw(),
        table,
        source: of.source(),
    }))
}

/// A name at the beginning of a title.
pub fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A shape or a kind of segments, as people write it: `8x8 causal` is 8 × 8 causal, `1..16` is 1 to 16.
pub fn shape_of(name: &str) -> String {
    let word = |word: &str| {
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            word.replace('x', " × ").replace("..", " to ")
        } else {
            word.to_owned()
        }
    };
    let words: Vec<String> = scale::case(name).split(' ').map(word).collect();
    words.join(" ")
}

/// What the rows of a group's chart are.
fn rows_of(group: &str) -> &'static str {
    if group == "segments" { "lengths" } else { "shape" }
}

fn title_of(group: &str) -> &str {
    match group {
        "rows" => "Rows",
        "columns" => "Columns",
        "segments" => "Segments",
        _ => "Row operations",
    }
}
