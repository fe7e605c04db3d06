//! Norms of lists of arrays in a GPU's memory.

use pyo3::{Bound, PyAny, PyResult, types::PyAnyMethods as _};
use warpfold::{
    Error,
    gpu::{Gpu, NORM_BYTES, PreparedNorm, RawStream, Tensors, Workspace},
    gradients::{Order, grad_norm},
    ops::element::Type,
};

use super::{Launch, Stream, device, launch, lock};
use crate::{
    arrays::{Array, New},
    errors,
};

/// The order's number as bits; of each array its type, how many elements it has and where.
pub type Key = (u64, Vec<(Type, u64, u64)>);

/// A list that was planned, and the table of its arrays, which holds while they lie where they do.
pub struct List {
    plan: PreparedNorm,
    arrays: Tensors,
}

/// A list, and where its norm goes.
struct ListAt<'a> {
    list: &'a List,
    answer: u64,
}

impl Launch for ListAt<'_> {
    fn workspace(&self) -> Result<Workspace, Error> {
        self.list.plan.workspace()
    }
    fn launch(&self, stream: RawStream, workspace: &mut Workspace) -> Result<(), Error> {
        // SAFETY: as folds are launched; the table is of these very addresses, and kept with the plan.
        unsafe {
            self.list
                .plan
                .launch_raw(stream, &self.list.arrays, self.answer, workspace)
        }
    }
}

/// The norm of arrays in order, all in that GPU's memory: of float32, of the first one's library. Does not wait.
pub fn norm<'py>(index: usize, ord: f64, arrays: &[Array<'py>]) -> PyResult<Bound<'py, PyAny>> {
    let first = &arrays[0];
    let py = first.object.py();
    let device = &*device(py, index)?;
    let each = arrays.iter().map(|array| (array.element, array.len(), array.address()));
    let key: Key = (ord.to_bits(), each.collect());
    let make = |gpu: &Gpu| {
        let lengths: Vec<_> = key.1.iter().map(|(element, len, _)| (*element, *len)).collect();
        let addresses: Vec<_> = key.1.iter().map(|(.., address)| *address).collect();
        let plan = grad_norm(Order::of(ord)).prepare(gpu, &lengths).map_err(errors::of)?;
        let arrays = plan.tensors(&addresses).map_err(errors::of)?;
        Ok(List { plan, arrays })
    };
    let stream = Stream::current(first, device)?;
    let list = py.detach(|| {
        let device = &mut *lock(device);
        device.lists.of(&device.gpu, &key, stream.is_capturing, make)
    })?;
    let new = New::on_device(first, Type::F32, &[(NORM_BYTES / 4) as u64])?;
    let at = ListAt {
        list: &list,
        answer: new.address(),
    };
    launch(first, device, stream, &at)?;
    new.into_object(py)?.get_item(0)
}
