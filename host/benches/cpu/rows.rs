//! One table of row operations: ours, a plain copy, the peers. Copies are to new memory, for each call's answers are new memory, too; then the same where answers and
//! copies are to memory that is there.

use std::hint::black_box;

use bytemuck::Pod;
use rayon::prelude::*;
use warpfold::{
    View, cpu,
    layout::Layout,
    row::{self, Operand, Operation, Row, RowElement},
};

use crate::{
    Print, json,
    peers::{Outcome, Peers},
    table::seconds,
};

/// Rows and their lengths: short ones, long ones, and those that several threads have together.
const SHAPES: [[usize; 2]; 3] = [[4096, 1024], [512, 8192], [8, 1 << 18]];

/// Calls that the shortest is taken of, as NumPy's is.
const CALLS: usize = 31;

/// Numbers of an answer that a peer's is compared with.
const SAMPLES: usize = 32;

/// What is measured: the shortest times of a call that allocates its answers and of a copy to new memory, of the same to memory that is there, and some numbers of the
/// answer, at equal distances.
struct Measured {
    new: [f64; 2],
    into: [f64; 2],
    sample: Vec<f64>,
}

/// Prints the table.
pub fn print(peers: &mut Peers, print: Print) {
    if print == Print::Table {
        println!(
            "{} threads, {}; rows: GB/s of what is read and written, share of a plain copy, the peers' GB/s: {}",
            cpu::threads(),
            cpu::vector_instructions(),
            Peers::names()
        );
    }
    for shape in SHAPES {
        all::<f32>(shape, peers, print);
        all::<half::bf16>(shape, peers, print);
    }
}

fn all<T: RowElement + Pod>([rows, len]: [usize; 2], peers: &mut Peers, print: Print)
where
    for<'a> &'a [T]: Into<Operand<'a>>,
{
    let values: Vec<T> = (0..rows * len)
        .map(|i| T::narrowed(((i % 251) as f32 - 125.0) / 32.0))
        .collect();
    let gradients = values.clone();
    let targets: Vec<i64> = (0..rows).map(|row| (row * 37 % len) as i64).collect();
    let weights = vec![1.5_f32; len];
    let layout = Layout::c_order(&[rows as u64, len as u64]).expect("it is small");
    let mut line = |name: &str, arrays: usize, measured: Measured| {
        let (bytes, shape, element) = (
            arrays * size_of_val(values.as_slice()),
            format!("{rows}x{len}"),
            T::TYPE.name(),
        );
        let into = format!("{name} into");
        // Where only losses are answered, there is no memory for answers.
        let cases = [(name, measured.new), (&into, measured.into)];
        for (name, [ours, copy]) in cases.into_iter().take(arrays.min(2)) {
            let theirs = peers.times(name, element, &shape, &measured.sample);
            // A copy is of two arrays, so that of the same bytes takes so many halves.
            let share = copy / 2.0 * arrays as f64 / ours;
            if print == Print::Json {
                let what = ["cpu rows", name, element, &shape];
                json::ours(what, "us", ours * 1e6, Some(bytes));
                json::ours(what, "share of a copy", share, None);
                peers.print_json(what, &theirs, bytes);
                continue;
            }
            let speed = |seconds: f64| bytes as f64 / seconds / 1e9;
            let theirs = theirs
                .iter()
                .map(|outcome| format!("{:>8}", Outcome::show(outcome.as_ref(), speed, 1)));
            println!(
                "{:<28}{shape:>9}{:>8.1}{share:>7.2}{}",
                format!("{name} {element}"),
                speed(ours),
                theirs.collect::<String>()
            );
        }
    };
    let answers = |mapped: &[T]| sample(mapped, |answer| f64::from(answer.wide()));
    line(
        "softmax",
        2,
        measure(&row::softmax(), &values, &layout, |all, _| answers(all)),
    );
    line(
        "log-softmax",
        2,
        measure(&row::log_softmax(), &values, &layout, |all, _| answers(all)),
    );
    let layer_norm = row::layer_norm(1e-5).weight(&weights).bias(&weights);
    line(
        "layer-norm",
        2,
        measure(&layer_norm, &values, &layout, |all, _| answers(all)),
    );
    let rms_norm = row::rms_norm(1e-6).weight(&weights);
    line(
        "rms-norm",
        2,
        measure(&rms_norm, &values, &layout, |all, _| answers(all)),
    );
    line(
        "cross-entropy",
        1,
        measure(&row::cross_entropy(&targets), &values, &layout, |_, losses| {
            sample(&losses.loss, |loss| f64::from(*loss))
        }),
    );
    let gradient = row::softmax_gradient(gradients.as_slice());
    line(
        "softmax-gradient",
        3,
        measure(&gradient, &values, &layout, |all, _| answers(all)),
    );
}

fn sample<X>(all: &[X], of: impl Fn(&X) -> f64) -> Vec<f64> {
    let count = SAMPLES.min(all.len());
    let at = |i| i * (all.len() - 1) / (count - 1).max(1);
    (0..count).map(|i| of(&all[at(i)])).collect()
}

/// Calls and copies, one after the other.
fn measure<T: Pod + RowElement, O: Operation>(
    row: &Row<'_, O>,
    values: &[T],
    layout: &Layout,
    sample: impl Fn(&[T], &O::Known) -> Vec<f64>,
) -> Measured {
    let view = || View::new(black_box(values), layout).expect("it is the array's");
    let new = || row.clone().on_cpu::<_, T>(view()).expect("it has a meaning");
    let first = new();
    let (mut answers, mut copy) = (first.values.clone(), values.to_vec());
    let mut measured = Measured {
        new: [f64::INFINITY; 2],
        into: [f64::INFINITY; 2],
        sample: sample(&first.values, &first.known),
    };
    drop(first);
    for _ in 0..CALLS {
        measured.new[0] = measured.new[0].min(seconds(new));
        measured.new[1] = measured.new[1].min(seconds(|| {
            let mut new = bytemuck::zeroed_vec(values.len());
            copy_to(black_box(values), &mut new);
            new
        }));
        let into = || row.clone().on_cpu_into(view(), black_box(&mut answers)).is_ok();
        measured.into[0] = measured.into[0].min(seconds(into));
        measured.into[1] = measured.into[1].min(seconds(|| copy_to(black_box(values), black_box(&mut copy))));
    }
    measured
}

/// A copy, of which each thread makes its part.
fn copy_to<T: Pod + Send + Sync>(from: &[T], to: &mut [T]) {
    let part = from.len().div_ceil(rayon::current_num_threads()).max(1);
    let parts = from.par_chunks(part).zip(to.par_chunks_mut(part));
    parts.for_each(|(from, to)| to.copy_from_slice(from));
}
