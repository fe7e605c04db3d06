//! `.npz` archives: zip files of `.npy` members, stored or deflated.

use std::{collections::HashSet, path::Path, sync::Arc};

use zip::{CompressionMethod, ZipArchive, read::ZipFile, result::ZipError};

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
    let unreadable = match entry.compression() {
        _ if entry.encrypted() => Some("it is encrypted".into()),
        CompressionMethod::Stored | CompressionMethod::Deflated => None,
        method => Some(format!("it is compressed by {method}, and neither stored nor deflated")),
    };
    match unreadable {
        Some(reason) if called_npy => return Err(bad(path, Some(&name), reason)),
        Some(_) => return Ok(None),
        None => {}
    }

    let mut member = archive
        .by_index(index)
        .map_err(|error| not_npz(path, Some(&name), error))?;
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
        error => bad(path, name, error.to_string()),
    }
}

fn bad(path: &Path, name: Option<&str>, reason: String) -> Error {
    Error::NotNpz {
        path: label(path, name),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use zip::CompressionMethod::{Deflated, Stored};

    use super::{
        super::{
            Format,
            tests::{Temporary, in_words, npy, refused, zipped},
        },
        *,
    };

    fn array(len: usize) -> Vec<u8> {
        let data: Vec<u8> = (0..len).flat_map(|i| (i as u32 * 7).to_le_bytes()).collect();
        npy("'<u4'", &format!("({len},)"), &data)
    }

    #[test]
    fn members_are_arrays_stored_or_deflated() {
        for method in [Stored, Deflated] {
            let (a, b) = (array(10_000), array(0));
            let members: [(&str, &[u8]); 5] = [
                ("b.npy", &b),
                ("notes.txt", b"no array"),
                ("layer/a.npy", &a),
                ("bare", &a),
                ("empty", b""),
            ];
            let file = Temporary::new(".npz", &zipped(method, &members));
            let opened = file.open().unwrap();
            assert_eq!(opened.format(), Format::Npz);
            let names: Vec<_> = opened.tensors().iter().map(|tensor| tensor.name().unwrap()).collect();
            assert_eq!(names, ["b", "layer/a", "bare"]);
            assert!(opened.tensors()[0].read::<u32>().unwrap().is_empty());
            let values: Vec<u32> = (0..10_000).map(|i| i * 7).collect();
            for name in ["layer/a", "bare"] {
                let tensor = opened.tensor(name).unwrap();
                assert_eq!(tensor.read::<u32>().unwrap(), values);
                let pieces: Vec<_> = tensor.stream::<u32>(999).unwrap().map(Result::unwrap).collect();
                assert_eq!(pieces.iter().map(|piece| piece.len()).max(), Some(999));
                assert_eq!(
                    pieces.iter().flat_map(|piece| piece.to_vec()).collect::<Vec<_>>(),
                    values
                );
            }
        }
    }

    #[test]
    fn an_archive_of_nothing_has_no_arrays() {
        let file = Temporary::new(".npz", &zipped(Stored, &[]));
        assert!(file.open().unwrap().tensors().is_empty());
        assert_eq!(
            in_words(&file.open().unwrap().one().unwrap_err(), &file.0),
            "FILE has 0 arrays, and one is wanted; FILE:NAME picks it: none with a name"
        );
        refused(
            ".npz",
            &zipped(Stored, &[("readme", b"x"), ("data.pkl", b"y")]),
            "FILE is no .npz file that can be read: none of its 2 members is an array",
        );
    }

    #[test]
    fn a_wrong_checksum_is_an_error_behind_the_last_piece() {
        for method in [Stored, Deflated] {
            // Wide enough apart that deflate keeps literals: one of them is changed.
            let data: Vec<u8> = (0..1000_u32)
                .flat_map(|i| (i.wrapping_mul(i | 1).wrapping_mul(2_654_435_761) >> 1).to_le_bytes())
                .collect();
            let mut bytes = zipped(method, &[("a.npy", &npy("'<u4'", "(1000,)", &data))]);
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            let file = Temporary::new(".npz", &bytes);
            let tensor = file.open().unwrap().one().unwrap();
            let pieces: Vec<_> = tensor.stream::<u32>(100).unwrap().collect();
            assert!(pieces.last().unwrap().is_err(), "{method}");
            let error = tensor.read::<u32>().unwrap_err();
            assert!(matches!(error, Error::File { .. }), "{error}");
            if method == Stored {
                assert_eq!(pieces.len(), 11);
                assert_eq!(in_words(&error, &file.0), "FILE:a: Invalid checksum");
            }
        }
    }

    #[test]
    fn damaged_archives_are_refused() {
        let a = array(3);
        let good = zipped(Stored, &[("a.npy", &a)]);
        let bad = |bytes: &[u8], says: &str| {
            refused(".npz", bytes, &format!("FILE is no .npz file that can be read: {says}"));
        };
        bad(&good[..good.len() - 1], "invalid Zip archive: …");
        bad(&good[..20], "invalid Zip archive: …");
        // Another name of the same length, so that there are two members of one name.
        let two = zipped(Stored, &[("a.npy", &a), ("b.npy", &a)]);
        bad(&replaced(&two, b"b.npy", b"a.npy"), "two members have one name");
        let beside = zipped(Stored, &[("a.npy", &a), ("a", &a)]);
        refused(
            ".npz",
            &beside,
            "FILE:a is no .npz file that can be read: two members have this name",
        );
        // In both headers: the method, and that it is encrypted.
        let in_headers = |local: usize, directory: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[local] = value;
            let at = bytes.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
            bytes[at + directory] = value;
            bytes
        };
        refused(
            ".npz",
            &in_headers(8, 10, 12),
            "FILE:a is no .npz file that can be read: it is compressed by Bzip2, and neither stored nor \
             deflated",
        );
        refused(
            ".npz",
            &in_headers(6, 8, 1),
            "FILE:a is no .npz file that can be read: it is encrypted",
        );
    }

    #[test]
    fn members_that_are_no_arrays_are_refused() {
        refused(
            ".npz",
            &zipped(Deflated, &[("a.npy", b"no array")]),
            "FILE:a is no .npy file that can be read: it starts with [6e, 6f, 20, 61, 72, 72], not with the magic [93, 4e, \
             55, 4d, 50, 59]",
        );
        let whole = array(3);
        refused(
            ".npz",
            &zipped(Deflated, &[("a.npy", &whole[..whole.len() - 1])]),
            "FILE:a is cut short: 140 bytes by its header, 139 bytes there",
        );
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let good = zipped(Deflated, &[("a.npy", &array(3))]);
        let at = good.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
        let packed = u32::from_le_bytes(good[at + 20..at + 24].try_into().unwrap());
        let with = |offset: usize, value: u32| {
            let mut bytes = good.clone();
            bytes[at + offset..at + offset + 4].copy_from_slice(&value.to_le_bytes());
            bytes
        };
        refused(
            ".npz",
            &with(24, 1 << 30),
            &format!(
                "FILE:a is no .npz file that can be read: its {packed} bytes cannot inflate to the 1073741824 that it is \
                 said to have"
            ),
        );
    }

    fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        while let Some(at) = bytes.windows(from.len()).position(|window| window == from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
        bytes
    }
}
