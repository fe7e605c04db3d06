//! The names that people type for operators: ours, NumPy's and PyTorch's.

use clap::ValueEnum as _;

use super::{Op, Takes};
use crate::{cli::Nan, values};

/// What a name asks for.
#[derive(Clone, Copy)]
pub struct Asked {
    pub op: Op,
    /// The NaN policy that the name says.
    pub nan: Option<Nan>,
}

/// Other names of operators, and ours.
const ALIASES: [(&str, &str); 13] = [
    ("amax", "max"),
    ("amin", "min"),
    ("product", "prod"),
    ("average", "mean"),
    ("variance", "var"),
    ("stddev", "std"),
    ("norm", "l2"),
    ("absmax", "linf"),
    ("log-sum-exp", "logsumexp"),
    ("lse", "logsumexp"),
    ("unique-count", "distinct"),
    ("nunique", "distinct"),
    ("skewness", "skew"),
];

/// What is no operator, what it is, and what there is.
const OTHERS: [(&[&str], &str, &str); 5] = [
    (
        &["median", "quantile", "percentile", "mode"],
        "not a fold; NumPy has it",
        "`reduce mean`, and `describe` for min, max, mean and std",
    ),
    (
        &["histogram", "bincount"],
        "not a fold; NumPy has it",
        "`describe` for ends, mean and moments",
    ),
    (
        &["cumsum", "cumprod", "cumulative-sum", "cumulative-prod", "diff"],
        "not a fold; NumPy has it",
        "`reduce sum`, and `reduce sum --segment-size N` for runs of N",
    ),
    (
        &["unique", "sort", "argsort", "topk"],
        "not a fold; NumPy has it",
        "`reduce distinct`, `reduce minmax`",
    ),
    (
        &[
            "softmax",
            "log-softmax",
            "layer-norm",
            "group-norm",
            "rms-norm",
            "cross-entropy",
            "grad-norm",
            "describe",
        ],
        "a command of its own",
        "`warpfold NAME FILE`",
    ),
];

/// How like another a name must be to be meant by it.
const ALIKE: f64 = 0.8;

/// The operator of a name.
pub fn parse(text: &str) -> Result<Asked, String> {
    let name = text.to_lowercase().replace('_', "-");
    if let Some(op) = of(&name) {
        return Ok(Asked { op, nan: None });
    }
    if let Some(op) = name.strip_prefix("nan").and_then(of)
        && op.takes(Takes::without_nan)
    {
        let nan = Some(Nan::Ignore);
        return Ok(Asked { op, nan });
    }
    if let Some((_, what, instead)) = OTHERS.iter().find(|(names, ..)| names.contains(&&*name)) {
        return Err(format!("{name} is {what}; there is {}", instead.replace("NAME", &name)));
    }
    let ours = Op::value_variants().iter().map(|op| values::name(*op));
    let like = ours.map(|ours| (strsim::jaro_winkler(&name, &ours), ours));
    let nearest = like
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .filter(|(like, _)| *like >= ALIKE);
    let hint = nearest.map_or(String::new(), |(_, name)| format!("did you mean {name}? "));
    Err(format!("no such operator: {hint}`warpfold ops` lists all"))
}

fn of(name: &str) -> Option<Op> {
    let ours = ALIASES
        .iter()
        .find(|(alias, _)| *alias == name)
        .map_or(name, |(_, ours)| ours);
    Op::value_variants()
        .iter()
        .copied()
        .find(|op| values::name(*op) == ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_numpy_and_pytorch_are_known() {
        for (text, ours, ignores) in [
            ("sum", "sum", false),
            ("amax", "max", false),
            ("nansum", "sum", true),
            ("nanargmax", "argmax", true),
            ("nanstd", "std", true),
            ("count_nonzero", "count-nonzero", false),
            ("LogSumExp", "logsumexp", false),
            ("log_sum_exp", "logsumexp", false),
            ("average", "mean", false),
        ] {
            let asked = parse(text).unwrap();
            assert_eq!(
                (&*values::name(asked.op), asked.nan.is_some()),
                (ours, ignores),
                "{text}"
            );
        }
        for (alias, ours) in ALIASES {
            assert_eq!(values::name(parse(alias).unwrap().op), ours);
        }
    }

    #[test]
    fn what_is_no_operator_is_said() {
        for (text, says) in [
            ("median", "median is not a fold; NumPy has it; there is `reduce mean`"),
            (
                "softmax",
                "softmax is a command of its own; there is `warpfold softmax FILE`",
            ),
            ("agrmax", "did you mean argmax?"),
            ("zzz", "no such operator: `warpfold ops` lists all"),
            // It has no policy for NaN.
            ("nanskew", "no such operator"),
        ] {
            let error = parse(text).err().unwrap();
            assert!(error.contains(says), "{error}");
        }
    }
}
