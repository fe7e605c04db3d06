//! Members of archives, as a reader that borrows nothing: zip's own borrows the archive.

use std::io::{self, Read, Take};

use flate2::{Crc, read::DeflateDecoder};
use zip::{CompressionMethod, ZipArchive, result::ZipError};

use super::cursor::Cursor;

/// The bytes of a member, inflated as they are read. After the last one the checksum is compared with the directory's.
#[derive(Debug)]
pub(super) struct Member {
    packed: Packed,
    read: Crc,
    left: u64,
    checksum: u32,
}

#[derive(Debug)]
enum Packed {
    Stored(Take<Cursor>),
    Deflated(DeflateDecoder<Take<Cursor>>),
}

impl Member {
    /// Opens a member of the archive in `file`. Whether it is stored or deflated was asked before.
    pub fn open(archive: &mut ZipArchive<Cursor>, file: &Cursor, index: usize) -> Result<Self, ZipError> {
        let entry = archive.by_index_raw(index)?;
        let start = entry.data_start().ok_or(ZipError::FileNotFound)?;
        let packed = file.at(start).take(entry.compressed_size());
        Ok(Self {
            packed: match entry.compression() {
                CompressionMethod::Stored => Packed::Stored(packed),
                _ => Packed::Deflated(DeflateDecoder::new(packed)),
            },
            read: Crc::new(),
            left: entry.size(),
            checksum: entry.crc32(),
        })
    }
}

impl Read for Member {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.packed {
            Packed::Stored(packed) => packed.read(bytes)?,
            Packed::Deflated(packed) => packed.read(bytes)?,
        };
        self.read.update(&bytes[..read]);
        let bad = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return bad("it has more bytes than the archive says"),
        }
        if read == 0 && !bytes.is_empty() && self.read.sum() != self.checksum {
            return bad("Invalid checksum");
        }
        Ok(read)
    }
}
