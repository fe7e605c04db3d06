//! Arrays in pieces, read ahead by a thread where there is one to be had.

use std::{
    collections::TryReserveError,
    io,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    sync::mpsc::{Receiver, Sender, channel, sync_channel},
    thread,
};

use super::{Element, Tensor, elements::Elements};
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
    pieces: Pieces,
    spare: Sender<AlignedBytes>,
    elements: PhantomData<T>,
}

/// Who reads.
#[derive(Debug)]
enum Pieces {
    /// A thread, ahead of who takes them.
    Ahead(Receiver<Result<AlignedBytes, Error>>),
    /// The thread that takes them.
    Here(Box<Reader>),
}

/// An array of one piece and of no more bytes is read by the calling thread: starting another takes longer than that.
const AT_ONCE: u64 = 1 << 18;

impl<T: Element> Stream<T> {
    /// Starts to read pieces of `piece` elements of `element` bytes.
    pub(super) fn start(tensor: &Tensor, piece: usize, element: usize) -> Result<Self, Error> {
        assert!(piece > 0, "a piece of no elements");
        // No piece is larger than the array.
        let most = tensor.decoded_bytes().div_ceil(element as u64).max(1);
        let piece = tensor.fitting((piece as u64).min(most) * element as u64)?;
        let ahead = tensor.decoded_bytes() > AT_ONCE.min(piece as u64);
        let (pieces, spare) = match ahead.then(|| read_ahead(tensor, piece)) {
            Some(Ok((pieces, spare))) => (Pieces::Ahead(pieces), spare),
            // The system starts no thread, or none is wanted.
            _ => {
                let (reader, spare) = Reader::new(tensor, piece);
                (Pieces::Here(Box::new(reader)), spare)
            }
        };
        Ok(Self {
            pieces,
            spare,
            elements: PhantomData,
        })
    }
}

/// What a thread reads, and where it gets memory back.
type Ahead = (Receiver<Result<AlignedBytes, Error>>, Sender<AlignedBytes>);

/// Starts the thread that reads.
fn read_ahead(tensor: &Tensor, piece: usize) -> io::Result<Ahead> {
    let (full, pieces) = sync_channel(1);
    let (mut reader, spare) = Reader::new(tensor, piece);
    let read = move || {
        // A failed send: nobody wants more pieces.
        let _ = reader.try_for_each(|piece| full.send(piece));
    };
    thread::Builder::new().name("warpfold reader".into()).spawn(read)?;
    Ok((pieces, spare))
}

impl<T: Element> Iterator for Stream<T> {
    type Item = Result<Piece<T>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let piece = match &mut self.pieces {
            Pieces::Ahead(pieces) => pieces.recv().ok()?,
            Pieces::Here(reader) => reader.next()?,
        };
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

/// Reads an array piece by piece, up to the first error.
#[derive(Debug)]
pub(super) struct Reader {
    tensor: Tensor,
    /// Bytes of a piece.
    piece: usize,
    /// Bytes that were read.
    done: u64,
    from: Origin,
    spares: Receiver<AlignedBytes>,
}

/// Where pieces come from.
#[derive(Debug)]
enum Origin {
    /// Not opened yet.
    Start,
    /// The file.
    File(Box<Elements>),
    /// All elements, put in C order.
    Ordered(AlignedBytes),
    /// Nowhere: all were read, or an error came.
    End,
}

impl Reader {
    /// With where it gets memory back.
    pub(super) fn new(tensor: &Tensor, piece: usize) -> (Self, Sender<AlignedBytes>) {
        let (spare, spares) = channel();
        let reader = Self {
            tensor: tensor.clone(),
            piece,
            done: 0,
            from: Origin::Start,
            spares,
        };
        (reader, spare)
    }

    /// The next piece, if there is one.
    fn read(&mut self) -> Result<Option<AlignedBytes>, Error> {
        if matches!(self.from, Origin::Start) {
            self.from = if self.tensor.transposed() {
                Origin::Ordered(self.tensor.read_bytes()?)
            } else {
                Origin::File(Box::new(self.tensor.elements()?))
            };
        }
        let left = self.tensor.decoded_bytes() - self.done;
        if left == 0 {
            if let Origin::File(elements) = &mut self.from {
                elements.finish()?;
            }
            return Ok(None);
        }
        let len = usize::try_from(left).unwrap_or(self.piece).min(self.piece);
        let mut bytes = self.spares.try_recv().unwrap_or_default();
        self.tensor.resize(&mut bytes, len)?;
        match &mut self.from {
            Origin::File(elements) => elements.fill(&mut bytes)?,
            Origin::Ordered(all) => bytes.copy_from_slice(&all[self.done as usize..][..len]),
            Origin::Start | Origin::End => return Ok(None),
        }
        self.done += len as u64;
        Ok(Some(bytes))
    }
}

impl Iterator for Reader {
    type Item = Result<AlignedBytes, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if matches!(self.from, Origin::End) {
            return None;
        }
        let piece = self.read().transpose();
        if !matches!(piece, Some(Ok(_))) {
            self.from = Origin::End;
        }
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{Temporary, npy},
        *,
    };

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
    #[test]
    fn the_calling_thread_reads_the_same_pieces_in_order() {
        let data: Vec<u8> = (0..24).collect();
        let in_c = npy("'|u1'", "(4, 6)", &data);
        let mut in_fortran = in_c.clone();
        let order = in_c.windows(5).position(|word| word == b"False").expect("an order");
        in_fortran[order..order + 5].copy_from_slice(b"True ");
        for bytes in [in_c, in_fortran] {
            let file = Temporary::new(".npy", &bytes);
            let tensor = file.open().unwrap().one().unwrap();
            let read = tensor.stream::<u8>(7).unwrap().map(|piece| piece.unwrap().to_vec());
            let here = Reader::new(&tensor, 7).0.map(|piece| piece.unwrap().to_vec());
            let (read, here): (Vec<_>, Vec<_>) = (read.collect(), here.collect());
            assert_eq!(read, here);
            assert_eq!(here.concat(), tensor.read::<u8>().unwrap());
            assert_eq!(here.len(), 4);
        }
    }
}
