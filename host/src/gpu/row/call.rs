//! Row operations of arrays in host memory.

use bytemuck::Pod;
use cust::memory::{CopyDestination, DeviceBuffer, DevicePointer, DeviceSlice};
use warpfold_kernels::element::Element;

use super::{ReadyRows, RowPlaces};
use crate::{
    Error,
    gpu::{
        Gpu,
        blocking::{Uploaded, download, room_for},
        context::{self, Bound},
        status::{self, Status as _},
    },
    operand::AsView,
    row::{Knowledge as _, Mapped, Operation, Row, RowElement, Values},
};

/// The states of rows that a launch ended with, of two sums each.
fn sums_of_rows(states: u64, count: usize) -> Result<Vec<[f32; 4]>, Error> {
    let mut sums = vec![0.0_f32; 2 * count];
    if count > 0 {
        // SAFETY: the workspace has a state of each row there, and lives until the copy is done.
        let states = unsafe { DeviceSlice::from_raw_parts(DevicePointer::<f32>::from_raw(states), sums.len()) };
        states.copy_to(&mut sums).or_fail("cuMemcpyDtoH")?;
    }
    Ok(sums.chunks(2).map(|sums| [sums[0], sums[1], 0.0, 0.0]).collect())
}

/// The elements, multiplied by 0.
fn zeroed<T: RowElement>(values: &[T]) -> Vec<T> {
    values.iter().map(|x| T::narrowed(x.wide() * 0.0)).collect()
}

impl<Op: Operation> Row<'_, Op> {
    /// Maps an array in host memory on a GPU, and waits: to the bits of [`on_cpu`](Row::on_cpu). The array is copied to the device, and the answers back.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Row::prepare).
    pub fn on<'v, V, U>(self, gpu: &Gpu, values: V) -> Result<Mapped<U, Op::Known>, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement + Pod,
        U: RowElement + Pod,
    {
        let view = values.view();
        let layout = view.its_layout()?;
        let problem = self.problem(&layout)?;
        // What is wrong with the other array or a target is told before anything is copied.
        self.second::<V::Element>()?;
        let targets = self.checked_targets(&problem)?;
        let targets = targets.map(|(targets, _)| targets);
        let mut row = self;
        if let Some((of, _)) = &mut row.targets {
            *of = crate::row::Targets::Later { of_64_bits: true }.into();
        }
        let rows = ReadyRows::new(
            gpu,
            &row,
            &layout,
            [<V::Element as Element>::TYPE, U::TYPE],
            Op::Known::ASKED,
        )?;
        let mut workspace = rows.workspace()?;
        let count = rows.ready.plan.count as usize;
        let _bound = Bound::to(gpu.context())?;
        let zeroed = row.op.zeroes().then(|| zeroed(view.values));
        let input = Uploaded::new(Some(bytemuck::cast_slice(zeroed.as_deref().unwrap_or(view.values))))?;
        let other = Uploaded::new(row.other.as_ref().and_then(|(_, other)| match &other.values {
            Values::Later => None,
            Values::Floats(floats) => Some(floats.bytes()),
            Values::Bytes(bytes) => Some(bytes),
        }))?;
        let columns = row.columns().map(|(_, floats)| floats.map(|floats| floats.values));
        let floats = |i: usize| {
            let bytes = columns[i]
                .as_ref()
                .map(|floats| floats.bytes_at(problem.columns[i].as_deref()));
            Uploaded::new(bytes.as_deref())
        };
        let (weights, biases) = (floats(0)?, floats(1)?);
        let targets = Uploaded::new(targets.as_deref().map(bytemuck::cast_slice))?;
        let given = row.given.unwrap_or_default();
        let given = given.map(|given| Uploaded::new(given.map(bytemuck::cast_slice)));
        let [first, second] = given;
        let given = [first?, second?];
        let maps = row.op.maps();
        let answers = if maps { layout.len() } else { 0 };
        let sums = if problem.has_sums { layout.len() } else { 0 };
        let output = room_for(answers as usize * U::TYPE.bytes())?;
        let sums_out = room_for(sums as usize * <V::Element as Element>::TYPE.bytes())?;
        let known = DeviceBuffer::<u32>::zeroed(4 * count.max(1)).map_err(|error| status::memory(16 * count, error))?;
        context::wait_for_default_stream()?;
        let at = |i: usize| known.as_device_ptr().as_raw() + 4 * (i * count) as u64;
        let places = RowPlaces {
            input: input.address(),
            other: other.address(),
            output: output.as_device_ptr().as_raw(),
            sums: if problem.has_sums {
                sums_out.as_device_ptr().as_raw()
            } else {
                0
            },
            weights: (weights.address(), columns[0].map(|floats| floats.element())),
            biases: (biases.address(), columns[1].map(|floats| floats.element())),
            targets: targets.address(),
            known: if row.given.is_some() {
                [given[0].address(), given[1].address(), 0, 0]
            } else {
                [0, 1, 2, 3].map(|i| if Op::Known::ASKED[i] { at(i) } else { 0 })
            },
        };
        let states = gpu.enqueue_and_wait(|stream| {
            // SAFETY: all memory is this call's own, and waited for.
            unsafe { rows.enqueue(stream.as_inner(), &places, &mut workspace) }
        })?;
        let known = if Op::Known::ARE_SUMS {
            sums_of_rows(states, count)?
        } else {
            let mut words = vec![0; 4 * count.max(1)];
            known.copy_to(&mut words).or_fail("cuMemcpyDtoH")?;
            let number = |row: usize, i: usize| f32::from_bits(words[i * count + row]);
            (0..count).map(|row| [0, 1, 2, 3].map(|i| number(row, i))).collect()
        };
        Ok(Mapped {
            shape: layout.shape().to_vec(),
            values: download::<U>(&output, answers)?,
            sums: match problem.has_sums {
                true => Some(<V::Element as RowElement>::into_floats(download(&sums_out, sums)?)),
                false => None,
            },
            known: known.into(),
        })
    }
}
