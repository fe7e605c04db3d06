//! What is damaged in a zip archive, and where. The words of the crate `zip` name its own types, and no bytes.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use zip::result::ZipError;

use super::cursor::Cursor;

/// Bytes of the record that ends an archive, before its comment.
const END_RECORD: usize = 22;
/// The most bytes of that comment.
const MOST_COMMENT: u64 = u16::MAX as u64;
/// Bytes of an entry of the directory, before its name.
const ENTRY: usize = 46;

/// What is wrong with the directory of an archive that could not be opened.
pub(super) fn of_directory(file: &Cursor) -> String {
    let len = file.len().unwrap_or(0);
    if len == 0 {
        return "it is empty".into();
    }
    // Where it cannot be read again, nothing more is known than that it is damaged.
    let damage = directory(file, len).unwrap_or_else(|_| "its directory is damaged".into());
    format!("{damage}; it has {len} bytes")
}

fn directory(file: &Cursor, len: u64) -> io::Result<String> {
    let first = len.saturating_sub(END_RECORD as u64 + MOST_COMMENT);
    let mut tail = Vec::new();
    file.at(first).read_to_end(&mut tail)?;
    let records = tail.windows(END_RECORD);
    let Some(at) = records.rev().position(|bytes| bytes.starts_with(b"PK\x05\x06")) else {
        return Ok("its end, where the record of its directory should be, is missing or damaged".into());
    };
    let at = tail.len() - END_RECORD - at;
    let record = &tail[at..at + END_RECORD];
    let at = first + at as u64;
    let [entries, size, begin] = [u64::from(u16_at(record, 10)), u32_at(record, 12), u32_at(record, 16)];
    if begin == u64::from(u32::MAX) || size == u64::from(u32::MAX) || entries == u64::from(u16::MAX) {
        return Ok(format!("its zip64 directory, before byte {at}, is damaged"));
    }
    let end = begin + size;
    if end > at {
        return Ok(format!(
            "its directory should be at bytes {begin} to {end}, and the record that says so, at byte {at}, comes before that"
        ));
    }
    let mut reader = BufReader::new(file.clone());
    reader.seek(SeekFrom::Start(begin))?;
    let mut next = begin;
    for number in 1..=entries {
        let mut entry = [0; ENTRY];
        reader.read_exact(&mut entry)?;
        let more = [28, 30, 32].map(|field| i64::from(u16_at(&entry, field))).iter().sum();
        let here = next;
        next += (ENTRY as i64 + more) as u64;
        if !entry.starts_with(b"PK\x01\x02") || next > end {
            return Ok(format!(
                "entry {number} of {entries} of its directory, at byte {here}, is damaged"
            ));
        }
        reader.seek_relative(more)?;
    }
    Ok(format!("its directory, at bytes {begin} to {end}, is damaged"))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u16_at(bytes, at)) | u64::from(u16_at(bytes, at + 2)) << 16
}

/// What is wrong with a member whose header is at byte `at` of a file of `len`, if that is not the system's answer.
pub(super) fn of_header(error: ZipError, at: u64, len: u64) -> Result<String, io::Error> {
    Ok(match error {
        _ if at >= len => format!("its header, at byte {at}, is past the end of the file"),
        ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
        ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) | ZipError::InvalidPassword => {
            "it is stored in a way that is not read".into()
        }
        _ => format!("its header, at byte {at}, is damaged"),
    })
}

/// An error of reading a member: the system's as it is, others in words of ours.
pub(super) fn of_data(error: io::Error) -> io::Error {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    let words = match error.kind() {
        InvalidData if error.to_string() == "Invalid checksum" => {
            "its bytes do not have the checksum that the archive says: they are damaged"
        }
        InvalidData | InvalidInput => "its bytes in the archive are damaged",
        UnexpectedEof => "its bytes in the archive end too early",
        _ => return error,
    };
    io::Error::new(error.kind(), words)
}

#[cfg(test)]
mod tests {
    use zip::CompressionMethod::Stored;

    use super::super::{
        Error,
        tests::{Temporary, in_words, npy, zipped},
    };

    #[test]
    fn damage_is_named_with_its_place() {
        let array = npy("'|u1'", "(3,)", &[1, 2, 3]);
        let good = zipped(Stored, &[("a.npy", &array), ("b.npy", &array)]);
        let find = |what: &[u8], from: usize| {
            let found = good[from..].windows(what.len()).position(|bytes| bytes == what);
            from + found.unwrap()
        };
        let first = find(b"PK\x01\x02", 0);
        let second = find(b"PK\x01\x02", first + 1);
        let end = find(b"PK\x05\x06", 0);
        let member = find(b"PK\x03\x04", 1);
        let len = good.len();
        let with = |at: usize, bytes: &[u8]| {
            let mut changed = good.clone();
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            changed
        };
        for (bytes, says) in [
            (
                good[..end].to_vec(),
                format!(
                    "its end, where the record of its directory should be, is missing or damaged; it has {end} bytes"
                ),
            ),
            (
                with(second, b"x"),
                format!("entry 2 of 2 of its directory, at byte {second}, is damaged; it has {len} bytes"),
            ),
            (
                with(first + 28, &[0xff, 0xff]),
                format!("entry 1 of 2 of its directory, at byte {first}, is damaged; it has {len} bytes"),
            ),
            (
                with(end + 16, &[0, 0, 0, 1]),
                format!(
                    "its directory should be at bytes 16777216 to {}, and the record that says so, at byte {end}, comes \
                     before that; it has {len} bytes",
                    (1 << 24) + end - first
                ),
            ),
            (
                with(end + 16, &[0xff; 4]),
                format!("its zip64 directory, before byte {end}, is damaged; it has {len} bytes"),
            ),
        ] {
            let file = Temporary::new(".npz", &bytes);
            let words = in_words(&file.open().unwrap_err(), &file.0);
            assert_eq!(words, format!("FILE is no .npz file that can be read: {says}"));
        }

        // Of one member; the other is readable.
        for (bytes, says) in [
            (with(member, b"x"), format!("its header, at byte {member}, is damaged")),
            (
                with(second + 42, &[0, 0, 0, 1]),
                format!("its header, at byte {}, is past the end of the file", 1 << 24),
            ),
        ] {
            let file = Temporary::new(".npz", &bytes);
            let opened = file.open().unwrap();
            assert_eq!(opened.tensor("a").unwrap().read::<u8>().unwrap(), [1, 2, 3]);
            let error = opened.tensor("b").unwrap_err();
            assert!(matches!(error, Error::NotNpz { .. }));
            assert_eq!(
                in_words(&error, &file.0),
                format!("FILE:b is no .npz file that can be read: {says}")
            );
        }
    }

    /// Whatever single byte is changed, no word of the zip reader's own comes through.
    #[test]
    fn no_word_is_the_readers_own() {
        let array = npy("'|u1'", "(3,)", &[1, 2, 3]);
        for method in [Stored, zip::CompressionMethod::Deflated] {
            let good = zipped(method, &[("a.npy", &array)]);
            let mut damaged = 0;
            for at in 0..good.len() {
                for value in [0, 0xff, good[at] ^ 0x10] {
                    let mut bytes = good.clone();
                    bytes[at] = value;
                    let file = Temporary::new(".npz", &bytes);
                    let read = file
                        .open()
                        .and_then(|file| file.one())
                        .and_then(|array| array.read::<u8>());
                    let Err(error) = read else { continue };
                    let words = in_words(&error, &file.0);
                    damaged += 1;
                    for internal in [
                        "zip::",
                        "Zip archive",
                        "EOCD",
                        "CDFH",
                        "checksum'",
                        "deflate stream",
                        "ZIP64",
                    ] {
                        assert!(!words.contains(internal), "byte {at} as {value}: {words}");
                    }
                }
            }
            assert!(damaged > 100);
        }
    }
}
