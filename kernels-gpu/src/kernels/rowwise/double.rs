//! Norms of rows of f64: a map of elements, by what an operator folded rows to.

use super::{RowArguments, RowParams};
use crate::{
    arithmetic::double::{fma, sqrt},
    element::Two,
    simt::Simt,
    stages::{each::each, load::words::load_element},
    tree::LANES,
};

/// Elements of a row that a warp maps.
pub const RUN: u32 = 1024;

/// Every NaN is the same one.
#[inline(always)]
fn canonical(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// A norm of f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormF64 {
    /// Whether distances from the mean are normalised, or the elements.
    pub centers: bool,
    /// What is added to the mean of their squares.
    pub epsilon: f64,
    /// What is added to each weight: −0.0 changes none.
    pub plus: f64,
}

impl NormF64 {
    /// What its kernel is passed: the bits of two f64 in those of four f32.
    #[must_use]
    pub fn params(self) -> RowParams {
        let halves = |bits: u64| [f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32)];
        let ([a, b], [c, d]) = (halves(self.epsilon.to_bits()), halves(self.plus.to_bits()));
        RowParams {
            numbers: [a, b, c, d],
            flag: self.centers,
            negates: false,
        }
    }

    /// The norm of what [`params`](Self::params) gave.
    #[must_use]
    #[inline(always)]
    pub fn of_params(params: RowParams) -> Self {
        let [epsilon, plus] = params.bits().map(f64::from_bits);
        Self {
            centers: params.flag,
            epsilon,
            plus,
        }
    }

    /// The mean of a row of `len` elements, and the reciprocal of its deviation or root: of what was folded, the mean and the variance, or the sum of squares. Every NaN is the same
    /// one.
    #[must_use]
    #[inline(always)]
    pub fn statistics(self, folded: [f64; 2], len: u64) -> [f64; 2] {
        let (mean, square) = if self.centers {
            (folded[0], folded[1])
        } else {
            (0.0, folded[0] / len as f64)
        };
        [canonical(mean), canonical(1.0 / sqrt(square + self.epsilon))]
    }

    /// What becomes of an element, by the row's [statistics](Self::statistics), and the weight and the bias of its column.
    #[must_use]
    #[inline(always)]
    pub fn map(self, x: f64, [mean, reciprocal]: [f64; 2], [weight, bias]: [f64; 2]) -> f64 {
        let weight = weight + self.plus;
        canonical(if self.centers {
            fma((x - mean) * reciprocal, weight, bias)
        } else {
            x * reciprocal * weight
        })
    }
}

/// Maps rows of f64, which an earlier launch folded: a warp has [a run](RUN) of elements of a row, its lanes neighbours. Statistics of rows are written where there are places for them; weights and
/// biases are of f64.
///
/// ```text
/// lane: statistics of the row ─ elements one after the other: load, map, store
/// ```
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn map_doubles<S: Simt>(simt: S, norm: NormF64, arguments: RowArguments<f64>) {
    let len = arguments.rows.len();
    let runs = u64::max(len.div_ceil(RUN.into()), 1);
    let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    let (row, first) = (warp / runs, warp % runs * u64::from(RUN));
    if row >= arguments.rows.count() {
        return;
    }
    let arguments = arguments.of_channels(row);
    let words = if norm.centers { 2 } else { 1 };
    // An earlier launch wrote one or two numbers of each row.
    let folded = |i: u64| f64::from_bits(arguments.row_states.load(simt, row * words + i));
    let statistics = norm.statistics([folded(0), folded(words - 1)], len);
    let start = arguments.start(simt, row);
    let to = arguments.to.first(simt, row).addr();
    let mut number = first + u64::from(simt.lane());
    while number < u64::min(len, first + u64::from(RUN)) {
        let Two(offset, _) = arguments.offset(simt, number);
        let column = arguments.columns.number(number).0;
        // SAFETY: the row has that element, and there is a weight and a bias for its column, or none.
        let [x, weight, bias] = unsafe {
            [
                load_double(simt, arguments.first_at(start, offset), 0),
                load_column(simt, arguments.columns.weight.start(), column, 1.0),
                load_column(simt, arguments.columns.bias.start(), column, -0.0),
            ]
        };
        let at = to.wrapping_add((number as i64 * arguments.to.step()) as usize);
        let out = arguments.out.start().cast::<u32>().wrapping_add(2 * at);
        // SAFETY: the row has that element, which has one lane.
        unsafe { store_double(simt, out, norm.map(x, statistics, [weight, bias])) };
        number += u64::from(LANES);
    }
    if first == 0 && simt.lane() == 0 {
        store_doubles(simt, arguments, row, statistics);
    }
}

/// Writes the statistics of a row, where there are places for them. One lane has them.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn store_doubles<S: Simt>(simt: S, arguments: RowArguments<f64>, row: u64, statistics: [f64; 2]) {
    each!(i < 2, 2 => if !arguments.known[i].is_null() {
        let to = arguments.known[i].wrapping_add(2 * row as usize);
        // SAFETY: there is room for a number of each row, which has one such lane.
        unsafe { store_double(simt, to, statistics[i]) };
    });
}

/// # Safety
///
/// The array has such an element, which nobody writes.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_double<S: Simt>(simt: S, from: *const f64, at: u64) -> f64 {
    // SAFETY: passed on to the caller.
    f64::from_bits(unsafe { load_element(simt, from.wrapping_add(at as usize)) })
}

/// One of a column, or what stands where there are none.
///
/// # Safety
///
/// As [`load_double`], unless the address is null.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_column<S: Simt>(simt: S, from: *const u8, at: u64, otherwise: f64) -> f64 {
    if from.is_null() {
        return otherwise;
    }
    // SAFETY: passed on to the caller.
    unsafe { load_double(simt, from.cast(), at) }
}

/// # Safety
///
/// It is valid for writes by this thread alone.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn store_double<S: Simt>(simt: S, to: *mut u32, value: f64) {
    let bits = value.to_bits();
    // SAFETY: passed on to the caller.
    unsafe { simt.store_pair(to, [bits as u32, (bits >> 32) as u32]) };
}
