//! A fold in one still picture: a warp's five rounds of shuffles, and what comes after them.

use std::fmt::Write as _;

use warpfold_emulator::{
    Thread,
    picture::{Held, Picture, Place, Stage, WARPS},
};
use warpfold_kernels::{monoids::Monoid, tree::LANES};

use super::{
    data::bits,
    operators::{Field, Operator},
};
use crate::pages::{COLOURS, site::escape};

/// Pixels of the drawing, and from one lane's box to the next.
const WIDTH: f32 = 1040.0;
const LEFT: f32 = 118.0;
const PITCH: f32 = 28.5;
const TOP: f32 = 136.0;
/// How wide a lane's box is, and one of those below.
const NARROW: f32 = 27.4;
const WIDE: f32 = 160.0;
/// What is between two rows of lanes, and between two rows of what is below.
const GAP: f32 = 38.0;
const BELOW: f32 = 46.0;

/// The rounds.
const REACHES: [u32; 5] = [1, 2, 4, 8, 16];

/// Colours and sizes, on a page too.
pub const STYLE: &str = include_str!("still.css");

/// A still.
pub struct Still {
    /// What it shows, in a line.
    pub title: String,
    height: f32,
    body: String,
}

impl Still {
    /// As an element of a page.
    pub fn inline(&self) -> String {
        format!(
            "<svg class=\"still\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
            self.height,
            escape(&self.title),
            self.body
        )
    }

    /// As a file of its own.
    pub fn file(&self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"still\" viewBox=\"0 0 {WIDTH} {0}\" role=\"img\" aria-labelledby=\"title\">\n\
             <title id=\"title\">{1}</title>\n<style>\n{COLOURS}{STYLE}</style>\n<rect class=\"g\" width=\"{WIDTH}\" height=\"{0}\"/>\n{2}</svg>\n",
            self.height,
            escape(&self.title),
            self.body
        )
    }
}

/// A number below a million, its thousands apart.
pub fn thousands(number: usize) -> String {
    if number < 1000 {
        number.to_string()
    } else {
        format!("{},{:03}", number / 1000, number % 1000)
    }
}

/// A name at the beginning of a line.
fn capital(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

/// A coordinate: a tenth of a pixel is all that is seen.
fn at(coordinate: f32) -> String {
    let text = format!("{coordinate:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// The colour of what a run of lanes holds: within a warp by where it lies there, otherwise by where it lies in the grid.
fn hue(first: u32, last: u32, lanes: u32) -> u32 {
    let within = last - first < LANES - 1;
    let (place, of) = if within {
        (first + last - first / LANES * 2 * LANES, LANES)
    } else {
        (first + last, lanes)
    };
    20 + 140 * place / (of - 1)
}

/// The middle of a lane's box.
fn x(lane: u32) -> f32 {
    LEFT + PITCH * (lane as f32 + 0.5)
}

/// The middle of a box below the lanes, counted from the drawing's middle: warps' boxes are one apart.
fn column(place: f32) -> f32 {
    LEFT + 16.0 * PITCH + 230.0 * place
}

/// Draws a run.
pub fn draw<M: Monoid<f32>>(operator: &Operator<M>, picture: &Picture<M::State, M::Answer>) -> Still {
    let fields = (operator.fields)(picture.folded.state);
    let mut drawer = Drawer {
        operator,
        picture,
        box_height: 7.5 + 10.5 * fields.len() as f32,
        wide_height: 10.0 + 14.0 * fields.len() as f32,
        svg: String::new(),
    };
    let (len, blocks) = (thousands(picture.len), picture.blocks);
    let title = format!(
        "{} of {len} floats, by {blocks} blocks of {WARPS} warps",
        capital(operator.title)
    );
    drawer.heading(&title);
    drawer.rounds(&fields);
    drawer.ending();
    Still {
        title,
        height: drawer.level(2) + drawer.wide_height + 28.0,
        body: drawer.svg,
    }
}

struct Drawer<'a, M: Monoid<f32>> {
    operator: &'a Operator<M>,
    picture: &'a Picture<M::State, M::Answer>,
    /// Heights of a lane's box, and of one below.
    box_height: f32,
    wide_height: f32,
    svg: String,
}

impl<M: Monoid<f32>> Drawer<'_, M> {
    /// The upper edge of a row of lanes.
    fn row(&self, row: usize) -> f32 {
        TOP + (self.box_height + GAP) * row as f32
    }

    /// The upper edge of what is below: shared memory, the blocks' slots, the answer.
    fn level(&self, level: usize) -> f32 {
        self.row(5) + self.box_height + BELOW + (self.wide_height + BELOW) * level as f32
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
        let stage = row
            .checked_sub(1)
            .map_or(Stage::Lane, |round| Stage::Shuffle { reach: REACHES[round] });
        self.state(stage, Place::Lane(Thread { block: 0, thread: lane }))
    }

    /// A line of text; `class` may be empty.
    fn text(&mut self, class: &str, (x, y): (f32, f32), text: &str) {
        let class = match class {
            "" => String::new(),
            class => format!(" class=\"{class}\""),
        };
        let _ = writeln!(
            self.svg,
            "<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escape(text)
        );
    }

    /// What follows, in a group of a class.
    fn group(&mut self, class: &str, draw: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.svg, "<g class=\"{class}\">");
        draw(self);
        self.svg.push_str("</g>\n");
    }

    fn heading(&mut self, title: &str) {
        self.text("t", (8.0, 22.0), title);
        let Operator { state, combine, .. } = self.operator;
        for (line, y) in [
            (&*format!("A state: {state}."), 42.0),
            (&*format!("Combined: {combine}."), 60.0),
            (
                "Rows: the 32 lanes of a warp, first with their own 32 elements folded, then after each round of shuffles.",
                78.0,
            ),
            (
                "Lines join the states that are combined. Lanes of one colour hold the same state; bold is the one that the warp ends with.",
                96.0,
            ),
        ] {
            self.text("q", (8.0, y), line);
        }
    }

    /// The first warp's lanes, before and after each round.
    fn rounds(&mut self, fields: &[Field]) {
        self.text("q", (8.0, TOP - 6.0), "lane");
        self.group("n q", |this| {
            (0..LANES).for_each(|lane| this.text("", (x(lane), TOP - 6.0), &lane.to_string()))
        });
        for (round, reach) in REACHES.into_iter().enumerate() {
            let (from, to) = (self.row(round) + self.box_height, self.row(round + 1));
            let mut lines = String::new();
            for lane in 0..LANES {
                let aside = at(x(lane ^ reach) - x(lane));
                let _ = write!(lines, "M{} {}v{GAP}m0-{GAP}l{aside} {GAP}", at(x(lane)), at(from));
            }
            let _ = writeln!(self.svg, "<path class=\"l\" d=\"{lines}\"/>");
            self.text("q", (8.0, (from + to) / 2.0 + 4.0), &format!("shuffle over {reach}"));
        }
        for row in 0..=REACHES.len() {
            let y = self.row(row);
            self.group("q f", |this| {
                for (field, line) in fields.iter().zip(0_u8..) {
                    this.text("", (LEFT - 5.0, y + 12.0 + 10.5 * f32::from(line)), field.name);
                }
            });
            self.boxes(row);
            self.group("n", |this| (0..LANES).for_each(|lane| this.numbers(row, lane)));
        }
    }

    /// The boxes of a row of lanes.
    fn boxes(&mut self, row: usize) {
        let lanes = self.picture.blocks * WARPS * LANES;
        for lanes_of_one in 0..LANES >> row {
            let first = lanes_of_one << row;
            let last = first + (1 << row) - 1;
            let places = (first..=last).map(|lane| (x(lane), self.row(row)));
            let places: Vec<(f32, f32)> = places.collect();
            self.boxed(hue(first, last, lanes), (NARROW, self.box_height), &places);
        }
    }

    /// Boxes of one colour, each with its upper edge's middle at a place.
    fn boxed(&mut self, hue: u32, (width, height): (f32, f32), places: &[(f32, f32)]) {
        let _ = write!(
            self.svg,
            "<g class=\"b\" fill=\"hsl({hue},70%,50%)\" stroke=\"hsl({hue},70%,45%)\">"
        );
        for (x, y) in places {
            let _ = write!(
                self.svg,
                "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" rx=\"3\"/>",
                at(x - width / 2.0),
                at(*y)
            );
        }
        self.svg.push_str("</g>\n");
    }

    /// What a lane holds, in its box.
    fn numbers(&mut self, row: usize, lane: u32) {
        let (Some(state), Some(end)) = (self.lane(row, lane), self.lane(REACHES.len(), lane)) else {
            return;
        };
        let class = if bits(state) == bits(end) { "w" } else { "" };
        for (field, line) in (self.operator.fields)(state).iter().zip(0_u8..) {
            let y = self.row(row) + 12.0 + 10.5 * f32::from(line);
            self.text(class, (x(lane), y), &field.short);
        }
    }

    /// Shared memory, the slots, the answer.
    fn ending(&mut self) {
        let lanes = self.picture.blocks * WARPS * LANES;
        let mut lines = format!(
            "M{:.1} {}L{:.1} {}",
            x(0),
            self.row(5) + self.box_height,
            column(-1.5),
            self.level(0)
        );
        for (label, level) in ["shared memory", "slots of blocks", "answer"].into_iter().zip(0..) {
            self.text("q", (8.0, self.level(level) + self.wide_height / 2.0 + 4.0), label);
        }
        for number in 0..self.picture.blocks {
            self.of_block(&mut lines, number);
        }
        let answer = (self.operator.answer)(self.picture.folded.answer).replace('-', "−");
        let answer: Vec<String> = answer.split(", ").map(str::to_owned).collect();
        self.wide((column(0.0), self.level(2)), hue(0, lanes - 1, lanes), &answer);
        let _ = writeln!(self.svg, "<path class=\"l\" d=\"{lines}\"/>");
        let notes = [
            (self.level(1) - 18.0, "a barrier, then each block's first warp combines"),
            (
                self.level(2) + self.wide_height + 18.0,
                "by the block that draws the last ticket, whichever that is",
            ),
        ];
        self.group("q m", |this| {
            notes
                .into_iter()
                .for_each(|(y, note)| this.text("", (column(0.0), y), note));
        });
    }

    /// A box below the lanes, its upper edge's middle at a place.
    fn wide(&mut self, (x, y): (f32, f32), hue: u32, lines: &[String]) {
        let size = (WIDE, self.wide_height);
        self.boxed(hue, size, &[(x, y)]);
        let first = y + size.1 / 2.0 + 4.0 - 7.0 * (lines.len() as f32 - 1.0);
        self.group("v", |this| {
            for (line, number) in lines.iter().zip(0_u8..) {
                this.text("", (x, first + 14.0 * f32::from(number)), line);
            }
        });
    }

    /// A state in lines.
    fn lines(&self, state: M::State) -> Vec<String> {
        let fields = (self.operator.fields)(state);
        if let [one] = &fields[..] {
            return vec![one.wide.clone()];
        }
        fields
            .iter()
            .map(|field| format!("{} {}", field.name, field.wide))
            .collect()
    }

    /// A block's shared memory and its slot, and the lines that lead there and on to the answer.
    fn of_block(&mut self, lines: &mut String, number: u32) {
        let lanes = self.picture.blocks * WARPS * LANES;
        let [shared, slots, answer] = [0, 1, 2].map(|level| self.level(level));
        let middle = |warp: u32| column((number * WARPS + warp) as f32 - 1.5);
        let of_block = (middle(0) + middle(1)) / 2.0;
        for slot in 0..WARPS {
            let _ = write!(
                lines,
                "M{:.1} {}L{of_block:.1} {slots}",
                middle(slot),
                shared + self.wide_height
            );
            let first = (number * WARPS + slot) * LANES;
            if let Some(state) = self.state(Stage::Share, Place::Shared { block: number, slot }) {
                let text = self.lines(state);
                self.wide((middle(slot), shared), hue(first, first + LANES - 1, lanes), &text);
            }
            let (aside, note) = if first == 0 {
                // Beside the line that comes from above.
                (-74.0, "this warp".to_owned())
            } else {
                (0.0, format!("block {number}, warp {slot}"))
            };
            self.group("q m", |this| this.text("", (middle(slot) + aside, shared - 6.0), &note));
        }
        let _ = write!(
            lines,
            "M{of_block:.1} {}L{:.1} {answer}",
            slots + self.wide_height,
            column(0.0)
        );
        let first = number * WARPS * LANES;
        if let Some(state) = self.state(Stage::Slot, Place::Slot(number)) {
            let text = self.lines(state);
            self.wide((of_block, slots), hue(first, first + WARPS * LANES - 1, lanes), &text);
        }
    }
}
