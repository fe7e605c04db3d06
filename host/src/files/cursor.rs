//! Positions in a file.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

/// A place in an open file, of its own: reading through one cursor moves no other, and the file stays the one that was
/// opened, whatever happens to its name.
///
/// What is no regular file (a pipe) has one place only, which all cursors share.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    file: Arc<File>,
    at: u64,
    /// None for what is no regular file.
    len: Option<u64>,
}

impl Cursor {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        Ok(Self {
            file: Arc::new(file),
            at: 0,
            len: metadata.is_file().then_some(metadata.len()),
        })
    }

    /// Bytes of the file, if it is a regular one.
    pub fn len(&self) -> Option<u64> {
        self.len
    }

    /// The same file from `at` on.
    pub fn at(&self, at: u64) -> Self {
        Self { at, ..self.clone() }
    }
}

impl Read for Cursor {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = match self.len {
            Some(_) => read_at(&self.file, bytes, self.at)?,
            None => (&*self.file).read(bytes)?,
        };
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let len = self.len.ok_or(io::ErrorKind::NotSeekable)?;
        let to = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => len.checked_add_signed(by),
        };
        self.at = to.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, at)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, at)
}
