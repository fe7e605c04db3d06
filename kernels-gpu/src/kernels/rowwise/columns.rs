//! The gradients of a norm's weights and biases: sums of columns, over all rows.

use super::RowArguments;
use crate::{
    element::{Element, Item as _, Two},
    rowwise::{Column, NormGradient, RowFold as _, Value as _},
    simt::Simt,
    stages::{columns::MOST, each::each, emit::OutRows, load::words::Vectors},
    tree::vector_elements,
};

/// Rows that are summed in order; the sums of as many are combined in the canonical tree.
pub const CHUNK: u32 = 32;

/// Rows in flight.
const TOGETHER: usize = 4;

/// Sums of each column of [`CHUNK`] rows, in order, of what a gradient `dy` has for its weight, `dy · x̂`, and for its bias, `dy`. Of chunk `c` row `2c` of the answers has those
/// of weights, and the next those of biases. A lane has a vector of columns, or one column where rows are not [wide](crate::kernels::Launch::is_wide).
///
/// ```text
/// lane: rows one after the other, four of them in flight ─ two sums for each column
/// ```
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum_columns<S: Simt, T: Element>(simt: S, op: NormGradient, arguments: RowArguments<T>) {
    let blocks = arguments.blocks.max(1);
    let (chunk, block) = (simt.block() / blocks, simt.block() % blocks);
    let lane = u64::from(block) * u64::from(simt.threads()) + u64::from(simt.thread());
    let before = u64::from(chunk) * u64::from(CHUNK);
    let rows = u64::saturating_sub(arguments.rows.count(), before).min(CHUNK.into()) as u32;
    let sums = ColumnSums {
        simt,
        op,
        arguments,
        before,
        rows,
        out: arguments.sums_of_columns(),
        chunk: chunk.into(),
    };
    if arguments.is_wide {
        let first = lane * vector_elements::<T>() as u64;
        if first < arguments.rows.len() {
            sums.of_vectors(first);
        }
    } else if lane < arguments.rows.len() {
        sums.of_elements(lane);
    }
}

/// Sums of a lane's columns.
#[derive(Clone, Copy)]
struct ColumnSums<S, T: Element> {
    simt: S,
    op: NormGradient,
    arguments: RowArguments<T>,
    /// The chunk's first row, and how many it has.
    before: u64,
    rows: u32,
    out: OutRows,
    chunk: u64,
}

impl<S: Simt, T: Element> ColumnSums<S, T> {
    /// What is summed of a column of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn terms(self, value: (f32, f32), given: [f32; 2]) -> [f32; 2] {
        let (x, dy) = self.op.take(value, Column::PLAIN, given);
        [dy * x, dy]
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of_vectors(self, first: u64) {
        let Self { simt, arguments, .. } = self;
        let floats = arguments.floats;
        let mut sums = [[-0.0; MOST]; 2];
        let mut row = simt.opaque(0);
        while row < self.rows {
            let mut positions = [arguments.wide_position(self.before, first); TOGETHER];
            let mut words: [Vectors<TOGETHER>; 2] = [[[0; 4]; TOGETHER]; 2];
            each!(i < TOGETHER => {
                positions[i] = arguments.wide_position(self.before + u64::from(row + i as u32), first);
                let (x, dy) = (arguments.first(positions[i]), arguments.second(positions[i]));
                // SAFETY: of a row that is not there nothing is read.
                unsafe {
                    words[0][i] = simt.load_input_vector_if(positions[i].present() > 0, x.cast(), [0; 4]);
                    words[1][i] = simt.load_input_vector_if(positions[i].present() > 0, dy.cast(), [0; 4]);
                }
            });
            each!(i < TOGETHER => if row + (i as u32) < self.rows {
                let given = arguments.given::<S, NormGradient>(simt, positions[i].start());
                let x = floats.unpack::<T>(words[0][i]);
                let dy = floats.unpack::<T>(words[1][i]);
                each!(column < vector_elements::<T>() => {
                    let [weight, bias] = self.terms((x[column], dy[column]), given);
                    sums[0][column] += weight;
                    sums[1][column] += bias;
                });
            });
            row = simt.opaque(row + TOGETHER as u32);
        }
        each!(i < 2 => {
            let to = self.out.row(2 * self.chunk + i as u64);
            self.out.store(simt, to, first, sums[i], vector_elements::<T>());
        });
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of_elements(self, column: u64) {
        let Self { simt, arguments, .. } = self;
        let mut sums = [-0.0; 2];
        let mut row = simt.opaque(0);
        while row < self.rows {
            let number = self.before + u64::from(row);
            let start = arguments.start(simt, number);
            let given = arguments.given::<S, NormGradient>(simt, start);
            let Two(step, other) = arguments.rows.step();
            let x = arguments.first_at(start, column as i64 * step);
            let dy = arguments.other_at(start, column as i64 * other, T::BYTES).cast();
            // SAFETY: the row has that column.
            let [x, dy] = unsafe { [arguments.element(simt, x), arguments.element(simt, dy)] };
            let [weight, bias] = self.terms(<(f32, f32)>::of([x, dy]), given);
            sums = [sums[0] + weight, sums[1] + bias];
            row = simt.opaque(row + 1);
        }
        each!(i < 2 => {
            let to = self.out.row(2 * self.chunk + i as u64);
            self.out.store_one(simt, to, column, sums[i]);
        });
    }
}
