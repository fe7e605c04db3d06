//! Channels: rows that are groups of them, and weights that a channel's elements share.

use warpfold_kernels::stages::columns::Shares;

use crate::{
    Error, RowFault,
    layout::{Axes, Layout},
};

/// The channels of an array, axis 1, in groups: a row is the channels of a group of one sample, with all their elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channels {
    groups: u64,
    /// Channels of the array.
    count: u64,
    /// Elements of a channel of one sample.
    span: u64,
    /// Axes of the array.
    axes: usize,
}

impl Channels {
    /// Those of an array, if they are so many groups of equally many.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] of no groups and of an axis that is not 1; [`RowFault::NoChannels`]; [`RowFault::Groups`].
    pub(crate) fn of(op: &'static str, groups: u64, axis: i64, layout: &Layout) -> Result<Self, Error> {
        let parameter = |name, value: f64, must| Err(Error::Parameter { op, name, value, must });
        if groups == 0 {
            return parameter("the number of groups", 0.0, "at least 1");
        }
        if axis != 1 {
            return parameter("the axis", axis as f64, "1, that of channels");
        }
        let axes = layout.shape().len();
        let [_, count, spatial @ ..] = layout.shape() else {
            return Err(Error::Row(RowFault::NoChannels { axes }));
        };
        if !count.is_multiple_of(groups) {
            let channels = *count;
            return Err(Error::Row(RowFault::Groups { channels, groups }));
        }
        Ok(Self {
            groups,
            count: *count,
            span: spatial.iter().product(),
            axes,
        })
    }

    /// An array of that shape, with an axis of groups before that of a group's channels.
    pub(crate) fn split(&self, layout: &Layout) -> Result<Layout, Error> {
        layout.split(1, self.groups)
    }

    /// The axes of that which a row lies along.
    pub(crate) fn axes(&self) -> Axes {
        let axes: Vec<i64> = (2..=self.axes as i64).collect();
        Axes::of(&axes)
    }

    /// Which weights are whose.
    pub(crate) fn shares(&self) -> Shares {
        Shares::of(self.groups, self.span)
    }

    /// That there is one for each channel.
    pub(crate) fn check(&self, name: &'static str, got: u64) -> Result<(), Error> {
        if got == self.count {
            return Ok(());
        }
        let channels = self.count;
        Err(Error::Row(RowFault::Channels { name, channels, got }))
    }
}
