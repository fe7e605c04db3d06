//! Partials: what runs of an array's elements fold to, for ranks, engines and files.

use std::{
    borrow::Cow,
    sync::{Mutex, MutexGuard, PoisonError},
};

use pyo3::{
    Bound, PyAny, PyResult, Python,
    exceptions::{PyTypeError, PyValueError},
    pyclass, pyfunction, pymethods,
    types::{PyBytes, PyList, PyTuple, PyType},
};
use warpfold::{
    dynamic::{AnswerType, AnyPartial},
    ops::element::{Operands, Type},
    partial::{Head, split as split_elements},
};

use crate::{
    answers,
    arrays::{Array, Device, Library},
    dtypes, errors,
    folds::{self, AnyFold, Asked},
    gpu,
    named::{self, Keywords, Named},
    options::{self, Nan, Rounding},
    reduce,
};

/// What some runs of an array's elements fold to: merged in any order, and finished to the bits of one fold of the whole.
#[pyclass(module = "warpfold", frozen)]
pub struct Partial {
    any: Mutex<AnyPartial>,
    answer: AnswerType,
    /// The type that indices and counts are had as.
    as_type: Option<Type>,
    in_any_order: bool,
}

impl Partial {
    fn new(any: AnyPartial, asked: &Asked) -> PyResult<Self> {
        let function = folds::function(asked).ok_or_else(|| PyTypeError::new_err("no such operator"))?;
        Ok(Self {
            any: Mutex::new(any),
            answer: function.answer(),
            in_any_order: function.in_any_order(),
            as_type: named::type_of_answers(asked.op),
        })
    }

    /// What it is in the library.
    pub fn any(&self) -> AnyPartial {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, AnyPartial> {
        self.any.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Partial {
    /// Takes what another has. An element may be in one of them alone; gaps are allowed. Any order of merges gives the same bytes.
    fn merge(&self, other: &Self) -> PyResult<()> {
        // Not both at once: two threads could wait for each other.
        let other = other.lock().clone();
        self.lock().merge(other).map_err(errors::of)
    }

    /// The runs of elements that it has, as (first, end), in their order.
    #[getter]
    fn ranges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.lock().runs().map(|run| (run.start, run.end)))
    }

    /// Whether any order of the elements gives the same answer: then it keeps one state, and no elements, however its runs lie.
    #[getter]
    fn in_any_order(&self) -> bool {
        self.in_any_order
    }

    /// The shape of the answers: () where a whole array is folded.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.lock().shape())
    }

    /// The answer of an array of that many elements, or those of extents of so many: NumPy's. It must have all of them.
    fn finish<'py>(&self, py: Python<'py>, length: u64) -> PyResult<Bound<'py, PyAny>> {
        let answers = self.lock().finish(length).map_err(errors::of)?;
        answers::as_library(py, Library::Numpy, self.answer, answers, self.as_type)
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.lock().to_bytes())
    }

    /// The partial of such bytes.
    #[classmethod]
    fn from_bytes(_: &Bound<'_, PyType>, data: Cow<'_, [u8]>) -> PyResult<Self> {
        of_bytes(&data)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        use pyo3::types::PyAnyMethods as _;
        let bytes = slf.get().__bytes__(slf.py());
        Ok((slf.get_type().getattr("from_bytes")?, (bytes,)))
    }

    fn __repr__(&self) -> String {
        let any = self.lock();
        let runs: Vec<String> = any.runs().map(|run| format!("{}:{}", run.start, run.end)).collect();
        format!(
            "<warpfold.Partial of shape {:?}, elements {}>",
            any.shape(),
            runs.join(", ")
        )
    }
}

/// Finds the operator that bytes are of, and has it read them.
fn of_bytes(bytes: &[u8]) -> PyResult<Partial> {
    let Head { signature, .. } = Head::of(bytes).map_err(errors::of)?;
    if !signature.steps.is_empty() {
        return Err(PyValueError::new_err(
            "a partial behind a step, which Python has none of",
        ));
    }
    let masked = signature.operands == Operands::Masked;
    let asked = folds::named(&signature.op, signature.element, masked, signature.parameter)
        .ok_or_else(|| PyValueError::new_err(format!("a partial of {}, which Python has not", signature.op)))?;
    let function = folds::function(&asked).expect("it was found");
    Partial::new(function.partial_from_bytes(bytes)?, &asked)
}

/// What some elements of an array fold to, by the operator of that name: those of x, the first of which is element `first` of the whole.
///
/// op: a reduction's name, such as "sum", "max", "argmax", "var". axis: of several axes, the first folded one is the one that is split, and `first`
/// is counted in elements of an answer's extent. The rest is as of the reduction. An array in a GPU's memory is folded there, and the call waits.
#[pyfunction]
#[pyo3(signature = (op, x, /, *, first=0, axis=None, r#where=None, nan=Nan::Propagate, accuracy=Rounding::default(), correction=None, ord=None, y=None), text_signature = "(op, x, /, *, first=0, axis=None, where=None, nan='propagate', accuracy='native', correction=None, ord=None, y=None)")]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn partial<'py>(
    op: &str,
    x: &Bound<'py, PyAny>,
    first: u64,
    axis: Option<&Bound<'py, PyAny>>,
    r#where: Option<&Bound<'py, PyAny>>,
    nan: Nan,
    accuracy: Rounding,
    correction: Option<f64>,
    ord: Option<f64>,
    y: Option<&Bound<'py, PyAny>>,
) -> PyResult<Partial> {
    let x = Array::of(x, "x")?;
    let mask = r#where.map(|mask| Array::of(mask, "where")).transpose()?;
    let y = y.map(|second| Array::of(second, "y")).transpose()?;
    let keywords = Keywords {
        nan,
        accuracy,
        correction,
        ord,
        masked: mask.is_some(),
        of_two: y.is_some(),
    };
    let Named {
        asked,
        function,
        x,
        as_type,
    } = reduce::by_name(op, x, &keywords)?;
    if as_type == Some(Type::Bool) {
        return Err(PyTypeError::new_err(format!(
            "x: partials of {op} are of numbers; cast bool to uint8"
        )));
    }
    let axes = options::axes(axis)?;
    let any = folded(&*function, x, [mask, y], axes.as_deref(), first)?;
    Partial::new(any, &asked)
}

/// What elements of an array fold to, under a mask or with a second array: on the device where they are, if it can.
pub fn folded(
    function: &dyn AnyFold,
    x: Array<'_>,
    [mask, y]: [Option<Array<'_>>; 2],
    axes: Option<&[i64]>,
    first: u64,
) -> PyResult<AnyPartial> {
    let second = named::second(&x, mask.as_ref(), y.as_ref())?;
    if let Device::Cuda(device) = x.device
        && let Some(any) = gpu::partial(device, function, &x, second, axes, first)?
    {
        return Ok(any);
    }
    let x = x.on_host()?;
    let [mask, y] = [mask, y].map(|other| other.map(Array::on_host).transpose());
    let (mask, y) = (mask?, y?);
    let second = named::second(&x, mask.as_ref(), y.as_ref())?;
    debug_assert!(x.device == Device::Cpu, "brought to the host");
    function.partial(x.object.py(), &x, second, axes, first)
}

/// Shares out `length` elements among `parts`, at whole leaves of the tree, as (first, end): parts whose partials are small.
#[pyfunction]
#[pyo3(signature = (length, parts, /, dtype))]
pub fn split(length: u64, parts: usize, dtype: &Bound<'_, PyAny>) -> PyResult<Vec<(u64, u64)>> {
    if parts == 0 {
        return Err(PyValueError::new_err(
            "parts: 0; elements are shared out among at least one",
        ));
    }
    let leaf = dtypes::of_argument(dtype)?.leaf_elements();
    Ok(split_elements(length, parts, leaf)
        .into_iter()
        .map(|part| (part.start, part.end))
        .collect())
}
