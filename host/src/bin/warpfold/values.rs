//! What values of the command line can be, and how they are read.

use std::str::FromStr;

use clap::ValueEnum;
use warpfold::files::DType;

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
