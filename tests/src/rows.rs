//! Row operations: their specification, to read rather than to run fast, and what tests of them need.

use std::fmt::Write as _;

use half::{bf16, f16};
use warpfold::row::{
    self, Exponentials, Floats, Known, Losses, MeanAndDeviation, Nothing, Operand, ReciprocalRoot, RowElement, VERSION,
};
use warpfold::{View, layout::Layout};
use warpfold_emulator::RowShape;
use warpfold_kernels::{
    kernels::rowwise::{LEAVES_OF_A_WARP, MOST_LEAVES, RowVariant},
    rowwise::{Column, Given, LeafFound, ROWS, RowOp, Sums as _, Value as _, leaf_elements},
    tree::LANES,
};

/// What is known of rows, as bits.
pub trait Kind {
    /// The four numbers of each row; 0 for one that is not known.
    fn bits(&self) -> Vec<[u32; 4]>;
}

fn bits_of(columns: [&[f32]; 4]) -> Vec<[u32; 4]> {
    let count = columns.iter().map(|column| column.len()).max().unwrap_or(0);
    let bits = |column: &[f32], row: usize| column.get(row).map_or(0, |known| known.to_bits());
    (0..count).map(|row| columns.map(|column| bits(column, row))).collect()
}

impl Kind for Exponentials {
    fn bits(&self) -> Vec<[u32; 4]> {
        bits_of([&self.log_sum_exp, &[], &[], &[]])
    }
}

impl Kind for MeanAndDeviation {
    fn bits(&self) -> Vec<[u32; 4]> {
        bits_of([&self.mean, &self.reciprocal_deviation, &[], &[]])
    }
}

impl Kind for ReciprocalRoot {
    fn bits(&self) -> Vec<[u32; 4]> {
        bits_of([&[], &self.reciprocal_root, &[], &[]])
    }
}

impl Kind for Losses {
    fn bits(&self) -> Vec<[u32; 4]> {
        bits_of([&self.loss, &self.log_sum_exp, &self.log_probability, &self.entropy])
    }
}

impl Kind for Known {
    fn bits(&self) -> Vec<[u32; 4]> {
        let bits = |known: &[f32; 4]| known.map(f32::to_bits);
        self.numbers.iter().map(bits).collect()
    }
}

impl Kind for Nothing {
    fn bits(&self) -> Vec<[u32; 4]> {
        vec![]
    }
}

/// Every shape that a plan could have rows of a length in, of so many arrays.
#[must_use]
pub fn shapes(bytes: usize, arrays: usize, [count, len]: [u64; 2], is_plain: bool) -> Vec<RowShape> {
    let row = 512 / bytes as u64;
    let leaves = len.div_ceil(leaf_elements(bytes, arrays) as u64).max(1);
    let mut shapes = vec![];
    let mut add = |variant: RowVariant, warps: u32, blocks_of_row: u32, is_split: bool, blocks: u64| {
        shapes.push(RowShape {
            variant,
            warps,
            blocks_of_row,
            blocks: blocks as u32,
            run: 0,
            is_split,
        });
    };
    if is_plain && len <= row {
        let vectors = len.div_ceil(16 / bytes as u64).max(1).next_power_of_two();
        let of_warp = (ROWS / arrays) as u64 * (u64::from(LANES) / vectors);
        add(RowVariant::Short, 2, 1, false, count.div_ceil(2 * of_warp));
    }
    let groups = leaves.div_ceil(2);
    for variant in if is_plain {
        &[RowVariant::Leaf, RowVariant::Any][..]
    } else {
        &[RowVariant::Any]
    } {
        if leaves == 1 {
            add(*variant, 2, 1, false, count.div_ceil(2));
            add(*variant, 2, 1, true, count.div_ceil(2));
            continue;
        }
        add(*variant, leaves as u32, 1, false, count);
        if leaves <= 16 {
            add(*variant, 1, leaves as u32, false, count * leaves);
        }
        if groups <= 16 {
            add(*variant, 2, groups as u32, false, count * groups);
        }
        add(*variant, 2, groups as u32, true, count * groups);
    }
    if is_plain && (bytes, arrays) == (4, 1) && leaves > 1 {
        for (warps, rows) in [(1, 1), (1, count.max(1)), (2, 2), (3, 3)] {
            let blocks_of_row = leaves.div_ceil(warps * u64::from(LEAVES_OF_A_WARP));
            // Of several blocks each has a power of two of leaves.
            if blocks_of_row <= 16 && (warps < 3 || blocks_of_row == 1) {
                let blocks = count.div_ceil(rows) * blocks_of_row;
                add(RowVariant::Long, warps as u32, blocks_of_row as u32, false, blocks);
            }
        }
    }
    add(
        RowVariant::Strided,
        2,
        1,
        leaves > 1,
        (count.div_ceil(LANES.into()) * leaves).div_ceil(2),
    );
    shapes
}

/// Every shape that leaves could be folded alone in: runs of them end within a row, with it, and in a later one; and of whole rows.
pub fn folds(bytes: usize, arrays: usize, [count, len]: [u64; 2]) -> impl Iterator<Item = RowShape> {
    let leaves = len.div_ceil(leaf_elements(bytes, arrays) as u64).max(1);
    let shape = move |run: u64, is_split: bool| RowShape {
        variant: RowVariant::Fold,
        warps: 2,
        blocks_of_row: 1,
        blocks: (count * leaves).div_ceil(2 * run) as u32,
        run: run as u32,
        is_split,
    };
    let of_leaves = [1, 2, 3, 5].map(|run| shape(run, true));
    let of_rows = [1, 2, 3].map(|rows| shape(rows * leaves, false));
    let fits = leaves <= u64::from(MOST_LEAVES);
    of_leaves.into_iter().chain(of_rows.into_iter().filter(move |_| fits))
}

/// Weights as the library takes them.
pub trait Weights: RowElement {
    /// They.
    fn floats(weights: &[Self]) -> Floats<'_>;
    /// As another array.
    fn operand(values: &[Self]) -> Operand<'_>;
    /// The same, of a layout.
    fn operand_of<'a>(values: &'a [Self], layout: &Layout) -> Operand<'a>;
}

macro_rules! weights {
    ($($element:ident)*) => {
        $(impl Weights for $element {
            fn floats(weights: &[Self]) -> Floats<'_> {
                weights.into()
            }
            fn operand(values: &[Self]) -> Operand<'_> {
                values.into()
            }
            fn operand_of<'a>(values: &'a [Self], layout: &Layout) -> Operand<'a> {
                View::new(values, layout).expect("in bounds").into()
            }
        })*
    };
}

weights!(f32 f16 bf16);

/// A row as the specification takes it: as f32, masked, added to, rounded.
#[derive(Clone, Debug)]
pub struct SpecRow {
    /// Its elements, as many as are seen; of two arrays those of the first, and of the second.
    pub seen: [Vec<f32>; 2],
    /// Elements of the row, seen or not.
    pub len: usize,
    /// Bytes of an element.
    pub bytes: usize,
    /// What is given of it.
    pub given: Given,
    /// Its target.
    pub target: Option<usize>,
}

/// The bits of a row's answers, and of what is known of it, by the specification.
pub fn spec<U: RowElement, O: RowOp>(
    op: O,
    row: &SpecRow,
    [weights, biases]: &[Option<Vec<f32>>; 2],
) -> (Vec<u32>, [u32; 4]) {
    let (columns, rows) = (512 / row.bytes, ROWS / O::Value::ARRAYS);
    let column = |i: usize| Column {
        weight: weights.as_ref().map_or(1.0, |weights| weights[i]),
        bias: biases.as_ref().map_or(-0.0, |biases| biases[i]),
    };
    let [firsts, seconds] = &row.seen;
    let value = |i: usize| {
        let second = seconds.get(i).copied().unwrap_or(0.0);
        op.take(O::Value::of([firsts[i], second]), column(i), row.given)
    };
    let values: Vec<O::Value> = (0..firsts.len()).map(value).collect();
    let leaves: Vec<(f32, O::State)> = values
        .chunks(rows * columns)
        .map(|leaf| {
            let len = leaf.len() as u32;
            let found = fold(
                leaf,
                [rows, columns],
                op.nothing(),
                |x| op.first(x),
                |a, b| op.both(a, b),
            );
            let reference = op.reference(found, len);
            let term = |x| op.term(op.relative(x, reference));
            let sums = fold(leaf, [rows, columns], O::Sums::nothing(), term, |a, b| a.plus(b));
            let total = if op.totals() {
                fold(leaf, [rows, columns], -0.0, |x: O::Value| x.each()[0], |a, b| a + b)
            } else {
                -0.0
            };
            let found = LeafFound {
                first: found,
                reference,
                total,
            };
            (reference, op.leaf(found, sums, len))
        })
        .collect();
    let states = leaves.iter().map(|(_, state)| *state).collect();
    let state = combine_pairs(states, op.identity(), &|a, b| op.combine(a, b));
    let seen = values.len() as u64;
    let answer = |i: usize| {
        let (reference, leaf) = match leaves.get(i / (rows * columns)) {
            Some(leaf) => *leaf,
            None => (op.reference(op.nothing(), 0), op.identity()),
        };
        let factors = if row.len <= rows * columns {
            op.factors(reference, None, state, seen, row.given)
        } else {
            op.factors(reference, Some(leaf), state, seen, row.given)
        };
        let kept = op.relative(values.get(i).copied().unwrap_or(op.absent()), reference);
        let answer = if row.target == Some(i) {
            op.at_target(kept, factors)
        } else {
            op.map(kept, factors, column(i))
        };
        U::narrowed(answer).word(0)
    };
    let known = op.known(state, seen, row.given);
    let known = known.map(|known| if known.is_nan() { 0x7fc0_0000 } else { known.to_bits() });
    ((0..row.len).map(answer).collect(), known)
}

/// The rows of each column combine_pairs, then the columns: `docs/canonical-tree.md`.
fn fold<T: Copy, X: Copy>(
    leaf: &[T],
    [rows, columns]: [usize; 2],
    nothing: X,
    lift: impl Fn(T) -> X,
    both: impl Fn(X, X) -> X,
) -> X {
    let place = |i: usize| leaf.get(i).map_or(nothing, |value| lift(*value));
    let of_column = |first: usize| {
        combine_pairs(
            (0..rows).map(|row| place(first + row * columns)).collect(),
            nothing,
            &both,
        )
    };
    combine_pairs((0..columns).map(of_column).collect(), nothing, &both)
}

/// Puts a NaN, infinities, zeros of both signs and numbers far apart among those of rows.
pub fn plant<T: RowElement>(values: &mut [T], seed: u64) {
    let numbers = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, 90.0, -90.0, 6e4];
    let step = values.len() / 5 + 1;
    for (i, at) in (seed as usize % step..values.len()).step_by(step).enumerate() {
        values[at] = T::narrowed(numbers[(seed as usize + i) % numbers.len()]);
    }
}

/// Neighbours are combined until one is left.
pub fn combine_pairs<X: Copy>(mut states: Vec<X>, nothing: X, both: &impl Fn(X, X) -> X) -> X {
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

/// So many numbers of f64, all bits of them in use, times a power of two.
#[must_use]
pub fn doubles(len: usize, seed: u64, exponent: i32) -> Vec<f64> {
    let (high, low) = (numbers::<f32>(len, seed), numbers::<f32>(len, seed ^ 1));
    let of = |(high, low): (f32, f32)| (f64::from(high) + f64::from(low) * 2.0_f64.powi(-26)) * 2.0_f64.powi(exponent);
    high.into_iter().zip(low).map(of).collect()
}

/// The recorded bits of rows: operation, elements, their number, and the first, a middle and the last answer, in hexadecimal.
pub const GOLDEN: &str = include_str!("../golden/rows-v3.txt");

/// Where they are, to write them anew.
pub const GOLDEN_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/rows-v3.txt");

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
    for len in [1, 63, 64, 257, 512, 513, 5003, 33_000, 300_000] {
        of_f64(len, &mut text);
    }
    text
}

/// Norms of rows of f64.
fn of_f64(len: usize, text: &mut String) {
    let of = |seed| doubles(len, seed, 0);
    let (row, weights, biases) = (of(len as u64), of(1), of(2));
    let mut add = |op: &str, answers: Result<Vec<f64>, warpfold::Error>| {
        let answers = answers.expect("a meaning");
        let [a, b, c] = [0, len / 2, len - 1].map(|i| answers[i].to_bits());
        writeln!(text, "{op} f64 f64 {len} {a:016x} {b:016x} {c:016x}").expect("written");
    };
    let norm = row::layer_norm(1e-5).weight(&weights).bias(&biases);
    add("layer_norm", norm.on_cpu_f64(&row).map(|mapped| mapped.values));
    let norm = row::rms_norm(1e-6).weight(&weights).residual(&biases);
    add("rms_norm+residual", norm.on_cpu_f64(&row).map(|mapped| mapped.values));
}

fn of<T: Weights, U: RowElement>(len: usize, text: &mut String) {
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
    let gradients = numbers::<T>(len, 3);
    let other = || T::operand(&gradients);
    let norm = row::rms_norm(1e-6).weight(&weights).residual(other());
    add("rms_norm+residual", norm.on_cpu(row).map(|mapped| mapped.values));
    add(
        "softmax+added",
        row::softmax().plus(other()).on_cpu(row).map(|mapped| mapped.values),
    );
    let target = [len as i64 / 2];
    let loss = row::cross_entropy(&target)
        .label_smoothing(0.1)
        .z_loss(1e-4)
        .gradient(0.5);
    let mapped = loss.on_cpu::<_, U>(row).expect("a meaning");
    let known = mapped.known.bits()[0];
    add("cross_entropy", Ok(mapped.values));
    add(
        "softmax_gradient",
        row::softmax_gradient(other()).on_cpu(row).map(|mapped| mapped.values),
    );
    add(
        "log_softmax_gradient",
        row::log_softmax_gradient(other())
            .on_cpu(row)
            .map(|mapped| mapped.values),
    );
    let known_of = row::layer_norm(1e-5).on_cpu::<_, f32>(row).expect("a meaning").known;
    let norm = row::layer_norm_gradient(other(), &known_of).weight(&weights);
    add("layer_norm_gradient", norm.on_cpu(row).map(|mapped| mapped.values));
    let known_of = row::rms_norm(1e-6).on_cpu::<_, f32>(row).expect("a meaning").known;
    let norm = row::rms_norm_gradient(other(), &known_of).weight(&weights);
    add("rms_norm_gradient", norm.on_cpu(row).map(|mapped| mapped.values));
    let [loss, log_sum_exp, log_probability, entropy] = known;
    let from = T::TYPE.name();
    writeln!(
        text,
        "losses {from} {len} {loss:08x} {log_sum_exp:08x} {log_probability:08x} {entropy:08x}"
    )
    .expect("written");
}
