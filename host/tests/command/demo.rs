//! What the demo prints is read: a fold that had become five times as slow was printed for days, and nobody looked.

use std::{env, path::PathBuf, process::Command};

use super::text;

/// The demo, which cargo builds with the tests of the crate; none where a single test program was asked for.
fn demo() -> Option<PathBuf> {
    let tests = env::current_exe().unwrap();
    let demo = tests.ancestors().nth(2)?.join("examples/demo");
    demo.is_file().then_some(demo)
}

/// The first percentage in an operator's row: of a plain read on a CPU, of a copy on a GPU.
fn share(output: &str, op: &str) -> f64 {
    let row = output.lines().find(|line| line.split_whitespace().next() == Some(op));
    let row = row.unwrap_or_else(|| panic!("no row of {op} in\n{output}"));
    let share = row.split_whitespace().find_map(|word| word.strip_suffix('%'));
    share.unwrap_or_else(|| panic!("no share in {row:?}")).parse().unwrap()
}

#[test]
fn sums_and_extrema_read_at_half_the_memorys_speed_at_least() {
    let Some(demo) = demo() else {
        println!("skipped: the demo was not built");
        return;
    };
    // 64 MiB. Other tests run at the same time, so it may be slow once; not three times.
    let mut seen = vec![];
    for _ in 0..3 {
        let output = Command::new(&demo).arg("16777216").output().unwrap();
        let (printed, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{printed}\n{errors}");
        let shares = ["sum", "mean", "min", "max"].map(|op| share(printed, op));
        if shares.iter().all(|share| *share >= 50.0) {
            return;
        }
        seen.push(shares);
    }
    panic!("percent of a plain read, of sum, mean, min and max: {seen:?}");
}
