//! Row operations of arrays in a GPU's memory.

use pyo3::{PyResult, exceptions::PyValueError};
use warpfold::{
    Error,
    gpu::{Gpu, PreparedRow, RawStream, RowPlaces, Workspace},
    layout::Layout,
    ops::element::{Type, bf16, f16},
    row::{Later, Operation, Row},
};

use super::{
    Beside, Out, Second, Wanted,
    takes::{RowType, SecondOperand, Takes},
};
use crate::{
    arrays::{Array, Lies, New},
    errors, gpu,
};

/// What a plan of rows is for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RowKey {
    /// The operation, and bits of its parameters.
    pub(super) op: (&'static str, [u64; 5]),
    /// Whether targets are of 64 bits.
    pub(super) targets: Option<Type>,
    pub(super) elements: [Type; 2],
    pub(super) x: Lies,
    pub(super) second: Option<(Second, Lies)>,
}

/// Rows made ready, their types forgotten.
pub trait AnyRow: Send + Sync {
    /// A workspace that fits.
    fn workspace(&self) -> Result<Workspace, Error>;
    /// Enqueues them.
    ///
    /// # Safety
    ///
    /// As [`PreparedRow::launch_raw`].
    unsafe fn launch(&self, stream: RawStream, places: &RowPlaces, workspace: &mut Workspace) -> Result<(), Error>;
}

impl<T: RowType, U: RowType> AnyRow for PreparedRow<T, U> {
    fn workspace(&self) -> Result<Workspace, Error> {
        Self::workspace(self)
    }
    unsafe fn launch(&self, stream: RawStream, places: &RowPlaces, workspace: &mut Workspace) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        unsafe { self.launch_raw(stream, places, workspace) }
    }
}

/// Rows, and where.
pub(super) struct RowsAt<'a> {
    pub(super) plan: &'a dyn AnyRow,
    pub(super) places: RowPlaces,
}

impl gpu::Launch for RowsAt<'_> {
    fn workspace(&self) -> Result<Workspace, Error> {
        self.plan.workspace()
    }
    fn launch(&self, stream: RawStream, workspace: &mut Workspace) -> Result<(), Error> {
        // SAFETY: as folds are launched. What is written is new, or an `out` that was asked for.
        unsafe { self.plan.launch(stream, &self.places, workspace) }
    }
}

pub(super) fn mapped<'py, Op: Takes>(
    x: &Array<'py>,
    device: usize,
    row: Row<'_, Op>,
    beside: &Beside<'_, 'py>,
    wanted: Wanted<'_, 'py>,
) -> PyResult<Out<'py>> {
    let (py, out_type) = (x.object.py(), wanted.out_type.unwrap_or(x.element));
    let row = later(row, beside)?;
    let device = &*gpu::device(py, device)?;
    let key = RowKey {
        op: wanted.op,
        elements: [x.element, out_type],
        x: x.lies(),
        targets: beside.targets.map(|(targets, _)| targets.element),
        second: beside.second.map(|(second, array)| (second, array.lies())),
    };
    // A launch is told where they are, and not how many there are.
    for (name, columns) in [("weight", beside.weight), ("bias", beside.bias)] {
        if let Some(columns) = columns.filter(|columns| columns.shape != [wanted.columns]) {
            return Err(PyValueError::new_err(format!(
                "{name}: its shape is {:?}, and on a GPU it must be {:?}: one for each column",
                columns.shape,
                [wanted.columns]
            )));
        }
    }
    let layout = x.layout()?;
    let element = x.element;
    let make = |gpu: &Gpu| prepared(gpu, &row, &layout, element, out_type).map_err(errors::of);
    let stream = gpu::Stream::current(x, device)?;
    let plan = py.detach(|| {
        let device = &mut *gpu::lock(device);
        device.rows.of(&device.gpu, &key, stream.is_capturing, make)
    })?;
    let new = match wanted.out {
        Some(out) => {
            out.check_out(x.device, out_type, &x.shape)?;
            None
        }
        None if wanted.maps => Some(New::on_device(x, out_type, &x.shape)?),
        None => None,
    };
    let has_sums = matches!(beside.second, Some((Second::Residual, _)));
    let sums = has_sums.then(|| New::on_device(x, x.element, &x.shape)).transpose()?;
    let mut known = [const { None }; 4];
    for (known, is_wanted) in known.iter_mut().zip(wanted.known) {
        if is_wanted {
            *known = Some(New::on_device(x, Type::F32, wanted.rows)?);
        }
    }
    let address = |new: &Option<New<'_>>| new.as_ref().map_or(0, New::address);
    let column = |array: Option<&Array<'_>>, name: &str| match array {
        None => Ok((0, None)),
        Some(array) if array.is_in_order() => Ok((array.address(), Some(array.element))),
        Some(_) => Err(PyValueError::new_err(format!("{name}: on a GPU it must be in C order"))),
    };
    let targets = match beside.targets {
        None => 0,
        Some((targets, _)) if targets.is_in_order() => targets.address(),
        Some(_) => return Err(PyValueError::new_err("targets: on a GPU they must be in C order")),
    };
    let places = RowPlaces {
        input: x.address(),
        other: beside.second.map_or(0, |(_, array)| array.address()),
        output: wanted.out.map_or_else(|| address(&new), Array::address),
        sums: address(&sums),
        weights: column(beside.weight, "weight")?,
        biases: column(beside.bias, "bias")?,
        targets,
        known: known.each_ref().map(address),
    };
    gpu::launch(x, device, stream, &RowsAt { plan: &**plan, places })?;
    let object = |new: Option<New<'py>>| new.map(|new| new.into_object(py)).transpose();
    let [a, b, c, d] = known;
    Ok(Out {
        values: match wanted.out {
            Some(out) => Some(out.object.clone()),
            None => object(new)?,
        },
        sums: object(sums)?,
        known: [object(a)?, object(b)?, object(c)?, object(d)?],
    })
}

/// The operation, of arrays that come with each launch.
fn later<'a, Op: Takes>(row: Row<'a, Op>, beside: &Beside<'_, '_>) -> PyResult<Row<'a, Op>> {
    let Some((second, array)) = beside.second else {
        return Ok(row);
    };
    let later = Later::of(&array.layout()?);
    let operand = match second {
        Second::Mask => SecondOperand::Mask(later.into()),
        Second::Added | Second::Residual | Second::Gradients => SecondOperand::Floats(later.into()),
    };
    Ok(Op::with_second(row, second, operand))
}

pub(super) fn prepared<Op: Operation>(
    gpu: &Gpu,
    row: &Row<'_, Op>,
    layout: &Layout,
    element: Type,
    out: Type,
) -> Result<Box<dyn AnyRow>, Error> {
    Ok(match (element, out) {
        (Type::F32, Type::F32) => Box::new(row.prepare::<f32, f32>(gpu, layout)?),
        (Type::F16, Type::F16) => Box::new(row.prepare::<f16, f16>(gpu, layout)?),
        (Type::F16, _) => Box::new(row.prepare::<f16, f32>(gpu, layout)?),
        (Type::Bf16, Type::Bf16) => Box::new(row.prepare::<bf16, bf16>(gpu, layout)?),
        (_, _) => Box::new(row.prepare::<bf16, f32>(gpu, layout)?),
    })
}
