//! Launches of rungs: what is passed to them, and memory beside the ladder's.

use std::{ffi::c_void, ptr};

use cust::{
    memory::{DeviceBuffer, DeviceCopy},
    stream::Stream,
};
use warpfold_driver::sys;
use warpfold_kernels::ladder::{Grid, rows::RowsLaunch, sum::SumLaunch};

use super::{Ladder, Rows, SLOTS};
use crate::{
    Error,
    gpu::{
        launch::{Function, device, launch_kernel},
        status::{self, check},
    },
};

/// A kernel that is loaded, and how it is launched.
pub(super) struct Prepared {
    pub(super) function: Function,
    pub(super) threads: u32,
    pub(super) grid: Grid,
    pub(super) cooperative: bool,
    pub(super) multiprocessors: u32,
}

impl Prepared {
    pub(super) fn blocks(&self, len: u64, factor: u64) -> u32 {
        self.grid.blocks(self.threads, len, factor, self.multiprocessors) as u32
    }

    /// # Safety
    ///
    /// The entry has this one parameter, and what it points to is valid until the stream has passed the launch.
    pub(super) unsafe fn launch<L>(&self, stream: &Stream, blocks: u32, mut passed: L) -> Result<(), Error> {
        let mut arguments: [*mut c_void; 1] = [ptr::from_mut(&mut passed).cast()];
        let stream = stream.as_inner();
        if !self.cooperative {
            // SAFETY: passed on to the caller.
            return unsafe { launch_kernel(self.function, [blocks, self.threads, 1], stream, &mut arguments) };
        }
        // SAFETY: passed on to the caller.
        check("cuLaunchCooperativeKernel", unsafe {
            sys::cuLaunchCooperativeKernel(
                self.function.handle.cast(),
                blocks,
                1,
                1,
                self.threads,
                1,
                1,
                0,
                stream.cast(),
                arguments.as_mut_ptr().cast(),
            )
        })
    }
}

/// A sum's launches.
pub(super) struct Sums {
    pub(super) steps: Vec<Prepared>,
    pub(super) len: u64,
    pub(super) factor: u64,
    pub(super) in_place: bool,
    /// Whether the answer is to be 0 before.
    pub(super) zeroed: bool,
}

impl Sums {
    /// Enqueues all of them, for elements from number `at` on.
    ///
    /// # Safety
    ///
    /// The ladder outlives what is enqueued, and nothing else uses its memory meanwhile.
    pub(super) unsafe fn launch(&self, ladder: &Ladder<'_>, at: u64) -> Result<(), Error> {
        let stream = &ladder.stream;
        let out = address(&ladder.out);
        if self.zeroed {
            // SAFETY: it is one word, the ladder's own.
            check("cuMemsetD32Async", unsafe {
                sys::cuMemsetD32Async(out, 0, 1, stream.as_inner().cast())
            })?;
        }
        let mut passed = SumLaunch {
            input: device::<f32>(address(&ladder.pool) + 4 * at).cast_const(),
            work: device(address(&ladder.work)),
            out: device(out),
            counter: device(address(&ladder.counter)),
            len: self.len,
            factor: self.factor,
        };
        for step in &self.steps {
            let blocks = step.blocks(passed.len, self.factor);
            assert!(
                self.in_place || blocks as usize <= SLOTS || self.zeroed,
                "{blocks} slots"
            );
            // SAFETY: passed on to the caller; there are elements from there on, and slots for the blocks that have some.
            unsafe { step.launch(stream, blocks, passed)? };
            // What follows is of the slots.
            (passed.input, passed.len) = (passed.work.cast_const(), blocks.into());
        }
        Ok(())
    }
}

/// What rows are mapped with, beside the ladder's memory.
pub(super) struct RowMemory {
    /// Room for several launches' answers: what is written takes room in caches, too.
    pub(super) out: DeviceBuffer<f32>,
    /// Elements from one launch's to the next one's.
    pub(super) stride: u64,
    /// Two numbers of each row.
    pub(super) states: DeviceBuffer<f32>,
    /// A weight for each column.
    pub(super) ones: DeviceBuffer<f32>,
}

impl RowMemory {
    pub(super) fn new(ladder: &Ladder<'_>, rows: u64, columns: u64) -> Result<Self, Error> {
        /// Launches that have answers of their own.
        const PLACES: u64 = 8;
        let stride = (rows * columns).next_multiple_of(64);
        assert!(stride <= ladder.elements(), "{stride} elements are too many");
        let of = |elements: u64| zeros(elements as usize);
        let ones = vec![1.0; columns as usize];
        Ok(Self {
            out: of((ladder.elements() / stride).min(PLACES) * stride)?,
            stride,
            states: of(2 * rows)?,
            ones: DeviceBuffer::from_slice(&ones).map_err(|error| status::memory(4 * ones.len(), error))?,
        })
    }

    /// Where the answers go of a launch over elements from number `at` on.
    pub(super) fn out(&self, at: u64) -> u64 {
        let places = self.out.len() as u64 / self.stride;
        address(&self.out) + 4 * (at / self.stride % places * self.stride)
    }
}

/// A map's launches.
pub(super) struct Maps {
    pub(super) steps: Vec<Prepared>,
    pub(super) rows: Rows,
    pub(super) memory: RowMemory,
}

impl Maps {
    /// Enqueues all of them, for elements from number `at` on.
    ///
    /// # Safety
    ///
    /// As [`Sums::launch`]; this outlives it, too.
    pub(super) unsafe fn launch(&self, ladder: &Ladder<'_>, at: u64) -> Result<(), Error> {
        let Rows { rows, columns, causal } = self.rows;
        let ones = device::<f32>(address(&self.memory.ones)).cast_const();
        let passed = RowsLaunch {
            input: device::<f32>(address(&ladder.pool) + 4 * at).cast_const(),
            out: device(self.memory.out(at)),
            weight: ones,
            bias: ones,
            states: device(address(&self.memory.states)),
            rows,
            columns,
            causal: causal.into(),
            epsilon: 1e-5_f32.to_bits().into(),
        };
        for step in &self.steps {
            // SAFETY: passed on to the caller; the memory is as long as the rows say.
            unsafe { step.launch(&ladder.stream, step.blocks(rows, 1), passed)? };
        }
        Ok(())
    }
}

pub(super) fn address<T: DeviceCopy>(buffer: &DeviceBuffer<T>) -> u64 {
    buffer.as_device_ptr().as_raw()
}

pub(super) fn zeros(elements: usize) -> Result<DeviceBuffer<f32>, Error> {
    DeviceBuffer::zeroed(elements).map_err(|error| status::memory(4 * elements, error))
}
