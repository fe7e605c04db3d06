//! Runs of `warpfold reduce` on the CPU, and a folder for what they write.

use std::{collections::BTreeMap, fs, path::Path, process::Output};

use serde_json::Value;

use super::{Temporary, text};

/// Runs `reduce OP FILE --device cpu` with further arguments.
pub fn reduce(op: &str, file: &Path, more: &[&str]) -> Output {
    let mut arguments = vec!["reduce", op, file.to_str().unwrap(), "--device", "cpu"];
    arguments.extend(more);
    super::Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(arguments)
        .output()
        .unwrap()
}

/// The one JSON object of a good run.
#[track_caller]
pub fn json_of(op: &str, file: &Path, more: &[&str]) -> Value {
    let output = reduce(op, file, &[more, &["--json"]].concat());
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The command fails, says so in one line, and leaves no file behind.
#[track_caller]
pub fn fails(op: &str, file: &Path, more: &[&str], says: &[&str]) {
    let output = reduce(op, file, more);
    let error = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""), "{error}");
    assert!(error.starts_with("warpfold: ") && error.lines().count() == 1, "{error}");
    for words in says {
        assert!(error.contains(words), "{error:?} says nothing of {words:?}");
    }
}

/// A folder that lives as long as the test that made it.
pub struct Folder(pub Temporary);

impl Folder {
    pub fn new() -> Self {
        let place = Temporary::new(b"");
        fs::remove_file(&place.0).unwrap();
        fs::create_dir(&place.0).unwrap();
        Self(place)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.0.join(name).to_str().unwrap().to_owned()
    }

    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0.0).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    /// What is in each file.
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let names = self.names().into_iter();
        let with_bytes = names.map(|name| (name.clone(), fs::read(self.file(&name)).unwrap()));
        with_bytes.collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0.0);
    }
}
