//! `.npz` archives: zip files of `.npy` members, stored or deflated.

use std::{collections::HashSet, io, path::Path, sync::Arc};

use zip::{CompressionMethod, ZipArchive, read::ZipFile, result::ZipError};

use super::{
    cursor::Cursor,
    damage,
    fault::{Fault, label},
    npy, pickle, read_upto,
    tensor::{Layout, Place, Tensor},
};
use crate::Error;

/// What a zip file starts with: a member's header, or the directory's end if there is none.
pub(super) const MAGICS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// The most bytes that one byte of deflate can come to.
const MOST_INFLATED: u64 = 1032;

/// The arrays of an archive, in the order of its directory, and what is called `.npy` and is none that can be read. Other
/// members that are none are left out.
pub(super) fn tensors(path: &Arc<Path>, file: &Cursor) -> Result<Vec<Tensor>, Error> {
    let mut archive = ZipArchive::new(file.at(0)).map_err(|error| match error {
        ZipError::Io(source) if source.kind() != io::ErrorKind::UnexpectedEof => super::at(path, source),
        _ => bad(path, None, damage::of_directory(file)),
    })?;
    if archive.has_duplicate_names() {
        return Err(bad(path, None, "two members have one name".into()));
    }
    let mut tensors = Vec::new();
    let mut names = HashSet::new();
    for index in 0..archive.len() {
        let Some(tensor) = tensor(path, file, &mut archive, index) else {
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
    if tensors.is_empty() && archive.file_names().flatten().any(|name| pickle::is_pytorch(&name)) {
        return Err(pickle::refused(path));
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

/// The array in a member, if it is one or should be.
fn tensor(path: &Arc<Path>, file: &Cursor, archive: &mut ZipArchive<Cursor>, index: usize) -> Option<Tensor> {
    let entry = archive.by_index_data(index).ok()?;
    let full_name = match entry.name() {
        Ok(name) => name.into_owned(),
        Err(_) => String::from_utf8_lossy(entry.name_raw()).into_owned(),
    };
    if entry.is_dir() {
        return None;
    }
    let size = entry.size();
    let unreadable = match entry.compression() {
        _ if entry.encrypted() => Some("it is encrypted".into()),
        CompressionMethod::Stored | CompressionMethod::Deflated => None,
        method => Some(format!("it is compressed by {method}, and neither stored nor deflated")),
    };
    let name = full_name.strip_suffix(".npy");
    let called_npy = name.is_some();
    let name = name.unwrap_or(&full_name).to_owned();
    let place = match unreadable {
        Some(_) if !called_npy => Ok(None),
        Some(reason) => Err(bad(path, Some(&name), reason)),
        None => member(path, &name, called_npy, archive, index, file.len().unwrap_or(0)),
    };
    match place {
        Ok(None) => None,
        Ok(Some((layout, before))) => {
            let place = Place::Member {
                archive: archive.clone(),
                file: file.clone(),
                index,
                before,
            };
            Some(Tensor::new(path, Some(name), layout, Ok(place)))
        }
        // The archive's other arrays can be read all the same.
        Err(error) => Some(Tensor::unknown(path, name, size, Fault::of(error))),
    }
}

/// What array is in a member, and behind how many bytes of it, if there is one. Of a member not called `.npy`, its first
/// bytes tell.
fn member(
    path: &Path,
    name: &str,
    called_npy: bool,
    archive: &mut ZipArchive<Cursor>,
    index: usize,
    archive_bytes: u64,
) -> Result<Option<(Layout, u64)>, Error> {
    let label = label(path, Some(name));
    let header = archive.by_index_data(index).map_or(0, |entry| entry.header_start());
    let mut member = match archive.by_index(index) {
        Ok(member) => member,
        Err(_) if !called_npy => return Ok(None),
        Err(error) => {
            return Err(match damage::of_header(error, header, archive_bytes) {
                Ok(reason) => bad(path, Some(name), reason),
                Err(source) => super::at(&label, source),
            });
        }
    };
    let mut start = Vec::new();
    let read = read_upto(&mut member, &mut start, npy::START);
    if !called_npy && !start.starts_with(npy::MAGIC) {
        return Ok(None);
    }
    read.map_err(|source| super::at(&label, damage::of_data(source)))?;
    check_size(&member, archive_bytes).map_err(|reason| bad(path, Some(name), reason))?;
    let found = member.size();
    npy::layout(&label, start, &mut member, Some(found)).map(Some)
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
            DType, Format, TensorFile,
            stream::Reader,
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
                // The calling thread reads the same pieces.
                let (here, _spare) = Reader::new(tensor, 4 * 999);
                let here = here.flat_map(|piece| piece.unwrap().to_vec());
                assert!(here.eq(values.iter().flat_map(|value: &u32| value.to_ne_bytes())));
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
            &zipped(Stored, &[("readme", b"x"), ("data.txt", b"y")]),
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
                assert_eq!(
                    in_words(&error, &file.0),
                    "FILE:a: its bytes do not have the checksum that the archive says: they are damaged"
                );
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
        for len in [good.len() - 1, 20] {
            bad(
                &good[..len],
                "its end, where the record of its directory should be, is missing or damaged; …",
            );
            let error = Temporary::new(".npz", &good[..len]).open().unwrap_err().to_string();
            assert!(error.ends_with(&format!("; it has {len} bytes")), "{error}");
        }
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

    /// What is wrong with one member is told where it is asked for, and no other member is the worse for it.
    #[test]
    fn members_that_cannot_be_read_spoil_no_others() {
        let good = array(3);
        let whole = npy("'<u4'", "(3,)", &[0; 12]);
        let of = |descr: &str| npy(descr, "(2,)", &[0; 64]);
        let members = [
            ("float8.npy", of("'|V1'"), "", ""),
            ("delta.npy", of("'<m8[25us]'"), "<m8[25us]", ""),
            ("date.npy", of("'<M8[ns]'"), "<M8[ns]", ""),
            (
                "record.npy",
                of("[('a', '<f4'), ('b', '|u1')]"),
                "[('a', '<f4'), ('b', '|u1')]",
                "",
            ),
            ("object.npy", of("'|O'"), "object", ""),
            (
                "new.npy",
                of("'<f5'"),
                "unreadable",
                "npy file that can be read: its header is damaged: '<f5' is no type that NumPy has",
            ),
            (
                "none.npy",
                b"not an array".to_vec(),
                "unreadable",
                "npy file that can be read: it starts with [6e, 6f, 74, 20, 61, 6e], not with the magic [93, 4e, 55, 4d, 50, 59]",
            ),
            (
                "empty.npy",
                vec![],
                "unreadable",
                "npy file that can be read: it is empty",
            ),
            (
                "cut.npy",
                whole[..whole.len() - 1].to_vec(),
                "unreadable",
                "is cut short: 140 bytes by its header, 139 bytes there",
            ),
            (
                "deep.npy",
                npy("'|u1'", &format!("({})", "1,".repeat(65)), &[1]),
                "unreadable",
                "npy file that can be read: its shape has 65 axes, and an array has at most 64",
            ),
            (
                "damaged",
                good[..12].to_vec(),
                "unreadable",
                "npy file that can be read: its header has 128 bytes, the file 12",
            ),
        ];
        for method in [Stored, Deflated] {
            let mut all: Vec<(&str, &[u8])> = vec![("first.npy", &good)];
            all.extend(members.iter().map(|(name, bytes, ..)| (*name, &bytes[..])));
            all.extend([("last.npy", &good[..]), ("notes.txt", b"no array")]);
            let file = Temporary::new(".npz", &zipped(method, &all));
            let opened = file.open().unwrap();
            assert_eq!(opened.tensors().len(), members.len() + 2);
            for name in ["first", "last"] {
                assert_eq!(opened.tensor(name).unwrap().read::<u32>().unwrap(), [0, 7, 14]);
                assert!(opened.tensor(name).unwrap().fault().is_none());
            }
            for (tensor, (name, bytes, dtype, says)) in opened.tensors()[1..].iter().zip(&members) {
                let name = name.trim_end_matches(".npy");
                let dtype = if dtype.is_empty() { "|V1" } else { dtype };
                assert_eq!((tensor.name(), tensor.dtype()), (Some(name), DType::Other));
                assert_eq!(tensor.dtype_name(), dtype);
                if says.is_empty() {
                    assert_eq!(tensor.shape(), [2], "{name}");
                    assert!(tensor.fault().is_none() && matches!(tensor.read_bytes(), Err(Error::Dtype { .. })));
                    continue;
                }
                assert_eq!(
                    (tensor.shape(), tensor.len(), tensor.bytes()),
                    (&[][..], 0, bytes.len() as u64)
                );
                for error in [
                    tensor.fault().unwrap(),
                    tensor.read::<u8>().unwrap_err(),
                    tensor.read_bytes().map(drop).unwrap_err(),
                    tensor.stream::<f32>(1).map(drop).unwrap_err(),
                    opened.tensor(name).unwrap_err(),
                    TensorFile::open(file.named(name)).unwrap_err(),
                ] {
                    let words = in_words(&error, &file.0);
                    assert!(
                        words.starts_with(&format!("FILE:{name} is")) && words.ends_with(says),
                        "{words}"
                    );
                }
            }
        }
    }

    /// The file ends before its directory says so, or has shrunk since.
    #[test]
    fn an_archive_that_shrinks_says_what_is_missing() {
        for method in [Stored, Deflated] {
            // Wide enough apart that deflate keeps most of it.
            let data: Vec<u8> = (0..20_000_u32)
                .flat_map(|i| i.wrapping_mul(i | 1).to_le_bytes())
                .collect();
            let written = npy("'<u4'", "(20000,)", &data);
            let file = Temporary::new(".npz", &zipped(method, &[("a.npy", &written)]));
            let tensor = file.open().unwrap().one().unwrap();
            let opened = std::fs::OpenOptions::new().write(true).open(&file.0).unwrap();
            for len in [40_000, 64, 10] {
                opened.set_len(len).unwrap();
                let streamed = tensor.stream::<u32>(1000).unwrap().last().unwrap().map(drop);
                for error in [tensor.read::<u32>().map(drop), streamed, tensor.read_bytes().map(drop)] {
                    let Err(Error::Truncated { path, needed, found }) = error else {
                        panic!("{method} of {len}: {error:?}")
                    };
                    assert_eq!((path, needed), (file.named("a"), written.len() as u64));
                    assert!(found < needed && (len < 100 || found > 1000), "{found}");
                }
            }
        }
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
