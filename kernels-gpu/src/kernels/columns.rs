//! Columns: extents that are neighbours, so that the 16 bytes a lane reads are an element of each of several. A lane folds those by
//! themselves, and no lane needs another's until a block's states are combined.

use crate::{
    element::{Element, Item},
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        columns::each,
        each_word,
        emit::{Output, finish},
        load::{
            extents::Extents,
            source::{At, Source},
            words::{Vectors, WORDS, load_element},
        },
        load_state, narrow,
        reduce::{
            grid::{self, Meeting},
            team::Team,
        },
        store_state,
        strategy::{COLUMN_LEVELS, answers_at_once},
    },
    tree::{LANES, Place, ROWS, leaf_elements, pending::Pending, row_elements, vector_elements},
};

/// The most answers of a lane: one of each element that it reads at once.
const MOST: usize = 8;

/// Slots that a thread asks for before it combines any: on an H200 a block folded 128 slots of 256 answers in 10 µs by eight at a time.
const SLOTS_AT_ONCE: u32 = 32;

/// The most tiles of an answer, of `parts` threads that share the slots.
#[must_use]
pub const fn most_tiles(parts: u32) -> u64 {
    (parts * SLOTS_AT_ONCE) as u64 * (1 << SLOT_LEVELS)
}

/// Of groups of slots, subtrees that wait.
const SLOT_LEVELS: u32 = 5;

/// How a block's threads share the work.
#[derive(Clone, Copy)]
struct Block {
    /// Lanes side by side, each with a vector of neighbouring answers: a power of two. The groups of as many have neighbouring parts.
    lanes: u32,
    /// Threads that share what there is of an answer, once states are combined: a power of two.
    parts: u32,
    /// Of answers that are combined at once this thread's, as their states lie, and which part is its own.
    answer: u32,
    part: u32,
}

impl Block {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn new<S: Simt, T: Item>(simt: S, team: Team, at_once: u32) -> Self {
        let lanes = team.answers / vector_elements::<T>() as u32;
        let shift = u32::trailing_zeros(lanes * at_once);
        Self {
            lanes,
            parts: simt.threads() >> shift,
            answer: simt.thread() & ((1 << shift) - 1),
            part: simt.thread() >> shift,
        }
    }

    /// The number of this thread's answer in its vector and of the vector among the lanes'.
    fn place(self) -> (u32, u32) {
        let shift = u32::trailing_zeros(self.lanes);
        (self.answer >> shift, self.answer & (self.lanes - 1))
    }
}

/// Folds each extent to its answer: the extents are neighbours, a number of whole vectors, without a layout.
///
/// ```text
/// lane: a column of the tree, of each answer of a vector ─ steps ─ block: through shared memory ─ tile's slot ─ last block: all slots ─ finish
/// ```
///
/// The blocks of one set of answers come after one another, a block for each of the `meeting.tiles` tiles.
///
/// # Safety
///
/// As [`reduce_strided`](super::strided::reduce_strided); `team.answers` are those of one vector for each of some lanes.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn reduce_columns<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    extents: Extents<T>,
    team: Team,
    meeting: Meeting,
    output: Output,
) {
    let at_once = const { answers_at_once(<M::State as Words>::COUNT, vector_elements::<T>()) };
    let block = Block::new::<S, T>(simt, team, at_once as u32);
    let tiles = (meeting.tiles as u32).max(1);
    let (set, tile) = (simt.block() / tiles, simt.block() % tiles);
    // SAFETY: passed on to the caller.
    let mut states = unsafe { fold_lane(simt, op, extents, team, block, [set, tile]) };
    let (vector_answer, vector) = block.place();
    let slot = |round: u32, tile: u32| {
        let of_set = u64::from(set) * meeting.tiles + u64::from(tile);
        of_set * u64::from(team.answers) + u64::from(round * (team.answers / rounds::<T>(at_once)) + block.answer)
    };
    let write = |round: u32, total: M::State| {
        let of_set = vector * vector_elements::<T>() as u32 + round * at_once as u32 + vector_answer;
        let answer = u64::from(set) * u64::from(team.answers) + u64::from(of_set);
        if block.part == 0 && answer < extents.count {
            // SAFETY: passed on to the caller; each answer has one such thread.
            unsafe { finish(simt, op, extents.len, total, output, answer) };
        }
    };
    let mut round = simt.opaque(0);
    while round < rounds::<T>(at_once) {
        let total = combine_block(simt, op, block, at_once, states);
        if tiles == 1 {
            write(round, total);
        } else if block.part == 0 {
            // SAFETY: passed on to the caller; each slot has one such thread.
            unsafe { store_state(simt, meeting.slots, slot(round, tile), total) };
        }
        states = turned(states, at_once);
        round = simt.opaque(round + 1);
    }
    let here = Meeting {
        tickets: meeting.tickets.wrapping_add(set as usize),
        blocks: tiles,
        ..meeting
    };
    simt.barrier();
    // SAFETY: passed on to the caller.
    if tiles == 1 || !unsafe { grid::arrives_last(simt, here) } {
        return;
    }
    let mut round = simt.opaque(0);
    while round < rounds::<T>(at_once) {
        let first = meeting
            .slots
            .wrapping_add(slot(round, 0) as usize * <M::State as Words>::COUNT);
        // SAFETY: passed on to the caller; the writers synchronised with this block.
        let total = unsafe { fold_slots(simt, op, block, tiles, first, team.answers) };
        write(round, combine_parts(simt, op, block, total));
        round = simt.opaque(round + 1);
    }
}

/// Turns in which the answers of a vector are combined, so many at once.
const fn rounds<T: Item>(at_once: usize) -> u32 {
    (vector_elements::<T>() / at_once) as u32
}

/// The states of a lane's answers, of the first so many there are.
type States<State> = [State; MOST];

/// Those that come next are the first.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn turned<State: Copy>(states: States<State>, by: usize) -> States<State> {
    let mut turned = states;
    each!(i < MOST => turned[i] = states[(i + by) % MOST]);
    turned
}

/// Folds the columns of the tree that are this lane's, of each answer of its vector.
///
/// # Safety
///
/// As [`reduce_columns`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn fold_lane<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    extents: Extents<T>,
    team: Team,
    block: Block,
    [set, tile]: [u32; 2],
) -> States<M::State> {
    let width = const { row_elements::<T>() as u64 };
    let shift = u32::trailing_zeros(block.lanes);
    let unit = (u64::from(tile * simt.warps() + simt.warp()) << (u32::trailing_zeros(LANES) - shift))
        + u64::from(simt.lane() >> shift);
    let column = unit * u64::from(team.steps);
    // The columns of a leaf are neighbours, and a lane's are all of one.
    let mut first = column / width * leaf_elements::<T>() as u64 + column % width;
    let vector = u64::from(set * block.lanes + (simt.lane() & (block.lanes - 1)));
    let answer = vector * vector_elements::<T>() as u64;
    let count = if answer < extents.count { extents.len } else { 0 };
    let mut column = Column {
        start: T::further(
            extents.start,
            T::map(extents.step, |step| (first as i64 * step) as isize + answer as isize),
        ),
        step: extents.step,
        present: narrow(simt, u64::saturating_sub(count, first)),
        is_aligned: extents.whole().is_aligned(),
    };
    let mut states = [op.identity(); MOST];
    let mut waiting = [states; COLUMN_LEVELS as usize];
    let mut step = simt.opaque(0);
    while step < team.steps {
        // SAFETY: passed on to the caller.
        states = unsafe { column.fold(simt, op, first) };
        let mut is_carried = true;
        each!(level < COLUMN_LEVELS as usize => if is_carried {
            if step >> level & 1 == 0 {
                waiting[level] = states;
                is_carried = false;
            } else {
                each!(i < vector_elements::<T>() => states[i] = op.combine(waiting[level][i], states[i]));
            }
        });
        column = column.next();
        first += 1;
        step = simt.opaque(step + 1);
    }
    states
}

/// A column of the tree, of each answer of a vector.
#[derive(Clone, Copy)]
struct Column<T: Source> {
    /// The first element of the first answer.
    start: At<T>,
    /// From an element to the next of the same answer, in elements.
    step: T::Each<i64>,
    /// Elements from there on.
    present: u32,
    is_aligned: bool,
}

impl<T: Source> Column<T> {
    /// Reads and folds it; its first element is of number `first`.
    ///
    /// # Safety
    ///
    /// As [`reduce_columns`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn fold<S: Simt, M: Monoid<T>>(self, simt: S, op: M, first: u64) -> States<M::State> {
        let width = const { row_elements::<T>() as u32 };
        let fillers = T::fillers(op.filler());
        let words = T::each(|array| {
            let filler = T::of(fillers, array).unwrap_or([0; WORDS]);
            // SAFETY: passed on to the caller.
            unsafe { self.read(simt, array, filler) }
        });
        let is_filled = op.filler().is_some();
        let mut states = [op.identity(); MOST];
        each!(i < vector_elements::<T>() => {
            let place = |row: usize| Place {
                value: T::item(&words, row, i),
                is_there: is_filled || row as u32 * width < self.present,
            };
            let places = [place(0), place(1), place(2), place(3), place(4), place(5), place(6), place(7)];
            states[i] = op.fold_column(places, first, width.into());
        });
        states
    }

    /// The vectors of its rows in an array, fillers where there is none.
    ///
    /// # Safety
    ///
    /// As [`reduce_columns`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn read<S: Simt>(self, simt: S, array: usize, filler: [u32; WORDS]) -> Vectors<ROWS> {
        let width = const { row_elements::<T>() };
        let start = T::of(self.start, array);
        let pitch = T::of(self.step, array) as isize * width as isize;
        let mut words = [filler; ROWS];
        if self.is_aligned {
            each!(row < ROWS => {
                let is_there = (row as u32 * width as u32) < self.present;
                let from = start.wrapping_offset(row as isize * pitch).cast();
                // SAFETY: passed on to the caller.
                words[row] = unsafe { simt.load_input_vector_if(is_there, from, filler) };
            });
            return words;
        }
        // In a loop, for it is seldom run: each in turn is put behind the others.
        let (mut row, mut from) = (simt.opaque(0), start);
        while row < ROWS as u32 {
            let mut vector = filler;
            if row * (width as u32) < self.present {
                // SAFETY: passed on to the caller.
                vector = unsafe { elements(simt, from) };
            }
            each!(row < ROWS => words[row] = if row + 1 < ROWS { words[(row + 1) % ROWS] } else { vector });
            from = from.wrapping_offset(pitch);
            row = simt.opaque(row + 1);
        }
        words
    }

    /// The column behind it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn next(self) -> Self {
        Self {
            start: T::further(self.start, T::map(self.step, |step| step as isize)),
            present: u32::saturating_sub(self.present, 1),
            ..self
        }
    }
}

/// A vector of elements that are not aligned as one.
///
/// # Safety
///
/// They are there, and unwritten.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn elements<S: Simt, T: Element>(simt: S, from: *const T) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    each!(i < MOST => if i < vector_elements::<T>() {
        // SAFETY: passed on to the caller.
        let bits = unsafe { load_element(simt, from.wrapping_add(i)) };
        let byte = i * T::BYTES;
        words[byte / 4 % WORDS] |= (bits as u32) << (8 * (byte % 4));
        if T::BYTES == 8 {
            words[(byte / 4 + 1) % WORDS] = (bits >> 32) as u32;
        }
    });
    words
}

/// Combines the states of a block's lanes, of the first so many answers of each: neighbours first.
///
/// Called by: all threads of the block together · Valid in: threads of part 0, that of their own answer · Scratch: the shared buffers
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn combine_block<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    block: Block,
    at_once: usize,
    states: States<M::State>,
) -> M::State {
    let count = const { <M::State as Words>::COUNT as u32 };
    let at = |answer: u32, word: usize, thread: u32| (answer * count + word as u32) * simt.threads() + thread;
    each!(i < 4 => if i < at_once {
        each_word(states[i], |word, bits| simt.store_shared(at(i as u32, word, simt.thread()), bits));
    });
    simt.barrier();
    // As many groups of lanes as answers at once are this thread's.
    let (answer, vector) = block.place();
    let of_group = |group: u32| {
        let thread = (block.part * at_once as u32 + group) * block.lanes + vector;
        M::State::from_words(|word| simt.load_shared(at(answer, word, thread)))
    };
    let mut total = of_group(0);
    if at_once > 1 {
        total = op.combine(total, of_group(1));
    }
    if at_once > 2 {
        total = op.combine(total, op.combine(of_group(2), of_group(3)));
    }
    // The buffer is free again.
    simt.barrier();
    combine_parts(simt, op, block, total)
}

/// Combines what threads have of the parts of their answer.
///
/// Called by, Valid in, Scratch: as [`combine_block`]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn combine_parts<S: Simt, T, M: Monoid<T>>(simt: S, op: M, block: Block, mut total: M::State) -> M::State {
    let mut left = block.parts;
    while left > 1 {
        let of = simt.threads() / block.parts;
        let at = |word: usize, part: u32| word as u32 * simt.threads() + part * of + block.answer;
        if block.part < left {
            each_word(total, |word, bits| simt.store_shared(at(word, block.part), bits));
        }
        simt.barrier();
        left /= 2;
        if block.part < left {
            let state = |part| M::State::from_words(|word| simt.load_shared(at(word, part)));
            total = op.combine(state(2 * block.part), state(2 * block.part + 1));
        }
        simt.barrier();
    }
    total
}

/// Folds this thread's part of the slots of an answer's tiles, so many slots apart, neighbours first.
///
/// # Safety
///
/// They are valid, and synchronised with.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn fold_slots<S: Simt, T, M: Monoid<T>>(
    simt: S,
    op: M,
    block: Block,
    tiles: u32,
    slots: *const u32,
    apart: u32,
) -> M::State {
    let words = const { <M::State as Words>::COUNT };
    let each = (((tiles - 1) >> u32::trailing_zeros(block.parts)) + 1).next_power_of_two();
    let mut left = u32::min(u32::saturating_sub(tiles, block.part * each), each);
    let mut from = slots.wrapping_add((block.part * each) as usize * apart as usize * words);
    let mut pending = Pending::<_, SLOT_LEVELS>::nothing(op);
    let mut group = simt.opaque(0);
    while left > 0 {
        let state = |i: u32| {
            if i < left {
                // SAFETY: passed on to the caller: it is there.
                unsafe { load_state(simt, from, u64::from(i * apart)) }
            } else {
                op.identity()
            }
        };
        let of = |first: u32| grid::eight(|i| state(first + i));
        let (a, b, c, d) = (of(0), of(8), of(16), of(24));
        let two = |a, b| op.combine(grid::fold_eight(op, a), grid::fold_eight(op, b));
        let state = op.combine(two(a, b), two(c, d));
        pending.push(simt, op, group, state);
        from = from.wrapping_add((SLOTS_AT_ONCE * apart) as usize * words);
        left = u32::saturating_sub(left, SLOTS_AT_ONCE);
        group = simt.opaque(group + 1);
    }
    pending.total(simt, op, group)
}
