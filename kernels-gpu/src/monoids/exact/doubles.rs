//! All that a lane reads of f64, summed without error.
//!
//! Elements are added to a sum of two floats, a leading one and what rounding it left off: that, too, is a float (D. Knuth, *The Art of
//! Computer Programming* 2, 4.2.2, theorem C). What is left off from the second is nearly always nothing: the two have 106 bits
//! together. Where a part has an element for which it is something, or one that is no number, the two floats and the part go to the long
//! accumulator element by element, and the floats begin anew.

use super::fixed::Fixed;
use crate::{
    monoids::Monoid,
    tree::{Part, vector_elements},
};

/// Elements of a part.
const ELEMENTS: usize = 16;

/// An unevaluated sum.
#[derive(Clone, Copy)]
struct Two {
    leading: f64,
    rest: f64,
}

impl Two {
    /// Of nothing; of elements that are all −0.0 as well, and only of those.
    const NOTHING: Self = Self {
        leading: -0.0,
        rest: 0.0,
    };

    /// The sum with `value`, and the bits of what was left off: 0 for nothing. Other bits, too, where the sum left the numbers.
    #[inline(always)]
    fn plus(self, value: f64) -> (Self, u64) {
        let (leading, off) = two_sum(self.leading, value);
        let (rest, off) = two_sum(self.rest, off);
        (Self { leading, rest }, off.to_bits())
    }
}

/// `a + b` rounded, and what the rounding left off, never −0.0.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    let of_a = sum - of_b;
    (sum, (a - of_a) + (b - of_b))
}

/// The sum of one part.
#[inline(always)]
pub(super) fn fold_part(part: impl Part<f64>) -> Fixed<68> {
    let mut part = Some(part);
    fold_parts(Fixed::NOTHING, || part.take())
}

/// The sum of `total` and all parts that `next` gives.
#[inline(always)]
pub(super) fn fold_parts<P: Part<f64>>(mut total: Fixed<68>, mut next: impl FnMut() -> Option<P>) -> Fixed<68> {
    let mut near = Two::NOTHING;
    loop {
        let part = next();
        let done = part.is_none();
        let mut held = [-0.0; ELEMENTS];
        if let Some(part) = part {
            held = elements(part);
            let mut sum = near;
            let mut off = 0;
            macro_rules! add {
                ($($element:literal)*) => {
                    $(
                        let (more, bits) = sum.plus(held[$element]);
                        sum = more;
                        off |= bits;
                    )*
                };
            }
            add!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            if off == 0 {
                near = sum;
                continue;
            }
        }
        // One element in a turn: the code of one is long.
        let mut left = if done { 2 } else { 2 + ELEMENTS };
        while left > 0 {
            total = total.and(near.leading);
            let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = held;
            // Whether anything was added the leading one tells.
            near.leading = if near.rest == 0.0 { -0.0 } else { near.rest };
            near.rest = a;
            held = [b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, -0.0];
            left -= 1;
        }
        if done {
            return total;
        }
        near = Two::NOTHING;
    }
}

/// The elements of a part, −0.0 where there is none.
#[inline(always)]
fn elements<P: Part<f64>>(part: P) -> [f64; ELEMENTS] {
    const { assert!(vector_elements::<f64>() == 2, "two columns are written out") };
    let mut held = [-0.0; ELEMENTS];
    macro_rules! hold {
        ($($row:literal)*) => {
            $(if $row < P::ROWS {
                held[2 * $row] = part.lift(Itself, $row, 0);
                if P::COLUMNS > 1 {
                    held[2 * $row + 1] = part.lift(Itself, $row, 1);
                }
            })*
        };
    }
    hold!(0 1 2 3 4 5 6 7);
    held
}

/// An element; −0.0 where there is none.
#[derive(Clone, Copy)]
struct Itself;

impl Monoid<f64> for Itself {
    type State = f64;
    type Answer = f64;

    #[inline(always)]
    fn identity(self) -> f64 {
        -0.0
    }
    #[inline(always)]
    fn lift(self, value: f64, _: u64) -> f64 {
        value
    }
    #[inline(always)]
    fn combine(self, a: f64, _: f64) -> f64 {
        a
    }
    #[inline(always)]
    fn finish(self, value: f64, _: u64) -> f64 {
        value
    }
    #[inline(always)]
    fn empty(self) -> Option<f64> {
        None
    }
}
