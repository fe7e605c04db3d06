//! How the elements of an array are shared out.

use std::ops::Range;

use super::run::Division;

/// The subtrees of the canonical tree that a partial of `len` elements from `first` on has states of, as runs of elements: the largest
/// that its whole leaves, of `leaf` elements, are. An operator that any order serves has one state instead.
///
/// ```
/// use warpfold::partial::subtrees;
///
/// assert_eq!(subtrees(1000, 4000, 1024).collect::<Vec<_>>(), [1024..2048, 2048..4096]);
/// ```
///
/// # Panics
///
/// If `leaf` is 0, or the run ends past 2⁶⁴ − 1.
pub fn subtrees(first: u64, len: u64, leaf: u64) -> impl Iterator<Item = Range<u64>> {
    let end = first.checked_add(len).expect("positions below 2^64");
    let subtrees = Division::of(first, end, leaf).subtrees();
    subtrees.map(move |(level, index)| (index * leaf) << level..((index + 1) * leaf) << level)
}

/// A share's part that is given up to balance for fewer subtrees: one in so many.
const BALANCE: u64 = 64;

/// Shares out the elements `0..len` among `parts`: runs of neighbours, in their order, that divide at leaves of `leaf` elements
/// ([`OpFacts::leaf_elements`](crate::ops::OpFacts::leaf_elements)). So no part keeps single elements, but for those of the last leaf, which
/// may be ragged.
///
/// Parts are as equal as that allows. Of many leaves they divide at multiples of a power of two of them, at most a 64th of a
/// part: then a part is few subtrees of the canonical tree. Where there are fewer leaves than parts, some parts are empty.
///
/// # Panics
///
/// If `parts` or `leaf` is 0.
///
/// ```
/// use warpfold::partial::split;
///
/// assert_eq!(split(5000, 2, 1024), [0..2048, 2048..5000]);
/// assert_eq!(split(1500, 3, 1024), [0..0, 0..1024, 1024..1500]);
/// ```
#[must_use]
pub fn split(len: u64, parts: usize, leaf: u64) -> Vec<Range<u64>> {
    assert!(parts > 0, "elements are shared out among at least one");
    let leaves = len.div_ceil(leaf);
    let most = leaves / parts as u64 / BALANCE;
    let unit = if most > 1 { 1 << most.ilog2() } else { 1 };
    let units = u128::from(leaves.div_ceil(unit));
    let start = |part: usize| {
        let units = units * part as u128 / parts as u128;
        let elements = units * u128::from(unit) * u128::from(leaf);
        u64::try_from(elements).map_or(len, |elements| elements.min(len))
    };
    (0..parts).map(|part| start(part)..start(part + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_there_is_and_about_equal() {
        for len in [0, 1, 7, 8, 9, 800, 12_345, 1 << 40, u64::MAX] {
            for parts in [1, 2, 3, 7, 64, 1000] {
                let split = split(len, parts, 8);
                assert_eq!((split[0].start, split[parts - 1].end), (0, len));
                assert!(split.windows(2).all(|two| two[0].end == two[1].start));
                assert!(split[1..].iter().all(|part| part.start % 8 == 0 || part.start == len));
                let largest = split.iter().map(|part| part.end - part.start).max().expect("a part");
                let even = len / parts as u64;
                assert!(
                    largest <= even.saturating_add(even / 32 + 16),
                    "{len} in {parts}: {largest}"
                );
            }
        }
    }

    #[test]
    fn parts_of_many_leaves_are_few_subtrees() {
        for part in split(1_000_003 * 1024, 7, 1024) {
            let subtrees = crate::pieces::subtrees::subtrees(part.start / 1024, part.end / 1024).count();
            assert!(subtrees < 24, "{subtrees}");
        }
    }
}
