//! `.npz` archives: zip files of `.npy` members, stored or deflated.

use std::{collections::HashSet, path::Path, sync::Arc};

use zip::{ZipArchive, read::ZipFile, result::ZipError};

use super::{
    cursor::Cursor,
    npy, read_upto,
    tensor::{Place, Tensor, label},
};
use crate::Error;

/// What a zip file starts with: a member's header, or the directory's end if there is none.
pub(super) const MAGICS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// The most bytes that one byte of deflate can come to.
const MOST_INFLATED: u64 = 1032;

/// The arrays of an archive, in the order of its directory. Members that are none are left out, unless they are called
/// `.npy`.
pub(super) fn tensors(path: &Arc<Path>, file: &Cursor) -> Result<Vec<Tensor>, Error> {
    let mut archive = ZipArchive::new(file.at(0)).map_err(|error| not_npz(path, None, error))?;
    if archive.has_duplicate_names() {
        return Err(bad(path, None, "two members have one name".into()));
    }
    let mut tensors = Vec::new();
    let mut names = HashSet::new();
    for index in 0..archive.len() {
        let Some(tensor) = tensor(path, &mut archive, index, file.len().unwrap_or(0))? else {
            continue;
        };
        // `x` beside `x.npy`.
        if let Some(name) = tensor.name()
            && !names.insert(name.to_owned())
        {
            return Err(bad(path, Some(name), "two members have this name".into()));
        }
        tensors.push(tensor);
    }
    if tensors.is_empty() && !archive.is_empty() {
        return Err(bad(
            path,
            None,
            format!("none of its {} members is an array", archive.len()),
        ));
    }
    Ok(tensors)
}

/// The array in a member, if it is one.
fn tensor(
    path: &Arc<Path>,
    archive: &mut ZipArchive<Cursor>,
    index: usize,
    archive_bytes: u64,
) -> Result<Option<Tensor>, Error> {
    let entry = archive
        .by_index_data(index)
        .map_err(|error| not_npz(path, None, error))?;
    let full_name = entry.name().map_err(|error| not_npz(path, None, error))?.into_owned();
    let name = full_name.strip_suffix(".npy");
    let called_npy = name.is_some();
    let name = name.unwrap_or(&full_name).to_owned();
    if entry.is_dir() {
        return Ok(None);
    }
    if entry.encrypted() {
        return if called_npy {
            Err(bad(path, Some(&name), "it is encrypted".into()))
        } else {
            Ok(None)
        };
    }

    let mut member = match archive.by_index(index) {
        Ok(member) => member,
        Err(_) if !called_npy => return Ok(None),
        Err(error) => return Err(not_npz(path, Some(&name), error)),
    };
    let label = label(path, Some(&name));
    let mut start = Vec::new();
    read_upto(&mut member, &mut start, npy::START).map_err(|source| super::at(&label, source))?;
    if !called_npy && !start.starts_with(npy::MAGIC) {
        return Ok(None);
    }
    check_size(&member, archive_bytes).map_err(|reason| bad(path, Some(&name), reason))?;
    let found = member.size();
    let (layout, before) = npy::layout(&label, start, &mut member, Some(found))?;
    drop(member);
    let place = Place::Member {
        archive: archive.clone(),
        index,
        before,
    };
    Ok(Some(Tensor::new(path, Some(name), layout, place)))
}

/// Refuses a size that the member's bytes cannot come to, before anybody asks for the memory.
fn check_size(member: &ZipFile<'_, Cursor>, archive_bytes: u64) -> Result<(), String> {
    let (size, packed) = (member.size(), member.compressed_size());
    if packed > archive_bytes {
        return Err(format!("it has {packed} bytes, the archive {archive_bytes}"));
    }
    if size > packed.saturating_mul(MOST_INFLATED) {
        return Err(format!(
            "its {packed} bytes cannot inflate to the {size} that it is said to have"
        ));
    }
    Ok(())
}

/// What a zip file's reader says, as an error of this crate.
fn not_npz(path: &Path, name: Option<&str>, error: ZipError) -> Error {
    match error {
        ZipError::Io(source) => super::at(&label(path, name), source),
        ZipError::CompressionMethodNotSupported(method) => bad(
            path,
            name,
            format!("it is compressed by method {method}, which is neither store (0) nor deflate (8)"),
        ),
        error => bad(path, name, error.to_string()),
    }
}

fn bad(path: &Path, name: Option<&str>, reason: String) -> Error {
    Error::NotNpz {
        path: label(path, name),
        reason,
    }
}
