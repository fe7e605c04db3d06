//! `warpfold ladder`: how a reduction becomes fast, rung by rung: each right first, then timed; on a machine without a GPU, run lane by lane.

mod emulated;
#[cfg(feature = "cuda")]
mod gpu;
mod text;

pub use text::table;

use clap::ValueEnum;
use serde::Serialize;
use warpfold::Error;
use warpfold_emulator::{
    Counts,
    ladder::{self, Climb},
};
use warpfold_kernels::ladder::{Rung, SumKernel};

use crate::{Failure, device::Wanted, values};

#[derive(clap::Args)]
pub struct Args {
    /// What to climb.
    #[arg(value_enum, default_value_t = What::Sum)]
    what: What,
    /// Elements of the sum; without it 2^28, as far as there is memory, and 5000 in the emulator.
    #[arg(long, value_name = "N", value_parser = values::whole(1, 1 << 30), allow_hyphen_values = true)]
    elements: Option<u64>,
    /// Elements that each thread of the coarsened rung adds up by itself.
    #[arg(long, value_name = "F", default_value_t = 4, value_parser = values::whole(1, 1 << 16), allow_hyphen_values = true)]
    factor: u64,
    /// Runs over the same elements, of which the answers' bits are compared.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = values::whole(1, 100_000), allow_hyphen_values = true)]
    runs: u64,
    /// best, gpu, gpu:N or emulator. Best is the first GPU if one can be used, else the emulator, which has no clock.
    #[arg(long, default_value = "best")]
    device: Wanted,
    /// Prints one JSON object: the device, and every figure.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The sum of an array of float32, from one atomic for each element to the library's own kernel.
    Sum,
    /// Softmax of rows of float32, from a thread for each row to the library's own, in the shapes of a lesson and of GPT-2.
    Softmax,
    /// Layer norm, likewise.
    LayerNorm,
    /// Where the time of a sum goes: launch, load, shuffle, block, grid, for 2^10 to 2^30 elements.
    Stages,
    /// Three kernels with a bug each, and what the emulator says of them.
    Bugs,
}

/// Something that was measured or counted: an object of the JSON, and of the project's records.
#[derive(Serialize)]
pub struct Figure {
    pub group: &'static str,
    pub op: &'static str,
    pub dtype: &'static str,
    pub case: String,
    pub who: String,
    pub metric: &'static str,
    pub value: f64,
    /// Bytes that are read and written, each once, where a time is of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What is to be known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What was found out: as text, and as figures.
struct Findings {
    device: String,
    text: String,
    figures: Vec<Figure>,
}

/// Does what the command line asks for.
pub fn run(args: &Args) -> Result<String, Failure> {
    let findings = match (args.what, args.device) {
        (What::Bugs, _) | (_, Wanted::Emulator) => emulated::run(args, None)?,
        (_, Wanted::Cpu) => return Err("rungs are kernels: they run on a GPU, or in the emulator".into()),
        (_, Wanted::Gpu(index)) => on_gpu(index, args)??,
        (_, Wanted::Best) => match on_gpu(0, args) {
            Ok(findings) => findings?,
            Err(error) => emulated::run(args, Some(&error))?,
        },
    };
    if args.json {
        #[derive(Serialize)]
        struct Object<'a> {
            device: &'a str,
            figures: &'a [Figure],
        }
        let (device, figures) = (&*findings.device, &*findings.figures);
        return Ok(serde_json::to_string(&Object { device, figures })?);
    }
    Ok(format!("{}\n\n{}", findings.device, findings.text))
}

/// Fails on the outside where no GPU can be used, and on the inside where it fails.
#[cfg(feature = "cuda")]
fn on_gpu(index: usize, args: &Args) -> Result<Result<Findings, Failure>, Error> {
    let gpu = gpu::open(index)?;
    Ok(gpu::run(&gpu, args))
}

#[cfg(not(feature = "cuda"))]
fn on_gpu(_: usize, _: &Args) -> Result<Result<Findings, Failure>, Error> {
    Err(Error::NoDriver {
        reason: "none is looked for, this build being without the feature `cuda`".into(),
    })
}

/// What a rung does for so many elements, counted in the emulator.
fn counted(rung: &Rung<SumKernel>, values: &[f32], factor: u64) -> Result<Counts, Failure> {
    let climb = Climb {
        traced: true,
        factor,
        ..Climb::new(1)
    };
    Ok(Counts::of(&ladder::sum(rung, values, climb)?.events))
}

/// Numbers in [-0.5, 0.5) of all 24 digits, scattered by integer arithmetic: their sum depends on the order.
pub fn numbers(len: usize) -> Vec<f32> {
    let of = |i: usize| {
        let hash = (i as u32).wrapping_mul(2_654_435_761);
        let hash = (hash ^ hash >> 15).wrapping_mul(739_982_445);
        ((hash ^ hash >> 13) >> 8) as f32 / 16_777_216.0 - 0.5
    };
    (0..len).map(of).collect()
}

/// Integers from -2 to 2: of up to 2^22 the sum is exact, in any order.
fn integers(len: usize) -> Vec<f32> {
    let of = |i: usize| ((i as u32).wrapping_mul(2_654_435_761) >> 7) % 5;
    (0..len).map(|i| of(i) as f32 - 2.0).collect()
}

/// A number of elements, as records have it.
fn case(len: u64) -> String {
    if len.is_power_of_two() {
        format!("2^{}", len.ilog2())
    } else {
        len.to_string()
    }
}

/// As of 12,345,678 elements: `12,345,678`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_grouped() {
        let of = [0, 999, 1000, 123_456, 1_234_567].map(grouped);
        assert_eq!(of, ["0", "999", "1,000", "123,456", "1,234,567"]);
    }

    #[test]
    fn the_integers_have_an_exact_sum() {
        let values = integers(1 << 22);
        assert!(values.iter().all(|value| value.abs() <= 2.0 && value.fract() == 0.0));
        assert!(values.iter().map(|value| value.abs()).sum::<f32>() < 16_777_216.0);
    }
}
