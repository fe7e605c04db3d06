//! Why an array cannot be read though the file's others can.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use crate::{Error, GgufFault, SafetensorsFault};

/// What was wrong when the file was opened, to be told whenever the array is asked for.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    Npy(String),
    Npz(String),
    Truncated { needed: u64, found: u64 },
    Safetensors(SafetensorsFault),
    Gguf(GgufFault),
    File(io::ErrorKind, String),
}

impl Fault {
    /// What was said of one array.
    pub fn of(error: Error) -> Self {
        match error {
            Error::NotNpy { reason, .. } => Self::Npy(reason),
            Error::NotNpz { reason, .. } => Self::Npz(reason),
            Error::Truncated { needed, found, .. } => Self::Truncated { needed, found },
            Error::File { source, .. } => Self::File(source.kind(), source.to_string()),
            other => Self::File(io::ErrorKind::Other, other.to_string()),
        }
    }

    /// The error, of the array `name` of `file`.
    pub fn error(&self, file: &Path, name: Option<&str>) -> Error {
        let path = label(file, name);
        match self.clone() {
            Self::Npy(reason) => Error::NotNpy { path, reason },
            Self::Npz(reason) => Error::NotNpz { path, reason },
            Self::Truncated { needed, found } => Error::Truncated { path, needed, found },
            // These name the tensor themselves.
            Self::Safetensors(fault) => Error::NotSafetensors {
                path: file.to_path_buf(),
                fault,
            },
            Self::Gguf(fault) => Error::NotGguf {
                path: file.to_path_buf(),
                fault,
            },
            Self::File(kind, words) => Error::File {
                path,
                source: io::Error::new(kind, words),
            },
        }
    }
}

/// What an error calls an array: `FILE`, or `FILE:NAME`.
pub(super) fn label(path: &Path, name: Option<&str>) -> PathBuf {
    let mut label = OsString::from(path);
    if let Some(name) = name {
        label.push(":");
        label.push(name);
    }
    label.into()
}
