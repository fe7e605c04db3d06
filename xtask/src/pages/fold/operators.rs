//! The operators of the picture: what their states are in words and in numbers.

use warpfold_kernels::monoids::{Arg, Best, Key, LogSumExp, MeanVariance, Moments2, Monoid, NO_INDEX, Scaled, Sum};

/// An operator, and how its states are shown.
pub struct Operator<M: Monoid<f32>> {
    /// The operator.
    pub op: M,
    /// Its name, as one writes it in an address.
    pub name: &'static str,
    /// The same for people.
    pub title: &'static str,
    /// What a state is.
    pub state: &'static str,
    /// What the identity is.
    pub identity: &'static str,
    /// How two states are combined.
    pub combine: &'static str,
    /// Two short lines for a lane's box, each of at most five characters.
    pub short: fn(M::State) -> [String; 2],
    /// The state with all digits.
    pub full: fn(M::State) -> String,
    /// The answer.
    pub answer: fn(M::Answer) -> String,
}

/// The sum.
pub const SUM: Operator<Sum> = Operator {
    op: Sum,
    name: "sum",
    title: "sum",
    state: "one f32",
    identity: "−0.0",
    combine: "a + b",
    short: |sum| [short(sum.into()), String::new()],
    full: |sum| sum.to_string(),
    answer: |sum| sum.to_string(),
};

/// The index of the largest.
pub const ARGMAX: Operator<Arg> = Operator {
    op: Arg::LARGEST,
    name: "argmax",
    title: "argmax",
    state: "the best value so far, and its index",
    identity: "no element",
    combine: "the one of the larger value; of equals, that of the lower index",
    short: |best| [short(value(best).into()), best.place.to_string()],
    full: |best| format!("{} at index {}", value(best), best.place),
    answer: |index| {
        if index == NO_INDEX {
            "none".to_owned()
        } else {
            format!("index {index}")
        }
    },
};

/// Mean and variance.
pub const MEAN_VARIANCE: Operator<MeanVariance> = Operator {
    op: MeanVariance { correction: 1.0 },
    name: "mean-variance",
    title: "mean and variance",
    state: "how many elements (n), their mean, and m2, the sum of squared distances from it",
    identity: "n = 0",
    combine: "n = a.n + b.n; d = b.mean − a.mean; mean = a.mean + d · b.n / n; m2 = a.m2 + b.m2 + d² · a.n · b.n / n \
              (Chan, Golub, LeVeque)",
    short: |moments: Moments2| [short(moments.mean), format!("n{}", moments.count)],
    full: |moments: Moments2| format!("n {}, mean {}, m2 {}", moments.count, moments.mean, moments.m2),
    answer: |(mean, variance)| format!("mean {mean}, variance {variance}"),
};

/// The logarithm of a sum of exponentials.
pub const LOG_SUM_EXP: Operator<LogSumExp> = Operator {
    op: LogSumExp,
    name: "log-sum-exp",
    title: "log-sum-exp",
    state: "the largest element (max), and the sum of exp(x − max): the pair of the online softmax",
    identity: "max = −∞, sum = 0",
    combine: "max = the larger max; sum = its sum + the other sum · exp(−|a.max − b.max|)",
    short: |scaled: Scaled<f32>| [short(scaled.max.into()), format!("×{}", short(scaled.sum.into()))],
    full: |scaled: Scaled<f32>| format!("max {}, sum {}", scaled.max, scaled.sum),
    answer: |answer| answer.to_string(),
};

fn value(best: Best<Key<f32>>) -> f32 {
    Arg::LARGEST.value::<f32>(best)
}

/// A number below a million in at most five characters.
pub fn short(x: f64) -> String {
    if (9999.5..1e6).contains(&x.abs()) {
        let decimals = usize::from(x < 99_950.0 && x > 0.0);
        return format!("{:.decimals$}k", x / 1000.0).replace('-', "−");
    }
    let decimals = match x.abs() {
        y if !y.is_finite() => 0,
        y if y >= 99.5 => 0,
        // A minus takes a place.
        y if y >= 9.995 && x < 0.0 => 1,
        _ => 2,
    };
    format!("{x:.decimals$}").replace('-', "−")
}
