//! What the library exports: Python's entry point alone. The driver's functions, which it defines for cust, would be found by other libraries of
//! the process in place of the driver's own.

use std::{env, path::PathBuf, process::Command};

/// The library that was compiled with this test.
fn library() -> PathBuf {
    let folder = env::current_exe()
        .expect("this program")
        .parent()
        .expect("a folder")
        .to_owned();
    let name = "lib_warpfold.so";
    let places = [folder.join(name), folder.join("..").join(name)];
    places
        .into_iter()
        .find(|path| path.is_file())
        .expect("the library is beside its tests")
}

#[cfg(target_os = "linux")]
#[test]
fn one_symbol_is_exported() {
    let said = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library())
        .output()
        .expect("nm runs");
    let text = String::from_utf8(said.stdout).expect("text");
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(names, ["PyInit__warpfold"]);
}
