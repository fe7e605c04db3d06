use zip::CompressionMethod::Stored;

use super::{
    super::tests::{npy, zipped},
    *,
};

/// A folder that lives as long as the test that made it.
struct Folder(PathBuf);

impl Folder {
    fn new(files: &[(&str, Vec<u8>)]) -> Self {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("warpfold-checkpoint-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        for (name, bytes) in files {
            fs::write(path.join(name), bytes).unwrap();
        }
        Self(path)
    }

    /// What opening a path below it says is wrong, the folder called `DIR`.
    fn refused(&self, below: &str) -> String {
        let error = Checkpoint::open(self.0.join(below)).unwrap_err();
        self.in_words(&error.to_string())
    }

    fn in_words(&self, words: &str) -> String {
        words.replace(self.0.to_str().unwrap(), "DIR")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file with these tensors, each of one byte: its place.
fn safetensors(names: &[&str]) -> Vec<u8> {
    let entry = |(at, name): (usize, &&str)| {
        let end = at + 1;
        format!(r#""{name}":{{"dtype":"U8","shape":[1],"data_offsets":[{at},{end}]}}"#)
    };
    let entries: Vec<String> = names.iter().enumerate().map(entry).collect();
    let header = format!(r#"{{"__metadata__":{{"of":"shard"}},{}}}"#, entries.join(","));
    let data: Vec<u8> = (0..names.len() as u8).collect();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

/// A `.gguf` file of these tensors of one int8, and a number of tensors in its metadata.
fn gguf(names: &[&str], count: u16) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let mut bytes = [b"GGUF".as_slice(), &3_u32.to_le_bytes()].concat();
    bytes.extend((names.len() as u64).to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(text("split.tensors.count"));
    bytes.extend(2_u32.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    for (at, name) in names.iter().enumerate() {
        bytes.extend(text(name));
        bytes.extend([0_u32, 24].map(u32::to_le_bytes).concat());
        bytes.extend((at as u64 * 32).to_le_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(32) + names.len() * 32, 5);
    bytes
}

fn index(map: &[(&str, &str)]) -> Vec<u8> {
    let entries: Vec<String> = map.iter().map(|(name, file)| format!(r#""{name}":"{file}""#)).collect();
    let entries = entries.join(",");
    format!(r#"{{"metadata":{{"total_size":4,"by":"hand"}},"weight_map":{{{entries}}}}}"#).into_bytes()
}

fn names(checkpoint: &Checkpoint) -> Vec<&str> {
    checkpoint.tensors().map(|tensor| tensor.called().unwrap()).collect()
}

fn faults(folder: &Folder, checkpoint: &Checkpoint) -> Vec<String> {
    let faults = checkpoint.faults().iter();
    faults.map(|fault| folder.in_words(&fault.to_string())).collect()
}

#[test]
fn an_index_and_its_files_are_one_list() {
    let listed = index(&[
        ("v", "b.safetensors"),
        ("w.0", "a.safetensors"),
        ("w.1", "./a.safetensors"),
    ]);
    let folder = Folder::new(&[
        ("a.safetensors", safetensors(&["w.0", "w.1"])),
        ("b.safetensors", safetensors(&["v"])),
        ("not-of-the-index.safetensors", safetensors(&["x"])),
        (USUAL_INDEX, listed),
        ("second.safetensors.index.json", index(&[])),
    ]);
    for path in [folder.0.clone(), folder.0.join(USUAL_INDEX)] {
        let opened = Checkpoint::open(&path).unwrap();
        assert_eq!(names(&opened), ["w.0", "w.1", "v"]);
        assert!(opened.faults().is_empty() && opened.path() == path);
        let files: Vec<_> = opened
            .tensors()
            .map(|tensor| tensor.file().file_name().unwrap())
            .collect();
        assert_eq!(files, ["a.safetensors", "a.safetensors", "b.safetensors"]);
        assert_eq!(opened.tensor("w.1").unwrap().read::<u8>().unwrap(), [1]);
        let metadata: Vec<_> = opened
            .metadata()
            .iter()
            .map(|(key, value)| (&**key, &**value))
            .collect();
        assert_eq!(metadata, [("total_size", "4"), ("by", "hand")]);
        assert_eq!(opened.files()[0].metadata(), [("of".to_owned(), "shard".to_owned())]);
    }
}

#[test]
fn an_index_and_its_files_are_compared_both_ways() {
    let folder = Folder::new(&[
        ("a.safetensors", safetensors(&["both", "unlisted", "moved"])),
        ("cut.safetensors", safetensors(&["lost"])[..20].to_vec()),
        (
            USUAL_INDEX,
            index(&[
                ("both", "a.safetensors"),
                ("absent", "a.safetensors"),
                ("moved", "gone.safetensors"),
                ("lost", "cut.safetensors"),
                ("out", "../a.safetensors"),
                ("root", "/a.safetensors"),
                ("both", "a.safetensors"),
            ]),
        ),
    ]);
    let opened = Checkpoint::open(&folder.0).unwrap();
    assert_eq!(names(&opened), ["both", "unlisted", "moved"]);
    assert_eq!(opened.tensor("both").unwrap().read::<u8>().unwrap(), [0]);
    assert_eq!(
        faults(&folder, &opened),
        [
            "tensor \"both\" is in DIR/a.safetensors and in DIR/a.safetensors",
            "its index names \"../a.safetensors\", which is not in its folder",
            "its index names \"/a.safetensors\", which is not in its folder",
            "tensor \"absent\" of the index is not in DIR/a.safetensors",
            "the index has no tensor \"unlisted\" in DIR/a.safetensors, which has it",
            "the index has no tensor \"moved\" in DIR/a.safetensors, which has it",
            "DIR/cut.safetensors is no .safetensors file that can be read: its header has 86 bytes, the file 12 behind the \
             header's length",
            "DIR/gone.safetensors is missing, with tensor \"moved\"",
        ]
    );
    let says = |name: &str| folder.in_words(&opened.tensor(name).unwrap_err().to_string());
    assert_eq!(
        says("absent"),
        "DIR: tensor \"absent\" of the index is not in DIR/a.safetensors"
    );
    assert!(says("lost").starts_with("DIR: DIR/cut.safetensors is no .safetensors file"));
    let named = Checkpoint::open(format!("{}:absent", folder.0.display())).unwrap_err();
    assert_eq!(folder.in_words(&named.to_string()), says("absent"));
    assert!(says("nothing").starts_with("DIR has no array \"nothing\": it has both, unlisted, moved"));
}

#[test]
fn names_and_patterns_pick_tensors() {
    let folder = Folder::new(&[
        (
            "a.safetensors",
            safetensors(&["l.0.w", "l.0.b", "l.1.w", "l.[01].w", "l.*"]),
        ),
        ("b.npz", zipped(Stored, &[("l.2.w.npy", &npy("'|u1'", "(1,)", &[7]))])),
        ("c.npy", npy("'|u1'", "(1,)", &[8])),
    ]);
    let of = |pattern: &str| {
        let path = format!("{}:{pattern}", folder.0.display());
        Checkpoint::open(&path).map(|opened| names(&opened).into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    for (pattern, found) in [
        ("l.1.w", &["l.1.w"][..]),
        ("l.?.w", &["l.0.w", "l.1.w", "l.2.w"]),
        ("l.*.w", &["l.0.w", "l.1.w", "l.[01].w", "l.2.w"]),
        ("*[!w]", &["l.0.b", "l.*", "c.npy"]),
        // Names of their own.
        ("l.[01].w", &["l.[01].w"]),
        ("l.*", &["l.*"]),
        ("c.npy", &["c.npy"]),
    ] {
        assert_eq!(of(pattern).unwrap(), found, "{pattern}");
        let file = TensorFile::open(format!("{}/a.safetensors:{pattern}", folder.0.display()));
        let in_file: Vec<_> = found
            .iter()
            .filter(|name| name.starts_with("l.") && **name != "l.2.w")
            .collect();
        match file {
            Ok(file) => assert!(
                file.tensors()
                    .iter()
                    .map(|tensor| tensor.name().unwrap())
                    .eq(in_file.into_iter().copied())
            ),
            Err(error) => assert!(in_file.is_empty() && matches!(error, Error::NoArray { .. })),
        }
    }
    for none in ["x*", "[", "***", "L.1.w"] {
        assert!(matches!(of(none), Err(Error::NoArray { .. })), "{none}");
    }
}

#[test]
fn a_folder_without_an_index_has_all_its_files() {
    let one = npy("'|u1'", "(1,)", &[7]);
    let folder = Folder::new(&[
        ("z.npy", one.clone()),
        ("b.npz", zipped(Stored, &[("w.npy", &one)])),
        ("a.safetensors", safetensors(&["w", "v"])),
        ("bad.gguf", b"GGUF".to_vec()),
        ("notes.txt", b"nothing".to_vec()),
        ("pytorch_model.bin", b"\x80\x02\x8a".to_vec()),
    ]);
    let opened = Checkpoint::open(&folder.0).unwrap();
    assert_eq!(names(&opened), ["w", "v", "w", "z.npy"]);
    assert_eq!(opened.tensor("z.npy").unwrap().read::<u8>().unwrap(), [7]);
    assert_eq!(
        folder.in_words(&opened.tensor("w").unwrap_err().to_string()),
        "DIR: tensor \"w\" is in DIR/a.safetensors and in DIR/b.npz"
    );
    assert_eq!(
        faults(&folder, &opened),
        [
            "DIR/bad.gguf is no .gguf file that can be read: the version at byte 4 needs 4 bytes, and 0 bytes of the file are left"
        ]
    );
    let single = Checkpoint::open(folder.0.join("b.npz")).unwrap();
    assert_eq!((names(&single), single.files().len()), (vec!["w"], 1));
}

#[test]
fn parts_of_a_gguf_file_are_one() {
    let part = |number: usize| format!("m-{number:05}-of-00003.gguf");
    let parts = [&["a", "b"][..], &["c"], &["d"]];
    let write = |which: &[usize], count: u16| {
        let files: Vec<_> = which.iter().map(|at| (part(*at), gguf(parts[at - 1], count))).collect();
        Folder::new(
            &files
                .iter()
                .map(|(name, bytes)| (&**name, bytes.clone()))
                .collect::<Vec<_>>(),
        )
    };
    let whole = write(&[1, 2, 3], 4);
    for path in [whole.0.clone(), whole.0.join(part(1)), whole.0.join(part(3))] {
        let opened = Checkpoint::open(path).unwrap();
        assert_eq!(names(&opened), ["a", "b", "c", "d"]);
        assert!(opened.faults().is_empty(), "{:?}", opened.faults());
        assert_eq!(opened.tensor("d").unwrap().read::<i8>().unwrap(), [5]);
    }
    let lacks = write(&[1, 3], 4);
    for path in [lacks.0.clone(), lacks.0.join(part(1))] {
        let opened = Checkpoint::open(path).unwrap();
        assert_eq!(names(&opened), ["a", "b", "d"]);
        assert_eq!(faults(&lacks, &opened), ["DIR/m-00002-of-00003.gguf is missing"]);
    }
    assert!(matches!(
        Checkpoint::open(lacks.0.join(part(2))),
        Err(Error::File { .. })
    ));
    let miscounted = write(&[1, 2, 3], 5);
    assert_eq!(
        faults(&miscounted, &Checkpoint::open(&miscounted.0).unwrap()),
        ["its parts should have 5 tensors, and have 4"]
    );
    for no_part in [
        "m-00000-of-00003.gguf",
        "m-00004-of-00003.gguf",
        "m-1-of-3.gguf",
        "m-00001-of-00003.npz",
    ] {
        assert!(Shard::of(Path::new(no_part)).is_none(), "{no_part}");
    }
}

#[test]
fn what_is_no_checkpoint_is_refused_by_name() {
    let pickle = "is a pickle, which may run any code when it is read: convert it with \
                  `safetensors.torch.save_file(torch.load(FILE, weights_only=True), \"model.safetensors\")` in Python";
    let zip = zipped(Stored, &[("archive/data.pkl", b"x"), ("archive/data/0", b"y")]);
    let folder = Folder::new(&[("model.pt", zip), ("raw.bin", b"\x80\x02\x8a\x0al\xfc\x9c".to_vec())]);
    assert_eq!(folder.refused("model.pt"), format!("DIR/model.pt {pickle}"));
    assert_eq!(folder.refused("raw.bin"), format!("DIR/raw.bin {pickle}"));
    assert_eq!(folder.refused(""), format!("DIR/model.pt {pickle}"));

    let empty = Folder::new(&[("notes.txt", Vec::new())]);
    assert_eq!(
        empty.refused("../empty").replace("/../empty", ""),
        "DIR: No such file or directory (os error 2)"
    );
    let words = Checkpoint::open(&empty.0).unwrap_err().to_string();
    assert_eq!(
        empty.in_words(&words),
        "DIR: it has no .safetensors, .gguf, .npz or .npy file"
    );
    let two = Folder::new(&[
        ("a.safetensors.index.json", index(&[])),
        ("b.safetensors.index.json", index(&[])),
    ]);
    let words = Checkpoint::open(&two.0).unwrap_err().to_string();
    assert_eq!(
        two.in_words(&words),
        "DIR: it has several indexes: a.safetensors.index.json, b.safetensors.index.json"
    );
    for (text, says) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{}", "missing field `weight_map` at line 1 column 2"),
        (
            r#"{"weight_map":{"a":1}}"#,
            "invalid type: integer `1`, expected a string at line 1 column 20",
        ),
    ] {
        let bad = Folder::new(&[("m.safetensors.index.json", text.into())]);
        let words = Checkpoint::open(&bad.0).unwrap_err().to_string();
        assert_eq!(
            bad.in_words(&words),
            format!("DIR/m.safetensors.index.json: its index is damaged: {says}")
        );
    }
}
