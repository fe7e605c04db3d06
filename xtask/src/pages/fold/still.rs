//! A fold in one still picture: a warp's five rounds of shuffles, and what comes after them.

use std::fmt::Write as _;

use warpfold_emulator::{
    Thread,
    picture::{Held, Picture, Place, Stage, WARPS},
};
use warpfold_kernels::{monoids::Monoid, tree::LANES};

use super::{
    data::bits,
    operators::{About, Field, Operator},
};
use crate::pages::{
    draw::{Anchor, Drawing, at},
    numbers::{capital, count},
};

/// Pixels of the drawing, and from one lane's box to the next.
const WIDTH: f64 = 1040.0;
const LEFT: f64 = 118.0;
const PITCH: f64 = 28.5;
const TOP: f64 = 136.0;
/// How wide a lane's box is, and one of those below.
const NARROW: f64 = 27.4;
const WIDE: f64 = 160.0;
/// What is between two rows of lanes, and between two rows of what is below.
const GAP: f64 = 38.0;
const BELOW: f64 = 46.0;

/// What it says.
const ROWS: &str =
    "Rows: the 32 lanes of a warp, first with their own 32 elements folded, then after each round of shuffles.";
const LINES: &str = "Lines join the states that are combined. Lanes of one colour hold the same state; bold is the one that the warp ends with.";
const BARRIER: &str = "a barrier, then each block's first warp combines";
const LAST: &str = "by the block that draws the last ticket, whichever that is";

/// The rounds.
const REACHES: [u32; 5] = [1, 2, 4, 8, 16];

/// Colours and sizes, on a page too.
pub const STYLE: &str = include_str!("still.css");

/// The colour of what a run of lanes holds: within a warp by where it lies there, otherwise by where it lies in the grid.
fn hue(first: u32, last: u32, lanes: u32) -> u32 {
    let is_within = last - first < LANES - 1;
    let (place, of) = if is_within {
        (first % LANES + last % LANES, LANES)
    } else {
        (first + last, lanes)
    };
    20 + 140 * place / (of - 1)
}

/// The middle of a lane's box.
fn x(lane: u32) -> f64 {
    LEFT + PITCH * (f64::from(lane) + 0.5)
}

/// The middle of a box below the lanes, counted from the drawing's middle: warps' boxes are one apart.
fn column(place: f64) -> f64 {
    LEFT + 16.0 * PITCH + 230.0 * place
}

/// Draws a run. Says what it shows, in a line.
pub fn draw<M: Monoid<f32>>(operator: &Operator<M>, picture: &Picture<M::State, M::Answer>) -> (String, Drawing) {
    let fields = (operator.fields)(picture.folded.state);
    let mut drawer = Drawer {
        operator,
        picture,
        lanes: picture.blocks * WARPS * LANES,
        box_height: 7.5 + 10.5 * fields.len() as f64,
        wide_height: 10.0 + 14.0 * fields.len() as f64,
        drawing: Drawing::new(WIDTH),
    };
    let (name, len, blocks) = (capital(operator.about.title), count(picture.len as f64), picture.blocks);
    let title = format!("{name} of {len} floats, by {blocks} blocks of {WARPS} warps");
    drawer.heading(&title);
    drawer.rounds(&fields);
    drawer.ending();
    drawer.drawing.height = drawer.level(2) + drawer.wide_height + 28.0;
    (title, drawer.drawing)
}

struct Drawer<'a, M: Monoid<f32>> {
    operator: &'a Operator<M>,
    picture: &'a Picture<M::State, M::Answer>,
    lanes: u32,
    /// Heights of a lane's box, and of one below.
    box_height: f64,
    wide_height: f64,
    drawing: Drawing,
}

impl<M: Monoid<f32>> Drawer<'_, M> {
    /// The upper edge of a row of lanes.
    fn row(&self, row: usize) -> f64 {
        TOP + (self.box_height + GAP) * row as f64
    }

    /// The upper edge of what is below: shared memory, the blocks' slots, the answer.
    fn level(&self, level: usize) -> f64 {
        self.row(5) + self.box_height + BELOW + (self.wide_height + BELOW) * level as f64
    }

    /// What a place holds after a stage.
    fn state(&self, stage: Stage, place: Place) -> Option<M::State> {
        let step = self.picture.steps.iter().find(|step| step.stage == stage)?;
        let change = step.changes.iter().find(|change| change.place == place)?;
        match change.held {
            Held::State(state) => Some(state),
            _ => None,
        }
    }

    /// What a lane of the first warp holds in a row.
    fn lane(&self, row: usize, lane: u32) -> Option<M::State> {
        let shuffled = |round: usize| Stage::Shuffle { reach: REACHES[round] };
        let stage = row.checked_sub(1).map_or(Stage::Lane, shuffled);
        self.state(stage, Place::Lane(Thread { block: 0, thread: lane }))
    }

    /// A line of text; `class` may be empty.
    fn text(&mut self, class: &str, at: (f64, f64), text: &str) {
        self.drawing.text(class, Anchor::Styled, at, text);
    }

    fn heading(&mut self, title: &str) {
        self.text("t", (8.0, 22.0), title);
        let About { state, combine, .. } = &self.operator.about;
        self.text("q", (8.0, 42.0), &format!("A state: {state}."));
        self.text("q", (8.0, 60.0), &format!("Combined: {combine}."));
        self.text("q", (8.0, 78.0), ROWS);
        self.text("q", (8.0, 96.0), LINES);
    }

    /// The first warp's lanes, before and after each round.
    fn rounds(&mut self, fields: &[Field]) {
        self.text("q", (8.0, TOP - 6.0), "lane");
        self.drawing.group("n q", |drawing| {
            let number = |lane: u32| drawing.text("", Anchor::Styled, (x(lane), TOP - 6.0), &lane.to_string());
            (0..LANES).for_each(number);
        });
        for (round, reach) in REACHES.into_iter().enumerate() {
            let (from, to) = (self.row(round) + self.box_height, self.row(round + 1));
            let line = |lane| {
                let aside = at(x(lane ^ reach) - x(lane));
                format!("M{} {}v{GAP}m0-{GAP}l{aside} {GAP}", at(x(lane)), at(from))
            };
            self.drawing.path("l", &(0..LANES).map(line).collect::<String>());
            self.text("q", (8.0, (from + to) / 2.0 + 4.0), &format!("shuffle over {reach}"));
        }
        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        for row in 0..=REACHES.len() {
            let (top, size) = (self.row(row), (NARROW, self.box_height));
            self.drawing.lines("q f", (LEFT - 5.0, top + 12.0), 10.5, &names);
            for first in (0..LANES).step_by(1 << row) {
                let last = first + (1 << row) - 1;
                let places: Vec<(f64, f64)> = (first..=last).map(|lane| (x(lane), top)).collect();
                self.drawing.boxes("b", hue(first, last, self.lanes), size, &places);
            }
            let texts: Vec<_> = (0..LANES).flat_map(|lane| self.numbers(row, lane)).collect();
            self.drawing.group("n", |drawing| {
                let text = |(class, at, text): &(&str, _, String)| drawing.text(class, Anchor::Styled, *at, text);
                texts.iter().for_each(text);
            });
        }
    }

    /// What a lane holds: bold where it is the end.
    fn numbers(&self, row: usize, lane: u32) -> Vec<(&'static str, (f64, f64), String)> {
        let (Some(state), Some(end)) = (self.lane(row, lane), self.lane(REACHES.len(), lane)) else {
            return vec![];
        };
        let class = if bits(state) == bits(end) { "w" } else { "" };
        let y = |line| self.row(row) + 12.0 + 10.5 * f64::from(line);
        let fields = (self.operator.fields)(state).into_iter().zip(0..);
        fields
            .map(|(field, line)| (class, (x(lane), y(line)), field.short))
            .collect()
    }

    /// Shared memory, the slots, the answer.
    fn ending(&mut self) {
        let (from, to) = (self.row(5) + self.box_height, self.level(0));
        let mut lines = format!("M{:.1} {from}L{:.1} {to}", x(0), column(-1.5));
        for (label, level) in ["shared memory", "slots of blocks", "answer"].into_iter().zip(0..) {
            self.text("q", (8.0, self.level(level) + self.wide_height / 2.0 + 4.0), label);
        }
        (0..self.picture.blocks).for_each(|number| self.of_block(&mut lines, number));
        let answer = (self.operator.answer)(self.picture.folded.answer).replace('-', "−");
        let answer: Vec<String> = answer.split(", ").map(str::to_owned).collect();
        let (wide, slots, below) = (self.wide_height, self.level(1), self.level(2));
        self.wide((column(0.0), below), (0, self.lanes), &answer);
        self.drawing.path("l", &lines);
        self.drawing.group("q m", |drawing| {
            drawing.text("", Anchor::Styled, (column(0.0), slots - 18.0), BARRIER);
            drawing.text("", Anchor::Styled, (column(0.0), below + wide + 18.0), LAST);
        });
    }

    /// A box below the lanes, its upper edge's middle at a place, for a state of some lanes.
    fn wide(&mut self, (x, y): (f64, f64), (first, many): (u32, u32), lines: &[String]) {
        let (hue, height) = (hue(first, first + many - 1, self.lanes), self.wide_height);
        self.drawing.boxes("b", hue, (WIDE, height), &[(x, y)]);
        let top = y + height / 2.0 + 4.0 - 7.0 * (lines.len() as f64 - 1.0);
        self.drawing.lines("v", (x, top), 14.0, lines);
    }

    /// A block's shared memory and its slot, and the lines that lead there and on to the answer.
    fn of_block(&mut self, lines: &mut String, number: u32) {
        let [shared, slots, answer] = [0, 1, 2].map(|level| self.level(level));
        let middle = |warp: u32| column(f64::from(number * WARPS + warp) - 1.5);
        let of_block = (middle(0) + middle(1)) / 2.0;
        for slot in 0..WARPS {
            let from = shared + self.wide_height;
            let _ = write!(lines, "M{:.1} {from}L{of_block:.1} {slots}", middle(slot));
            let first = (number * WARPS + slot) * LANES;
            if let Some(state) = self.state(Stage::Share, Place::Shared { block: number, slot }) {
                self.wide((middle(slot), shared), (first, LANES), &self.operator.wide(state));
            }
            let (aside, note) = match first {
                // Beside the line that comes from above.
                0 => (-74.0, "this warp".to_owned()),
                _ => (0.0, format!("block {number}, warp {slot}")),
            };
            self.drawing
                .lines("q m", (middle(slot) + aside, shared - 6.0), 0.0, &[note]);
        }
        let (from, to) = (slots + self.wide_height, column(0.0));
        let _ = write!(lines, "M{of_block:.1} {from}L{to:.1} {answer}");
        if let Some(state) = self.state(Stage::Slot, Place::Slot(number)) {
            let lanes = WARPS * LANES;
            self.wide((of_block, slots), (number * lanes, lanes), &self.operator.wide(state));
        }
    }
}
