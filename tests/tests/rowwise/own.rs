//! Row operations of one's own: that of the example crate, and one that takes all there is beside rows, by the name of another.

use half::{bf16, f16};
use warpfold::{
    Error, RowFault, View,
    layout::Layout,
    plan::{
        Plan,
        row::{Purpose, RowLayout, RowProblem},
    },
    row,
};
use warpfold_kernels::{
    element::Type,
    kernels::{
        LIBRARY, LaunchBounds, Library,
        row_entries::RowBounds,
        rowwise::{RowParams, RowVariant, Second},
    },
    ops::{OwnRowOp, RowOperation},
    row_entries,
    rowwise::{Column, ColumnUse, FirstPass, Given, LeafFound, RowAlgebra, RowFold, RowMap, RowOp as _},
    testing::{check_row_laws, check_row_params},
};
use warpfold_tests::rows::{Weights, numbers};

use super::{Inputs, PLAIN, Reads};
use own_operator::L2Normalise;

/// `x · factor / largest |x| · weight + bias`, of elements that are negated or not.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ByLargest {
    factor: f32,
    negates: bool,
}

impl RowFold for ByLargest {
    type Value = f32;
    type Relative = f32;
    type Sums = f32;
    /// The largest magnitude, and the sum of all.
    type State = (f32, f32);

    const ALGEBRA: RowAlgebra = RowAlgebra {
        first_pass: FirstPass::LargestOf,
        columns: ColumnUse::WeightsAndBiases,
        masks: true,
        adds_residual: true,
        ..RowAlgebra::PLAIN
    };

    fn negates(self) -> bool {
        self.negates
    }
    fn first(self, value: f32) -> f32 {
        value.abs()
    }
    fn relative(self, value: f32, _: f32) -> f32 {
        value
    }
    fn term(self, value: f32) -> f32 {
        value.abs()
    }
    fn leaf(self, found: LeafFound, sum: f32, _: u32) -> (f32, f32) {
        (found.first, sum)
    }
    fn identity(self) -> (f32, f32) {
        (0.0, -0.0)
    }
    fn combine(self, a: (f32, f32), b: (f32, f32)) -> (f32, f32) {
        (self.both(a.0, b.0), a.1 + b.1)
    }
}

impl RowMap for ByLargest {
    type Factors = f32;

    fn factors(self, _: f32, _: Option<(f32, f32)>, row: (f32, f32), _: u64, _: Given) -> f32 {
        self.factor / row.0
    }
    fn map(self, value: f32, factor: f32, column: Column) -> f32 {
        value * factor * column.weight + column.bias
    }
    fn known(self, (largest, sum): (f32, f32), len: u64, _: Given) -> [f32; 4] {
        [largest, sum, len as f32, self.factor]
    }
}

impl OwnRowOp for ByLargest {
    fn params(self) -> RowParams {
        RowParams {
            numbers: [0.0, 0.0, self.factor, 0.0],
            flag: false,
            negates: self.negates,
        }
    }
    fn of_params(params: RowParams) -> Self {
        Self {
            factor: params.numbers[2],
            negates: params.negates,
        }
    }
}

/// As `row_operations!` has it, but without PTX.
static ANOTHER: Library = Library {
    package: "another",
    lists: &[],
    rows: ROWS,
    ptx: None,
};

row_entries! {
    ROWS of ANOTHER, in "rows", if all(), with [];
    states { softmax: ByLargest, RowBounds::of(LaunchBounds::REGS_80); }
    softmax: ByLargest, RowBounds::of(LaunchBounds::REGS_80), short;
}

impl RowOperation for ByLargest {
    const NAME: &'static str = "softmax";
    const LIBRARY: &'static Library = &ANOTHER;
}

const L2: L2Normalise = L2Normalise { epsilon: 1e-12 };
const LARGEST: ByLargest = ByLargest {
    factor: 3.0,
    negates: true,
};

/// Both operations, with all that they take, on one matrix.
fn both_agree<T: Weights, U: row::RowElement, W: Weights>(size: [u64; 2], seed: u64) {
    let inputs = &Inputs::<T, W>::new(size, seed);
    let layout = &inputs.layout();
    let mask = || View::new(&inputs.mask[..], layout).expect("in bounds");
    let reads = |second: Option<Second>, columns: [bool; 2]| Reads {
        second,
        columns,
        ..PLAIN
    };
    inputs.agree::<U, _>(&row::own(L2), PLAIN);
    inputs.agree::<U, _>(&row::own(L2Normalise { epsilon: 30.0 }), PLAIN);
    inputs.agree::<U, _>(&row::own(L2).mask(mask()), reads(Some(Second::Mask), [false; 2]));
    let [weight, bias] = [W::floats(&inputs.weights), W::floats(&inputs.biases)];
    inputs.agree::<U, _>(&row::own(LARGEST).weight(weight).bias(bias), reads(None, [true; 2]));
    inputs.agree::<U, _>(
        &row::own(LARGEST).weight(weight).mask(mask()),
        reads(Some(Second::Mask), [true, false]),
    );
    let residual = T::operand_of(&inputs.other, layout);
    inputs.agree::<U, _>(
        &row::own(LARGEST).bias(bias).residual(residual),
        reads(Some(Second::Residual), [false, true]),
    );
}

#[test]
fn every_shape_gives_the_bits_of_the_specification() {
    for (i, len) in [0, 1, 5, 31, 128, 129, 256, 512, 513, 1024, 2500]
        .into_iter()
        .enumerate()
    {
        let i = i as u64;
        both_agree::<f32, f32, f32>([3, len], i);
        both_agree::<bf16, bf16, bf16>([3, len], i + 1);
        both_agree::<f16, f32, f16>([2, len], i + 2);
    }
    // Plain, more rows than a warp has at once; and of three types.
    for len in [4, 32, 128, 1024] {
        both_agree::<f32, f32, f32>([9, len], 10);
        both_agree::<f16, f16, f16>([9, 2 * len], 25);
    }
    both_agree::<bf16, f16, f32>([2, 264], 3);
}

/// Names are those of a library: another's softmax is another's.
#[test]
fn kernels_are_those_of_the_operations_own_library() {
    for (library, op, words) in [
        (&LIBRARY, "softmax", 2),
        (&ANOTHER, "softmax", 2),
        (&own_operator::ROW_LIBRARY, "l2_normalise", 1),
    ] {
        for element in [Type::F32, Type::F16, Type::Bf16] {
            for variant in [
                RowVariant::Short,
                RowVariant::Leaf,
                RowVariant::Any,
                RowVariant::Strided,
            ] {
                let entry = library.find_row(op, element, variant).expect("built");
                assert_eq!((entry.library, entry.op, entry.state_words), (library, op, words));
            }
            for (layout, len) in [
                (RowLayout::Plain, 64),
                (RowLayout::Plain, 4096),
                (RowLayout::Contiguous, 9),
                (RowLayout::Strided, 9000),
            ] {
                let plan = Plan::rows(RowProblem {
                    library,
                    op,
                    element,
                    size: [5, len],
                    layout,
                    cluster: 16,
                    purpose: Purpose::Map,
                })
                .expect("few");
                assert_eq!(plan.entry.library, library, "{plan}");
            }
        }
        assert!(library.find_row(op, Type::F64, RowVariant::Any).is_none());
    }
    assert_eq!(
        LIBRARY
            .find_row("softmax", Type::F32, RowVariant::Leaf)
            .unwrap()
            .max_threads,
        1024
    );
    assert_eq!(
        ANOTHER
            .find_row("softmax", Type::F32, RowVariant::Leaf)
            .unwrap()
            .max_threads,
        768
    );
    assert!(LIBRARY.find_row("l2_normalise", Type::F32, RowVariant::Any).is_none());
    for (library, kind) in [(&ANOTHER, "softmax"), (&own_operator::ROW_LIBRARY, "l2_normalise")] {
        assert_eq!(library.find_row_states(kind).expect("its own").library, library);
        assert_eq!(library.row_entries().count(), 11);
    }
    // An entry of one operation is none of another whose name begins alike.
    assert!(
        LIBRARY
            .find_row("softmax_gradient", Type::F32, RowVariant::Added)
            .is_none()
    );
}

#[test]
fn both_keep_the_laws() {
    let samples = [
        0.0,
        -0.0,
        1.5,
        -3.0,
        90.0,
        -1e-40,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    check_row_laws(L2, &samples);
    check_row_laws(LARGEST, &samples);
    check_row_params(L2, &samples);
    check_row_params(LARGEST, &samples);
}

/// A row's bits are its own, along either axis; what has no meaning is an error as of the library's operations.
#[test]
fn axes_and_errors_are_as_those_of_the_librarys_operations() {
    let values = numbers::<f32>(40 * 700, 9);
    let layout = Layout::c_order(&[40, 700]).expect("small");
    let view = || View::new(&values, &layout).expect("in bounds");
    let columns = row::own(L2).axis(0).on_cpu::<_, f32>(view()).expect("a meaning");
    let turned = layout.transposed(&[1, 0]).expect("two axes");
    let rows = View::new(&values, &turned).expect("in bounds");
    let rows = row::own(L2).on_cpu::<_, f32>(rows).expect("a meaning");
    assert_eq!(columns.known, rows.known);
    for (i, value) in rows.values.iter().enumerate() {
        let (column, row) = (i / 40, i % 40);
        assert_eq!(*value, columns.values[row * 700 + column]);
    }
    let error = row::own(L2).axis(2).on_cpu::<_, f32>(view());
    assert!(matches!(error, Err(Error::NoAxis { .. })), "{error:?}");
    let error = row::own(LARGEST).weight(&[1.0_f32; 3]).on_cpu::<_, f32>(view());
    assert!(matches!(error, Err(Error::Row(RowFault::Columns { .. }))), "{error:?}");
    for epsilon in [0.0, -1.0, 1e-40, f32::INFINITY, f32::NAN] {
        let error = row::own(L2Normalise { epsilon }).on_cpu::<_, f32>(view());
        let Err(Error::Parameter { op, name, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!((op, name), ("l2_normalise", "epsilon"));
    }
}
