//! Row operations of arrays in host memory.

use bytemuck::cast_slice;
use pyo3::PyResult;
use warpfold::{
    ops::element::{Type, bf16, f16},
    row::{FloatVec, Floats, Mapped, Row, Shaped},
};

use super::{
    Beside, Out, Second, Wanted,
    takes::{KnownOfRows as _, RowType, SecondOperand, Takes},
};
use crate::{arrays::Array, errors};

pub(super) fn mapped<'a, 'py, Op: Takes>(
    x: &Array<'py>,
    row: Row<'a, Op>,
    beside: &Beside<'a, 'py>,
    wanted: Wanted<'_, 'py>,
) -> PyResult<Out<'py>> {
    match (x.element, wanted.out_type.unwrap_or(x.element)) {
        (Type::F32, Type::F32) => of::<f32, f32, Op>(x, row, beside, wanted),
        (Type::F16, Type::F16) => of::<f16, f16, Op>(x, row, beside, wanted),
        (Type::F16, _) => of::<f16, f32, Op>(x, row, beside, wanted),
        (Type::Bf16, Type::Bf16) => of::<bf16, bf16, Op>(x, row, beside, wanted),
        (_, _) => of::<bf16, f32, Op>(x, row, beside, wanted),
    }
}

fn of<'a, 'py, T: RowType, U: RowType, Op: Takes>(
    x: &Array<'py>,
    mut row: Row<'a, Op>,
    beside: &Beside<'a, 'py>,
    wanted: Wanted<'_, 'py>,
) -> PyResult<Out<'py>> {
    let py = x.object.py();
    if let Some((second, array)) = beside.second {
        let operand = match second {
            Second::Mask => SecondOperand::Mask(array.view::<u8>(false)?.into()),
            Second::Added | Second::Residual | Second::Gradients => {
                SecondOperand::Floats(T::operand(array.view::<T>(false)?))
            }
        };
        row = Op::with_second(row, second, operand);
    }
    if let Some(weight) = beside.weight {
        row = Op::with_weight(row, floats(weight, "weight")?);
    }
    if let Some(bias) = beside.bias {
        row = Op::with_bias(row, floats(bias, "bias")?);
    }
    let view = x.view::<T>(false)?;
    let mapped: Mapped<U, Op::Known> = py.detach(|| row.on_cpu(view)).map_err(errors::of)?;
    let mut known = [const { None }; 4];
    for ((known, column), is_wanted) in known.iter_mut().zip(mapped.known.columns()).zip(wanted.known) {
        if is_wanted {
            *known = Some(x.like(Type::F32, wanted.rows, cast_slice(&column))?);
        }
    }
    let values = match wanted.out {
        _ if !wanted.maps => None,
        None => Some(x.like(U::TYPE, &mapped.shape, cast_slice(&mapped.values))?),
        Some(out) => {
            out.fill(U::TYPE, &mapped.shape, cast_slice(&mapped.values))?;
            Some(out.object.clone())
        }
    };
    let sums = mapped.sums.map(|sums| match &sums {
        FloatVec::F32(sums) => x.like(Type::F32, &x.shape, cast_slice(sums)),
        FloatVec::F16(sums) => x.like(Type::F16, &x.shape, cast_slice(sums)),
        FloatVec::Bf16(sums) => x.like(Type::Bf16, &x.shape, cast_slice(sums)),
    });
    Ok(Out {
        values,
        sums: sums.transpose()?,
        known,
    })
}

/// Weights or biases.
pub(super) fn floats<'a>(array: &'a Array<'_>, argument: &str) -> PyResult<Shaped<Floats<'a>>> {
    Ok(match array.element {
        Type::F32 => array.view::<f32>(false)?.into(),
        Type::F16 => array.view::<f16>(false)?.into(),
        Type::Bf16 => array.view::<bf16>(false)?.into(),
        other => {
            let name = crate::dtypes::name(other);
            return Err(pyo3::exceptions::PyTypeError::new_err(format!(
                "{argument}: it is of {name}, and must be of float32, float16 or bfloat16"
            )));
        }
    })
}
