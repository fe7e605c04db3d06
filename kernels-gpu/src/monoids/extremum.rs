//! The largest and the smallest value.
//!
//! The state is an integer key that orders as the floats do, so that `combine` is one integer instruction and
//! associative and commutative to the bit. −0.0 sits just below +0.0, as in IEEE 754-2019's `maximum` and `minimum`,
//! so the answer never depends on the order even there; a NaN sits past the end that is sought, so it always wins.

use super::{Monoid, Words, canonical};

/// An `f32` as an integer of the same order: flip the magnitude bits of negative numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(i32);

impl Key {
    #[inline]
    const fn of(bits: u32) -> Self {
        let bits = bits as i32;
        Self(bits ^ ((bits >> 31) & i32::MAX))
    }
    #[inline]
    fn value(self) -> f32 {
        let bits = self.0 ^ ((self.0 >> 31) & i32::MAX);
        canonical(f32::from_bits(bits as u32))
    }
}

impl Words for Key {
    const COUNT: usize = 1;
    #[inline]
    fn word(self, _: usize) -> u32 {
        self.0 as u32
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        Self(word(0) as i32)
    }
}

/// The largest value; NaN if there is one. Nothing has no largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Max;

impl Monoid<f32> for Max {
    type State = Key;
    type Answer = f32;

    #[inline]
    fn identity(self) -> Key {
        Key::of(f32::NEG_INFINITY.to_bits())
    }
    #[inline]
    fn lift(self, value: f32, _: u64) -> Key {
        if value.is_nan() {
            Key(i32::MAX)
        } else {
            Key::of(value.to_bits())
        }
    }
    #[inline]
    fn combine(self, a: Key, b: Key) -> Key {
        Key(if b.0 > a.0 { b.0 } else { a.0 })
    }
    const SELECTS: bool = true;
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // one instruction, and true for a NaN
    #[inline]
    fn may_change(self, best: Key, value: f32) -> bool {
        // The two zeros compare equal: where the other one would win, the bar is just past them. A NaN compares false.
        let beats_zero = best == Key::of((-0.0_f32).to_bits());
        let bar = if beats_zero { -f32::from_bits(1) } else { best.value() };
        !(value <= bar)
    }
    #[inline]
    fn finish(self, key: Key) -> f32 {
        key.value()
    }
    #[inline]
    fn empty(self) -> Option<f32> {
        None
    }
}

/// The smallest value; NaN if there is one. Nothing has no smallest value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Min;

impl Monoid<f32> for Min {
    type State = Key;
    type Answer = f32;

    #[inline]
    fn identity(self) -> Key {
        Key::of(f32::INFINITY.to_bits())
    }
    #[inline]
    fn lift(self, value: f32, _: u64) -> Key {
        if value.is_nan() {
            Key(i32::MIN)
        } else {
            Key::of(value.to_bits())
        }
    }
    #[inline]
    fn combine(self, a: Key, b: Key) -> Key {
        Key(if b.0 < a.0 { b.0 } else { a.0 })
    }
    const SELECTS: bool = true;
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // one instruction, and true for a NaN
    #[inline]
    fn may_change(self, best: Key, value: f32) -> bool {
        // The two zeros compare equal: where the other one would win, the bar is just past them. A NaN compares false.
        let beats_zero = best == Key::of((0.0_f32).to_bits());
        let bar = if beats_zero { f32::from_bits(1) } else { best.value() };
        !(value >= bar)
    }
    #[inline]
    fn finish(self, key: Key) -> f32 {
        key.value()
    }
    #[inline]
    fn empty(self) -> Option<f32> {
        None
    }
}
