//! What a plain kernel takes for granted of a launch.

use super::*;
use crate::{
    element::{bf16, f16},
    rowwise::RmsNorm,
};

/// What a plain kernel takes for granted is what the launch says, or the launch is not plain.
fn check<T: Element>() {
    let mut plain_ones = 0;
    for i in 0..3_u32.pow(4) * 4 {
        let floats = |place: u32| Floats::of_params(i / 4 / 3_u32.pow(place) % 3);
        let flags = RowFlags {
            from: floats(0),
            out: floats(1),
            columns: [floats(2), floats(3)],
            mode: Mode::Whole,
            second: second_of((i % 4) << SECOND),
            wide_targets: false,
        };
        // SAFETY: numbers and addresses, of which null is one.
        let launch: RowLaunch = unsafe { core::mem::zeroed() };
        let mut launch = RowLaunch {
            len: 64,
            count: 3,
            out_stride: 64,
            flags: flags.bits(RowParams::default()),
            ..launch
        };
        launch.arrays = launch.arrays.map(|array| Array {
            stride: 64,
            step: 1,
            ..array
        });
        let launch = launch.widened(T::ELEMENT);
        let (plain, any) = (launch.plain_arguments::<T>(), launch.arguments::<T>());
        let of = |a: &Arguments<T>| {
            (
                a.floats,
                a.out.floats,
                a.columns.weight.floats,
                a.columns.bias.floats,
                a.second,
                a.is_wide,
            )
        };
        if launch.is_plain::<RmsNorm>(T::ELEMENT) {
            plain_ones += 1;
            assert_eq!(of(&plain), of(&any), "{flags:?}");
            let part = RowLaunch { others: 1, ..launch };
            assert!(!part.is_plain(T::ELEMENT), "of a part, {flags:?}");
        }
    }
    // Weights and biases of the own type or f32; no second array, or a residual.
    let columns = if T::BYTES == 4 { 1 } else { 2 };
    assert_eq!(plain_ones, columns * columns * 2);
}

#[test]
fn what_is_plain_is_what_the_launch_says() {
    check::<f32>();
    check::<f16>();
    check::<bf16>();
}
