//! Every tensor of a checkpoint described in one pass: what it holds of NaNs, infinities and zeros, its ends, its spread.
//!
//! `cargo run --release -p warpfold --example 08_describe -- model.safetensors`; the command `warpfold describe` makes a table.

use std::{env, error::Error};

use warpfold::{
    cpu,
    files::{self, DType, Tensor, TensorFile},
    ops::{Describe, Reduction, Summary, element::Float},
    pieces::Pieces,
};

/// Elements of a piece: a file may be larger than memory.
const PIECE: usize = 1 << 22;

fn main() -> Result<(), Box<dyn Error>> {
    // A file of its own, where none is named.
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/michelson_1879.npy");
    let path = env::args().nth(1).unwrap_or_else(|| data.to_owned());
    for tensor in TensorFile::open(path)?.tensors() {
        let name = tensor.name().unwrap_or("-");
        match tensor.dtype() {
            DType::F32 => println!("{name}: {:?}", described::<f32>(tensor)?),
            DType::F64 => println!("{name}: {:?}", described::<f64>(tensor)?),
            _ => println!("{name}: elements of {}", tensor.dtype_name()),
        }
    }
    Ok(())
}

/// The summary of a tensor, a piece at a time. A whole array in memory is `cpu::reduce(Describe::default(), &values)`, and on a
/// GPU `gpu.reduce`: the same bits.
fn described<T: Float + files::Element>(tensor: &Tensor) -> Result<Summary<T>, Box<dyn Error>>
where
    Describe: Reduction<T, Answer = Summary<T>>,
{
    let op = Describe::default();
    let mut pieces = Pieces::<_, T>::new(op, PIECE as u64)?;
    for piece in tensor.stream::<T>(PIECE)? {
        let piece = piece?;
        pieces.push(cpu::fold(op, &piece), piece.len() as u64)?;
    }
    Ok(pieces.finish()?.0)
}
