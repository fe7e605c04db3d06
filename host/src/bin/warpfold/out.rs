//! `--out`: answers as a `.npy`, `.npz` or `.safetensors` file, which is there whole or not at all; or on standard output.

use std::{
    fs::{File, Metadata},
    io::{self, BufWriter, Stdout, Write},
    path::{Path, PathBuf},
};

use warpfold::files::{DType, MOST_AXES, npy_header, safetensors_header};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::{Failure, answers::Answers, scalar::Scalar, unfinished};

/// What is written: as the end of the name says.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    Npy,
    Npz,
    Safetensors,
}

/// A file to write, or standard output.
pub struct Out {
    /// As it was named.
    named: PathBuf,
    format: Format,
    target: OutFile,
}

enum OutFile {
    Stdout,
    File {
        /// Where the links from that name lead.
        file: PathBuf,
        /// Of the file that is replaced, if there is one.
        before: Option<Metadata>,
    },
}

/// A file that is read, and what the command line calls it.
pub type Input<'a> = (String, &'a Path);

/// The name of an array in a file of several, where the input has none: as NumPy calls it.
const NO_NAME: &str = "arr_0";

impl Format {
    fn of(path: &Path) -> Option<Self> {
        let formats = [
            ("npy", Self::Npy),
            ("npz", Self::Npz),
            ("safetensors", Self::Safetensors),
        ];
        let extension = path.extension()?;
        let found = formats.iter().find(|(name, _)| extension.eq_ignore_ascii_case(name))?;
        Some(found.1)
    }

    /// The type that numbers have in the file: NumPy has no bfloat16 and no FP8, and float32 holds them exactly.
    fn written(self, dtype: DType) -> DType {
        match dtype {
            DType::Bf16 | DType::F8E4M3 | DType::F8E5M2 if self != Self::Safetensors => DType::F32,
            same => same,
        }
    }
}

impl Out {
    /// A file that may be written: new, or a regular file that is none of the inputs; `-` is standard output.
    pub fn new(path: &Path, inputs: &[Input<'_>]) -> Result<Self, Failure> {
        let says = |reason: &str| format!("{}: {reason}", path.display());
        let named = path.to_path_buf();
        if path == Path::new("-") {
            let (format, target) = (Format::Npy, OutFile::Stdout);
            return Ok(Self { named, format, target });
        }
        let file = behind_links(path).map_err(|error| says(&error.to_string()))?;
        let folder = folder(&file);
        let before = match file.metadata() {
            Ok(metadata) if !metadata.is_file() => return Err(says("no regular file, so it is not replaced").into()),
            Ok(metadata) => Some(metadata),
            Err(_) if file.file_name().is_none() || !folder.is_dir() => return Err(says("no such folder").into()),
            Err(_) => None,
        };
        let Some(format) = Format::of(path) else {
            let reason =
                "answers are written to a name that ends in .npy, .npz or .safetensors, or to - (standard output)";
            return Err(says(reason).into());
        };
        if let Some(before) = &before
            && let Some((what, input)) = inputs.iter().find(|(_, input)| is_same((&file, before), input))
        {
            let reason = format!("it is {what}, {}, so it is not replaced", input.display());
            return Err(says(&reason).into());
        }
        let target = OutFile::File { file, before };
        Ok(Self { named, format, target })
    }

    /// Whether both are one file, though it may not exist yet, or both standard output.
    pub fn is(&self, other: &Self) -> bool {
        let path = |out: &Self| match &out.target {
            OutFile::Stdout => Some((PathBuf::new(), "-".into())),
            OutFile::File { file, .. } => Some((folder(file).canonicalize().ok()?, file.file_name()?.to_owned())),
        };
        path(self).is_some_and(|mine| path(other) == Some(mine))
    }

    /// Whether the report must be written elsewhere.
    pub fn is_stdout(&self) -> bool {
        matches!(self.target, OutFile::Stdout)
    }

    /// What the report calls it.
    pub fn label(&self) -> String {
        match self.target {
            OutFile::Stdout => "standard output".into(),
            OutFile::File { .. } => self.named.display().to_string(),
        }
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

    /// Writes answers; until all of them are there, to another file of the same folder. `name` is that of the array in a file of
    /// several. Returns the type that they have in the file.
    pub fn write(&self, answers: &Answers, name: Option<&str>) -> Result<DType, Failure> {
        let mut writer = self.begin(answers.dtype, &answers.shape, name)?;
        writer.push(&answers.bytes)?;
        writer.finish()
    }

    /// Starts to write an array of that type and shape, whose elements follow in pieces.
    pub fn begin(&self, dtype: DType, shape: &[u64], name: Option<&str>) -> Result<Writer<'_>, Failure> {
        let written = self.format.written(dtype);
        let begin = || -> io::Result<Writer<'_>> {
            let sink = match &self.target {
                OutFile::Stdout => Sink::Stdout(BufWriter::new(io::stdout())),
                OutFile::File { file, before } => {
                    let file = unfinished::File::create(folder(file), before.as_ref())?;
                    let writer = BufWriter::with_capacity(1 << 20, file.file().try_clone()?);
                    match self.format {
                        Format::Npz => Sink::Zip(Box::new(ZipWriter::new(writer)), file),
                        _ => Sink::Plain(writer, file),
                    }
                }
            };
            let mut writer = Writer {
                out: self,
                dtype,
                written,
                sink,
                converted: vec![],
            };
            let name = name.unwrap_or(NO_NAME);
            if let Sink::Zip(zip, _) = &mut writer.sink {
                // A member may have 4 GiB and more.
                let options = SimpleFileOptions::default()
                    .compression_method(CompressionMethod::Stored)
                    .large_file(true);
                zip.start_file(format!("{name}.npy"), options)?;
            }
            let header = match self.format {
                Format::Safetensors => safetensors_header(name, written, shape),
                _ => npy_header(written, shape),
            };
            writer.sink.writer().write_all(&header.map_err(io::Error::other)?)?;
            Ok(writer)
        };
        begin().map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> Failure {
        match self.target {
            // A closed pipe ends the program without a word.
            OutFile::Stdout => error.into(),
            OutFile::File { .. } => format!("{}: {}", self.named.display(), in_words(&error)).into(),
        }
    }
}

/// What the system says, without its number.
fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::FileTooLarge => "file too large: the system's limit of a file's size is reached".into(),
        _ => error.to_string(),
    }
}

/// An array that is being written.
pub struct Writer<'a> {
    out: &'a Out,
    dtype: DType,
    written: DType,
    sink: Sink,
    converted: Vec<u8>,
}

enum Sink {
    Stdout(BufWriter<Stdout>),
    Plain(BufWriter<File>, unfinished::File),
    Zip(Box<ZipWriter<BufWriter<File>>>, unfinished::File),
}

impl Sink {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Stdout(writer) => writer,
            Self::Plain(writer, _) => writer,
            Self::Zip(writer, _) => writer,
        }
    }

    /// All of it, on the disk; the file that it is in, to be given its name.
    fn finish(self) -> io::Result<Option<unfinished::File>> {
        let (writer, file) = match self {
            Self::Stdout(mut writer) => return writer.flush().map(|()| None),
            Self::Plain(writer, file) => (writer, file),
            Self::Zip(writer, file) => (writer.finish()?, file),
        };
        writer.into_inner()?.sync_all()?;
        Ok(Some(file))
    }
}

/// Bytes of numbers that are converted at a time.
const CONVERTED: usize = 1 << 16;

impl Writer<'_> {
    /// Writes the next elements, little-endian.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let (dtype, written) = (self.dtype, self.written);
        let mut push = || -> io::Result<()> {
            if dtype == written {
                return self.sink.writer().write_all(bytes);
            }
            let size = dtype.bytes().expect("a number of whole bytes");
            for part in bytes.chunks(CONVERTED) {
                self.converted.clear();
                for number in part.chunks_exact(size) {
                    Scalar::of_bytes(dtype, number).write_as(written, &mut self.converted);
                }
                self.sink.writer().write_all(&self.converted)?;
            }
            Ok(())
        };
        push().map_err(|error| self.out.failed(error))
    }

    /// Gives the file its name. Returns the type that the numbers have in it.
    pub fn finish(self) -> Result<DType, Failure> {
        let (out, written) = (self.out, self.written);
        let finish = || {
            if let (Some(unfinished), OutFile::File { file, before }) = (self.sink.finish()?, &out.target) {
                unfinished.finish(file, before.as_ref())?;
            }
            Ok(written)
        };
        finish().map_err(|error| out.failed(error))
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
