//! What waits for the GPU: partials, descriptions and numbers of distinct elements.

use bytemuck::NoUninit;
use pyo3::PyResult;
use warpfold::{
    DeviceView, Error, PartialFault,
    dynamic::AnyPartial,
    fold,
    gpu::Gpu,
    layout::{Axes, Folded},
    ops::{
        Describe, Reduction, Summary,
        element::{Element, Float},
    },
};

use super::{Laid, Stream, device, lock};
use crate::{
    arrays::Array,
    errors,
    folds::{AnyFold, Second},
};

/// Runs it once all is done that was enqueued before, which may still write the arrays. `what` is what a stream that is captured does not take.
fn waited<A: Send>(
    index: usize,
    x: &Array<'_>,
    what: &str,
    run: impl FnOnce(&Gpu) -> Result<A, Error> + Send,
) -> PyResult<Result<A, Error>> {
    let py = x.object.py();
    let device = &*device(py, index)?;
    Stream::that_waits(x, device, what)?;
    Ok(py.detach(|| {
        let gpu = lock(device).gpu.clone();
        gpu.synchronize()?;
        run(&gpu)
    }))
}

/// Folds a part of an array in a GPU's memory. None where that has no such kernel, or none for such axes: the CPU has.
pub fn partial(
    index: usize,
    function: &dyn AnyFold,
    x: &Array<'_>,
    second: Second<'_, '_>,
    axes: Option<&[i64]>,
    first: u64,
) -> PyResult<Option<AnyPartial>> {
    let layouts = Laid::of(x, second)?;
    let arrays = [x.address(), second.array().map_or(0, Array::address)];
    let folded = waited(index, x, "partials", |gpu| {
        let prepared = function.prepare_partial(gpu, layouts.borrowed(), axes, first)?;
        // SAFETY: the arrays' library says that they are where they are; nothing frees them during the call.
        unsafe { prepared.fold_raw(arrays) }
    })?;
    match folded {
        Ok(partial) => Ok(Some(partial)),
        Err(Error::NoKernel { .. } | Error::Partial(PartialFault::Axes)) => Ok(None),
        Err(error) => Err(errors::of(error)),
    }
}

/// Describes an array in a GPU's memory.
pub fn described<T>(index: usize, x: &Array<'_>, op: Describe, axes: Axes) -> PyResult<Folded<Summary<T>>>
where
    T: Float + Element<Total = T> + NoUninit,
    Describe: Reduction<T, Answer = Summary<T>>,
{
    let (address, layout) = (x.address(), x.layout()?);
    let (_, len) = x.reach()?;
    let described = waited(index, x, "descriptions", |gpu| {
        // SAFETY: as of partials.
        let view = unsafe { DeviceView::<T>::from_raw(address, len as u64) };
        fold(op).along(axes).on(gpu, view.with_layout(&layout)?)
    })?;
    described.map_err(errors::of)
}

/// Counts the distinct elements of an array in a GPU's memory.
pub fn distinct<T: Element>(index: usize, x: &Array<'_>, axes: &Axes) -> PyResult<Folded<u64>> {
    let (address, layout) = (x.address(), x.layout()?);
    let counted = waited(index, x, "numbers of distinct elements", |gpu| {
        // SAFETY: as of partials.
        unsafe { gpu.distinct_axes_raw::<T>(address, &layout, axes) }
    })?;
    counted.map_err(errors::of)
}
