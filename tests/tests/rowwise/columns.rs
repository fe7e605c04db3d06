//! The gradients of norms' weights and biases: the kernel on the emulator, the CPU backend, their specification, and exact arithmetic.

use half::{bf16, f16};
use warpfold::{
    View, cpu,
    layout::{Axes, Layout},
    ops::Sum,
    row::{self, MeanAndDeviation},
};
use warpfold_emulator::{BesideRows, RowsOf, sum_columns};
use warpfold_kernels::kernels::rowwise::Second;
use warpfold_tests::rows::{Weights, numbers};

/// A matrix, its gradients, and what a norm knew of its rows.
struct Inputs<T> {
    x: Vec<T>,
    dy: Vec<T>,
    known: MeanAndDeviation,
}

impl<T: Weights> Inputs<T> {
    fn new([count, len]: [u64; 2], seed: u64) -> Self {
        let known = numbers::<f32>(count as usize, seed + 2);
        Self {
            x: numbers((count * len) as usize, seed),
            dy: numbers((count * len) as usize, seed + 1),
            known: MeanAndDeviation {
                reciprocal_deviation: known.iter().map(|x| x.abs() + 0.1).collect(),
                mean: known,
            },
        }
    }

    /// Chunks' sums by the specification: 32 rows in order.
    fn chunks(&self, [count, len]: [u64; 2]) -> Vec<f32> {
        let mut sums = vec![];
        for first in (0..count).step_by(32) {
            let mut of_chunk = vec![-0.0_f32; 2 * len as usize];
            for row in first..(first + 32).min(count) {
                let (mean, q) = (
                    self.known.mean[row as usize],
                    self.known.reciprocal_deviation[row as usize],
                );
                for column in 0..len as usize {
                    let at = (row * len) as usize + column;
                    let (x, dy) = (self.x[at].wide(), self.dy[at].wide());
                    of_chunk[column] += dy * ((x - mean) * q);
                    of_chunk[len as usize + column] += dy;
                }
            }
            sums.extend(of_chunk);
        }
        sums
    }
}

fn agree<T: Weights>(size: [u64; 2], seed: u64) {
    let [count, len] = size;
    let inputs = Inputs::<T>::new(size, seed);
    let chunks = inputs.chunks(size);
    let beside = BesideRows::<T, f32> {
        other: Some((Second::Nothing, &inputs.dy, len as i64)),
        given: Some([&inputs.known.mean, &inputs.known.reciprocal_deviation]),
        ..BesideRows::default()
    };
    let rows = RowsOf {
        values: &inputs.x,
        len,
        count,
        stride: len as i64,
        first: 0,
        misalign: (seed % 3) as usize,
        causal: None,
        layout: None,
    };
    let emulated = sum_columns(rows, &beside, 32, seed).unwrap_or_else(|fault| panic!("{fault}: {size:?}"));
    let bits: Vec<u32> = chunks.iter().map(|sum| sum.to_bits()).collect();
    assert_eq!(emulated, bits, "{size:?}");
    let layout = Layout::c_order(&size).expect("small");
    let view = View::new(&inputs.x, &layout).expect("in bounds");
    let columns = row::norm_column_gradients(T::operand(&inputs.dy), &inputs.known).on_cpu(view);
    let columns = columns.expect("a meaning");
    let of_chunks = Layout::c_order(&[count.div_ceil(32), 2 * len]).expect("small");
    let expected = cpu::reduce_axes(Sum, &chunks, &of_chunks, &Axes::of(&[0])).expect("a meaning");
    assert_eq!([columns.weight, columns.bias].concat(), expected.answers, "{size:?}");
}

#[test]
fn sums_of_columns_have_the_bits_of_the_specification() {
    for (seed, size) in [[1, 1], [31, 8], [32, 40], [33, 64], [100, 7], [70, 300], [0, 8], [5, 0]]
        .into_iter()
        .enumerate()
    {
        agree::<f32>(size, seed as u64);
        agree::<bf16>(size, seed as u64 + 3);
        agree::<f16>(size, seed as u64 + 1);
    }
}

#[test]
fn sums_of_columns_are_within_their_bound() {
    let [count, len] = [5000_u64, 16];
    let inputs = Inputs::<f32>::new([count, len], 9);
    let layout = Layout::c_order(&[count, len]).expect("small");
    let view = View::new(&inputs.x, &layout).expect("in bounds");
    let columns = row::norm_column_gradients(&inputs.dy, &inputs.known)
        .on_cpu(view)
        .expect("a meaning");
    for column in 0..len as usize {
        let (mut exact, mut size) = ([0.0_f64; 2], [0.0_f64; 2]);
        for row in 0..count as usize {
            let at = row * len as usize + column;
            let x = (f64::from(inputs.x[at]) - f64::from(inputs.known.mean[row]))
                * f64::from(inputs.known.reciprocal_deviation[row]);
            for (i, term) in [f64::from(inputs.dy[at]) * x, f64::from(inputs.dy[at])]
                .into_iter()
                .enumerate()
            {
                exact[i] += term;
                size[i] += term.abs();
            }
        }
        // 32 additions in order, a level for each doubling of their sums, three roundings of a term.
        let bound = (32.0 + 8.0 + 3.0 + 2.0) / f64::from(1 << 24);
        for (got, i) in [(columns.weight[column], 0), (columns.bias[column], 1)] {
            assert!(
                (f64::from(got) - exact[i]).abs() <= bound * size[i],
                "{got} for {}",
                exact[i]
            );
        }
    }
}
