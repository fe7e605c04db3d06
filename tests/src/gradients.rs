//! Lists of tensors: the specification of their norm, to read rather than to run fast, and what tests of them need.

use std::fmt::Write as _;

use half::{bf16, f16};
use warpfold::gradients::{Floats, FloatsMut, Order, TotalNorm, grad_norm};
use warpfold_emulator::TensorOf;
use warpfold_kernels::{
    monoids::{Counted, Monoid as _, NormInf, NormL1, NormL2, NormLp, TensorNorm},
    rowwise::RowElement,
    stages::columns,
    tree::VERSION,
};

use crate::rows::{meet, numbers, plant};

/// Every kind of order.
pub const ORDERS: [Order; 5] = [Order::L1, Order::L2, Order::Inf, Order::P(1.5), Order::P(3.0)];

/// A tensor that a test owns.
#[derive(Clone, Debug, PartialEq)]
pub enum Tensor {
    /// Of f32.
    F32(Vec<f32>),
    /// Of f16.
    F16(Vec<f16>),
    /// Of bf16.
    Bf16(Vec<bf16>),
}

impl Tensor {
    /// So many numbers of a type, 0 to 2.
    #[must_use]
    pub fn numbers(of: u64, len: usize, seed: u64) -> Self {
        match of % 3 {
            0 => Self::F32(numbers(len, seed)),
            1 => Self::F16(numbers(len, seed)),
            _ => Self::Bf16(numbers(len, seed)),
        }
    }

    /// The same with a NaN, infinities and zeros among them.
    #[must_use]
    pub fn planted(mut self, seed: u64) -> Self {
        match &mut self {
            Self::F32(values) => plant(values, seed),
            Self::F16(values) => plant(values, seed),
            Self::Bf16(values) => plant(values, seed),
        }
        self
    }

    /// As the library takes it.
    #[must_use]
    pub fn floats(&self) -> Floats<'_> {
        match self {
            Self::F32(values) => values.into(),
            Self::F16(values) => values.into(),
            Self::Bf16(values) => values.into(),
        }
    }

    /// The same, to be clipped.
    pub fn floats_mut(&mut self) -> FloatsMut<'_> {
        match self {
            Self::F32(values) => values.into(),
            Self::F16(values) => values.into(),
            Self::Bf16(values) => values.into(),
        }
    }

    /// As the emulator takes it.
    #[must_use]
    pub fn of(&self, misalign: usize) -> TensorOf {
        let (floats, bits): (_, Vec<u32>) = match self {
            Self::F32(values) => (columns::Floats::F32, values.iter().map(|x| x.to_bits()).collect()),
            Self::F16(values) => (
                columns::Floats::F16,
                values.iter().map(|x| x.to_bits().into()).collect(),
            ),
            Self::Bf16(values) => (
                columns::Floats::Bf16,
                values.iter().map(|x| x.to_bits().into()).collect(),
            ),
        };
        TensorOf { floats, bits, misalign }
    }

    /// Its numbers.
    #[must_use]
    pub fn wide(&self) -> Vec<f32> {
        fn of<T: RowElement>(values: &[T]) -> Vec<f32> {
            values.iter().map(|x| x.wide()).collect()
        }
        match self {
            Self::F32(values) => of(values),
            Self::F16(values) => of(values),
            Self::Bf16(values) => of(values),
        }
    }

    /// Elements of a row of a leaf.
    fn columns(&self) -> usize {
        if matches!(self, Self::F32(_)) { 128 } else { 256 }
    }
}

/// Each as the library takes it.
#[must_use]
pub fn floats(tensors: &[Tensor]) -> Vec<Floats<'_>> {
    tensors.iter().map(Tensor::floats).collect()
}

/// The norm by its specification, `docs/gradients.md`.
#[must_use]
pub fn spec(order: Order, tensors: &[Tensor]) -> TotalNorm {
    match order {
        Order::L1 => total(NormL1, tensors),
        Order::L2 => total(NormL2, tensors),
        Order::Inf => total(NormInf, tensors),
        Order::P(p) => total(NormLp { p }, tensors),
    }
}

fn total<N: TensorNorm>(norm: N, tensors: &[Tensor]) -> TotalNorm {
    let op = Counted(norm);
    let both = |a, b| op.combine(a, b);
    let state = |tensor: &Tensor| {
        let (values, columns) = (tensor.wide(), tensor.columns());
        let leaf = |leaf: &[f32]| {
            let place = |i: usize| leaf.get(i).map_or(op.identity(), |x| op.lift(*x, 0));
            let column = |first: usize| {
                let rows = (0..8).map(|row| place(first + row * columns)).collect();
                meet(rows, op.identity(), &both)
            };
            meet((0..columns).map(column).collect(), op.identity(), &both)
        };
        meet(values.chunks(8 * columns).map(leaf).collect(), op.identity(), &both)
    };
    let state = meet(tensors.iter().map(state).collect(), op.identity(), &both);
    let elements: usize = tensors.iter().map(|tensor| tensor.wide().len()).sum();
    let ((norm, _), not_finite) = if elements == 0 {
        op.empty().expect("0")
    } else {
        op.finish(state, elements as u64)
    };
    TotalNorm { norm, not_finite }
}

/// A list of tensors of any lengths and types, a function of the seed alone.
#[must_use]
pub fn list(seed: u64, most: usize) -> Vec<Tensor> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    (0..next(9))
        .map(|i| {
            let edge = [0, 1, 7, 8, 127, 256, 1024, 2048, 4096, most as u64][next(10) as usize];
            let len = (edge + next(3)).saturating_sub(1).min(most as u64);
            Tensor::numbers(next(3), len as usize, seed + i)
        })
        .collect()
}

/// The recorded norms: order, the list's number, its tensors and elements, and the norm, in hexadecimal; then the count of what is not finite.
pub const GOLDEN: &str = include_str!("../golden/gradients-v1.txt");

/// Where they are, to write them anew.
pub const GOLDEN_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/gradients-v1.txt");

/// The lists that are recorded, by number.
#[must_use]
pub fn golden_list(number: u64) -> Vec<Tensor> {
    let mut tensors = list(number, 40_000);
    // Of more tiles than a warp folds at once, and of more tensors.
    if number == 20 {
        tensors.push(Tensor::numbers(0, 1_100_000, number));
    }
    if number == 21 {
        tensors.extend((0..700).map(|i| Tensor::numbers(i, i as usize % 41, i)));
    }
    if number % 4 == 3 {
        tensors = tensors.into_iter().map(|tensor| tensor.planted(number)).collect();
    }
    tensors
}

/// How many there are.
pub const GOLDEN_LISTS: u64 = 22;

/// The text of [`GOLDEN`], as it should be: by the CPU.
///
/// # Panics
///
/// If a list has no norm.
#[must_use]
pub fn golden() -> String {
    let mut text = format!(
        "# The norms of lists of tensors: order, list, tensors, elements, norm, elements that are not finite. See src/gradients.rs.\ntree {VERSION}\n"
    );
    for number in 0..GOLDEN_LISTS {
        let tensors = golden_list(number);
        let elements: usize = tensors.iter().map(|tensor| tensor.wide().len()).sum();
        for order in ORDERS {
            let total = grad_norm(order).on_cpu(&floats(&tensors)).expect("a norm");
            let (bits, count) = (total.norm.to_bits(), total.not_finite);
            let name = format!("{order:?}");
            writeln!(text, "{name} {number} {} {elements} {bits:08x} {count}", tensors.len()).expect("written");
        }
    }
    text
}
