//! What a lane did with memory, put among the launch's events.

use super::{Context, Lane};
use crate::{block::Line, trace::Did};

impl Lane<'_> {
    pub(super) fn record_atomic(self, address: usize, old: u32, new: u32, line: Line) {
        let Context { machine, place, .. } = self.context;
        machine.record(*place, line, || {
            let (buffer, at) = machine.word_at(address);
            Did::Atomic { buffer, at, old, new }
        });
    }

    pub(super) fn record_load(self, address: usize, loaded: &[u32], line: Line) {
        let Context { machine, place, .. } = self.context;
        machine.record(*place, line, || {
            let (buffer, at) = machine.word_at(address);
            let mut words = [0; 4];
            words[..loaded.len()].copy_from_slice(loaded);
            Did::Load {
                buffer,
                at,
                words,
                count: loaded.len(),
            }
        });
    }

    pub(super) fn record_store(self, address: usize, word: u32, line: Line) {
        let Context { machine, place, .. } = self.context;
        machine.record(*place, line, || {
            let (buffer, at) = machine.word_at(address);
            Did::Store { buffer, at, word }
        });
    }
}
