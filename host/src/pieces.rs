//! Folds in pieces: an array larger than the memory it is folded in, without changing a bit of the answer.
//!
//! Any power-of-two group of neighbouring leaves is a subtree of the canonical tree, so pieces of one such size, folded
//! by themselves and combined as the tree combines them, give what one fold of the whole would give. Which device
//! folded which piece does not matter.

use warpfold_kernels::{element::Item, monoids::Monoid, tree::leaf_elements};

use crate::{
    Error,
    ops::{EmptyInput as _, Reduction},
};

/// Combines the states of consecutive pieces.
///
/// All pieces have the same length, a power of two leaves (1024 elements of f32), but the last, which may be shorter.
///
/// Cost: one `combine` a piece; `log₂` of their number states are kept.
///
/// ```
/// use warpfold::{cpu, ops::Sum, pieces::Pieces};
///
/// let values: Vec<f32> = (0..10_000).map(|i| 1.0 / (1 + i) as f32).collect();
/// let mut pieces = Pieces::<_, f32>::new(Sum, 4096)?;
/// for piece in values.chunks(4096) {
///     pieces.push(cpu::fold(Sum, piece), piece.len() as u64)?;
/// }
/// assert_eq!(pieces.finish()?.0, cpu::reduce(Sum, &values)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pieces<R: Reduction<T>, T: Item> {
    op: R,
    piece: u64,
    len: u64,
    /// Subtrees still without their right neighbour, largest first: one for each bit of the number of whole pieces,
    /// and one for the short last piece.
    waiting: Vec<R::State>,
}

impl<R: Reduction<T>, T: Item> Pieces<R, T> {
    /// No piece yet; each but the last will have `piece` elements.
    ///
    /// # Errors
    ///
    /// [`Error::PieceLength`] if `piece` is not a power of two leaves; [`Error::Parameter`].
    pub fn new(op: R, piece: u64) -> Result<Self, Error> {
        op.check()?;
        let leaf = leaf_elements::<T>() as u64;
        if !piece.is_multiple_of(leaf) || !(piece / leaf).is_power_of_two() {
            return Err(Error::PieceLength { piece, leaf });
        }
        Ok(Self {
            op,
            piece,
            len: 0,
            waiting: Vec::new(),
        })
    }

    /// Elements so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no elements so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes the next piece: the `state` of its `len` elements, positions counted from its own start. A piece of no
    /// elements changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::PieceOrder`] if the piece is longer than the others, or comes after a shorter one;
    /// [`Error::LengthOverflow`] if there are 2⁶⁴ elements or more. The pieces so far stay as they were.
    pub fn push(&mut self, state: R::State, len: u64) -> Result<(), Error> {
        if len == 0 {
            return Ok(());
        }
        if len > self.piece || !self.len.is_multiple_of(self.piece) {
            return Err(Error::PieceOrder {
                len,
                piece: self.piece,
                before: self.len,
            });
        }
        let overflow = Error::LengthOverflow {
            elements: u64::MAX,
            element_bytes: T::BYTES,
        };
        let end = self.len.checked_add(len).ok_or(overflow)?;
        let op = self.op.monoid();
        let mut state = op.shift(state, self.len);
        if len == self.piece {
            // Binary addition: each carry is a pair of neighbours of one size.
            let mut carries = (self.len / self.piece).trailing_ones();
            while carries > 0 {
                let left = self.waiting.pop().expect("one state waits for each bit");
                state = op.combine(left, state);
                carries -= 1;
            }
        }
        self.waiting.push(state);
        self.len = end;
        Ok(())
    }

    /// The answer and the state of all pieces together.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyExtent`] where there were no elements and the operator has no answer for that.
    pub fn finish(mut self) -> Result<(R::Answer, R::State), Error> {
        let op = self.op.monoid();
        // What is missing to a power of two is identities, neutral to the bit.
        let mut state = self.waiting.pop().unwrap_or_else(|| op.identity());
        while let Some(left) = self.waiting.pop() {
            state = op.combine(left, state);
        }
        Ok((finish::<R, T>(self.op, self.len, state)?, state))
    }
}

/// The answer of an extent of `len` elements whose state is `state`.
pub(crate) fn finish<R: Reduction<T>, T: Item>(op: R, len: u64, state: R::State) -> Result<R::Answer, Error> {
    let monoid = op.monoid();
    if len == 0 {
        monoid.empty().ok_or(Error::EmptyExtent { op: R::NAME })
    } else {
        Ok(monoid.finish(state, len))
    }
}
