//! What can be wrong with a checkpoint of several files.

use std::{path::PathBuf, sync::Arc};

use super::Error;

/// What is wrong with a checkpoint of several files. Its other tensors can be read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointFault {
    /// A folder without a file of tensors.
    #[error("it has no .safetensors, .gguf, .npz or .npy file")]
    Empty,

    /// A folder with several indexes, none of which is called `model.safetensors.index.json`.
    #[error("it has several indexes: {}", names.join(", "))]
    Indexes {
        /// Their names.
        names: Vec<String>,
    },

    /// An index that is none.
    #[error("its index is damaged: {reason}")]
    Index {
        /// What the parser says.
        reason: String,
    },

    /// A file of the index that is outside of the index's folder. It is not opened.
    #[error("its index names {shard:?}, which is not in its folder")]
    Outside {
        /// The file, as the index names it.
        shard: String,
        /// The tensors that the index puts there.
        tensors: Vec<String>,
    },

    /// A file that is not there.
    #[error("{} is missing{}", shard.display(), with(tensors))]
    Missing {
        /// The file.
        shard: PathBuf,
        /// The tensors that the index puts there.
        tensors: Vec<String>,
    },

    /// A file that cannot be opened.
    #[error("{error}")]
    Unopened {
        /// The file.
        shard: PathBuf,
        /// Why not. It names the file.
        error: Arc<Error>,
        /// The tensors that the index puts there.
        tensors: Vec<String>,
    },

    /// A tensor of the index that its file does not have.
    #[error("tensor {tensor:?} of the index is not in {}", shard.display())]
    NotThere {
        /// The tensor.
        tensor: String,
        /// The file where the index puts it.
        shard: PathBuf,
    },

    /// A tensor of a file that the index does not have, or puts in another file.
    #[error("the index has no tensor {tensor:?} in {}, which has it", shard.display())]
    NotListed {
        /// The tensor.
        tensor: String,
        /// The file.
        shard: PathBuf,
    },

    /// Two tensors of one name.
    #[error("tensor {tensor:?} is in {} and in {}", shard.display(), other.display())]
    Twice {
        /// The tensor.
        tensor: String,
        /// The first file that has it.
        shard: PathBuf,
        /// Another.
        other: PathBuf,
    },

    /// A split file with more or fewer tensors than it should have.
    #[error("its parts should have {says} tensors, and have {found}")]
    Count {
        /// Tensors by the metadata `split.tensors.count`.
        says: u64,
        /// Tensors of all parts.
        found: u64,
    },
}

impl CheckpointFault {
    /// The tensors that cannot be found for it.
    #[must_use]
    pub fn tensors(&self) -> &[String] {
        match self {
            Self::Outside { tensors, .. } | Self::Missing { tensors, .. } | Self::Unopened { tensors, .. } => tensors,
            Self::NotThere { tensor, .. } => std::slice::from_ref(tensor),
            _ => &[],
        }
    }
}

/// How many tensors a file has by the index.
fn with(tensors: &[String]) -> String {
    match tensors.len() {
        0 => String::new(),
        1 => format!(", with tensor {:?}", tensors[0]),
        many => format!(", with {many} tensors"),
    }
}
