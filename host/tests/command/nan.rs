//! What becomes of NaN, and bits of integers, which have none.

use serde_json::{Value, json};

use super::{Temporary, npy, text, warpfold};

fn file(descr: &str, data: &[u8], len: usize) -> Temporary {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len},), }}");
    Temporary::new(&npy(1, &header, data))
}

#[track_caller]
fn ignoring(op: &str, file: &Temporary, device: &str) -> Value {
    let path = file.0.to_str().unwrap();
    let output = warpfold(["reduce", op, path, "--nan", "ignore", "--device", device, "--json"]);
    assert_eq!(text(&output.stderr), "");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn nan_is_left_out_where_that_is_asked_for() {
    const NAN: f32 = f32::NAN;
    let some = Temporary::array("(2, 3)", &[NAN, 2.0, 4.0, -1.0, NAN, 4.0]);
    let none = Temporary::array("(2,)", &[NAN, NAN]);
    let no_index = json!(u64::MAX);
    for (op, name, result, value, of_nan) in [
        ("sum", "nansum", json!(9.0), Value::Null, json!(-0.0)),
        ("prod", "nanprod", json!(-32.0), Value::Null, json!(1.0)),
        ("mean", "nanmean", json!(2.25), Value::Null, json!("NaN")),
        ("min", "nanmin", json!(-1.0), Value::Null, json!("NaN")),
        ("max", "nanmax", json!(4.0), Value::Null, json!("NaN")),
        ("argmin", "nanargmin", json!(3), json!(-1.0), no_index.clone()),
        ("argmax", "nanargmax", json!(2), json!(4.0), no_index.clone()),
        ("argmin-last", "nanargmin-last", json!(3), json!(-1.0), no_index.clone()),
        ("argmax-last", "nanargmax-last", json!(5), json!(4.0), no_index),
        ("var", "nanvar", json!(5.583_333_5), Value::Null, json!("NaN")),
        ("std", "nanstd", json!(2.362_908), Value::Null, json!("NaN")),
    ] {
        let object = ignoring(op, &some, "cpu");
        assert_eq!(object["op"], name);
        assert_eq!((&object["result"], &object["value"]), (&result, &value), "{op}");
        assert_eq!(ignoring(op, &none, "cpu")["result"], of_nan, "{op}");
    }
    // Along axes and in segments, too; and without it a NaN is the answer.
    let path = some.0.to_str().unwrap();
    let rows = |nan: &str| {
        let output = warpfold(["reduce", "max", path, "--axis", "1", "--nan", nan, "--device", "cpu"]);
        text(&output.stdout).lines().next().unwrap().to_owned()
    };
    assert_eq!(
        (rows("ignore"), rows("propagate")),
        ("[4.0 4.0]".into(), "[NaN NaN]".into())
    );
    let output = warpfold([
        "reduce",
        "mean",
        path,
        "--segment-size",
        "3",
        "--nan",
        "ignore",
        "--device",
        "cpu",
    ]);
    assert!(
        text(&output.stdout).starts_with("[3.0 1.5]\nnanmean of each segment of "),
        "{output:?}"
    );
}

#[test]
fn an_operator_without_that_policy_is_named() {
    let floats = Temporary::array("(2,)", &[1.0, f32::NAN]);
    for op in ["count-nan", "any", "minmax", "l2", "meanvar", "bit-or"] {
        let output = warpfold(["reduce", op, floats.0.to_str().unwrap(), "--nan", "ignore"]);
        let error = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{error}");
        assert!(error.contains(&format!("{op} does not use --nan ignore")), "{error}");
    }
    let output = warpfold(["reduce", "sum", floats.0.to_str().unwrap(), "--nan", "count"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn integers_have_no_nan() {
    let integers = file("<i2", &[1, 0, 2, 0, 5, 0], 3);
    for (op, result) in [("sum", json!(8)), ("max", json!(5)), ("argmax", json!(2))] {
        let object = ignoring(op, &integers, "cpu");
        assert_eq!((&object["op"], &object["result"]), (&json!(op), &result));
    }
}

#[test]
fn bits_are_folded_in_the_type_of_the_elements() {
    let answer = |op: &str, descr: &str, data: &[u8]| {
        let file = file(descr, data, data.len() / usize::from(descr.as_bytes()[2] - b'0'));
        let output = warpfold(["reduce", op, file.0.to_str().unwrap(), "--device", "cpu", "--json"]);
        assert_eq!(text(&output.stderr), "", "{op} {descr}");
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["op"], op);
        object["result"].clone()
    };
    for (op, signed, unsigned, nothing) in [
        ("bit-and", json!(-128), json!(0x80), json!(-1)),
        ("bit-or", json!(-125), json!(0x83), json!(0)),
        ("bit-xor", json!(3), json!(3), json!(0)),
    ] {
        assert_eq!(answer(op, "|i1", &[0x81, 0x82]), signed);
        assert_eq!(answer(op, "|u1", &[0x81, 0x82]), unsigned);
        assert_eq!(answer(op, "<i8", &[]), nothing);
    }
    let floats = Temporary::array("(1,)", &[1.0]);
    let output = warpfold(["reduce", "bit-and", floats.0.to_str().unwrap(), "--device", "cpu"]);
    assert_eq!(
        text(&output.stderr),
        "warpfold: bit-and has no meaning for elements of type float32\n"
    );
}
