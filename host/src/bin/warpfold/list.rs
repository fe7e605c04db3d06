//! `warpfold list`: what is in files.

use std::ffi::OsStr;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use warpfold::files::{Tensor, TensorFile};

use crate::{Failure, List, report::tuple};

/// Does what the command line asks for.
pub fn run(args: &List) -> Result<String, Failure> {
    let files = args.files.iter().map(TensorFile::open).collect::<Result<Vec<_>, _>>()?;
    if args.json { json(&files) } else { Ok(text(&files)) }
}

/// A table for each file, under its name where there are several.
fn text(files: &[TensorFile]) -> String {
    let one = |file| match files {
        [_] => table(file),
        _ => format!("{}\n{}", printable(file.path().as_os_str()), table(file)),
    };
    files.iter().map(one).collect::<Vec<_>>().join("\n\n")
}

fn table(file: &TensorFile) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["name", "dtype", "shape", "bytes"]);
    for tensor in file.tensors() {
        table.add_row([
            tensor
                .name()
                .map_or_else(|| "-".to_owned(), |name| printable(OsStr::new(name))),
            printable(OsStr::new(tensor.dtype_name())),
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
    let faults: String = faults
        .map(|fault| format!("\n{}", printable(OsStr::new(&fault.to_string()))))
        .collect();
    let count = file.tensors().len();
    let bytes: u128 = file.tensors().iter().map(|tensor| u128::from(tensor.bytes())).sum();
    let plural = if count == 1 { "" } else { "s" };
    format!("{}{faults}\n{count} array{plural}, {bytes} bytes", table.trim_fmt())
}

/// A name from a file must not steer the terminal.
pub fn printable(name: &OsStr) -> String {
    let escaped = |c: char| {
        if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    name.to_string_lossy().chars().map(escaped).collect()
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

fn json(files: &[TensorFile]) -> Result<String, Failure> {
    let mut objects = Vec::new();
    for file in files {
        objects.extend(file.tensors().iter().map(|tensor| Object {
            file: file.path().display().to_string(),
            format: file.format().to_string(),
            error: tensor.fault().map(|fault| fault.to_string()),
            name: tensor.name(),
            dtype: tensor.dtype_name(),
            shape: tensor.shape(),
            bytes: tensor.bytes(),
        }));
    }
    Ok(serde_json::to_string(&objects)?)
}
