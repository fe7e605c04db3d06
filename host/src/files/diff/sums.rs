//! What the differences of two arrays add up to.

use pulp::{Arch, NullaryFnOnce};

use super::super::{bf16, complex64, complex128, f8e4m3, f8e5m2, f16, reading::Read};

/// Numbers that are added up together: where all of them are finite, none is asked.
const BLOCK: usize = 1 << 10;
/// DiffSums side by side.
const LANES: usize = 8;

/// Elements that are compared, as one float64 or two.
pub trait Compared: Read {
    /// How many.
    const EACH: usize = 1;
    /// As many as there is room for.
    fn parts(values: &[Self], parts: &mut [f64]);
    /// Of integers that float64 rounds: what differs by less than that, too.
    fn correct(_sums: &mut DiffSums, _first: u64, _a: &[Self], _b: &[Self]) {}
}

macro_rules! floats {
    ($($float:ty, $wide:expr;)*) => {
        $(impl Compared for $float {
            #[inline(always)]
            fn parts(values: &[Self], parts: &mut [f64]) {
                for (part, value) in parts.iter_mut().zip(values) {
                    *part = f64::from($wide(*value));
                }
            }
        })*
    };
}

floats!(
    f64, |value| value;
    f32, |value| value;
    f16, f16::to_f32;
    bf16, bf16::to_f32;
    f8e4m3, f8e4m3::to_f32;
    f8e5m2, f8e5m2::to_f32;
);

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl Compared for $integer {
            #[inline(always)]
            fn parts(values: &[Self], parts: &mut [f64]) {
                for (part, value) in parts.iter_mut().zip(values) {
                    *part = *value as f64;
                }
            }
            fn correct(sums: &mut DiffSums, first: u64, a: &[Self], b: &[Self]) {
                (sums.differing, sums.largest, sums.at, sums.squares[0]) = (0, 0.0, None, 0.0);
                for (at, (a, b)) in (first..).zip(a.iter().zip(b)).filter(|(_, (a, b))| a != b) {
                    let difference = (i128::from(*a) - i128::from(*b)).unsigned_abs() as f64;
                    sums.differing += 1;
                    sums.squares[0] += difference * difference;
                    if difference > sums.largest {
                        (sums.largest, sums.at) = (difference, Some(at));
                    }
                }
            }
        })*
    };
}

integers!(u8 u16 u32 u64 i8 i16 i32 i64);

macro_rules! complex {
    ($($complex:ty)*) => {
        $(impl Compared for $complex {
            const EACH: usize = 2;
            #[inline(always)]
            fn parts(values: &[Self], parts: &mut [f64]) {
                for (parts, z) in parts.as_chunks_mut::<2>().0.iter_mut().zip(values) {
                    *parts = [f64::from(z.re), f64::from(z.im)];
                }
            }
        })*
    };
}

complex!(complex64 complex128);

/// What the elements of two runs add up to.
#[derive(Clone, Copy)]
pub struct DiffSums {
    pub equal_bits: bool,
    pub differing: u64,
    /// Of those, the pairs in which one is NaN alone.
    pub nan: u64,
    pub largest: f64,
    pub at: Option<u64>,
    /// Of squares of differences, of squares of either, of products.
    squares: [f64; 3],
    products: f64,
}

impl DiffSums {
    /// Of no elements.
    pub const NOTHING: Self = Self {
        equal_bits: true,
        differing: 0,
        nan: 0,
        largest: 0.0,
        at: None,
        squares: [0.0; 3],
        products: 0.0,
    };

    /// Of elements from number `first` on, with the vector instructions of the machine: the order of additions is the same with any.
    pub fn of<T: Compared>(first: u64, a: &[T], b: &[T], nan_equal: bool) -> Self {
        let equal_bits = bytemuck::cast_slice::<T, u8>(a) == bytemuck::cast_slice::<T, u8>(b);
        let mut sums = Arch::new().dispatch(DiffRun { first, a, b, nan_equal });
        sums.equal_bits = equal_bits;
        if !equal_bits {
            T::correct(&mut sums, first, a, b);
        }
        sums
    }

    /// Of a block of numbers. All that can be compared with each other are in the sums.
    #[inline(always)]
    fn of_numbers(first: u64, a: &[f64], b: &[f64], nan_equal: bool) -> Self {
        let are_finite = |values: &[f64]| values.iter().fold(true, |all, value| all & value.is_finite());
        match are_finite(a) & are_finite(b) {
            true => Self::of_finite(first, a, b),
            false => Self::of_any(first, a, b, nan_equal),
        }
    }

    /// By lanes, each of which adds up every eighth number: the compiler makes vectors of them.
    #[inline(always)]
    fn of_finite(first: u64, a: &[f64], b: &[f64]) -> Self {
        let (mut differing, mut largest) = ([0_u64; LANES], [0.0_f64; LANES]);
        let (mut squares, mut products) = ([[0.0; LANES]; 3], [0.0; LANES]);
        let [(a_chunks, a_rest), (b_chunks, b_rest)] = [a, b].map(|values| values.as_chunks::<LANES>());
        let [a_lanes, b_lanes] = [a_chunks, b_chunks].map(<[_]>::as_flattened);
        for (a, b) in a_chunks.iter().zip(b_chunks) {
            for lane in 0..LANES {
                let difference = (a[lane] - b[lane]).abs();
                differing[lane] += u64::from(difference > 0.0);
                largest[lane] = if difference > largest[lane] {
                    difference
                } else {
                    largest[lane]
                };
                squares[0][lane] += difference * difference;
                squares[1][lane] += a[lane] * a[lane];
                squares[2][lane] += b[lane] * b[lane];
                products[lane] += a[lane] * b[lane];
            }
        }
        let largest = largest.into_iter().fold(0.0, f64::max);
        let mut pairs = a_lanes.iter().zip(b_lanes);
        let at = match largest > 0.0 {
            true => pairs.position(|(a, b)| (a - b).abs() == largest),
            false => None,
        };
        let lanes = Self {
            differing: differing.iter().sum(),
            largest,
            at: at.map(|at| first + at as u64),
            squares: squares.map(|lanes| lanes.iter().sum()),
            products: products.iter().sum(),
            ..Self::NOTHING
        };
        lanes.and(Self::of_any(first + a_lanes.len() as u64, a_rest, b_rest, false))
    }

    /// One after the other.
    fn of_any(first: u64, a: &[f64], b: &[f64], nan_equal: bool) -> Self {
        let mut sums = Self::NOTHING;
        for (at, (a, b)) in (first..).zip(a.iter().zip(b)) {
            let is_nan = [a.is_nan(), b.is_nan()];
            if is_nan != [false; 2] {
                let is_same = is_nan == [true; 2] && nan_equal;
                sums.differing += u64::from(!is_same);
                sums.nan += u64::from(!is_same);
                continue;
            }
            // The difference of equal infinities is 0.
            let difference = if a == b { 0.0 } else { (a - b).abs() };
            sums.differing += u64::from(difference > 0.0);
            if difference > sums.largest {
                sums.largest = difference;
                sums.at = Some(at);
            }
            sums.squares[0] += difference * difference;
            sums.squares[1] += a * a;
            sums.squares[2] += b * b;
            sums.products += a * b;
        }
        sums
    }

    /// With those of the run that follows.
    pub fn and(self, next: Self) -> Self {
        let (largest, at) = match next.largest > self.largest {
            true => (next.largest, next.at),
            false => (self.largest, self.at),
        };
        Self {
            equal_bits: self.equal_bits && next.equal_bits,
            differing: self.differing + next.differing,
            nan: self.nan + next.nan,
            largest,
            at,
            squares: [0, 1, 2].map(|i| self.squares[i] + next.squares[i]),
            products: self.products + next.products,
        }
    }

    /// NaN where squares leave the range of float64.
    pub fn relative_l2(&self) -> f64 {
        match (self.largest, self.squares[0]) {
            (0.0, _) => 0.0,
            (_, 0.0) => f64::NAN,
            (_, squares) => squares.sqrt() / self.squares[1].sqrt(),
        }
    }

    pub fn cosine(&self) -> f64 {
        match self.largest {
            0.0 => 1.0,
            _ => self.products / (self.squares[1].sqrt() * self.squares[2].sqrt()),
        }
    }
}

/// Two runs of elements, the first of which has number `first`: added up block by block.
struct DiffRun<'a, T> {
    first: u64,
    a: &'a [T],
    b: &'a [T],
    nan_equal: bool,
}

impl<T: Compared> NullaryFnOnce for DiffRun<'_, T> {
    type Output = DiffSums;

    #[inline(always)]
    fn call(self) -> DiffSums {
        let (mut of_a, mut of_b) = ([0.0; BLOCK], [0.0; BLOCK]);
        let mut sums = DiffSums::NOTHING;
        let each = const { BLOCK / T::EACH };
        for (block, (a, b)) in self.a.chunks(each).zip(self.b.chunks(each)).enumerate() {
            let (of_a, of_b) = (&mut of_a[..a.len() * T::EACH], &mut of_b[..b.len() * T::EACH]);
            T::parts(a, of_a);
            T::parts(b, of_b);
            let first = (self.first + (block * each) as u64) * T::EACH as u64;
            let mut of_block = DiffSums::of_numbers(first, of_a, of_b, self.nan_equal);
            if T::EACH > 1 {
                // A number of several parts has one index, and differs once.
                let is_same = |(a, b): (&f64, &f64)| a == b || self.nan_equal && a.is_nan() && b.is_nan();
                let elements = of_a.chunks(T::EACH).zip(of_b.chunks(T::EACH));
                let differing = elements.filter(|(a, b)| !a.iter().zip(*b).all(is_same));
                of_block.differing = differing.count() as u64;
                of_block.at = of_block.at.map(|at| at / T::EACH as u64);
            }
            sums = sums.and(of_block);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_add_up() {
        let sums = DiffSums::of(10, &[1.0, 2.0, f64::NAN, 4.0], &[1.0, 2.5, f64::NAN, 3.0], false);
        assert_eq!((sums.differing, sums.nan, sums.largest, sums.at), (3, 1, 1.0, Some(13)));
        assert_eq!(sums.squares, [1.25, 21.0, 16.25]);
        let same = DiffSums::of(0, &[f64::INFINITY, f64::NAN], &[f64::INFINITY, f64::NAN], true);
        assert_eq!(
            (same.differing, same.largest, same.relative_l2(), same.cosine()),
            (0, 0.0, 0.0, 1.0)
        );
    }

    /// Though float64 has one number for both.
    #[test]
    fn large_integers_differ() {
        let (a, b) = ([7_i64, 1 << 53, i64::MIN], [7_i64, (1 << 53) + 1, i64::MAX]);
        let sums = DiffSums::of(0, &a[..2], &b[..2], false);
        assert_eq!(
            (sums.equal_bits, sums.differing, sums.largest, sums.at),
            (false, 1, 1.0, Some(1))
        );
        let sums = DiffSums::of(5, &a, &b, false);
        assert_eq!(
            (sums.differing, sums.largest, sums.at),
            (2, 18_446_744_073_709_551_615.0, Some(7))
        );
    }

    #[test]
    fn bits_differ_where_values_do_not() {
        let sums = DiffSums::of(0, &[0.0_f32, 1.0], &[-0.0_f32, 1.0], false);
        assert_eq!((sums.equal_bits, sums.differing), (false, 0));
        let signalling = f32::from_bits(0x7fa0_0000);
        let sums = DiffSums::of(0, &[signalling], &[f32::from_bits(0x7fe0_0000)], true);
        assert_eq!((sums.equal_bits, sums.differing), (false, 0));
    }

    /// An element of two parts differs once.
    #[test]
    fn complex_numbers_are_elements() {
        let a = [complex64::new(1.0, 2.0), complex64::new(3.0, f32::NAN)];
        let b = [complex64::new(2.0, 4.0), complex64::new(3.0, f32::NAN)];
        let sums = DiffSums::of(4, &a, &b, true);
        assert_eq!((sums.differing, sums.largest, sums.at), (1, 2.0, Some(4)));
        assert_eq!(DiffSums::of(4, &a, &b, false).differing, 2);
    }

    /// Whatever the instructions and the length.
    #[test]
    fn lanes_are_all_of_a_run() {
        for len in [0, 1, 7, 8, 9, 1023, 1024, 1025, 3000] {
            let a: Vec<f32> = (0..len).map(|i| (i % 97) as f32).collect();
            let mut b = a.clone();
            if let Some(last) = b.last_mut() {
                *last += 2.0;
            }
            let sums = DiffSums::of(0, &a, &b, false);
            let squares: f64 = a.iter().map(|x| f64::from(x * x)).sum();
            assert_eq!(
                (sums.differing, sums.at),
                (len.min(1) as u64, (len as u64).checked_sub(1))
            );
            assert_eq!(
                (sums.squares[0], sums.squares[1]),
                (if len > 0 { 4.0 } else { 0.0 }, squares)
            );
        }
    }
}
