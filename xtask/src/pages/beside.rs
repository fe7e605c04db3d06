//! Tables of ours beside the peers: a ratio is the peer's time over ours, above 1 we are faster, and what is below is bold.

use anyhow::{Context, Result, ensure};

use super::tables::{Table, count, us};
use crate::bench::records::Record;

/// The operations of the table of whole arrays, and of rows.
const OPS: [&str; 3] = ["sum", "max", "argmax"];

/// Whole arrays of float32 of every length, beside CUB.
pub fn whole(records: &[Record]) -> Result<String> {
    let table = Table::newest(records, "whole", "sum")?;
    let mut rows = vec![];
    for log in (10..=30).step_by(2) {
        let case = format!("2^{log}");
        let ours = |op| table.of(op, "f32", &case, "warpfold");
        let beside = |op| -> Result<String> {
            let peer = table.of(op, "f32", &case, "CUB").ok();
            let ours = ours(op)?.value;
            Ok(peer.map_or_else(String::new, |peer| ratio(peer.value / ours)))
        };
        let sum = ours("sum")?;
        rows.push([
            case.clone(),
            us(sum.value),
            count(sum.gb_per_s().context("bytes")?),
            beside("sum")?,
            us(ours("max")?.value),
            beside("max")?,
            us(ours("argmax")?.value),
            beside("argmax")?,
        ]);
    }
    let heads = [
        "elements",
        "sum, µs",
        "GB/s",
        "CUB ÷ ours",
        "max, µs",
        "CUB ÷ ours",
        "argmax, µs",
        "CUB ÷ ours",
    ];
    Ok(table.table(heads, rows))
}

/// Rows of matrices: ours in µs, and each peer's time over it.
pub fn rows(records: &[Record]) -> Result<String> {
    let table = Table::newest(records, "rows", "sum")?;
    let mut rows = vec![];
    for dtype in ["f32", "bf16"] {
        for case in ["32768x256", "16384x4096", "2048x65536"] {
            for op in OPS {
                let ours = table.of(op, dtype, case, "warpfold")?;
                let beside = |who| {
                    let peer = table.of(op, dtype, case, who);
                    peer.map_or_else(|_| String::new(), |peer| ratio(peer.value / ours.value))
                };
                rows.push([
                    format!("{op}, {dtype}"),
                    case.to_owned(),
                    us(ours.value),
                    count(ours.gb_per_s().context("bytes")?),
                    beside("PyTorch"),
                    beside("torch.compile"),
                    beside("Triton"),
                ]);
            }
        }
    }
    let heads = ["", "shape", "µs", "GB/s", "PyTorch", "torch.compile", "Triton"];
    Ok(table.table(heads, rows))
}

/// Row operations of a type of elements: the fastest peer's time over ours, and who it is.
pub fn maps(records: &[Record], dtype: &str) -> Result<String> {
    const SHAPES: [&str; 6] = [
        "32768x256",
        "32768x1024",
        "16384x4096",
        "8192x8192",
        "2048x65536",
        "1024x262144",
    ];
    let table = Table::newest(records, "maps", "softmax")?;
    let mut rows = vec![];
    for op in ["softmax", "log_softmax", "layer_norm", "rms_norm", "cross_entropy"] {
        let cell = |case: &str| -> Result<String> {
            let ours = table.of(op, dtype, case, "warpfold")?.value;
            let best = table.best_peer(op, dtype, case).context("no peer")?;
            Ok(format!("{} ({})", ratio(best.value / ours), best.who))
        };
        let [a, b, c, d, e, f] = SHAPES.map(cell);
        rows.push([op.to_owned(), a?, b?, c?, d?, e?, f?]);
    }
    let [a, b, c, d, e, f] = SHAPES;
    Ok(table.table(["", a, b, c, d, e, f], rows))
}

/// GPT-2's layer norm and causal softmax.
pub fn gpt2(records: &[Record]) -> Result<String> {
    let table = Table::newest(records, "gpt2", "layer_norm")?;
    let mut rows = vec![];
    for (op, case) in [("layer_norm", "4096x768"), ("causal_softmax", "48x1024x1024")] {
        let ours = table.of(op, "f32", case, "warpfold")?.value;
        let beside = |who| -> Result<String> {
            let peer = table.of(op, "f32", case, who)?.value;
            Ok(format!("{} ({})", us(peer), ratio(peer / ours)))
        };
        let op = op.replace('_', " ");
        rows.push([op, us(ours), beside("torch.compile")?, beside("PyTorch")?]);
    }
    Ok(table.table(["", "ours", "`torch.compile`", "PyTorch"], rows))
}

/// The README's: large arrays, in GB/s, and a peer's time over ours.
pub fn speed(records: &[Record]) -> Result<String> {
    let whole = Table::newest(records, "whole", "sum")?;
    let of_rows = Table::newest(records, "rows", "sum")?;
    ensure!(
        whole.from() == of_rows.from(),
        "whole arrays were measured where rows were not"
    );
    let cell = |table: &Table<'_>, op, dtype, case, who: &str| -> Result<String> {
        let ours = table.of(op, dtype, case, "warpfold")?;
        let speed = ours.gb_per_s().context("bytes")?;
        let peer = table.of(op, dtype, case, who)?;
        Ok(format!("{} ({who} {})", count(speed), ratio(peer.value / ours.value)))
    };
    let mut rows = vec![];
    for op in OPS {
        rows.push([
            op.to_owned(),
            cell(&whole, op, "f32", "2^28", "CUB")?,
            cell(&of_rows, op, "f32", "16384x4096", "PyTorch")?,
            cell(&of_rows, op, "bf16", "16384x4096", "PyTorch")?,
        ]);
    }
    let heads = ["GB/s", "2²⁸ f32", "[16,384 × 4,096] f32, rows", "the same, bf16"];
    Ok(whole.table(heads, rows))
}

fn ratio(ratio: f64) -> String {
    let text = format!("{ratio:.2}");
    if ratio < 0.995 { format!("**{text}**") } else { text }
}
