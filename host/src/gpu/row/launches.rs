//! What a row operation launches.

use std::ptr;

use cust::sys::CUstream;
use warpfold_kernels::{
    kernels::{
        Array, Launch, RowOperands,
        rowwise::{Mode, RowFlags, Second},
    },
    stages::{
        columns::Floats as Kind,
        reduce::leaf::{MOST_STATES, lanes_of},
    },
};

use super::{KNOWN_THREADS, ReadyRows, RowPlaces};
use crate::{
    Error,
    gpu::{
        Workspace,
        launch::{self, Function, device},
        memory::DeviceMemory,
    },
    plan::Plan,
};

/// States of rows in device memory, as many of each.
#[derive(Clone, Copy)]
pub(super) struct StatesOf {
    /// The first.
    pub(super) start: u64,
    /// How many of each row.
    pub(super) count: u64,
    /// Words from a row's first to the next row's, and from one to its neighbour.
    pub(super) strides: [u64; 2],
}

impl ReadyRows {
    /// What a launch passes, but for what it does and the states that it reads.
    pub(super) fn passed(&self, places: &RowPlaces, kinds: [Kind; 2], states: u64) -> Launch {
        let bytes = self.ready.plan.entry.element.bytes();
        let of_second = if self.second == Some(Second::Mask) { 1 } else { bytes };
        let mut passed = self.ready.passed([places.input, places.other], [bytes, of_second]);
        if self.second.is_none() {
            passed.arrays[1].start = ptr::null();
        }
        let (period, shown) = self.causal.unwrap_or((0, 0));
        let (wide_targets, ignored) = self.targets.unwrap_or((false, 0));
        let [from, out] = self.kinds;
        let [before, others] = self.part.unwrap_or_default();
        let flags = RowFlags {
            from,
            out,
            columns: kinds,
            mode: Mode::Whole,
            second: self.second.unwrap_or_default(),
            wide_targets,
            is_folded: self.is_folded,
        };
        let sums = if self.second == Some(Second::Residual) {
            places.sums
        } else {
            0
        };
        Launch {
            answer: device(if self.maps { places.output } else { 0 }),
            flags: flags.bits(self.params),
            numbers: self.params.bits(),
            slots: device(states),
            state: device(states),
            rows: RowOperands {
                stride: self.out_strides[0],
                step: self.out_strides[1],
                layout: device(self.out_layout.as_ref().map_or(0, DeviceMemory::address)),
                sums: device(sums),
                columns: [device(places.weights.0), device(places.biases.0)],
                shares: self.shares,
                known: places.known.map(device),
                targets: device(places.targets),
                ignored,
                period,
                shown,
                prefetch: self.prefetch,
                before,
                others,
            },
            ..passed
        }
    }

    /// The context is current. It answers where the states of rows are, if they lie in the workspace.
    ///
    /// # Safety
    ///
    /// As [`PreparedRow::launch_raw`](super::PreparedRow::launch_raw).
    pub(super) unsafe fn enqueue(
        &self,
        stream: CUstream,
        places: &RowPlaces,
        workspace: &mut Workspace,
    ) -> Result<u64, Error> {
        // SAFETY: passed on to the caller.
        let states = unsafe { self.states_in(workspace, stream)? };
        let kinds = self.check(places)?;
        if self.ready.plan.count == 0 {
            return Ok(states);
        }
        let passed = self.passed(places, kinds, states);
        let (plan, function) = self.of_launch(&passed)?;
        let passed = Launch {
            blocks: plan.blocks_that_meet().into(),
            steps: plan.steps().into(),
            ..passed
        };
        // SAFETY: passed on to the caller.
        unsafe {
            if !plan.is_split() {
                self.go(stream, function, passed, plan.grid())?;
                return Ok(states);
            }
            let of_rows = self.fold(stream, (plan, function), passed, None)?;
            if !self.knows_sums {
                self.map(stream, (plan, function), passed, of_rows)?;
            }
            Ok(of_rows.0)
        }
    }

    /// One launch. The context is current.
    ///
    /// # Safety
    ///
    /// As [`enqueue`](Self::enqueue).
    unsafe fn go(&self, stream: CUstream, function: &Function, passed: Launch, shape: [u32; 3]) -> Result<(), Error> {
        let passed = passed.widened(self.ready.plan.entry.element);
        let function = if self.is_early { function.early() } else { *function };
        // SAFETY: the entry has this one parameter; that what it points to is valid is the caller's word.
        unsafe { launch::launch_passing(function, shape, stream, passed) }
    }

    /// Folds rows that another launch will map. Their states lie in the workspace, or where the last are to go. It says where, and how many each row has: one, but where what is known
    /// of rows is made of them.
    ///
    /// # Safety
    ///
    /// As [`enqueue`](Self::enqueue).
    pub(super) unsafe fn fold(
        &self,
        stream: CUstream,
        (plan, function): (&Plan, &Function),
        passed: Launch,
        last: Option<u64>,
    ) -> Result<(u64, u64), Error> {
        // SAFETY: passed on to the caller.
        unsafe { self.go(stream, function, passed.of_mode(Mode::Fold), plan.grid())? };
        let words = plan.entry.state_words as u64;
        let (levels, combines) = (plan.levels(), plan.combines());
        // Where the last are to go somewhere, they do: of one state of each row, what is launched for it is a copy.
        let counts = &levels[..combines.max(usize::from(last.is_some()))];
        let mut start = passed.slots.addr() as u64;
        for (level, count) in counts.iter().enumerate() {
            let next = start + 4 * words * count * plan.count;
            let to = last.filter(|_| level + 1 == counts.len()).unwrap_or(next);
            let from = StatesOf {
                start,
                count: *count,
                strides: [count * words, words],
            };
            let function = self.states.as_ref().expect("loaded where there are levels");
            // SAFETY: passed on to the caller.
            unsafe { self.combine(stream, function, passed, from, to)? };
            start = to;
        }
        Ok((start, levels[combines]))
    }

    /// Combines states of each row, as many at once as a warp folds.
    ///
    /// # Safety
    ///
    /// As [`enqueue`](Self::enqueue); they are valid, and there is room for what comes of them.
    pub(super) unsafe fn combine(
        &self,
        stream: CUstream,
        function: &Function,
        passed: Launch,
        from: StatesOf,
        to: u64,
    ) -> Result<(), Error> {
        let [stride, step] = from.strides.map(|words| words as i64);
        let [array, second] = passed.arrays;
        let combine = Launch {
            arrays: [Array { stride, step, ..array }, second],
            slots: device(from.start),
            tiles: from.count,
            answer: device(to),
            ..passed
        };
        let count = self.ready.plan.count;
        let groups = from.count.div_ceil(MOST_STATES.into()).max(1).saturating_mul(count);
        let blocks = i32::try_from(groups.div_ceil(8)).map_err(|_| Error::GridOverflow { count, blocks: groups })?;
        // SAFETY: passed on to the caller.
        unsafe { self.go(stream, function, combine, [blocks as u32, 256, 1]) }
    }

    /// Maps rows by their states, or makes of these what is known of rows.
    ///
    /// # Safety
    ///
    /// As [`enqueue`](Self::enqueue).
    pub(super) unsafe fn map(
        &self,
        stream: CUstream,
        (plan, function): (&Plan, &Function),
        passed: Launch,
        (of_rows, states_of_row): (u64, u64),
    ) -> Result<(), Error> {
        let map = Launch {
            state: device(of_rows),
            ..passed.of_mode(Mode::Map)
        };
        // SAFETY: passed on to the caller.
        unsafe {
            let Some(known) = &self.known else {
                return self.go(stream, function, map, plan.grid());
            };
            let lanes = lanes_of(states_of_row as u32);
            let blocks = plan.count.div_ceil((KNOWN_THREADS / lanes).into());
            let tiles = states_of_row;
            self.go(
                stream,
                known,
                Launch { tiles, ..map },
                [blocks as u32, KNOWN_THREADS, 1],
            )
        }
    }
}
