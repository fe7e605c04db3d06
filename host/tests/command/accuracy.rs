//! `warpfold reduce --accuracy`.

use serde_json::json;

use super::{
    Temporary, npy,
    runs::{fails, json_of, reduce},
    text,
};

/// A plain sum of them is 1, and their real sum 3.
const VALUES: [f32; 5] = [1e8, 1.0, -1e8, 1.0, 1.0];

/// The same elements in another type.
fn of_type(descr: &str, elements: impl Iterator<Item = Vec<u8>>) -> Temporary {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (5,), }}");
    Temporary::new(&npy(1, &header, &elements.collect::<Vec<_>>().concat()))
}

fn f64s() -> Temporary {
    of_type(
        "<f8",
        VALUES.iter().map(|value| f64::from(*value).to_le_bytes().to_vec()),
    )
}

#[test]
fn a_sum_is_as_accurate_as_was_asked_for() {
    let single = Temporary::array("(5,)", &VALUES);
    let double = f64s();
    for (file, op, accuracy, name, result) in [
        (&single, "sum", "native", "sum", 1.0),
        (&single, "sum", "compensated", "sum-compensated", 3.0),
        (&single, "sum", "wide", "sum-wide", 3.0),
        (&single, "sum", "exact", "sum-exact", 3.0),
        (&single, "mean", "exact", "mean-exact", f64::from(0.6_f32)),
        (&double, "mean", "compensated", "mean-compensated", 0.6),
    ] {
        let object = json_of(op, &file.0, &["--accuracy", accuracy]);
        assert_eq!(object["op"], name);
        let got = object["result"].as_f64().unwrap();
        assert!((got - result).abs() < 1e-7, "{name}: {got}");
    }
    let output = reduce("sum", &single.0, &["--accuracy", "exact"]);
    assert!(text(&output.stdout).starts_with("3.0  sum-exact of "), "{output:?}");
    let object = json_of("sum", &single.0, &["--accuracy", "exact", "--segment-size", "3"]);
    assert_eq!(object["answers"], json!([1.0, 2.0]));
}

#[test]
fn an_accuracy_that_there_is_not_is_an_error() {
    let single = Temporary::array("(5,)", &VALUES);
    fails(
        "sum",
        &f64s().0,
        &["--accuracy", "wide"],
        &["sum of float64", "exact of float32 and float64"],
    );
    let integers = of_type("<i2", (0..5_i16).map(|value| value.to_le_bytes().to_vec()));
    fails(
        "mean",
        &integers.0,
        &["--accuracy", "wide"],
        &["mean of int16", "--accuracy wide"],
    );
    let output = reduce("sum", &single.0, &["--accuracy", "perfect"]);
    assert_eq!(output.status.code(), Some(2));
}
