//! Which of our kernels a build is asked for: all, or those of some operators and types of elements.

use std::collections::BTreeSet;

use thiserror::Error;
use warpfold_kernels::{
    element::Type,
    kernels::{Entry, Kernel, LIBRARY},
    ladder,
};

use crate::{
    operators,
    ours::{OurKernel, kernels},
};

/// A type of elements of each size that is read in a way of its own: what is checked of them is checked of all.
pub const OF_EACH_SIZE: [Type; 3] = [Type::F32, Type::Bf16, Type::U8];

/// Names of kernels that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(BTreeSet<&'static str>);

/// What is asked for, and is not there.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NotThere {
    /// A name of no operator, row operation or kernel.
    #[error("no operator, row operation or kernel is called {name:?}{}", near_it(.near))]
    Operator {
        /// As it was typed.
        name: String,
        /// Names that are nearly the same.
        near: Vec<String>,
    },
    /// A name of no type of elements.
    #[error("no type of elements is called {name:?}{}", near_it(.near))]
    Type {
        /// As it was typed.
        name: String,
        /// Names that are nearly the same.
        near: Vec<String>,
    },
    /// An operator that has no kernels for any of the types.
    #[error("{name} has no kernels for elements of {}: it has for {}", .types.join(", "), .built.join(", "))]
    Elements {
        /// The operator.
        name: String,
        /// The types that were asked for.
        types: Vec<&'static str>,
        /// The types that it has kernels for.
        built: Vec<&'static str>,
    },
}

fn near_it(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("; near it are {}", names.join(", ")),
    }
}

impl Selection {
    /// All there are.
    pub fn all() -> Self {
        Self(kernels().map(OurKernel::name).collect())
    }

    /// Those of every operator, for elements of these types.
    pub fn of_types(types: &[Type]) -> Self {
        let asked = kernels().filter(|kernel| types.iter().any(|of| serves(kernel, *of)));
        Self(asked.map(OurKernel::name).collect())
    }

    /// Those that names and types ask for. No names are every operator, no types every type. A name is an operator's, as the command or
    /// the kernels' list has it, a row operation's, a kernel's own, or `ladder`.
    ///
    /// # Errors
    ///
    /// [`NotThere`].
    pub fn parse(names: &[String], types: &[String]) -> Result<Self, NotThere> {
        let types = types
            .iter()
            .map(|name| type_called(name))
            .collect::<Result<Vec<_>, _>>()?;
        if names.is_empty() {
            return Ok(if types.is_empty() {
                Self::all()
            } else {
                Self::of_types(&types)
            });
        }
        let mut asked = BTreeSet::new();
        for name in names {
            let found = called(name)?;
            let of_types = found
                .iter()
                .filter(|kernel| types.is_empty() || types.iter().any(|of| serves(kernel, *of)));
            let of_types: Vec<_> = of_types.collect();
            asked.extend(of_types.iter().map(|kernel| kernel.name()));
            // Any operation may have states of several leaves of a row to combine.
            if found
                .iter()
                .any(|found| matches!(found.kernel(), Some(Kernel::Row(_))) && found.name() != name)
            {
                asked.extend(kernels().map(OurKernel::name).filter(|name| combines(name)));
            }
            if of_types.is_empty() {
                let built = ALL_TYPES
                    .iter()
                    .filter(|of| found.iter().any(|kernel| serves(kernel, **of)));
                return Err(NotThere::Elements {
                    name: name.clone(),
                    types: types.iter().map(|of| of.name()).collect(),
                    built: built.map(|of| of.name()).collect(),
                });
            }
        }
        Ok(Self(asked))
    }

    /// Whether it asks for the kernel of that name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Whether it asks for every kernel.
    pub fn is_all(&self) -> bool {
        kernels().all(|kernel| self.has(kernel.name()))
    }
}

/// Whether it is the name of a kernel that combines states of rows, whatever the operation and its elements.
fn combines(name: &str) -> bool {
    name.starts_with("row_states_")
}

/// The kernels that a name asks for, at least one.
fn called(name: &str) -> Result<Vec<OurKernel>, NotThere> {
    let plain = name.trim().replace('-', "_");
    let named = operators::NAMES
        .iter()
        .find(|(called, _)| called.replace('-', "_") == plain);
    let op = named.map_or(&*plain, |(_, op)| op);
    let is_asked = |kernel: &OurKernel| {
        let of_lessons = plain == ladder::PART && kernel.part() == ladder::PART;
        // The gradients of scale and shift come with that of the rows.
        let of_columns = op == "norm_gradient" && kernel.ops().any(|of| of == "norm_column_gradient");
        of_lessons || of_columns || kernel.ops().any(|of| of == op) || kernel.name() == plain
    };
    let found: Vec<_> = kernels().filter(is_asked).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let known = kernels()
        .filter(|kernel| kernel.part() != ladder::PART)
        .flat_map(OurKernel::ops)
        .chain(operators::NAMES.iter().map(|(called, _)| *called))
        .chain([ladder::PART]);
    Err(NotThere::Operator {
        name: name.to_owned(),
        near: nearest(&plain, known),
    })
}

/// Every type of elements.
const ALL_TYPES: [Type; 18] = [
    Type::Bool,
    Type::I8,
    Type::I16,
    Type::I32,
    Type::I64,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::F16,
    Type::Bf16,
    Type::F32,
    Type::F64,
    Type::F8E4M3,
    Type::F8E5M2,
    Type::Complex32,
    Type::Complex64,
    Type::Complex128,
];

fn type_called(name: &str) -> Result<Type, NotThere> {
    let name = name.trim();
    let found = ALL_TYPES.into_iter().find(|of| of.name() == name);
    found.ok_or_else(|| NotThere::Type {
        name: name.to_owned(),
        near: nearest(name, ALL_TYPES.iter().map(|of| of.name())),
    })
}

/// Whether a launch on elements of a type may be one of a kernel.
fn serves(kernel: &OurKernel, of: Type) -> bool {
    match kernel {
        OurKernel::Entry(entry) => folds(entry, of),
        OurKernel::Distinct(entry) => entry.element.bytes() == of.bytes(),
    }
}

fn folds(entry: &Entry, of: Type) -> bool {
    match entry.kernel {
        Kernel::Own => !entry.name.ends_with("_f64") || of == Type::F64,
        // Both types of 16 bits share what is not plain, which is called bf16's.
        Kernel::Row(_) => {
            let shares = of == Type::F16 && entry.name.ends_with("_b16");
            entry.element == of || shares || combines(entry.name)
        }
        kernel => {
            let find = |of| LIBRARY.find(entry.op, of, kernel);
            // What asks about bits alone is built for integers, and takes the bits of any element.
            let of_bits = || (find(Type::F32).is_none() && of.bytes() <= 8).then(|| find(of.bits()));
            find(of)
                .or_else(|| of_bits()?)
                .is_some_and(|found| found.name == entry.name)
        }
    }
}

/// How alike two names are, from 0 to 1, to be shown for one another.
const ALIKE: f64 = 0.75;

/// The names that are nearly one that is not among them, the nearest first.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    const MOST: usize = 4;
    let known: BTreeSet<&str> = known.collect();
    let alike = known
        .into_iter()
        .map(|other| (strsim::jaro_winkler(name, other), other));
    let mut alike: Vec<_> = alike.filter(|(alike, _)| *alike >= ALIKE).collect();
    alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    alike
        .into_iter()
        .take(MOST)
        .map(|(_, other)| other.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(names: &str, types: &str) -> Result<Vec<&'static str>, NotThere> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        Selection::parse(&words(names), &words(types)).map(|selection| selection.0.into_iter().collect())
    }

    #[test]
    fn names_and_types_select_entries() {
        let sum = [
            "sum_f32",
            "sum_rows_f32",
            "sum_segments_f32",
            "sum_small_f32",
            "sum_strided_f32",
        ];
        for (names, types, is) in [
            ("sum", "f32", &sum[..]),
            // Two that fold alike.
            ("mean", "f32", &sum[..]),
            // The command's names, of kernels that are called otherwise, under a mask, and of signed integers.
            (
                "bit-xor",
                "i64",
                &[
                    "bit_xor_rows_u64",
                    "bit_xor_segments_u64",
                    "bit_xor_strided_u64",
                    "bit_xor_u64",
                ],
            ),
            ("sum_small_f32 sum_f32", "", &["sum_f32", "sum_small_f32"]),
            ("softmax_short_f32", "", &["softmax_short_f32"]),
            (
                "distinct",
                "f32 f64",
                &[
                    "distinct_extents_u32",
                    "distinct_extents_u64",
                    "distinct_u32",
                    "distinct_u64",
                ],
            ),
            ("grad_norm_l2 grad-clip", "bf16", &["grad_clip", "grad_norm_l2"]),
        ] {
            assert_eq!(parse(names, types).unwrap(), is, "{names} of {types}");
        }
        for (names, types, some, not) in [
            ("max", "f32", "extremum_f32", "extremum_f64"),
            ("count-nan", "f32", "count_u32", "count_u8"),
            ("nansum", "f32", "sum_where_f32", "sum_f32"),
            ("softmax", "f16", "softmax_any_b16", "softmax_leaf_bf16"),
            ("softmax", "f32", "row_states_scaled", "log_softmax_leaf_f32"),
            (
                "softmax_gradient",
                "f32",
                "softmax_gradient_leaf_f32",
                "softmax_leaf_f32",
            ),
            (
                "norm_gradient",
                "f32",
                "norm_column_gradient_b32",
                "norm_column_gradient_b16",
            ),
            ("ladder", "", "ladder_sum_atomic", "sum_f32"),
            ("", "u8", "arg_u8", "arg_f32"),
        ] {
            let selected = parse(names, types).unwrap();
            assert!(
                selected.contains(&some) && !selected.contains(&not),
                "{names} of {types}: {selected:?}"
            );
        }
        assert!(Selection::parse(&[], &[]).unwrap().is_all());
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is_near() {
        let near = |names, types| match parse(names, types).unwrap_err() {
            NotThere::Operator { name, near } | NotThere::Type { name, near } => (name, near),
            other => panic!("{other}"),
        };
        let (name, near_it) = near("sum softmaks", "f32");
        assert_eq!((&*name, &*near_it[0]), ("softmaks", "softmax"));
        assert_eq!(near("sum", "f33").1[0], "f32");
        assert_eq!(near("sum", "quaternion").1, Vec::<String>::new());
        assert!(parse("qqq", "").unwrap_err().to_string().ends_with("is called \"qqq\""));
        let error = parse("norm_lp", "u8 complex64").unwrap_err();
        let built = "norm_lp has no kernels for elements of u8, complex64: it has for f16, bf16, f32, f64";
        assert_eq!(error.to_string(), built);
    }

    #[test]
    fn every_entry_is_of_a_type_and_every_name_of_an_operator_asks_for_some() {
        assert_eq!(Selection::of_types(&ALL_TYPES), Selection::all());
        for (name, _) in operators::NAMES {
            assert!(called(name).is_ok(), "{name}");
        }
    }
}
