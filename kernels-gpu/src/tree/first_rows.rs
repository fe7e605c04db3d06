//! Parts of which only the first rows hold elements.

use super::Part;
use crate::{element::Item, monoids::Monoid};

/// `N` rows of a part, from row `first` on.
#[derive(Clone, Copy)]
struct RowsOf<P, const N: usize> {
    part: P,
    first: usize,
}

impl<T, P: Part<T>, const N: usize> Part<T> for RowsOf<P, N> {
    const ROWS: usize = N;
    const COLUMNS: usize = P::COLUMNS;
    const AT_HAND: bool = P::AT_HAND;

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        self.part.lift(op, self.first + row, column)
    }
}

/// [`fold_part`](super::fold_part) of a part of [`ROWS`](super::ROWS) rows of which the first `rows` alone hold elements: the others are
/// passed over, half of those that are left at a time.
#[inline(always)]
pub fn fold_first_rows<T: Item, M: Monoid<T>, P: Part<T>>(op: M, part: P, rows: u32) -> M::State {
    if M::IN_ANY_ORDER {
        let mut state = op.fold_part(RowsOf::<P, 2> { part, first: 0 });
        if rows > 2 {
            state = op.combine(state, op.fold_part(RowsOf::<P, 2> { part, first: 2 }));
        }
        if rows > 4 {
            state = op.combine(state, op.fold_part(RowsOf::<P, 4> { part, first: 4 }));
        }
        return state;
    }
    let pair = |row: usize, column: usize| {
        if column < P::COLUMNS {
            op.combine(part.lift(op, row, column), part.lift(op, row + 1, column))
        } else {
            op.identity()
        }
    };
    // Written out: an array that is made in a loop would lie in memory.
    let all = |row: usize| {
        let low = [pair(row, 0), pair(row, 1), pair(row, 2), pair(row, 3)];
        let high = [pair(row, 4), pair(row, 5), pair(row, 6), pair(row, 7)];
        let ([a, b, c, d], [e, f, g, h]) = (low, high);
        [a, b, c, d, e, f, g, h]
    };
    let both = |a: [M::State; 8], b: [M::State; 8]| {
        let [a0, a1, a2, a3, a4, a5, a6, a7] = a;
        let [b0, b1, b2, b3, b4, b5, b6, b7] = b;
        [
            op.combine(a0, b0),
            op.combine(a1, b1),
            op.combine(a2, b2),
            op.combine(a3, b3),
            op.combine(a4, b4),
            op.combine(a5, b5),
            op.combine(a6, b6),
            op.combine(a7, b7),
        ]
    };
    let mut columns = all(0);
    if rows > 2 {
        columns = both(columns, all(2));
    }
    if rows > 4 {
        columns = both(columns, both(all(4), all(6)));
    }
    // Columns that a part has not hold the identity.
    let [a, b, c, d, e, f, g, h] = columns;
    let low = op.combine(op.combine(a, b), op.combine(c, d));
    if P::COLUMNS <= 4 {
        return low;
    }
    op.combine(low, op.combine(op.combine(e, f), op.combine(g, h)))
}
