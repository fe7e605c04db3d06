//! Row operations: the GPU gives the CPU's bits, of every type, length and layout.

use bytemuck::Pod;
use cust::{
    memory::{CopyDestination, DeviceBuffer},
    stream::{Stream, StreamFlags},
};
use half::{bf16, f16};
use warpfold::{
    Error, View,
    gpu::{Gpu, RowPlaces},
    layout::Layout,
    row::{self, AllMasked, Mapped, MeanAndDeviation, Operation, Row, RowElement, Targets},
};
use warpfold_tests::rows::{Kind, Weights, doubles, numbers, plant};

/// One operation over one layout.
pub(super) fn agrees<T: RowElement + Pod, U: RowElement + Pod, Op: Operation>(
    gpu: &Gpu,
    row: &Row<'_, Op>,
    layout: &Layout,
    seed: u64,
) where
    Op::Known: Kind,
{
    let mut values = numbers::<T>(layout.reach().map_or(0, |reach| reach.1) as usize, seed);
    if seed % 3 == 1 {
        plant(&mut values, seed);
    }
    let view = || View::new(&values, layout).expect("in bounds");
    let expected = row.clone().on_cpu::<_, U>(view()).expect("a meaning");
    let mapped = row.clone().on::<_, U>(gpu, view()).expect("a launch");
    let what = || format!("{} of {layout:?}, seed {seed}", Op::NAME);
    let (bits, of): (&[u8], &[u8]) = (
        bytemuck::cast_slice(&mapped.values),
        bytemuck::cast_slice(&expected.values),
    );
    assert!(bits == of, "{}", what());
    assert_eq!(mapped.shape, expected.shape);
    assert_eq!(
        format!("{:?}", mapped.sums),
        format!("{:?}", expected.sums),
        "{}",
        what()
    );
    for (known, of) in mapped.known.bits().iter().zip(expected.known.bits()) {
        for (i, knows) in <Op::Known as row::Knowledge>::ASKED.into_iter().enumerate() {
            assert!(!knows || known[i] == of[i], "{}", what());
        }
    }
}

fn all<T: Weights + Pod, U: RowElement + Pod, W: Weights>(gpu: &Gpu, layout: &Layout, axis: i64, seed: u64) {
    let shape = layout.shape();
    let columns = shape[axis.rem_euclid(shape.len() as i64) as usize];
    let rows = layout.len().checked_div(columns).unwrap_or(shape.iter().take(1).sum());
    let (weights, biases) = (
        numbers::<W>(columns as usize, seed + 1),
        numbers::<W>(columns as usize, seed + 2),
    );
    let other = numbers::<T>(layout.len() as usize, seed + 3);
    let other = || T::operand(&other);
    let mask: Vec<u8> = (0..layout.len()).map(|i| (i * 7 % 5) as u8).collect();
    agrees::<T, U, _>(gpu, &row::softmax().axis(axis).scale(-0.7), layout, seed);
    agrees::<T, U, _>(gpu, &row::softmax().axis(axis), layout, seed);
    agrees::<T, U, _>(gpu, &row::log_softmax().axis(axis), layout, seed);
    agrees::<T, U, _>(gpu, &row::log_sum_exp().axis(axis), layout, seed);
    agrees::<T, U, _>(gpu, &row::softmax().axis(axis).mask(&mask), layout, seed);
    agrees::<T, U, _>(gpu, &row::softmax().axis(axis).scale(0.5).plus(other()), layout, seed);
    let [weight, bias] = [W::floats(&weights), W::floats(&biases)];
    let norm = row::layer_norm(1e-5).axis(axis).weight(weight).bias(bias);
    agrees::<T, U, _>(gpu, &norm, layout, seed);
    let norm = row::rms_norm(1e-6).axis(axis).weight(weight);
    agrees::<T, U, _>(gpu, &norm.residual(other()), layout, seed);
    agrees::<T, U, _>(gpu, &row::softmax_gradient(other()).axis(axis), layout, seed);
    agrees::<T, U, _>(gpu, &row::log_softmax_gradient(other()).axis(axis), layout, seed);
    let known = numbers::<f32>(rows as usize, seed + 4);
    let known = MeanAndDeviation {
        reciprocal_deviation: known.iter().map(|x| x.abs() + 0.1).collect(),
        mean: known,
    };
    let norm = row::layer_norm_gradient(other(), &known).axis(axis).weight(weight);
    agrees::<T, U, _>(gpu, &norm, layout, seed);
    let targets = (0..rows).map(|row| {
        if row % 5 == 3 || columns == 0 {
            -100
        } else {
            (row * 37 % columns) as i64
        }
    });
    let targets: Vec<i64> = targets.collect();
    let loss = row::cross_entropy(&targets)
        .axis(axis)
        .label_smoothing(0.1)
        .z_loss(1e-3);
    agrees::<T, U, _>(gpu, &loss.clone(), layout, seed);
    agrees::<T, U, _>(gpu, &loss.gradient(0.5), layout, seed);
}

pub fn quick_rows_of_every_type(gpu: &Gpu) {
    for (i, len) in [
        0, 1, 3, 8, 33, 128, 129, 256, 257, 512, 1024, 1025, 2048, 5000, 40_000, 70_000,
    ]
    .into_iter()
    .enumerate()
    {
        let layout = Layout::c_order(&[7, len]).expect("small");
        all::<f32, f32, f32>(gpu, &layout, -1, i as u64);
        all::<bf16, bf16, bf16>(gpu, &layout, -1, i as u64);
        all::<f16, f32, f16>(gpu, &layout, -1, i as u64);
        all::<bf16, f16, f32>(gpu, &layout, -1, i as u64);
    }
}

pub fn quick_rows_of_every_layout(gpu: &Gpu) {
    for (shape, axis) in [
        ([5, 300, 9], 1),
        ([70, 3, 50], 0),
        ([2, 3, 4000], -1),
        ([2000, 1, 40], 0),
    ] {
        let layout = Layout::c_order(&shape).expect("small");
        let backwards: Vec<i64> = layout.strides().iter().map(|stride| -stride).collect();
        let backwards = Layout::strided(&shape, &backwards, layout.len() - 1).expect("small");
        for layout in [layout.transposed(&[0, 2, 1]).expect("three axes"), layout, backwards] {
            all::<f32, f32, f32>(gpu, &layout, axis, 3);
            all::<bf16, f32, bf16>(gpu, &layout, axis, 4);
        }
    }
}

pub fn quick_rows_that_are_seen_in_part(gpu: &Gpu) {
    for [rows, columns] in [[64, 64], [100, 700], [3, 5000], [9, 4]] {
        let layout = Layout::c_order(&[2, rows, columns]).expect("small");
        agrees::<f32, f32, _>(gpu, &row::softmax().causal(), &layout, 1);
        agrees::<bf16, bf16, _>(
            gpu,
            &row::softmax().causal_by(-3).all_masked(AllMasked::Zero),
            &layout,
            2,
        );
        agrees::<f16, f16, _>(gpu, &row::log_softmax().causal_by(1), &layout, 3);
    }
}

/// More than 2¹⁶ rows (apex#411), and rows of 2²⁰ and more.
pub fn rows_of_every_size(gpu: &Gpu) {
    for (count, len) in [
        (70_001, 40),
        (300, 152_064),
        (3, 1 << 20),
        (1, (1 << 22) + 5),
        (2, 300_000),
    ] {
        let layout = Layout::c_order(&[count, len]).expect("small");
        all::<bf16, bf16, bf16>(gpu, &layout, -1, count);
        agrees::<f32, f32, _>(gpu, &row::softmax(), &layout, len);
    }
}

/// Rows that clusters keep in shared memory, four of them one after the other, and a last one that has fewer.
pub fn rows_that_clusters_keep(gpu: &Gpu) {
    let layout = Layout::c_order(&[1_701, 66_004]).expect("small");
    agrees::<f32, f32, _>(gpu, &row::softmax().scale(0.5), &layout, 1);
    agrees::<f32, f32, _>(gpu, &row::log_softmax(), &layout, 2);
    agrees::<f32, f32, _>(gpu, &row::layer_norm(1e-5), &layout, 3);
    agrees::<f32, f32, _>(gpu, &row::rms_norm(1e-5), &layout, 4);
}

pub fn quick_rows_in_place(gpu: &Gpu) {
    for len in [40_u64, 1000, 1001, 8192, 70_000, 262_144] {
        let layout = Layout::c_order(&[33, len]).expect("small");
        let values = numbers::<f32>(33 * len as usize, len);
        let expected = row::softmax().on_cpu::<_, f32>(View::new(&values, &layout).expect("in bounds"));
        let prepared = row::softmax().prepare::<f32, f32>(gpu, &layout).expect("a plan");
        // One of the same kernel in smaller clusters leaves it as it is.
        let other = Layout::c_order(&[1, 66_000]).expect("small");
        row::softmax().prepare::<f32, f32>(gpu, &other).expect("a plan");
        let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
        let buffer = DeviceBuffer::from_slice(&values).expect("room");
        let mut workspace = prepared.workspace().expect("room");
        let address = buffer.as_device_ptr().as_raw();
        let places = RowPlaces {
            input: address,
            output: address,
            ..RowPlaces::default()
        };
        // SAFETY: all of it lives past the synchronisation.
        unsafe { prepared.launch_raw(&stream, &places, &mut workspace).expect("a launch") };
        stream.synchronize().expect("no fault");
        let mut mapped = vec![0.0; values.len()];
        buffer.copy_to(&mut mapped).expect("a copy");
        assert_eq!(mapped, expected.expect("a meaning").values, "{len}");
    }
}

/// Addresses of any alignment, where a plan has one of aligned addresses.
pub fn quick_rows_off_a_boundary(gpu: &Gpu) {
    for (len, offset) in [(64_u64, 1_usize), (512, 3), (1024, 2), (4096, 1)] {
        let layout = Layout::c_order(&[9, len]).expect("small");
        let values = numbers::<bf16>(9 * len as usize, len);
        let expected = row::rms_norm(1e-6).on_cpu::<_, bf16>(View::new(&values, &layout).expect("in bounds"));
        let prepared = row::rms_norm(1e-6).prepare::<bf16, bf16>(gpu, &layout).expect("a plan");
        let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
        let shifted: Vec<u16> = vec![0; offset]
            .into_iter()
            .chain(values.iter().map(|value| value.to_bits()))
            .collect();
        let input = DeviceBuffer::from_slice(&shifted).expect("room");
        let output = DeviceBuffer::<u16>::zeroed(shifted.len()).expect("room");
        stream.synchronize().expect("no fault");
        let mut workspace = prepared.workspace().expect("room");
        let places = RowPlaces {
            input: input.as_device_ptr().as_raw() + 2 * offset as u64,
            output: output.as_device_ptr().as_raw() + 2 * offset as u64,
            ..RowPlaces::default()
        };
        // SAFETY: all of it lives past the synchronisation.
        unsafe { prepared.launch_raw(&stream, &places, &mut workspace).expect("a launch") };
        stream.synchronize().expect("no fault");
        let mut mapped = vec![0; shifted.len()];
        output.copy_to(&mut mapped).expect("a copy");
        let bits: Vec<u16> = expected
            .expect("a meaning")
            .values
            .iter()
            .map(|value| value.to_bits())
            .collect();
        assert_eq!(mapped[offset..], bits[..], "{len}");
        assert!(
            mapped[..offset].iter().all(|word| *word == 0),
            "{len}: written before the first row"
        );
    }
}

/// The gradient over the logits, which a launch that maps reads again; and targets that are no elements of their rows, which only a launch can meet.
pub fn quick_losses_over_their_logits(gpu: &Gpu) {
    for len in [40_u64, 5000, 300_000] {
        let layout = Layout::c_order(&[7, len]).expect("small");
        let values = numbers::<f32>(7 * len as usize, len);
        let targets = [0, len as i64 - 1, -100, 3, len as i64, -1, len as i64 / 2];
        let there = targets.map(|target| {
            if (0..len as i64).contains(&target) {
                target
            } else {
                -100
            }
        });
        let loss = row::cross_entropy(&there).gradient(0.5);
        let expected = loss
            .on_cpu::<_, f32>(View::new(&values, &layout).expect("in bounds"))
            .expect("a meaning");
        let loss = row::cross_entropy(Targets::Later { of_64_bits: true }).gradient(0.5);
        let prepared = loss.prepare::<f32, f32>(gpu, &layout).expect("a plan");
        let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
        let buffer = DeviceBuffer::from_slice(&values).expect("room");
        let on_gpu = DeviceBuffer::from_slice(&targets).expect("room");
        let known = DeviceBuffer::<f32>::zeroed(28).expect("room");
        let mut workspace = prepared.workspace().expect("room");
        let (address, at) = (buffer.as_device_ptr().as_raw(), known.as_device_ptr().as_raw());
        let places = RowPlaces {
            input: address,
            output: address,
            targets: on_gpu.as_device_ptr().as_raw(),
            known: [at, at + 28, at + 56, at + 84],
            ..RowPlaces::default()
        };
        // SAFETY: all of it lives past the synchronisation.
        unsafe { prepared.launch_raw(&stream, &places, &mut workspace).expect("a launch") };
        stream.synchronize().expect("no fault");
        let (mut mapped, mut losses) = (vec![0.0; values.len()], vec![0.0; 28]);
        buffer.copy_to(&mut mapped).expect("a copy");
        known.copy_to(&mut losses).expect("a copy");
        for (row, target) in targets.into_iter().enumerate() {
            let part = row * len as usize..(row + 1) * len as usize;
            if target == -1 || target == len as i64 {
                assert!(mapped[part].iter().all(|y| y.is_nan()) && losses[row].is_nan(), "{len}");
            } else {
                assert_eq!(mapped[part.clone()], expected.values[part], "{len}, row {row}");
                assert_eq!(losses[row], expected.known.loss[row], "{len}, row {row}");
            }
            assert_eq!(losses[7 + row], expected.known.log_sum_exp[row], "{len}, row {row}");
        }
    }
}

/// Losses as training asks for them, in kernels that sum nothing for an entropy: alone, and with the gradient.
fn losses_without_entropy<T: Weights + Pod>(gpu: &Gpu, len: u64) {
    const COUNT: usize = 21;
    let layout = Layout::c_order(&[COUNT as u64, len]).expect("small");
    let values = numbers::<T>(COUNT * len as usize, len);
    let targets: Vec<i64> = (0..COUNT as i64)
        .map(|row| if row % 5 == 3 { -100 } else { row * 7919 % len as i64 })
        .collect();
    let buffer = DeviceBuffer::from_slice(bytemuck::cast_slice::<T, u8>(&values)).expect("room");
    let on_gpu = DeviceBuffer::from_slice(&targets).expect("room");
    for (maps, smoothing) in [(false, 0.0), (false, 0.1), (true, 0.0), (true, 0.1)] {
        let with = |targets| {
            let loss = row::cross_entropy(targets).label_smoothing(smoothing).z_loss(1e-3);
            if maps { loss.gradient(0.5) } else { loss }
        };
        let expected = with(Targets::from(&targets))
            .on_cpu::<_, T>(View::new(&values, &layout).expect("in bounds"))
            .expect("a meaning");
        let prepared = with(Targets::Later { of_64_bits: true })
            .prepare::<T, T>(gpu, &layout)
            .expect("a plan");
        let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
        let known = DeviceBuffer::<f32>::zeroed(3 * COUNT).expect("room");
        let output = DeviceBuffer::<u8>::zeroed(size_of_val(&values[..])).expect("room");
        let mut workspace = prepared.workspace().expect("room");
        let at = |i: usize| known.as_device_ptr().as_raw() + 4 * (i * COUNT) as u64;
        let places = RowPlaces {
            input: buffer.as_device_ptr().as_raw(),
            output: output.as_device_ptr().as_raw(),
            targets: on_gpu.as_device_ptr().as_raw(),
            known: [at(0), at(1), at(2), 0],
            ..RowPlaces::default()
        };
        // SAFETY: all of it lives past the synchronisation.
        unsafe { prepared.launch_raw(&stream, &places, &mut workspace).expect("a launch") };
        stream.synchronize().expect("no fault");
        let mut losses = vec![0.0; 3 * COUNT];
        known.copy_to(&mut losses).expect("a copy");
        let of = &expected.known;
        let bits = |losses: &[f32]| losses.iter().map(|loss| loss.to_bits()).collect::<Vec<_>>();
        let all = [&of.loss[..], &of.log_sum_exp, &of.log_probability].concat();
        assert_eq!(
            bits(&losses),
            bits(&all),
            "{} of {len}, {maps}, {smoothing}",
            T::TYPE.name()
        );
        if maps {
            let mut mapped = vec![0_u8; size_of_val(&values[..])];
            output.copy_to(&mut mapped).expect("a copy");
            assert!(
                mapped == bytemuck::cast_slice::<T, u8>(&expected.values),
                "{} of {len}, {smoothing}",
                T::TYPE.name()
            );
        }
    }
}

pub fn quick_losses_without_entropy(gpu: &Gpu) {
    for len in [8, 40, 128, 256, 512, 1000, 1024, 2048, 4096, 20_000, 152_064] {
        losses_without_entropy::<f32>(gpu, len);
        losses_without_entropy::<bf16>(gpu, len);
        losses_without_entropy::<f16>(gpu, len);
    }
}

pub fn quick_sums_of_columns(gpu: &Gpu) {
    for [count, len] in [[1_u64, 1_u64], [33, 8], [1000, 264], [70, 1001], [3, 5000]] {
        let layout = Layout::c_order(&[count, len]).expect("small");
        let (x, dy) = (
            numbers::<bf16>((count * len) as usize, len),
            numbers::<bf16>((count * len) as usize, count),
        );
        let view = || View::new(&x, &layout).expect("in bounds");
        let known = row::layer_norm(1e-5).on_cpu::<_, f32>(view()).expect("a meaning").known;
        let on_cpu = row::norm_column_gradients(&dy, &known)
            .on_cpu(view())
            .expect("a meaning");
        let on_gpu = row::norm_column_gradients(&dy, &known)
            .on(gpu, view())
            .expect("a launch");
        assert_eq!(on_gpu, on_cpu, "{count} x {len}");
    }
}

/// Group norm, forwards and backwards, of channels that end within a vector and at one, in C order and channels last.
pub fn quick_groups(gpu: &Gpu) {
    for (i, (shape, groups)) in [
        ([2_u64, 6, 1, 1], 3_u64),
        ([3, 6, 7, 5], 2),
        ([2, 8, 8, 8], 8),
        ([4, 32, 16, 16], 8),
        ([2, 4, 33, 31], 1),
        ([2, 64, 64, 64], 4),
        ([1, 2, 512, 700], 1),
        ([0, 4, 3, 3], 2),
        ([2, 4, 0, 3], 2),
    ]
    .into_iter()
    .enumerate()
    {
        let [n, c, h, w] = shape;
        let in_order = Layout::c_order(&shape).expect("small");
        let last = Layout::c_order(&[n, h, w, c]).expect("small");
        for layout in [in_order, last.transposed(&[0, 3, 1, 2]).expect("an order")] {
            groups_agree::<f32, f32, f32>(gpu, &layout, groups, i as u64);
            groups_agree::<bf16, bf16, bf16>(gpu, &layout, groups, i as u64 + 1);
            groups_agree::<f16, f32, f32>(gpu, &layout, groups, i as u64 + 2);
        }
    }
}

fn groups_agree<T: Weights + Pod, U: RowElement + Pod, W: Weights>(gpu: &Gpu, layout: &Layout, groups: u64, seed: u64) {
    let (samples, channels) = (layout.shape()[0], layout.shape()[1]);
    let [weights, biases] = [1, 2].map(|more| numbers::<W>(channels as usize, seed + more));
    let [weight, bias] = [W::floats(&weights), W::floats(&biases)];
    let norm = row::group_norm(groups, 1e-5);
    agrees::<T, U, _>(gpu, &norm, layout, seed);
    agrees::<T, U, _>(gpu, &norm.clone().weight(weight).bias(bias), layout, seed);
    let reach = layout.reach().map_or(0, |reach| reach.1) as usize;
    let [x, other] = [4, 5].map(|more| numbers::<T>(reach, seed + more));
    let other = || T::operand_of(&other, layout);
    agrees::<T, U, _>(gpu, &norm.bias(bias).residual(other()), layout, seed);
    let known = numbers::<f32>((samples * groups) as usize, seed + 6);
    let known = MeanAndDeviation {
        reciprocal_deviation: known.iter().map(|x| x.abs() + 0.1).collect(),
        mean: known,
    };
    let gradient = row::group_norm_gradient(groups, other(), &known).weight(weight);
    agrees::<T, U, _>(gpu, &gradient, layout, seed);
    let view = || View::new(&x, layout).expect("in bounds");
    let of_channels = || row::group_norm_channel_gradients(groups, other(), &known);
    let on_cpu = of_channels().on_cpu(view()).expect("a meaning");
    let on_gpu = of_channels().on(gpu, view()).expect("a launch");
    assert_eq!(on_gpu, on_cpu, "{layout:?}");
}

/// A mask and what is added, of one row for all.
pub fn quick_rows_beside_one_for_all(gpu: &Gpu) {
    for len in [64_u64, 1000, 4096] {
        let layout = Layout::c_order(&[3, 5, len]).expect("small");
        let one = Layout::c_order(&[1, len]).expect("small");
        let mask: Vec<bool> = (0..len).map(|i| i % 3 != 1).collect();
        let added = numbers::<bf16>(len as usize, len);
        let mask = View::new(&mask, &one).expect("in bounds");
        let added = View::new(&added, &one).expect("in bounds");
        agrees::<bf16, bf16, _>(gpu, &row::softmax().mask(mask), &layout, 2);
        agrees::<bf16, f32, _>(gpu, &row::log_softmax().plus(added), &layout, 3);
    }
}

/// Norms of f64, along each axis, of groups of channels, and with all that they take: the CPU's bits.
pub fn quick_norms_of_f64(gpu: &Gpu) {
    for (i, shape) in [
        &[1_u64][..],
        &[3, 1],
        &[7, 1025],
        &[2, 3000, 5],
        &[4, 8, 3, 17],
        &[0, 5],
        &[3, 0],
        &[2, 200_000],
    ]
    .into_iter()
    .enumerate()
    {
        let layout = Layout::c_order(shape).expect("small");
        let values = doubles(layout.len() as usize, i as u64, 0);
        let residual = doubles(layout.len() as usize, 9, 0);
        let view = || View::new(&values, &layout).expect("in bounds");
        for (axis, len) in shape.iter().enumerate() {
            let (weights, biases) = (doubles(*len as usize, 1, 0), numbers::<bf16>(*len as usize, 2));
            let axis = axis as i64;
            let layer = row::layer_norm(1e-5).axis(axis).weight(&weights).bias(&biases);
            for row in [layer.clone(), layer.residual(&residual)] {
                same(row.clone().on_f64(gpu, view()), row.on_cpu_f64(view()));
            }
            let rms = row::rms_norm(1e-6).axis(axis).weight(&weights).one_plus_weight();
            same(rms.clone().on_f64(gpu, view()), rms.on_cpu_f64(view()));
        }
        if shape.len() > 2 {
            let weights = doubles(shape[1] as usize, 3, 0);
            let norm = row::group_norm(4, 1e-5).weight(&weights);
            same(norm.clone().on_f64(gpu, view()), norm.on_cpu_f64(view()));
        }
    }
}

/// By the bits of all that they have.
fn same<K: std::fmt::Debug>(
    on_gpu: Result<Mapped<f64, K, Vec<f64>>, Error>,
    on_cpu: Result<Mapped<f64, K, Vec<f64>>, Error>,
) {
    let (on_gpu, on_cpu) = (on_gpu.expect("a launch"), on_cpu.expect("a meaning"));
    let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
    assert!(bits(&on_gpu.values) == bits(&on_cpu.values), "{:?}", on_cpu.shape);
    assert_eq!(format!("{:?}", on_gpu.known), format!("{:?}", on_cpu.known));
    assert_eq!(on_gpu.sums.as_deref().map(bits), on_cpu.sums.as_deref().map(bits));
}
