//! Pointer files of Git LFS: what a repository has in a large file's place until that is fetched.

use std::path::Path;

use super::{cursor::Cursor, read_upto};
use crate::Error;

/// What a pointer starts with; a number of the version follows.
const STARTS: &[u8] = b"version https://git-lfs.github.com/spec/";
/// Pointers are shorter than that, by their specification.
const MOST_BYTES: usize = 1024;

/// The error that says so, if a file that begins with the bytes `start` is a pointer: lines of a key and its value.
pub(super) fn pointer(path: &Path, start: &mut Vec<u8>, file: &mut Cursor) -> Result<Option<Error>, Error> {
    if start.is_empty() || !STARTS.starts_with(start) {
        return Ok(None);
    }
    read_upto(file, start, MOST_BYTES).map_err(|source| super::at(path, source))?;
    if !start.starts_with(STARTS) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(start);
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(' ').map(str::to_owned))
    };
    Ok(Some(Error::GitLfsPointer {
        path: path.to_path_buf(),
        oid: value("oid"),
        size: value("size").and_then(|size| size.parse().ok()),
    }))
}
