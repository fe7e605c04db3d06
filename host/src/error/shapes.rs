//! What must be of one shape.

use super::Error;

impl Error {
    /// That a mask has a byte for each element.
    pub(crate) fn check_mask(elements: u64, mask: u64) -> Result<(), Self> {
        if elements == mask {
            return Ok(());
        }
        Err(Self::MaskMismatch {
            mask: vec![mask],
            array: vec![elements],
        })
    }

    /// That two arrays to be folded together have the same shape.
    pub(crate) fn check_pair(first: &[u64], second: &[u64]) -> Result<(), Self> {
        if first == second {
            return Ok(());
        }
        Err(Self::PairMismatch {
            first: first.to_vec(),
            second: second.to_vec(),
        })
    }
}
