//! `warpfold grad-norm`.

use std::process::{Command, Output};

use serde_json::{Value, json};
use warpfold::gradients::{Order, grad_norm};

use super::{Temporary, npy};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(["grad-norm", "--device", "cpu"])
        .args(args)
        .output()
        .unwrap()
}

fn said(args: &[&str]) -> String {
    let output = run(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn path(file: &Temporary) -> &str {
    file.0.to_str().unwrap()
}

/// An array of float16 of such bits.
fn halves(bits: &[u16]) -> Temporary {
    let header = format!(
        "{{'descr': '<f2', 'fortran_order': False, 'shape': ({},), }}",
        bits.len()
    );
    let data: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    Temporary::new(&npy(1, &header, &data))
}

#[test]
fn norms_are_the_librarys() {
    let values: Vec<f32> = (0..3000).map(|i| (i * 37 % 251) as f32 / 16.0 - 8.0).collect();
    let (a, b) = (
        Temporary::array("(3, 1000)", &values),
        Temporary::array("(2,)", &[3.0, -4.0]),
    );
    // 1.0 and -2.0.
    let c = halves(&[0x3c00, 0xc000]);
    let halves: Vec<warpfold::files::f16> = [1.0, -2.0].map(warpfold::files::f16::from_f32).to_vec();
    for (ord, order) in [
        ("1", Order::L1),
        ("2", Order::L2),
        ("inf", Order::Inf),
        ("3", Order::P(3.0)),
        ("2.5", Order::P(2.5)),
    ] {
        let tensors = [(&values).into(), (&[3.0_f32, -4.0]).into(), (&halves).into()];
        let total = grad_norm(order).on_cpu(&tensors).unwrap();
        let all = [path(&a), path(&b), path(&c), "--ord", ord];
        let text = said(&all);
        assert_eq!(text.lines().next().unwrap(), format!("{:?}", total.norm), "{ord}");
        assert!(
            text.contains("of 3004 elements of 3 tensors, 0 of them not finite, on cpu"),
            "{text}"
        );
        let report: Value = serde_json::from_str(&said(&[&all[..], &["--json"]].concat())).unwrap();
        assert_eq!(
            report["norm"].as_f64().map(|norm| norm as f32),
            Some(total.norm),
            "{ord}"
        );
        assert_eq!(report["tensors"], 3);
        assert_eq!(report["elements"], 3004);
        assert_eq!(report["not_finite"], 0);
        assert_eq!(report["op"], "grad-norm");
        assert_eq!(report["device"], "cpu");
    }
    assert!(said(&[path(&b)]).starts_with("5.0\nthe norm of order 2.0 of 2 elements of 1 tensor"));
}

#[test]
fn what_is_not_finite_is_counted() {
    let a = Temporary::array("(3,)", &[1.0, f32::INFINITY, 2.0]);
    let b = halves(&[0x7e00, 0x3c00]);
    let report: Value = serde_json::from_str(&said(&[path(&a), path(&b), "--json"])).unwrap();
    assert_eq!((&report["norm"], &report["not_finite"]), (&json!("NaN"), &json!(2)));
    let report: Value = serde_json::from_str(&said(&[path(&a), "--json", "--ord", "inf"])).unwrap();
    assert_eq!(
        (&report["norm"], &report["not_finite"], &report["ord"]),
        (&json!("inf"), &json!(1), &json!("inf"))
    );
    let empty = Temporary::array("(0,)", &[]);
    assert!(said(&[path(&empty)]).starts_with("0.0\n"));
}

#[test]
fn what_is_wrong_is_told() {
    let a = Temporary::array("(2,)", &[1.0, 2.0]);
    let header = "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,), }";
    let date = Temporary::new(&npy(1, header, &[0; 8]));
    for (args, code, says) in [
        (
            vec![path(&a), path(&date)],
            1,
            "gradients are of float16, bfloat16, float32, float64 and FP8",
        ),
        (vec![path(&a), "--ord", "0.5"], 2, "it must be 1 or more, or inf"),
        (vec![path(&a), "--ord", "-1"], 2, "it must be 1 or more, or inf"),
        (vec![path(&a), "--ord", "nan"], 2, "it must be 1 or more, or inf"),
        (vec![], 2, "FILE"),
    ] {
        let output = run(&args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(says), "{args:?}: {said}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(["grad-norm", path(&a), "--device", "emulator"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("--device cpu gives the same bits"), "{said}");
}

/// Integers are left out, and counted; with float64 among them all arrays are float64.
#[test]
fn a_checkpoint_has_arrays_of_any_type() {
    let single = Temporary::array("(2,)", &[3.0, 0.0]);
    let double = Temporary::typed("<f8", "(2,)", &[4e200_f64, 0.0].map(f64::to_le_bytes).concat());
    let integers = Temporary::typed("<i8", "(1,)", &[7; 8]);
    let truths = Temporary::typed("|b1", "(1,)", &[1]);
    let report = said(&[path(&single), path(&integers), path(&truths), "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        (
            &report["norm"],
            &report["tensors"],
            &report["left_out"],
            &report["elements"]
        ),
        (&json!(3.0), &json!(1), &json!(2), &json!(2))
    );
    let report: Value = serde_json::from_str(&said(&[path(&single), path(&double), "--json"])).unwrap();
    assert_eq!((&report["norm"], &report["elements"]), (&json!(4e200), &json!(4)));
}
