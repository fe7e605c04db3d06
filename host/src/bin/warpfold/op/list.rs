//! `warpfold ops`: the operators, and what each takes.

use clap::ValueEnum as _;
use comfy_table::{Table, presets};
use serde::Serialize;
use warpfold::ops::{LIST, element::Type};

use super::{Op, Takes};
use crate::{Failure, answers::dtype_of, values};

/// Groups of operators, as the list and the help have them.
pub const GROUPS: [(&str, &[Op]); 6] = [
    (
        "sums",
        &[Op::Sum, Op::Product, Op::Mean, Op::SumOfSquares, Op::Dot, Op::Cosine],
    ),
    (
        "norms",
        &[Op::NormL1, Op::NormL2, Op::NormInf, Op::NormLp, Op::LogSumExp],
    ),
    (
        "extrema",
        &[
            Op::Min,
            Op::Max,
            Op::MinMax,
            Op::ArgMin,
            Op::ArgMax,
            Op::ArgMinLast,
            Op::ArgMaxLast,
            Op::ArgMinMax,
        ],
    ),
    (
        "spread",
        &[Op::Variance, Op::StdDev, Op::MeanVariance, Op::Skewness, Op::Kurtosis],
    ),
    (
        "counts",
        &[
            Op::CountNonzero,
            Op::CountNan,
            Op::CountInf,
            Op::Distinct,
            Op::Any,
            Op::All,
        ],
    ),
    ("bits", &[Op::BitAnd, Op::BitOr, Op::BitXor]),
];

/// An operator, as the list has it.
#[derive(Serialize)]
struct ListRow {
    group: &'static str,
    name: String,
    says: String,
    types: Vec<String>,
    /// `--where`
    mask: bool,
    /// `--nan ignore`
    ignores_nan: bool,
}

/// All of them, in text or as JSON.
pub fn list(json: bool) -> Result<String, Failure> {
    let of_group = |(group, ops): &(&'static str, &'static [Op])| {
        let group = *group;
        ops.iter().map(move |op| row(group, *op)).collect::<Vec<_>>()
    };
    let rows: Vec<ListRow> = GROUPS.iter().flat_map(of_group).collect();
    if json {
        return Ok(serde_json::to_string(&rows)?);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "operator", "elements", "--where", "--nan ignore", ""]);
    let mut before = "";
    for row in rows {
        let yes = |is: bool| if is { "yes" } else { "" };
        let group = if row.group == before { "" } else { row.group };
        before = row.group;
        let (mask, nan, types) = (yes(row.mask), yes(row.ignores_nan), in_groups(&row.types));
        let says = row
            .says
            .split_inclusive(". ")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
        table.add_row([group, &row.name, &types, mask, nan, &says]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    Ok(format!("{}\n\n{NOTE}", table.trim_fmt()))
}

/// What the columns do not say.
const NOTE: &str = "floats: float16, bfloat16, float32, float64; integers: int8 to int64, uint8 to uint64; fp8: float8_e4m3fn, float8_e5m2
NumPy's and PyTorch's names are taken, too: amax, nansum, count_nonzero, norm, average
rows (one answer for each element): warpfold softmax | log-softmax | layer-norm | group-norm | rms-norm | cross-entropy";

fn row(group: &'static str, op: Op) -> ListRow {
    let name = values::name(op);
    let says = op
        .to_possible_value()
        .and_then(|value| value.get_help().map(ToString::to_string));
    let mut types: Vec<Type> = match LIST.iter().find(|listed| listed.name == name) {
        Some(listed) => listed.elements().collect(),
        // Distinct elements are of any type but one.
        None => LIST[0]
            .elements()
            .filter(|element| *element != Type::Complex128)
            .collect(),
    };
    types.retain(|element| *element != Type::Complex32);
    ListRow {
        group,
        name,
        says: says.unwrap_or_default(),
        types: types.into_iter().map(numpy).map(str::to_owned).collect(),
        mask: op.takes(Takes::masked),
        ignores_nan: op.takes(Takes::without_nan),
    }
}

/// NumPy's name of a type, or that of ml_dtypes.
fn numpy(element: Type) -> &'static str {
    dtype_of(element).name()
}

/// The types, in groups where all of a group are there.
fn in_groups(types: &[String]) -> String {
    let mut left: Vec<&str> = types.iter().map(String::as_str).collect();
    let mut said = vec![];
    for (name, members) in [
        ("floats", &["float16", "bfloat16", "float32", "float64"][..]),
        (
            "integers",
            &["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
        ),
        ("bool", &["bool"]),
        ("fp8", &["float8_e4m3fn", "float8_e5m2"]),
        ("complex", &["complex64", "complex128"]),
    ] {
        if members.iter().all(|member| left.contains(member)) {
            left.retain(|element| !members.contains(element));
            said.push(name);
        }
    }
    said.extend(left);
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_is_in_one_group() {
        let mut listed: Vec<String> = GROUPS
            .iter()
            .flat_map(|(_, ops)| ops.iter().map(|op| values::name(*op)))
            .collect();
        let mut all: Vec<String> = Op::value_variants().iter().map(|op| values::name(*op)).collect();
        listed.sort();
        all.sort();
        assert_eq!(listed, all);
    }
}
