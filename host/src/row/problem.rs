//! What a row operation does with an array of a layout.

use warpfold_kernels::stages::columns::Shares;

use crate::{
    Error, RowFault,
    layout::{Extents, Layout},
};

/// That there is one for each row.
pub(crate) fn check_known(known: &[f32], rows: u64) -> Result<(), Error> {
    if known.len() as u64 == rows {
        return Ok(());
    }
    Err(Error::Row(RowFault::Rows {
        what: "numbers that are known of rows",
        rows,
        got: known.len() as u64,
    }))
}

/// Where rows lie, and what is seen of them.
pub(crate) struct Problem {
    /// In the array, and in the other; where there is none, the same.
    pub(crate) from: [Extents; 2],
    /// In the answers.
    pub(crate) to: Extents,
    /// The shape of the rows: that of the array without their axis; of groups of channels nobody asks.
    pub(super) rows: Vec<u64>,
    /// Where weights and biases of columns are, if they are not in order.
    pub(crate) columns: [Option<Vec<usize>>; 2],
    /// Which weights are whose.
    pub(crate) shares: Shares,
    /// Of row `r` the first `r mod period + shown` elements are seen.
    pub(crate) causal: Option<(u64, i64)>,
    /// Whether sums with a residual are written.
    pub(crate) has_sums: bool,
    /// The first element of the other array that is read, and the one past the last.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "a launch is passed it"))]
    pub(crate) reach: Option<(u64, u64)>,
}

/// Of a causal matrix' row `r` the elements 0 to `r + S − T + offset` are seen, the array having all rows of matrices, or a [piece](Piece) of them.
pub(super) fn causal(layout: &Layout, axis: i64, offset: i64, piece: Option<Piece>) -> Result<(u64, i64), Error> {
    let shape = layout.shape();
    let not_a_matrix = Error::Row(RowFault::NotAMatrix { axes: shape.len() });
    let Some((columns, others)) = shape.split_last() else {
        return Err(not_a_matrix);
    };
    if axis != -1 && axis != others.len() as i64 {
        return Err(not_a_matrix);
    }
    let (rows, first) = match (piece, others.last()) {
        (Some(piece), _) => (piece.of, piece.first_in_matrix(others.iter().product())?),
        (None, Some(rows)) => (*rows, 0),
        (None, None) => return Err(not_a_matrix),
    };
    let shown = i128::from(*columns) - i128::from(rows) + i128::from(offset) + 1 + i128::from(first);
    // Further than any row reaches is as good as that far.
    let most = i64::MAX / 2;
    Ok((rows.max(1), shown.clamp((-most).into(), most.into()) as i64))
}

/// Which rows of a larger array an array has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The number of the first.
    pub(super) first: u64,
    /// Rows of each matrix.
    pub(super) of: u64,
}

impl Piece {
    /// The number that the first row has in its matrix, once these rows are found to be of one, or to begin with one.
    fn first_in_matrix(self, rows: u64) -> Result<u64, Error> {
        let Self { first, of } = self;
        let in_matrix = first % of.max(1);
        if in_matrix == 0 || rows <= of - in_matrix {
            return Ok(in_matrix);
        }
        Err(Error::Row(RowFault::Piece { first, rows, of }))
    }
}
