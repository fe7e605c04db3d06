//! Rows that are split over several GPUs.

use bytemuck::Pod;
use cust::{memory::DeviceBuffer, sys::CUstream};
use warpfold_kernels::{element::Element, stages::reduce::leaf::MOST_STATES};

use super::{PreparedRow, ReadyRows, RowPlaces, launches::StatesOf};
use crate::{
    Error, RowFault,
    gpu::{
        Gpu, RawStream, Workspace,
        blocking::{Uploaded, download, room_for},
        context::{self, Bound},
        launch,
    },
    layout::Layout,
    operand::{AsView, View},
    plan::Plan,
    row::{Losses, Mapped, Part, Partials, RowElement, Targets},
};

/// Words of a row's state: those of [`Partials`] but for the target's.
const STATE: u64 = Partials::WORDS as u64 - 1;

/// A part of each row's cross-entropy on one GPU: planned, its kernels loaded.
///
/// Three steps, each of which allocates nothing and waits for nothing: [fold](Self::fold_raw); then, once the partial states of all parts lie one after the other, as an all-gather leaves
/// them, [combine](Self::combine_raw); and [map](Self::map_raw).
pub struct PreparedPart<T, U>(PreparedRow<T, U>);

impl<T: RowElement, U: RowElement> PreparedPart<T, U> {
    /// What will be launched to fold, and again to map.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.0.plan()
    }

    /// f32 words of the rows' partial states: [`Partials`] has their meaning.
    #[must_use]
    pub fn partial_words(&self) -> u64 {
        self.plan().count.saturating_mul(Partials::WORDS as u64)
    }

    /// A workspace that fits. Allocates, so not while a stream is captured.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn workspace(&self) -> Result<Workspace, Error> {
        self.0.workspace()
    }

    /// Enqueues the fold of the array's part of each row: reads `input` and `targets` of the places, and writes the [partial states](Self::partial_words) to device memory
    /// at `partials`. A target that is no column of the whole row makes the row's loss and gradient NaN.
    ///
    /// # Errors
    ///
    /// As [`PreparedRow::launch_raw`].
    ///
    /// # Safety
    ///
    /// As [`PreparedRow::launch_raw`].
    pub unsafe fn fold_raw(
        &self,
        stream: impl Into<RawStream>,
        places: &RowPlaces,
        partials: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let stream = stream.into();
        let _bound = self.checked(stream, &[partials])?;
        // SAFETY: passed on to the caller.
        unsafe { self.rows().fold_part(stream.as_inner(), places, partials, workspace) }
    }

    /// Enqueues what makes of the partial states of that many parts those of whole rows. At `gathered` lie those of the first part, then of the next, in the order
    /// of their columns. `combined` has room for those of one part, and is no memory of `gathered`. What comes of it may be combined again.
    ///
    /// # Errors
    ///
    /// [`RowFault::Parts`] of more than 256; [`Error::Misaligned`]; [`Error::ForeignStream`]; [`Error::Driver`].
    ///
    /// # Safety
    ///
    /// As [`PreparedRow::launch_raw`].
    pub unsafe fn combine_raw(
        &self,
        stream: impl Into<RawStream>,
        gathered: u64,
        parts: u32,
        combined: u64,
    ) -> Result<(), Error> {
        if parts > MOST_STATES {
            let most = MOST_STATES;
            return Err(Error::Row(RowFault::Parts { parts, most }));
        }
        let stream = stream.into();
        let _bound = self.checked(stream, &[gathered, combined])?;
        // SAFETY: passed on to the caller.
        unsafe {
            self.rows()
                .combine_parts(stream.as_inner(), gathered, parts.into(), combined)
        }
    }

    /// Enqueues the gradient of the array's own columns, if it is asked for, and what is known of the rows, where there are places for it: by the states of whole rows
    /// at `combined`. The workspace is the one that [`fold_raw`](Self::fold_raw) filled.
    ///
    /// # Errors
    ///
    /// As [`PreparedRow::launch_raw`].
    ///
    /// # Safety
    ///
    /// As [`PreparedRow::launch_raw`].
    pub unsafe fn map_raw(
        &self,
        stream: impl Into<RawStream>,
        places: &RowPlaces,
        combined: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let stream = stream.into();
        let _bound = self.checked(stream, &[combined])?;
        // SAFETY: passed on to the caller.
        unsafe { self.rows().map_part(stream.as_inner(), places, combined, workspace) }
    }

    fn rows(&self) -> &ReadyRows {
        &self.0.rows
    }

    /// The context, made current; the stream is of it, and words can lie at the addresses.
    fn checked(&self, stream: impl Into<RawStream>, addresses: &[u64]) -> Result<Bound<'_>, Error> {
        let stream = stream.into();
        let bound = launch::bind(&self.rows().ready.gpu, stream)?;
        for address in addresses {
            launch::check_alignment(*address, 4)?;
        }
        Ok(bound)
    }
}

/// Of rows that are split: the context is current, and memory is as [`PreparedPart`] says.
impl ReadyRows {
    /// The targets' elements of partial states.
    fn logits(&self, partials: u64) -> u64 {
        partials + 4 * STATE * self.ready.plan.count
    }

    unsafe fn fold_part(
        &self,
        stream: CUstream,
        places: &RowPlaces,
        partials: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        let states = unsafe { self.states_in(workspace, stream)? };
        let places = RowPlaces {
            known: [self.logits(partials), 0, 0, 0],
            ..*places
        };
        let passed = self.passed(&places, self.check(&places)?, states);
        if self.ready.plan.count == 0 {
            return Ok(());
        }
        // SAFETY: passed on to the caller.
        unsafe { self.fold(stream, self.of_launch(&passed)?, passed, Some(partials))? };
        Ok(())
    }

    unsafe fn combine_parts(&self, stream: CUstream, gathered: u64, parts: u64, combined: u64) -> Result<(), Error> {
        if self.ready.plan.count == 0 {
            return Ok(());
        }
        let passed = self.passed(&RowPlaces::default(), self.kinds, 0);
        let pitch = self.ready.plan.count * Partials::WORDS as u64;
        let states = StatesOf {
            start: gathered,
            count: parts,
            strides: [STATE, pitch],
        };
        let logits = StatesOf {
            start: self.logits(gathered),
            strides: [1, pitch],
            ..states
        };
        let function = self.states.as_ref().expect("loaded for parts");
        // SAFETY: passed on to the caller.
        unsafe {
            self.combine(stream, function, passed, states, combined)?;
            self.sum(stream, logits, self.logits(combined))
        }
    }

    unsafe fn map_part(
        &self,
        stream: CUstream,
        places: &RowPlaces,
        combined: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        let states = unsafe { self.states_in(workspace, stream)? };
        let passed = self.passed(places, self.check(places)?, states);
        if self.ready.plan.count == 0 {
            return Ok(());
        }
        // The targets' elements lie where losses, or log-probabilities, will.
        let [loss, _, log_probability, _] = places.known;
        let kept = if loss == 0 { log_probability } else { loss };
        let logits = StatesOf {
            start: self.logits(combined),
            count: 1,
            strides: [1, 1],
        };
        // SAFETY: passed on to the caller.
        unsafe {
            if kept != 0 {
                self.sum(stream, logits, kept)?;
            }
            self.map(stream, self.of_launch(&passed)?, passed, (combined, 1))
        }
    }

    /// Sums a word of each part.
    unsafe fn sum(&self, stream: CUstream, from: StatesOf, to: u64) -> Result<(), Error> {
        let passed = self.passed(&RowPlaces::default(), self.kinds, 0);
        let function = self.sums.as_ref().expect("loaded for parts");
        // SAFETY: passed on to the caller.
        unsafe { self.combine(stream, function, passed, from, to) }
    }
}

impl Part<'_> {
    /// Plans it for arrays of that layout, of elements of `T` and gradients of `U`, and loads its kernels, for launches of your own. Targets come with each launch:
    /// say of them that they come [later](Targets::Later).
    ///
    /// # Errors
    ///
    /// As [`Row::prepare`](crate::row::Row::prepare); [`RowFault::Part`].
    pub fn prepare<T: RowElement, U: RowElement>(
        &self,
        gpu: &Gpu,
        layout: &Layout,
    ) -> Result<PreparedPart<T, U>, Error> {
        self.0.prepare(gpu, layout).map(PreparedPart)
    }

    /// Folds the part of each row that an array in host memory has on a GPU, and waits: to what [`fold_on_cpu`](Part::fold_on_cpu) finds.
    ///
    /// # Errors
    ///
    /// As [`fold_on_cpu`](Part::fold_on_cpu) and [`prepare`](Part::prepare).
    pub fn fold_on<'v, V>(&self, gpu: &Gpu, values: V) -> Result<Partials, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement + Pod,
    {
        let mut there = There::new::<_, f32>(self, gpu, &values.view())?;
        let _bound = Bound::to(gpu.context())?;
        gpu.enqueue_and_wait(|stream| there.fold(stream.as_inner()))?;
        Partials::from_words(download(&there.partials, there.words())?)
    }

    /// Maps the part of each row that an array in host memory has on a GPU, and waits: to the bits of [`map_on_cpu`](Part::map_on_cpu). The array is copied to the device, and
    /// read twice.
    ///
    /// # Errors
    ///
    /// As [`map_on_cpu`](Part::map_on_cpu) and [`prepare`](Part::prepare).
    pub fn map_on<'v, V, U>(&self, gpu: &Gpu, values: V, of_rows: &Partials) -> Result<Mapped<U, Losses>, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement + Pod,
        U: RowElement + Pod,
    {
        let view = values.view();
        let layout = view.its_layout()?;
        of_rows.check(self.0.problem(&layout)?.from[0].count)?;
        let mut there = There::new::<_, U>(self, gpu, &view)?;
        let count = there.rows.ready.plan.count;
        let answers = if there.rows.maps { layout.len() } else { 0 };
        let _bound = Bound::to(gpu.context())?;
        let combined = Uploaded::new(Some(bytemuck::cast_slice(of_rows.words())))?;
        let output = room_for(answers as usize * U::TYPE.bytes())?;
        let known = room_for(16 * count as usize)?;
        context::wait_for_default_stream()?;
        let at = known.as_device_ptr().as_raw();
        let places = RowPlaces {
            output: output.as_device_ptr().as_raw(),
            known: [0, 1, 2, 3].map(|i| at + 4 * i * count),
            ..there.places()
        };
        gpu.enqueue_and_wait(|stream| {
            let stream = stream.as_inner();
            // Where elements lie apart, the map reads the states of the part's own leaves.
            there.fold(stream)?;
            let There { rows, workspace, .. } = &mut there;
            // SAFETY: all memory is this call's own, and waited for.
            unsafe { rows.map_part(stream, &places, combined.address(), workspace) }
        })?;
        let numbers = download::<f32>(&known, 4 * count)?;
        let of_row = |row: usize| [0, 1, 2, 3].map(|i| numbers[i * count as usize + row]);
        Ok(Mapped {
            shape: layout.shape().to_vec(),
            values: download(&output, answers)?,
            sums: None,
            known: (0..count as usize).map(of_row).collect::<Vec<_>>().into(),
        })
    }
}

/// A part of rows that was copied to a device.
struct There {
    rows: ReadyRows,
    workspace: Workspace,
    input: Uploaded,
    targets: Uploaded,
    partials: DeviceBuffer<u8>,
}

impl There {
    fn new<T: RowElement + Pod, U: RowElement>(part: &Part<'_>, gpu: &Gpu, view: &View<'_, T>) -> Result<Self, Error> {
        let layout = view.its_layout()?;
        let problem = part.0.problem(&layout)?;
        // What is wrong with a target is told before anything is copied.
        let targets = part.0.checked_targets(&problem)?;
        let mut row = part.0.clone();
        if let Some((of, _)) = &mut row.targets {
            *of = Targets::Later { of_64_bits: true }.into();
        }
        let rows = ReadyRows::new(gpu, &row, &layout, [<T as Element>::TYPE, U::TYPE], [false; 4])?;
        let _bound = Bound::to(gpu.context())?;
        let targets = targets.as_ref().map(|(targets, _)| bytemuck::cast_slice(targets));
        let there = Self {
            workspace: rows.workspace()?,
            input: Uploaded::new(Some(bytemuck::cast_slice(view.values)))?,
            targets: Uploaded::new(targets)?,
            partials: room_for(4 * Partials::WORDS * rows.ready.plan.count as usize)?,
            rows,
        };
        context::wait_for_default_stream()?;
        Ok(there)
    }

    fn words(&self) -> u64 {
        Partials::WORDS as u64 * self.rows.ready.plan.count
    }

    fn places(&self) -> RowPlaces {
        RowPlaces {
            input: self.input.address(),
            targets: self.targets.address(),
            ..RowPlaces::default()
        }
    }

    /// The context is current; whoever calls this waits for the stream.
    fn fold(&mut self, stream: CUstream) -> Result<(), Error> {
        let (places, partials) = (self.places(), self.partials.as_device_ptr().as_raw());
        // SAFETY: all memory is this one's own, and waited for.
        unsafe { self.rows.fold_part(stream, &places, partials, &mut self.workspace) }
    }
}
