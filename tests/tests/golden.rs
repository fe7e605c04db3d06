//! The recorded bits: what a fold answered once, it answers always and everywhere.

use warpfold::{ops::Reduction, plan::Shape};
use warpfold_kernels::tree;
use warpfold_tests::{Bits, backends, each_operator, golden, golden::Record, spec};

/// The names of the operators.
fn ops() -> Vec<&'static str> {
    fn name<R: Reduction<f32>>(_: R, names: &mut Vec<&'static str>) {
        names.push(R::NAME);
    }
    let mut names = vec![];
    each_operator!(name(&mut names));
    names
}

/// The recorded answers, in the tree of this version.
fn records() -> Vec<Record> {
    let (version, records) = golden::parse(golden::TEXT);
    assert_eq!(
        version,
        tree::VERSION,
        "golden answers of another tree: see src/golden.rs"
    );
    records
}

/// The answers of each array of the file, which many records share.
fn check(most: usize, answer: impl Fn(&str, &[f32]) -> Option<Bits>) {
    let (mut checked, mut array) = (0, (String::new(), vec![]));
    for record in records().into_iter().filter(|record| record.len <= most) {
        let name = format!("{} {}", record.case.name, record.len);
        if array.0 != name {
            array = (name, record.case.array(record.len));
        }
        assert_eq!(
            answer(&record.op, &array.1),
            Some(record.answer),
            "{} of {}",
            record.op,
            array.0
        );
        checked += 1;
    }
    assert!(checked > 500, "only {checked} records");
}

/// Asks `$ask` for the operator of that name.
macro_rules! by_name {
    ($name:expr, $ask:ident($($arg:expr),*)) => {{
        let mut answer = None;
        each_operator!($ask($name, &mut answer, $($arg),*));
        answer
    }};
}

#[test]
fn the_file_is_complete() {
    assert_eq!(spec::VERSION, tree::VERSION, "src/spec.rs is of another tree");
    let text = golden::write(tree::VERSION, &ops(), spec::answer);
    golden::assert_recorded(golden::PATH, golden::TEXT, &text);
}

#[test]
fn the_cpu_gives_the_recorded_bits() {
    fn ask<R: Reduction<f32>>(op: R, name: &str, answer: &mut Option<Bits>, values: &[f32]) {
        if R::NAME == name {
            *answer = backends::cpu(op, values);
        }
    }
    check(usize::MAX, |op, values| by_name!(op, ask(values)));
}

#[test]
fn the_emulator_gives_the_recorded_bits() {
    fn ask<R: Reduction<f32>>(op: R, name: &str, answer: &mut Option<Bits>, values: &[f32]) {
        if R::NAME != name {
            return;
        }
        let shape = Shape {
            warps: 2,
            leaves_per_warp: 2,
            blocks: 3,
        };
        for plan in backends::plans(op, values.len() as u64, shape) {
            let emulated = backends::emulator(op, values, &plan, 0, 11).map(|emulated| emulated.answer);
            let previous = answer.replace(emulated.expect("not empty"));
            assert!(previous.is_none() || previous == *answer, "{plan}");
        }
    }
    check(33_000, |op, values| by_name!(op, ask(values)));
}
