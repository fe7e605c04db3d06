//! What folds: the choice among GPU, CPU and emulator, and one way to use any of them.

use std::{fmt, str::FromStr};

use bytemuck::NoUninit;
use warpfold::{
    Error, cpu,
    layout::{Axes, Folded, Layout, Segments},
    ops::{
        AnswerWhere, Reduction, TakesMask, Where,
        element::{Element, Item, Masked, Two},
    },
    plan::Memory,
};
use warpfold_emulator::Shape;

use crate::Failure;
pub use crate::opened::Opened;

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
            "gpu" => Ok(Self::Gpu(0)),
            "cpu" => Ok(Self::Cpu),
            "emulator" => Ok(Self::Emulator),
            _ => text
                .strip_prefix("gpu:")
                .and_then(|index| index.parse().ok())
                .map(Self::Gpu)
                .ok_or_else(|| "it is none of best, gpu, gpu:N, cpu, emulator".into()),
        }
    }
}

/// What folds.
pub enum Device {
    #[cfg(feature = "cuda")]
    Gpu(warpfold::gpu::Gpu),
    Cpu,
    Emulator,
}

/// Whether GPUs have a kernel for what is folded, and if not why.
pub type HasKernel<'a> = &'a dyn Fn() -> Result<(), Failure>;

/// Bytes of a piece that the CPU folds, so that three of them are little memory.
const CPU_PIECE: usize = 16 << 20;
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
    /// The device that was asked for, ready to fold with `op`. What `has_kernel` says is asked where a GPU would fold.
    pub fn open<T: Item, R: Reduction<T>>(wanted: Wanted, op: R, has_kernel: HasKernel<'_>) -> Result<Opened, Failure> {
        let usable = || -> Result<Self, Failure> {
            let gpu = gpu::usable::<T, R>(op)?;
            has_kernel()?;
            Ok(gpu)
        };
        if wanted == Wanted::Best {
            return Ok(Opened::best(usable()));
        }
        let device = Self::named(wanted)?;
        if let Wanted::Gpu(_) = wanted {
            has_kernel()?;
        }
        Ok(device.into())
    }

    /// A device that was asked for by its name.
    pub fn named(wanted: Wanted) -> Result<Self, Error> {
        match wanted {
            Wanted::Cpu | Wanted::Best => Ok(Self::Cpu),
            Wanted::Gpu(index) => gpu::open(index),
            Wanted::Emulator => Ok(Self::Emulator),
        }
    }

    /// Its name, as `--device` takes it.
    pub fn name(&self) -> String {
        match self {
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => format!("gpu:{}", gpu.facts().index),
            Self::Cpu => "cpu".into(),
            Self::Emulator => "emulator".into(),
        }
    }

    /// Which device's time is predicted, and from what: of this one, or where it is no GPU that says so of an H200.
    pub fn memory(&self) -> (String, Memory) {
        #[cfg(feature = "cuda")]
        if let Self::Gpu(gpu) = self
            && let Some(memory) = gpu.facts().memory_model()
        {
            return (gpu.facts().name.clone(), memory);
        }
        ("NVIDIA H200".into(), Memory::H200)
    }

    /// How many elements it takes at once.
    pub fn piece<T: Item>(&self) -> Result<usize, Error> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => gpu.piece_len::<T>(),
            Self::Cpu => Ok(CPU_PIECE / size_of::<T>()),
            Self::Emulator => Ok(EMULATOR_PIECE / size_of::<T>()),
        }
    }

    /// Folds one piece; not on the emulator, which has [`emulate`].
    pub fn fold<T: Element + NoUninit, R: Reduction<T>>(&self, op: R, values: &[T]) -> Result<R::State, Failure> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => Ok(gpu::fold(gpu, op, values)?),
            Self::Cpu => Ok(cpu::fold(op, values)),
            Self::Emulator => Err(not_emulated(R::NAME)),
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

impl Device {
    /// Folds along axes.
    pub fn fold_axes<T: Element + NoUninit, R: Reduction<T>>(
        &self,
        op: R,
        values: &[T],
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Failure> {
        match self {
            Self::Cpu => Ok(cpu::reduce_axes(op, values, layout, axes)?),
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => Ok(gpu.reduce_host_axes(op, values, layout, axes)?),
            Self::Emulator => Err(WHOLE_ONLY.into()),
        }
    }

    /// Folds in segments.
    pub fn fold_segments<T: Element + NoUninit, R: Reduction<T>>(
        &self,
        op: R,
        values: &[T],
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Failure> {
        match self {
            Self::Cpu => Ok(cpu::reduce_segments(op, values, segments)?),
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => Ok(gpu.reduce_host_segments(op, values, segments)?),
            Self::Emulator => Err(WHOLE_ONLY.into()),
        }
    }
}

/// What the emulator says to a mask.
pub const NO_MASK: &str = "the emulator takes no mask here: --device cpu gives the same bits";

/// Of what a mask selects.
impl Device {
    /// Folds one piece.
    pub fn fold_where<T: Element + NoUninit, Op: TakesMask>(
        &self,
        op: Op,
        values: &[T],
        mask: &[u8],
    ) -> Result<<Where<Op> as Reduction<Masked<T>>>::State, Failure>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        match self {
            Self::Cpu => Ok(cpu::fold_where(op, values, mask)?),
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => Ok(gpu.fold_host_where(op, values, mask)?),
            Self::Emulator => Err(NO_MASK.into()),
        }
    }

    /// Folds along axes.
    pub fn fold_where_axes<T: Element + NoUninit, Op: TakesMask>(
        &self,
        op: Op,
        array: (&[T], &Layout),
        mask: (&[u8], &Layout),
        axes: &Axes,
    ) -> Result<Folded<AnswerWhere<Op, T>>, Failure>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        match self {
            Self::Cpu => Ok(cpu::reduce_where_axes(op, array, mask, axes)?),
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => Ok(gpu.reduce_host_where_axes(op, array, mask, axes)?),
            Self::Emulator => Err(NO_MASK.into()),
        }
    }

    /// Folds in segments.
    pub fn fold_where_segments<T: Element + NoUninit, Op: TakesMask>(
        &self,
        op: Op,
        values: &[T],
        mask: &[u8],
        segments: &Segments,
    ) -> Result<Vec<AnswerWhere<Op, T>>, Failure>
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        match self {
            Self::Cpu => Ok(cpu::reduce_where_segments(op, values, mask, segments)?),
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => Ok(gpu.reduce_host_where_segments(op, values, mask, segments)?),
            Self::Emulator => Err(NO_MASK.into()),
        }
    }
}

/// What the emulator says to a second array.
pub const NO_SECOND: &str = "the emulator takes no second array here: --device cpu gives the same bits";

/// Of two arrays, element by element.
impl Device {
    /// Folds one piece.
    pub fn fold_pair<T: Element + NoUninit, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: &[T],
        second: &[T],
    ) -> Result<R::State, Failure> {
        match self {
            Self::Cpu => Ok(cpu::fold_pair(op, first, second)?),
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => Ok(gpu.fold_host_pair(op, first, second)?),
            Self::Emulator => Err(NO_SECOND.into()),
        }
    }

    /// Folds along axes.
    pub fn fold_pair_axes<T: Element + NoUninit, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: (&[T], &Layout),
        second: (&[T], &Layout),
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Failure> {
        match self {
            Self::Cpu => Ok(cpu::reduce_pair_axes(op, first, second, axes)?),
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => Ok(gpu.reduce_host_pair_axes(op, first, second, axes)?),
            Self::Emulator => Err(NO_SECOND.into()),
        }
    }

    /// Folds in segments.
    pub fn fold_pair_segments<T: Element + NoUninit, R: Reduction<Two<T>>>(
        &self,
        op: R,
        first: &[T],
        second: &[T],
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Failure> {
        match self {
            Self::Cpu => Ok(cpu::reduce_pair_segments(op, first, second, segments)?),
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => Ok(gpu.reduce_host_pair_segments(op, first, second, segments)?),
            Self::Emulator => Err(NO_SECOND.into()),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => write!(f, "{}", gpu.facts()),
            Self::Cpu => {
                let threads = cpu::threads();
                let plural = if threads == 1 { "" } else { "s" };
                write!(f, "cpu ({threads} thread{plural}, {})", cpu::vector_instructions())
            }
            Self::Emulator => write!(f, "emulator (runs the GPU's kernels lane by lane, slowly)"),
        }
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
    lines.extend([Device::Cpu, Device::Emulator].map(|device| device.to_string()));
    lines.push(format!("kernels   {}", gpu::kernels()));
    lines.join("\n")
}

/// The GPU's side, where the build has one.
#[cfg(feature = "cuda")]
mod gpu {
    use bytemuck::NoUninit;
    use warpfold::{
        Error,
        gpu::Gpu,
        ops::{
            Reduction,
            element::{Element, Item},
        },
        pieces::Pieces,
        ptx,
    };

    use super::Device;

    /// Pieces that are not halved any more where device memory runs out: 4 MiB.
    const LEAST_PIECE: usize = 4 << 20;

    pub fn open(index: usize) -> Result<Device, Error> {
        Gpu::new(index).map(Device::Gpu)
    }

    /// The first GPU, if this build has a kernel of `op` that its driver takes.
    pub fn usable<T: Item, R: Reduction<T>>(op: R) -> Result<Device, Error> {
        let gpu = Gpu::new(0)?;
        gpu.prepare::<T, R>(op, 1)?;
        Ok(Device::Gpu(gpu))
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

    /// Folds one piece; in halves where another program has taken the device's memory meanwhile.
    pub fn fold<T: Element + NoUninit, R: Reduction<T>>(gpu: &Gpu, op: R, values: &[T]) -> Result<R::State, Error> {
        match gpu.fold_host(op, values) {
            Err(Error::OutOfMemory { .. }) if size_of_val(values) > LEAST_PIECE => {
                let half = values.len().next_power_of_two() / 2;
                let mut halves = Pieces::<R, T>::new(op, half as u64)?;
                for values in values.chunks(half) {
                    halves.push(fold(gpu, op, values)?, values.len() as u64)?;
                }
                Ok(halves.finish()?.1)
            }
            folded => folded,
        }
    }
}

#[cfg(not(feature = "cuda"))]
mod gpu {
    use warpfold::{
        Error,
        ops::{Reduction, element::Item},
    };

    use super::Device;

    pub fn open(_index: usize) -> Result<Device, Error> {
        Err(Error::NoDriver {
            reason: "none is looked for, this build being without the feature `cuda`".into(),
        })
    }

    pub fn usable<T: Item, R: Reduction<T>>(_op: R) -> Result<Device, Error> {
        open(0)
    }

    pub fn kernels() -> String {
        "none: this build is without the feature `cuda`".into()
    }

    pub fn all() -> Result<Vec<Result<Device, Error>>, Error> {
        open(0).map(|gpu| vec![Ok(gpu)])
    }
}

#[cfg(test)]
mod tests {
    use super::Wanted;

    #[test]
    fn devices_are_named_as_the_help_says() {
        let parse = |text: &str| text.parse::<Wanted>().ok();
        assert_eq!(parse("best"), Some(Wanted::Best));
        assert_eq!(parse("gpu"), Some(Wanted::Gpu(0)));
        assert_eq!(parse("gpu:7"), Some(Wanted::Gpu(7)));
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
