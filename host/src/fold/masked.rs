//! A fold of what a mask selects.

#[cfg(feature = "cuda")]
mod gpu;

use super::{Along, Fold, In, Output, View, Whole, each, the_one};
use crate::{
    Error, cpu,
    layout::{Axes, Folded},
    ops::{
        MaskElement, Reduction, TakesMask, Where,
        element::{Element, Masked},
    },
};

/// A fold under a mask: see [`Fold::masked`].
#[derive(Clone, Debug)]
#[must_use = "nothing is folded before its last step"]
pub struct MaskedFold<'m, B, Op, Over, Out> {
    fold: Fold<Op, Over, Out>,
    mask: View<'m, B>,
}

impl<Op: TakesMask, Over, Out> Fold<Op, Over, Out> {
    /// Folds what a mask in host memory selects, as NumPy's `where=`: it is the last step before `on_cpu` or `on`. A
    /// [`View`] of it with a layout is broadcast to the array's shape; without one it has as many elements as the array, or along
    /// axes as the last of them.
    ///
    /// ```
    /// use warpfold::{View, fold, layout::Layout, ops::{Mean, Sum}};
    ///
    /// let (values, mask) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0, 60.0], [true, true, false]);
    /// assert_eq!(fold(Sum).masked(&mask).on_cpu(&values[..3])?, 3.0);
    /// let matrix = View::new(&values, &Layout::c_order(&[2, 3])?)?;
    /// assert_eq!(fold(Mean).axis(1).masked(&mask).on_cpu(matrix)?.answers, [1.5, 4.5]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn masked<'m, B: MaskElement>(self, mask: impl Into<View<'m, B>>) -> MaskedFold<'m, B, Op, Over, Out> {
        MaskedFold {
            fold: self,
            mask: mask.into(),
        }
    }
}

impl<B: MaskElement, Op: TakesMask, Out> MaskedFold<'_, B, Op, Whole, Out> {
    /// Folds on the CPU: [`cpu::reduce_where`], of a [`View`] with a layout [`cpu::reduce_where_axes`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on_cpu<'a, T: Element>(self, array: impl Into<View<'a, T>>) -> Result<Out::Number, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
        Out: Output<<Where<Op> as Reduction<Masked<T>>>::Answer>,
    {
        let (array, mask, op) = (array.into(), self.mask, self.fold.op);
        let answer = if array.layout.is_none() && mask.layout.is_none() {
            cpu::reduce_where(op, array.values, mask.values)?
        } else {
            let (array, mask) = (array.with_layout()?, mask.with_layout()?);
            let folded = cpu::reduce_where_axes(op, (array.0, &array.1), (mask.0, &mask.1), &Axes::all())?;
            the_one(folded)
        };
        Ok(Out::of(answer))
    }
}

impl<B: MaskElement, Op: TakesMask, Out> MaskedFold<'_, B, Op, Along, Out> {
    /// Folds on the CPU: [`cpu::reduce_where_axes`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on_cpu<'a, T: Element>(self, array: impl Into<View<'a, T>>) -> Result<Folded<Out::Number>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
        Out: Output<<Where<Op> as Reduction<Masked<T>>>::Answer>,
    {
        let (array, mask) = (array.into().with_layout()?, self.mask.with_layout()?);
        let Fold { op, over, .. } = self.fold;
        let folded = cpu::reduce_where_axes(op, (array.0, &array.1), (mask.0, &mask.1), &over.axes())?;
        Ok(each::<Out, _>(folded))
    }
}

impl<B: MaskElement, Op: TakesMask, Out> MaskedFold<'_, B, Op, In, Out> {
    /// Folds on the CPU: [`cpu::reduce_where_segments`]. The mask is one of as many elements, in their order.
    ///
    /// # Errors
    ///
    /// As that call; [`Error::MaskMismatch`] of a mask with a layout.
    pub fn on_cpu<T: Element>(self, values: &[T]) -> Result<Vec<Out::Number>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
        Out: Output<<Where<Op> as Reduction<Masked<T>>>::Answer>,
    {
        let mask = in_order(&self.mask, values.len())?;
        let answers = cpu::reduce_where_segments(self.fold.op, values, mask, &self.fold.over.0)?;
        Ok(answers.into_iter().map(Out::of).collect())
    }
}

/// The elements of a mask of segments, which has no layout.
fn in_order<'m, B>(mask: &View<'m, B>, elements: usize) -> Result<&'m [B], Error> {
    match &mask.layout {
        None => Ok(mask.values),
        Some(layout) => Err(Error::MaskMismatch {
            mask: layout.shape().to_vec(),
            array: vec![elements as u64],
        }),
    }
}
