//! Functions of the library's table, each found once, their types forgotten.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{PyResult, Python};
use warpfold::{
    dynamic::{Accuracy, AnswerType, Answers, AnyPartial, Arrays, Choice, Function, InTable, Target, find},
    fold::Extent,
    layout::Axes,
    ops::{
        LIST,
        element::{Type, bf16, complex64, complex128, f8e4m3, f8e5m2, f16},
    },
};

use warpfold::{
    dynamic::Layouts,
    gpu::{AnyPrepared, Gpu, PreparedPartial},
};

use crate::{arrays::Array, errors};

/// Bytes from which on other Python threads run meanwhile: below, letting them takes longer than it gains.
const ALONE: u64 = 64 << 10;

/// A function of elements of one type, which one being forgotten.
pub trait AnyFold: Send + Sync {
    /// What its answers are.
    fn answer(&self) -> AnswerType;
    /// Plans it for arrays of such layouts in a GPU's memory.
    fn prepare(&self, gpu: &Gpu, layouts: Layouts<'_>, extent: Extent<'_>) -> PyResult<AnyPrepared>;
    /// Plans a part of arrays of such layouts in a GPU's memory, whose first element has that number.
    fn prepare_partial(
        &self,
        gpu: &Gpu,
        layouts: Layouts<'_>,
        axes: Option<&[i64]>,
        first: u64,
    ) -> Result<PreparedPartial, warpfold::Error>;
    /// Folds a part of an array in host memory, whose first element has that number.
    fn partial(
        &self,
        py: Python<'_>,
        x: &Array<'_>,
        second: Second<'_, '_>,
        axes: Option<&[i64]>,
        first: u64,
    ) -> PyResult<AnyPartial>;
    /// The partial of such bytes.
    fn partial_from_bytes(&self, bytes: &[u8]) -> PyResult<AnyPartial>;
    /// Whether any order of the elements gives the same answer.
    fn in_any_order(&self) -> bool;
    /// The operator's name, which says what becomes of NaN and how it is rounded.
    fn name(&self) -> &'static str;
    /// Folds an array in host memory, with a second one or under a mask, as its operator has it.
    fn on_cpu(&self, py: Python<'_>, x: &Array<'_>, second: Second<'_, '_>, extent: Extent<'_>) -> PyResult<Answers>;
}

/// What is folded with an array.
#[derive(Clone, Copy)]
pub enum Second<'a, 'py> {
    Nothing,
    Array(&'a Array<'py>),
    Mask(&'a Array<'py>),
}

impl<'a, 'py> Second<'a, 'py> {
    /// It, if there is one.
    pub fn array(self) -> Option<&'a Array<'py>> {
        match self {
            Self::Nothing => None,
            Self::Array(array) | Self::Mask(array) => Some(array),
        }
    }
}

/// Axes, kept with one index or not.
pub fn along(axes: &[i64], keepdims: bool) -> Axes {
    let axes = Axes::of(axes);
    if keepdims { axes.keepdim() } else { axes }
}

struct Of<T>(Box<dyn Function<T>>);

impl<T: InTable> AnyFold for Of<T> {
    fn answer(&self) -> AnswerType {
        self.0.answer()
    }
    fn prepare(&self, gpu: &Gpu, layouts: Layouts<'_>, extent: Extent<'_>) -> PyResult<AnyPrepared> {
        self.0.prepare(gpu, layouts, extent).map_err(errors::of)
    }
    fn prepare_partial(
        &self,
        gpu: &Gpu,
        layouts: Layouts<'_>,
        axes: Option<&[i64]>,
        first: u64,
    ) -> Result<PreparedPartial, warpfold::Error> {
        let axes = axes.map(Axes::of);
        let extent = axes.as_ref().map_or(Extent::Whole, Extent::Along);
        self.0.prepare_partial(gpu, layouts, extent, first)
    }
    fn partial(
        &self,
        py: Python<'_>,
        x: &Array<'_>,
        second: Second<'_, '_>,
        axes: Option<&[i64]>,
        first: u64,
    ) -> PyResult<AnyPartial> {
        let arrays = arrays::<T>(x, second, axes.is_none())?;
        let axes = axes.map(Axes::of);
        let extent = axes.as_ref().map_or(Extent::Whole, Extent::Along);
        let partial = py.detach(|| self.0.partial(&Target::Cpu, &arrays, extent, first));
        partial.map_err(errors::of)
    }
    fn partial_from_bytes(&self, bytes: &[u8]) -> PyResult<AnyPartial> {
        self.0.partial_from_bytes(bytes).map_err(errors::of)
    }
    fn in_any_order(&self) -> bool {
        self.0.op().in_any_order()
    }
    fn name(&self) -> &'static str {
        self.0.op().name()
    }
    fn on_cpu(&self, py: Python<'_>, x: &Array<'_>, second: Second<'_, '_>, extent: Extent<'_>) -> PyResult<Answers> {
        let arrays = arrays::<T>(x, second, matches!(extent, Extent::Whole | Extent::In(_)))?;
        let fold = || self.0.answers(&Target::Cpu, &arrays, extent);
        let answers = if x.bytes() > ALONE { py.detach(fold) } else { fold() };
        answers.map_err(errors::of)
    }
}

/// Arrays in host memory: of one axis if that is asked for and all are in order, for then there is nothing to be worked out.
fn arrays<'a, T: InTable>(x: &'a Array<'_>, second: Second<'a, '_>, as_one_axis: bool) -> PyResult<Arrays<'a, T>> {
    let is_like = |other: &Array<'_>| other.shape == x.shape && other.is_in_order();
    let as_one_axis = as_one_axis && second.array().is_none_or(|other| x.is_in_order() && is_like(other));
    let arrays = Arrays::one(x.view::<T>(as_one_axis)?);
    Ok(match second {
        Second::Nothing => arrays,
        Second::Array(other) => arrays.with(other.view::<T>(as_one_axis)?),
        Second::Mask(mask) => arrays.masked(mask.view::<u8>(as_one_axis)?),
    })
}

/// What a function was found by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Asked {
    pub op: &'static str,
    pub element: Type,
    pub masked: bool,
    pub ignores_nan: bool,
    pub accuracy: Accuracy,
    /// Bits of a correction or of a power.
    pub parameter: Option<u64>,
}

/// So many are kept; past that all are found anew.
const MOST: usize = 4096;

static FOUND: Mutex<Option<HashMap<Asked, Arc<dyn AnyFold>>>> = Mutex::new(None);

/// The function that is asked for, if there is one.
pub fn function(asked: &Asked) -> Option<Arc<dyn AnyFold>> {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let found = found.get_or_insert_default();
    if let Some(function) = found.get(asked) {
        return Some(function.clone());
    }
    let function = of_type(asked)?;
    if found.len() >= MOST {
        found.clear();
    }
    found.insert(*asked, function.clone());
    Some(function)
}

fn of_type(asked: &Asked) -> Option<Arc<dyn AnyFold>> {
    fn of<T: InTable>(asked: &Asked) -> Option<Arc<dyn AnyFold>> {
        let number = asked.parameter.map(f64::from_bits);
        let choice = Choice {
            name: asked.op,
            masked: asked.masked,
            ignores_nan: asked.ignores_nan,
            accuracy: asked.accuracy,
            correction: number,
            power: number,
        };
        Some(Arc::new(Of(find::<T>(&choice)?)))
    }
    match asked.element {
        Type::Bool => of::<bool>(asked),
        Type::I8 => of::<i8>(asked),
        Type::I16 => of::<i16>(asked),
        Type::I32 => of::<i32>(asked),
        Type::I64 => of::<i64>(asked),
        Type::U8 => of::<u8>(asked),
        Type::U16 => of::<u16>(asked),
        Type::U32 => of::<u32>(asked),
        Type::U64 => of::<u64>(asked),
        Type::F16 => of::<f16>(asked),
        Type::Bf16 => of::<bf16>(asked),
        Type::F32 => of::<f32>(asked),
        Type::F64 => of::<f64>(asked),
        Type::F8E4M3 => of::<f8e4m3>(asked),
        Type::F8E5M2 => of::<f8e5m2>(asked),
        Type::Complex64 => of::<complex64>(asked),
        Type::Complex128 => of::<complex128>(asked),
        Type::Complex32 => None,
    }
}

/// What finds the operator of a name that says its policies, as partials have it.
pub fn named(name: &str, element: Type, masked: bool, parameter: u64) -> Option<Asked> {
    const ACCURACIES: [Accuracy; 5] = [
        Accuracy::Native,
        Accuracy::Compensated,
        Accuracy::Wide,
        Accuracy::Exact,
        Accuracy::InF64,
    ];
    LIST.iter().find_map(|listed| {
        let options = ACCURACIES
            .iter()
            .flat_map(|accuracy| [(*accuracy, false), (*accuracy, true)]);
        options.into_iter().find_map(|(accuracy, ignores_nan)| {
            let has_number = matches!(listed.name, "var" | "std" | "meanvar" | "lp");
            let asked = Asked {
                op: listed.name,
                element,
                masked,
                ignores_nan,
                accuracy,
                parameter: has_number.then_some(parameter),
            };
            function(&asked)
                .filter(|function| function.name() == name)
                .map(|_| asked)
        })
    })
}
