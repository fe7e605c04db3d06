//! The device that folds where the best one is asked for.

use warpfold::{Error, dynamic::Target, ops::AnyOp};

use crate::{
    Failure,
    device::{Device, Wanted, gpu, warn_of_threads},
    shown::Shown,
};

/// A device, and why it is not the one that somebody who asks for the best expects.
pub struct Opened<D = Device> {
    device: D,
    why: Option<String>,
}

impl<D> From<D> for Opened<D> {
    fn from(device: D) -> Self {
        Self { device, why: None }
    }
}

/// Whether GPUs have a kernel for what is folded, and if not why.
pub type HasKernel<'a> = &'a dyn Fn() -> Result<(), Failure>;

impl Opened {
    /// The device that was asked for, ready to fold with `op`. What `has_kernel` says is asked where a GPU would fold.
    pub fn of(wanted: Wanted, op: &AnyOp, has_kernel: HasKernel<'_>) -> Result<Self, Failure> {
        let usable = || -> Result<Device, Failure> {
            let gpu = gpu::usable(op)?;
            has_kernel()?;
            Ok(gpu)
        };
        if wanted == Wanted::Best {
            return Ok(Self::best(usable()));
        }
        let device = Device::named(wanted)?;
        if let Wanted::Gpu(_) = wanted {
            has_kernel()?;
        }
        Ok(device.into())
    }

    /// The best device: the first GPU if it can be used for what is folded, else the CPU.
    pub fn best(gpu: Result<Device, impl Into<Failure>>) -> Self {
        Self::first(gpu.map_err(Into::into), Device::Folding(Target::Cpu))
    }

    /// The device. Where it is not the one that is expected, a line on standard error says why.
    pub fn told(self) -> Device {
        if let Some(why) = self.why {
            eprintln!("warpfold: {}", Shown(why));
        }
        if let Device::Folding(Target::Cpu) = self.device {
            warn_of_threads();
        }
        self.device
    }
}

impl<D> Opened<D> {
    /// The GPU if it can be used, else the CPU, and why. That a machine has no GPU is nothing to tell.
    fn first(gpu: Result<D, Failure>, cpu: D) -> Self {
        match gpu {
            Ok(gpu) => gpu.into(),
            Err(error) => Self {
                device: cpu,
                why: match error.downcast_ref() {
                    Some(Error::NoDriver { .. } | Error::NoDevice { .. }) => None,
                    _ => Some(format!("the CPU folds, and not the GPU: {error}")),
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_folds_what_no_gpu_can_and_says_why() {
        let chosen = |gpu: Result<&'static str, Error>| {
            let opened = Opened::first(gpu.map_err(Failure::from), "cpu");
            (opened.device, opened.why)
        };
        assert_eq!(chosen(Ok("gpu:0")), ("gpu:0", None));
        for none in [
            Error::NoDriver {
                reason: "no library".into(),
            },
            Error::NoDevice { index: 0, count: 0 },
        ] {
            assert_eq!(chosen(Err(none)), ("cpu", None));
        }
        let no_kernel = Error::NoKernel {
            op: "argmax",
            element: "f16",
        };
        let old = Error::DriverTooOld {
            entry: "sum_f32",
            driver: 11_040,
        };
        for (error, says) in [
            (no_kernel, "no such kernel of argmax for elements of type f16"),
            (old, "too old"),
        ] {
            let (device, why) = chosen(Err(error));
            let why = why.expect("a reason");
            assert!(
                device == "cpu" && why.contains("the CPU folds") && why.contains(says),
                "{why}"
            );
        }
        // A plan that no grid can have comes as what the command fails with.
        let other = Opened::first(Err("the grid is too large".into()), "cpu");
        assert_eq!((other.device, other.why.is_some()), ("cpu", true));
    }
}
