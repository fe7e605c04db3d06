//! `warpfold describe`.

use serde_json::{Value, json};

use super::{DATA, Temporary, npy, text, warpfold};

/// Two NaNs, an infinity, zeros of both signs.
fn suspicious() -> Temporary {
    Temporary::array(
        "(2, 4)",
        &[1.0, f32::NAN, -0.0, 0.0, -3.5, f32::INFINITY, f32::NAN, 2.0],
    )
}

/// The list of a run that ends well, or not.
#[track_caller]
fn json_of(ends_well: bool, files: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["describe", "--device", "cpu", "--json"];
    arguments.extend(files);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(output.status.success(), ends_well, "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_number_is_there() {
    let file = suspicious();
    let path = file.0.to_str().unwrap();
    let [object] = &json_of(true, &[path])[..] else {
        panic!("one array")
    };
    let expected = json!({
        "file": path, "name": null, "dtype": "float32", "shape": [2, 4],
        "count": 8, "nan": 2, "infinities": 1, "positive_infinities": 1, "negative_infinities": 0, "zeros": 2,
        "min": -3.5, "max": "inf", "argmin": 4, "argmax": 5,
        "sum": "inf", "mean": "inf", "variance": "NaN", "std": "NaN", "skewness": "NaN", "kurtosis": "NaN",
        "l1": "inf", "l2": "inf", "linf": "inf",
    });
    assert_eq!(*object, expected);
}

#[test]
fn a_table_marks_what_is_no_number() {
    let (bad, file) = (suspicious(), Temporary::array("(3,)", &[1.0, 2.0, 6.0]));
    let output = warpfold([
        "describe",
        bad.0.to_str().unwrap(),
        file.0.to_str().unwrap(),
        "--device",
        "cpu",
    ]);
    assert!(output.status.success());
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines[0], bad.0.to_str().unwrap());
    assert_eq!(
        fields(lines[1]),
        ["name", "dtype", "shape", "nan", "inf", "min", "max", "mean", "std"]
    );
    assert_eq!(
        fields(lines[2]),
        ["!", "-", "float32", "(2,", "4)", "2", "1", "-3.5", "inf", "inf", "NaN"]
    );
    assert_eq!(
        fields(lines[6]),
        ["-", "float32", "(3,)", "0", "0", "1", "6", "3", "2.6458"]
    );
    assert_eq!(fields(lines[9]), ["float32", "2", "11", "44"]);
    assert!(lines[11].starts_with("2 arrays, 44 bytes in "), "{}", lines[11]);
    assert_eq!(lines[12], "1 array holds NaN or an infinity: the one marked with !");

    let output = warpfold(["describe", DATA, "--device", "cpu"]);
    assert!(text(&output.stdout).ends_with("none holds NaN or an infinity\n"));
    let output = warpfold(["describe", DATA, "--device", "cpu", "--wide"]);
    assert!(text(&output.stdout).contains("kurtosis"));
}

#[test]
fn csv_has_a_line_for_each_array() {
    let file = suspicious();
    let output = warpfold(["describe", file.0.to_str().unwrap(), DATA, "--device", "cpu", "--csv"]);
    assert!(output.status.success());
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(
        lines[0],
        "file,name,dtype,shape,count,nan,infinities,positive_infinities,negative_infinities,zeros,min,max,argmin,argmax,sum,mean,\
         variance,std,skewness,kurtosis,l1,l2,linf,error"
    );
    let expected = format!(
        "{},,float32,\"(2, 4)\",8,2,1,1,0,2,-3.5,inf,4,5,inf,inf,NaN,NaN,NaN,NaN,inf,inf,inf,",
        file.0.display()
    );
    assert_eq!(lines[1], expected);
    assert!(lines[2].starts_with(&format!("{DATA},,float32,\"(5, 20)\",100,0,0,0,0,0,299620.0,300070.0,")));
    assert_eq!(lines.len(), 3);
}

#[test]
fn integers_and_truths_are_whole_numbers() {
    let array = |descr: &str, bytes: &[u8], len: usize| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len},), }}");
        Temporary::new(&npy(1, &header, bytes))
    };
    let longs: Vec<u8> = [-7_i64, 0, 40].iter().flat_map(|number| number.to_le_bytes()).collect();
    let (truths, longs) = (array("|b1", &[1, 0, 1, 1], 4), array("<i8", &longs, 3));
    let files = [&truths, &longs].map(|file| file.0.to_str().unwrap());
    let [truths, longs] = &json_of(true, &files)[..] else {
        panic!("two arrays")
    };
    let of = |object: &Value| ["min", "max", "argmax", "sum", "mean", "l1", "zeros"].map(|field| object[field].clone());
    assert_eq!(
        of(truths),
        [json!(0), json!(1), json!(0), json!(3), json!(0.75), json!(3), json!(1)]
    );
    assert_eq!(
        of(longs),
        [
            json!(-7),
            json!(40),
            json!(2),
            json!(33),
            json!(11.0),
            json!(47),
            json!(1)
        ]
    );
}

#[test]
fn nothing_has_no_ends() {
    let file = Temporary::array("(0, 3)", &[]);
    let [object] = &json_of(true, &[file.0.to_str().unwrap()])[..] else {
        panic!("one array")
    };
    assert_eq!(
        [&object["count"], &object["sum"], &object["l2"]],
        [&json!(0), &json!(0.0), &json!(0.0)]
    );
    assert_eq!(
        [&object["min"], &object["argmax"], &object["mean"]],
        [&Value::Null, &Value::Null, &json!("NaN")]
    );
}

/// What can be described is, and the exit code says that something could not be read.
#[test]
fn a_bad_file_among_good_ones_spoils_nothing() {
    let damaged = Temporary::new(b"no array");
    let path = damaged.0.to_str().unwrap();
    let objects = json_of(false, &[path, DATA]);
    assert_eq!(objects.len(), 2);
    assert!(objects[0]["error"].as_str().unwrap().contains(path), "{}", objects[0]);
    assert_eq!(objects[1]["count"], 100);

    let output = warpfold(["describe", path, DATA, "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(path));
    assert!(text(&output.stdout).contains("1 array, 400 bytes in "));
}

/// FP8 is described as the float32 that each is.
#[test]
fn eight_bits_are_described() {
    let header = r#"{"w":{"dtype":"F8_E4M3","shape":[2,2],"data_offsets":[0,4]}}"#;
    let file = [
        &(header.len() as u64).to_le_bytes(),
        header.as_bytes(),
        &[0x3c, 0x7e, 0xff, 0xfe],
    ]
    .concat();
    let file = Temporary::new(&file);
    let [object] = &json_of(true, &[file.0.to_str().unwrap()])[..] else {
        panic!("one array")
    };
    assert_eq!((&object["dtype"], &object["nan"]), (&json!("float8_e4m3fn"), &json!(1)));
    assert_eq!(
        (&object["min"], &object["max"], &object["sum"]),
        (&json!(-448.0), &json!(448.0), &json!(1.5))
    );
}

/// Elements that are not described are listed with what is wrong.
#[test]
fn elements_of_other_types_are_listed() {
    let header = "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,), }";
    let file = Temporary::new(&npy(1, header, &[0; 8]));
    let [object] = &json_of(false, &[file.0.to_str().unwrap()])[..] else {
        panic!("one array")
    };
    let says = "elements of type <M8[s] are not described";
    assert_eq!(object["dtype"], "<M8[s]");
    assert!(object["error"].as_str().unwrap().ends_with(says));
    assert!(object.get("count").is_none());

    let output = warpfold(["describe", file.0.to_str().unwrap(), "--device", "cpu"]);
    assert!(output.status.code() == Some(1) && text(&output.stderr).contains(says));
}

#[test]
fn a_correction_is_taken_off_and_the_emulator_is_told_off() {
    let variance = |correction: &str| {
        let output = warpfold([
            "describe",
            DATA,
            "--device",
            "cpu",
            "--json",
            "--correction",
            correction,
        ]);
        let list: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        list[0]["variance"].as_f64().unwrap()
    };
    assert!((variance("0") / variance("1") - 0.99).abs() < 1e-6);
    let output = warpfold(["describe", DATA, "--device", "emulator"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("the emulator has no describe"));
}
