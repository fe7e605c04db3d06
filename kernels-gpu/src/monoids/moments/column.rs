//! A column of a leaf, all of whose elements are at hand: their mean, and how far each is from it.

use crate::{
    element::{Scale, in_pairs},
    tree::ROWS,
};

/// The sum of a column.
#[inline(always)]
fn sum_of(column: [f64; ROWS]) -> f64 {
    in_pairs(column, |a, b| a + b)
}

/// How many elements of a column are there, and their mean; 0 if there are none. Of equal elements it is what they are, exactly.
#[inline(always)]
pub(super) fn mean_of(column: [f64; ROWS], there: [bool; ROWS], are_short: bool) -> (u64, f64) {
    let count = there
        .into_iter()
        .fold(0_u32, |count, is_there| count + u32::from(is_there));
    let mean = if count == 0 {
        0.0
    } else if are_short {
        // The sum of eight equal ones is an f64, and so is their value the next to its product with a reciprocal.
        sum_of(column) * reciprocal(count)
    } else if count == ROWS as u32 {
        mean_by_eighths(column, count)
    } else {
        // By what they are below the first: so it is what they are where all are −0.0, too.
        let first = first_of(column, there);
        let below = less(column.map(|x| -x), there, -first);
        let mean = first - sum_of(below) * reciprocal(count);
        // Infinities, and numbers that lie too far apart for a difference.
        if mean.is_finite() {
            mean
        } else {
            mean_by_eighths(column, count)
        }
    };
    (count.into(), mean)
}

/// The mean of `count` elements by the sum of their eighths, which is finite wherever they are.
#[inline(always)]
fn mean_by_eighths(column: [f64; ROWS], count: u32) -> f64 {
    let eighths = sum_of(column.map(|x| RECIPROCALS[ROWS] * x));
    eighths * (ROWS as f64 * reciprocal(count))
}

/// The first element that is there.
#[inline(always)]
fn first_of([a, b, c, d, e, f, g, h]: [f64; ROWS], there: [bool; ROWS]) -> f64 {
    let or = |row: usize, x: f64, later: f64| if there[row] { x } else { later };
    or(0, a, or(1, b, or(2, c, or(3, d, or(4, e, or(5, f, or(6, g, h)))))))
}

/// What the elements of a column are above their mean, scaled; 0 where there is none.
#[inline(always)]
pub(super) fn distances<S: Scale>(column: [f64; ROWS], there: [bool; ROWS], mean: f64, scale: S) -> [f64; ROWS] {
    let factor = scale.factor();
    less(column.map(|x| x * factor), there, mean * factor)
}

/// What the elements of a column are above `from`; 0 where there is none.
#[inline(always)]
fn less([a, b, c, d, e, f, g, h]: [f64; ROWS], there: [bool; ROWS], from: f64) -> [f64; ROWS] {
    let less = |row: usize, x: f64| if there[row] { x - from } else { 0.0 };
    [
        less(0, a),
        less(1, b),
        less(2, c),
        less(3, d),
        less(4, e),
        less(5, f),
        less(6, g),
        less(7, h),
    ]
}

/// The f64 next to one over each number of elements that a column can have.
const RECIPROCALS: [f64; ROWS + 1] = [
    1.0,
    1.0,
    1.0 / 2.0,
    1.0 / 3.0,
    1.0 / 4.0,
    1.0 / 5.0,
    1.0 / 6.0,
    1.0 / 7.0,
    1.0 / 8.0,
];

/// That of `count`, from 1 to 8. Chosen, not looked up: a table would be read from memory.
#[inline(always)]
fn reciprocal(count: u32) -> f64 {
    let of = |bit: u32, then: f64, otherwise: f64| if count & bit != 0 { then } else { otherwise };
    let [_, one, two, three, four, five, six, seven, eight] = RECIPROCALS;
    let low = of(2, of(1, three, two), of(1, one, eight));
    let high = of(2, of(1, seven, six), of(1, five, four));
    of(4, high, low)
}

#[cfg(test)]
#[path = "column_tests.rs"]
mod tests;
