//! What the options of `warpfold reduce` are of: the operators that use each of them.

use clap::{CommandFactory, ValueEnum, error::ErrorKind};

use crate::{
    cli::{Accuracy, Cli, Nan, Reduce, Ties},
    op::{Op, Takes},
    values::name,
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
