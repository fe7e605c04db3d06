//! Parameters of operators and row operations.

/// A parameter that an operator has no meaning for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadParameter {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub value: f64,
    /// What it must be.
    pub must: &'static str,
}

impl BadParameter {
    /// One that must be finite, where it is not.
    #[must_use]
    pub fn unless_finite(name: &'static str, value: f64) -> Option<Self> {
        let must = "finite";
        (!value.is_finite()).then_some(Self { name, value, must })
    }
}
