//! What is written to a file is read back from it, whatever format, type, shape and size of pieces; and no damage to a file
//! is more than an error.

use std::{
    fmt::Debug,
    fs,
    io::{Cursor, Write},
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use bytemuck::Pod;
use proptest::prelude::*;
use safetensors::{Dtype, tensor::TensorView};
use warpfold::{
    Error,
    files::{DType, Element, TensorFile, bf16, f16},
};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// A file that lives as long as the test that made it.
struct Temporary(PathBuf);

impl Temporary {
    fn new(bytes: &[u8]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("warpfold-read-back-{}-{number}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// How an array is written.
#[derive(Clone, Copy, Debug)]
enum Form {
    Npy { fortran: bool, big_endian: bool },
    Npz { deflated: bool, fortran: bool },
    Safetensors,
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        any::<(bool, bool)>().prop_map(|(fortran, big_endian)| Form::Npy { fortran, big_endian }),
        any::<(bool, bool)>().prop_map(|(deflated, fortran)| Form::Npz { deflated, fortran }),
        Just(Form::Safetensors),
    ]
}

/// Shapes of up to four extents and a few thousand elements.
fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0_usize..9, 0..5)
}

/// The bytes of an array in C order, as the bytes of one in Fortran order.
fn to_fortran(bytes: &[u8], shape: &[usize], size: usize) -> Vec<u8> {
    let len: usize = shape.iter().product();
    let mut to = vec![0; bytes.len()];
    for at in 0..len {
        // The index of the element, last first; then its place where the first is the fastest.
        let mut rest = at;
        let mut index = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            index[axis] = rest % shape[axis];
            rest /= shape[axis];
        }
        let place = (0..shape.len())
            .rev()
            .fold(0, |place, axis| place * shape[axis] + index[axis]);
        to[place * size..][..size].copy_from_slice(&bytes[at * size..][..size]);
    }
    to
}

fn npy(descr: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let extents: String = shape.iter().map(|extent| format!("{extent},")).collect();
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({extents}), }}\n");
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(data);
    bytes
}

/// A file of two arrays, `before` and `x`, where the format takes two.
fn written(form: Form, dtype: Dtype, descr: &str, shape: &[usize], size: usize, data: &[u8]) -> Vec<u8> {
    let ordered = |fortran| {
        if fortran {
            to_fortran(data, shape, size)
        } else {
            data.to_vec()
        }
    };
    match form {
        Form::Npy { fortran, big_endian } => {
            let mut data = ordered(fortran);
            let mut descr = descr.to_owned();
            if big_endian {
                data.chunks_exact_mut(size).for_each(<[u8]>::reverse);
                descr = descr.replace('<', ">");
            }
            npy(&descr, fortran, shape, &data)
        }
        Form::Npz { deflated, fortran } => {
            let method = if deflated {
                CompressionMethod::Deflated
            } else {
                CompressionMethod::Stored
            };
            let options = SimpleFileOptions::default().compression_method(method);
            let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
            for (name, bytes) in [
                ("before.npy", npy("|u1", false, &[3], &[1, 2, 3])),
                ("x.npy", npy(descr, fortran, shape, &ordered(fortran))),
            ] {
                writer.start_file(name, options).unwrap();
                writer.write_all(&bytes).unwrap();
            }
            writer.finish().unwrap().into_inner()
        }
        Form::Safetensors => {
            let before = TensorView::new(Dtype::U8, vec![3], &[1, 2, 3]).unwrap();
            let x = TensorView::new(dtype, shape.to_vec(), data).unwrap();
            safetensors::serialize([("before", before), ("x", x)], None).unwrap()
        }
    }
}

/// Writes values made of `seed`, and reads them back in every way.
fn read_back<T: Element + Pod + PartialEq + Debug>(
    (dtype, descr): (Dtype, &str),
    form: Form,
    shape: &[usize],
    piece: usize,
    seed: u64,
) -> Result<(), TestCaseError> {
    let size = size_of::<T>();
    let len: usize = shape.iter().product();
    let mut state = seed | 1;
    let data: Vec<u8> = (0..len * size)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    let file = Temporary::new(&written(form, dtype, descr, shape, size, &data));
    let opened = TensorFile::open(&file.0).unwrap();
    let array = match form {
        Form::Npy { .. } => opened.one().unwrap(),
        _ => opened.tensor("x").unwrap().clone(),
    };
    prop_assert_eq!(array.dtype(), T::DTYPE);
    let extents: Vec<u64> = shape.iter().map(|extent| *extent as u64).collect();
    prop_assert_eq!(array.shape(), &extents);
    prop_assert_eq!((array.len(), array.bytes()), (len as u64, data.len() as u64));

    // As bytes: a NaN is not equal to itself.
    let whole = array.read::<T>().unwrap();
    prop_assert_eq!(bytemuck::cast_slice::<T, u8>(&whole), &data);
    prop_assert_eq!(&*array.read_bytes().unwrap(), &data);
    let mut streamed: Vec<u8> = Vec::new();
    let mut kept = Vec::new();
    for values in array.stream::<T>(piece).unwrap() {
        let values = values.unwrap();
        prop_assert!(values.len() == piece || streamed.len() + values.len() * size == data.len());
        prop_assert_eq!(values.as_ptr() as usize % 16, 0);
        streamed.extend(bytemuck::cast_slice::<T, u8>(&values));
        // Every other piece is kept: what the reader writes next must not be in it.
        if values.len() % 2 == 0 {
            kept.push((streamed.len(), values));
        }
    }
    prop_assert_eq!(&streamed, &data);
    for (end, values) in kept {
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        prop_assert_eq!(bytes, &data[end - bytes.len()..end]);
    }
    let mut streamed = Vec::new();
    for bytes in array.stream_bytes(piece).unwrap() {
        streamed.extend_from_slice(&bytes.unwrap());
    }
    prop_assert_eq!(&streamed, &data);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_written_is_read_back(
        form in form(),
        shape in shape(),
        piece in 1_usize..400,
        kind in 0..12,
        seed: u64,
    ) {
        match kind {
            0 => read_back::<u8>((Dtype::U8, "|u1"), form, &shape, piece, seed)?,
            1 => read_back::<i8>((Dtype::I8, "|i1"), form, &shape, piece, seed)?,
            2 => read_back::<u16>((Dtype::U16, "<u2"), form, &shape, piece, seed)?,
            3 => read_back::<i16>((Dtype::I16, "<i2"), form, &shape, piece, seed)?,
            4 => read_back::<u32>((Dtype::U32, "<u4"), form, &shape, piece, seed)?,
            5 => read_back::<i32>((Dtype::I32, "<i4"), form, &shape, piece, seed)?,
            6 => read_back::<u64>((Dtype::U64, "<u8"), form, &shape, piece, seed)?,
            7 => read_back::<i64>((Dtype::I64, "<i8"), form, &shape, piece, seed)?,
            8 => read_back::<f16>((Dtype::F16, "<f2"), form, &shape, piece, seed)?,
            // NumPy's files know no bf16.
            9 => read_back::<bf16>((Dtype::BF16, ""), Form::Safetensors, &shape, piece, seed)?,
            10 => read_back::<f32>((Dtype::F32, "<f4"), form, &shape, piece, seed)?,
            _ => read_back::<f64>((Dtype::F64, "<f8"), form, &shape, piece, seed)?,
        }
    }

    /// Bytes changed or cut off: an array or an error, no panic. What a format's own reader of headers takes, ours takes,
    /// and the other way round, but for two tensors of one name and types that are unknown.
    #[test]
    fn damage_is_an_error(
        form in form(),
        shape in shape(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        header_only: bool,
    ) {
        let data = vec![7; shape.iter().product::<usize>() * 4];
        let mut bytes = written(form, Dtype::F32, "<f4", &shape, 4, &data);
        let most = if header_only { bytes.len().min(200) } else { bytes.len() };
        for (at, byte) in changes {
            bytes[at.index(most)] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let file = Temporary::new(&bytes);
        let opened = TensorFile::open(&file.0);
        if matches!(form, Form::Safetensors) && bytes.get(8) == Some(&b'{') {
            let duplicate = matches!(
                &opened,
                Err(Error::NotSafetensors { fault: warpfold::SafetensorsFault::Duplicate { .. }, .. })
            );
            let unknown = opened.iter().flat_map(TensorFile::tensors).any(|tensor| tensor.dtype() == DType::Other);
            let reference = safetensors::SafeTensors::deserialize(&bytes);
            prop_assert!(duplicate || unknown || reference.is_ok() == opened.is_ok(), "{:?} {:?}", opened, reference.err());
        }
        for tensor in opened.iter().flat_map(TensorFile::tensors) {
            if tensor.dtype() != DType::F32 {
                prop_assert!(tensor.read::<f32>().is_err());
            }
            let streamed = tensor.stream_bytes(100).map(|stream| stream.map(|piece| piece.map(|bytes| bytes.len())));
            if let Ok(stream) = streamed {
                let read: Result<Vec<usize>, Error> = stream.collect();
                prop_assert!(read.is_err() || read.unwrap().iter().sum::<usize>() as u64 == tensor.bytes());
            }
        }
    }
}

#[test]
fn names_with_anything_in_them_are_found() {
    let names = ["", "a:b", "ü/x.y", "__metadata", "a b", "line\nbreak"];
    let data = [1_u8; 4];
    let views = names.map(|name| (name, TensorView::new(Dtype::F32, vec![], &data).unwrap()));
    let file = Temporary::new(&safetensors::serialize(views, None).unwrap());
    for name in names {
        let mut path = file.0.clone().into_os_string();
        path.push(format!(":{name}"));
        let array = TensorFile::open(&path).unwrap().one().unwrap();
        assert_eq!((array.name(), array.label()), (Some(name), path.into()));
    }
}

/// A parser that tries one way after another takes twice as long for each bracket: of 22, 13 seconds.
#[test]
fn records_within_records_take_no_time() {
    let start = std::time::Instant::now();
    for depth in [11, 60, 5_000] {
        let nested = "[('a', ".repeat(depth) + "'<f4'" + &")]".repeat(depth);
        let header = format!("{{'descr': {nested}, 'fortran_order': False, 'shape': (2,), }}");
        let length = (header.len() as u32).to_le_bytes();
        let array = [b"\x93NUMPY\x02\x00", &length[..], header.as_bytes(), &[0; 8]].concat();
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file("x.npy", SimpleFileOptions::default()).unwrap();
        writer.write_all(&array).unwrap();
        for bytes in [array, writer.finish().unwrap().into_inner()] {
            let file = Temporary::new(&bytes);
            match TensorFile::open(&file.0).and_then(TensorFile::one) {
                Ok(record) => assert_eq!((record.dtype_name(), record.bytes()), (nested.as_str(), 8)),
                Err(error) => {
                    let words = error.to_string();
                    assert!(words.starts_with(file.0.to_str().unwrap()), "{words}");
                    assert!(
                        depth > 100 && words.ends_with("more than 200 brackets are open"),
                        "{words}"
                    );
                }
            }
        }
    }
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// A pipe can be read once, from its beginning.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_gives_one_array() {
    use std::{os::fd::AsRawFd, thread};

    let through_a_pipe = |bytes: Vec<u8>| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let sender = thread::spawn(move || {
            // A reader that wants no more is no failure here.
            let _ = writer.write_all(&bytes);
        });
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let opened = TensorFile::open(&path);
        drop(reader);
        (opened, path, sender)
    };
    let values: Vec<f32> = (0..50_000_u16).map(f32::from).collect();
    let (opened, _, sender) = through_a_pipe(npy("<f4", false, &[values.len()], bytemuck::cast_slice(&values)));
    let array = opened.unwrap().one().unwrap();
    let mut read = Vec::new();
    for piece in array.stream::<f32>(1000).unwrap() {
        read.extend_from_slice(&piece.unwrap());
    }
    assert_eq!(read, values);
    assert!(array.read::<f32>().is_err(), "read twice");
    drop(array);
    sender.join().unwrap();

    // It ends within the array.
    let mut cut = npy("<f4", false, &[values.len()], bytemuck::cast_slice(&values));
    let needed = cut.len();
    cut.truncate(needed - 10_000);
    let (opened, path, sender) = through_a_pipe(cut);
    let array = opened.unwrap().one().unwrap();
    let error = array.read::<f32>().unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!(
            "{path} is cut short: {needed} bytes by its header, {} bytes there",
            needed - 10_000
        )
    );
    sender.join().unwrap();

    let (opened, path, sender) = through_a_pipe(safetensors::serialize::<&str, TensorView<'_>, _>([], None).unwrap());
    assert_eq!(
        opened.unwrap_err().to_string(),
        format!("{path}: a .safetensors file is read from several places, and this is no regular file")
    );
    sender.join().unwrap();
}
