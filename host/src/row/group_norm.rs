//! Group norm, its gradient, and the gradients of its weights and biases.

use warpfold_kernels::{kernels::rowwise::Second, rowwise};

use super::{
    ColumnGradients, Floats, HasBiases, HasWeights, Knowledge, Mapped, MeanAndDeviation, Nothing, Operand, Operation,
    Row, RowElement, Shaped, channels::Channels, check_known,
};
use crate::{
    Error, cpu,
    layout::{Axes, Layout},
    operand::AsView,
    ops::Sum,
};

/// Group norm: see [`group_norm`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupNorm {
    groups: u64,
    pub(super) epsilon: f32,
}

/// The gradient of group norm: see [`group_norm_gradient`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupNormGradient {
    groups: u64,
}

/// The gradients of a group norm's weights and biases, to be had: see [`group_norm_channel_gradients`].
#[derive(Clone, Debug)]
#[must_use = "nothing is summed before its last step"]
pub struct GroupNormChannels<'a> {
    groups: u64,
    gradients: Operand<'a>,
    known: &'a MeanAndDeviation,
}

/// `(x − mean) / √(variance + ε) · weight + bias` of an array N × C × any further axes: a row is the channels of one of so many groups of a sample, with all their elements.
///
/// Channels are axis 1, and groups are of C / `groups` neighbouring ones. There is a weight and a bias of each channel. Of one group it is layer norm of a whole sample; of as many groups
/// as channels it is instance norm. Answers have the array's shape; known are mean and reciprocal deviation of each group of each sample, N × `groups` of them.
///
/// Arithmetic, NaNs and infinities are those of [`layer_norm`](super::layer_norm). Cost: as of that, where each group lies in one run of memory, but for
/// weights, which have a kernel less specialised; in any other order, as channels last, elements are read three or four times.
///
/// # Errors
///
/// Its last step answers as that of any [`Row`]; [`Error::Parameter`] of no groups; [`RowFault::Groups`](crate::RowFault::Groups) where they do not divide the channels;
/// [`RowFault::NoChannels`](crate::RowFault::NoChannels) of an array of one axis; [`RowFault::Channels`](crate::RowFault::Channels) of weights or biases that are not one for each channel.
///
/// ```
/// use warpfold::{View, layout::Layout, row};
///
/// // One sample of four channels of two elements, in two groups.
/// let x = [1.0_f32, 3.0, 5.0, 7.0, -1.0, 1.0, 1.0, -1.0];
/// let layout = Layout::c_order(&[1, 4, 2])?;
/// let norm = row::group_norm(2, 1e-5).weight(&[1.0_f32, 1.0, 2.0, 3.0]);
/// let mapped = norm.on_cpu::<_, f32>(View::new(&x, &layout)?)?;
/// assert_eq!(mapped.known.mean, [4.0, 0.0]);
/// assert_eq!(mapped.values[4..], [-1.999_99, 1.999_99, 2.999_985, -2.999_985]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn group_norm<'a>(groups: u64, epsilon: f32) -> Row<'a, GroupNorm> {
    Row {
        axis: 1,
        ..Row::new(GroupNorm { groups, epsilon })
    }
}

/// The gradient of [`group_norm`] by its inputs `x`, of the gradients `dy` of its answers, and of what it knew: as [`layer_norm_gradient`](super::layer_norm_gradient).
///
/// ```
/// use warpfold::{View, layout::Layout, row};
///
/// let (x, dy) = ([1.0_f32, 2.0, 4.0, 8.0], [0.0_f32, 1.0, 0.0, 0.0]);
/// let layout = Layout::c_order(&[1, 2, 2])?;
/// let known = row::group_norm(2, 1e-5).on_cpu::<_, f32>(View::new(&x, &layout)?)?.known;
/// let dx = row::group_norm_gradient(2, &dy, &known).on_cpu::<_, f32>(View::new(&x, &layout)?)?;
/// assert_eq!(dx.values[2..], [0.0, 0.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn group_norm_gradient<'a>(
    groups: u64,
    gradients: impl Into<Operand<'a>>,
    known: &'a MeanAndDeviation,
) -> Row<'a, GroupNormGradient> {
    Row {
        axis: 1,
        other: Some((Second::Nothing, gradients.into())),
        given: Some([Some(&known.mean), Some(&known.reciprocal_deviation)]),
        ..Row::new(GroupNormGradient { groups })
    }
}

/// `Σ dy · x̂` and `Σ dy` of each channel, over all samples, with `x̂ = (x − mean) · q`: the gradients of [`group_norm`]'s weights and biases.
///
/// Each channel of a sample is summed as a row is, and then samples are, by [`Sum`]: the bits are the same on every GPU and the CPU. Of no samples all are 0. Cost: both arrays are read
/// once; channels of few elements take a warp each.
///
/// ```
/// use warpfold::{View, layout::Layout, row};
///
/// let (x, dy) = ([1.0_f32, 2.0, 4.0, 8.0], [0.5_f32, 0.25, 1.0, 2.0]);
/// let layout = Layout::c_order(&[1, 2, 2])?;
/// let known = row::group_norm(1, 1e-5).on_cpu::<_, f32>(View::new(&x, &layout)?)?.known;
/// let channels = row::group_norm_channel_gradients(1, &dy, &known).on_cpu(View::new(&x, &layout)?)?;
/// assert_eq!(channels.bias, [0.75, 3.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn group_norm_channel_gradients<'a>(
    groups: u64,
    gradients: impl Into<Operand<'a>>,
    known: &'a MeanAndDeviation,
) -> GroupNormChannels<'a> {
    GroupNormChannels {
        groups,
        gradients: gradients.into(),
        known,
    }
}

impl Operation for GroupNorm {
    type Op = rowwise::LayerNorm;
    type Known = MeanAndDeviation;
    const NAME: &'static str = "group_norm";

    fn op(self) -> rowwise::LayerNorm {
        rowwise::LayerNorm { epsilon: self.epsilon }
    }
    fn groups(self) -> Option<u64> {
        Some(self.groups)
    }
}

impl HasWeights for GroupNorm {}
impl HasBiases for GroupNorm {}

/// Of layer norm, of weights that are not beside 1.
const GRADIENT: rowwise::NormGradient = rowwise::NormGradient {
    centers: true,
    plus: -0.0,
};

impl Operation for GroupNormGradient {
    type Op = rowwise::NormGradient;
    type Known = Nothing;
    const NAME: &'static str = "group_norm_gradient";

    fn op(self) -> rowwise::NormGradient {
        GRADIENT
    }
    fn groups(self) -> Option<u64> {
        Some(self.groups)
    }
}

impl<'a> Row<'a, GroupNormGradient> {
    /// The weights that the norm had, one of each channel.
    pub fn weight(self, weights: impl Into<Shaped<Floats<'a>>>) -> Self {
        let weights = Some(weights.into());
        Self { weights, ..self }
    }
}

/// `Σ dy` and `Σ dy · x̂` of each channel of each sample: a row is one, as of as many groups as channels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChannelSums {
    channels: u64,
}

/// Those sums.
pub(crate) struct KnownSums(Vec<[f32; 4]>);

impl From<Vec<[f32; 4]>> for KnownSums {
    fn from(sums: Vec<[f32; 4]>) -> Self {
        Self(sums)
    }
}

impl Knowledge for KnownSums {
    const ASKED: [bool; 4] = [true, true, false, false];
    const ARE_SUMS: bool = true;
}

impl Operation for ChannelSums {
    type Op = rowwise::NormGradient;
    type Known = KnownSums;
    const NAME: &'static str = "group_norm_channel_gradients";

    fn op(self) -> rowwise::NormGradient {
        GRADIENT
    }
    fn groups(self) -> Option<u64> {
        Some(self.channels)
    }
    fn maps(self) -> bool {
        false
    }
}

impl GroupNormChannels<'_> {
    /// Sums them on the CPU.
    ///
    /// # Errors
    ///
    /// As [`group_norm_gradient`], on the CPU.
    pub fn on_cpu<'v, V>(self, values: V) -> Result<ColumnGradients, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement,
    {
        let view = values.view();
        let layout = view.its_layout()?;
        self.sums(&layout, |row| row.on_cpu::<_, f32>(view))
    }

    /// With the sums of each channel of each sample, as they are had.
    pub(crate) fn sums(
        self,
        layout: &Layout,
        of: impl FnOnce(Row<'_, ChannelSums>) -> Result<Mapped<f32, KnownSums>, Error>,
    ) -> Result<ColumnGradients, Error> {
        Channels::of(ChannelSums::NAME, self.groups, 1, layout)?;
        let (samples, channels) = (layout.shape()[0], layout.shape()[1]);
        let rows = samples.saturating_mul(self.groups);
        let MeanAndDeviation {
            mean,
            reciprocal_deviation,
        } = self.known;
        for known in [mean, reciprocal_deviation] {
            check_known(known, rows)?;
        }
        if channels == 0 {
            return Ok(ColumnGradients::of(&[]));
        }
        // What is known of a group is known of each of its channels.
        let of_group = (channels / self.groups) as usize;
        let of_each = |known: &[f32]| -> Vec<f32> {
            let each = known.iter().flat_map(|known| std::iter::repeat_n(*known, of_group));
            each.collect()
        };
        let known = [of_each(mean), of_each(reciprocal_deviation)];
        let KnownSums(sums) = of(Row {
            axis: 1,
            other: Some((Second::Nothing, self.gradients)),
            given: Some([Some(&known[0]), Some(&known[1])]),
            ..Row::new(ChannelSums { channels })
        })?
        .known;
        let samples = Layout::c_order(&[samples, channels])?;
        let over_samples = |i: usize| {
            let sums: Vec<f32> = sums.iter().map(|sums| sums[i]).collect();
            Ok::<_, Error>(cpu::reduce_axes(Sum, &sums, &samples, &Axes::of(&[0]))?.answers)
        };
        Ok(ColumnGradients {
            bias: over_samples(0)?,
            weight: over_samples(1)?,
        })
    }
}
