//! Arrays drawn at random, by proptest's generator.

use std::env;

use half::f16;
use proptest::{
    prelude::*,
    sample::{select, subsequence},
    strategy::ValueTree as _,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use warpfold::files::{f8e4m3, f8e5m2};

/// A type of elements.
#[derive(Clone, Copy)]
pub struct Type {
    /// Its name, NumPy's but for those of [`safetensors`](Self::safetensors).
    pub name: &'static str,
    /// NumPy's code of it; what NumPy does not have is drawn as the float32 that each is.
    pub descr: &'static str,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Truth,
    Integer,
    Float,
    Complex,
}

impl Type {
    /// The name in `.safetensors` files of a type that NumPy does not have.
    pub fn safetensors(self) -> Option<&'static str> {
        match self.name {
            "bfloat16" => Some("BF16"),
            "float8_e4m3fn" => Some("F8_E4M3"),
            "float8_e5m2" => Some("F8_E5M2"),
            _ => None,
        }
    }
}

const fn of(name: &'static str, descr: &'static str, kind: Kind) -> Type {
    Type { name, descr, kind }
}

/// All that the command folds.
pub const TYPES: [Type; 17] = [
    of("bool", "|b1", Kind::Truth),
    of("uint8", "|u1", Kind::Integer),
    of("int8", "|i1", Kind::Integer),
    of("uint16", "<u2", Kind::Integer),
    of("int16", "<i2", Kind::Integer),
    of("uint32", "<u4", Kind::Integer),
    of("int32", "<i4", Kind::Integer),
    of("uint64", "<u8", Kind::Integer),
    of("int64", "<i8", Kind::Integer),
    of("float16", "<f2", Kind::Float),
    of("bfloat16", "<f4", Kind::Float),
    of("float32", "<f4", Kind::Float),
    of("float64", "<f8", Kind::Float),
    of("float8_e4m3fn", "<f4", Kind::Float),
    of("float8_e5m2", "<f4", Kind::Float),
    of("complex64", "<c8", Kind::Complex),
    of("complex128", "<c16", Kind::Complex),
];

/// An array.
pub struct Array {
    pub of: Type,
    pub fortran: bool,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

/// What the arrays are drawn from.
pub fn seed() -> u64 {
    let asked = env::var("WARPFOLD_NUMPY_SEED").ok();
    asked.map_or(1, |seed| seed.parse().expect("WARPFOLD_NUMPY_SEED is a number"))
}

/// What draws.
pub struct Draw(TestRunner);

impl Draw {
    /// For each name other arrays.
    pub fn new(name: &str) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed().to_le_bytes());
        bytes[8..][..name.len()].copy_from_slice(name.as_bytes());
        let source = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Self(TestRunner::new_with_rng(Config::default(), source))
    }

    fn draw<S: Strategy>(&mut self, strategy: S) -> S::Value {
        strategy.new_tree(&mut self.0).expect("nothing is filtered").current()
    }

    pub fn between(&mut self, least: usize, most: usize) -> usize {
        self.draw(least..=most)
    }

    pub fn one_of<T: Clone + std::fmt::Debug + 'static>(&mut self, choices: &[T]) -> T {
        self.draw(select(choices.to_vec()))
    }

    /// Some axes of `rank`, in any order, counted from either end; none where there are none.
    pub fn axes(&mut self, rank: usize) -> Vec<i64> {
        if rank == 0 {
            return vec![];
        }
        let axes = self.draw(subsequence((0..rank as i64).collect::<Vec<_>>(), 1..=rank).prop_shuffle());
        axes.into_iter()
            .map(|axis| {
                if self.draw(any::<bool>()) {
                    axis - rank as i64
                } else {
                    axis
                }
            })
            .collect()
    }

    /// Where segments of `len` elements begin and end; empty ones among them if they may be.
    pub fn offsets(&mut self, len: usize, empty: bool) -> Vec<usize> {
        let mut inner = self.draw(prop::collection::vec(0..=len, 0..40));
        inner.extend([0, len]);
        inner.sort_unstable();
        if !empty {
            inner.dedup();
        }
        inner
    }

    /// An array that the operator is put to the test by, without elements now and then if it has an answer over nothing.
    pub fn array(&mut self, of: Type, op: &str, fortran: bool, over_nothing: bool) -> Array {
        let shape = self.shape(over_nothing);
        let count = shape.iter().product();
        let bytes = match of.kind {
            Kind::Truth => self.truths(count),
            Kind::Integer => self.integers(of, op, count),
            Kind::Float => self.floats(of, op, count),
            Kind::Complex => self.floats(of, op, 2 * count),
        };
        Array {
            of,
            fortran,
            shape,
            bytes,
        }
    }

    /// Another of the same type beside it, which is broadcast to it.
    pub fn second(&mut self, first: &Array, op: &str) -> Array {
        let shape = self.broadcast(&first.shape);
        let bytes = self.floats(first.of, op, shape.iter().product());
        let (of, fortran) = (first.of, first.fortran);
        Array {
            of,
            fortran,
            shape,
            bytes,
        }
    }

    /// A shape that is broadcast to another: of fewer axes, or with an extent of 1.
    pub fn broadcast(&mut self, shape: &[usize]) -> Vec<usize> {
        let first = self.one_of(&[0, 0, 1]).min(shape.len());
        let extents = shape[first..].iter();
        extents.map(|extent| self.one_of(&[*extent, *extent, 1])).collect()
    }

    /// One to four axes, and up to some 20,000 elements: several leaves of every type.
    fn shape(&mut self, over_nothing: bool) -> Vec<usize> {
        if over_nothing && self.between(0, 19) == 0 {
            return self.one_of(&[vec![0], vec![3, 0], vec![0, 4, 2]]);
        }
        let rank = self.between(1, 4);
        let most = self.draw(0.0..9.9_f64).exp() as usize;
        let mut left = most.max(1);
        let mut shape: Vec<usize> = (0..rank)
            .map(|_| {
                let extent = (self.draw(0.0..=1.0_f64) * (left as f64).ln()).exp().round() as usize;
                left /= extent.max(1);
                extent.max(1)
            })
            .collect();
        // The last of them has what is left: long runs, and columns where that is turned round.
        shape[rank - 1] *= left.max(1);
        self.draw(Just(shape).prop_shuffle())
    }

    fn truths(&mut self, count: usize) -> Vec<u8> {
        let chance = self.one_of(&[0.0, 0.001, 0.5, 0.999, 1.0]);
        self.draw(prop::collection::vec(prop::bool::weighted(chance), count))
            .into_iter()
            .map(u8::from)
            .collect()
    }

    fn integers(&mut self, of: Type, op: &str, count: usize) -> Vec<u8> {
        let bytes: usize = of.descr[2..].parse().expect("a size");
        // Few values for ties and zeros; all values, whose sums wrap around; such as have sums that do not.
        let way = if op == "mean" { 2 } else { self.between(0, 3) };
        let signed = of.descr.contains('i');
        let number = match way {
            0 if signed => (-2..3_i64).boxed(),
            0 => (0..3_i64).boxed(),
            1 => Just(self.one_of(&[0_i64, 1])).boxed(),
            2 => any::<i32>().prop_map(|number| i64::from(number >> 1)).boxed(),
            _ => any::<i64>().boxed(),
        };
        // As many of its bytes as the type has: of an unsigned type the rest of a negative one is large.
        let number = if way == 2 && !signed {
            number.prop_map(i64::abs).boxed()
        } else {
            number
        };
        let numbers = self.draw(prop::collection::vec(number, count));
        numbers
            .into_iter()
            .flat_map(|number| number.to_le_bytes().into_iter().take(bytes))
            .collect()
    }

    fn floats(&mut self, of: Type, op: &str, count: usize) -> Vec<u8> {
        let plain = if op == "prod" {
            // Neither over- nor underflow, whatever is multiplied first.
            (-0.015_f64..0.015, any::<bool>())
                .prop_map(|(off, minus)| if minus { -1.0 - off } else { 1.0 + off })
                .boxed()
        } else {
            match self.between(0, 3) {
                0 => (-1.0..1.0_f64).boxed(),
                1 => (-12..5, 1.0..2.0_f64, any::<bool>())
                    .prop_map(|(exponent, mantissa, minus)| {
                        mantissa * 2.0_f64.powi(exponent) * if minus { -1.0 } else { 1.0 }
                    })
                    .boxed(),
                2 => select(vec![-2.0, -1.0, -0.0, 0.0, 1.0, 2.0]).boxed(),
                // Far from 0 beside how far apart: what cancels.
                _ => (500.0..501.0_f64).boxed(),
            }
        };
        let special = select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0]);
        let number = match self.between(0, 4) {
            0 => prop_oneof![200 => plain, 1 => special].boxed(),
            1 => prop_oneof![3 => plain, 1 => Just(f64::NAN)].boxed(),
            _ => plain,
        };
        let numbers = self.draw(prop::collection::vec(number, count));
        let bytes = |number: f64| match of.name {
            "float16" => f16::from_f64(number).to_le_bytes().to_vec(),
            "bfloat16" => half::bf16::from_f64(number).to_f32().to_le_bytes().to_vec(),
            "float8_e4m3fn" => f8e4m3::from_f64(number).to_f32().to_le_bytes().to_vec(),
            "float8_e5m2" => f8e5m2::from_f64(number).to_f32().to_le_bytes().to_vec(),
            "float32" | "complex64" => (number as f32).to_le_bytes().to_vec(),
            _ => number.to_le_bytes().to_vec(),
        };
        numbers.into_iter().flat_map(bytes).collect()
    }
}
