//! `warpfold reduce --out`: what is never lost, and what is never left.

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use warpfold::files::TensorFile;

use super::{
    DATA, Temporary, npy,
    runs::{Folder, fails, json_of, reduce},
    text,
};

fn array(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    npy(
        1,
        &format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"),
        bytes,
    )
}

fn mode(file: &str) -> u32 {
    fs::metadata(file).unwrap().mode() & 0o7777
}

/// By no name of its own, nor by a link's.
#[test]
fn no_input_is_replaced() {
    let folder = Folder::new();
    let numbers = array("<f4", "(2, 3)", &[0; 24]);
    let mask = br#"{"m":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}"#;
    let mask = [&(mask.len() as u64).to_le_bytes(), &mask[..], &[1, 0, 1]].concat();
    let offsets = array("|u1", "(3,)", &[0, 1, 6]);
    for (name, bytes) in [
        ("array.npy", &numbers),
        ("with.npy", &numbers),
        ("offsets.npy", &offsets),
        ("where.safetensors", &mask),
    ] {
        fs::write(folder.file(name), bytes).unwrap();
        fs::hard_link(folder.file(name), folder.file(&format!("hard-{name}"))).unwrap();
        symlink(name, folder.file(&format!("soft-{name}"))).unwrap();
    }
    let before = folder.contents();
    let input = folder.file("array.npy");
    let of_member = folder.file("where.safetensors:m");
    for (op, option, value, file, called) in [
        ("sum", "--keepdim", "", "array.npy", "the input"),
        ("distinct", "--keepdim", "", "array.npy", "the input"),
        (
            "dot",
            "--with",
            &folder.file("with.npy"),
            "with.npy",
            "the array of --with",
        ),
        (
            "sum",
            "--offsets",
            &folder.file("offsets.npy"),
            "offsets.npy",
            "the array of --offsets",
        ),
        (
            "distinct",
            "--offsets",
            &folder.file("soft-offsets.npy"),
            "offsets.npy",
            "the array of --offsets",
        ),
        (
            "sum",
            "--where",
            &of_member,
            "where.safetensors",
            "the array of --where",
        ),
    ] {
        for how in ["", "hard-", "soft-", "./"] {
            let out = folder.file(&format!("{how}{file}"));
            let mut more = vec![option, value, "--out", &out];
            more.retain(|argument| !argument.is_empty());
            fails(
                op,
                Path::new(&input),
                &more,
                &[&out, called, file, "so it is not replaced"],
            );
            assert_eq!(folder.contents(), before, "{op} {option} --out {out}");
        }
    }
    // Beside them all is well.
    let out = folder.file("out.npy");
    json_of("sum", Path::new(&input), &["--where", &of_member, "--out", &out]);
    assert_eq!(fs::metadata(&out).unwrap().nlink(), 1);
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_its_links() {
    let folder = Folder::new();
    let (file, link) = (folder.file("out.npy"), folder.file("link.npy"));
    let sums = |out: &str| {
        json_of("sum", Path::new(DATA), &["--axis", "0", "--out", out]);
        let written = TensorFile::open(out).unwrap().one().unwrap();
        assert_eq!(written.shape(), [20]);
    };
    for bits in [0o600, 0o640, 0o666, 0o444] {
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(bits)).unwrap();
        let before = fs::metadata(&file).unwrap();
        sums(&file);
        let after = fs::metadata(&file).unwrap();
        assert_eq!(mode(&file), bits);
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        fs::remove_file(&file).unwrap();
    }
    // Written through a link, to a file that is there and to one that is not.
    symlink("out.npy", &link).unwrap();
    for bits in [None, Some(0o620)] {
        if let Some(bits) = bits {
            fs::set_permissions(&file, Permissions::from_mode(bits)).unwrap();
        }
        sums(&link);
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("out.npy"));
        assert!(bits.is_none_or(|bits| mode(&file) == bits));
    }
    assert_eq!(folder.names().len(), 2, "{:?}", folder.names());
    symlink("circle.npy", folder.file("circle.npy")).unwrap();
    let circle = folder.file("circle.npy");
    fails("sum", Path::new(DATA), &["--out", &circle], &[&circle, "links"]);
}

#[test]
fn a_new_file_has_the_mode_that_the_umask_leaves() {
    let folder = Folder::new();
    for (umask, bits) in [("022", 0o644), ("027", 0o640), ("000", 0o666), ("077", 0o600)] {
        let out = folder.file(&format!("{umask}.npy"));
        let script = format!("umask {umask}; exec \"$0\" reduce sum \"$1\" --device cpu --out \"$2\"");
        let status = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_warpfold"), DATA, &out])
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        assert_eq!(mode(&out), bits, "umask {umask}");
    }
}

#[test]
fn more_axes_than_numpy_has_are_refused_before_anything_is_written() {
    let folder = Folder::new();
    let of_ones = |axes: usize| Temporary::new(&array2(&format!("({})", "1, ".repeat(axes))));
    let out = folder.file("o.npy");
    for (axes, op) in [(65, "sum"), (65, "distinct"), (21_900, "sum")] {
        let file = of_ones(axes);
        for more in [
            &["--keepdim", "--out", &out][..],
            &["--axis", "0", "--out", &out],
            &["--segment-size", "1"],
        ] {
            let says = if axes == 65 {
                "65 axes, and an array has at most 64"
            } else {
                ""
            };
            fails(op, &file.0, more, &[file.0.to_str().unwrap(), says]);
        }
    }
    let most = of_ones(64);
    let says = [&*out, "answers of 65 axes are not written", "at most 64"];
    fails("minmax", &most.0, &["--keepdim", "--out", &out], &says);
    fails("minmax", &most.0, &["--keepdim", "--axis", "3", "--out", &out], &says);
    assert!(folder.names().is_empty(), "{:?}", folder.names());
    json_of("sum", &most.0, &["--keepdim", "--out", &out]);
    assert_eq!(folder.names(), ["o.npy"]);
    // As the second array, too.
    let (one, many) = (of_ones(1), of_ones(65));
    let many = many.0.to_str().unwrap();
    for (op, option) in [("dot", "--with"), ("sum", "--where"), ("sum", "--offsets")] {
        fails(op, &one.0, &[option, many], &[many, "65 axes"]);
    }
}

/// One float32, in a header of version 2, which may be long.
fn array2(shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    npy(2, &header, &[0; 4])
}

#[test]
fn a_long_name_is_written() {
    let folder = Folder::new();
    let name = format!("{}.npy", "n".repeat(251));
    json_of("sum", Path::new(DATA), &["--out", &folder.file(&name)]);
    assert_eq!(folder.names(), [name]);
}

/// What cannot be explained is said before anything is folded and written.
#[test]
fn an_error_leaves_no_file() {
    let folder = Folder::new();
    let halves = Temporary::new(&array("<f2", "(4,)", &[0; 8]));
    let mask = Temporary::new(&array("|b1", "(4,)", &[1; 4]));
    let (mask, out) = (mask.0.to_str().unwrap(), folder.file("out.npy"));
    let more = ["--where", mask, "--out", &out, "--explain"];
    fails("skew", &halves.0, &more, &["no such kernel of skew"]);
    assert!(folder.names().is_empty());
    let output = reduce("skew", &halves.0, &more[..4]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(folder.names(), ["out.npy"]);
}

/// While the answers are written there is a file beside the output. An interrupt ends the program as ever, and that file goes.
#[test]
fn an_interrupt_leaves_no_file() {
    let folder = Folder::new();
    let (input, out) = (folder.file("in.npy"), folder.file("out.npy"));
    // Zeros that are nowhere on the disk, each an answer.
    let count = 2 << 20;
    let header = array("<f8", &format!("({count}, 1)"), &[]);
    fs::write(&input, &header).unwrap();
    let file = fs::File::options().append(true).open(&input).unwrap();
    file.set_len(header.len() as u64 + 8 * count).unwrap();
    let interrupted = |signal: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_warpfold"))
            .args(["reduce", "max", &input, "--axis", "1", "--device", "cpu", "--out", &out])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while folder.names().len() == 1 {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            thread::sleep(Duration::from_micros(200));
        }
        let kill = format!("kill -s {signal} {}", child.id());
        // Until it is waited for there is a process of that number, even if it has ended.
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        child.wait().unwrap()
    };
    for (signal, number) in [("TERM", 15), ("INT", 2), ("QUIT", 3), ("HUP", 1)] {
        // The program may be too quick, or the signal come between the file's last name and the program's end: then the file is whole.
        let came_in_time = (0..30).any(|_| {
            let status = interrupted(signal);
            let names = folder.names();
            assert!(status.success() || status.signal() == Some(number), "{status}");
            if names == ["in.npy"] {
                return true;
            }
            assert!(names.len() == 2 && names.contains(&"out.npy".to_owned()), "{names:?}");
            assert_eq!(fs::metadata(&out).unwrap().len() - header.len() as u64, 8 * count);
            fs::remove_file(&out).unwrap();
            false
        });
        assert!(came_in_time, "no {signal} came while the file was written");
    }
}
