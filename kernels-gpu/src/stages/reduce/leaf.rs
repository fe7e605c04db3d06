//! A leaf in two passes, of a [row operation](crate::rowwise), and the states of leaves.

mod slots;
mod warps;

pub use slots::{Slots, fold_short};
pub use warps::Warps;

use crate::{
    element::Element,
    monoids::Monoid,
    rowwise::{LeafFound, Pass, ReferencePass, RowOp, StatesPass, Sums as _, TermsPass, TotalPass, Value as _},
    simt::Simt,
    stages::{
        columns::{Held, MOST},
        each::each,
        load::words::WORDS,
        reduce::warp,
        shuffle,
    },
    tree::{LANES, pending::Pending, vector_elements},
};

/// States that a lane folds one after the other.
pub const STATES_OF_A_LANE: u32 = 8;

/// States that a warp folds at once.
pub const MOST_STATES: u32 = STATES_OF_A_LANE * LANES;

/// What a leaf came to.
#[derive(Clone, Copy)]
pub struct FoldedLeaf<State> {
    /// What its elements are beside.
    pub reference: f32,
    /// Its state.
    pub state: State,
}

impl<State> FoldedLeaf<State> {
    /// Of `len` elements; of none there may be no reference.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of<O: RowOp<State = State>>(op: O, found: LeafFound, sums: O::Sums, len: u32) -> Self {
        Self {
            reference: found.reference,
            state: if len > 0 {
                op.leaf(found, sums, len)
            } else {
                op.identity()
            },
        }
    }
}

/// What a lane holds of a leaf, a vector of each of its `N` rows; or of `N` leaves a vector each. It is packed as memory has it. Values are made of it for each pass anew: they would need twice as many registers, and
/// registers are what warps are short of.
///
/// In a plain kernel all is written out. In others a pass is a loop, at each turn of which another part is the first: code that is written out is long to compile where it tells many
/// cases apart.
pub trait PackedLeaf<O: RowOp, const N: usize>: Copy {
    /// Whether code is written out.
    const PLAIN: bool;
    /// The values of a row's vector.
    fn vector(&self, row: usize) -> Held<O::Value>;
    /// Of one word of each of four rows: elements of the first, of the second, and so on.
    fn word(&self, word: usize) -> Held<O::Value>;
    /// The largest element of each of `K` leaves, if packed elements are compared at once.
    fn largest<const K: usize>(&self) -> Option<[f32; K]>;
    /// Whether a row's vector has an element in a column.
    fn has(&self, row: usize, column: usize) -> bool;
    /// The same, of which the compiler does not know that it is: values are not kept from an earlier pass.
    #[must_use]
    fn again(self) -> Self;
    /// That, where code is written out, once a pass read it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    fn opaque_again(self) -> Self {
        if Self::PLAIN && O::HAS_FIRST_PASS {
            self.again()
        } else {
            self
        }
    }
    /// The second row is the first, the first the last.
    #[must_use]
    fn next_row(self) -> Self;
    /// The third and the fourth word of each row are the first.
    #[must_use]
    fn next_words(self) -> Self;
}

/// Folds a leaf, of which each lane holds a vector of each row; `len` elements in all.
///
/// ```text
/// lane: rows of each column in pairs, then columns ─ warp: neighbours first; once for each pass
/// ```
///
/// It gives back what the last pass read, for the map to be made of: what that made of an element is not made again.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold<S: Simt, T: Element, O: RowOp, P: PackedLeaf<O, N>, const N: usize>(
    simt: S,
    op: O,
    packed: P,
    len: u32,
) -> (P, FoldedLeaf<O::State>) {
    const { assert_largest::<O>() };
    let mut found = LeafFound {
        first: op.nothing(),
        reference: 0.0,
        total: -0.0,
    };
    if O::HAS_FIRST_PASS {
        let of_lane = match packed.largest::<1>() {
            Some([largest]) if O::FINDS_LARGEST => largest,
            _ => in_lane::<_, T, _, _, _, N>(simt, ReferencePass(op), packed),
        };
        found.first = across(simt, ReferencePass(op), of_lane);
    }
    if O::TOTALS && op.totals() {
        let of_lane = in_lane::<_, T, _, _, _, N>(simt, TotalPass(op), packed);
        found.total = across(simt, TotalPass(op), of_lane);
    }
    found.reference = op.reference(found.first, len);
    let packed = packed.opaque_again();
    let second = TermsPass {
        op,
        reference: found.reference,
    };
    let mut sums = in_lane::<_, T, _, _, _, N>(simt, second, packed);
    sums = if op.sums_one() {
        sums.with_first(across(simt, TotalPass(op), sums.first()))
    } else {
        across(simt, second, sums)
    };
    (packed, FoldedLeaf::of(op, found, sums, len))
}

/// Operations whose first pass is for the largest have nothing between an element and that.
const fn assert_largest<O: RowOp>() {
    let is_plain = O::HAS_FIRST_PASS && !O::TAKES_COLUMNS && O::Value::ARRAYS == 1;
    assert!(
        !O::FINDS_LARGEST || is_plain,
        "the largest of elements as they are read"
    );
}

/// The second is the first, the first the last: so a loop over all of them has each in one place.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn rotated<X: Copy, const K: usize>(of: [X; K]) -> [X; K] {
    let mut to = of;
    each!(i < K, 4 => to[i] = of[(i + 1) % K]);
    to
}

/// A pass over what a lane holds: the rows of each column in pairs, then columns.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn in_lane<S: Simt, T: Element, O: RowOp, L: Pass<O>, P: PackedLeaf<O, N>, const N: usize>(
    simt: S,
    pass: L,
    mut packed: P,
) -> L::State {
    let mut columns = [pass.identity(); MOST];
    if P::PLAIN && N == 4 {
        each!(word < WORDS, 4 => columns = of_word::<T, _, _, _, N>(pass, packed, columns, word));
        return columns[0];
    }
    let mut turn = simt.opaque(0);
    if N == 4 {
        let mut total = pass.identity();
        while turn < 2 {
            each!(word < 2, 2 => columns = of_word::<T, _, _, _, N>(pass, packed, columns, word));
            total = pass.combine(total, columns[0]);
            packed = packed.next_words();
            turn = simt.opaque(turn + 1);
        }
        return total;
    }
    const { assert!(N <= 2 || N == 4, "rows are combined in pairs") };
    if P::PLAIN {
        each!(row < N, 4 => columns = with_row::<T, _, _, _, N>(pass, packed, Some(columns), row));
    } else {
        while turn < N as u32 {
            columns = with_row::<T, _, _, _, N>(pass, packed, Some(columns), 0);
            packed = packed.next_row();
            turn = simt.opaque(turn + 1);
        }
    }
    combine_columns::<T, _>(pass, columns)
}

/// With the columns of a word, four rows of each.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn of_word<T: Element, O: RowOp, L: Pass<O>, P: PackedLeaf<O, N>, const N: usize>(
    pass: L,
    packed: P,
    mut columns: [L::State; MOST],
    word: usize,
) -> [L::State; MOST] {
    let of_word = vector_elements::<T>() / WORDS;
    let values = packed.word(word);
    each!(part < of_word, 2 => {
        let column = word * of_word + part;
        let mut rows = [pass.identity(); 4];
        each!(row < 4, 4 => {
            rows[row] = of(pass, values[row * of_word + part], packed.has(row, column));
        });
        let [a, b, c, d] = rows;
        columns[column] = pass.combine(pass.combine(a, b), pass.combine(c, d));
        columns = combined(pass, columns, column);
    });
    columns
}

/// The columns of a row's vector, with those of rows before it.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn with_row<T: Element, O: RowOp, L: Pass<O>, P: PackedLeaf<O, N>, const N: usize>(
    pass: L,
    packed: P,
    before: Option<[L::State; MOST]>,
    row: usize,
) -> [L::State; MOST] {
    let values = packed.vector(row);
    let mut columns = before.unwrap_or([pass.identity(); MOST]);
    each!(column < vector_elements::<T>() => {
        let state = of(pass, values[column], packed.has(row, column));
        columns[column] = match before {
            Some(_) => pass.combine(columns[column], state),
            None => state,
        };
    });
    columns
}

/// All columns in pairs.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn combine_columns<T: Element, L: Monoid<f32>>(pass: L, mut columns: [L::State; MOST]) -> L::State {
    each!(column < vector_elements::<T>() => columns = combined(pass, columns, column));
    columns[0]
}

/// Columns in pairs, once that of a number is known: none waits longer than it must.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn combined<L: Monoid<f32>>(pass: L, mut columns: [L::State; MOST], column: usize) -> [L::State; MOST] {
    each!(level < 3, 4 => {
        let reach = 1 << level;
        if (column + 1) & (2 * reach - 1) == 0 {
            let first = column + 1 - 2 * reach;
            columns[first] = pass.combine(columns[first], columns[first + reach]);
        }
    });
    columns
}

/// What a pass has of an element, or of none.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn of<O: RowOp, L: Pass<O>>(pass: L, value: O::Value, is_there: bool) -> L::State {
    if L::NOTICES && !is_there {
        pass.absent()
    } else {
        pass.of(value)
    }
}

/// Combines the states of a warp's lanes, neighbours first.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn across<S: Simt, L: Monoid<f32>>(simt: S, pass: L, state: L::State) -> L::State {
    warp::reduce_first(simt, pass, state, LANES)
}

/// How many lanes fold `count` states, at most [`MOST_STATES`], if each folds as many as it may.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[must_use]
pub const fn lanes_of(count: u32) -> u32 {
    u32::next_power_of_two(count.div_ceil(STATES_OF_A_LANE))
}

/// Combines `count` states of each [so many](lanes_of) neighbouring lanes, neighbours first, `state(i)` being the one of that number.
///
/// Called by: all 32 lanes together, with the same `count` and `lanes` · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_in_lanes<S: Simt, O: RowOp>(
    simt: S,
    op: O,
    count: u32,
    lanes: u32,
    state: impl Fn(u32) -> O::State,
) -> O::State {
    let each = u32::next_power_of_two(count.div_ceil(lanes));
    let first = simt.lane() % lanes * each;
    let mine = in_turns(simt, StatesPass(op), each, |turn| {
        if first + turn < count {
            state(first + turn)
        } else {
            op.identity()
        }
    });
    warp::reduce_first(simt, StatesPass(op), mine, lanes)
}

/// Combines `count` states in this lane, a power of two and at most [`STATES_OF_A_LANE`], neighbours first.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn in_turns<S: Simt, O: RowOp>(simt: S, op: StatesPass<O>, count: u32, state: impl Fn(u32) -> O::State) -> O::State {
    let mut pending = Pending::<O::State, 3>::nothing(op);
    let mut turn = simt.opaque(0);
    while turn < count {
        pending.push(simt, op, turn, state(turn));
        turn = simt.opaque(turn + 1);
    }
    pending.total(simt, op, count)
}

/// Combines `count` states, at most [`MOST_STATES`], neighbours first, `state(i)` being the one of that number.
///
/// Called by: all 32 lanes together, with the same `count` · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_states<S: Simt, O: RowOp>(simt: S, op: O, count: u32, state: impl Fn(u32) -> O::State) -> O::State {
    let op = StatesPass(op);
    let take = |number: u32| {
        if number < count { state(number) } else { op.identity() }
    };
    let (mine, lanes) = if count <= LANES {
        (take(simt.lane()), u32::next_power_of_two(count))
    } else {
        let each = u32::next_power_of_two(count.div_ceil(LANES));
        (in_turns(simt, op, each, |turn| take(simt.lane() * each + turn)), LANES)
    };
    let total = warp::reduce_first(simt, op, mine, lanes);
    // Of fewer lanes than a warp's, the first have it.
    shuffle(simt, total, 0)
}

/// The same of at most as many as a warp has lanes, by less code.
///
/// Called by, Valid in, Scratch: as [`fold_states`]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_a_lane_each<S: Simt, O: RowOp>(simt: S, op: O, count: u32, state: impl Fn(u32) -> O::State) -> O::State {
    let mut mine = op.identity();
    if simt.lane() < count {
        mine = state(simt.lane());
    }
    let total = warp::reduce_first(simt, StatesPass(op), mine, u32::next_power_of_two(count));
    // Of fewer lanes than a warp's, the first have it.
    shuffle(simt, total, 0)
}
