//! `warpfold reduce distinct`.

use std::path::Path;

use serde_json::json;

use super::{
    DATA, Temporary, npy,
    runs::{Folder, fails, json_of, reduce},
    text,
};

/// A little-endian array of a NumPy type in C order.
fn array(descr: &str, shape: &str, bytes: &[u8]) -> Temporary {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    Temporary::new(&npy(1, &header, bytes))
}

#[test]
fn of_whole_arrays_along_axes_and_in_segments() {
    let file = Temporary::array("(2, 3)", &[0.0, -0.0, f32::NAN, -f32::NAN, f32::NAN, 1.0]);
    let object = json_of("distinct", &file.0, &[]);
    assert_eq!((&object["op"], &object["result"]), (&json!("distinct"), &json!(3)));
    let rows = json_of("distinct", &file.0, &["--axis", "-1", "--keepdim"]);
    assert_eq!((&rows["answers"], &rows["shape_out"]), (&json!([2, 2]), &json!([2, 1])));
    assert_eq!(rows["dtype_out"], "uint64");
    let segments = json_of("distinct", &file.0, &["--segment-size", "4"]);
    assert_eq!(segments["answers"], json!([2, 2]));
    let whole = json_of("distinct", &file.0, &["--keepdim", "--dtype-out", "int8"]);
    assert_eq!((&whole["result"], &whole["dtype_out"]), (&json!(3), &json!("int8")));
}

#[test]
fn of_every_kind_of_element() {
    for (descr, bytes, count, distinct) in [
        ("|b1", &[0_u8, 1, 2, 1, 0, 0, 255, 0][..], 8, 2),
        ("|u1", &[0, 1, 2, 1, 0, 0, 255, 0], 8, 4),
        ("<i2", &[0, 1, 2, 1, 0, 1, 255, 0], 4, 3),
        ("<f2", &[0, 0x80, 0, 0, 1, 0x7c, 2, 0xfc], 4, 2),
        ("<i8", &[0, 0, 0, 0, 0, 0, 0, 0x80], 1, 1),
        ("<c8", &[0, 0, 0, 0x80, 0, 0, 0, 0], 1, 1),
    ] {
        let file = array(descr, &format!("({count},)"), bytes);
        assert_eq!(json_of("distinct", &file.0, &[])["result"], distinct, "{descr}");
    }
    let nothing = array("<f8", "(0, 3)", &[]);
    assert_eq!(json_of("distinct", &nothing.0, &[])["result"], 0);
    assert_eq!(
        json_of("distinct", &nothing.0, &["--axis", "0"])["answers"],
        json!([0, 0, 0])
    );
}

#[test]
fn it_tells_of_its_table_and_writes_its_answers() {
    let folder = Folder::new();
    let out = folder.file("out.npy");
    let object = json_of(
        "distinct",
        Path::new(DATA),
        &["--axis", "1", "--explain", "--out", &out],
    );
    assert_eq!(object["answers"].as_array().unwrap().len(), 5);
    assert_eq!(
        (&object["out"]["dtype"], folder.names()),
        (&json!("uint64"), vec!["out.npy".to_owned()])
    );
    let plan = object["plan"].as_str().unwrap();
    assert!(
        plan.starts_with("distinct_extents_u32 of 5 extents of 20 elements: 205 slots"),
        "{plan}"
    );
    assert!(object["predicted_seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(object["predicted_for"], "NVIDIA H200, at least");
    let said = reduce("distinct", Path::new(DATA), &[]);
    assert!(text(&said.stdout).contains("  distinct of "), "{}", text(&said.stdout));
}

#[test]
fn what_it_does_not_take_is_said() {
    let file = Temporary::array("(2, 3)", &[0.0; 6]);
    fails("distinct", &file.0, &["--axis", "2"], &["axis 2 is out of bounds"]);
    let complex = array("<c16", "(1,)", &[0; 16]);
    fails("distinct", &complex.0, &[], &["complex128 are not counted"]);
    for more in [
        &["--nan", "ignore"][..],
        &["--accuracy", "exact"],
        &["--where", "x.npy"],
        &["--ties", "last"],
    ] {
        let said = reduce("distinct", &file.0, more);
        assert_eq!(said.status.code(), Some(2), "{}", text(&said.stderr));
    }
    let emulated = super::warpfold(["reduce", "distinct", DATA, "--device", "emulator"]);
    assert_eq!(emulated.status.code(), Some(1));
    assert!(text(&emulated.stderr).contains("--device cpu"));
}
