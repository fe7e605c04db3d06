//! Which kernel of a row operation a launch is of.

/// The kernels of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// [`map_short`](super::map_short).
    Short,
    /// The same of an operation with [targets](crate::rowwise::RowOp::TARGETS), which maps nothing.
    Noted,
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
    /// [`map_apart`](super::map_apart).
    Apart,
    /// [`note_rows`](super::note_rows).
    Known,
}

impl Way {
    /// What stands in a kernel's name between its operation and what its elements are.
    pub(super) const fn infix(self) -> &'static str {
        match self {
            Self::Short => "_short_",
            Self::Noted => "_noted_",
            Self::Fold => "_fold_",
            Self::Leaf => "_leaf_",
            Self::Long => "_long_",
            Self::Any => "_any_",
            Self::Added => "_added_",
            Self::Apart => "_apart_",
            Self::Known => "_known_",
        }
    }

    /// Whether its kernels are of [plain](super::RowLaunch::is_plain) launches.
    #[must_use]
    pub const fn is_plain(self) -> bool {
        !matches!(self, Self::Any | Self::Added | Self::Apart | Self::Known)
    }
}
