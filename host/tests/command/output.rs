//! `warpfold reduce --ties`, `--dtype-out` and `--explain`.

use std::path::Path;

use serde_json::json;
use warpfold::files::{DType, TensorFile};

use super::{
    DATA, Temporary,
    runs::{Folder, json_of, reduce},
    text,
};

#[test]
fn ties_pick_the_first_or_the_last_of_equals() {
    let file = Temporary::array("(5,)", &[3.0, 1.0, 3.0, 1.0, 2.0]);
    for (op, ties, named, at) in [
        ("argmax", "first", "argmax", 0),
        ("argmax", "last", "argmax-last", 2),
        ("argmin", "first", "argmin", 1),
        ("argmin", "last", "argmin-last", 3),
    ] {
        let object = json_of(op, &file.0, &["--ties", ties]);
        assert_eq!((&object["op"], &object["result"]), (&json!(named), &json!(at)));
    }
    let object = json_of("argmax", &file.0, &["--ties", "last", "--nan", "ignore"]);
    assert_eq!(
        (&object["op"], &object["result"]),
        (&json!("nanargmax-last"), &json!(2))
    );
    for op in ["max", "argmax-last", "argminmax"] {
        let output = reduce(op, &file.0, &["--ties", "first"]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
        assert!(text(&output.stderr).contains(&format!("{op} does not use --ties, which is for argmin and argmax")));
    }
}

#[test]
fn answers_are_cast() {
    let file = Temporary::array("(2, 2)", &[1.5, -4.0, 70_000.0, 0.25]);
    for (op, dtype, result) in [
        ("max", "int32", json!(70_000)),
        ("max", "int16", json!(32_767)),
        ("min", "uint8", json!(0)),
        ("max", "float16", json!("inf")),
        ("max", "bfloat16", json!(70_144.0)),
        ("argmax", "float64", json!(2.0)),
        ("count-nan", "bool", json!(false)),
        ("minmax", "int64", json!([-4, 70_000])),
    ] {
        let object = json_of(op, &file.0, &["--dtype-out", dtype]);
        assert_eq!(
            (&object["result"], &object["dtype_out"]),
            (&result, &json!(dtype)),
            "{op} {dtype}"
        );
    }
    let folder = Folder::new();
    let out = folder.file("sums.npy");
    let object = json_of(
        "sum",
        Path::new(DATA),
        &["--axis", "1", "--dtype-out", "int64", "--out", &out],
    );
    assert_eq!(object["dtype_out"], "int64");
    let written = TensorFile::open(&out).unwrap().one().unwrap();
    assert_eq!((written.dtype(), written.shape()), (DType::I64, &[5][..]));
    assert_eq!(
        written.read::<i64>().unwrap(),
        [5_998_180, 5_997_120, 5_996_900, 5_996_410, 5_996_630]
    );
    let output = reduce("sum", &file.0, &["--dtype-out", "complex64"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("none of bool, int8"));
}

#[test]
fn plans_and_times_are_told() {
    let data = Path::new(DATA);
    let (plan, time) = (
        "sum_small_f32 of 100 elements: 1 tiles",
        "\npredicted for NVIDIA H200: 1.30 µs",
    );
    let output = reduce("sum", data, &["--explain"]);
    let said = text(&output.stdout);
    assert!(
        said.starts_with("29985240.0 ") && said.contains(plan) && said.contains(time),
        "{said}"
    );
    let object = json_of("sum", data, &["--explain"]);
    let predicted = object["predicted_seconds"].as_f64().unwrap();
    assert!((1.3e-6..1.4e-6).contains(&predicted), "{predicted}");
    assert_eq!(object["predicted_for"], "NVIDIA H200");
    for (more, says) in [
        (&["--axis", "1"][..], "5 extents of 20 elements"),
        (&["--segment-size", "30"], "100 elements in 4 segments"),
    ] {
        let object = json_of("max", data, &[more, &["--explain"]].concat());
        assert!(object["plan"].as_str().unwrap().contains(says), "{object}");
    }
    assert!(json_of("sum", data, &[])["plan"].is_null());
}

#[test]
fn numbers_that_are_none_in_json_are_strings() {
    let file = Temporary::array("(3,)", &[1.0, f32::NAN, f32::INFINITY]);
    assert_eq!(super::json("max", &file)["result"], "NaN");
    let object = super::json("argmin", &file);
    assert_eq!((&object["result"], &object["value"]), (&json!(1), &json!("NaN")));
    let file = Temporary::array("(2,)", &[1.0, f32::NEG_INFINITY]);
    assert_eq!(super::json("sum", &file)["result"], "-inf");
    let output = super::warpfold(["reduce", "sum", file.0.to_str().unwrap(), "--device", "cpu"]);
    assert!(text(&output.stdout).starts_with("-inf "));
    // The shortest decimal of the f32, not the digits of its f64.
    let file = Temporary::array("(1,)", &[0.1]);
    let output = super::warpfold(["reduce", "sum", file.0.to_str().unwrap(), "--device", "cpu", "--json"]);
    assert!(
        text(&output.stdout).contains("\"result\":0.1,"),
        "{}",
        text(&output.stdout)
    );
}
