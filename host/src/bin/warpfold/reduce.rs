//! `warpfold reduce`: file, pieces, device, answer.

use std::time::Instant;

use warpfold::{
    npy::Npy,
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
    let npy = Npy::open(&args.file)?;
    let fold = Fold { args, npy };
    match args.op {
        Op::Sum => fold.run(ops::Sum, |sum, _| Value::Number(sum)),
        Op::Prod => fold.run(ops::Product, |product, _| Value::Number(product)),
        Op::Min => fold.run(ops::Min, |min, _| Value::Number(min)),
        Op::Max => fold.run(ops::Max, |max, _| Value::Number(max)),
        Op::Mean => fold.run(ops::Mean, |mean, _| Value::Number(mean)),
        Op::Argmin => fold.run(ops::ArgMin, |index, best| Value::Place(index, best.value)),
        Op::Argmax => fold.run(ops::ArgMax, |index, best| Value::Place(index, best.value)),
    }
}

struct Fold<'a> {
    args: &'a Reduce,
    npy: Npy,
}

impl Fold<'_> {
    fn run<R: Reduction>(self, op: R, value: impl Fn(R::Answer, R::State) -> Value) -> Result<Report, Failure> {
        let Self { args, npy } = self;
        let device = Device::open(args.device, op)?;
        let in_file = |error: warpfold::Error| format!("{}: {error}", args.file.display());
        let (shape, bytes, elements) = (npy.shape().to_vec(), npy.bytes(), npy.len());
        let mut progress = Progress::of_bytes(bytes);

        let start = Instant::now();
        let len = device.piece()?;
        let mut pieces = Pieces::new(op, len as u64)?;
        for piece in npy.stream(len) {
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
