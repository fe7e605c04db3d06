//! What is folded: the elements of one array, or those of two arrays side by side.

use super::{Element, Type};
use crate::monoids::Words;

/// What an operator takes one of at a time: an element of an array, or [`Two`] of two arrays.
pub trait Item: Words + PartialEq + Send + Sync + 'static {
    /// The elements whose canonical tree it is folded in.
    const ELEMENT: Type;
    /// Bytes of one of those.
    const BYTES: usize = Self::ELEMENT.bytes();
}

impl<T: Element> Item for T {
    const ELEMENT: Type = T::TYPE;
}

/// One of each of two arrays. Two elements at the same place are an [`Item`], folded in the tree of one array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Two<X>(pub X, pub X);

impl<T: Element> Item for Two<T> {
    const ELEMENT: Type = T::TYPE;
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
