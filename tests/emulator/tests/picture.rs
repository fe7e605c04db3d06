//! Folds as pictures: an operator that is watched does what it does otherwise, and steps follow from each other.

use std::collections::BTreeMap;

use warpfold_emulator::{
    picture::{Change, Held, Picture, Place, Stage, Step, WARPS, small},
    reduce_small,
};
use warpfold_kernels::{
    monoids::{Arg, LogSumExp, MeanVariance, Monoid, Sum, Words},
    tree::LANES,
};

/// Four leaves, the last of which has 25 vectors.
const LEN: usize = 3172;

fn values(len: usize) -> Vec<f32> {
    // 3181 is prime, so no value comes twice.
    (0..len).map(|i| (i * 1103 % 3181) as f32 / 100.0 - 15.9).collect()
}

fn words<W: Words>(value: W) -> Vec<u32> {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

/// Runs a test for each of the four operators.
macro_rules! for_each_operator {
    ($check:ident) => {
        $check(Sum);
        $check(Arg::LARGEST);
        $check(MeanVariance { correction: 1.0 });
        $check(LogSumExp);
    };
}

#[test]
fn a_watched_operator_takes_the_same_steps_to_the_same_bits() {
    fn check<M: Monoid<f32>>(op: M) {
        for len in [1, 100, 1024, 2048, 2050, LEN, 4096] {
            let values = values(len);
            for seed in 0..4 {
                let watched = small(op, &values, seed).unwrap().folded;
                let plain = reduce_small(op, &values, 0, WARPS * LANES, seed).unwrap();
                assert_eq!(words(watched.answer), words(plain.answer), "{len} {seed}");
                assert_eq!(words(watched.state), words(plain.state), "{len} {seed}");
                // Lanes were switched to in the same order: the kernel took the same way.
                assert_eq!(watched.run, plain.run, "{len} {seed}");
            }
        }
    }
    for_each_operator!(check);
}

fn lanes<S>(step: &Step<S>) -> impl Iterator<Item = &Change<S>> {
    step.changes
        .iter()
        .filter(|change| matches!(change.place, Place::Lane(_)))
}

#[test]
fn every_step_names_places_that_exist() {
    fn check<M: Monoid<f32>>(op: M) {
        let Picture { blocks, steps, .. } = small(op, &values(LEN), 1).unwrap();
        assert_eq!(blocks, 2);
        let exists = |place: &Place| match *place {
            Place::Lane(who) => who.block < blocks && who.thread < WARPS * LANES,
            Place::Shared { block, slot } => block < blocks && slot < WARPS,
            Place::Slot(slot) => slot < blocks,
            Place::Tickets | Place::Answer => true,
        };
        for Step { stage, changes } in &steps {
            assert!(!changes.is_empty(), "{stage:?}");
            for Change { place, from, .. } in changes {
                assert!(
                    exists(place) && from.iter().all(exists),
                    "{stage:?}: {place:?} {from:?}"
                );
            }
        }
        for stage in [Stage::Load, Stage::Columns, Stage::Lane, Stage::Barrier] {
            let step = steps.iter().find(|step| step.stage == stage).unwrap();
            assert_eq!(lanes(step).count(), 128, "{stage:?}");
        }
    }
    for_each_operator!(check);
}

#[test]
fn a_state_is_what_its_sources_held_combined() {
    fn check<M: Monoid<f32>>(op: M) {
        for seed in 0..4 {
            let picture = small(op, &values(LEN), seed).unwrap();
            let mut board: BTreeMap<Place, Held<M::State>> = BTreeMap::new();
            for Step { stage, changes } in &picture.steps {
                let before = board.clone();
                for Change { place, held, from } in changes {
                    if let (Held::State(state), [left, right]) = (held, &from[..]) {
                        let (Held::State(left), Held::State(right)) = (&before[left], &before[right]) else {
                            panic!("{stage:?}: {place:?} is of something else than states");
                        };
                        assert_eq!(words(*state), words(op.combine(*left, *right)), "{stage:?}: {place:?}");
                    } else if let (Held::State(state), [source]) = (held, &from[..]) {
                        match &before[source] {
                            Held::State(source) => assert_eq!(words(*state), words(*source), "{stage:?}: {place:?}"),
                            Held::Columns(columns) => {
                                let [a, b, c, d] = columns[..] else {
                                    panic!("{} columns", columns.len())
                                };
                                let all = op.combine(op.combine(a, b), op.combine(c, d));
                                assert_eq!(words(*state), words(all), "{stage:?}: {place:?}");
                            }
                            _ => panic!("{stage:?}: {place:?} is of something else than states"),
                        }
                    }
                    if !matches!(held, Held::Waits) {
                        board.insert(*place, held.clone());
                    }
                }
            }
            let Some(Held::State(last)) = board.get(&Place::Answer) else {
                panic!("no answer");
            };
            assert_eq!(words(*last), words(picture.folded.state));
            let answer = op.finish(*last, LEN as u64);
            assert_eq!(words(answer), words(picture.folded.answer));
        }
    }
    for_each_operator!(check);
}

#[test]
fn lanes_load_each_element_once() {
    for len in [1, 100, 1023, 2050, LEN, 4096] {
        let picture = small(Sum, &values(len), 3).unwrap();
        let mut loads = vec![0; len];
        for change in &picture.steps[0].changes {
            let Held::Elements(vectors) = &change.held else {
                panic!("lanes load first");
            };
            // Eight vectors at most, in which no lane meets another.
            assert!(
                vectors.len() <= 8 && vectors.iter().all(|(at, count)| at % 4 + count <= 4),
                "{len}"
            );
            for &(at, count) in vectors {
                loads[at..at + count].iter_mut().for_each(|loads| *loads += 1);
            }
        }
        assert!(loads.iter().all(|loads| *loads == 1), "{len}");
    }
}

#[test]
fn the_sum_takes_these_steps() {
    let picture = small(Sum, &values(LEN), 1).unwrap();
    let stages: Vec<Stage> = picture.steps.iter().map(|step| step.stage).collect();
    let shuffles = [1, 2, 4, 8, 16].map(|reach| Stage::Shuffle { reach });
    let mut expected = vec![Stage::Load, Stage::Columns, Stage::Lane];
    expected.extend(shuffles);
    expected.extend([Stage::Share, Stage::Barrier, Stage::Block, Stage::Slot]);
    expected.extend([0, 1].map(|number| Stage::Ticket { number }));
    expected.extend([Stage::Gather, Stage::Last { round: 0 }, Stage::Answer]);
    assert_eq!(stages, expected);
}
