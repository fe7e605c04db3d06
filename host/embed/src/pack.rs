//! PTX packed: the modules of an operator's kernel together, whose texts differ little from type to type and from architecture to
//! architecture.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Error, ErrorKind},
    num::NonZero,
    path::Path,
    thread,
};

/// Modules that are compressed together.
#[derive(Clone, Debug)]
pub struct Pack {
    /// What their names begin with.
    pub name: String,
    /// Where each is in the text.
    pub modules: Vec<Ptx>,
    /// The text of all, one after the other, compressed by brotli.
    pub packed: Vec<u8>,
}

/// A module. Its debug output is that of the type of the same name in `warpfold_kernels::kernels`.
#[derive(Clone, Debug)]
pub struct Ptx {
    /// The architecture it was compiled for: 90 for compute capability 9.0.
    pub arch: u32,
    /// Its entry.
    pub name: String,
    /// Where its text begins, in bytes.
    pub start: usize,
    /// Bytes of its text.
    pub len: usize,
}

/// How hard to compress.
#[derive(Clone, Copy, Debug)]
pub enum Quality {
    /// In seconds, for who builds.
    Quick,
    /// In minutes, a third smaller, for what is published.
    Best,
}

/// In a folder of packs, what is in them.
pub const INDEX: &str = "packs.txt";

impl Pack {
    /// The name of its file.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}.ptx.br", self.name)
    }
}

/// Packs, and what they are of.
#[derive(Clone, Debug, Default)]
pub struct Packs {
    /// In the order of their names.
    pub packs: Vec<Pack>,
    /// What made the PTX; none where there is none.
    pub generator: Option<String>,
    /// The fingerprint of the library that it is of, where that is known.
    pub fingerprint: Option<u64>,
}

/// The PTX in `folder`, `ARCH/ENTRY.ptx`, packed; or, where that has been done, as it is there.
///
/// # Errors
///
/// Those of reading; [`ErrorKind::InvalidData`] of an index that is none.
pub fn read(folder: &Path, quality: Quality) -> io::Result<Packs> {
    if folder.join(INDEX).is_file() {
        return read_packs(folder);
    }
    let mut texts: BTreeMap<String, Texts> = BTreeMap::new();
    let mut generators = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // `sm_90`; anything else in there is none of ours.
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(arch) = name.strip_prefix("sm_").and_then(|number| number.parse::<u32>().ok()) else {
            continue;
        };
        for file in fs::read_dir(entry.path())? {
            let path = file?.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.extension().is_some_and(|extension| extension == "ptx") {
                let alike = stem.rsplit_once('_').map_or(&*stem, |(operator, _)| operator);
                let texts = texts.entry(alike.to_owned()).or_default();
                texts.push((stem, arch, fs::read_to_string(&path)?));
            } else if path.file_name().is_some_and(|name| name == "build.txt") {
                generators.insert(fs::read_to_string(&path)?.trim().to_owned());
            }
        }
    }
    let texts: Vec<_> = texts.into_iter().collect();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let packs = thread::scope(|scope| {
        let packed = |texts: &[(String, Texts)]| texts.iter().map(|(name, texts)| pack(name, texts, quality)).collect();
        let parts = texts.chunks(texts.len().div_ceil(threads).max(1));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || packed(part))).collect();
        let joined = parts
            .into_iter()
            .map(|part| part.join().expect("nothing in there panics"));
        joined.collect::<Vec<Vec<io::Result<Pack>>>>()
    });
    let generators: Vec<String> = generators.into_iter().collect();
    Ok(Packs {
        packs: packs.into_iter().flatten().collect::<io::Result<_>>()?,
        generator: (!generators.is_empty()).then(|| generators.join("; ")),
        fingerprint: None,
    })
}

/// Modules: their entries, architectures and texts.
type Texts = Vec<(String, u32, String)>;

fn pack(name: &str, texts: &Texts, quality: Quality) -> io::Result<Pack> {
    let mut texts: Vec<_> = texts.iter().collect();
    texts.sort();
    let mut text = String::new();
    let mut modules = vec![];
    for (name, arch, own) in texts {
        modules.push(Ptx {
            arch: *arch,
            name: name.clone(),
            start: text.len(),
            len: own.len(),
        });
        text.push_str(own);
    }
    let params = brotli::enc::BrotliEncoderParams {
        quality: match quality {
            Quality::Quick => 5,
            Quality::Best => 11,
        },
        // All of the text is looked back upon.
        lgwin: 24,
        size_hint: text.len(),
        ..Default::default()
    };
    let mut packed = vec![];
    brotli::BrotliCompress(&mut text.as_bytes(), &mut packed, &params)?;
    Ok(Pack {
        name: name.to_owned(),
        modules,
        packed,
    })
}

/// Writes packs to a folder, which is made anew.
///
/// # Errors
///
/// Those of writing.
pub fn write(folder: &Path, packs: &Packs) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let fingerprint = packs.fingerprint.map(|fingerprint| fingerprint.to_string());
    let mut index = format!(
        "{}\n{}\n",
        packs.generator.as_deref().unwrap_or_default(),
        fingerprint.unwrap_or_default()
    );
    for pack in &packs.packs {
        fs::write(folder.join(pack.file()), &pack.packed)?;
        for Ptx { arch, name, start, len } in &pack.modules {
            index += &format!("{} {arch} {name} {start} {len}\n", pack.name);
        }
    }
    fs::write(folder.join(INDEX), index)
}

fn read_packs(folder: &Path) -> io::Result<Packs> {
    let index = fs::read_to_string(folder.join(INDEX))?;
    let mut lines = index.lines();
    let mut line = || lines.next().filter(|line| !line.is_empty());
    let mut all = Packs {
        generator: line().map(str::to_owned),
        fingerprint: line().map(|line| number(line, line)).transpose()?,
        packs: vec![],
    };
    for line in lines {
        let [name, arch, entry, start, len] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(wrong(line));
        };
        let module = Ptx {
            arch: number(arch, line)? as u32,
            name: entry.to_owned(),
            start: number(start, line)? as usize,
            len: number(len, line)? as usize,
        };
        match all.packs.last_mut().filter(|pack| pack.name == name) {
            Some(pack) => pack.modules.push(module),
            None => {
                let mut pack = Pack {
                    name: name.to_owned(),
                    modules: vec![module],
                    packed: vec![],
                };
                pack.packed = fs::read(folder.join(pack.file()))?;
                all.packs.push(pack);
            }
        }
    }
    Ok(all)
}

fn number(text: &str, line: &str) -> io::Result<u64> {
    text.parse().map_err(|_| wrong(line))
}

fn wrong(line: &str) -> Error {
    Error::new(
        ErrorKind::InvalidData,
        format!("{INDEX} has a line that is none of its: {line}"),
    )
}
