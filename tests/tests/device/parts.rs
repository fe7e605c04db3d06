//! Cross-entropy of rows that are split over several arrays: the GPU gives the CPU's bits, and in device memory nothing waits between the steps.

use bytemuck::Pod;
use cust::{
    memory::{CopyDestination, DeviceBuffer},
    stream::{Stream, StreamFlags},
};
use half::{bf16, f16};
use warpfold::{
    Error, RowFault, View,
    gpu::{Gpu, RowPlaces},
    layout::Layout,
    row::{self, CrossEntropy, Partials, Row, RowElement, Targets},
};
use warpfold_tests::rows::{Kind, numbers};

/// Columns of parts of rows of `count`, by their lengths.
fn cut<T: Copy>(rows: &[T], count: usize, lens: &[usize]) -> Vec<Vec<T>> {
    let mut first = 0;
    let part = |len: &usize| {
        let columns = first..first + len;
        first = columns.end;
        let whole = rows.len() / count;
        (0..count)
            .flat_map(|row| rows[row * whole..][columns.clone()].to_vec())
            .collect()
    };
    lens.iter().map(part).collect()
}

fn bits(words: &[f32]) -> Vec<u32> {
    words.iter().map(|word| word.to_bits()).collect()
}

/// Both backends, from host memory, along either axis.
fn agrees<T: RowElement + Pod, U: RowElement + Pod>(
    gpu: &Gpu,
    loss: &Row<'_, CrossEntropy>,
    lens: &[usize],
    axis: i64,
) {
    let (count, whole) = (5, lens.iter().sum::<usize>());
    let rows = numbers::<T>(count * whole, whole as u64);
    let layout = |len: usize| {
        let rows = Layout::c_order(&[count as u64, len as u64]).expect("small");
        let columns = Layout::c_order(&[len as u64, count as u64]).expect("small");
        if axis == 0 { columns } else { rows }
    };
    let arrays = cut(&rows, count, lens);
    let mut first = 0;
    let parts = lens.iter().zip(&arrays).map(|(len, array)| {
        let part = loss.clone().axis(axis).part(first, whole as u64);
        first += *len as u64;
        (part, array, layout(*len))
    });
    let parts: Vec<_> = parts.collect();
    let mut partials = vec![];
    for (part, array, layout) in &parts {
        let on_cpu = part.fold_on_cpu(View::new(array, layout).expect("in bounds"));
        let on_gpu = part.fold_on(gpu, View::new(array, layout).expect("in bounds"));
        let (on_cpu, on_gpu) = (on_cpu.expect("a meaning"), on_gpu.expect("launches"));
        assert_eq!(bits(on_gpu.words()), bits(on_cpu.words()), "{lens:?}, axis {axis}");
        partials.push(on_gpu);
    }
    let combined = Partials::combine(&partials).expect("as many rows");
    for (part, array, layout) in &parts {
        let view = || View::new(array, layout).expect("in bounds");
        let on_cpu = part.map_on_cpu::<_, U>(view(), &combined).expect("a meaning");
        let on_gpu = part.map_on::<_, U>(gpu, view(), &combined).expect("launches");
        let (got, of): (&[u8], &[u8]) = (
            bytemuck::cast_slice(&on_gpu.values),
            bytemuck::cast_slice(&on_cpu.values),
        );
        assert!(got == of, "{lens:?}, axis {axis}");
        assert_eq!(on_gpu.known.bits(), on_cpu.known.bits(), "{lens:?}, axis {axis}");
    }
}

pub fn quick_parts_of_rows(gpu: &Gpu) {
    for lens in [
        &[1, 2][..],
        &[512, 512, 40],
        &[0, 100, 1],
        &[1024, 1024, 777],
        &[1000, 3, 5000],
        &[20_000, 20_000],
    ] {
        let whole = lens.iter().sum::<usize>() as i64;
        let targets = [0, whole - 1, -100, whole / 2, whole / 3];
        let loss = row::cross_entropy(&targets).label_smoothing(0.1).z_loss(1e-3);
        for axis in [-1, 0] {
            agrees::<f32, f32>(gpu, &loss, lens, axis);
            agrees::<f32, f32>(gpu, &loss.clone().gradient(0.5), lens, axis);
            agrees::<bf16, bf16>(gpu, &loss.clone().gradient(0.5), lens, axis);
            agrees::<f16, f32>(gpu, &loss.clone().gradient(2.0), lens, axis);
        }
    }
}

/// As ranks do it: fold, gather, combine and map, the gradient over the logits, with targets that are no columns among others.
pub fn quick_parts_of_rows_on_the_device(gpu: &Gpu) {
    for (len, rest) in [(512_usize, 100_usize), (4096, 1000), (131_072, 131_072)] {
        let (count, lens) = (3_usize, [len, len, rest]);
        let whole = lens.iter().sum::<usize>();
        let rows = numbers::<f32>(count * whole, whole as u64);
        let layout = Layout::c_order(&[count as u64, whole as u64]).expect("small");
        let targets = [len as i64 + 7, whole as i64, -100];
        let loss = |targets| row::cross_entropy(targets).label_smoothing(0.1).gradient(0.5);
        let there = [targets[0], -100, -100];
        let expected = loss(Targets::I64(&there)).on_cpu::<_, f32>(View::new(&rows, &layout).expect("in bounds"));
        let expected = expected.expect("a meaning");
        let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
        let words = Partials::WORDS * count;
        let gathered = DeviceBuffer::<f32>::zeroed(words * lens.len()).expect("room");
        let combined = DeviceBuffer::<f32>::zeroed(words).expect("room");
        let on_gpu = DeviceBuffer::from_slice(&targets).expect("room");
        let [gathered, combined, targets] = [
            gathered.as_device_ptr().as_raw(),
            combined.as_device_ptr().as_raw(),
            on_gpu.as_device_ptr().as_raw(),
        ];
        let mut first = 0;
        let mut parts = vec![];
        for array in cut(&rows, count, &lens) {
            let len = (array.len() / count) as u64;
            let part = loss(Targets::Later { of_64_bits: true }).part(first, whole as u64);
            let layout = Layout::c_order(&[count as u64, len]).expect("small");
            let prepared = part.prepare::<f32, f32>(gpu, &layout).expect("a plan");
            assert_eq!(prepared.partial_words(), words as u64);
            let logits = DeviceBuffer::from_slice(&array).expect("room");
            let known = DeviceBuffer::<f32>::zeroed(4 * count).expect("room");
            let workspace = prepared.workspace().expect("room");
            parts.push((prepared, logits, known, workspace));
            first += len;
        }
        let places = |logits: &DeviceBuffer<f32>, known: &DeviceBuffer<f32>| {
            let (at, known) = (logits.as_device_ptr().as_raw(), known.as_device_ptr().as_raw());
            RowPlaces {
                input: at,
                output: at,
                targets,
                known: [0, 1, 2, 3].map(|i| known + 4 * i * count as u64),
                ..RowPlaces::default()
            }
        };
        // SAFETY: all of it lives past the synchronisation.
        unsafe {
            for (i, (part, logits, known, workspace)) in parts.iter_mut().enumerate() {
                let mine = gathered + 4 * (i * words) as u64;
                part.fold_raw(&stream, &places(logits, known), mine, workspace)
                    .expect("launches");
            }
            parts[0]
                .0
                .combine_raw(&stream, gathered, lens.len() as u32, combined)
                .expect("launches");
            for (part, logits, known, workspace) in &mut parts {
                part.map_raw(&stream, &places(logits, known), combined, workspace)
                    .expect("launches");
            }
            let told = parts[0].0.combine_raw(&stream, gathered, 257, combined);
            assert!(matches!(
                told,
                Err(Error::Row(RowFault::Parts { parts: 257, most: 256 }))
            ));
        }
        stream.synchronize().expect("no fault");
        let mut first = 0;
        for ((_, logits, known, _), len) in parts.iter().zip(lens) {
            let (mut mapped, mut losses) = (vec![0.0; count * len], vec![0.0; 4 * count]);
            logits.copy_to(&mut mapped).expect("a copy");
            known.copy_to(&mut losses).expect("a copy");
            for row in [0, 2] {
                let of = &expected.values[row * whole + first..][..len];
                assert_eq!(bits(&mapped[row * len..][..len]), bits(of), "row {row} of {whole}");
                assert_eq!(losses[row], expected.known.loss[row], "row {row} of {whole}");
                assert_eq!(
                    losses[3 * count + row],
                    expected.known.entropy[row],
                    "row {row} of {whole}"
                );
            }
            assert!(mapped[len..2 * len].iter().all(|y| y.is_nan()) && losses[1].is_nan());
            assert_eq!(losses[count + 1], expected.known.log_sum_exp[1]);
            first += len;
        }
    }
}
