//! More elements than 32 bits count.

use cust::{
    context::CurrentContext,
    memory::{CopyDestination, DeviceBuffer, DeviceSlice},
};
use warpfold::{
    cpu,
    gpu::Gpu,
    ops::{ArgMax, ArgMin, Max, Mean, Min, Reduction, Sum},
    pieces::Pieces,
    plan::Shape,
};
use warpfold_tests::{Bits, backends, cases};

use crate::on_device::free;

/// Elements of the pattern that the array repeats: what the CPU folds, once.
const PIECE: usize = 1 << 24;
const LEN: usize = (1 << 32) + 123_457;

/// A few elements that are not the pattern's: the largest, in two places that both need 32 bits; the smallest, past 2³².
const ODD: [(usize, f32); 3] = [
    (200 * PIECE + 12_345, 9.0),
    (255 * PIECE + 77, 9.0),
    ((1 << 32) + 54_321, -9.0),
];

/// Device memory that the test asks for.
const NEEDED: usize = 20 << 30;

pub fn more_than_two_to_the_32(gpu: &Gpu) -> Option<String> {
    if free() < NEEDED {
        return Some(format!(
            "{} bytes of device memory are free, {NEEDED} are needed",
            free()
        ));
    }
    let pattern = cases::UNIFORM.array(PIECE);
    let buffer = array(&pattern);
    for skip in [0, 1] {
        // One element in, nothing is aligned to 16 bytes any more, and every piece begins elsewhere in the pattern.
        let input = buffer.index(skip..);
        let mut rotated = pattern.clone();
        rotated.rotate_left(skip);
        agrees(Sum, gpu, &input, &rotated, skip);
        agrees(ArgMax, gpu, &input, &rotated, skip);
        agrees(ArgMin, gpu, &input, &rotated, skip);
        if skip == 0 {
            agrees(Mean, gpu, &input, &rotated, skip);
            agrees(Min, gpu, &input, &rotated, skip);
            agrees(Max, gpu, &input, &rotated, skip);
        }
    }
    assert_eq!(
        gpu.reduce(ArgMax, &buffer).ok(),
        Some(ODD[0].0 as u64),
        "the first of equals"
    );
    assert_eq!(gpu.reduce(ArgMin, &buffer).ok(), Some(ODD[2].0 as u64), "past 2³²");
    None
}

/// The array, made on the device.
fn array(pattern: &[f32]) -> DeviceBuffer<f32> {
    // SAFETY: filled below.
    let buffer = unsafe { DeviceBuffer::uninitialized(LEN) }.expect("device memory");
    buffer.index(..PIECE).copy_from(pattern).expect("cuMemcpyHtoD");
    let mut filled = PIECE;
    while filled < LEN {
        let more = filled.min(LEN - filled);
        let mut to = buffer.index(filled..filled + more);
        to.copy_from(&buffer.index(..more)).expect("cuMemcpyDtoD");
        filled += more;
    }
    for (at, value) in ODD {
        buffer.index(at..at + 1).copy_from(&[value]).expect("cuMemcpyHtoD");
    }
    CurrentContext::synchronize().expect("cuCtxSynchronize");
    buffer
}

/// What the CPU answers, by folding the pattern once, and again only where it is not the pattern.
fn expected<R: Reduction<f32>>(op: R, pattern: &[f32], skip: usize) -> Option<Bits> {
    let whole = cpu::fold(op, pattern);
    let mut pieces = Pieces::new(op, PIECE as u64).expect("a subtree");
    let len = LEN - skip;
    for first in (0..len).step_by(PIECE) {
        let here = PIECE.min(len - first);
        let odd = |(at, value): (usize, f32)| {
            let at = at.checked_sub(skip + first)?;
            (at < here).then_some((at, value))
        };
        let odd: Vec<_> = ODD.into_iter().filter_map(odd).collect();
        let state = if odd.is_empty() && here == PIECE {
            whole
        } else {
            let mut values = pattern[..here].to_vec();
            for (at, value) in odd {
                values[at] = value;
            }
            cpu::fold(op, &values)
        };
        pieces.push(state, here as u64).expect("pieces in order");
    }
    backends::answer(pieces.finish().map(|(answer, _)| answer))
}

fn agrees<R: Reduction<f32>>(op: R, gpu: &Gpu, input: &DeviceSlice<f32>, pattern: &[f32], skip: usize) {
    let expected = expected(op, pattern, skip);
    assert_eq!(
        backends::answer(gpu.reduce(op, input)),
        expected,
        "{} of {}",
        R::NAME,
        input.len()
    );

    // One leaf a tile: 2²² slots, which the last block folds in three rounds.
    let shape = Shape {
        warps: 1,
        leaves_per_warp: 1,
        blocks: 100_000,
    };
    let prepared = gpu
        .prepare_shaped(op, input.len() as u64, shape)
        .expect("a legal shape");
    let (stream, answer) = (crate::on_device::stream(), crate::on_device::Answer::new());
    let mut workspace = prepared.workspace().expect("a workspace");
    let address = input.as_device_ptr().as_raw();
    // SAFETY: everything lives until the stream has been waited for.
    unsafe { prepared.launch_raw(&stream, [address, 0], answer.address(), &mut workspace) }.expect("launched");
    stream.synchronize().expect("cuStreamSynchronize");
    assert_eq!(
        Some(answer.read(prepared.plan().entry)),
        expected,
        "{}",
        prepared.plan()
    );
}
