//! Files of several arrays and of other types, and `warpfold list`.

use std::{io::Write, path::Path};

use serde_json::{Value, json};
use warpfold::{cpu, ops};

use super::{DATA, Temporary, fails, json_on, npy, text, uneven, warpfold};

/// A `.safetensors` file: a header of name, dtype, shape and bytes, and the bytes.
fn safetensors(tensors: &[(&str, &str, &[u64], &[u8])]) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    for (name, dtype, shape, bytes) in tensors {
        let begin = data.len();
        data.extend_from_slice(bytes);
        let entry = json!({"dtype": dtype, "shape": shape, "data_offsets": [begin, data.len()]});
        header.insert((*name).to_owned(), entry);
    }
    let header = Value::Object(header).to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

/// A `.npz` file of deflated members.
fn npz(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, bytes) in members {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// `FILE:NAME`, deleted with its file by whoever has that.
fn named(file: &Temporary, name: &str) -> String {
    format!("{}:{name}", file.0.display())
}

#[test]
fn every_format_gives_the_bits_of_one_fold() {
    // Two pieces of the CPU (2²² elements).
    let values = uneven((1 << 22) + 4321);
    let sum = cpu::reduce(ops::Sum, &values).unwrap();
    let shape = [values.len() as u64];
    let header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}",
        values.len()
    );
    let tensors = safetensors(&[("a.w", "F32", &shape, &bytes_of(&values)), ("b", "BF16", &[1], &[0, 0])]);
    let archive = npz(&[
        (
            "b.npy",
            &npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", &[0; 8]),
        ),
        ("a.w.npy", &npy(1, &header, &bytes_of(&values))),
    ]);
    for file in [Temporary::new(&tensors), Temporary::new(&archive)] {
        let object = json_on("cpu", "sum", Path::new(&named(&file, "a.w")));
        assert_eq!(object["result"].as_f64().unwrap() as f32, sum);
        assert_eq!(
            (&object["shape"], &object["bytes"]),
            (&json!(shape), &json!(4 * values.len()))
        );
    }
    // An array alone needs no name.
    let alone = Temporary::new(&safetensors(&[("w", "F32", &[2], &bytes_of(&[1.5, 2.0]))]));
    assert_eq!(super::json("sum", &alone)["result"], 3.5);
}

#[test]
fn an_array_of_several_is_to_be_named() {
    let w = bytes_of(&[1.0]);
    let file = Temporary::new(&safetensors(&[
        ("w", "F32", &[1], &w),
        ("b", "F8_E4M3", &[4], &w),
        ("n", "C64", &[], &[0; 8]),
    ]));
    fails("sum", &file, &["3 arrays", "FILE:NAME", "w, b, n"]);
    for (name, says) in [
        ("b", "float8_e4m3fn cannot be folded"),
        ("n", "complex64 cannot be folded"),
        ("x", "no array \"x\": it has w, b, n"),
    ] {
        let output = warpfold(["reduce", "sum", &named(&file, name), "--device", "cpu"]);
        assert_eq!(output.status.code(), Some(1));
        let error = text(&output.stderr);
        assert!(error.contains(says) && error.lines().count() == 1, "{error}");
    }
    let mut cut = safetensors(&[("w", "F32", &[1], &w)]);
    cut.pop();
    fails("sum", &Temporary::new(&cut), &["\"w\" ends at byte 4", "holds 3"]);
}

#[test]
fn list_is_a_table() {
    let file = Temporary::new(&safetensors(&[
        ("layer.weight", "F32", &[2, 1], &[0; 8]),
        ("gate\u{1b}[31m", "F8_E4M3", &[100], &[0; 100]),
    ]));
    let path = file.0.to_str().unwrap();
    let output = warpfold(["list", path]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    assert_eq!(
        text(&output.stdout),
        "name            dtype          shape   bytes\n\
         layer.weight    float32        (2, 1)      8\n\
         gate\\u{1b}[31m  float8_e4m3fn  (100,)    100\n\
         2 arrays, 108 bytes\n"
    );
    let output = warpfold(["list", DATA, &named(&file, "layer.weight")]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output.stdout),
        format!(
            "{DATA}\n\
             name  dtype    shape    bytes\n\
             -     float32  (5, 20)    400\n\
             1 array, 400 bytes\n\
             \n\
             {path}\n\
             name          dtype    shape   bytes\n\
             layer.weight  float32  (2, 1)      8\n\
             1 array, 8 bytes\n"
        )
    );
}

#[test]
fn list_has_json() {
    let member = npy(1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", b"pickle");
    let file = Temporary::new(&npz(&[("things.npy", &member)]));
    let path = file.0.to_str().unwrap();
    let output = warpfold(["list", DATA, path, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        list,
        json!([
            {"file": DATA, "format": "npy", "name": null, "dtype": "float32", "shape": [5, 20], "bytes": 400},
            {"file": path, "format": "npz", "name": "things", "dtype": "object", "shape": [2], "bytes": 6},
        ])
    );
}

#[test]
fn list_fails_as_a_whole() {
    let empty = Temporary::new(b"");
    let path = empty.0.to_str().unwrap();
    let output = warpfold(["list", DATA, path]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let error = text(&output.stderr);
    assert!(
        error.starts_with("warpfold: ") && error.contains(path) && error.contains("empty"),
        "{error}"
    );
}
