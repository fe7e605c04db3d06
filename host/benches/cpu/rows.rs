//! One table of row operations: ours, a plain copy, NumPy. Copies are to new memory, for each call's answers are new memory, too.

use std::hint::black_box;

use bytemuck::Pod;
use rayon::prelude::*;
use warpfold::{
    View, cpu,
    layout::Layout,
    row::{self, Operand, Operation, Row, RowElement},
};

use crate::{Print, json, numpy::NumPy, table::seconds};

/// Rows and their lengths: short ones, long ones, and those that several threads have together.
const SHAPES: [[usize; 2]; 3] = [[4096, 1024], [512, 8192], [8, 1 << 18]];

/// Calls that the shortest is taken of, as NumPy's is.
const CALLS: usize = 31;

/// Prints the table.
pub fn print(mut numpy: Option<&mut NumPy>, print: Print) {
    if print == Print::Table {
        println!(
            "{} threads, {}; rows: GB/s of what is read and written, share of a plain copy; NumPy's GB/s on one thread",
            cpu::threads(),
            cpu::vector_instructions()
        );
    }
    for shape in SHAPES {
        all::<f32>(shape, numpy.as_deref_mut(), print);
        all::<half::bf16>(shape, numpy.as_deref_mut(), print);
    }
}

fn all<T: RowElement + Pod>([rows, len]: [usize; 2], mut numpy: Option<&mut NumPy>, print: Print)
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
        let (bytes, shape, element) = (
            arrays * size_of_val(values.as_slice()),
            format!("{rows}x{len}"),
            T::TYPE.name(),
        );
        let seconds = numpy.as_mut().and_then(|numpy| numpy.seconds(name, element, &shape));
        // A copy is of two arrays, so that of the same bytes takes so many halves.
        let share = copy / 2.0 * arrays as f64 / ours;
        if print == Print::Json {
            let what = ["cpu rows", name, element, &shape];
            json::ours(what, "us", ours * 1e6, Some(bytes));
            json::ours(what, "share of a copy", share, None);
            if let Some((seconds, numpy)) = seconds.zip(numpy.as_ref()) {
                json::of_numpy(what, &numpy.version, seconds * 1e6, bytes);
            }
            return;
        }
        let theirs = seconds.map_or("-".to_owned(), |seconds| format!("{:.2}", bytes as f64 / seconds / 1e9));
        println!(
            "{:<28}{shape:>9}{:>8.1}{share:>7.2}{theirs:>8}",
            format!("{name} {element}"),
            bytes as f64 / ours / 1e9,
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
