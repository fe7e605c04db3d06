//! Elements of every type.

use serde_json::{Value, json};

use super::{Temporary, fails, json_of, npy, runs, text, warpfold};

/// A `.npy` file of elements of a type that NumPy writes as `descr`.
fn file(descr: &str, elements: &[Vec<u8>]) -> Temporary {
    let header = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({},), }}",
        elements.len()
    );
    Temporary::new(&npy(1, &header, &elements.concat()))
}

fn bytes<T: Copy, const N: usize>(values: &[T], of: fn(T) -> [u8; N]) -> Vec<Vec<u8>> {
    values.iter().map(|&value| of(value).to_vec()).collect()
}

/// 1000 elements: 0, 1, … 9 over and over, but for one that is larger.
fn small(at: usize) -> u8 {
    if at == 637 { 77 } else { (at % 10) as u8 }
}

#[test]
fn every_type_is_folded() {
    const LEN: usize = 1000;
    let values: Vec<u8> = (0..LEN).map(small).collect();
    let sum: u32 = values.iter().map(|&value| u32::from(value)).sum();
    let halves = |bits: fn(f32) -> u16| -> Vec<Vec<u8>> {
        values
            .iter()
            .map(|&value| bits(f32::from(value)).to_le_bytes().to_vec())
            .collect()
    };
    macro_rules! numbers {
        ($($number:ty)*) => {
            [$(bytes(&values.iter().map(|&value| value as $number).collect::<Vec<_>>(), <$number>::to_le_bytes)),*]
        };
    }
    let [i8, i16, i32, i64] = numbers!(i8 i16 i32 i64);
    let [u8, u16, u32, u64] = numbers!(u8 u16 u32 u64);
    let [f32, f64] = numbers!(f32 f64);
    let f16 = halves(|value| warpfold::files::f16::from_f32(value).to_bits());
    for (descr, dtype, elements) in [
        ("|i1", "int8", i8),
        ("<i2", "int16", i16),
        ("<i4", "int32", i32),
        ("<i8", "int64", i64),
        ("|u1", "uint8", u8),
        ("<u2", "uint16", u16),
        ("<u4", "uint32", u32),
        ("<u8", "uint64", u64),
        ("<f2", "float16", f16),
        ("<f4", "float32", f32),
        ("<f8", "float64", f64),
    ] {
        let file = file(descr, &elements);
        let asked = |op: &str| {
            let object = json_of("cpu", op, &file.0);
            assert_eq!(object["dtype"], dtype);
            object
        };
        // No float16 is 4570: their steps are 4 there, and 4568 and 4572 are as near.
        let sum = if dtype == "float16" { 4568 } else { sum };
        assert_eq!(asked("sum")["result"].as_f64(), Some(sum.into()), "{dtype}");
        assert_eq!(asked("max")["result"].as_f64(), Some(77.0), "{dtype}");
        assert_eq!(asked("min")["result"].as_f64(), Some(0.0), "{dtype}");
        let best = asked("argmax");
        assert_eq!(
            (&best["result"], best["value"].as_f64()),
            (&json!(637), Some(77.0)),
            "{dtype}"
        );
        assert_eq!(asked("argmin-last")["result"], json!(990), "{dtype}");
        assert_eq!(asked("count-nonzero")["result"], json!(900), "{dtype}");
    }
}

#[test]
fn truths_are_counted_and_print_as_such() {
    let elements: Vec<Vec<u8>> = (0..100).map(|at| vec![u8::from(at % 4 == 1)]).collect();
    let file = file("|b1", &elements);
    for (op, result, value) in [
        ("sum", json!(25), Value::Null),
        ("mean", json!(0.25), Value::Null),
        ("max", json!(true), Value::Null),
        ("min", json!(false), Value::Null),
        ("argmax", json!(1), json!(true)),
        ("argmax-last", json!(97), json!(true)),
        ("any", json!(true), Value::Null),
        ("all", json!(false), Value::Null),
    ] {
        let object = json_of("cpu", op, &file.0);
        assert_eq!((&object["result"], &object["value"]), (&result, &value), "{op}");
        assert_eq!(object["dtype"], "bool");
    }
    let output = warpfold(["reduce", "max", file.0.to_str().unwrap(), "--device", "cpu"]);
    assert!(text(&output.stdout).starts_with("true "));
}

/// No f64 holds them.
#[test]
fn integers_of_64_bits_print_exactly() {
    let (low, high) = (i64::MIN + 1, (1_i64 << 53) + 1);
    let signed = file("<i8", &bytes(&[7, low, high], i64::to_le_bytes));
    assert_eq!(json_of("cpu", "max", &signed.0)["result"], json!(high));
    assert_eq!(json_of("cpu", "min", &signed.0)["result"], json!(low));
    assert_eq!(json_of("cpu", "argmin", &signed.0)["value"], json!(low));
    assert_eq!(json_of("cpu", "sum", &signed.0)["result"], json!(7 + low + high));
    let unsigned = file("<u8", &bytes(&[u64::MAX - 2, 1, 0], u64::to_le_bytes));
    assert_eq!(json_of("cpu", "max", &unsigned.0)["result"], json!(u64::MAX - 2));
    assert_eq!(json_of("cpu", "sum", &unsigned.0)["result"], json!(u64::MAX - 1));
    let output = warpfold(["reduce", "sum", unsigned.0.to_str().unwrap(), "--device", "cpu"]);
    assert!(text(&output.stdout).starts_with("18446744073709551614 "));
}

#[test]
fn an_operator_without_a_meaning_is_named() {
    let integers = file("<i4", &bytes(&[1, 2], i32::to_le_bytes));
    let truths = file("|b1", &[vec![1], vec![0]]);
    for (file, op, dtype) in [
        (&integers, "l1", "int32"),
        (&integers, "count-nan", "int32"),
        (&truths, "minmax", "bool"),
        (&truths, "l2", "bool"),
    ] {
        let output = warpfold(["reduce", op, file.0.to_str().unwrap(), "--device", "cpu"]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
        let error = text(&output.stderr);
        assert_eq!(
            error,
            format!("warpfold: {op} has no meaning for elements of type {dtype}\n")
        );
    }
    // The operator that has one.
    fails("max", &file("<i4", &[]), &["max", "empty"]);
}

/// Answers that a narrower, or a shorter, way to them would get wrong.
#[test]
fn nothing_overflows_on_the_way() {
    const ONE: u16 = 0x3c00;
    let halves = || bytes(&[ONE; 70_000], u16::to_le_bytes);
    let signed = || bytes(&[i64::MAX, 1], i64::to_le_bytes);
    let unsigned = || bytes(&[u64::MAX; 3], u64::to_le_bytes);
    let large = || bytes(&[3e200, 4e200], f64::to_le_bytes);
    let little = || bytes(&[3e-200, 4e-200], f64::to_le_bytes);
    for (descr, elements, op, arguments, expected) in [
        ("<f2", halves(), "sum", &["--dtype-out", "float32"][..], 70_000.0),
        ("<f2", halves(), "sum", &["--dtype-out", "float64"], 70_000.0),
        (
            "<f2",
            halves(),
            "sum",
            &["--accuracy", "wide", "--dtype-out", "float64"],
            70_000.0,
        ),
        ("<f2", halves(), "sumsq", &["--dtype-out", "float32"], 70_000.0),
        ("<i8", signed(), "mean", &[], 4_611_686_018_427_387_904.0),
        ("<u8", unsigned(), "mean", &[], 1.844_674_407_370_955_2e19),
        // The f64 next to the norm of these two f64, which 5e200 is not.
        ("<f8", large(), "l2", &[], 4.999_999_999_999_999_5e200),
        ("<f8", little(), "l2", &[], 5e-200),
        ("<f8", large(), "std", &["--correction", "0"], 5e199),
    ] {
        let file = file(descr, &elements);
        let whole = runs::json_of(op, &file.0, arguments);
        assert_eq!(
            whole["result"].as_f64(),
            Some(expected),
            "{op} of {descr} {arguments:?}"
        );
        let along = runs::json_of(op, &file.0, &[arguments, &["--axis", "0"]].concat());
        assert_eq!(answer(&along, 0), Some(expected), "{op} of {descr} along an axis");
    }
    // In segments, and under a mask.
    let mask = file("|u1", &bytes(&[1_u8; 70_000], u8::to_le_bytes));
    let file = file("<f2", &halves());
    let wide = ["--dtype-out", "float32"];
    let segments = runs::json_of("sum", &file.0, &[&wide[..], &["--segment-size", "69999"]].concat());
    assert_eq!(segments["answers"], json!([69_999.0, 1.0]));
    let masked = runs::json_of(
        "sum",
        &file.0,
        &[&wide[..], &["--where", mask.0.to_str().unwrap()]].concat(),
    );
    assert_eq!(masked["result"], json!(70_000.0));
}

/// One of the answers along an axis; of a single one there is no list.
fn answer(object: &Value, at: usize) -> Option<f64> {
    let answers = &object["answers"];
    answers.as_f64().or_else(|| answers[at].as_f64())
}
