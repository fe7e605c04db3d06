//! What all formats have in common, and what the tests of each use.

use std::{
    fs,
    io::{Cursor, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::*;

/// A file that lives as long as the test that made it.
pub struct Temporary(pub PathBuf);

impl Temporary {
    /// A file of these bytes whose name ends so.
    pub fn new(ends: &str, bytes: &[u8]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("warpfold-files-{}-{number}{ends}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes).unwrap();
        Self(path)
    }

    pub fn open(&self) -> Result<TensorFile, Error> {
        TensorFile::open(&self.0)
    }

    /// The array of that name.
    pub fn named(&self, name: &str) -> PathBuf {
        fault::label(&self.0, Some(name))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Opening the one array of such a file fails with these words, `FILE` being its path; with words that begin so where they end in `…`.
#[track_caller]
pub fn refused(ends: &str, bytes: &[u8], says: &str) {
    let file = Temporary::new(ends, bytes);
    match file.open().and_then(TensorFile::one) {
        Ok(array) => panic!("{array:?}"),
        Err(error) => {
            let words = in_words(&error, &file.0);
            match says.strip_suffix('…') {
                Some(begins) => assert!(words.starts_with(begins), "{words}"),
                None => assert_eq!(words, says),
            }
        }
    }
}

/// The words of an error, `FILE` for its path.
pub fn in_words(error: &Error, path: &Path) -> String {
    error.to_string().replace(path.to_str().unwrap(), "FILE")
}

/// A `.npy` file in C order.
pub fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = length - 1).bytes());
    bytes.extend(data);
    bytes
}

/// A zip file.
pub fn zipped(method: CompressionMethod, members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in members {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn names_of(file: &TensorFile) -> Vec<&str> {
    file.tensors().iter().filter_map(Tensor::name).collect()
}

fn two_arrays() -> Vec<u8> {
    let (a, b) = (npy("'<i2'", "(2,)", &[1, 0, 2, 0]), npy("'|b1'", "(3,)", &[1, 0, 2]));
    zipped(CompressionMethod::Stored, &[("a.npy", &a), ("w:0.npy", &b)])
}

#[test]
fn a_name_picks_one_array() {
    let file = Temporary::new(".npz", &two_arrays());
    assert_eq!(names_of(&file.open().unwrap()), ["a", "w:0"]);
    let picked = TensorFile::open(file.named("w:0")).unwrap();
    assert_eq!((picked.path(), picked.format()), (file.0.as_path(), Format::Npz));
    let array = picked.one().unwrap();
    assert_eq!(array.label(), file.named("w:0"));
    assert_eq!(array.read::<u8>().unwrap(), [1, 0, 2]);

    let file_says = |error: Error| in_words(&error, &file.0);
    assert_eq!(
        file_says(TensorFile::open(file.named("b")).unwrap_err()),
        "FILE has no array \"b\": it has a, w:0"
    );
    assert_eq!(
        file_says(file.open().unwrap().tensor("b").unwrap_err()),
        "FILE has no array \"b\": it has a, w:0"
    );
    assert_eq!(file.open().unwrap().tensor("a").unwrap().len(), 2);
    assert_eq!(
        file_says(file.open().unwrap().one().unwrap_err()),
        "FILE has 2 arrays, and one is wanted; FILE:NAME picks it: a, w:0"
    );
    let single = Temporary::new(".npy", &npy("'<f4'", "()", &[0; 4]));
    assert_eq!(
        in_words(&TensorFile::open(single.named("a")).unwrap_err(), &single.0),
        "FILE has no array \"a\": it has none with a name"
    );
}

#[test]
fn colons_in_file_names_are_no_arrays() {
    let file = Temporary::new(":a", &npy("'<f4'", "(1,)", &1.5_f32.to_le_bytes()));
    assert_eq!(file.open().unwrap().one().unwrap().read::<f32>().unwrap(), [1.5]);
    let archive = Temporary::new(":a:b.npz", &two_arrays());
    assert_eq!(TensorFile::open(archive.named("w:0")).unwrap().tensors().len(), 1);
    let gone = TensorFile::open("/nowhere/x.npz:a").unwrap_err().to_string();
    assert!(gone.starts_with("/nowhere/x.npz:a: No such file"), "{gone}");
}

#[test]
fn contents_tell_the_format() {
    let header = br#"{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    let tensors = [&(header.len() as u64).to_le_bytes(), header.as_slice(), &[9]].concat();
    for (bytes, format) in [
        (npy("'<f4'", "(0,)", &[]), Format::Npy),
        (two_arrays(), Format::Npz),
        (tensors, Format::Safetensors),
    ] {
        for ends in ["", ".npy", ".npz", ".safetensors"] {
            assert_eq!(Temporary::new(ends, &bytes).open().unwrap().format(), format, "{ends}");
        }
    }
    refused(".npy", b"", "FILE is no .npy file that can be read: it is empty");
    refused(
        ".safetensors",
        b"",
        "FILE is no .safetensors file that can be read: it has 0 bytes, fewer than the 8 of the header's length",
    );
    refused(".npz", b"", "FILE is no .npz file that can be read: it is empty");
}

#[test]
fn elements_are_read_as_what_they_are() {
    let file = Temporary::new(".npy", &npy("'<f4'", "(2,)", &[0; 8]));
    let array = file.open().unwrap().one().unwrap();
    for error in [
        array.read::<i32>().unwrap_err(),
        array.stream::<i32>(1).map(drop).unwrap_err(),
    ] {
        assert_eq!(
            in_words(&error, &file.0),
            "FILE is of float32, and was to be read as int32"
        );
    }
    let file = Temporary::new(".npy", &npy("'<U7'", "(2,)", &[0; 56]));
    let array = file.open().unwrap().one().unwrap();
    assert_eq!(
        (array.dtype(), array.dtype_name(), array.bytes()),
        (DType::Other, "<U7", 56)
    );
    for error in [array.read_bytes().map(drop), array.stream_bytes(1).map(drop)] {
        assert_eq!(
            in_words(&error.unwrap_err(), &file.0),
            "FILE: <U7 cannot be folded; bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64, float8_e4m3fn, \
             float8_e5m2, complex64 and complex128 can"
        );
    }
}

#[test]
fn words_of_every_width_are_turned() {
    for (descr, data) in [
        ("'>f2'", vec![0x3c, 0, 0xc0, 0]),
        ("'>i4'", vec![0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe]),
        ("'>f8'", [1.0_f64.to_be_bytes(), (-2.0_f64).to_be_bytes()].concat()),
        ("'>c8'", [1.0_f32, 2.0, 3.0, 4.0].map(f32::to_be_bytes).concat()),
        ("'>c16'", [1.0_f64, 2.0, 3.0, 4.0].map(f64::to_be_bytes).concat()),
    ] {
        let array = Temporary::new(".npy", &npy(descr, "(2,)", &data));
        let array = array.open().unwrap().one().unwrap();
        let bytes = array.read_bytes().unwrap();
        let streamed: Vec<u8> = array
            .stream_bytes(1)
            .unwrap()
            .flat_map(|piece| piece.unwrap().to_vec())
            .collect();
        assert_eq!(&*bytes, streamed.as_slice(), "{descr}");
        match array.dtype() {
            DType::F16 => assert_eq!(array.read::<f16>().unwrap(), [1.0, -2.0].map(f16::from_f32)),
            DType::I32 => assert_eq!(array.read::<i32>().unwrap(), [1, -2]),
            DType::F64 => assert_eq!(array.read::<f64>().unwrap(), [1.0, -2.0]),
            DType::Complex128 => assert_eq!(*bytes, *bytemuck::bytes_of(&[1.0_f64, 2.0, 3.0, 4.0])),
            _ => assert_eq!(*bytes, *bytemuck::bytes_of(&[1.0_f32, 2.0, 3.0, 4.0])),
        }
    }
}

#[test]
fn a_file_that_shrinks_is_an_error_behind_what_was_read() {
    let header = br#"{"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]},"w":{"dtype":"I64","shape":[4],"data_offsets":[5,37]}}"#;
    let tensors = [&(header.len() as u64).to_le_bytes(), header.as_slice(), &[0; 37]].concat();
    for (bytes, name) in [(npy("'<i8'", "(4,)", &[0; 32]), ""), (tensors, "w")] {
        let file = Temporary::new("", &bytes);
        let opened = file.open().unwrap();
        let array = opened.tensors().last().unwrap();
        let label = if name.is_empty() {
            file.0.clone()
        } else {
            file.named(name)
        };
        let whole = bytes.len() as u64;
        let shrunk = fs::OpenOptions::new().write(true).open(&file.0).unwrap();
        // Within the array, and before it.
        for len in [whole - 8, 3] {
            shrunk.set_len(len).unwrap();
            let pieces: Vec<_> = array.stream::<i64>(3).unwrap().collect();
            if len > 3 {
                assert_eq!(pieces.len(), 2);
                assert_eq!(**pieces[0].as_ref().unwrap(), [0; 3]);
            }
            let Some(Err(streamed)) = pieces.into_iter().last() else {
                panic!("no error")
            };
            for error in [
                streamed,
                array.read::<i64>().unwrap_err(),
                array.read_bytes().map(drop).unwrap_err(),
            ] {
                assert_eq!(
                    error.to_string(),
                    format!(
                        "{} is cut short: {whole} bytes by its header, {len} bytes there",
                        label.display()
                    )
                );
            }
        }
    }
}

#[test]
fn any_elements_are_read_by_any_thread() {
    let data: Vec<u8> = (0..1000_i32).flat_map(i32::to_be_bytes).collect();
    let header = br#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"w":{"dtype":"I32","shape":[10,100],"data_offsets":[3,4003]}}"#;
    let words: Vec<u8> = (0..1000_i32).flat_map(i32::to_le_bytes).collect();
    let tensors = [&(header.len() as u64).to_le_bytes(), header.as_slice(), &[0; 3], &words].concat();
    for (bytes, named) in [(npy("'>i4'", "(10, 100)", &data), false), (tensors, true)] {
        let file = Temporary::new("", &bytes);
        let opened = file.open().unwrap();
        let array = opened.tensors().last().unwrap();
        assert!(array.is_seekable());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for (first, count) in [(thread, 1), (thread * 7, 300), (999, 1), (0, 1000), (1000, 0)] {
                        let mut values = vec![-1_i32; count];
                        array.read_at(first as u64, &mut values).unwrap();
                        assert!(values.iter().copied().eq(first as i32..(first + count) as i32));
                    }
                });
            }
        });

        let mut values = [0_i32; 2];
        let out_of_bounds = |first, len: usize| array.read_at(first, &mut vec![0_i32; len]).unwrap_err().to_string();
        assert_eq!(
            out_of_bounds(999, 2),
            "the elements lie at 999 to 1000, in memory of 1000 elements"
        );
        assert!(out_of_bounds(u64::MAX, 1).starts_with("the elements lie at 18446744073709551615"));
        assert!(out_of_bounds(1001, 0).starts_with("the elements lie at 1001"));
        assert!(matches!(array.read_at(0, &mut [0_f32]), Err(Error::WrongDtype { .. })));

        // The file shrinks; what is left can be read.
        let (whole, label) = (bytes.len() as u64, if named { file.named("w") } else { file.0.clone() });
        fs::OpenOptions::new()
            .write(true)
            .open(&file.0)
            .unwrap()
            .set_len(whole - 5)
            .unwrap();
        array.read_at(996, &mut values).unwrap();
        assert_eq!(values, [996, 997]);
        let error = array.read_at(998, &mut values).unwrap_err().to_string();
        let (label, left) = (label.display(), whole - 5);
        assert_eq!(
            error,
            format!("{label} is cut short: {whole} bytes by its header, {left} bytes there")
        );
    }
}

#[test]
fn what_is_read_in_order_alone_says_so() {
    let fortran = |shape: &str| npy("'|u1'", shape, &[7; 6]).to_vec();
    let turned = |shape: &str| {
        let bytes = fortran(shape);
        let at = bytes.windows(5).position(|five| five == b"False").unwrap();
        [&bytes[..at], b"True ", &bytes[at + 5..]].concat()
    };
    for (bytes, seekable) in [
        (turned("(2, 3)"), false),
        (turned("(6,)"), true),
        (turned("(1, 6)"), true),
        (zipped(CompressionMethod::Stored, &[("a.npy", &fortran("(6,)"))]), false),
        (
            zipped(CompressionMethod::Deflated, &[("a.npy", &fortran("(6,)"))]),
            false,
        ),
    ] {
        let file = Temporary::new("", &bytes);
        let array = file.open().unwrap().one().unwrap();
        assert_eq!(array.is_seekable(), seekable);
        let mut values = [0_u8; 2];
        let read = array.read_at(4, &mut values);
        match read {
            Ok(()) => assert!(seekable && values == [7; 2]),
            Err(error) => assert!(
                !seekable && error.to_string().ends_with("can only be read from the first on"),
                "{error}"
            ),
        }
    }
}

/// Git has these in the place of large files that were not fetched.
#[test]
fn pointers_of_git_lfs_are_told() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n";
    for ends in [".safetensors", ".npy", ".npz", ""] {
        for (text, says) in [
            (pointer, " (sha256:4d7a2146, 12345 bytes)"),
            (&pointer[..58], " (sha256:4d7a)"),
            (
                &pointer.replace("oid", "ext-0 x\r\noid").replace("size", "since"),
                " (sha256:4d7a2146)",
            ),
            ("version https://git-lfs.github.com/spec/v2\nsize 7", " (7 bytes)"),
            (&pointer[..43], ""),
        ] {
            let file = Temporary::new(ends, text.as_bytes());
            let error = file.open().unwrap_err();
            assert!(matches!(error, Error::GitLfsPointer { .. }), "{error:?}");
            assert_eq!(
                in_words(&error, &file.0),
                format!("FILE is a Git LFS pointer, and not the file{says}: `git lfs pull` fetches that")
            );
        }
        for other in ["version 1", "version https://example.com/spec/v1", "v"] {
            let error = Temporary::new(ends, other.as_bytes()).open().unwrap_err();
            assert!(!matches!(error, Error::GitLfsPointer { .. }), "{error:?}");
        }
    }
}

/// Of many files, few are open at a time; and what was opened is what is read, or an error.
#[cfg(target_os = "linux")]
#[test]
fn many_files_take_few_descriptors() {
    use super::cursor::MOST_KEPT;

    let number = |i: usize| npy("'<u8'", "(1,)", &(i as u64).to_le_bytes());
    let zip = |i: usize| zipped(CompressionMethod::Deflated, &[("a.npy", &number(i))]);
    let files: Vec<_> = (0..MOST_KEPT + 200)
        .map(|i| match i % 2 {
            0 => Temporary::new(".many", &number(i)),
            _ => Temporary::new(".many", &zip(i)),
        })
        .collect();
    let arrays: Vec<_> = files.iter().map(|file| file.open().unwrap().one().unwrap()).collect();
    let open = || {
        let descriptors = fs::read_dir("/proc/self/fd").unwrap();
        let targets = descriptors.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        targets
            .filter(|path| path.extension().is_some_and(|ends| ends == "many"))
            .count()
    };
    for _ in 0..2 {
        for (i, array) in arrays.iter().enumerate() {
            assert_eq!(array.read::<u64>().unwrap(), [i as u64]);
        }
        assert!(open() <= MOST_KEPT, "{}", open());
    }

    // Behind the name of one of the last there is another file now; one of the first may have stayed open.
    for (i, array) in [arrays.len() - 2, arrays.len() - 1].map(|i| (i, &arrays[i])) {
        let other = Temporary::new("", &npy("'<u8'", "(2,)", &[7; 16]));
        fs::rename(&other.0, &files[i].0).unwrap();
        let error = array.read::<u64>().unwrap_err().to_string();
        assert!(error.contains("replaced or written to since it was opened"), "{error}");
    }
    drop(arrays);
    assert_eq!(open(), 0);
}

/// Opening, looking up and reading are linear in the number of arrays.
#[test]
fn many_arrays_take_no_longer_each() {
    use std::fmt::Write;

    let start = std::time::Instant::now();
    let count = 50_000;
    let mut header = String::from("{");
    for i in 0..count {
        let (comma, end) = (if i == 0 { "" } else { "," }, i + 1);
        write!(
            header,
            r#"{comma}"layers.{i}.weight":{{"dtype":"U8","shape":[],"data_offsets":[{i},{end}]}}"#
        )
        .unwrap();
    }
    header.push('}');
    let data: Vec<u8> = (0..count).map(|i| i as u8).collect();
    let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat();
    let file = Temporary::new(".safetensors", &bytes);
    let opened = file.open().unwrap();
    for i in 0..count {
        let array = opened.tensor(&format!("layers.{i}.weight")).unwrap();
        let mut pieces = array.stream::<u8>(4096).unwrap();
        assert_eq!(*pieces.next().unwrap().unwrap(), [i as u8]);
        assert!(pieces.next().is_none());
    }

    let one = npy("'|u1'", "()", &[7]);
    let names: Vec<String> = (0..count / 10).map(|i| format!("layers.{i}.npy")).collect();
    let members: Vec<_> = names.iter().map(|name| (name.as_str(), &one[..])).collect();
    let file = Temporary::new(".npz", &zipped(CompressionMethod::Deflated, &members));
    let archive = file.open().unwrap();
    for name in &names {
        let array = archive.tensor(name.trim_end_matches(".npy")).unwrap();
        assert_eq!(array.read::<u8>().unwrap(), [7]);
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn buffers_come_back() {
    let file = Temporary::new(".npy", &npy("'|u1'", "(64,)", &[3; 64]));
    let array = file.open().unwrap().one().unwrap();
    let mut addresses: Vec<_> = array
        .stream::<u8>(1)
        .unwrap()
        .map(|piece| piece.unwrap().as_ptr() as usize)
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert!(addresses.len() <= 4, "{} buffers", addresses.len());
}
