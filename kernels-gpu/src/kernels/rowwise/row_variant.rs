//! Which kernel of a row operation a launch is of.

/// The kernels of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowVariant {
    /// [`map_short`](super::map_short).
    Short,
    /// The same of an operation with [targets](crate::rowwise::RowOp::TARGETS), which maps nothing.
    ShortKnown,
    /// [`fold_leaves`](super::fold_leaves).
    Fold,
    /// [`map_leaves`](super::map_leaves) of [`Plain`](super::Plain) launches.
    Leaf,
    /// [`map_long`](super::map_long), where there are clusters.
    Long,
    /// [`map_leaves`](super::map_leaves) of [`Any`](super::Any).
    Any,
    /// [`map_leaves`](super::map_leaves), another array being [`Added`](super::Added).
    Added,
    /// [`map_strided`](super::map_strided).
    Strided,
    /// [`store_known_of_rows`](super::store_known_of_rows).
    Known,
}

impl RowVariant {
    /// Whether its kernels are of [plain](crate::kernels::Launch::is_plain) launches.
    #[must_use]
    pub const fn is_plain(self) -> bool {
        !matches!(self, Self::Any | Self::Added | Self::Strided | Self::Known)
    }
}
