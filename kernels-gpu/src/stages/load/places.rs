//! Where the elements of a lane's part lie, if not in one run.

use crate::stages::load::{extents::Extents, source::Source, words::Filler};

/// Where the elements of a part lie in one of the arrays.
#[derive(Clone, Copy)]
pub struct Places<T: Source> {
    /// The extents.
    pub extents: Extents<T>,
    /// Which of the arrays.
    pub array: usize,
    /// The first element of the extent there.
    pub start: *const T::Element,
    /// The number of the part's first element.
    pub first: u64,
    /// How many places have elements: the first.
    pub present: u32,
    /// What stands at the others, if anything matters.
    pub filler: Filler,
}
