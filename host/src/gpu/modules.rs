//! The kernels' modules, each loaded when first asked for.

use std::{
    collections::hash_map::{self, HashMap},
    ptr,
    sync::{Mutex, PoisonError},
};

use cust::{error::CudaError, module::Module};
use warpfold_kernels::kernels::{Entry, Library, Note};

use super::{
    launch::Function,
    status::{self, Status as _, UNSUPPORTED_PTX_VERSION},
};
use crate::{Error, ptx};

/// The modules that one device has loaded.
pub(super) struct Modules {
    compute_capability: (u32, u32),
    loaded: Mutex<HashMap<Name, Loaded>>,
}

/// Where a library is, for two crates may have entries of one name; and the entry.
type Name = (usize, &'static str);

/// A module, and whether its code waits for the launch before: what is compiled for the newer architectures does.
struct Loaded {
    module: Module,
    waits: bool,
}

/// The instruction that waits, the first of an entry that has it.
const WAIT: &str = "griddepcontrol.wait";

impl Modules {
    pub(super) fn new(compute_capability: (u32, u32)) -> Self {
        Self {
            compute_capability,
            loaded: Mutex::default(),
        }
    }

    /// The entry's function, valid until [`unload`](Self::unload). The device's context is current.
    pub(super) fn function(&self, entry: &'static Entry) -> Result<Function, Error> {
        let text = || ptx::find(entry, self.compute_capability).map(|ptx| ptx.text);
        self.find(entry.library, entry.name, text)
    }

    /// The same of an entry point that is no operator's.
    pub(super) fn kernel(&self, library: &'static Library, note: Note<'static>) -> Result<Function, Error> {
        self.find(library, note.name, || {
            ptx::kernel(library, note, self.compute_capability)
        })
    }

    /// A function of that name, whose PTX is `text` where no module has been loaded yet.
    fn find(
        &self,
        library: &'static Library,
        name: &'static str,
        text: impl FnOnce() -> Result<String, Error>,
    ) -> Result<Function, Error> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let Loaded { module, waits } = match loaded.entry((ptr::from_ref(library).addr(), name)) {
            hash_map::Entry::Occupied(there) => there.into_mut(),
            hash_map::Entry::Vacant(place) => place.insert(load(name, &text()?)?),
        };
        let function = module.get_function(name).or_fail("cuModuleGetFunction")?;
        Ok(Function::new(function.to_raw(), *waits))
    }

    /// Whether an entry's kernel, as it loads it, has clusters of blocks.
    pub(super) fn has_clusters(&self, entry: &Entry) -> bool {
        ptx::has_clusters(entry, self.compute_capability)
    }

    /// Unloads everything. The device's context is current, and no launch is under way.
    pub(super) fn unload(&mut self) {
        self.loaded.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Loads the module of an entry. The device's context is current.
fn load(entry: &'static str, text: &str) -> Result<Loaded, Error> {
    let module = Module::from_ptx(text, &[]);
    Ok(Loaded {
        module: module.map_err(|error| load_error(entry, error, status::code(error)))?,
        waits: text.contains(WAIT),
    })
}

/// What it means that a module does not load: `code` is the driver's own, where cust's `error` has no name for it.
fn load_error(entry: &'static str, error: CudaError, code: u32) -> Error {
    match code {
        UNSUPPORTED_PTX_VERSION => Error::DriverTooOld {
            entry,
            driver: warpfold_driver::driver_version().unwrap_or(0),
        },
        code => Error::Driver {
            call: "cuModuleLoadData",
            code,
            message: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_too_old_for_the_ptx_is_told_from_other_failures() {
        let too_old = load_error("sum_f32", CudaError::UnknownError, UNSUPPORTED_PTX_VERSION);
        assert!(
            matches!(too_old, Error::DriverTooOld { entry: "sum_f32", .. }),
            "{too_old}"
        );
        assert!(too_old.to_string().contains("too old"), "{too_old}");
        let other = load_error("sum", CudaError::InvalidPtx, CudaError::InvalidPtx as u32);
        assert!(matches!(other, Error::Driver { code: 218, .. }), "{other}");
    }
}
