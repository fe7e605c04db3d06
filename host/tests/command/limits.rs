//! Signals and limits while files are read and written.

use std::{
    fs,
    io::Read as _,
    os::unix::process::ExitStatusExt as _,
    process::{Command, Stdio},
};

use super::{
    Temporary,
    faults::{command, path, shell},
    npy,
    runs::Folder,
    text,
};

/// A signal or a limit while answers are written: nothing is left, and the output that was there stays.
#[test]
#[cfg(target_os = "linux")]
fn signals_leave_no_file() {
    let input = Temporary::array("(4096, 1024)", &vec![1.0; 1 << 22]);
    let folder = Folder::new();
    let out = folder.file("o.npy");
    fs::write(&out, "kept").unwrap();
    let status = |line: &str| shell(line, &[path(&input), &out]);
    let output = status("ulimit -f 1000; \"$0\" softmax \"$1\" --device cpu -o \"$2\"");
    assert_eq!(output.status.code(), Some(1), "{:?}", output.status.signal());
    assert!(
        text(&output.stderr).contains("file too large"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!((folder.names().len(), fs::read(&out).unwrap()), (1, b"kept".to_vec()));

    // The program waits for the rest of its input, with its output begun.
    let bytes = fs::read(&input.0).unwrap();
    for (signal, number, ignored) in [("HUP", 1, false), ("QUIT", 3, false), ("HUP", 1, true)] {
        let prefix = if ignored { "trap '' HUP; " } else { "" };
        let line = format!("{prefix}exec \"$0\" softmax /dev/stdin --device cpu -o \"$1\"");
        let fifo = folder.file("fifo.npy");
        let mut child = Command::new("bash")
            .args(["-c", &line, env!("CARGO_BIN_EXE_warpfold"), &fifo])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, &bytes[..1 << 20]).unwrap();
        for _ in 0..2000 {
            if folder.names().len() > 1 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(folder.names().len(), 2, "nothing is written");
        let kill = format!("kill -s {signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        // Another sees its end come before the input's.
        if ignored {
            std::io::Write::write_all(&mut stdin, &bytes[1 << 20..]).unwrap();
            drop(stdin);
        }
        let status = child.wait().unwrap();
        if ignored {
            assert!(status.success(), "{status}");
            fs::remove_file(&fifo).unwrap();
        } else {
            assert_eq!(status.signal(), Some(number), "{status}");
        }
        assert_eq!(folder.names(), ["o.npy"]);
    }
}

/// An array of 300 MB where there are 800 MB of address space.
#[test]
#[cfg(target_os = "linux")]
fn peaks_are_at_most_twice_the_array() {
    let folder = Folder::new();
    let (input, out, sums) = (folder.file("in.npy"), folder.file("out.npy"), folder.file("sums.npy"));
    let shape = "(75000, 1000)";
    let header = npy(
        1,
        &format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"),
        &[],
    );
    fs::write(&input, &header).unwrap();
    let file = fs::File::options().append(true).open(&input).unwrap();
    file.set_len(header.len() as u64 + 300_000_000).unwrap();
    // Of what is mapped as a whole, the array and its answers; some of the limit is the program's own.
    for (limit, line) in [
        (800_000, "\"$0\" softmax \"$1\" --device cpu -o \"$2\""),
        (1_000_000, "\"$0\" softmax \"$1\" --axis 0 --device cpu -o \"$2\""),
        (
            800_000,
            "\"$0\" rms-norm \"$1\" --residual \"$1\" --sum-out \"$3\" --device cpu -o \"$2\"",
        ),
        (
            800_000,
            "\"$0\" reduce sum \"$1\" --segment-size 1 --device cpu -o \"$2\"",
        ),
        (800_000, "\"$0\" reduce max \"$1\" --axis 1 --device cpu -o \"$2\""),
    ] {
        let output = shell(&format!("ulimit -v {limit}; {line}"), &[&input, &out, &sums]);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", text(&output.stderr));
    }
    // Less than the array: out of memory in words, nothing left.
    fs::remove_file(&out).unwrap();
    fs::remove_file(&sums).unwrap();
    let output = shell(
        "ulimit -v 500000; \"$0\" softmax \"$1\" --axis 0 --device cpu -o \"$2\"",
        &[&input, &out],
    );
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("memory"), "{}", text(&output.stderr));
    assert_eq!(folder.names(), ["in.npy"]);
}

/// A file that is cut while it is read is an error: never a signal, never a number.
#[test]
fn a_file_that_shrinks_is_an_error() {
    let folder = Folder::new();
    let input = folder.file("in.npy");
    let header = npy(
        1,
        "{'descr': '|u1', 'fortran_order': False, 'shape': (8589934592,), }",
        &[],
    );
    for (arguments, is_reduce) in [
        (&["reduce", "sum", &input, "--device", "cpu"][..], true),
        (&["check", &input], false),
    ] {
        fs::write(&input, &header).unwrap();
        let file = fs::File::options().append(true).open(&input).unwrap();
        file.set_len(header.len() as u64 + (8 << 30)).unwrap();
        let mut child = command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        file.set_len(header.len() as u64 + (1 << 20)).unwrap();
        let status = child.wait().unwrap();
        let (mut out, mut error) = (String::new(), String::new());
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert_eq!(status.code(), Some(1), "{out}{error}");
        assert!(format!("{out}{error}").contains("is cut short"), "{out}{error}");
        assert!(!is_reduce || out.is_empty());
    }
}
