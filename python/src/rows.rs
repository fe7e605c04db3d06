//! The row operations: what each takes is attached to it, and it is mapped on the CPU or a GPU.

mod calls;
mod cpu;
mod gpu;
mod gradients;
mod losses;
mod takes;

pub use calls::{group_norm, layer_norm, log_softmax, rms_norm, softmax};
pub use gpu::{AnyRow, RowKey};
pub use gradients::{norm_column_gradients, norm_gradient, softmax_gradient};
pub use losses::{Losses, cross_entropy, cross_entropy_gradient};

use pyo3::{Bound, PyAny, PyErr, PyResult, exceptions::PyTypeError};
use warpfold::{
    ops::element::Type,
    row::{Operation, Row},
};

use crate::{
    arrays::{Array, Device},
    dtypes,
};
use takes::Takes;

/// What is read beside the array that is mapped.
pub struct Beside<'a, 'py> {
    pub second: Option<(Second, &'a Array<'py>)>,
    pub weight: Option<&'a Array<'py>>,
    pub bias: Option<&'a Array<'py>>,
    /// Indices of each row's target, and which is none.
    pub targets: Option<(&'a Array<'py>, i64)>,
}

/// What the second array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Second {
    Mask,
    Added,
    Residual,
    /// Of a gradient those of the answers.
    Gradients,
}

impl Second {
    /// The argument that it is.
    fn argument(self) -> &'static str {
        match self {
            Self::Mask => "mask",
            Self::Added => "bias",
            Self::Residual => "residual",
            Self::Gradients => "dy",
        }
    }
}

impl Beside<'_, '_> {
    pub const NOTHING: Beside<'static, 'static> = Beside {
        second: None,
        weight: None,
        bias: None,
        targets: None,
    };

    fn arrays(&self) -> impl Iterator<Item = (&'static str, &Array<'_>)> {
        let second = self.second.map(|(second, array)| (second.argument(), array));
        let targets = self.targets.map(|(targets, _)| ("targets", targets));
        let weight = self.weight.map(|weight| ("weight", weight));
        let bias = self.bias.map(|bias| ("bias", bias));
        [second, weight, bias, targets].into_iter().flatten()
    }
}

/// What came of it, as arrays.
pub struct Out<'py> {
    /// The answers, unless the operation only knows something of rows.
    pub values: Option<Bound<'py, PyAny>>,
    /// The sums with a residual.
    pub sums: Option<Bound<'py, PyAny>>,
    /// What is known of rows, as far as it was asked for.
    pub known: [Option<Bound<'py, PyAny>>; 4],
}

/// What is asked for.
#[derive(Clone, Copy)]
pub struct Wanted<'a, 'py> {
    /// The type of the answers; that of the elements where it is not said.
    pub out_type: Option<Type>,
    pub out: Option<&'a Array<'py>>,
    pub known: [bool; 4],
    /// Whether there are answers for elements.
    pub maps: bool,
    /// The shape of what is known of rows.
    pub rows: &'a [u64],
    /// How many weights there are, if there are any.
    pub columns: u64,
    /// The operation, and bits of all that it is told: what tells it from others.
    pub op: (&'static str, [u64; 5]),
}

/// Maps the rows of an array.
fn mapped<'a, 'py, Op: Takes>(
    x: &Array<'py>,
    row: Row<'a, Op>,
    beside: &Beside<'a, 'py>,
    wanted: Wanted<'_, 'py>,
) -> PyResult<Out<'py>> {
    if !matches!(x.element, Type::F32 | Type::F16 | Type::Bf16) {
        let name = dtypes::name(x.element);
        return Err(PyTypeError::new_err(format!(
            "x: {} is of float32, float16 and bfloat16, and this is of {name}",
            <Op as Operation>::NAME
        )));
    }
    for (name, other) in beside.arrays() {
        if other.device != x.device {
            return Err(elsewhere(name, other.device, x.device));
        }
    }
    if let Some((second, array)) = beside.second {
        let needed = if second == Second::Mask { Type::Bool } else { x.element };
        if array.element != needed {
            let (name, got, needed) = (second.argument(), dtypes::name(array.element), dtypes::name(needed));
            return Err(PyTypeError::new_err(format!(
                "{name}: it is of {got}, and must be of {needed}"
            )));
        }
    }
    match x.device {
        Device::Cpu => cpu::mapped(x, row, beside, wanted),
        Device::Cuda(device) => gpu::mapped(x, device, row, beside, wanted),
    }
}

fn elsewhere(name: &str, is: Device, other: Device) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(format!("{name}: it is on {is}, and must be on {other}"))
}
