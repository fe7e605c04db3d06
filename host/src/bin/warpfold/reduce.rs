//! `warpfold reduce`: file, pieces, device, answer.

use std::time::Instant;

use warpfold::{
    Error,
    files::{Element, Tensor, TensorFile},
    ops::{self, Reduction},
    pieces::Pieces,
};

use crate::{
    Failure, Op, Reduce,
    device::Device,
    progress::Progress,
    report::{Report, Value},
};

/// Does what the command line asks for.
pub fn run(args: &Reduce) -> Result<Report, Failure> {
    // The file first: a wrong name is told before a device is woken.
    let array = TensorFile::open(&args.file)?.one()?;
    if !f32::reads(array.dtype()) {
        return Err(Error::Dtype {
            path: array.label(),
            dtype: array.dtype_name().to_owned(),
        }
        .into());
    }
    let fold = Fold { args, array };
    match args.op {
        Op::Sum => fold.run(ops::Sum, |sum, _| Value::of([sum])),
        Op::Prod => fold.run(ops::Product, |product, _| Value::of([product])),
        Op::Mean => fold.run(ops::Mean, |mean, _| Value::of([mean])),
        Op::Min => fold.run(ops::Min, |min, _| Value::of([min])),
        Op::Max => fold.run(ops::Max, |max, _| Value::of([max])),
        Op::Minmax => fold.run(ops::MinMax, |(min, max), _| Value::of([min, max])),
        Op::Argmin => fold.run(ops::ArgMin, |index, best| Value::at([index], [best.value])),
        Op::Argmax => fold.run(ops::ArgMax, |index, best| Value::at([index], [best.value])),
        Op::Argminmax => fold.run(ops::ArgMinMax, |(min, max), best| {
            Value::at([min, max], [best.0.value, best.1.value])
        }),
        Op::L1 => fold.run(ops::NormL1, |norm, _| Value::of([norm])),
        Op::L2 => fold.run(ops::NormL2, |norm, _| Value::of([norm])),
        Op::Linf => fold.run(ops::NormInf, |norm, _| Value::of([norm])),
        Op::Sumsq => fold.run(ops::SumOfSquares, |sum, _| Value::of([sum])),
        Op::CountNonzero => fold.run(ops::CountNonzero, |count, _| Value::of([count])),
        Op::CountNan => fold.run(ops::CountNan, |count, _| Value::of([count])),
        Op::CountInf => fold.run(ops::CountInf, |count, _| Value::of([count])),
        Op::Any => fold.run(ops::Any, |any, _| Value::of([any])),
        Op::All => fold.run(ops::All, |all, _| Value::of([all])),
    }
}

struct Fold<'a> {
    args: &'a Reduce,
    array: Tensor,
}

impl Fold<'_> {
    fn run<R: Reduction>(self, op: R, value: impl Fn(R::Answer, R::State) -> Value) -> Result<Report, Failure> {
        let Self { args, array } = self;
        let device = Device::open(args.device, op)?;
        let in_file = |error: Error| format!("{}: {error}", args.file.display());
        let (shape, bytes, elements) = (array.shape().to_vec(), array.bytes(), array.len());
        let mut progress = Progress::of_bytes(bytes);

        let start = Instant::now();
        let len = device.piece()?;
        let mut pieces = Pieces::new(op, len as u64)?;
        for piece in array.stream::<f32>(len)? {
            let piece = piece?;
            pieces
                .push(device.fold(op, &piece)?, piece.len() as u64)
                .map_err(in_file)?;
            progress.advance(size_of_val(&*piece) as u64);
        }
        assert_eq!(pieces.len(), elements, "the reader ended early without saying why");
        let (answer, state) = pieces.finish().map_err(in_file)?;
        let seconds = start.elapsed().as_secs_f64();

        Ok(Report {
            op: R::NAME,
            file: args.file.display().to_string(),
            device: device.name(),
            device_in_words: device.to_string(),
            shape,
            value: value(answer, state),
            seconds,
            bytes,
        })
    }
}
