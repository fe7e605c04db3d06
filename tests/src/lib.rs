//! What the tests of the whole project share.
//!
//! * [`cases`] — arrays to fold, each with a weakness in mind.
//! * [`spec`] — the canonical tree as its text says it, and the operators as its table says them; no code is shared
//!   with the kernels or the host.
//! * [`oracle`] — what mathematics answers: exact sums and products, plain scans.
//! * [`backends`] — the CPU, folds in pieces and the emulator, asked alike.
//! * [`golden`] — answers recorded once.
//!
//! An answer is compared by its [`Bits`].

pub mod backends;
pub mod cases;
pub mod golden;
pub mod oracle;
pub mod spec;

use std::fmt;

use warpfold::ops::Reduction;
use warpfold_kernels::monoids::Words;

/// Calls `$f(op, …)` for each operator.
#[macro_export]
macro_rules! each_operator {
    ($f:ident($($arg:expr),* $(,)?)) => {{
        $f(warpfold::ops::Sum, $($arg),*);
        $f(warpfold::ops::Product, $($arg),*);
        $f(warpfold::ops::Mean, $($arg),*);
        $f(warpfold::ops::Min, $($arg),*);
        $f(warpfold::ops::Max, $($arg),*);
        $f(warpfold::ops::ArgMin, $($arg),*);
        $f(warpfold::ops::ArgMax, $($arg),*);
        $f(warpfold::ops::MinMax, $($arg),*);
        $f(warpfold::ops::ArgMinMax, $($arg),*);
        $f(warpfold::ops::NormL1, $($arg),*);
        $f(warpfold::ops::NormL2, $($arg),*);
        $f(warpfold::ops::NormInf, $($arg),*);
        $f(warpfold::ops::SumOfSquares, $($arg),*);
        $f(warpfold::ops::CountNonzero, $($arg),*);
        $f(warpfold::ops::CountNan, $($arg),*);
        $f(warpfold::ops::CountInf, $($arg),*);
        $f(warpfold::ops::Any, $($arg),*);
        $f(warpfold::ops::All, $($arg),*);
    }};
}

/// The words of an answer or of a state, to compare and to print.
#[derive(Clone, PartialEq, Eq)]
pub struct Bits(pub Vec<u32>);

impl Bits {
    /// The words of `value`.
    pub fn of<W: Words>(value: W) -> Self {
        Self((0..W::COUNT).map(|i| value.word(i)).collect())
    }

    /// The words of a state of `R`. The states of sums and products are plain floats, and a NaN among them has the
    /// payload that the hardware made: an answer is canonical, a state need not be. Here all such NaNs are one.
    pub fn of_state<R: Reduction<f32>>(_: R, state: R::State) -> Self {
        let mut bits = Self::of(state);
        match (R::NAME, &mut bits.0[..]) {
            ("sum" | "prod" | "mean" | "l1", [word]) if f32::from_bits(*word).is_nan() => *word = spec::NAN,
            // In f64, of whose words the second is the higher.
            ("l2" | "sumsq", [low, high]) if f64::from_bits(u64::from(*high) << 32 | u64::from(*low)).is_nan() => {
                (*low, *high) = (0, 0x7ff8_0000);
            }
            _ => {}
        }
        bits
    }

    /// The bits that hexadecimal digits stand for, as `Display` writes them.
    #[must_use]
    pub fn from_hex(digits: &str) -> Option<Self> {
        let words = digits.as_bytes().rchunks(8);
        let word = |word| u32::from_str_radix(str::from_utf8(word).ok()?, 16).ok();
        words.map(word).collect::<Option<_>>().map(Self)
    }
}

/// Hexadecimal, the highest word first: a number as one would write it.
impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().rev().try_for_each(|word| write!(f, "{word:08x}"))
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{self}")
    }
}
