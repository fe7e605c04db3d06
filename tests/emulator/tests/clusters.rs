//! Clusters of blocks: planted bugs that the emulator must report, each beside a twin that it must let pass.

use warpfold_emulator::{Fault, Lane, Launch, Memory, Run, launch};
use warpfold_kernels::simt::Simt;

/// Each block sends its number to all blocks of its cluster, and reads what the others sent: once it has received it, or before.
fn send(seed: u64, cluster: u32, waits: bool, kernel_ends_early: bool) -> Result<Run, Fault> {
    let config = Launch::new(2 * cluster, 32, seed).cluster(cluster);
    launch(&config, &mut Memory::new(), |lane: Lane<'_>| {
        let rank = lane.block() % cluster;
        if kernel_ends_early && lane.thread() == 7 && rank == 0 {
            return;
        }
        lane.cluster_begin(cluster, false);
        lane.cluster_wait(cluster);
        if lane.lane() < cluster {
            lane.cluster_send(0, lane.lane(), cluster, rank, lane.block());
        }
        if waits {
            lane.cluster_receive(0, cluster);
        }
        let first = lane.block() / cluster * cluster;
        for other in 0..cluster {
            assert_eq!(lane.load_shared(other), first + other);
        }
        if !waits {
            lane.cluster_receive(0, cluster);
        }
    })
}

#[test]
fn what_is_sent_is_read_once_it_is_received() {
    for seed in 0..20 {
        for cluster in [1, 2, 4] {
            send(seed, cluster, true, false).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
        }
    }
}

#[test]
fn what_is_read_before_is_a_race() {
    for seed in 0..20 {
        let run = send(seed, 4, false, false);
        assert!(
            matches!(run, Err(Fault::Race { .. } | Fault::Unwritten { .. })),
            "seed {seed}: {run:?}"
        );
    }
}

#[test]
fn a_thread_that_does_not_arrive_is_named() {
    for seed in 0..20 {
        let run = send(seed, 2, true, true);
        assert!(
            matches!(run, Err(Fault::DivergentBarrier { .. })),
            "seed {seed}: {run:?}"
        );
    }
}

#[test]
fn no_block_writes_to_another_cluster() {
    let config = Launch::new(4, 32, 1).cluster(2);
    let run = launch(&config, &mut Memory::new(), |lane| lane.cluster_send(0, 2, 2, 0, 1));
    assert!(matches!(run, Err(Fault::SharedOutOfBounds { .. })), "{run:?}");
    let run = launch(&Launch::new(3, 32, 1).cluster(2), &mut Memory::new(), |_| {});
    assert!(matches!(run, Err(Fault::BadLaunch { .. })), "{run:?}");
}

/// In each of several rounds all blocks send a number to all of their cluster, and add up what they are sent. `alternates` says whether rounds take turns in where it lies.
fn rounds(seed: u64, alternates: bool) -> Result<Run, Fault> {
    let cluster = 2;
    let config = Launch::new(2 * cluster, 32, seed).cluster(cluster);
    launch(&config, &mut Memory::new(), |lane: Lane<'_>| {
        let rank = lane.block() % cluster;
        lane.cluster_begin(cluster, true);
        lane.cluster_wait(cluster);
        for round in 0..5 {
            let first = if alternates { round % 2 * cluster } else { 0 };
            if lane.lane() < cluster {
                lane.cluster_send(round, lane.lane(), cluster, first + rank, 10 * round + rank);
            }
            lane.cluster_receive(round, cluster);
            for other in 0..cluster {
                assert_eq!(lane.load_shared(first + other), 10 * round + other);
            }
            lane.cluster_expect(round, cluster);
            lane.warp_barrier();
        }
    })
}

#[test]
fn rounds_follow_each_other() {
    for seed in 0..20 {
        rounds(seed, true).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
    }
}

#[test]
fn what_is_sent_over_what_others_still_read_is_a_race() {
    assert!(
        (0..20).any(|seed| matches!(rounds(seed, false), Err(Fault::Race { .. }))),
        "no schedule shows it"
    );
}

/// Each lane copies a vector to dynamic shared memory and reads it, once it has waited, or before.
fn copy(waits: bool) -> Result<Run, Fault> {
    let mut memory = Memory::new();
    let values: Vec<f32> = (0_u8..128).map(f32::from).collect();
    let from: *const u32 = memory.input("values", &values, 0).cast();
    launch(&Launch::new(1, 32, 1), &mut memory, |lane: Lane<'_>| {
        let at = 4 * lane.lane();
        // SAFETY: so many values are there, and so many words.
        unsafe { lane.copy_input_vector(at, from.wrapping_add(at as usize)) };
        if waits {
            lane.wait_for_copies();
        }
        // SAFETY: as above.
        let [first, ..] = unsafe { lane.load_dynamic_vector(at) };
        assert_eq!(f32::from_bits(first), at as f32);
    })
}

#[test]
fn a_copy_is_there_once_it_was_waited_for() {
    copy(true).unwrap_or_else(|fault| panic!("{fault}"));
    let run = copy(false);
    assert!(matches!(run, Err(Fault::Unwritten { .. })), "{run:?}");
}

/// Two blocks that wait for a word of each: of rank 1 only where it `sends`, and of a second round only where that is `expected`.
fn wait_for_words(sends: bool, expected: bool) -> Result<Run, Fault> {
    let config = Launch::new(2, 32, 1).cluster(2).step_limit(20_000);
    launch(&config, &mut Memory::new(), |lane: Lane<'_>| {
        lane.cluster_begin(2, true);
        lane.cluster_wait(2);
        for round in 0..3 {
            if (sends || lane.block() == 0) && lane.lane() < 2 {
                let at = round % 2 * 2 + lane.block();
                lane.cluster_send(round, lane.lane(), 2, at, round);
            }
            lane.cluster_receive(round, 2);
            if expected {
                lane.cluster_expect(round, 2);
            }
            lane.warp_barrier();
        }
    })
}

#[test]
fn who_waits_for_words_that_do_not_come_is_stopped() {
    wait_for_words(true, true).unwrap_or_else(|fault| panic!("{fault}"));
    for (sends, expected) in [(false, true), (true, false)] {
        let run = wait_for_words(sends, expected);
        assert!(
            matches!(run, Err(Fault::StepLimit { .. })),
            "{sends} {expected}: {run:?}"
        );
    }
}
