//! Files of several arrays and of other types, and `warpfold list`.

use std::{io::Write, path::Path};

use serde_json::{Value, json};
use warpfold::{
    cpu,
    files::{TensorFile, complex64, complex128},
    ops,
};

use super::{DATA, Temporary, fails, json_of, json_on, npy, runs, text, uneven, warpfold};

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

/// FP8, of which sums and norms are float32, and what is an element stays one.
#[test]
fn eight_bits_are_folded_as_the_numbers_that_they_are() {
    // 1.5, 448, 448, −448, −0.0; and in the other type 1.5, ∞, 57344, −57344, −0.0.
    let few = |dtype, bytes: &[u8]| Temporary::new(&safetensors(&[("w", dtype, &[5], bytes)]));
    let e4m3 = few("F8_E4M3", &[0x3c, 0x7e, 0x7e, 0xfe, 0x80]);
    let e5m2 = few("F8_E5M2", &[0x3e, 0x7c, 0x7b, 0xfb, 0x80]);
    let with_nan = few("F8_E4M3", &[0x3c, 0xff, 0x7e, 0x7f, 0x80]);
    for (op, ours, theirs, of_nan) in [
        ("sum", json!(449.5), json!("inf"), json!("NaN")),
        ("mean", json!(89.9), json!("inf"), json!("NaN")),
        ("min", json!(-448.0), json!(-57344.0), json!("NaN")),
        ("max", json!(448.0), json!("inf"), json!("NaN")),
        ("argmin", json!(3), json!(3), json!(1)),
        ("argmax", json!(1), json!(1), json!(1)),
        ("argmax-last", json!(2), json!(1), json!(3)),
        ("linf", json!(448.0), json!("inf"), json!("NaN")),
        ("count-nan", json!(0), json!(0), json!(2)),
    ] {
        for (file, dtype, result) in [
            (&e4m3, "float8_e4m3fn", ours),
            (&e5m2, "float8_e5m2", theirs),
            (&with_nan, "float8_e4m3fn", of_nan),
        ] {
            let object = json_of("cpu", op, &file.0);
            let same = match (object["result"].as_f64(), result.as_f64()) {
                (Some(a), Some(b)) => a as f32 == b as f32,
                _ => object["result"] == result,
            };
            assert!(
                same && object["dtype"] == dtype,
                "{op} of {dtype}: {object} and not {result}"
            );
        }
    }
    assert_eq!(json_of("cpu", "argmin", &e4m3.0)["value"], json!(-448.0));
    for (op, more, says) in [
        (
            "prod",
            [].as_slice(),
            "prod has no meaning for elements of type float8_e4m3fn",
        ),
        ("l2", &[], "l2 has no meaning for elements of type float8_e4m3fn"),
        ("sum", &["--nan", "ignore"], "NaN is not left out of float8_e4m3fn"),
        (
            "sum",
            &["--accuracy", "wide"],
            "sum of float8_e4m3fn is not computed with --accuracy wide",
        ),
    ] {
        runs::fails(op, &e4m3.0, more, &[says]);
    }
}

/// Sums are complex, and print as Python has them; norms are of the moduli, and real.
#[test]
fn complex_numbers_are_summed_and_measured() {
    let bytes = bytes_of(&[3.0, -4.0, 0.5, 0.25, -1.5, 8.0]);
    let npy = Temporary::new(&npy(
        1,
        "{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }",
        &bytes,
    ));
    let big = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .flat_map(|word| word.iter().rev().copied());
    let big = Temporary::new(&super::npy(
        1,
        "{'descr': '>c8', 'fortran_order': False, 'shape': (3,), }",
        &big.collect::<Vec<u8>>(),
    ));
    let tensors = Temporary::new(&safetensors(&[("w", "C64", &[3], &bytes)]));
    for file in [&npy, &big, &tensors] {
        let asked = |op: &str| {
            let object = json_of("cpu", op, &file.0);
            assert_eq!(object["dtype"], "complex64");
            object["result"].clone()
        };
        assert_eq!(asked("sum"), json!({"re": 2.0, "im": 4.25}));
        let norm = |op: &str| asked(op).as_f64().unwrap() as f32;
        assert_eq!(norm("linf"), 66.25_f32.sqrt());
        assert_eq!(norm("l2"), 91.5625_f32.sqrt());
        let mean = asked("mean");
        assert_eq!(mean["re"].as_f64().unwrap() as f32, (2.0_f64 / 3.0) as f32);
    }
    let path = npy.0.to_str().unwrap();
    let output = warpfold(["reduce", "sum", path, "--device", "cpu"]);
    assert!(
        text(&output.stdout).starts_with("(2.0+4.25j)  sum of "),
        "{}",
        text(&output.stdout)
    );
    let out = npy.0.with_extension("out.npy");
    let object = runs::json_of("sum", &npy.0, &["--segment-size", "2", "--out", out.to_str().unwrap()]);
    assert_eq!(
        object["answers"],
        json!([{"re": 3.5, "im": -3.75}, {"re": -1.5, "im": 8.0}])
    );
    assert_eq!(object["out"]["dtype"], "complex64");
    let written = TensorFile::open(&out)
        .unwrap()
        .one()
        .unwrap()
        .read::<complex64>()
        .unwrap();
    std::fs::remove_file(&out).unwrap();
    assert_eq!(written, [complex64::new(3.5, -3.75), complex64::new(-1.5, 8.0)]);
    for (op, more, says) in [
        (
            "max",
            [].as_slice(),
            "max has no meaning for elements of type complex64",
        ),
        ("argmin", &[], "argmin has no meaning for elements of type complex64"),
        ("sum", &["--dtype-out", "float32"], "complex answers are not cast"),
        ("sum", &["--nan", "ignore"], "NaN is not left out of complex64"),
    ] {
        runs::fails(op, &npy.0, more, &[says]);
    }
}

/// The same of twice the size, in f64.
#[test]
fn wide_complex_numbers_are_summed_and_measured() {
    let parts = [3e200, -4e200, 0.5, 0.25, -1.5, 8.0_f64];
    for (order, bytes) in [
        ('<', parts.map(f64::to_le_bytes).concat()),
        ('>', parts.map(f64::to_be_bytes).concat()),
    ] {
        let header = format!("{{'descr': '{order}c16', 'fortran_order': False, 'shape': (3,), }}");
        let file = Temporary::new(&npy(1, &header, &bytes));
        let asked = |op: &str, more: &[&str]| {
            let object = runs::json_of(op, &file.0, more);
            assert_eq!(object["dtype"], "complex128");
            object
        };
        let object = asked("sum", &["--segment-size", "2"]);
        assert_eq!(
            object["answers"],
            json!([{"re": 3e200, "im": -4e200}, {"re": -1.5, "im": 8.0}])
        );
        // Nearest to the modulus of these two f64, which no 5e200 is.
        let modulus = 4.9999999999999995e200;
        assert_eq!(asked("linf", &[])["result"], json!(modulus));
        assert_eq!(
            asked("mean", &["--segment-size", "1"])["answers"][2],
            json!({"re": -1.5, "im": 8.0})
        );
        // As of f64, squares do not overflow; the other elements are too small to be seen.
        assert_eq!(asked("l2", &[])["result"], json!(modulus));
        let out = file.0.with_extension("out.npy");
        let object = asked("sum", &["--out", out.to_str().unwrap()]);
        assert_eq!(object["out"]["dtype"], "complex128");
        let written = TensorFile::open(&out)
            .unwrap()
            .one()
            .unwrap()
            .read::<complex128>()
            .unwrap();
        std::fs::remove_file(&out).unwrap();
        assert_eq!(written, [complex128::new(3e200, -4e200)]);
        runs::fails(
            "max",
            &file.0,
            &[],
            &["max has no meaning for elements of type complex128"],
        );
        runs::fails(
            "sum",
            &file.0,
            &["--nan", "ignore"],
            &["NaN is not left out of complex128"],
        );
    }
}

/// NumPy has no FP8, so the answers that are of it are written as float32.
#[test]
fn answers_of_eight_bits_are_written_as_float32() {
    let file = Temporary::new(&safetensors(&[("w", "F8_E4M3", &[2, 2], &[0x3c, 0x7e, 0x7f, 0x80])]));
    let out = file.0.with_extension("out.npy");
    let (path, out) = (file.0.to_str().unwrap(), out.to_str().unwrap());
    let output = warpfold([
        "reduce", "max", path, "--axis", "1", "--device", "cpu", "--out", out, "--json",
    ]);
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["answers"], json!([448.0, "NaN"]));
    let written = TensorFile::open(Path::new(out)).unwrap();
    let singles = written.one().unwrap().read::<f32>().unwrap();
    std::fs::remove_file(out).unwrap();
    assert!(singles[0] == 448.0 && singles[1].is_nan(), "{singles:?}");
}

#[test]
fn an_array_of_several_is_to_be_named() {
    let w = bytes_of(&[1.0]);
    let file = Temporary::new(&safetensors(&[
        ("w", "F32", &[1], &w),
        ("b", "F8_E8M0", &[4], &w),
        ("n", "F4", &[2], &[0]),
    ]));
    fails("sum", &file, &["3 arrays", "FILE:NAME", "w, b, n"]);
    for (name, says) in [
        ("b", "float8_e8m0fnu cannot be folded"),
        ("n", "float4_e2m1fn cannot be folded"),
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
fn what_can_be_listed_is() {
    let empty = Temporary::new(b"");
    let path = empty.0.to_str().unwrap();
    let output = warpfold(["list", DATA, path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).ends_with("1 array, 400 bytes\n"));
    let error = text(&output.stderr);
    assert!(
        error.starts_with("warpfold: ") && error.contains(path) && error.contains("empty"),
        "{error}"
    );
}

/// What cannot be read is listed with what is wrong, fails where it is asked for, and spoils nothing beside it.
#[test]
fn a_bad_array_among_good_ones_spoils_nothing() {
    let good = npy(
        1,
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
        &bytes_of(&[1.5, 2.0]),
    );
    let cut = &good[..good.len() - 1];
    let archive = Temporary::new(&npz(&[("cut.npy", cut), ("none.npy", b"nothing"), ("good.npy", &good)]));
    let tensors = Temporary::new(&safetensors(&[
        ("new", "Q7", &[3], &[0; 3]),
        ("good", "F32", &[2], &bytes_of(&[1.5, 2.0])),
    ]));
    for file in [&archive, &tensors] {
        assert_eq!(
            json_on("cpu", "sum", named(file, "good").as_ref())["result"],
            json!(3.5)
        );
    }
    let path = archive.0.to_str().unwrap();
    let says = format!("{path}:cut is cut short: 136 bytes by its header, 135 bytes there");
    for device in [[].as_slice(), &["--axis", "0"]] {
        runs::fails("sum", named(&archive, "cut").as_ref(), device, &[&says]);
    }
    runs::fails("sum", named(&tensors, "new").as_ref(), &[], &["Q7 cannot be folded"]);

    let output = warpfold(["list", path]);
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<_> = text(&output.stdout).lines().collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(
        lines[1].starts_with("cut ") && lines[3].starts_with("good "),
        "{lines:?}"
    );
    let lines: Vec<_> = text(&output.stderr).lines().collect();
    assert!(
        lines[0].ends_with(&says) && lines[1].contains(&format!("{path}:none is no .npy file")),
        "{lines:?}"
    );
    let output = warpfold(["list", path, "--json"]);
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&list[0]["error"], &list[2]["error"]), (&json!(says), &Value::Null));

    for file in [&archive, &tensors] {
        let output = warpfold(["describe", file.0.to_str().unwrap(), "--device", "cpu", "--json"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let arrays: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let (last, others) = arrays.split_last().unwrap();
        assert_eq!((&last["name"], &last["sum"]), (&json!("good"), &json!(3.5)));
        assert!(others.iter().all(|array| array["error"].is_string()), "{others:?}");
    }
}
