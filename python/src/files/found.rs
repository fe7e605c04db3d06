//! What is found in files: faults, and in what two differ.

use std::path::{Path, PathBuf};

use pyo3::{
    Bound, PyResult, Python,
    exceptions::{PyTypeError, PyValueError},
    pyclass, pyfunction, pymethods,
    types::PyTuple,
};
use warpfold::{
    Error,
    files::{
        Checkpoint, Tensor,
        check::{Finding, check as findings, is_foreign},
        diff::{DifferentValues, Equality, Matched, compare, name_of},
    },
};

use crate::errors;

/// Something that was found in a file.
#[pyclass(module = "warpfold", frozen)]
pub struct Fault {
    name: Option<String>,
    kind: &'static str,
    count: u64,
    first: Option<Vec<u64>>,
    is_warning: bool,
    message: String,
}

impl Fault {
    fn of(name: Option<String>, finding: Finding) -> Self {
        Self {
            name,
            kind: finding.kind.name(),
            count: finding.count,
            first: finding.first,
            is_warning: finding.kind.is_warning(),
            message: finding.message,
        }
    }
}

#[pymethods]
impl Fault {
    /// The array; None of what is wrong with a file as a whole.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// "nan", "inf", "zeros", "constant"; "file" of what is short, spoiled or missing; "unread" of elements of a type that is not read.
    #[getter]
    fn kind(&self) -> &str {
        self.kind
    }

    /// How many elements.
    #[getter]
    fn count(&self) -> u64 {
        self.count
    }

    /// The index of the first of them, if they are NaN or infinite.
    #[getter]
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.first.as_ref().map(|index| PyTuple::new(py, index)).transpose()
    }

    /// Whether an array may well be so: all its elements are 0, or equal.
    #[getter]
    fn is_warning(&self) -> bool {
        self.is_warning
    }

    /// It in words.
    #[getter]
    fn message(&self) -> &str {
        &self.message
    }

    fn __repr__(&self) -> String {
        format!("<warpfold.Fault {}: {}>", self.kind, self.message)
    }
}

/// What is wrong with a file, a folder or a checkpoint: arrays that hold NaN or an infinity, and what is short, spoiled or missing. Each array is
/// read once. Arrays of zeros, or whose elements are all equal, are in the list, too, as warnings.
#[pyfunction]
#[pyo3(signature = (path, /))]
pub fn check(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Fault>> {
    py.detach(|| faults(&path)).map_err(errors::of)
}

fn faults(path: &Path) -> Result<Vec<Fault>, Error> {
    let of_file = |name: Option<&Tensor>, message: String| {
        let name = name.map(|tensor| name_of(tensor).to_owned());
        Fault::of(name, Finding::of_file(path.display().to_string(), message))
    };
    let checkpoint = match Checkpoint::open(path) {
        Ok(checkpoint) => checkpoint,
        Err(error) if is_foreign(&error) => return Err(error),
        Err(error) => return Ok(vec![of_file(None, error.to_string())]),
    };
    let whole = checkpoint.faults().iter();
    let mut all: Vec<Fault> = whole
        .map(|fault| of_file(None, format!("{}: {fault}", checkpoint.path().display())))
        .collect();
    for tensor in checkpoint.tensors() {
        match findings(tensor, &mut |_| {}) {
            Ok(Some(found)) => {
                let name = || Some(name_of(tensor).to_owned());
                all.extend(found.into_iter().map(|finding| Fault::of(name(), finding)));
            }
            Ok(None) => {
                let (label, dtype) = (tensor.label(), tensor.dtype_name());
                let message = format!("{}: elements of type {dtype} are not read", label.display());
                all.push(Fault {
                    kind: "unread",
                    ..of_file(Some(tensor), message)
                });
            }
            Err(error) => all.push(of_file(Some(tensor), error.to_string())),
        }
    }
    Ok(all)
}

/// In what two arrays of one name differ, or which of two files has an array alone.
#[pyclass(module = "warpfold", frozen)]
pub struct Difference {
    name: String,
    /// Of the first and of the second file's, where each has it.
    dtypes: [Option<String>; 2],
    shapes: [Option<Vec<u64>>; 2],
    values: Option<DifferentValues>,
}

impl Difference {
    fn of(tensors: [Option<&Tensor>; 2], values: Option<DifferentValues>) -> Self {
        let any = tensors[0].or(tensors[1]);
        Self {
            name: any.map_or("", name_of).to_owned(),
            dtypes: tensors.map(|tensor| Some(tensor?.dtype_name().to_owned())),
            shapes: tensors.map(|tensor| Some(tensor?.shape().to_vec())),
            values,
        }
    }
}

#[pymethods]
impl Difference {
    /// The array's.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The types of both; None for a file that has it not.
    #[getter]
    fn dtypes(&self) -> (Option<&str>, Option<&str>) {
        let [a, b] = &self.dtypes;
        (a.as_deref(), b.as_deref())
    }

    /// The shapes of both; None for a file that has it not.
    #[getter]
    fn shapes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let shape = |shape: &Option<Vec<u64>>| shape.as_ref().map(|shape| PyTuple::new(py, shape)).transpose();
        let [a, b] = &self.shapes;
        PyTuple::new(py, [shape(a)?, shape(b)?])
    }

    /// How many elements differ. None where shapes do, or a file has it not; so of what follows.
    #[getter]
    fn differing(&self) -> Option<u64> {
        self.values.as_ref().map(|values| values.differing)
    }

    /// The largest difference.
    #[getter]
    fn largest(&self) -> Option<f64> {
        self.values.as_ref().map(|values| values.largest)
    }

    /// The index of the first element that differs by that much.
    #[getter]
    fn at<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let at = self.values.as_ref().and_then(|values| values.at.as_ref());
        at.map(|index| PyTuple::new(py, index)).transpose()
    }

    /// The L2 norm of the differences over that of the first array.
    #[getter]
    fn relative_l2(&self) -> Option<f64> {
        self.values.as_ref().map(|values| values.relative_l2)
    }

    /// The cosine of the angle between both.
    #[getter]
    fn cosine(&self) -> Option<f64> {
        self.values.as_ref().map(|values| values.cosine)
    }

    fn __repr__(&self) -> String {
        let what = match (&self.shapes, &self.values) {
            ([Some(_), None], _) => "only in the first".to_owned(),
            ([None, _], _) => "only in the second".to_owned(),
            ([Some(a), Some(b)], None) => format!("shape {a:?} and {b:?}"),
            (_, Some(values)) => format!("{} elements differ, by {:?} at most", values.differing, values.largest),
        };
        format!("<warpfold.Difference {:?}: {what}>", self.name)
    }
}

/// In what the arrays of two files differ, name by name; where each has one array, these. Of equal files an empty list.
///
/// Arrays are equal if their types, shapes and bits are. tolerance: if no two elements differ by more. nan_equal: a NaN is equal to a NaN. Types that
/// differ are compared as float64.
#[pyfunction]
#[pyo3(signature = (a, b, /, *, tolerance=None, nan_equal=false))]
pub fn diff(
    py: Python<'_>,
    a: PathBuf,
    b: PathBuf,
    tolerance: Option<f64>,
    nan_equal: bool,
) -> PyResult<Vec<Difference>> {
    if let Some(wrong) = tolerance.filter(|tolerance| tolerance.is_nan() || *tolerance < 0.0) {
        return Err(PyValueError::new_err(format!("tolerance: {wrong} is no distance")));
    }
    let by = Equality { tolerance, nan_equal };
    py.detach(|| {
        let (a, b) = (tensors(&a)?, tensors(&b)?);
        differences(&a, &b, by)
    })
}

/// All arrays of a path, of which none may be missing.
fn tensors(path: &Path) -> PyResult<Vec<Tensor>> {
    let checkpoint = Checkpoint::open(path).map_err(errors::of)?;
    if let Some(fault) = checkpoint.faults().first() {
        let path = path.to_path_buf();
        let fault = fault.clone();
        return Err(errors::of(Error::Checkpoint { path, fault }));
    }
    Ok(checkpoint.tensors().cloned().collect())
}

fn differences(a: &[Tensor], b: &[Tensor], by: Equality) -> PyResult<Vec<Difference>> {
    let Matched {
        both,
        only_in_a,
        only_in_b,
    } = Matched::of(a, b);
    let mut all = vec![];
    for [a, b] in both {
        let found = compare(a, b, by, &mut |_| {}).map_err(errors::of)?;
        let found = found.ok_or_else(|| {
            let (of_a, of_b) = (a.dtype_name(), b.dtype_name());
            PyTypeError::new_err(format!(
                "{} is of {of_a}, and {} of {of_b}: complex numbers are compared with those of their type",
                a.label().display(),
                b.label().display()
            ))
        })?;
        if !found.equal {
            all.push(Difference::of([Some(a), Some(b)], found.values));
        }
    }
    all.extend(only_in_a.into_iter().map(|a| Difference::of([Some(a), None], None)));
    all.extend(only_in_b.into_iter().map(|b| Difference::of([None, Some(b)], None)));
    Ok(all)
}
