//! Partials that are folded on the CPU.

use std::{ops::Range, sync::Arc};

use super::any::{AnyPartial, Parts};
use crate::{
    Error, PartialFault,
    cpu::{
        axes,
        erased::{AnyFold, PackedFold},
        fold_tree,
    },
    layout::{Extents, extent::Extent},
    operand::Shapes,
};

/// The partial of the elements of each extent from `first` on.
pub(crate) fn partial(
    op: Arc<dyn PackedFold>,
    fold: &dyn AnyFold,
    shapes: &Shapes,
    extent: Extent<'_>,
    first: u64,
) -> Result<AnyPartial, Error> {
    match (extent, shapes.run()?) {
        (Extent::In(_), _) => Err(Error::Partial(PartialFault::Segments)),
        (Extent::Whole, Some(len)) => {
            let item = op.packed_bytes();
            let parts = Whole { fold, first, item };
            AnyPartial::new(op, vec![])?.with(first, len, &parts)
        }
        (extent, _) => {
            let each = shapes.along(&extent.axes())?.extents;
            let (shape, len) = (each[0].shape.clone(), each[0].len);
            let item = op.packed_bytes();
            let parts = Along {
                fold,
                first,
                each: &each,
                item,
            };
            AnyPartial::new(op, shape)?.with(first, len, &parts)
        }
    }
}

/// Arrays whose elements are in order.
struct Whole<'a> {
    fold: &'a dyn AnyFold,
    first: u64,
    /// Bytes of a packed item.
    item: usize,
}

/// Extents along axes.
struct Along<'a> {
    fold: &'a dyn AnyFold,
    first: u64,
    each: &'a [Extents],
    /// Bytes of a packed item.
    item: usize,
}

fn items(part: &Range<u64>) -> Range<usize> {
    part.start as usize..part.end as usize
}

impl Parts for Whole<'_> {
    fn states(&self, parts: &[Range<u64>]) -> Result<Vec<Vec<u32>>, Error> {
        let state = |part: &Range<u64>| {
            let mut state = vec![0; self.fold.untyped().words()];
            fold_tree(self.fold, items(part), self.first + part.start, &mut state);
            state
        };
        Ok(parts.iter().map(state).collect())
    }
    fn packed(&self, part: &Range<u64>) -> Result<Vec<u8>, Error> {
        let items = items(part);
        let mut packed = vec![0; items.len() * self.item];
        self.fold.pack(items, &mut packed);
        Ok(packed)
    }
}

impl Parts for Along<'_> {
    fn states(&self, parts: &[Range<u64>]) -> Result<Vec<Vec<u32>>, Error> {
        let states = |part| {
            let mut states = axes::states(self.fold, self.each, part)?;
            self.fold.untyped().shift(&mut states, self.first);
            Ok(states)
        };
        parts.iter().map(states).collect()
    }
    fn packed(&self, part: &Range<u64>) -> Result<Vec<u8>, Error> {
        axes::packed(self.fold, self.each, part, self.item)
    }
}
