//! Bytes to a partial. Whatever the bytes are, what is wrong with them is an error, and nothing is allocated that they do not fill.

use std::sync::Arc;

use super::{
    any::AnyPartial,
    head::{CHECKSUM, Head},
    reader::{Reader, malformed},
    run::{Division, Run},
};
use crate::{
    Error, PartialFault,
    cpu::erased::PackedFold,
    ops::OpFacts,
    pieces::subtrees::{Subtree, Subtrees},
};

/// A run as it is described, before what it holds.
struct Described {
    first: u64,
    end: u64,
    division: Division,
}

/// What the bytes hold, in bytes.
struct Sizes {
    /// Of an element of all cells.
    element: u128,
    /// Of the states of all cells.
    states: u128,
}

impl AnyPartial {
    /// [`Partial::from_bytes`](super::Partial::from_bytes), of that operator.
    pub(crate) fn from_bytes(op: Arc<dyn PackedFold>, bytes: &[u8]) -> Result<Self, Error> {
        let head = Head::of(bytes)?;
        if let Some((what, [this, other])) = op.signature().difference(&head.signature) {
            return Err(Error::Partial(PartialFault::Other { what, this, other }));
        }
        let mut partial = Self::new(op, head.shape)?;
        let op = Arc::clone(&partial.op);
        let (cells, facts) = (partial.cells as u128, op.facts());
        let in_any_order = facts.in_any_order();
        let sizes = Sizes {
            element: cells * partial.op.packed_bytes() as u128,
            states: cells * 4 * partial.op.words() as u128,
        };
        let mut reader = Reader::new(&bytes[..bytes.len() - CHECKSUM], head.at);
        let count = reader.fits("number of runs", head.runs, 28)?;
        let mut runs = Vec::with_capacity(count);
        for _ in 0..count {
            let before = runs.last().map(|before: &Described| before.end);
            runs.push(described(&mut reader, before, facts)?);
        }
        is_filled(&reader, &runs, &sizes, in_any_order)?;
        let element = sizes.element as usize;
        let mut borders = vec![];
        for run in &runs {
            let before = reader
                .take("elements", run.division.before as usize * element)?
                .to_vec();
            let after = reader.take("elements", run.division.after as usize * element)?.to_vec();
            borders.push((before, after));
        }
        if in_any_order && count > 0 {
            partial.total = Some(states(&mut reader, sizes.states as usize)?);
        }
        for (run, (before, after)) in runs.into_iter().zip(borders) {
            let mut whole = Subtrees::default();
            for (level, index) in run.division.subtrees() {
                let states = states(&mut reader, sizes.states as usize)?;
                whole.push(&*partial.op, Subtree { level, index, states });
            }
            let (first, end) = (run.first, run.end);
            let run = Run {
                end,
                before,
                whole,
                after,
            };
            partial.runs.insert(first, run);
        }
        Ok(partial)
    }
}

/// The next run. Where it begins and ends says how it divides; what it says of that itself must be the same.
fn described(reader: &mut Reader<'_>, before: Option<u64>, op: &OpFacts) -> Result<Described, Error> {
    let (first, end) = (reader.u64("run")?, reader.u64("run")?);
    if first >= end || before.is_some_and(|before| first <= before) {
        let after = before.map_or(String::new(), |before| format!(", after one up to {before}"));
        return Err(malformed("run", reader, format!("{first} up to {end}{after}")));
    }
    let division = Division::by(op, first, end);
    let mut is = |what: &'static str, bytes: usize, expected: u64| {
        let found = reader.number(what, bytes)?;
        if found == expected {
            Ok(())
        } else {
            let found = format!("{found}, where {first} up to {end} has {expected}");
            Err(malformed(what, &*reader, found))
        }
    };
    is("number of elements before a leaf", 4, division.before)?;
    is("number of elements after a leaf", 4, division.after)?;
    is("number of subtrees", 4, division.subtrees().count() as u64)?;
    for (level, index) in division.subtrees() {
        is("level of a subtree", 1, level.into())?;
        is("index of a subtree", 8, index)?;
    }
    Ok(Described { first, end, division })
}

/// Whether what is left is what the runs hold.
fn is_filled(reader: &Reader<'_>, runs: &[Described], sizes: &Sizes, in_any_order: bool) -> Result<(), Error> {
    let of_run = |run: &Described| {
        let elements = u128::from(run.division.before + run.division.after);
        let subtrees = run.division.subtrees().count() as u128;
        elements
            .saturating_mul(sizes.element)
            .saturating_add(subtrees.saturating_mul(sizes.states))
    };
    let total = if in_any_order && !runs.is_empty() {
        sizes.states
    } else {
        0
    };
    let needed = runs.iter().map(of_run).fold(total, u128::saturating_add);
    if needed == reader.left() as u128 {
        Ok(())
    } else {
        let found = format!("{needed} bytes by the runs, where {} are left", reader.left());
        Err(malformed("contents", reader, found))
    }
}

fn states(reader: &mut Reader<'_>, bytes: usize) -> Result<Vec<u32>, Error> {
    let (words, _) = reader.take("states", bytes)?.as_chunks();
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}
