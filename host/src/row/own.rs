//! Row operations of one's own.

use warpfold_kernels::{kernels::rowwise::Second as Kind, ops::RowOperation, rowwise::Value as _};

use super::{Floats, Knowledge, Mask, Operand, Operation, Row, Shaped, ops::canonical};

/// A row operation of your own: see [`own`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own<O>(
    /// The operation.
    pub O,
);

/// What an operation of your own knows of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Of each row the numbers that [`RowOp::known`](warpfold_kernels::rowwise::RowMap::known) gives; zeros where it is not implemented.
    pub numbers: Vec<[f32; 4]>,
}

impl From<Vec<[f32; 4]>> for Known {
    fn from(known: Vec<[f32; 4]>) -> Self {
        let numbers = known.into_iter().map(|known| known.map(canonical)).collect();
        Self { numbers }
    }
}

impl Knowledge for Known {
    const ASKED: [bool; 4] = [true; 4];
}

/// A row operation of your own, from a crate that [`row_operations!`](warpfold_kernels::row_operations) made kernels of.
///
/// It goes wherever an operation of the library does: along any axis, of f16, bf16 and f32, on the CPU, on a GPU and prepared, with the same bits. What it takes
/// beside an array its [`RowOp`](warpfold_kernels::rowwise::RowOp) says; a step that it does not take, does not compile. Cost as [`softmax`](super::softmax()).
///
/// # Errors
///
/// Its last step answers as that of any [`Row`]; [`Error::Parameter`](crate::Error::Parameter) of a parameter that the operation has
/// [no meaning](warpfold_kernels::ops::OwnRowOp::bad_parameter) for; on GPUs [`Error::NoPtx`](crate::Error::NoPtx) where its crate's kernels were not built.
///
/// ```
/// use own_operator::L2Normalise;
/// use warpfold::row;
///
/// let rows = row::own(L2Normalise { epsilon: 1e-12 }).on_cpu::<_, f32>(&[3.0_f32, 0.0, -4.0])?;
/// assert_eq!(rows.values, [0.6, 0.0, -0.8]);
/// assert_eq!(rows.known.numbers[0][0], 5.0); // the norm
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// This one has no columns:
///
/// ```compile_fail,E0080
/// # use own_operator::L2Normalise;
/// # use warpfold::row;
/// let weighted = row::own(L2Normalise { epsilon: 1e-12 }).weight(&[1.0_f32; 3]);
/// ```
pub fn own<'a, O: RowOperation>(op: O) -> Row<'a, Own<O>> {
    const {
        assert!(O::Value::ARRAYS == 1, "a row operation of your own takes one array");
        assert!(!O::TARGETS, "a row operation of your own takes no targets");
        assert!(
            !O::TAKES_COLUMNS,
            "a row operation of your own takes nothing that is known of rows"
        );
    }
    Row::new(Own(op))
}

impl<O: RowOperation> Operation for Own<O> {
    type Op = O;
    type Known = Known;

    fn op(self) -> O {
        self.0
    }
}

impl<'a, O: RowOperation> Row<'a, Own<O>> {
    /// A weight of each column, of an operation that [has columns](warpfold_kernels::rowwise::RowOp::HAS_COLUMNS).
    pub fn weight(self, weights: impl Into<Shaped<Floats<'a>>>) -> Self {
        const { assert!(O::HAS_COLUMNS, "HAS_COLUMNS is false: it takes no weights") }
        let weights = Some(weights.into());
        Self { weights, ..self }
    }

    /// A bias of each column, likewise.
    pub fn bias(self, biases: impl Into<Shaped<Floats<'a>>>) -> Self {
        const { assert!(O::HAS_COLUMNS, "HAS_COLUMNS is false: it takes no biases") }
        let biases = Some(biases.into());
        Self { biases, ..self }
    }

    /// Only elements whose byte in the mask is not 0 are visible, of an operation that [masks](warpfold_kernels::rowwise::RowOp::MASKS); any other is
    /// [absent](warpfold_kernels::rowwise::RowAlgebra::absent), be it a NaN. The mask broadcasts to the array's shape.
    pub fn mask(self, mask: impl Into<Mask<'a>>) -> Self {
        const { assert!(O::MASKS, "MASKS is false: it takes no mask") }
        self.with(Kind::Mask, mask.into().0)
    }

    /// Adds an array to the elements first, of an operation that [adds](warpfold_kernels::rowwise::RowOp::ADDS); each sum is rounded to the elements' type, and
    /// [given back](super::Mapped::sums) too.
    pub fn residual(self, residual: impl Into<Operand<'a>>) -> Self {
        const { assert!(O::ADDS, "ADDS is false: it takes no residual") }
        self.with(Kind::Residual, residual.into())
    }
}
