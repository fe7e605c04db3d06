//! `warpfold accuracy`: what the order of additions does to a sum, and what it does to the library's.

use serde::Serialize;
use warpfold::{
    cpu,
    ops::{Compensated, Exact, Reduction, Sum, Wide, element::f16},
};
use warpfold_emulator::ladder::{self, Climb};
use warpfold_kernels::ladder::SUMS;

use crate::{
    Failure,
    ladder::{Figure, grouped, numbers, table},
    values,
};

#[derive(clap::Args)]
pub struct Args {
    /// Sums whose errors are told are of 2^LOG elements.
    #[arg(long, value_name = "LOG", default_value_t = 20, value_parser = values::whole(4, 26), allow_hyphen_values = true)]
    log: u64,
    /// Prints one JSON object with every figure.
    #[arg(long)]
    json: bool,
}

/// Does what the command line asks for.
pub fn run(args: &Args) -> Result<String, Failure> {
    let mut figures = vec![];
    let parts = [order()?, narrow()?, chance()?, errors(args.log as u32, &mut figures)?];
    if args.json {
        #[derive(Serialize)]
        struct Object<'a> {
            figures: &'a [Figure],
        }
        return Ok(serde_json::to_string(&Object { figures: &figures })?);
    }
    Ok(parts.join("\n\n\n"))
}

/// Ten small numbers and two large ones that cancel, from either end.
fn order() -> Result<String, Failure> {
    let mut values = vec![1e-20_f64; 10];
    values.extend([1e20, -1e20]);
    let reversed: Vec<f64> = values.iter().rev().copied().collect();
    let loop_of = |values: &[f64]| values.iter().fold(0.0, |sum, value| sum + value);
    let row = |name: &str, of: &dyn Fn(&[f64]) -> Result<f64, Failure>| -> Result<[String; 3], Failure> {
        Ok([
            name.to_owned(),
            format!("{:?}", of(&values)?),
            format!("{:?}", of(&reversed)?),
        ])
    };
    let rows = vec![
        row("a loop", &|values| Ok(loop_of(values)))?,
        row("sum", &|values| Ok(cpu::reduce(Sum, values)?))?,
        row("compensated sum", &|values| Ok(cpu::reduce(Compensated(Sum), values)?))?,
        row("exact sum", &|values| Ok(cpu::reduce(Exact(Sum), values)?))?,
    ];
    Ok(format!(
        "The order changes a sum: ten times 1e-20, 1e20, -1e20\n\n{}\n\n\
         Any fixed order answers the same for the same array; the exact sum answers the same for any order.",
        table(["", "as they stand", "reversed"], 1, rows)
    ))
}

/// A sum in a narrow type stops growing: 1000 and ten thousand times 0.001.
fn narrow() -> Result<String, Failure> {
    const SMALL: usize = 10_000;
    let mut values = vec![f16::from_f32(1000.0)];
    values.extend(vec![f16::from_f32(0.001); SMALL]);
    let in_f16 = values.iter().fold(f16::from_f32(0.0), |sum, value| {
        f16::from_f32(sum.to_f32() + value.to_f32())
    });
    let in_f32 = values.iter().fold(0.0_f32, |sum, value| sum + value.to_f32());
    let exact: f64 = values.iter().map(|value| f64::from(value.to_f32())).sum();
    let rows = vec![
        ["a loop in float16".to_owned(), format!("{in_f16:?}")],
        ["a loop in float32".to_owned(), format!("{in_f32:?}")],
        ["sum".to_owned(), format!("{:?}", cpu::reduce(Sum, &values)?)],
        ["wide sum".to_owned(), format!("{:?}", cpu::reduce(Wide(Sum), &values)?)],
        ["exact".to_owned(), format!("{exact:?}")],
    ];
    Ok(format!(
        "A narrow type stops growing: 1000 and {} times 0.001, of float16\n\n{}\n\n\
         1000 + 0.001 is 1000 in float16. Sums of 16-bit elements are accumulated in float32, and rounded once.",
        grouped(SMALL as u64),
        table(["", "sum"], 1, rows)
    ))
}

/// Atomic additions differ from run to run.
fn chance() -> Result<String, Failure> {
    const ELEMENTS: usize = 2000;
    const SCHEDULES: u64 = 50;
    let values = numbers(ELEMENTS);
    let mut rows = vec![];
    for rung in SUMS.iter().filter(|rung| ["atomic", "last-block"].contains(&rung.name)) {
        let mut seen = std::collections::BTreeMap::new();
        for seed in 0..SCHEDULES {
            let answer = ladder::sum(rung, &values, Climb::new(seed))?.answer;
            seen.entry(answer.to_bits()).or_insert(answer);
        }
        let some: Vec<String> = seen.values().take(3).map(|answer| format!("{answer:?}")).collect();
        rows.push([rung.title.to_owned(), seen.len().to_string(), some.join("  ")]);
    }
    Ok(format!(
        "Atomics differ from run to run: {} numbers, {SCHEDULES} schedules in the emulator\n\n{}\n\n\
         `warpfold ladder` counts the same on a GPU.",
        grouped(ELEMENTS as u64),
        table(["", "distinct answers", "such as"], 1, rows)
    ))
}

/// How far sums are from the exact one, in units of its last place.
fn errors(log: u32, figures: &mut Vec<Figure>) -> Result<String, Failure> {
    let len = 1 << log;
    let mut columns = vec![];
    for (case, values) in [("uniform", uniform(len)), ("ill-conditioned", ill_conditioned(log))] {
        let wide: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        let exact = cpu::reduce(Exact(Sum), &wide)?;
        let size: f64 = wide.iter().map(|value| value.abs()).sum();
        let of = |answer: f32| (f64::from(answer) - exact).abs() / ulp(exact as f32);
        let ours = |op| -> Result<f64, Failure> { Ok(of(op)) };
        let errors = [
            ("a loop", of(values.iter().fold(0.0, |sum, value| sum + value))),
            ("sum", ours(answer(Sum, &values)?)?),
            ("compensated sum", ours(answer(Compensated(Sum), &values)?)?),
            ("wide sum", ours(answer(Wide(Sum), &values)?)?),
            ("exact sum", ours(answer(Exact(Sum), &values)?)?),
        ];
        for (who, error) in errors {
            figures.push(Figure {
                group: "accuracy",
                op: "sum",
                dtype: "f32",
                case: format!("2^{log} {case}"),
                who: match who.strip_suffix("sum") {
                    None => who.to_owned(),
                    Some("") => "warpfold".to_owned(),
                    Some(accuracy) => format!("warpfold, {}", accuracy.trim()),
                },
                metric: "ulp",
                value: error,
                bytes: None,
                note: None,
            });
        }
        columns.push((case, size / exact.abs(), errors));
    }
    let [(_, plain, first), (_, ill, second)] = &columns[..] else {
        unreachable!("two cases");
    };
    let rows = first
        .iter()
        .zip(second)
        .map(|(a, b)| [a.0.to_owned(), ulps(a.1), ulps(b.1)]);
    Ok(format!(
        "Errors of sums of {} float32, in units of the exact sum's last place\n\n{}\n\n\
         The sum of magnitudes is {plain:.0} and {ill:.1e} times the sum's. Half a unit is what rounding costs; less is chance.",
        grouped(len as u64),
        table(["", "uniform", "ill-conditioned"], 1, rows.collect())
    ))
}

fn answer<R: Reduction<f32, Answer = f32>>(op: R, values: &[f32]) -> Result<f32, Failure> {
    Ok(cpu::reduce(op, values)?)
}

fn ulps(error: f64) -> String {
    if error < 1000.0 {
        format!("{error:.2}")
    } else {
        format!("{error:.1e}")
    }
}

/// A unit of a number's last place.
fn ulp(of: f32) -> f64 {
    f64::from(of.abs().next_up()) - f64::from(of.abs())
}

/// A hash of an index. `host/benches/peers/peers.py` has the same, so that others sum the same numbers.
fn hash(i: u32) -> u32 {
    let hash = i.wrapping_mul(2_654_435_761);
    let hash = (hash ^ hash >> 15).wrapping_mul(2_246_822_519);
    let hash = (hash ^ hash >> 13).wrapping_mul(3_266_489_917);
    hash ^ hash >> 16
}

/// Numbers in [0, 1).
fn uniform(len: usize) -> Vec<f32> {
    (0..len as u32).map(|i| (hash(i) >> 8) as f32 / 16_777_216.0).collect()
}

/// Of 2^`log` numbers half cancel in pairs, and are 2²⁰ times the others; they are shuffled.
fn ill_conditioned(log: u32) -> Vec<f32> {
    let len = 1_u32 << log;
    let of = |i: u32| {
        let number = |m: u32| ((1 << 23) + (hash(m) >> 9)) as f32 / 16_777_216.0;
        // A permutation of numbers of so many bits.
        let step = |k: u32, by: u32, shift: u32| {
            let k = k.wrapping_mul(by) % len;
            k ^ k >> shift
        };
        let k = step(step(i, 2_654_435_761, log / 2), 2_246_822_519, log / 3 + 1);
        match (k < len / 2, k % 2) {
            (true, 0) => number(k / 2) * 1_048_576.0,
            (true, _) => -number(k / 2) * 1_048_576.0,
            (false, _) => number(k),
        }
    };
    (0..len).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_sum_is_within_half_a_unit() {
        let mut figures = vec![];
        errors(12, &mut figures).unwrap();
        for figure in figures.iter().filter(|figure| figure.who == "warpfold, exact") {
            assert!(figure.value <= 0.5, "{}: {}", figure.case, figure.value);
        }
        let worst = |who: &str| {
            figures
                .iter()
                .filter(|f| f.who == who)
                .map(|f| f.value)
                .fold(0.0, f64::max)
        };
        assert!(worst("a loop") > worst("warpfold") && worst("warpfold") > worst("warpfold, compensated"));
    }

    #[test]
    fn the_numbers_are_those_of_the_peers() {
        let uniform = uniform(1 << 20);
        assert_eq!(uniform[..4], [0.0, 0.041_844_726, 0.509_556_53, 0.825_792_13]);
        let sum = |values: &[f32]| cpu::reduce(Exact(Sum), &values.iter().map(|x| f64::from(*x)).collect::<Vec<_>>());
        assert_eq!(sum(&uniform).unwrap(), 524_321.902_273_356_9);
        let ill = ill_conditioned(20);
        assert_eq!(ill[..4], [524_288.0, 941_128.56, 0.789_193_33, 937_510.1]);
        assert_eq!(sum(&ill).unwrap(), 393_178.261_720_776_56);
    }

    #[test]
    fn a_unit_of_the_last_place() {
        assert_eq!(ulp(1.0), f64::from(f32::EPSILON));
        assert_eq!(ulp(-3.0), 2.0 * f64::from(f32::EPSILON));
    }
}
