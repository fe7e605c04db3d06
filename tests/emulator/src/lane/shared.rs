//! Shared memory: exchanges of words, dynamic memory, copies to it.

use super::{Context, Lane};
use crate::block::Line;

impl Lane<'_> {
    /// Does what was begun: as late as may be, so that who does not wait finds nothing there.
    pub(super) fn copy_all(self) {
        let Context { machine, place, .. } = self.context;
        for (at, from, line) in self.context.copies.take() {
            let words = self.unless_fault(machine.load_input_vector(*place, from, line));
            self.record_load(from, &words, line);
            self.write_dynamic(at, words, line);
        }
    }

    pub(super) fn read_dynamic(self, at: u32, line: Line) -> [u32; 4] {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        [0, 1, 2, 3].map(|i| {
            let loaded = machine.state.borrow_mut().load_dynamic(*place, at + i, line);
            self.unless_fault(loaded)
        })
    }

    pub(super) fn write_dynamic(self, at: u32, words: [u32; 4], line: Line) {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        for (word, at) in words.into_iter().zip(at..) {
            let stored = machine.state.borrow_mut().store_dynamic(*place, at, word, line);
            self.unless_fault(stored);
        }
    }

    /// Puts one word or two in place of what was there, if any, at once, and gives that.
    pub(super) fn atomic_shared(self, at: u32, words: u32, new: Option<u64>, line: Line) -> u64 {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        let result = machine.state.borrow_mut().atomic_shared(*place, at, words, new, line);
        self.unless_fault(result)
    }
}
