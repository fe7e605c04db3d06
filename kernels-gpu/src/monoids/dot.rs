//! Products of two arrays, element by element: their dot product, and the cosine of the angle between them.

use super::{Algebra, Monoid, Words};
use crate::{
    arithmetic::double,
    element::{Accumulator as _, Float, Scale, Squares, Two, Wide, in_pairs},
    tree::{ColumnFold, Predicated, ROWS},
};

/// `a₀·b₀ + a₁·b₁ + …`, pairwise. Over nothing, 0.
///
/// f16, bf16 and f32 are multiplied and summed in f32, and the answer rounded once to their own type; f64 in f64. Each product is
/// rounded by itself, never fused into the sum: the bits are those of the [`Sum`](super::Sum) of the array of products. Products of
/// f16 are exact, and so are those of bf16 that neither over- nor underflow f32. With `u` 2⁻²⁴ or 2⁻⁵³, the error is at most
/// `(⌈log₂ n⌉ + 1) · u · Σ|aᵢ·bᵢ|` to first order, before the answer is rounded.
///
/// It is symmetric to the bit. A NaN, or a 0 times an infinity, gives NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dot;

impl<T: Float> Monoid<Two<T>> for Dot {
    type State = T::Wide;
    type Answer = T::Total;

    #[inline]
    fn identity(self) -> T::Wide {
        T::Wide::NOTHING
    }
    #[inline]
    fn lift(self, Two(a, b): Two<T>, _: u64) -> T::Wide {
        a.wide().times(b.wide())
    }
    #[inline]
    fn filler(self) -> Option<Two<T>> {
        // Their product is −0.0.
        Some(Two(T::nothing(), T::from_bits(0)))
    }
    #[inline]
    fn combine(self, a: T::Wide, b: T::Wide) -> T::Wide {
        a.plus(b)
    }
    #[inline]
    fn finish(self, sum: T::Wide, _: u64) -> T::Total {
        T::total(sum)
    }
    #[inline]
    fn empty(self) -> Option<T::Total> {
        Some(T::total(T::Wide::ZERO))
    }
}

/// The cosine similarity, `Σaᵢ·bᵢ / √(Σaᵢ² · Σbᵢ²)`, from three sums in one pass, all in f64, and rounded to the elements' type
/// once. Never outside −1 to 1, and 1 of an array and itself (of f64 within a rounding, where the product of sums of squares leaves
/// f64). NaN where either array is all zeros (0 / 0), of a NaN or an infinity,
/// and over nothing.
///
/// Products of f16, bf16 and f32 are exact in f64, and no sum over- or underflows there: with `d = ⌈log₂ n⌉` and `C` the cosine of
/// the magnitudes, the error is at most `(d · (C + 1) + 3) · 2⁻⁵³` to first order before the answer is rounded. Of f64, products are
/// rounded, and each array is scaled by a power of two, so that no sum over- or underflows there either.
///
/// It is symmetric to the bit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cosine;

/// The sum of products, and each array's of squares. In this order in memory: in another the compiler merges what two branches store, by an
/// address that they choose, so states cannot stay in registers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Products<S> {
    /// Of both arrays' elements, each scaled as its array's squares are.
    pub both: f64,
    /// Of the first array's.
    pub first: Squares<S>,
    /// Of the second array's.
    pub second: Squares<S>,
}

impl<S: Scale> Words for Products<S> {
    const COUNT: usize = <(f64, (Squares<S>, Squares<S>))>::COUNT;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        (self.both, (self.first, self.second)).word(i)
    }
    #[inline(always)]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        let (both, (first, second)) = Words::from_words(word);
        Self { both, first, second }
    }
}

impl<S: Scale> Products<S> {
    /// The sum of products, where the arrays are scaled as they are in a state of larger numbers, or of as large ones.
    #[inline(always)]
    fn both_in(self, state: Self) -> f64 {
        self.both * self.first.scale.to(state.first.scale) * self.second.scale.to(state.second.scale)
    }
}

impl<T: Float> Monoid<Two<T>> for Cosine {
    type State = Products<T::Scale>;
    type Answer = T;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn identity(self) -> Products<T::Scale> {
        // Neutral to the bit: a product may be −0.0, a square never is.
        Products {
            both: -0.0,
            first: Squares::NOTHING,
            second: Squares::NOTHING,
        }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn lift(self, Two(a, b): Two<T>, _: u64) -> Products<T::Scale> {
        let (a, b) = (a.to_f64(), b.to_f64());
        let (first, second): (Squares<T::Scale>, Squares<T::Scale>) = (Squares::of(a), Squares::of(b));
        Products {
            both: (a * first.scale.factor()) * (b * second.scale.factor()),
            first,
            second,
        }
    }
    #[inline]
    fn filler(self) -> Option<Two<T>> {
        Dot.filler()
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn combine(self, a: Products<T::Scale>, b: Products<T::Scale>) -> Products<T::Scale> {
        let both = 0.0;
        let (first, second) = (a.first.plus(b.first), a.second.plus(b.second));
        let sums = Products { both, first, second };
        Products {
            both: a.both_in(sums) + b.both_in(sums),
            ..sums
        }
    }
    const ALGEBRA: Algebra = Algebra {
        // The bits are those of pairs: it is less code.
        folds_columns: T::Scale::SCALES,
        ..Algebra::PLAIN
    };
    crate::opt_in!(Two<T>: ColumnFold);
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn finish(self, sums: Products<T::Scale>, _: u64) -> T {
        // The scales cancel out.
        T::from_f64(cosine(sums.both, sums.first.sum, sums.second.sum))
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn empty(self) -> Option<T> {
        Some(T::from_f64(f64::NAN))
    }
}

impl<T: Float> ColumnFold<Two<T>, Products<T::Scale>> for Cosine {
    #[inline(always)]
    fn fold_column(self, column: [Predicated<Two<T>>; ROWS], _: u64, _: u64) -> Products<T::Scale> {
        let of = |place: Predicated<Two<T>>| match place.is_there {
            true => (place.value.0.to_f64(), place.value.1.to_f64()),
            // Neutral, and so is its product.
            false => (-0.0, 0.0),
        };
        let scaled = |column: [f64; ROWS]| {
            let scale = T::Scale::of_column(column);
            (column.map(|x| x * scale.factor()), scale)
        };
        let (a, first) = scaled(column.map(|place| of(place).0));
        let (b, second) = scaled(column.map(|place| of(place).1));
        let sum = |products| in_pairs(products, |a: f64, b: f64| a + b);
        Products {
            both: sum(products(a, b)),
            first: Squares {
                sum: sum(products(a, a)),
                scale: first,
            },
            second: Squares {
                sum: sum(products(b, b)),
                scale: second,
            },
        }
    }
}

/// The products of two columns, element by element.
#[inline(always)]
fn products(a: [f64; ROWS], b: [f64; ROWS]) -> [f64; ROWS] {
    let [p, q, r, s, t, u, v, w] = a;
    let [i, j, k, l, m, n, o, x] = b;
    [p * i, q * j, r * k, s * l, t * m, u * n, v * o, w * x]
}

/// The least and the most product of squares whose root is taken: far enough from the ends of f64 that nothing is lost.
const ROOTED: core::ops::Range<f64> = 1e-280..1e300;

#[allow(clippy::manual_clamp)] // `clamp` has a panic in it
#[inline(always)]
fn cosine(both: f64, first: f64, second: f64) -> f64 {
    let square = first * second;
    let norms = if ROOTED.contains(&square) {
        // One root, so that an array and itself have a cosine of 1: the root of a rounded square is the number.
        double::sqrt(square)
    } else {
        double::sqrt(first) * double::sqrt(second)
    };
    let cosine = both / norms;
    if norms == f64::INFINITY {
        f64::NAN
    } else if cosine > 1.0 {
        1.0
    } else if cosine < -1.0 {
        -1.0
    } else {
        cosine
    }
}

#[cfg(test)]
#[path = "dot_tests.rs"]
mod tests;
