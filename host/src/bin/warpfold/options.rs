//! What the options of `warpfold reduce` are of: the operators that use each of them, and the numbers that it can be.

use clap::{CommandFactory, ValueEnum, error::ErrorKind};

use crate::{Accuracy, Cli, Nan, Op, Reduce, Ties};

/// An option that means nothing to some operators.
struct Use {
    option: &'static str,
    /// Whether the command line asks for it.
    is_asked: fn(&Reduce) -> bool,
    /// Whether an operator uses it.
    has: fn(Op) -> bool,
}

/// Every option of that kind: one that is not here is of all operators.
const USES: [Use; 7] = [
    Use {
        option: "--ties",
        is_asked: |args| args.ties.is_some(),
        has: |op| matches!(op, Op::Argmin | Op::Argmax),
    },
    Use {
        option: "--nan ignore",
        is_asked: |args| args.nan == Nan::Ignore,
        has: |op| {
            matches!(
                op,
                Op::Sum
                    | Op::Prod
                    | Op::Mean
                    | Op::Min
                    | Op::Max
                    | Op::Argmin
                    | Op::Argmax
                    | Op::ArgminLast
                    | Op::ArgmaxLast
                    | Op::Var
                    | Op::Std
            )
        },
    },
    Use {
        option: "--correction",
        is_asked: |args| args.correction.is_some(),
        has: |op| matches!(op, Op::Var | Op::Std | Op::Meanvar),
    },
    Use {
        option: "--ord",
        is_asked: |args| args.ord.is_some(),
        has: |op| matches!(op, Op::Lp),
    },
    Use {
        option: "--accuracy",
        is_asked: |args| args.accuracy != Accuracy::Native,
        has: |op| matches!(op, Op::Sum | Op::Mean),
    },
    Use {
        option: "--where",
        is_asked: |args| args.mask.is_some(),
        has: |op| {
            !matches!(
                op,
                Op::Minmax | Op::Argminmax | Op::Dot | Op::Cosine | Op::Distinct | Op::BitAnd | Op::BitOr | Op::BitXor
            )
        },
    },
    Use {
        option: "--with",
        is_asked: |args| args.with.is_some(),
        has: |op| matches!(op, Op::Dot | Op::Cosine),
    },
];

impl Op {
    /// Whether answers are rounded to their type: those that elements are added up or multiplied for.
    pub fn rounds(self) -> bool {
        matches!(
            self,
            Self::Sum
                | Self::Prod
                | Self::Mean
                | Self::L1
                | Self::L2
                | Self::Lp
                | Self::Sumsq
                | Self::Logsumexp
                | Self::Var
                | Self::Std
                | Self::Meanvar
                | Self::Skew
                | Self::Kurtosis
                | Self::Dot
                | Self::Cosine
        )
    }
}

impl Reduce {
    /// The operator that the arguments come to; an error for what no single argument tells is wrong.
    pub fn settle(&mut self) -> Result<(), clap::Error> {
        for Use { option, is_asked, has } in &USES {
            if is_asked(self) && !has(self.op) {
                let (op, operators) = (name(self.op), users(*has));
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
                Op::Argmin => Op::ArgminLast,
                _ => Op::ArgmaxLast,
            };
        }
        Ok(())
    }
}

fn conflict(problem: impl std::fmt::Display) -> clap::Error {
    Cli::command().error(ErrorKind::ArgumentConflict, problem)
}

/// The operators that use something: those, or where they are many all but the others.
fn users(has: fn(Op) -> bool) -> String {
    let names = |side: bool| -> Vec<String> {
        let all = Op::value_variants().iter().copied();
        all.filter(|&op| has(op) == side).map(name).collect()
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

/// A correction that a variance can have.
pub fn correction(text: &str) -> Result<f64, String> {
    let correction: f64 = text.parse().map_err(|_| "it is no number")?;
    if correction.is_finite() {
        Ok(correction)
    } else {
        Err("it must be finite".into())
    }
}

/// A power that a norm can have.
pub fn power(text: &str) -> Result<f64, String> {
    let power: f64 = text.parse().map_err(|_| "it is no number")?;
    if power.is_finite() && power > 0.0 {
        Ok(power)
    } else {
        Err("it must be finite and above 0; there are l1, l2 and linf, too".into())
    }
}
