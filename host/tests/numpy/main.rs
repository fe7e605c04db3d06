//! Every operator of every type against NumPy, on arrays drawn at random: whole arrays, along axes with and without `--keepdim`, of
//! arrays in Fortran's order, and in segments; and of what a mask selects. The answers are those that the command writes; NumPy runs once for each type, and
//! `reference.py` says what it may differ by, and why.
//!
//! Where there is no python3 with NumPy each test reports itself as ignored, with the reason; `WARPFOLD_REQUIRE_NUMPY=1` turns that into
//! a failure. `WARPFOLD_NUMPY` names the folder that NumPy is in, if Python does not find it by itself; `cargo xtask setup` gets one.
//! `WARPFOLD_NUMPY_SEED` draws other arrays.

mod draw;

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::OnceLock,
};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::{Value, json};

use draw::{Array, Draw, Kind, TYPES, Type};
use warpfold::files::{bf16, f8e4m3, f8e5m2};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = TYPES.map(|of| {
        Trial::ignorable_test(format!("{}_agrees_with_numpy", of.name), move || match numpy() {
            Ok(_) => agrees(of).map(|()| Completion::Completed),
            Err(why) if env::var_os("WARPFOLD_REQUIRE_NUMPY").is_some_and(|value| value == "1") => {
                Err(format!("WARPFOLD_REQUIRE_NUMPY is set, and {why}").into())
            }
            Err(why) => Ok(Completion::ignored_with(why)),
        })
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// Python, with NumPy within its reach.
fn python() -> Command {
    let mut python = Command::new("python3");
    let tools = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/tools/numpy");
    let folder = env::var_os("WARPFOLD_NUMPY").map_or_else(tools, PathBuf::from);
    if folder.is_dir() {
        python.env("PYTHONPATH", folder);
    }
    python
}

/// NumPy's version, or why there is none.
fn numpy() -> Result<&'static str, &'static str> {
    static NUMPY: OnceLock<Result<String, String>> = OnceLock::new();
    let asked = NUMPY.get_or_init(|| {
        let version = python().args(["-c", "import numpy; print(numpy.__version__)"]).output();
        let version = version.map_err(|error| format!("there is no python3: {error}"))?;
        if version.status.success() {
            Ok(String::from_utf8_lossy(&version.stdout).trim().to_owned())
        } else {
            let why = String::from_utf8_lossy(&version.stderr);
            Err(format!("there is no NumPy: {}", why.lines().last().unwrap_or_default()))
        }
    });
    asked.as_deref().map_err(String::as_str)
}

/// An operator as the command line names it, with what it is asked for beside it.
struct Operator {
    op: &'static str,
    accuracy: &'static str,
    nan: &'static str,
    masked: bool,
}

/// Of two arrays.
const PRODUCTS: [&str; 2] = ["dot", "cosine"];

/// The operators that have a meaning for a type.
fn operators(of: Type) -> Vec<Operator> {
    const EVERY: [&str; 12] = [
        "sum",
        "prod",
        "mean",
        "min",
        "max",
        "argmin",
        "argmax",
        "argmin-last",
        "argmax-last",
        "count-nonzero",
        "any",
        "all",
    ];
    const FLOATS: [&str; 7] = ["l1", "l2", "linf", "sumsq", "count-nan", "count-inf", "logsumexp"];
    const MOMENTS: [&str; 6] = ["var", "std", "meanvar", "skew", "kurtosis", "lp"];
    const IGNORING: [&str; 9] = [
        "sum",
        "prod",
        "mean",
        "min",
        "max",
        "argmin",
        "argmax",
        "argmin-last",
        "argmax-last",
    ];
    const FP8: [&str; 10] = [
        "sum",
        "mean",
        "min",
        "max",
        "argmin",
        "argmax",
        "argmin-last",
        "argmax-last",
        "linf",
        "count-nan",
    ];
    let operator = |op, accuracy, nan| Operator {
        op,
        accuracy,
        nan,
        masked: false,
    };
    if of.name.starts_with("float8") {
        let all = FP8.into_iter().chain(["distinct"]);
        return all.map(|op| operator(op, "native", "propagate")).collect();
    }
    if of.kind == Kind::Complex {
        let distinct: &[_] = if of.name == "complex64" { &["distinct"] } else { &[] };
        return [&["sum", "mean", "l2", "linf"], distinct]
            .concat()
            .into_iter()
            .map(|op| operator(op, "native", "propagate"))
            .collect();
    }
    let is_float = of.kind == Kind::Float;
    let only = |condition: bool, ops: &'static [&'static str]| if condition { ops } else { &[] };
    let plain = [
        &EVERY,
        only(true, &["distinct"]),
        only(of.kind != Kind::Truth, &["minmax", "argminmax"]),
        only(of.kind == Kind::Integer, &["bit-and", "bit-or", "bit-xor"]),
        only(is_float, &FLOATS),
        only(is_float, &MOMENTS),
        only(is_float, &PRODUCTS),
    ];
    let ignoring = [only(is_float, &IGNORING), only(is_float, &["var", "std"])];
    let accuracies: &[&str] = match of.name {
        "float16" | "bfloat16" => &["wide"],
        "float32" => &["compensated", "wide", "exact"],
        "float64" => &["compensated", "exact"],
        _ => &[],
    };
    let masked = [&EVERY, only(is_float, &FLOATS), only(is_float, &MOMENTS)];
    let masked = masked
        .concat()
        .into_iter()
        .map(|op| operator(op, "native", "propagate"));
    let masked = masked.chain(
        accuracies
            .iter()
            .map(|accuracy| operator("sum", *accuracy, "propagate")),
    );
    let plain = plain.concat().into_iter().map(|op| operator(op, "native", "propagate"));
    let ignoring = ignoring.concat().into_iter().map(|op| operator(op, "native", "ignore"));
    let accurate = accuracies
        .iter()
        .flat_map(|accuracy| ["sum", "mean"].map(|op| operator(op, *accuracy, "propagate")));
    let masked = masked.chain(ignoring.clone()).map(|operator| Operator {
        masked: true,
        ..operator
    });
    plain.chain(ignoring).chain(accurate).chain(masked).collect()
}

/// How an array is folded.
#[derive(Clone, Copy, Debug)]
enum Way {
    Whole,
    Axes,
    Keepdim,
    Offsets,
    SegmentSize,
}

/// Each way for each operator, in both orders of memory where there are axes.
const WAYS: [(Way, bool); 7] = [
    (Way::Whole, false),
    (Way::Whole, true),
    (Way::Axes, false),
    (Way::Axes, true),
    (Way::Keepdim, true),
    (Way::Offsets, false),
    (Way::SegmentSize, false),
];

/// Runs the command for each operator and way, and asks NumPy what it thinks of all the answers.
fn agrees(of: Type) -> Result<(), Failed> {
    let folder = Folder::new(of.name)?;
    let mut draw = Draw::new(of.name);
    let mut cases = vec![];
    for operator in operators(of) {
        for (way, fortran) in WAYS {
            cases.push(run(&folder.0, cases.len(), of, &operator, (way, fortran), &mut draw)?);
        }
    }
    let mut python = python()
        .arg("-c")
        .arg(include_str!("reference.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = python.stdin.take().expect("it is piped");
    stdin.write_all(json!(cases).to_string().as_bytes())?;
    drop(stdin);
    let said = python.wait_with_output()?;
    let errors = String::from_utf8_lossy(&said.stderr);
    if !said.status.success() {
        return Err(format!("reference.py: {errors}").into());
    }
    let said = String::from_utf8(said.stdout)?;
    let verdicts: Vec<&str> = said.lines().collect();
    if verdicts.len() != cases.len() {
        return Err(format!("{} verdicts on {} cases: {errors}", verdicts.len(), cases.len()).into());
    }
    let wrong = cases.iter().zip(verdicts).filter(|(_, verdict)| *verdict != "ok");
    let wrong: Vec<String> = wrong
        .map(|(case, verdict)| format!("{}\n    {verdict}", case["command"]))
        .collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "seed {}, {} of {} cases differ:\n{}",
            draw::seed(),
            wrong.len(),
            cases.len(),
            wrong.join("\n")
        )
        .into())
    }
}

/// One run of the command, and what the reference must know of it.
fn run(
    folder: &Path,
    number: usize,
    of: Type,
    operator: &Operator,
    (way, fortran): (Way, bool),
    draw: &mut Draw,
) -> Result<Value, Failed> {
    let &Operator {
        op,
        accuracy,
        nan,
        masked,
    } = operator;
    let over_nothing = !(op.starts_with("min") || op.starts_with("max") || op.starts_with("arg"));
    let array = draw.array(of, op, fortran && of.safetensors().is_none(), over_nothing);
    let file = |what: &str| folder.join(format!("{number}-{what}"));
    let (input, values) = write(&array, &file)?;
    let out = file("out.npy");
    let text = |path: &Path| path.to_str().expect("names are ASCII").to_owned();
    let mut arguments: Vec<String> = ["reduce", op, &text(&input), "--device", "cpu", "--out", &text(&out)]
        .map(String::from)
        .into();
    let mut ask = |name: &str, value: String| arguments.push(format!("--{name}={value}"));
    if accuracy != "native" {
        ask("accuracy", accuracy.into());
    }
    if nan != "propagate" {
        ask("nan", nan.into());
    }
    let correction = draw.one_of(&[0.0, 1.0, 2.5]);
    if matches!(op, "var" | "std" | "meanvar") {
        ask("correction", correction.to_string());
    }
    let ord = draw.one_of(&[0.5, 1.0, 2.0, 3.0, 7.25]);
    if op == "lp" {
        ask("ord", ord.to_string());
    }
    let mut mask = None;
    if masked {
        // Of fewer axes, or with an extent of 1, it is broadcast; whatever byte is not 0 selects.
        let shape = draw.broadcast(&array.shape);
        let choices = draw.one_of(&[[0_u8, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 1]]);
        let truths: Vec<u8> = (0..shape.iter().product()).map(|_| draw.one_of(&choices)).collect();
        fs::write(
            file("mask.npy"),
            npy(draw.one_of(&["|b1", "|u1"]), false, &shape, &truths),
        )?;
        ask("where", text(&file("mask.npy")));
        mask = Some(text(&file("mask.npy")));
    }
    let mut second = None;
    if PRODUCTS.contains(&op) {
        let (input, values) = write(&draw.second(&array, op), &|what| file(&format!("second-{what}")))?;
        ask("with", text(&input));
        second = Some(text(&values));
    }
    let mut axes = vec![];
    let mut offsets = None;
    let len: usize = array.shape.iter().product();
    match way {
        Way::Whole => {}
        Way::Axes | Way::Keepdim => {
            axes = draw.axes(array.shape.len());
            for axis in &axes {
                ask("axis", axis.to_string());
            }
        }
        Way::Offsets => {
            let drawn = draw.offsets(len, over_nothing);
            let bytes = drawn
                .iter()
                .flat_map(|offset| (*offset as u64).to_le_bytes())
                .collect::<Vec<_>>();
            fs::write(file("offsets.npy"), npy("<u8", false, &[drawn.len()], &bytes))?;
            ask("offsets", text(&file("offsets.npy")));
            offsets = Some(drawn);
        }
        Way::SegmentSize => {
            let size = draw.between(1, len.max(1));
            ask("segment-size", size.to_string());
            offsets = Some((0..len).step_by(size).chain([len]).collect());
        }
    }
    if let Way::Keepdim = way {
        arguments.push("--keepdim".into());
    }
    let done = Command::new(env!("CARGO_BIN_EXE_warpfold")).args(&arguments).output()?;
    let command = arguments.join(" ");
    if !done.status.success() {
        return Err(format!("warpfold {command}: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    Ok(json!({
        "command": format!("{command} of {} {:?}", of.name, array.shape),
        "op": op, "dtype": of.name, "accuracy": accuracy, "nan": nan, "correction": correction, "ord": ord,
        "axis": axes, "keepdim": matches!(way, Way::Keepdim), "offsets": offsets,
        "values": text(&values), "mask": mask, "second": second, "out": text(&out),
    }))
}

/// The array as a file for the command, and as one for NumPy: the same but of what NumPy does not have and reads as float32.
fn write(array: &Array, file: &impl Fn(&str) -> PathBuf) -> Result<(PathBuf, PathBuf), Failed> {
    let (input, values) = (file("values.npy"), file("values.npy"));
    fs::write(&values, npy(array.of.descr, array.fortran, &array.shape, &array.bytes))?;
    let Some(dtype) = array.of.safetensors() else {
        return Ok((input, values));
    };
    let input = file("values.safetensors");
    let singles = array.bytes.as_chunks::<4>().0.iter();
    let singles = singles.map(|single| f32::from_le_bytes(*single));
    let data: Vec<u8> = match dtype {
        "F8_E4M3" => singles.map(|single| f8e4m3::from_f32(single).to_bits()).collect(),
        "F8_E5M2" => singles.map(|single| f8e5m2::from_f32(single).to_bits()).collect(),
        _ => singles
            .flat_map(|single| bf16::from_f32(single).to_le_bytes())
            .collect(),
    };
    let header = json!({"x": {"dtype": dtype, "shape": array.shape, "data_offsets": [0, data.len()]}}).to_string();
    let header = format!("{header:<width$}", width = header.len().next_multiple_of(8));
    fs::write(
        &input,
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat(),
    )?;
    Ok((input, values))
}

/// A `.npy` file of version 1.
fn npy(descr: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let shape: String = shape.iter().map(|extent| format!("{extent},")).collect();
    let fortran = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({shape}), }}");
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = length - 1).bytes());
    bytes.extend(data);
    bytes
}

/// A folder that lives as long as the test that made it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Self, Failed> {
        let folder = env::temp_dir().join(format!("warpfold-numpy-{}-{name}", std::process::id()));
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
