//! A lane's part of a leaf of f32, summed without error.
//!
//! Those elements that lie within 22 binary orders of the largest are added in f64, where nothing is rounded then. Most parts are done
//! with that. Those that reach further down go on with what is below, as often as there is something.

use super::fixed::{Digits, Fixed, NUMBER};
use crate::{
    monoids::Monoid,
    tree::{Part, vector_elements},
};

/// The magnitude of +∞; those of NaN are above.
pub(super) const INFINITY: u32 = f32::INFINITY.to_bits();
/// −0.0, which adds nothing to a sum, not even a sign.
pub(super) const NEUTRAL: u32 = 1 << 31;

/// A float's bits but for its sign.
#[inline(always)]
fn magnitude(bits: u32) -> u32 {
    bits & !NEUTRAL
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
pub(super) const SPAN: u32 = 22;

/// The sum of one part.
#[inline(always)]
pub(super) fn fold_part<P: Part<f32>>(part: P) -> Fixed<11> {
    and_part(Fixed::NOTHING, part)
}

/// The sum of `total` and all parts that `next` gives.
#[inline(always)]
pub(super) fn fold_parts<P: Part<f32>>(mut total: Fixed<11>, mut next: impl FnMut() -> Option<P>) -> Fixed<11> {
    while let Some(part) = next() {
        total = and_part(total, part);
    }
    total
}

/// The sum with that of one part more.
#[inline(always)]
fn and_part<P: Part<f32>>(mut total: Fixed<11>, part: P) -> Fixed<11> {
    const { assert!(vector_elements::<f32>() == 4, "four columns are written out") };
    let row = |row: usize| {
        let column = |column: usize| {
            if column < P::COLUMNS {
                part.lift(Bits, row, column)
            } else {
                NEUTRAL
            }
        };
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
    if top == 0 {
        let mut others = 0;
        each_element!(held, |bits| others |= *bits ^ NEUTRAL);
        return total.seeing(if others == 0 { 0 } else { NUMBER });
    }
    let mut seen = NUMBER;
    if top >= INFINITY {
        top = 0;
        each_element!(held, |bits| {
            seen |= f32::from_bits(*bits).seen();
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
        let units = units_of_span(held, P::ROWS, floor, lowest - 1);
        // Of 8 bits, so that a compiler knows what the upper words are not.
        total = total.plus_units(units, (lowest - 1) & 0xff);
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

/// The sum, in `2^order` units, of elements of which none is more than [`SPAN`] orders above the magnitude `floor`, of those that are
/// not below it; they are multiples of `2^order` units. In f64, where no addition is rounded.
#[inline(always)]
fn units_of_span(held: [[u32; 4]; 8], rows: usize, floor: u32, order: u32) -> i64 {
    let value = |bits: u32| {
        let bits = if magnitude(bits) >= floor { bits } else { NEUTRAL };
        f64::from(f32::from_bits(bits))
    };
    // Two columns each: chains of additions, which need not wait for each other.
    let mut sums = [-0.0_f64; 2];
    macro_rules! add {
        ($($row:literal)*) => {
            $(if $row < rows {
                sums[0] += value(held[$row][0]);
                sums[1] += value(held[$row][1]);
                sums[0] += value(held[$row][2]);
                sums[1] += value(held[$row][3]);
            })*
        };
    }
    add!(0 1 2 3 4 5 6 7);
    let sum = sums[0] + sums[1];
    // Beside a number whose last bit is worth 2^order units, and which is so large that the sum does not change its exponent, the
    // sum is an integer in the last bits: fewer instructions than a conversion, which has to know what does not fit.
    let beside = u64::from(order.wrapping_add_signed(1023 + 52 + f32::UNIT)) << 52 | 1 << 51;
    (f64::from_bits(beside) + sum).to_bits().wrapping_sub(beside) as i64
}

/// An element's bits; [`NEUTRAL`] where there is none.
#[derive(Clone, Copy)]
struct Bits;

impl Monoid<f32> for Bits {
    type State = u32;
    type Answer = u32;

    #[inline(always)]
    fn identity(self) -> u32 {
        NEUTRAL
    }
    #[inline(always)]
    fn lift(self, value: f32, _: u64) -> u32 {
        value.to_bits()
    }
    #[inline(always)]
    fn combine(self, a: u32, _: u32) -> u32 {
        a
    }
    #[inline(always)]
    fn finish(self, bits: u32, _: u64) -> u32 {
        bits
    }
    #[inline(always)]
    fn empty(self) -> Option<u32> {
        None
    }
}
