//! Lists of tensors: the specification of their norm, to read rather than to run fast, and what tests of them need.

use std::fmt::Write as _;

use half::{bf16, f16};
use warpfold::gradients::{Floats, FloatsMut, Order, TotalNorm, grad_norm};
use warpfold_emulator::TensorOf;
use warpfold_kernels::{
    element::{Factor, Item, Rank as _, Scale as _, Squares, Unscaled, f8e4m3, f8e5m2},
    monoids::{Counted, Monoid, NormInf, NormL1, NormL2, NormLp, TensorNorm},
    rowwise::RowElement,
    stages::columns,
    tree::VERSION,
};

use crate::rows::{combine_pairs, doubles, numbers, plant};

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
    let state = |tensor: &Tensor| tree(op, &tensor.wide(), tensor.columns());
    let state = combine_pairs(tensors.iter().map(state).collect(), op.identity(), &both);
    let elements: usize = tensors.iter().map(|tensor| tensor.wide().len()).sum();
    let ((norm, _), not_finite) = if elements == 0 {
        op.empty().expect("0")
    } else {
        op.finish(state, elements as u64)
    };
    TotalNorm::of_f32(norm, not_finite)
}

/// The canonical tree of one tensor.
fn tree<T: Copy + Item, M: Monoid<T>>(op: M, values: &[T], columns: usize) -> M::State {
    let both = |a, b| op.combine(a, b);
    let leaf = |leaf: &[T]| {
        let place = |i: usize| leaf.get(i).map_or(op.identity(), |x| op.lift(*x, 0));
        let column = |first: usize| {
            let rows = (0..8).map(|row| place(first + row * columns)).collect();
            combine_pairs(rows, op.identity(), &both)
        };
        combine_pairs((0..columns).map(column).collect(), op.identity(), &both)
    };
    combine_pairs(values.chunks(8 * columns).map(leaf).collect(), op.identity(), &both)
}

/// A tensor of any type that the CPU takes.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyTensor {
    /// Of f32, f16 or bf16.
    Narrow(Tensor),
    /// Of f64.
    F64(Vec<f64>),
    /// Of FP8, by its bits.
    F8E4M3(Vec<f8e4m3>),
    /// Likewise.
    F8E5M2(Vec<f8e5m2>),
}

impl AnyTensor {
    /// As the library takes it.
    #[must_use]
    pub fn floats(&self) -> Floats<'_> {
        match self {
            Self::Narrow(tensor) => tensor.floats(),
            Self::F64(values) => values.into(),
            Self::F8E4M3(values) => values.into(),
            Self::F8E5M2(values) => values.into(),
        }
    }

    /// Its numbers.
    #[must_use]
    pub fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Narrow(tensor) => tensor.wide().into_iter().map(f64::from).collect(),
            Self::F64(values) => values.clone(),
            Self::F8E4M3(values) => values.iter().map(|x| x.to_f32().into()).collect(),
            Self::F8E5M2(values) => values.iter().map(|x| x.to_f32().into()).collect(),
        }
    }
}

/// A list with tensors of all types that the CPU takes, a function of the seed alone: the narrow ones of [`list`], and others among them.
#[must_use]
pub fn any_list(seed: u64, most: usize) -> Vec<AnyTensor> {
    let mut tensors: Vec<AnyTensor> = list(seed, most).into_iter().map(AnyTensor::Narrow).collect();
    let bytes = |len: usize| {
        numbers::<f32>(len, seed ^ 5)
            .into_iter()
            .map(|x| (x * 40.0) as i32 as u8)
    };
    // E4M3 has a NaN of all bits but the sign's, E5M2 infinities and NaNs of the five bits of its exponent.
    let e4m3 = |bits: u8| f8e4m3::from_bits(if bits & 0x7f == 0x7f { 0 } else { bits });
    let e5m2 = |bits: u8| f8e5m2::from_bits(bits & 0xbf);
    let lens = [seed as usize * 37 % most, 0, 70_000 % most, 513];
    for (i, len) in lens.into_iter().enumerate() {
        let tensor = match (seed as usize + i) % 3 {
            0 => AnyTensor::F8E4M3(bytes(len).map(e4m3).collect()),
            1 => AnyTensor::F8E5M2(bytes(len).map(e5m2).collect()),
            _ => AnyTensor::F64(doubles(len, seed, [0, 400, -500][(seed as usize / 3) % 3])),
        };
        tensors.insert((seed as usize * 5 + i * 3) % (tensors.len() + 1), tensor);
    }
    tensors
}

/// What the specification has of some tensors: a state of f32, or of f64.
#[derive(Clone, Copy)]
enum State<N, W> {
    Narrow(N),
    Wide(W),
}

/// The norm of tensors of any types by its specification: the norm in f64, and how many elements are not finite.
#[must_use]
pub fn spec_of_any(order: Order, tensors: &[AnyTensor]) -> (f64, u64) {
    let norm = match order {
        Order::L1 => total_of_any(NormL1, f64::from, tensors),
        Order::L2 => {
            let widen = |squares: Squares<Unscaled>| match squares.sum {
                0.0 => Monoid::<f64>::identity(NormL2),
                sum if sum.is_finite() => Squares {
                    sum,
                    scale: Factor::of(1.0),
                },
                sum => NormL2.lift(sum, 0),
            };
            total_of_any(NormL2, widen, tensors)
        }
        Order::Inf => total_of_any(NormInf, |key| f64::from(f32::of_key(key)).key(), tensors),
        Order::P(p) => total_of_any(NormLp { p }, |state| state, tensors),
    };
    let numbers = tensors.iter().flat_map(AnyTensor::numbers);
    (norm, numbers.filter(|x| !x.is_finite()).count() as u64)
}

fn total_of_any<N>(norm: N, widen: impl Fn(StateOf<N, f32>) -> StateOf<N, f64>, tensors: &[AnyTensor]) -> f64
where
    N: Monoid<f32, Answer = f32> + Monoid<f64, Answer = f64>,
{
    let wide = |state| match state {
        State::Narrow(state) => widen(state),
        State::Wide(state) => state,
    };
    let both = |a, b| match (a, b) {
        (State::Narrow(a), State::Narrow(b)) => State::Narrow(Monoid::<f32>::combine(norm, a, b)),
        (a, b) => State::Wide(Monoid::<f64>::combine(norm, wide(a), wide(b))),
    };
    let state = |tensor: &AnyTensor| match tensor {
        AnyTensor::F64(values) => State::Wide(tree(norm, values, 64)),
        AnyTensor::Narrow(tensor) => State::Narrow(tree(norm, &tensor.wide(), tensor.columns())),
        fp8 => {
            let numbers: Vec<f32> = fp8.numbers().into_iter().map(|x| x as f32).collect();
            State::Narrow(tree(norm, &numbers, 128))
        }
    };
    if tensors.iter().all(|tensor| tensor.numbers().is_empty()) {
        return 0.0;
    }
    let nothing = State::Narrow(Monoid::<f32>::identity(norm));
    match combine_pairs(tensors.iter().map(state).collect(), nothing, &both) {
        State::Narrow(state) => Monoid::<f32>::finish(norm, state, 1).into(),
        State::Wide(state) => Monoid::<f64>::finish(norm, state, 1),
    }
}

type StateOf<N, T> = <N as Monoid<T>>::State;

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
    for number in 0..GOLDEN_LISTS {
        let tensors = any_list(number, 40_000);
        let floats: Vec<Floats<'_>> = tensors.iter().map(AnyTensor::floats).collect();
        let elements: usize = floats.iter().map(Floats::len).sum();
        for order in ORDERS {
            let total = grad_norm(order).on_cpu(&floats).expect("a norm");
            let (bits, count) = (total.norm_f64.to_bits(), total.not_finite);
            let name = format!("{order:?}");
            writeln!(
                text,
                "{name} f64-{number} {} {elements} {bits:016x} {count}",
                floats.len()
            )
            .expect("written");
        }
    }
    text
}
