//! A fold of what a mask selects: `--where`.

use std::{path::PathBuf, time::Instant};

use warpfold::{
    Plan,
    files::{DType, Tensor, TensorFile},
    layout::{Axes, Extents, Folded, Layout},
    ops::{
        OverNothing as _, Reduction, TakesMask, Where,
        element::{Masked, Real},
        monoids::{Arg, Best, Key},
    },
    pieces::Pieces,
};

use super::reduce::{Element, Fold, Took};
use crate::{
    Failure, Reduce, answers::Answer, device::Device, name, progress::Progress, report::Report, scalar::Scalar,
};

/// The mask that a command line names.
pub struct Mask {
    tensor: Tensor,
    file: PathBuf,
    /// The array's, which the mask is broadcast to.
    array: Layout,
}

impl Mask {
    /// It, if one is named: of truths or bytes, and of a shape that broadcasts to the array's.
    pub fn of(args: &Reduce, array: &Tensor) -> Result<Option<Self>, Failure> {
        let Some(file) = &args.mask else {
            return Ok(None);
        };
        let tensor = TensorFile::open(file)?.one()?;
        if !matches!(tensor.dtype(), DType::Bool | DType::U8) {
            let (label, dtype) = (tensor.label(), tensor.dtype_name());
            return Err(format!("{}: a mask is of bool or uint8, and it is of {dtype}", label.display()).into());
        }
        let (file, array) = (file.clone(), Layout::c_order(array.shape())?);
        let mask = Self { tensor, file, array };
        Layout::c_order(mask.tensor.shape())?
            .of_mask(&mask.array)
            .map_err(|error| mask.in_file(error))?;
        Ok(Some(mask))
    }

    fn in_file(&self, error: impl std::fmt::Display) -> Failure {
        format!("{}: {error}", self.file.display()).into()
    }

    /// A byte for each element of the array, in C order.
    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let bytes = self.tensor.read::<u8>()?;
        if self.tensor.shape() == self.array.shape() {
            return Ok(bytes);
        }
        let layout = Layout::c_order(self.tensor.shape())?.of_mask(&self.array)?;
        let each = Extents::new(&layout, &Axes::of(&[]))?;
        Ok((0..each.count).map(|i| bytes[each.start(i) as usize]).collect())
    }
}

impl Fold<'_> {
    /// An operator that the command has none of under a mask.
    pub fn no_mask(&self, mask: &Mask) -> Failure {
        format!(
            "{} of {} has no mask here: leave out --where {}",
            name(self.args.op),
            self.array.dtype_name(),
            mask.file.display()
        )
        .into()
    }

    /// Answers that speak for themselves.
    pub fn run_where<T: Element, Op: TakesMask>(self, op: Op, mask: &Mask) -> Result<Report, Failure>
    where
        Where<Op>: Reduction<Masked<T>, Answer: Answer>,
    {
        self.locate_where::<T, Op>(op, mask, |_| vec![])
    }

    /// An index; of the whole array, the element there, too.
    pub fn arg_where<T, Op>(self, op: Op, arg: Arg, mask: &Mask) -> Result<Report, Failure>
    where
        T: Element + Real + Into<Scalar>,
        Op: TakesMask,
        Where<Op>: Reduction<Masked<T>, Answer = u64, State = Best<Key<T>>>,
    {
        self.locate_where::<T, Op>(op, mask, |best| vec![arg.value::<T>(best).into()])
    }

    fn locate_where<T: Element, Op: TakesMask>(
        self,
        op: Op,
        mask: &Mask,
        elements: impl Fn(<Where<Op> as Reduction<Masked<T>>>::State) -> Vec<Scalar>,
    ) -> Result<Report, Failure>
    where
        Where<Op>: Reduction<Masked<T>, Answer: Answer>,
    {
        let device = Device::open::<Masked<T>, Where<Op>>(self.args.device, Where(op))?;
        let start = Instant::now();
        let mut found = vec![];
        let answers = if let Some(segments) = &self.segments {
            let (read, truths) = (self.array.read::<T::Read>()?, mask.bytes()?);
            let answers = device.fold_where_segments(op, &T::of(&read), &truths, segments);
            Folded {
                shape: vec![segments.count() as u64],
                answers: answers.map_err(|error| self.in_file(error))?,
            }
        } else if self.args.axis.is_empty() {
            let (answer, state) = self.whole_where::<T, Op>(&device, op, &mask.bytes()?)?;
            found = elements(state);
            Folded {
                shape: self.shape_of_one(),
                answers: vec![answer],
            }
        } else {
            let axes = self.axes()?;
            let (read, layout) = self.array.read_in_place::<T::Read>()?;
            let (truths, of_truths) = mask.tensor.read_in_place::<u8>()?;
            let folded = device.fold_where_axes(op, (&T::of(&read), &layout), (&truths, &of_truths), &axes);
            folded.map_err(|error| self.in_file(error))?
        };
        let took = Took {
            seconds: start.elapsed().as_secs_f64(),
            elements: found,
        };
        let plan = || {
            let entry = Where(op).kernel()?;
            Ok(match &self.segments {
                Some(segments) => Plan::segments(entry, segments.len(), segments.count() as u64)?,
                None if self.args.axis.is_empty() => Plan::new(entry, self.array.len()),
                None => {
                    let of_mask = mask.tensor.layout()?;
                    Plan::along_all(
                        entry,
                        &Extents::of_masked(&self.array.layout()?, &of_mask, &self.axes()?)?,
                    )?
                }
            })
        };
        self.report(Op::NAME, &device, answers, took, plan)
    }

    /// What the mask selects of the whole array, a piece at a time.
    #[allow(clippy::type_complexity)]
    fn whole_where<T: Element, Op: TakesMask>(
        &self,
        device: &Device,
        op: Op,
        mask: &[u8],
    ) -> Result<
        (
            <Where<Op> as Reduction<Masked<T>>>::Answer,
            <Where<Op> as Reduction<Masked<T>>>::State,
        ),
        Failure,
    >
    where
        Where<Op>: Reduction<Masked<T>>,
    {
        let mut progress = Progress::of_bytes(self.array.bytes());
        let len = device.piece::<Masked<T>>()?;
        let mut pieces = Pieces::<Where<Op>, Masked<T>>::new(Where(op), len as u64)?;
        for piece in self.array.stream::<T::Read>(len)? {
            let piece = piece?;
            let values = T::of(&piece);
            let mask = &mask[pieces.len() as usize..][..values.len()];
            pieces
                .push(device.fold_where(op, &values, mask)?, values.len() as u64)
                .map_err(|error| self.in_file(error))?;
            progress.advance(size_of_val(&*piece) as u64);
        }
        pieces.finish().map_err(|error| self.in_file(error))
    }
}
