//! The arrays that a path names: of a file, a folder or a checkpoint of several files.

use std::path::Path;

use warpfold::{
    Error,
    files::{Checkpoint, Tensor, check::is_foreign},
};

use crate::reading;

/// All arrays that a path names.
pub struct Inputs {
    pub tensors: Vec<Tensor>,
    /// What is short, spoiled, or missing from an index or a folder.
    pub faults: Vec<String>,
    /// What is not there, or nothing that is read.
    pub foreign: Vec<Error>,
}

impl Inputs {
    pub fn open(path: &Path) -> Self {
        let mut inputs = Self {
            tensors: vec![],
            faults: vec![],
            foreign: vec![],
        };
        match Checkpoint::open(path) {
            Ok(checkpoint) => {
                inputs.tensors.extend(checkpoint.tensors().cloned().map(reading::typed));
                let of = |fault: &warpfold::CheckpointFault| format!("{}: {fault}", checkpoint.path().display());
                inputs.faults.extend(checkpoint.faults().iter().map(of));
            }
            Err(error) if is_foreign(&error) => inputs.foreign.push(error),
            Err(error) => inputs.faults.push(error.to_string()),
        }
        inputs
    }
}
