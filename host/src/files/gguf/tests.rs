use super::{
    super::{
        TensorFile, bf16, f16,
        tests::{Temporary, in_words},
    },
    *,
};

/// Made by PyPI's `gguf` (tests/data/every_type.py): blocks of each type, and the values that it makes of them.
const EVERY_TYPE: &[u8] = include_bytes!("../../../tests/data/every_type.gguf");

/// A file that is made piece by piece, in either order of bytes.
pub struct Writer {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl Writer {
    pub fn new(version: u32, tensors: u64, keys: u64, big_endian: bool) -> Self {
        let bytes = MAGIC.to_vec();
        Self { bytes, big_endian }.u32(version).u64(tensors).u64(keys)
    }

    fn number<const N: usize>(mut self, little: [u8; N]) -> Self {
        let mut bytes = little;
        if self.big_endian {
            bytes.reverse();
        }
        self.bytes.extend(bytes);
        self
    }

    pub fn u32(self, number: u32) -> Self {
        self.number(number.to_le_bytes())
    }

    pub fn u64(self, number: u64) -> Self {
        self.number(number.to_le_bytes())
    }

    pub fn text(self, text: &str) -> Self {
        let mut with = self.u64(text.len() as u64);
        with.bytes.extend(text.bytes());
        with
    }

    /// A tensor whose `shape` is fastest index first.
    pub fn tensor(self, name: &str, shape: &[u64], kind: u32, offset: u64) -> Self {
        let with = self.text(name).u32(shape.len() as u32);
        let with = shape.iter().fold(with, |with, extent| with.u64(*extent));
        with.u32(kind).u64(offset)
    }

    /// The file, with these bytes of data.
    pub fn data(mut self, data: &[u8]) -> Vec<u8> {
        self.bytes.resize(self.bytes.len().next_multiple_of(32), 0);
        self.bytes.extend(data);
        self.bytes
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn every_type_has_the_values_that_pypi_gguf_has() {
    let file = Temporary::new("", EVERY_TYPE);
    let opened = file.open().unwrap();
    assert_eq!(opened.format().to_string(), "gguf");
    let mut types = 0;
    for tensor in opened.tensors() {
        let name = tensor.name().unwrap();
        let Ok(expected) = opened.tensor(&format!("{name} as f32")) else {
            continue;
        };
        assert_eq!(tensor.shape(), expected.shape(), "{name}");
        let expected = bits(&expected.read().unwrap());
        if name == "BF16" {
            let values: Vec<f32> = tensor
                .read::<bf16>()
                .unwrap()
                .iter()
                .map(|value| value.to_f32())
                .collect();
            assert_eq!(bits(&values), expected);
            continue;
        }
        types += 1;
        assert_eq!((tensor.dtype(), tensor.dtype_name()), (DType::Quantised, name));
        assert_eq!(bits(&tensor.read().unwrap()), expected, "{name}");
        for piece in [1, 31, 256, 300, 10_000] {
            let pieces: Vec<f32> = tensor
                .stream(piece)
                .unwrap()
                .flat_map(|values| values.unwrap().to_vec())
                .collect();
            assert_eq!(bits(&pieces), expected, "{name} in pieces of {piece}");
        }
        assert!(tensor.is_seekable());
        for (first, len) in [(0, 1), (31, 2), (33, 64), (255, 30), (96, 96), (expected.len() - 1, 1)] {
            let mut values = vec![0.0; len];
            tensor.read_at(first as u64, &mut values).unwrap();
            assert_eq!(bits(&values), expected[first..first + len], "{name} from {first}");
        }
        assert_eq!(
            in_words(&tensor.read::<f16>().unwrap_err(), &file.0),
            format!("FILE:{name} is of {name}, and was to be read as float16")
        );
        assert!(matches!(tensor.read_bytes(), Err(Error::Dtype { .. })));
    }
    assert_eq!(types, 23);
}

#[test]
fn plain_types_and_metadata_are_read() {
    let file = Temporary::new("", EVERY_TYPE);
    let opened = file.open().unwrap();
    let plain = |name: &str| {
        let tensor = opened.tensor(name).unwrap();
        assert_eq!((tensor.dtype_name(), tensor.shape()), (name, &[2, 3][..]));
        tensor
    };
    assert_eq!(plain("float32").read::<f32>().unwrap(), [-3., -2., -1., 0., 1., 2.]);
    assert_eq!(plain("float64").read::<f64>().unwrap(), [-3., -2., -1., 0., 1., 2.]);
    assert_eq!(plain("float16").read::<f16>().unwrap()[0], f16::from_f32(-3.0));
    assert_eq!(plain("int8").read::<i8>().unwrap(), [-3, -2, -1, 0, 1, 2]);
    assert_eq!(plain("int16").read::<i16>().unwrap(), [-3, -2, -1, 0, 1, 2]);
    assert_eq!(plain("int32").read::<i32>().unwrap(), [-3, -2, -1, 0, 1, 2]);
    assert_eq!(plain("int64").read::<i64>().unwrap(), [-3, -2, -1, 0, 1, 2]);
    let metadata: Vec<_> = opened
        .metadata()
        .iter()
        .map(|(key, value)| (&**key, &**value))
        .collect();
    assert_eq!(
        metadata,
        [
            ("general.architecture", "none"),
            ("general.name", "every type"),
            ("warpfold.count", "26"),
            ("warpfold.half", "0.5"),
            ("warpfold.truth", "true"),
            ("warpfold.words", "[one, two, three], 3 of type string"),
            ("warpfold.numbers", "[1, 2, 3, …], 19 of type int32"),
        ]
    );
}

#[test]
fn big_endian_files_are_read_but_for_their_blocks() {
    let bytes = Writer::new(3, 2, 1, true)
        .text("key")
        .u32(4)
        .u32(77)
        .tensor("plain", &[3, 1], 26, 0)
        .tensor("blocks", &[32], 2, 32)
        .data(&[[0, 0, 0, 1, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff].as_slice(), &[0; 38]].concat());
    let file = Temporary::new("", &bytes);
    let opened = file.open().unwrap();
    assert_eq!(opened.metadata(), [("key".to_owned(), "77".to_owned())]);
    let plain = opened.tensor("plain").unwrap();
    assert_eq!(
        (plain.shape(), plain.read::<i32>().unwrap()),
        (&[1, 3][..], vec![1, 256, -1])
    );
    assert_eq!(
        in_words(&opened.tensor("blocks").unwrap_err(), &file.0),
        "FILE is no .gguf file that can be read: tensor \"blocks\" has big-endian blocks of Q4_0, and only little-endian \
         ones are read"
    );
}

/// A tensor that cannot be read spoils no other.
#[test]
fn faults_are_of_one_tensor() {
    let of = |name: &str, shape: &[u64], kind: u32, offset: u64| {
        Writer::new(3, 2, 0, false)
            .tensor("good", &[4], 24, 0)
            .tensor(name, shape, kind, offset)
            .data(&[5; 64])
    };
    let cut = "tensor \"w\" ends at byte 161, and the file has 160: it is cut short";
    for (shape, kind, offset, says) in [
        (&[33][..], 24, 32, cut),
        (
            &[1],
            24,
            u64::MAX,
            "tensor \"w\" ends at byte 18446744073709551712, and the file has 160: it is cut short",
        ),
        (
            &[4],
            24,
            33,
            "tensor \"w\" is at offset 33 of the data, which is no multiple of the alignment 32",
        ),
        (
            &[4],
            24,
            0,
            "tensor \"w\" starts at byte 96, within tensor \"good\", which ends at 100",
        ),
        (
            &[33, 2],
            2,
            32,
            "tensor \"w\" has rows of 33 elements, and a block of Q4_0 has 32",
        ),
        (
            &[1 << 32, 1 << 31],
            24,
            32,
            "tensor \"w\" of shape [2147483648, 4294967296] has 2^63 bytes or more",
        ),
    ] {
        let file = Temporary::new("", &of("w", shape, kind, offset));
        let opened = file.open().unwrap();
        assert_eq!(opened.tensor("good").unwrap().read::<i8>().unwrap(), [5; 4]);
        let tensor = &opened.tensors()[1];
        for error in [
            tensor.fault().unwrap(),
            TensorFile::open(file.named("w")).unwrap_err(),
            match kind {
                2 => tensor.read::<f32>().map(drop).unwrap_err(),
                _ => tensor.read::<i8>().map(drop).unwrap_err(),
            },
        ] {
            assert_eq!(
                in_words(&error, &file.0),
                format!("FILE is no .gguf file that can be read: {says}")
            );
        }
    }
    // A type that this program does not know.
    let file = Temporary::new("", &of("new", &[7, 3], 99, 32));
    let opened = file.open().unwrap();
    let new = opened.tensor("new").unwrap();
    assert_eq!(
        (new.dtype(), new.dtype_name(), new.shape()),
        (DType::Other, "ggml type 99", &[3, 7][..])
    );
    assert_eq!((new.len(), new.bytes()), (21, 32));
    assert!(matches!(new.read_bytes(), Err(Error::Dtype { .. })));
}

#[test]
fn headers_that_are_none_are_refused() {
    let array = |keys: Writer, kind: u32, len: u64| keys.text("k").u32(9).u32(kind).u64(len);
    let one = || Writer::new(3, 0, 1, false);
    let nested = (0..5).fold(one().text("k").u32(9), |with, _| with.u32(9).u64(1));
    for (bytes, says) in [
        (
            MAGIC.to_vec(),
            "the version at byte 4 needs 4 bytes, and 0 bytes of the file are left",
        ),
        (
            Writer::new(1, 0, 0, false).bytes,
            "it is of version 1 of the format, and versions 2 and 3 are read",
        ),
        (
            Writer::new(4, 0, 0, true).bytes,
            "it is of version 4 of the format, and versions 2 and 3 are read",
        ),
        (
            Writer::new(3, u64::MAX, 0, false).bytes,
            "the list of tensors at byte 24 needs 18446744073709551615 bytes, and 0 bytes of the file are left",
        ),
        (
            Writer::new(3, 0, 1 << 40, false).bytes,
            "the list of metadata at byte 24 needs 14293651161088 bytes, and 0 bytes of the file are left",
        ),
        (
            one().u64(1 << 60).u64(0).bytes,
            "a key of the metadata at byte 32 needs 1152921504606846976 bytes, and 8 bytes of the file are left",
        ),
        (
            one().text("k").u32(13).u64(0).bytes,
            "its metadata \"k\" has values of type 13, which the format does not have",
        ),
        (
            array(one(), 13, 0).bytes,
            "its metadata \"k\" has values of type 13, which the format does not have",
        ),
        (
            array(one(), 12, 1 << 61).bytes,
            "an array of the metadata at byte 49 needs 18446744073709551615 bytes, and 0 bytes of the file are left",
        ),
        (nested.bytes, "its metadata \"k\" has arrays nested deeper than 4"),
        (
            one().text("general.alignment").u32(4).u32(24).bytes,
            "its alignment is 24, and must be a power of two",
        ),
        (
            Writer::new(3, 2, 0, false)
                .tensor("w", &[], 24, 0)
                .tensor("w", &[], 24, 32)
                .data(&[0; 64]),
            "two tensors are named \"w\"",
        ),
        (
            Writer::new(3, 1, 0, false).tensor("w", &[1; 65], 24, 0).data(&[0; 64]),
            "tensor \"w\" has 65 axes, and an array has at most 64",
        ),
    ] {
        let file = Temporary::new("", &bytes);
        assert_eq!(
            in_words(&file.open().unwrap_err(), &file.0),
            format!("FILE is no .gguf file that can be read: {says}")
        );
    }
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let file = Temporary::new("", EVERY_TYPE);
    let opened = file.open().unwrap();
    let tensor = opened.tensor("Q4_K").unwrap();
    let shrunk = std::fs::OpenOptions::new().write(true).open(&file.0).unwrap();
    shrunk.set_len(5000).unwrap();
    let streamed = tensor.stream::<f32>(7).unwrap().find_map(Result::err).unwrap();
    for error in [
        tensor.read::<f32>().unwrap_err(),
        tensor.read_at(300, &mut [0.0_f32; 2]).unwrap_err(),
        streamed,
    ] {
        assert!(matches!(error, Error::Truncated { found: 5000, .. }), "{error}");
    }
    // The number of tensors begins like JSON, where the header of a safetensors file would.
    let mut many = Writer::new(3, 123, 0, false);
    for at in 0..123 {
        many = many.tensor(&at.to_string(), &[], 24, at * 32);
    }
    assert_eq!(
        Temporary::new(".safetensors", &many.data(&[0; 123 * 32]))
            .open()
            .unwrap()
            .tensors()
            .len(),
        123
    );
}
