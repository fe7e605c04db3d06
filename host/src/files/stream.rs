//! Arrays in pieces, read ahead by a thread.

use std::{
    collections::TryReserveError,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    thread,
};

use super::{Element, Tensor};
use crate::Error;

/// Bytes at an address that is a multiple of 16, where a slice of any element type can begin.
#[derive(Clone, Debug, Default)]
pub struct AlignedBytes {
    lines: Vec<Line>,
    len: usize,
}

type Line = u128;

const LINE: usize = size_of::<Line>();
const _: () = assert!(align_of::<Line>() == 16);

impl AlignedBytes {
    /// Makes it `len` bytes long. What they are is not said.
    pub(super) fn resize(&mut self, len: usize) -> Result<(), TryReserveError> {
        let lines = len.div_ceil(LINE);
        self.lines.try_reserve_exact(lines.saturating_sub(self.lines.len()))?;
        self.lines.resize(lines, 0);
        self.len = len;
        Ok(())
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl DerefMut for AlignedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

/// An array piece by piece: see [`Tensor::stream`].
#[derive(Debug)]
pub struct Stream<T: Element> {
    pieces: Receiver<Result<AlignedBytes, Error>>,
    spare: Sender<AlignedBytes>,
    elements: PhantomData<T>,
}

/// An array of one piece and of no more bytes is read at once: starting a thread takes longer than that.
const AT_ONCE: u64 = 1 << 18;

impl<T: Element> Stream<T> {
    /// Starts the thread that reads pieces of `piece` elements of `element` bytes.
    pub(super) fn start(tensor: &Tensor, piece: usize, element: usize) -> Result<Self, Error> {
        assert!(piece > 0, "a piece of no elements");
        // No piece is larger than the array.
        let most = tensor.decoded_bytes().div_ceil(element as u64).max(1);
        let piece = tensor.fitting((piece as u64).min(most) * element as u64)?;
        let at_once = tensor.decoded_bytes() <= AT_ONCE.min(piece as u64);
        // Then nobody takes a piece before the error that may come behind it.
        let (full, pieces) = sync_channel(if at_once { 2 } else { 1 });
        let (spare, spares) = channel();
        let reader = Reader {
            tensor: tensor.clone(),
            piece,
            full,
            spares,
        };
        if at_once {
            reader.run();
        } else {
            let thread = thread::Builder::new().name("warpfold reader".into());
            thread.spawn(move || reader.run()).map_err(|source| tensor.at(source))?;
        }
        Ok(Self {
            pieces,
            spare,
            elements: PhantomData,
        })
    }
}

impl<T: Element> Iterator for Stream<T> {
    type Item = Result<Piece<T>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let piece = self.pieces.recv().ok()?;
        Some(piece.map(|bytes| Piece {
            bytes,
            spare: self.spare.clone(),
            elements: PhantomData,
        }))
    }
}

/// Consecutive elements of an array, at an address that is a multiple of 16. Dropped, its memory goes to a later piece.
#[derive(Debug)]
pub struct Piece<T: Element> {
    bytes: AlignedBytes,
    spare: Sender<AlignedBytes>,
    elements: PhantomData<T>,
}

impl<T: Element> Deref for Piece<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.bytes)
    }
}

impl<T: Element> Drop for Piece<T> {
    fn drop(&mut self) {
        // Nobody there to take it: the file is read to its end.
        let _ = self.spare.send(std::mem::take(&mut self.bytes));
    }
}

/// The other end of a stream.
struct Reader {
    tensor: Tensor,
    /// In bytes.
    piece: usize,
    full: SyncSender<Result<AlignedBytes, Error>>,
    spares: Receiver<AlignedBytes>,
}

/// Why reading ends early.
enum Stop {
    /// Nobody wants more pieces.
    Unwanted,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Reader {
    fn run(self) {
        let sent = if self.tensor.transposed() {
            self.send_ordered()
        } else {
            self.send()
        };
        if let Err(Stop::Failed(error)) = sent {
            // A failed send: nobody wants to know.
            let _ = self.full.send(Err(error));
        }
    }

    fn send(&self) -> Result<(), Stop> {
        self.tensor.with_elements(|elements| {
            let mut left = self.tensor.decoded_bytes();
            while left > 0 {
                let len = usize::try_from(left).unwrap_or(self.piece).min(self.piece);
                self.send_piece(len, |bytes| elements.fill(bytes))?;
                left -= len as u64;
            }
            Ok(())
        })
    }

    fn send_ordered(&self) -> Result<(), Stop> {
        let all = self.tensor.read_bytes()?;
        all.chunks(self.piece).try_for_each(|piece| {
            self.send_piece(piece.len(), |bytes| {
                bytes.copy_from_slice(piece);
                Ok(())
            })
        })
    }

    fn send_piece(&self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), Error>) -> Result<(), Stop> {
        let mut bytes = self.spares.try_recv().unwrap_or_default();
        self.tensor.resize(&mut bytes, len)?;
        fill(&mut bytes)?;
        self.full.send(Ok(bytes)).map_err(|_| Stop::Unwanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_aligned_at_any_length() {
        let mut bytes = AlignedBytes::default();
        for len in [0, 1, 15, 16, 17, 4096, 3] {
            bytes.resize(len).unwrap();
            assert_eq!(bytes.len(), len);
            assert_eq!(bytes.as_ptr() as usize % 16, 0);
            bytes.fill(7);
        }
        assert!(bytes.resize(usize::MAX - 15).is_err());
    }
}
