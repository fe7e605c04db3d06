use std::{collections::BTreeSet, panic::Location};

use warpfold_emulator::{Did, Thread};

use super::{
    steps::{Kind, of, runs},
    *,
};

/// A line of a kernel that is none.
#[track_caller]
fn line() -> &'static Location<'static> {
    Location::caller()
}

/// What a thread does at a line.
fn event(thread: u32, line: &'static Location<'static>, did: Did) -> Event {
    let who = Thread { block: 0, thread };
    Event { who, line, did }
}

fn load(at: usize) -> Did {
    let (buffer, words, count) = ("work", [0; 4], 1);
    Did::Load {
        buffer,
        at,
        words,
        count,
    }
}

fn store() -> Did {
    let (buffer, at, word) = ("work", 0, 0);
    Did::Store { buffer, at, word }
}

fn atomic(old: u32) -> Did {
    let (buffer, at, new) = ("out", 0, old + 1);
    Did::Atomic { buffer, at, old, new }
}

/// Who works in each step.
fn works(steps: &[PictureStep]) -> Vec<Vec<u32>> {
    let who = |step: &PictureStep| step.works.keys().map(|who| who.thread).collect();
    steps.iter().map(who).collect()
}

#[test]
fn what_threads_do_at_one_place_is_one_step() {
    let (loads, stores, waits) = (line(), line(), line());
    // Thread 1 comes first everywhere; thread 0 loads twice, and again after the barrier.
    let steps = of(&[
        event(1, loads, load(1)),
        event(1, waits, Did::Barrier),
        event(0, loads, load(0)),
        event(0, loads, load(2)),
        event(0, stores, store()),
        event(0, waits, Did::Barrier),
        event(1, stores, store()),
        event(0, loads, load(4)),
        event(0, stores, store()),
    ]);
    assert_eq!(
        works(&steps),
        [vec![0, 1], vec![0], vec![0], vec![0, 1], vec![0], vec![0, 1]]
    );
    let kinds: Vec<Kind> = steps.iter().map(|step| step.kind).collect();
    let load = Kind::Load { words: 1 };
    assert_eq!(kinds, [load, load, Kind::Store, Kind::Barrier, load, Kind::Store]);
}

#[test]
fn atomics_of_a_word_take_turns_and_a_word_that_is_asked_for_again_is_polled() {
    let (adds, asks) = (line(), line());
    let steps = of(&[
        event(2, adds, atomic(0)),
        event(2, asks, load(0)),
        event(0, adds, atomic(1)),
        event(2, asks, load(0)),
        event(1, adds, atomic(2)),
    ]);
    assert_eq!(works(&steps), [vec![2], vec![0], vec![1], vec![2]]);
    assert_eq!(steps[3].kind, Kind::Poll);
    assert_eq!(runs(&steps), [0..3, 3..4]);
}

#[test]
fn a_turn_of_a_loop_is_a_run_of_loads() {
    let loads = line();
    let steps = of(&[0, 8, 16, 64, 72, 80].map(|at| event(0, loads, load(at))));
    assert_eq!(runs(&steps), [0..3, 3..6]);
}

/// The launches of a rung, as they are drawn.
fn launches(name: &str) -> Vec<Launched> {
    run(SMALL.iter().find(|(rung, ..)| *rung == name).unwrap()).unwrap().1
}

fn part_warps(name: &str) -> usize {
    launches(name)[0].steps.iter().map(part_warps_of).sum()
}

/// Warps of which some lanes have nothing to do in a step.
fn part_warps_of(step: &PictureStep) -> usize {
    let warps: BTreeSet<u32> = step.all.iter().map(|who| who.thread / LANES).collect();
    let is_part = |warp: &&u32| step.working(0, **warp) != u32::MAX;
    warps.iter().filter(is_part).count()
}

#[test]
fn interleaved_has_more_part_warps_than_prefix() {
    // Two loads and a store in each of seven steps of the tree; then a load and a store. Interleaved, both warps are parts from the second
    // step on, and one at last.
    assert_eq!(part_warps("interleaved"), 3 * (2 * 5 + 1) + 2);
    assert_eq!(part_warps("prefix"), 3 * 5 + 2);
}

#[test]
fn steps_are_those_that_rungs_are_named_for() {
    let many = |name: &str, is: fn(Kind) -> bool| {
        let of = |launched: &Launched| launched.steps.iter().filter(|step| is(step.kind)).count();
        launches(name).iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(many("atomic", |kind| kind == Kind::Atomic), [64]);
    assert_eq!(many("segmented", |kind| kind == Kind::Atomic), [4]);
    assert_eq!(many("shuffled", |kind| matches!(kind, Kind::Shuffle { .. })), [10]);
    assert_eq!(many("wide", |kind| kind == Kind::Load { words: 4 }), [16]);
    assert_eq!(many("two-kernels", |kind| kind == Kind::Atomic), [0, 0]);
    assert_eq!(many("grid-barrier", |kind| kind == Kind::Poll), [1]);
}

#[test]
fn the_last_ticket_is_of_block_0_and_so_is_the_answer() {
    let launches = launches("last-block");
    let steps = &launches[0].steps;
    let block = |step: &PictureStep| step.works.keys().next().unwrap().block;
    let tickets = steps.iter().filter(|step| step.kind == Kind::Atomic).map(block);
    // As the book says.
    assert_eq!(tickets.collect::<Vec<_>>(), [2, 1, 0]);
    assert_eq!(block(&steps[steps.len() - 1]), 0);
}

#[test]
fn there_is_a_picture_of_each_rung_and_the_book_shows_it() {
    let book = include_str!("../../../../docs/book/rungs.md");
    for ((name, ..), rung) in SMALL.iter().zip(&SUMS) {
        assert_eq!(*name, rung.name);
        let picture = format!("](../pictures/rung-{}.svg)", rung.name);
        assert!(book.contains(&picture), "{picture}");
    }
}
