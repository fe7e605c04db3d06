//! Arrays at bare device addresses.

use warpfold_kernels::element::Element;

use crate::DeviceView;

impl<T: Element> DeviceView<'_, T> {
    /// `len` elements at a device address, such as another framework's tensor. Folds answer [`Error::Misaligned`](crate::Error::Misaligned) where it is no multiple of an
    /// element's bytes.
    ///
    /// # Safety
    ///
    /// While the view is used the address is valid for reads of `len` elements in the context of the GPU that folds them, and nobody writes them.
    #[must_use]
    pub unsafe fn from_raw(address: u64, len: u64) -> Self {
        Self::at(address, len)
    }
}
