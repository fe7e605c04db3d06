//! The addresses of a launch of a row operation, and that they are there.

use warpfold_kernels::{element::Type, kernels::rowwise::Second, stages::columns::Floats as Kind};

use super::{ReadyRows, kind_of};
use crate::{Error, RowFault, gpu::launch};

/// Where a row operation reads and writes: device addresses. 0 stands for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowPlaces {
    /// The array's first element, of the prepared layout.
    pub input: u64,
    /// The other array's, of its own: a mask's bytes, what is added, a residual, gradients.
    pub other: u64,
    /// The answers', in C order. It may be the array's own, if that is in C order and answers have its type.
    pub output: u64,
    /// Where sums with a residual go, in C order; it may be the residual's own, if that is in C order.
    pub sums: u64,
    /// A weight of each column, and their type.
    pub weights: (u64, Option<Type>),
    /// A bias of each.
    pub biases: (u64, Option<Type>),
    /// A target of each row.
    pub targets: u64,
    /// Where what else is known of each row goes, an array of an f32 for each: of exponentials the log-sum-exp first; of norms the mean first, and second the reciprocal
    /// deviation or root; of cross-entropy the loss, the log-sum-exp, the log-probability and the entropy. Of a norm's gradient where mean and reciprocal are read.
    pub known: [u64; 4],
}

impl ReadyRows {
    /// That everything is there which the operation needs, and aligned; and what weights and biases are.
    pub(super) fn check(&self, places: &RowPlaces) -> Result<[Kind; 2], Error> {
        let missing = |what: &'static str| Err(Error::Row(RowFault::Missing { what }));
        let columns = || Ok([self.columns(places.weights)?, self.columns(places.biases)?]);
        if self.ready.plan.count == 0 {
            return columns();
        }
        // Of rows of nothing, too, something is known: of those that are parts by their targets.
        if let Some((of_64_bits, _)) = self.targets {
            if places.targets == 0 {
                return missing("targets");
            }
            launch::check_alignment(places.targets, if of_64_bits { 8 } else { 4 })?;
        }
        for known in places.known {
            launch::check_alignment(known, 4)?;
        }
        if self.ready.plan.len == 0 {
            return columns();
        }
        if self.needs_weights && places.weights.0 == 0 {
            return Err(Error::Row(RowFault::NoWeights { op: self.name }));
        }
        if self.second.is_some() && places.other == 0 {
            return missing("the other array");
        }
        if self.reads_known && places.known[1] == 0 {
            return missing("what the norm knew of rows");
        }
        let [from, out] = self.kinds;
        launch::check_alignment(places.input, from.bytes())?;
        launch::check_alignment(places.sums, from.bytes())?;
        launch::check_alignment(places.output, out.bytes())?;
        if self.second != Some(Second::Mask) {
            launch::check_alignment(places.other, from.bytes())?;
        }
        columns()
    }

    /// What weights or biases are, if there are any: aligned, and of a type that they can have.
    fn columns(&self, (address, element): (u64, Option<Type>)) -> Result<Kind, Error> {
        let [from, _] = self.kinds;
        let kind = match element {
            Some(element) if address != 0 => kind_of(self.name, element)?,
            _ => from,
        };
        launch::check_alignment(address, kind.bytes())?;
        Ok(kind)
    }
}
