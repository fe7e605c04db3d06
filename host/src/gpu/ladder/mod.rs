//! The rungs of the ladder on a GPU: their answers, and how long they take. For `warpfold ladder`; nothing in the library climbs it.

mod launches;

use std::collections::BTreeSet;

use cust::{
    memory::{CopyDestination, DeviceBuffer},
    stream::{Stream, StreamFlags},
};
use warpfold_kernels::{
    element::Type,
    kernels::Entry,
    ladder::{Atomics, Grid, RowKernel, Rung, Step, SumKernel, sum::wide::TILE},
};

use super::{
    Gpu, RowPlaces,
    context::Bound,
    measure,
    status::{self, Status as _},
};
use crate::{
    Error,
    layout::Layout,
    ops::Sum,
    row::{Operation, Row},
};
use launches::{Maps, Prepared, RowMemory, Sums, address, zeros};

/// Elements of the pattern that fills the memory, again and again: a power of two.
pub const PATTERN: usize = 1 << 22;

/// Rows of elements to map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// How many there are.
    pub rows: u64,
    /// Elements of each.
    pub columns: u64,
    /// Whether row `r` sees its first `r % columns + 1` elements alone.
    pub causal: bool,
}

/// Memory of a GPU that rungs fold: a pattern, again and again, in several gigabytes, so that no launch finds in a cache what the one before
/// it has read.
pub struct Ladder<'a> {
    gpu: &'a Gpu,
    stream: Stream,
    pool: DeviceBuffer<f32>,
    /// Elements to overwrite, and slots.
    work: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
    counter: DeviceBuffer<u32>,
    // Last: the others are dropped in it.
    _bound: Bound<'a>,
}

/// Slots of a sum's blocks: as many as there are blocks of 1,024 elements in 2³⁰.
const SLOTS: usize = 1 << 20;

impl<'a> Ladder<'a> {
    /// With `pattern` in all of the memory that it takes: of 4 GiB, or of half of what is free, as much as is whole patterns.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`]; [`Error::OutOfMemory`] where not even one pattern has room.
    ///
    /// # Panics
    ///
    /// If the pattern is not of [`PATTERN`] elements.
    pub fn new(gpu: &'a Gpu, pattern: &[f32]) -> Result<Self, Error> {
        assert_eq!(pattern.len(), PATTERN, "a pattern");
        let free = gpu.facts().free_memory(gpu)?;
        let patterns = (free / 2 / (4 * PATTERN)).clamp(1, 256);
        let bound = Bound::to(gpu.context())?;
        let this = Self {
            gpu,
            stream: Stream::new(StreamFlags::DEFAULT, None).or_fail("cuStreamCreate")?,
            pool: zeros(patterns * PATTERN)?,
            work: zeros(SLOTS)?,
            out: zeros(1)?,
            counter: DeviceBuffer::zeroed(1).map_err(|error| status::memory(4, error))?,
            _bound: bound,
        };
        this.fill(pattern)?;
        Ok(this)
    }

    /// Fills the memory with another pattern.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn fill(&self, pattern: &[f32]) -> Result<(), Error> {
        for start in (0..self.pool.len()).step_by(PATTERN) {
            let mut part = self.pool.index(start..start + PATTERN);
            part.copy_from(pattern).or_fail("cuMemcpyHtoD")?;
        }
        Ok(())
    }

    /// Elements that there is memory for.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.pool.len() as u64
    }

    /// The sum of the first elements, by a rung.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`], and those of loading a kernel.
    ///
    /// # Panics
    ///
    /// If there are not so many elements, or the rung takes fewer.
    pub fn sum(&self, rung: &Rung<SumKernel>, len: u64, factor: u64) -> Result<f32, Error> {
        let prepared = self.prepare(rung, len, factor)?;
        self.refill(rung, len)?;
        // SAFETY: as `time_sum`, and waited for below.
        unsafe { prepared.launch(self, 0)? };
        self.answer()
    }

    /// How many answers of different bits so many runs of a rung have, over the same elements.
    ///
    /// # Errors
    ///
    /// As [`sum`](Self::sum).
    pub fn distinct(&self, rung: &Rung<SumKernel>, len: u64, factor: u64, runs: usize) -> Result<usize, Error> {
        let prepared = self.prepare(rung, len, factor)?;
        let mut seen = BTreeSet::new();
        for _ in 0..runs {
            self.refill(rung, len)?;
            // SAFETY: as `time_sum`, and waited for below.
            unsafe { prepared.launch(self, 0)? };
            seen.insert(self.answer()?.to_bits());
        }
        Ok(seen.len())
    }

    /// The same of the library's own sum, whose answer comes with it.
    ///
    /// # Errors
    ///
    /// As [`Gpu::reduce`].
    pub fn distinct_of_library(&self, len: u64, runs: usize) -> Result<(usize, f32), Error> {
        let (mut seen, mut answer) = (BTreeSet::new(), 0.0_f32);
        for _ in 0..runs {
            answer = self.gpu.reduce(Sum, &self.pool.index(..len as usize))?;
            seen.insert(answer.to_bits());
        }
        Ok((seen.len(), answer))
    }

    /// Median microseconds of a rung's sum, with what fills its answer with 0 where blocks add to it.
    ///
    /// # Errors
    ///
    /// As [`sum`](Self::sum).
    pub fn time_sum(&self, rung: &Rung<SumKernel>, len: u64, factor: u64) -> Result<f64, Error> {
        let prepared = self.prepare(rung, len, factor)?;
        self.refill(rung, len)?;
        self.time(len, |at| {
            // SAFETY: all memory is this ladder's, and what is launched has ended when `time` returns.
            unsafe { prepared.launch(self, at) }
        })
    }

    /// The same of the library's own.
    ///
    /// # Errors
    ///
    /// As [`Gpu::prepare`].
    pub fn time_library(&self, len: u64) -> Result<f64, Error> {
        let prepared = self.gpu.prepare::<f32, _>(Sum, len)?;
        let mut workspace = prepared.workspace()?;
        let (pool, out) = (address(&self.pool), address(&self.out));
        self.time(len, |at| {
            // SAFETY: as `time_sum`; the workspace outlives it, too.
            unsafe { prepared.launch_raw(&self.stream, [pool + 4 * at, 0], out, &mut workspace) }
        })
    }

    /// Median microseconds of [stages](warpfold_kernels::ladder::sum::stages) up to number `last`, in as many blocks for each multiprocessor.
    ///
    /// # Errors
    ///
    /// As [`sum`](Self::sum).
    pub fn time_stages(&self, len: u64, last: u64, blocks: u32) -> Result<f64, Error> {
        let steps = [Step {
            kernel: SumKernel::Stages,
            threads: 256,
            grid: Grid::Resident(blocks, TILE),
            cooperative: false,
        }];
        let prepared = Sums {
            steps: self.functions(&steps, SumKernel::entry)?,
            len,
            factor: last,
            in_place: false,
            zeroed: false,
        };
        self.time(len, |at| {
            // SAFETY: as `time_sum`.
            unsafe { prepared.launch(self, at) }
        })
    }

    /// The answers of a rung for the first rows.
    ///
    /// # Errors
    ///
    /// As [`sum`](Self::sum).
    ///
    /// # Panics
    ///
    /// If there are not so many elements.
    pub fn map(&self, rung: &Rung<RowKernel>, rows: Rows) -> Result<Vec<f32>, Error> {
        let prepared = self.prepare_rows(rung, rows)?;
        // SAFETY: as `time_sum`, and waited for below.
        unsafe { prepared.launch(self, 0)? };
        self.stream.synchronize().or_fail("cuStreamSynchronize")?;
        let mut answers = vec![0.0; (rows.rows * rows.columns) as usize];
        prepared
            .memory
            .out
            .index(..answers.len())
            .copy_to(&mut answers)
            .or_fail("cuMemcpyDtoH")?;
        Ok(answers)
    }

    /// Median microseconds of a rung that maps rows.
    ///
    /// # Errors
    ///
    /// As [`sum`](Self::sum).
    pub fn time_rows(&self, rung: &Rung<RowKernel>, rows: Rows) -> Result<f64, Error> {
        let prepared = self.prepare_rows(rung, rows)?;
        self.time(rows.rows * rows.columns, |at| {
            // SAFETY: as `time_sum`; what was prepared outlives it, too.
            unsafe { prepared.launch(self, at) }
        })
    }

    /// The same of a row operation of the library's own, `weighted` by columns' weights and biases or not.
    ///
    /// # Errors
    ///
    /// As [`Row::prepare`].
    pub fn time_operation<Op: Operation>(
        &self,
        operation: &Row<'_, Op>,
        rows: Rows,
        weighted: bool,
    ) -> Result<f64, Error> {
        let Rows { rows, columns, causal } = rows;
        let shape: &[u64] = if causal {
            &[rows / columns, columns, columns]
        } else {
            &[rows, columns]
        };
        let prepared = operation.prepare::<f32, f32>(self.gpu, &Layout::c_order(shape)?)?;
        let mut workspace = prepared.workspace()?;
        let memory = RowMemory::new(self, rows, columns)?;
        let of_columns = if weighted {
            (address(&memory.ones), Some(Type::F32))
        } else {
            (0, None)
        };
        self.time(rows * columns, |at| {
            let places = RowPlaces {
                input: address(&self.pool) + 4 * at,
                output: memory.out(at),
                weights: of_columns,
                biases: of_columns,
                ..RowPlaces::default()
            };
            // SAFETY: as `time_sum`; what was prepared outlives it, too.
            unsafe { prepared.launch_raw(&self.stream, &places, &mut workspace) }
        })
    }

    /// Median microseconds of one launch over so many elements: `launch` is told the first one's number.
    fn time(&self, len: u64, mut launch: impl FnMut(u64) -> Result<(), Error>) -> Result<f64, Error> {
        // Each begins at a vector.
        let stride = len.next_multiple_of(64);
        let buffers = (self.elements() / stride).clamp(1, 64);
        let launches = match 4 * stride {
            0..=0x400_0000 => 32,
            0x400_0001..=0x1000_0000 => 8,
            _ => 2,
        };
        measure::of_launches(&self.stream, launches, |i| launch(i % buffers * stride))
    }

    /// Multiprocessors of the GPU.
    #[must_use]
    pub fn multiprocessors(&self) -> u32 {
        self.gpu.facts().multiprocessors
    }

    fn answer(&self) -> Result<f32, Error> {
        self.stream.synchronize().or_fail("cuStreamSynchronize")?;
        let mut answer = [0.0];
        self.out.copy_to(&mut answer).or_fail("cuMemcpyDtoH")?;
        Ok(answer[0])
    }

    /// Copies the elements that a rung overwrites to where it does.
    fn refill(&self, rung: &Rung<SumKernel>, len: u64) -> Result<(), Error> {
        if !rung.in_place {
            return Ok(());
        }
        let elements = 0..len as usize;
        let mut work = self.work.index(elements.clone());
        work.copy_from(&self.pool.index(elements)).or_fail("cuMemcpyDtoD")
    }

    fn prepare(&self, rung: &Rung<SumKernel>, len: u64, factor: u64) -> Result<Sums, Error> {
        let most = rung.most.unwrap_or(u64::MAX).min(self.elements());
        assert!(len <= most, "{} takes {most} elements, and not {len}", rung.name);
        Ok(Sums {
            steps: self.functions(rung.steps, SumKernel::entry)?,
            len,
            factor,
            in_place: rung.in_place,
            zeroed: matches!(rung.atomics, Atomics::EachElement | Atomics::EachBlock),
        })
    }

    fn prepare_rows(&self, rung: &Rung<RowKernel>, rows: Rows) -> Result<Maps, Error> {
        Ok(Maps {
            steps: self.functions(rung.steps, RowKernel::entry)?,
            rows,
            memory: RowMemory::new(self, rows.rows, rows.columns)?,
        })
    }

    fn functions<K: Copy>(
        &self,
        steps: &[Step<K>],
        entry: impl Fn(K) -> &'static Entry,
    ) -> Result<Vec<Prepared>, Error> {
        let load = |step: &Step<K>| {
            let function = self.gpu.inner.modules.function(entry(step.kernel))?;
            Ok(Prepared {
                function,
                threads: step.threads,
                grid: step.grid,
                cooperative: step.cooperative,
                multiprocessors: self.gpu.facts().multiprocessors,
            })
        };
        steps.iter().map(load).collect()
    }
}
