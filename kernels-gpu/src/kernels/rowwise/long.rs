//! The longest rows, which the blocks of a cluster keep in shared memory.

use super::{Plain, RowArguments, Second, position::Position, read::Lane, write::Writer};
use crate::{
    element::Element,
    monoids::Words as _,
    rowwise::{RowOp, Value as _},
    simt::{DYNAMIC_WORDS, MAIL, MAX_WARPS, Simt},
    stages::{
        each::each,
        load::words::{Vectors, WORDS},
        reduce::leaf::{self, Warps},
    },
    tree::{LANES, place, vector_elements},
};

/// Leaves of a warp, neighbours.
pub const LEAVES_OF_A_WARP: u32 = 4;

/// Threads of the largest block.
pub const THREADS: u32 = 256;

/// Bytes of dynamic shared memory of a block of so many warps: three of the largest fit a multiprocessor of compute capability 9.0.
#[must_use]
pub const fn dynamic_bytes(warps: u32) -> u32 {
    4 * warps * LEAVES_OF_A_WARP * LEAF_WORDS
}

/// Words of a leaf, of which a lane has a vector in each of four rows.
const LEAF_WORDS: u32 = LANES * 4 * WORDS as u32;

/// Folds and maps rows of f32 of [plain](crate::kernels::Launch::is_plain) launches, of which a warp has [neighbouring leaves](LEAVES_OF_A_WARP). All are asked for at once, and
/// folded and mapped one after the other: what is made of an element for the fold is made again for the map. Once a leaf is mapped, that of the next row takes its place. Only where there are
/// clusters, each of which has one row after the other.
///
/// ```text
/// lane: copies of 4 leaves to its own places in shared memory ─ each leaf: two passes, 5 shuffles each ─ block and cluster: a state of each leaf ─ map
/// ```
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn map_long<S: Simt, T: Element, O: RowOp>(simt: S, op: O, arguments: RowArguments<T>) {
    assert!(
        O::Value::ARRAYS == 1 && !O::TARGETS && !O::TAKES_COLUMNS,
        "one array, and nothing given of rows"
    );
    if !S::HAS_CLUSTERS {
        return;
    }
    let mut share = LeafShare::new(simt, op.plain(), arguments);
    share.ask_all();
    share.warps.begin::<S, O>(simt);
    while share.row < arguments.rows.count() {
        share.fold();
        let of_row = share.warps.combine(simt, share.op);
        share.map(of_row);
        share = share.next();
    }
}

/// What a warp has of a row.
#[derive(Clone, Copy)]
struct LeafShare<S, T: Element, O> {
    simt: S,
    op: O,
    arguments: RowArguments<T>,
    row: u64,
    /// Elements of the row that are seen.
    seen: u64,
    warps: Warps,
}

impl<S: Simt, T: Element, O: RowOp> LeafShare<S, T, O> {
    /// Of the first row of the cluster.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn new(simt: S, op: O, arguments: RowArguments<T>) -> Self {
        let blocks = arguments.blocks.max(1);
        let (row, block) = (u64::from(simt.block() / blocks), simt.block() % blocks);
        let warps = Warps {
            leaves: arguments.leaves,
            leaf: (block * simt.warps() + simt.warp()) * LEAVES_OF_A_WARP,
            each: LEAVES_OF_A_WARP,
            blocks,
            block,
            round: 0,
        };
        let seen = Self::seen(arguments, row);
        Self {
            simt,
            op,
            arguments,
            row,
            seen,
            warps,
        }
    }

    /// Elements of a row that are seen; none of one that is not there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn seen(arguments: RowArguments<T>, row: u64) -> u64 {
        if O::MASKS && row < arguments.rows.count() {
            arguments.seen(row)
        } else {
            arguments.there(row)
        }
    }

    /// Of the next row of the cluster.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn next(self) -> Self {
        let Self {
            simt,
            arguments,
            row,
            warps,
            ..
        } = self;
        let row = row + u64::from(simt.blocks() / warps.blocks);
        Self {
            row,
            seen: Self::seen(arguments, row),
            warps: Warps {
                round: warps.round + 1,
                ..warps
            },
            ..self
        }
    }

    /// Elements of the row before a leaf.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn before(self, number: u32) -> u64 {
        u64::from(self.warps.leaf + number) * RowArguments::<T>::leaf::<O>()
    }

    /// The lane's first vector of a leaf.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn position(self, number: u32) -> Position<T> {
        let Self { simt, arguments, .. } = self;
        let first = self.before(number) + u64::from(simt.lane()) * vector_elements::<T>() as u64;
        arguments.position(simt, arguments.regular_start(self.row), first, self.seen)
    }

    /// Where the lane's vector of a row of a leaf lies in shared memory.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn at(self, number: u32, row: usize) -> u32 {
        let leaf = self.simt.warp() * LEAVES_OF_A_WARP + number;
        leaf * LEAF_WORDS + row as u32 * (LEAF_WORDS / 4) + self.simt.lane() * WORDS as u32
    }

    /// Asks for a leaf.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn ask(self, number: u32) {
        let Self { simt, arguments, .. } = self;
        let absent = [arguments.absent_word(self.op); WORDS];
        let position = self.position(number);
        each!(row < 4 => {
            let position = position.further(place::<T>(row, 0));
            // SAFETY: rows are whole vectors; a block has dynamic shared memory for the leaves of its warps.
            unsafe {
                if position.present() > 0 {
                    simt.copy_input_vector(self.at(number, row), arguments.first(position).cast());
                } else {
                    simt.store_dynamic_vector(self.at(number, row), absent);
                }
            }
        });
    }

    /// Asks for all leaves.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn ask_all(self) {
        let mut number = self.simt.opaque(0);
        while number < LEAVES_OF_A_WARP {
            self.ask(number);
            number = self.simt.opaque(number + 1);
        }
    }

    /// What the lane has of a leaf.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lane(self, number: u32) -> Lane<S, T, O, Plain, 4> {
        let Self {
            simt, op, arguments, ..
        } = self;
        let mut words: Vectors<4> = [[0; WORDS]; 4];
        // SAFETY: a block has dynamic shared memory for the leaves of its warps.
        each!(row < 4 => unsafe { words[row] = simt.load_dynamic_vector(self.at(number, row)) });
        Lane::loaded(simt, op, arguments, self.position(number), words)
    }

    /// Folds all leaves, once they are there, and keeps their states and references.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold(self) {
        let Self {
            simt,
            op,
            arguments,
            warps,
            ..
        } = self;
        simt.wait_for_copies();
        let mut number = simt.opaque(0);
        while number < LEAVES_OF_A_WARP {
            let mut lane = self.lane(number);
            if O::ADDS && arguments.second == Second::Residual {
                lane.add_residual();
                // SAFETY: as above.
                each!(row < 4 => unsafe { simt.store_dynamic_vector(self.at(number, row), lane.firsts[row]) });
            }
            let len = u64::saturating_sub(self.seen, self.before(number)).min(RowArguments::<T>::leaf::<O>());
            let (_, leaf) = leaf::fold::<S, T, O, _, 4>(simt, op, lane, len as u32);
            warps.keep(simt, op, number, leaf.state);
            if simt.lane() == 0 {
                simt.store_shared(self.at_reference(number), leaf.reference.to_bits());
            }
            number = simt.opaque(number + 1);
        }
    }

    /// Maps all leaves, and asks for those of the next row in their places.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn map(self, of_row: O::State) {
        let Self {
            simt,
            op,
            arguments,
            row,
            seen,
            warps,
        } = self;
        let next = self.next();
        let mut number = simt.opaque(0);
        while number < LEAVES_OF_A_WARP && warps.leaf + number < warps.leaves {
            let mut lane = self.lane(number);
            lane.ask();
            let reference = f32::from_bits(simt.load_shared(self.at_reference(number)));
            let leaf = Some(warps.kept(simt, op, number));
            let factors = op.factors(reference, leaf, of_row, seen, [0.0; 2]);
            Writer::new(lane, reference, factors).write();
            if next.row < arguments.rows.count() {
                next.ask(number);
            }
            number = simt.opaque(number + 1);
        }
        if warps.leaf == 0 && simt.lane() == 0 {
            arguments.store_known(simt, op, row, of_row, seen, [0.0; 2]);
        }
    }

    /// Where the reference of a leaf is kept: behind the states of warps and of blocks.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn at_reference(self, number: u32) -> u32 {
        const { assert!(THREADS / LANES * LEAVES_OF_A_WARP <= MAX_WARPS) };
        const { assert!(dynamic_bytes(THREADS / LANES) <= 4 * DYNAMIC_WORDS) };
        const { assert!(3 * MAX_WARPS * O::State::COUNT as u32 + 2 * MAX_WARPS <= MAIL) };
        let of_states = 3 * MAX_WARPS * O::State::COUNT as u32;
        let of_round = self.warps.round % 2 * MAX_WARPS;
        of_states + of_round + self.simt.warp() * LEAVES_OF_A_WARP + number
    }
}
