//! What a plain kernel takes for granted of a launch.

use super::*;
use crate::{
    element::{bf16, f16},
    rowwise::RmsNorm,
};

/// What a plain kernel takes for granted is what the launch says, or the launch is not plain.
fn check<T: Element>() {
    let mut plain_ones = 0;
    // One weight of each column, or several rows or columns that share some, where there are weights or none.
    let shares = [
        ([1, 1], true),
        ([2, 1], true),
        ([1, 4], true),
        ([1, 1], false),
        ([3, 4], false),
    ];
    let all = shares.map(|shares| (0..3_u32.pow(4) * 4).map(move |i| (i, shares)));
    for (i, ([groups, span], have_weights)) in all.into_iter().flatten() {
        let floats = |place: u32| Floats::of_params(i / 4 / 3_u32.pow(place) % 3);
        let flags = RowFlags {
            from: floats(0),
            out: floats(1),
            columns: [floats(2), floats(3)],
            mode: Mode::Whole,
            second: second_of((i % 4) << SECOND),
            wide_targets: false,
            is_folded: false,
        };
        let mut rows = RowOperands {
            stride: 64,
            shares: Shares::of(groups, span),
            ..RowOperands::NONE
        };
        if have_weights {
            rows.columns[0] = core::ptr::without_provenance(16);
        }
        let mut launch = Launch {
            len: 64,
            count: 3,
            flags: flags.bits(RowParams::default()),
            rows,
            ..Launch::NOTHING
        };
        launch.arrays = launch.arrays.map(|array| Array {
            stride: 64,
            step: 1,
            ..array
        });
        let launch = launch.widened(T::ELEMENT);
        // SAFETY: nothing is read.
        let (plain, any) = unsafe { (launch.plain_row_arguments::<T>(), launch.row_arguments::<T>()) };
        let of = |a: &RowArguments<T>| {
            (
                a.floats,
                a.out.floats(),
                a.columns.weight.floats(),
                a.columns.bias.floats(),
                have_weights.then_some(a.columns.shares),
                a.second,
                a.is_wide,
            )
        };
        if launch.is_plain::<RmsNorm>(T::ELEMENT) {
            plain_ones += 1;
            assert_eq!(of(&plain), of(&any), "{flags:?}");
            let rows = RowOperands { others: 1, ..rows };
            let part = Launch { rows, ..launch };
            assert!(!part.is_plain::<RmsNorm>(T::ELEMENT), "of a part, {flags:?}");
        }
    }
    // Weights and biases of the own type or f32, each column's own, or none, shared or not; no second array, or a residual.
    let columns = if T::BYTES == 4 { 1 } else { 2 };
    assert_eq!(plain_ones, columns * columns * 2 * 3);
}

#[test]
fn what_is_plain_is_what_the_launch_says() {
    check::<f32>();
    check::<f16>();
    check::<bf16>();
}
