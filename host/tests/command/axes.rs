//! `warpfold reduce --axis`, `--keepdim` and `--out`.

use std::{fs, path::Path};

use serde_json::{Value, json};
use warpfold::{cpu, files::TensorFile, ops};

use super::{
    DATA, Temporary, npy,
    runs::{Folder, fails, json_of, reduce},
    text, uneven, warpfold,
};

#[test]
fn rows_and_columns_of_the_shipped_data() {
    let object = json_of("mean", Path::new(DATA), &["--axis", "1"]);
    assert_eq!(
        object["answers"],
        json!([299_909.0, 299_856.0, 299_845.0, 299_820.5, 299_831.5])
    );
    assert_eq!(
        (
            &object["axis"],
            &object["shape"],
            &object["shape_out"],
            &object["dtype_out"]
        ),
        (&json!([1]), &json!([5, 20]), &json!([5]), &json!("float32"))
    );
    assert_eq!((&object["result"], &object["out"]), (&Value::Null, &Value::Null));
    let object = json_of("argmax", Path::new(DATA), &["--axis", "-1", "--keepdim"]);
    assert_eq!(
        (&object["shape_out"], &object["dtype_out"]),
        (&json!([5, 1]), &json!("uint64"))
    );
    assert_eq!(object["answers"].as_array().unwrap().len(), 5);
    // Both axes, in whatever order and way they are named.
    for axes in [
        &["--axis", "0", "--axis", "1"][..],
        &["--axis", "1,0"],
        &["--axis=-1", "--axis=-2"],
    ] {
        let object = json_of("argmax", Path::new(DATA), axes);
        assert_eq!((&object["answers"], &object["shape_out"]), (&json!([3]), &json!([])));
    }
    let object = json_of("minmax", Path::new(DATA), &["--axis", "1"]);
    assert_eq!(object["shape_out"], json!([5, 2]));
}

#[test]
fn answers_have_the_bits_of_rows_alone() {
    let values = uneven(7 * 3000);
    let file = Temporary::array("(7, 3000)", &values);
    let expected: Vec<f32> = values
        .chunks(3000)
        .map(|row| cpu::reduce(ops::Sum, row).unwrap())
        .collect();
    let singles = |object: &Value| -> Vec<f32> {
        let answers = object["answers"].as_array().unwrap();
        answers.iter().map(|answer| answer.as_f64().unwrap() as f32).collect()
    };
    assert_eq!(singles(&json_of("sum", &file.0, &["--axis", "1"])), expected);
    // The same array in Fortran order.
    let turned = (0..values.len()).flat_map(|at| values[at % 7 * 3000 + at / 7].to_le_bytes());
    let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (7, 3000), }";
    let fortran = Temporary::new(&npy(1, header, &turned.collect::<Vec<u8>>()));
    assert_eq!(singles(&json_of("sum", &fortran.0, &["--axis", "1"])), expected);
    let columns = json_of("argmax", &file.0, &["--axis", "0"]);
    assert_eq!(
        json_of("argmax", &fortran.0, &["--axis", "0"])["answers"],
        columns["answers"]
    );
}

#[test]
fn text_is_the_array_and_a_line() {
    let file = Temporary::array("(2, 3)", &[1.0, 2.0, 3.0, 4.0, -5.0, 0.5]);
    let output = reduce("sum", &file.0, &["--axis", "0"]);
    let printed = text(&output.stdout);
    let (array, line) = printed.trim_end().split_once('\n').unwrap();
    assert_eq!(array, "[ 5.0 -3.0  3.5]");
    assert!(line.starts_with("sum along axis 0 of "), "{line}");
    assert!(line.contains("float32 (2, 3) to float32 (3,), 24 bytes in "), "{line}");
    let output = reduce("minmax", &file.0, &["--axis", "1", "--keepdim"]);
    assert!(text(&output.stdout).starts_with("[[[ 1.0  3.0]]\n [[-5.0  4.0]]]\nminmax along"));
    let output = reduce("max", &file.0, &["--axis", "0", "--axis", "1"]);
    assert!(text(&output.stdout).starts_with("4.0\nmax along axes 0, 1 of "));
}

#[test]
fn answers_are_written() {
    let folder = Folder::new();
    let out = folder.file("out.npy");
    let array = |shape: &[u64]| {
        let array = TensorFile::open(&out).unwrap().one().unwrap();
        assert_eq!(array.shape(), shape);
        array
    };
    let rows: Vec<f32> = [299_909.0, 299_856.0, 299_845.0, 299_820.5, 299_831.5].into();
    let object = json_of("mean", Path::new(DATA), &["--axis", "1", "--out", &out]);
    assert_eq!(object["out"], json!({"file": out, "dtype": "float32"}));
    assert_eq!(array(&[5]).read::<f32>().unwrap(), rows);
    // What was there is replaced.
    let printed = reduce("mean", Path::new(DATA), &["--axis", "1", "--keepdim", "--out", &out]);
    assert!(text(&printed.stdout).ends_with(&format!("\nwritten to {out} as float32\n")));
    assert_eq!(array(&[5, 1]).read::<f32>().unwrap(), rows);
    json_of(
        "argminmax",
        Path::new(DATA),
        &["--axis", "0", "--axis", "1", "--out", &out],
    );
    assert_eq!(array(&[2]).read::<u64>().unwrap(), [46, 3]);
    json_of("any", Path::new(DATA), &["--axis", "0", "--out", &out]);
    assert_eq!(array(&[20]).dtype_name(), "bool");
    // Of the whole array: no axes, or each with one index.
    let object = json_of("max", Path::new(DATA), &["--out", &out]);
    assert_eq!((&object["result"], &object["axis"]), (&json!(300_070.0), &Value::Null));
    assert_eq!(array(&[]).read::<f32>().unwrap(), [300_070.0]);
    json_of("count-nonzero", Path::new(DATA), &["--out", &out, "--keepdim"]);
    assert_eq!(array(&[1, 1]).read::<u64>().unwrap(), [100]);
    assert_eq!(folder.names(), ["out.npy"]);
}

#[test]
fn every_type_is_written_as_it_is_but_bfloat16() {
    let folder = Folder::new();
    let out = folder.file("out.npy");
    for (descr, bytes, name, written) in [
        ("|i1", &[0xff_u8, 5][..], "int8", &[5_u8][..]),
        ("<u2", &[1, 2, 3, 4], "uint16", &[3, 4]),
        ("<f2", &[0, 0x3c, 0, 0x40], "float16", &[0, 0x40]),
        ("<i8", &[[7; 8], [9; 8]].concat(), "int64", &[9; 8]),
        (
            ">f8",
            &[1_f64.to_be_bytes(), 2.5_f64.to_be_bytes()].concat(),
            "float64",
            &2.5_f64.to_le_bytes(),
        ),
    ] {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2,), }}");
        let file = Temporary::new(&npy(1, &header, bytes));
        let object = json_of("max", &file.0, &["--axis", "0", "--out", &out]);
        assert_eq!(
            (&object["dtype_out"], &object["out"]["dtype"]),
            (&json!(name), &json!(name))
        );
        assert!(fs::read(&out).unwrap().ends_with(written), "{descr}");
        assert_eq!(TensorFile::open(&out).unwrap().one().unwrap().dtype_name(), name);
    }
    let header = json!({"w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).to_string();
    let bytes = [
        &(header.len() as u64).to_le_bytes(),
        header.as_bytes(),
        &[0x81, 0x3f, 0x80, 0xbf],
    ]
    .concat();
    let file = Temporary::new(&bytes);
    let object = json_of("max", &file.0, &["--axis", "0", "--out", &out]);
    assert_eq!(
        (&object["dtype_out"], &object["out"]["dtype"]),
        (&json!("bfloat16"), &json!("float32"))
    );
    let array = TensorFile::open(&out).unwrap().one().unwrap();
    assert_eq!(array.read::<f32>().unwrap(), [f32::from_bits(0x3f81_0000)]);
}

#[test]
fn empty_axes_follow_the_operator() {
    let file = Temporary::array("(3, 0)", &[]);
    let sums = json_of("sum", &file.0, &["--axis", "1"]);
    assert_eq!(
        (&sums["answers"], &sums["shape_out"]),
        (&json!([0.0, 0.0, 0.0]), &json!([3]))
    );
    let none = json_of("max", &file.0, &["--axis", "0"]);
    assert_eq!((&none["answers"], &none["shape_out"]), (&json!([]), &json!([0])));
    fails(
        "max",
        &file.0,
        &["--axis", "1"],
        &["max of an empty array", file.0.to_str().unwrap()],
    );
}

#[test]
fn axes_that_are_not_there_are_errors() {
    let data = Path::new(DATA);
    fails(
        "sum",
        data,
        &["--axis", "2"],
        &[DATA, "axis 2 is out of bounds", "2 axes"],
    );
    fails("sum", data, &["--axis", "-3"], &[DATA, "axis -3 is out of bounds"]);
    fails(
        "sum",
        data,
        &["--axis", "1", "--axis", "-1"],
        &[DATA, "axis 1", "twice"],
    );
    let output = reduce("sum", data, &["--axis", "x"]);
    assert_eq!(output.status.code(), Some(2));
    let output = warpfold(["reduce", "sum", DATA, "--axis", "0", "--device", "emulator"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("emulator folds no axes"));
}

#[test]
fn outputs_that_cannot_be_are_errors() {
    let folder = Folder::new();
    let input = folder.file("in.npy");
    fs::copy(DATA, &input).unwrap();
    let before = fs::read(&input).unwrap();
    let roundabout = folder.file("../") + folder.0.0.file_name().unwrap().to_str().unwrap() + "/in.npy";
    for out in [&input, &roundabout] {
        fails(
            "sum",
            Path::new(&input),
            &["--axis", "0", "--out", out],
            &["in.npy", "input"],
        );
    }
    fails(
        "sum",
        Path::new(&input),
        &["--out", &folder.file("no/such/out.npy")],
        &["no/such/out.npy", "no such folder"],
    );
    fails(
        "sum",
        Path::new(&input),
        &["--out", &folder.file(".")],
        &["no regular file"],
    );
    fails(
        "sum",
        Path::new(&input),
        &["--out", "/dev/null"],
        &["/dev/null", "no regular file"],
    );
    // A fold that fails writes nothing.
    let out = folder.file("out.npy");
    fails(
        "sum",
        Path::new(&input),
        &["--axis", "5", "--out", &out],
        &["axis 5 is out of bounds"],
    );
    assert_eq!(
        (folder.names(), fs::read(&input).unwrap()),
        (vec!["in.npy".to_owned()], before)
    );
}
