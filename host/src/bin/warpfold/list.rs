//! `warpfold list`: what is in files.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use warpfold::files::{Checkpoint, Tensor, TensorFile};

use crate::{Failure, cli::List, report::tuple, shown::Shown};

/// What is in files, and what cannot be read of them. What paths name is opened one after the other: there may be more files than can be
/// open at once.
pub fn run(args: &List) -> Result<(String, Vec<Failure>), Failure> {
    let (mut parts, mut faults) = (vec![], vec![]);
    for path in &args.files {
        let checkpoint = match Checkpoint::open(path) {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                faults.push(error.into());
                continue;
            }
        };
        let fault = |fault| format!("{}: {fault}", checkpoint.path().display()).into();
        faults.extend(checkpoint.faults().iter().map(fault));
        faults.extend(checkpoint.tensors().filter_map(Tensor::fault).map(Failure::from));
        if args.metadata {
            parts.push(metadata(&checkpoint, args.json)?);
            continue;
        }
        let is_one = matches!((&args.files[..], checkpoint.files()), ([_], [_]));
        for file in checkpoint.files() {
            match (args.json, is_one) {
                (true, _) => objects(file, &mut parts)?,
                (false, true) => parts.push(table(file)),
                (false, false) => parts.push(format!("{}\n{}", Shown(file.path().display()), table(file))),
            }
        }
    }
    let text = if args.json {
        format!("[{}]", parts.join(","))
    } else {
        parts.join("\n\n")
    };
    Ok((text, faults))
}

/// What a checkpoint says of itself.
fn metadata(checkpoint: &Checkpoint, json: bool) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct Object<'a> {
        file: String,
        /// A list, for a key may be there twice.
        metadata: &'a [(String, String)],
    }
    let (file, metadata) = (checkpoint.path().display().to_string(), checkpoint.metadata());
    if json {
        return Ok(serde_json::to_string(&Object { file, metadata })?);
    }
    let line = |(key, value): &(String, String)| format!("{}  {}", Shown(key), Shown(value));
    let lines: Vec<String> = metadata.iter().map(line).collect();
    Ok(match lines.is_empty() {
        true => format!("{}: no metadata", Shown(file)),
        false => lines.join("\n"),
    })
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
    let count = file.tensors().len();
    let bytes: u128 = file.tensors().iter().map(|tensor| u128::from(tensor.bytes())).sum();
    let plural = if count == 1 { "" } else { "s" };
    format!("{}\n{count} array{plural}, {bytes} bytes", table.trim_fmt())
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

/// An object for each array.
fn objects(file: &TensorFile, objects: &mut Vec<String>) -> Result<(), Failure> {
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
    Ok(())
}
