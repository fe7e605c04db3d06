//! What a mask selects.

use std::process::Command;

use serde_json::{Value, json};

use super::{Temporary, npy, text, warpfold};

fn mask(descr: &str, shape: &str, bytes: &[u8]) -> Temporary {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    Temporary::new(&npy(1, &header, bytes))
}

#[track_caller]
fn folded(op: &str, file: &Temporary, mask: &Temporary, more: &[&str]) -> Value {
    let (file, mask) = (file.0.to_str().unwrap(), mask.0.to_str().unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(["reduce", op, file, "--where", mask, "--device", "cpu", "--json"])
        .args(more)
        .output()
        .unwrap();
    assert_eq!(text(&output.stderr), "");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_mask_selects_what_is_folded() {
    let array = Temporary::array("(2, 3)", &[9.0, 2.0, 4.0, -1.0, f32::NAN, 4.0]);
    let same = mask("|b1", "(2, 3)", &[0, 1, 1, 1, 0, 1]);
    let row = mask("|u1", "(3,)", &[1, 0, 128]);
    let none = mask("|b1", "(2, 1)", &[0, 0]);
    for (op, of_same, value, of_none) in [
        ("sum", json!(9.0), Value::Null, json!(-0.0)),
        ("prod", json!(-32.0), Value::Null, json!(1.0)),
        ("mean", json!(2.25), Value::Null, json!("NaN")),
        ("max", json!(4.0), Value::Null, json!("NaN")),
        ("argmin", json!(3), json!(-1.0), json!(u64::MAX)),
        ("argmax-last", json!(5), json!(4.0), json!(u64::MAX)),
        ("any", json!(true), Value::Null, json!(false)),
        ("count-nonzero", json!(4), Value::Null, json!(0)),
        ("var", json!(5.583_333_5), Value::Null, json!("NaN")),
    ] {
        let object = folded(op, &array, &same, &[]);
        assert_eq!((&object["result"], &object["value"]), (&of_same, &value), "{op}");
        // As text, for -0.0 is equal to 0.0.
        let of_nothing = folded(op, &array, &none, &[])["result"].to_string();
        assert_eq!(of_nothing, of_none.to_string(), "{op}");
    }
    assert_eq!(folded("sum", &array, &row, &[])["result"], json!(16.0));
    let rows = folded("sum", &array, &row, &["--axis", "1", "--keepdim"]);
    assert_eq!(
        (&rows["answers"], &rows["shape_out"]),
        (&json!([13.0, 3.0]), &json!([2, 1]))
    );
    let columns = folded("max", &array, &same, &["--axis", "0"]);
    assert_eq!(columns["answers"], json!([-1.0, 2.0, 4.0]));
    let segments = folded("sum", &array, &row, &["--segment-size", "4"]);
    assert_eq!(segments["answers"], json!([12.0, 4.0]));
    let plan = folded("sum", &array, &row, &["--explain"])["plan"].to_string();
    assert!(plan.contains("sum_where_small_f32"), "{plan}");
}

#[test]
fn what_a_mask_selects_is_folded_without_nan_or_more_accurately() {
    let array = Temporary::array("(2, 3)", &[9.0, f32::NAN, 4.0, -1.0, f32::NAN, 4.0]);
    let selects = mask("|b1", "(2, 3)", &[0, 1, 1, 1, 1, 1]);
    let nan_alone = mask("|b1", "(3,)", &[0, 1, 0]);
    for (op, name, result, of_nothing) in [
        ("sum", "nansum", json!(7.0), json!(-0.0)),
        ("prod", "nanprod", json!(-16.0), json!(1.0)),
        ("mean", "nanmean", json!(2.333_333_3), json!("NaN")),
        ("min", "nanmin", json!(-1.0), json!("NaN")),
        ("argmax", "nanargmax", json!(2), json!(u64::MAX)),
        ("argmax-last", "nanargmax-last", json!(5), json!(u64::MAX)),
        ("var", "nanvar", json!(8.333_333), json!("NaN")),
    ] {
        let object = folded(op, &array, &selects, &["--nan", "ignore"]);
        assert_eq!((&object["op"], &object["result"]), (&json!(name), &result));
        let of_nan = folded(op, &array, &nan_alone, &["--nan", "ignore"])["result"].to_string();
        assert_eq!(of_nan, of_nothing.to_string(), "{op}");
    }
    assert_eq!(folded("sum", &array, &selects, &[])["result"], json!("NaN"));
    assert_eq!(folded("count-nan", &array, &selects, &[])["result"], json!(2));
    let rows = folded("max", &array, &selects, &["--nan", "ignore", "--axis", "1"]);
    assert_eq!(rows["answers"], json!([4.0, 4.0]));
    // A half of the last place of 2^24, twice: each is lost alone, and exactly one place together.
    let halves = Temporary::array("(4,)", &[16_777_216.0, 1.0, 5e30, 1.0]);
    let small = mask("|u1", "(4,)", &[1, 1, 0, 7]);
    for (accuracy, name) in [
        ("compensated", "sum-compensated"),
        ("wide", "sum-wide"),
        ("exact", "sum-exact"),
    ] {
        let object = folded("sum", &halves, &small, &["--accuracy", accuracy]);
        assert_eq!((&object["op"], &object["result"]), (&json!(name), &json!(16_777_218.0)));
    }
}

#[test]
fn a_wrong_mask_is_named() {
    let array = Temporary::array("(2, 3)", &[0.0; 6]);
    let path = array.0.to_str().unwrap();
    for (mask, status, says) in [
        (
            mask("|b1", "(2,)", &[1, 1]),
            1,
            "has the shape (2,), which does not broadcast to (2, 3)",
        ),
        (mask("|b1", "(1, 2, 3)", &[1; 6]), 1, "the shape (1, 2, 3)"),
        (
            mask("|i1", "(3,)", &[1; 3]),
            1,
            "is of int8, and a mask is of bool, uint8",
        ),
    ] {
        let output = warpfold([
            "reduce",
            "sum",
            path,
            "--where",
            mask.0.to_str().unwrap(),
            "--device",
            "cpu",
        ]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{error}");
        assert!(
            error.contains(says) && error.contains(mask.0.to_str().unwrap()),
            "{error}"
        );
    }
    let fits = mask("|b1", "(3,)", &[1; 3]);
    let with = |op: &str, more: [&str; 2]| {
        let fits = fits.0.to_str().unwrap();
        let output = warpfold(["reduce", op, path, "--where", fits, more[0], more[1]]);
        (output.status.code(), text(&output.stderr).to_owned())
    };
    let (status, error) = with("mean", ["--accuracy", "exact"]);
    let says = "mean of float32 is not computed with --accuracy exact under a mask: sum is";
    assert!(status == Some(1) && error.contains(says), "{error}");
    let (status, error) = with("sum", ["--device", "emulator"]);
    assert!(status == Some(1) && error.contains("takes no mask"), "{error}");
}
