//! What was wrong once: each fault in its whole kind, with the right value.

use std::{
    fs,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};
use warpfold::files::{DType, TensorFile};

use super::{DATA, Temporary, runs::Folder, text};

pub fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    command.args(arguments);
    command
}

/// A line of the shell's, in which `$0` is the command and the rest are numbered.
pub fn shell(line: &str, arguments: &[&str]) -> Output {
    Command::new("bash")
        .args(["-c", line, env!("CARGO_BIN_EXE_warpfold")])
        .args(arguments)
        .output()
        .unwrap()
}

pub fn bytes<const N: usize>(words: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
    words.into_iter().flatten().collect()
}

pub fn path(file: &Temporary) -> &str {
    file.0.to_str().unwrap()
}

const ROWS: [&[&str]; 6] = [
    &["softmax"],
    &["log-softmax"],
    &["layer-norm"],
    &["rms-norm"],
    &["group-norm", "--groups", "1"],
    &["cross-entropy"],
];

/// A run of a row operation over an array of two axes, of two columns, with targets where it takes them.
fn rows(operation: &[&str], more: &[&str]) -> Output {
    let file = Temporary::array("(3, 2)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let targets = Temporary::typed("<i8", "(3,)", &bytes([0_i64, 1, 1].map(i64::to_le_bytes)));
    let mut arguments = vec![operation[0], path(&file), "--device", "cpu"];
    arguments.extend(&operation[1..]);
    if operation[0] == "cross-entropy" {
        arguments.extend(["--targets", path(&targets)]);
    }
    arguments.extend(more);
    run(&arguments)
}

#[test]
fn shapes_that_do_not_broadcast_are_refused_with_both() {
    let array = |shape: &str, count: usize| Temporary::array(shape, &vec![0.5; count]);
    let targets = |shape: &str, count: usize| Temporary::typed("<i8", shape, &bytes(vec![1_i64.to_le_bytes(); count]));
    let mask = |shape: &str, count: usize| Temporary::typed("|b1", shape, &vec![1; count]);
    let logits = array("(2, 3, 5)", 30);
    let folder = Folder::new();
    let out = folder.file("o.npy");
    for (command, option, other, says) in [
        (
            "cross-entropy",
            "--targets",
            targets("(3, 2)", 6),
            Some(["(3, 2)", "(2, 3)"]),
        ),
        (
            "cross-entropy",
            "--targets",
            targets("(6,)", 6),
            Some(["(6,)", "(2, 3)"]),
        ),
        (
            "cross-entropy",
            "--targets",
            targets("(2, 3, 1)", 6),
            Some(["(2, 3, 1)", "(2, 3)"]),
        ),
        ("cross-entropy", "--targets", targets("(2, 3)", 6), None),
        ("cross-entropy", "--targets", targets("(3,)", 3), None),
        ("cross-entropy", "--targets", targets("(2, 1)", 2), None),
        ("layer-norm", "--weight", array("(3,)", 3), Some(["(3,)", "(5,)"])),
        ("layer-norm", "--bias", array("(5, 1)", 5), Some(["(5, 1)", "(1, 5)"])),
        ("layer-norm", "--bias", array("(3, 5)", 15), Some(["(3, 5)", "(1, 5)"])),
        ("layer-norm", "--weight", array("(1, 5)", 5), None),
        ("layer-norm", "--weight", array("(1,)", 1), None),
        ("rms-norm", "--weight", array("(4,)", 4), Some(["(4,)", "(5,)"])),
        (
            "rms-norm",
            "--residual",
            array("(3, 2, 5)", 30),
            Some(["(3, 2, 5)", "(2, 3, 5)"]),
        ),
        ("rms-norm", "--residual", array("(3, 5)", 15), None),
        ("softmax", "--mask", mask("(3,)", 3), Some(["(3,)", "(2, 3, 5)"])),
        ("softmax", "--mask", mask("(3, 1)", 3), None),
    ] {
        let output = run(&[
            command,
            path(&logits),
            option,
            path(&other),
            "--out",
            &out,
            "--device",
            "cpu",
        ]);
        let error = text(&output.stderr);
        match says {
            Some(shapes) => {
                assert_eq!(output.status.code(), Some(1), "{command} {option}: {error}");
                for words in [path(&other), option, shapes[0], shapes[1]] {
                    assert!(
                        error.contains(words),
                        "{command} {option}: {error} says nothing of {words}"
                    );
                }
                assert!(folder.names().is_empty());
            }
            None => {
                assert!(output.status.success(), "{command} {option}: {error}");
                fs::remove_file(&out).unwrap();
            }
        }
    }
    // What broadcasts has the losses that it has written out.
    let losses = |targets: &Temporary| {
        let output = run(&[
            "cross-entropy",
            path(&logits),
            "--targets",
            path(targets),
            "-o",
            &out,
            "--device",
            "cpu",
        ]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        TensorFile::open(&out).unwrap().one().unwrap().read::<f32>().unwrap()
    };
    assert_eq!(losses(&targets("(3,)", 3)), losses(&targets("(2, 3)", 6)));
}

#[test]
fn describe_says_what_it_did_not_describe() {
    let nan = Temporary::typed(
        "<c8",
        "(3,)",
        &bytes([f32::NAN, 0.0, 3.0, 4.0, f32::INFINITY, 0.0].map(f32::to_le_bytes)),
    );
    let output = run(&["describe", path(&nan), "--json", "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (field, value) in [
        ("count", json!(3)),
        ("nan", json!(1)),
        ("infinities", json!(1)),
        ("min", Value::Null),
        ("l2", json!("NaN")),
        ("linf", json!("NaN")),
    ] {
        assert_eq!(list[0][field], value, "{field}");
    }
    let finite = Temporary::typed("<c16", "(2,)", &bytes([3.0, 4.0, 0.0, 0.0].map(f64::to_le_bytes)));
    let output = run(&["describe", path(&finite), "--json", "--device", "cpu"]);
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list[0]["l2"], json!(5.0));
    assert_eq!(list[0]["mean"], json!({"re": 1.5, "im": 2.0}));

    let raw = Temporary::typed("|V2", "(2,)", &[0; 4]);
    let folder = Folder::new();
    let missing = folder.file("missing.npy");
    let empty = folder.file("empty.npz");
    // The end of a directory of no members.
    fs::write(&empty, [&b"PK\x05\x06"[..], &[0; 18]].concat()).unwrap();
    for (file, says) in [(path(&raw), "|V2"), (&missing, "No such file"), (&empty, "no arrays")] {
        let output = run(&["describe", file, "--device", "cpu"]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
        assert!(!text(&output.stdout).contains("none holds"), "{}", text(&output.stdout));
    }
}

/// What can be read once is read once.
#[test]
fn arrays_come_from_pipes() {
    for (line, is) in [
        ("cat \"$1\" | \"$0\" grad-norm /dev/stdin --device cpu", "2998524.0"),
        ("\"$0\" grad-norm <(cat \"$1\") --device cpu", "2998524.0"),
        (
            "mkfifo \"$2\"; cat \"$1\" >\"$2\" & \"$0\" grad-norm \"$2\" --device cpu",
            "2998524.0",
        ),
        ("cat \"$1\" | \"$0\" reduce sum /dev/stdin --device cpu", "29985240.0"),
        ("\"$0\" describe <(cat \"$1\") --device cpu | grep -c float32", "1"),
        ("\"$0\" check <(cat \"$1\") | grep -c '1 array, 400 bytes'", "1"),
        (
            "\"$0\" diff <(cat \"$1\") \"$1\" | grep -c '1 of 1 arrays are equal'",
            "1",
        ),
        (
            "cat \"$1\" | \"$0\" softmax /dev/stdin --device cpu -o - 2>/dev/null | \"$0\" reduce sum /dev/stdin --device cpu",
            "5.0",
        ),
    ] {
        let folder = Folder::new();
        let output = shell(line, &[DATA, &folder.file("fifo")]);
        assert!(
            text(&output.stdout).starts_with(is),
            "{line}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
    }
}

/// Names that are no Unicode, and names that steer a terminal.
#[test]
fn any_name_is_written_and_shown() {
    let folder = Folder::new();
    let strange = Path::new(&folder.file("")).join(std::ffi::OsStr::from_bytes(b"\xff\x1b[2J\n.npy"));
    for operation in ROWS {
        for json in [true, false] {
            let file = Temporary::array("(3, 2)", &[0.0; 6]);
            let targets = Temporary::typed("|u1", "(3,)", &[0, 1, 1]);
            let mut command = command(&[operation[0], path(&file), "--device", "cpu", "--out"]);
            command.arg(&strange).args(&operation[1..]);
            if operation[0] == "cross-entropy" {
                command.args(["--targets", path(&targets)]);
            }
            if json {
                command.arg("--json");
            }
            let output = command.output().unwrap();
            assert!(
                output.status.success(),
                "{operation:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            let said = text(&output.stdout);
            assert!(!said.contains('\x1b'), "{said:?}");
            assert_eq!(said.lines().count(), if json { 1 } else { 2 }, "{said}");
            if json {
                let object: Value = serde_json::from_str(said).unwrap();
                assert!(object["out"].as_str().unwrap().contains(".npy"));
            }
            fs::remove_file(&strange).unwrap();
        }
    }
}

/// By the end of the name, of all that writes; other names are refused before anything is computed.
#[test]
fn answers_are_written_as_the_name_says() {
    let folder = Folder::new();
    let bf16 = Temporary::new(&{
        let header = br#"{"logits":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}} "#;
        [
            &(header.len() as u64).to_le_bytes(),
            &header[..],
            &[0, 0x3f, 0x80, 0x3f, 0, 0x40, 0, 0],
        ]
        .concat()
    });
    for (name, dtype) in [
        ("o.npy", DType::F32),
        ("o.NPZ", DType::F32),
        ("o.safetensors", DType::Bf16),
    ] {
        let out = folder.file(name);
        for (arguments, array) in [
            (&["softmax"][..], "logits"),
            (&["reduce", "max", "--axis", "0"], "logits"),
        ] {
            let (command, more) = arguments.split_at(if arguments[0] == "reduce" { 2 } else { 1 });
            let all = [command, &[path(&bf16)], more, &["--device", "cpu", "-o", &out]].concat();
            let output = run(&all);
            assert!(output.status.success(), "{all:?}: {}", text(&output.stderr));
            let written = TensorFile::open(&out).unwrap().one().unwrap();
            assert_eq!(written.dtype(), dtype, "{name}");
            assert_eq!(written.name(), (name != "o.npy").then_some(array));
        }
        fs::remove_file(&out).unwrap();
    }
    for operation in ROWS {
        for name in ["o.txt", "o", "o.npy.gz"] {
            let output = rows(operation, &["--out", &folder.file(name)]);
            let error = text(&output.stderr);
            assert!(
                output.status.code() == Some(1) && error.contains(".npy, .npz or .safetensors"),
                "{error}"
            );
        }
    }
    assert!(folder.names().is_empty(), "{:?}", folder.names());
    for operation in ROWS {
        let output = rows(operation, &["--out", "-"]);
        assert!(output.stdout.starts_with(b"\x93NUMPY"), "{operation:?}");
        assert!(
            text(&output.stderr).contains("written to standard output"),
            "{}",
            text(&output.stderr)
        );
    }
    let output = run(&[
        "reduce", "sum", DATA, "--axis", "0", "--device", "cpu", "-o", "-", "--json",
    ]);
    assert!(output.stdout.starts_with(b"\x93NUMPY"));
    assert_eq!(serde_json::from_slice::<Value>(&output.stderr).unwrap()["op"], "sum");
    assert!(!Path::new("-").exists());
}

#[test]
fn what_can_be_listed_is_listed() {
    let folder = Folder::new();
    let missing = folder.file("nope.npy");
    for json in [&[][..], &["--json"]] {
        let output = run(&[&["list", DATA, &missing][..], json].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stdout).contains("float32") && text(&output.stderr).contains("nope.npy"));
        assert_eq!(text(&output.stderr).lines().count(), 1);
    }
    let member = zip_of(&[("good.npy", &fs::read(DATA).unwrap()), ("bad.npy", b"no array")]);
    let archive = folder.file("a.npz");
    fs::write(&archive, member).unwrap();
    let output = run(&["list", &archive]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("good") && text(&output.stderr).contains("bad"));
}

/// An archive of stored members.
fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (vec![], vec![]);
    for (name, data) in members {
        let crc = crc32(data);
        let sizes = [
            crc.to_le_bytes(),
            (data.len() as u32).to_le_bytes(),
            (data.len() as u32).to_le_bytes(),
        ]
        .concat();
        let name_length = (name.len() as u16).to_le_bytes();
        let offset = (bytes.len() as u32).to_le_bytes();
        bytes.extend(
            [
                &b"PK\x03\x04\x14\0\0\0\0\0\0\0\x21\0"[..],
                &sizes,
                &name_length,
                &[0, 0],
                name.as_bytes(),
                data,
            ]
            .concat(),
        );
        directory.extend(
            [
                &b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\x21\0"[..],
                &sizes,
                &name_length,
                &[0; 12],
                &offset,
                name.as_bytes(),
            ]
            .concat(),
        );
    }
    let counts = [
        (members.len() as u16).to_le_bytes(),
        (members.len() as u16).to_le_bytes(),
    ]
    .concat();
    let ends = [
        (directory.len() as u32).to_le_bytes(),
        (bytes.len() as u32).to_le_bytes(),
    ]
    .concat();
    [&bytes[..], &directory, b"PK\x05\x06\0\0\0\0", &counts, &ends, &[0, 0]].concat()
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1))
        })
    })
}

/// A negative number is one for every option that takes numbers: what is wrong with it is said of the number.
#[test]
fn negative_values_are_values() {
    let file = Temporary::array("(3, 2)", &[0.0; 6]);
    let targets = Temporary::typed("|u1", "(3,)", &[0, 1, 1]);
    let (file, targets) = (path(&file), path(&targets));
    let loss = ["cross-entropy", file, "--targets", targets, "-o", "-"];
    let norm = ["layer-norm", file, "-o", "-"];
    let groups = ["group-norm", file, "-o", "-"];
    let softmax = ["softmax", file, "-o", "-"];
    for (command, option, value, says) in [
        (&loss[..], "--label-smoothing", "-0.1", "from 0 to 1"),
        (&loss, "--label-smoothing", "1.5", "from 0 to 1"),
        (&loss, "--z-loss", "-1", "at least 0"),
        (&norm, "--eps", "-1", "above 0"),
        (&norm, "--eps", "0", "above 0"),
        (&groups, "--groups", "-1", "at least 1"),
        (&softmax, "--temperature", "0", "above 0"),
        (&softmax, "--temperature", "-2", "above 0"),
        (&softmax, "--scale", "1e-40", "2^-100"),
        (&["ladder"], "--elements", "-1", "from 1 to "),
        (&["ladder"], "--factor", "-1", "from 1 to "),
        (&["ladder"], "--runs", "-1", "from 1 to "),
        (&["accuracy"], "--log", "-1", "from 4 to 26"),
        (&["grad-norm", file], "--ord", "-1", "1 or more"),
        (&["diff", file, file], "--tolerance", "-1", "at least 0"),
    ] {
        let output = run(&[command, &[option, value]].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option} {value}: {error}");
        assert!(
            error.contains(option) && error.contains(value) && error.contains(says),
            "{error}"
        );
    }
}

#[test]
fn a_closed_pipe_ends_without_a_word() {
    let many = Temporary::array("(400000, 1)", &vec![1.0; 400_000]);
    for line in [
        "\"$0\" reduce sum \"$1\" --axis 1 --device cpu --json | head -c 1",
        "\"$0\" softmax \"$1\" --device cpu -o - | head -c 1",
        "\"$0\" ops | true",
        "\"$0\" --help | true",
    ] {
        let output = shell(line, &[path(&many)]);
        let error = text(&output.stderr);
        assert!(
            !error.contains("roken pipe") && !error.contains("panic"),
            "{line}: {error}"
        );
    }
}
