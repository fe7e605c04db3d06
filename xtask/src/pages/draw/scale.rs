//! Scales of axes: where a value stands, and which values get a tick.

/// A value's way to a coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisScale {
    base: Option<f64>,
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

/// The most ticks that an axis has.
const TICKS: f64 = 6.0;

impl AxisScale {
    /// From 0 to a round number that is not below `most`.
    pub fn linear(most: f64, start: f64, end: f64) -> Self {
        let step = round_step(most / (TICKS - 1.0));
        Self::linear_to((most / step).ceil().max(1.0) * step, start, end)
    }

    /// From 0 to `most` itself.
    pub fn linear_to(to: f64, start: f64, end: f64) -> Self {
        let (base, from) = (None, 0.0);
        Self {
            base,
            from,
            to,
            start,
            end,
        }
    }

    /// Powers of `base`, from the one that is not above `least` to the one that is not below `most`.
    pub fn log(base: f64, least: f64, most: f64, start: f64, end: f64) -> Self {
        // A power itself must not be rounded to the one beside it.
        let from = (least.log(base) + 1e-9).floor();
        let to = (most.log(base) - 1e-9).ceil().max(from + 1.0);
        let base = Some(base);
        Self {
            base,
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

    /// Coordinates of ticks, and what stands beside them.
    pub fn labelled(&self, text: impl Fn(f64) -> String) -> impl Iterator<Item = (f64, String)> {
        self.ticks().into_iter().map(move |tick| (self.at(tick), text(tick)))
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
        let step = (f64::from(to - from) / (most - 1.0)).ceil().max(1.0) as usize;
        (from..=to).step_by(step).map(|power| base.powi(power)).collect()
    }
}

/// The next of 1, 2, 5 and their multiples by powers of ten.
fn round_step(step: f64) -> f64 {
    if step <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf((step.log10() - 1e-9).floor());
    let is_enough = |round: &f64| round * power >= step - 1e-9 * power;
    let first = [1.0, 2.0, 5.0].into_iter().find(is_enough);
    first.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_scale_ends_at_a_round_number() {
        let scale = AxisScale::linear(4586.0, 100.0, 500.0);
        assert_eq!(scale.ticks(), [0.0, 1000.0, 2000.0, 3000.0, 4000.0, 5000.0]);
        assert_eq!(
            (scale.at(0.0), scale.at(2500.0), scale.at(5000.0)),
            (100.0, 300.0, 500.0)
        );
        assert_eq!(AxisScale::linear(0.0, 0.0, 1.0).ticks().last(), Some(&1.0));
        assert_eq!(AxisScale::linear_to(1.0, 0.0, 1.0).ticks().last(), Some(&1.0));
    }

    #[test]
    fn a_log_scale_goes_by_powers() {
        let scale = AxisScale::log(2.0, 1024.0, f64::from(1 << 30), 0.0, 200.0);
        let ticks = scale.ticks();
        assert_eq!((ticks.len(), ticks[0], ticks[10]), (11, 1024.0, f64::from(1 << 30)));
        assert_eq!(scale.at(f64::from(1 << 20)), 100.0);
        assert_eq!(
            AxisScale::log(10.0, 3.0, 4586.0, 0.0, 1.0).ticks(),
            [1.0, 10.0, 100.0, 1000.0, 10_000.0]
        );
        // Everything is one power: there is an axis all the same.
        assert_eq!(AxisScale::log(10.0, 10.0, 10.0, 0.0, 1.0).ticks(), [10.0, 100.0]);
    }
}
