//! What the driver says of a device.

use std::fmt;

use cust::device::{Device, DeviceAttribute};

use super::{Gpu, context::Bound, status::Status as _};
use crate::{Error, plan::Memory};

/// A device's name, size and speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Its index, in the driver's order.
    pub index: usize,
    /// The product's name.
    pub name: String,
    /// Major and minor compute capability.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of device memory.
    pub memory: usize,
    /// The memory's peak bandwidth by its clock and width, in bytes a second; `None` where the driver does not say.
    pub peak_bandwidth: Option<f64>,
    /// The newest CUDA version the driver supports, as 1000 × major + 10 × minor.
    pub driver_version: i32,
}

impl Facts {
    pub(super) fn of(device: Device, index: usize) -> Result<Self, Error> {
        let attribute = |which| device.get_attribute(which).or_fail("cuDeviceGetAttribute");
        let khz = attribute(DeviceAttribute::MemoryClockRate)?;
        let bits = attribute(DeviceAttribute::GlobalMemoryBusWidth)?;
        // Two transfers a clock.
        let peak = 2.0 * f64::from(khz) * 1e3 * f64::from(bits) / 8.0;
        Ok(Self {
            index,
            name: device.name().or_fail("cuDeviceGetName")?,
            compute_capability: (
                attribute(DeviceAttribute::ComputeCapabilityMajor)? as u32,
                attribute(DeviceAttribute::ComputeCapabilityMinor)? as u32,
            ),
            multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)? as u32,
            memory: device.total_memory().or_fail("cuDeviceTotalMem")?,
            peak_bandwidth: (peak > 0.0).then_some(peak),
            driver_version: warpfold_driver::driver_version().unwrap_or(0),
        })
    }

    /// What the time of a launch is made of here, for [`Plan::predicted_time`](crate::Plan::predicted_time); `None` where the driver
    /// does not say how fast the memory is.
    #[must_use]
    pub fn memory_model(&self) -> Option<Memory> {
        self.peak_bandwidth.map(Memory::of_peak)
    }

    /// Bytes of device memory free at the moment.
    pub(super) fn free_memory(&self, gpu: &Gpu) -> Result<usize, Error> {
        let _bound = Bound::to(gpu.context())?;
        Ok(cust::memory::mem_get_info().or_fail("cuMemGetInfo")?.0)
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.compute_capability;
        write!(
            f,
            "gpu:{} {}, compute capability {major}.{minor}, {} multiprocessors, {:.1} GiB",
            self.index,
            self.name,
            self.multiprocessors,
            self.memory as f64 / (1u64 << 30) as f64
        )?;
        if let Some(peak) = self.peak_bandwidth {
            write!(f, ", {:.0} GB/s by clock and width", peak / 1e9)?;
        }
        let driver = self.driver_version;
        write!(f, ", driver for CUDA {}.{}", driver / 1000, driver % 1000 / 10)
    }
}
