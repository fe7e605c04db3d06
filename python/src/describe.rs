//! Many answers about an array at once.

use std::{borrow::Cow, path::PathBuf};

use bytemuck::NoUninit;
use pyo3::{
    Bound, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyTypeError, PyValueError},
    pyclass, pyfunction, pymethods,
    types::{PyAnyMethods as _, PyDict, PyDictMethods as _, PyString},
};
use warpfold::{
    Error, cpu,
    dynamic::Target,
    files::{
        self, Checkpoint, DType,
        reading::{self, Read},
    },
    fold,
    layout::Axes,
    ops::{
        AnyOp, Describe, Reduction, Summary,
        element::{Element, Float, Type},
    },
    pieces::Pieces,
};

use crate::{
    arrays::{Array, Device},
    dtypes, errors,
    files::{Tensor, library},
    folds::along,
    options,
};

/// A class with such fields, and the dict of them.
macro_rules! description {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// What describe answers: a number for each field, or along axes an array. NaN are counted, and left out of the rest.
        #[pyclass(module = "warpfold", frozen)]
        pub struct Description {
            $($field: Py<PyAny>,)*
        }

        #[pymethods]
        impl Description {
            $(
                $(#[$doc])*
                #[getter]
                fn $field(&self, py: Python<'_>) -> Py<PyAny> {
                    self.$field.clone_ref(py)
                }
            )*

            /// How many are infinite: a short name of infinities.
            #[getter]
            fn inf(&self, py: Python<'_>) -> Py<PyAny> {
                self.infinities.clone_ref(py)
            }

            /// The fields and what they are.
            fn _asdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                let dict = PyDict::new(py);
                $(dict.set_item(stringify!($field), &self.$field)?;)*
                Ok(dict)
            }

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let fields = [$((stringify!($field), &self.$field)),*];
                let text = |(name, value): &(&str, &Py<PyAny>)| Ok(format!("{name}={}", value.bind(py).str()?));
                Ok(format!("Description({})", fields.iter().map(text).collect::<PyResult<Vec<_>>>()?.join(", ")))
            }
        }
    };
}

description! {
    /// How many elements, NaN among them.
    count,
    /// How many are NaN.
    nan,
    /// How many are infinite.
    infinities,
    positive_infinities,
    negative_infinities,
    /// How many are zero, of either sign.
    zeros,
    /// The smallest number; NaN where there is none.
    min,
    /// The largest number; NaN where there is none.
    max,
    /// The index of the first of the smallest; -1 where there is none.
    argmin,
    /// The index of the first of the largest; -1 where there is none.
    argmax,
    sum,
    mean,
    /// The variance, divided by n - correction.
    variance,
    /// Its root.
    std,
    skewness,
    /// The excess kurtosis.
    kurtosis,
    /// The sum of magnitudes.
    l1,
    /// The root of the sum of squares.
    l2,
    /// The largest magnitude.
    linf,
}

/// How an array is made of one field's numbers.
type Make<'a, 'py> = &'a dyn Fn(Type, &[u8]) -> PyResult<Bound<'py, PyAny>>;

impl Description {
    fn of<T: Described>(all: &[Summary<T>], make: Make<'_, '_>) -> PyResult<Self> {
        let numbers = |of: &dyn Fn(&Summary<T>) -> T| -> PyResult<Py<PyAny>> {
            let numbers: Vec<T> = all.iter().map(of).collect();
            Ok(make(T::TYPE, bytemuck::cast_slice(&numbers))?.unbind())
        };
        let counts = |of: &dyn Fn(&Summary<T>) -> u64| -> PyResult<Py<PyAny>> {
            // That of nothing, the highest, is -1.
            let counts: Vec<i64> = all.iter().map(|summary| of(summary) as i64).collect();
            Ok(make(Type::I64, bytemuck::cast_slice(&counts))?.unbind())
        };
        let none = T::from_f64(f64::NAN);
        Ok(Self {
            count: counts(&|summary| summary.count)?,
            nan: counts(&|summary| summary.nan)?,
            infinities: counts(&|summary| summary.positive_infinities + summary.negative_infinities)?,
            positive_infinities: counts(&|summary| summary.positive_infinities)?,
            negative_infinities: counts(&|summary| summary.negative_infinities)?,
            zeros: counts(&|summary| summary.zeros)?,
            min: numbers(&|summary| summary.min.unwrap_or(none))?,
            max: numbers(&|summary| summary.max.unwrap_or(none))?,
            argmin: counts(&|summary| summary.argmin.unwrap_or(u64::MAX))?,
            argmax: counts(&|summary| summary.argmax.unwrap_or(u64::MAX))?,
            sum: numbers(&|summary| summary.sum)?,
            mean: numbers(&|summary| summary.mean)?,
            variance: numbers(&|summary| summary.variance)?,
            std: numbers(&|summary| summary.std)?,
            skewness: numbers(&|summary| summary.skewness)?,
            kurtosis: numbers(&|summary| summary.kurtosis)?,
            l1: numbers(&|summary| summary.l1)?,
            l2: numbers(&|summary| summary.l2)?,
            linf: numbers(&|summary| summary.linf)?,
        })
    }
}

/// What is described as it is: float32 and float64.
trait Described: Float + Element<Total = Self> + NoUninit + Read {}

impl Described for f32 {}
impl Described for f64 {}

/// What an array holds, in one pass: counts of NaN, infinities and zeros, the extrema and where they are, sum, moments and norms.
///
/// x: an array, or a Tensor of a file. Of a path the answer is a dict of its arrays' names, None for those without a description. axis: an integer, a tuple
/// of them, or None for all axes. correction: what is taken off the number of elements to divide the variance by. float16, bfloat16 and FP8 are described
/// as float32, integers and bool as float64. Of an array in a GPU's memory the call waits, and the fields are arrays of its library.
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=None, correction=0.0))]
pub fn describe<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    correction: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let op = Describe { correction };
    let axes = options::axes(axis)?;
    let whole = || match axes {
        None => Ok(()),
        Some(_) => Err(PyValueError::new_err("axis: arrays of files are described as a whole")),
    };
    if let Ok(tensor) = x.cast::<Tensor>() {
        whole()?;
        return Ok(Bound::new(py, of_tensor(py, tensor.get(), op)?)?.into_any());
    }
    if x.is_instance_of::<PyString>() || x.hasattr("__fspath__")? {
        whole()?;
        return Ok(of_path(py, &x.extract::<PathBuf>()?, op)?.into_any());
    }
    let x = Array::of(x, "x")?;
    let axes = axes.map_or_else(Axes::all, |axes| along(&axes, false));
    let described = match kind(x.element) {
        Some(Type::F32) => of_array::<f32>(x, op, axes)?,
        Some(_) => of_array::<f64>(x, op, axes)?,
        None => return Err(meaningless("x", dtypes::name(x.element))),
    };
    Ok(Bound::new(py, described)?.into_any())
}

/// What elements are described as; none of complex numbers.
fn kind(element: Type) -> Option<Type> {
    match element {
        Type::F16 | Type::Bf16 | Type::F8E4M3 | Type::F8E5M2 | Type::F32 => Some(Type::F32),
        Type::Complex32 | Type::Complex64 | Type::Complex128 => None,
        _ => Some(Type::F64),
    }
}

fn meaningless(what: &str, of: &str) -> PyErr {
    PyTypeError::new_err(format!("{what}: describe has no meaning for {of}; mean and norm have"))
}

fn of_array<T: Described>(x: Array<'_>, op: Describe, axes: Axes) -> PyResult<Description>
where
    Describe: Reduction<T, Answer = Summary<T>>,
{
    let x = if x.element == T::TYPE { x } else { x.cast(T::TYPE)? };
    let folded = match x.device {
        Device::Cpu => {
            let view = x.view::<T>(false)?;
            let folded = x.object.py().detach(|| fold(op).along(axes).on_cpu(view));
            folded.map_err(errors::of)?
        }
        Device::Cuda(device) => crate::gpu::described::<T>(device, &x, op, axes)?,
    };
    Description::of(&folded.answers, &|element, bytes| x.like(element, &folded.shape, bytes))
}

/// Each array of a file or a checkpoint, by name.
fn of_path<'py>(py: Python<'py>, path: &std::path::Path, op: Describe) -> PyResult<Bound<'py, PyDict>> {
    let checkpoint = py.detach(|| Checkpoint::open(path)).map_err(errors::of)?;
    if let Some(fault) = checkpoint.faults().first() {
        let (path, fault) = (checkpoint.path().to_path_buf(), fault.clone());
        return Err(errors::of(Error::Checkpoint { path, fault }));
    }
    let dict = PyDict::new(py);
    for tensor in checkpoint.tensors() {
        let tensor = Tensor(tensor.clone());
        let element = dtypes::named(tensor.0.dtype().decoded().name());
        if tensor.0.fault().is_none() && element.and_then(kind).is_none() {
            dict.set_item(tensor.0.called(), py.None())?;
            continue;
        }
        let described = of_tensor(py, &tensor, op)?;
        dict.set_item(tensor.0.called(), Bound::new(py, described)?)?;
    }
    Ok(dict)
}

fn of_tensor(py: Python<'_>, tensor: &Tensor, op: Describe) -> PyResult<Description> {
    fn as_they_are<T: Described>(read: &[T]) -> Cow<'_, [T]> {
        read.into()
    }
    fn truths(read: &[u8]) -> Cow<'_, [f64]> {
        read.iter().map(|truth| f64::from(u8::from(*truth != 0))).collect()
    }
    let library = library(py);
    let make = |element: Type, bytes: &[u8]| library.made(py, element, &[], bytes);
    let file = &tensor.0;
    match kind(tensor.element()?) {
        Some(Type::F32) => {
            let summary = py.detach(|| summary::<f32, f32>(file, op, as_they_are));
            Description::of(&[summary.map_err(errors::of)?], &make)
        }
        Some(_) => {
            let summary = py.detach(|| match file.dtype() {
                DType::Bool => summary::<f64, u8>(file, op, truths),
                _ => summary::<f64, f64>(file, op, as_they_are),
            });
            Description::of(&[summary.map_err(errors::of)?], &make)
        }
        None => Err(meaningless(&file.label().display().to_string(), file.dtype_name())),
    }
}

/// The summary of an array of a file, read a piece at a time.
fn summary<T: Described, R: Read>(
    tensor: &files::Tensor,
    op: Describe,
    of: fn(&[R]) -> Cow<'_, [T]>,
) -> Result<Summary<T>, Error>
where
    Describe: Reduction<T, Answer = Summary<T>, State: Send>,
{
    let any = AnyOp::of::<T, Describe>(op);
    if tensor.is_seekable() {
        // Each piece begins with what is slow, and with empty buffers: so they are longer than others.
        let len = 4 * reading::cpu_piece(&any);
        let mut pieces = Pieces::<Describe, T>::new(op, len as u64)?;
        let state = |_: u64, read: &[R]| Ok::<_, Error>(cpu::fold(op, &of(read)));
        reading::map_pieces(tensor, len, &state, &mut |state, len| pieces.push(state, len))?;
        return Ok(pieces.finish()?.0);
    }
    let len = Target::Cpu.piece(&any)?;
    let mut pieces = Pieces::<Describe, T>::new(op, len)?;
    reading::each_piece(tensor, len as usize, &mut |read: &[R]| {
        pieces.push(cpu::fold(op, &of(read)), read.len() as u64)
    })?;
    Ok(pieces.finish()?.0)
}
