//! The one list of operators.
//!
//! An operator is here once: its name, what it folds, the elements that it is for, its kernels, its policies, and what the command shows
//! of it. From this list come the operators' types ([`ops`](crate::ops)), what takes a mask or leaves NaN out, [`LIST`](crate::ops::LIST),
//! the command's operators, the lists that tests run over, and the README's table. What kernels there are, and for which elements, is in
//! the kernels' own list, `kernels-gpu/src/kernels/table.rs`, which a test holds this one against.

/// Calls a macro with what it is given in brackets, and all operators.
///
/// | of each | says |
/// |---|---|
/// | `name` | what the command calls it, and says of it |
/// | `of` | the groups of elements that it is for: [`if_of`](crate::if_of) has them |
/// | `folds` | its monoid, the name of its kernels, and the number that they are passed, if any; or by `asks` what bits it counts, of whatever elements |
/// | `masked` | the name of its kernels under a mask, `""` where only CPUs take one, and the monoid, if another one folds what is selected; nothing where none does |
/// | `without_nan` | its name where NaN is left out, if it can be |
/// | `spec` | whether its specification is `exact`, to the bit, or a reference that it is `near` |
/// | `command` | how `warpfold reduce` shows its answer: as it is (`run`), with the element at an index (`arg`) or those at two (`two_args`), of two arrays (`pair`); the options that it takes there, whether it is on the emulator, and whether it rounds; nothing where it is not there |
#[doc(hidden)]
#[macro_export]
macro_rules! manifest {
    ($($then:tt)::+ ! [$($with:tt)*]) => {
        $($then)::+! { [$($with)*]
            {
                /// The sum, pairwise. 0 over nothing.
                Sum {}
                name ("sum", "The sum.")
                of (all fp8 complex)
                folds (|_op| monoids::Sum = monoids::Sum, "sum")
                masked ("sum_where")
                without_nan ("nansum")
                spec (exact)
                command (run: rounds masked without_nan accuracy emulated)
            }
            {
                /// The product, pairwise. 1 over nothing. Integers wrap around. **Products of floats over- and underflow on the way**, where
                /// the answer may not: 0 · 1 · … · 55 of f32 is NaN, for a half of it is infinite.
                Product {}
                name ("prod", "The product. Of floats it over- and underflows on the way, for they are combined in pairs: infinity times 0 is NaN.")
                of (all complex)
                folds (|_op| monoids::Product = monoids::Product, "product")
                masked ("product_where")
                without_nan ("nanprod")
                spec (exact)
                command (run: rounds masked without_nan)
            }
            {
                /// The arithmetic mean: the sum, divided once. NaN over nothing.
                Mean {}
                name ("mean", "The arithmetic mean.")
                of (all fp8 complex)
                folds (|_op| monoids::Mean = monoids::Mean, "mean")
                masked ("mean_where", |_op| monoids::CountedMean = monoids::CountedMean)
                without_nan ("nanmean")
                spec (exact)
                command (run: rounds masked without_nan accuracy emulated)
            }
            {
                /// The smallest value; NaN if there is one; −0.0 is below +0.0. An error over nothing.
                Min {}
                name ("min", "The smallest.")
                of (all fp8)
                folds (
                    |_op| monoids::Extremum = monoids::Extremum::SMALLEST, "extremum", passing monoids::Extremum::SMALLEST.parameter()
                )
                masked ("extremum_where")
                without_nan ("nanmin")
                spec (exact)
                command (run: masked without_nan emulated)
            }
            {
                /// The largest value; NaN if there is one; −0.0 is below +0.0. An error over nothing.
                Max {}
                name ("max", "The largest.")
                of (all fp8)
                folds (
                    |_op| monoids::Extremum = monoids::Extremum::LARGEST, "extremum", passing monoids::Extremum::LARGEST.parameter()
                )
                masked ("extremum_where")
                without_nan ("nanmax")
                spec (exact)
                command (run: masked without_nan emulated)
            }
            {
                /// The index of the smallest value: the first of equals, and of NaNs if there are any. An error over nothing.
                ArgMin {}
                name ("argmin", "The index of the smallest, and its value.")
                of (all fp8)
                folds (|_op| monoids::Arg = monoids::Arg::SMALLEST, "arg", passing monoids::Arg::SMALLEST.parameter())
                masked ("arg_where")
                without_nan ("nanargmin")
                spec (exact)
                command (arg(SMALLEST): ties masked without_nan emulated)
            }
            {
                /// The index of the largest value: the first of equals, and of NaNs if there are any. An error over nothing.
                ArgMax {}
                name ("argmax", "The index of the largest, and its value.")
                of (all fp8)
                folds (|_op| monoids::Arg = monoids::Arg::LARGEST, "arg", passing monoids::Arg::LARGEST.parameter())
                masked ("arg_where")
                without_nan ("nanargmax")
                spec (exact)
                command (arg(LARGEST): ties masked without_nan emulated)
            }
            {
                /// The same as [`ArgMin`], but the last of equals.
                ArgMinLast {}
                name ("argmin-last", "The same as argmin, but the last of equals.")
                of (all fp8)
                folds (
                    |_op| monoids::Arg = monoids::Arg::SMALLEST.last(), "arg", passing monoids::Arg::SMALLEST.last().parameter()
                )
                masked ("arg_where")
                without_nan ("nanargmin-last")
                spec (exact)
                command (arg(SMALLEST): masked without_nan emulated)
            }
            {
                /// The same as [`ArgMax`], but the last of equals.
                ArgMaxLast {}
                name ("argmax-last", "The same as argmax, but the last of equals.")
                of (all fp8)
                folds (
                    |_op| monoids::Arg = monoids::Arg::LARGEST.last(), "arg", passing monoids::Arg::LARGEST.last().parameter()
                )
                masked ("arg_where")
                without_nan ("nanargmax-last")
                spec (exact)
                command (arg(LARGEST): masked without_nan emulated)
            }
            {
                /// The smallest and the largest value, in one pass: as [`Min`] and [`Max`].
                MinMax {}
                name ("minmax", "The smallest and the largest, in one pass.")
                of (numbers)
                folds (
                    |_op| (monoids::Extremum, monoids::Extremum) = (monoids::Extremum::SMALLEST, monoids::Extremum::LARGEST), "min_max"
                )
                masked ("")
                without_nan ()
                spec (exact)
                command (run:)
            }
            {
                /// Where the smallest and the largest value are, in one pass: as [`ArgMin`] and [`ArgMax`].
                ArgMinMax {}
                name ("argminmax", "The indices of the smallest and of the largest, in one pass.")
                of (numbers)
                folds (|_op| (monoids::Arg, monoids::Arg) = (monoids::Arg::SMALLEST, monoids::Arg::LARGEST), "argmin_argmax")
                masked ("")
                without_nan ()
                spec (exact)
                command (two_args:)
            }
            {
                /// The bits that all elements have, in their own type. All bits over nothing: −1, or the largest unsigned number.
                BitAnd {}
                name ("bit-and", "The bits that all have.")
                of (integers)
                folds (|_op| monoids::Bits = monoids::Bits::And, "bits", passing monoids::Bits::And.parameter())
                masked ("")
                without_nan ()
                spec (exact)
                command (run:)
            }
            {
                /// The bits that any element has, in their own type. 0 over nothing.
                BitOr {}
                name ("bit-or", "The bits that any has.")
                of (integers)
                folds (|_op| monoids::Bits = monoids::Bits::Or, "bits", passing monoids::Bits::Or.parameter())
                masked ("")
                without_nan ()
                spec (exact)
                command (run:)
            }
            {
                /// The bits that an odd number of elements have, in their own type: the parity of each. 0 over nothing.
                BitXor {}
                name ("bit-xor", "The bits that an odd number have.")
                of (integers)
                folds (|_op| monoids::BitXor = monoids::BitXor, "bit_xor")
                masked ("")
                without_nan ()
                spec (exact)
                command (run:)
            }
            {
                /// The sum of magnitudes, pairwise. 0 over nothing.
                NormL1 {}
                name ("l1", "The sum of magnitudes.")
                of (floats)
                folds (|_op| monoids::NormL1 = monoids::NormL1, "norm_l1")
                masked ("norm_l1_where")
                without_nan ()
                spec (exact)
                command (run: rounds masked emulated)
            }
            {
                /// The root of the sum of squares, summed in f64 and rounded once: finite wherever the norm itself fits. 0 over
                /// nothing. On GPUs with few f64 units the arithmetic, not the memory, sets the speed.
                NormL2 {}
                name ("l2", "The root of the sum of squares.")
                of (floats complex)
                folds (|_op| monoids::NormL2 = monoids::NormL2, "norm_l2")
                masked ("norm_l2_where")
                without_nan ()
                spec (exact)
                command (run: rounds masked emulated)
            }
            {
                /// The largest magnitude; NaN if there is a NaN. 0 over nothing.
                NormInf {}
                name ("linf", "The largest magnitude.")
                of (floats fp8 complex)
                folds (|_op| monoids::NormInf = monoids::NormInf, "norm_inf")
                masked ("norm_inf_where")
                without_nan ()
                spec (exact)
                command (run: masked)
            }
            {
                /// The sum of squares, summed in f64 and rounded once. 0 over nothing. Its speed is as [`NormL2`]'s.
                SumOfSquares {}
                name ("sumsq", "The sum of squares.")
                of (floats)
                folds (|_op| monoids::SumOfSquares = monoids::SumOfSquares, "sum_of_squares")
                masked ("sum_of_squares_where")
                without_nan ()
                spec (exact)
                command (run: rounds masked)
            }
            {
                /// How many elements are not zero; a NaN is not. 0 over nothing.
                CountNonzero {}
                name ("count-nonzero", "How many are not zero.")
                of (all)
                folds (asks Count::nonzero, "count")
                masked ("count_where")
                without_nan ()
                spec (exact)
                command (run: masked)
            }
            {
                /// How many elements are NaN. 0 over nothing.
                CountNan {}
                name ("count-nan", "How many are NaN.")
                of (floats fp8)
                folds (asks Count::nan, "count")
                masked ("count_where")
                without_nan ()
                spec (exact)
                command (run: masked)
            }
            {
                /// How many elements are +∞ or −∞. 0 over nothing.
                CountInf {}
                name ("count-inf", "How many are infinite.")
                of (floats)
                folds (asks Count::infinite, "count")
                masked ("count_where")
                without_nan ()
                spec (exact)
                command (run: masked)
            }
            {
                /// Whether any element is not zero; a NaN is not. False over nothing.
                Any {}
                name ("any", "Whether any is not zero.")
                of (all)
                folds (asks Truth::any, "truth")
                masked ("truth_where")
                without_nan ()
                spec (exact)
                command (run: masked)
            }
            {
                /// Whether no element is zero; a NaN is not. True over nothing.
                All {}
                name ("all", "Whether none is zero.")
                of (all)
                folds (asks Truth::all, "truth")
                masked ("truth_where")
                without_nan ()
                spec (exact)
                command (run: masked)
            }
            {
                /// The logarithm of the sum of exponentials, without overflow. All −∞ gives −∞, as nothing does; a +∞ gives +∞; a NaN
                /// gives NaN. How exact it is: [`monoids::LogSumExp`].
                LogSumExp {}
                name ("logsumexp", "The logarithm of the sum of exponentials.")
                of (floats)
                folds (|_op| monoids::LogSumExp = monoids::LogSumExp, "log_sum_exp")
                masked ("log_sum_exp_where")
                without_nan ()
                spec (near)
                command (run: rounds masked emulated)
            }
            {
                /// The variance: squared distances from the mean, summed in f64 (Chan's combination of Welford's moments) and divided by
                /// `max(0, n − correction)`. NaN where `n ≤ correction`, and of a NaN or an infinity.
                Variance {
                    /// What is taken off the number of elements: 1 for an estimate from a sample, 0 for the elements themselves. Finite.
                    correction = 1.0, BadParameter::unless_finite
                }
                name ("var", "The variance, with --correction.")
                of (floats)
                folds (|op| monoids::Variance = monoids::Variance { correction: op.correction }, "variance")
                masked ("variance_where")
                without_nan ("nanvar")
                spec (near)
                command (run: rounds correction masked without_nan emulated)
            }
            {
                /// The root of the [`Variance`].
                StdDev {
                    /// What is taken off the number of elements: 1 for an estimate from a sample, 0 for the elements themselves.
                    correction = 1.0, BadParameter::unless_finite
                }
                name ("std", "The standard deviation, with --correction.")
                of (floats)
                folds (|op| monoids::StdDev = monoids::StdDev { correction: op.correction }, "std")
                masked ("std_where")
                without_nan ("nanstd")
                spec (near)
                command (run: rounds correction masked without_nan emulated)
            }
            {
                /// The mean and the [`Variance`], in one pass. The mean, in f64, is more exact than [`Mean`]'s. NaN over nothing.
                MeanVariance {
                    /// What is taken off the number of elements: 1 for an estimate from a sample, 0 for the elements themselves.
                    correction = 1.0, BadParameter::unless_finite
                }
                name ("meanvar", "The mean and the variance, in one pass.")
                of (floats)
                folds (|op| monoids::MeanVariance = monoids::MeanVariance { correction: op.correction }, "mean_variance")
                masked ("")
                without_nan ()
                spec (near)
                command (run: rounds correction masked)
            }
            {
                /// The skewness of the elements themselves, without a correction for bias. NaN where no two differ, and over nothing.
                Skewness {}
                name ("skew", "The skewness.")
                of (floats)
                folds (|_op| monoids::Skewness = monoids::Skewness {}, "skewness")
                masked ("")
                without_nan ()
                spec (near)
                command (run: rounds masked)
            }
            {
                /// The excess kurtosis of the elements themselves, without a correction for bias. NaN where no two differ, and over
                /// nothing.
                Kurtosis {}
                name ("kurtosis", "The excess kurtosis.")
                of (floats)
                folds (|_op| monoids::Kurtosis = monoids::Kurtosis {}, "kurtosis")
                masked ("")
                without_nan ()
                spec (near)
                command (run: rounds masked)
            }
            {
                /// `(Σ|xᵢ|ᵖ)^(1/p)`, in f64 by logarithms, so that nothing over- or underflows on the way. 0 over nothing. It costs some
                /// 70 instructions in f64 an element: for 1, 2 and ∞ there are [`NormL1`], [`NormL2`] and [`NormInf`].
                NormLp {
                    /// The power, finite and above 0.
                    p, bad_power
                }
                name ("lp", "The root of the sum of powers, of the power --ord.")
                of (floats)
                folds (|op| monoids::NormLp = monoids::NormLp { p: op.p }, "norm_lp")
                masked ("")
                without_nan ()
                spec (near)
                command (run: rounds ord masked)
            }
            {
                /// Everything at once, as a [`Summary`]: counts of NaNs, infinities and zeros, the ends and where they are, sum, mean,
                /// variance, standard deviation, skewness, kurtosis, the norms. NaNs are counted and left out of the rest; where there are
                /// none, each answer has the bits of the operator that answers it alone.
                ///
                /// It reads the array once. On GPUs its arithmetic, some 32 instructions an element, sets the speed, and not the
                /// memory; parts of the array that hold a NaN or an infinity take several times as long.
                Describe {
                    /// What is taken off the number of elements to divide the variance by: 1 for an estimate from a sample, 0 for the
                    /// elements themselves.
                    correction = 1.0, BadParameter::unless_finite
                }
                name ("describe", "Everything at once.")
                of (singles)
                folds (|op| monoids::Describe = monoids::Describe { correction: op.correction }, "describe")
                masked ()
                without_nan ()
                spec (near)
                command ()
            }
            {
                /// The dot product of two arrays: the sum of products, pairwise, as [`Sum`] sums them. 0 over nothing. What is rounded:
                /// [`monoids::Dot`].
                Dot {}
                name ("dot", "The dot product with the array of --with.")
                of (pairs)
                folds (|_op| monoids::Dot = monoids::Dot, "dot")
                masked ()
                without_nan ()
                spec (near)
                command (pair: rounds with)
            }
            {
                /// The cosine similarity of two arrays: their dot product over the product of their norms, in one pass, summed in f64 and
                /// rounded once; within −1 to 1. NaN where an array is all zeros, of a NaN or an infinity, and over nothing. Its range of
                /// f64: [`monoids::Cosine`].
                Cosine {}
                name ("cosine", "The cosine of the angle to the array of --with.")
                of (pairs)
                folds (|_op| monoids::Cosine = monoids::Cosine, "cosine")
                masked ()
                without_nan ()
                spec (near)
                command (pair: rounds with)
            }
        }
    };
}
