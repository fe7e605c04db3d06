//! The one place that switches contexts.

use std::{marker::PhantomData, ptr};

use cust::{context::Context, device::Device};
use warpfold_driver::sys;

use super::status::{Status as _, check};
use crate::Error;

/// A context made current for a scope, on top of whatever the caller had.
pub(super) struct Bound<'a> {
    /// Whether it was not the caller's already.
    is_pushed: bool,
    context: PhantomData<(&'a Context, *const ())>,
}

impl<'a> Bound<'a> {
    pub(super) fn to(context: &'a Context) -> Result<Self, Error> {
        let mut current = ptr::null_mut();
        // SAFETY: writes one handle.
        check("cuCtxGetCurrent", unsafe { sys::cuCtxGetCurrent(&mut current) })?;
        let is_pushed = current != context.as_raw().cast();
        if is_pushed {
            // SAFETY: the context is retained for as long as `context` lives.
            check("cuCtxPushCurrent", unsafe {
                sys::cuCtxPushCurrent_v2(context.as_raw().cast())
            })?;
        }
        Ok(Self {
            is_pushed,
            context: PhantomData,
        })
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        if !self.is_pushed {
            return;
        }
        let mut popped = ptr::null_mut();
        // SAFETY: pops what `to` pushed on this thread: `Bound` is not `Send`, and scopes nest. It fails only with the
        // driver itself, of which the next call tells.
        unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
    }
}

/// The device's primary context, retained; the caller's own context stays current, though cust would change it.
pub(super) fn retain(device: Device) -> Result<Context, Error> {
    let mut caller = ptr::null_mut();
    // SAFETY: writes one handle.
    check("cuCtxGetCurrent", unsafe { sys::cuCtxGetCurrent(&mut caller) })?;
    let context = Context::new(device).or_fail("cuDevicePrimaryCtxRetain");
    // SAFETY: the handle was the thread's own; none is allowed.
    check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(caller) })?;
    context
}

/// Waits for the default stream of the current context, on which cust fills memory and returns before that is done.
pub(super) fn wait_for_default_stream() -> Result<(), Error> {
    // SAFETY: null names the default stream.
    check("cuStreamSynchronize", unsafe {
        sys::cuStreamSynchronize(ptr::null_mut())
    })
}
