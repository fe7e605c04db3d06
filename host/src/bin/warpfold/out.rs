//! `--out`: answers as a `.npy` file, which is there whole or not at all.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process,
};

use warpfold::files::{DType, npy_header};

use crate::{Failure, answers::Answers};

/// A file to write.
pub struct Out(PathBuf);

impl Out {
    /// A file that may be written: new, or a regular file other than `input`.
    pub fn new(path: &Path, input: &Path) -> Result<Self, Failure> {
        let says = |reason: &str| Err(format!("{}: {reason}", path.display()).into());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match path.metadata() {
            Ok(metadata) if !metadata.is_file() => says("no regular file, so it is not replaced"),
            // An input from a pipe has no such path.
            Ok(_) if path.canonicalize().ok() == input.canonicalize().ok() => {
                says("it is the input, so it is not replaced")
            }
            Err(_) if path.file_name().is_none() || !folder.unwrap_or(Path::new(".")).is_dir() => {
                says("no such folder")
            }
            _ => Ok(Self(path.to_path_buf())),
        }
    }

    /// Writes the answers; until all of them are there, to another file beside it. Answers the type that they have in the
    /// file: NumPy has no bfloat16 and no FP8, so those are written as float32, which holds them exactly.
    pub fn write(&self, answers: &Answers) -> Result<DType, Failure> {
        let says = |error: io::Error| format!("{}: {error}", self.0.display());
        let name = self.0.file_name().unwrap_or_default().to_string_lossy();
        let temporary = self.0.with_file_name(format!(".{name}.{}.tmp", process::id()));
        let file = File::create_new(&temporary).map_err(says)?;
        let written = write(BufWriter::new(file), answers).and_then(|dtype| {
            fs::rename(&temporary, &self.0)?;
            Ok(dtype)
        });
        written.map_err(|error| {
            // What is left of it is of no use; that it cannot be removed would say nothing new.
            let _ = fs::remove_file(&temporary);
            says(error).into()
        })
    }
}

fn write(mut file: BufWriter<File>, answers: &Answers) -> io::Result<DType> {
    let dtype = match answers.dtype {
        DType::Bf16 | DType::F8E4M3 | DType::F8E5M2 => DType::F32,
        same => same,
    };
    let header = npy_header(dtype, &answers.shape).map_err(io::Error::other)?;
    file.write_all(&header)?;
    if dtype == answers.dtype {
        file.write_all(&answers.bytes)?;
    } else {
        let mut bytes = Vec::with_capacity(4);
        for number in answers.each(0..answers.len()) {
            number.write_as(dtype, &mut bytes);
            file.write_all(&bytes)?;
            bytes.clear();
        }
    }
    file.into_inner()?.sync_all()?;
    Ok(dtype)
}
