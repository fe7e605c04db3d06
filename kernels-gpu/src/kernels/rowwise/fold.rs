//! Rows that are folded, and not mapped.

use super::{Mode, Plain, RowArguments, position::Position, read::Lane};
use crate::{
    element::Element,
    monoids::Words as _,
    rowwise::{RowOp, StatesPass, Value as _},
    simt::{MAIL, Simt},
    stages::{
        each::each,
        load::words::{Vectors, WORDS},
        load_words,
        reduce::{leaf, warp},
        store_words,
    },
    tree::{LANES, place, vector_elements},
};

/// Leaves of a row that a warp folds whole, at most.
pub const MOST_LEAVES: u32 = LANES / 2;

/// Rows of which a warp writes at once what is known: a lane for each.
pub const MOST_ROWS: u32 = LANES;

/// Warps of a block, at most: so many have room in shared memory.
pub const WARPS: u32 = 4;

/// Folds the leaves of [plain](crate::kernels::Launch::is_plain) launches.
///
/// A warp has a run of neighbours. It folds them one after the other, and asks for the next before it folds one. Where the launch folds
/// [whole](Mode::Whole) rows, a run is of at most [`MOST_ROWS`] rows of at most [`MOST_LEAVES`] leaves, and what is known of them is written by a lane for
/// each, all at once; else the states of leaves are written.
///
/// ```text
/// lane: N vectors of the next leaf ─ two passes over this one ─ warp: 5 shuffles each ─ the leaves of a row, a lane for each ─ what is known of rows
/// ```
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_leaves<S: Simt, T: Element, O: RowOp>(simt: S, op: O, arguments: RowArguments<T>) {
    if O::Value::ARRAYS == 1 {
        run::<S, T, O, 4>(simt, op.plain(), arguments);
    } else {
        run::<S, T, O, 2>(simt, op.plain(), arguments);
    }
}

/// [`fold_leaves`], of as many rows as a leaf has.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn run<S: Simt, T: Element, O: RowOp, const N: usize>(simt: S, op: O, arguments: RowArguments<T>) {
    let all = arguments.rows.count() as u32 * arguments.leaves_of_row();
    // Of the first lane: so a compiler knows that all lanes have the same.
    let number = (simt.block() * simt.warps() + simt.shuffle(simt.warp(), 0)) * arguments.run;
    if number >= all {
        return;
    }
    let mut left = u32::min(arguments.run, all - number);
    let mut at = At::new::<S, O>(simt, arguments, number);
    let rows = WarpRows::new(simt, op, arguments, at.row.into());
    let mut words = at.load::<S, O, N>(simt, op, arguments);
    if arguments.mode == Mode::Whole {
        rows.ask(arguments.run / arguments.leaves_of_row());
    }
    loop {
        let mut next = at.next::<O>(arguments);
        left -= 1;
        if left == 0 {
            next.len = 0;
        }
        let prefetch = next.load::<S, O, N>(simt, op, arguments);
        let len = u32::min(at.len, RowArguments::<T>::leaf::<O>() as u32);
        let lane = Lane::<S, T, O, Plain, N>::loaded(simt, op, arguments, at.position(simt, arguments), words);
        let (_, of) = leaf::fold::<S, T, O, _, N>(simt, op, lane, len);
        if arguments.mode == Mode::Whole {
            rows.push(at, of.state);
        } else if simt.lane() == 0 {
            let number = at.row * arguments.leaves_of_row() + at.leaf;
            arguments.states.store(simt, number.into(), of.state);
        }
        words = prefetch;
        if left == 0 {
            break;
        }
        at = next;
    }
    if arguments.mode == Mode::Whole {
        rows.store_known(at.row + 1 - rows.first as u32);
    }
}

/// Where a warp is: at a leaf of a row.
#[derive(Clone, Copy)]
struct At<T> {
    row: u32,
    leaf: u32,
    /// This lane's first element there.
    from: *const T,
    /// Elements of the row from the leaf's first on.
    len: u32,
}

impl<T: Element> At<T> {
    /// At the leaf of that number among all.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn new<S: Simt, O: RowOp>(simt: S, arguments: RowArguments<T>, number: u32) -> Self {
        let leaves = arguments.leaves_of_row();
        let (row, leaf) = (number / leaves, number % leaves);
        let before = leaf * RowArguments::<T>::leaf::<O>() as u32;
        let place = before + simt.lane() * vector_elements::<T>() as u32;
        Self {
            row,
            leaf,
            from: arguments.first_at(arguments.regular_start(row.into()), place.into()),
            len: u32::saturating_sub(arguments.seen_of::<O>(row), before),
        }
    }

    /// The one after it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn next<O: RowOp>(self, arguments: RowArguments<T>) -> Self {
        let (leaf, leaves) = (RowArguments::<T>::leaf::<O>(), arguments.leaves_of_row());
        let is_last = self.leaf + 1 == leaves;
        let to_next = arguments.rows.stride().0 - (u64::from(leaves - 1) * leaf) as i64;
        // Rows of which all is seen end with their last leaf.
        let rest = if O::MASKS {
            u32::saturating_sub(self.len, leaf as u32)
        } else {
            u32::wrapping_sub(self.len, leaf as u32)
        };
        Self {
            row: self.row + u32::from(is_last),
            leaf: if is_last { 0 } else { self.leaf + 1 },
            from: self
                .from
                .wrapping_offset(if is_last { to_next as isize } else { leaf as isize }),
            len: if is_last {
                arguments.seen_of::<O>(self.row + 1)
            } else {
                rest
            },
        }
    }

    /// What this lane has of it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn load<S: Simt, O: RowOp, const N: usize>(self, simt: S, op: O, arguments: RowArguments<T>) -> Vectors<N> {
        let mut words = [[0; WORDS]; N];
        if self.len >= RowArguments::<T>::leaf::<O>() as u32 {
            // SAFETY: all of the leaf is there.
            each!(row < N, 4 => unsafe {
                words[row] = simt.load_input_vector(self.from.wrapping_add(place::<T>(row, 0) as usize).cast());
            });
            return words;
        }
        // Rare: nothing of it is to be made beforehand.
        let mut place_in = simt.opaque(simt.lane() * vector_elements::<T>() as u32);
        let start = self.from.wrapping_sub(place_in as usize);
        let absent = [arguments.absent_word(op); WORDS];
        each!(row < N, 4 => {
            // SAFETY: rows are whole vectors.
            words[row] = unsafe {
                simt.load_input_vector_if(place_in < self.len, start.wrapping_add(place_in as usize).cast(), absent)
            };
            place_in = simt.opaque(place_in + place::<T>(1, 0) as u32);
        });
        words
    }

    /// The place of this lane's first vector.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn position<S: Simt>(self, simt: S, arguments: RowArguments<T>) -> Position<T> {
        arguments.folded_position(self.row.into(), simt.lane() * vector_elements::<T>() as u32, self.len)
    }
}

/// The rows that a warp folds whole. What is known of them lies in shared memory, for registers: the states of the leaves of one, and of each row its state and what is given of it.
#[derive(Clone, Copy)]
struct WarpRows<S, T: Element, O: RowOp> {
    simt: S,
    op: O,
    arguments: RowArguments<T>,
    /// The first one's number.
    first: u64,
}

impl<S: Simt, T: Element, O: RowOp> WarpRows<S, T, O> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn new(simt: S, op: O, arguments: RowArguments<T>, first: u64) -> Self {
        const { assert!(Self::WORDS * WARPS <= MAIL) };
        Self {
            simt,
            op,
            arguments,
            first,
        }
    }

    /// Words of a state.
    const STATE: u32 = O::State::COUNT as u32;

    /// Words of a row.
    const ROW: u32 = Self::STATE + 2;

    /// Those of a warp.
    const WORDS: u32 = MOST_LEAVES * Self::STATE + MOST_ROWS * Self::ROW;

    /// What is given of so many rows is asked for at once: a target's element is a load that waits for another.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn ask(self, count: u32) {
        let Self {
            simt, arguments, first, ..
        } = self;
        if !O::TARGETS || simt.lane() >= count {
            return;
        }
        let row = first + u64::from(simt.lane());
        let given = arguments.given::<S, O>(simt, arguments.regular_start(row));
        let at = self.row(simt.lane()) + Self::STATE;
        simt.store_shared(at, given[0].to_bits());
        simt.store_shared(at + 1, given[1].to_bits());
    }

    /// The first word of a leaf's state.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn leaf(self, number: u32) -> u32 {
        self.simt.warp() * Self::WORDS + number * Self::STATE
    }

    /// The first word of a row's.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row(self, number: u32) -> u32 {
        self.leaf(MOST_LEAVES) + number * Self::ROW
    }

    /// Takes the state of a leaf, the next of its row.
    ///
    /// Called by: all 32 lanes together.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn push(self, at: At<T>, state: O::State) {
        let Self {
            simt,
            op,
            arguments,
            first,
        } = self;
        let leaves = arguments.leaves_of_row();
        let (mut total, row) = (state, self.row(at.row - first as u32));
        if leaves > 1 {
            if simt.lane() == 0 {
                store_words(simt, self.leaf(at.leaf), state);
            }
            if at.leaf + 1 < leaves {
                return;
            }
            simt.warp_barrier();
            let mut mine = op.identity();
            if simt.lane() < leaves {
                mine = load_words(simt, self.leaf(simt.lane()));
            }
            total = warp::reduce_first(simt, StatesPass(op), mine, u32::next_power_of_two(leaves));
            // The next row's leaves lie in the same place.
            simt.warp_barrier();
        }
        if simt.lane() == 0 {
            store_words(simt, row, total);
        }
    }

    /// Writes what is known of so many.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn store_known(self, count: u32) {
        let Self {
            simt,
            op,
            arguments,
            first,
        } = self;
        simt.warp_barrier();
        let (at, row) = (self.row(simt.lane()), first + u64::from(simt.lane()));
        if simt.lane() < count {
            let mut given = [0.0; 2];
            if O::TARGETS {
                let word = |i: u32| f32::from_bits(simt.load_shared(at + Self::STATE + i));
                given = [word(0), word(1)];
            }
            let seen = arguments.whole::<O>(arguments.seen(row));
            arguments.store_known(simt, op, row, load_words(simt, at), seen, given);
        }
    }
}
