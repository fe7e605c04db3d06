//! Weights and biases of a row operation.

use std::path::Path;

use warpfold::{
    files::{DType, bf16, f16},
    row::Floats,
};

use crate::{Failure, named::Named};

/// The types of weights and biases.
const FLOATS: [DType; 4] = [DType::F16, DType::Bf16, DType::F32, DType::F64];

/// A weight or a bias of each index of an axis.
pub struct ColumnFile {
    pub named: Named,
    values: Values,
}

enum Values {
    F32(Vec<f32>),
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
    F64(Vec<f64>),
}

impl ColumnFile {
    /// The array of an option: one number for each index of axis `axis` of an array of `shape`, or what broadcasts to that.
    pub fn read(option: &'static str, file: &Path, shape: &[u64], axis: usize) -> Result<Self, Failure> {
        let named = Named::open(option, file)?;
        named.check_type(&FLOATS, "weights and biases are")?;
        let shape = &*column_shape(&named, shape, axis)?;
        let of = format!("a number for each index of axis {axis}");
        let values = match named.tensor.dtype() {
            DType::F16 => Values::F16(named.elements(shape, &of)?),
            DType::Bf16 => Values::Bf16(named.elements(shape, &of)?),
            DType::F64 => Values::F64(named.elements(shape, &of)?),
            _ => Values::F32(named.elements(shape, &of)?),
        };
        Ok(Self { named, values })
    }

    pub fn floats(&self) -> Floats<'_> {
        match &self.values {
            Values::F32(values) => values.into(),
            Values::F16(values) => values.into(),
            Values::Bf16(values) => values.into(),
            Values::F64(values) => values.into(),
        }
    }
}

/// The shape that a column is to have: of one axis it is the row's, of more it is that of the array, all other axes of it being 1.
fn column_shape(named: &Named, shape: &[u64], axis: usize) -> Result<Vec<u64>, Failure> {
    let own = named.tensor.shape();
    if own.len() <= 1 {
        return Ok(vec![shape[axis]]);
    }
    let mut column = vec![1; shape.len()];
    column[axis] = shape[axis];
    let front = shape.len().saturating_sub(own.len());
    // An axis of 1 in front of others is none.
    Ok(column[front..].to_vec())
}
