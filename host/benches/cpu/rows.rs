//! One table of row operations: ours, a plain copy, NumPy. Copies are to new memory, for each call's answers are new memory, too.

use std::hint::black_box;

use bytemuck::Pod;
use rayon::prelude::*;
use warpfold::{
    View, cpu,
    layout::Layout,
    row::{self, Operand, Operation, Row, RowElement},
};

use crate::{numpy::NumPy, table::seconds};

/// Rows and their lengths: short ones, long ones, and those that several threads have together.
const SHAPES: [[usize; 2]; 3] = [[4096, 1024], [512, 8192], [8, 1 << 18]];

/// Calls that the shortest is taken of, as NumPy's is.
const CALLS: usize = 31;

/// Prints the table.
pub fn print(mut numpy: Option<&mut NumPy>) {
    println!(
        "{} threads, {}; rows: GB/s of what is read and written, share of a plain copy; NumPy's GB/s on one thread",
        cpu::threads(),
        cpu::vector_instructions()
    );
    for shape in SHAPES {
        all::<f32>(shape, numpy.as_deref_mut());
        all::<half::bf16>(shape, numpy.as_deref_mut());
    }
}

fn all<T: RowElement + Pod>([rows, len]: [usize; 2], mut numpy: Option<&mut NumPy>)
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
    let mut line = |name: &str, arrays: usize, [ours, copy]: [f64; 2]| {
        let bytes = (arrays * size_of_val(values.as_slice())) as f64;
        let theirs = numpy
            .as_mut()
            .and_then(|numpy| numpy.seconds(name, T::TYPE.name(), format!("{rows}x{len}")));
        let theirs = theirs.map_or("-".to_owned(), |seconds| format!("{:.2}", bytes / seconds / 1e9));
        // A copy is of two arrays, so that of the same bytes takes so many halves.
        let share = copy / 2.0 * arrays as f64 / ours;
        println!(
            "{:<28}{:>9}{:>8.1}{:>7.2}{theirs:>8}",
            format!("{name} {}", T::TYPE.name()),
            format!("{rows}x{len}"),
            bytes / ours / 1e9,
            share
        );
    };
    line("softmax", 2, times(&row::softmax(), &values, &layout));
    line("log-softmax", 2, times(&row::log_softmax(), &values, &layout));
    line(
        "layer-norm",
        2,
        times(&row::layer_norm(1e-5).weight(&weights).bias(&weights), &values, &layout),
    );
    line(
        "rms-norm",
        2,
        times(&row::rms_norm(1e-6).weight(&weights), &values, &layout),
    );
    line(
        "cross-entropy",
        1,
        times(&row::cross_entropy(&targets), &values, &layout),
    );
    line(
        "softmax-gradient",
        3,
        times(&row::softmax_gradient(gradients.as_slice()), &values, &layout),
    );
}

/// The shortest time of a call, and of a plain copy of the array to new memory, one after the other.
fn times<T: Pod + RowElement, O: Operation>(row: &Row<'_, O>, values: &[T], layout: &Layout) -> [f64; 2] {
    let call = || {
        let view = View::new(black_box(values), layout).expect("it is the array's");
        row.clone().on_cpu::<_, T>(view).expect("it has a meaning")
    };
    (0..CALLS).fold([f64::INFINITY; 2], |[ours, copy], _| {
        [ours.min(seconds(call)), copy.min(seconds(|| copied(black_box(values))))]
    })
}

/// A copy, of which each thread makes its part.
fn copied<T: Pod + Send + Sync>(from: &[T]) -> Vec<T> {
    let part = from.len().div_ceil(rayon::current_num_threads()).max(1);
    let mut to = bytemuck::zeroed_vec(from.len());
    let parts = from.par_chunks(part).zip(to.par_chunks_mut(part));
    parts.for_each(|(from, to)| to.copy_from_slice(from));
    to
}
