//! Row operations: their specification, to read rather than to run fast, and what tests of them need.

use std::fmt::Write as _;

use half::{bf16, f16};
use warpfold::row::{self, Exponentials, Floats, MeanAndDeviation, ReciprocalRoot, RowElement, VERSION};
use warpfold_emulator::RowShape;
use warpfold_kernels::{
    kernels::rowwise::Way,
    rowwise::{Column, RowOp, Sums as _, Valued},
    tree::LANES,
};

/// What is known of rows, as bits.
pub trait Kind {
    /// Both numbers of each row; 0 for one that is not known.
    fn bits(&self) -> Vec<[u32; 2]>;
}

impl Kind for Exponentials {
    fn bits(&self) -> Vec<[u32; 2]> {
        self.log_sum_exp.iter().map(|known| [known.to_bits(), 0]).collect()
    }
}

impl Kind for MeanAndDeviation {
    fn bits(&self) -> Vec<[u32; 2]> {
        let both = self.mean.iter().zip(&self.reciprocal_deviation);
        both.map(|(mean, deviation)| [mean.to_bits(), deviation.to_bits()])
            .collect()
    }
}

impl Kind for ReciprocalRoot {
    fn bits(&self) -> Vec<[u32; 2]> {
        self.reciprocal_root.iter().map(|known| [0, known.to_bits()]).collect()
    }
}

/// Every shape that a plan could have rows of a length in.
#[must_use]
pub fn shapes(element_bytes: u64, len: u64, count: u64, is_wide: bool) -> Vec<RowShape> {
    let row = 512 / element_bytes;
    let leaves = len.div_ceil(8 * row).max(1);
    let mut shapes = vec![];
    let mut add = |way: Way, warps: u32, blocks_of_row: u32, is_split: bool, blocks: u64| {
        shapes.push(RowShape {
            way,
            warps,
            blocks_of_row,
            blocks: blocks as u32,
            is_split,
        });
    };
    if is_wide && len <= row {
        let vectors = len.div_ceil(16 / element_bytes).max(1).next_power_of_two();
        let of_warp = 4 * (u64::from(LANES) / vectors);
        add(Way::Short, 2, 1, false, count.div_ceil(2 * of_warp));
    }
    if is_wide && len <= 4 * row {
        add(Way::Half, 1, 1, false, count);
    }
    if leaves == 1 {
        add(Way::Leaf, 2, 1, false, count.div_ceil(2));
    } else {
        add(Way::Leaf, leaves as u32, 1, false, count);
        add(Way::Leaf, 1, leaves as u32, false, count * leaves);
        add(
            Way::Leaf,
            2,
            leaves.div_ceil(2) as u32,
            false,
            count * leaves.div_ceil(2),
        );
        add(
            Way::Leaf,
            2,
            leaves.div_ceil(2) as u32,
            true,
            count * leaves.div_ceil(2),
        );
    }
    add(
        Way::Apart,
        2,
        1,
        leaves > 1,
        (count.div_ceil(LANES.into()) * leaves).div_ceil(2),
    );
    shapes
}

/// Weights as the library takes them.
pub trait Weights: RowElement {
    /// They.
    fn floats(weights: &[Self]) -> Floats<'_>;
}

macro_rules! weights {
    ($($element:ident)*) => {
        $(impl Weights for $element {
            fn floats(weights: &[Self]) -> Floats<'_> {
                weights.into()
            }
        })*
    };
}

weights!(f32 f16 bf16);

/// The answers' bits of a row, of which the first `seen` elements are seen, by the specification.
pub fn spec<T, U, O>(op: O, row: &[T], seen: usize, [weights, biases]: &[Option<Vec<f32>>; 2]) -> Vec<u32>
where
    T: RowElement + Valued<O::Value>,
    U: RowElement,
    O: RowOp,
{
    let columns = 512 / T::TYPE.bytes();
    let value = |x: T| if op.negates() { x.negated().value() } else { x.value() };
    let leaves: Vec<(f32, O::State)> = row[..seen]
        .chunks(8 * columns)
        .map(|leaf| {
            let len = leaf.len() as u32;
            let found = fold(
                leaf,
                columns,
                op.nothing(),
                |x| op.first(value(x)),
                |a, b| op.both(a, b),
            );
            let reference = op.reference(found, len);
            let term = |x: T| op.term(value(x), reference);
            let sums = fold(leaf, columns, O::Sums::nothing(), term, |a, b| a.plus(b));
            (reference, op.leaf(found, reference, sums, len))
        })
        .collect();
    let states = leaves.iter().map(|(_, state)| *state).collect();
    let state = meet(states, op.identity(), &|a, b| op.combine(a, b));
    let column = |i: usize| Column {
        weight: weights.as_ref().map_or(1.0, |weights| weights[i]),
        bias: biases.as_ref().map_or(-0.0, |biases| biases[i]),
    };
    let unseen = T::filled(op.filler().unwrap_or(0.0));
    let answer = |i: usize| {
        let (reference, leaf) = match leaves.get(i / (8 * columns)) {
            Some(leaf) => *leaf,
            None => (op.reference(op.nothing(), 0), op.identity()),
        };
        let factors = if row.len() <= 8 * columns {
            op.factors_alone(reference, state, seen as u64)
        } else {
            op.factors(reference, leaf, state, seen as u64)
        };
        let item = if i < seen { row[i] } else { unseen };
        U::narrowed(op.map(value(item), reference, factors, column(i))).word(0)
    };
    (0..row.len()).map(answer).collect()
}

/// The rows of each column meet, then the columns: `docs/canonical-tree.md`.
fn fold<T: Copy, X: Copy>(
    leaf: &[T],
    columns: usize,
    nothing: X,
    lift: impl Fn(T) -> X,
    both: impl Fn(X, X) -> X,
) -> X {
    let place = |i: usize| leaf.get(i).map_or(nothing, |value| lift(*value));
    let of_column = |first: usize| meet((0..8).map(|row| place(first + row * columns)).collect(), nothing, &both);
    meet((0..columns).map(of_column).collect(), nothing, &both)
}

/// Puts a NaN, infinities, zeros of both signs and numbers far apart among those of rows.
pub fn plant<T: RowElement>(values: &mut [T], seed: u64) {
    let numbers = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, 90.0, -90.0, 6e4];
    let step = values.len() / 5 + 1;
    for (i, at) in (seed as usize % step..values.len()).step_by(step).enumerate() {
        values[at] = T::narrowed(numbers[(seed as usize + i) % numbers.len()]);
    }
}

/// Neighbours meet until one is left.
pub fn meet<X: Copy>(mut states: Vec<X>, nothing: X, both: &impl Fn(X, X) -> X) -> X {
    states.resize(states.len().next_power_of_two(), nothing);
    while states.len() > 1 {
        states = states.chunks(2).map(|pair| both(pair[0], pair[1])).collect();
    }
    states[0]
}

/// `len` numbers, most of them between −4 and 4.
#[must_use]
pub fn numbers<T: RowElement>(len: usize, seed: u64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..len)
        .map(|_| {
            let number = (next() >> 40) as f32 / (1 << 21) as f32 - 4.0;
            T::narrowed(if next() % 61 == 0 { number * 9.0 } else { number })
        })
        .collect()
}

/// The recorded bits of rows: operation, elements, their number, and the first, a middle and the last answer, in hexadecimal.
pub const GOLDEN: &str = include_str!("../golden/rows-v1.txt");

/// Where they are, to write them anew.
pub const GOLDEN_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/rows-v1.txt");

/// The text of [`GOLDEN`], as it should be: by the CPU.
///
/// # Panics
///
/// If a row has no answer.
#[must_use]
pub fn golden() -> String {
    let mut text = format!(
        "# The bits of rows: operation, elements, answers, length, then the first, the middle and the last answer. See src/rows.rs.\nrows {VERSION}\n"
    );
    for len in [1, 2, 127, 128, 257, 1024, 1025, 5003, 33_000, 300_000] {
        of::<f32, f32>(len, &mut text);
        of::<bf16, bf16>(len, &mut text);
        of::<f16, f32>(len, &mut text);
    }
    text
}

fn of<T: RowElement, U: RowElement>(len: usize, text: &mut String) {
    let row = numbers::<T>(len, len as u64);
    let weights = numbers::<f32>(len, 1);
    let biases = numbers::<f32>(len, 2);
    let mut add = |op: &str, answers: Result<Vec<U>, warpfold::Error>| {
        let answers = answers.expect("a meaning");
        let bits = [0, len / 2, len - 1].map(|i| answers[i].word(0));
        let [a, b, c] = bits;
        let (from, to) = (T::TYPE.name(), U::TYPE.name());
        writeln!(text, "{op} {from} {to} {len} {a:08x} {b:08x} {c:08x}").expect("written");
    };
    let row = &row[..];
    add("softmax", row::softmax().on_cpu(row).map(|mapped| mapped.values));
    add(
        "softmax/8",
        row::softmax().scale(0.125).on_cpu(row).map(|mapped| mapped.values),
    );
    add(
        "log_softmax",
        row::log_softmax().on_cpu(row).map(|mapped| mapped.values),
    );
    let norm = row::layer_norm(1e-5).weight(&weights).bias(&biases);
    add("layer_norm", norm.on_cpu(row).map(|mapped| mapped.values));
    let norm = row::rms_norm(1e-6).weight(&weights);
    add("rms_norm", norm.on_cpu(row).map(|mapped| mapped.values));
}
