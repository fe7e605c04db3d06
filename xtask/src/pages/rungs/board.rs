//! The steps of a launch, drawn: threads are columns, steps are rows.

use std::{collections::BTreeMap, fmt::Write, ops::Range};

use warpfold_kernels::tree::LANES;

use super::{
    Launched,
    steps::{Kind, PictureStep, lanes, runs},
};
use crate::pages::draw::{Anchor, Drawing, WIDTH, at};

/// Where the columns begin and end.
const LEFT: f64 = 120.0;
const RIGHT: f64 = WIDTH - 8.0;
/// The widest column, and the narrowest that is parted from the next.
const WIDEST: f64 = 5.0;
const PARTED: f64 = 2.0;
/// The least that a thread takes which works alone.
const LONE: f64 = 3.0;
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

/// Classes, in the order in which they are drawn.
const CLASSES: &str = "waits later load store shared shuffle partner atomic poll gap idle barrier grid-barrier";

/// Warps of a block that do the same in every step: they have one column of lanes.
struct Warps {
    block: u32,
    warps: Range<u32>,
    x: f64,
}

/// The steps of a launch, where they are drawn.
pub struct Board<'a> {
    launched: &'a Launched,
    columns: Vec<Warps>,
    /// The width of a lane.
    lane: f64,
    runs: Vec<Range<usize>>,
    /// Whether a block has several columns.
    several: bool,
    /// The upper edge of the heads, and of each step; then the lower edge of the last.
    top: f64,
    edges: Vec<f64>,
}

/// Parts of a path for each class.
type Paths = BTreeMap<&'static str, String>;

/// The columns of a launch, and how wide a lane is.
fn columns(launched: &Launched) -> (Vec<Warps>, f64) {
    let mut columns: Vec<Warps> = vec![];
    let does = |block, warp| launched.steps.iter().map(move |step| step.working(block, warp));
    let warps = launched.threads / LANES;
    for (block, warp) in (0..launched.blocks * warps).map(|i| (i / warps, i % warps)) {
        match columns.last_mut() {
            Some(column) if column.block == block && does(block, column.warps.start).eq(does(block, warp)) => {
                column.warps.end = warp + 1;
            }
            _ => columns.push(Warps {
                block,
                warps: warp..warp + 1,
                x: LEFT,
            }),
        }
    }
    // Blocks are farther from each other than warps.
    let gap = |pair: &[Warps]| if pair[0].block == pair[1].block { 3.0 } else { 10.0 };
    let gaps: Vec<f64> = columns.windows(2).map(gap).collect();
    let lane = (RIGHT - LEFT - gaps.iter().sum::<f64>()) / (columns.len() as f64 * f64::from(LANES));
    let lane = (lane.min(WIDEST) * 10.0).floor() / 10.0;
    for (i, gap) in gaps.into_iter().enumerate() {
        columns[i + 1].x = columns[i].x + lane * f64::from(LANES) + gap;
    }
    (columns, lane)
}

impl<'a> Board<'a> {
    /// With its upper edge at `top`.
    pub fn new(launched: &'a Launched, top: f64) -> Self {
        let (columns, lane) = columns(launched);
        let runs = runs(&launched.steps);
        let several = columns.iter().any(|column| column.warps.start > 0);
        let mut edges = vec![top + if several { 32.0 } else { 18.0 }];
        for run in &runs {
            for step in &launched.steps[run.clone()] {
                edges.push(edges[edges.len() - 1] + height(step, run.len()));
            }
            edges[run.end] += BETWEEN_RUNS;
        }
        Self {
            launched,
            columns,
            lane,
            runs,
            several,
            top,
            edges,
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
        let middle = self.lane * f64::from(LANES) / 2.0;
        for Warps { block, warps, x } in &self.columns {
            if warps.start == 0 {
                drawing.text("word", Anchor::Start, (*x, self.top + 12.0), &format!("block {block}"));
            }
            let text = match (warps.start, warps.end - 1) {
                (0, 0) => "warp 0".to_owned(),
                (first, last) if first == last => first.to_string(),
                (first, last) => format!("{first} to {last}"),
            };
            if self.several {
                drawing.text("head", Anchor::Middle, (x + middle, self.top + 26.0), &text);
            }
        }
    }

    /// The steps. Says which classes it has used.
    pub fn draw(&self, drawing: &mut Drawing) -> Vec<&'static str> {
        let mut paths = Paths::new();
        for run in &self.runs {
            run.clone().for_each(|i| self.step(&mut paths, i, run));
            let middle = (self.edges[run.start] + self.edges[run.end] - BETWEEN_RUNS) / 2.0;
            if let Some(label) = label(&self.launched.steps[run.clone()]) {
                drawing.text("word", Anchor::Start, (8.0, middle + 3.5), &label);
            }
        }
        self.gaps(&mut paths);
        let drawn = CLASSES.split(' ').filter(|class| paths.contains_key(class));
        drawn.inspect(|class| drawing.path(class, &paths[class])).collect()
    }

    /// What each lane of each column does in a step of a run.
    fn step(&self, paths: &mut Paths, number: usize, run: &Range<usize>) {
        let (before, later) = self.launched.steps.split_at(number + 1);
        let step = &before[number];
        let (top, queue, height) = (self.edges[number], self.edges[run.start], height(step, run.len()));
        let (width, last) = (self.lane * f64::from(LANES), &self.columns[self.columns.len() - 1]);
        if step.kind == Kind::Poll {
            line(
                paths,
                "grid-barrier",
                [LEFT, top + height - BARRIER / 2.0, last.x + width - LEFT],
            );
        }
        let cell = match step.kind {
            Kind::Poll => ALONE - BETWEEN_STEPS,
            Kind::Load { words: 2.. } => height - BETWEEN_WIDE,
            _ => height - BETWEEN_STEPS,
        };
        for Warps { block, warps, x } in &self.columns {
            let works = step.working(*block, warps.start);
            if step.kind == Kind::Barrier {
                if works > 0 {
                    line(paths, "barrier", [x - 1.5, top + height / 2.0, width + 3.0]);
                }
                continue;
            }
            let all = lanes(step.all.iter().copied(), *block, warps.start);
            let working = |lanes, step: &PictureStep| lanes | step.working(*block, warps.start);
            let go_on = later.iter().fold(0, working);
            let mut cells = |class, lanes| self.cells(paths, class, lanes, (*x, top, cell));
            cells("waits", if works == 0 { go_on & !all } else { 0 });
            cells("idle", if works == 0 { 0 } else { !all });
            cells(class(step.kind), works);
            match step.kind {
                Kind::Shuffle { reach } => {
                    let partners = (0..LANES).filter(|lane| lane & reach > 0);
                    cells("partner", works & partners.fold(0, |lanes, lane| lanes | 1 << lane));
                }
                // Until its turn.
                Kind::Atomic if top > queue => self.cells(paths, "later", works, (*x, queue, top - queue)),
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
                let start = before.map_or_else(
                    || format!("M{} {}", at(from), at(y)),
                    |before| format!("m{} 0", at(from - before)),
                );
                let width = at(width.max(widened));
                *paths.entry(class).or_default() += &format!("{start}h{width}v{height}h-{width}z");
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
            let words = if let Kind::Load { words } = step.kind { words } else { 0 };
            for word in 1..words {
                let y = at(edge + (WIDE - BETWEEN_WIDE) * word as f64 / words as f64);
                let _ = write!(path, "M{LEFT} {y}H{RIGHT}");
            }
        }
    }
}

fn line(paths: &mut Paths, class: &'static str, [x, y, width]: [f64; 3]) {
    let _ = write!(paths.entry(class).or_default(), "M{} {}h{}", at(x), at(y), at(width));
}

/// The height of a step, in a run of so many.
fn height(step: &PictureStep, of: usize) -> f64 {
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
fn label(run: &[PictureStep]) -> Option<String> {
    let PictureStep { kind, buffer, .. } = &run[0];
    let many = if run.len() > 1 {
        format!("{} × ", run.len())
    } else {
        String::new()
    };
    Some(match kind {
        Kind::Load { words: words @ 2.. } => format!("{many}{} bytes", 4 * words),
        Kind::Load { .. } | Kind::Store | Kind::Atomic => format!("{many}{} {buffer}", class(*kind)),
        Kind::Poll => format!("poll {buffer}"),
        Kind::Shared => "shared memory".to_owned(),
        Kind::Shuffle { reach } => match run.last().map(|last| last.kind) {
            Some(Kind::Shuffle { reach: last }) if last != *reach => format!("shuffle, {reach} … {last}"),
            _ => format!("shuffle, {reach}"),
        },
        Kind::Barrier => return None,
    })
}
