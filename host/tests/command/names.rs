//! Names that would steer a terminal: whoever made a file chose them.

use std::{fs, process::Command};

use super::{npy, runs::Folder, text};

/// Clears the screen, ends a line, turns the direction of writing.
const EVIL: &str = "a\u{1b}[2Jb\nc\u{202e}d\u{9b}";
const SHOWN: &str = r"a\u{1b}[2Jb\nc\u{202e}d\u{9b}";

fn safetensors(name: &str, dtype: &str) -> Vec<u8> {
    let header = serde_json::json!({name: {"dtype": dtype, "shape": [1], "data_offsets": [0, 4]}}).to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0; 4]].concat()
}

#[test]
fn nothing_that_is_shown_steers_the_terminal() {
    let folder = Folder::new();
    let file = |end: &str, bytes: &[u8]| {
        let path = folder.file(&format!("{EVIL}{end}"));
        fs::write(&path, bytes).unwrap();
        path
    };
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
    let array = file(".npy", &npy(1, header, &[0; 4]));
    let named = file(".safetensors", &safetensors(EVIL, "F32"));
    let strange = file("-strange.safetensors", &safetensors(EVIL, EVIL));
    let broken = file("-broken.npy", b"no array");
    let object = file(
        "-object.npy",
        &npy(
            1,
            "{'descr': [('\x1b[1m', '<f4')], 'fortran_order': False, 'shape': (1,), }",
            &[0; 4],
        ),
    );
    let mask = file(
        "-mask.npy",
        &npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", &[1]),
    );
    let missing = folder.file(&format!("{EVIL}-missing.npy"));
    let out = folder.file(&format!("{EVIL}-out.npy"));
    let member = format!("{named}:{EVIL}");
    let none = format!("{named}:{EVIL}{EVIL}");
    let runs: &[(i32, &[&str])] = &[
        (0, &["reduce", "sum", &array]),
        (0, &["reduce", "sum", &member]),
        (0, &["reduce", "sum", &array, "--out", &out]),
        (0, &["reduce", "dot", &array, "--with", &member]),
        (0, &["reduce", "sum", &array, "--axis", "0", "--where", &mask]),
        (1, &["reduce", "sum", &missing]),
        (1, &["reduce", "sum", &broken]),
        (1, &["reduce", "sum", &object]),
        (1, &["reduce", "sum", &none]),
        (1, &["reduce", "sum", &strange]),
        (1, &["reduce", "distinct", &strange]),
        (1, &["reduce", "sum", &array, "--axis", "7"]),
        (1, &["reduce", "sum", &array, "--out", &array]),
        (1, &["reduce", "sum", &array, "--out", &format!("{missing}/o.npy")]),
        (1, &["reduce", "sum", &array, "--offsets", &member]),
        (1, &["reduce", "sum", &array, "--where", &member]),
        (1, &["reduce", "dot", &array, "--with", &mask]),
        (2, &["reduce", "sum", &array, EVIL]),
        (2, &["reduce", EVIL, &array]),
        (2, &["reduce", "sum", &array, "--device", EVIL]),
        (2, &["reduce", "sum", &array, "--dtype-out", EVIL]),
        (0, &["list", &array]),
        (0, &["list", &array, &named, &strange]),
        (1, &["list", &missing]),
        (1, &["list", &broken]),
        (0, &["describe", &named]),
        (1, &["describe", &array, &named, &strange, &broken, &missing, &none]),
    ];
    for (code, arguments) in runs {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
        command.args(*arguments);
        if arguments[0] != "list" && !arguments.contains(&"--device") {
            command.args(["--device", "cpu"]);
        }
        let output = command.output().unwrap();
        let (said, error) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {error}");
        for shown in [said, error] {
            let steers = |c: char| c != '\n' && c.is_control() || c == '\u{202e}';
            assert!(!shown.contains(steers), "{arguments:?}: {shown:?}");
        }
        // A line's end within a name ends no line: but for what the parser of the command line says, each line says more.
        if *code == 1 && arguments[0] != "describe" {
            assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
        }
        if *code != 2 {
            let all = format!("{said}{error}");
            assert!(
                all.contains(SHOWN) || arguments == &["list", &array],
                "{arguments:?}: {all}"
            );
        }
    }
}
