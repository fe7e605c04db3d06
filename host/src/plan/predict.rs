//! How long a launch takes, by a model.

use std::time::Duration;

use super::Plan;

/// What a launch's time is made of, of one device.
///
/// ```
/// use std::time::Duration;
/// use warpfold::{ops::{Reduction, Sum}, plan::{Memory, Plan}};
///
/// let plan = Plan::new(Reduction::<f32>::entry(Sum), 1 << 28);
/// let time = plan.predicted_time(&Memory::H200);
/// // 243 µs were measured.
/// assert!(time > Duration::from_micros(235) && time < Duration::from_micros(250));
/// // A device of half the bandwidth.
/// assert!(plan.predicted_time(&Memory::of_peak(2.4e12)) > Duration::from_micros(460));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Bytes a second that a long fold reads.
    pub bandwidth: f64,
    /// What a launch of one tile takes that reads next to nothing: the start, fetching instructions, a load's way, the answer.
    pub launch: Duration,
    /// What a launch takes besides where blocks are combined: slots and tickets go through memory, and the last block folds.
    pub meeting: Duration,
}

impl Memory {
    /// The part of its peak bandwidth, by clock and width, that a fold of f32 reaches at length: 4,400 to 4,575 GB/s of 4,814 at 2²⁸
    /// and 2³⁰ elements.
    pub const REACHED: f64 = 0.94;

    /// An NVIDIA H200, whose peak is 4,814 GB/s. Times are of CUDA-graph replays (driver 580, 2026-11-21, the README's table).
    pub const H200: Self = Self::of_peak(4.814e12);

    /// A device of that peak bandwidth, in bytes a second, which takes as long as an H200 for what is no reading.
    #[must_use]
    pub const fn of_peak(bandwidth: f64) -> Self {
        Self {
            bandwidth: Self::REACHED * bandwidth,
            launch: Duration::from_nanos(1300),
            meeting: Duration::from_nanos(1700),
        }
    }
}

impl Plan {
    /// How long the launch takes on the device: `launch + meeting (where blocks are combined) + bytes ÷ bandwidth`.
    ///
    /// That is a model of folds that the memory limits, and of no others. Against the measured sums of f32 on an H200 it is within
    /// 12 % from 2¹⁶ elements on, and within 5 % from 2²²; below, where an array is one tile, it is 1.3 µs and a little, and 1.30 to
    /// 1.75 were measured. It is too low by what other tables of the README say where arithmetic sets the speed (log-sum-exp, argmax
    /// of small elements, `describe`) or elements lie apart, and where the input is in the device's cache it may be too high. A
    /// launch outside a graph waits for the host besides.
    #[must_use]
    pub fn predicted_time(&self, memory: &Memory) -> Duration {
        let meets = self.slots() > 1;
        let reading = Duration::try_from_secs_f64(self.bytes() as f64 / memory.bandwidth).unwrap_or(Duration::MAX);
        let waiting = memory.launch + if meets { memory.meeting } else { Duration::ZERO };
        waiting.saturating_add(reading)
    }
}

#[cfg(test)]
mod tests {
    use warpfold_kernels::{
        element::Type,
        kernels::{Kernel, find},
    };

    use super::*;

    /// The README's table of sums: the logarithm of the elements, µs.
    const MEASURED: [(u32, f64); 11] = [
        (10, 1.30),
        (12, 1.43),
        (14, 1.75),
        (16, 2.75),
        (18, 2.94),
        (20, 3.71),
        (22, 6.45),
        (24, 17.81),
        (26, 64.03),
        (28, 242.99),
        (30, 938.83),
    ];

    #[test]
    fn the_model_is_as_good_as_it_says() {
        let entry = find("sum", Type::F32, Kernel::All).expect("built");
        for (log, measured) in MEASURED {
            let predicted = Plan::new(entry, 1 << log).predicted_time(&Memory::H200).as_secs_f64() * 1e6;
            let off = predicted / measured - 1.0;
            let most = match log {
                ..16 => 0.27,
                16..22 => 0.12,
                _ => 0.05,
            };
            assert!(
                off.abs() <= most,
                "2^{log}: {predicted} µs, and {measured} were measured"
            );
        }
    }

    #[test]
    fn time_grows_with_the_bytes_and_never_overflows() {
        let entry = find("sum", Type::F64, Kernel::All).expect("built");
        let time = |len| Plan::new(entry, len).predicted_time(&Memory::H200);
        assert_eq!(
            time(0),
            Memory::H200.launch + Duration::from_secs_f64(8.0 / Memory::H200.bandwidth)
        );
        assert!(time(1 << 20) < time(1 << 21));
        let nothing = Memory {
            bandwidth: 0.0,
            ..Memory::H200
        };
        assert_eq!(Plan::new(entry, 1 << 40).predicted_time(&nothing), Duration::MAX);
    }
}
