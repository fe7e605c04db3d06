//! Where the elements of a lane's part lie, if not in one run.

use super::{extents::Extents, load::Filler, source::Source};

/// Where the elements of a part lie in one of the arrays: those from number `first` on of the extent that begins at `start`, of which
/// the first `present` places are present.
#[derive(Clone, Copy)]
pub(super) struct Places<T: Source> {
    pub(super) extents: Extents<T>,
    pub(super) array: usize,
    pub(super) start: *const T::Element,
    pub(super) first: u64,
    pub(super) present: u32,
    /// What stands at the others, if anything matters.
    pub(super) filler: Filler,
}
