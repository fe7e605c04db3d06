//! What folds: the choice among GPU, CPU and emulator, and one way to use any of them.

use std::{fmt, str::FromStr, time::Duration};

use serde::Serialize;
use warpfold::{
    Error, cpu,
    dynamic::Target,
    ops::{AnyOp, Reduction, element::Element},
    plan::Memory,
};
use warpfold_emulator::Shape;

use crate::Failure;

/// What `--device` asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    Best,
    Gpu(usize),
    Cpu,
    Emulator,
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "best" => Ok(Self::Best),
            "gpu" | "cuda" => Ok(Self::Gpu(0)),
            "cpu" => Ok(Self::Cpu),
            "emulator" => Ok(Self::Emulator),
            _ => text
                .strip_prefix("gpu:")
                .or_else(|| text.strip_prefix("cuda:"))
                .and_then(|index| index.parse().ok())
                .map(Self::Gpu)
                .ok_or_else(|| "it is none of best, gpu, gpu:N, cpu, emulator".into()),
        }
    }
}

/// What folds.
pub enum Device {
    Folding(Target),
    Emulator,
}

/// How long a fold of a file takes on the CPU, by a sample of it, and on a GPU, by what was measured.
#[derive(Clone, Copy)]
pub struct Estimate {
    pub cpu: Duration,
    pub gpu: Duration,
}

/// What a GPU needs before it folds: driver, context, kernel and page-locked memory. One H200 with 16 CPU threads took 0.20 to 0.32 s, and
/// then 16 to 21 GB/s of a file in the page cache (2026-11-27).
const GPU_START: Duration = Duration::from_millis(300);

/// How a file comes to a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Read, copied and folded at once.
    InPieces,
    /// Read, then copied.
    Whole,
}

impl Copied {
    /// Bytes of a file in a second.
    const fn bytes_per_second(self) -> f64 {
        match self {
            Self::InPieces => 15e9,
            Self::Whole => 2e9,
        }
    }
}

impl Estimate {
    /// Of an array of so many bytes and elements; `sample` folds some of them on one thread, and says how long that took. None of an
    /// array that no GPU can be sooner with.
    pub fn of<E>(
        copied: Copied,
        bytes: u64,
        elements: u64,
        sample: u64,
        fold: &mut dyn FnMut(u64, u64) -> Result<Duration, E>,
    ) -> Option<Result<Self, E>> {
        let gpu = GPU_START + Duration::from_secs_f64(bytes as f64 / copied.bytes_per_second());
        let len = sample.min(elements);
        if len == 0 {
            return None;
        }
        let of_sample = match fold(0, len) {
            Ok(took) => took.as_secs_f64(),
            Err(error) => return Some(Err(error)),
        };
        let cpu = of_sample * (elements as f64 / len as f64) / cpu::threads() as f64;
        let cpu = Duration::try_from_secs_f64(cpu).unwrap_or(Duration::MAX);
        Some(Ok(Self { cpu, gpu }))
    }

    /// What is sooner, where the best device is asked for.
    pub fn sooner(self) -> Wanted {
        if self.cpu <= self.gpu {
            Wanted::Cpu
        } else {
            Wanted::Best
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected: {:.3} s on the CPU, by a sample of the file; {:.3} s on a GPU, {:.3} s of it until it folds",
            self.cpu.as_secs_f64(),
            self.gpu.as_secs_f64(),
            GPU_START.as_secs_f64()
        )
    }
}

/// Bytes of a piece that the emulator folds: several tiles for each of its blocks.
const EMULATOR_PIECE: usize = 1 << 18;
/// The emulator's launch: small blocks, more tiles than blocks. None of it changes a bit.
const EMULATOR_SHAPE: Shape = Shape {
    threads: 128,
    leaves_per_warp: 1,
    blocks: 3,
};

/// What the emulator says to axes and segments.
pub const WHOLE_ONLY: &str = "the emulator folds no axes and no segments: --device cpu gives the same bits";

impl Device {
    /// A device that was asked for by its name.
    pub fn named(wanted: Wanted) -> Result<Self, Error> {
        match wanted {
            Wanted::Cpu | Wanted::Best => Ok(Self::Folding(Target::Cpu)),
            Wanted::Gpu(index) => gpu::open(index),
            Wanted::Emulator => Ok(Self::Emulator),
        }
    }

    /// Its name, as `--device` takes it.
    pub fn name(&self) -> String {
        match self {
            #[cfg(feature = "cuda")]
            Self::Folding(Target::Gpu(gpu)) => format!("gpu:{}", gpu.facts().index),
            Self::Folding(Target::Cpu) => "cpu".into(),
            Self::Emulator => "emulator".into(),
        }
    }

    /// Which device's time is predicted, and from what: of this one, or where it is no GPU that says so of an H200.
    pub fn memory(&self) -> (String, Memory) {
        #[cfg(feature = "cuda")]
        if let Self::Folding(Target::Gpu(gpu)) = self
            && let Some(memory) = gpu.facts().memory_model()
        {
            return (gpu.facts().name.clone(), memory);
        }
        ("NVIDIA H200".into(), Memory::H200)
    }

    /// How many elements it takes at once.
    pub fn piece(&self, op: &AnyOp) -> Result<usize, Error> {
        match self {
            Self::Folding(target) => Ok(target.piece(op)? as usize),
            Self::Emulator => Ok(EMULATOR_PIECE / op.leaf_bytes() * op.leaf_elements() as usize),
        }
    }

    /// What folds arrays of any kind: not the emulator.
    pub fn folding(&self, otherwise: &'static str) -> Result<&Target, Failure> {
        match self {
            Self::Folding(target) => Ok(target),
            Self::Emulator => Err(otherwise.into()),
        }
    }
}

/// Folds one piece on the emulator.
pub fn emulate<T: Element, R: Reduction<T>>(op: R, values: &[T]) -> Result<R::State, Failure> {
    Ok(warpfold_emulator::reduce_all(op.monoid(), values, 0, EMULATOR_SHAPE, 0)?.state)
}

/// That this program has no kernel for the emulator.
pub fn not_emulated(op: &str) -> Failure {
    format!(
        "the emulator has no {op} as it is asked for, but sum, mean, min, max, argmin, argmax, argmin-last, argmax-last, l1, l2, logsumexp, \
         var and std of float32 and float64, each of a whole array, with its NaNs and in native accuracy: --device cpu gives the same bits"
    )
    .into()
}

/// What the emulator says to a mask.
pub const NO_MASK: &str = "the emulator takes no mask here: --device cpu gives the same bits";

/// What the emulator says to a second array.
pub const NO_SECOND: &str = "the emulator takes no second array here: --device cpu gives the same bits";

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "cuda")]
            Self::Folding(Target::Gpu(gpu)) => write!(f, "{}", gpu.facts()),
            Self::Folding(Target::Cpu) => {
                let threads = cpu::threads();
                let plural = if threads == 1 { "" } else { "s" };
                write!(f, "cpu ({threads} thread{plural}, {})", cpu::vector_instructions())
            }
            Self::Emulator => write!(f, "emulator (runs the GPU's kernels lane by lane, slowly)"),
        }
    }
}

/// Says on standard error where the system gives the CPU no threads.
pub fn warn_of_threads() {
    if let Some(error) = cpu::thread_fault() {
        eprintln!("warpfold: the CPU folds on one thread, for no other could be started: {error}");
    }
}

/// What can fold on this machine, a line each, and what made the GPU's kernels.
pub fn list() -> String {
    let mut lines: Vec<String> = match gpu::all() {
        Ok(gpus) => gpus
            .into_iter()
            .map(|gpu| gpu.map_or_else(|error| format!("gpu   not usable: {error}"), |gpu| gpu.to_string()))
            .collect(),
        Err(error) => vec![format!("gpu   none: {error}")],
    };
    lines.extend([Device::Folding(Target::Cpu), Device::Emulator].map(|device| device.to_string()));
    lines.push(format!("kernels   {}", gpu::kernels()));
    lines.join("\n")
}

/// The same as JSON: what a record of measurements says of its machine.
pub fn json() -> Result<String, Failure> {
    #[derive(Serialize)]
    struct Machine {
        gpus: Vec<serde_json::Value>,
        threads: usize,
        vector_instructions: String,
        kernels: String,
    }
    Ok(serde_json::to_string(&Machine {
        gpus: gpu::facts(),
        threads: cpu::threads(),
        vector_instructions: cpu::vector_instructions().to_string(),
        kernels: gpu::kernels(),
    })?)
}

/// The GPU's side, where the build has one.
#[cfg(feature = "cuda")]
pub mod gpu {
    use warpfold::{Error, dynamic::Target, gpu::Gpu, ops::AnyOp, ptx};

    use super::Device;

    pub fn open(index: usize) -> Result<Device, Error> {
        Ok(Device::Folding(Target::Gpu(Gpu::new(index)?)))
    }

    /// The first GPU, if this build has a kernel of `op` that its driver takes.
    pub fn usable(op: &AnyOp) -> Result<Device, Error> {
        let gpu = Gpu::new(0)?;
        gpu.load(op)?;
        Ok(Device::Folding(Target::Gpu(gpu)))
    }

    /// The PTX in this program, and the code generator that made it.
    pub fn kernels() -> String {
        let archs: Vec<String> = ptx::archs().iter().map(|arch| format!("sm_{arch}")).collect();
        match ptx::generator() {
            Some(generator) => format!("{}, by {generator}", archs.join(", ")),
            None => "none: this program was built before `cargo xtask build-ptx` was run".into(),
        }
    }

    pub fn all() -> Result<Vec<Result<Device, Error>>, Error> {
        Ok((0..Gpu::count()?).map(open).collect())
    }

    /// Of each GPU that can be used.
    pub fn facts() -> Vec<serde_json::Value> {
        let gpus = (0..Gpu::count().unwrap_or(0)).filter_map(|index| Gpu::new(index).ok());
        let of = |gpu: Gpu| {
            let facts = gpu.facts();
            let ((major, minor), driver) = (facts.compute_capability, facts.driver_version);
            serde_json::json!({
                "name": facts.name,
                "compute_capability": format!("{major}.{minor}"),
                "multiprocessors": facts.multiprocessors,
                "memory_bytes": facts.memory,
                "peak_gb_per_s": facts.peak_bandwidth.map(|peak| peak / 1e9),
                "cuda": format!("{}.{}", driver / 1000, driver % 1000 / 10),
            })
        };
        gpus.map(of).collect()
    }
}

#[cfg(not(feature = "cuda"))]
pub mod gpu {
    use warpfold::{Error, ops::AnyOp};

    use super::Device;

    pub fn open(_index: usize) -> Result<Device, Error> {
        Err(Error::NoDriver {
            reason: "none is looked for, this build being without the feature `cuda`".into(),
        })
    }

    pub fn usable(_op: &AnyOp) -> Result<Device, Error> {
        open(0)
    }

    pub fn kernels() -> String {
        "none: this build is without the feature `cuda`".into()
    }

    pub fn all() -> Result<Vec<Result<Device, Error>>, Error> {
        open(0).map(|gpu| vec![Ok(gpu)])
    }

    pub fn facts() -> Vec<serde_json::Value> {
        vec![]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Copied, Estimate, Wanted};

    #[test]
    fn the_sooner_device_is_chosen() {
        let of = |bytes, took| {
            let estimate = Estimate::of(Copied::InPieces, bytes, bytes, 1 << 18, &mut |_, _| {
                Ok::<_, ()>(Duration::from_micros(took))
            });
            estimate.unwrap().unwrap().sooner()
        };
        // Of a small file none is sooner than a context; of a large one that the CPU folds at a GB/s on each of 64 threads at most, a GPU.
        assert_eq!(of(1 << 20, 26), Wanted::Cpu);
        assert_eq!(of(1 << 40, 26 * 1000), Wanted::Best);
    }

    #[test]
    fn devices_are_named_as_the_help_says() {
        let parse = |text: &str| text.parse::<Wanted>().ok();
        assert_eq!(parse("best"), Some(Wanted::Best));
        assert_eq!(parse("gpu"), Some(Wanted::Gpu(0)));
        assert_eq!(parse("gpu:7"), Some(Wanted::Gpu(7)));
        assert_eq!(parse("cuda"), Some(Wanted::Gpu(0)));
        assert_eq!(parse("cuda:7"), Some(Wanted::Gpu(7)));
        for bad in [
            "",
            "GPU",
            "gpu:",
            "gpu:-1",
            "gpu:x",
            "cpu:0",
            "gpu:99999999999999999999",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
