//! Row operations: the kernels on the emulator, in every shape, the CPU backend, and their specification give the same bits; and those are near what exact
//! arithmetic has.

use half::{bf16, f16};
use proptest::prelude::*;
use warpfold::{
    View,
    layout::Layout,
    row::{self, AllMasked, MeanAndDeviation, Operation, ReciprocalRoot, Row, RowElement},
};
use warpfold_emulator::{BesideRows, RowsOf, fold_states, map_rows};
use warpfold_kernels::{
    arithmetic::single,
    kernels::rowwise::Second,
    rowwise::{RowOp, Target, Value as _},
};
use warpfold_tests::rows::{Kind, SpecRow, Weights, meet, numbers, plant, shapes, spec};

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
            1 if len == 0 || seed % 2 == 0 => len as i64,
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
        let there = target.and_then(|target| usize::try_from(target).ok()).filter(|target| *target < len as usize);
        let given = match (self.given(reads), target) {
            (Some([first, second]), _) => {
                [first, second].map(|given| given.get(row as usize).copied().unwrap_or(0.0))
            }
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
        let columns = [wide(reads.columns[0], &self.weights), wide(reads.columns[1], &self.biases)];
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
            known.iter().zip(of).all(|(known, of)| (0..4).all(|i| !Op::KNOWS[i] || known[i] == of[i]))
        };
        // Targets beyond their rows are errors where it is known before.
        let beyond = reads.targets && self.targets.iter().any(|target| *target != -100 && *target >= len as i64);
        if !beyond {
            let view = View::new(&self.values, &self.layout()).expect("in bounds");
            let mapped = operation.clone().on_cpu::<_, U>(view).expect("a meaning");
            let bits: Vec<u32> = mapped.values.iter().map(|value| value.word(0)).collect();
            assert_eq!(bits, answers, "{} of {count} rows of {len}", Op::NAME);
            assert!(is_known(&mapped.known.bits(), &known), "{} of {count} rows of {len}", Op::NAME);
        }
        let beside = BesideRows {
            columns: [
                reads.columns[0].then_some(&self.weights[..]),
                reads.columns[1].then_some(&self.biases[..]),
            ],
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
        };
        let vector = 16 / T::TYPE.bytes() as u64;
        let is_wide = len.is_multiple_of(vector) && gap == 0 && misalign == 0 && causal.is_none();
        for shape in shapes(T::TYPE.bytes(), <Op::Op as RowOp>::Value::ARRAYS, self.size, is_wide) {
            let emulated = map_rows::<T, U, W, _>(op, rows, &beside, gap as usize, shape, seed)
                .unwrap_or_else(|fault| panic!("{fault}\n{} in {shape:?} of {count} rows of {len}", Op::NAME));
            assert_eq!(emulated.values, answers, "{} in {shape:?} of {count} rows of {len}", Op::NAME);
            assert_eq!(emulated.sums, sums, "{} in {shape:?} of {count} rows of {len}", Op::NAME);
            assert!(is_known(&emulated.known, &known), "{} in {shape:?} of {count} rows of {len}", Op::NAME);
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
    let norm = row::rms_norm_gradient(other(), &inputs.roots).weight(weight).one_plus_weight();
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
    for len in [8, 64, 256, 512, 1024, 2048] {
        all_agree::<bf16, bf16, bf16>([9, len], 10);
        all_agree::<bf16, bf16, bf16>([9, len], 25);
    }
    all_agree::<f32, bf16, bf16>([2, 132], 3);
    all_agree::<bf16, f16, f32>([2, 264], 3);
    all_agree::<bf16, f32, f32>([9, 24], 6);
}

/// Layouts of one matrix of 37 rows of 150 columns: C and Fortran order, backwards, one row for all.
fn layouts() -> [Layout; 4] {
    let layout = |strides: [i64; 2], offset| Layout::strided(&[37, 150], &strides, offset).expect("small");
    [
        layout([150, 1], 0),
        layout([1, 37], 0),
        layout([-150, -1], 37 * 150 - 1),
        layout([0, 1], 3),
    ]
}

/// The elements of a matrix, row after row.
fn elements(values: &[f32], layout: &Layout) -> Vec<f32> {
    let (shape, strides) = (layout.shape(), layout.strides());
    let at = |row: u64, column: u64| layout.offset() as i64 + row as i64 * strides[0] + column as i64 * strides[1];
    (0..shape[0])
        .flat_map(|row| (0..shape[1]).map(move |column| (row, column)))
        .map(|(row, column)| values[at(row, column) as usize])
        .collect()
}

/// Strides that were ignored: flashinfer#4060.
#[test]
fn a_row_has_its_bits_wherever_its_elements_lie() {
    let values = numbers::<f32>(37 * 150, 5);
    for layout in layouts() {
        let view = || View::new(&values, &layout).expect("in bounds");
        let in_order = elements(&values, &layout);
        let rows = row::softmax().on_cpu::<_, f32>(view()).expect("a meaning");
        for (row, mapped) in in_order.chunks(150).zip(rows.values.chunks(150)) {
            let alone = row::softmax().on_cpu::<_, f32>(row).expect("a meaning");
            assert_eq!(alone.values, mapped, "{layout:?}");
        }
        let columns = row::layer_norm(1e-5)
            .axis(0)
            .on_cpu::<_, f32>(view())
            .expect("a meaning");
        for column in 0..150 {
            let lies: Vec<f32> = in_order.iter().copied().skip(column).step_by(150).collect();
            let alone = row::layer_norm(1e-5).on_cpu::<_, f32>(&lies).expect("a meaning");
            let mapped: Vec<f32> = columns.values.iter().copied().skip(column).step_by(150).collect();
            assert_eq!(alone.values, mapped, "{layout:?}");
        }
    }
}

#[test]
fn padding_changes_no_bit() {
    // Answers that are subnormal, or nearly.
    let faint: Vec<f32> = (0..1024)
        .map(|i| if i < 3 { 0.0 } else { -86.25 - i as f32 / 1600.0 })
        .collect();
    let rows = [1, 5, 300, 1024, 3000].map(|len| numbers::<f32>(len, len as u64));
    for row in rows.into_iter().chain([faint]) {
        let len = row.len();
        let alone = row::softmax().on_cpu::<_, f32>(&row).expect("a meaning");
        for more in [1, 3, 129, 2000] {
            let padded = [&row[..], &vec![f32::NEG_INFINITY; more]].concat();
            let mapped = row::softmax().on_cpu::<_, f32>(&padded).expect("a meaning");
            assert_eq!(mapped.values[..len], alone.values[..], "{len} and {more}");
            assert_eq!(mapped.values[len..], vec![0.0; more], "{len} and {more}");
            assert_eq!(mapped.known, alone.known);
            // What is not seen is as what is −∞.
            let layout = Layout::c_order(&[1, padded.len() as u64]).expect("small");
            let unseen: Vec<f32> = row.iter().copied().chain(vec![f32::NAN; more]).collect();
            let view = View::new(&unseen, &layout).expect("in bounds");
            let causal = row::softmax().causal_by(-(more as i64)).on_cpu::<_, f32>(view);
            assert_eq!(causal.expect("a meaning").values, mapped.values, "{len} and {more}");
        }
    }
}

/// All-masked rows (pytorch#55056), infinities, NaNs, length 1.
#[test]
fn edges_of_softmax() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let softmax = |row: &[f32]| row::softmax().on_cpu::<_, f32>(row).expect("a meaning");
    let all = |row: &[f32], is: fn(f32) -> bool| softmax(row).values.into_iter().all(is);
    for row in [
        &[-inf][..],
        &[-inf; 5],
        &[-inf; 3000],
        &[inf],
        &[1.0, inf, 2.0],
        &[nan, 1.0],
        &[-inf, nan],
    ] {
        assert!(all(row, f32::is_nan), "{row:?}");
        let zeros = row::softmax()
            .all_masked(AllMasked::Zero)
            .on_cpu::<_, f32>(row)
            .expect("a meaning");
        let is_masked = row.iter().all(|x| *x == -inf);
        assert_eq!(zeros.values.iter().all(|y| *y == 0.0), is_masked, "{row:?}");
        let known = zeros.known.log_sum_exp[0];
        match row
            .iter()
            .copied()
            .fold(-inf, |a, b| if a.is_nan() | b.is_nan() { nan } else { a.max(b) })
        {
            max if max.is_nan() => assert!(known.is_nan()),
            max => assert_eq!(known, max),
        }
    }
    // A +∞ in another leaf.
    let mut long = vec![0.5; 5000];
    long[4000] = inf;
    assert!(all(&long, f32::is_nan));
    for (row, expected) in [
        (&[7.5][..], &[1.0][..]),
        (&[-1e30], &[1.0]),
        (&[f32::MAX, -f32::MAX], &[1.0, 0.0]),
        (&[0.0, -inf], &[1.0, 0.0]),
        (&[3.0; 4], &[0.25; 4]),
        // Of e⁻⁶⁴ the exponent is off by what log₂ e is in f32.
        (&[1e9, 1e9 - 64.0], &[1.0, 1.603_812_3e-28]),
    ] {
        assert_eq!(softmax(row).values, expected, "{row:?}");
        let log = row::log_softmax().on_cpu::<_, f32>(row).expect("a meaning").values;
        for (log, y) in log.iter().zip(expected) {
            assert!((f64::from(*log).exp() - f64::from(*y)).abs() < 1e-6, "{row:?}: {log}");
        }
    }
    assert!(softmax(&[]).values.is_empty());
    // Below the range of normal floats, and below all floats.
    let tiny = softmax(&[0.0, -90.0, -103.0, -104.5]).values;
    // That of e⁻⁹⁰ is one subnormal off, for the same reason.
    assert_eq!(tiny, [1.0, 8.194_02e-40, 1.4e-45, 0.0]);
}

/// Rows of f16 whose sum was 2: candle#3727; sums that are carried in the elements' type stop at 2048.
#[test]
fn rows_of_halves_sum_to_one() {
    for len in [10_usize, 2000, 4097, 60_000] {
        let row: Vec<f16> = numbers(len, 3);
        let mapped = row::softmax().on_cpu::<_, f32>(&row).expect("a meaning").values;
        let sum: f64 = mapped.iter().map(|y| f64::from(*y)).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{len}: {sum}");
    }
    let equal = vec![f16::ONE; 4096];
    let mapped = row::softmax().on_cpu::<_, f16>(&equal).expect("a meaning").values;
    assert!(mapped.iter().all(|y| y.to_f32() == 1.0 / 4096.0));
}

/// 1 + weight that was dropped: Megatron#6859.
#[test]
fn one_is_added_to_weights_where_that_is_asked_for() {
    let row = numbers::<f32>(300, 8);
    let weights = numbers::<f32>(300, 9);
    let sums: Vec<f32> = weights.iter().map(|weight| weight + 1.0).collect();
    let plus = row::rms_norm(1e-6)
        .weight(&weights)
        .one_plus_weight()
        .on_cpu::<_, f32>(&row);
    let added = row::rms_norm(1e-6).weight(&sums).on_cpu::<_, f32>(&row);
    let plain = row::rms_norm(1e-6)
        .weight(&weights)
        .on_cpu::<_, f32>(&row)
        .expect("a meaning");
    let plus = plus.expect("a meaning");
    assert_eq!(plus.values, added.expect("a meaning").values);
    assert_ne!(plus.values, plain.values);
}

/// Half a unit in the last place of numbers from 1 to 2.
const U: f64 = 1.0 / (1 << 24) as f64;

/// Softmax in f64, and what an answer in f32 may be off: of each term (1.6 + t / 7) · 2⁻²⁴ at most, `t` being its distance from the maximum in powers of two (`single::exp_scaled`); a rounding for each
/// level of a sum's tree; and in long rows the same again for the leaf's exponential, and a few more roundings.
#[test]
fn softmax_is_within_its_bound() {
    for len in [1_usize, 2, 100, 1024, 5000, 100_000] {
        for spread in [0.01, 1.0, 20.0] {
            let row: Vec<f32> = numbers::<f32>(len, 77).iter().map(|x| x * spread).collect();
            let mapped = row::softmax().on_cpu::<_, f32>(&row).expect("a meaning");
            let max = row.iter().copied().fold(f32::MIN, f32::max);
            let term = |x: f32| (f64::from(x) - f64::from(max)).exp();
            let sum: f64 = row.iter().copied().map(term).sum();
            let levels = (len as f64).log2().ceil();
            for (x, y) in row.iter().zip(&mapped.values) {
                let exact = term(*x) / sum;
                let distance = (f64::from(max) - f64::from(*x)) * std::f64::consts::LOG2_E;
                let bound = exact * (3.0 * levels + 8.0 + distance) * U + f64::from(f32::MIN_POSITIVE) * U;
                assert!(
                    (f64::from(*y) - exact).abs() <= bound,
                    "{len}, {spread}: {y:e} for {exact:e}"
                );
            }
            let exact = f64::from(max) + sum.ln();
            let off = (f64::from(mapped.known.log_sum_exp[0]) - exact).abs();
            assert!(
                off <= (3.0 * levels + 8.0 + exact.abs()) * U,
                "{len}, {spread}: {off:e}"
            );
            let logs = row::log_softmax().on_cpu::<_, f32>(&row).expect("a meaning");
            for (x, y) in row.iter().zip(&logs.values) {
                let exact = f64::from(*x) - exact;
                let bound = (3.0 * levels + 8.0 + 3.0 * (exact.abs() + f64::from(max - *x))) * U;
                assert!(
                    (f64::from(*y) - exact).abs() <= bound,
                    "{len}, {spread}: {y:e} for {exact:e}"
                );
            }
        }
    }
}

/// Norms in f64, and what an answer in f32 may be off: a rounding for each level of both trees, and a few more, of what is summed.
#[test]
fn norms_are_within_their_bounds() {
    for len in [1_usize, 2, 100, 1024, 5000, 100_000] {
        for shift in [0.0_f32, 100.0] {
            let row: Vec<f32> = numbers::<f32>(len, 5).iter().map(|x| x + shift).collect();
            let (weights, biases) = (numbers::<f32>(len, 6), numbers::<f32>(len, 7));
            let wide: Vec<f64> = row.iter().copied().map(f64::from).collect();
            let n = len as f64;
            let mean = wide.iter().sum::<f64>() / n;
            let variance = wide.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            let deviation = (variance + 1e-5).sqrt();
            let size = wide.iter().map(|x| x.abs()).sum::<f64>() / n;
            let levels = n.log2().ceil();
            let mapped = row::layer_norm(1e-5)
                .weight(&weights)
                .bias(&biases)
                .on_cpu::<_, f32>(&row);
            let mapped = mapped.expect("a meaning");
            let off_mean = (levels + 4.0) * U * size;
            for i in 0..len {
                let (weight, bias) = (f64::from(weights[i]), f64::from(biases[i]));
                let normed = (wide[i] - mean) / deviation;
                let exact = normed * weight + bias;
                // The variance is off by that of the mean, squared, too.
                let off_normed = 2.0 * (off_mean + wide[i].abs() * U) / deviation
                    + normed.abs() * ((levels + 8.0) * U + (off_mean / deviation).powi(2));
                let bound = off_normed * weight.abs() + (exact.abs() + bias.abs()) * 2.0 * U;
                let off = (f64::from(mapped.values[i]) - exact).abs();
                assert!(off <= bound, "{len}, {shift}: {off:e} past {bound:e}");
            }
            let mean_is = f64::from(mapped.known.mean[0]);
            assert!(
                (mean_is - mean).abs() <= off_mean,
                "{len}, {shift}: {mean_is} for {mean}"
            );
            let root = (wide.iter().map(|x| x * x).sum::<f64>() / n + 1e-6).sqrt();
            let mapped = row::rms_norm(1e-6)
                .weight(&weights)
                .on_cpu::<_, f32>(&row)
                .expect("a meaning");
            for i in 0..len {
                let exact = wide[i] / root * f64::from(weights[i]);
                let bound = exact.abs() * (levels / 2.0 + 6.0) * U + f64::from(f32::MIN_POSITIVE);
                let off = (f64::from(mapped.values[i]) - exact).abs();
                assert!(off <= bound, "{len}, {shift}: {off:e} past {bound:e}");
            }
        }
    }
}

#[test]
fn what_has_no_meaning_is_told() {
    use warpfold::{Error, RowFault};

    let row = [1.0_f32, 2.0];
    for scale in [0.0, f32::NAN, f32::INFINITY] {
        let told = row::softmax().scale(scale).on_cpu::<_, f32>(&row);
        assert!(matches!(told, Err(Error::Parameter { op: "softmax", .. })), "{scale}");
    }
    for epsilon in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let told = row::layer_norm(epsilon).on_cpu::<_, f32>(&row);
        assert!(
            matches!(told, Err(Error::Parameter { op: "layer_norm", .. })),
            "{epsilon}"
        );
        assert!(row::rms_norm(epsilon).on_cpu::<_, f32>(&row).is_err());
    }
    let told = row::rms_norm(1e-6).weight(&[1.0_f32; 3]).on_cpu::<_, f32>(&row);
    let fault = RowFault::Columns {
        name: "weights",
        columns: 2,
        got: 3,
    };
    assert!(matches!(told, Err(Error::Row(told)) if told == fault));
    let told = row::softmax().causal().on_cpu::<_, f32>(&row);
    assert!(matches!(told, Err(Error::Row(RowFault::NotAMatrix { axes: 1 }))));
    let told = row::softmax().axis(1).on_cpu::<_, f32>(&row);
    assert!(matches!(told, Err(Error::NoAxis { .. })));
}

/// Rows of more leaves than a warp folds at once.
#[test]
fn states_of_many_leaves_are_combined_by_groups() {
    use warpfold_kernels::{monoids::Scaled, rowwise::Scale};

    let op = warpfold_kernels::rowwise::Softmax {
        scale: Scale::by(1.0),
        zero_if_masked: false,
    };
    for count in [1_usize, 2, 31, 33, 256, 257, 700] {
        let numbers = numbers::<f32>(2 * 3 * count, count as u64);
        let states: Vec<Scaled<f32>> = numbers
            .chunks(2)
            .map(|pair| Scaled {
                max: pair[0],
                sum: pair[1].abs() + 1.0,
            })
            .collect();
        let groups = fold_states(op, &states, 3, 1).expect("no fault");
        let each = count.div_ceil(256);
        assert_eq!(groups.len(), 3 * each);
        for (row, states) in states.chunks(count).enumerate() {
            for (group, states) in states.chunks(256).enumerate() {
                let expected = meet(states.to_vec(), op.identity(), &|a, b| op.combine(a, b));
                assert_eq!(groups[row * each + group], expected, "{count}");
            }
        }
    }
}

/// The recorded bits: `WARPFOLD_BLESS=1` writes them anew, with a new version.
#[test]
fn golden_rows() {
    let text = warpfold_tests::rows::golden();
    if std::env::var_os("WARPFOLD_BLESS").is_some() {
        std::fs::write(warpfold_tests::rows::GOLDEN_PATH, &text).expect("written");
    }
    assert_eq!(
        text,
        warpfold_tests::rows::GOLDEN,
        "the bits of a row operation changed"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_row_in_any_batch_has_its_bits_alone(
        len in 1_usize..4000,
        count in 1_usize..5,
        seed in any::<u64>(),
        scale in prop::sample::select(&[1.0_f32, 0.125, -2.5, 0.3][..]),
    ) {
        let values: Vec<bf16> = numbers(len * count, seed);
        let layout = Layout::c_order(&[count as u64, len as u64]).expect("small");
        let view = View::new(&values, &layout).expect("in bounds");
        let all = row::softmax().scale(scale).on_cpu::<_, bf16>(view).expect("a meaning");
        for (row, mapped) in values.chunks(len).zip(all.values.chunks(len)) {
            let alone = row::softmax().scale(scale).on_cpu::<_, bf16>(row).expect("a meaning");
            prop_assert_eq!(&alone.values[..], mapped);
        }
    }
}
