//! The machine as one thread of a kernel sees it.

mod record;
mod shared;

use std::{
    cell::{Cell, RefCell},
    panic::Location,
};

use corosensei::Yielder;
use warpfold_kernels::simt::Simt;

use crate::{
    block::{Line, Place},
    fault::{Collective, Fault},
    machine::{Fence, Machine},
    trace::Did,
};

/// Input loads in a row that a lane may do before others get their turn: a loop that does nothing else must still run
/// into the step limit.
const LOADS_IN_A_ROW: u32 = 4096;

/// What a lane's coroutine keeps for its handles.
pub(crate) struct Context<'a> {
    pub machine: &'a Machine,
    pub yielder: &'a Yielder<(), ()>,
    pub place: Place,
    pub loads: Cell<u32>,
    /// Copies that it began: where to, where from, and the line.
    pub copies: RefCell<Vec<(u32, usize, Line)>>,
}

/// One thread of the emulated grid.
///
/// Where an operation is no fault, it does what [`Simt`] says; the pointers it takes are only compared with the
/// registered buffers, never followed. A fault ends the launch: the operation does not return.
#[derive(Clone, Copy)]
pub struct Lane<'a> {
    context: &'a Context<'a>,
}

impl<'a> Lane<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        Self { context }
    }

    /// [`Simt::ticket`] that neither acquires nor releases. It exists for litmus tests alone: a kernel that counts
    /// its blocks with it has forgotten the fence.
    ///
    /// # Safety
    ///
    /// As [`Simt::ticket`].
    #[track_caller]
    pub unsafe fn ticket_relaxed(self, counter: *mut u32, last: u32) -> u32 {
        self.draw(counter, last, Fence::None, Location::caller())
    }

    /// Puts a number of the caller's among the launch's [events](crate::Event), where they are kept. It is none of the machine's
    /// operations, and no other lane runs before the next of those.
    #[track_caller]
    pub fn mark(self, number: usize) {
        let Context { machine, place, .. } = self.context;
        machine.record(*place, Location::caller(), || Did::Mark { number });
    }

    fn draw(self, counter: *mut u32, last: u32, fence: Fence, line: Line) -> u32 {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        let drawn = self.unless_fault(machine.ticket(*place, counter.addr(), last, fence, line));
        let new = if drawn >= last { 0 } else { drawn + 1 };
        self.record_atomic(counter.addr(), drawn, new, line);
        drawn
    }

    fn write(self, address: usize, bytes: usize, word: u32, line: Line) {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        self.unless_fault(machine.store(*place, address, bytes, word, line));
        self.record_store(address, word, line);
    }

    /// Puts what `change` makes of one word or two in their place, at once, and gives what was there.
    fn atomic(self, address: usize, words: usize, line: Line, change: impl Fn(u64) -> u64) -> u64 {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        let old = self.unless_fault(machine.atomic(*place, address, words, line, &change));
        self.record_atomic(address, old as u32, change(old) as u32, line);
        old
    }

    /// What the lanes of a warp do together, each with a word of its own.
    fn together(self, word: u32, call: Collective, line: Line) -> u32 {
        self.together_from(word, 0, call, line)
    }

    /// The same, and each names a lane.
    fn together_from(self, word: u32, from: u32, call: Collective, line: Line) -> u32 {
        let Context { machine, place, .. } = self.context;
        let arrived = machine.state.borrow_mut().collect(*place, (word, from), call, line);
        self.unless_fault(arrived);
        self.let_others_run();
        let taken = machine.state.borrow().collected(*place);
        machine.record(*place, line, || match call {
            Collective::Shuffle { reach } => Did::Shuffle {
                from: place.lane() as u32 ^ reach,
                brought: word,
                taken,
            },
            Collective::ShuffleFrom => Did::Shuffle {
                from,
                brought: word,
                taken,
            },
            Collective::Any | Collective::Ballot => Did::Vote,
            Collective::WarpBarrier => Did::WarpBarrier,
        });
        taken
    }

    fn let_others_run(self) {
        self.context.loads.set(0);
        self.context.yielder.suspend(());
    }

    /// An input load changes nothing that another lane could see, so others need not run before it.
    fn count_load(self) {
        let loads = &self.context.loads;
        loads.set(loads.get() + 1);
        if loads.get() > LOADS_IN_A_ROW {
            self.let_others_run();
        }
    }

    fn unless_fault<T>(self, result: Result<T, Fault>) -> T {
        match result {
            Ok(value) => value,
            Err(fault) => self.stop(fault),
        }
    }

    /// Leaves the kernel for good: the scheduler unwinds a lane that reports a fault.
    #[cold]
    fn stop(self, fault: Fault) -> ! {
        self.context.machine.report(fault);
        loop {
            self.context.yielder.suspend(());
        }
    }
}

impl Simt for Lane<'_> {
    fn thread(self) -> u32 {
        self.context.place.who.thread
    }
    fn threads(self) -> u32 {
        self.context.machine.threads
    }
    fn block(self) -> u32 {
        self.context.place.who.block
    }
    fn blocks(self) -> u32 {
        self.context.machine.blocks
    }

    #[track_caller]
    fn shuffle_xor(self, word: u32, reach: u32) -> u32 {
        self.together(word, Collective::Shuffle { reach }, Location::caller())
    }

    #[track_caller]
    fn shuffle(self, word: u32, from: u32) -> u32 {
        self.together_from(word, from, Collective::ShuffleFrom, Location::caller())
    }

    #[track_caller]
    fn ballot(self, yes: bool) -> u32 {
        self.together(u32::from(yes), Collective::Ballot, Location::caller())
    }

    #[track_caller]
    fn any(self, yes: bool) -> bool {
        self.together(u32::from(yes), Collective::Any, Location::caller()) != 0
    }

    #[track_caller]
    fn warp_barrier(self) {
        self.together(0, Collective::WarpBarrier, Location::caller());
    }

    #[track_caller]
    fn barrier(self) {
        let Context { machine, place, .. } = self.context;
        let arrived = machine.state.borrow_mut().barrier(*place, Location::caller());
        self.unless_fault(arrived);
        self.let_others_run();
        machine.record(*place, Location::caller(), || Did::Barrier);
    }

    const HAS_WORD_MAXIMUM: bool = true;

    const HAS_CLUSTERS: bool = true;

    #[track_caller]
    fn cluster_begin(self, words: u32, several: bool) {
        if self.thread() == 0 {
            self.cluster_expect(0, words);
            if several {
                self.cluster_expect(1, words);
            }
        }
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        machine.state.borrow_mut().cluster_arrive(*place);
    }

    #[track_caller]
    fn cluster_wait(self, _: u32) {
        let Context { machine, place, .. } = self.context;
        loop {
            let passed = machine.state.borrow_mut().cluster_passed(*place, Location::caller());
            if self.unless_fault(passed) {
                return;
            }
            self.let_others_run();
        }
    }

    #[track_caller]
    fn cluster_send(self, round: u32, rank: u32, _: u32, at: u32, word: u32) {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        let stored = machine
            .state
            .borrow_mut()
            .send(*place, (round, rank), (at, word), Location::caller());
        self.unless_fault(stored);
    }

    #[track_caller]
    fn cluster_receive(self, round: u32, _: u32) {
        let Context { machine, place, .. } = self.context;
        while !machine.state.borrow_mut().received(*place, round) {
            self.let_others_run();
        }
    }

    fn cluster_expect(self, round: u32, words: u32) {
        let Context { machine, place, .. } = self.context;
        if self.thread() == 0 {
            let mut state = machine.state.borrow_mut();
            state.clusters.expect(place.who.block, round, words);
        }
    }

    #[track_caller]
    fn store_shared(self, at: u32, word: u32) {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        let stored = machine
            .state
            .borrow_mut()
            .store_shared(*place, at, word, Location::caller());
        self.unless_fault(stored);
        machine.record(*place, Location::caller(), || Did::StoreShared { at, word });
    }

    #[track_caller]
    fn load_shared(self, at: u32) -> u32 {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        let loaded = machine.state.borrow_mut().load_shared(*place, at, Location::caller());
        let word = self.unless_fault(loaded);
        machine.record(*place, Location::caller(), || Did::LoadShared { at, word });
        word
    }

    #[track_caller]
    unsafe fn copy_input_vector(self, at: u32, from: *const u32) {
        self.context
            .copies
            .borrow_mut()
            .push((at, from.addr(), Location::caller()));
    }

    fn wait_for_copies(self) {
        self.copy_all();
    }

    #[track_caller]
    unsafe fn load_dynamic_vector(self, at: u32) -> [u32; 4] {
        self.read_dynamic(at, Location::caller())
    }

    #[track_caller]
    unsafe fn store_dynamic_vector(self, at: u32, words: [u32; 4]) {
        self.write_dynamic(at, words, Location::caller());
    }

    #[track_caller]
    unsafe fn load_input_vector(self, from: *const u32) -> [u32; 4] {
        self.count_load();
        let Context { machine, place, .. } = self.context;
        let words = self.unless_fault(machine.load_input_vector(*place, from.addr(), Location::caller()));
        self.record_load(from.addr(), &words, Location::caller());
        words
    }

    #[track_caller]
    unsafe fn load_shared_input_vector(self, from: *const u32) -> [u32; 4] {
        // SAFETY: passed on to the caller.
        unsafe { self.load_input_vector(from) }
    }

    #[track_caller]
    unsafe fn load_shared_input_pair(self, from: *const u32) -> [u32; 2] {
        self.count_load();
        let Context { machine, place, .. } = self.context;
        let words = self.unless_fault(machine.load_input_pair(*place, from.addr(), Location::caller()));
        self.record_load(from.addr(), &words, Location::caller());
        words
    }

    #[track_caller]
    unsafe fn load_input_vector_if(self, wanted: bool, from: *const u32, otherwise: [u32; 4]) -> [u32; 4] {
        if wanted {
            // SAFETY: passed on to the caller.
            unsafe { self.load_input_vector(from) }
        } else {
            otherwise
        }
    }

    #[track_caller]
    unsafe fn load_input_if(self, wanted: bool, from: *const u32, otherwise: u32) -> u32 {
        if wanted {
            // SAFETY: passed on to the caller.
            unsafe { self.load_input(from) }
        } else {
            otherwise
        }
    }

    #[track_caller]
    unsafe fn load_input_words(self, count: u32, from: *const u32, otherwise: [u32; 4]) -> [u32; 4] {
        let mut words = otherwise;
        for (i, word) in words.iter_mut().enumerate().take(count as usize) {
            // SAFETY: passed on to the caller.
            *word = unsafe { self.load_input(from.wrapping_add(i)) };
        }
        words
    }

    #[track_caller]
    unsafe fn load_input(self, from: *const u32) -> u32 {
        self.count_load();
        let Context { machine, place, .. } = self.context;
        let word = self.unless_fault(machine.load_input(*place, from.addr(), Location::caller()));
        self.record_load(from.addr(), &[word], Location::caller());
        word
    }

    #[track_caller]
    unsafe fn load_input_byte(self, from: *const u8) -> u32 {
        self.count_load();
        let Context { machine, place, .. } = self.context;
        let word = self.unless_fault(machine.load_input_byte(*place, from.addr(), Location::caller()));
        self.record_load(from.addr(), &[word], Location::caller());
        word
    }

    #[track_caller]
    unsafe fn load_input_short(self, from: *const u16) -> u32 {
        self.count_load();
        let Context { machine, place, .. } = self.context;
        let word = self.unless_fault(machine.load_input_short(*place, from.addr(), Location::caller()));
        self.record_load(from.addr(), &[word], Location::caller());
        word
    }

    #[track_caller]
    unsafe fn load(self, from: *const u32) -> u32 {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        let word = self.unless_fault(machine.load(*place, from.addr(), Location::caller()));
        self.record_load(from.addr(), &[word], Location::caller());
        word
    }

    /// Of inputs alone: no kernel reads two bytes that another thread has written.
    #[track_caller]
    unsafe fn load_short(self, from: *const u16) -> u32 {
        let Context { machine, place, .. } = self.context;
        let word = self.unless_fault(machine.load_input_short(*place, from.addr(), Location::caller()));
        self.record_load(from.addr(), &[word], Location::caller());
        word
    }

    #[track_caller]
    unsafe fn store(self, to: *mut u32, word: u32) {
        self.write(to.addr(), 4, word, Location::caller());
    }

    #[track_caller]
    unsafe fn store_vector(self, to: *mut u32, words: [u32; 4]) {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        self.unless_fault(machine.store_words(*place, to.addr(), &words, Location::caller()));
    }

    #[track_caller]
    unsafe fn store_pair(self, to: *mut u32, words: [u32; 2]) {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        self.unless_fault(machine.store_words(*place, to.addr(), &words, Location::caller()));
    }

    #[track_caller]
    unsafe fn store_short(self, to: *mut u16, word: u32) {
        self.write(to.addr(), 2, word, Location::caller());
    }

    #[track_caller]
    unsafe fn store_byte(self, to: *mut u8, word: u32) {
        self.write(to.addr(), 1, word, Location::caller());
    }

    #[track_caller]
    unsafe fn ticket(self, counter: *mut u32, last: u32) -> u32 {
        self.draw(counter, last, Fence::AcquireRelease, Location::caller())
    }
    #[track_caller]
    unsafe fn load_relaxed(self, from: *const u32) -> u32 {
        self.atomic(from.addr(), 1, Location::caller(), |word| word) as u32
    }

    #[track_caller]
    unsafe fn load_relaxed_u64(self, from: *const u64) -> u64 {
        self.atomic(from.addr(), 2, Location::caller(), |words| words)
    }

    #[track_caller]
    unsafe fn compare_exchange(self, at: *mut u32, old: u32, new: u32) -> u32 {
        let exchange = |word| if word == u64::from(old) { u64::from(new) } else { word };
        self.atomic(at.addr(), 1, Location::caller(), exchange) as u32
    }

    #[track_caller]
    unsafe fn compare_exchange_u64(self, at: *mut u64, old: u64, new: u64) -> u64 {
        self.atomic(
            at.addr(),
            2,
            Location::caller(),
            |words| if words == old { new } else { words },
        )
    }

    #[track_caller]
    unsafe fn atomic_add_u64(self, to: *mut u64, addend: u64) {
        self.atomic(to.addr(), 2, Location::caller(), |words| words.wrapping_add(addend));
    }

    #[track_caller]
    unsafe fn atomic_add_f32(self, to: *mut f32, addend: f32) {
        let add = |word: u64| u64::from((f32::from_bits(word as u32) + addend).to_bits());
        self.atomic(to.addr(), 1, Location::caller(), add);
    }

    #[track_caller]
    unsafe fn load_acquire(self, counter: *const u32) -> u32 {
        self.let_others_run();
        let Context { machine, place, .. } = self.context;
        let word = self.unless_fault(machine.load_acquire(*place, counter.addr(), Location::caller()));
        self.record_load(counter.addr(), &[word], Location::caller());
        word
    }

    #[track_caller]
    fn load_shared_relaxed(self, at: u32) -> u32 {
        self.atomic_shared(at, 1, None, Location::caller()) as u32
    }

    #[track_caller]
    fn store_shared_relaxed(self, at: u32, word: u32) {
        self.atomic_shared(at, 1, Some(word.into()), Location::caller());
    }

    #[track_caller]
    fn load_shared_relaxed_u64(self, at: u32) -> u64 {
        self.atomic_shared(at, 2, None, Location::caller())
    }

    #[track_caller]
    fn store_shared_relaxed_u64(self, at: u32, words: u64) {
        self.atomic_shared(at, 2, Some(words), Location::caller());
    }
}
