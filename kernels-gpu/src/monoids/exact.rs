//! Sums that nothing is rounded off from.

mod fixed;

pub use fixed::Fixed;

use super::{Monoid, Words, sum::SumOrMean};
use crate::{
    element::Float,
    tree::{Part, vector_elements},
};
use fixed::{Bits, INFINITY, NEUTRAL, NUMBER, UNIT, magnitude, special};

/// A [`Sum`](super::Sum) or [`Mean`](super::Mean) without error: the sum of the real numbers, or that divided by their count, rounded
/// to nearest even once. No order of the elements changes a bit of it.
///
/// A NaN, or infinities of both signs, give NaN; infinities of one sign that one. Nothing overflows on the way: `MAX + MAX − MAX` is
/// `MAX`, and the mean of finite numbers is finite. A sum of zero is +0.0, but −0.0 where every element is −0.0, as IEEE 754 has it.
/// Over nothing the sum is +0.0 and the mean NaN.
///
/// A state is a whole number of 2⁻¹⁴⁹, the smallest f32, in 352 bits of two's complement ([`Fixed`]): the 277 bits of f32 and room
/// for 2⁶⁴ of them. Such a long accumulator is U. Kulisch's (*Computer Arithmetic and Validity*, 2008). Elements are f32; the state of
/// sums of f64 would have 2163 bits, more than fit where states meet.
///
/// A lane adds those elements of its part of a leaf that lie within 22 binary orders of the largest in f64, where nothing is rounded
/// then. Most parts are done with that. Those that reach further down go on with what is below, as often as there is something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exact<Op>(pub Op);

impl<Op: SumOrMean> Monoid<f32> for Exact<Op> {
    type State = Fixed;
    type Answer = f32;

    #[inline]
    fn identity(self) -> Fixed {
        Fixed::NOTHING
    }
    #[inline]
    fn lift(self, value: f32, _: u64) -> Fixed {
        Fixed::of(value)
    }
    #[inline]
    fn combine(self, a: Fixed, b: Fixed) -> Fixed {
        a.plus(b)
    }
    const ASSOCIATES: bool = true;
    #[inline(always)]
    fn fold_part(self, part: impl Part<f32>) -> Fixed {
        sum(part)
    }
    #[inline]
    fn finish(self, sum: Fixed, count: u64) -> f32 {
        Float::from_f64(sum.divided_by(Op::divisor(count)))
    }
    #[inline]
    fn empty(self) -> Option<f32> {
        Some(Float::from_f64(Op::OF_NOTHING))
    }
}

/// One piece of code for each element that `$held` has: in a loop that a compiler does not unroll, they would lie in memory.
macro_rules! each_element {
    ($held:ident, |$bits:ident| $body:expr) => {
        each_element!(@rows $held, |$bits| $body; 0 1 2 3 4 5 6 7)
    };
    (@rows $held:ident, |$bits:ident| $body:expr; $($row:literal)*) => {
        $(if $row < P::ROWS {
            each_element!(@one $held[$row][0], |$bits| $body);
            each_element!(@one $held[$row][1], |$bits| $body);
            each_element!(@one $held[$row][2], |$bits| $body);
            each_element!(@one $held[$row][3], |$bits| $body);
        })*
    };
    (@one $element:expr, |$bits:ident| $body:expr) => {{
        let $bits: &mut u32 = &mut $element;
        $body;
    }};
}

/// Binary orders that elements may lie apart for an f64 to hold all sums of a part: with 24 bits of each and 5 for their number,
/// 51 bits.
const SPAN: u32 = 22;

/// The sum of a lane's part of a leaf.
#[inline(always)]
fn sum<P: Part<f32>>(part: P) -> Fixed {
    const { assert!(vector_elements::<f32>() == 4, "four columns are written out") };
    let row = |row: usize| {
        let column = |column: usize| part.lift(Bits, row, column);
        [column(0), column(1), column(2), column(3)]
    };
    let mut held = [[NEUTRAL; 4]; 8];
    macro_rules! hold {
        ($($row:literal)*) => {
            $(if $row < P::ROWS {
                held[$row] = row($row);
            })*
        };
    }
    hold!(0 1 2 3 4 5 6 7);

    // The largest magnitude, and the least that is not zero, less one: zeros have the largest number there.
    let (mut top, mut least) = (0, u32::MAX);
    each_element!(held, |bits| {
        top = magnitude(*bits).max(top);
        least = magnitude(*bits).wrapping_sub(1).min(least);
    });
    let mut total = Fixed::NOTHING;
    if top == 0 {
        let mut others = 0;
        each_element!(held, |bits| others |= *bits ^ NEUTRAL);
        return total.seeing(if others == 0 { 0 } else { NUMBER });
    }
    let mut seen = NUMBER;
    if top >= INFINITY {
        top = 0;
        each_element!(held, |bits| {
            seen |= special(*bits);
            if magnitude(*bits) >= INFINITY {
                *bits = NEUTRAL;
            }
            top = magnitude(*bits).max(top);
        });
    }
    loop {
        // Subnormal numbers are multiples of what the least normal ones are multiples of.
        let lowest = (top >> 23).max(SPAN + 1) - SPAN;
        let floor = if lowest == 1 { 0 } else { lowest << 23 };
        total = total.plus(of_span(held, P::ROWS, floor, lowest - 1));
        if floor == 0 || least >= floor - 1 {
            return total.seeing(seen);
        }
        // On with what is left. (Taken away rather than passed over: what a compiler knows to stay the same it computes before the
        // loop, and keeps in registers.)
        top = 0;
        each_element!(held, |bits| {
            if magnitude(*bits) >= floor {
                *bits = NEUTRAL;
            }
            top = magnitude(*bits).max(top);
        });
    }
}

/// The sum of elements of which none is more than [`SPAN`] orders above the magnitude `floor`, of those that are not below it; they
/// are multiples of `2^order` units. In f64, where no addition is rounded.
#[inline(always)]
fn of_span(held: [[u32; 4]; 8], rows: usize, floor: u32, order: u32) -> Fixed {
    let value = |bits: u32| {
        let bits = if magnitude(bits) >= floor { bits } else { NEUTRAL };
        f64::from(f32::from_bits(bits))
    };
    // A column each: four chains of additions, which need not wait for each other.
    let mut sums = [-0.0_f64; 4];
    macro_rules! add {
        ($($row:literal)*) => {
            $(if $row < rows {
                sums[0] += value(held[$row][0]);
                sums[1] += value(held[$row][1]);
                sums[2] += value(held[$row][2]);
                sums[3] += value(held[$row][3]);
            })*
        };
    }
    add!(0 1 2 3 4 5 6 7);
    let sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    // Beside a number whose last bit is worth 2^order units, and which is so large that the sum does not change its exponent, the
    // sum is an integer in the last bits: fewer instructions than a conversion, which has to know what does not fit.
    let beside = u64::from(order.wrapping_add_signed(1023 + 52 + UNIT)) << 52 | 1 << 51;
    let units = (f64::from_bits(beside) + sum).to_bits().wrapping_sub(beside) as i64;
    Fixed::of_units(units, order)
}

#[cfg(test)]
#[path = "exact_tests.rs"]
mod tests;
