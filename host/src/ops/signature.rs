//! Which operator it is, all types forgotten.

use warpfold_kernels::{
    element::{Item, Operands, Type},
    kernels,
    monoids::{Step, Words as _},
};

use super::Reduction;

/// An operator over items of one type, told apart from all others: states of one signature may be combined.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The operator's name, which says what becomes of NaN and how accurate it is: `nansum`, `sum-exact`. Of an operator of another package
    /// that package's name is before it: `own-operator::census`.
    pub op: String,
    /// The elements' type.
    pub element: Type,
    /// What is folded: one array, two, or one under a mask.
    pub operands: Operands,
    /// The operator's own number: the bits of a correction or of a power, which end is sought.
    pub parameter: u64,
    /// The steps that it is behind, in the order that they are taken in.
    pub steps: Vec<Step>,
    /// Words of a state.
    pub words: usize,
}

impl Signature {
    pub(crate) fn of<I: Item, R: Reduction<I>>(op: R) -> Self {
        let mut steps = vec![];
        let signature = op.signature(&mut |step| steps.push(step));
        Self {
            op: if signature.package == kernels::LIBRARY.package {
                R::NAME.into()
            } else {
                format!("{}::{}", signature.package, R::NAME)
            },
            element: I::ELEMENT,
            operands: I::OPERANDS,
            parameter: signature.parameter,
            steps,
            words: R::State::COUNT,
        }
    }

    /// What is not the same of another: its name, and what it is here and there.
    pub(crate) fn difference(&self, other: &Self) -> Option<(&'static str, [String; 2])> {
        let each = [
            ("operator", [self, other].map(|of| of.op.clone())),
            ("elements", [self, other].map(|of| of.element.name().into())),
            ("operands", [self, other].map(|of| named(of.operands).into())),
            ("parameter", [self, other].map(|of| format!("{:#x}", of.parameter))),
            ("steps", [self, other].map(|of| in_words(&of.steps))),
            ("words of a state", [self, other].map(|of| of.words.to_string())),
        ];
        each.into_iter().find(|(_, [this, other])| this != other)
    }
}

fn named(operands: Operands) -> &'static str {
    match operands {
        Operands::One => "one array",
        Operands::Two => "two arrays",
        Operands::Masked => "an array and its mask",
    }
}

/// Steps in words. Numbers are as exact as they are: no two are printed alike, but NaN, which no step has.
fn in_words(steps: &[Step]) -> String {
    let each = steps
        .iter()
        .map(|step| format!("{:?} of the element less {:?}", step.then, step.minus));
    let each: Vec<String> = each.collect();
    if each.is_empty() {
        "none".into()
    } else {
        each.join(", then ")
    }
}
