//! What is known of an operator whatever it folds.

/// What states of an operator can be relied on for, and what its code is like: one value, so that an operator around another says what
/// holds of it in a line. Stages take their ways by it ([`Strategy`](crate::stages::strategy::Strategy)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algebra {
    /// Whether two states may change places, as all operators' may but [`InOrder`](crate::monoids::InOrder)'s: in the canonical tree elements of
    /// a leaf are combined column by column. Without, a leaf's elements are combined in their order.
    pub commutes: bool,
    /// Whether `combine` is associative to the bit, and [`shift`](crate::tree::Positional::shift) does nothing. States may then be combined in any order,
    /// and a lane [combines](crate::tree::PartFold::fold_parts) what it has folded before it combines that with others'.
    pub associates: bool,
    /// Whether the operator selects one of its elements, whichever order states are combined in, and
    /// [`may_change`](crate::tree::Prefilter::may_change) is worth asking.
    pub selects: bool,
    /// Whether several elements in a word, of 1 or 2 bytes, are asked about at once, by
    /// [`may_change_among`](crate::tree::Prefilter::may_change_among).
    pub asks_at_once: bool,
    /// Whether the operator has a [`fold_column`](crate::tree::ColumnFold) of its own.
    pub folds_columns: bool,
    /// How many of the last words of a state are order-independent accumulators, where the others are not: they are another state beside
    /// that, and neither asks for the other. A lane keeps them to its last leaf, and only the others are combined in the tree.
    pub unordered_words: usize,
    /// Whether up to 64 elements may be summed [relative to the largest](crate::tree::RelativeSum) of them, with the same bits. Where that is [within
    /// bounds](crate::tree::RelativeSum::is_bounded) it takes less code.
    pub sums_relative: bool,
    /// Whether the largest element is found [by words](crate::tree::ByWords) as memory holds them.
    pub has_word_maximum: bool,
    /// Whether words tell, too, [which elements equal it](crate::tree::ByWords::equal).
    pub has_word_equal: bool,
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
        unordered_words: 0,
        sums_relative: false,
        has_word_maximum: false,
        has_word_equal: false,
        fuses: false,
    };

    /// Whether no order that states are combined in changes a bit.
    #[must_use]
    pub const fn in_any_order(self) -> bool {
        self.associates || self.selects
    }

    /// That of an operator in another. It does not hand on words of several elements ([`Algebra::asks_at_once`], [`Algebra::has_word_maximum`]), unordered words, or
    /// sums [relative to the largest element](Algebra::sums_relative).
    #[must_use]
    pub const fn behind(self) -> Self {
        Self {
            asks_at_once: false,
            unordered_words: 0,
            sums_relative: false,
            has_word_maximum: false,
            has_word_equal: false,
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
            unordered_words: 0,
            sums_relative: false,
            has_word_maximum: false,
            has_word_equal: false,
            fuses: self.fuses || other.fuses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monoids::{Arg, Describe, Extremum, InOrder, Map, Monoid, Step, Sum, Variance};

    fn of<T, M: Monoid<T>>(_: M) -> Algebra {
        M::ALGEBRA
    }

    #[test]
    fn an_operator_in_another_is_what_it_was() {
        let transform = Step::ABS;
        let (op, in_order) = (Sum, InOrder(Sum));
        assert!(
            !of::<f32, _>(Map {
                transform,
                op: in_order
            })
            .commutes
        );
        assert!(!of::<f32, _>((InOrder(Sum), InOrder(Sum))).commutes);
        assert!(of::<f32, _>(Map { transform, op }).commutes);
        // Neither of several elements in a word, nor with unordered words.
        let both = of::<u8, _>((Extremum::LARGEST, Arg::LARGEST));
        assert!(both.selects && both.asks_at_once && !both.associates);
        let extremum = of::<u8, _>(Extremum::LARGEST);
        assert!(extremum.asks_at_once && !extremum.behind().asks_at_once);
        assert!(extremum.in_any_order() && extremum.behind().selects);
        let describe = of::<f32, _>(Describe { correction: 1.0 });
        assert!(describe.unordered_words > 0 && describe.behind().unordered_words == 0 && describe.behind().fuses);
        // One that does not select changes with every element.
        let variance = of::<f32, _>((Variance { correction: 1.0 }, Extremum::LARGEST));
        assert!(variance.folds_columns && variance.fuses && !variance.selects);
    }
}
