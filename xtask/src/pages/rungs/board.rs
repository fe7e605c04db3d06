//! The steps of a launch, drawn: threads are columns, steps are rows.

use std::{collections::BTreeMap, fmt::Write, ops::Range};

use warpfold_emulator::Thread;
use warpfold_kernels::tree::LANES;

use super::{
    Launched,
    steps::{Kind, Step, lanes, runs},
};
use crate::pages::site::{Anchor, Drawing, WIDTH};

/// Where the columns begin and end.
const LEFT: f64 = 120.0;
const RIGHT: f64 = WIDTH - 8.0;
/// The widest column, and the narrowest that is parted from the next.
const WIDEST: f64 = 5.0;
const PARTED: f64 = 2.0;
/// The least that a thread takes which works alone.
const LONE: f64 = 3.0;
/// Between blocks, and between warps.
const BETWEEN_BLOCKS: f64 = 10.0;
const BETWEEN_WARPS: f64 = 3.0;
/// Heights: of a step by itself, of one of several, of one in a long queue, of a wide load, of a barrier.
const ALONE: f64 = 14.0;
const AMONG: f64 = 7.0;
const QUEUED: f64 = 4.0;
const WIDE: f64 = 10.0;
const BARRIER: f64 = 6.0;
/// Between runs, between steps of a run, and between wide loads.
const BETWEEN_RUNS: f64 = 2.0;
const BETWEEN_STEPS: f64 = 1.0;
const BETWEEN_WIDE: f64 = 2.0;
/// Warps of a block that do the same in every step: they have one column of lanes.
struct Column {
    block: u32,
    warps: Range<u32>,
    x: f64,
}

/// The steps of a launch, where they are drawn.
pub struct Board<'a> {
    launched: &'a Launched,
    columns: Vec<Column>,
    /// The width of a lane.
    lane: f64,
    runs: Vec<Range<usize>>,
    /// The upper edge of the heads, and of each step; then the lower edge of the last.
    top: f64,
    edges: Vec<f64>,
    /// The last step of each thread.
    ends: BTreeMap<Thread, usize>,
}

/// Parts of a path for each class.
type Paths = BTreeMap<&'static str, String>;

impl<'a> Board<'a> {
    /// With its upper edge at `top`.
    pub fn new(launched: &'a Launched, top: f64) -> Self {
        let steps = &launched.steps;
        let mut columns: Vec<Column> = vec![];
        for block in 0..launched.blocks {
            for warp in 0..launched.threads / LANES {
                let does = |warp| steps.iter().map(move |step| step.working(block, warp));
                match columns.last_mut() {
                    Some(column) if column.block == block && does(column.warps.start).eq(does(warp)) => {
                        column.warps.end = warp + 1;
                    }
                    _ => columns.push(Column {
                        block,
                        warps: warp..warp + 1,
                        x: 0.0,
                    }),
                }
            }
        }
        let between = |a: &Column, b: &Column| {
            if a.block == b.block {
                BETWEEN_WARPS
            } else {
                BETWEEN_BLOCKS
            }
        };
        let gaps: f64 = columns.windows(2).map(|pair| between(&pair[0], &pair[1])).sum();
        let lane = ((RIGHT - LEFT - gaps) / (columns.len() as f64 * f64::from(LANES))).min(WIDEST);
        let lane = (lane * 10.0).floor() / 10.0;
        let mut x = LEFT;
        for i in 0..columns.len() {
            if i > 0 {
                x += lane * f64::from(LANES) + between(&columns[i - 1], &columns[i]);
            }
            columns[i].x = x;
        }
        let runs = runs(steps);
        let heads = if columns.iter().any(|column| column.warps.start > 0) {
            32.0
        } else {
            18.0
        };
        let mut edges = vec![top + heads];
        for run in &runs {
            for step in &steps[run.clone()] {
                edges.push(edges[edges.len() - 1] + height(step, run.len()));
            }
            edges[run.end] += BETWEEN_RUNS;
        }
        let ends = steps
            .iter()
            .enumerate()
            .flat_map(|(i, step)| step.works.keys().map(move |who| (*who, i)))
            .collect();
        Self {
            launched,
            columns,
            lane,
            runs,
            top,
            edges,
            ends,
        }
    }

    /// The lower edge.
    pub fn bottom(&self) -> f64 {
        self.edges[self.edges.len() - 1]
    }

    /// Whether a column is of several warps.
    pub fn shares_columns(&self) -> bool {
        self.columns.iter().any(|column| column.warps.len() > 1)
    }

    /// What stands above the columns: blocks, and warps where a block has several.
    pub fn heads(&self, drawing: &mut Drawing) {
        let width = self.lane * f64::from(LANES);
        let several = self.columns.iter().any(|column| column.warps.start > 0);
        for column in &self.columns {
            let Column { block, warps, x } = column;
            if warps.start == 0 {
                drawing.text("word", Anchor::Start, (*x, self.top + 12.0), &format!("block {block}"));
            }
            let text = match (warps.start, warps.end - 1) {
                (0, 0) => "warp 0".to_owned(),
                (first, last) if first == last => first.to_string(),
                (first, last) => format!("{first} to {last}"),
            };
            if several {
                let middle = x + width / 2.0;
                drawing.text("head", Anchor::Middle, (middle, self.top + 26.0), &text);
            }
        }
    }

    /// The steps. Says which classes it has used.
    pub fn draw(&self, drawing: &mut Drawing) -> Vec<&'static str> {
        let mut paths = Paths::new();
        for run in &self.runs {
            for i in run.clone() {
                self.step(&mut paths, i, run);
            }
            let steps = &self.launched.steps[run.clone()];
            let middle = (self.edges[run.start] + self.edges[run.end] - BETWEEN_RUNS) / 2.0;
            if let Some(label) = label(steps) {
                drawing.text("word", Anchor::Start, (8.0, middle + 3.5), &label);
            }
        }
        self.gaps(&mut paths);
        let classes = [
            "waits",
            "later",
            "load",
            "store",
            "shared",
            "shuffle",
            "partner",
            "atomic",
            "poll",
            "gap",
            "idle",
            "barrier",
            "grid-barrier",
        ];
        let drawn = classes.into_iter().filter(|class| paths.contains_key(class));
        drawn.inspect(|class| drawing.path(class, &paths[class])).collect()
    }

    /// What each lane of each column does in a step of a run.
    fn step(&self, paths: &mut Paths, number: usize, run: &Range<usize>) {
        let step = &self.launched.steps[number];
        let (top, queue, height) = (self.edges[number], self.edges[run.start], height(step, run.len()));
        let cell = match step.kind {
            Kind::Poll => {
                let last = &self.columns[self.columns.len() - 1];
                let width = last.x + self.lane * f64::from(LANES) - LEFT;
                line(paths, "grid-barrier", [LEFT, top + height - BARRIER / 2.0, width]);
                ALONE - BETWEEN_STEPS
            }
            Kind::Load { words: 2.. } => height - BETWEEN_WIDE,
            _ => height - BETWEEN_STEPS,
        };
        for column in &self.columns {
            let (block, warp) = (column.block, column.warps.start);
            let works = step.working(block, warp);
            if step.kind == Kind::Barrier {
                if works > 0 {
                    let width = self.lane * f64::from(LANES);
                    line(paths, "barrier", [column.x - 1.5, top + height / 2.0, width + 3.0]);
                }
                continue;
            }
            let all = lanes(step.all.iter().copied(), block, warp);
            let goes_on = |lane| {
                self.ends
                    .get(&thread(block, warp, lane))
                    .is_some_and(|end| *end > number)
            };
            let mut cells = |class, lanes| self.cells(paths, class, lanes, (column.x, top, cell));
            cells("waits", if works == 0 { lanes_where(goes_on) & !all } else { 0 });
            cells("idle", if works == 0 { 0 } else { !all });
            cells(class(step.kind), works);
            match step.kind {
                Kind::Shuffle { reach } => cells("partner", works & lanes_where(|lane| lane & reach > 0)),
                // Until its turn.
                Kind::Atomic if top > queue => self.cells(paths, "later", works, (column.x, queue, top - queue)),
                _ => {}
            }
        }
    }

    /// Lanes of one class, side by side in one rectangle.
    fn cells(&self, paths: &mut Paths, class: &'static str, lanes: u32, (x, y, height): (f64, f64, f64)) {
        let least = if self.lane < PARTED { LONE } else { self.lane };
        let widened = if lanes.count_ones() == 1 { least } else { 0.0 };
        let (mut lane, mut before) = (0, None);
        while lane < LANES {
            let many = (!(lanes >> lane)).trailing_zeros().min(LANES - lane);
            let (from, width) = (x + f64::from(lane) * self.lane, f64::from(many) * self.lane);
            if many > 0 && class == "idle" {
                // What works before it may be drawn wider than it is.
                let aside = (least - self.lane).max(1.2);
                line(paths, class, [from + aside, y + height / 2.0, width - aside - 0.5]);
            } else if many > 0 {
                let path = paths.entry(class).or_default();
                let _ = match before {
                    None => write!(path, "M{} {}", at(from), at(y)),
                    Some(before) => write!(path, "m{} 0", at(from - before)),
                };
                let width = at(width.max(widened));
                let _ = write!(path, "h{width}v{height}h-{width}z");
                before = Some(from);
            }
            lane += many.max(1);
        }
    }

    /// Lines of the ground between lanes, and between the words of wide loads.
    fn gaps(&self, paths: &mut Paths) {
        let path = paths.entry("gap").or_default();
        let (top, bottom) = (self.edges[0], self.bottom());
        for column in &self.columns {
            for lane in (1..LANES).filter(|_| self.lane >= PARTED) {
                let _ = write!(path, "M{} {top}V{bottom}", at(column.x + f64::from(lane) * self.lane));
            }
        }
        for (step, edge) in self.launched.steps.iter().zip(&self.edges) {
            if let Kind::Load { words } = step.kind {
                for word in 1..words {
                    let y = at(edge + (WIDE - BETWEEN_WIDE) * word as f64 / words as f64);
                    let _ = write!(path, "M{LEFT} {y}H{RIGHT}");
                }
            }
        }
    }
}

fn lanes_where(is: impl Fn(u32) -> bool) -> u32 {
    (0..LANES)
        .filter(|lane| is(*lane))
        .fold(0, |lanes, lane| lanes | 1 << lane)
}

fn thread(block: u32, warp: u32, lane: u32) -> Thread {
    let thread = warp * LANES + lane;
    Thread { block, thread }
}

/// A coordinate: a tenth of a pixel is all that is seen.
fn at(coordinate: f64) -> f64 {
    (coordinate * 10.0).round() / 10.0
}

fn line(paths: &mut Paths, class: &'static str, [x, y, width]: [f64; 3]) {
    let _ = write!(paths.entry(class).or_default(), "M{} {}h{}", at(x), at(y), at(width));
}

/// The height of a step, in a run of so many.
fn height(step: &Step, of: usize) -> f64 {
    match step.kind {
        Kind::Barrier => BARRIER,
        Kind::Poll => ALONE + BARRIER,
        Kind::Load { words } if words > 1 => WIDE,
        _ if of > 16 => QUEUED,
        _ if of > 1 => AMONG,
        _ => ALONE,
    }
}

/// The class of who works; of a shuffle, of the lower lane of a pair.
fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Load { .. } => "load",
        Kind::Poll => "poll",
        Kind::Store => "store",
        Kind::Atomic => "atomic",
        Kind::Shared => "shared",
        Kind::Shuffle { .. } => "shuffle",
        Kind::Barrier => "barrier",
    }
}

/// What a run is called.
fn label(run: &[Step]) -> Option<String> {
    let Step { kind, buffer, .. } = &run[0];
    let many = if run.len() > 1 {
        format!("{} × ", run.len())
    } else {
        String::new()
    };
    Some(match kind {
        Kind::Load { words: 1 } => format!("{many}load {buffer}"),
        Kind::Load { words } => format!("{many}{} bytes", 4 * words),
        Kind::Poll => format!("poll {buffer}"),
        Kind::Store => format!("{many}store {buffer}"),
        Kind::Atomic => format!("{many}atomic {buffer}"),
        Kind::Shared => "shared memory".to_owned(),
        Kind::Shuffle { reach } => match run.last().map(|last| last.kind) {
            Some(Kind::Shuffle { reach: last }) if last != *reach => format!("shuffle, {reach} … {last}"),
            _ => format!("shuffle, {reach}"),
        },
        Kind::Barrier => return None,
    })
}
