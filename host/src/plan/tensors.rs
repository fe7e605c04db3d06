//! Plans of lists of tensors.

use std::fmt;

use warpfold_kernels::{
    element::Type,
    kernels::{
        Entry,
        gradients::{self, TensorEntry, leaf_elements},
    },
    stages::columns::Floats,
};

use super::{Ending, Plan, Shape, blocks};
use crate::{Error, TensorFault, ops::order::Order};

/// Warps of a block.
const WARPS: u32 = 4;

/// Tiles that are enough for a large GPU: with more leaves than that, a warp has several, and so fewer warps are combined.
const ENOUGH_TILES: u64 = 1 << 13;

/// The most leaves of a tile: four are folded at once, so it is two turns.
const MOST_LEAVES: u64 = 8;

const _: () = assert!(MOST_LEAVES <= gradients::MOST_LEAVES as u64);

impl Plan {
    /// Of the norm of a list of tensors, of as many elements of those types. [`clip_entry`] multiplies them in the same shape. Either is one launch, whatever the list.
    ///
    /// ```
    /// use warpfold::{gradients::Order, ops::element::Type, plan::Plan};
    ///
    /// let plan = Plan::list(Order::L2, &[(Type::Bf16, 4096 * 4096), (Type::F32, 4096), (Type::F32, 0)])?;
    /// assert_eq!((plan.count, plan.elements(), plan.bytes()), (3, 16_781_312, 33_570_816));
    /// assert_eq!((plan.shape.leaves_per_warp, plan.tiles, plan.shape.blocks), (1, 8197, 2050));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] of an order that has no meaning; [`TensorFault::Type`]; [`TensorFault::TooLong`]; [`Error::GridOverflow`].
    pub fn list(order: Order, tensors: &[(Type, u64)]) -> Result<Self, Error> {
        order.check()?;
        let (mut bytes, mut elements, mut leaves) = (0, 0, 0);
        for (tensor, (element, len)) in tensors.iter().enumerate() {
            let floats = floats(tensor, *element)?;
            bytes = add(bytes, *len, floats.bytes() as u64)
                .ok_or(Error::Tensor(TensorFault::TooLong { tensor, elements: *len }))?;
            elements += len;
            leaves += leaves_of(floats, *len);
        }
        let enough = (leaves / ENOUGH_TILES).clamp(1, MOST_LEAVES);
        let leaves = 1 << enough.ilog2();
        let tiles = first_tiles(tensors, leaves).last().map_or(0, |(_, end)| end);
        let count = tensors.len() as u64;
        let shape = Shape {
            warps: WARPS,
            leaves_per_warp: leaves as u32,
            blocks: blocks(count, tiles.div_ceil(WARPS.into()))?,
        };
        let entry = gradients::find(order.entry()).expect("built for every order");
        Ok(Self {
            ending: Ending::Norm { bytes },
            ..Self::folds(entry, [count, elements], shape, tiles)
        })
    }

    /// The table of tensors at those addresses.
    ///
    /// # Errors
    ///
    /// [`TensorFault`] of what is wrong with an address, or with their number.
    pub fn table(&self, tensors: &[(Type, u64)], addresses: &[u64]) -> Result<Vec<TensorEntry>, Error> {
        if addresses.len() != tensors.len() {
            return Err(Error::Tensor(TensorFault::Count {
                prepared: tensors.len(),
                got: addresses.len(),
            }));
        }
        let mut table = Vec::with_capacity(tensors.len() + 1);
        let tiles = first_tiles(tensors, self.shape.leaves_per_warp.into());
        for (tensor, (((element, len), start), (first_tile, _))) in tensors.iter().zip(addresses).zip(tiles).enumerate()
        {
            let floats = floats(tensor, *element)?;
            check(tensor, *start, *len, floats.bytes())?;
            table.push(TensorEntry {
                start: *start,
                len: *len,
                first_tile,
                floats: floats as u64,
            });
        }
        table.push(TensorEntry {
            first_tile: self.tiles,
            ..TensorEntry::default()
        });
        Ok(table)
    }

    pub(super) fn write_list(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape {
            leaves_per_warp,
            blocks,
            ..
        } = self.shape;
        write!(
            f,
            "{} of {} tensors, {} elements: {} tiles of {leaves_per_warp} leaves, {blocks} blocks of {} threads",
            self.entry.name,
            self.count,
            self.len,
            self.tiles,
            self.threads()
        )
    }
}

/// The kernel that multiplies the tensors of a list in place, by what their norm makes of a bound.
#[must_use]
pub fn clip_entry() -> &'static Entry {
    gradients::find(gradients::CLIP).expect("built")
}

/// Bytes with those of so many elements more, if all are in the address space.
fn add(bytes: u64, len: u64, of_element: u64) -> Option<u64> {
    let all = len.checked_mul(of_element)?.checked_add(bytes)?;
    (all <= isize::MAX as u64).then_some(all)
}

fn floats(tensor: usize, element: Type) -> Result<Floats, Error> {
    let element_name = element.name();
    Floats::of(element).ok_or(Error::Tensor(TensorFault::Type {
        tensor,
        element: element_name,
    }))
}

fn leaves_of(floats: Floats, len: u64) -> u64 {
    len.div_ceil(leaf_elements(floats))
}

/// Of each tensor the first tile, and the one behind its last. One of nothing has a tile, too, so that it is found.
fn first_tiles(tensors: &[(Type, u64)], leaves: u64) -> impl Iterator<Item = (u64, u64)> {
    tensors.iter().scan(0, move |next, (element, len)| {
        let of_tensor = Floats::of(*element).map_or(0, |floats| leaves_of(floats, *len));
        let first = *next;
        *next += of_tensor.div_ceil(leaves).max(1);
        Some((first, *next))
    })
}

fn check(tensor: usize, address: u64, elements: u64, alignment: usize) -> Result<(), Error> {
    if elements > 0 && address == 0 {
        return Err(Error::Tensor(TensorFault::Nowhere { tensor, elements }));
    }
    if !address.is_multiple_of(alignment as u64) {
        return Err(Error::Tensor(TensorFault::Misaligned {
            tensor,
            address,
            alignment,
        }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: [(Type, u64); 4] = [(Type::F32, 0), (Type::F16, 2049), (Type::Bf16, 1), (Type::F32, 5000)];

    #[test]
    fn each_tensor_has_its_tiles() {
        let plan = Plan::list(Order::L2, &LIST).unwrap();
        let table = plan.table(&LIST, &[0, 2, 4, 8]).unwrap();
        let first: Vec<u64> = table.iter().map(|entry| entry.first_tile).collect();
        assert_eq!((first, plan.tiles, plan.shape.blocks), (vec![0, 1, 3, 4, 9], 9, 3));
        assert_eq!((plan.elements(), plan.bytes()), (7050, 2 * 2050 + 4 * 5000));
        let empty = Plan::list(Order::Inf, &[]).unwrap();
        assert_eq!((empty.tiles, empty.shape.blocks, empty.slots()), (0, 1, 0));
        assert_eq!(empty.table(&[], &[]).unwrap(), [TensorEntry::default()]);
    }

    #[test]
    fn long_lists_have_larger_tiles_and_few_blocks() {
        let large = vec![(Type::Bf16, 1 << 30); 7];
        let plan = Plan::list(Order::L2, &large).unwrap();
        assert_eq!((plan.shape.leaves_per_warp, plan.tiles), (8, 7 << 16));
        // More tensors than elements of some, and more than a grid has of blocks.
        let many = vec![(Type::F32, 3); 100_000];
        assert_eq!(Plan::list(Order::L2, &many).unwrap().tiles, 100_000);
        let vast = [(Type::F32, 1 << 50)];
        let error = Plan::list(Order::L2, &vast).unwrap_err();
        assert!(matches!(error, Error::GridOverflow { .. }), "{error}");
    }

    #[test]
    fn what_is_wrong_is_named_by_its_place() {
        let fault = |result: Result<Plan, Error>| match result.unwrap_err() {
            Error::Tensor(fault) => fault,
            other => panic!("{other}"),
        };
        let of = |list: &[(Type, u64)]| fault(Plan::list(Order::L2, list));
        let element = "f64";
        assert_eq!(
            of(&[(Type::F32, 1), (Type::F64, 1)]),
            TensorFault::Type { tensor: 1, element }
        );
        let elements = 1 << 61;
        assert_eq!(
            of(&[(Type::F32, elements)]),
            TensorFault::TooLong { tensor: 0, elements }
        );
        let plan = Plan::list(Order::L2, &LIST).unwrap();
        for (addresses, fault) in [
            (&[0, 2, 4][..], TensorFault::Count { prepared: 4, got: 3 }),
            (
                &[0, 2, 5, 8],
                TensorFault::Misaligned {
                    tensor: 2,
                    address: 5,
                    alignment: 2,
                },
            ),
            (
                &[0, 2, 4, 0],
                TensorFault::Nowhere {
                    tensor: 3,
                    elements: 5000,
                },
            ),
        ] {
            match plan.table(&LIST, addresses).unwrap_err() {
                Error::Tensor(got) => assert_eq!(got, fault),
                other => panic!("{other}"),
            }
        }
        assert!(matches!(Plan::list(Order::P(0.5), &[]), Err(Error::Parameter { .. })));
    }
}
