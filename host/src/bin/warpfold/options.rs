//! What the options of `warpfold reduce` are of: the operators that use each of them, and the numbers that it can be.

use std::str::FromStr;

use clap::{CommandFactory, ValueEnum, error::ErrorKind};
use warpfold::files::DType;

use crate::{
    cli::{Accuracy, Cli, Nan, Reduce, Ties},
    op::{Op, Takes},
};

/// An option that means nothing to some operators.
struct Use {
    option: &'static str,
    /// Whether the command line asks for it.
    is_asked: fn(&Reduce) -> bool,
    /// What operators that use it take.
    takes: Takes,
}

/// Every option of that kind: one that is not here is of all operators.
const USES: [Use; 7] = [
    Use {
        option: "--ties",
        is_asked: |args| args.ties.is_some(),
        takes: Takes::ties,
    },
    Use {
        option: "--nan ignore",
        is_asked: |args| args.nan == Nan::Ignore,
        takes: Takes::without_nan,
    },
    Use {
        option: "--correction",
        is_asked: |args| args.correction.is_some(),
        takes: Takes::correction,
    },
    Use {
        option: "--ord",
        is_asked: |args| args.ord.is_some(),
        takes: Takes::ord,
    },
    Use {
        option: "--accuracy",
        is_asked: |args| args.accuracy != Accuracy::Native,
        takes: Takes::accuracy,
    },
    Use {
        option: "--where",
        is_asked: |args| args.mask.is_some(),
        takes: Takes::masked,
    },
    Use {
        option: "--with",
        is_asked: |args| args.with.is_some(),
        takes: Takes::with,
    },
];

impl Reduce {
    /// The operator that the arguments come to; an error for what no single argument tells is wrong.
    pub fn settle(&mut self) -> Result<(), clap::Error> {
        self.spell_out();
        for (takes, is_there, option) in [
            (Takes::ord, self.ord.is_some(), "--ord P, the power"),
            (Takes::with, self.with.is_some(), "--with FILE, the second array"),
        ] {
            if self.op.takes(takes) && !is_there {
                let problem = format!("{} needs {option}", name(self.op));
                return Err(Cli::command().error(ErrorKind::MissingRequiredArgument, problem));
            }
        }
        for Use {
            option,
            is_asked,
            takes,
        } in &USES
        {
            if is_asked(self) && !self.op.takes(*takes) {
                let (op, operators) = (name(self.op), users(*takes));
                return Err(conflict(format!(
                    "{op} does not use {option}, which is for {operators}"
                )));
            }
        }
        if self.nan == Nan::Ignore && self.accuracy != Accuracy::Native {
            return Err(conflict(
                "NaN is ignored in the native accuracy alone: leave out --nan ignore or --accuracy",
            ));
        }
        if self.ties == Some(Ties::Last) {
            self.op = match self.op {
                Op::ArgMin => Op::ArgMinLast,
                _ => Op::ArgMaxLast,
            };
        }
        Ok(())
    }
}

fn conflict(problem: impl std::fmt::Display) -> clap::Error {
    Cli::command().error(ErrorKind::ArgumentConflict, problem)
}

/// The operators that use something: those, or where they are many all but the others.
fn users(takes: Takes) -> String {
    let names = |side: bool| -> Vec<String> {
        let all = Op::value_variants().iter().copied();
        all.filter(|op| op.takes(takes) == side).map(name).collect()
    };
    let (users, others) = (names(true), names(false));
    if users.len() <= others.len() {
        listed(&users)
    } else {
        format!("all operators but {}", listed(&others))
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => names.concat(),
    }
}

/// A choice as the command line has it.
pub fn name(value: impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("no choice is hidden");
    value.get_name().to_owned()
}

/// Axes, as one value of the command line has them.
#[derive(Clone)]
pub struct AxisList(pub Vec<i64>);

/// `0`, `0,1`, `(0, 1)`, `[0, 1]`; `None` for all of them.
pub fn axes(text: &str) -> Result<AxisList, String> {
    let text = text.trim();
    if text == "None" {
        return Ok(AxisList(vec![]));
    }
    let inner = [('(', ')'), ('[', ']')]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
        .unwrap_or(text);
    // As a tuple of one has it.
    let inner = inner.strip_suffix(',').unwrap_or(inner);
    let axes = inner.split(',').map(|axis| axis.trim().parse());
    let axes = axes
        .collect::<Result<_, _>>()
        .map_err(|_| "axes are whole numbers: 0, 0,1, (0, 1), or None for all")?;
    Ok(AxisList(axes))
}

/// A type that raw elements can be.
pub fn raw(name: &str) -> Result<DType, String> {
    const DTYPES: [DType; 6] = [
        DType::Bf16,
        DType::F16,
        DType::F8E4M3,
        DType::F8E5M2,
        DType::F32,
        DType::F64,
    ];
    let found = DTYPES.into_iter().find(|dtype| dtype.name() == name);
    found.ok_or_else(|| format!("it is none of {}", DTYPES.map(DType::name).join(", ")))
}

/// A number for which `is_right` holds.
fn number<T: FromStr>(text: &str, is_right: impl Fn(&T) -> bool, must: &str) -> Result<T, String> {
    let number = text.parse().map_err(|_| "it is no number")?;
    if is_right(&number) {
        Ok(number)
    } else {
        Err(format!("it must be {must}"))
    }
}

/// A whole number from `least` to `most`.
pub fn whole(least: u64, most: u64) -> impl Fn(&str) -> Result<u64, String> + Clone {
    move |text| {
        let must = match most {
            u64::MAX => format!("at least {least}"),
            most => format!("from {least} to {most}"),
        };
        // As wide as any that is typed.
        let is_right = |number: &i128| (i128::from(least)..=i128::from(most)).contains(number);
        number(text, is_right, &must).map(|number| number as u64)
    }
}

/// A correction that a variance can have.
pub fn correction(text: &str) -> Result<f64, String> {
    number(text, |correction: &f64| correction.is_finite(), "finite")
}

/// A power that a norm can have.
pub fn power(text: &str) -> Result<f64, String> {
    let is_power = |power: &f64| power.is_finite() && *power > 0.0;
    number(text, is_power, "finite and above 0; there are l1, l2 and linf, too")
}

/// The factor of a softmax's elements.
pub fn scale(text: &str) -> Result<f32, String> {
    let is_scale = |scale: &f32| *scale == 0.0 || (2.0_f32.powi(-100)..=2.0_f32.powi(100)).contains(&scale.abs());
    number(text, is_scale, "0, or of a magnitude from 2^-100 to 2^100")
}

/// A temperature, whose reciprocal is a scale.
pub fn temperature(text: &str) -> Result<f32, String> {
    let is_temperature = |temperature: &f32| (2.0_f32.powi(-100)..=2.0_f32.powi(100)).contains(temperature);
    number(text, is_temperature, "above 0, from 2^-100 to 2^100")
}

/// What is added to a variance.
pub fn above_0(text: &str) -> Result<f32, String> {
    number(
        text,
        |value: &f32| value.is_finite() && *value > 0.0,
        "finite and above 0",
    )
}

/// A weight of what is added.
pub fn at_least_0(text: &str) -> Result<f32, String> {
    number(
        text,
        |value: &f32| value.is_finite() && *value >= 0.0,
        "finite and at least 0",
    )
}

/// A difference that does not count.
pub fn tolerance(text: &str) -> Result<f64, String> {
    number(
        text,
        |value: &f64| value.is_finite() && *value >= 0.0,
        "finite and at least 0",
    )
}

/// A part of a whole.
pub fn share(text: &str) -> Result<f32, String> {
    number(text, |value: &f32| (0.0..=1.0).contains(value), "from 0 to 1")
}
