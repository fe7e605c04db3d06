//! Finding the library, and functions in it.

use std::{
    env,
    error::Error,
    ffi::{OsString, c_void},
    fmt, ptr,
    sync::{
        OnceLock,
        atomic::{AtomicPtr, Ordering},
    },
};

use libloading::Library;

use crate::codes::{NOT_FOUND, SHARED_OBJECT_INIT_FAILED};

// Not the development name `libcuda.so`, which may be the toolkit's stub.
const SYSTEM_LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
const OVERRIDE: &str = "WARPFOLD_CUDA_DRIVER";

/// Why there is no driver to call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadError {
    /// The name or path that was tried.
    pub library: String,
    /// The dynamic loader's words.
    pub reason: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no CUDA driver: cannot load {}: {}", self.library, self.reason)
    }
}

impl Error for LoadError {}

/// Whether the CUDA driver library could be loaded; loads it if nobody has.
///
/// `Ok` does not promise a GPU: `cuInit` and `cuDeviceGetCount` have yet to be asked. The answer never changes in the
/// life of a process.
///
/// # Errors
///
/// What was tried and what the dynamic loader said.
pub fn is_available() -> Result<(), LoadError> {
    library().as_ref().map(drop).map_err(Clone::clone)
}

/// The library, loaded once and never closed: threads and contexts of its own live in it.
fn library() -> &'static Result<Library, LoadError> {
    static LIBRARY: OnceLock<Result<Library, LoadError>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        // An empty path would open this very program, whose `cu*` functions lead back here.
        let path = env::var_os(OVERRIDE)
            .filter(|path| !path.is_empty())
            .unwrap_or_else(|| OsString::from(SYSTEM_LIBRARY));
        // SAFETY: NVIDIA's library, or one the user put in its place, vouches for what its initialisers do.
        unsafe { Library::new(&path) }.map_err(|error| LoadError {
            library: path.to_string_lossy().into_owned(),
            reason: error.source().map_or_else(|| error.to_string(), ToString::to_string),
        })
    })
}

/// The driver's function of one name, looked up at the first call that finds it.
pub struct Entry {
    name: &'static str,
    address: AtomicPtr<c_void>,
}

impl Entry {
    /// `name` ends with a zero byte, which saves the lookup a copy.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            address: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The function's address, never null; or the code that says why there is none.
    #[inline]
    pub fn address(&self) -> Result<*mut c_void, u32> {
        let address = self.address.load(Ordering::Acquire);
        if address.is_null() { self.look_up() } else { Ok(address) }
    }

    /// Threads may race here: each finds the same address.
    #[cold]
    fn look_up(&self) -> Result<*mut c_void, u32> {
        let library = library().as_ref().map_err(|_| SHARED_OBJECT_INIT_FAILED)?;
        // SAFETY: the address is kept as it is; whoever calls it gives it its type.
        let symbol = unsafe { library.get::<*mut c_void>(self.name) }.map_err(|_| NOT_FOUND)?;
        if symbol.is_null() {
            return Err(NOT_FOUND);
        }
        self.address.store(*symbol, Ordering::Release);
        Ok(*symbol)
    }
}
