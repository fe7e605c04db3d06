//! Row operations: the kernels on the emulator, in every shape, the CPU backend, and their specification give the same bits; and those are near what exact
//! arithmetic has.

mod bounds;
mod columns;
mod double;
mod edges;
mod groups;
mod own;
mod parts;
mod shapes;

use half::{bf16, f16};
use warpfold::{
    View,
    layout::Layout,
    row::{self, AllMasked, MeanAndDeviation, Operation, ReciprocalRoot, Row, RowElement},
};
use warpfold_emulator::{BesideRows, RowsOf, map_rows};
use warpfold_kernels::{
    arithmetic::single,
    kernels::{
        rows::Width,
        rowwise::{RowVariant, Second},
    },
    rowwise::{RowFold, RowOp, Target, Value as _},
    stages::columns::Shares,
};
use warpfold_tests::rows::{Kind, SpecRow, Weights, folds, numbers, plant, shapes, spec};

/// A matrix, a gap before each row, and all that operations may read beside it.
struct Inputs<T, W> {
    size: [u64; 2],
    gap: u64,
    seed: u64,
    values: Vec<T>,
    other: Vec<T>,
    mask: Vec<u8>,
    targets: Vec<i64>,
    weights: Vec<W>,
    biases: Vec<W>,
    means: MeanAndDeviation,
    roots: ReciprocalRoot,
}

impl<T: Weights, W: Weights> Inputs<T, W> {
    fn new([count, len]: [u64; 2], seed: u64) -> Self {
        let gap = [0, 0, 1, 0, 2][seed as usize % 5];
        let all = (count * (len + gap)) as usize;
        let mut values: Vec<T> = numbers::<T>(all, seed);
        if seed % 4 == 1 {
            plant(&mut values, seed);
        }
        let target = |row: u64| match (row + seed) % 4 {
            0 => -100,
            // Beyond the row.
            1 if len == 0 || seed.is_multiple_of(2) => len as i64,
            _ => ((row * 37 + seed) % len.max(1)) as i64,
        };
        let known = numbers::<f32>(count as usize, seed + 9);
        Self {
            size: [count, len],
            gap,
            seed,
            other: numbers::<T>(all, seed + 3),
            mask: (0..all).map(|i| ((i * 7 + seed as usize) % 5) as u8).collect(),
            targets: (0..count).map(target).collect(),
            weights: numbers::<W>(len as usize, seed + 1),
            biases: numbers::<W>(len as usize, seed + 2),
            means: MeanAndDeviation {
                mean: known.clone(),
                reciprocal_deviation: known.iter().map(|x| x.abs() + 0.1).collect(),
            },
            roots: ReciprocalRoot {
                reciprocal_root: known.iter().map(|x| x.abs() + 0.1).collect(),
            },
            values,
        }
    }

    fn layout(&self) -> Layout {
        let [_, len] = self.size;
        Layout::strided(&self.size, &[(len + self.gap) as i64, 1], self.gap).expect("a matrix")
    }
}

/// What an operation reads of all that.
#[derive(Clone, Copy, Default)]
struct Reads {
    columns: [bool; 2],
    second: Option<Second>,
    factor: f32,
    targets: bool,
    /// Those of layer norm, those of the other, or nothing.
    given: [bool; 2],
}

const PLAIN: Reads = Reads {
    columns: [false; 2],
    second: None,
    factor: 1.0,
    targets: false,
    given: [false; 2],
};

impl<T: Weights, W: Weights> Inputs<T, W> {
    fn given(&self, reads: Reads) -> Option<[&[f32]; 2]> {
        match reads.given {
            [true, _] => Some([&self.means.mean, &self.means.reciprocal_deviation]),
            [_, true] => Some([&[], &self.roots.reciprocal_root]),
            _ => None,
        }
    }

    /// A row as the specification takes it, and its sums with a residual.
    fn row<O: RowOp>(&self, op: O, reads: Reads, row: u64, seen: usize) -> (SpecRow, Vec<u32>) {
        let [_, len] = self.size;
        let first = (row * (len + self.gap) + self.gap) as usize;
        let part = first..first + seen;
        let wide = |values: &[T]| values[part.clone()].iter().map(|x| x.wide()).collect::<Vec<f32>>();
        let (mut firsts, others) = (wide(&self.values), wide(&self.other));
        if op.negates() {
            firsts.iter_mut().for_each(|x| *x = -*x);
        }
        let mut sums = vec![];
        for (i, x) in firsts.iter_mut().enumerate() {
            *x = match reads.second {
                Some(Second::Mask) if self.mask[first + i] == 0 => op.absent().each()[0],
                Some(Second::Added) => single::fma(*x, reads.factor, others[i]),
                Some(Second::Residual) => {
                    let sum = T::narrowed(*x + others[i]);
                    sums.push(sum.word(0));
                    sum.wide()
                }
                _ => *x,
            };
        }
        let target = reads.targets.then(|| self.targets[row as usize]);
        let there = target
            .and_then(|target| usize::try_from(target).ok())
            .filter(|target| *target < len as usize);
        let given = match (self.given(reads), target) {
            (Some([first, second]), _) => [first, second].map(|given| given.get(row as usize).copied().unwrap_or(0.0)),
            (None, Some(-100)) => Target::Ignored.given(0.0),
            (None, Some(_)) => there.map_or(Target::Beyond.given(0.0), |at| Target::There.given(firsts[at])),
            (None, None) => [0.0; 2],
        };
        let row = SpecRow {
            seen: [firsts, if O::Value::ARRAYS == 2 { others } else { vec![] }],
            len: len as usize,
            bytes: T::TYPE.bytes(),
            given,
            target: there,
        };
        (row, sums)
    }

    /// Emulator, CPU and specification, to answers of `U`.
    fn agree<U: RowElement, Op: Operation>(&self, operation: &Row<'_, Op>, reads: Reads)
    where
        Op::Known: Kind,
    {
        let op = operation.operation().op();
        let ([count, len], gap, seed) = (self.size, self.gap, self.seed);
        let misalign = (seed % 3 == 2) as usize;
        let shown = |offset: i64| (count, len as i64 - count as i64 + offset + 1);
        let causal = operation.causal_offset().map(shown);
        let maps = operation.operation().maps();
        let wide = |wanted: bool, columns: &[W]| wanted.then(|| columns.iter().map(|w| w.wide()).collect::<Vec<f32>>());
        let columns = [
            wide(reads.columns[0], &self.weights),
            wide(reads.columns[1], &self.biases),
        ];
        let (mut answers, mut sums, mut known) = (vec![], vec![], vec![]);
        for row in 0..count {
            let seen = causal.map_or(len, |(period, shown)| {
                ((row % period) as i64 + shown).clamp(0, len as i64) as u64
            });
            let (row, sum) = self.row(op, reads, row, seen as usize);
            let (mapped, of_row) = spec::<U, _>(op, &row, &columns);
            answers.extend(mapped);
            sums.extend(sum);
            known.push(of_row);
        }
        if !maps {
            answers.clear();
        }
        let is_known = |known: &[[u32; 4]], of: &[[u32; 4]]| {
            known
                .iter()
                .zip(of)
                .all(|(known, of)| (0..4).all(|i| !<Op::Known as row::Knowledge>::ASKED[i] || known[i] == of[i]))
        };
        // Targets beyond their rows are errors where it is known before.
        let beyond = reads.targets
            && self
                .targets
                .iter()
                .any(|target| *target != -100 && *target >= len as i64);
        if !beyond {
            let view = View::new(&self.values, &self.layout()).expect("in bounds");
            let mapped = operation.clone().on_cpu::<_, U>(view).expect("a meaning");
            let bits: Vec<u32> = mapped.values.iter().map(|value| value.word(0)).collect();
            assert_eq!(bits, answers, "{} of {count} rows of {len}", Op::NAME);
            assert!(
                is_known(&mapped.known.bits(), &known),
                "{} of {count} rows of {len}",
                Op::NAME
            );
        }
        let beside = BesideRows {
            columns: [
                reads.columns[0].then_some(&self.weights[..]),
                reads.columns[1].then_some(&self.biases[..]),
            ],
            shares: Shares::NONE,
            other: reads
                .second
                .filter(|second| *second != Second::Mask)
                .map(|second| (second, &self.other[..], (len + gap) as i64)),
            mask: (reads.second == Some(Second::Mask)).then_some((&self.mask[..], (len + gap) as i64)),
            factor: reads.factor,
            targets: reads.targets.then_some((&self.targets[..], -100)),
            given: self.given(reads),
            maps,
        };
        let rows = RowsOf {
            values: &self.values,
            len,
            count,
            stride: (len + gap) as i64,
            first: gap as usize,
            misalign,
            causal,
            layout: None,
        };
        let vector = 16 / T::TYPE.bytes() as u64;
        let is_short = Width::of(T::TYPE, len) != Width::Warp;
        let is_seen = causal.is_none() || <Op::Op as RowOp>::MASKS && !is_short;
        let is_wide = len.is_multiple_of(vector) && gap == 0 && misalign == 0 && is_seen;
        let are_types = T::TYPE == U::TYPE && (W::TYPE == T::TYPE || W::TYPE.bytes() == 4);
        let is_masked = matches!(reads.second, Some(Second::Mask | Second::Added));
        let is_plain = is_wide && are_types && !is_masked && !op.negates();
        let (bytes, arrays) = (T::TYPE.bytes(), <Op::Op as RowFold>::Value::ARRAYS);
        let folds = folds(bytes, arrays, self.size).filter(|_| is_plain && !maps);
        for shape in shapes(bytes, arrays, self.size, is_plain).into_iter().chain(folds) {
            // Those of short rows see all of them, and map no targets.
            if shape.variant == RowVariant::Short && (causal.is_some() || <Op::Op as RowOp>::TARGETS && maps) {
                continue;
            }
            if shape.variant == RowVariant::Long && (<Op::Op as RowOp>::TARGETS || <Op::Op as RowOp>::TAKES_COLUMNS) {
                continue;
            }
            let mut known = known.clone();
            if shape.variant.is_plain() {
                known
                    .iter_mut()
                    .for_each(|known| known[<Op::Op as RowOp>::PLAIN_KNOWS..].fill(0));
            }
            let emulated = map_rows::<T, U, W, _>(op, rows, &beside, gap as usize, shape, seed)
                .unwrap_or_else(|fault| panic!("{fault}\n{} in {shape:?} of {count} rows of {len}", Op::NAME));
            assert_eq!(
                emulated.values,
                answers,
                "{} in {shape:?} of {count} rows of {len}",
                Op::NAME
            );
            assert_eq!(
                emulated.sums,
                sums,
                "{} in {shape:?} of {count} rows of {len}",
                Op::NAME
            );
            assert!(
                is_known(&emulated.known, &known),
                "{} in {shape:?} of {count} rows of {len}",
                Op::NAME
            );
        }
    }
}

/// Every operation, on one matrix.
fn all_agree<T: Weights, U: RowElement, W: Weights>(size: [u64; 2], seed: u64) {
    let inputs = &Inputs::<T, W>::new(size, seed);
    let layout = &inputs.layout();
    let other = || T::operand_of(&inputs.other, layout);
    let mask = || View::new(&inputs.mask[..], layout).expect("in bounds");
    let second = |second: Second, factor: f32| Reads {
        second: Some(second),
        factor,
        ..PLAIN
    };
    inputs.agree::<U, _>(&row::softmax(), PLAIN);
    inputs.agree::<U, _>(&row::softmax().scale(-0.7).causal(), PLAIN);
    let zeros = row::softmax().all_masked(AllMasked::Zero);
    inputs.agree::<U, _>(&zeros.clone().causal_by(-2), PLAIN);
    inputs.agree::<U, _>(&zeros.scale(0.3).mask(mask()), second(Second::Mask, 1.0));
    inputs.agree::<U, _>(&row::softmax().scale(-0.5).plus(other()), second(Second::Added, 0.5));
    inputs.agree::<U, _>(&row::log_softmax().scale(1.5).mask(mask()), second(Second::Mask, 1.0));
    inputs.agree::<U, _>(&row::log_sum_exp(), PLAIN);
    let [weight, bias] = [W::floats(&inputs.weights), W::floats(&inputs.biases)];
    let both = Reads {
        columns: [true; 2],
        ..PLAIN
    };
    let one = Reads {
        columns: [true, false],
        ..PLAIN
    };
    inputs.agree::<U, _>(&row::layer_norm(1e-5).weight(weight).bias(bias), both);
    inputs.agree::<U, _>(&row::layer_norm(1e-5).residual(other()), second(Second::Residual, 1.0));
    inputs.agree::<U, _>(&row::rms_norm(1e-6).weight(weight).one_plus_weight(), one);
    let residual = Reads {
        second: Some(Second::Residual),
        ..one
    };
    inputs.agree::<U, _>(&row::rms_norm(1e-6).weight(weight).residual(other()), residual);
    let targets = Reads { targets: true, ..PLAIN };
    let loss = row::cross_entropy(&inputs.targets);
    inputs.agree::<U, _>(&loss.clone(), targets);
    inputs.agree::<U, _>(&loss.label_smoothing(0.1).z_loss(1e-3).gradient(0.25), targets);
    let pair = second(Second::Nothing, 1.0);
    inputs.agree::<U, _>(&row::softmax_gradient(other()).scaled_by(0.5).causal_by(0), pair);
    inputs.agree::<U, _>(&row::softmax_gradient(other()), pair);
    inputs.agree::<U, _>(&row::log_softmax_gradient(other()), pair);
    let of_norm = |given: [bool; 2]| Reads {
        columns: [true, false],
        given,
        ..pair
    };
    let norm = row::layer_norm_gradient(other(), &inputs.means).weight(weight);
    inputs.agree::<U, _>(&norm, of_norm([true, false]));
    let norm = row::rms_norm_gradient(other(), &inputs.roots)
        .weight(weight)
        .one_plus_weight();
    inputs.agree::<U, _>(&norm, of_norm([false, true]));
}

#[test]
fn every_shape_gives_the_bits_of_the_specification_at_every_edge() {
    for len in [0, 1, 3, 31, 33, 128, 129, 255, 256, 512, 515, 1030] {
        all_agree::<f32, f32, f32>([3, len], len);
    }
    for len in [0, 1, 7, 40, 256, 257, 512, 1024, 1032, 2500] {
        all_agree::<bf16, bf16, bf16>([3, len], len);
        all_agree::<f16, f32, f16>([2, len], len + 1);
    }
    for len in [4, 32, 128, 256, 512, 1024] {
        all_agree::<f32, f32, f32>([9, len], 10);
        all_agree::<f32, f32, f32>([9, len], 25);
    }
    // Clusters of several blocks that have several rows, one after the other.
    for (len, seed) in [(2_100, 10), (4_100, 25)] {
        all_agree::<f32, f32, f32>([6, len], seed);
    }
    for len in [8, 64, 256, 512, 1024, 2048] {
        all_agree::<bf16, bf16, bf16>([9, len], 10);
        all_agree::<bf16, bf16, bf16>([9, len], 25);
    }
    all_agree::<f32, bf16, bf16>([2, 132], 3);
    all_agree::<bf16, f16, f32>([2, 264], 3);
    all_agree::<bf16, f32, f32>([9, 24], 6);
}
