//! Weights, biases and targets that say what shape they have.

use std::borrow::Cow;

use super::{Floats, Targets};
use crate::{
    Error, RowFault, View,
    layout::{Axes, Extents, Layout},
    ops::element::{bf16, f16},
};

/// Weights, biases or targets, and their shape if they say it.
///
/// A slice has none: it is in order, a number for each column or each row. A [`View`] has one, and broadcasts by NumPy's rules. Targets broadcast to the array's shape without
/// the rows' axis. Weights and biases of one axis, as long as there are columns, are those of the columns; others broadcast to the array's shape, in which they may differ along
/// the rows' axis only (of [`group_norm`](super::group_norm) that of channels).
#[derive(Clone, Debug)]
pub struct Shaped<X> {
    pub(crate) values: X,
    /// In order where it does not say.
    pub(crate) layout: Option<Layout>,
}

macro_rules! shaped {
    ($of:ident: $($element:ty)*) => {
        impl<'a, V: Into<$of<'a>>> From<V> for Shaped<$of<'a>> {
            fn from(values: V) -> Self {
                Self { values: values.into(), layout: None }
            }
        }
        $(impl<'a> From<View<'a, $element>> for Shaped<$of<'a>> {
            fn from(view: View<'a, $element>) -> Self {
                Self { values: view.values.into(), layout: view.layout }
            }
        })*
    };
}

shaped!(Floats: f32 f16 bf16 f64);
shaped!(Targets: i64 i32);

impl Shaped<Floats<'_>> {
    /// Where the number of each column is, of an array of that shape whose columns lie along that axis; none where they are in order.
    ///
    /// # Errors
    ///
    /// [`RowFault::ColumnShape`].
    pub(super) fn positions(
        &self,
        name: &'static str,
        array: &[u64],
        axis: usize,
    ) -> Result<Option<Vec<usize>>, Error> {
        let Some(layout) = &self.layout else {
            return Ok(None);
        };
        if *layout.shape() == [array[axis]] {
            return in_order(layout).map(Some);
        }
        let fault = RowFault::ColumnShape {
            name,
            shape: layout.shape().to_vec(),
            array: array.to_vec(),
            axis,
        };
        let Ok(wide) = layout.broadcast(array) else {
            return Err(Error::Row(fault));
        };
        let varies = |other: usize| other != axis && array[other] > 1 && wide.strides()[other] != 0;
        if (0..array.len()).any(varies) {
            return Err(Error::Row(fault));
        }
        let columns = Layout::strided(&[array[axis]], &[wide.strides()[axis]], wide.offset())?;
        in_order(&columns).map(Some)
    }
}

impl Shaped<Targets<'_>> {
    /// Where the target of each row is, of rows of that shape; none where they are in order.
    ///
    /// # Errors
    ///
    /// [`RowFault::TargetShape`].
    pub(super) fn positions(&self, rows: &[u64]) -> Result<Option<Vec<usize>>, Error> {
        let Some(layout) = &self.layout else {
            return Ok(None);
        };
        match layout.broadcast(rows) {
            Ok(layout) => in_order(&layout).map(Some),
            Err(_) => Err(Error::Row(RowFault::TargetShape {
                shape: layout.shape().to_vec(),
                rows: rows.to_vec(),
            })),
        }
    }

    /// Where they are in C order of their own shape.
    pub(super) fn own_positions(&self) -> Result<Option<Vec<usize>>, Error> {
        self.layout.as_ref().map(in_order).transpose()
    }
}

/// Where the elements of an array are, in C order.
fn in_order(layout: &Layout) -> Result<Vec<usize>, Error> {
    let each = Extents::new(layout, &Axes::of(&[]))?;
    Ok((0..each.count).map(|i| each.start(i) as usize).collect())
}

/// Values at some positions; without any, all of them.
pub(crate) fn at<'a, T: Copy>(values: Cow<'a, [T]>, positions: Option<&[usize]>) -> Cow<'a, [T]> {
    match positions {
        Some(positions) => positions.iter().map(|i| values[*i]).collect(),
        None => values,
    }
}
