//! Arrays of files: listed, read, and folded a piece at a time.

mod found;

use std::path::PathBuf;

pub use found::{Difference, Fault, check, diff};

use pyo3::{
    Bound, PyAny, PyErr, PyResult, Python,
    exceptions::PyTypeError,
    pyclass, pyfunction, pymethods,
    types::{PyList, PyTuple},
};
use warpfold::{
    Error, View,
    dynamic::{Answers, Arrays, Choice, InTable, Target, find},
    files::{
        self, Checkpoint, DType,
        reading::{self, FoldElement},
    },
    fold::Extent,
    layout::Axes,
    ops::element::{Type, bf16, complex64, complex128, f8e4m3, f8e5m2, f16},
};

use crate::{
    answers,
    arrays::{Array, Library},
    dtypes, errors,
    folds::{self, Asked, along},
    named::{self, Keywords},
    options::{self, Nan, Rounding},
    reduce,
};

/// The arrays of a .npy, .npz, .safetensors or .gguf file, or of a checkpoint of several, by name: a mapping.
///
/// path: a file, a folder, or an index such as model.safetensors.index.json. "FILE:NAME" has one array, "FILE:PATTERN" those that match. Headers
/// alone are read. The array of a .npy file is called as the file is.
#[pyfunction]
#[pyo3(signature = (path, /))]
pub fn open(py: Python<'_>, path: PathBuf) -> PyResult<File> {
    let checkpoint = py.detach(|| Checkpoint::open(path)).map_err(errors::of)?;
    Ok(File { checkpoint })
}

/// An open file, or a checkpoint of several: a mapping of names to tensors.
#[pyclass(module = "warpfold", mapping, frozen)]
pub struct File {
    pub checkpoint: Checkpoint,
}

impl File {
    fn tensors(&self) -> impl Iterator<Item = Tensor> {
        self.checkpoint.tensors().cloned().map(Tensor)
    }
}

#[pymethods]
impl File {
    /// The names of the arrays, in the order of the file.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.checkpoint.tensors().filter_map(files::Tensor::called).collect()
    }

    /// What was opened, without the name of an array.
    #[getter]
    fn path(&self) -> PathBuf {
        self.checkpoint.path().to_path_buf()
    }

    /// What the file says of itself, as (key, value) in its order.
    #[getter]
    fn metadata(&self) -> Vec<(String, String)> {
        self.checkpoint.metadata().to_vec()
    }

    /// What is wrong with a checkpoint of several files, in words: the arrays that are here can be read.
    #[getter]
    fn faults(&self) -> Vec<String> {
        self.checkpoint.faults().iter().map(ToString::to_string).collect()
    }

    /// As a dict's.
    fn keys(&self) -> Vec<&str> {
        self.names()
    }

    /// As a dict's.
    fn values(&self) -> Vec<Tensor> {
        self.tensors().collect()
    }

    /// As a dict's.
    fn items(&self) -> Vec<(String, Tensor)> {
        self.tensors().map(|tensor| (tensor.name(), tensor)).collect()
    }

    fn __len__(&self) -> usize {
        self.checkpoint.tensors().count()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        use pyo3::types::PyAnyMethods as _;
        Ok(PyList::new(py, self.names())?.try_iter()?.into_any())
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        use pyo3::types::PyAnyMethods as _;
        name.extract::<String>()
            .is_ok_and(|name| self.checkpoint.tensors().any(|tensor| tensor.called() == Some(&name)))
    }

    fn __getitem__(&self, name: &str) -> PyResult<Tensor> {
        self.checkpoint.tensor(name).cloned().map(Tensor).map_err(errors::of)
    }

    fn __repr__(&self) -> String {
        format!(
            "<warpfold.File {:?} of {} arrays>",
            self.checkpoint.path().display().to_string(),
            self.__len__()
        )
    }
}

/// An array of an open file: what is known of it, and ways to read it.
#[pyclass(module = "warpfold", frozen)]
pub struct Tensor(pub files::Tensor);

impl Tensor {
    /// The type of its elements as they are read.
    pub fn element(&self) -> PyResult<Type> {
        self.0.fault().map_or(Ok(()), Err).map_err(errors::of)?;
        dtypes::named(self.0.dtype().decoded().name()).ok_or_else(|| self.not_read())
    }

    /// That its elements are of a type that is not read.
    pub fn not_read(&self) -> PyErr {
        PyTypeError::new_err(format!(
            "{}: elements of type {} are not read",
            self.0.label().display(),
            self.0.dtype_name()
        ))
    }

    /// The reduction of all elements at once, which are cast first, or whose parts are looked at; or its error.
    fn reduced_in_memory<'py>(
        &self,
        py: Python<'py>,
        op: &str,
        (axis, keepdims): (Option<&Bound<'py, PyAny>>, bool),
        keywords: &Keywords,
    ) -> PyResult<Bound<'py, PyAny>> {
        let x = Array::of(&self.read(py)?, "x")?;
        let asked = named::asked(op, x.element, keywords)?;
        reduce::of_asked(op, asked, x, axis, keepdims)
    }

    fn bytes(&self) -> Result<Vec<u8>, Error> {
        match self.0.dtype() {
            DType::Quantised => Ok(bytemuck::cast_slice(&reading::in_order::<f32>(&self.0)?).to_vec()),
            DType::Bool => {
                let mut truths = reading::in_order::<u8>(&self.0)?;
                truths.iter_mut().for_each(|truth| *truth = u8::from(*truth != 0));
                Ok(truths)
            }
            _ => Ok(self.0.read_bytes()?.to_vec()),
        }
    }
}

#[pymethods]
impl Tensor {
    /// Its name; without one, that of its file.
    #[getter]
    fn name(&self) -> String {
        self.0.called().unwrap_or_default().to_owned()
    }

    /// NumPy's name of the type of its elements, or ml_dtypes'; of quantised blocks the format's.
    #[getter]
    fn dtype(&self) -> &str {
        self.0.dtype_name()
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// How many elements.
    #[getter]
    fn size(&self) -> u64 {
        self.0.len()
    }

    /// Bytes of its elements in the file, uncompressed.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Why it cannot be read, if that was found when the file was opened.
    #[getter]
    fn fault(&self) -> Option<String> {
        self.0.fault().map(|fault| fault.to_string())
    }

    /// All elements: an array of NumPy's, and where that is not there a memoryview. Quantised blocks are read as float32.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let element = self.element()?;
        let bytes = py.detach(|| self.bytes()).map_err(errors::of)?;
        library(py).made(py, element, self.0.shape(), &bytes)
    }

    /// The reduction of that name, read a piece at a time: the bits of the same reduction of the array, in little memory.
    ///
    /// op: a reduction's name, such as "sum", "max", "argmax", "var". Along an axis all elements are read first. The rest is as of the reduction.
    #[pyo3(
        signature = (op, /, *, axis=None, keepdims=false, nan=Nan::Propagate, accuracy=Rounding::default(), correction=None, ord=None),
        text_signature = "($self, op, /, *, axis=None, keepdims=False, nan='propagate', accuracy='native', correction=None, ord=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn reduce<'py>(
        &self,
        py: Python<'py>,
        op: &str,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
        nan: Nan,
        accuracy: Rounding,
        correction: Option<f64>,
        ord: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let keywords = Keywords {
            nan,
            accuracy,
            correction,
            ord,
            ..Keywords::default()
        };
        let asked = named::asked(op, self.element()?, &keywords)?;
        let element = named::element(&asked);
        let is_cast = asked.element != element || matches!(asked.op, "minmax" | "argminmax");
        let of_parts = asked.element.is_complex() && matches!(asked.op, "any" | "all" | "count-nonzero");
        if asked.element == Type::Bool && is_cast || of_parts {
            return self.reduced_in_memory(py, op, (axis, keepdims), &keywords);
        }
        let asked = Asked { element, ..asked };
        let function = folds::function(&asked).ok_or_else(|| named::none(op, &asked))?;
        let axes = options::axes(axis)?.map(|axes| along(&axes, keepdims));
        let mut answers = py
            .detach(|| folded(&self.0, &asked, axes.as_ref()))
            .map_err(errors::of)?;
        if keepdims && axes.is_none() {
            answers.shape = vec![1; self.0.shape().len()];
        }
        let as_type = named::type_of_answers(asked.op);
        answers::as_library(py, library(py), function.answer(), answers, as_type)
    }

    fn __repr__(&self) -> String {
        let Self(tensor) = self;
        format!(
            "<warpfold.Tensor {:?} of {}, shape {:?}>",
            self.name(),
            tensor.dtype_name(),
            tensor.shape()
        )
    }
}

/// Whose arrays are made of files: NumPy's, where it is.
pub fn library(py: Python<'_>) -> Library {
    match py.import("numpy") {
        Ok(_) => Library::Numpy,
        Err(_) => Library::Buffer,
    }
}

/// Folds an array of a file.
fn folded(tensor: &files::Tensor, asked: &Asked, axes: Option<&Axes>) -> Result<Answers, Error> {
    macro_rules! of {
        ($($name:ident: $element:ty),*) => {
            match asked.element {
                $(Type::$name => folded_as::<$element>(tensor, asked, axes),)*
                Type::Complex32 => unreachable!("no file has complex numbers of 32 bits"),
            }
        };
    }
    of!(
        Bool: bool, I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64, F16: f16, Bf16: bf16, F32: f32, F64: f64,
        F8E4M3: f8e4m3, F8E5M2: f8e5m2, Complex64: complex64, Complex128: complex128
    )
}

fn folded_as<T: InTable + FoldElement>(
    tensor: &files::Tensor,
    asked: &Asked,
    axes: Option<&Axes>,
) -> Result<Answers, Error> {
    let number = asked.parameter.map(f64::from_bits);
    let function = find::<T>(&Choice {
        name: asked.op,
        masked: false,
        ignores_nan: asked.ignores_nan,
        accuracy: asked.accuracy,
        correction: number,
        power: number,
    })
    .expect("it was found");
    if let Some(axes) = axes {
        let (read, layout) = reading::in_place::<T::Read>(tensor)?;
        let values = T::of(&read)?;
        let arrays = Arrays::one(View::new(&values, &layout)?);
        return function.answers(&Target::Cpu, &arrays, Extent::Along(axes));
    }
    let state = |read: &[T::Read]| function.state(&Target::Cpu, &Arrays::one(&*T::of(read)?));
    let pieces = if tensor.is_seekable() {
        let len = reading::cpu_piece(function.op());
        let mut pieces = function.pieces(len as u64)?;
        let map = |_: u64, read: &[T::Read]| state(read);
        reading::map_pieces(tensor, len, &map, &mut |state, len| pieces.push(&state, len))?;
        pieces
    } else {
        let len = Target::Cpu.piece(function.op())?;
        let mut pieces = function.pieces(len)?;
        reading::each_piece(tensor, len as usize, &mut |read| {
            pieces.push(&state(read)?, read.len() as u64)
        })?;
        pieces
    };
    let (bytes, _) = pieces.finish()?;
    Ok(Answers { shape: vec![], bytes })
}
