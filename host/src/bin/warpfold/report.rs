//! What a fold came to, in text and in JSON.

use std::io::Write;

use serde::{Serialize, Serializer};
use warpfold::files::DType;

use crate::{Failure, answers::Answers, scalar::Scalar, shown::Shown, table};

/// The outcome of one fold.
pub struct Report {
    pub op: &'static str,
    pub file: String,
    /// The second array's, if there is one.
    pub with: Option<String>,
    pub device: String,
    pub device_in_words: String,
    /// The elements' type, as NumPy calls it.
    pub dtype: String,
    pub shape: Vec<u64>,
    pub outcome: Outcome,
    /// The type that the answers were cast to, if they were.
    pub cast_to: Option<DType>,
    /// What a GPU would do, if that was asked for.
    pub explained: Option<Explained>,
    /// The file that the answers were written to, and their type there.
    pub out: Option<(String, DType)>,
    /// Standard output has the answers, so the report goes elsewhere.
    pub to_stderr: bool,
    /// Of a variance: its divisor is the number of elements minus this.
    pub correction: Option<f64>,
    pub seconds: f64,
    pub bytes: u64,
}

/// What a GPU launches, and how long that takes by a model.
#[derive(Serialize)]
pub struct Explained {
    pub plan: String,
    pub predicted_seconds: f64,
    pub predicted_for: String,
    /// Why the best device is the one that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
}

/// What was answered.
pub enum Outcome {
    /// Of the whole array.
    Whole(Value),
    /// Along axes, as they were named.
    Along(Vec<i64>, Answers),
    /// Of each segment.
    Segments(Answers),
}

impl Outcome {
    /// The answers, where there may be many.
    fn many(&self) -> Option<&Answers> {
        match self {
            Self::Whole(_) => None,
            Self::Along(_, answers) | Self::Segments(answers) => Some(answers),
        }
    }
}

/// The answer, or several.
pub struct Value {
    pub result: Vec<Scalar>,
    /// For indices, the elements there.
    pub elements: Vec<Scalar>,
}

impl Report {
    /// The answers first: one line, or an array and a line. Then a line for the file that was written.
    pub fn text(&self) -> String {
        let along = match &self.outcome {
            Outcome::Whole(_) => String::new(),
            Outcome::Along(axes, _) => {
                let plural = if axes.len() == 1 { "axis" } else { "axes" };
                let axes: Vec<_> = axes.iter().map(i64::to_string).collect();
                format!(" along {plural} {}", axes.join(", "))
            }
            Outcome::Segments(_) => " of each segment".into(),
        };
        let (answers, to) = match &self.outcome {
            Outcome::Whole(value) => (format!("{}  ", value.text()), String::new()),
            Outcome::Along(_, answers) | Outcome::Segments(answers) => (
                format!("{}\n", table::array(answers)),
                format!(" to {} {}", answers.dtype, tuple(&answers.shape)),
            ),
        };
        let with = self
            .with
            .as_ref()
            .map_or(String::new(), |with| format!(" with {}", Shown(with)));
        let divisor = match self.correction {
            None => String::new(),
            Some(0.0) => ", divided by n".into(),
            Some(1.0) => ", divided by n - 1 (--correction 0: by n)".into(),
            Some(correction) => format!(", divided by n - {correction}"),
        };
        let mut text = format!(
            "{answers}{}{along} of {}{with}{divisor}: {} {}{to}, {} bytes in {:.6} s, {:.3} GB/s, on {}",
            self.op,
            Shown(&self.file),
            Shown(&self.dtype),
            tuple(&self.shape),
            self.bytes,
            self.seconds,
            self.gb_per_s(),
            self.device_in_words,
        );
        if let Some(Explained {
            plan,
            predicted_seconds,
            predicted_for,
            choice,
        }) = &self.explained
        {
            let predicted = 1e6 * predicted_seconds;
            text += &format!("\n{plan}\npredicted for {predicted_for}: {predicted:.2} µs");
            text.extend(choice.iter().map(|choice| format!("\n{choice}")));
        }
        if let Some((path, dtype)) = &self.out {
            text += &format!("\nwritten to {} as {dtype}", Shown(path));
        }
        text
    }

    /// One object, of a line. There may be too many answers to have all their text in memory.
    pub fn write_json(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let value = match &self.outcome {
            Outcome::Whole(value) => Some(value),
            _ => None,
        };
        let axis = match &self.outcome {
            Outcome::Along(axes, _) => Some(&axes[..]),
            _ => None,
        };
        let many = self.outcome.many();
        let object = Object {
            op: self.op,
            device: &self.device,
            with: self.with.as_deref(),
            dtype: &self.dtype,
            shape: &self.shape,
            result: value.map(|value| OneOrMore(&value.result)),
            value: value
                .filter(|value| !value.elements.is_empty())
                .map(|value| OneOrMore(&value.elements)),
            axis,
            dtype_out: many.map(|answers| answers.dtype).or(self.cast_to).map(DType::name),
            shape_out: many.map(|answers| &answers.shape[..]),
            answers: many,
            out: self.out.as_ref().map(|(path, dtype)| Out {
                file: path.clone(),
                dtype: dtype.name(),
            }),
            explained: self.explained.as_ref(),
            correction: self.correction,
            seconds: self.seconds,
            bytes: self.bytes,
            gb_per_s: self.gb_per_s(),
        };
        serde_json::to_writer(&mut *out, &object)?;
        Ok(writeln!(out)?)
    }

    fn gb_per_s(&self) -> f64 {
        // A clock that stood still is no infinite speed.
        self.bytes as f64 / self.seconds.max(1e-9) / 1e9
    }
}

impl Value {
    fn text(&self) -> String {
        let one = |(at, scalar): (usize, &Scalar)| match self.elements.get(at) {
            Some(element) => format!("{scalar} (value {element})"),
            None => scalar.to_string(),
        };
        self.result.iter().enumerate().map(one).collect::<Vec<_>>().join(" ")
    }
}

#[derive(Serialize)]
struct Object<'a> {
    op: &'a str,
    device: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    with: Option<&'a str>,
    dtype: &'a str,
    shape: &'a [u64],
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<OneOrMore<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<OneOrMore<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    axis: Option<&'a [i64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype_out: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape_out: Option<&'a [u64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<&'a Answers>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out: Option<Out<'a>>,
    #[serde(flatten)]
    explained: Option<&'a Explained>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correction: Option<f64>,
    seconds: f64,
    bytes: u64,
    gb_per_s: f64,
}

/// The file of the answers.
#[derive(Serialize)]
struct Out<'a> {
    file: String,
    dtype: &'a str,
}

/// One answer as it is, several as a list.
struct OneOrMore<'a>(&'a [Scalar]);

impl Serialize for OneOrMore<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            [one] => one.serialize(serializer),
            several => serializer.collect_seq(several),
        }
    }
}

/// A shape as NumPy prints it.
pub fn tuple(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => {
            let extents: Vec<_> = shape.iter().map(u64::to_string).collect();
            format!("({})", extents.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_look_like_tuples() {
        assert_eq!(tuple(&[]), "()");
        assert_eq!(tuple(&[5]), "(5,)");
        assert_eq!(tuple(&[5, 20]), "(5, 20)");
    }
}
