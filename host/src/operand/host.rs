//! Arrays in host memory.

use warpfold_kernels::element::{Element, Item, Masked, Two};

use super::{
    Shape, Shapes,
    source::{One, Pair, Source},
};
use crate::{
    Error,
    layout::Layout,
    ops::{MaskElement, Reduction, TakesMask, Where},
};

/// An array in host memory: its elements one after the other, or as a [`Layout`] says.
///
/// A slice, an array and a `Vec`, by reference, are views without a layout: one axis.
#[derive(Clone, Debug)]
pub struct View<'a, T> {
    pub(crate) values: &'a [T],
    /// None for one axis.
    pub(crate) layout: Option<Layout>,
}

impl<'a, T: Element> View<'a, T> {
    /// The elements of `values` that the layout names.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if it leaves `values`.
    pub fn new(values: &'a [T], layout: &Layout) -> Result<Self, Error> {
        layout.check(values.len() as u64)?;
        Ok(Self {
            values,
            layout: Some(layout.clone()),
        })
    }

    /// Where its elements lie: one after the other, unless it says.
    pub(crate) fn its_layout(&self) -> Result<Layout, Error> {
        match &self.layout {
            Some(layout) => Ok(layout.clone()),
            None => Layout::c_order(&[self.values.len() as u64]),
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        Shape {
            layout: self.layout.clone(),
            ..Shape::of(self.values.len())
        }
    }
}

/// What is an array in host memory.
pub trait AsView<'a> {
    /// What it is of.
    type Element: Element;

    /// It.
    fn view(self) -> View<'a, Self::Element>;
}

impl<'a, T: Element> AsView<'a> for View<'a, T> {
    type Element = T;
    fn view(self) -> View<'a, T> {
        self
    }
}

impl<'a, T: Element> AsView<'a> for &'a [T] {
    type Element = T;
    fn view(self) -> View<'a, T> {
        View {
            values: self,
            layout: None,
        }
    }
}

impl<'a, T: Element, const N: usize> AsView<'a> for &'a [T; N] {
    type Element = T;
    fn view(self) -> View<'a, T> {
        self.as_slice().view()
    }
}

impl<'a, T: Element> AsView<'a> for &'a Vec<T> {
    type Element = T;
    fn view(self) -> View<'a, T> {
        self.as_slice().view()
    }
}

/// That all elements are folded.
#[derive(Clone, Copy, Debug)]
pub struct NoMask;

/// That what a mask selects is folded.
#[derive(Clone, Copy, Debug)]
pub struct Under<M>(pub(crate) M);

/// What an operator folds on a CPU, under a mask or not: its [operand](crate::operand), in host memory.
pub trait HostOperand<'a, Op, Mask = NoMask>: Sized {
    /// What is folded one at a time: an element, two of them, or one under a mask.
    type Item: Item;
    /// The operator of these.
    type Op: Reduction<Self::Item>;
    #[doc(hidden)]
    type Source: Source<Self::Item>;

    #[doc(hidden)]
    fn op(op: Op) -> Self::Op;
    #[doc(hidden)]
    fn place(self, mask: Mask) -> (Self::Source, Shapes);
}

impl<'a, Op, A> HostOperand<'a, Op> for A
where
    A: AsView<'a>,
    Op: Reduction<A::Element>,
{
    type Item = A::Element;
    type Op = Op;
    type Source = One<'a, A::Element>;

    fn op(op: Op) -> Op {
        op
    }
    fn place(self, _: NoMask) -> (Self::Source, Shapes) {
        let array = self.view();
        (One(array.values), Shapes::one(array.shape()))
    }
}

impl<'a, Op, A, B> HostOperand<'a, Op> for (A, B)
where
    A: AsView<'a>,
    B: AsView<'a, Element = A::Element>,
    Op: Reduction<Two<A::Element>>,
{
    type Item = Two<A::Element>;
    type Op = Op;
    type Source = Pair<'a, A::Element, A::Element>;

    fn op(op: Op) -> Op {
        op
    }
    fn place(self, _: NoMask) -> (Self::Source, Shapes) {
        let (first, second) = (self.0.view(), self.1.view());
        let shapes = Shapes::pair(first.shape(), second.shape());
        (Pair(first.values, second.values), shapes)
    }
}

impl<'a, Op, A, M> HostOperand<'a, Op, Under<M>> for A
where
    A: AsView<'a>,
    M: AsView<'a, Element: MaskElement>,
    Op: TakesMask,
    Where<Op>: Reduction<Masked<A::Element>>,
{
    type Item = Masked<A::Element>;
    type Op = Where<Op>;
    type Source = Pair<'a, A::Element, u8>;

    fn op(op: Op) -> Where<Op> {
        Where(op)
    }
    fn place(self, Under(mask): Under<M>) -> (Self::Source, Shapes) {
        let (array, mask) = (self.view(), mask.view());
        let shapes = Shapes::masked(array.shape(), mask.shape());
        (Pair(array.values, bytemuck::cast_slice(mask.values)), shapes)
    }
}
