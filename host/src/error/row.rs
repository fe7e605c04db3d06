//! What is wrong with a row operation.

/// What has no meaning of a row operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowFault {
    /// Weights or biases that are not as many as columns.
    #[error("{got} {name} for rows of {columns} elements")]
    Columns {
        /// Which.
        name: &'static str,
        /// Elements of a row.
        columns: u64,
        /// Given.
        got: u64,
    },

    /// Weights or biases of a type that these rows do not take.
    #[error("{name} of {of}: of these rows they are of {types}")]
    ColumnType {
        /// Which.
        name: &'static str,
        /// Their type.
        of: &'static str,
        /// What they may be of.
        types: &'static str,
    },

    /// Weights or biases of a shape that is not that of the columns, nor broadcasts to the array's with differences along the rows' axis only.
    #[error(
        "{name} of shape {shape:?} for an array of shape {array:?}: they have {} numbers, one along axis {axis} each, or a shape that broadcasts to the array's and varies along that axis only",
        array[*axis]
    )]
    ColumnShape {
        /// Which.
        name: &'static str,
        /// Their shape.
        shape: Vec<u64>,
        /// The array's.
        array: Vec<u64>,
        /// The axis of the columns.
        axis: usize,
    },

    /// Targets whose shape neither is that of the rows nor broadcasts to it.
    #[error("targets of shape {shape:?} for rows of shape {rows:?}: they must have that shape, or broadcast to it")]
    TargetShape {
        /// The targets' shape.
        shape: Vec<u64>,
        /// The rows': the array's without their axis.
        rows: Vec<u64>,
    },

    /// Weights or biases that are not as many as channels.
    #[error("{got} {name} for {channels} channels")]
    Channels {
        /// Which.
        name: &'static str,
        /// Channels of the array.
        channels: u64,
        /// Given.
        got: u64,
    },

    /// Channels that are not so many groups of equally many.
    #[error("{channels} channels cannot be {groups} groups of equally many")]
    Groups {
        /// Channels of the array.
        channels: u64,
        /// Given.
        groups: u64,
    },

    /// Groups of channels of an array that has none.
    #[error("channels are axis 1 of an array of 2 axes at least, and this is of {axes}")]
    NoChannels {
        /// Axes of the array.
        axes: usize,
    },

    /// 1 to be added to weights that there are not.
    #[error("{op}: 1 is to be added to each weight, and there are none")]
    NoWeights {
        /// The operation.
        op: &'static str,
    },

    /// Weights or biases of an operation that is prepared: they come with each launch.
    #[error("{name} come with each launch (RowPlaces), not when {op} is prepared")]
    WithEachLaunch {
        /// The operation.
        op: &'static str,
        /// Which.
        name: &'static str,
    },

    /// Rows of which each is to be seen in part, of an array that has none: the last axis is a row, and the last but one counts them.
    #[error(
        "causal rows lie along the last axis of an array of 2 axes at least, and this is of {axes}, or another axis is asked for"
    )]
    NotAMatrix {
        /// Axes of the array.
        axes: usize,
    },

    /// A piece of causal rows that begins inside of a matrix and goes on past its end.
    #[error(
        "{rows} causal rows from row {first} on, of matrices of {of} rows: a piece ends with its matrix, or begins at a multiple of {of}"
    )]
    Piece {
        /// The number of its first row.
        first: u64,
        /// Its rows.
        rows: u64,
        /// Rows of a matrix.
        of: u64,
    },

    /// Another array whose elements are of another type than the array's.
    #[error("{what} of {of} beside an array of {array}: they must be the same")]
    Types {
        /// Which.
        what: &'static str,
        /// Its elements.
        of: &'static str,
        /// The array's.
        array: &'static str,
    },

    /// Not one for each row.
    #[error("{got} {what} for {rows} rows")]
    Rows {
        /// Of what.
        what: &'static str,
        /// Rows.
        rows: u64,
        /// Given.
        got: u64,
    },

    /// A target that is no element of its row.
    #[error("row {row} has the target {target}, and there are {classes} classes")]
    Target {
        /// The row.
        row: u64,
        /// Its target.
        target: i64,
        /// Elements of a row.
        classes: u64,
    },

    /// Columns of a part of rows that the whole rows do not have.
    #[error("a part of {len} columns from {first} on, of rows of {whole}")]
    Part {
        /// The number of the first.
        first: u64,
        /// How many.
        len: u64,
        /// Columns of the whole row.
        whole: u64,
    },

    /// Words that are not as many of each row.
    #[error("{got} words of partial states, which are {each} of each row")]
    Words {
        /// Given.
        got: usize,
        /// Of each row.
        each: usize,
    },

    /// More parts of rows than one launch combines.
    #[error(
        "{parts} parts of each row, and a launch combines {most} at most: combine some first, a power of two of them"
    )]
    Parts {
        /// Given.
        parts: u32,
        /// The most.
        most: u32,
    },

    /// Something that is to come with a launch, and there is no launch.
    #[error("{what} are to come later, and are needed now")]
    Missing {
        /// What.
        what: &'static str,
    },

    /// Two of a mask, an array that is added, and a residual.
    #[error("{op}: of a mask, an array that is added and a residual there may be one")]
    Together {
        /// The operation.
        op: &'static str,
    },
}
