//! `warpfold softmax` and its kin.

use std::{
    fs,
    process::{Command, Output},
};

use warpfold::{View, files::TensorFile, layout::Layout, row};

use super::Temporary;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(args)
        .output()
        .unwrap()
}

/// The answers of a command line that succeeds, and what it printed.
fn mapped(args: &[&str], file: &Temporary) -> (Vec<f32>, String) {
    let out = Temporary::new(b"");
    let path = out.0.to_str().unwrap();
    let all: Vec<&str> = [args[0], file.0.to_str().unwrap(), "--device", "cpu", "--out", path]
        .into_iter()
        .chain(args[1..].iter().copied())
        .collect();
    let output = run(&all);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    let values = TensorFile::open(path).unwrap().one().unwrap().read().unwrap();
    (values, String::from_utf8(output.stdout).unwrap())
}

#[test]
fn answers_are_the_librarys() {
    let values: Vec<f32> = (0..12).map(|i| (i * 5 % 7) as f32 - 3.0).collect();
    let file = Temporary::array("(3, 4)", &values);
    let layout = Layout::c_order(&[3, 4]).unwrap();
    let view = || View::new(&values, &layout).unwrap();
    let softmax = row::softmax().on_cpu::<_, f32>(view()).unwrap().values;
    let (got, said) = mapped(&["softmax"], &file);
    assert_eq!(got, softmax);
    assert!(
        said.contains("float32 (3, 4) along axis -1, in ") && said.contains(" s, on cpu\nwritten to "),
        "{said}"
    );
    let columns = row::softmax()
        .axis(0)
        .scale(-1.0)
        .on_cpu::<_, f32>(view())
        .unwrap()
        .values;
    assert_eq!(mapped(&["softmax", "--axis", "0", "--scale", "-1.0"], &file).0, columns);
    let columns = row::softmax().axis(-2).on_cpu::<_, f32>(view()).unwrap().values;
    assert_eq!(mapped(&["softmax", "--axis", "-2"], &file).0, columns);
    let causal = row::log_softmax().causal().on_cpu::<_, f32>(view()).unwrap().values;
    assert_eq!(mapped(&["log-softmax", "--causal"], &file).0, causal);
    let (weights, biases) = ([1.0_f32, 2.0, -1.0, 0.5], [0.0_f32, 1.0, 2.0, 3.0]);
    let norm = row::layer_norm(1e-3).weight(&weights).bias(&biases);
    let norm = norm.on_cpu::<_, f32>(view()).unwrap().values;
    let (weight, bias) = (Temporary::array("(4,)", &weights), Temporary::array("(4,)", &biases));
    let (weight, bias) = (weight.0.to_str().unwrap(), bias.0.to_str().unwrap());
    let args = ["layer-norm", "--weight", weight, "--bias", bias, "--eps", "1e-3"];
    assert_eq!(mapped(&args, &file).0, norm);
    let norm = row::group_norm(2, 1e-3).weight(&weights).bias(&biases);
    let norm = norm.on_cpu::<_, f32>(view()).unwrap().values;
    let (got, said) = mapped(&[&["group-norm", "--groups", "2"], &args[1..]].concat(), &file);
    assert_eq!(got, norm);
    assert!(
        said.contains("group-norm of ") && said.contains(": float32 (3, 4) along axis 1, in "),
        "{said}"
    );
    let mask = Temporary::typed("|u1", "(4,)", &[1, 0, 1, 2]);
    let masked = row::softmax().mask(View::new(&[1_u8, 0, 1, 2], &Layout::c_order(&[4]).unwrap()).unwrap());
    let masked = masked.on_cpu::<_, f32>(view()).unwrap().values;
    assert_eq!(
        mapped(&["softmax", "--mask", mask.0.to_str().unwrap()], &file).0,
        masked
    );
    let residual = values.iter().map(|x| 2.0 - x).collect::<Vec<f32>>();
    let other = Temporary::array("(3, 4)", &residual);
    let (other, sums) = (other.0.to_str().unwrap(), Temporary::new(b""));
    let sums = sums.0.to_str().unwrap();
    let norm = row::rms_norm(1e-6).residual(&residual);
    let norm = norm.on_cpu::<_, f32>(view()).unwrap().values;
    assert_eq!(
        mapped(&["rms-norm", "--residual", other, "--sum-out", sums], &file).0,
        norm
    );
    let written: Vec<f32> = TensorFile::open(sums).unwrap().one().unwrap().read().unwrap();
    assert_eq!(written, vec![2.0; 12]);
    let norm = row::rms_norm(1e-6).weight(&weights).one_plus_weight();
    let norm = norm.on_cpu::<_, f32>(view()).unwrap().values;
    assert_eq!(
        mapped(&["rms-norm", "--weight", weight, "--one-plus-weight"], &file).0,
        norm
    );
    let (halves, said) = {
        let out = Temporary::new(b"");
        let path = out.0.to_str().unwrap();
        let file = file.0.to_str().unwrap();
        let output = run(&[
            "softmax",
            file,
            "--dtype-out",
            "float16",
            "--out",
            path,
            "--json",
            "--device",
            "cpu",
        ]);
        let dtype = TensorFile::open(path).unwrap().one().unwrap().dtype_name().to_owned();
        (dtype, String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(halves, "float16");
    assert!(
        said.contains("\"op\":\"softmax\"") && said.contains("\"dtype_out\":\"float16\""),
        "{said}"
    );
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_written() {
    let file = Temporary::array("(2, 2)", &[1.0, 2.0, 3.0, 4.0]);
    let input = file.0.to_str().unwrap();
    let before = fs::read(&file.0).unwrap();
    let out = std::env::temp_dir().join(format!("warpfold-rows-{}.npy", std::process::id()));
    let out = out.to_str().unwrap();
    let weight = Temporary::array("(3,)", &[1.0; 3]);
    let weight = weight.0.to_str().unwrap();
    for (args, says) in [
        (vec!["softmax", input, "--out", input], "so it is not replaced"),
        (vec!["softmax", input, "--out", out, "--axis", "2"], "axis 2"),
        (
            vec!["group-norm", input, "--out", out, "--groups", "3"],
            "2 channels cannot be 3 groups",
        ),
        (
            vec!["group-norm", input, "--out", out, "--groups", "2", "--axis", "-1"],
            "channels, which are axis 1",
        ),
        (
            vec!["group-norm", input, "--out", out, "--groups", "2", "--weight", weight],
            "(--weight) has the shape (3,), which does not broadcast to (2,)",
        ),
        (
            vec!["rms-norm", input, "--out", out, "--weight", weight],
            "(--weight) has the shape (3,), which does not broadcast to (2,)",
        ),
        (
            vec!["softmax", input, "--out", out, "--device", "emulator"],
            "--device cpu gives the same bits",
        ),
        (
            vec!["log-softmax", input, "--out", out, "--zero-if-masked"],
            "is of softmax",
        ),
    ] {
        let output = run(&args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains(says), "{args:?}: {said}");
        assert!(!std::path::Path::new(out).exists(), "{args:?}");
    }
    assert_eq!(fs::read(&file.0).unwrap(), before);
}

/// Targets, of int32.
fn integers(values: &[i32; 3]) -> Temporary {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Temporary::typed("<i4", "(3,)", &bytes)
}

#[test]
fn losses_are_the_librarys() {
    let values: Vec<f32> = (0..12).map(|i| (i * 5 % 7) as f32 - 3.0).collect();
    let (file, targets) = (Temporary::array("(3, 4)", &values), integers(&[2, -100, 0]));
    let layout = Layout::c_order(&[3, 4]).unwrap();
    let expected = row::cross_entropy(&[2_i64, -100, 0]).label_smoothing(0.25);
    let expected = expected
        .on_cpu::<_, f32>(View::new(&values, &layout).unwrap())
        .unwrap()
        .known
        .loss;
    let targets = targets.0.to_str().unwrap();
    let args = ["cross-entropy", "--targets", targets, "--label-smoothing", "0.25"];
    let (got, said) = mapped(&args, &file);
    assert_eq!(got, expected);
    assert!(said.contains(": float32 (3, 4), 1 ignored, in "), "{said}");
    let wrong = integers(&[2, 4, 0]);
    let out = Temporary::new(b"kept");
    let output = run(&[
        "cross-entropy",
        file.0.to_str().unwrap(),
        "--targets",
        wrong.0.to_str().unwrap(),
        "--device",
        "cpu",
        "--out",
        out.0.to_str().unwrap(),
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        said.contains("row 1 has the target 4, and there are 4 classes"),
        "{said}"
    );
    assert_eq!(fs::read(&out.0).unwrap(), b"kept");
}

/// Norms of float64 are float64; what has no such form says so.
#[test]
fn norms_of_float64_are_the_librarys() {
    let values: Vec<f64> = (0..12).map(|i| 1e9 + f64::from(i * 5 % 7)).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let (file, out) = (Temporary::typed("<f8", "(3, 4)", &bytes), Temporary::new(b""));
    let (input, out) = (file.0.to_str().unwrap(), out.0.to_str().unwrap());
    let view = || View::new(&values, &Layout::c_order(&[3, 4]).unwrap()).unwrap();
    let written = |args: &[&str]| -> Vec<f64> {
        let output = run(&[&[args[0], input, "--out", out, "--device", "cpu"], &args[1..]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        TensorFile::open(out).unwrap().one().unwrap().read().unwrap()
    };
    let layer = row::layer_norm(1e-5).on_cpu_f64(view()).unwrap().values;
    assert_eq!(written(&["layer-norm"]), layer);
    let rms = row::rms_norm(1e-6).on_cpu_f64(view()).unwrap().values;
    assert_eq!(written(&["rms-norm"]), rms);
    let group = row::group_norm(2, 1e-5).on_cpu_f64(view()).unwrap().values;
    assert_eq!(written(&["group-norm", "--groups", "2"]), group);
    for (args, says) in [
        (&["softmax", input, "--out", out][..], "no softmax of float64"),
        (
            &["layer-norm", input, "--out", out, "--dtype-out", "float32"],
            "leave out --dtype-out",
        ),
    ] {
        let output = run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(says), "{said}");
    }
}

/// Pieces of rows have the bits of the whole, whatever their number: causal rows and masks, too.
#[test]
fn rows_of_many_pieces_have_the_bits_of_the_whole() {
    // More than two megabytes: several pieces, the last of them short.
    let (matrices, rows, columns) = (3, 500, 513);
    let count = matrices * rows * columns;
    let values: Vec<f32> = (0..count).map(|i| (i * 37 % 251) as f32 / 31.0 - 4.0).collect();
    let shape = [matrices as u64, rows as u64, columns as u64];
    let (file, layout) = (
        Temporary::array(&format!("({matrices}, {rows}, {columns})"), &values),
        Layout::c_order(&shape).unwrap(),
    );
    let view = || View::new(&values, &layout).unwrap();
    let causal = row::softmax().causal().on_cpu::<_, f32>(view()).unwrap().values;
    assert_eq!(mapped(&["softmax", "--causal"], &file).0, causal);
    let hidden: Vec<u8> = (0..rows * columns).map(|i| u8::from(i % 3 != 1)).collect();
    let mask = Temporary::typed("|b1", &format!("({rows}, {columns})"), &hidden);
    let of_mask = Layout::c_order(&shape[1..]).unwrap();
    let masked = row::softmax().mask(View::new(&hidden, &of_mask).unwrap());
    let masked = masked.on_cpu::<_, f32>(view()).unwrap().values;
    assert_eq!(
        mapped(&["softmax", "--mask", mask.0.to_str().unwrap()], &file).0,
        masked
    );
    let uniform = row::softmax().scale(0.0).on_cpu::<_, f32>(view()).unwrap().values;
    assert_eq!(mapped(&["softmax", "--scale", "0"], &file).0, uniform);
    assert_eq!(uniform[0], 1.0 / columns as f32);
}
