//! What `warpfold describe` found, in text, in JSON and as CSV.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, Table, presets};
use serde::{Serialize, Serializer, ser::SerializeMap};
use warpfold::ops::{Summary, element::Float};

use crate::{Failure, report::tuple, scalar::Scalar, shown::Shown};

/// Of all files.
pub struct Summaries {
    /// Each by its name, with its arrays; one that could not be opened has one that could not be read.
    pub files: Vec<(String, Vec<ArraySummary>)>,
    pub bytes: u64,
    pub seconds: f64,
    pub device: String,
}

/// Of one array.
pub struct ArraySummary {
    pub name: Option<String>,
    pub elements: u64,
    pub bytes: u64,
    pub dtype: Option<String>,
    pub shape: Option<Vec<u64>>,
    pub outcome: Outcome,
}

pub enum Outcome {
    Described(Box<Numbers>),
    /// Why it was not described.
    Unread(String),
}

/// What the numbers are called.
const FIELDS: [&str; 19] = [
    "count",
    "nan",
    "infinities",
    "positive_infinities",
    "negative_infinities",
    "zeros",
    "min",
    "max",
    "argmin",
    "argmax",
    "sum",
    "mean",
    "variance",
    "std",
    "skewness",
    "kurtosis",
    "l1",
    "l2",
    "linf",
];

/// Those that are in a table of few columns.
const FEW: [&str; 6] = ["nan", "infinities", "min", "max", "mean", "std"];

/// The numbers of a summary, in the order of [`FIELDS`]; none where there is none, as the min of nothing.
#[derive(Clone, Copy)]
pub struct Numbers([Option<Scalar>; FIELDS.len()]);

impl Numbers {
    /// `number` writes those that are sums or elements.
    pub fn of<T: Float<Total = T> + Into<Scalar>>(summary: &Summary<T>, number: impl Fn(T) -> Scalar) -> Self {
        let count = |count: u64| Some(Scalar::from(count));
        let whole = |value: T| Some(number(value));
        let fraction = |value: T| Some(value.into());
        Self([
            count(summary.count),
            count(summary.nan),
            count(summary.positive_infinities + summary.negative_infinities),
            count(summary.positive_infinities),
            count(summary.negative_infinities),
            count(summary.zeros),
            summary.min.map(&number),
            summary.max.map(&number),
            summary.argmin.map(Scalar::from),
            summary.argmax.map(Scalar::from),
            whole(summary.sum),
            fraction(summary.mean),
            fraction(summary.variance),
            fraction(summary.std),
            fraction(summary.skewness),
            fraction(summary.kurtosis),
            whole(summary.l1),
            fraction(summary.l2),
            whole(summary.linf),
        ])
    }

    /// Of complex numbers: how many they are, and how many are NaN, infinite and 0; their mean, and the norms of magnitudes.
    pub fn of_complex([count, nan, infinite, zeros]: [u64; 4], [mean, l2, linf]: [Scalar; 3]) -> Self {
        let mut numbers = [None; FIELDS.len()];
        for (field, number) in [
            ("count", count.into()),
            ("nan", nan.into()),
            ("infinities", infinite.into()),
            ("zeros", zeros.into()),
            ("mean", mean),
            ("l2", l2),
            ("linf", linf),
        ] {
            let at = FIELDS.iter().position(|name| *name == field);
            numbers[at.expect("a field's name")] = Some(number);
        }
        Self(numbers)
    }

    fn get(&self, field: &str) -> Option<Scalar> {
        self.0[FIELDS.iter().position(|name| *name == field)?]
    }

    fn count(&self, field: &str) -> u64 {
        match self.get(field) {
            Some(Scalar::Unsigned(count)) => count,
            _ => 0,
        }
    }

    /// Whether a number is none, or not finite.
    fn is_suspicious(&self) -> bool {
        self.count("nan") > 0 || self.count("infinities") > 0
    }

    /// What a table says of a field.
    fn cell(&self, field: &str) -> String {
        self.get(field).map_or_else(|| "-".into(), few_digits)
    }
}

impl ArraySummary {
    /// Of a file that could not be opened.
    pub fn unread(error: String) -> Self {
        Self {
            name: None,
            elements: 0,
            bytes: 0,
            dtype: None,
            shape: None,
            outcome: Outcome::Unread(error),
        }
    }

    fn numbers(&self) -> Option<&Numbers> {
        match &self.outcome {
            Outcome::Described(numbers) => Some(numbers),
            _ => None,
        }
    }

    fn error(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Described(_) => None,
            Outcome::Unread(error) => Some(error),
        }
    }

    fn is_suspicious(&self) -> bool {
        self.numbers().is_some_and(Numbers::is_suspicious)
    }
}

impl Summaries {
    fn arrays(&self) -> impl Iterator<Item = (&str, &ArraySummary)> {
        self.files
            .iter()
            .flat_map(|(file, arrays)| arrays.iter().map(move |array| (&**file, array)))
    }

    /// What could not be read.
    pub fn failures(&self) -> Vec<Failure> {
        let unread = self.arrays().filter_map(|(_, array)| match &array.outcome {
            Outcome::Unread(error) => Some(error.clone().into()),
            _ => None,
        });
        unread.collect()
    }

    /// A table for each file, under its name where there are several, and a line for all of them.
    pub fn text(&self, wide: bool) -> String {
        let columns: &[&'static str] = if wide { &FIELDS } else { &FEW };
        let mut parts = Vec::new();
        for (file, arrays) in &self.files {
            let title = (self.files.len() > 1).then(|| Shown(file).to_string());
            let rows = arrays.iter().filter(|array| array.dtype.is_some());
            let table = (rows.clone().count() > 0).then(|| table(rows, columns));
            let lines: Vec<_> = title.into_iter().chain(table).collect();
            if !lines.is_empty() {
                parts.push(lines.join("\n"));
            }
        }
        parts.extend(self.totals());
        parts.push(self.line());
        parts.join("\n\n")
    }

    /// Of several arrays: how many elements and bytes there are of each type.
    fn totals(&self) -> Option<String> {
        let mut totals: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
        for (_, array) in self.arrays() {
            if let Some(dtype) = &array.dtype {
                let [arrays, elements, bytes] = totals.entry(dtype).or_default();
                *arrays += 1;
                *elements += array.elements;
                *bytes += array.bytes;
            }
        }
        if totals.values().map(|[arrays, ..]| arrays).sum::<u64>() < 2 {
            return None;
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["dtype", "arrays", "elements", "bytes"]);
        for (dtype, numbers) in totals {
            let numbers = numbers.map(|number| number.to_string());
            table.add_row([Shown(dtype).to_string()].into_iter().chain(numbers));
        }
        for (number, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if number > 0 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Some(table.trim_fmt())
    }

    /// How many arrays, and how many of them to look at.
    fn line(&self) -> String {
        let described = self.arrays().filter(|(_, array)| array.numbers().is_some()).count();
        let suspicious = self.arrays().filter(|(_, array)| array.is_suspicious()).count();
        let mut line = format!(
            "{}, {} bytes in {:.3} s, {:.3} GB/s, on {}\n",
            arrays(described),
            self.bytes,
            self.seconds,
            self.bytes as f64 / self.seconds.max(1e-9) / 1e9,
            self.device
        );
        line += &match suspicious {
            0 if described == 0 => return line.trim_end().to_owned(),
            0 => "none holds NaN or an infinity".to_owned(),
            1 => "1 array holds NaN or an infinity: the one marked with !".to_owned(),
            many => format!("{many} arrays hold NaN or an infinity: those marked with !"),
        };
        line
    }

    /// One list, an object for each array.
    pub fn json(&self) -> Result<String, Failure> {
        let objects: Vec<_> = self.arrays().map(|(file, array)| Object { file, array }).collect();
        Ok(serde_json::to_string(&objects)?)
    }

    /// A line for each array, under a header.
    pub fn csv(&self) -> Result<String, Failure> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(
            ["file", "name", "dtype", "shape"]
                .into_iter()
                .chain(FIELDS)
                .chain(["error"]),
        )?;
        for (file, array) in self.arrays() {
            let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
            let number = |field| array.numbers().and_then(|numbers| numbers.get(field));
            let numbers = FIELDS.map(|field| number(field).map_or_else(String::new, |number| number.to_string()));
            let before = [
                file.to_owned(),
                text(array.name.as_deref()),
                text(array.dtype.as_deref()),
                array.shape.as_deref().map_or_else(String::new, tuple),
            ];
            csv.write_record(before.into_iter().chain(numbers).chain([text(array.error())]))?;
        }
        let text = String::from_utf8(csv.into_inner()?)?;
        Ok(text.trim_end().to_owned())
    }
}

fn arrays(count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} array{plural}")
}

fn table<'a>(arrays: impl Iterator<Item = &'a ArraySummary>, columns: &[&'static str]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let short = |column: &&'static str| if *column == "infinities" { "inf" } else { *column };
    table.set_header(
        ["", "name", "dtype", "shape"]
            .into_iter()
            .chain(columns.iter().map(short)),
    );
    for array in arrays {
        let mark = if array.is_suspicious() { "!" } else { "" };
        let name = array.name.as_deref().unwrap_or("-");
        let before = [
            mark.to_owned(),
            Shown(name).to_string(),
            Shown(array.dtype.as_deref().unwrap_or_default()).to_string(),
            tuple(array.shape.as_deref().unwrap_or_default()),
        ];
        let cell = |column: &&str| {
            array
                .numbers()
                .map_or_else(|| "-".to_owned(), |numbers| numbers.cell(column))
        };
        table.add_row(before.into_iter().chain(columns.iter().map(cell)));
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if number == 0 { 1 } else { 2 }));
        if number > 3 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// A number in five digits, where it has more.
fn few_digits(number: Scalar) -> String {
    let number = match number {
        Scalar::Single(number) => f64::from(number),
        Scalar::Double(number) => number,
        whole => return whole.to_string(),
    };
    let magnitude = number.abs();
    if !number.is_finite() || magnitude == 0.0 {
        return format!("{number}");
    }
    if !(1e-3..1e6).contains(&magnitude) {
        return format!("{number:.4e}");
    }
    let before_point = magnitude.log10().floor() as i32 + 1;
    let text = format!("{number:.*}", (5 - before_point).max(0) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

struct Object<'a> {
    file: &'a str,
    array: &'a ArraySummary,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let array = self.array;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("file", self.file)?;
        map.serialize_entry("name", &array.name)?;
        map.serialize_entry("dtype", &array.dtype)?;
        map.serialize_entry("shape", &array.shape)?;
        if let Some(numbers) = array.numbers() {
            for (field, number) in FIELDS.iter().zip(&numbers.0) {
                map.serialize_entry(field, number)?;
            }
        }
        if let Some(error) = array.error() {
            map.serialize_entry("error", error)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_table_are_short() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.33333"),
            (123.456_789, "123.46"),
            (99_999.6, "100000"),
            (123_456.0, "123456"),
            (1.234_567e8, "1.2346e8"),
            (-2.5e-5, "-2.5000e-5"),
            (0.001, "0.001"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(few_digits(Scalar::Double(number)), text);
        }
        assert_eq!(few_digits(Scalar::Unsigned(123_456_789)), "123456789");
    }
}
