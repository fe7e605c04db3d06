//! What NumPy and PyTorch users type.

use super::{
    DATA, Temporary,
    faults::{bytes, path, run},
    text,
};

#[test]
fn names_of_numpy_and_pytorch_are_taken() {
    let values = Temporary::array("(2, 2)", &[1.0, 2.0, f32::NAN, 5.0]);
    let file = path(&values);
    for (arguments, begins) in [
        (&["amax", DATA][..], "300070.0 "),
        (&["nansum", file], "8.0 "),
        (&["nanmean", file], "2.66"),
        (&["nanargmax", file], "3 "),
        (&["count_nonzero", DATA], "100 "),
        (&["norm", DATA], "2998524.0 "),
        (&["sum", DATA, "--axis", "None"], "29985240.0 "),
        (&["sum", DATA, "--axis", "(0, 1)"], "29985240.0"),
        (&["sum", DATA, "--dim", "0,1"], "29985240.0"),
        (&["sum", DATA, "--dtype", "float64"], "29985240.0 "),
        (&["max", DATA, "--axis", "(0, 1)", "--keepdims"], "[[300070.0]]"),
    ] {
        let output = run(&[&["reduce"], arguments, &["--device", "cpu"]].concat());
        assert!(
            text(&output.stdout).starts_with(begins),
            "{arguments:?}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
    }
    for (arguments, says) in [
        (&["std", DATA][..], "divided by n - 1 (--correction 0: by n)"),
        (&["std", DATA, "--ddof", "0"], "divided by n:"),
        (&["nanvar", DATA, "--unbiased=false"], "divided by n:"),
        (&["var", DATA, "--correction", "2"], "divided by n - 2:"),
    ] {
        let output = run(&[&["reduce"], arguments, &["--device", "cpu"]].concat());
        assert!(
            text(&output.stdout).contains(says),
            "{arguments:?}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
    }
    for (arguments, says) in [
        (&["median", DATA][..], "not a fold; NumPy has it"),
        (&["quantile", DATA], "not a fold; NumPy has it"),
        (&["cumsum", DATA], "--segment-size N"),
        (&["unique", DATA], "distinct"),
        (&["lp", DATA], "lp needs --ord P"),
        (&["dot", DATA], "dot needs --with FILE"),
        (&["sum", DATA, "--axis", "x"], "whole numbers"),
    ] {
        let output = run(&[&["reduce"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            text(&output.stderr).contains(says),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
    let output = run(&["reduce", "sum", DATA, "--dtype", "float16"]);
    assert!(
        text(&output.stderr).contains("--dtype float16 would cast float32"),
        "{}",
        text(&output.stderr)
    );
    // Integers are cast before they are summed, so nothing wraps around.
    let large = Temporary::typed("<i8", "(2,)", &bytes([i64::MAX; 2].map(i64::to_le_bytes)));
    let output = run(&["reduce", "sum", path(&large), "--dtype", "float64", "--device", "cpu"]);
    assert!(
        text(&output.stdout).starts_with("1.8446744073709552e19 "),
        "{}",
        text(&output.stdout)
    );
}
