//! Arrays that are read while they are folded: reading, copying to the device and folding overlap.
//!
//! ```text
//! slot 0   read ──► copy ──► fold        read ──► …
//! slot 1          read ──► copy ──► fold
//! slot 2                 read ──► copy ──► fold
//! ```
//!
//! Each slot has page-locked host memory, which the device copies from by itself, device memory, and a stream. All threads of the CPU
//! backend read into one slot, while the others are copied and folded.

use std::sync::{Mutex, PoisonError};

use cust::{
    memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer},
    stream::{Stream, StreamFlags},
};

use super::{
    Gpu, OUTPUT_WORDS, STATE_AT, Workspace,
    context::Bound,
    ready::{Places, Ready},
    status::{self, Status as _},
};
use crate::{Error, cpu::pool, ops::AnyOp, pieces::AnyPieces, plan::Plan};

/// Slots: one is read into, one copied and one folded.
const SLOTS: usize = 3;

/// Bytes of a piece: long beside a launch, short beside the memory that must be page-locked first.
const PIECE: usize = 8 << 20;

/// Bytes that a thread reads at once.
const TASK: usize = 1 << 19;

/// Fills bytes with the elements from number `first` on.
pub type Fill<'a, E> = &'a (dyn Fn(u64, &mut [u8]) -> Result<(), E> + Sync);

impl Gpu {
    /// Elements of a piece of [`fold_stream`](Self::fold_stream): a subtree of the operator's canonical tree.
    #[must_use]
    pub fn stream_piece(&self, op: &AnyOp) -> u64 {
        op.leaf_elements() << (PIECE / op.leaf_bytes()).max(1).ilog2()
    }

    /// Folds an array of `len` elements in pieces, each of which `fill` writes to host memory when it is needed: called on all threads of
    /// the CPU backend, for parts of a piece. `pieces` are those of the operator, one of a single array, and come back with all states.
    ///
    /// Cost: reading, copying and folding overlap, so about the time of the slowest of them; 24 MiB of page-locked memory, and as much of
    /// the device's, for the time of the call.
    ///
    /// # Errors
    ///
    /// The first error of `fill`; [`Error::OutOfMemory`]; those of [`prepare`](Self::prepare).
    pub fn fold_stream<E: From<Error> + Send>(
        &self,
        op: &AnyOp,
        len: u64,
        mut pieces: AnyPieces,
        fill: Fill<'_, E>,
    ) -> Result<AnyPieces, E> {
        let element = op.element_bytes();
        let piece = pieces.piece();
        let bound = Bound::to(self.context())?;
        let count = len.div_ceil(piece);
        let mut slots: Vec<Slot> = vec![];
        let mut ready: Option<Ready> = None;
        for number in 0..count {
            let first = number * piece;
            let elements = piece.min(len - first);
            let ready = match &mut ready {
                Some(ready) if ready.plan.len == elements => &*ready,
                other => other.insert(Ready::whole(self, op, Plan::new(op.kernel()?, elements))?),
            };
            let at = number as usize % SLOTS;
            if at == slots.len() {
                slots.push(Slot::new(piece.min(len) as usize * element, ready)?);
            }
            let slot = &mut slots[at];
            if let Some((state, elements)) = slot.finish()? {
                pieces.push(&state, elements)?;
            }
            let bytes = elements as usize * element;
            read(&mut slot.host[..bytes], element, first, fill)?;
            slot.start(ready, bytes)?;
        }
        // The oldest first.
        for number in count..count + slots.len() as u64 {
            let at = number as usize % slots.len();
            if let Some((state, elements)) = slots[at].finish()? {
                pieces.push(&state, elements)?;
            }
        }
        drop((slots, bound));
        Ok(pieces)
    }
}

/// Fills bytes by all threads.
fn read<E: Send>(bytes: &mut [u8], element: usize, first: u64, fill: Fill<'_, E>) -> Result<(), E> {
    let task = TASK / element * element;
    let failed: Mutex<Option<(usize, E)>> = Mutex::new(None);
    pool::runs(bytes, task, 1, &|number, run| {
        if let Err(error) = fill(first + (number * task / element) as u64, run) {
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if failed.as_ref().is_none_or(|(other, _)| number < *other) {
                *failed = Some((number, error));
            }
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// A piece on its way. The context is current where it is made, used and dropped.
struct Slot {
    host: LockedBuffer<u8>,
    device: DeviceBuffer<u8>,
    output: DeviceBuffer<u32>,
    /// The same in host memory. A copy that is not of the stream's would wait for all streams.
    words: LockedBuffer<u32>,
    workspace: Workspace,
    stream: Stream,
    /// Elements that are being copied and folded.
    under_way: Option<u64>,
}

impl Slot {
    fn new(bytes: usize, ready: &Ready) -> Result<Self, Error> {
        // SAFETY: only ever read after the part in use was filled by a copy.
        let device = unsafe { DeviceBuffer::uninitialized(bytes) };
        Ok(Self {
            host: LockedBuffer::new(&0, bytes).map_err(|error| status::memory(bytes, error))?,
            device: device.map_err(|error| status::memory(bytes, error))?,
            output: DeviceBuffer::zeroed(OUTPUT_WORDS).map_err(|error| status::memory(4 * OUTPUT_WORDS, error))?,
            words: LockedBuffer::new(&0, OUTPUT_WORDS).map_err(|error| status::memory(4 * OUTPUT_WORDS, error))?,
            workspace: ready.workspace()?,
            stream: Stream::new(StreamFlags::DEFAULT, None).or_fail("cuStreamCreate")?,
            under_way: None,
        })
    }

    /// Copies and folds so many bytes of the host memory.
    fn start(&mut self, ready: &Ready, bytes: usize) -> Result<(), Error> {
        if !self.workspace.fits(ready.plan.workspace_words()) {
            self.workspace = ready.workspace()?;
        }
        let output = self.output.as_device_ptr().as_raw();
        self.under_way = Some(ready.plan.len);
        let mut filled = self.device.index(..bytes);
        // SAFETY: nobody touches the memory of the slot before `finish`, or `drop`, has waited for the stream.
        unsafe {
            filled
                .async_copy_from(&self.host[..bytes], &self.stream)
                .or_fail("cuMemcpyHtoDAsync")?;
            ready.enqueue(Places {
                stream: self.stream.as_inner(),
                inputs: [filled.as_device_ptr().as_raw(), 0],
                offsets: 0,
                workspace: &mut self.workspace,
                answer: output,
                state: output + 4 * STATE_AT as u64,
            })?;
            self.output
                .async_copy_to(&mut self.words[..], &self.stream)
                .or_fail("cuMemcpyDtoHAsync")
        }
    }

    /// Waits for what is under way: the words of its state, and its elements.
    fn finish(&mut self) -> Result<Option<(Vec<u32>, u64)>, Error> {
        let Some(elements) = self.under_way.take() else {
            return Ok(None);
        };
        self.stream.synchronize().or_fail("cuStreamSynchronize")?;
        Ok(Some((self.words[STATE_AT..].to_vec(), elements)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // A copy must not outlive its memory; an error has nobody to go to.
        let _ = self.stream.synchronize();
    }
}
