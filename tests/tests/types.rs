//! Every operator of every type of elements: the CPU gives the bits of the specification, the kernels on the emulator give
//! the CPU's, and both give what was recorded.

use std::collections::BTreeMap;

use warpfold_emulator::Shape;
use warpfold_kernels::{
    element::Type,
    kernels::Kernel,
    tree::{self, LANES},
};
use warpfold_tests::{
    Bits, golden_types as golden,
    operations::{self, Operation, extents},
    samples::{self, Sample},
    spec::typed,
};

/// The operators by the type of their elements, so that each array is made once.
fn by_type() -> BTreeMap<Type, Vec<Box<dyn Operation>>> {
    let mut types = BTreeMap::<Type, Vec<_>>::new();
    for op in operations::all() {
        types.entry(op.ty()).or_default().push(op);
    }
    assert_eq!(types.len(), 17);
    types
}

/// The CPU's answers are the specification's.
fn cpu_is_spec(ops: &[Box<dyn Operation>], ty: Type, sample: Sample, len: usize) {
    let elements = sample.array(ty, len);
    for op in ops {
        let expected = typed::answer(op.name(), ty.name(), &elements);
        assert_eq!(
            op.cpu(&elements),
            expected,
            "{} of {len} {} {}",
            op.name(),
            ty.name(),
            sample.name
        );
    }
}

#[test]
fn the_cpu_follows_the_specification_at_every_edge() {
    for (ty, ops) in by_type() {
        let [vector, row, leaf] = extents(ty);
        for len in [0, 1, 2, 3] {
            for sample in samples::ALL {
                cpu_is_spec(&ops, ty, sample, len);
            }
        }
        for edge in [vector, row, leaf, 2 * leaf, 5 * leaf] {
            for len in [edge - 1, edge, edge + 1] {
                for sample in samples::ALL {
                    cpu_is_spec(&ops, ty, sample, len);
                }
            }
        }
    }
}

/// The longest run of one thread, and more.
#[test]
fn the_cpu_follows_the_specification_in_long_arrays() {
    for (ty, ops) in by_type() {
        let leaf = extents(ty)[2];
        let kinds = [samples::PLAIN, samples::ODD_ONE, samples::ANY, samples::FACTORS];
        let lengths = [64 * leaf - 1, 64 * leaf, 64 * leaf + 1, 201 * leaf + 7];
        for (sample, len) in kinds.into_iter().zip(lengths) {
            cpu_is_spec(&ops, ty, sample, len);
        }
    }
}

#[test]
fn pieces_are_the_whole() {
    for (ty, ops) in by_type() {
        let leaf = extents(ty)[2];
        for (sample, len) in [
            (samples::PLAIN, 7 * leaf + 1),
            (samples::FEW, 4 * leaf),
            (samples::ANY, 3),
        ] {
            let elements = sample.array(ty, len);
            for op in &ops {
                assert_eq!(
                    op.pieces(&elements, 2 * leaf),
                    op.cpu(&elements),
                    "{} of {len} {}",
                    op.name(),
                    ty.name()
                );
            }
        }
    }
}

/// The emulator's answer and state are the CPU's.
fn emulator_is_cpu(op: &dyn Operation, kernel: Kernel, elements: &[u64], misalign: usize, shape: Shape, seed: u64) {
    let emulated = op.emulator(kernel, elements, misalign, shape, seed);
    let what = || {
        let (name, ty, len) = (op.name(), op.ty().name(), elements.len());
        format!("{name} of {len} {ty}, {kernel:?} in {shape:?}, misaligned by {misalign}, seed {seed}")
    };
    assert_eq!(Some(emulated.answer), op.cpu(elements), "{}", what());
    assert_eq!(emulated.state, op.state(elements), "state: {}", what());
}

const fn shape(warps: u32, leaves_per_warp: u32, blocks: u32) -> Shape {
    Shape {
        threads: warps * LANES,
        leaves_per_warp,
        blocks,
    }
}

/// A start at any element of a vector, in all and in the small kernel. Few arrays, of all kinds by turns.
#[test]
fn the_emulator_gives_the_cpus_bits_at_every_alignment() {
    for (ty, ops) in by_type() {
        let [vector, row, leaf] = extents(ty);
        for misalign in 0..vector {
            for (i, len) in [1, row + 3, 4 * leaf + row + 5].into_iter().enumerate() {
                let turn = misalign + i;
                let elements = samples::ALL[turn % samples::ALL.len()].array(ty, len);
                for (at, op) in ops.iter().enumerate() {
                    // Each operator meets each kernel at each alignment, with one length or another.
                    let seed = (turn + 16 * at) as u64;
                    emulator_is_cpu(&**op, Kernel::All, &elements, misalign, shape(2, 2, 2), seed);
                    emulator_is_cpu(&**op, Kernel::Small, &elements, misalign, shape(2, 1, 0), seed);
                }
            }
        }
    }
}

/// Whole leaves, aligned: wide loads, and the leaves that an operator that selects passes by.
#[test]
fn the_emulator_gives_the_cpus_bits_over_every_kind() {
    for (ty, ops) in by_type() {
        let [_, _, leaf] = extents(ty);
        for (turn, sample) in samples::ALL.into_iter().enumerate() {
            let elements = sample.array(ty, 9 * leaf + turn % 3);
            for op in &ops {
                let shape = shape(1, 4, 1 + turn as u32 % 2);
                emulator_is_cpu(&**op, Kernel::All, &elements, 0, shape, turn as u64);
            }
        }
    }
}

fn records() -> Vec<golden::Record> {
    let (version, records) = golden::parse(golden::TEXT);
    assert_eq!(
        version,
        tree::VERSION,
        "golden answers of another tree: see src/golden.rs"
    );
    records
}

#[test]
fn the_golden_file_is_complete() {
    let all = operations::all();
    let text = golden::write(tree::VERSION, &all, |op, ty, elements| {
        typed::answer(op, ty.name(), elements)
    });
    warpfold_tests::golden::assert_recorded(golden::PATH, golden::TEXT, &text);
}

/// The answers of the records of at most so many elements.
fn check(most: usize, answer: impl Fn(&dyn Operation, &[u64]) -> Option<Bits>) {
    let all = operations::all();
    let named: BTreeMap<_, _> = all.iter().map(|op| ((op.name(), op.ty().name()), op)).collect();
    let mut checked = 0;
    for record in records().into_iter().filter(|record| record.len <= most) {
        let op = named[&(&*record.op, &*record.ty)];
        let elements = record.kind.array(op.ty(), record.len);
        assert_eq!(answer(&**op, &elements).as_ref(), Some(&record.answer), "{record:?}");
        checked += 1;
    }
    assert!(checked > 500, "only {checked} records");
}

#[test]
fn the_cpu_gives_the_recorded_bits() {
    check(usize::MAX, |op, elements| op.cpu(elements));
}

#[test]
fn the_emulator_gives_the_recorded_bits() {
    check(200, |op, elements| {
        Some(op.emulator(Kernel::All, elements, 0, shape(2, 2, 3), 11).answer)
    });
}
