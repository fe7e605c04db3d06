//! The gradients of row operations, for functions that have them: warpfold.torch's.

use pyo3::{
    Bound, PyAny, PyResult,
    exceptions::{PyTypeError, PyValueError},
    pyfunction,
};
use warpfold::{
    ops::element::{Type, bf16, f16},
    row::{self, MeanAndDeviation, NormKnown, Operand, Operation, ReciprocalRoot, Row},
};

use super::{Second, calls::rows_of, cpu::floats, takes::RowType};
use crate::{
    arrays::{Array, Device},
    dtypes, errors,
    options::Causal,
};

/// A gradient's arrays.
struct Arrays<'a, 'py> {
    x: &'a Array<'py>,
    dy: &'a Array<'py>,
    weight: Option<&'a Array<'py>>,
    /// Of each row a mean, if there is one, and a reciprocal: in order, of float32.
    known: [Option<&'a Array<'py>>; 2],
}

impl Arrays<'_, '_> {
    /// That they fit, rows lying along that axis: a launch is told where they are, and not how many there are.
    fn check(&self, axis: i64) -> PyResult<()> {
        let Self { x, dy, weight, known } = self;
        let rows: u64 = rows_of(x, axis)?.iter().product();
        let columns = x.shape[axis.rem_euclid(x.shape.len() as i64) as usize];
        if known.iter().flatten().any(|known| known.len() != rows)
            || weight.is_some_and(|weight| weight.shape != [columns])
        {
            return Err(PyValueError::new_err(format!(
                "a norm of {rows} rows knew as many numbers, and has a weight for each of {columns} columns"
            )));
        }
        if dy.element != x.element || dy.shape != x.shape {
            let (got, needed) = (dtypes::name(dy.element), dtypes::name(x.element));
            return Err(PyValueError::new_err(format!(
                "dy: it is {got} of shape {:?}, and must be {needed} of shape {:?}",
                dy.shape, x.shape
            )));
        }
        for known in known.iter().flatten() {
            if known.element != Type::F32 || !known.is_in_order() {
                return Err(PyValueError::new_err("what a norm knew of rows is float32, in C order"));
            }
        }
        let others = [Some(*dy), *weight, known[0], known[1]];
        if let Some(other) = others.into_iter().flatten().find(|other| other.device != x.device) {
            return Err(PyValueError::new_err(format!(
                "x is on {}, and what goes with it on {}",
                x.device, other.device
            )));
        }
        Ok(())
    }

    /// What is known of rows, of arrays in host memory.
    fn known(&self) -> PyResult<[Vec<f32>; 2]> {
        let numbers = |array: &Option<&Array<'_>>| -> PyResult<Vec<f32>> {
            let Some(array) = array.filter(|array| array.device == Device::Cpu) else {
                return Ok(vec![]);
            };
            Ok(array.elements::<f32>()?.to_vec())
        };
        Ok([numbers(&self.known[0])?, numbers(&self.known[1])?])
    }
}

/// Calls a function of elements' type with what follows.
macro_rules! of_type {
    ($element:expr, $call:ident$(::<$op:tt>)?($($argument:expr),*)) => {
        match $element {
            Type::F32 => $call::<f32 $(, $op)?>($($argument),*),
            Type::F16 => $call::<f16 $(, $op)?>($($argument),*),
            Type::Bf16 => $call::<bf16 $(, $op)?>($($argument),*),
            other => {
                let name = dtypes::name(other);
                Err(PyTypeError::new_err(format!("x: gradients are of float32, float16 and bfloat16, and this is of {name}")))
            }
        }
    };
}

/// The gradient of softmax, or of its logarithm, by its inputs: of its answers y and their gradients dy.
#[pyfunction]
#[pyo3(name = "_softmax_gradient", signature = (y, dy, /, *, axis=-1, scale=1.0, causal=None, log=false))]
pub fn softmax_gradient<'py>(
    y: &Bound<'py, PyAny>,
    dy: &Bound<'py, PyAny>,
    axis: i64,
    scale: f32,
    causal: Option<Causal>,
    log: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (y, dy) = (Array::of(y, "y")?, Array::of(dy, "dy")?);
    rows_of(&y, axis)?;
    let arrays = Arrays {
        x: &y,
        dy: &dy,
        weight: None,
        known: [None; 2],
    };
    arrays.check(axis)?;
    let numbers = [
        axis as u64,
        scale.to_bits().into(),
        u64::from(causal.is_some()),
        causal.map_or(0, |Causal(offset)| offset) as u64,
        0,
    ];
    if log {
        let make = |dy| {
            let row = row::log_softmax_gradient(dy).axis(axis).scaled_by(scale);
            if let Some(Causal(offset)) = causal {
                row.causal_by(offset)
            } else {
                row
            }
        };
        of_type!(
            y.element,
            gradient::<_>(&arrays, ("log_softmax_gradient", numbers), make)
        )
    } else {
        let make = |dy| {
            let row = row::softmax_gradient(dy).axis(axis).scaled_by(scale);
            if let Some(Causal(offset)) = causal {
                row.causal_by(offset)
            } else {
                row
            }
        };
        of_type!(y.element, gradient::<_>(&arrays, ("softmax_gradient", numbers), make))
    }
}

/// The gradient of a norm by its inputs x: of the gradients dy of its answers, and what it knew of rows; without means that of the root-mean-square norm.
#[pyfunction]
#[pyo3(name = "_norm_gradient", signature = (x, dy, mean, reciprocal, weight=None, /, *, axis=-1, one_plus_weight=false))]
pub fn norm_gradient<'py>(
    x: &Bound<'py, PyAny>,
    dy: &Bound<'py, PyAny>,
    mean: Option<&Bound<'py, PyAny>>,
    reciprocal: &Bound<'py, PyAny>,
    weight: Option<&Bound<'py, PyAny>>,
    axis: i64,
    one_plus_weight: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, dy) = (Array::of(x, "x")?, Array::of(dy, "dy")?);
    rows_of(&x, axis)?;
    let weight = weight.map(|weight| Array::of(weight, "weight")).transpose()?;
    let mean = mean.map(|mean| Array::of(mean, "mean")).transpose()?;
    let reciprocal = Array::of(reciprocal, "reciprocal")?;
    let arrays = Arrays {
        x: &x,
        dy: &dy,
        weight: weight.as_ref(),
        known: [mean.as_ref(), Some(&reciprocal)],
    };
    arrays.check(axis)?;
    let [means, reciprocals] = arrays.known()?;
    let on_cpu = x.device == Device::Cpu;
    let weights = || {
        weight
            .as_ref()
            .filter(|_| on_cpu)
            .map(|weight| floats(weight, "weight"))
            .transpose()
    };
    let weights = weights()?;
    let numbers = [axis as u64, one_plus_weight.into(), weight.is_some().into(), 0, 0];
    if mean.is_some() {
        let known = MeanAndDeviation {
            mean: means,
            reciprocal_deviation: reciprocals,
        };
        let make = |dy| {
            let row = row::layer_norm_gradient(dy, &known).axis(axis);
            if let Some(weights) = weights.clone() {
                row.weight(weights)
            } else {
                row
            }
        };
        of_type!(
            x.element,
            gradient::<_>(&arrays, ("layer_norm_gradient", numbers), make)
        )
    } else {
        let known = ReciprocalRoot {
            reciprocal_root: reciprocals,
        };
        let make = |dy| {
            let row = row::rms_norm_gradient(dy, &known).axis(axis);
            let row = if one_plus_weight { row.one_plus_weight() } else { row };
            if let Some(weights) = weights.clone() {
                row.weight(weights)
            } else {
                row
            }
        };
        of_type!(x.element, gradient::<_>(&arrays, ("rms_norm_gradient", numbers), make))
    }
}

/// Operations of gradients that are made of the gradients of answers.
fn gradient<'a, 'py, T: RowType, Op: Operation + Send + Sync>(
    arrays: &'a Arrays<'a, 'py>,
    op: (&'static str, [u64; 5]),
    make: impl Fn(Operand<'a>) -> Row<'a, Op>,
) -> PyResult<Bound<'py, PyAny>>
where
    Op::Known: Send,
{
    let Arrays { x, dy, .. } = arrays;
    match x.device {
        Device::Cpu => {
            let row = make(T::operand(dy.view::<T>(false)?));
            let view = x.view::<T>(false)?;
            let mapped = x.object.py().detach(|| row.on_cpu::<_, T>(view)).map_err(errors::of)?;
            x.like(x.element, &mapped.shape, bytemuck::cast_slice(&mapped.values))
        }
        Device::Cuda(device) => on_gpu(arrays, device, op, make),
    }
}

fn on_gpu<'a, 'py, Op: Operation + Send + Sync>(
    arrays: &'a Arrays<'a, 'py>,
    device: usize,
    op: (&'static str, [u64; 5]),
    make: impl Fn(Operand<'a>) -> Row<'a, Op>,
) -> PyResult<Bound<'py, PyAny>> {
    use super::gpu::{RowKey, RowsAt, prepared};
    use crate::{arrays::New, gpu};
    use warpfold::{gpu::RowPlaces, row::Later};

    let Arrays { x, dy, weight, known } = arrays;
    let py = x.object.py();
    let device = &*gpu::device(py, device)?;
    let key = RowKey {
        op,
        targets: None,
        elements: [x.element; 2],
        x: x.lies(),
        second: Some((Second::Gradients, dy.lies())),
    };
    let row = make(Later::of(&dy.layout()?).into());
    let (layout, element) = (x.layout()?, x.element);
    let stream = gpu::Stream::current(x, device)?;
    let plan = py.detach(|| {
        let device = &mut *gpu::lock(device);
        let make = |gpu: &warpfold::gpu::Gpu| prepared(gpu, &row, &layout, element, element).map_err(errors::of);
        device.rows.of(&device.gpu, &key, stream.is_capturing, make)
    })?;
    let new = New::on_device(x, x.element, &x.shape)?;
    if let Some(weight) = weight.filter(|weight| !weight.is_in_order()) {
        return Err(PyValueError::new_err(format!(
            "weight: of shape {:?}, on a GPU it must be in C order",
            weight.shape
        )));
    }
    let [mean, reciprocal] = known.map(|known| known.map_or(0, Array::address));
    let places = RowPlaces {
        input: x.address(),
        other: dy.address(),
        output: new.address(),
        weights: weight.map_or((0, None), |weight| (weight.address(), Some(weight.element))),
        known: [mean, reciprocal, 0, 0],
        ..RowPlaces::default()
    };
    gpu::launch(x, device, stream, &RowsAt { plan: &**plan, places })?;
    new.into_object(py)
}

/// The gradients of a norm's weights and biases, as one array of float32: a row of those of weights, and one of those of biases. Rows lie along the last axis.
#[pyfunction]
#[pyo3(name = "_norm_column_gradients", signature = (x, dy, mean, reciprocal, /))]
pub fn norm_column_gradients<'py>(
    x: &Bound<'py, PyAny>,
    dy: &Bound<'py, PyAny>,
    mean: Option<&Bound<'py, PyAny>>,
    reciprocal: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x, dy) = (Array::of(x, "x")?, Array::of(dy, "dy")?);
    rows_of(&x, -1)?;
    let mean = mean.map(|mean| Array::of(mean, "mean")).transpose()?;
    let reciprocal = Array::of(reciprocal, "reciprocal")?;
    let arrays = Arrays {
        x: &x,
        dy: &dy,
        weight: None,
        known: [mean.as_ref(), Some(&reciprocal)],
    };
    arrays.check(-1)?;
    let [means, reciprocals] = arrays.known()?;
    if mean.is_some() {
        let known = MeanAndDeviation {
            mean: means,
            reciprocal_deviation: reciprocals,
        };
        of_type!(x.element, columns(&arrays, &known))
    } else {
        let known = ReciprocalRoot {
            reciprocal_root: reciprocals,
        };
        of_type!(x.element, columns(&arrays, &known))
    }
}

fn columns<'py, T: RowType>(arrays: &Arrays<'_, 'py>, known: &(impl NormKnown + Sync)) -> PyResult<Bound<'py, PyAny>> {
    let Arrays { x, dy, .. } = arrays;
    let shape = [2, x.shape.last().copied().unwrap_or(0)];
    match x.device {
        Device::Cpu => {
            let sums = row::norm_column_gradients(T::operand(dy.view::<T>(false)?), known);
            let view = x.view::<T>(false)?;
            let sums = x.object.py().detach(|| sums.on_cpu(view)).map_err(errors::of)?;
            let all: Vec<f32> = sums.weight.into_iter().chain(sums.bias).collect();
            x.like(Type::F32, &shape, bytemuck::cast_slice(&all))
        }
        Device::Cuda(device) => columns_on_gpu::<T>(arrays, device, known, &shape),
    }
}

fn columns_on_gpu<'py, T: RowType>(
    arrays: &Arrays<'_, 'py>,
    device: usize,
    known: &impl NormKnown,
    shape: &[u64],
) -> PyResult<Bound<'py, PyAny>> {
    use crate::{arrays::New, gpu};
    use warpfold::{gpu::ColumnPlaces, row::Later};

    let Arrays {
        x,
        dy,
        known: [mean, reciprocal],
        ..
    } = arrays;
    let py = x.object.py();
    let device = &*gpu::device(py, device)?;
    let key = gpu::ColumnsKey {
        element: x.element,
        x: x.lies(),
        dy: dy.lies(),
    };
    let stream = gpu::Stream::current(x, device)?;
    let (layout, gradients) = (x.layout()?, dy.layout()?);
    let plan = {
        let device = &mut *gpu::lock(device);
        device.columns.of(&device.gpu, &key, stream.is_capturing, |gpu| {
            let sums = row::norm_column_gradients(Later::of(&gradients), known);
            let prepared = sums.prepare::<T>(gpu, &layout).map_err(errors::of)?;
            Ok(Box::new(prepared) as Box<dyn gpu::AnyColumns>)
        })?
    };
    let new = New::on_device(x, Type::F32, shape)?;
    let places = ColumnPlaces {
        input: x.address(),
        gradients: dy.address(),
        means: mean.map_or(0, Array::address),
        reciprocals: reciprocal.map_or(0, Array::address),
        output: new.address(),
    };
    gpu::launch(x, device, stream, &gpu::ColumnsAt { plan: &**plan, places })?;
    new.into_object(py)
}
