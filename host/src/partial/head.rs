//! What bytes of a partial are of: the part of them that can be read without the operator.

use warpfold_kernels::{
    element::{Operands, Type},
    monoids::{Step, Then},
    tree,
};

use super::{
    any::cells,
    crc::crc32,
    reader::{Reader, malformed},
};
use crate::{Error, PartialFault, ops::Signature};

/// What a partial's bytes begin with.
pub(super) const MAGIC: [u8; 4] = *b"WFPT";
/// The version of the format.
pub(super) const FORMAT: u32 = 1;
/// The version of the states of all operators together. What changes the words of a state, or what an operator makes of elements, is a new
/// one, for such states are not to be combined with those of before.
pub(super) const STATES: u32 = 1;
/// Bytes up to the length, and with it.
const PREFIX: usize = 16;
/// Bytes of the checksum.
pub(super) const CHECKSUM: usize = 4;

/// The operands, as bytes have them.
pub(super) const OPERANDS: [Operands; 3] = [Operands::One, Operands::Two, Operands::Masked];
/// What becomes of an element less a number, as bytes have it.
pub(super) const THENS: [Then; 4] = [Then::Itself, Then::Magnitude, Then::Square, Then::Exp];

/// What the bytes of a [partial](super::Partial) are of. Of it the operator is found in a table by its name, which then reads the
/// rest.
///
/// ```
/// use warpfold::{fold, ops::{Sum, element::Type}, partial::Head};
///
/// let bytes = fold(Sum).partial_on_cpu(&[1.0_f32, 2.0], 0)?.to_bytes();
/// let head = Head::of(&bytes)?;
/// assert_eq!((&*head.signature.op, head.signature.element, head.runs), ("sum", Type::F32, 1));
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Head {
    /// The operator.
    pub signature: Signature,
    /// The shape of the answers; of no axes where a whole array is folded.
    pub shape: Vec<u64>,
    /// How many runs of elements.
    pub runs: u64,
    /// Where the runs are described.
    pub(super) at: usize,
}

impl Head {
    /// The head of bytes, which are checked as a whole: their length and their checksum.
    ///
    /// # Errors
    ///
    /// Each is a [`PartialFault`]: `NotPartial`, `Version`, `Length`, `Checksum`, `Malformed`.
    pub fn of(bytes: &[u8]) -> Result<Self, Error> {
        let found = bytes.len() as u64;
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::Partial(PartialFault::NotPartial { found }));
        }
        let mut reader = Reader::new(bytes, MAGIC.len());
        if bytes.len() < PREFIX {
            let needed = PREFIX as u64;
            return Err(Error::Partial(PartialFault::Length { needed, found }));
        }
        is_version("format", reader.u32("version")?, FORMAT)?;
        let needed = reader.u64("length")?;
        if needed != found || bytes.len() < PREFIX + CHECKSUM {
            return Err(Error::Partial(PartialFault::Length { needed, found }));
        }
        let (sealed, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        let (found, computed) = (Reader::new(checksum, 0).u32("checksum")?, crc32(sealed));
        if found != computed {
            return Err(Error::Partial(PartialFault::Checksum { found, computed }));
        }
        let mut reader = Reader::new(sealed, PREFIX);
        is_version("canonical tree", reader.u32("version")?, tree::VERSION)?;
        is_version("states of operators", reader.u32("version")?, STATES)?;
        let signature = signature(&mut reader)?;
        let axes = reader.count("shape", 8)?;
        let shape = (0..axes).map(|_| reader.u64("shape")).collect::<Result<Vec<_>, _>>()?;
        if cells(&shape).is_none() {
            return Err(malformed("shape", &reader, format!("{shape:?}")));
        }
        let runs = reader.u64("number of runs")?;
        let at = reader.at;
        Ok(Self {
            signature,
            shape,
            runs,
            at,
        })
    }
}

fn is_version(what: &'static str, found: u32, known: u32) -> Result<(), Error> {
    if found == known {
        Ok(())
    } else {
        Err(Error::Partial(PartialFault::Version { what, found, known }))
    }
}

fn signature(reader: &mut Reader<'_>) -> Result<Signature, Error> {
    let operands = reader.one_of("operands", &OPERANDS)?;
    let name = reader.text("elements' type")?;
    let element = Type::named(&name).ok_or_else(|| malformed("elements' type", reader, name))?;
    let op = reader.text("operator")?;
    let parameter = reader.u64("parameter")?;
    let count = reader.count("steps", 9)?;
    let step = |_| {
        let minus = f64::from_bits(reader.u64("step")?);
        let then = reader.one_of("step", &THENS)?;
        Ok(Step { minus, then })
    };
    let steps = (0..count).map(step).collect::<Result<_, Error>>()?;
    let words = reader.u32("words of a state")? as usize;
    Ok(Signature {
        op,
        element,
        operands,
        parameter,
        steps,
        words,
    })
}
