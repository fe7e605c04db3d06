//! The operators of the picture: what their states are in words and in numbers.

use serde::Serialize;
use warpfold_kernels::monoids::{
    Arg, Best, Exponentials, Key, LogSumExp, MeanVariance, Moments2, Monoid, NO_INDEX, Sum,
};

/// What is said of an operator.
#[derive(Serialize)]
pub struct About {
    /// Its name, as one writes it in an address.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What a state is.
    pub state: &'static str,
    /// What the identity is.
    pub identity: &'static str,
    /// How two states are combined.
    pub combine: &'static str,
}

/// An operator, and how its states are shown.
pub struct Operator<M: Monoid<f32>> {
    pub op: M,
    /// The file of its still.
    pub still: &'static str,
    pub about: About,
    /// Two short lines for a lane's box, each of at most five characters.
    pub short: fn(M::State) -> [String; 2],
    /// The parts of a state, in the order in which they are shown.
    pub fields: fn(M::State) -> Vec<Field>,
    pub answer: fn(M::Answer) -> String,
}

impl<M: Monoid<f32>> Operator<M> {
    /// A state with all digits.
    pub fn full(&self, state: M::State) -> String {
        self.lines(state, |field| &field.full).join(", ")
    }

    /// A state in lines, with the digits of an f32.
    pub fn wide(&self, state: M::State) -> Vec<String> {
        self.lines(state, |field| &field.wide)
    }

    /// The parts of a state, each with its name where there are several.
    fn lines(&self, state: M::State, number: fn(&Field) -> &String) -> Vec<String> {
        match &(self.fields)(state)[..] {
            [one] => vec![number(one).clone()],
            fields => {
                let named = |field: &Field| format!("{} {}", field.name, number(field));
                fields.iter().map(named).collect()
            }
        }
    }
}

/// A part of a state: its name, and its number in three lengths.
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// At most five characters.
    pub short: String,
    /// The digits of an f32.
    pub wide: String,
    /// All digits.
    pub full: String,
}

impl Field {
    fn new(name: &'static str, short: String, wide: String, full: String) -> Self {
        Self {
            name,
            short,
            wide,
            full,
        }
    }

    fn float(name: &'static str, x: f32) -> Self {
        Self::new(name, short(x.into()), digits(x), digits(x))
    }

    fn double(name: &'static str, x: f64) -> Self {
        Self::new(name, short(x), digits(x as f32), digits(x))
    }

    fn whole(name: &'static str, number: u64) -> Self {
        Self::new(name, digits(number), digits(number), digits(number))
    }
}

/// A number with all its digits, as people write it.
fn digits(x: impl ToString) -> String {
    x.to_string().replace('-', "−")
}

/// The sum.
pub const SUM: Operator<Sum> = Operator {
    op: Sum,
    still: "fold-sum.svg",
    about: About {
        name: "sum",
        title: "sum",
        state: "one f32: the sum so far",
        identity: "−0.0",
        combine: "a + b",
    },
    short: |sum| [short(sum.into()), String::new()],
    fields: |sum| vec![Field::float("sum", sum)],
    answer: |sum| sum.to_string(),
};

/// The index of the largest.
pub const ARGMAX: Operator<Arg> = Operator {
    op: Arg::LARGEST,
    still: "fold-argmax.svg",
    about: About {
        name: "argmax",
        title: "argmax",
        state: "the best value so far, and its index",
        identity: "no element",
        combine: "the one of the larger value; of equals, that of the lower index",
    },
    short: |best| [short(value(best).into()), best.place.to_string()],
    fields: |best| vec![Field::float("value", value(best)), Field::whole("index", best.place)],
    answer: |index| match index {
        NO_INDEX => "none".to_owned(),
        index => format!("index {index}"),
    },
};

/// Mean and variance.
pub const MEAN_VARIANCE: Operator<MeanVariance> = Operator {
    op: MeanVariance { correction: 1.0 },
    still: "fold-moments.svg",
    about: About {
        name: "mean-variance",
        title: "mean and variance",
        state: "how many elements (n), their mean, and m2, the sum of squared deviations from it (Welford)",
        identity: "n = 0",
        combine: "n = a.n + b.n; d = b.mean − a.mean; mean = a.mean + d · b.n / n; m2 = a.m2 + b.m2 + d² · a.n · b.n / n \
                  (Chan, Golub, LeVeque)",
    },
    short: |moments: Moments2| [short(moments.mean), format!("n{}", moments.count)],
    fields: |moments: Moments2| {
        vec![
            Field::whole("n", moments.count),
            Field::double("mean", moments.mean),
            Field::double("m2", moments.m2),
        ]
    },
    answer: |(mean, variance)| format!("mean {mean}, variance {variance}"),
};

/// The logarithm of a sum of exponentials.
pub const LOG_SUM_EXP: Operator<LogSumExp> = Operator {
    op: LogSumExp,
    still: "fold-log-sum-exp.svg",
    about: About {
        name: "log-sum-exp",
        title: "log-sum-exp",
        state: "the largest element (max), and the sum of exp(x) relative to the power of two of exp(max)",
        identity: "max = −∞, sum = 0",
        combine: "max = the larger max; sum = its sum + the other sum · a power of two",
    },
    short: |sums: Exponentials| [short(sums.max.into()), format!("×{}", short(sums.sum.into()))],
    fields: |sums: Exponentials| vec![Field::float("max", sums.max), Field::float("sum", sums.sum)],
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
