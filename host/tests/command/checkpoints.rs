//! `warpfold check` and `warpfold diff`.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::{Value, json};

use super::{DATA, Temporary, runs::Folder, text};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(arguments)
        .output()
        .unwrap()
}

/// A file of tensors of float32.
fn safetensors(tensors: &[(&str, &[f32])]) -> Vec<u8> {
    let (mut header, mut data) = (vec![], vec![]);
    for (name, values) in tensors {
        let begin = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let (len, end) = (values.len(), data.len());
        header.push(format!(
            "\"{name}\":{{\"dtype\":\"F32\",\"shape\":[{len}],\"data_offsets\":[{begin},{end}]}}"
        ));
    }
    let header = format!("{{{}}}", header.join(","));
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

#[test]
fn a_check_finds_what_is_wrong() {
    let folder = Folder::new();
    let file = folder.file("m.safetensors");
    let mut values = vec![1.5_f32; 300_000];
    values[0] = 0.5;
    values[299_999] = f32::INFINITY;
    values[150_000] = f32::NAN;
    values[150_001] = f32::NAN;
    let good: Vec<f32> = (0..100_000).map(|i| i as f32).collect();
    fs::write(
        &file,
        safetensors(&[
            ("bad", &values),
            ("good", &good),
            ("zero", &[0.0, -0.0]),
            ("same", &[2.0; 3]),
        ]),
    )
    .unwrap();
    let output = run(&["check", &file]);
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(
        lines[..4],
        [
            &format!("fault: {file}:bad: 2 of 300000 elements are NaN, first at [150000]"),
            &format!("fault: {file}:bad: 1 of 300000 elements are infinite, first at [299999]"),
            &format!("warning: {file}:zero: all 2 elements are 0"),
            &format!("warning: {file}:same: all 3 elements are equal"),
        ]
    );
    assert!(lines[4].starts_with("4 arrays, 1600020 bytes in ") && lines[4].ends_with("2 faults, 2 warnings"));
    let output = run(&["check", &file, "--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["faults"][0]["first"], json!([150_000]));
    assert_eq!(
        (&object["faults"][1]["kind"], &object["tensors"]),
        (&json!("inf"), &json!(4))
    );
    for (arguments, code) in [
        (&["--allow", "nan"][..], 1),
        (&["--allow", "nan,inf"], 0),
        (&["--deny", "zeros"], 1),
    ] {
        let output = run(&[&["check", &file], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    }
    for (name, code) in [("zero", 0), ("good", 0)] {
        assert_eq!(run(&["check", &format!("{file}:{name}")]).status.code(), Some(code));
    }
    assert_eq!(
        run(&["check", &format!("{file}:zero"), "--deny", "zeros"])
            .status
            .code(),
        Some(1)
    );
    assert_eq!(run(&["check", DATA]).status.code(), Some(0));
    // A short file is a fault; what is not there, or of a type that is not read, was not checked.
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(run(&["check", &file]).status.code(), Some(1));
    let raw = Temporary::typed("|V2", "(2,)", &[0; 4]);
    for unread in [raw.0.to_str().unwrap(), &folder.file("missing.safetensors")] {
        let output = run(&["check", unread]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        assert!(text(&output.stdout).starts_with("not checked: "));
    }
}

#[test]
fn a_diff_tells_in_what_arrays_differ() {
    let folder = Folder::new();
    let (a, b) = (folder.file("a.safetensors"), folder.file("b.safetensors"));
    let values: Vec<f32> = (0..200_000).map(|i| (i % 100) as f32).collect();
    let mut others = values.clone();
    others[123_456] += 0.5;
    others[7] += 0.25;
    fs::write(
        &a,
        safetensors(&[("w", &values), ("same", &[1.0, f32::NAN]), ("gone", &[1.0])]),
    )
    .unwrap();
    fs::write(
        &b,
        safetensors(&[("same", &[1.0, f32::NAN]), ("w", &others), ("new", &[1.0])]),
    )
    .unwrap();
    let output = run(&["diff", &a, &b]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("w: 2 of 200000 elements differ, largest difference 0.5 at [123456], relative L2 2.18"),
        "{said}"
    );
    assert!(
        said.contains("gone: only in the first\nnew: only in the second\n1 of 2 arrays are equal to the bit"),
        "{said}"
    );
    let (w, same) = (format!("{a}:w"), format!("{a}:same"));
    for (arguments, code) in [
        (&[&*w, &format!("{b}:w")][..], 1),
        (&[&w, &format!("{b}:w"), "--tolerance", "0.5"], 0),
        (&[&w, &format!("{b}:w"), "--tolerance", "0.4"], 1),
        (&[&same, &format!("{b}:same")], 0),
        (&[&same, &format!("{b}:same"), "--tolerance", "1"], 1),
        (&[&same, &format!("{b}:same"), "--tolerance", "1", "--nan-equal"], 0),
        (&[&a, &a], 0),
        (&[&w, &same], 1),
        (&[&a, &folder.file("missing")], 2),
    ] {
        let output = run(&[&["diff"], arguments].concat());
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            text(&output.stdout)
        );
    }
    // Values of other types are compared as what they are.
    let wide: Vec<u8> = values
        .iter()
        .flat_map(|value| f64::from(*value).to_le_bytes())
        .collect();
    let double = Temporary::typed("<f8", "(200000,)", &wide);
    let output = run(&["diff", &w, double.0.to_str().unwrap(), "--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let pair = &object["tensors"][0];
    assert_eq!(
        (&pair["dtypes"], &pair["equal_bits"]),
        (&json!(["float32", "float64"]), &json!(false))
    );
    assert_eq!(
        (&pair["values"]["differing"], output.status.code()),
        (&json!(0), Some(1))
    );
    let output = run(&["diff", &w, double.0.to_str().unwrap(), "--tolerance", "0"]);
    assert_eq!(output.status.code(), Some(0));
}
