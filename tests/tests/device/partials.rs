//! Partials: the GPU gives the CPU's, byte for byte, and they are merged with those.

use std::any::Any;

use warpfold::{
    DeviceView, Error, PartialFault, View,
    dynamic::{Accuracy, Arrays, Choice, InTable, Target, find},
    fold,
    fold::Extent,
    gpu::Gpu,
    layout::{Axes, Layout, Segments},
    ops::{
        Exact, LIST, Max, Sum,
        element::{Type, bf16, complex64, complex128, f8e4m3, f8e5m2, f16},
    },
};
use warpfold_kernels::tree::leaf_elements;
use warpfold_tests::{
    cases::mix,
    samples::{self, Sample, elements},
};

/// How extents lie of so many elements each: their shape, and the axes that are folded; none of an array that is folded whole.
fn ways(len: u64) -> [(Vec<u64>, Option<Axes>); 5] {
    [
        (vec![len], None),
        (vec![3, len], Some(Axes::of(&[1]))),
        (vec![len, 5], Some(Axes::of(&[0]))),
        (vec![len / 4, 3, 4], Some(Axes::of(&[0, 2]))),
        (vec![len / 3, 2, 3], Some(Axes::of(&[0, 2]))),
    ]
}

/// Bits of a complex number of size 1, or nearly.
fn turn<T: InTable>(i: usize) -> u64 {
    if T::TYPE == Type::Complex128 {
        return [1.25_f64, 0.8, -1.0][i % 3].to_bits();
    }
    let (re, im) = [(0.6_f32, 0.8_f32), (0.8, -0.6), (-0.28, 0.96)][i % 3];
    u64::from(re.to_bits()) | u64::from(im.to_bits()) << 32
}

/// Elements of a sample, or of complex128, which have more bits than a sample gives, others.
fn drawn<T: InTable>(sample: Sample, count: usize) -> Vec<T> {
    if T::TYPE == Type::Complex128 {
        let all: Box<dyn Any> = Box::new(samples::complex128s(count, false));
        return *all.downcast().expect("that type");
    }
    elements(&sample.array(T::TYPE, count))
}

/// Every operator, of arrays that lie in each way; those of two arrays, and under a mask.
fn every_operator_of<T: InTable>(gpu: &Gpu, seed: u64) {
    let (cpu, target) = (Target::Cpu, Target::Gpu(gpu.clone()));
    let leaf = leaf_elements::<T>() as u64;
    let (mut folded, mut refused) = (0, 0);
    for (number, listed) in LIST.iter().enumerate() {
        for (masked, ignores_nan, accuracy) in [
            (false, false, Accuracy::Native),
            (true, false, Accuracy::Native),
            (false, true, Accuracy::Native),
            (false, false, Accuracy::Exact),
            (false, false, Accuracy::InF64),
        ] {
            let choice = Choice {
                name: listed.name,
                masked,
                ignores_nan,
                accuracy,
                correction: None,
                power: (listed.name == "lp").then_some(3.0),
            };
            let Some(function) = find::<T>(&choice) else { continue };
            let draw = |i: usize, end: u64| (mix(seed * 1000 + number as u64, i) >> 16) % end;
            for (way, (shape, axes)) in ways(12 * (draw(0, 2 * leaf) / 4 + leaf / 6)).into_iter().enumerate() {
                let layout = Layout::c_order(&shape).expect("small");
                let count = layout.len() as usize;
                let [values, others] = [samples::PLAIN, samples::FACTORS].map(|sample| drawn::<T>(sample, count));
                // A NaN that arithmetic makes has bits of its hardware's, and products of many numbers overflow.
                let values = match listed.name {
                    "prod" if T::TYPE.is_complex() => elements::<T>(&(0..count).map(turn::<T>).collect::<Vec<_>>()),
                    _ => values,
                };
                let mask: Vec<u8> = (0..count).map(|i| u8::from(!mix(seed, i).is_multiple_of(3))).collect();
                let arrays = Arrays::one(View::new(&values, &layout).expect("all of it"));
                let arrays = if masked {
                    arrays.masked(View::new(&mask, &layout).expect("all of it"))
                } else if listed.of_two {
                    arrays.with(View::new(&others, &layout).expect("all of it"))
                } else {
                    arrays
                };
                let extent = axes.as_ref().map_or(Extent::Whole, Extent::Along);
                let inner = [1, 1, 1, 4, 3][way];
                let first = draw(way, 5 * leaf) / inner * inner;
                let what = || format!("{choice:?} of {:?}, {shape:?} from {first} on", T::TYPE);
                match function.partial(&target, &arrays, extent, first) {
                    Ok(on_gpu) => {
                        let on_cpu = function.partial(&cpu, &arrays, extent, first).expect("a part");
                        assert!(on_gpu.to_bytes() == on_cpu.to_bytes(), "{}", what());
                        folded += 1;
                    }
                    Err(Error::Partial(PartialFault::Axes)) if way == 4 => refused += 1,
                    Err(Error::NoKernel { .. }) => {
                        // Sums of i64 under a mask have a kernel, whose states are another type's.
                        assert!(function.op().kernel().is_err() || T::TYPE == Type::I64, "{}", what());
                    }
                    Err(error) => panic!("{}: {error}", what()),
                }
            }
        }
    }
    // A sum, a product, a mean and the two norms, of which the largest magnitude alone serves in any order.
    let least = if T::TYPE.is_complex() { 21 } else { 20 };
    assert!(folded >= least, "{folded} of {:?}", T::TYPE);
    assert!(refused > 0 || !T::TYPE.is_float(), "{:?}", T::TYPE);
}

pub fn partials_of_every_operator(gpu: &Gpu) {
    every_operator_of::<bool>(gpu, 0);
    every_operator_of::<i8>(gpu, 1);
    every_operator_of::<u16>(gpu, 2);
    every_operator_of::<i32>(gpu, 3);
    every_operator_of::<i64>(gpu, 4);
    every_operator_of::<u64>(gpu, 5);
    every_operator_of::<f8e4m3>(gpu, 6);
    every_operator_of::<f8e5m2>(gpu, 7);
    every_operator_of::<f16>(gpu, 8);
    every_operator_of::<bf16>(gpu, 9);
    every_operator_of::<f32>(gpu, 10);
    every_operator_of::<f64>(gpu, 11);
    every_operator_of::<complex64>(gpu, 12);
    every_operator_of::<complex128>(gpu, 13);
}

/// Elements of rows that lie far apart are copied row by row, be the first row the last in memory.
pub fn quick_partials_of_rows_apart(gpu: &Gpu) {
    let (rows, pitch, len) = (37, 9_001, 3_000);
    let values: Vec<f32> = (0..rows * pitch).map(|i| 1.0 / (1 + i % 1013) as f32).collect();
    for strides in [[pitch as i64, 1], [-(pitch as i64), 1], [pitch as i64, -2]] {
        let begin = if strides[0] < 0 { (rows - 1) * pitch } else { 0 };
        let offset = (begin + if strides[1] < 0 { 2 * len } else { 0 }) as u64;
        let layout = Layout::strided(&[rows as u64, len as u64], &strides, offset).expect("small");
        let view = || View::new(&values, &layout).expect("within the array");
        for first in [0, 1_000, 5_120] {
            let on_gpu = fold(Sum).axis(1).partial_on(gpu, view(), first).expect("a part");
            let on_cpu = fold(Sum).axis(1).partial_on_cpu(view(), first).expect("a part");
            assert!(on_gpu.to_bytes() == on_cpu.to_bytes(), "{strides:?} from {first} on");
        }
    }
    // Two parts, one of each backend.
    let (low, high) = values.split_at(100_001);
    let mut partial = fold(Exact(Sum)).partial_on(gpu, high, 100_001).expect("a part");
    partial
        .merge(fold(Exact(Sum)).partial_on_cpu(low, 0).expect("a part"))
        .expect("disjoint runs");
    let whole = fold(Exact(Sum)).on_cpu(&values).expect("an answer");
    assert_eq!(
        partial.finish(values.len() as u64).expect("all of it").to_bits(),
        whole.to_bits()
    );
}

pub fn quick_partials_that_are_wrong(gpu: &Gpu) {
    let values = [1.0_f32; 6000];
    let none = fold(Sum).partial_on(gpu, &[] as &[f32], 7).expect("nothing");
    assert!(none.is_empty());
    let past = fold(Sum).partial_on(gpu, &values, u64::MAX - 5);
    assert!(matches!(past, Err(Error::LengthOverflow { .. })));
    let layout = Layout::c_order(&[2, 1000, 3]).expect("small");
    let cube = || View::new(&values, &layout).expect("all of it");
    let ragged = fold(Sum).axes(&[0, 2]).partial_on(gpu, cube(), 0);
    assert!(
        matches!(ragged, Ok(part) if part.runs().len() == 1),
        "shorter than a leaf: no state"
    );
    let several = Layout::c_order(&[1000, 2, 3]).expect("small");
    let several = || View::new(&values, &several).expect("all of it");
    let refused = fold(Sum).axes(&[0, 2]).partial_on(gpu, several(), 0);
    assert!(matches!(refused, Err(Error::Partial(PartialFault::Axes))));
    let largest = fold(Max)
        .axes(&[0, 2])
        .partial_on(gpu, several(), 0)
        .expect("in any order");
    let on_cpu = fold(Max).axes(&[0, 2]).partial_on_cpu(several(), 0).expect("a part");
    assert!(largest.to_bytes() == on_cpu.to_bytes());
    // SAFETY: never read: it is refused before.
    let misaligned: DeviceView<'_, f32> = unsafe { DeviceView::from_raw(2, 4096) };
    assert!(fold(Sum).partial_on(gpu, misaligned, 0).is_err());
    let function = find::<f32>(&Choice {
        name: "sum",
        masked: false,
        ignores_nan: false,
        accuracy: Accuracy::Native,
        correction: None,
        power: None,
    });
    let halves = Segments::by_lens([3000, 3000]).expect("two");
    let target = Target::Gpu(gpu.clone());
    let segments = function
        .expect("sum")
        .partial(&target, &Arrays::one(&values), Extent::In(&halves), 0);
    assert!(matches!(segments, Err(Error::Partial(PartialFault::Segments))));
}
