//! Clusters of blocks: planted bugs that the emulator must report, each beside a twin that it must let pass.

use warpfold_emulator::{Fault, Lane, Launch, Memory, Run, launch};
use warpfold_kernels::simt::Simt;

/// Each block sends its number to all blocks of its cluster, and reads what the others sent: once it has received it, or before.
fn send(seed: u64, cluster: u32, waits: bool, kernel_ends_early: bool) -> Result<Run, Fault> {
    let config = Launch::new(2 * cluster, 32, seed).cluster(cluster);
    launch(&config, &mut Memory::new(), |lane: Lane<'_>| {
        let rank = lane.block() % cluster;
        lane.cluster_begin(cluster);
        lane.cluster_wait(cluster);
        if kernel_ends_early && lane.thread() == 7 && rank == 0 {
            return;
        }
        if lane.lane() < cluster {
            lane.cluster_send(lane.lane(), cluster, rank, lane.block());
        }
        if waits {
            lane.cluster_receive(cluster);
        }
        let first = lane.block() / cluster * cluster;
        for other in 0..cluster {
            assert_eq!(lane.load_shared(other), first + other);
        }
        if !waits {
            lane.cluster_receive(cluster);
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
    let run = launch(&config, &mut Memory::new(), |lane| lane.cluster_send(2, 2, 0, 1));
    assert!(matches!(run, Err(Fault::SharedOutOfBounds { .. })), "{run:?}");
    let run = launch(&Launch::new(3, 32, 1).cluster(2), &mut Memory::new(), |_| {});
    assert!(matches!(run, Err(Fault::BadLaunch { .. })), "{run:?}");
}
