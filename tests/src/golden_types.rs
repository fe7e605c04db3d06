//! As [`golden`](mod@crate::golden), for every type of elements: `golden/types-v1.txt`.
//!
//! `WARPFOLD_BLESS=1 cargo test -p warpfold-tests --test types` writes the file anew.

use warpfold_kernels::element::Type;

use crate::{
    Bits, golden,
    operations::Operation,
    samples::{ANY, FACTORS, PLAIN, Sample},
};

/// The recorded file.
pub const TEXT: &str = include_str!("../golden/types-v1.txt");

/// Where it is, to write it anew.
pub const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/types-v1.txt");

/// Lengths that are recorded: a ragged row of every type, a few leaves, a tree of many.
pub const LENGTHS: [usize; 3] = [131, 9_001, 300_007];

/// Kinds that are recorded.
pub const KINDS: [Sample; 3] = [ANY, PLAIN, FACTORS];

/// One line: the answer of an operator of a type over a kind of array of a length.
#[derive(Clone, Debug)]
pub struct Record {
    /// The operator's name.
    pub op: String,
    /// The type's.
    pub ty: String,
    /// The array's kind.
    pub kind: Sample,
    /// Its length.
    pub len: usize,
    /// The answer.
    pub answer: Bits,
}

/// The version of the tree that the text was recorded with, and its lines.
///
/// # Panics
///
/// If the text is none that the golden test writes.
#[must_use]
pub fn parse(text: &str) -> (u32, Vec<Record>) {
    golden::parse_by(text, record)
}

fn record(line: &str) -> Option<Record> {
    let mut fields = line.split_whitespace();
    Some(Record {
        op: fields.next()?.to_owned(),
        ty: fields.next()?.to_owned(),
        kind: Sample::named(fields.next()?)?,
        len: fields.next()?.parse().ok()?,
        answer: Bits::from_hex(fields.next()?)?,
    })
}

/// The text of the file, with the answers that `answer` gives for an operator and a type.
pub fn write(version: u32, all: &[Box<dyn Operation>], answer: impl Fn(&str, Type, &[u64]) -> Option<Bits>) -> String {
    let mut text = format!(
        "# The bits that a fold answers: operator, type, kind, elements, answer in hexadecimal. See src/golden_types.rs.\n\
         tree {version}\n"
    );
    for op in all {
        for kind in KINDS {
            for len in LENGTHS {
                let elements = kind.array(op.ty(), len);
                let answer = answer(op.name(), op.ty(), &elements).expect("not empty");
                text += &format!("{} {} {} {len} {answer}\n", op.name(), op.ty().name(), kind.name);
            }
        }
    }
    text
}
