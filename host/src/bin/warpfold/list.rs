//! `warpfold list`: what is in files.

use std::path::PathBuf;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use warpfold::files::{Tensor, TensorFile};

use crate::{Failure, List, report::tuple, shown::Shown};

/// Does what the command line asks for. Files are opened one at a time: there may be more of them than can be open at once.
pub fn run(args: &List) -> Result<String, Failure> {
    if args.json {
        json(&args.files)
    } else {
        text(&args.files)
    }
}

/// A table for each file, under its name where there are several.
fn text(files: &[PathBuf]) -> Result<String, Failure> {
    let one = |path: &PathBuf| -> Result<String, Failure> {
        let file = TensorFile::open(path)?;
        Ok(match files {
            [_] => table(&file),
            _ => format!("{}\n{}", Shown(file.path().display()), table(&file)),
        })
    };
    let tables = files.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    Ok(tables.join("\n\n"))
}

fn table(file: &TensorFile) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["name", "dtype", "shape", "bytes"]);
    for tensor in file.tensors() {
        table.add_row([
            Shown(tensor.name().unwrap_or("-")).to_string(),
            Shown(tensor.dtype_name()).to_string(),
            tuple(tensor.shape()),
            tensor.bytes().to_string(),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    if let Some(bytes) = table.column_mut(3) {
        bytes.set_cell_alignment(CellAlignment::Right);
        bytes.set_padding((0, 0));
    }
    let faults = file.tensors().iter().filter_map(Tensor::fault);
    let faults: String = faults.map(|fault| format!("\n{}", Shown(fault))).collect();
    let count = file.tensors().len();
    let bytes: u128 = file.tensors().iter().map(|tensor| u128::from(tensor.bytes())).sum();
    let plural = if count == 1 { "" } else { "s" };
    format!("{}{faults}\n{count} array{plural}, {bytes} bytes", table.trim_fmt())
}

#[derive(Serialize)]
struct Object<'a> {
    file: String,
    format: String,
    /// Why it cannot be read, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    name: Option<&'a str>,
    dtype: &'a str,
    shape: &'a [u64],
    bytes: u64,
}

fn json(files: &[PathBuf]) -> Result<String, Failure> {
    let mut objects = Vec::new();
    for path in files {
        let file = TensorFile::open(path)?;
        for tensor in file.tensors() {
            objects.push(serde_json::to_string(&Object {
                file: file.path().display().to_string(),
                format: file.format().to_string(),
                error: tensor.fault().map(|fault| fault.to_string()),
                name: tensor.name(),
                dtype: tensor.dtype_name(),
                shape: tensor.shape(),
                bytes: tensor.bytes(),
            })?);
        }
    }
    Ok(format!("[{}]", objects.join(",")))
}
