//! Parts of arrays on a GPU: launches that write states, and the elements that no whole leaf has.

use std::{ops::Range, ptr, sync::Arc};

use cust::sys::{CUDA_MEMCPY2D, CUmemorytype};

use super::{
    Gpu, Workspace,
    blocking::{download, room_for},
    context::Bound,
    fold::OnDevice,
    ready::{Places, Ready},
    status::check,
};
use crate::{
    Error, PartialFault,
    cpu::erased::PackedFold,
    layout::{Extents, Segments, extent::Extent},
    operand::{Placed, Shapes},
    ops::AnyOp,
    partial::any::{AnyPartial, Parts, end_of, parts_of},
    room::room,
};

/// A part of arrays, planned: what folds it to a [partial](crate::partial). [`dynamic::Function::prepare_partial`](crate::dynamic::Function::prepare_partial)
/// makes one.
///
/// A run of memory is one launch, whose segments are the subtrees of the canonical tree. Along axes each subtree is a launch.
pub struct PreparedPartial {
    gpu: Gpu,
    op: Arc<dyn PackedFold>,
    first: u64,
    shape: Vec<u64>,
    /// Of each array.
    each: Vec<Extents>,
    /// Bytes of an element of each array.
    pitches: [usize; 2],
    launches: Vec<Part>,
}

/// A launch, and how many elements of each array lie before what it is passed.
struct Part {
    ready: Ready,
    skipped: [u64; 2],
}

impl Gpu {
    /// Plans a part of arrays, from element `first` of each extent on.
    pub(crate) fn prepare_partial(
        &self,
        op: Arc<dyn PackedFold>,
        any: &AnyOp,
        shapes: &Shapes,
        extent: Extent<'_>,
        first: u64,
    ) -> Result<PreparedPartial, Error> {
        let shape_of = |each: &[Extents]| match extent {
            Extent::Whole => vec![],
            _ => each[0].shape.clone(),
        };
        if matches!(extent, Extent::In(_)) {
            return Err(Error::Partial(PartialFault::Segments));
        }
        any.check()?;
        let along = shapes.along(&extent.axes())?;
        let each = along.extents;
        let len = each[0].len;
        end_of(any, first, len)?;
        let entry = any.kernel_of_states()?;
        let parts = if len == 0 { vec![] } else { parts_of(any, first, len) };
        let is_run = |extents: &Extents| extents.count == 1 && extents.is_contiguous();
        let mut launches = vec![];
        if let [from, .., to] | [from @ to] = &parts[..]
            && each.iter().all(is_run)
        {
            let lens = parts.iter().map(|part| part.end - part.start);
            let segments = Segments::by_lens(lens)?;
            debug_assert_eq!(segments.len(), to.end - from.start, "neighbours");
            let mut skipped = [0; 2];
            for (skipped, extents) in skipped.iter_mut().zip(&each) {
                *skipped = extents.offset + from.start;
            }
            let ready = Ready::segments(self, any, &segments, &[])?;
            launches.push(Part { ready, skipped });
        } else {
            for part in &parts {
                let of_part: Option<Vec<Extents>> = each.iter().map(|extents| extents.part(part)).collect();
                let of_part = of_part.ok_or(Error::Partial(PartialFault::Axes))?;
                let ready = Ready::along(self, any, &along.layouts, &of_part)?;
                let skipped = [0; 2];
                launches.push(Part { ready, skipped });
            }
        }
        Ok(PreparedPartial {
            gpu: self.clone(),
            op,
            first,
            shape: shape_of(&each),
            each,
            pitches: [0, 1].map(|array| entry.pitch(array)),
            launches,
        })
    }

    /// The partial of a part of arrays, wherever they are.
    pub(crate) fn partial(
        &self,
        op: Arc<dyn PackedFold>,
        any: &AnyOp,
        placed: &Placed<'_>,
        extent: Extent<'_>,
        first: u64,
    ) -> Result<AnyPartial, Error> {
        let prepared = self.prepare_partial(op, any, &placed.shapes, extent, first)?;
        let _bound = Bound::to(self.context())?;
        let arrays = OnDevice::of(self, placed)?;
        // SAFETY: the arrays are valid as far as `OnDevice` says, and the call waits.
        unsafe { prepared.fold_raw(arrays.addresses) }
    }
}

impl PreparedPartial {
    /// Folds arrays at device addresses, 0 for a second that there is not, and waits.
    ///
    /// Cost: one reading of the arrays, and a copy to the host of the states and of the elements that no whole leaf has.
    ///
    /// # Errors
    ///
    /// [`Error::Misaligned`]; [`Error::OutOfMemory`]; [`Error::Driver`].
    ///
    /// # Safety
    ///
    /// The arrays are valid in this GPU's context for what was prepared for, and what others wrote to them has been waited for.
    pub unsafe fn fold_raw(&self, arrays: [u64; 2]) -> Result<AnyPartial, Error> {
        let _bound = Bound::to(self.gpu.context())?;
        let partial = AnyPartial::new(Arc::clone(&self.op), self.shape.clone())?;
        partial.with(self.first, self.each[0].len, &At { prepared: self, arrays })
    }
}

/// Arrays at addresses that are valid, as the caller of [`PreparedPartial::fold_raw`] says. The context is current.
struct At<'a> {
    prepared: &'a PreparedPartial,
    arrays: [u64; 2],
}

impl Parts for At<'_> {
    fn states(&self, parts: &[Range<u64>]) -> Result<Vec<Vec<u32>>, Error> {
        let PreparedPartial {
            gpu,
            op,
            first,
            launches,
            ..
        } = self.prepared;
        let (words, cells) = (op.words(), self.prepared.each[0].count as usize);
        if cells == 0 {
            return Ok(vec![vec![]; parts.len()]);
        }
        let room = |part: &Part| {
            let bytes = (part.ready.plan.count as usize).saturating_mul(4 * words);
            Ok((part.ready.workspace()?, room_for(bytes)?))
        };
        let mut rooms = launches
            .iter()
            .map(room)
            .collect::<Result<Vec<(Workspace, _)>, Error>>()?;
        gpu.enqueue_and_wait(|stream| {
            for (part, (workspace, states)) in launches.iter().zip(&mut rooms) {
                let mut inputs = self.arrays;
                for ((input, skipped), pitch) in inputs.iter_mut().zip(part.skipped).zip(self.prepared.pitches) {
                    *input += skipped * pitch as u64;
                }
                // SAFETY: the inputs are the word of `fold_raw`'s caller; workspace and states are ours alone, and waited for.
                unsafe {
                    part.ready.enqueue(Places {
                        stream: stream.as_inner(),
                        inputs,
                        offsets: 0,
                        workspace,
                        answer: 0,
                        state: states.as_device_ptr().as_raw(),
                    })?;
                }
            }
            Ok(())
        })?;
        let mut all = vec![];
        for (part, (_, states)) in launches.iter().zip(&rooms) {
            let states: Vec<u32> = download(states, part.ready.plan.count * words as u64)?;
            all.extend(states.chunks_exact(cells * words).map(<[u32]>::to_vec));
        }
        for (states, part) in all.iter_mut().zip(parts) {
            op.shift(states, first + part.start);
        }
        Ok(all)
    }

    fn packed(&self, part: &Range<u64>) -> Result<Vec<u8>, Error> {
        let arrays = (0..self.prepared.each.len()).map(|array| self.elements(array, part));
        let arrays = arrays.collect::<Result<Vec<Vec<u8>>, Error>>()?;
        let [first, second] = &arrays[..] else {
            return Ok(arrays.into_iter().next().unwrap_or_default());
        };
        let [of_first, of_second] = self.prepared.pitches;
        let mut packed = room((first.len() + second.len()) as u64)?;
        for (first, second) in first.chunks_exact(of_first).zip(second.chunks_exact(of_second)) {
            packed.extend_from_slice(first);
            packed.extend_from_slice(second);
        }
        Ok(packed)
    }
}

/// So many times what is wanted is copied rather than rows of it.
const MOST_COPIED: u64 = 4;

/// Bytes from a row to the next that the driver copies.
const MOST_PITCH: u64 = 1 << 30;

impl At<'_> {
    /// Some elements of each extent of an array: those of all extents side by side, element after element.
    fn elements(&self, array: usize, part: &Range<u64>) -> Result<Vec<u8>, Error> {
        let (extents, bytes) = (&self.prepared.each[array], self.prepared.pitches[array]);
        let (cells, len) = (extents.count as usize, (part.end - part.start) as usize);
        let wanted = extents.count.saturating_mul(len as u64);
        if wanted == 0 {
            return Ok(vec![]);
        }
        let (mut starts, mut steps) = (vec![0; cells], vec![0; len]);
        extents.starts(0, &mut starts);
        extents.steps(part.start, &mut steps);
        let reach = |places: &[i64]| {
            let bounds = (places.iter().min(), places.iter().max());
            (bounds.0.copied().unwrap_or(0), bounds.1.copied().unwrap_or(0))
        };
        let ((first, last), (nearest, farthest)) = (reach(&starts), reach(&steps));
        let (low, reached) = (first + nearest, (last + farthest - first - nearest) as u64 + 1);
        let from = self.arrays[array].wrapping_add_signed(low * bytes as i64);
        let pitch = extents.stride().unsigned_abs() * bytes as u64;
        let is_rows = extents.kept.len() == 1 && extents.is_contiguous() && pitch < MOST_PITCH;
        let (memory, places) = if reached > MOST_COPIED * wanted && is_rows {
            // Rows of a negative stride are copied from the lowest on, which is the last.
            let is_last_first = extents.stride() < 0;
            let row = |cell: usize| if is_last_first { cells - 1 - cell } else { cell };
            let places = Copied {
                starts: (0..cells).map(|cell| (row(cell) * len) as i64).collect(),
                steps: (0..len as i64).collect(),
                low: 0,
            };
            (rows(from, pitch as usize, len * bytes, cells)?, places)
        } else {
            let memory = run(from, reached.saturating_mul(bytes as u64))?;
            (memory, Copied { starts, steps, low })
        };
        match bytes {
            1 => places.gathered::<1>(&memory),
            2 => places.gathered::<2>(&memory),
            4 => places.gathered::<4>(&memory),
            8 => places.gathered::<8>(&memory),
            _ => places.gathered::<16>(&memory),
        }
    }
}

/// Where elements lie that were copied: each is at a start and a step, less the lowest of these.
struct Copied {
    starts: Vec<i64>,
    steps: Vec<i64>,
    low: i64,
}

impl Copied {
    /// The elements at all starts, step after step, each of so many bytes.
    fn gathered<const BYTES: usize>(&self, memory: &[u8]) -> Result<Vec<u8>, Error> {
        let (all, _) = memory.as_chunks::<BYTES>();
        let mut elements = room::<[u8; BYTES]>((self.starts.len() * self.steps.len()) as u64)?;
        for step in &self.steps {
            let each = self.starts.iter().map(|start| all[(start + step - self.low) as usize]);
            elements.extend(each);
        }
        Ok(elements.into_flattened())
    }
}

/// Bytes of device memory. The context is current.
fn run(from: u64, bytes: u64) -> Result<Vec<u8>, Error> {
    let mut to = room::<u8>(bytes)?;
    to.resize(bytes as usize, 0);
    // SAFETY: elements of an array that `fold_raw`'s caller says is valid, and what lies between them; copied before this returns.
    check("cuMemcpyDtoH", unsafe {
        warpfold_driver::sys::cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), from, to.len())
    })?;
    Ok(to)
}

/// The first bytes of rows of device memory, one after the other. The context is current.
fn rows(from: u64, pitch: usize, width: usize, count: usize) -> Result<Vec<u8>, Error> {
    let mut to = room::<u8>((width * count) as u64)?;
    to.resize(width * count, 0);
    let copy = CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: ptr::null(),
        srcDevice: from,
        srcArray: ptr::null_mut(),
        srcPitch: pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: to.as_mut_ptr().cast(),
        dstDevice: 0,
        dstArray: ptr::null_mut(),
        dstPitch: width,
        WidthInBytes: width,
        Height: count,
    };
    // SAFETY: as of `run`; the description outlives the call.
    check("cuMemcpy2D", unsafe {
        warpfold_driver::sys::cuMemcpy2D_v2(ptr::from_ref(&copy).cast())
    })?;
    Ok(to)
}
