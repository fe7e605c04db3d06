//! Elements to f32 and back: a strip at a time, as vector code. What is here knows types of elements, and no operation.

use std::iter::zip;

use pulp::{Simd, WithSimd};
use warpfold_kernels::{arithmetic::single, rowwise::RowElement};

use super::SecondRows;

/// Makes the elements of a strip what they are before they are looked at.
pub(super) struct Load<'a, T> {
    pub(super) values: &'a [T],
    pub(super) second: SecondRows<'a, T>,
    pub(super) negates: bool,
    pub(super) zeroes: bool,
    /// What stands for an element that the mask hides.
    pub(super) absent: f32,
    pub(super) to: [&'a mut [f32]; 2],
}

impl<T: RowElement> WithSimd for Load<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let [firsts, seconds] = self.to;
        let firsts = &mut firsts[..self.values.len()];
        widen(self.values, firsts);
        if self.negates {
            firsts.iter_mut().for_each(|value| *value = -*value);
        }
        if self.zeroes {
            firsts.iter_mut().for_each(|value| *value *= 0.0);
        }
        match self.second {
            SecondRows::Nothing | SecondRows::Residual(_) => {}
            SecondRows::Pair(array) => widen(array, &mut seconds[..array.len()]),
            SecondRows::Mask(array) => {
                for (value, byte) in zip(firsts, array) {
                    *value = if *byte == 0 { self.absent } else { *value };
                }
            }
            SecondRows::Added(array, factor) => {
                for (value, added) in zip(firsts, array) {
                    *value = single::fma(*value, factor, added.wide());
                }
            }
        }
    }
}

#[inline(always)]
fn widen<T: RowElement>(from: &[T], to: &mut [f32]) {
    for (to, value) in zip(to, from) {
        *to = value.wide();
    }
}

/// The sums of elements and of those of a residual, rounded.
pub(super) struct Add<'a, T> {
    pub(super) values: [&'a [T]; 2],
    /// Whether the elements are negated first.
    pub(super) negates: bool,
    pub(super) to: &'a mut [T],
}

impl<T: RowElement> WithSimd for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let [firsts, seconds] = self.values;
        let sign = if self.negates { -1.0 } else { 1.0 };
        for (to, (first, second)) in zip(self.to, zip(firsts, seconds)) {
            *to = T::narrowed(sign * first.wide() + second.wide());
        }
    }
}
