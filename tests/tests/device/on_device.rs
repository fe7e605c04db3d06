//! Arrays and answers in device memory, with something around them that shows who went too far.

use cust::{
    context::CurrentContext,
    memory::{CopyDestination, DeviceBuffer, DeviceSlice, mem_get_info},
    stream::{Stream, StreamFlags},
};
use warpfold::{
    gpu::{Gpu, Prepared, Workspace},
    ops::Reduction,
};
use warpfold_kernels::kernels::Entry;
use warpfold_tests::{Bits, backends};

/// Around an array: a NaN, so that no answer survives its being read.
const POISON: u32 = 0x7fc0_dead;

/// Around an answer, and in it until it is written.
const CANARY: u32 = 0xdead_beef;

/// Words on each side.
const GUARD: usize = 64;

/// An array in device memory.
pub struct Array {
    buffer: DeviceBuffer<f32>,
    first: usize,
    len: usize,
}

impl Array {
    /// A copy of `values`, the first of them `misalign` elements past a 16-byte boundary.
    pub fn new(values: &[f32], misalign: usize) -> Self {
        let first = GUARD + misalign;
        // SAFETY: filled on the next line.
        let buffer = unsafe { DeviceBuffer::uninitialized(first + values.len() + GUARD) };
        let mut buffer = buffer.expect("device memory");
        buffer.set_32(POISON).expect("cuMemsetD32");
        let len = values.len();
        let array = Self { buffer, first, len };
        array.fill(values);
        array
    }

    /// Replaces the contents, and waits until they are there: a copy from pageable memory may still be under way when it
    /// returns.
    pub fn fill(&self, values: &[f32]) {
        self.slice().copy_from(values).expect("cuMemcpyHtoD");
        CurrentContext::synchronize().expect("cuCtxSynchronize");
    }

    /// The elements.
    pub fn slice(&self) -> DeviceSlice<f32> {
        self.buffer.index(self.first..self.first + self.len)
    }

    /// The first element's address.
    pub fn address(&self) -> u64 {
        self.slice().as_device_ptr().as_raw()
    }

    /// Fails unless the buffer still holds `values`, and poison around them.
    pub fn assert_holds(&self, values: &[f32]) {
        let mut words = vec![0.0; self.buffer.len()];
        self.buffer.copy_to(&mut words[..]).expect("cuMemcpyDtoH");
        for (at, word) in words.iter().enumerate() {
            let expected = match at.checked_sub(self.first).and_then(|at| values.get(at)) {
                Some(value) => value.to_bits(),
                None => POISON,
            };
            assert_eq!(word.to_bits(), expected, "word {at} of the input's buffer");
        }
    }
}

/// Room for one answer, at an address that is a multiple of 4 and of no larger power of two.
pub struct Answer {
    words: DeviceBuffer<u32>,
}

impl Answer {
    const FIRST: usize = GUARD + 1;
    const MOST: usize = 4;

    /// Not yet written.
    pub fn new() -> Self {
        let canaries = [CANARY; Self::FIRST + Self::MOST + GUARD];
        let words = DeviceBuffer::from_slice(&canaries).expect("device memory");
        CurrentContext::synchronize().expect("cuCtxSynchronize");
        Self { words }
    }

    /// Where it goes.
    pub fn address(&self) -> u64 {
        self.words.index(Self::FIRST..).as_device_ptr().as_raw()
    }

    /// The answer of an entry, packed. Waits for everything; fails if a byte beside it was written.
    pub fn read(&self, entry: &Entry) -> Bits {
        let unit = entry.answer_bytes / entry.answer_words;
        let bytes = self.bytes_beside(entry.answer_bytes);
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        Bits(bytes.chunks(unit).map(word).collect())
    }

    /// The first `count` bytes, those beside them being as they were.
    fn bytes_beside(&self, count: usize) -> Vec<u8> {
        CurrentContext::synchronize().expect("cuCtxSynchronize");
        let mut words = vec![0_u32; self.words.len()];
        self.words.copy_to(&mut words[..]).expect("cuMemcpyDtoH");
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let answer = 4 * Self::FIRST..4 * Self::FIRST + count;
        for (at, byte) in bytes.iter().enumerate().filter(|(at, _)| !answer.contains(at)) {
            assert_eq!(
                *byte,
                CANARY.to_le_bytes()[at % 4],
                "byte {at} of the answer's buffer, the answer being {answer:?}"
            );
        }
        bytes[answer].to_vec()
    }

    /// Fails if anything was written.
    pub fn assert_unwritten(&self) {
        self.bytes_beside(0);
    }
}

/// A stream of the current context.
pub fn stream() -> Stream {
    Stream::new(StreamFlags::DEFAULT, None).expect("cuStreamCreate")
}

/// The blocking call's answer; `None` where the operator has none over nothing.
pub fn reduce<R: Reduction<f32>>(gpu: &Gpu, op: R, input: &Array) -> Option<Bits> {
    backends::answer(gpu.reduce(op, &input.slice()))
}

/// Enqueues a launch.
pub fn launch<R: Reduction<f32>>(
    prepared: &Prepared<R, f32>,
    stream: &Stream,
    input: &Array,
    answer: &Answer,
    workspace: &mut Workspace,
) {
    // SAFETY: the tests keep all four until they have waited for the stream, and lend a workspace to one stream only.
    let launched = unsafe { prepared.launch_raw(stream, [input.address(), 0], answer.address(), workspace) };
    launched.unwrap_or_else(|error| panic!("{}: {error}", prepared.plan()));
}

/// The answer of one launch on a stream of its own.
pub fn launch_and_wait<R: Reduction<f32>>(prepared: &Prepared<R, f32>, input: &Array) -> Bits {
    let (stream, answer) = (stream(), Answer::new());
    let mut workspace = prepared.workspace().expect("a workspace");
    launch(prepared, &stream, input, &answer, &mut workspace);
    stream
        .synchronize()
        .unwrap_or_else(|error| panic!("{}: {error}", prepared.plan()));
    answer.read(prepared.plan().entry)
}

/// Bytes of device memory that are free.
pub fn free() -> usize {
    CurrentContext::synchronize().expect("cuCtxSynchronize");
    mem_get_info().expect("cuMemGetInfo").0
}

/// Fails if `work` leaves less device memory free than there was, three times in a row: others may use the device, too.
pub fn keeps_free_memory(mut work: impl FnMut()) {
    let mut lost = vec![];
    for _ in 0..3 {
        let before = free();
        work();
        let after = free();
        if after >= before {
            return;
        }
        lost.push(before - after);
    }
    panic!("{lost:?} bytes of device memory are gone");
}
