//! The command as a process: answers, exit codes, and what it says of bad input.

mod accuracy;
mod arrays;
mod axes;
mod checkpoints;
mod describe;
mod distinct;
#[cfg(unix)]
mod faults;
mod grad_norm;
#[cfg(unix)]
mod limits;
mod masks;
mod memory;
mod names;
mod nan;
mod options;
#[cfg(unix)]
mod out;
mod output;
mod pairs;
mod rows;
mod runs;
mod segments;
#[cfg(unix)]
mod spellings;
mod types;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use warpfold::{cpu, ops};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/michelson_1879.npy");

/// A file that lives as long as the test that made it.
struct Temporary(PathBuf);

impl Temporary {
    fn new(bytes: &[u8]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("warpfold-command-{}-{number}.npy", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes).unwrap();
        Self(path)
    }

    /// A little-endian array of f32 in C order.
    fn array(shape: &str, values: &[f32]) -> Self {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::typed("<f4", shape, &data)
    }

    fn typed(descr: &str, shape: &str, data: &[u8]) -> Self {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        Self::new(&npy(1, &header, data))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A `.npy` file as NumPy lays it out: magic, version, header padded to 64 bytes, data.
fn npy(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let prefix = if version == 1 { 10 } else { 12 };
    let length = (prefix + header.len() + 1).next_multiple_of(64) - prefix;
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((length as u16).to_le_bytes()),
        _ => bytes.extend((length as u32).to_le_bytes()),
    }
    bytes.extend(header.bytes());
    bytes.resize(prefix + length - 1, b' ');
    bytes.push(b'\n');
    bytes.extend(data);
    bytes
}

fn warpfold<const N: usize>(arguments: [&str; N]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The one JSON object of a good run on the CPU.
#[track_caller]
fn json_on(device: &str, op: &str, path: &Path) -> Value {
    let object = json_of(device, op, path);
    assert_eq!(object["dtype"], "float32");
    object
}

/// The same for elements of any type.
#[track_caller]
fn json_of(device: &str, op: &str, path: &Path) -> Value {
    let output = warpfold(["reduce", op, path.to_str().unwrap(), "--device", device, "--json"]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["op"], op);
    assert_eq!(object["device"], device);
    assert!(object["seconds"].as_f64().unwrap() > 0.0);
    assert!(object["gb_per_s"].is_number());
    object
}

#[track_caller]
fn json(op: &str, file: &Temporary) -> Value {
    json_on("cpu", op, &file.0)
}

/// The command fails, says so once on standard error, and nothing on standard output.
#[track_caller]
fn fails(op: &str, file: &Temporary, says: &[&str]) {
    let path = file.0.to_str().unwrap();
    let output = warpfold(["reduce", op, path, "--device", "cpu"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(text(&output.stdout), "");
    assert!(error.starts_with("warpfold: ") && error.contains(path), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    for words in says {
        assert!(error.contains(words), "{error:?} says nothing of {words:?}");
    }
}

/// Values whose order matters: another order gives another f32 sum, another index.
fn uneven(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37) % 251) as f32 / 977.0 - 0.1).collect()
}

#[test]
fn the_shipped_data_has_its_known_facts() {
    for device in ["cpu", "emulator"] {
        for (op, result, value) in [
            ("sum", json!(29_985_240.0), Value::Null),
            ("mean", json!(299_852.4), Value::Null),
            ("min", json!(299_620.0), Value::Null),
            ("max", json!(300_070.0), Value::Null),
            ("argmax", json!(3), json!(300_070.0)),
            ("argmin", json!(46), json!(299_620.0)),
            ("prod", json!("inf"), Value::Null),
            ("minmax", json!([299_620.0, 300_070.0]), Value::Null),
            ("argminmax", json!([46, 3]), json!([299_620.0, 300_070.0])),
            ("l1", json!(29_985_240.0), Value::Null),
            ("l2", json!(2_998_524.0), Value::Null),
            ("sumsq", json!(8_991_147_000_000.0), Value::Null),
            ("linf", json!(300_070.0), Value::Null),
            ("count-nonzero", json!(100), Value::Null),
            ("count-nan", json!(0), Value::Null),
            ("count-inf", json!(0), Value::Null),
            ("any", json!(true), Value::Null),
            ("all", json!(true), Value::Null),
        ] {
            if device == "emulator" && !["sum", "mean", "min", "max", "argmax", "argmin", "l1", "l2"].contains(&op) {
                continue;
            }
            let object = json_on(device, op, Path::new(DATA));
            assert_eq!(
                (&object["result"], &object["value"]),
                (&result, &value),
                "{op} on {device}"
            );
            assert_eq!(object["shape"], json!([5, 20]));
            assert_eq!(object["bytes"], 400);
        }
    }
}

#[test]
fn text_puts_the_answer_first() {
    let output = warpfold(["reduce", "mean", DATA, "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(0));
    let line = text(&output.stdout);
    assert!(line.starts_with("299852.4 "), "{line}");
    assert!(
        line.contains("float32 (5, 20), 400 bytes") && line.contains("cpu"),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1);

    let output = warpfold(["reduce", "argmax", DATA, "--device", "cpu"]);
    assert!(text(&output.stdout).starts_with("3 (value 300070.0) "));

    let output = warpfold(["reduce", "argminmax", DATA, "--device", "cpu"]);
    assert!(text(&output.stdout).starts_with("46 (value 299620.0) 3 (value 300070.0) "));

    let output = warpfold(["reduce", "any", DATA, "--device", "cpu"]);
    assert!(text(&output.stdout).starts_with("true "));
}

#[test]
fn best_is_a_device_that_is_there() {
    let output = warpfold(["reduce", "sum", DATA, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["result"], 29_985_240.0);
    let device = object["device"].as_str().unwrap();
    assert!(device == "cpu" || device == "gpu:0", "{device}");
}

#[test]
fn devices_lists_the_cpu() {
    let output = warpfold(["devices"]);
    assert_eq!(output.status.code(), Some(0));
    let list = text(&output.stdout);
    assert!(
        list.lines()
            .any(|line| line.starts_with("cpu (") && line.contains("thread")),
        "{list}"
    );
    assert!(list.lines().any(|line| line.starts_with("gpu")), "{list}");
}

#[test]
fn devices_tells_what_made_the_kernels() {
    let output = warpfold(["devices"]);
    let list = text(&output.stdout);
    let kernels = list
        .lines()
        .find_map(|line| line.strip_prefix("kernels   "))
        .expect("a line of the kernels");
    let by_one = ["by llvm: rustc ", "by nvvm: rustc_codegen_nvvm "]
        .iter()
        .any(|by| kernels.contains(by));
    assert!(
        kernels.starts_with("none") || (kernels.starts_with("sm_") && by_one),
        "{kernels}"
    );
}

#[test]
fn a_gpu_that_is_not_there_is_an_error() {
    let output = warpfold(["reduce", "sum", DATA, "--device", "gpu:4000"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let error = text(&output.stderr);
    assert!(error.starts_with("warpfold: no "), "{error}");
    assert!(error.contains("no NVIDIA driver") || error.contains("4000"), "{error}");
}

#[test]
fn a_large_file_streams_to_the_bits_of_one_fold() {
    // Two whole pieces of the CPU (2²² elements) and a ragged third.
    let values = uneven((2 << 22) + 12_345);
    let file = Temporary::array(&format!("({},)", values.len()), &values);
    assert_eq!(
        json("sum", &file)["result"].as_f64().unwrap() as f32,
        cpu::reduce(ops::Sum, &values).unwrap()
    );
    assert_eq!(
        json("mean", &file)["result"].as_f64().unwrap() as f32,
        cpu::reduce(ops::Mean, &values).unwrap()
    );

    let mut values = values;
    let last = values.len() - 1;
    values[last] = 7.5;
    let file = Temporary::array(&format!("({},)", values.len()), &values);
    let object = json("argmax", &file);
    assert_eq!((&object["result"], &object["value"]), (&json!(last), &json!(7.5)));
}

#[test]
fn the_emulator_streams_too() {
    let values = uneven((1 << 16) + 5);
    let file = Temporary::array(&format!("({},)", values.len()), &values);
    for op in ["sum", "argmin"] {
        assert_eq!(
            json_on("emulator", op, &file.0)["result"],
            json(op, &file)["result"],
            "{op}"
        );
    }
}

#[test]
fn what_the_emulator_has_no_kernel_for_is_said() {
    for (op, option, value, says) in [
        ("prod", "--nan", "propagate", "no prod of float32 as"),
        ("max", "--nan", "ignore", "no max of float32 as"),
        ("sum", "--accuracy", "exact", "no sum of float32 as"),
    ] {
        let output = warpfold(["reduce", op, DATA, option, value, "--device", "emulator"]);
        assert_eq!(output.status.code(), Some(1));
        let error = text(&output.stderr);
        assert!(error.contains(says) && error.contains("--device cpu"), "{error}");
    }
}

#[test]
fn big_endian_is_read() {
    let data: Vec<u8> = [1.5_f32, -2.25, 8.0]
        .iter()
        .flat_map(|value| value.to_be_bytes())
        .collect();
    let header = "{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }";
    let file = Temporary::new(&npy(1, header, &data));
    assert_eq!(json("sum", &file)["result"], 7.25);
    assert_eq!(json("argmin", &file)["value"], -2.25);
}

#[test]
fn fortran_order_is_numbered_as_c() {
    // x[i][j] = 10 i + j, so the order of x and the order of the file differ.
    let (rows, columns) = (40, 70);
    let value = |i: usize, j: usize| (10 * i + j) as f32 / 7.0;
    let c: Vec<f32> = (0..rows * columns)
        .map(|at| value(at / columns, at % columns))
        .collect();
    let fortran: Vec<u8> = (0..rows * columns)
        .flat_map(|at| value(at % rows, at / rows).to_le_bytes())
        .collect();
    let header = format!("{{'descr': '<f4', 'fortran_order': True, 'shape': ({rows}, {columns}), }}");
    let file = Temporary::new(&npy(1, &header, &fortran));
    for op in ["sum", "argmax", "argmin"] {
        let expected = Temporary::array(&format!("({rows}, {columns})"), &c);
        assert_eq!(json(op, &file)["result"], json(op, &expected)["result"], "{op}");
    }
    assert_eq!(json("argmax", &file)["result"], json!(rows * columns - 1));
}

#[test]
fn every_version_and_shape_is_read() {
    let data: Vec<u8> = 2.5_f32.to_le_bytes().to_vec();
    for version in [1, 2, 3] {
        for (shape, extents) in [("()", json!([])), ("(1,)", json!([1])), ("(1, 1, 1)", json!([1, 1, 1]))] {
            let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
            let object = json("sum", &Temporary::new(&npy(version, &header, &data)));
            assert_eq!((&object["result"], &object["shape"]), (&json!(2.5), &extents));
        }
    }
    // As NumPy, which lets several arrays follow one another.
    let mut followed = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", &data);
    followed.extend(b"more");
    assert_eq!(json("sum", &Temporary::new(&followed))["result"], 2.5);
}

#[test]
fn nothing_has_an_answer_or_an_error() {
    for shape in ["(0,)", "(3, 0, 5)"] {
        let empty = Temporary::array(shape, &[]);
        assert_eq!(json("sum", &empty)["result"], json!(0.0));
        assert_eq!(json("prod", &empty)["result"], json!(1.0));
        assert_eq!(json("mean", &empty)["result"], json!("NaN"));
        for op in ["min", "max", "argmin", "argmax"] {
            fails(op, &empty, &[op, "empty"]);
        }
    }
}

#[test]
fn files_that_are_no_arrays_are_errors() {
    let good = npy(
        1,
        "{'descr': '<f4', 'fortran_order': False, 'shape': (100,), }",
        &[0; 400],
    );
    let header = |header: &str| Temporary::new(&npy(1, header, &[0; 400]));
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        Temporary::new(&bytes)
    };

    // Missing, and a directory.
    let gone = Temporary::new(b"");
    fs::remove_file(&gone.0).unwrap();
    fails("sum", &gone, &["No such file"]);
    let output = warpfold(["reduce", "sum", env!("CARGO_MANIFEST_DIR")]);
    assert_eq!(output.status.code(), Some(1));

    // Cut short: in the data, in the header, in the magic, to nothing.
    let cut = |len: usize| Temporary::new(&good[..len]);
    let (all, one_less) = (good.len().to_string(), (good.len() - 1).to_string());
    fails("sum", &cut(good.len() - 1), &["cut short", &all, &one_less]);
    fails("max", &cut(128), &["cut short"]);
    fails("sum", &cut(60), &["header has 128 bytes, the file 60"]);
    fails("sum", &cut(9), &["ends within the header"]);
    fails("sum", &cut(3), &["magic"]);
    fails("sum", &cut(0), &["empty"]);

    // Foreign and damaged.
    fails("sum", &Temporary::new(b"PK\x03\x04 a zip archive"), &["npz"]);
    fails("sum", &Temporary::new(b"1.0, 2.0, 3.0\n"), &["magic"]);
    fails("sum", &with(0, 0), &["magic"]);
    fails("sum", &with(6, 9), &["version 9.0"]);
    fails("sum", &with(6, 0), &["version 0.0"]);
    fails("sum", &with(10, b'['), &["damaged"]);
    fails("sum", &with(20, 0xff), &["damaged"]);
    fails(
        "sum",
        &header("{'descr': '<f4', 'shape': (100,), }"),
        &["damaged", "fortran_order"],
    );
    fails(
        "sum",
        &header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"),
        &["damaged", "negative"],
    );
    fails(
        "sum",
        &header("{'descr': 'nonsense', 'fortran_order': False, 'shape': (1,), }"),
        &["damaged"],
    );
    fails("sum", &header(&"(".repeat(50_000)), &["damaged"]);
    let mut endless = b"\x93NUMPY\x02\x00".to_vec();
    endless.extend(u32::MAX.to_le_bytes());
    fails("sum", &Temporary::new(&endless), &["4294967295", "too long"]);
}

#[test]
fn shapes_that_cannot_be_are_errors() {
    for (shape, says) in [
        ("(4294967296, 4294967296)", "overflows"),
        ("(9223372036854775808, 2)", "overflows"),
        ("(99999999999999999999999,)", "overflows"),
        ("(0x7fffffffffffffff, 0x7fffffffffffffff)", "overflows"),
        (
            "(2000000000000000000,)",
            "cut short: 8000000000000000128 bytes by its header, 128",
        ),
    ] {
        fails("sum", &Temporary::array(shape, &[]), &[says]);
    }
}

#[test]
fn other_types_are_named() {
    for (descr, name) in [
        ("'<c32'", "complex256"),
        ("'|O'", "object"),
        ("'<U7'", "<U7"),
        ("[('a', '<f4'), ('b', '<f4')]", "'a', '<f4'"),
    ] {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}");
        fails(
            "sum",
            &Temporary::new(&npy(1, &header, &[0; 64])),
            &[name, "cannot be folded", "float32", "bool"],
        );
    }
}

#[test]
fn wrong_command_lines_are_usage() {
    for arguments in [
        vec![],
        vec!["reduce"],
        vec!["reduce", "median", DATA],
        vec!["reduce", "sum"],
        vec!["reduce", "sum", DATA, "--device", "tpu"],
        vec!["reduce", "sum", DATA, "--device", "gpu:x"],
        vec!["reduce", "sum", DATA, "--frobnicate"],
        vec!["reduce", "var", DATA, "--correction", "nan"],
        vec!["reduce", "std", DATA, "--correction=-inf"],
        vec!["describe", DATA, "--correction", "inf"],
        vec!["fold"],
        vec!["list"],
        vec!["list", DATA, "--device", "cpu"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_warpfold"))
            .args(&arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
}
