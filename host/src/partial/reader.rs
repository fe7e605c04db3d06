//! Numbers, one after the other, of bytes that may be anything.

use crate::{Error, PartialFault};

/// Reads numbers one after the other, little-endian.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

/// A part that has no meaning.
pub(super) fn malformed(what: &'static str, reader: &Reader<'_>, found: String) -> Error {
    let at = reader.at as u64;
    Error::Partial(PartialFault::Malformed { what, at, found })
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn take(&mut self, what: &'static str, count: usize) -> Result<&'a [u8], Error> {
        if count > self.left() {
            let found = format!("{count} bytes, where {} are left", self.left());
            return Err(malformed(what, self, found));
        }
        let taken = &self.bytes[self.at..][..count];
        self.at += count;
        Ok(taken)
    }

    pub(super) fn number(&mut self, what: &'static str, bytes: usize) -> Result<u64, Error> {
        let each = self.take(what, bytes)?.iter().rev();
        Ok(each.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        Ok(self.number(what, 4)? as u32)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, Error> {
        self.number(what, 8)
    }

    /// A number of things that have at least so many bytes each, and so are not more than fit.
    pub(super) fn count(&mut self, what: &'static str, bytes: usize) -> Result<usize, Error> {
        let count = self.u32(what)? as usize;
        self.fits(what, count as u64, bytes)
    }

    pub(super) fn fits(&self, what: &'static str, count: u64, bytes: usize) -> Result<usize, Error> {
        let fits = |count: &usize| count.checked_mul(bytes).is_some_and(|all| all <= self.left());
        let count_that_fits = usize::try_from(count).ok().filter(fits);
        count_that_fits.ok_or_else(|| malformed(what, self, format!("{count}, where {} bytes are left", self.left())))
    }

    /// One of a list, by its number.
    pub(super) fn one_of<X: Copy>(&mut self, what: &'static str, list: &[X]) -> Result<X, Error> {
        let number = self.number(what, 1)?;
        let found = list.get(number as usize).copied();
        found.ok_or_else(|| malformed(what, self, number.to_string()))
    }

    /// A name, behind its length of 2 bytes.
    pub(super) fn text(&mut self, what: &'static str) -> Result<String, Error> {
        let len = self.number(what, 2)? as usize;
        let bytes = self.take(what, len)?.to_vec();
        String::from_utf8(bytes).map_err(|error| malformed(what, self, format!("{:?}", error.as_bytes())))
    }
}
