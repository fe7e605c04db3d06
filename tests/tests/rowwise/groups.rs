//! Group norm: rows that are groups of channels, weights that a channel's elements share, in any layout.

use half::{bf16, f16};
use warpfold::{
    Error, RowFault, View, cpu,
    layout::{Axes, Extents, Layout},
    ops::{Sum, element::Type},
    plan::{
        Plan,
        row::{Purpose, RowLayout, RowProblem},
    },
    row::{self, MeanAndDeviation, Operation, Row, RowElement},
};
use warpfold_emulator::{BesideRows, RowsOf, map_rows};
use warpfold_kernels::{
    kernels::{
        LIBRARY,
        rowwise::{RowVariant, Second},
    },
    rowwise::{NormGradient, RowFold, RowOp, Value as _},
    stages::columns::Shares,
};
use warpfold_tests::rows::{Kind, SpecRow, Weights, numbers, plant, shapes, spec};

use super::bounds::{U, layer_norm_is_near, norm_is_near};

/// An array in groups of channels, and all that norms read beside it, in C order.
struct Inputs<T, W> {
    shape: Vec<u64>,
    groups: u64,
    seed: u64,
    x: Vec<T>,
    other: Vec<T>,
    weights: Vec<W>,
    biases: Vec<W>,
    known: MeanAndDeviation,
}

/// What an operation reads of that.
#[derive(Clone, Copy)]
struct Reads {
    columns: [bool; 2],
    second: Option<Second>,
    given: bool,
}

impl<T: Weights, W: Weights> Inputs<T, W> {
    fn new(shape: &[u64], groups: u64, seed: u64) -> Self {
        let (len, channels) = (shape.iter().product::<u64>() as usize, shape[1] as usize);
        let known = numbers::<f32>((shape[0] * groups) as usize, seed + 9);
        let mut x: Vec<T> = numbers::<T>(len, seed);
        if seed % 4 == 1 {
            plant(&mut x, seed);
        }
        Self {
            shape: shape.to_vec(),
            groups,
            seed,
            x,
            other: numbers::<T>(len, seed + 3),
            weights: numbers::<W>(channels, seed + 1),
            biases: numbers::<W>(channels, seed + 2),
            known: MeanAndDeviation {
                reciprocal_deviation: known.iter().map(|x| x.abs() + 0.1).collect(),
                mean: known,
            },
        }
    }

    /// Rows, elements of each.
    fn size(&self) -> [u64; 2] {
        let count = self.shape[0] * self.groups;
        [count, self.shape[1..].iter().product::<u64>() / self.groups]
    }

    /// Elements of a channel of a sample.
    fn span(&self) -> u64 {
        self.shape[2..].iter().product()
    }

    /// One of each column of a row, of those of channels.
    fn spread(&self, row: u64, of_channels: &[W]) -> Vec<f32> {
        let [_, len] = self.size();
        let first = row % self.groups * len;
        let number = |column: u64| ((first + column) / self.span()) as usize;
        (0..len).map(|column| of_channels[number(column)].wide()).collect()
    }

    /// The answers of the specification, sums with a residual, and what is known.
    fn expected<U: RowElement, O: RowOp>(&self, op: O, reads: Reads) -> (Vec<u32>, Vec<u32>, Vec<[u32; 4]>) {
        let [count, len] = self.size();
        let (mut answers, mut sums, mut known) = (vec![], vec![], vec![]);
        for row in 0..count {
            let part = (row * len) as usize..((row + 1) * len) as usize;
            let wide = |values: &[T]| values[part.clone()].iter().map(|x| x.wide()).collect::<Vec<f32>>();
            let (mut firsts, others) = (wide(&self.x), wide(&self.other));
            if reads.second == Some(Second::Residual) {
                for (x, other) in firsts.iter_mut().zip(&others) {
                    let sum = T::narrowed(*x + other);
                    sums.push(sum.word(0));
                    *x = sum.wide();
                }
            }
            let given = [&self.known.mean, &self.known.reciprocal_deviation].map(|known| known[row as usize]);
            let of_row = SpecRow {
                seen: [firsts, if O::Value::ARRAYS == 2 { others } else { vec![] }],
                len: len as usize,
                bytes: T::TYPE.bytes(),
                given: if reads.given { given } else { [0.0; 2] },
                target: None,
            };
            let columns = [(0, &self.weights), (1, &self.biases)]
                .map(|(i, columns)| reads.columns[i].then(|| self.spread(row, columns)));
            let (mapped, of_row) = spec::<U, _>(op, &of_row, &columns);
            answers.extend(mapped);
            known.push(of_row);
        }
        (answers, sums, known)
    }

    /// Emulator, CPU and specification, where arrays have that layout.
    fn agree<U: RowElement, Op: Operation>(&self, layout: &Layout, row: Row<'_, Op>, reads: Reads, memory: [&[T]; 2])
    where
        Op::Known: Kind,
    {
        let op = row.operation().op();
        let (answers, sums, known) = self.expected::<U, _>(op, reads);
        let what = format!("{} of {:?} in {} groups, {layout:?}", Op::NAME, self.shape, self.groups);
        let view = View::new(memory[0], layout).expect("in bounds");
        let mapped = row.on_cpu::<_, U>(view).expect("a meaning");
        let bits: Vec<u32> = mapped.values.iter().map(|value| value.word(0)).collect();
        assert_eq!(bits, answers, "{what}");
        if <Op::Known as row::Knowledge>::ASKED[0] {
            let of_cpu: Vec<[u32; 2]> = mapped.known.bits().iter().map(|known| [known[0], known[1]]).collect();
            let of_spec: Vec<[u32; 2]> = known.iter().map(|known| [known[0], known[1]]).collect();
            assert_eq!(of_cpu, of_spec, "{what}");
        }
        let [count, len] = self.size();
        if count == 0 {
            return;
        }
        let split = split(layout, self.groups);
        let axes = Axes::of(&(2..=layout.shape().len() as i64).collect::<Vec<i64>>());
        let extents = Extents::of_pair(&split, &split, &axes).expect("a meaning");
        let dimensions = Extents::dimensions_of(&extents);
        let in_order = extents[0].is_contiguous() && !extents[0].has_several();
        let beside = BesideRows {
            columns: [
                reads.columns[0].then_some(&self.weights[..]),
                reads.columns[1].then_some(&self.biases[..]),
            ],
            shares: Shares::of(self.groups, self.span()),
            other: reads.second.map(|second| (second, memory[1], len as i64)),
            given: reads
                .given
                .then_some([&self.known.mean[..], &self.known.reciprocal_deviation[..]]),
            ..BesideRows::default()
        };
        let misalign = (self.seed % 3 == 2) as usize;
        let rows = RowsOf {
            values: memory[0],
            len,
            count,
            stride: len as i64,
            first: layout.offset() as usize,
            misalign,
            causal: None,
            layout: (!in_order).then_some(&dimensions[..]),
        };
        let vector = 16 / T::TYPE.bytes() as u64;
        let have_own = [self.groups, self.span()] == [1, 1] || reads.columns == [false; 2];
        let are_types = T::TYPE == U::TYPE && (W::TYPE == T::TYPE || W::TYPE.bytes() == 4);
        let is_plain = len.is_multiple_of(vector) && misalign == 0 && are_types && have_own;
        for shape in shapes(
            T::TYPE.bytes(),
            <Op::Op as RowFold>::Value::ARRAYS,
            [count, len],
            is_plain,
        ) {
            let is_long = shape.variant == RowVariant::Long && <Op::Op as RowOp>::TAKES_COLUMNS;
            if is_long || !in_order && shape.variant != RowVariant::Strided {
                continue;
            }
            let emulated = map_rows::<T, U, W, _>(op, rows, &beside, 0, shape, self.seed)
                .unwrap_or_else(|fault| panic!("{fault}\n{what} in {shape:?}"));
            assert_eq!(emulated.values, answers, "{what} in {shape:?}");
            assert_eq!(emulated.sums, sums, "{what} in {shape:?}");
        }
    }

    /// Group norm and its gradient, in a layout.
    fn all_agree<U: RowElement>(&self, layout: &Layout) {
        let [x, other] = [&self.x, &self.other].map(|values| scattered(values, layout));
        let memory = [&x[..], &other[..]];
        let [weight, bias] = [W::floats(&self.weights), W::floats(&self.biases)];
        let norm = || row::group_norm(self.groups, 1e-5);
        let reads = |columns, second, given| Reads { columns, second, given };
        let both = reads([true; 2], None, false);
        self.agree::<U, _>(layout, norm().weight(weight).bias(bias), both, memory);
        self.agree::<U, _>(layout, norm(), reads([false; 2], None, false), memory);
        let residual = reads([false, true], Some(Second::Residual), false);
        let added = norm().bias(bias).residual(T::operand_of(&other, layout));
        self.agree::<U, _>(layout, added, residual, memory);
        let gradient = reads([true, false], Some(Second::Nothing), true);
        let of = row::group_norm_gradient(self.groups, T::operand_of(&other, layout), &self.known).weight(weight);
        self.agree::<U, _>(layout, of, gradient, memory);
    }

    /// The gradients of weights and biases: each channel of a sample as the specification has a row, then samples as it has a sum.
    fn channels_agree(&self, layout: &Layout) {
        let [x, dy] = [&self.x, &self.other].map(|values| scattered(values, layout));
        let of_channels = row::group_norm_channel_gradients(self.groups, T::operand_of(&dy, layout), &self.known);
        let got = of_channels.on_cpu(View::new(&x, layout).expect("in bounds"));
        let got = got.expect("a meaning");
        if self.shape[1] == 0 {
            return assert!(got.weight.is_empty() && got.bias.is_empty());
        }
        let each = self.shape[1] / self.groups;
        let of_channel = |known: &[f32]| {
            (0..self.shape[0] * self.shape[1])
                .map(|i| known[(i / each) as usize])
                .collect()
        };
        let alone = Self {
            shape: self.shape.clone(),
            known: MeanAndDeviation {
                mean: of_channel(&self.known.mean),
                reciprocal_deviation: of_channel(&self.known.reciprocal_deviation),
            },
            x: self.x.clone(),
            other: self.other.clone(),
            groups: self.shape[1],
            ..Self::new(&self.shape, 1, 0)
        };
        let op = NormGradient {
            centers: true,
            plus: -0.0,
        };
        let reads = Reads {
            columns: [false; 2],
            second: Some(Second::Nothing),
            given: true,
        };
        let (_, _, sums) = alone.expected::<f32, _>(op, reads);
        let samples = Layout::c_order(&self.shape[..2]).expect("small");
        let expected = [1, 0].map(|i| {
            let sums: Vec<f32> = sums.iter().map(|sums| f32::from_bits(sums[i])).collect();
            let sums = cpu::reduce_axes(Sum, &sums, &samples, &Axes::of(&[0])).expect("a meaning");
            bits(&sums.answers)
        });
        assert_eq!(
            [bits(&got.weight), bits(&got.bias)],
            expected,
            "{:?}, {layout:?}",
            self.shape
        );
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The channels of an array as an axis of groups and one of a group's channels.
fn split(layout: &Layout, groups: u64) -> Layout {
    let (mut shape, mut strides) = (layout.shape().to_vec(), layout.strides().to_vec());
    let each = shape[1] / groups;
    shape.splice(1..2, [groups, each]);
    strides.insert(1, strides[1] * each as i64);
    Layout::strided(&shape, &strides, layout.offset()).expect("small")
}

/// Elements where a layout has them.
fn scattered<T: RowElement>(in_order: &[T], layout: &Layout) -> Vec<T> {
    let all = Extents::new(layout, &Axes::all()).expect("all axes");
    let mut memory = vec![T::narrowed(f32::NAN); layout.reach().map_or(0, |(_, end)| end as usize)];
    for (i, value) in in_order.iter().enumerate() {
        memory[all.offset.wrapping_add_signed(all.step(i as u64)) as usize] = *value;
    }
    memory
}

/// C order, channels last, backwards with gaps.
fn layouts(shape: &[u64]) -> [Layout; 3] {
    let in_order = Layout::c_order(shape).expect("small");
    let axes = shape.len() as i64;
    let last: Vec<u64> = [0]
        .into_iter()
        .chain(2..shape.len())
        .chain([1])
        .map(|axis| shape[axis])
        .collect();
    let order: Vec<i64> = [0, axes - 1].into_iter().chain(1..axes - 1).collect();
    let channels_last = Layout::c_order(&last)
        .expect("small")
        .transposed(&order)
        .expect("an order");
    let strides: Vec<i64> = in_order.strides().iter().map(|stride| -2 * stride).collect();
    let backwards = Layout::strided(shape, &strides, 2 * in_order.len().max(1) - 1).expect("small");
    [in_order, channels_last, backwards]
}

fn agree_in_all_layouts<T: Weights, U: RowElement, W: Weights>(shape: &[u64], groups: u64, seed: u64) {
    let inputs = Inputs::<T, W>::new(shape, groups, seed);
    for layout in layouts(shape) {
        inputs.all_agree::<U>(&layout);
        inputs.channels_agree(&layout);
    }
}

/// Rows of less than a vector, a leaf and more; channels that end within a vector and at one; of one element; in one group, in groups, each its own.
#[test]
fn groups_have_the_bits_of_the_specification_in_every_shape_and_layout() {
    for (seed, (shape, groups)) in [
        (&[1, 1][..], 1),
        (&[3, 6], 2),
        (&[2, 8], 1),
        (&[0, 4, 3], 2),
        (&[2, 4, 0], 2),
        (&[2, 0, 3], 2),
        (&[2, 6, 1], 3),
        (&[3, 6, 7], 2),
        (&[2, 4, 4], 2),
        (&[2, 4, 2, 8], 2),
        (&[3, 4, 2, 3], 4),
        (&[2, 8, 5, 4, 2], 1),
        (&[2, 6, 9, 29], 2),
        (&[1, 4, 16, 32], 2),
        (&[2, 16, 131], 2),
    ]
    .into_iter()
    .enumerate()
    {
        agree_in_all_layouts::<f32, f32, f32>(shape, groups, seed as u64);
        agree_in_all_layouts::<bf16, bf16, f32>(shape, groups, seed as u64 + 1);
        agree_in_all_layouts::<f16, f32, f16>(shape, groups, seed as u64 + 2);
    }
}

/// Of one group the bits are layer norm's of whole samples; of as many groups as channels those of each channel alone; and of a batch those of each sample alone.
#[test]
fn a_group_has_its_bits_alone() {
    let shape = [5, 6, 40];
    let inputs = Inputs::<f32, f32>::new(&shape, 1, 3);
    let layout = Layout::c_order(&shape).expect("small");
    let run = |groups: u64, x: &[f32], layout: &Layout| {
        let norm = row::group_norm(groups, 1e-5)
            .weight(&inputs.weights)
            .bias(&inputs.biases);
        norm.on_cpu::<_, f32>(View::new(x, layout).expect("in bounds"))
            .expect("a meaning")
    };
    let flat = Layout::c_order(&[5, 240]).expect("small");
    let [weights, biases] = [&inputs.weights, &inputs.biases].map(|of| inputs.spread(0, of));
    let norm = row::layer_norm(1e-5).weight(&weights).bias(&biases);
    let of_layer = norm.on_cpu::<_, f32>(View::new(&inputs.x, &flat).expect("in bounds"));
    let of_layer = of_layer.expect("a meaning");
    let whole = run(1, &inputs.x, &layout);
    assert_eq!((whole.values, &whole.known), (of_layer.values, &of_layer.known));
    assert_eq!(whole.shape, shape);
    let instances = run(6, &inputs.x, &layout);
    for (row, x) in inputs.x.chunks(40).enumerate() {
        let [weights, biases] = [&inputs.weights, &inputs.biases].map(|of| [of[row % 6]; 40]);
        let norm = row::layer_norm(1e-5).weight(&weights).bias(&biases);
        let alone = norm.on_cpu::<_, f32>(x).expect("a meaning");
        assert_eq!(instances.values[row * 40..][..40], alone.values);
        assert_eq!(instances.known.mean[row], alone.known.mean[0]);
    }
    let one = Layout::c_order(&[1, 6, 40]).expect("small");
    let (batch, gradients) = (run(3, &inputs.x, &layout), |x: &[f32], dy: &[f32], layout: &Layout| {
        let view = || View::new(x, layout).expect("in bounds");
        let known = row::group_norm(3, 1e-5)
            .on_cpu::<_, f32>(view())
            .expect("a meaning")
            .known;
        let of_inputs = row::group_norm_gradient(3, dy, &known).weight(&inputs.weights);
        of_inputs.on_cpu::<_, f32>(view()).expect("a meaning").values
    });
    let all = gradients(&inputs.x, &inputs.other, &layout);
    for sample in 0..5 {
        let part = sample * 240..(sample + 1) * 240;
        let alone = run(3, &inputs.x[part.clone()], &one);
        assert_eq!(batch.values[part.clone()], alone.values);
        assert_eq!(batch.known.mean[3 * sample..][..3], alone.known.mean);
        let of_sample = gradients(&inputs.x[part.clone()], &inputs.other[part.clone()], &one);
        assert_eq!(all[part], of_sample);
    }
}

/// Group norm in f64 with layer norm's bound, its gradient with that of norms' and by differences, those of weights and biases by their sums.
#[test]
fn groups_are_within_the_bounds_of_norms() {
    for (shape, groups) in [([2, 6, 50], 3), ([3, 4, 700], 1), ([2, 5, 9], 5), ([1, 8, 3000], 2)] {
        let inputs = Inputs::<f32, f32>::new(&shape, groups, 12);
        let layout = Layout::c_order(&shape).expect("small");
        let view = || View::new(&inputs.x, &layout).expect("in bounds");
        let norm = row::group_norm(groups, 1e-5)
            .weight(&inputs.weights)
            .bias(&inputs.biases);
        let mapped = norm.on_cpu::<_, f32>(view()).expect("a meaning");
        let known = &mapped.known;
        let of_inputs = row::group_norm_gradient(groups, &inputs.other, known).weight(&inputs.weights);
        let of_inputs = of_inputs.on_cpu::<_, f32>(view()).expect("a meaning").values;
        let [count, len] = inputs.size();
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let mut of_channels = vec![[[0.0_f64; 2]; 2]; shape[1] as usize];
        for row in 0..count {
            let part = (row * len) as usize..((row + 1) * len) as usize;
            let (x, dy) = (wide(&inputs.x[part.clone()]), wide(&inputs.other[part.clone()]));
            let [w, b] = [&inputs.weights, &inputs.biases].map(|of| wide(&inputs.spread(row, of)));
            layer_norm_is_near(&mapped.values[part.clone()], [&x, &w, &b]);
            let [mean, q] = [&known.mean, &known.reciprocal_deviation].map(|known| f64::from(known[row as usize]));
            norm_is_near("group norm", &of_inputs[part], [&x, &dy, &w], mean, q, true);
            for (i, (x, dy)) in x.iter().zip(&dy).enumerate() {
                let channel = ((row % groups * len) as usize + i) / shape[2] as usize;
                for (sums, term) in of_channels[channel].iter_mut().zip([dy * (x - mean) * q, *dy]) {
                    *sums = [sums[0] + term, sums[1] + term.abs()];
                }
            }
        }
        let got = row::group_norm_channel_gradients(groups, &inputs.other, known);
        let got = got.on_cpu(view()).expect("a meaning");
        let levels = (shape[2] as f64).log2().ceil() + (shape[0] as f64).log2().ceil();
        for (channel, [weight, bias]) in of_channels.into_iter().enumerate() {
            for ([exact, size], got) in [(weight, got.weight[channel]), (bias, got.bias[channel])] {
                let off = (f64::from(got) - exact).abs();
                assert!(off <= (levels + 4.0) * size * U, "{shape:?}: {got} for {exact}");
            }
        }
    }
}

/// Of channels whose sums are asked for one launch folds, however few they are, and none maps.
#[test]
fn states_that_are_asked_for_are_folded_alone() {
    for (size, levels) in [([2, 4], vec![1]), ([1, 5000], vec![20, 1])] {
        let plan = Plan::rows(RowProblem {
            library: &LIBRARY,
            op: "norm_gradient",
            element: Type::F32,
            size,
            layout: RowLayout::Plain,
            cluster: 16,
            purpose: Purpose::States,
        });
        let plan = plan.expect("a plan");
        let found = (plan.variant(), plan.is_split(), plan.levels());
        assert_eq!(found, (Some(RowVariant::Leaf), true, levels));
    }
}

#[test]
fn groups_without_a_meaning_are_told() {
    let x = [1.0_f32; 12];
    let layout = Layout::c_order(&[2, 6]).expect("small");
    let view = || View::new(&x, &layout).expect("in bounds");
    let told = |row: Row<'_, row::GroupNorm>| row.on_cpu::<_, f32>(view()).expect_err("no meaning");
    for row in [
        row::group_norm(0, 1e-5),
        row::group_norm(2, 0.0),
        row::group_norm(2, f32::NAN),
        row::group_norm(2, 1e-5).axis(-1),
    ] {
        let told = told(row);
        assert!(matches!(told, Error::Parameter { op: "group_norm", .. }), "{told}");
    }
    let channels = |name, got| RowFault::Channels { name, channels: 6, got };
    let norm = |groups| row::group_norm(groups, 1e-5);
    let faults = [
        (norm(4), RowFault::Groups { channels: 6, groups: 4 }),
        (norm(2).weight(&x[..3]), channels("weights", 3)),
        (norm(2).bias(&x[..7]), channels("biases", 7)),
    ];
    for (row, fault) in faults {
        assert!(matches!(told(row), Error::Row(told) if told == fault), "{fault}");
    }
    let of_one_axis = row::group_norm(2, 1e-5).on_cpu::<_, f32>(&x);
    assert!(matches!(of_one_axis, Err(Error::Row(RowFault::NoChannels { axes: 1 }))));
    let known = row::group_norm(2, 1e-5)
        .on_cpu::<_, f32>(view())
        .expect("a meaning")
        .known;
    for groups in [0, 4] {
        assert!(
            row::group_norm_gradient(groups, &x, &known)
                .on_cpu::<_, f32>(view())
                .is_err()
        );
        assert!(
            row::group_norm_channel_gradients(groups, &x, &known)
                .on_cpu(view())
                .is_err()
        );
    }
    // What is known is of another number of groups.
    let told = row::group_norm_gradient(3, &x, &known).on_cpu::<_, f32>(view());
    assert!(matches!(told, Err(Error::Row(RowFault::Rows { rows: 6, got: 4, .. }))));
    let told = row::group_norm_channel_gradients(3, &x, &known).on_cpu(view());
    assert!(matches!(told, Err(Error::Row(RowFault::Rows { rows: 6, got: 4, .. }))));
}
