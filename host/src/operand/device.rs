//! Arrays in device memory, and arrays of either memory that a GPU folds.

use std::{marker::PhantomData, ops::Range};

use bytemuck::NoUninit;
use cust::memory::{DeviceBuffer, DeviceCopy, DeviceSlice};
use warpfold_kernels::element::{Element, Item, Masked, Two};

use super::{AsView, NoMask, Shape, Shapes, Under, View};
use crate::{
    Error,
    layout::Layout,
    ops::{MaskElement, Reduction, TakesMask, Where},
};

/// An array in device memory: its elements one after the other, or as a [`Layout`] says.
///
/// cust's `DeviceSlice` and `DeviceBuffer`, by reference, are views without a layout: one axis.
#[derive(Debug)]
pub struct DeviceView<'a, T> {
    address: u64,
    shape: Shape,
    /// Whether the driver is asked whose memory it is.
    is_asked_for: bool,
    elements: PhantomData<&'a [T]>,
}

impl<'a, T: Element + DeviceCopy> DeviceView<'a, T> {
    /// The elements of `array` that the layout names.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if it leaves `array`.
    pub fn new(array: &'a DeviceSlice<T>, layout: &Layout) -> Result<Self, Error> {
        Self::of(array).with_layout(layout)
    }

    fn of(array: &'a DeviceSlice<T>) -> Self {
        Self {
            address: array.as_device_ptr().as_raw(),
            shape: Shape::of(array.len()),
            is_asked_for: !array.is_empty(),
            elements: PhantomData,
        }
    }
}

impl<T: Element> DeviceView<'_, T> {
    /// So many elements at an address of which the driver is asked nothing.
    pub(crate) fn at(address: u64, len: u64) -> Self {
        Self {
            address,
            shape: Shape { len, layout: None },
            is_asked_for: false,
            elements: PhantomData,
        }
    }

    /// Those of its elements that a layout names.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if it leaves the array.
    pub fn with_layout(mut self, layout: &Layout) -> Result<Self, Error> {
        layout.check(self.shape.len)?;
        self.shape.layout = Some(layout.clone());
        Ok(self)
    }
}

/// Where an array is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Memory<'a> {
    /// In host memory, its bytes.
    Host(&'a [u8]),
    /// In device memory.
    Device {
        address: u64,
        /// Whether the driver is asked whose it is.
        is_asked_for: bool,
    },
}

/// Arrays that are folded together: where they are and how they lie.
#[derive(Debug)]
pub struct Placed<'a> {
    pub(crate) shapes: Shapes,
    pub(crate) arrays: Vec<Memory<'a>>,
}

impl<'a> Placed<'a> {
    /// How many elements each array has, if all are in host memory and in order, so that they are folded in pieces.
    ///
    /// # Errors
    ///
    /// [`Error::PairMismatch`], [`Error::MaskMismatch`].
    pub(crate) fn pieces_of(&self) -> Result<Option<u64>, Error> {
        let is_host = |array: &Memory<'_>| matches!(array, Memory::Host(_));
        let in_order = self.shapes.run()?;
        Ok(in_order.filter(|_| self.arrays.iter().all(is_host)))
    }

    /// Some of `len` elements of arrays in host memory; nothing of others.
    pub(crate) fn in_host(&self, range: Range<u64>, len: u64) -> Vec<&'a [u8]> {
        let part = |array: &Memory<'a>| match *array {
            Memory::Host(bytes) => {
                let element = bytes.len() / len as usize;
                &bytes[range.start as usize * element..range.end as usize * element]
            }
            Memory::Device { .. } => &[],
        };
        self.arrays.iter().map(part).collect()
    }
}

/// The layouts of arrays whose items are those: of one, or of two.
pub trait Layouts<I: Item> {
    #[doc(hidden)]
    fn shapes(self) -> Shapes;
}

impl<T: Element> Layouts<T> for &Layout {
    fn shapes(self) -> Shapes {
        Shapes::one(Shape::laid_out(self))
    }
}

impl<T: Element> Layouts<Two<T>> for (&Layout, &Layout) {
    fn shapes(self) -> Shapes {
        Shapes::pair(Shape::laid_out(self.0), Shape::laid_out(self.1))
    }
}

impl<T: Element> Layouts<Masked<T>> for (&Layout, &Layout) {
    fn shapes(self) -> Shapes {
        Shapes::masked(Shape::laid_out(self.0), Shape::laid_out(self.1))
    }
}

/// Located array, in host memory or a device's.
pub trait Array<'a> {
    /// What it is of.
    type Element: Element;
    #[doc(hidden)]
    fn placed(self) -> Located<'a>;
}

/// Where one array is, and how it lies.
#[derive(Debug)]
pub struct Located<'a> {
    pub(crate) memory: Memory<'a>,
    pub(crate) shape: Shape,
}

macro_rules! host_arrays {
    ($($array:ty $(, $N:ident)?;)*) => {
        $(impl<'a, T: Element + NoUninit $(, const $N: usize)?> Array<'a> for $array {
            type Element = T;
            fn placed(self) -> Located<'a> {
                let view: View<'a, T> = self.view();
                Located {
                    memory: Memory::Host(bytemuck::cast_slice(view.values)),
                    shape: view.shape(),
                }
            }
        })*
    };
}

host_arrays! {
    View<'a, T>;
    &'a [T];
    &'a [T; N], N;
    &'a Vec<T>;
}

impl<'a, T: Element> Array<'a> for DeviceView<'a, T> {
    type Element = T;
    fn placed(self) -> Located<'a> {
        let Self {
            address,
            shape,
            is_asked_for,
            ..
        } = self;
        let memory = Memory::Device { address, is_asked_for };
        Located { memory, shape }
    }
}

impl<'a, T: Element + DeviceCopy> Array<'a> for &'a DeviceSlice<T> {
    type Element = T;
    fn placed(self) -> Located<'a> {
        DeviceView::of(self).placed()
    }
}

impl<'a, T: Element + DeviceCopy> Array<'a> for &'a DeviceBuffer<T> {
    type Element = T;
    fn placed(self) -> Located<'a> {
        DeviceView::of(self).placed()
    }
}

/// What an operator folds on a GPU, under a mask or not: its [operand](crate::operand).
pub trait Operand<'a, Op, Mask = NoMask>: Sized {
    /// What is folded one at a time: an element, two of them, or one under a mask.
    type Item: Item;
    /// The operator of these.
    type Op: Reduction<Self::Item>;

    #[doc(hidden)]
    fn op(op: Op) -> Self::Op;
    #[doc(hidden)]
    fn place(self, mask: Mask) -> Placed<'a>;
}

impl<'a, Op, A> Operand<'a, Op> for A
where
    A: Array<'a>,
    Op: Reduction<A::Element>,
{
    type Item = A::Element;
    type Op = Op;

    fn op(op: Op) -> Op {
        op
    }
    fn place(self, _: NoMask) -> Placed<'a> {
        let Located { memory, shape } = self.placed();
        Placed {
            shapes: Shapes::one(shape),
            arrays: vec![memory],
        }
    }
}

impl<'a, Op, A, B> Operand<'a, Op> for (A, B)
where
    A: Array<'a>,
    B: Array<'a, Element = A::Element>,
    Op: Reduction<Two<A::Element>>,
{
    type Item = Two<A::Element>;
    type Op = Op;

    fn op(op: Op) -> Op {
        op
    }
    fn place(self, _: NoMask) -> Placed<'a> {
        let (first, second) = (self.0.placed(), self.1.placed());
        Placed {
            shapes: Shapes::pair(first.shape, second.shape),
            arrays: vec![first.memory, second.memory],
        }
    }
}

impl<'a, Op, A, M> Operand<'a, Op, Under<M>> for A
where
    A: Array<'a>,
    M: Array<'a, Element: MaskElement>,
    Op: TakesMask,
    Where<Op>: Reduction<Masked<A::Element>>,
{
    type Item = Masked<A::Element>;
    type Op = Where<Op>;

    fn op(op: Op) -> Where<Op> {
        Where(op)
    }
    fn place(self, Under(mask): Under<M>) -> Placed<'a> {
        let (array, mask) = (self.placed(), mask.placed());
        Placed {
            shapes: Shapes::masked(array.shape, mask.shape),
            arrays: vec![array.memory, mask.memory],
        }
    }
}

/// Arrays of a device's memory that a [prepared](crate::gpu::Prepared) launch reads, of items of that kind: an array, two of them, or one and
/// its mask.
pub trait DeviceArrays<I: Item> {
    #[doc(hidden)]
    fn each(&self) -> [Option<(u64, usize)>; 2];
}

/// Address and length.
fn place<T: DeviceCopy>(array: &DeviceSlice<T>) -> Option<(u64, usize)> {
    Some((array.as_device_ptr().as_raw(), array.len()))
}

impl<T: Element + DeviceCopy> DeviceArrays<T> for &DeviceSlice<T> {
    fn each(&self) -> [Option<(u64, usize)>; 2] {
        [place(self), None]
    }
}

impl<T: Element + DeviceCopy> DeviceArrays<T> for &DeviceBuffer<T> {
    fn each(&self) -> [Option<(u64, usize)>; 2] {
        [place(self), None]
    }
}

impl<T, A, B> DeviceArrays<Two<T>> for (A, B)
where
    T: Element,
    A: DeviceArrays<T>,
    B: DeviceArrays<T>,
{
    fn each(&self) -> [Option<(u64, usize)>; 2] {
        [self.0.each()[0], self.1.each()[0]]
    }
}

impl<T, A, B> DeviceArrays<Masked<T>> for (A, &DeviceSlice<B>)
where
    T: Element,
    A: DeviceArrays<T>,
    B: MaskElement + DeviceCopy,
{
    fn each(&self) -> [Option<(u64, usize)>; 2] {
        [self.0.each()[0], place(self.1)]
    }
}

impl<T, A, B> DeviceArrays<Masked<T>> for (A, &DeviceBuffer<B>)
where
    T: Element,
    A: DeviceArrays<T>,
    B: MaskElement + DeviceCopy,
{
    fn each(&self) -> [Option<(u64, usize)>; 2] {
        [self.0.each()[0], place(self.1)]
    }
}
