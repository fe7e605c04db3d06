//! Scales of axes: where a value stands, and which values get a tick.

/// A value's way to a coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    base: Option<f64>,
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

/// The most ticks that an axis has.
const TICKS: f64 = 6.0;

impl Scale {
    /// From 0 to a round number that is not below `most`.
    pub fn linear(most: f64, start: f64, end: f64) -> Self {
        let step = round_step(most / (TICKS - 1.0));
        let to = (most / step).ceil().max(1.0) * step;
        Self {
            base: None,
            from: 0.0,
            to,
            start,
            end,
        }
    }

    /// From 0 to `most` itself.
    pub fn linear_to(most: f64, start: f64, end: f64) -> Self {
        Self {
            to: most,
            ..Self::linear(most, start, end)
        }
    }

    /// Powers of `base`, from the one that is not above `least` to the one that is not below `most`.
    pub fn log(base: f64, least: f64, most: f64, start: f64, end: f64) -> Self {
        // A power itself must not be rounded to the one beside it.
        let from = (least.log(base) + 1e-9).floor();
        let to = (most.log(base) - 1e-9).ceil().max(from + 1.0);
        Self {
            base: Some(base),
            from,
            to,
            start,
            end,
        }
    }

    /// The same, its end at a value that is no power.
    pub fn up_to(self, most: f64) -> Self {
        let to = self.base.map_or(most, |base| most.log(base));
        Self { to, ..self }
    }

    /// The coordinate of a value.
    pub fn at(&self, value: f64) -> f64 {
        let value = self.base.map_or(value, |base| value.log(base));
        self.start + (value - self.from) / (self.to - self.from) * (self.end - self.start)
    }

    /// Values with a tick, the lowest first.
    pub fn ticks(&self) -> Vec<f64> {
        let Some(base) = self.base else {
            let step = round_step(self.to / (TICKS - 1.0));
            let count = (self.to / step + 1e-9).floor() as u32;
            return (0..=count).map(|i| f64::from(i) * step).collect();
        };
        let most = if base < 3.0 { 2.0 * TICKS } else { TICKS };
        let (from, to) = (self.from as i32, self.to.floor() as i32);
        let step = (f64::from(to - from) / (most - 1.0)).ceil().max(1.0) as i32;
        (0..)
            .map(|i| from + i * step)
            .take_while(|power| *power <= to)
            .map(|power| base.powi(power))
            .collect()
    }
}

/// The next of 1, 2, 5 and their multiples by powers of ten.
fn round_step(step: f64) -> f64 {
    if step <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf((step.log10() - 1e-9).floor());
    let first = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|round| round * power >= step - 1e-9 * power);
    first.unwrap_or(10.0) * power
}

/// A power of two, as 2¹⁰.
pub fn power_of_two(value: f64) -> String {
    power(2, value.log2())
}

/// What a tick of a log scale says: a power of ten as such, where it has many digits.
pub fn power_of_ten(value: f64) -> String {
    match value {
        value if value == 0.0 || (0.01..1e4).contains(&value) => short(value),
        value => power(10, value.log10()),
    }
}

/// Digits of exponents.
pub const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

fn power(base: u32, exponent: f64) -> String {
    let raised = |digit: char| digit.to_digit(10).map_or('⁻', |digit| RAISED[digit as usize]);
    let exponent = format!("{exponent:.0}");
    format!("{base}{}", exponent.chars().map(raised).collect::<String>())
}

/// A case's name, a power of two in front as such: `2^20 uniform` is 2²⁰ uniform.
pub fn case(name: &str) -> String {
    let (first, rest) = name.split_at(name.find(' ').unwrap_or(name.len()));
    let log = first.strip_prefix("2^").and_then(|log| log.parse::<u32>().ok());
    log.map_or_else(|| name.to_owned(), |log| power(2, f64::from(log)) + rest)
}

/// A number in as few digits as say it to about one in a thousand.
pub fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if !(0.01..1e6).contains(&size) => {
            let text = format!("{value:.1e}");
            text.replace(".0e", "e")
        }
        size if size < 10.0 => {
            let text = format!("{value:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        size if size < 100.0 => {
            let text = format!("{value:.1}");
            text.trim_end_matches(".0").to_owned()
        }
        _ => super::super::tables::count(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_scale_ends_at_a_round_number() {
        let scale = Scale::linear(4586.0, 100.0, 500.0);
        assert_eq!(scale.ticks(), [0.0, 1000.0, 2000.0, 3000.0, 4000.0, 5000.0]);
        assert_eq!(
            (scale.at(0.0), scale.at(2500.0), scale.at(5000.0)),
            (100.0, 300.0, 500.0)
        );
        assert_eq!(Scale::linear(0.0, 0.0, 1.0).ticks().last(), Some(&1.0));
        assert_eq!(Scale::linear_to(1.0, 0.0, 1.0).ticks().last(), Some(&1.0));
    }

    #[test]
    fn a_log_scale_goes_by_powers() {
        let scale = Scale::log(2.0, 1024.0, f64::from(1 << 30), 0.0, 200.0);
        let ticks = scale.ticks();
        assert_eq!((ticks.len(), ticks[0], ticks[10]), (11, 1024.0, f64::from(1 << 30)));
        assert_eq!(scale.at(f64::from(1 << 20)), 100.0);
        assert_eq!(
            Scale::log(10.0, 3.0, 4586.0, 0.0, 1.0).ticks(),
            [1.0, 10.0, 100.0, 1000.0, 10_000.0]
        );
        // Everything is one power: there is an axis all the same.
        assert_eq!(Scale::log(10.0, 10.0, 10.0, 0.0, 1.0).ticks(), [10.0, 100.0]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(power_of_two(f64::from(1 << 28)), "2²⁸");
        assert_eq!(
            [0.0, 0.01, 1000.0, 1e6, 1e-3].map(power_of_ten),
            ["0", "0.01", "1,000", "10⁶", "10⁻³"]
        );
        assert_eq!(
            ["2^20 uniform", "2^10", "8x8", "2^x"].map(case),
            ["2²⁰ uniform", "2¹⁰", "8x8", "2^x"]
        );
        let of = [0.0, 0.001, 0.5, 1.25, 3.0, 12.04, 1234.5, 2e6].map(short);
        assert_eq!(of, ["0", "1e-3", "0.5", "1.25", "3", "12", "1,234", "2e6"]);
    }
}
