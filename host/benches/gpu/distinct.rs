//! Numbers of distinct elements, of few and of many: the bytes are those of the elements, though the table takes more.

use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy};
use warpfold::{cpu, gpu::PreparedDistinct, ops::element::Element};

use super::{Bench, Outcome, length, line};

/// Elements that come from the host at once.
const PIECE: usize = 1 << 22;

pub(crate) fn run(bench: &Bench) -> Outcome<()> {
    of::<u32>(bench, |bits| bits as u32)?;
    of::<u64>(bench, |bits| bits)
}

/// Element `number` of an array with `kinds` of them, whatever its type: an array of as many kinds as elements has each once.
fn drawn(number: u64, kinds: u64) -> u64 {
    let scattered = |bits: u64| (bits ^ bits >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let kind = scattered(scattered(number)) >> 20;
    // Odd, so that no two kinds are one in 32 bits.
    (if kinds == u64::MAX { number } else { kind % kinds }).wrapping_mul(0x9e37_79b1)
}

fn of<T: Element + DeviceCopy>(bench: &Bench, of_bits: fn(u64) -> T) -> Outcome<()> {
    let values = |first: usize, len: usize, kinds: u64| -> Vec<T> {
        let each = first as u64..(first + len) as u64;
        each.map(|number| of_bits(drawn(number, kinds))).collect()
    };
    for (kinds, name) in [(16, "16 kinds"), (1 << 16, "2^16 kinds"), (u64::MAX, "all different")] {
        for log in [20, 24, 28] {
            let len = 1_usize << log;
            // SAFETY: filled at once.
            let input = unsafe { DeviceBuffer::<T>::uninitialized(len)? };
            for first in (0..len).step_by(PIECE) {
                let piece = PIECE.min(len);
                input
                    .index(first..first + piece)
                    .copy_from(&values(first, piece, kinds))?;
            }
            if log <= 20 && bench.gpu.distinct(&input)? != cpu::distinct(&values(0, len, kinds)) {
                return Err(format!("distinct of {len} elements: GPU and CPU differ").into());
            }
            let prepared = bench.gpu.prepare_distinct::<T>(len as u64)?;
            let us = time(bench, &prepared, &input)?;
            let bytes = prepared.plan().bytes() as usize;
            line(["distinct", name], length(len), T::TYPE.name(), us, bytes);
        }
    }
    Ok(())
}

/// Median microseconds of one launch, with its fills. The table is cleared in each, so no launch finds the keys of the one before.
fn time<T: Element + DeviceCopy>(
    bench: &Bench,
    prepared: &PreparedDistinct<T>,
    input: &DeviceBuffer<T>,
) -> Outcome<f64> {
    let mut workspace = prepared.workspace()?;
    let place = DeviceBuffer::<u64>::zeroed(1)?;
    let (input, answer) = (input.as_device_ptr().as_raw(), place.as_device_ptr().as_raw());
    bench.launches(1, |_| {
        // SAFETY: input, answer and workspace outlive what `launches` waits for.
        unsafe { prepared.launch_raw(&bench.stream, input, answer, &mut workspace)? };
        Ok(())
    })
}
