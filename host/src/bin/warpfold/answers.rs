//! Answers of any type, in memory as a `.npy` file has them.

use std::ops::Range;

use serde::{Serialize, Serializer};
use warpfold::{Error, dynamic, files::DType, ops::element::Type};

use crate::{room::room, scalar::Scalar};

/// The types that answers can be cast to: those that NumPy's files can have, and bfloat16.
const DTYPES: [DType; 13] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::Bf16,
    DType::F32,
    DType::F64,
];

/// The type of that name.
pub fn dtype(name: &str) -> Result<DType, String> {
    let found = DTYPES.into_iter().find(|dtype| dtype.name() == name);
    found.ok_or_else(|| format!("it is none of {}", DTYPES.map(DType::name).join(", ")))
}

/// The type of a file's elements that has such.
pub fn dtype_of(element: Type) -> DType {
    match element {
        Type::Bool => DType::Bool,
        Type::I8 => DType::I8,
        Type::I16 => DType::I16,
        Type::I32 => DType::I32,
        Type::I64 => DType::I64,
        Type::U8 => DType::U8,
        Type::U16 => DType::U16,
        Type::U32 => DType::U32,
        Type::U64 => DType::U64,
        Type::F16 => DType::F16,
        Type::Bf16 => DType::Bf16,
        Type::F32 => DType::F32,
        Type::F64 => DType::F64,
        Type::F8E4M3 => DType::F8E4M3,
        Type::F8E5M2 => DType::F8E5M2,
        Type::Complex64 => DType::Complex64,
        Type::Complex128 => DType::Complex128,
        Type::Complex32 => unreachable!("no file has complex numbers of 32 bits"),
    }
}

/// The output of a fold. Of an operator with two answers, its last axis are these.
pub struct Answers {
    pub dtype: DType,
    pub shape: Vec<u64>,
    /// In C order, little-endian.
    pub bytes: Vec<u8>,
}

/// What an operator's answers are.
#[derive(Clone, Copy)]
pub struct AnswerType {
    pub dtype: DType,
    /// How many numbers an answer is.
    pub parts: u64,
}

impl AnswerType {
    /// As the library has it.
    pub fn of(answer: dynamic::AnswerType) -> Self {
        Self {
            dtype: dtype_of(answer.element),
            parts: answer.parts as u64,
        }
    }

    /// Answers of that shape, whose bytes these are.
    pub fn answers(self, mut shape: Vec<u64>, bytes: Vec<u8>) -> Answers {
        if self.parts > 1 {
            shape.push(self.parts);
        }
        let dtype = self.dtype;
        Answers { dtype, shape, bytes }
    }

    /// Room for an output of that shape, and none of it yet.
    pub fn room(self, shape: Vec<u64>) -> Result<Answers, Error> {
        let answers = self.answers(shape, vec![]);
        Answers::room_of(answers.dtype, answers.shape)
    }
}

impl Answers {
    fn room_of(dtype: DType, shape: Vec<u64>) -> Result<Self, Error> {
        let (count, size) = (shape.iter().product::<u64>(), dtype_bytes(dtype));
        let bytes = room(count.saturating_mul(size as u64)).map_err(|_| Error::LengthOverflow {
            elements: count,
            element_bytes: size,
        })?;
        Ok(Self { dtype, shape, bytes })
    }

    /// The same numbers as another type has them.
    pub fn cast(self, dtype: DType) -> Result<Self, Error> {
        let mut cast = Self::room_of(dtype, self.shape.clone())?;
        for number in self.each(0..self.len()) {
            number.write_as(dtype, &mut cast.bytes);
        }
        Ok(cast)
    }

    /// How many numbers.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.size()
    }

    pub fn each(&self, range: Range<usize>) -> impl Iterator<Item = Scalar> {
        let bytes = &self.bytes[range.start * self.size()..range.end * self.size()];
        let numbers = bytes.chunks_exact(self.size());
        numbers.map(|number| Scalar::of_bytes(self.dtype, number))
    }

    fn size(&self) -> usize {
        dtype_bytes(self.dtype)
    }
}

fn dtype_bytes(dtype: DType) -> usize {
    dtype.bytes().expect("a number of whole bytes")
}

/// A flat list.
impl Serialize for Answers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.each(0..self.len()))
    }
}
