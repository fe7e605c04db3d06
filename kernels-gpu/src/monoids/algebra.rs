//! What is known of an operator whatever it folds.

/// What states of an operator can be relied on for, and what its code is like: one value, so that an operator around another says what
/// holds of it in a line. Stages take their ways by it ([`Strategy`](crate::stages::strategy::Strategy)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algebra {
    /// Whether two states may change places, as all operators' may but [`InOrder`](super::InOrder)'s: the canonical tree has elements of
    /// a leaf meet column by column. Without, a leaf's elements meet one beside the other.
    pub commutes: bool,
    /// Whether `combine` is associative to the bit, and [`shift`](super::Monoid::shift) does nothing. States may then meet in any order,
    /// and a lane [combines](super::Monoid::fold_parts) what it has folded before it meets others.
    pub associates: bool,
    /// Whether the operator selects one of its elements, whichever order states are combined in, and
    /// [`may_change`](super::Monoid::may_change) is worth asking.
    pub selects: bool,
    /// Whether several elements in a word, of 1 or 2 bytes, are asked about at once, by
    /// [`may_change_among`](super::Monoid::may_change_among).
    pub asks_at_once: bool,
    /// Whether the operator has a [`fold_column`](super::Monoid::fold_column) of its own.
    pub folds_columns: bool,
    /// How many of the last words of a state associate to the bit, where the others do not: they are another state beside that, and
    /// neither asks for the other. A lane sets them aside until its last leaf, and only the others are combined in the tree.
    pub words_aside: usize,
    /// Whether it is written with fused multiply-adds. In the code of any other there must be none: a compiler would have contracted a
    /// multiplication and an addition, and changed bits.
    pub fuses: bool,
}

impl Algebra {
    /// States commute, and nothing else is known.
    pub const PLAIN: Self = Self {
        commutes: true,
        associates: false,
        selects: false,
        asks_at_once: false,
        folds_columns: false,
        words_aside: 0,
        fuses: false,
    };

    /// Whether no order that states are combined in changes a bit.
    #[must_use]
    pub const fn in_any_order(self) -> bool {
        self.associates || self.selects
    }

    /// That of an operator behind another, which folds other elements than memory has, and all words of a state alike.
    #[must_use]
    pub const fn behind(self) -> Self {
        Self {
            asks_at_once: false,
            words_aside: 0,
            ..self
        }
    }

    /// That of both operators side by side.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            commutes: self.commutes && other.commutes,
            associates: self.associates && other.associates,
            // One that does not select changes with every element.
            selects: self.selects && other.selects,
            asks_at_once: self.asks_at_once && other.asks_at_once,
            folds_columns: self.folds_columns || other.folds_columns,
            words_aside: 0,
            fuses: self.fuses || other.fuses,
        }
    }
}
