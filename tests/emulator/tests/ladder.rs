//! The ladder on the emulator: every rung is right, costs what it says it does, and differs from run to run where it says so.

use std::collections::BTreeSet;

use warpfold_emulator::{
    Counts, Fault,
    ladder::{self, Climb, MULTIPROCESSORS, Rows, planted::PLANTED},
};
use warpfold_kernels::ladder::{LAYER_NORMS, Rung, SOFTMAXES, SUMS, Same, SumKernel};

/// Small integers, whose sum is exact in any order.
fn integers(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919) % 17) as f32 - 8.0).collect()
}

/// Numbers of many exponents, whose sum depends on the order.
fn numbers(len: usize) -> Vec<f32> {
    (0..len)
        .map(|i| {
            let hash = (i as u32).wrapping_mul(2_654_435_761);
            ((hash >> 8) as f32 / 16_777_216.0 - 0.5) * f32::powi(2.0, (hash % 16) as i32)
        })
        .collect()
}

/// Those of some lengths that a rung takes.
fn lengths(rung: &Rung<SumKernel>) -> impl Iterator<Item = usize> {
    let most = rung.most;
    let all = [0, 1, 31, 32, 33, 1000, 1023, 1024, 1025, 2047, 2048, 5000, 40_001];
    all.into_iter()
        .filter(move |len| most.is_none_or(|most| *len as u64 <= most))
}

#[test]
fn every_rung_of_the_sum_is_right() {
    for rung in &SUMS {
        for len in lengths(rung) {
            let values = integers(len);
            let exact: f32 = values.iter().sum();
            for seed in 0..2 {
                let climbed = ladder::sum(rung, &values, Climb::new(seed));
                let climbed = climbed.unwrap_or_else(|fault| panic!("{} of {len}: {fault}", rung.name));
                assert_eq!(climbed.answer, exact, "{} of {len}", rung.name);
            }
        }
    }
}

#[test]
fn bits_differ_from_run_to_run_where_atomics_add() {
    let values = numbers(20_000);
    for rung in &SUMS {
        let values = &values[..rung.most.map_or(values.len(), |most| most as usize)];
        let bits = (0..12).map(|seed| ladder::sum(rung, values, Climb::new(seed)).unwrap().answer.to_bits());
        let distinct = bits.collect::<BTreeSet<_>>().len();
        match rung.same {
            Same::Never => assert!(distinct > 1, "{} had the same bits on all schedules", rung.name),
            _ => assert_eq!(distinct, 1, "{}", rung.name),
        }
    }
}

#[test]
fn rungs_cost_what_they_say() {
    let values = integers(2048);
    let counts = |name: &str| {
        let rung = SUMS.iter().find(|rung| rung.name == name).unwrap();
        let climb = Climb {
            traced: true,
            ..Climb::new(1)
        };
        let counts = Counts::of(&ladder::sum(rung, &values, climb).unwrap().events);
        assert_eq!(
            counts.atomics,
            rung.atomics(2048, climb.factor, MULTIPROCESSORS),
            "{name}"
        );
        counts
    };
    let [interleaved, prefix, shared] = ["interleaved", "prefix", "shared"].map(counts);
    assert_eq!([interleaved.barriers, prefix.barriers, shared.barriers], [11, 11, 10]);
    // The tree's last five steps are of one warp; interleaved, all warps diverge from the second step on.
    assert!(
        interleaved.divergent > 10 * prefix.divergent,
        "{interleaved:?} {prefix:?}"
    );
    let [block_atomic, shuffled, grid_stride, wide] = ["block-atomic", "shuffled", "grid-stride", "wide"].map(counts);
    // Two blocks of 1,024 threads.
    assert_eq!([block_atomic.barriers, shuffled.barriers], [20, 2]);
    assert_eq!([block_atomic.shuffles, shuffled.shuffles], [0, 2 * (32 + 1) * 5]);
    assert!(grid_stride.accesses > wide.accesses);
    for rung in &SUMS {
        counts(rung.name);
    }
}

#[test]
fn planted_bugs_are_found_on_every_schedule() {
    for planted in &PLANTED {
        for seed in 0..8 {
            let fault = planted
                .found(300, seed)
                .unwrap_or_else(|| panic!("{}: nothing found", planted.name));
            let is_as_planted = match planted.name {
                "barrier left out" => matches!(fault, Fault::Race { .. }),
                "read before write" => matches!(fault, Fault::Unwritten { .. }),
                _ => matches!(fault, Fault::AbsentLane { .. }),
            };
            assert!(is_as_planted, "{}: {fault}", planted.name);
        }
    }
}

#[test]
fn every_rung_of_softmax_and_layer_norm_is_right() {
    let (weight, bias): (Vec<f32>, Vec<f32>) = (0..300).map(|i| (1.0 + i as f32 / 64.0, i as f32 / 32.0)).unzip();
    for (columns, count) in [(1, 3), (7, 20), (32, 5), (300, 4)] {
        let values = &numbers(columns * count)[..];
        for causal in [false, true] {
            let rows = Rows {
                values,
                columns,
                causal,
                weight: &weight[..columns],
                bias: &bias[..columns],
                epsilon: 1e-5,
            };
            for rung in &SOFTMAXES {
                let answers =
                    ladder::rows(rung, &rows, Climb::new(3)).unwrap_or_else(|fault| panic!("{}: {fault}", rung.name));
                close(rung.name, &answers.answer, &rows, softmax);
            }
            if !causal {
                for rung in &LAYER_NORMS {
                    let answers = ladder::rows(rung, &rows, Climb::new(4))
                        .unwrap_or_else(|fault| panic!("{}: {fault}", rung.name));
                    close(rung.name, &answers.answer, &rows, layer_norm);
                }
            }
        }
    }
}

/// Compares answers with what a function has of each row in f64.
fn close(name: &str, answers: &[f32], rows: &Rows<'_>, of_row: fn(&[f64], &Rows<'_>) -> Vec<f64>) {
    for (number, (row, answers)) in rows
        .values
        .chunks(rows.columns)
        .zip(answers.chunks(rows.columns))
        .enumerate()
    {
        let seen = if rows.causal {
            number % rows.columns + 1
        } else {
            rows.columns
        };
        let row: Vec<f64> = row[..seen].iter().map(|x| f64::from(*x)).collect();
        let expected = of_row(&row, rows);
        for (i, answer) in answers.iter().enumerate() {
            let expected = expected.get(i).copied().unwrap_or(0.0);
            let off = (f64::from(*answer) - expected).abs();
            assert!(
                off <= 1e-5 * (1.0 + expected.abs()),
                "{name}, row {number}, column {i}: {answer}, not {expected}"
            );
        }
    }
}

fn softmax(row: &[f64], _: &Rows<'_>) -> Vec<f64> {
    let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
    row.iter().map(|x| (x - max).exp() / sum).collect()
}

fn layer_norm(row: &[f64], rows: &Rows<'_>) -> Vec<f64> {
    let count = row.len() as f64;
    let mean = row.iter().sum::<f64>() / count;
    let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
    let deviation = (variance + f64::from(rows.epsilon)).sqrt();
    let of = |(i, x): (usize, &f64)| (x - mean) / deviation * f64::from(rows.weight[i]) + f64::from(rows.bias[i]);
    row.iter().enumerate().map(of).collect()
}
