//! Columns: extents that are neighbours, so that the 16 bytes a lane reads are an element of each of several. A lane folds those by
//! themselves, and no lane needs another's until a block's states are combined.

use super::Arguments;
use crate::{
    element::Item,
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        StateArray,
        each::each,
        emit::finish,
        load::{
            columns::LaneColumn,
            extents::Extents,
            source::Source,
            words::{Vectors, WORDS},
        },
        reduce::{
            grid,
            packed::{Packed, is_of_words},
            thread::{eight, fold_eight},
        },
        strategy::COLUMN_LEVELS,
    },
    tree::{ColumnFold as _, LANES, Predicated, ROWS, leaf_elements, pending::Pending, row_elements, vector_elements},
};

mod share;

use share::{Block, Share};

/// The most answers of a lane: one of each element that it reads at once.
const MOST: usize = 8;

/// Answers of a vector that are combined in a block at once, a word of each thread for each.
pub const AT_ONCE: u32 = 4;

/// Slots that a thread asks for before it combines any: one block reads those of all tiles, so many of its loads must be in flight.
const SLOTS_AT_ONCE: u32 = 32;

/// The most tiles of an answer, of `parts` threads that share the slots.
#[must_use]
pub const fn most_tiles(parts: u32) -> u64 {
    (parts * SLOTS_AT_ONCE) as u64 * (1 << SLOT_LEVELS)
}

/// Of groups of slots, subtrees that wait.
const SLOT_LEVELS: u32 = 5;

/// Blocks of a cluster: neighbouring tiles of a set of answers. Each combines the states of all of them, of its share of the answers.
pub const CLUSTER: u32 = 8;

/// Turns in which the answers of a vector are combined.
const fn rounds<T: Item>() -> u32 {
    vector_elements::<T>() as u32 / AT_ONCE
}

/// Folds each extent to its answer: the extents are neighbours, a number of whole vectors, without a layout.
///
/// ```text
/// lane: a column of the tree, of each answer of a vector ─ steps ─ block: through shared memory ─ tile's slot ─ last block: all slots ─ finish
/// ```
///
/// The blocks of one set of answers come after one another, a block for each of the tiles of `tile_slots`. If fewer blocks draw a ticket, it is
/// one for each cluster and share of the answers: a block combines its cluster's states of such a share first.
///
/// A team's answers are those of one vector for each of some lanes. Tiles are clusters of [`CLUSTER`], or none is. Slots and tickets are as those of [`reduce_strided`](super::strided::reduce_strided).
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_columns<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, arguments: Arguments<T>) {
    let (extents, tile_slots) = (arguments.extents, arguments.tile_slots);
    let mut block = Block::new::<S, T>(simt, arguments.team(), tile_slots.tiles());
    let mut states = fold_lane(simt, op, extents, arguments.steps, block);
    let mut share = Share::of(simt, block.of_round());
    let (mut rounds, mut first, mut ticket) = (const { rounds::<T>() }, 0, block.set);
    let mut totals = [op.identity(); 2];
    // Written out here: in a function of its own the states would spill.
    let mut round = simt.opaque(0);
    while round < rounds {
        totals = [totals[1], combine_block(simt, op, block, share, states)];
        states = rotated(states);
        round = simt.opaque(round + 1);
    }
    if rounds == 1 {
        totals = [totals[1], totals[0]];
    }
    if S::HAS_CLUSTERS && tile_slots.blocks() < block.tiles {
        let rank = block.tile % CLUSTER;
        let of_cluster = Share::of(simt, block.answers / CLUSTER);
        totals[0] = combine_cluster(simt, op, [share, of_cluster], rank, rounds, totals);
        (rounds, first) = (1, rank * of_cluster.answers);
        (share, ticket) = (of_cluster, block.set * CLUSTER + rank);
        (block.tile, block.tiles) = (block.tile / CLUSTER, tile_slots.blocks());
    }
    let answer = |round: u32| first + round * share.answers + share.answer;
    if block.tiles > 1 {
        each!(i < 2 => if share.part == 0 && (i as u32) < rounds {
            tile_slots.slots().store(simt, block.slot(answer(i as u32), block.tile), totals[i]);
        });
        if !grid::arrives_last_of(simt, tile_slots, ticket, block.tiles) {
            return;
        }
    }
    let mut round = simt.opaque(0);
    while round < rounds {
        let mut total = totals[0];
        if block.tiles > 1 {
            total = fold_slots(simt, op, block, share, answer(round), tile_slots.slots());
        }
        let number = block.number::<T>(answer(round));
        if share.part == 0 && number < extents.count() {
            finish(simt, op, extents.len(), total, arguments.output, number);
        }
        totals[0] = totals[1];
        round = simt.opaque(round + 1);
    }
}

/// Combines the states that the blocks of a cluster have of their answers, of this block's share of these. What one has is in the threads of part 0, round by
/// round.
///
/// Called by: all threads of the cluster together · Valid in: every thread, that of the answer it has of the second share · Scratch: the shared buffers, until the next barrier
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn combine_cluster<S: Simt, T, M: Monoid<T>>(
    simt: S,
    op: M,
    [all, mine]: [Share; 2],
    rank: u32,
    rounds: u32,
    totals: [M::State; 2],
) -> M::State {
    // From here on the buffers are the cluster's: this block's threads have read them, and passed a barrier since.
    simt.cluster_begin(mine.answers * CLUSTER, false);
    simt.cluster_wait(CLUSTER);
    each!(i < 2 => if all.part == 0 && (i as u32) < rounds {
        let answer = i as u32 * all.answers + all.answer;
        let to = answer >> u32::trailing_zeros(mine.answers);
        let at = rank * mine.answers + (answer & (mine.answers - 1));
        simt.cluster_send(0, to, CLUSTER, at, totals[i].word(0));
    });
    simt.cluster_receive(0, CLUSTER);
    let state = |rank: u32| M::State::from_words(|_| simt.load_shared(rank * mine.answers + mine.answer));
    fold_eight(op, eight(state))
}

/// The states of a lane's answers, of the first so many there are.
type States<State> = [State; MOST];

/// Those that come next are the first.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn rotated<State: Copy>(states: States<State>) -> States<State> {
    let mut rotated = states;
    each!(i < MOST => rotated[i] = states[(i + AT_ONCE as usize) % MOST]);
    rotated
}

/// The first of a lane's answers, and the number of its first element in their extents.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn first_of_lane<S: Simt, T: Source>(simt: S, steps: u32, block: Block) -> (u64, u64) {
    let width = const { row_elements::<T>() as u64 };
    let shift = u32::trailing_zeros(block.lanes);
    let unit = (u64::from(block.tile * simt.warps() + simt.warp()) << (u32::trailing_zeros(LANES) - shift))
        + u64::from(simt.lane() >> shift);
    let column = unit * u64::from(steps);
    // The columns of a leaf are neighbours, and a lane's are all of one.
    let first = column / width * leaf_elements::<T>() as u64 + column % width;
    let vector = u64::from(block.set * block.lanes + (simt.lane() & (block.lanes - 1)));
    (vector * vector_elements::<T>() as u64, first)
}

/// Folds the columns of the tree that are this lane's, of each answer of its vector.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_lane<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    extents: Extents<T>,
    steps: u32,
    block: Block,
) -> States<M::State> {
    let (answer, mut first) = first_of_lane::<S, T>(simt, steps, block);
    let mut column = LaneColumn::of(simt, extents, answer, first);
    let mut states = [op.identity(); MOST];
    let mut waiting = [states; COLUMN_LEVELS as usize];
    // Of a maximum by words, in the place of states.
    let mut largest = [Packed(op).identity(); WORDS];
    let mut words = T::each(|_| [[0; WORDS]; ROWS]);
    let mut present = 0;
    let mut step = simt.opaque(0);
    loop {
        // Each is asked for before the one ahead of it is folded; behind the last there is none.
        if step == steps {
            column = column.absent();
        }
        let next = column.read(simt, op);
        if step > 0 && const { is_of_words::<T, M>() } {
            let of_column = Packed(op).vector(T::of(words, 0));
            each!(i < WORDS, 4 => largest[i] = Packed(op).combine(largest[i], of_column[i]));
        } else if step > 0 {
            let of_column = fold(op, words, present, first);
            first += 1;
            let mut is_carried = true;
            if const { M::ALGEBRA.in_any_order() } {
                each!(i < vector_elements::<T>() => states[i] = op.combine(states[i], of_column[i]));
                is_carried = false;
            } else {
                states = of_column;
            }
            each!(level < COLUMN_LEVELS as usize => if is_carried {
                if (step - 1) >> level & 1 == 0 {
                    waiting[level] = states;
                    is_carried = false;
                } else {
                    each!(i < vector_elements::<T>() => states[i] = op.combine(waiting[level][i], states[i]));
                }
            });
        }
        if step == steps {
            if const { is_of_words::<T, M>() } {
                each!(i < vector_elements::<T>() => states[i] = op.lift(Packed(op).element(largest, i), 0));
            }
            return states;
        }
        (words, present) = (next, column.present());
        column = column.next();
        step = simt.opaque(step + 1);
    }
}

/// Folds a column of the tree that was read, of each answer of a vector; its first element is of number `first`, and so many are there from it on.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold<T: Source, M: Monoid<T>>(op: M, words: T::Each<Vectors<ROWS>>, present: u32, first: u64) -> States<M::State> {
    let width = const { row_elements::<T>() as u32 };
    let is_filled = op.filler().is_some();
    let mut states = [op.identity(); MOST];
    each!(i < vector_elements::<T>() => {
        let place = |row: usize| Predicated {
            value: T::item(&words, row, i),
            is_there: is_filled || row as u32 * width < present,
        };
        let places = [place(0), place(1), place(2), place(3), place(4), place(5), place(6), place(7)];
        states[i] = op.column_fold().fold_column(places, first, width.into());
    });
    states
}

/// Combines the states of a block's lanes, of the first [`AT_ONCE`] answers of each: neighbours first.
///
/// Called by: all threads of the block together · Valid in: threads of part 0, that of their own answer · Scratch: the shared buffers
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn combine_block<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    block: Block,
    share: Share,
    states: States<M::State>,
) -> M::State {
    debug_assert!(<M::State as Words>::COUNT == 1, "a word of each thread for each answer");
    each!(i < 4 => simt.store_shared(i as u32 * simt.threads() + simt.thread(), states[i].word(0)));
    simt.barrier();
    // As many groups of lanes as answers at once are this thread's.
    let (answer, vector) = block.place(share.answer);
    let of_group = |group: u32| {
        let thread = (share.part * AT_ONCE + group) * block.lanes + vector;
        M::State::from_words(|_| simt.load_shared(answer * simt.threads() + thread))
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(of_group);
    let total = op.combine(op.combine(a, b), op.combine(c, d));
    // The buffer is free again.
    simt.barrier();
    combine_parts(simt, op, share, total)
}

/// Combines what threads have of the parts of their answer.
///
/// Called by: all threads of the block together · Valid in: threads of part 0 · Scratch: the shared buffers
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn combine_parts<S: Simt, T, M: Monoid<T>>(simt: S, op: M, share: Share, mut total: M::State) -> M::State {
    let at = |part: u32| part * share.answers + share.answer;
    let mut left = share.parts;
    while left > 1 {
        if share.part < left {
            simt.store_shared(at(share.part), total.word(0));
        }
        simt.barrier();
        left /= 2;
        if share.part < left {
            let state = |part| M::State::from_words(|_| simt.load_shared(at(part)));
            total = op.combine(state(2 * share.part), state(2 * share.part + 1));
        }
        simt.barrier();
    }
    total
}

/// Folds up to [`SLOTS_AT_ONCE`] slots, the first at `from`, and so many from one to the next.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_some_slots<S: Simt, T, M: Monoid<T>>(simt: S, op: M, from: StateArray, left: u32, answers: u32) -> M::State {
    let state = |i: u32| {
        let state: M::State = if i < left {
            from.load(simt, u64::from(i * answers))
        } else {
            op.identity()
        };
        // A compiler that knew where there is an identity would combine each with its neighbour as soon as it is there, and not before the next
        // is asked for.
        M::State::from_words(|word| simt.opaque(state.word(word)))
    };
    let of = |first: u32| eight(|i| state(first + i));
    let (a, b, c, d) = (of(0), of(8), of(16), of(24));
    let two = |a, b| op.combine(fold_eight(op, a), fold_eight(op, b));
    op.combine(two(a, b), two(c, d))
}

/// Folds the slots of an answer's tiles, neighbours first; its number in the set is `answer`.
///
/// Called by, Valid in, Scratch: as [`combine_parts`]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_slots<S: Simt, T, M: Monoid<T>>(
    simt: S,
    op: M,
    block: Block,
    share: Share,
    answer: u32,
    slots: StateArray,
) -> M::State {
    // As many as are asked for at once, if all threads are not needed: what fewer have takes fewer turns to combine.
    let least = u32::next_power_of_two((block.tiles - 1) / SLOTS_AT_ONCE + 1);
    let share = Share {
        parts: u32::min(share.parts, least),
        ..share
    };
    let each = u32::next_power_of_two(((block.tiles - 1) >> u32::trailing_zeros(share.parts)) + 1);
    let first = share.part * each;
    let mut left = u32::min(u32::saturating_sub(block.tiles, first), each);
    // Each call's own number to a compiler: it would keep the addresses of all slots from round to round.
    let answers = simt.opaque(block.answers);
    let mut from = slots.from::<M::State>(block.slot(answer, first));
    let mut pending = Pending::<_, SLOT_LEVELS>::nothing(op);
    let mut group = simt.opaque(0);
    while left > 0 {
        let state = fold_some_slots(simt, op, from, left, answers);
        pending.push(simt, op, group, state);
        from = from.from::<M::State>((SLOTS_AT_ONCE * answers).into());
        left = u32::saturating_sub(left, SLOTS_AT_ONCE);
        group = simt.opaque(group + 1);
    }
    let total = pending.total(simt, op, group);
    combine_parts(simt, op, share, total)
}
