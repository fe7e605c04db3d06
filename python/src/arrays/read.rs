//! Arrays by DLPack.

use std::{
    ffi::{CStr, c_char, c_void},
    mem::MaybeUninit,
    ptr, slice,
};

use pyo3::{
    Bound, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyBufferError, PyMemoryError, PyTypeError, PyValueError},
    ffi, intern,
    sync::PyOnceLock,
    types::{
        IntoPyDict as _, PyAnyMethods as _, PyCapsule, PyCapsuleMethods as _, PyDictMethods as _, PyString,
        PyTypeMethods as _,
    },
};
use warpfold::ops::element::Type;

use super::{
    Array, Device, Hold, Library, buffer, copy,
    dlpack::{self, DlDevice, DlType, Exchange, Legacy, Tensor, Versioned},
};
use crate::dtypes;

/// A tensor that was handed over: deleted when dropped.
pub enum Managed {
    Versioned(*mut Versioned),
    Legacy(*mut Legacy),
}

impl Managed {
    fn tensor(&self) -> &Tensor {
        // SAFETY: it was handed over.
        unsafe {
            match *self {
                Self::Versioned(managed) => &(*managed).tensor,
                Self::Legacy(managed) => &(*managed).tensor,
            }
        }
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        // SAFETY: it was handed over, and is deleted once. Deleters of arrays may call Python: whoever drops an `Array` has it attached.
        unsafe {
            match *self {
                Self::Versioned(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
                Self::Legacy(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
            }
        }
    }
}

impl<'py> Array<'py> {
    pub(super) fn read(object: &Bound<'py, PyAny>, library: Library) -> PyResult<Self> {
        match library {
            Library::Numpy | Library::Buffer => buffer::read(object, library),
            Library::Exchange(exchange) => exchanged(object, exchange),
            Library::Dlpack => by_capsule(object),
            Library::Dask => Err(PyTypeError::new_err(
                "a dask array has no elements before it is computed",
            )),
        }
    }

    /// Whether an array of truths in host memory has bytes other than 0 and 1, as views of other arrays can have.
    pub(super) fn has_odd_truths(&self) -> PyResult<bool> {
        if self.element != Type::Bool || self.device != Device::Cpu {
            return Ok(false);
        }
        let (low, len) = self.reach()?;
        if len == 0 {
            return Ok(false);
        }
        // What lies between them would take longer to look at than they to copy.
        if len as u64 / 4 > self.len() {
            return Ok(true);
        }
        // SAFETY: as in `Array::view`.
        let bytes: &[u8] = unsafe { slice::from_raw_parts((self.first as i64 + low) as *const u8, len) };
        Ok(bytes.iter().fold(0, |or, byte| or | byte) > 1)
    }

    /// A copy in C order, of truths one of bytes 0 and 1.
    pub(super) fn in_order_copy(self) -> PyResult<Self> {
        let mut copy = self.copied()?;
        if self.element == Type::Bool {
            for byte in bytemuck::cast_slice_mut::<u128, u8>(&mut copy) {
                *byte = u8::from(*byte != 0);
            }
        }
        let element = self.element;
        Ok(self.in_copy(element, copy))
    }

    /// Of a tensor, which `hold` or the object keeps.
    fn of_tensor(
        object: &Bound<'py, PyAny>,
        library: Library,
        tensor: &Tensor,
        is_writable: bool,
        hold: Hold,
    ) -> PyResult<Self> {
        let DlType { code, bits, lanes } = tensor.element;
        let element = dtypes::of_dlpack(code, bits).filter(|_| lanes == 1).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "an array of DLPack's type {code} of {bits} bits is none of numbers that warpfold has"
            ))
        })?;
        let device = match tensor.device.kind {
            dlpack::CPU | dlpack::CUDA_HOST => Device::Cpu,
            dlpack::CUDA | dlpack::CUDA_MANAGED => Device::Cuda(tensor.device.index as usize),
            other => {
                return Err(PyTypeError::new_err(format!(
                    "an array on a device of DLPack's kind {other}: warpfold has CPUs and CUDA"
                )));
            }
        };
        let axes = tensor.axes as usize;
        let numbers = |from: *mut i64| -> &[i64] {
            if axes == 0 || from.is_null() {
                return &[];
            }
            // SAFETY: DLPack says that there are as many as axes.
            unsafe { slice::from_raw_parts(from, axes) }
        };
        let shape: Vec<u64> = numbers(tensor.shape).iter().map(|extent| *extent as u64).collect();
        let strides = if tensor.strides.is_null() {
            copy::c_strides(&shape)
        } else {
            numbers(tensor.strides).to_vec()
        };
        let first = tensor.data as usize + tensor.byte_offset as usize;
        let array = Self {
            object: object.clone(),
            library,
            element,
            device,
            shape,
            strides,
            first,
            is_writable,
            hold,
        };
        if first == 0 && !array.shape.contains(&0) {
            return Err(PyBufferError::new_err(
                "an array without memory: a fake tensor, or one of zeros that are not stored",
            ));
        }
        if !first.is_multiple_of(copy::alignment(element)) && !array.shape.contains(&0) {
            return Err(PyBufferError::new_err("an array whose elements are not aligned"));
        }
        Ok(array)
    }
}

/// torch.is_grad_enabled(): a call for each tensor of a forward pass, so the function is kept.
fn is_grad_enabled(py: Python<'_>) -> PyResult<bool> {
    static FUNCTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let function = FUNCTION.import(py, "torch", "is_grad_enabled")?;
    function.call0()?.is_truthy()
}

/// A tensor of torch's whose elements are as memory has them, of one that is negated or conjugated when it is read; none where it is so already. One that a
/// gradient is wanted of is refused, for here is none.
fn resolved<'py>(object: &Bound<'py, PyAny>, is_complex: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let is = |name: &Bound<'py, PyString>| -> PyResult<bool> { object.call_method0(name)?.is_truthy() };
    let Ok(wants_gradient) = object.getattr(intern!(py, "requires_grad")) else {
        return Ok(None);
    };
    if wants_gradient.is_truthy()? && is_grad_enabled(py)? {
        return Err(PyValueError::new_err(
            "it requires grad, and here is no gradient: warpfold.torch has functions with one; or pass x.detach()",
        ));
    }
    let name = if is(intern!(py, "is_neg"))? {
        "resolve_neg"
    } else if is_complex && is(intern!(py, "is_conj"))? {
        "resolve_conj"
    } else {
        return Ok(None);
    };
    object.call_method0(name).map(Some)
}

/// A tensor of a library with exchange functions, borrowed: the object keeps it.
fn exchanged<'py>(object: &Bound<'py, PyAny>, exchange: &'static Exchange) -> PyResult<Array<'py>> {
    let library = Library::Exchange(exchange);
    if let Some(borrowed) = exchange.borrowed {
        let mut tensor = MaybeUninit::<Tensor>::uninit();
        // SAFETY: the object is of the type that has these functions, and there is room for a tensor.
        let code = unsafe { borrowed(object.as_ptr().cast(), tensor.as_mut_ptr()) };
        if code != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: filled where it answers 0. Its numbers live as long as nobody else runs: they are copied at once.
        let tensor = unsafe { tensor.assume_init() };
        /// DLPack's code of complex numbers.
        const COMPLEX: u8 = 5;
        if let Some(object) = resolved(object, tensor.element.code == COMPLEX)? {
            // A copy: what was written to it would be lost.
            return Ok(Array {
                is_writable: false,
                ..exchanged(&object, exchange)?
            });
        }
        return Array::of_tensor(object, library, &tensor, true, Hold::Object);
    }
    let mut managed = ptr::null_mut();
    // SAFETY: as above.
    let code = unsafe { (exchange.owned)(object.as_ptr().cast(), &mut managed) };
    if code != 0 {
        return Err(PyErr::fetch(object.py()));
    }
    let hold = Hold::Dlpack(Managed::Versioned(managed));
    // SAFETY: it was handed over, and `hold` keeps it.
    let managed = unsafe { &*managed };
    Array::of_tensor(
        object,
        library,
        &managed.tensor,
        managed.flags & dlpack::READ_ONLY == 0,
        hold,
    )
}

/// An array by `__dlpack__`.
fn by_capsule<'py>(object: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
    let py = object.py();
    let name = intern!(py, "__dlpack__");
    let newest = [("max_version", (dlpack::MAJOR, 1_u32))].into_py_dict(py)?;
    let (kind, index): (i32, usize) = object.call_method0(intern!(py, "__dlpack_device__"))?.extract()?;
    if kind == dlpack::CUDA {
        // What its library does on other streams is waited for on its own current one, which launches are on.
        let stream = current_stream(object, Library::Dlpack, Device::Cuda(index))?;
        newest.set_item("stream", stream.max(1))?;
    }
    let capsule = match object.call_method(name, (), Some(&newest)) {
        Ok(capsule) => capsule,
        // Libraries from before DLPack 1 know no such argument.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => object.call_method0(name)?,
        Err(error) => return Err(error),
    };
    let capsule = capsule.cast_into::<PyCapsule>()?;
    let rename = |to: &'static CStr| {
        // SAFETY: a capsule, and a static name.
        unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), to.as_ptr()) };
    };
    if let Ok(pointer) = capsule.pointer_checked(Some(dlpack::VERSIONED)) {
        let managed = pointer.cast::<Versioned>().as_ptr();
        rename(dlpack::USED_VERSIONED);
        let hold = Hold::Dlpack(Managed::Versioned(managed));
        // SAFETY: the capsule's name says what it points to, and it was taken.
        let managed = unsafe { &*managed };
        if managed.version.major != dlpack::MAJOR {
            return Err(PyBufferError::new_err(format!(
                "DLPack {} is not known here",
                managed.version.major
            )));
        }
        let is_writable = managed.flags & dlpack::READ_ONLY == 0;
        return Array::of_tensor(object, Library::Dlpack, &managed.tensor, is_writable, hold);
    }
    let managed = capsule.pointer_checked(Some(dlpack::LEGACY))?.cast::<Legacy>().as_ptr();
    rename(dlpack::USED_LEGACY);
    let hold = Hold::Dlpack(Managed::Legacy(managed));
    // SAFETY: as above.
    Array::of_tensor(object, Library::Dlpack, unsafe { &(*managed).tensor }, true, hold)
}

/// A new array of a library, of which nobody else knows yet.
pub enum New<'py> {
    Managed(Managed, &'static Exchange),
    Made(Array<'py>),
}

impl<'py> New<'py> {
    /// One of the library and on the device of `x`.
    ///
    /// # Errors
    ///
    /// What its library raises.
    pub fn on_device(x: &Array<'py>, element: Type, shape: &[u64]) -> PyResult<Self> {
        Self::of(x, x.device, element, shape)
    }

    /// One of the library of `x`.
    ///
    /// # Errors
    ///
    /// What its library raises.
    pub fn of(x: &Array<'py>, device: Device, element: Type, shape: &[u64]) -> PyResult<Self> {
        let Library::Exchange(exchange) = x.library else {
            let (py, module) = (x.object.py(), root(&x.object)?);
            let arguments = (shape, dtypes::name(element));
            let made = match &*module {
                "cupy" => py.import(module)?.call_method1(intern!(py, "empty"), arguments)?,
                JAX => {
                    let on = [("device", x.object.getattr("device")?)].into_py_dict(py)?;
                    let made = py.import("jax.numpy")?.call_method("empty", arguments, Some(&on))?;
                    // It is filled with zeros, before anything else is written.
                    made.call_method0("block_until_ready")?
                }
                _ => {
                    return Err(PyTypeError::new_err(format!(
                        "x: an array of {module} on {device}: pass one of torch, CuPy or JAX"
                    )));
                }
            };
            let made = Array::of(&made, "x")?;
            if made.element != element {
                return Err(PyTypeError::new_err(format!(
                    "the answer is of {}, which JAX has with jax_enable_x64",
                    dtypes::name(element)
                )));
            }
            return Ok(Self::Made(made));
        };
        let mut extents: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
        let (code, bits) = dtypes::to_dlpack(element);
        let device = match device {
            Device::Cpu => DlDevice {
                kind: dlpack::CPU,
                index: 0,
            },
            Device::Cuda(index) => DlDevice {
                kind: dlpack::CUDA,
                index: index as i32,
            },
        };
        let mut prototype = Tensor {
            data: ptr::null_mut(),
            device,
            axes: extents.len() as i32,
            element: DlType { code, bits, lanes: 1 },
            shape: extents.as_mut_ptr(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let mut text = String::new();
        let mut managed: *mut Versioned = ptr::null_mut();
        // SAFETY: the prototype lives past the call; the text is what `set_error` expects.
        let code =
            unsafe { (exchange.allocate)(&mut prototype, &mut managed, ptr::from_mut(&mut text).cast(), set_error) };
        if code != 0 || managed.is_null() {
            return Err(PyMemoryError::new_err(text));
        }
        Ok(Self::Managed(Managed::Versioned(managed), exchange))
    }

    /// Where its elements are.
    pub fn address(&self) -> u64 {
        match self {
            Self::Managed(managed, _) => managed.tensor().data as u64 + managed.tensor().byte_offset,
            Self::Made(array) => array.address(),
        }
    }

    /// Writes its elements, of an array in host memory.
    pub(super) fn fill(&self, bytes: &[u8]) {
        if let (Self::Managed(..), false) = (self, bytes.is_empty()) {
            // SAFETY: a new tensor in host memory, in C order, as large as its shape says; nobody else knows it.
            unsafe { slice::from_raw_parts_mut(self.address() as *mut u8, bytes.len()) }.copy_from_slice(bytes);
        }
    }

    /// It, as its library has it.
    ///
    /// # Errors
    ///
    /// What its library raises.
    pub fn into_object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (managed, exchange) = match self {
            Self::Made(array) => return Ok(array.object),
            Self::Managed(managed, exchange) => (managed, exchange),
        };
        let mut object = ptr::null_mut();
        let pointer = match managed {
            Managed::Versioned(pointer) => pointer,
            Managed::Legacy(_) => unreachable!("allocators make none"),
        };
        std::mem::forget(managed);
        // SAFETY: the tensor is handed over, whatever is answered.
        let code = unsafe { (exchange.to_object)(pointer, &mut object) };
        if code != 0 {
            return Err(PyErr::fetch(py));
        }
        // SAFETY: a new reference to an object.
        Ok(unsafe { Bound::from_owned_ptr(py, object.cast()) })
    }
}

/// The package that JAX's arrays are of.
const JAX: &str = "jaxlib";

impl Array<'_> {
    /// Whether its library has no stream of which it could wait for a launch: then the call waits.
    ///
    /// # Errors
    ///
    /// Of a type without a module.
    pub fn has_no_stream(&self) -> PyResult<bool> {
        let is_dlpack = matches!(self.library, Library::Dlpack);
        Ok(is_dlpack && root(&self.object)? == JAX)
    }
}

/// The package of an object's type.
fn root(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let module = object.get_type().module()?.to_string();
    Ok(module.split('.').next().unwrap_or_default().to_owned())
}

/// The stream that a library works on now.
pub(super) fn current_stream(object: &Bound<'_, PyAny>, library: Library, device: Device) -> PyResult<u64> {
    let (py, Device::Cuda(index)) = (object.py(), device) else {
        return Ok(0);
    };
    if let Library::Exchange(exchange) = library {
        let mut stream = ptr::null_mut();
        // SAFETY: writes one handle.
        let code = unsafe { (exchange.current_stream)(dlpack::CUDA, index as i32, &mut stream) };
        if code != 0 {
            return Err(PyErr::fetch(py));
        }
        return Ok(stream as u64);
    }
    let module = root(object)?;
    if module == JAX {
        // The null stream, which its own are made to precede.
        return Ok(0);
    }
    let stream = py.import(module)?.getattr("cuda")?.call_method0("get_current_stream")?;
    stream.getattr("ptr")?.extract()
}

/// Keeps what an allocator says.
unsafe extern "C" fn set_error(context: *mut c_void, kind: *const c_char, message: *const c_char) {
    // SAFETY: the context is the text of `made`, and both are C strings.
    unsafe {
        let text = &mut *context.cast::<String>();
        let [kind, message] = [kind, message].map(|part| CStr::from_ptr(part).to_string_lossy());
        *text = format!("{kind}: {message}");
    }
}
