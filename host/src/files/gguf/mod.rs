//! `.gguf` files: metadata, a list of tensors, the tensors' bytes.
//!
//! The header is parsed here, and not by the crate that dequantises: that crate maps files, which is `unsafe`, refuses all
//! of a file for one tensor that is damaged or of a new type, and forgets the order of the metadata.

pub(super) mod blocks;
mod header;

use std::{borrow::Cow, collections::HashSet, path::Path, sync::Arc};

use super::{
    DType, Metadata,
    cursor::Cursor,
    fault::Fault as TensorFault,
    tensor::{Layout, Place, Tensor},
};
use crate::{Error, GgufFault as Fault};
use blocks::Blocks;
use header::Entry;

/// What every file starts with.
pub(super) const MAGIC: &[u8] = b"GGUF";

/// A type of the format.
enum Kind {
    /// Numbers as they are.
    Plain(DType),
    /// Quantised blocks.
    Blocks(Blocks),
    /// What is not read.
    Unknown,
}

/// The number and name of each type, and what it is.
fn kind(number: u32) -> (Cow<'static, str>, Kind) {
    let plain = match number {
        0 => Some(DType::F32),
        1 => Some(DType::F16),
        24 => Some(DType::I8),
        25 => Some(DType::I16),
        26 => Some(DType::I32),
        27 => Some(DType::I64),
        28 => Some(DType::F64),
        30 => Some(DType::Bf16),
        _ => None,
    };
    match (plain, Blocks::of(number)) {
        (Some(dtype), _) => (dtype.name().into(), Kind::Plain(dtype)),
        (None, Some(blocks)) => (blocks.name().into(), Kind::Blocks(blocks)),
        (None, None) => (format!("ggml type {number}").into(), Kind::Unknown),
    }
}

/// The tensors of a file in the order of its list, and its metadata. A tensor that cannot be read spoils no other.
pub(super) fn tensors(path: &Arc<Path>, file: &Cursor) -> Result<(Vec<Tensor>, Metadata), Error> {
    let header = header::read(path, file)?;
    let mut names = HashSet::new();
    if let Some(twice) = header.tensors.iter().find(|entry| !names.insert(entry.name.as_str())) {
        let tensor = twice.name.clone();
        return Err(header::bad(path, Fault::Duplicate { tensor }));
    }
    let mut found: Vec<ListedTensor> = header
        .tensors
        .into_iter()
        .map(|entry| ListedTensor::new(entry, header.big_endian))
        .collect();
    place(&mut found, header.data, header.alignment, file.len().unwrap_or(0));
    let tensors = found.into_iter().map(|tensor| {
        let ListedTensor {
            entry,
            layout,
            blocks,
            fault,
            begin,
        } = tensor;
        let place = match (fault, blocks) {
            (Some(fault), _) => Err(TensorFault::Gguf(fault)),
            (None, Some(blocks)) => Ok(Place::Blocks(file.at(begin), blocks)),
            (None, None) => Ok(Place::Plain(file.at(begin))),
        };
        Tensor::new(path, Some(entry.name), layout, place)
    });
    Ok((tensors.collect(), header.metadata))
}

/// A tensor of the list, and what was found to be wrong with it.
struct ListedTensor {
    entry: Entry,
    layout: Layout,
    blocks: Option<Blocks>,
    fault: Option<Fault>,
    /// Its first byte in the file.
    begin: u64,
}

impl ListedTensor {
    /// Checks a tensor by itself.
    fn new(entry: Entry, big_endian: bool) -> Self {
        let (name, kind) = kind(entry.kind);
        let tensor = entry.name.clone();
        let (dtype, blocks) = match kind {
            Kind::Plain(dtype) => (dtype, None),
            Kind::Blocks(blocks) => (DType::Quantised, Some(blocks)),
            Kind::Unknown => (DType::Other, None),
        };
        // As if no extent were 0, so that no partial product overflows.
        let element = dtype.decoded().bytes().unwrap_or(1) as u64;
        let bound = |bytes: u64, extent: &u64| bytes.checked_mul((*extent).max(1)).filter(|bytes| *bytes < 1 << 63);
        let fits = entry.shape.iter().try_fold(element, bound).is_some();
        let len = if fits { entry.shape.iter().product() } else { 0 };
        let bytes = match blocks {
            Some(blocks) => len / blocks.elements() as u64 * blocks.bytes() as u64,
            None => len * dtype.bytes().unwrap_or(0) as u64,
        };
        let row = entry.shape.last().copied().unwrap_or(1);
        let fault = match blocks {
            _ if !fits => Some(Fault::Shape {
                tensor,
                shape: entry.shape.clone(),
            }),
            Some(blocks) if !row.is_multiple_of(blocks.elements() as u64) => Some(Fault::Row {
                tensor,
                dtype: blocks.name(),
                row,
                block: blocks.elements(),
            }),
            Some(blocks) if big_endian => Some(Fault::BigEndian {
                tensor,
                dtype: blocks.name(),
            }),
            _ => None,
        };
        let layout = Layout {
            dtype,
            dtype_name: name,
            shape: entry.shape.clone(),
            len,
            bytes,
            swap: match blocks {
                // They are dequantised to little-endian numbers.
                Some(_) => cfg!(target_endian = "big"),
                None => big_endian != cfg!(target_endian = "big"),
            },
            transposed: false,
        };
        Self {
            entry,
            layout,
            blocks,
            fault,
            begin: 0,
        }
    }
}

/// Finds where tensors are in a file of `found` bytes whose data begins at byte `data`, and checks each with its neighbours.
fn place(tensors: &mut [ListedTensor], data: u64, alignment: u64, found: u64) {
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    order.sort_by_key(|at| tensors[*at].entry.offset);
    // Of a type that is unknown, the next offset says how many bytes there are at most.
    let mut next = found.saturating_sub(data);
    for at in order.iter().rev() {
        let tensor = &mut tensors[*at];
        if tensor.layout.dtype == DType::Other {
            tensor.layout.bytes = next.saturating_sub(tensor.entry.offset);
        }
        next = next.min(tensor.entry.offset);
    }
    let mut before: Option<(usize, u64)> = None;
    for at in order {
        let offset = tensors[at].entry.offset;
        let tensor = tensors[at].entry.name.clone();
        let begin = u128::from(data) + u128::from(offset);
        let end = begin + u128::from(tensors[at].layout.bytes);
        let other = before.filter(|(_, end)| u128::from(*end) > begin);
        let fault = if end > u128::from(found) {
            Some(Fault::PastEnd { tensor, end, found })
        } else if !offset.is_multiple_of(alignment) {
            Some(Fault::Misaligned {
                tensor,
                offset,
                alignment,
            })
        } else if let Some((other, end)) = other.filter(|_| tensors[at].layout.bytes > 0) {
            Some(Fault::Overlap {
                tensor,
                begin: begin as u64,
                other: tensors[other].entry.name.clone(),
                end,
            })
        } else {
            None
        };
        if fault.is_none() {
            tensors[at].begin = begin as u64;
            if before.is_none_or(|(_, last)| last < end as u64) {
                before = Some((at, end as u64));
            }
        }
        tensors[at].fault = tensors[at].fault.take().or(fault);
    }
}

#[cfg(test)]
mod tests;
