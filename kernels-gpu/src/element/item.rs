//! What is folded: the elements of one array, those of two arrays side by side, or those that a mask selects.

use super::{Element, Type};
use crate::words::Words;

/// What an operator takes one of at a time: an element of an array, [`Two`] of two arrays, or one under a mask, [`Masked`].
pub trait Item: Words + PartialEq + Send + Sync + 'static {
    /// The elements whose canonical tree it is folded in.
    const ELEMENT: Type;
    /// What it has one of each of.
    const OPERANDS: Operands;
    /// Bytes of one of those.
    const BYTES: usize = Self::ELEMENT.bytes();
}

impl<T: Element> Item for T {
    const ELEMENT: Type = T::TYPE;
    const OPERANDS: Operands = Operands::One;
}

/// The arrays that are folded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// One array.
    One,
    /// Two arrays, element by element.
    Two,
    /// An array and its mask.
    Masked,
}

/// One of each of two arrays. Two elements at the same place are an [`Item`], folded in the tree of one array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Two<X>(pub X, pub X);

impl<T: Element> Item for Two<T> {
    const ELEMENT: Type = T::TYPE;
    const OPERANDS: Operands = Operands::Two;
}

impl<X: Words> Words for Two<X> {
    const COUNT: usize = 2 * X::COUNT;
    const UNIT: usize = X::UNIT;
    #[inline]
    fn word(self, i: usize) -> u32 {
        if i < X::COUNT {
            self.0.word(i)
        } else {
            self.1.word(i - X::COUNT)
        }
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let first = X::from_words(&mut word);
        Self(first, X::from_words(|i| word(X::COUNT + i)))
    }
}

/// An element, and whether a mask of the array's selects it: an [`Item`] of the array and of the mask, which has a byte for each
/// element and selects where that is not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masked<T>(pub T, pub bool);

impl<T: Element> Item for Masked<T> {
    const ELEMENT: Type = T::TYPE;
    const OPERANDS: Operands = Operands::Masked;
}

impl<T: Words> Words for Masked<T> {
    const COUNT: usize = T::COUNT + 1;
    const UNIT: usize = T::UNIT;
    #[inline]
    fn word(self, i: usize) -> u32 {
        if i < T::COUNT { self.0.word(i) } else { self.1.into() }
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let value = T::from_words(&mut word);
        Self(value, word(T::COUNT) != 0)
    }
}
