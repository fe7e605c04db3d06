//! What the differences of two arrays add up to.

/// Numbers that are looked at together: where all of them are finite, none is asked.
const BLOCK: usize = 1 << 10;
/// Sums side by side.
const LANES: usize = 8;

/// What the elements of two runs add up to.
#[derive(Clone, Copy)]
pub struct Sums {
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

impl Sums {
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

    /// Of numbers from number `first` on. All that can be compared with each other are in the sums.
    pub fn of(first: u64, a: &[f64], b: &[f64], nan_equal: bool) -> Self {
        let blocks = a.chunks(BLOCK).zip(b.chunks(BLOCK)).enumerate();
        blocks.fold(Self::NOTHING, |sums, (block, (a, b))| {
            let first = first + (block * BLOCK) as u64;
            let are_finite = a.iter().chain(b).fold(true, |all, value| all & value.is_finite());
            sums.and(match are_finite {
                true => Self::of_finite(first, a, b),
                false => Self::of_any(first, a, b, nan_equal),
            })
        })
    }

    /// By lanes, each of which adds up every eighth number: the compiler makes vectors of them.
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
        let at = a_lanes
            .iter()
            .zip(b_lanes)
            .position(|(a, b)| largest > 0.0 && (a - b).abs() == largest);
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

    pub fn relative_l2(&self) -> f64 {
        match self.squares[0] {
            0.0 => 0.0,
            squares => squares.sqrt() / self.squares[1].sqrt(),
        }
    }

    pub fn cosine(&self) -> f64 {
        match self.squares[0] {
            0.0 => 1.0,
            _ => self.products / (self.squares[1].sqrt() * self.squares[2].sqrt()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_add_up() {
        let sums = Sums::of(10, &[1.0, 2.0, f64::NAN, 4.0], &[1.0, 2.5, f64::NAN, 3.0], false);
        assert_eq!((sums.differing, sums.nan, sums.largest, sums.at), (3, 1, 1.0, Some(13)));
        assert_eq!(sums.squares, [1.25, 21.0, 16.25]);
        let same = Sums::of(0, &[f64::INFINITY, f64::NAN], &[f64::INFINITY, f64::NAN], true);
        assert_eq!(
            (same.differing, same.largest, same.relative_l2(), same.cosine()),
            (0, 0.0, 0.0, 1.0)
        );
    }
}
