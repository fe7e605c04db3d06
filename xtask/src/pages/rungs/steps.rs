//! The steps of a launch, from its events: what threads do at the same place of the program is one step.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    panic::Location,
};

use warpfold_emulator::{Did, Event, Thread};
use warpfold_kernels::tree::LANES;

/// What is done in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// So many words of global memory are read at once.
    Load { words: usize },
    /// A word is read again and again, until it is what is waited for.
    Poll,
    /// A word of global memory is written.
    Store,
    /// A word of global memory is changed, by one thread after the other.
    Atomic,
    /// A word of shared memory is read or written.
    Shared,
    /// Lanes trade words with those whose numbers differ in the bits of `reach`.
    Shuffle { reach: u32 },
    /// All threads of a block wait for each other.
    Barrier,
}

/// A step: of an atomic, what one thread does for each word.
#[derive(Clone, Debug)]
pub struct PictureStep {
    pub kind: Kind,
    /// The buffer in global memory, where there is one.
    pub buffer: &'static str,
    /// Who works, and at which word.
    pub works: BTreeMap<Thread, usize>,
    /// All whose turns these steps are.
    pub all: BTreeSet<Thread>,
    /// Steps of one number are turns at one place of the program.
    place: usize,
}

/// A place of the program, as a thread comes to it: the barriers before it, the line, how often since the barrier.
type Place = (usize, &'static Location<'static>, usize);

/// What a thread does at a place, and when: the number of the event.
struct Doing {
    place: Place,
    kind: Kind,
    buffer: &'static str,
    word: usize,
    when: usize,
}

/// What an event is: kind, buffer and word.
fn kind(event: &Event) -> Option<(Kind, &'static str, usize)> {
    let lane = event.who.thread % LANES;
    Some(match event.did {
        Did::Load { buffer, at, count, .. } => (Kind::Load { words: count }, buffer, at),
        Did::Store { buffer, at, .. } => (Kind::Store, buffer, at),
        Did::Atomic { buffer, at, .. } => (Kind::Atomic, buffer, at),
        Did::LoadShared { at, .. } | Did::StoreShared { at, .. } => (Kind::Shared, "", at as usize),
        Did::Shuffle { from, .. } => (Kind::Shuffle { reach: from ^ lane }, "", from as usize),
        Did::Vote => (Kind::Shuffle { reach: 0 }, "", 0),
        Did::Barrier | Did::WarpBarrier => (Kind::Barrier, "", 0),
        Did::Mark { .. } => return None,
    })
}

/// What each thread does, one after the other.
fn of_threads(events: &[Event]) -> BTreeMap<Thread, Vec<Doing>> {
    let mut threads: BTreeMap<Thread, Vec<Doing>> = BTreeMap::new();
    for (when, event) in events.iter().enumerate() {
        let Some((kind, buffer, word)) = kind(event) else {
            continue;
        };
        let doings = threads.entry(event.who).or_default();
        if let (Kind::Load { .. }, Some(last)) = (kind, doings.last_mut())
            && (last.place.1, last.buffer, last.word) == (event.line, buffer, word)
        {
            last.kind = Kind::Poll;
            continue;
        }
        let count = |is: &dyn Fn(&Doing) -> bool| doings.iter().filter(|doing| is(doing)).count();
        let barriers = count(&|doing| doing.kind == Kind::Barrier);
        let turn = count(&|doing| (doing.place.0, doing.place.1) == (barriers, event.line));
        let place = (barriers, event.line, turn);
        doings.push(Doing {
            place,
            kind,
            buffer,
            word,
            when,
        });
    }
    threads
}

/// The places of all threads in an order that is each thread's own.
fn places(threads: &BTreeMap<Thread, Vec<Doing>>) -> Vec<Place> {
    let mut places: Vec<Place> = vec![];
    for doings in threads.values() {
        let mut next = 0;
        for Doing { place, .. } in doings {
            if let Some(found) = places.iter().position(|other| other == place) {
                next = found + 1;
            } else {
                places.insert(next, *place);
                next += 1;
            }
        }
    }
    // Two threads may come to two places in opposite orders: no list has both.
    let at = |doing: &Doing| places.iter().position(|place| *place == doing.place);
    debug_assert!(threads.values().all(|doings| doings.is_sorted_by_key(at)));
    places
}

/// The steps of one launch.
pub fn of(events: &[Event]) -> Vec<PictureStep> {
    let threads = of_threads(events);
    let mut steps = vec![];
    for (number, place) in places(&threads).iter().enumerate() {
        let mut doings: Vec<(Thread, &Doing)> = vec![];
        for (who, theirs) in &threads {
            doings.extend(
                theirs
                    .iter()
                    .find(|doing| doing.place == *place)
                    .map(|doing| (*who, doing)),
            );
        }
        doings.sort_by_key(|(_, doing)| doing.when);
        let (_, first) = doings[0];
        let polled = doings.iter().any(|(_, doing)| doing.kind == Kind::Poll);
        let kind = if polled { Kind::Poll } else { first.kind };
        let all: BTreeSet<Thread> = doings.iter().map(|(who, _)| *who).collect();
        // Atomics take turns at a word, in the order in which they came; everything else is done at once.
        let mut turns: Vec<BTreeMap<Thread, usize>> = vec![];
        for (who, doing) in &doings {
            let is_over = |turn: &&BTreeMap<Thread, usize>| turn.values().any(|word| *word == doing.word);
            let turn = match kind {
                Kind::Atomic => turns.iter().take_while(is_over).count(),
                _ => 0,
            };
            turns.resize_with(turns.len().max(turn + 1), BTreeMap::new);
            turns[turn].insert(*who, doing.word);
        }
        for works in turns {
            steps.push(PictureStep {
                kind,
                buffer: first.buffer,
                works,
                all: all.clone(),
                place: number,
            });
        }
    }
    steps
}

/// Steps that have one label: turns of one place, rounds of shuffles, and accesses of the same threads to one memory. Where the distance from load to load
/// changes, a new turn of a loop begins.
pub fn runs(steps: &[PictureStep]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = vec![];
    for (i, step) in steps.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if continues(&steps[run.clone()], step) => run.end = i + 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}

fn continues(run: &[PictureStep], step: &PictureStep) -> bool {
    let [.., last] = run else { return false };
    let same_threads = last.works.keys().eq(step.works.keys());
    let same = (last.kind, last.buffer) == (step.kind, step.buffer) && same_threads;
    match (last.kind, step.kind) {
        (_, Kind::Atomic) => last.place == step.place,
        (_, Kind::Shared) => same,
        (Kind::Shuffle { .. }, Kind::Shuffle { .. }) => same_threads,
        (_, Kind::Load { .. }) => {
            let word = |step: &PictureStep| step.works.values().next().copied().unwrap_or_default();
            let apart = |a: &PictureStep, b: &PictureStep| word(b).wrapping_sub(word(a));
            same && match run {
                [.., before, last] => apart(before, last) == apart(last, step),
                _ => true,
            }
        }
        _ => false,
    }
}

/// The lanes of a warp that are in a set.
pub fn lanes(of: impl Iterator<Item = Thread>, block: u32, warp: u32) -> u32 {
    of.filter(|who| who.block == block && who.thread / LANES == warp)
        .fold(0, |lanes, who| lanes | 1 << (who.thread % LANES))
}

impl PictureStep {
    /// The lanes of a warp that work.
    pub fn working(&self, block: u32, warp: u32) -> u32 {
        lanes(self.works.keys().copied(), block, warp)
    }
}
