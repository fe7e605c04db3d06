//! The arrays that a path names, for commands that look at all of them.

use std::path::Path;

use warpfold::{
    Error,
    files::{Tensor, TensorFile},
};

/// All arrays of a file.
pub struct Inputs {
    pub tensors: Vec<Tensor>,
    /// Files that are short, spoiled or missing.
    pub faults: Vec<Error>,
    /// What is not there, or nothing that is read.
    pub foreign: Vec<Error>,
}

impl Inputs {
    pub fn open(path: &Path) -> Self {
        let (mut tensors, mut faults, mut foreign) = (vec![], vec![], vec![]);
        match TensorFile::open(path) {
            Ok(file) => tensors.extend_from_slice(file.tensors()),
            Err(error @ Error::File { .. }) => foreign.push(error),
            Err(error) => faults.push(error),
        }
        Self {
            tensors,
            faults,
            foreign,
        }
    }
}
