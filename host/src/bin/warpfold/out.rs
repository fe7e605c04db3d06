//! `--out`: answers as a `.npy` file, which is there whole or not at all.

use std::{
    fs::{File, Metadata},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use warpfold::files::{DType, MOST_AXES, npy_header};

use crate::{Failure, answers::Answers, unfinished};

/// A file to write.
pub struct Out {
    /// As it was named.
    named: PathBuf,
    /// Where the links behind that name lead.
    file: PathBuf,
    /// Of the file that is replaced, if there is one.
    before: Option<Metadata>,
}

/// A file that is read, and what the command line calls it.
pub type Input<'a> = (&'static str, &'a Path);

impl Out {
    /// A file that may be written: new, or a regular file that is none of the inputs.
    pub fn new(path: &Path, inputs: &[Input<'_>]) -> Result<Self, Failure> {
        let says = |reason: &str| format!("{}: {reason}", path.display());
        let file = behind_links(path).map_err(|error| says(&error.to_string()))?;
        let folder = folder(&file);
        let before = match file.metadata() {
            Ok(metadata) if !metadata.is_file() => return Err(says("no regular file, so it is not replaced").into()),
            Ok(metadata) => Some(metadata),
            Err(_) if file.file_name().is_none() || !folder.is_dir() => return Err(says("no such folder").into()),
            Err(_) => None,
        };
        if let Some(before) = &before
            && let Some((what, input)) = inputs.iter().find(|(_, input)| is_same((&file, before), input))
        {
            let reason = format!("it is {what}, {}, so it is not replaced", input.display());
            return Err(says(&reason).into());
        }
        Ok(Self {
            named: path.to_path_buf(),
            file,
            before,
        })
    }

    /// Whether it is the same file, though it be not there yet.
    pub fn is(&self, other: &Self) -> bool {
        let place = |out: &Self| Some((folder(&out.file).canonicalize().ok()?, out.file.file_name()?.to_owned()));
        place(self).is_some_and(|mine| place(other) == Some(mine))
    }

    /// Whether answers of so many axes can be written: asked before they are computed.
    pub fn check(&self, axes: usize) -> Result<(), Failure> {
        if axes <= MOST_AXES {
            return Ok(());
        }
        let file = self.named.display();
        Err(
            format!("{file}: answers of {axes} axes are not written, for NumPy's arrays have at most {MOST_AXES}")
                .into(),
        )
    }

    /// Writes the answers; until all of them are there, to another file beside it. Answers the type that they have in the
    /// file: NumPy has no bfloat16 and no FP8, so those are written as float32, which holds them exactly.
    pub fn write(&self, answers: &Answers) -> Result<DType, Failure> {
        let written = || {
            let unfinished = unfinished::File::create(folder(&self.file), self.before.as_ref())?;
            let dtype = write(unfinished.file(), answers)?;
            unfinished.finish(&self.file, self.before.as_ref())?;
            Ok(dtype)
        };
        written().map_err(|error: io::Error| format!("{}: {error}", self.named.display()).into())
    }
}

/// The file that a path leads to, or would if it were there: a link is written through, not replaced.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut file = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match file.read_link() {
            Ok(to) => file = folder(&file).join(to),
            Err(_) => return Ok(file),
        }
    }
    Err(io::Error::other(format!(
        "more than {MOST_LINKS} links lead on from it"
    )))
}

fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Whether both are one file, by whatever names: hard links, too.
#[cfg(unix)]
fn is_same((_, metadata): (&Path, &Metadata), input: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let of = |metadata: &Metadata| (metadata.dev(), metadata.ino());
    input.metadata().is_ok_and(|input| of(&input) == of(metadata))
}

/// Whether both are one file, as far as their names say.
#[cfg(not(unix))]
fn is_same((file, _): (&Path, &Metadata), input: &Path) -> bool {
    match (file.canonicalize(), input.canonicalize()) {
        (Ok(file), Ok(input)) => file == input,
        // An input from a pipe has no such path.
        _ => false,
    }
}

fn write(file: &File, answers: &Answers) -> io::Result<DType> {
    let dtype = match answers.dtype {
        DType::Bf16 | DType::F8E4M3 | DType::F8E5M2 => DType::F32,
        same => same,
    };
    let mut file = BufWriter::new(file);
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
