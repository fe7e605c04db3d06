//! Pickles of Python, which are not read: reading one may run any code.

use std::path::Path;

use crate::Error;

/// Whether a file that begins with `start` is a pickle: an opcode, and the version of the protocol.
pub(super) fn is_pickle(start: &[u8]) -> bool {
    matches!(start, [0x80, 2..=5, ..])
}

/// Whether a member of a zip archive has the name that PyTorch gives to the pickle of one.
pub(super) fn is_pytorch(member: &str) -> bool {
    member.rsplit('/').next() == Some("data.pkl")
}

pub(super) fn refused(path: &Path) -> Error {
    Error::Pickle {
        path: path.to_path_buf(),
    }
}
