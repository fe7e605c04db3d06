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
mod owned;
mod read;

use std::{
    collections::HashMap,
    fmt, slice,
    sync::{Mutex, PoisonError},
};

use pyo3::{
    Bound, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    types::{PyAnyMethods as _, PyCapsule, PyCapsuleMethods as _, PyType, PyTypeMethods as _},
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

/// What is known of types of arrays; the types are kept, so that no other comes to have the address of one.
static LIBRARIES: Mutex<Option<Libraries>> = Mutex::new(None);
/// By the addresses of types.
type Libraries = HashMap<usize, (Py<PyType>, Library)>;
/// So many types at most.
const MOST_TYPES: usize = 256;

impl Library {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let class = object.get_type();
        let key = class.as_ptr() as usize;
        let lock = || LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, library)) = lock().as_ref().and_then(|libraries| libraries.get(&key)) {
            return Ok(*library);
        }
        let library = Self::found(&class, object)?;
        let kept = (class.unbind(), library);
        let mut libraries = lock();
        let libraries = libraries.get_or_insert_default();
        if libraries.len() < MOST_TYPES {
            libraries.insert(key, kept);
        }
        Ok(library)
    }

    fn found(class: &Bound<'_, PyType>, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let module = class
            .module()
            .map_or_else(|_| String::new(), |module| module.to_string());
        let root = module.split('.').next().unwrap_or_default();
        if let Some(exchange) = exchange_of(class)? {
            return Ok(Self::Exchange(exchange));
        }
        Ok(match root {
            "numpy" => Self::Numpy,
            "dask" => Self::Dask,
            _ if class.hasattr("__dlpack__")? => Self::Dlpack,
            _ if buffer::has(object) => Self::Buffer,
            _ => {
                let name = class.fully_qualified_name()?;
                return Err(PyTypeError::new_err(format!(
                    "{name} is no array: pass one of NumPy, of torch, or of any library that has DLPack"
                )));
            }
        })
    }
}

impl Library {
    /// A new array in host memory of NumPy's, or of the standard library's.
    ///
    /// # Errors
    ///
    /// What it raises.
    pub fn made<'py>(self, py: Python<'py>, element: Type, shape: &[u64], bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        match (self, shape) {
            (Self::Numpy, []) => buffer::numpy_scalar(py, element, bytes),
            (Self::Numpy, _) => buffer::numpy_array(py, element, shape, bytes),
            (_, []) => buffer::number(py, element, bytes),
            _ => buffer::memoryview(py, element, shape, bytes),
        }
    }
}

/// The exchange functions of a class, of the version that is known here.
fn exchange_of(class: &Bound<'_, PyType>) -> PyResult<Option<&'static dlpack::Exchange>> {
    let Ok(capsule) = class.getattr("__dlpack_c_exchange_api__") else {
        return Ok(None);
    };
    let Ok(capsule) = capsule.cast_into::<PyCapsule>() else {
        return Ok(None);
    };
    let pointer = capsule.pointer_checked(Some(dlpack::EXCHANGE))?;
    // SAFETY: the capsule's name says what it points to, and DLPack that it lives as long as the process.
    let exchange = unsafe { pointer.cast::<dlpack::Exchange>().as_ref() };
    Ok((exchange.version.major == dlpack::MAJOR).then_some(exchange))
}

impl<'py> Array<'py> {
    /// An argument of that name.
    ///
    /// # Errors
    ///
    /// `TypeError` of what is no array, or an array of elements that are no numbers; what its library raises.
    pub fn of(object: &Bound<'py, PyAny>, argument: &str) -> PyResult<Self> {
        let named = |error: PyErr| errors::in_argument(object.py(), argument, error);
        let library = Library::of(object).map_err(named)?;
        Self::read(object, library).map_err(named)
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

    /// That it can be an `out` in a GPU's memory.
    ///
    /// # Errors
    ///
    /// As [`fill`](Self::fill); `ValueError` of one that is not in C order.
    pub fn check_out(&self, element: Type, shape: &[u64]) -> PyResult<()> {
        self.check_filled(element, shape)?;
        if !self.is_in_order() {
            return Err(PyValueError::new_err("out: in a GPU's memory it must be in C order"));
        }
        Ok(())
    }

    /// The lowest element, counted from the one whose indices are all 0, and how many from there to the highest.
    fn reach(&self) -> PyResult<(i64, usize)> {
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

    /// Writes answers in C order to it: an argument `out`.
    ///
    /// # Errors
    ///
    /// `ValueError` where it is of another shape or not to be written; `TypeError` where it is of another type.
    pub fn fill(&self, element: Type, shape: &[u64], bytes: &[u8]) -> PyResult<()> {
        self.check_filled(element, shape)?;
        if self.device != Device::Cpu {
            return Err(PyValueError::new_err(format!(
                "out: it is on {}, and x on the CPU",
                self.device
            )));
        }
        self.write(bytes)
    }

    fn check_filled(&self, element: Type, shape: &[u64]) -> PyResult<()> {
        if self.shape != shape {
            return Err(PyValueError::new_err(format!(
                "out: its shape is {:?}, and the answer's {shape:?}",
                self.shape
            )));
        }
        if self.element != element {
            return Err(PyTypeError::new_err(format!(
                "out: it is of {}, and the answer of {}",
                dtypes::name(self.element),
                dtypes::name(element)
            )));
        }
        if !self.is_writable || matches!(self.hold, Hold::Copy(_)) {
            return Err(PyValueError::new_err(
                "out: it is not to be written, or its elements are not aligned",
            ));
        }
        Ok(())
    }

    fn write(&self, bytes: &[u8]) -> PyResult<()> {
        let (size, shape) = (self.element.bytes(), &self.shape);
        let each = Layout::strided(&self.shape, &self.strides, 0).map_err(errors::of)?;
        let mut index = vec![0_u64; shape.len()];
        for answer in bytes.chunks_exact(size) {
            let at: i64 = index
                .iter()
                .zip(each.strides())
                .map(|(i, stride)| *i as i64 * stride)
                .sum();
            // SAFETY: its library says that this element is the array's and may be written; the caller asked for it.
            let place = unsafe { slice::from_raw_parts_mut((self.first as i64 + at * size as i64) as *mut u8, size) };
            place.copy_from_slice(answer);
            for (i, extent) in index.iter_mut().zip(shape).rev() {
                *i += 1;
                if *i < *extent {
                    break;
                }
                *i = 0;
            }
        }
        Ok(())
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
                new.into_object(py)
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
            _ => Self::of(&self.object.call_method0("get")?, "x"),
        }
    }

    /// The same array with elements of another type, as its library casts them.
    ///
    /// # Errors
    ///
    /// What its library raises.
    pub fn cast(&self, element: Type) -> PyResult<Self> {
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
            Library::Buffer | Library::Dask => {
                return Err(PyTypeError::new_err(format!(
                    "x: a buffer's elements are not cast to {name}: pass a NumPy array"
                )));
            }
        };
        Self::of(&cast, "x")
    }
}

/// The namespace of an array of the array API.
fn namespace<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    object
        .call_method0("__array_namespace__")
        .map_err(|_| PyBufferError::new_err("no new array can be made of its library: it has no __array_namespace__"))
}
