//! Figures as JSON, one a line.

use serde_json::json;

/// What is measured: the group, the operation, the type of elements and the case.
pub type What<'a> = [&'a str; 4];

/// Prints what we have of it: a time, or a share.
pub fn ours(what: What<'_>, metric: &str, value: f64, bytes: Option<usize>) {
    print(what, ("warpfold", None), metric, value, bytes);
}

/// Prints a peer's time.
pub fn of_peer(what: What<'_>, (who, version): (&str, &str), us: f64, bytes: usize) {
    print(what, (who, Some(version)), "us", us, Some(bytes));
}

/// Prints that a peer's answer is another one.
pub fn failed([group, op, dtype, case]: What<'_>, who: &str, why: &str) {
    println!(
        "{}",
        json!({ "who": who, "group": group, "op": op, "dtype": dtype, "case": case, "failed": why })
    );
}

/// Prints that somebody is not there.
pub fn absent(who: &str, why: &str) {
    println!("{}", json!({ "who": who, "absent": why }));
}

fn print(
    [group, op, dtype, case]: What<'_>,
    (who, version): (&str, Option<&str>),
    metric: &str,
    value: f64,
    bytes: Option<usize>,
) {
    // To as many digits as mean something.
    let value = (value * 1e4).round() / 1e4;
    println!(
        "{}",
        json!({
            "who": who, "version": version, "group": group, "op": op, "dtype": dtype, "case": case, "metric": metric, "value": value,
            "bytes": bytes
        })
    );
}
