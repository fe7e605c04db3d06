//! Answers recorded once, for every machine and every later version: `golden/v1.txt`.
//!
//! A difference means that the canonical tree changed, or an operator. If that is meant, it is a new version of the
//! tree; `WARPFOLD_BLESS=1 cargo test -p warpfold-tests --test golden` writes the file anew.

use std::{env, fs};

use crate::{Bits, cases, cases::Case};

/// The recorded file.
pub const TEXT: &str = include_str!("../golden/v1.txt");

/// Where it is, to write it anew.
pub const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/v1.txt");

/// Lengths that are recorded.
pub const LENGTHS: [usize; 11] = [1, 2, 127, 129, 1000, 1024, 1025, 5_003, 33_000, 262_147, 1_048_579];

/// One line: the answer of an operator over a case of a length.
#[derive(Clone, Debug)]
pub struct Record {
    /// The operator's name.
    pub op: String,
    /// The array's kind.
    pub case: Case,
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
    parse_by(text, record)
}

/// The same for another kind of line.
pub(crate) fn parse_by<R>(text: &str, record: impl Fn(&str) -> Option<R>) -> (u32, Vec<R>) {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let version = lines.next().and_then(|line| line.strip_prefix("tree "));
    let version = version.and_then(|version| version.parse().ok());
    let records = lines.map(|line| record(line).unwrap_or_else(|| panic!("no record: {line:?}")));
    (
        version.expect("the first line names the tree's version"),
        records.collect(),
    )
}

fn record(line: &str) -> Option<Record> {
    let mut fields = line.split_whitespace();
    Some(Record {
        op: fields.next()?.to_owned(),
        case: Case::named(fields.next()?)?,
        len: fields.next()?.parse().ok()?,
        answer: Bits::from_hex(fields.next()?)?,
    })
}

/// Fails unless the file at `path`, which held `recorded` when this was compiled, is what would be written `now`. Writes it
/// instead where `WARPFOLD_BLESS=1` says so.
///
/// # Panics
///
/// If they differ, or the file cannot be written.
pub fn assert_recorded(path: &str, recorded: &str, now: &str) {
    if env::var_os("WARPFOLD_BLESS").is_some_and(|bless| bless == "1") {
        fs::write(path, now).expect("the golden file can be written");
        println!("{path} has {} lines now", now.lines().count());
        return;
    }
    assert_eq!(
        recorded.lines().count(),
        now.lines().count(),
        "cases or lengths were added: bless, and look at what changed"
    );
    for (recorded, now) in recorded.lines().zip(now.lines()) {
        assert_eq!(recorded, now, "the answer is another now");
    }
}

/// The text of the file, with the answers that `answer` gives.
pub fn write(version: u32, ops: &[&str], answer: impl Fn(&str, &[f32]) -> Option<Bits>) -> String {
    let mut text = format!(
        "# The bits that a fold answers: operator, case, elements, answer in hexadecimal. See src/golden.rs.\n\
         tree {version}\n"
    );
    for case in cases::ALL {
        for len in LENGTHS {
            let values = case.array(len);
            for op in ops {
                if let Some(answer) = answer(op, &values) {
                    text += &format!("{op} {} {len} {answer}\n", case.name);
                }
            }
        }
    }
    text
}
