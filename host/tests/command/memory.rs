//! What is too large: for memory, or to be open at once.

use std::{
    fs::{self, File},
    process::{Command, Output},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    Temporary, npy,
    runs::{Folder, json_of},
    text, uneven,
};

/// Zeros that take no room on the disk.
fn sparse(descr: &str, shape: &str, bytes: u64) -> Temporary {
    let header = npy(
        1,
        &format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"),
        &[],
    );
    let file = Temporary::new(&header);
    let opened = File::options().write(true).open(&file.0).unwrap();
    opened.set_len(header.len() as u64 + bytes).unwrap();
    file
}

/// A run under a limit of the shell's.
#[cfg(unix)]
fn limited(limit: &str, arguments: &[&str]) -> Output {
    Command::new("sh")
        .args([
            "-c",
            &format!("ulimit {limit} && exec \"$0\" \"$@\""),
            env!("CARGO_BIN_EXE_warpfold"),
        ])
        .args(arguments)
        .output()
        .unwrap()
}

/// What does not fit is an error with its bytes, not the end of the program.
#[test]
#[cfg(target_os = "linux")]
fn memory_that_is_not_there_is_an_error() {
    const BYTES: u64 = 1 << 36;
    let array = sparse("|u1", &format!("({BYTES},)"), BYTES);
    let truths = sparse("|b1", &format!("({BYTES},)"), BYTES);
    let offsets = sparse("<i8", &format!("({},)", BYTES / 8), BYTES);
    let one = Temporary::new(&npy(
        1,
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }",
        &[1],
    ));
    let path = |file: &Temporary| file.0.to_str().unwrap().to_owned();
    let [array, truths, offsets, one] = [&array, &truths, &offsets, &one].map(path);
    let all = format!("{BYTES} bytes");
    let eightfold = format!("{} bytes", 8 * BYTES);
    for (op, file, more, says) in [
        ("max", &array, &["--segment-size", "1"][..], &all),
        ("sum", &array, &["--segment-size", "1"], &eightfold),
        ("distinct", &array, &["--segment-size", "1"], &eightfold),
        ("sum", &array, &["--segment-size", "1", "--explain"], &eightfold),
        ("max", &array, &["--axis", "0"], &all),
        ("distinct", &array, &[], &all),
        ("any", &truths, &["--axis", "0"], &all),
        ("max", &one, &["--offsets", &offsets], &all),
        ("max", &array, &["--offsets", &offsets], &all),
        ("max", &array, &["--where", &one], &all),
        ("max", &array, &["--where", &truths], &all),
        ("max", &array, &["--where", &one, "--segment-size", "1024"], &all),
    ] {
        let arguments = [&["reduce", op, file, "--device", "cpu"][..], more].concat();
        let output = limited("-v 8000000", &arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{op} {more:?}: {error}");
        assert!(
            error.starts_with("warpfold: ") && error.lines().count() == 1,
            "{op} {more:?}: {error}"
        );
        assert!(
            error.contains("memory") && error.contains(says),
            "{op} {more:?}: {error}"
        );
    }
}

/// Segments of one size are folded some at a time: as rows of that length, with a shorter last one, and beside a mask.
#[test]
fn many_segments_are_folded_as_rows_are() {
    let folder = Folder::new();
    let (by_size, by_row) = (folder.file("size.npy"), folder.file("row.npy"));
    let rows = (1 << 20) + 77;
    let bytes: Vec<u8> = (0..2 * rows).map(|i| (i * 37 % 251) as u8).collect();
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, 2), }}");
    let array = Temporary::new(&npy(1, &header, &bytes));
    let written = |file: &str| fs::read(file).unwrap();
    for (op, more) in [
        ("max", &[][..]),
        ("distinct", &[]),
        ("max", &["--where", array.0.to_str().unwrap()]),
    ] {
        // Of many answers the ends are shown, so no JSON of them all.
        for (how, out) in [(["--segment-size", "2"], &by_size), (["--axis", "1"], &by_row)] {
            let output = super::runs::reduce(op, &array.0, &[&how[..], more, &["--out", out]].concat());
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
        assert!(written(&by_size) == written(&by_row), "{op} {more:?}");
    }
    let values = uneven(3 * (1 << 20) + 1);
    let single = Temporary::array(&format!("({},)", values.len()), &values);
    let dots = json_of(
        "dot",
        &single.0,
        &["--with", single.0.to_str().unwrap(), "--segment-size", "1000000"],
    );
    let dot = |values: &[f32]| warpfold::fold(warpfold::ops::Dot).on_cpu((values, values)).unwrap();
    let expected: Vec<f32> = values.chunks(1_000_000).map(dot).collect();
    let answers: Vec<f32> = dots["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dot| dot.as_f64().unwrap() as f32)
        .collect();
    assert_eq!(answers, expected);
}

/// Files are opened one after the other.
#[test]
#[cfg(unix)]
fn more_files_than_can_be_open_are_read() {
    let folder = Folder::new();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
    let files: Vec<String> = (0..300).map(|i| folder.file(&format!("{i:03}.npy"))).collect();
    for (i, file) in files.iter().enumerate() {
        fs::write(file, npy(1, header, &(i as f32).to_le_bytes())).unwrap();
    }
    for command in ["describe", "list"] {
        let mut arguments = vec![command, "--json"];
        arguments.extend(files.iter().map(String::as_str));
        let output = limited("-n 64", &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let list: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(list.len(), 300);
        assert!(list.iter().zip(&files).all(|(object, file)| object["file"] == **file));
    }
    let text_of = |command| {
        text(
            &limited(
                "-n 64",
                &[&[command][..], &files.iter().map(String::as_str).collect::<Vec<_>>()].concat(),
            )
            .stdout,
        )
        .to_owned()
    };
    assert!(text_of("describe").contains("300 arrays, 1200 bytes in "));
    assert_eq!(text_of("list").matches("1 array, 4 bytes").count(), 300);
}

/// Arrays of one element, as checkpoints have them by the thousand: to describe one takes about as long as to list it, and no thread.
#[test]
fn many_small_arrays_are_described_at_once() {
    const COUNT: usize = 20_000;
    let entry = |i: usize| {
        let (start, end) = (4 * i, 4 * i + 4);
        format!("\"scalar.{i}\":{{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[{start},{end}]}}")
    };
    let header = format!("{{{}}}", (0..COUNT).map(entry).collect::<Vec<_>>().join(","));
    let data: Vec<u8> = (0..COUNT).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let file = Temporary::new(&[&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat());
    let timed = |arguments: &[&str]| {
        let start = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_warpfold"))
            .args(arguments)
            .arg(&file.0)
            .output()
            .unwrap();
        assert!(text(&output.stdout).contains("20000 arrays, 80000 bytes"));
        start.elapsed()
    };
    // The machine may be busy with other tests: with all of them alike.
    let (described, listed) = (timed(&["describe", "--device", "cpu"]), timed(&["list"]));
    assert!(
        described < 8 * listed + Duration::from_secs(2),
        "{described:?} and {listed:?}"
    );
}
