//! Two arrays, element by element.

use serde_json::json;

use super::{Temporary, npy, runs, text, warpfold};

fn bytes(descr: &str, shape: &str, bytes: &[u8]) -> Temporary {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    Temporary::new(&npy(1, &header, bytes))
}

#[test]
fn two_arrays_are_folded_element_by_element() {
    let rows = Temporary::array("(2, 3)", &[1.0, 2.0, 2.0, 3.0, 0.0, -4.0]);
    let same = Temporary::array("(2, 3)", &[2.0, 4.0, 4.0, 0.0, 5.0, 1.0]);
    let query = Temporary::array("(3,)", &[0.0, 3.0, 4.0]);
    let [same, query] = [&same, &query].map(|file| file.0.to_str().unwrap());
    let dot = runs::json_of("dot", &rows.0, &["--with", same]);
    assert_eq!(dot["result"], json!(14.0));
    assert_eq!((&dot["with"], &dot["bytes"]), (&json!(same), &json!(48)));
    // A query beside each row, of which the file has one.
    let cosines = runs::json_of("cosine", &rows.0, &["--with", query, "--axis", "1"]);
    assert_eq!(cosines["answers"], json!([0.933_333_34, -0.64]));
    assert_eq!(cosines["bytes"], json!(36));
    assert_eq!(runs::json_of("dot", &rows.0, &["--with", query])["result"], json!(-2.0));
    let columns = runs::json_of("dot", &rows.0, &["--with", same, "--axis", "0", "--keepdim"]);
    assert_eq!(
        (&columns["answers"], &columns["shape_out"]),
        (&json!([2.0, 8.0, 4.0]), &json!([1, 3]))
    );
    let segments = runs::json_of("cosine", &rows.0, &["--with", same, "--segment-size", "3"]);
    assert_eq!(segments["answers"], json!([1.0, -0.156_892_91]));
    let plan = runs::json_of("dot", &rows.0, &["--with", query, "--axis", "-1", "--explain"])["plan"].to_string();
    assert!(plan.contains("dot_rows_f32"), "{plan}");
    let output = runs::reduce("dot", &rows.0, &["--with", same]);
    let says = format!(
        "14.0  dot of {} with {same}: float32 (2, 3), 48 bytes",
        rows.0.display()
    );
    assert!(text(&output.stdout).starts_with(&says), "{output:?}");
}

/// Halves are multiplied as float32, exactly, and rounded once.
#[test]
fn two_arrays_of_halves() {
    // 1.5 · 1.5 + 2048 · 1 − 1 · 2048: in f16 the quarter would be lost beside 2048.
    let first = bytes("<f2", "(3,)", &[0x00, 0x3e, 0x00, 0x68, 0x00, 0x3c]);
    let second = bytes("<f2", "(3,)", &[0x00, 0x3e, 0x00, 0x3c, 0x00, 0xe8]);
    let dot = runs::json_of("dot", &first.0, &["--with", second.0.to_str().unwrap()]);
    assert_eq!((&dot["dtype"], &dot["result"]), (&json!("float16"), &json!(2.25)));
}

#[test]
fn a_wrong_second_array_is_named() {
    let array = Temporary::array("(2, 3)", &[0.0; 6]);
    let other = bytes("<f8", "(2, 3)", &[0; 48]);
    let short = Temporary::array("(2,)", &[0.0; 2]);
    let fits = Temporary::array("(3,)", &[0.0; 3]);
    let name = |file: &Temporary| file.0.to_str().unwrap().to_owned();
    let [other, short, fits] = [&other, &short, &fits].map(name);
    runs::fails(
        "dot",
        &array.0,
        &["--with", &other],
        &[&other, "is of float64", "of float32"],
    );
    runs::fails("cosine", &array.0, &["--with", &short], &[&short, "(2,)", "(2, 3)"]);
    runs::fails("dot", &array.0, &["--with", "none.npy"], &["none.npy"]);
    let integers = bytes("<i4", "(1,)", &[0; 4]);
    runs::fails(
        "dot",
        &integers.0,
        &["--with", integers.0.to_str().unwrap()],
        &["dot has no meaning for elements of type int32"],
    );
    // Of one array, or of two without the second; and the policy for NaN.
    for (op, more, says) in [
        (
            "sum",
            &["--with", &fits][..],
            "sum does not use --with, which is for dot and cosine",
        ),
        ("dot", &[], "--with FILE"),
        (
            "dot",
            &["--with", &fits, "--nan", "ignore"],
            "dot does not use --nan ignore",
        ),
    ] {
        let output = runs::reduce(op, &array.0, more);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(says), "{error}");
    }
    let array = array.0.to_str().unwrap();
    let output = warpfold(["reduce", "dot", array, "--with", &fits, "--device", "emulator"]);
    let error = text(&output.stderr);
    assert!(
        output.status.code() == Some(1) && error.contains("takes no second array"),
        "{error}"
    );
}
