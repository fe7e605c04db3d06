//! Sums that nothing is rounded off from.

mod fixed;

pub use fixed::Fixed;

use super::{Monoid, Words, sum::SumOrMean};
use crate::{
    element::Float,
    tree::{Part, vector_elements},
};
use fixed::{Bits, INFINITY, NEUTRAL, NORMAL, NUMBER, UNIT, magnitude, significand, special};

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
/// A lane adds its part of a leaf in f64 where its elements lie within 22 binary orders, zeros apart: nothing is rounded then. Other
/// parts it adds in integers of 64 bits: significands whose exponents lie within 30 of the largest are shifted by the rest and
/// added. Those that reach further down go on with what is below, as often as there is something.
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

/// Binary orders that are added in one go: a significand of 24 bits, shifted by as many, times the elements of a part, stays
/// below 2⁶³, and the shift is the factor of a product that is one instruction.
const WINDOW: u32 = 30;

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

/// The sum of elements that are multiples of `2^order` units, and of which none is above [`SPAN`] orders more: in f64, and no addition
/// is rounded.
#[inline(always)]
fn in_double(held: [[u32; 4]; 8], rows: usize, order: u32) -> Fixed {
    // A column each: four chains of additions, which need not wait for each other.
    let mut sums = [-0.0_f64; 4];
    macro_rules! add {
        ($($row:literal)*) => {
            $(if $row < rows {
                sums[0] += f64::from(f32::from_bits(held[$row][0]));
                sums[1] += f64::from(f32::from_bits(held[$row][1]));
                sums[2] += f64::from(f32::from_bits(held[$row][2]));
                sums[3] += f64::from(f32::from_bits(held[$row][3]));
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

    // The largest magnitude, and the least that is not zero: each less one, which makes zero the least signed number here, and the
    // largest unsigned one.
    let (mut top, mut least) = (-1_i32, u32::MAX);
    each_element!(held, |bits| {
        let below = magnitude(*bits).wrapping_sub(1);
        top = (below as i32).max(top);
        least = below.min(least);
    });
    let mut top = (top + 1) as u32;
    let mut total = Fixed::NOTHING;
    if top == 0 {
        let mut others = 0;
        each_element!(held, |bits| others |= *bits ^ NEUTRAL);
        return total.seeing(if others == 0 { 0 } else { NUMBER });
    }
    let lowest = (least.wrapping_add(1) >> 23).max(1);
    if top < INFINITY && top >> 23 <= lowest + SPAN {
        return in_double(held, P::ROWS, lowest - 1).seeing(NUMBER);
    }
    let mut seen = NUMBER;
    while top >= NORMAL {
        let floor;
        if top >= INFINITY {
            floor = INFINITY;
            each_element!(held, |bits| seen |= special(*bits));
        } else {
            floor = ((top >> 23).max(WINDOW + 1) - WINDOW) << 23;
            let mut units = 0_i64;
            each_element!(held, |bits| {
                // 2 to the power of how many orders it is above the floor: one bit, rotated, which is a shift without a check.
                let power = 1_u32.rotate_left(magnitude(*bits).wrapping_sub(floor) >> 23);
                let power = if magnitude(*bits) >= floor { power as i32 } else { 0 };
                units += i64::from(significand(*bits)) * i64::from(power);
            });
            total = total.plus(Fixed::of_units(units, (floor >> 23) - 1));
        }
        if least >= floor - 1 {
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
    // What is left is subnormal: units as it stands.
    let mut units = 0_i64;
    each_element!(held, |bits| {
        let magnitude = magnitude(*bits) as i32;
        units += i64::from(if *bits >> 31 == 0 { magnitude } else { -magnitude });
    });
    total.plus(Fixed::of_units(units, 0)).seeing(seen)
}

#[cfg(test)]
#[path = "exact_tests.rs"]
mod tests;
