//! What a row operation reads beside an array: weights, another array, a mask, targets.

use std::borrow::Cow;

use warpfold_kernels::{element::Element, rowwise};

use super::shaped::at;
use crate::{
    Error, RowFault,
    layout::Layout,
    operand::{AsView, View},
    ops::{
        MaskElement,
        element::{Type, bf16, f8e4m3, f8e5m2, f16},
    },
};

/// A slice of floats of any type: weights, or a tensor of a [list](crate::gradients). Which of the types it may have is said where it is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Floats<'a> {
    /// f32.
    F32(&'a [f32]),
    /// f16.
    F16(&'a [f16]),
    /// bf16.
    Bf16(&'a [bf16]),
    /// f64.
    F64(&'a [f64]),
    /// f8e4m3.
    F8E4M3(&'a [f8e4m3]),
    /// f8e5m2.
    F8E5M2(&'a [f8e5m2]),
}

/// The same of whichever slice it is.
macro_rules! each {
    ($floats:expr, $values:ident => $of:expr) => {
        match $floats {
            Floats::F32($values) => $of,
            Floats::F16($values) => $of,
            Floats::Bf16($values) => $of,
            Floats::F64($values) => $of,
            Floats::F8E4M3($values) => $of,
            Floats::F8E5M2($values) => $of,
        }
    };
}

macro_rules! floats {
    ($($element:ident: $variant:ident)*) => {
        $(impl<'a> From<&'a [$element]> for Floats<'a> {
            fn from(values: &'a [$element]) -> Self {
                Self::$variant(values)
            }
        }
        impl<'a> From<&'a Vec<$element>> for Floats<'a> {
            fn from(values: &'a Vec<$element>) -> Self {
                Self::$variant(values)
            }
        }
        impl<'a, const N: usize> From<&'a [$element; N]> for Floats<'a> {
            fn from(values: &'a [$element; N]) -> Self {
                Self::$variant(values)
            }
        })*
    };
}

floats!(f32: F32 f16: F16 bf16: Bf16 f64: F64 f8e4m3: F8E4M3 f8e5m2: F8E5M2);

impl<'a> Floats<'a> {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their type.
    #[must_use]
    pub fn element(&self) -> Type {
        fn of<T: Element>(_: &[T]) -> Type {
            T::TYPE
        }
        each!(self, values => of(values))
    }

    /// Their bytes, as memory has them.
    #[cfg(feature = "cuda")]
    pub(crate) fn bytes(&self) -> &[u8] {
        each!(self, values => bytemuck::cast_slice(values))
    }

    /// The bytes of those at some positions, one after the other; without any, of all.
    #[cfg(feature = "cuda")]
    pub(crate) fn bytes_at(&self, positions: Option<&[usize]>) -> Cow<'_, [u8]> {
        let (all, bytes) = (self.bytes(), self.element().bytes());
        match positions {
            None => all.into(),
            Some(positions) => {
                let each = positions.iter().flat_map(|i| &all[i * bytes..][..bytes]);
                each.copied().collect::<Vec<u8>>().into()
            }
        }
    }

    /// That they are of a type that weights of rows of f32, f16 and bf16 have.
    pub(crate) fn check_narrow(&self, name: &'static str) -> Result<(), Error> {
        match self {
            Self::F32(_) | Self::F16(_) | Self::Bf16(_) => Ok(()),
            _ => Err(Error::Row(RowFault::ColumnType {
                name,
                of: self.element().name(),
                types: "f32, f16 or bf16",
            })),
        }
    }

    /// As f32, exactly: of f64 there is none.
    pub(crate) fn wide(&self) -> Option<Cow<'a, [f32]>> {
        fn of<'a, T: Element<Wide = f32>>(values: &[T]) -> Cow<'a, [f32]> {
            values.iter().map(|value| value.wide()).collect()
        }
        Some(match *self {
            Self::F32(values) => Cow::Borrowed(values),
            Self::F16(values) => of(values),
            Self::Bf16(values) => of(values),
            Self::F8E4M3(values) => of(values),
            Self::F8E5M2(values) => of(values),
            Self::F64(_) => return None,
        })
    }
}

/// Elements of the three types, as a row operation gives them back.
#[derive(Clone, Debug, PartialEq)]
pub enum FloatVec {
    /// f32.
    F32(Vec<f32>),
    /// f16.
    F16(Vec<f16>),
    /// bf16.
    Bf16(Vec<bf16>),
}

/// Elements that row operations read and write: f32, f16, bf16.
pub trait RowElement: rowwise::RowElement + bytemuck::Pod {
    /// Those of a slice, if they are of this type.
    #[doc(hidden)]
    fn of(floats: Floats<'_>) -> Option<&[Self]>;
    /// They, with their type.
    #[doc(hidden)]
    fn into_floats(values: Vec<Self>) -> FloatVec;
}

macro_rules! elements {
    ($($element:ident: $variant:ident)*) => {
        $(impl RowElement for $element {
            fn of(floats: Floats<'_>) -> Option<&[Self]> {
                match floats {
                    Floats::$variant(values) => Some(values),
                    _ => None,
                }
            }
            fn into_floats(values: Vec<Self>) -> FloatVec {
                FloatVec::$variant(values)
            }
        }
        operands!($element);)*
    };
}

macro_rules! operands {
    ($element:ty) => {
        impl<'a> From<View<'a, $element>> for Operand<'a> {
            fn from(view: View<'a, $element>) -> Self {
                Self {
                    values: Values::Floats(view.values.into()),
                    layout: view.layout,
                }
            }
        }
        impl<'a> From<&'a [$element]> for Operand<'a> {
            fn from(values: &'a [$element]) -> Self {
                Self {
                    values: Values::Floats(values.into()),
                    layout: None,
                }
            }
        }
        impl<'a> From<&'a Vec<$element>> for Operand<'a> {
            fn from(values: &'a Vec<$element>) -> Self {
                values.as_slice().into()
            }
        }
        impl<'a, const N: usize> From<&'a [$element; N]> for Operand<'a> {
            fn from(values: &'a [$element; N]) -> Self {
                values.as_slice().into()
            }
        }
    };
}

elements!(f32: F32 f16: F16 bf16: Bf16);
operands!(f64);

/// Another array of an operation's, of the elements' type: a slice that lies as the array does in C order, a [`View`], or one that comes [later](Later).
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    pub(crate) values: Values<'a>,
    /// In C order, of the array's shape, where it does not say.
    pub(crate) layout: Option<Layout>,
}

/// What an operand has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values<'a> {
    /// It comes with each launch.
    Later,
    Floats(Floats<'a>),
    Bytes(&'a [u8]),
}

/// An operand that comes with each launch of an operation that is prepared: in C order, or of a layout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Later(Option<Layout>);

impl Later {
    /// It has that layout.
    #[must_use]
    pub fn of(layout: &Layout) -> Self {
        Self(Some(layout.clone()))
    }
}

impl From<Later> for Operand<'_> {
    fn from(Later(layout): Later) -> Self {
        Self {
            values: Values::Later,
            layout,
        }
    }
}

impl From<Later> for Mask<'_> {
    fn from(later: Later) -> Self {
        Self(later.into())
    }
}

/// A byte for each element: where it is 0 the element is not visible. It broadcasts to the array's shape.
#[derive(Clone, Debug)]
pub struct Mask<'a>(pub(crate) Operand<'a>);

impl<'a, M: MaskElement> From<View<'a, M>> for Mask<'a> {
    fn from(view: View<'a, M>) -> Self {
        Self(Operand {
            values: Values::Bytes(bytemuck::cast_slice(view.values)),
            layout: view.layout,
        })
    }
}

impl<'a, M: MaskElement> From<&'a [M]> for Mask<'a> {
    fn from(values: &'a [M]) -> Self {
        values.view().into()
    }
}

impl<'a, M: MaskElement, const N: usize> From<&'a [M; N]> for Mask<'a> {
    fn from(values: &'a [M; N]) -> Self {
        values.view().into()
    }
}

impl<'a, M: MaskElement> From<&'a Vec<M>> for Mask<'a> {
    fn from(values: &'a Vec<M>) -> Self {
        values.view().into()
    }
}

impl Operand<'_> {
    /// Where it lies, beside an array of that layout.
    ///
    /// # Errors
    ///
    /// [`Error::Broadcast`]; [`Error::LengthMismatch`] of a slice that is not as long.
    pub(crate) fn beside(&self, array: &Layout) -> Result<Layout, Error> {
        let len = match self.values {
            Values::Later => None,
            Values::Floats(floats) => Some(floats.len() as u64),
            Values::Bytes(bytes) => Some(bytes.len() as u64),
        };
        if let Some(layout) = &self.layout {
            return layout.broadcast(array.shape());
        }
        if let Some(got) = len.filter(|len| *len != array.len()) {
            return Err(Error::LengthMismatch {
                prepared: array.len(),
                got,
            });
        }
        Layout::c_order(array.shape())
    }
}

/// A target of each row: an index of its elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Targets<'a> {
    /// Of 64 bits, signed.
    I64(&'a [i64]),
    /// Of 32.
    I32(&'a [i32]),
    /// They come with each launch: of 64 bits, or of 32.
    Later {
        /// Whether they are of 64 bits.
        of_64_bits: bool,
    },
}

macro_rules! targets {
    ($($element:ident: $variant:ident)*) => {
        $(impl<'a> From<&'a [$element]> for Targets<'a> {
            fn from(values: &'a [$element]) -> Self {
                Self::$variant(values)
            }
        }
        impl<'a> From<&'a Vec<$element>> for Targets<'a> {
            fn from(values: &'a Vec<$element>) -> Self {
                Self::$variant(values)
            }
        }
        impl<'a, const N: usize> From<&'a [$element; N]> for Targets<'a> {
            fn from(values: &'a [$element; N]) -> Self {
                Self::$variant(values)
            }
        })*
    };
}

targets!(i64: I64 i32: I32);

impl Targets<'_> {
    /// Whether they are of 64 bits.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "a launch says so"))]
    pub(crate) fn are_wide(&self) -> bool {
        matches!(self, Self::I64(_) | Self::Later { of_64_bits: true })
    }

    /// All of them, or those at some positions, once each is one of so many classes, or `ignored`.
    ///
    /// # Errors
    ///
    /// [`RowFault::Rows`] where they are not as many as rows; [`RowFault::Target`]; [`RowFault::Missing`] where they come later.
    pub(crate) fn checked(
        &self,
        rows: u64,
        classes: u64,
        ignored: i64,
        positions: Option<&[usize]>,
    ) -> Result<Vec<i64>, Error> {
        let values: Vec<i64> = match self {
            Self::I64(values) => values.to_vec(),
            Self::I32(values) => values.iter().map(|value| i64::from(*value)).collect(),
            Self::Later { .. } => return Err(Error::Row(RowFault::Missing { what: "targets" })),
        };
        let values = at(values.into(), positions).into_owned();
        if values.len() as u64 != rows {
            return Err(Error::Row(RowFault::Rows {
                what: "targets",
                rows,
                got: values.len() as u64,
            }));
        }
        let is_beyond = |target: i64| target != ignored && !u64::try_from(target).is_ok_and(|target| target < classes);
        match values.iter().position(|target| is_beyond(*target)) {
            Some(row) => Err(Error::Row(RowFault::Target {
                row: row as u64,
                target: values[row],
                classes,
            })),
            None => Ok(values),
        }
    }
}
