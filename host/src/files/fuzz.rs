//! What fuzzing runs: any bytes are opened as a file, and all that is in it is read.

use std::{
    env, fs, process,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{Checkpoint, DType, Element, Tensor, bf16, complex64, complex128, f8e4m3, f8e5m2, f16};
use crate::Error;

/// Elements of a piece.
const PIECE: usize = 4096;
/// An array that has so many times the bytes of its file is streamed, but not read as a whole.
const MOST_READ: u64 = 32;

/// Opens `bytes` as a file, or as an index where they are JSON, and reads each tensor in every way. Answers how many could
/// be read.
///
/// # Panics
///
/// If two ways of reading differ in what they read.
pub fn read_everything(bytes: &[u8]) -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    // Of its own, for an index names other files of its folder.
    let folder = env::temp_dir().join(format!("warpfold-fuzz-{}-{number}", process::id()));
    let ending = if bytes.starts_with(b"{") { ".index.json" } else { "" };
    let path = folder.join(format!("file{ending}"));
    let written = fs::create_dir(&folder).and_then(|()| fs::write(&path, bytes));
    written.expect("the folder for temporary files can be written to");
    let opened = Checkpoint::open(&path);
    let read = opened.map_or(0, |opened| {
        opened.faults().iter().for_each(|fault| drop(fault.to_string()));
        let tensors = opened.tensors();
        tensors
            .filter(|tensor| read(tensor, bytes.len() as u64).is_ok())
            .count()
    });
    // It may be gone; then nothing is left to remove.
    let _ = fs::remove_dir_all(&folder);
    read
}

fn read(tensor: &Tensor, file_bytes: u64) -> Result<(), Error> {
    macro_rules! by_type {
        ($($dtype:ident: $element:ty),*) => {
            match tensor.dtype().decoded() {
                $(DType::$dtype => elements::<$element>(tensor, file_bytes),)*
                _ => tensor.stream_bytes(PIECE)?.try_for_each(|piece| piece.map(drop)),
            }
        };
    }
    by_type!(
        Bool: u8, U8: u8, I8: i8, U16: u16, I16: i16, U32: u32, I32: i32, U64: u64, I64: i64, F16: f16, Bf16: bf16,
        F32: f32, F64: f64, F8E4M3: f8e4m3, F8E5M2: f8e5m2, Complex64: complex64, Complex128: complex128
    )
}

fn elements<T: Element>(tensor: &Tensor, file_bytes: u64) -> Result<(), Error> {
    let mut len = 0;
    let mut last = None;
    for piece in tensor.stream::<T>(PIECE)? {
        let piece = piece?;
        len += piece.len() as u64;
        last = piece.last().copied();
    }
    assert_eq!(len, tensor.len(), "a stream without an error has all elements");
    let same = |found: Option<&T>| {
        let [last, found] = [last.as_ref(), found].map(|value| value.map(bytemuck::bytes_of));
        assert_eq!(last, found, "the last element");
    };
    if tensor.decoded_bytes() <= MOST_READ * file_bytes {
        same(tensor.read::<T>()?.last());
    }
    if tensor.is_seekable() && len > 0 {
        let mut found = [T::zeroed()];
        tensor.read_at(len - 1, &mut found)?;
        same(found.first());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Instant};

    use super::*;

    /// The seeds, those of `cargo fuzz` too.
    fn seeds() -> Vec<(String, Vec<u8>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/files");
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut seeds: Vec<_> = entries
            .map(|path| {
                (
                    path.file_name().unwrap().to_str().unwrap().to_owned(),
                    fs::read(&path).unwrap(),
                )
            })
            .collect();
        seeds.sort();
        seeds
    }

    /// Numbers that lengths overflow at.
    const NUMBERS: [u64; 8] = [0, 1, 0x7f, 0xff, 1 << 31, u32::MAX as u64, 1 << 63, u64::MAX];

    /// A few changes of `bytes`, which `next` draws.
    fn mutated(mut bytes: Vec<u8>, other: &[u8], next: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
        for _ in 0..=next(3) {
            if bytes.is_empty() {
                break;
            }
            let at = next(bytes.len());
            match next(8) {
                0 | 1 => bytes[at] ^= 1 << next(8),
                2 => bytes[at] = next(256) as u8,
                3 => bytes.truncate(at),
                4 | 5 => {
                    let number = NUMBERS[next(NUMBERS.len())].to_le_bytes();
                    let end = bytes.len().min(at + [1, 2, 4, 8][next(4)]);
                    bytes[at..end].copy_from_slice(&number[..end - at]);
                }
                6 => {
                    let end = (at + 1 + next(40)).min(bytes.len());
                    let range = bytes[at..end].to_vec();
                    bytes.splice(at..at, range);
                }
                _ => {
                    bytes.truncate(at);
                    bytes.extend(&other[next(other.len())..]);
                }
            }
        }
        bytes
    }

    #[test]
    fn no_bytes_panic_or_take_memory_or_time() {
        let seeds = seeds();
        let start = Instant::now();
        let whole = |name: &str| {
            seeds
                .iter()
                .find(|seed| seed.0 == name)
                .map(|seed| read_everything(&seed.1))
        };
        for (name, tensors) in [
            ("c_order.npy", 1),
            ("fortran.npy", 1),
            ("stored.npz", 2),
            ("deflated.npz", 2),
            ("tensors.safetensors", 2),
            ("blocks.gguf", 4),
            ("big_endian.gguf", 1),
            ("index.json", 0),
        ] {
            assert_eq!(whole(name), Some(tensors), "{name}");
        }
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let mut read = 0;
        for round in 0..400 {
            for (name, seed) in &seeds {
                let other = &seeds[next(seeds.len())].1;
                let bytes = mutated(seed.clone(), other, &mut next);
                let taken = allocation_counter::measure(|| read += read_everything(&bytes));
                let most = (1 << 20) + 64 * bytes.len() as u64;
                assert!(
                    taken.bytes_max <= most,
                    "{name}, round {round}: {} bytes",
                    taken.bytes_max
                );
            }
        }
        assert!(
            read > 1000,
            "{read} tensors could be read: these are no mutations but noise"
        );
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
