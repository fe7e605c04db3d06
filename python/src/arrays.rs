//! Arrays of Python's libraries: where their elements are, and new ones. The one room with `unsafe`.
//!
//! | an array of | is read by |
//! |---|---|
//! | a library with DLPack's C exchange (torch 2.10 and newer) | that: no Python runs |
//! | NumPy, and anything with Python's buffer protocol | that |
//! | any library with `__dlpack__` (JAX, CuPy, array-api-strict) | that |

mod buffer;
mod copy;
mod dlpack;
mod library;
mod out;
mod owned;
mod read;

use std::{fmt, slice};

use pyo3::{
    Bound, PyAny, PyErr, PyResult,
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    types::PyAnyMethods as _,
};
use warpfold::{
    View,
    layout::Layout,
    ops::element::{Element, Type},
};

use crate::{dtypes, errors};
pub use owned::Owned;
pub use read::New;

/// Where an array's elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    Cpu,
    Cuda(usize),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => write!(f, "cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

/// A library's arrays: how they are read, and how new ones are made.
#[derive(Clone, Copy)]
pub enum Library {
    /// By DLPack's C exchange.
    Exchange(&'static dlpack::Exchange),
    /// NumPy's.
    Numpy,
    /// By `__dlpack__`, and made by the namespace's `from_dlpack`.
    Dlpack,
    /// Of no library: an array of the standard library's, a memoryview.
    Buffer,
    /// dask's, which have no elements yet.
    Dask,
}

/// How an array lies: its shape, and its strides in elements.
pub type Lies = (Vec<u64>, Vec<i64>);

/// An array, read where it lies.
pub struct Array<'py> {
    pub object: Bound<'py, PyAny>,
    pub library: Library,
    pub element: Type,
    pub device: Device,
    pub shape: Vec<u64>,
    /// In elements.
    strides: Vec<i64>,
    /// The address of the element whose indices are all 0.
    first: usize,
    is_writable: bool,
    /// What keeps the memory.
    hold: Hold,
}

/// What is to be released once an array was read.
#[expect(dead_code, reason = "it is there to be dropped")]
enum Hold {
    /// The object itself keeps it.
    Object,
    Buffer(buffer::Buffer),
    Dlpack(read::Managed),
    /// A copy, aligned and in C order.
    Copy(Vec<u128>),
}

impl<'py> Array<'py> {
    /// An argument of that name.
    ///
    /// # Errors
    ///
    /// `TypeError` of what is no array, or an array of elements that are no numbers; what its library raises.
    pub fn of(object: &Bound<'py, PyAny>, argument: &str) -> PyResult<Self> {
        let named = |error: PyErr| errors::in_argument(object.py(), argument, error);
        let read = || {
            let array = Self::read(object, Library::of(object)?)?;
            Ok(if array.has_odd_truths()? {
                array.in_order_copy()?
            } else {
                array
            })
        };
        read().map_err(named)
    }

    /// Whether it is of a library whose arrays have no elements yet.
    pub fn is_lazy(object: &Bound<'_, PyAny>) -> bool {
        matches!(Library::of(object), Ok(Library::Dask))
    }

    /// How many elements.
    pub fn len(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Whether they are in C order, one after the other.
    pub fn is_in_order(&self) -> bool {
        let mut step = 1;
        for (extent, stride) in self.shape.iter().zip(&self.strides).rev() {
            if *extent != 1 && *stride != step {
                return self.shape.contains(&0);
            }
            step *= *extent as i64;
        }
        true
    }

    /// The real and imaginary parts of complex numbers, along a last axis of their own.
    pub fn into_reals(mut self) -> Self {
        self.element = match self.element {
            Type::Complex128 => Type::F64,
            _ => Type::F32,
        };
        for stride in &mut self.strides {
            *stride *= 2;
        }
        self.shape.push(2);
        self.strides.push(1);
        self
    }

    /// Truths as the bytes that they are.
    pub fn into_bytes(mut self) -> Self {
        self.element = Type::U8;
        self
    }

    /// The same elements in C order: itself if they are, and a copy elsewhere.
    ///
    /// # Errors
    ///
    /// `ValueError` in a GPU's memory, where its library makes no such copy.
    pub fn in_order(self, argument: &str) -> PyResult<Self> {
        match (self.device, self.library) {
            _ if self.is_in_order() => Ok(self),
            (Device::Cpu, _) => self.in_order_copy(),
            (_, Library::Exchange(_)) => Self::of(&self.object.call_method0("contiguous")?, argument),
            _ => Err(PyValueError::new_err(format!(
                "{argument}: in a GPU's memory it must be in C order"
            ))),
        }
    }

    /// Bytes of its elements.
    pub fn bytes(&self) -> u64 {
        self.len() * self.element.bytes() as u64
    }

    /// Its elements and how they lie, of an array in host memory: one axis where they are in order and that is asked for.
    ///
    /// # Panics
    ///
    /// If they are of another type, or not in host memory.
    ///
    /// # Errors
    ///
    /// `ValueError` of shapes that overflow.
    pub fn view<T: Element>(&self, as_one_axis: bool) -> PyResult<View<'_, T>> {
        let elements = self.elements::<T>()?;
        if as_one_axis && self.is_in_order() {
            return Ok(warpfold::operand::AsView::view(elements));
        }
        View::new(elements, &self.layout()?).map_err(errors::of)
    }

    /// All of them, from the lowest to the highest, and what is between them.
    ///
    /// # Panics
    ///
    /// As [`view`](Self::view).
    ///
    /// # Errors
    ///
    /// As that.
    pub fn elements<T: Element>(&self) -> PyResult<&[T]> {
        let is_mask = T::TYPE == Type::U8 && self.element == Type::Bool;
        assert!(
            (T::TYPE == self.element || is_mask) && self.device == Device::Cpu,
            "of another type"
        );
        let (_, len) = self.reach()?;
        if len == 0 {
            return Ok(&[]);
        }
        // SAFETY: its library says that these are elements of the array, which `hold` or `object` keeps. That no other thread writes them
        // meanwhile is the caller's duty, as with NumPy's own functions. Reading made sure that it is aligned, and that truths are 0 or 1.
        Ok(unsafe { slice::from_raw_parts(self.address() as *const T, len) })
    }

    /// How it lies, from its lowest element on.
    ///
    /// # Errors
    ///
    /// `ValueError` of shapes that overflow.
    pub fn layout(&self) -> PyResult<Layout> {
        let (low, _) = self.reach()?;
        Layout::strided(&self.shape, &self.strides, low.unsigned_abs()).map_err(errors::of)
    }

    /// The address of its lowest element.
    pub fn address(&self) -> u64 {
        let low = self.reach().map_or(0, |(low, _)| low);
        (self.first as i64 + low * self.element.bytes() as i64) as u64
    }

    /// Its shape and its strides.
    pub fn lies(&self) -> Lies {
        (self.shape.clone(), self.strides.clone())
    }

    /// The stream that its library works on now.
    ///
    /// # Errors
    ///
    /// What its library raises.
    pub fn current_stream(&self) -> PyResult<u64> {
        read::current_stream(&self.object, self.library, self.device)
    }

    /// The lowest element, counted from the one whose indices are all 0, and how many from there to the highest.
    pub fn reach(&self) -> PyResult<(i64, usize)> {
        if self.shape.contains(&0) {
            return Ok((0, 0));
        }
        let (mut low, mut high) = (0_i128, 0_i128);
        for (extent, stride) in self.shape.iter().zip(&self.strides) {
            let reach = i128::from(*stride) * i128::from(*extent - 1);
            low += reach.min(0);
            high += reach.max(0);
        }
        let len = (high - low + 1) * self.element.bytes() as i128;
        if len > isize::MAX as i128 {
            return Err(PyValueError::new_err("an array of more bytes than there are addresses"));
        }
        Ok((low as i64, (high - low + 1) as usize))
    }

    /// A new array of its library in host memory, of answers in C order: of no axes a scalar where the library has such.
    ///
    /// # Errors
    ///
    /// What its library raises.
    pub fn like(&self, element: Type, shape: &[u64], bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let py = self.object.py();
        match self.library {
            Library::Exchange(_) => {
                let new = New::of(self, Device::Cpu, element, shape)?;
                new.fill(bytes);
                let new = new.into_object(py)?;
                match self.device {
                    Device::Cpu => Ok(new),
                    Device::Cuda(_) => new.call_method1("to", (self.object.getattr("device")?,)),
                }
            }
            Library::Dlpack if self.device != Device::Cpu => {
                let made = Library::Numpy.made(py, element, shape, bytes)?;
                namespace(&self.object)?.call_method1("asarray", (made,))
            }
            Library::Dlpack => {
                let owned = Bound::new(py, Owned::new(element, shape, bytes))?;
                namespace(&self.object)?.call_method1("from_dlpack", (owned,))
            }
            library => library.made(py, element, shape, bytes),
        }
    }

    /// An array of its library, each of its numbers divided by the same one, and not multiplied by its reciprocal.
    ///
    /// # Errors
    ///
    /// What its library raises.
    pub fn divided(&self, sums: &Bound<'py, PyAny>, by: u64) -> PyResult<Bound<'py, PyAny>> {
        if let Library::Exchange(_) = self.library {
            let torch = self.object.py().import("torch")?;
            return sums.call_method1("div_", (torch.call_method1("full_like", (sums, by))?,));
        }
        sums.call_method1("__itruediv__", (by,))
    }

    /// It in host memory, where it is in a GPU's.
    ///
    /// # Errors
    ///
    /// What its library raises.
    pub fn on_host(self) -> PyResult<Self> {
        match (self.device, self.library) {
            (Device::Cpu, _) => Ok(self),
            (_, Library::Exchange(_)) => Self::of(&self.object.call_method0("cpu")?, "x"),
            // CuPy's own way; it refuses NumPy's.
            _ if self.object.hasattr("get")? => Self::of(&self.object.call_method0("get")?, "x"),
            _ => {
                let numpy = self.object.py().import("numpy")?;
                Self::of(&numpy.call_method1("asarray", (&self.object,))?, "x")
            }
        }
    }

    /// The same array with elements of another type, as its library casts them.
    ///
    /// # Errors
    ///
    /// What its library raises.
    pub fn cast(self, element: Type) -> PyResult<Self> {
        let (py, name) = (self.object.py(), dtypes::name(element));
        let cast = match self.library {
            Library::Exchange(_) => {
                let torch = py.import("torch")?;
                self.object.call_method1("to", (torch.getattr(name)?,))?
            }
            Library::Numpy => self
                .object
                .call_method1("astype", (buffer::numpy_dtype(py, element)?,))?,
            Library::Dlpack => {
                let namespace = namespace(&self.object)?;
                namespace.call_method1("astype", (&self.object, namespace.getattr(name)?))?
            }
            Library::Buffer if element == Type::F64 => return self.buffer_as_f64(),
            Library::Buffer | Library::Dask => {
                return Err(PyTypeError::new_err(format!(
                    "x: a buffer's elements are not cast to {name}: pass a NumPy array"
                )));
            }
        };
        let cast = Self::of(&cast, "x")?;
        if cast.element != element {
            let got = dtypes::name(cast.element);
            return Err(PyTypeError::new_err(format!(
                "x: its library casts to {got} where {name} is asked for; JAX has that with jax_enable_x64"
            )));
        }
        Ok(cast)
    }
}

/// The namespace of an array of the array API.
fn namespace<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    object
        .call_method0("__array_namespace__")
        .map_err(|_| PyBufferError::new_err("no new array can be made of its library: it has no __array_namespace__"))
}
