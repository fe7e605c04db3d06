//! Machine instructions that the CPU backend runs for each element, counted by callgrind and held to what was recorded.
//!
//! A step that the compiler does not inline into the function with vector instructions is called for each column and compiled for the
//! baseline: five times as slow, which noise hid for days. A count hides nothing, and a slow machine does not change it.
//!
//! `cargo run --release -p warpfold-instructions`, which `cargo xtask test` does: counts are of the release profile. The program runs itself
//! under valgrind, which has AVX2 and nothing newer, so that all machines count the same. Where there is no valgrind or no AVX2 it says so, and
//! that nothing was counted. `WARPFOLD_BLESS=1` records what is counted.

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use warpfold::{
    cpu,
    ops::{
        All, Any, ArgMax, CountNonzero, LogSumExp, Max, Mean, Min, NormL1, NormL2, Product, Reduction, StdDev, Sum,
        element::{Element, bf16},
    },
};

/// Set in the process that is counted.
const CHILD: &str = "WARPFOLD_COUNTED";

/// Elements of each fold: 64 leaves of f32 and a ragged one.
const COUNT: usize = (1 << 16) + 40;

/// The most that a count may have grown.
const GROWTH: f64 = 1.25;

/// Calls for each element, of all folds together: a leaf has a few, a column none.
const CALLS: f64 = 0.002;

fn values<T: Element>() -> Vec<T> {
    let bits = |i: usize| {
        let number = (i % 251) as i32 - 125;
        match T::TYPE.name() {
            "f32" => u64::from((number as f32).to_bits()),
            "f64" => f64::from(number).to_bits(),
            "bf16" => u64::from((number as f32).to_bits() >> 16),
            _ => number as u64,
        }
    };
    (0..COUNT).map(|i| T::from_bits(bits(i))).collect()
}

macro_rules! cases {
    ($($function:ident: $op:expr, $element:ty;)*) => {
        $(
            /// One fold: a function by itself, so that callgrind tells what it costs.
            #[inline(never)]
            fn $function(values: &[$element]) {
                black_box(fold($op, values));
            }
        )*

        const CASES: &[&str] = &[$(stringify!($function)),*];

        fn run_all() {
            $($function(black_box(&values::<$element>()));)*
        }
    };
}

fn fold<T: Element, R: Reduction<T>>(op: R, values: &[T]) -> Option<R::Answer> {
    cpu::reduce(op, black_box(values)).ok()
}

cases! {
    sum_f32: Sum, f32;
    mean_f32: Mean, f32;
    product_f32: Product, f32;
    min_f32: Min, f32;
    max_f32: Max, f32;
    argmax_f32: ArgMax, f32;
    count_nonzero_f32: CountNonzero, f32;
    any_f32: Any, f32;
    all_f32: All, f32;
    norm_l1_f32: NormL1, f32;
    norm_l2_f32: NormL2, f32;
    std_f32: StdDev { correction: 1.0 }, f32;
    log_sum_exp_f32: LogSumExp, f32;
    sum_f64: Sum, f64;
    max_f64: Max, f64;
    argmax_f64: ArgMax, f64;
    any_f64: Any, f64;
    norm_l2_f64: NormL2, f64;
    std_f64: StdDev { correction: 1.0 }, f64;
    sum_i32: Sum, i32;
    mean_i32: Mean, i32;
    max_i32: Max, i32;
    argmax_i32: ArgMax, i32;
    mean_i64: Mean, i64;
    sum_u8: Sum, u8;
    max_u8: Max, u8;
    sum_bf16: Sum, bf16;
    max_bf16: Max, bf16;
    argmax_bf16: ArgMax, bf16;
    count_nonzero_bf16: CountNonzero, bf16;
    std_bf16: StdDev { correction: 1.0 }, bf16;
    log_sum_exp_bf16: LogSumExp, bf16;
}

fn main() -> ExitCode {
    if env::var_os(CHILD).is_some() {
        run_all();
        return ExitCode::SUCCESS;
    }
    if let Some(why) = why_not() {
        println!("0 passed, 0 failed, 1 skipped: {why}");
        return ExitCode::SUCCESS;
    }
    match check() {
        Ok(()) => {
            println!("1 passed, 0 failed, 0 skipped");
            ExitCode::SUCCESS
        }
        Err(faults) => {
            println!("{faults}\n0 passed, 1 failed, 0 skipped");
            ExitCode::FAILURE
        }
    }
}

/// Why nothing can be counted here.
fn why_not() -> Option<String> {
    if cfg!(debug_assertions) {
        return Some("counts are of the release profile".to_owned());
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Some("there is no valgrind".to_owned());
    }
    #[cfg(target_arch = "x86_64")]
    let has_avx2 = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let has_avx2 = false;
    (!has_avx2).then(|| "counts are recorded of AVX2, which this machine has not".to_owned())
}

/// Whether every count is as it was.
fn check() -> Result<(), Box<dyn Error>> {
    let counted = Counted::of_all()?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded.txt");
    if env::var_os("WARPFOLD_BLESS").is_some() {
        let lines = counted.each.iter().map(|(case, each)| format!("{case} {each:.3}\n"));
        let head = "# Machine instructions for each element, AVX2, release. `WARPFOLD_BLESS=1 cargo run --release -p warpfold-instructions` makes this file.\n";
        fs::write(&path, head.to_owned() + &lines.collect::<String>())?;
        return Ok(());
    }
    let recorded = fs::read_to_string(&path)?;
    let recorded: BTreeMap<&str, f64> = recorded
        .lines()
        .filter_map(|line| line.split_once(' ').filter(|_| !line.starts_with('#')))
        .map(|(case, each)| Ok((case, each.parse()?)))
        .collect::<Result<_, Box<dyn Error>>>()?;
    let mut faults = Vec::new();
    for case in CASES {
        match (counted.each.get(*case), recorded.get(case)) {
            (Some(now), Some(before)) if *now <= before * GROWTH => {}
            (Some(now), Some(before)) => {
                faults.push(format!("{case}: {now:.3} instructions an element, not {before:.3}"))
            }
            (now, before) => faults.push(format!("{case}: counted {now:?}, recorded {before:?}")),
        }
    }
    if counted.calls > CALLS {
        faults.push(format!(
            "{:.4} calls for each element: something is not inlined",
            counted.calls
        ));
    }
    for (case, each) in &counted.each {
        println!("{case:<20} {each:>8.3} instructions an element");
    }
    if faults.is_empty() {
        Ok(())
    } else {
        faults.push("WARPFOLD_BLESS=1 records new counts, where they are meant".to_owned());
        Err(faults.join("\n").into())
    }
}

/// What callgrind counted.
struct Counted {
    /// Instructions for each element of a case, with all that it calls.
    each: BTreeMap<String, f64>,
    /// Calls for each element, of all cases together.
    calls: f64,
}

impl Counted {
    fn of_all() -> Result<Self, Box<dyn Error>> {
        let out: PathBuf = env::temp_dir().join(format!("warpfold-callgrind-{}", std::process::id()));
        // Only what the cases do: building their arrays is not counted.
        let toggles = CASES.iter().map(|case| format!("--toggle-collect=*::{case}*"));
        let ran = Command::new("valgrind")
            .args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
            .arg(format!("--callgrind-out-file={}", out.display()))
            .args(toggles)
            .arg(env::current_exe()?)
            .env(CHILD, "1")
            .env("RAYON_NUM_THREADS", "1")
            .output()?;
        if !ran.status.success() {
            return Err(String::from_utf8_lossy(&ran.stderr).into_owned().into());
        }
        let profile = fs::read_to_string(&out)?;
        fs::remove_file(&out)?;
        Ok(Self::read(&profile))
    }

    /// Reads a profile: behind the line that names a function its costs, by itself and of what it calls.
    fn read(profile: &str) -> Self {
        let mut each: BTreeMap<String, f64> = BTreeMap::new();
        let (mut calls, mut case) = (0, None);
        for line in profile.lines() {
            if let Some(function) = line.strip_prefix("fn=") {
                // A hash may come behind the name.
                case = CASES
                    .iter()
                    .find(|case| function.split("::").any(|part| part == **case));
            } else if let Some(call) = line.strip_prefix("calls=") {
                calls += first_number(call).unwrap_or(0);
            } else if line.starts_with(|first: char| first.is_ascii_digit())
                && let Some((_, cost)) = line.split_once(' ')
                && let (Some(case), Some(cost)) = (case, first_number(cost))
            {
                *each.entry((*case).to_owned()).or_default() += cost as f64 / COUNT as f64;
            }
        }
        let calls = calls as f64 / (COUNT * CASES.len()) as f64;
        Self { each, calls }
    }
}

fn first_number(text: &str) -> Option<u64> {
    text.split(' ').next()?.parse().ok()
}
