//! Checkpoints of several files.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    fs, io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;

use super::{Metadata, Selection, Tensor, TensorFile, at, no_array, pairs::Pairs, split};
use crate::{CheckpointFault as Fault, Error};

/// The longest index that is read.
const MOST_INDEX: u64 = 100_000_000;
/// What a folder's index is called, if it has several.
const USUAL_INDEX: &str = "model.safetensors.index.json";
/// What the names of files of tensors end in.
const EXTENSIONS: [&str; 4] = ["safetensors", "gguf", "npz", "npy"];
/// What the names of pickles end in.
const PICKLES: [&str; 5] = ["bin", "pt", "pth", "ckpt", "pkl"];

/// The tensors of a model, which may be in several files.
///
/// | opened by | files |
/// |---|---|
/// | an index, as `model.safetensors.index.json` | those that it names |
/// | a folder with an index | the same |
/// | another folder | all `.safetensors`, `.gguf`, `.npz` and `.npy` files in it, in the order of their names |
/// | a part of a `.gguf` file, as `NAME-00001-of-00005.gguf` | all parts |
/// | another file | that one |
///
/// What is wrong with one file or one tensor is no error of opening: others can be read, and [`faults`](Self::faults) has
/// it. That is any difference between an index and its files, a file that is missing, and one that cannot be opened.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    path: PathBuf,
    files: Vec<TensorFile>,
    faults: Vec<Fault>,
    metadata: Metadata,
}

impl Checkpoint {
    /// Opens a file, a folder or an index, `PATH`; or of that the tensor `NAME` as `PATH:NAME`, or all whose names match a
    /// pattern, as [`TensorFile::open`] does.
    ///
    /// Memory and cost: those of opening each file.
    ///
    /// # Errors
    ///
    /// Those of [`TensorFile::open`] for a single file. [`Error::Checkpoint`] for a folder without files of tensors or with
    /// several indexes, and for an index that is damaged. [`Error::Pickle`] for a folder that has pickles alone.
    /// [`Error::NoArray`] if no tensor has the name or matches the pattern, or the fault why that tensor cannot be found.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let (path, name) = split(path.as_ref(), |path| path.exists());
        let mut opened = Self {
            path,
            files: Vec::new(),
            faults: Vec::new(),
            metadata: Metadata::new(),
        };
        opened.open_files()?;
        if let Some(name) = name {
            opened.select(&name)?;
        }
        Ok(opened)
    }

    /// What was opened, without the name of a tensor.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its files, but those that could not be opened.
    #[must_use]
    pub fn files(&self) -> &[TensorFile] {
        &self.files
    }

    /// All its tensors, file by file, or those that were asked for. Each knows its [`file`](Tensor::file).
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.files.iter().flat_map(TensorFile::tensors)
    }

    /// What is wrong with it, but for what is wrong with a single tensor that was found: [`Tensor::fault`].
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The metadata of the index, in its order; without an index, of the first file that has any.
    #[must_use]
    pub fn metadata(&self) -> &[(String, String)] {
        let first = || {
            self.files
                .iter()
                .map(TensorFile::metadata)
                .find(|file| !file.is_empty())
        };
        match self.metadata.as_slice() {
            [] => first().unwrap_or_default(),
            metadata => metadata,
        }
    }

    /// The tensor called `name`. The array of a `.npy` file is called as the file is, as `x.npy`.
    ///
    /// # Errors
    ///
    /// [`Error::Checkpoint`] if its file is missing or lacks it, or two files have it; [`Error::NoArray`] if nothing is known
    /// of it; its [`fault`](Tensor::fault), if it has one.
    pub fn tensor(&self, name: &str) -> Result<&Tensor, Error> {
        let mut found = self.files.iter().filter_map(|file| file.find(name));
        match (found.next(), found.next()) {
            (Some(tensor), None) => tensor.fault().map_or(Ok(tensor), Err),
            (Some(tensor), Some(other)) => Err(self.fault(Fault::Twice {
                tensor: name.to_owned(),
                shard: tensor.file().to_path_buf(),
                other: other.file().to_path_buf(),
            })),
            (None, _) => Err(self.absent(name)),
        }
    }

    /// Why there is no tensor of that name.
    fn absent(&self, name: &str) -> Error {
        let lost = |fault: &&Fault| fault.tensors().iter().any(|tensor| tensor == name);
        match self.faults.iter().find(lost) {
            Some(fault) => self.fault(fault.clone()),
            None => {
                let names = self.tensors().filter_map(Tensor::called).map(str::to_owned);
                no_array(&self.path, name.to_owned(), names.collect())
            }
        }
    }

    fn fault(&self, fault: Fault) -> Error {
        Error::Checkpoint {
            path: self.path.clone(),
            fault,
        }
    }

    fn select(&mut self, name: &str) -> Result<(), Error> {
        let exact = self.files.iter().any(|file| file.find(name).is_some());
        if exact
            || self
                .faults
                .iter()
                .any(|fault| fault.tensors().iter().any(|lost| lost == name))
        {
            self.tensor(name)?;
        }
        let selection = Selection::new(name, exact);
        for file in &mut self.files {
            file.retain(|tensor| selection.has(tensor));
        }
        self.files.retain(|file| !file.tensors().is_empty());
        match self.files.is_empty() {
            true => Err(self.absent(name)),
            false => Ok(()),
        }
    }

    fn open_files(&mut self) -> Result<(), Error> {
        let path = self.path.clone();
        if path.is_dir() {
            let names = names_in(&path)?;
            return match self.index_of(&names)? {
                Some(index) => self.open_index(&path.join(index)),
                None => self.open_all(&path, &names),
            };
        }
        if ends_in(&path, ".index.json") {
            return self.open_index(&path);
        }
        match Shard::of(&path) {
            Some(part) => {
                self.open_parts(&part, path.parent().unwrap_or(Path::new("")));
                // The file that was named must be one that can be opened.
                match self.files.iter().any(|file| file.path() == path) {
                    true => Ok(()),
                    false => TensorFile::open_named(&path, None).map(drop),
                }
            }
            None => {
                self.files.push(TensorFile::open(&path)?);
                Ok(())
            }
        }
    }

    /// The index among the names of a folder's files.
    fn index_of<'a>(&self, names: &'a [String]) -> Result<Option<&'a str>, Error> {
        let is_index = |name: &&str| name.ends_with(".safetensors.index.json");
        let indexes: Vec<&str> = names.iter().map(String::as_str).filter(is_index).collect();
        match *indexes {
            [] => Ok(None),
            [index] => Ok(Some(index)),
            _ if indexes.contains(&USUAL_INDEX) => Ok(Some(USUAL_INDEX)),
            _ => Err(self.fault(Fault::Indexes {
                names: indexes.into_iter().map(str::to_owned).collect(),
            })),
        }
    }

    /// Opens all files of a folder.
    fn open_all(&mut self, folder: &Path, names: &[String]) -> Result<(), Error> {
        let mut parts = HashSet::new();
        for name in names {
            let path = folder.join(name);
            match Shard::of(&path) {
                Some(part) if parts.insert((part.stem.clone(), part.count)) => self.open_parts(&part, folder),
                None if has_extension(&path, &EXTENSIONS) => self.open_shard(path, Vec::new()),
                _ => {}
            }
        }
        if !self.files.is_empty() || !self.faults.is_empty() {
            return Ok(());
        }
        // Where there is nothing but pickles, what they are is the answer.
        for name in names {
            let path = folder.join(name);
            if has_extension(&path, &PICKLES)
                && let Err(pickle @ Error::Pickle { .. }) = TensorFile::open(path)
            {
                return Err(pickle);
            }
        }
        Err(self.fault(Fault::Empty))
    }

    /// Opens all parts of a split file.
    fn open_parts(&mut self, part: &Shard, folder: &Path) {
        let (files, faults) = (self.files.len(), self.faults.len());
        for number in 1..=part.count {
            self.open_shard(folder.join(part.name(number)), Vec::new());
        }
        self.find_twice(files);
        let parts = &self.files[files..];
        let says = parts.first().and_then(|first| {
            let count = first.metadata().iter().find(|(key, _)| key == "split.tensors.count");
            count?.1.parse().ok()
        });
        let found = parts.iter().map(|file| file.tensors().len() as u64).sum();
        if let Some(says) = says.filter(|says| *says != found && self.faults.len() == faults) {
            self.faults.push(Fault::Count { says, found });
        }
    }

    /// Opens the files that an index names.
    fn open_index(&mut self, path: &Path) -> Result<(), Error> {
        let Index { metadata, weight_map } = Index::read(path)?;
        let text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        let metadata = metadata.unwrap_or_default().0.into_iter();
        self.metadata = metadata.map(|(key, value)| (key, text(value))).collect();

        // What the index puts in each file, and each tensor once.
        let mut shards: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut listed: HashMap<&str, &str> = HashMap::new();
        let folder = path.parent().unwrap_or(Path::new(""));
        for (tensor, shard) in &weight_map.0 {
            let shard = shard.strip_prefix("./").unwrap_or(shard);
            if let Some(before) = listed.insert(tensor, shard) {
                self.faults.push(Fault::Twice {
                    tensor: tensor.clone(),
                    shard: folder.join(before),
                    other: folder.join(shard),
                });
            }
            shards.entry(shard).or_default().push(tensor);
        }
        let mut names: Vec<&str> = shards.keys().copied().collect();
        names.sort_unstable();
        for name in names {
            let tensors: Vec<String> = shards[name].iter().map(|tensor| (*tensor).to_owned()).collect();
            let inside = |part| matches!(part, Component::Normal(_));
            if name.is_empty() || !Path::new(name).components().all(inside) {
                let shard = name.to_owned();
                self.faults.push(Fault::Outside { shard, tensors });
                continue;
            }
            let opened = self.files.len();
            self.open_shard(folder.join(name), tensors);
            let Some(file) = self.files.get(opened) else {
                continue;
            };
            let shard = || file.path().to_path_buf();
            for tensor in &shards[name] {
                if file.find(tensor).is_none() {
                    let tensor = (*tensor).to_owned();
                    self.faults.push(Fault::NotThere { tensor, shard: shard() });
                }
            }
            for tensor in file.tensors().iter().filter_map(Tensor::name) {
                if listed.get(tensor) != Some(&name) {
                    let tensor = tensor.to_owned();
                    self.faults.push(Fault::NotListed { tensor, shard: shard() });
                }
            }
        }
        Ok(())
    }

    /// Opens a file of several, which should have these tensors.
    fn open_shard(&mut self, shard: PathBuf, tensors: Vec<String>) {
        match TensorFile::open_named(&shard, None) {
            Ok(file) => self.files.push(file),
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                self.faults.push(Fault::Missing { shard, tensors });
            }
            Err(error) => {
                let error = Arc::new(error);
                self.faults.push(Fault::Unopened { shard, error, tensors });
            }
        }
    }

    /// Finds tensors of one name in the files from number `first` on.
    fn find_twice(&mut self, first: usize) {
        let mut seen: HashMap<&str, &Tensor> = HashMap::new();
        for tensor in self.files[first..].iter().flat_map(TensorFile::tensors) {
            let Some(name) = tensor.name() else { continue };
            if let Some(other) = seen.insert(name, tensor) {
                self.faults.push(Fault::Twice {
                    tensor: name.to_owned(),
                    shard: other.file().to_path_buf(),
                    other: tensor.file().to_path_buf(),
                });
            }
        }
    }
}

/// What an index says.
#[derive(Deserialize)]
struct Index {
    metadata: Option<Pairs<serde_json::Value>>,
    weight_map: Pairs<String>,
}

impl Index {
    fn read(path: &Path) -> Result<Self, Error> {
        let bad = |reason: String| Error::Checkpoint {
            path: path.to_path_buf(),
            fault: Fault::Index { reason },
        };
        let len = path.metadata().map_err(|source| at(path, source))?.len();
        if len > MOST_INDEX {
            return Err(bad(format!(
                "it has {len} bytes, more than the {MOST_INDEX} that are read"
            )));
        }
        let text = fs::read(path).map_err(|source| at(path, source))?;
        serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))
    }
}

/// A part of a split `.gguf` file, by its name: `STEM-00001-of-00005.gguf`.
struct Shard {
    stem: String,
    count: u32,
}

impl Shard {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_suffix(".gguf")?;
        let number = |text: &str| (text.len() == 5).then(|| text.parse().ok()).flatten();
        let (rest, count) = name.rsplit_once("-of-")?;
        let (stem, part) = rest.rsplit_once('-')?;
        let (part, count): (u32, u32) = (number(part)?, number(count)?);
        (1..=count).contains(&part).then(|| Self {
            stem: stem.to_owned(),
            count,
        })
    }

    fn name(&self, number: u32) -> String {
        format!("{}-{number:05}-of-{:05}.gguf", self.stem, self.count)
    }
}

/// The names of a folder's files, sorted. A name that is no text has no extension that matters.
fn names_in(folder: &Path) -> Result<Vec<String>, Error> {
    let entries = fs::read_dir(folder).map_err(|source| at(folder, source))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(|source| at(folder, source))?.file_name();
        names.extend(name.into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}

fn ends_in(path: &Path, ending: &str) -> bool {
    path.file_name()
        .and_then(OsStr::to_str)
        .is_some_and(|name| name.ends_with(ending))
}

fn has_extension(path: &Path, of: &[&str]) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| of.contains(&extension)) && !path.is_dir()
}

#[cfg(test)]
mod tests;
