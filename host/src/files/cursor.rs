//! Positions in a file.

use std::{
    fs::{File, Metadata},
    io::{self, Read, Seek, SeekFrom},
    path::{self, Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

/// Files that stay open between readings; a process may often have no more than a few hundred. Of more, each is opened for
/// every reading.
pub(super) const MOST_KEPT: usize = 64;

/// How many there are.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// A place in a file that was opened, of its own: reading through one cursor moves no other, and the file stays the one
/// that was opened, whatever happens to its name. Of more than [`MOST_KEPT`] files that may be noticed, as an error.
///
/// What is no regular file (a pipe) has one place only, which all cursors share.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    opened: Arc<Opened>,
    at: u64,
    /// The file, where this cursor had to open it anew.
    again: Option<Arc<File>>,
}

/// A file that was opened, and may be closed by now.
#[derive(Debug)]
struct Opened {
    /// Where to open it again, wherever the process works by then.
    path: PathBuf,
    /// None for what is no regular file, which stays open.
    stamp: Option<Stamp>,
    file: Mutex<Option<Arc<File>>>,
    /// It is one of those that stay open.
    kept: bool,
}

/// What tells a regular file from another of its name, or from what was written to it later.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    created: Option<SystemTime>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
            created: metadata.created().ok(),
        }
    }
}

impl Cursor {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let stamp = metadata.is_file().then(|| Stamp::of(&metadata));
        let room = |kept| (kept < MOST_KEPT).then_some(kept + 1);
        let kept = stamp.is_some() && KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok();
        Ok(Self {
            opened: Arc::new(Opened {
                path: path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
                stamp,
                file: Mutex::new(Some(Arc::new(file))),
                kept,
            }),
            at: 0,
            again: None,
        })
    }

    /// Closes the file until it is read again, unless it is one of those that stay open.
    pub fn rest(&self) {
        if self.opened.stamp.is_some() && !self.opened.kept {
            *self.opened.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Bytes of the file when it was opened, if it is a regular one.
    pub fn len(&self) -> Option<u64> {
        self.opened.stamp.as_ref().map(|stamp| stamp.len)
    }

    /// Bytes that there are to read from the file's start: all that it has by now, or that have come through the pipe.
    pub fn found(&mut self) -> io::Result<u64> {
        match self.len() {
            Some(_) => Ok(self.file()?.metadata()?.len()),
            None => Ok(self.at),
        }
    }

    /// Bytes before this place.
    pub fn before(&self) -> u64 {
        self.at
    }

    /// The same file from `at` on.
    pub fn at(&self, at: u64) -> Self {
        Self { at, ..self.clone() }
    }

    fn file(&mut self) -> io::Result<Arc<File>> {
        if let Some(file) = &self.again {
            return Ok(Arc::clone(file));
        }
        let open = self.opened.file.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(file) = open {
            return Ok(file);
        }
        let file = File::open(&self.opened.path)?;
        let stamp = Stamp::of(&file.metadata()?);
        match &self.opened.stamp {
            Some(before) if *before != stamp => Err(io::Error::other(format!(
                "it was replaced or written to since it was opened: it had {} bytes, and has {}",
                before.len, stamp.len
            ))),
            _ => Ok(Arc::clone(self.again.insert(Arc::new(file)))),
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.kept {
            KEPT.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Read for Cursor {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let file = self.file()?;
        let read = match self.opened.stamp {
            Some(_) => read_at(&file, bytes, self.at)?,
            None => (&*file).read(bytes)?,
        };
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let len = self.len().ok_or(io::ErrorKind::NotSeekable)?;
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
