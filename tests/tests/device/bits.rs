//! The GPU gives the CPU's bits.

use warpfold::{
    Error, cpu, fold,
    gpu::Gpu,
    ops::{AnyOp, Reduction, Sum},
    pieces::Pieces,
    plan::Shape,
};
use warpfold_kernels::tree::LANES;
use warpfold_tests::{Bits, backends, cases, each_operator, golden};

use crate::on_device::{Array, launch_and_wait, reduce};

const LEAF: usize = 1024;

/// Lengths where the tree, a kernel or the plan changes shape: vector, warp, row, leaf, two; a tile of 8, 16, 32 warps;
/// 64, 128, 256 tiles.
const EDGES: [usize; 12] = [
    1,
    4,
    32,
    128,
    LEAF,
    2 * LEAF,
    8 * LEAF,
    16 * LEAF,
    32 * LEAF,
    64 * LEAF,
    128 * LEAF,
    256 * LEAF,
];

/// The tuned plan's answer, against the CPU's.
fn agrees<R: Reduction<f32>>(op: R, gpu: &Gpu, input: &Array, values: &[f32], what: &str) {
    let (cpu, gpu) = (backends::cpu(op, values), reduce(gpu, op, input));
    assert_eq!(gpu, cpu, "{} of {} {what}", R::NAME, values.len());
}

/// The same in a given shape, as far as it fits the operator, if its largest block has the warps.
fn agrees_shaped<R: Reduction<f32>>(op: R, gpu: &Gpu, input: &Array, values: &[f32], shape: Shape) {
    if values.is_empty() || shape.warps * LANES > op.entry().max_threads {
        return;
    }
    let prepared = gpu
        .prepare_shaped(op, values.len() as u64, backends::fit(op, shape))
        .expect("a legal shape");
    let (cpu, gpu) = (backends::cpu(op, values), launch_and_wait(&prepared, input));
    assert_eq!(Some(gpu), cpu, "{}", prepared.plan());
}

pub fn quick_every_edge(gpu: &Gpu) {
    for edge in EDGES {
        for len in [edge - 1, edge, edge + 1] {
            let values = cases::CYCLE.array(len);
            let input = Array::new(&values, len % 4);
            each_operator!(agrees(gpu, &input, &values, "cycle"));
            let input = Array::new(&values, 0);
            each_operator!(agrees(gpu, &input, &values, "cycle, aligned"));
        }
    }
}

/// The PTX of every architecture that is embedded and that the device takes, not only the newest.
pub fn every_architecture(gpu: &Gpu) {
    let (major, minor) = gpu.facts().compute_capability;
    let archs: Vec<u32> = warpfold::ptx::archs();
    assert!(archs.iter().any(|&arch| arch <= 10 * major + minor), "{archs:?}");
    for arch in archs.into_iter().filter(|&arch| arch <= 10 * major + minor) {
        let gpu = Gpu::with_kernels_for(gpu.facts().index, (arch / 10, arch % 10)).expect("the same device");
        for len in [1, 1000, 4096, 40_001, 262_144] {
            let values = cases::CYCLE.array(len);
            for misalign in [0, 3] {
                let input = Array::new(&values, misalign);
                each_operator!(agrees(&gpu, &input, &values, "cycle, another architecture's kernels"));
            }
        }
        // Long enough for the kernel of any number of tiles.
        let values = cases::CYCLE.array(5_000_011);
        let input = Array::new(&values, 0);
        each_operator!(agrees(&gpu, &input, &values, "cycle, another architecture's kernels"));
    }
}

pub fn quick_every_special_value(gpu: &Gpu) {
    for (i, case) in cases::ALL.into_iter().enumerate() {
        for (j, len) in [1, 130, 1025, 5003, 70_001].into_iter().enumerate() {
            let values = case.array(len);
            let input = Array::new(&values, (i + j) % 4);
            each_operator!(agrees(gpu, &input, &values, case.name));
        }
    }
}

pub fn quick_every_alignment(gpu: &Gpu) {
    for len in (0..9).chain([1023, 1024, 1027, 4099, 33_000]) {
        let values = cases::WIDE.array(len);
        for misalign in 0..4 {
            let input = Array::new(&values, misalign);
            each_operator!(agrees(gpu, &input, &values, "misaligned"));
            input.assert_holds(&values);
        }
    }
}

/// A shape drawn by a number, of warps that an operator's largest block has or not. A tile has at most 128 leaves.
fn shape(draw: usize) -> Shape {
    let random = cases::mix(41, draw) as u32;
    let warps = random % 5;
    Shape {
        warps: 1 << warps,
        leaves_per_warp: 1 << (random / 5 % (8 - warps)),
        blocks: 1 + (random >> 16) % [1, 7, 40, 3000][random as usize / 256 % 4],
    }
}

/// A length below 2^`most`, short ones as often as long ones, drawn by a number.
fn length(draw: usize, most: u32) -> usize {
    let random = cases::mix(42, draw);
    let log = random as u32 % most;
    (1 << log) + (random >> 32) as usize % (1 << log)
}

pub fn quick_every_shape(gpu: &Gpu) {
    for draw in 0..48 {
        let values = cases::CYCLE.array(length(draw, 17));
        let input = Array::new(&values, draw % 4);
        each_operator!(agrees_shaped(gpu, &input, &values, shape(draw)));
    }
}

pub fn random_shapes(gpu: &Gpu) {
    let (all, case) = (cases::ALL.len(), |draw: usize| cases::ALL[draw % cases::ALL.len()]);
    for draw in 100..100 + 10 * all {
        let values = case(draw).array(length(draw, 20));
        let input = Array::new(&values, draw / all % 4);
        each_operator!(agrees_shaped(gpu, &input, &values, shape(draw)));
    }
}

pub fn random_lengths(gpu: &Gpu) {
    let values = cases::WIDE.array(1 << 24);
    for draw in 0..60 {
        let len = length(draw, 24);
        // Another window of the array each time.
        let first = cases::mix(43, draw) as usize % (values.len() - len + 1);
        let values = &values[first..first + len];
        let input = Array::new(values, draw % 4);
        each_operator!(agrees(gpu, &input, values, "random length"));
    }
    let input = Array::new(&values, 0);
    each_operator!(agrees(gpu, &input, &values, "2^24"));
}

/// One leaf a tile: the last block folds 2¹⁴ slots, in one or two rounds, by as many warps as it has.
pub fn rounds_of_slots(gpu: &Gpu) {
    let values = cases::WIDE.array((1 << 24) - 5);
    let input = Array::new(&values, 0);
    for log in 0..5 {
        for blocks in [1, 132, 20_000] {
            let shape = Shape {
                warps: 1 << log,
                leaves_per_warp: 1,
                blocks,
            };
            each_operator!(agrees_shaped(gpu, &input, &values, shape));
        }
    }
}

/// A quarter of a gigabyte, and a host array in two pieces.
pub fn long_array(gpu: &Gpu) {
    fn agrees_from_host<R: Reduction<f32>>(op: R, gpu: &Gpu, values: &[f32]) {
        let (cpu, gpu) = (backends::cpu(op, values), gpu.reduce_host(op, values));
        assert_eq!(
            backends::answer(gpu),
            cpu,
            "{} of {} in host memory",
            R::NAME,
            values.len()
        );
    }
    let values = cases::CYCLE.array((1 << 26) + 3);
    for misalign in [0, 1] {
        let input = Array::new(&values, misalign);
        each_operator!(agrees(gpu, &input, &values, "long"));
    }
    let piece = gpu.piece_len::<f32>().expect("free memory");
    assert!(values.len() > piece, "pieces of {piece} do not part it");
    each_operator!(agrees_from_host(gpu, &values));
}

/// The first sight of a better element must not be skipped, wherever it is.
pub fn quick_one_odd_element(gpu: &Gpu) {
    let len = 100_003;
    for (draw, special) in cases::SPECIAL.into_iter().enumerate() {
        let mut values = vec![[0.0, -0.0, 1.0, -1.0][draw % 4]; len];
        for at in [0, cases::mix(44, draw) as usize % len, len - 1] {
            let common = values[at];
            values[at] = f32::from_bits(special);
            let input = Array::new(&values, draw / 4 % 4);
            each_operator!(agrees(gpu, &input, &values, &format!("with {special:#x} at {at}")));
            values[at] = common;
        }
    }
}

/// Pieces of one array, some folded by the GPU and some by the CPU, are the whole.
pub fn quick_pieces(gpu: &Gpu) {
    fn agrees<R: Reduction<f32>>(op: R, gpu: &Gpu, values: &[f32], piece: usize) {
        let mut pieces = Pieces::new(op, piece as u64).expect("a subtree");
        for (i, part) in values.chunks(piece).enumerate() {
            let state = if i % 3 == 1 {
                cpu::fold(op, part)
            } else {
                fold(op).state_on(gpu, part).expect("a piece that fits")
            };
            pieces.push(state, part.len() as u64).expect("pieces in order");
        }
        let (answer, _) = pieces.finish().expect("not empty");
        assert_eq!(
            Some(Bits::of(answer)),
            backends::cpu(op, values),
            "{} by {piece}",
            R::NAME
        );
    }
    for case in [cases::CYCLE, cases::TIES, cases::MIXED, cases::ALL_MINUS_INFINITY] {
        for piece in [16 * LEAF, 64 * LEAF] {
            each_operator!(agrees(gpu, &case.array(200_001), piece));
        }
    }
}

/// An array that is read while it is folded, several pieces long, is the same; and the first error of what reads it ends the call.
pub fn quick_streams_of_pieces(gpu: &Gpu) {
    fn agrees<R: Reduction<f32>>(op: R, gpu: &Gpu, values: &[f32]) {
        let fill = |first: u64, bytes: &mut [u8]| -> Result<(), Error> {
            bytes.copy_from_slice(&bytemuck::cast_slice(values)[4 * first as usize..][..bytes.len()]);
            Ok(())
        };
        let answer = fold(op).stream_on::<f32, _>(gpu, values.len() as u64, &fill);
        assert_eq!(
            Some(Bits::of(answer.expect("not empty"))),
            backends::cpu(op, values),
            "{}, {} elements",
            R::NAME,
            values.len()
        );
    }
    let piece = gpu.stream_piece(&AnyOp::of::<f32, Sum>(Sum)) as usize;
    for len in [1, piece, 4 * piece + 77] {
        let values = cases::MIXED.array(len);
        each_operator!(agrees(gpu, &values));
    }
    let fault = |first: u64, _: &mut [u8]| match first {
        0 => Ok(()),
        _ => Err(Error::EmptyExtent { op: "fault" }),
    };
    let answer = fold(Sum).stream_on::<f32, _>(gpu, 4 * piece as u64, &fault);
    assert!(matches!(answer, Err(Error::EmptyExtent { op: "fault" })), "{answer:?}");
}

/// The recorded answers of lengths in a range.
fn golden(gpu: &Gpu, lengths: std::ops::Range<usize>) {
    fn agrees<R: Reduction<f32>>(op: R, gpu: &Gpu, input: &Array, record: &golden::Record) {
        if R::NAME == record.op {
            let answer = reduce(gpu, op, input);
            assert_eq!(answer.as_ref(), Some(&record.answer), "{record:?}");
        }
    }
    let (_, records) = golden::parse(golden::TEXT);
    let mut array: Option<(&str, usize, Array)> = None;
    for record in records.iter().filter(|record| lengths.contains(&record.len)) {
        let input = match array.take() {
            Some((name, len, input)) if (name, len) == (record.case.name, record.len) => input,
            _ => Array::new(&record.case.array(record.len), 0),
        };
        each_operator!(agrees(gpu, &input, record));
        array = Some((record.case.name, record.len, input));
    }
    assert!(array.is_some(), "no records of {lengths:?} elements");
}

pub fn quick_golden_bits(gpu: &Gpu) {
    golden(gpu, 0..40_000);
}

pub fn golden_bits(gpu: &Gpu) {
    golden(gpu, 40_000..usize::MAX);
}
