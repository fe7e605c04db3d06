//! All operators, to be read while a program runs.

use warpfold_kernels::{
    element::{Element as _, Type, bf16, complex32, complex64, complex128, f8e4m3, f8e5m2, f16},
    kernels::{self, Kernel},
};

use super::groups::types_of;

/// An operator, as [`LIST`] has it.
///
/// ```
/// use warpfold::ops::{LIST, element::Type};
///
/// let of_bool = LIST.iter().filter(|listed| listed.elements().any(|element| element == Type::Bool));
/// let names: Vec<&str> = of_bool.map(|listed| listed.name).collect();
/// assert!(names.contains(&"any") && !names.contains(&"var"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its type, in this module: `NormL2`.
    pub op: &'static str,
    /// Its name in the command and in errors: `l2`.
    pub name: &'static str,
    /// What it answers, in a sentence.
    pub says: &'static str,
    /// The elements that it is for, in groups.
    groups: &'static [&'static [Type]],
    /// Its name in the kernels' list, [`LIBRARY`](warpfold_kernels::kernels::LIBRARY).
    pub entry: &'static str,
    /// Whether kernels of unsigned integers of the same size fold all elements, as bits.
    pub of_bits: bool,
    /// Whether it is of two arrays.
    pub of_two: bool,
    /// Whether CPUs fold it under a mask.
    pub takes_mask: bool,
    /// Its name in the kernels' list under a mask; none where GPUs have no such kernels.
    pub entry_where: Option<&'static str>,
    /// Whether it can leave NaN out, by [`IgnoreNan`](super::IgnoreNan).
    pub skips_nan: bool,
}

impl Listed {
    /// The elements that GPUs have kernels for under a mask.
    pub fn elements_where(&self) -> impl Iterator<Item = Type> + use<> {
        let Self {
            entry_where, of_bits, ..
        } = *self;
        self.elements().filter(move |element| {
            let element = if of_bits { element.bits() } else { *element };
            entry_where.is_some_and(|op| kernels::find(op, element, Kernel::All).is_some())
        })
    }

    /// The elements that it is for.
    pub fn elements(&self) -> impl Iterator<Item = Type> + use<> {
        self.groups.iter().copied().flatten().copied()
    }
}

macro_rules! list {
    ([] $({
        $(#[$doc:meta])*
        $op:ident $fields:tt
        name ($name:literal, $says:literal)
        of ($($group:ident)*)
        folds $folds:tt
        masked $masked:tt
        without_nan ($($without_nan:literal)?)
        spec $spec:tt
        command $command:tt
    })*) => {
        /// All operators, in the order of the manifest; those of another [accuracy](super::Exact) are not among them.
        pub const LIST: &[Listed] = &[$(Listed {
            op: stringify!($op),
            name: $name,
            says: $says,
            groups: &[$(types_of!($group, types! [])),*],
            entry: entry_of!($folds),
            of_bits: is_bits!($folds),
            of_two: $(is_pairs!($group))||*,
            takes_mask: mask_of!($masked).is_some(),
            entry_where: named(mask_of!($masked)),
            skips_nan: {
                let names: &[&str] = &[$($without_nan)?];
                !names.is_empty()
            },
        }),*];
    };
}

macro_rules! types {
    ([] $($element:ident)*) => {
        &[$(<$element>::TYPE),*]
    };
}

macro_rules! is_pairs {
    (pairs) => {
        true
    };
    ($group:ident) => {
        false
    };
}

macro_rules! is_bits {
    ((asks $($more:tt)*)) => {
        true
    };
    ($folds:tt) => {
        false
    };
}

macro_rules! entry_of {
    ((asks $monoid:ident::$make:ident, $entry:literal)) => {
        $entry
    };
    ((|$this:ident| $monoid:ty = $value:expr, $entry:literal $($more:tt)*)) => {
        $entry
    };
}

macro_rules! mask_of {
    (()) => {
        Option::<&str>::None
    };
    (($entry_where:literal $($more:tt)*)) => {
        Some($entry_where)
    };
}

/// A name, if there is one: nothing is the name of none.
const fn named(name: Option<&'static str>) -> Option<&'static str> {
    match name {
        Some(name) if !name.is_empty() => Some(name),
        _ => None,
    }
}

crate::manifest!(list![]);
