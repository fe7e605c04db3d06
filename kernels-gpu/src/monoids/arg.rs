//! Where the largest and the smallest value are.

use super::{Monoid, Words};

/// The best element so far: its value and its index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The element.
    pub value: f32,
    /// Its index, from the start of the run.
    pub index: u64,
}

impl Best {
    /// No element yet: the index past every other. Its value is the identity of the value's order.
    #[inline]
    const fn none(value: f32) -> Self {
        Self { value, index: u64::MAX }
    }

    #[inline]
    fn shift(self, by: u64) -> Self {
        if self.index == u64::MAX {
            self
        } else {
            Self {
                index: self.index + by,
                ..self
            }
        }
    }
}

impl Words for Best {
    const COUNT: usize = 3;
    #[inline]
    fn word(self, i: usize) -> u32 {
        match i {
            0 => self.value.to_bits(),
            i => self.index.word(i - 1),
        }
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let value = f32::from_bits(word(0));
        let index = u64::from_words(|i| word(i + 1));
        Self { value, index }
    }
}

/// The one rule of ties, for both directions: `b` replaces `a` if it is better, or as good and earlier.
/// A NaN is better than any number and as good as any NaN.
#[inline]
fn replaces(better: bool, a: Best, b: Best) -> bool {
    let (a_nan, b_nan) = (a.value.is_nan(), b.value.is_nan());
    let as_good = a.value == b.value || (a_nan && b_nan);
    (!a_nan && (b_nan || better)) || (as_good && b.index < a.index)
}

/// Index of the largest element. Ties go to the lowest index; a NaN is larger than any number. Nothing has none.
///
/// −0.0 and +0.0 tie.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArgMax;

impl Monoid<f32> for ArgMax {
    type State = Best;
    type Answer = u64;

    #[inline]
    fn identity(self) -> Best {
        Best::none(f32::NEG_INFINITY)
    }
    #[inline]
    fn lift(self, value: f32, index: u64) -> Best {
        Best { value, index }
    }
    #[inline]
    fn combine(self, a: Best, b: Best) -> Best {
        if replaces(b.value > a.value, a, b) { b } else { a }
    }
    #[inline]
    fn shift(self, best: Best, by: u64) -> Best {
        best.shift(by)
    }
    const SELECTS: bool = true;
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // one instruction, and true for a NaN
    #[inline]
    fn may_change(self, best: Best, value: f32) -> bool {
        // An equal value comes later, so it loses; a NaN compares false, so it may win.
        !(value <= best.value)
    }
    #[inline]
    fn finish(self, best: Best) -> u64 {
        best.index
    }
    #[inline]
    fn empty(self) -> Option<u64> {
        None
    }
}

/// Index of the smallest element. Ties go to the lowest index; a NaN is smaller than any number. Nothing has none.
///
/// −0.0 and +0.0 tie.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArgMin;

impl Monoid<f32> for ArgMin {
    type State = Best;
    type Answer = u64;

    #[inline]
    fn identity(self) -> Best {
        Best::none(f32::INFINITY)
    }
    #[inline]
    fn lift(self, value: f32, index: u64) -> Best {
        Best { value, index }
    }
    #[inline]
    fn combine(self, a: Best, b: Best) -> Best {
        if replaces(b.value < a.value, a, b) { b } else { a }
    }
    #[inline]
    fn shift(self, best: Best, by: u64) -> Best {
        best.shift(by)
    }
    const SELECTS: bool = true;
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // one instruction, and true for a NaN
    #[inline]
    fn may_change(self, best: Best, value: f32) -> bool {
        // An equal value comes later, so it loses; a NaN compares false, so it may win.
        !(value >= best.value)
    }
    #[inline]
    fn finish(self, best: Best) -> u64 {
        best.index
    }
    #[inline]
    fn empty(self) -> Option<u64> {
        None
    }
}
