//! Extents whose elements lie anywhere: columns, middle axes, any strides. Neighbouring lanes fold neighbouring extents, so that
//! what they read lies together.

use super::{Arguments, columns::reduce_columns};
use crate::{
    element::Type,
    monoids::Monoid,
    simt::Simt,
    stages::{
        emit::finish,
        load::source::Source,
        reduce::{grid, in_order, strided, team::Team},
        strategy::Strategy,
    },
    tree::{LANES, ROWS, leaf_elements, vector_elements},
};

/// Parts of a leaf.
const PARTS: u64 = LANES as u64;

/// Parts of the canonical tree that an extent of `len` elements touches: of a leaf that is the only one just those that have an
/// element.
#[must_use]
pub const fn parts(element: Type, len: u64) -> u64 {
    let leaf = element.leaf_elements();
    if len > leaf {
        return len.div_ceil(leaf) * PARTS;
    }
    // The first row has an element in each part that any row has one in.
    let row = leaf / ROWS as u64;
    let first_row = if len < row { len } else { row };
    first_row.div_ceil(row / PARTS)
}

/// Folds each extent to its answer.
///
/// ```text
/// thread: a part, element by element or, of neighbours that share words, word by word ─ team: lanes, steps, warps ─ tile's slot ─ last block: all slots ─ finish
/// ```
///
/// The blocks of one set of teams come after one another, a block for each of the `tile_slots.tiles` tiles. Teams of more answers than a warp has
/// lanes are those of [`reduce_columns`]. There is a slot for each tile and lane of the teams' answers, and a ticket for each set of teams, unless there is but one tile. All threads of the
/// grid call this alike.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_strided<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, arguments: Arguments<T>) {
    let Arguments {
        extents,
        tile_slots,
        output,
        ..
    } = arguments;
    let team = arguments.team();
    if const { Strategy::of::<T, M>().has_columns() } && team.answers > LANES {
        return reduce_columns(simt, op, arguments);
    }
    let tiles = (tile_slots.tiles() as u32).max(1);
    let tile = simt.block() % tiles;
    let answer = numbers(simt, team, tiles).answer;
    let read = extents.answer(simt, answer, team.answers == LANES);
    let before = u64::from(tile) * team.units();
    let left = u64::saturating_sub(parts(T::ELEMENT, extents.len()), before);
    let total = team.fold(simt, op, left, |unit| {
        let first = first_of_part::<T, M>(before + unit);
        // Where the team's answers are those of a whole warp, all its lanes are at one unit.
        strided::fold_part(simt, op, extents, read, first)
    });
    // Computed again, as registers are few while parts are folded.
    let ThreadNumbers {
        set,
        team: number,
        answer,
    } = numbers(simt, team, simt.opaque(tiles));
    if let Some(total) = grid::last_teams_fold(simt, op, team, [set.into(), number], tile, total, tile_slots)
        && team.holds_answer(simt)
        && answer < extents.count()
    {
        finish(simt, op, extents.len(), total, output, answer);
    }
}

/// The number of a part's first element in its extent.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn first_of_part<T: Source, M: Monoid<T>>(part: u64) -> u64 {
    let columns = if M::ALGEBRA.commutes {
        vector_elements::<T>() as u64
    } else {
        in_order::part_elements::<T>()
    };
    part / PARTS * leaf_elements::<T>() as u64 + part % PARTS * columns
}

/// What a thread folds, counted in the launch.
struct ThreadNumbers {
    /// The teams of as many blocks as there are tiles.
    set: u32,
    /// Its team.
    team: u64,
    /// Its answer.
    answer: u64,
}

/// Those of this thread, where a set has a block for each of `tiles` tiles.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn numbers<S: Simt>(simt: S, team: Team, tiles: u32) -> ThreadNumbers {
    let set = simt.block() / tiles.max(1);
    let teams = simt.warps() / team.warps.max(1);
    let number = u64::from(set) * u64::from(teams) + u64::from(team.number(simt));
    let answer = number * u64::from(team.answers) + u64::from(team.answer(simt));
    ThreadNumbers {
        set,
        team: number,
        answer,
    }
}
