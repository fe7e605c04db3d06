//! Which options `warpfold reduce` takes with which operators, and what numbers they can be.

use warpfold::ops::LIST;

use super::{DATA, Temporary, runs::reduce, text, warpfold};

/// Those of the library's list, but for what has a command of its own; and what is no fold.
fn operators() -> Vec<&'static str> {
    let listed = LIST.iter().map(|listed| listed.name);
    listed.filter(|name| *name != "describe").chain(["distinct"]).collect()
}

/// The operators are those of the command, so none is left out below.
#[test]
fn the_operators_are_all_there_are() {
    let said = warpfold(["ops", "--json"]);
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&said.stdout).unwrap();
    let mut listed: Vec<&str> = listed.iter().map(|op| op["name"].as_str().unwrap()).collect();
    let mut all = operators();
    listed.sort_unstable();
    all.sort_unstable();
    assert_eq!(listed, all);
}

/// What an operator makes no use of is refused, and not left unsaid. No file is looked for then.
#[test]
fn an_option_is_taken_by_the_operators_that_use_it() {
    let ignoring = [
        "sum",
        "prod",
        "mean",
        "min",
        "max",
        "argmin",
        "argmax",
        "argmin-last",
        "argmax-last",
        "var",
        "std",
    ];
    let maskless = [
        "minmax",
        "argminmax",
        "bit-and",
        "bit-or",
        "bit-xor",
        "dot",
        "cosine",
        "distinct",
    ];
    let all = operators();
    let masked: Vec<&str> = all.iter().copied().filter(|op| !maskless.contains(op)).collect();
    let missing = "no/such/file.npy";
    for (option, value, users) in [
        ("--ties", Some("last"), &["argmin", "argmax"][..]),
        ("--ties", Some("first"), &["argmin", "argmax"]),
        ("--nan", Some("ignore"), &ignoring),
        ("--nan", Some("propagate"), &all),
        ("--correction", Some("1"), &["var", "std", "meanvar"]),
        ("--ord", Some("3"), &["lp"]),
        ("--accuracy", Some("exact"), &["sum", "mean"]),
        ("--accuracy", Some("native"), &all),
        ("--where", Some(missing), &masked),
        ("--with", Some(missing), &["dot", "cosine"]),
        ("--axis", Some("0"), &all),
        ("--keepdim", None, &all),
        ("--offsets", Some(missing), &all),
        ("--segment-size", Some("3"), &all),
        ("--dtype-out", Some("float32"), &all),
        ("--out", Some(missing), &all),
        ("--explain", None, &all),
    ] {
        for &op in &all {
            let mut more = vec![option];
            more.extend(value);
            match op {
                "lp" if option != "--ord" => more.extend(["--ord", "3"]),
                "dot" | "cosine" if option != "--with" => more.extend(["--with", missing]),
                _ => {}
            }
            let output = reduce(op, missing.as_ref(), &more);
            let error = text(&output.stderr);
            if users.contains(&op) {
                assert_eq!(output.status.code(), Some(1), "{op} {more:?}: {error}");
                assert!(error.contains("No such file"), "{op} {more:?}: {error}");
            } else {
                assert_eq!(output.status.code(), Some(2), "{op} {more:?}: {error}");
                assert!(
                    error.contains(&format!("{op} does not use {option}")),
                    "{op} {more:?}: {error}"
                );
                let those =
                    ["for all operators but ", "for "].map(|before| error.contains(&format!("{before}{}", users[0])));
                assert!(those.contains(&true) || option == "--where", "{error}");
            }
        }
    }
    let said = reduce("distinct", missing.as_ref(), &["--where", missing]);
    let says = "which is for all operators but minmax, argminmax, bit-and, bit-or, bit-xor, dot, cosine and distinct";
    assert!(text(&said.stderr).contains(says), "{}", text(&said.stderr));
}

/// A number is one whatever its sign: what is wrong with it is said of the number.
#[test]
fn negative_numbers_are_numbers() {
    let file = Temporary::array("(2, 3)", &[1.0, 2.0, 3.0, 4.0, 5.0, 9.0]);
    for (op, option, value, result) in [
        ("sum", "--axis", "-1", Ok("[ 6.0 18.0]")),
        ("sum", "--axis", "-1,-2", Ok("24.0")),
        ("sum", "--axis", "-3", Err((1, "axis -3 is out of bounds"))),
        (
            "sum",
            "--axis",
            "-0.5",
            Err((2, "invalid value '-0.5' for '--axis <A>'")),
        ),
        ("var", "--correction", "-1", Ok("5.714286")),
        ("var", "--correction", "-0.5", Ok("6.15384")),
        ("var", "--correction", "-1e1", Ok("2.5 ")),
        (
            "var",
            "--correction",
            "-inf",
            Err((2, "'-inf' for '--correction <CORRECTION>': it must be finite")),
        ),
        ("var", "--correction", "-x", Err((2, "it is no number"))),
        (
            "lp",
            "--ord",
            "-1",
            Err((2, "'-1' for '--ord <ORD>': it must be finite and above 0")),
        ),
        ("lp", "--ord", "-0.5", Err((2, "'-0.5' for '--ord <ORD>': it must be"))),
        ("lp", "--ord", "-inf", Err((2, "'-inf' for '--ord <ORD>': it must be"))),
        ("lp", "--ord", "-0", Err((2, "above 0"))),
        (
            "sum",
            "--segment-size",
            "-1",
            Err((2, "invalid value '-1' for '--segment-size <N>'")),
        ),
        ("sum", "--segment-size", "0", Err((2, "it must be at least 1"))),
    ] {
        let output = reduce(op, &file.0, &[option, value]);
        let (said, error) = (text(&output.stdout), text(&output.stderr));
        match result {
            Ok(begins) => assert!(said.starts_with(begins), "{op} {option} {value}: {said}{error}"),
            Err((code, says)) => {
                assert_eq!(output.status.code(), Some(code), "{op} {option} {value}: {error}");
                assert!(error.contains(says), "{op} {option} {value}: {error}");
            }
        }
    }
    let output = warpfold(["describe", DATA, "--correction", "-2", "--device", "cpu"]);
    assert!(output.status.success());
    let output = warpfold(["describe", DATA, "--correction", "-inf", "--device", "cpu"]);
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("it must be finite"));
}
