//! The bytes of an array's elements, as they come.

use std::io::{self, Read};

use super::{
    Tensor,
    cursor::Cursor,
    damage,
    gguf::blocks::{Blocks, Decoder},
    member::Member,
    order,
};
use crate::Error;

/// Where an array is read: the next element, and how far that is from the start of the file, or of an archive's member.
#[derive(Debug)]
pub(super) struct Elements {
    tensor: Tensor,
    source: Source,
    /// What turns stored bytes into elements, where they are quantised.
    decoder: Option<Decoder>,
    /// Where the first element is.
    start: u64,
    /// Where the next one is.
    at: u64,
}

#[derive(Debug)]
enum Source {
    Plain(Cursor),
    /// A member, and the file that its archive is in.
    Member(Box<Member>, Cursor),
}

impl Elements {
    /// Those of a file, which `cursor` is at the first of, without `skipped` bytes of them.
    pub fn plain(tensor: &Tensor, cursor: &Cursor, skipped: u64) -> Self {
        let start = cursor.before();
        let at = start + skipped;
        Self {
            tensor: tensor.clone(),
            start,
            at,
            source: Source::Plain(cursor.at(at)),
            decoder: None,
        }
    }

    /// Those of quantised blocks from element `first` on; the first block is where `cursor` is.
    pub fn blocks(tensor: &Tensor, cursor: &Cursor, blocks: Blocks, first: u64) -> Result<Self, Error> {
        let (block, within) = (first / blocks.elements() as u64, first as usize % blocks.elements());
        let mut elements = Self {
            decoder: Some(Decoder::new(blocks)),
            ..Self::plain(tensor, cursor, block * blocks.bytes() as u64)
        };
        elements.fill(&mut vec![0; within * size_of::<f32>()])?;
        Ok(elements)
    }

    /// Those of a member, behind `before` other bytes.
    pub fn member(tensor: &Tensor, member: Member, file: Cursor, before: u64) -> Result<Self, Error> {
        let mut elements = Self {
            tensor: tensor.clone(),
            start: before,
            at: 0,
            source: Source::Member(Box::new(member), file),
            decoder: None,
        };
        elements.skip(before)?;
        Ok(elements)
    }

    /// Fills `bytes` with the next elements, words turned to the machine's order.
    pub fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        match self.decoder.take() {
            None => self.fill_stored(bytes)?,
            Some(mut decoder) => {
                decoder.fill(bytes, |stored| self.fill_stored(stored))?;
                self.decoder = Some(decoder);
            }
        }
        if let Some(word) = self.tensor.swapped() {
            order::swap(bytes, word);
        }
        Ok(())
    }

    fn fill_stored(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let mut done = 0;
        while done < bytes.len() {
            match self.read(&mut bytes[done..])? {
                0 => return Err(self.cut()),
                read => done += read,
            }
        }
        Ok(())
    }

    /// Reads what is behind the elements of a member: its checksum is looked at where it ends.
    pub fn finish(&mut self) -> Result<(), Error> {
        match &mut self.source {
            Source::Plain(_) => Ok(()),
            Source::Member(member, _) => {
                let rest = io::copy(member, &mut io::sink());
                rest.map(drop).map_err(|source| self.tensor.at(damage::of_data(source)))
            }
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Error> {
        let mut buffer = [0; 1024];
        let mut left = bytes;
        while left > 0 {
            let most = left.min(buffer.len() as u64) as usize;
            match self.read(&mut buffer[..most])? {
                0 => return Err(self.cut()),
                read => left -= read as u64,
            }
        }
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Error> {
        loop {
            let read = match &mut self.source {
                Source::Plain(cursor) => cursor.read(bytes),
                Source::Member(member, _) => member.read(bytes),
            };
            match read {
                Ok(read) => {
                    self.at += read as u64;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(match &mut self.source {
                        Source::Plain(_) => self.tensor.at(error),
                        Source::Member(_, file) => Self::failed(&self.tensor, file, error, self.start, self.at),
                    });
                }
            }
        }
    }

    /// That the bytes end before the elements do.
    fn cut(&mut self) -> Error {
        let found = match &mut self.source {
            // A file that has shrunk may end before the first element.
            Source::Plain(cursor) => cursor.found().unwrap_or(self.at).min(self.at),
            Source::Member(..) => self.at,
        };
        Error::Truncated {
            path: self.tensor.label(),
            needed: self.start + self.tensor.bytes(),
            found,
        }
    }

    /// Why a member cannot be read on, of which `found` bytes were, `start` of them before its elements. In what is left of
    /// an archive that has shrunk, a wrong checksum is no more than that.
    pub fn failed(tensor: &Tensor, file: &mut Cursor, error: io::Error, start: u64, found: u64) -> Error {
        let needed = start + tensor.bytes();
        let shrunk = file
            .found()
            .is_ok_and(|now| file.len().is_some_and(|before| now < before));
        if shrunk {
            let path = tensor.label();
            return Error::Truncated { path, needed, found };
        }
        let error = damage::of_data(error);
        tensor.at(io::Error::new(
            error.kind(),
            format!("{error}, after {found} of {needed} bytes"),
        ))
    }
}
