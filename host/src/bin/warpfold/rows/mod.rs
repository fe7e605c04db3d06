//! `warpfold softmax` and its kin: row operations of an array of a file, written to another.

mod args;
mod operands;
mod pieces;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use bytemuck::Pod;
use serde::Serialize;
use warpfold::{
    Error, View,
    dynamic::Target,
    files::{self, DType, Tensor, bf16, f16},
    layout::Layout,
    ops::element,
    row::{FloatVec, Mapped, Mask, Operand, Operation, Row, RowElement},
};

pub use args::{GroupNormArgs, LayerNormArgs, RmsNormArgs, SoftmaxArgs};

use crate::{
    Failure, clock,
    device::{Device, Wanted},
    named::Named,
    opened::Opened,
    out::{Input, Out, Writer},
    progress::Progress,
    reading,
    report::tuple,
    shown::Shown,
};
pub use pieces::RowRange;
use pieces::{ArrayPiece, Cuts, Source};

/// What every row operation takes.
#[derive(clap::Args, Clone)]
pub struct Common {
    /// The array, of float16, bfloat16 or float32 (norms: or float64): a file of one, or FILE:NAME.
    pub file: PathBuf,
    /// The axis of the rows, the first 0 and the last -1. Default: the last.
    #[arg(long, alias = "dim", value_name = "A", allow_hyphen_values = true)]
    axis: Option<i64>,
    /// Writes the answers to a .npy, .npz or .safetensors file; - is standard output, as .npy.
    ///
    /// They are in C order and of the array's type; bfloat16 is float32 in .npy and .npz. The file appears, or is replaced, once it is
    /// complete.
    #[arg(long, short, value_name = "OUT")]
    out: PathBuf,
    /// The type of the answers: float16 or float32. Each is computed in float32 and rounded once.
    #[arg(long, value_name = "TYPE", value_parser = float)]
    dtype_out: Option<DType>,
    /// best, gpu, gpu:N or cpu; best is the CPU, which is sooner with what is in files. The bits are the same.
    #[arg(long, default_value = "best")]
    device: Wanted,
    /// Prints one JSON object: op, device, dtype, shape, axis, dtype_out, out, seconds.
    #[arg(long)]
    json: bool,
}

/// A type that row operations answer in.
fn float(name: &str) -> Result<DType, String> {
    let dtypes = [DType::F16, DType::F32];
    let found = dtypes.into_iter().find(|dtype| dtype.name() == name);
    found.ok_or_else(|| format!("it is none of {}", dtypes.map(DType::name).join(", ")))
}

/// What was done.
#[derive(Serialize)]
pub struct Report {
    op: String,
    device: String,
    dtype: &'static str,
    shape: Vec<u64>,
    axis: i64,
    dtype_out: &'static str,
    out: String,
    seconds: f64,
    #[serde(skip)]
    file: String,
    #[serde(skip)]
    json: bool,
    /// Standard output has the answers, so the report goes elsewhere.
    #[serde(skip)]
    pub to_stderr: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.json {
            let json = serde_json::to_string(self).map_err(|_| fmt::Error)?;
            return f.write_str(&json);
        }
        write!(
            f,
            "{} of {}: {} {} along axis {}, in {:.3} s, on {}\nwritten to {} as {}",
            self.op,
            Shown(&self.file),
            self.dtype,
            tuple(&self.shape),
            self.axis,
            self.seconds,
            self.device,
            Shown(&self.out),
            self.dtype_out,
        )
    }
}

/// Elements that are read, and answers that are written.
pub trait Element: element::Element + Pod + reading::Read {
    /// A second array of them.
    fn operand(view: View<'_, Self>) -> Operand<'_>;
}

/// What a piece is mapped to.
type Mapping<'a, T, R, Op> = &'a (dyn Fn(Row<'_, Op>, View<'_, T>) -> Result<R, Error> + Sync);

macro_rules! elements {
    ($($element:ty)*) => {
        $(impl Element for $element {
            fn operand(view: View<'_, Self>) -> Operand<'_> {
                view.into()
            }
        })*
    };
}

elements!(f32 f16 bf16 f64);

/// An array that is read with the one that is mapped, piece by piece, and how the operation takes it.
pub enum SecondFile<Op> {
    None,
    Mask(Named, for<'a> fn(Row<'a, Op>, Mask<'a>) -> Row<'a, Op>),
    Residual(Named, for<'a> fn(Row<'a, Op>, Operand<'a>) -> Row<'a, Op>),
}

impl<Op> SecondFile<Op> {
    fn input(&self) -> Option<Input<'_>> {
        match self {
            Self::None => None,
            Self::Mask(named, _) | Self::Residual(named, _) => Some(named.input()),
        }
    }
}

/// The pieces of such an array.
enum SecondSource<'a, T> {
    None,
    Mask(Source<'a, u8>),
    Residual(Source<'a, T>),
}

/// Bytes of a piece that a thread of the CPU maps: it stays in the cache between reading, mapping and writing.
const CPU_PIECE: u64 = 1 << 20;
/// Bytes of a piece that a GPU maps.
#[cfg(feature = "cuda")]
const GPU_PIECE: u64 = 64 << 20;
/// Bytes of pieces that are in memory at once, if a piece is not larger.
const AT_ONCE: u64 = 64 << 20;

/// Rows of an array that are mapped.
pub struct FileRows<'a> {
    pub array: &'a Tensor,
    pub axis: usize,
    pub device: &'a Device,
}

impl<'a> FileRows<'a> {
    /// The rows of an array along an axis, the last being -1.
    pub fn new(array: &'a Tensor, axis: i64, device: &'a Device) -> Result<Self, Failure> {
        let axis = axis_of(array, axis)?;
        Ok(Self { array, axis, device })
    }

    /// Maps the rows in pieces, and gives what becomes of each to `write`, in order. `row` makes the operation of a piece, all but its
    /// second array.
    pub fn map<'r, T: Element, R: Send, Op: Operation + Sync>(
        &self,
        row: &(dyn Fn(RowRange) -> Row<'r, Op> + Sync),
        second: &SecondFile<Op>,
        mapping: Mapping<'_, T, R, Op>,
        write: &mut dyn FnMut(R) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (array, shape) = (self.array, self.array.shape());
        let target = self
            .device
            .folding("the emulator has no row operations: --device cpu gives the same bits")?;
        let bytes = match target {
            Target::Cpu => CPU_PIECE,
            #[cfg(feature = "cuda")]
            Target::Gpu(_) => GPU_PIECE,
        };
        let cuts = Cuts::new(shape, self.axis, bytes / size_of::<T>() as u64);
        let source = Source::<T>::new(array, shape)?;
        let second_source = match second {
            SecondFile::None => SecondSource::None,
            SecondFile::Mask(named, _) => SecondSource::Mask(Source::new(&named.tensor, shape)?),
            SecondFile::Residual(named, _) => SecondSource::Residual(Source::new(&named.tensor, shape)?),
        };
        let of_piece = |row: Row<'_, Op>, piece: ArrayPiece| -> Result<R, Failure> {
            source.with(&cuts, piece, |view| {
                mapping(row, view).map_err(|error| in_file(array, error))
            })
        };
        let map = |number: u64| {
            let piece = cuts.piece(number);
            let row = row(cuts.part(piece));
            match (&second_source, second) {
                (SecondSource::Mask(mask), SecondFile::Mask(_, with)) => {
                    mask.with(&cuts, piece, |mask| of_piece(with(row, mask.into()), piece))
                }
                (SecondSource::Residual(residual), SecondFile::Residual(_, with)) => {
                    residual.with(&cuts, piece, |residual| {
                        of_piece(with(row, T::operand(residual)), piece)
                    })
                }
                _ => of_piece(row, piece),
            }
        };
        let mut progress = Progress::of_bytes(array.bytes());
        let each = array.bytes().div_ceil(cuts.count());
        let mut write = |mapped| {
            write(mapped)?;
            progress.advance(each);
            Ok(())
        };
        match target {
            Target::Cpu => {
                let at_once = (AT_ONCE / each.max(1)).max(1);
                files::in_order(cuts.count(), at_once, &map, &mut write)
            }
            #[cfg(feature = "cuda")]
            Target::Gpu(_) => (0..cuts.count()).try_for_each(|number| write(map(number)?)),
        }
    }
}

/// Maps a piece on a device.
pub fn on_device<T: Element + RowElement, U: Element + RowElement, Op: Operation>(
    device: &Device,
    row: Row<'_, Op>,
    view: View<'_, T>,
) -> Result<Mapped<U, Op::Known>, Error> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Folding(Target::Gpu(gpu)) => row.on(gpu, view),
        _ => row.on_cpu(view),
    }
}

/// The number of an axis, the last being -1.
fn axis_of(array: &Tensor, axis: i64) -> Result<usize, Failure> {
    let axes = array.shape().len();
    let found = if axis < 0 {
        axis.checked_add(axes as i64)
    } else {
        Some(axis)
    };
    let found = found
        .and_then(|axis| usize::try_from(axis).ok())
        .filter(|axis| *axis < axes);
    found.ok_or_else(|| {
        format!(
            "{}: --axis: axis {axis} is out of bounds for an array of {axes} axes",
            array.label().display()
        )
        .into()
    })
}

/// What went wrong with an array.
pub fn in_file(array: &Tensor, error: impl Into<Failure>) -> Failure {
    format!("{}: {}", array.label().display(), error.into()).into()
}

pub fn not_floats(array: &Tensor) -> Failure {
    format!(
        "{} is of {}, and row operations are of float16, bfloat16 and float32, norms of float64, too",
        array.label().display(),
        array.dtype_name()
    )
    .into()
}

/// The device that was asked for. Best is the CPU: it maps an array of a file sooner than that is copied to a GPU and back.
pub fn device(wanted: Wanted) -> Result<Device, Failure> {
    Ok(Opened::from(Device::named(wanted)?).told())
}

/// The bytes of sums with a residual.
fn bytes_of(sums: &FloatVec) -> &[u8] {
    match sums {
        FloatVec::F32(sums) => bytemuck::cast_slice(sums),
        FloatVec::F16(sums) => bytemuck::cast_slice(sums),
        FloatVec::Bf16(sums) => bytemuck::cast_slice(sums),
    }
}

/// A command line's operation: all but the types of elements.
struct Job<'a, Op> {
    common: &'a Common,
    /// As the command line has it.
    name: &'static str,
    array: &'a Tensor,
    row: Row<'a, Op>,
    /// The same for a part of the rows.
    at: fn(Row<'a, Op>, RowRange) -> Row<'a, Op>,
    second: SecondFile<Op>,
    /// Of float64: the answers, and sums with a residual.
    double: Option<Double<Op>>,
    out: Out,
    sums: Option<Out>,
}

type Double<Op> = fn(&Device, Row<'_, Op>, View<'_, f64>) -> Result<(Vec<f64>, Option<Vec<f64>>), Error>;

impl Common {
    /// The axis of the rows.
    fn axis(&self) -> i64 {
        self.axis.unwrap_or(-1)
    }

    /// The array, and its file without the name of an array.
    fn open(&self) -> Result<(PathBuf, Tensor), Failure> {
        let (path, array) = reading::open(&self.file)?;
        match array.dtype() {
            DType::F32 | DType::F16 | DType::Bf16 | DType::F64 => Ok((path, array)),
            _ => Err(not_floats(&array)),
        }
    }

    /// Where answers go, and sums with a residual.
    fn outs(&self, sums: Option<&Path>, path: &Path, others: &[Input<'_>]) -> Result<(Out, Option<Out>), Failure> {
        let inputs: Vec<Input<'_>> = [("the input".into(), path)]
            .into_iter()
            .chain(others.iter().cloned())
            .collect();
        let out = Out::new(&self.out, &inputs)?;
        let sums = sums.map(|sums| Out::new(sums, &inputs)).transpose()?;
        if sums.as_ref().is_some_and(|sums| sums.is(&out)) {
            return Err("--out and --sum-out are one file".into());
        }
        Ok((out, sums))
    }
}

impl<'a, Op: Operation<Known: Send> + Sync> Job<'a, Op> {
    fn run(&self) -> Result<Report, Failure> {
        let array = self.array;
        self.out.check(array.shape().len())?;
        axis_of(array, self.common.axis())?;
        // What is wrong with the operation is told before anything is read.
        let row = self.row.clone().axis(self.common.axis());
        let layout = Layout::c_order(array.shape())?;
        row.check(&layout).map_err(|error| in_file(array, error))?;
        match &self.second {
            SecondFile::None => {}
            SecondFile::Mask(named, _) => named.broadcast(array.shape(), "the shape of the array").map(drop)?,
            SecondFile::Residual(named, _) => {
                named.broadcast(array.shape(), "the shape of the array").map(drop)?;
                named.check_same_type(array)?;
            }
        }
        match array.dtype() {
            DType::F32 => self.map::<f32>(&row),
            DType::F16 => self.map::<f16>(&row),
            DType::Bf16 => self.map::<bf16>(&row),
            DType::F64 => self.double(&row),
            _ => Err(not_floats(array)),
        }
    }

    /// Of float64.
    fn double(&self, row: &Row<'a, Op>) -> Result<Report, Failure> {
        let (common, array) = (self.common, self.array);
        let Some(double) = self.double else {
            return Err(in_file(
                array,
                format!("there is no {} of float64, but norms: cast it to float32", self.name),
            ));
        };
        if common.dtype_out.is_some() {
            return Err(in_file(
                array,
                "answers of float64 are of float64: leave out --dtype-out",
            ));
        }
        let device = device(common.device)?;
        self.write(
            &device,
            row,
            DType::F64,
            &|row, view| double(&device, row, view),
            &mut |(values, sums), out, of_sums| {
                out.push(bytemuck::cast_slice(&values))?;
                match (of_sums, &sums) {
                    (Some(out), Some(sums)) => out.push(bytemuck::cast_slice(sums)),
                    _ => Ok(()),
                }
            },
        )
    }

    fn map<T: Element + RowElement>(&self, row: &Row<'a, Op>) -> Result<Report, Failure> {
        match self.common.dtype_out {
            Some(DType::F16) => self.map_to::<T, f16>(row),
            Some(_) => self.map_to::<T, f32>(row),
            None => self.map_to::<T, T>(row),
        }
    }

    fn map_to<T: Element + RowElement, U: Element + RowElement>(&self, row: &Row<'a, Op>) -> Result<Report, Failure> {
        let device = device(self.common.device)?;
        let mapping = |row: Row<'_, Op>, view: View<'_, T>| on_device::<T, U, Op>(&device, row, view);
        self.write(
            &device,
            row,
            <U as files::Element>::DTYPE,
            &mapping,
            &mut |mapped, out, of_sums| {
                out.push(bytemuck::cast_slice(&mapped.values))?;
                match (of_sums, &mapped.sums) {
                    (Some(out), Some(sums)) => out.push(bytes_of(sums)),
                    _ => Ok(()),
                }
            },
        )
    }

    /// Maps all rows, and writes what becomes of them.
    fn write<T: Element, R: Send>(
        &self,
        device: &Device,
        row: &Row<'a, Op>,
        dtype: DType,
        mapping: Mapping<'_, T, R, Op>,
        push: Push<'_, R>,
    ) -> Result<Report, Failure> {
        let (common, array) = (self.common, self.array);
        let rows = FileRows::new(array, common.axis(), device)?;
        let (shape, name) = (array.shape(), array.name());
        let mut out = self.out.begin(dtype, shape, name)?;
        let sums = self.sums.as_ref();
        let mut sums = sums.map(|sums| sums.begin(array.dtype(), shape, name)).transpose()?;
        let of_part = |part: RowRange| (self.at)(row.clone(), part);
        rows.map::<T, R, Op>(&of_part, &self.second, mapping, &mut |mapped| {
            push(mapped, &mut out, sums.as_mut())
        })?;
        sums.map(|sums| sums.finish()).transpose()?;
        let dtype_out = out.finish()?;
        Ok(Report {
            op: self.name.into(),
            device: device.name(),
            dtype: array.dtype().name(),
            shape: shape.to_vec(),
            axis: common.axis(),
            dtype_out: dtype_out.name(),
            out: self.out.label(),
            seconds: clock::seconds(),
            file: common.file.display().to_string(),
            json: common.json,
            to_stderr: self.out.is_stdout() || self.sums.as_ref().is_some_and(Out::is_stdout),
        })
    }
}

/// Writes what a piece was mapped to, and its sums with a residual.
type Push<'a, R> = &'a mut dyn FnMut(R, &mut Writer<'_>, Option<&mut Writer<'_>>) -> Result<(), Failure>;
