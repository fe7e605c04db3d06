//! `warpfold reduce --offsets` and `--segment-size`.

use std::{fs, path::Path};

use serde_json::json;
use warpfold::{cpu, files::TensorFile, layout::Segments, ops};

use super::{
    DATA, Temporary, npy,
    runs::{Folder, fails, json_of, reduce},
    text,
};

/// A file of offsets, of NumPy's type `descr`.
fn offsets(descr: &str, bytes: &[u8], count: usize) -> Temporary {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}");
    Temporary::new(&npy(1, &header, bytes))
}

fn of_i64(numbers: &[i64]) -> Temporary {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    offsets("<i8", &bytes, numbers.len())
}

#[test]
fn segments_are_folded_as_the_library_does() {
    let data = Path::new(DATA);
    let values: Vec<f32> = TensorFile::open(data).unwrap().one().unwrap().read().unwrap();
    let numbers = [0, 3, 3, 50, 51, 100];
    let file = of_i64(&numbers);
    let object = json_of("mean", data, &["--offsets", file.0.to_str().unwrap()]);
    let segments = Segments::by_offsets(&numbers.map(|number| number as u64)).unwrap();
    let means = cpu::reduce_segments(ops::Mean, &values, &segments).unwrap();
    let read: Vec<Option<f32>> = object["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer.as_f64().map(|mean| mean as f32))
        .collect();
    let expected: Vec<Option<f32>> = means
        .iter()
        .map(|mean| Some(*mean).filter(|mean| !mean.is_nan()))
        .collect();
    assert_eq!(read, expected);
    assert_eq!(
        (&object["shape_out"], &object["dtype_out"]),
        (&json!([5]), &json!("float32"))
    );
    assert_eq!((&object["answers"][1], object.get("axis")), (&json!("NaN"), None));

    let of_bytes = offsets("|u1", &[0, 3, 3, 50, 51, 100], 6);
    let again = json_of("mean", data, &["--offsets", of_bytes.0.to_str().unwrap()]);
    assert_eq!(again["answers"], object["answers"]);
}

#[test]
fn sizes_are_segments() {
    let folder = Folder::new();
    let out = folder.file("out.npy");
    let object = json_of("argmax", Path::new(DATA), &["--segment-size", "20", "--out", &out]);
    let rows = json_of("argmax", Path::new(DATA), &["--axis", "1"]);
    assert_eq!(object["answers"], rows["answers"]);
    let written: Vec<u64> = TensorFile::open(&out).unwrap().one().unwrap().read().unwrap();
    assert_eq!(json!(written), rows["answers"]);
    let uneven = json_of("count-nonzero", Path::new(DATA), &["--segment-size", "33"]);
    assert_eq!(uneven["answers"], json!([33, 33, 33, 1]));

    let output = reduce("sum", Path::new(DATA), &["--segment-size", "50"]);
    let said = text(&output.stdout);
    assert!(
        said.contains("sum of each segment of") && said.contains("to float32 (2,)"),
        "{said}"
    );
}

#[test]
fn offsets_that_cannot_be_are_errors() {
    let data = Path::new(DATA);
    for (numbers, says) in [
        (&[][..], "offset 0 of the segments is missing"),
        (&[1, 100], "offset 0 of the segments is 1"),
        (&[0, 60, 50, 100], "offset 2 of the segments is 50, less than the 60"),
        (
            &[0, 60, 99],
            "offset 2 of the segments is 99: the last must be the number of elements, 100",
        ),
        (&[0, -1, 100], "offset 1 is -1"),
    ] {
        let file = of_i64(numbers);
        let path = file.0.to_str().unwrap();
        fails("sum", data, &["--offsets", path], &[path, says]);
    }
    let file = of_i64(&[0, 100, 100]);
    fails(
        "max",
        data,
        &["--offsets", file.0.to_str().unwrap()],
        &[DATA, "max of segment 1, which is empty"],
    );
    fails("sum", data, &["--offsets", DATA], &["offsets are integers", "float32"]);
    for more in [
        &["--segment-size", "0"][..],
        &["--segment-size", "5", "--axis", "0"],
        &["--segment-size", "5", "--offsets", DATA],
    ] {
        assert_eq!(reduce("sum", data, more).status.code(), Some(2), "{more:?}");
    }
    let missing = fs::canonicalize(data).unwrap().with_extension("missing");
    fails(
        "sum",
        data,
        &["--offsets", missing.to_str().unwrap()],
        &[missing.to_str().unwrap()],
    );
}
