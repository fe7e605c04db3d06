//! What a launch of a row operation passes.

use super::{RowArguments, Targets};
use crate::{
    element::{Element, Item as _, Type},
    kernels::{Array, Launch, RowOperands, rows::Width},
    rowwise::{RowOp, RowParams},
    stages::{
        StateArray,
        columns::{ColumnParams, Floats, Shares, Weights},
        emit::OutRows,
        load::extents::Extents,
    },
    tree::{VECTOR_BYTES, vector_elements},
};

/// What a launch does with rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It folds and maps them; what was read stays in registers.
    #[default]
    Whole,
    /// It folds leaves, and writes their states.
    Fold,
    /// It maps rows whose states were folded before.
    Map,
}

/// What the second array is to an operation that takes its elements of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Second {
    /// There is none; or the operation takes an element of each of two.
    #[default]
    Nothing,
    /// Bytes: where one is 0 an element is absent.
    Mask,
    /// Elements that are added to others, once these are multiplied by a number.
    Added,
    /// Elements that are added to others, each sum rounded to their type, and written.
    Residual,
}

/// What a launch's flags say of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowFlags {
    /// The elements.
    pub from: Floats,
    /// The answers.
    pub out: Floats,
    /// Weights and biases.
    pub columns: [Floats; 2],
    /// What is done.
    pub mode: Mode,
    /// What the second array is.
    pub second: Second,
    /// Whether targets are of 64 bits.
    pub wide_targets: bool,
    /// Whether a row lies along several dimensions, which the layout has.
    pub is_folded: bool,
}

/// Where in the flags things are.
const FROM: u32 = 0;
const OUT: u32 = 2;
const WEIGHT: u32 = 4;
const BIAS: u32 = 6;
const MODE: u32 = 8;
const SECOND: u32 = 10;
const TARGETS: u32 = 12;
const FLAG: u32 = 13;
const NEGATES: u32 = 14;
const WIDE: u32 = 15;
const FOLDED: u32 = 16;

impl RowFlags {
    /// Of floats of one kind, and nothing beside them.
    #[must_use]
    pub const fn of(floats: Floats) -> Self {
        Self {
            from: floats,
            out: floats,
            columns: [floats; 2],
            mode: Mode::Whole,
            second: Second::Nothing,
            wide_targets: false,
            is_folded: false,
        }
    }

    /// All of it, and what the operation is passed.
    #[must_use]
    pub fn bits(self, params: RowParams) -> u64 {
        let bits = (self.from as u32) << FROM
            | (self.out as u32) << OUT
            | (self.columns[0] as u32) << WEIGHT
            | (self.columns[1] as u32) << BIAS
            | (self.mode as u32) << MODE
            | (self.second as u32) << SECOND
            | u32::from(self.wide_targets) << TARGETS
            | u32::from(self.is_folded) << FOLDED
            | u32::from(params.flag) << FLAG
            | u32::from(params.negates) << NEGATES;
        bits.into()
    }
}

/// A launch of a row operation.
impl Launch {
    /// The same flags, but [wide](Self::is_wide) if all of this is of whole vectors of an element's type: addresses, strides, and lengths.
    #[must_use]
    pub fn widened(self, element: Type) -> Self {
        let vector = VECTOR_BYTES / element.bytes();
        let flags = self.flags as u32;
        let is_whole = |address: usize, bytes: usize| address.is_multiple_of(bytes);
        let in_vectors = |stride: i64| is_whole(stride.unsigned_abs() as usize, vector);
        let [first, second] = self.arrays;
        let of_second = if second_of(flags) == Second::Mask {
            vector
        } else {
            VECTOR_BYTES
        };
        let is_row = |array: Array, bytes: usize| {
            is_whole(array.start.addr(), bytes) && in_vectors(array.stride) && array.step == 1
        };
        let of_out = (vector * Floats::of_params(flags >> OUT).bytes()).min(VECTOR_BYTES);
        let [weights, biases] = self.rows.columns;
        let others = [weights.addr(), biases.addr(), self.rows.sums.addr()];
        let is_wide = is_row(first, VECTOR_BYTES)
            && (second.start.is_null() || is_row(second, of_second))
            && others.iter().all(|address| is_whole(*address, VECTOR_BYTES))
            && is_whole(self.answer.addr(), of_out)
            && in_vectors(self.rows.stride)
            && self.layout.is_null()
            && self.rows.period == 0
            && is_whole(self.len as usize, vector);
        Self {
            flags: self.flags | u64::from(is_wide) << WIDE,
            ..self
        }
    }

    /// Whether kernels of an operation may be used that take nothing but this: [wide](Self::is_wide) rows that are not negated, without a mask or an added array, answers of the elements'
    /// type, and weights of that type or f32, one for each column; whole rows; and no more is asked for of what is known than [`RowOp::PLAIN_KNOWS`]. Rows are seen as a whole, but for long
    /// ones of an operation that [masks](RowOp::MASKS).
    #[must_use]
    pub fn is_plain<O: RowOp>(&self, element: Type) -> bool {
        let rows = RowOperands { period: 0, ..self.rows };
        let flags = Self { rows, ..*self }.widened(element).flags as u32;
        let floats = |at: u32| Floats::of_params(flags >> at);
        let is_own = |at: u32| Floats::of(element) == Some(floats(at));
        let are_columns = [WEIGHT, BIAS]
            .iter()
            .all(|at| is_own(*at) || floats(*at) == Floats::F32);
        let have_own = rows.shares.are_none() || rows.columns.iter().all(|start| start.is_null());
        let is_second = matches!(second_of(flags), Second::Nothing | Second::Residual);
        let are_own = is_own(FROM) && is_own(OUT) && are_columns && have_own;
        let is_seen = self.rows.period == 0 || O::MASKS && Width::of(element, self.len) == Width::Warp;
        let is_known = rows.known[O::PLAIN_KNOWS..].iter().all(|known| known.is_null());
        let is_whole = flags >> WIDE & 1 != 0 && rows.others == 0;
        is_whole && are_own && is_second && flags >> NEGATES & 1 == 0 && is_seen && is_known
    }

    /// The [arguments](Self::row_arguments) of a launch that is [plain](Self::is_plain): what is known of it is a constant.
    ///
    /// # Safety
    ///
    /// As [`row_arguments`](Self::row_arguments).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub unsafe fn plain_row_arguments<T: Element>(&self) -> RowArguments<T> {
        // SAFETY: passed on to the caller.
        let arguments: RowArguments<T> = unsafe { self.row_arguments() };
        let Some(own) = Floats::of(T::ELEMENT) else {
            return arguments;
        };
        let column = |weights: Weights| {
            let floats = if let Floats::F32 = weights.floats() {
                Floats::F32
            } else {
                own
            };
            // SAFETY: they are of that type, as the caller has it.
            unsafe { Weights::new(weights.start(), floats) }
        };
        let ColumnParams { weight, bias, .. } = arguments.columns;
        RowArguments {
            rows: arguments.rows.without_layout(),
            second: if let Second::Residual = arguments.second {
                Second::Residual
            } else {
                Second::Nothing
            },
            floats: own,
            columns: ColumnParams {
                weight: column(weight),
                bias: column(bias),
                shares: Shares::NONE,
                before: 0,
            },
            // SAFETY: as above.
            out: unsafe { OutRows::new(self.answer, self.rows.stride, own) },
            is_wide: true,
            before: 0,
            others: 0,
            ..arguments
        }
    }

    /// What the second array is.
    #[must_use]
    pub fn second(&self) -> Second {
        second_of(self.flags as u32)
    }

    /// Whether it was found to be [wide](Self::widened).
    #[must_use]
    pub fn is_wide(&self) -> bool {
        self.flags >> WIDE & 1 != 0
    }

    /// The same of another mode.
    #[must_use]
    pub fn of_mode(self, mode: Mode) -> Self {
        let flags = self.flags & !(3 << MODE) | (mode as u64) << MODE;
        Self { flags, ..self }
    }

    /// What is passed of the operation.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn row_params(&self) -> RowParams {
        let [low, high] = self.numbers;
        let number = |bits: u64| f32::from_bits(bits as u32);
        RowParams {
            numbers: [number(low), number(low >> 32), number(high), number(high >> 32)],
            flag: self.flags as u32 >> FLAG & 1 != 0,
            negates: self.flags as u32 >> NEGATES & 1 != 0,
        }
    }

    /// The weights and the biases.
    ///
    /// # Safety
    ///
    /// As [`row_arguments`](Self::row_arguments).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn weights(&self) -> ColumnParams {
        let RowOperands { columns, shares, .. } = self.rows;
        let floats = |at: u32| Floats::of_params(self.flags as u32 >> at);
        // SAFETY: the caller's word.
        let [weight, bias] = unsafe {
            [
                Weights::new(columns[0], floats(WEIGHT)),
                Weights::new(columns[1], floats(BIAS)),
            ]
        };
        ColumnParams {
            weight,
            bias,
            shares,
            before: 0,
        }
    }

    /// What elements are, of the size of `T`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row_floats<T: Element>(&self) -> Floats {
        if vector_elements::<T>() == 4 {
            Floats::F32
        } else {
            Floats::of_params(self.flags as u32 >> FROM)
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn targets(&self) -> Targets {
        Targets {
            start: self.rows.targets,
            are_wide: self.flags as u32 >> TARGETS & 1 != 0,
            ignored: self.rows.ignored,
        }
    }

    /// The rest, of a kernel that reads elements of the size of `T`. Whoever has it may read and write what it says is there, and does so within its rows.
    ///
    /// # Safety
    ///
    /// Pointers are null, or valid for what their fields say, for the whole launch: rows, weights, targets and the layout for reads, and nobody writes them, but this launch its rows where
    /// it maps them in place; answers, sums, numbers of rows and states for writes, by this launch alone. All threads of the grid run one kernel, in the shape that it was planned for.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub unsafe fn row_arguments<T: Element>(&self) -> RowArguments<T> {
        let [first, second] = self.arrays;
        let (rows, flags, floats) = (self.rows, self.flags as u32, self.row_floats::<T>());
        RowArguments {
            // SAFETY: the caller's word; the second array is not read by this view.
            rows: unsafe { Extents::new([first, no_start(second)], self.len, self.count, self.layout) },
            other: second.start,
            second: second_of(flags),
            factor: self.row_params().numbers[2],
            floats,
            // SAFETY: as above.
            columns: unsafe { self.weights() },
            // SAFETY: as above.
            out: unsafe { OutRows::new(self.answer, rows.stride, Floats::of_params(flags >> OUT)) },
            // SAFETY: as above; nothing is read but the layout.
            to: unsafe { Extents::new([rows.answers(), Array::NONE], 0, 0, rows.layout) },
            // SAFETY: as above; sums lie as the answers do.
            sums: unsafe { OutRows::new(rows.sums, rows.stride, floats) },
            known: rows.known,
            targets: self.targets(),
            mode: Mode::of(flags),
            // SAFETY: as above.
            states: unsafe { StateArray::new(self.slots) },
            // SAFETY: as above.
            row_states: unsafe { StateArray::new(self.state) },
            leaves: self.tiles as u32,
            blocks: self.blocks as u32,
            run: self.steps as u32,
            period: rows.period,
            shown: rows.shown,
            is_wide: flags >> WIDE & 1 != 0,
            prefetch: rows.prefetch,
            before: rows.before,
            others: rows.others,
            is_folded: flags >> FOLDED & 1 != 0,
        }
    }
}

impl Mode {
    /// By a launch's flags.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of(flags: u32) -> Self {
        match flags >> MODE & 3 {
            0 => Self::Whole,
            1 => Self::Fold,
            _ => Self::Map,
        }
    }
}

/// Where an array lies, counted from its first element.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn no_start(array: Array) -> Array {
    Array {
        start: core::ptr::null(),
        ..array
    }
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn second_of(flags: u32) -> Second {
    match flags >> SECOND & 3 {
        0 => Second::Nothing,
        1 => Second::Mask,
        2 => Second::Added,
        _ => Second::Residual,
    }
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
