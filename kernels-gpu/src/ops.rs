//! Operators as callers name them, and operators of your own.
//!
//! A [monoid](crate::monoids) says how elements fold. An operator is what a caller passes: it has a name, kernels, and for each
//! type of elements that those are built for a [`Reduction`], whose monoid folds. Its kernels are passed one number, so a monoid
//! with a parameter is made anew on the GPU.
//!
//! One of your own is a type that implements [`OwnOperator`], in a crate of its own; [`operators!`](crate::operators) makes the
//! rest. A row operation of your own implements [`OwnRowOp`], and [`row_operations!`](crate::row_operations) makes the rest.

mod rows;

pub use crate::{kernels::row_entries::RowOperation, parameter::BadParameter, rowwise::OwnRowOp};

use crate::{
    element::{Item, Type},
    kernels::{self, Entry, Kernel, Library, OpParams},
    monoids::{self, InOrder, Monoid, Words},
};

/// What an operator is called, here and in the kernels.
pub trait Operator: Copy + Send + Sync + 'static {
    /// Its name in the command and in errors.
    const NAME: &'static str;
    /// Its name in the list of kernels.
    const ENTRY: &'static str;
    /// What its kernels are built in.
    const LIBRARY: &'static Library = &kernels::LIBRARY;

    /// The number that its kernels are passed.
    fn parameter(self) -> u64 {
        0
    }

    /// What tells it from others of its name. It calls `each_step` with every [step](monoids::Step) that the operator is behind, the one
    /// that elements come to first being the first.
    fn signature(self, _each_step: &mut dyn FnMut(monoids::Step)) -> OpSignature {
        OpSignature {
            package: Self::LIBRARY.package,
            parameter: self.parameter(),
        }
    }

    /// The first of its parameters that has no meaning. Operators are plain values whose fields anyone may set, so every call asks,
    /// before anything is read.
    fn bad_parameter(self) -> Option<BadParameter> {
        None
    }
}

/// What tells operators of one name apart, but for the steps that they are behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpSignature {
    /// The package that the operator is of.
    pub package: &'static str,
    /// Its own [`parameter`](Operator::parameter), whatever step it is behind.
    pub parameter: u64,
}

/// A reduction of an array of `T`, or of two arrays where `T` is [`Two`](crate::element::Two): its answer and its operator.
///
/// The types that implement it are the operators to pass to the host library's calls. It names kernels that were built with it, so
/// none is written by hand: [`operators!`](crate::operators) implements it for each type of elements in its list.
pub trait Reduction<T: Item>: Operator {
    /// What the caller gets: a value, an index, a count, a truth, or several of these.
    type Answer: Words + Send + 'static;
    /// What is carried up the canonical tree.
    type State: Words + Send + Sync + 'static;
    /// The operator that kernels, CPU backend and emulator share.
    type Monoid: Monoid<T, State = Self::State, Answer = Self::Answer> + Send + Sync;
    /// The type of elements its kernels are built for, where the operator is to fold bits, of whatever they are.
    const BUILT: Type = T::ELEMENT;

    /// The operator.
    fn monoid(self) -> Self::Monoid;

    /// What is known of its whole-array kernel.
    ///
    /// # Panics
    ///
    /// If it is not [`built`](Self::built).
    fn entry(self) -> &'static Entry {
        self.built().expect("a kernel that is built")
    }

    /// The same, or none: under a mask ([`Masked`](crate::element::Masked)) and behind a [step](crate::monoids::Step) GPUs have kernels
    /// of some operators alone.
    fn built(self) -> Option<&'static Entry> {
        Self::LIBRARY.find(Self::ENTRY, Self::BUILT, Kernel::All)
    }

    /// What its kernels are passed, `entry` being one of them.
    fn params(self, entry: &Entry) -> OpParams {
        OpParams {
            number: self.parameter(),
            also: entry.also == Some(Self::ENTRY),
            signed: entry.element != T::ELEMENT && T::ELEMENT.is_signed(),
            ..OpParams::default()
        }
    }
}

/// The promise that the order of two states does not matter: `combine(a, b) == combine(b, a)`, to the bit, for all states that come
/// from `lift` and `combine`, whatever the order of their elements in the array.
///
/// Kernels and CPU fold what is in registers before they fold what is beside it: a lane's states are of columns that interleave with
/// its neighbours', and lanes exchange states crosswise. So a monoid is folded as it is only if it makes this promise, as all of this crate's do,
/// and [`Map`](monoids::Map), [`IgnoreNan`](monoids::Filtered) and tuples of those that make it. One that depends on the order of
/// elements (the composition of maps, a running difference, text joined to text) does not compile:
///
/// ```compile_fail,E0277
/// use warpfold_kernels::{monoids::{InOrder, Monoid}, ops::OwnOperator};
///
/// /// The last element.
/// #[derive(Clone, Copy)]
/// struct Last;
///
/// impl Monoid<f32> for Last {
///     type State = (bool, f32);
///     type Answer = f32;
///     fn identity(self) -> (bool, f32) { (false, 0.0) }
///     fn lift(self, value: f32, _: u64) -> (bool, f32) { (true, value) }
///     fn combine(self, a: (bool, f32), b: (bool, f32)) -> (bool, f32) { if b.0 { b } else { a } }
///     fn finish(self, last: (bool, f32), _: u64) -> f32 { last.1 }
///     fn empty(self) -> Option<f32> { None }
/// }
///
/// impl OwnOperator for Last {
///     type Monoid = Self;
///     fn monoid(self) -> Self { self }
///     fn of_parameter(_: u64) -> Self { Self }
/// }
/// ```
///
/// unless it is asked for [in order](InOrder), which is dearer:
///
/// ```
/// use warpfold_kernels::{monoids::{InOrder, Monoid}, ops::OwnOperator};
///
/// /// The last element.
/// #[derive(Clone, Copy)]
/// struct Last;
///
/// impl Monoid<f32> for Last {
///     type State = (bool, f32);
///     type Answer = f32;
///     fn identity(self) -> (bool, f32) { (false, 0.0) }
///     fn lift(self, value: f32, _: u64) -> (bool, f32) { (true, value) }
///     fn combine(self, a: (bool, f32), b: (bool, f32)) -> (bool, f32) { if b.0 { b } else { a } }
///     fn finish(self, last: (bool, f32), _: u64) -> f32 { last.1 }
///     fn empty(self) -> Option<f32> { None }
/// }
///
/// impl OwnOperator for Last {
///     type Monoid = InOrder<Self>;
///     fn monoid(self) -> InOrder<Self> { InOrder(self) }
///     fn of_parameter(_: u64) -> Self { Self }
/// }
/// ```
pub trait Commutative {}

/// Monoids that are folded: those that [commute](Commutative), and any other [in order](InOrder).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not promise that it commutes",
    note = "an operator whose answer depends on the order of elements is folded in order, as the monoid `InOrder<{Self}>`",
    note = "if `combine(a, b) == combine(b, a)` to the bit, `impl Commutative for {Self} {{}}` says so"
)]
pub trait Foldable: Copy + Send + Sync {}

impl<M: Commutative + Copy + Send + Sync> Foldable for M {}
impl<M: Copy + Send + Sync> Foldable for InOrder<M> {}

macro_rules! commute {
    ($($monoid:ident)*) => {
        $(impl Commutative for monoids::$monoid {})*
    };
}

commute! {
    Arg BitXor Bits Cosine Count CountedMean Describe Dot Extremum Kurtosis LogSumExp Mean MeanVariance
    NormInf NormL1 NormL2 NormLp Product Skewness StdDev Sum SumOfSquares Truth Variance
}

impl<F, M: Commutative> Commutative for monoids::Map<F, M> {}
impl<F, M: Commutative> Commutative for monoids::Filtered<F, M> {}
impl<A: Commutative, B: Commutative> Commutative for (A, B) {}
impl<M> Commutative for monoids::Compensated<M> {}
impl<M> Commutative for monoids::Wide<M> {}
impl<M> Commutative for monoids::Exact<M> {}

/// An operator of your own, as callers pass it.
///
/// The whole of one, which folds f32 to the sum of their cubes:
///
/// ```
/// use warpfold_kernels::{monoids::Monoid, ops::{Commutative, OwnOperator}};
///
/// #[derive(Clone, Copy, Debug)]
/// pub struct SumOfCubes;
///
/// impl Monoid<f32> for SumOfCubes {
///     type State = f64;
///     type Answer = f64;
///     #[inline]
///     fn identity(self) -> f64 {
///         -0.0 // neutral to the bit, as 0.0 is not
///     }
///     #[inline]
///     fn lift(self, value: f32, _: u64) -> f64 {
///         let value = f64::from(value);
///         value * value * value
///     }
///     #[inline]
///     fn combine(self, a: f64, b: f64) -> f64 {
///         a + b
///     }
///     #[inline]
///     fn finish(self, sum: f64, _: u64) -> f64 {
///         if sum.is_nan() { f64::NAN } else { sum } // one bit pattern
///     }
///     #[inline]
///     fn empty(self) -> Option<f64> {
///         Some(0.0)
///     }
/// }
///
/// impl Commutative for SumOfCubes {}
///
/// impl OwnOperator for SumOfCubes {
///     type Monoid = Self;
///     fn monoid(self) -> Self {
///         self
///     }
///     fn of_parameter(_: u64) -> Self {
///         Self
///     }
/// }
/// # let cubes = [1.0, 2.0].map(|x| SumOfCubes.monoid().lift(x, 0));
/// # assert_eq!(SumOfCubes.combine(cubes[0], cubes[1]), 9.0);
/// ```
///
/// Then a line of [`operators!`](crate::operators) builds its kernels: `sum_of_cubes: SumOfCubes, { f32: REGS_80 };`.
pub trait OwnOperator: Copy + Send + Sync + 'static {
    /// What folds: the operator itself, if it is a monoid, or another that it makes, such as a
    /// [`Map`](crate::monoids::Map).
    type Monoid: Foldable;

    /// The monoid.
    fn monoid(self) -> Self::Monoid;

    /// The one number that the kernels are passed: all that tells two values of this type apart.
    fn parameter(self) -> u64 {
        0
    }

    /// The first of its parameters that has no meaning: every call answers an error then.
    fn bad_parameter(self) -> Option<BadParameter> {
        None
    }

    /// The operator of a number that [`parameter`](Self::parameter) gave.
    fn of_parameter(parameter: u64) -> Self;
}

/// Builds operators of your own: each with a name, of letters, digits and underscores, that no other of the crate has, and the
/// types of elements it is built for, each with its [`LaunchBounds`](crate::kernels::LaunchBounds). To be called once, in the root of a library:
///
/// ```ignore
/// #![no_std]
/// #![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]
///
/// warpfold_kernels::operators! {
///     sum_of_cubes: SumOfCubes, { f32: REGS_80 };
/// }
/// ```
///
/// It makes the kernels' entry points, where the crate is compiled by `cargo xtask build-ptx --crate PATH`; and `LIBRARY`, the list of
/// them, with the PTX that the package's build script embeds (`fn main() { warpfold_embed::ptx(); }`); and it
/// implements [`Operator`](crate::ops::Operator) and [`Reduction`](crate::ops::Reduction), so that the host library's calls take
/// the operator. The package `own-operator`, among the host library's examples, is a whole one.
///
/// A state has 1 to 16 words ([`MOST_WORDS`](crate::kernels::MOST_WORDS)), and so has an answer; more do not compile.
#[macro_export]
macro_rules! operators {
    ($($name:ident: $op:ty, { $($element:ident: $room:ident),* $(,)? };)*) => {
        $crate::entries! {
            ptx: Some($crate::embedded!()), rows: &[];
            all: folds of one, if all() {
                $(
                    $name: <$op as $crate::ops::OwnOperator>::Monoid = |params| $crate::ops::OwnOperator::monoid(
                        <$op as $crate::ops::OwnOperator>::of_parameter(params.number)
                    ), { $($element: $room),* }, with small;
                )*
            }
        }

        $(
            impl $crate::ops::Operator for $op {
                const NAME: &'static str = stringify!($name);
                const ENTRY: &'static str = stringify!($name);
                const LIBRARY: &'static $crate::kernels::Library = &LIBRARY;

                fn parameter(self) -> u64 {
                    $crate::ops::OwnOperator::parameter(self)
                }

                fn bad_parameter(self) -> Option<$crate::ops::BadParameter> {
                    $crate::ops::OwnOperator::bad_parameter(self)
                }
            }

            $(
                impl $crate::ops::Reduction<$element> for $op {
                    type Answer = <Self::Monoid as $crate::monoids::Monoid<$element>>::Answer;
                    type State = <Self::Monoid as $crate::monoids::Monoid<$element>>::State;
                    type Monoid = <Self as $crate::ops::OwnOperator>::Monoid;

                    fn monoid(self) -> Self::Monoid {
                        $crate::ops::OwnOperator::monoid(self)
                    }
                }
            )*
        )*
    };
}

/// The PTX that the package's build script embeds; none where it is being built.
#[doc(hidden)]
#[macro_export]
macro_rules! embedded {
    () => {{
        #[cfg(target_arch = "nvptx64")]
        let embedded = $crate::kernels::Embedded {
            packs: &[],
            generator: None,
            fingerprint: None,
        };
        #[cfg(not(target_arch = "nvptx64"))]
        let embedded = {
            use $crate::kernels::{Embedded, Pack, Ptx};
            include!(concat!(env!("OUT_DIR"), "/warpfold_ptx.rs"))
        };
        embedded
    }};
}
