//! Planted bugs that the emulator must report, each beside a correct twin that it must let pass.

use std::panic::Location;

use warpfold_emulator::{AccessKind, Collective, Elsewhere, Fault, Lane, Launch, Memory, Run, WordName, Words, launch};
use warpfold_kernels::simt::{SHARED_WORDS, Simt};

const SEEDS: u64 = 40;

/// Runs `case` with every seed, each on a memory of its own.
fn all_seeds(case: impl Fn(u64) -> Result<Run, Fault>) -> Vec<Result<Run, Fault>> {
    (0..SEEDS).map(case).collect()
}

/// That every seed reports a fault, and one that `expected` knows.
#[track_caller]
fn always_caught(expected: impl Fn(&Fault) -> bool, case: impl Fn(u64) -> Result<Run, Fault>) {
    for (seed, result) in all_seeds(case).into_iter().enumerate() {
        match result {
            Ok(_) => panic!("seed {seed}: not caught"),
            Err(fault) => assert!(expected(&fault), "seed {seed}: another fault: {fault}"),
        }
    }
}

/// That no seed reports a fault.
#[track_caller]
fn always_passes(case: impl Fn(u64) -> Result<Run, Fault>) {
    for (seed, result) in all_seeds(case).into_iter().enumerate() {
        if let Err(fault) = result {
            panic!("seed {seed}: {fault}");
        }
    }
}

/// A kernel with no global memory.
fn run(blocks: u32, threads: u32, seed: u64, kernel: impl Fn(Lane<'_>)) -> Result<Run, Fault> {
    launch(&Launch::new(blocks, threads, seed), &mut Memory::new(), kernel)
}

fn is_race(fault: &Fault) -> bool {
    matches!(fault, Fault::Race { .. })
}

/// A read before the write is found as a read of nothing, one after it as a race.
fn is_race_or_unwritten(fault: &Fault) -> bool {
    matches!(fault, Fault::Race { .. } | Fault::Unwritten { .. })
}

/// The right thing to do between two parts of a kernel.
fn barrier(lane: Lane<'_>) {
    lane.barrier();
}

/// The right thing to do within a warp.
fn warp_barrier(lane: Lane<'_>) {
    lane.warp_barrier();
}

/// Makes the lanes of a warp wait for each other, and orders nothing.
fn vote(lane: Lane<'_>) {
    lane.any(true);
}

/// The wrong thing.
fn nothing(_: Lane<'_>) {}

// Shared memory and barriers.

/// Every thread writes its word and reads its neighbour's in the next warp.
fn exchange(lane: Lane<'_>, synchronise: impl Fn(Lane<'_>)) {
    let (thread, threads) = (lane.thread(), lane.threads());
    lane.store_shared(thread, 100 + thread);
    synchronise(lane);
    let neighbour = (thread + 32) % threads;
    assert_eq!(lane.load_shared(neighbour), 100 + neighbour);
}

#[test]
fn a_barrier_orders_a_store_and_a_load() {
    always_passes(|seed| run(3, 128, seed, |lane| exchange(lane, barrier)));
}

#[test]
fn a_missing_barrier_is_a_race() {
    always_caught(is_race_or_unwritten, |seed| {
        run(3, 128, seed, |lane| exchange(lane, nothing))
    });
}

#[test]
fn a_shuffle_is_no_barrier() {
    let shuffles = |lane: Lane<'_>| {
        lane.shuffle_xor(0, 1);
    };
    always_caught(is_race_or_unwritten, |seed| {
        run(1, 64, seed, |lane| exchange(lane, shuffles))
    });
    // Not within a warp either.
    let within_warp = |lane: Lane<'_>| {
        lane.store_shared(lane.lane(), 1);
        lane.shuffle_xor(0, 1);
        lane.load_shared(lane.lane() ^ 1);
    };
    always_caught(is_race, |seed| run(1, 32, seed, within_warp));
}

#[test]
fn a_word_written_again_needs_two_barriers() {
    let rounds = |again: fn(Lane<'_>)| {
        move |lane: Lane<'_>| {
            for round in 0..3 {
                if lane.thread() == 0 {
                    lane.store_shared(7, round);
                }
                lane.barrier();
                assert_eq!(lane.load_shared(7), round);
                again(lane);
            }
        }
    };
    always_passes(|seed| run(2, 64, seed, rounds(barrier)));
    always_caught(is_race, |seed| run(2, 64, seed, rounds(nothing)));
}

#[test]
fn two_buffers_in_turns_need_one_barrier_a_round() {
    let rounds = |buffers: u32| {
        move |lane: Lane<'_>| {
            for round in 0..6 {
                let buffer = round % buffers * 32;
                if lane.lane() == 0 {
                    lane.store_shared(buffer + lane.warp(), round);
                }
                lane.barrier();
                if lane.thread() < lane.warps() {
                    assert_eq!(lane.load_shared(buffer + lane.lane()), round);
                }
            }
        }
    };
    always_passes(|seed| run(1, 128, seed, rounds(2)));
    always_caught(is_race, |seed| run(1, 128, seed, rounds(1)));
}

#[test]
fn a_shared_word_nobody_wrote() {
    let kernel = |words: u32| {
        move |lane: Lane<'_>| {
            if lane.thread() < words {
                lane.store_shared(lane.thread(), 0);
            }
            lane.barrier();
            lane.load_shared(lane.thread());
        }
    };
    always_passes(|seed| run(2, 64, seed, kernel(64)));
    always_caught(
        |fault| {
            matches!(
                fault,
                Fault::Unwritten {
                    word: WordName::Shared { at: 63, .. },
                    ..
                }
            )
        },
        |seed| run(2, 64, seed, kernel(63)),
    );
}

#[test]
fn shared_memory_is_the_blocks_own() {
    let other_block = |lane: Lane<'_>| {
        if lane.block() == 0 {
            lane.store_shared(lane.thread(), 1);
        } else {
            lane.load_shared(lane.thread());
        }
    };
    always_caught(
        |fault| matches!(fault, Fault::Unwritten { .. }),
        |seed| run(2, 32, seed, other_block),
    );
    // Nor does a block that takes another's place find its words.
    let resident = |seed| Launch::new(2, 32, seed).resident(1);
    always_caught(
        |fault| matches!(fault, Fault::Unwritten { .. }),
        |seed| launch(&resident(seed), &mut Memory::new(), other_block),
    );
}

#[test]
fn a_shared_index_past_the_end() {
    let at = |at: usize| {
        move |lane: Lane<'_>| {
            if lane.thread() == 40 {
                lane.store_shared(at as u32, 0)
            }
        }
    };
    always_passes(|seed| run(1, 64, seed, at(SHARED_WORDS - 1)));
    always_caught(
        |fault| matches!(fault, Fault::SharedOutOfBounds { by, at } if by.who.thread == 40 && *at as usize == SHARED_WORDS),
        |seed| run(1, 64, seed, at(SHARED_WORDS)),
    );
}

#[test]
fn a_barrier_that_some_threads_leave_out() {
    let up_to = |thread: u32| {
        move |lane: Lane<'_>| {
            if lane.thread() < thread {
                lane.barrier()
            }
        }
    };
    always_passes(|seed| run(2, 128, seed, up_to(128)));
    // A whole warp is missing, and a part of one.
    for missing in [1, 32, 40] {
        always_caught(
            |fault| {
                let Fault::DivergentBarrier {
                    waiting,
                    absent,
                    elsewhere,
                } = fault
                else {
                    return false;
                };
                waiting.who.thread < 128 - missing && absent.thread >= 128 - missing && *elsewhere == Elsewhere::Exited
            },
            |seed| run(2, 128, seed, up_to(128 - missing)),
        );
    }
}

#[test]
fn one_barrier_too_many_in_one_warp() {
    let kernel = |extra: u32| {
        move |lane: Lane<'_>| {
            lane.barrier();
            if lane.warp() < extra {
                lane.barrier();
            }
        }
    };
    always_passes(|seed| run(1, 128, seed, kernel(4)));
    always_caught(
        |fault| matches!(fault, Fault::DivergentBarrier { .. }),
        |seed| run(1, 128, seed, kernel(1)),
    );
}

// Shuffles.

#[test]
fn a_shuffle_gives_the_partners_word() {
    let kernel = |lane: Lane<'_>| {
        for reach in 1..32 {
            assert_eq!(
                lane.shuffle_xor(100 * reach + lane.lane(), reach),
                100 * reach + (lane.lane() ^ reach)
            );
        }
    };
    always_passes(|seed| run(2, 96, seed, kernel));
}

#[test]
fn a_lane_that_exits_before_a_shuffle() {
    let kernel = |lane: Lane<'_>| {
        if lane.thread() != 45 {
            lane.shuffle_xor(0, 1);
        }
    };
    always_caught(
        |fault| {
            let Fault::AbsentLane {
                waiting,
                absent,
                elsewhere,
                ..
            } = fault
            else {
                return false;
            };
            waiting.who.thread / 32 == 1 && absent.thread == 45 && *elsewhere == Elsewhere::Exited
        },
        |seed| run(1, 64, seed, kernel),
    );
    let other_warp = |lane: Lane<'_>| {
        if lane.warp() == 0 {
            lane.shuffle_xor(0, 1);
        }
    };
    always_passes(|seed| run(1, 64, seed, other_warp));
}

#[test]
fn a_lane_at_a_barrier_is_absent_from_a_shuffle() {
    let kernel = |lane: Lane<'_>| {
        if lane.lane() < 16 {
            lane.barrier();
        }
        lane.shuffle_xor(0, 16);
        if lane.lane() >= 16 {
            lane.barrier();
        }
    };
    always_caught(
        |fault| {
            matches!(
                fault,
                Fault::AbsentLane {
                    elsewhere: Elsewhere::Barrier(_),
                    ..
                }
            )
        },
        |seed| run(1, 64, seed, kernel),
    );
}

#[test]
fn lanes_of_one_shuffle_with_two_reaches() {
    let kernel = |lane: Lane<'_>| {
        lane.shuffle_xor(0, 1 + lane.lane() / 31);
    };
    always_caught(
        |fault| matches!(fault, Fault::MixedCollective { .. }),
        |seed| run(1, 32, seed, kernel),
    );
    let by_warp = |lane: Lane<'_>| {
        lane.shuffle_xor(0, 1 + lane.warp());
    };
    always_passes(|seed| run(1, 64, seed, by_warp));
}

#[test]
fn a_vote_counts_every_lane() {
    let kernel = |lane: Lane<'_>| {
        for voter in 0..64 {
            assert_eq!(lane.any(lane.thread() == voter), lane.warp() == voter / 32);
        }
    };
    always_passes(|seed| run(2, 64, seed, kernel));
    let exits = |lane: Lane<'_>| {
        if lane.lane() != 7 {
            lane.any(true);
        }
    };
    let absent = |fault: &Fault| {
        matches!(
            fault,
            Fault::AbsentLane {
                call: Collective::Any,
                ..
            }
        )
    };
    always_caught(absent, |seed| run(1, 32, seed, exits));
}

#[test]
fn a_ballot_tells_each_lanes_vote() {
    let kernel = |lane: Lane<'_>| {
        for bits in [0, 1, 0x8000_0000, 0xdead_beef, u32::MAX] {
            let of_this_warp = u32::rotate_left(bits, lane.warp());
            assert_eq!(lane.ballot(of_this_warp >> lane.lane() & 1 == 1), of_this_warp);
        }
    };
    always_passes(|seed| run(2, 64, seed, kernel));
    let exits = |lane: Lane<'_>| {
        if lane.lane() != 7 {
            lane.ballot(true);
        }
    };
    let absent = |fault: &Fault| {
        matches!(
            fault,
            Fault::AbsentLane {
                call: Collective::Ballot,
                ..
            }
        )
    };
    always_caught(absent, |seed| run(1, 32, seed, exits));
}

#[test]
fn a_shuffle_gives_the_word_of_the_lane_that_each_names() {
    let kernel = |lane: Lane<'_>| {
        for by in 0..32 {
            let from = (lane.lane() * by + 7) % 32;
            let expected = 1000 * lane.warp() + 100 * by + from;
            assert_eq!(
                lane.shuffle(1000 * lane.warp() + 100 * by + lane.lane(), from),
                expected
            );
        }
    };
    always_passes(|seed| run(2, 64, seed, kernel));
    let past_the_warp = |lane: Lane<'_>| {
        lane.shuffle(0, lane.lane() + 1);
    };
    always_caught(
        |fault| {
            matches!(
                fault,
                Fault::AbsentLane {
                    call: Collective::ShuffleFrom,
                    elsewhere: Elsewhere::Nowhere,
                    ..
                }
            )
        },
        |seed| run(1, 32, seed, past_the_warp),
    );
}

#[test]
fn a_vote_and_a_shuffle_do_not_meet() {
    let kernel = |lane: Lane<'_>| {
        if lane.lane() < 16 {
            lane.any(true);
        } else {
            lane.shuffle_xor(0, 1);
        }
    };
    always_caught(
        |fault| matches!(fault, Fault::MixedCollective { .. }),
        |seed| run(1, 32, seed, kernel),
    );
}

#[test]
fn a_warp_barrier_orders_its_warp_and_no_other() {
    let within = |synchronise: fn(Lane<'_>)| {
        move |lane: Lane<'_>| {
            for round in 0..3 {
                lane.store_shared(lane.thread(), round);
                synchronise(lane);
                assert_eq!(lane.load_shared(lane.thread() ^ 5), round);
                synchronise(lane);
            }
            lane.barrier();
            assert_eq!(lane.load_shared(lane.thread() ^ 32), 2);
        }
    };
    always_passes(|seed| run(2, 64, seed, within(warp_barrier)));
    always_caught(is_race_or_unwritten, |seed| run(2, 64, seed, within(vote)));
    always_caught(is_race_or_unwritten, |seed| {
        run(3, 128, seed, |lane| exchange(lane, warp_barrier))
    });
}

#[test]
fn a_shuffle_past_the_warp() {
    let kernel = |lane: Lane<'_>| {
        lane.shuffle_xor(0, 32);
    };
    always_caught(
        |fault| {
            matches!(
                fault,
                Fault::AbsentLane {
                    elsewhere: Elsewhere::Nowhere,
                    ..
                }
            )
        },
        |seed| run(1, 64, seed, kernel),
    );
}

// Global memory.

/// A kernel with a buffer of `count` words that nobody wrote.
fn run_on_words(launched: Launch, count: usize, kernel: impl Fn(Lane<'_>, *mut u32)) -> Result<Run, Fault> {
    let mut memory = Memory::new();
    let words = memory.words("words", count).start();
    launch(&launched, &mut memory, |lane| kernel(lane, words))
}

/// A kernel with an input of `len` elements, the first `misalign` elements past a 16-byte boundary.
fn run_on_input(seed: u64, len: u16, misalign: usize, kernel: impl Fn(Lane<'_>, *const u32)) -> Result<Run, Fault> {
    let mut memory = Memory::new();
    let values: Vec<f32> = (0..len).map(f32::from).collect();
    let input = memory.input("input", &values, misalign);
    assert_eq!(input.addr() % 16, 4 * misalign);
    launch(&Launch::new(2, 64, seed), &mut memory, |lane| {
        kernel(lane, input.cast())
    })
}

#[test]
fn two_blocks_that_write_one_word() {
    let kernel = |blocks: u32| {
        move |lane: Lane<'_>, words: *mut u32| {
            if lane.thread() == 0 && lane.block() < blocks {
                // SAFETY: checked by the emulator, as in all of these kernels.
                unsafe { lane.store(words, 1) };
            }
        }
    };
    always_passes(|seed| run_on_words(Launch::new(3, 32, seed), 1, kernel(1)));
    let expected = |fault: &Fault| {
        let Fault::Race { word, first, second } = fault else {
            return false;
        };
        let both = first.kind == AccessKind::Write && second.kind == AccessKind::Write;
        let buffer = "words";
        both && *word == WordName::Global { buffer, at: 0 } && first.by.who.block != second.by.who.block
    };
    always_caught(expected, |seed| run_on_words(Launch::new(3, 32, seed), 1, kernel(2)));
    // Where only one block is resident, they still are not ordered.
    always_caught(expected, |seed| {
        run_on_words(Launch::new(3, 32, seed).resident(1), 1, kernel(3))
    });
}

#[test]
fn a_global_word_nobody_wrote() {
    let kernel = |lane: Lane<'_>, words: *mut u32| {
        if lane.thread() == 0 {
            // SAFETY: as above.
            unsafe { lane.load(words.add(1)) };
        }
    };
    always_caught(
        |fault| {
            matches!(
                fault,
                Fault::Unwritten {
                    word: WordName::Global { at: 1, .. },
                    ..
                }
            )
        },
        |seed| run_on_words(Launch::new(1, 32, seed), 2, kernel),
    );
    always_passes(|seed| {
        let mut memory = Memory::new();
        let words = memory.words_from("words", &[0, 0]).start();
        launch(&Launch::new(2, 32, seed), &mut memory, |lane| kernel(lane, words))
    });
}

#[test]
fn what_one_launch_writes_the_next_may_read() {
    let mut memory = Memory::new();
    let words = memory.words("words", 32);
    // SAFETY: as above.
    let write = |lane: Lane<'_>| unsafe { lane.store(words.start().add(lane.thread() as usize), lane.thread()) };
    let read = |lane: Lane<'_>| {
        // SAFETY: as above.
        let word = unsafe { lane.load(words.start().add(lane.lane() as usize)) };
        assert_eq!(word, lane.lane());
    };
    assert!(launch(&Launch::new(1, 32, 1), &mut memory, write).is_ok());
    assert!(launch(&Launch::new(4, 64, 2), &mut memory, read).is_ok());
    assert_eq!(memory.word(words, 31), Some(31));
}

#[test]
fn an_input_read_past_the_end() {
    for misalign in 0..4 {
        let kernel = |last: usize| {
            // SAFETY: as above.
            move |lane: Lane<'_>, input: *const u32| _ = unsafe { lane.load_input(input.add(last)) }
        };
        always_passes(|seed| run_on_input(seed, 100, misalign, kernel(99)));
        always_caught(
            |fault| {
                let Fault::OutOfBounds {
                    nearest: Some(nearest),
                    bytes: 4,
                    ..
                } = fault
                else {
                    return false;
                };
                nearest.buffer == "input" && nearest.offset == 400 && nearest.bytes == 400
            },
            |seed| run_on_input(seed, 100, misalign, kernel(100)),
        );
        // SAFETY: as above.
        let before_the_start = |lane: Lane<'_>, input: *const u32| _ = unsafe { lane.load_input(input.sub(1)) };
        always_caught(
            |fault| matches!(fault, Fault::OutOfBounds { nearest: Some(nearest), .. } if nearest.offset == -4),
            |seed| run_on_input(seed, 100, misalign, before_the_start),
        );
    }
}

#[test]
fn a_wide_load_over_the_end() {
    let kernel = |at: usize| {
        move |lane: Lane<'_>, input: *const u32| {
            // SAFETY: as above.
            let words = unsafe { lane.load_input_vector(input.add(at)) };
            assert_eq!(words.map(f32::from_bits), [0.0, 1.0, 2.0, 3.0].map(|i| i + at as f32));
        }
    };
    always_passes(|seed| run_on_input(seed, 100, 0, kernel(96)));
    for len in [97, 99] {
        always_caught(
            |fault| matches!(fault, Fault::OutOfBounds { .. }),
            |seed| run_on_input(seed, len, 0, kernel(96)),
        );
    }
}

#[test]
fn a_misaligned_wide_load() {
    for misalign in 0..4 {
        // SAFETY: as above.
        let kernel = |lane: Lane<'_>, input: *const u32| _ = unsafe { lane.load_input_vector(input.add(8)) };
        if misalign == 0 {
            always_passes(|seed| run_on_input(seed, 100, misalign, kernel));
        } else {
            always_caught(
                |fault| matches!(fault, Fault::Misaligned { bytes: 16, .. }),
                |seed| run_on_input(seed, 100, misalign, kernel),
            );
        }
    }
}

#[test]
fn a_misaligned_word() {
    // SAFETY: as above.
    let kernel = |lane: Lane<'_>, input: *const u32| _ = unsafe { lane.load_input(input.byte_add(2)) };
    always_caught(
        |fault| matches!(fault, Fault::Misaligned { bytes: 4, .. }),
        |seed| run_on_input(seed, 100, 0, kernel),
    );
}

#[test]
fn a_write_to_the_input() {
    // SAFETY: as above.
    let kernel = |lane: Lane<'_>, input: *const u32| unsafe { lane.store(input.cast_mut().add(3), 0) };
    always_caught(
        |fault| {
            matches!(
                fault,
                Fault::ReadOnly {
                    buffer: "input",
                    at: 3,
                    ..
                }
            )
        },
        |seed| run_on_input(seed, 100, 1, kernel),
    );
}

#[test]
fn an_input_load_of_what_the_launch_writes() {
    let kernel = |read: fn(Lane<'_>, *mut u32)| {
        move |lane: Lane<'_>, words: *mut u32| {
            if lane.thread() == 0 {
                // SAFETY: as above.
                unsafe { lane.store(words, 1) };
            }
            lane.barrier();
            read(lane, words);
        }
    };
    // SAFETY: as above.
    let past_the_cache = kernel(|lane, words| _ = unsafe { lane.load(words) });
    // SAFETY: as above.
    let through_the_cache = kernel(|lane, words| _ = unsafe { lane.load_input(words) });
    always_passes(|seed| run_on_words(Launch::new(1, 64, seed), 1, past_the_cache));
    always_caught(
        |fault| matches!(fault, Fault::WrittenInput { .. }),
        |seed| run_on_words(Launch::new(1, 64, seed), 1, through_the_cache),
    );
}

// The last block to arrive.

/// How a version of the last-block protocol counts its blocks.
#[derive(Clone, Copy)]
enum Count {
    /// As it should.
    Ticket,
    /// With no fence.
    Relaxed,
    /// Not at all: every block thinks that it is the last.
    AllLast,
    /// Not at all: block 0 thinks that it is the last.
    FirstLast,
}

/// Every warp writes a slot; the last block adds them up. `before_ticket` is what makes thread 0 speak for its block.
fn last_block(
    lane: Lane<'_>,
    slots: *mut u32,
    tickets: *mut u32,
    answer: *mut u32,
    before_ticket: impl Fn(Lane<'_>),
    count: Count,
) {
    let (warps, blocks) = (lane.warps(), lane.blocks());
    if lane.lane() == 0 {
        let slot = lane.block() * warps + lane.warp();
        // SAFETY: as above.
        unsafe { lane.store(slots.add(slot as usize), slot + 1) };
    }
    before_ticket(lane);
    if lane.thread() == 0 {
        let last = blocks - 1;
        let is_last = match count {
            // SAFETY: as above.
            Count::Ticket => unsafe { lane.ticket(tickets, last) == last },
            // SAFETY: as above.
            Count::Relaxed => unsafe { lane.ticket_relaxed(tickets, last) == last },
            Count::AllLast => true,
            Count::FirstLast => lane.block() == 0,
        };
        lane.store_shared(0, u32::from(is_last));
    }
    lane.barrier();
    if lane.load_shared(0) == 1 && lane.warp() == 0 {
        let mut sum = 0;
        for slot in (lane.lane()..blocks * warps).step_by(32) {
            // SAFETY: as above.
            sum += unsafe { lane.load(slots.add(slot as usize)) };
        }
        for reach in [1, 2, 4, 8, 16] {
            sum += lane.shuffle_xor(sum, reach);
        }
        if lane.lane() == 0 {
            // SAFETY: as above.
            unsafe { lane.store(answer, sum) };
        }
    }
}

fn run_last_block(seed: u64, before_ticket: impl Fn(Lane<'_>), count: Count) -> Result<Run, Fault> {
    let (blocks, warps) = (7, 4);
    let mut memory = Memory::new();
    let slots = memory.words("slots", (blocks * warps) as usize).start();
    let tickets = memory.words_from("tickets", &[0]);
    let answer: Words = memory.words("answer", 1);
    let resident = [None, Some(1), Some(3)][seed as usize % 3];
    let launched = Launch {
        resident,
        ..Launch::new(blocks, 32 * warps, seed)
    };
    let run = launch(&launched, &mut memory, |lane| {
        last_block(lane, slots, tickets.start(), answer.start(), &before_ticket, count);
    })?;
    assert_eq!(memory.word(tickets, 0), Some(0));
    assert_eq!(memory.word(answer, 0), Some((1..=blocks * warps).sum()));
    Ok(run)
}

#[test]
fn the_last_block_sees_all_slots() {
    always_passes(|seed| run_last_block(seed, barrier, Count::Ticket));
}

#[test]
fn the_last_block_without_its_fence() {
    always_caught(is_race, |seed| run_last_block(seed, barrier, Count::Relaxed));
}

#[test]
fn the_last_block_without_its_counter() {
    always_caught(is_race_or_unwritten, |seed| {
        run_last_block(seed, barrier, Count::AllLast)
    });
    always_caught(is_race_or_unwritten, |seed| {
        run_last_block(seed, barrier, Count::FirstLast)
    });
}

#[test]
fn the_last_block_without_the_barrier_before_its_ticket() {
    always_caught(is_race_or_unwritten, |seed| {
        run_last_block(seed, nothing, Count::Ticket)
    });
}

/// Every block writes a slot, waits for all by its first thread, and reads another's.
fn barrier_of_the_grid(launched: Launch, wait: impl Fn(Lane<'_>, *mut u32) -> u32) -> Result<Run, Fault> {
    let mut memory = Memory::new();
    let slots = memory.words("slots", launched.blocks as usize).start();
    let counter = memory.words_from("counter", &[0]).start();
    launch(&launched, &mut memory, |lane| {
        let (block, blocks) = (lane.block(), lane.blocks());
        if lane.thread() == 0 {
            // SAFETY: the machine checks every access.
            unsafe {
                lane.store(slots.add(block as usize), block);
                lane.ticket(counter, blocks - 1);
            }
            while wait(lane, counter) != 0 {}
        }
        lane.barrier();
        let other = (block + 1) % blocks;
        // SAFETY: as above.
        assert_eq!(unsafe { lane.load(slots.add(other as usize)) }, other);
    })
}

#[test]
fn a_barrier_of_the_grid_acquires() {
    // SAFETY: the machine checks every access.
    let acquire = |lane: Lane<'_>, counter: *mut u32| unsafe { lane.load_acquire(counter) };
    // SAFETY: as above.
    let relaxed = |lane: Lane<'_>, counter: *mut u32| unsafe { lane.load_relaxed(counter) };
    always_passes(|seed| barrier_of_the_grid(Launch::new(5, 64, seed), acquire));
    always_caught(is_race, |seed| barrier_of_the_grid(Launch::new(5, 64, seed), relaxed));
    // Of more blocks than run at once those that wait hold the place of those that they wait for.
    let is_livelock = |fault: &Fault| matches!(fault, Fault::StepLimit { .. });
    always_caught(is_livelock, |seed| {
        let launched = Launch::new(5, 64, seed).resident(3).step_limit(20_000);
        barrier_of_the_grid(launched, acquire)
    });
}

#[test]
fn atomic_additions_do_not_race_and_order_nothing() {
    let kernel = |lane: Lane<'_>, words: *mut u32, read: bool| {
        // SAFETY: the machine checks every access.
        unsafe {
            lane.atomic_add_f32(words.cast(), 1.0);
            if read {
                lane.load(words);
            }
        }
    };
    let of = |seed, read: bool| {
        let mut memory = Memory::new();
        let words = memory.words_from("words", &[0]);
        let run = launch(&Launch::new(3, 64, seed), &mut memory, |lane| {
            kernel(lane, words.start(), read);
        })?;
        assert_eq!(memory.word(words, 0), Some(192.0_f32.to_bits()));
        Ok(run)
    };
    always_passes(|seed| of(seed, false));
    always_caught(is_race, |seed| of(seed, true));
}

#[test]
fn a_warp_that_learns_of_its_ticket_by_a_vote_alone() {
    // Lane 0 draws, and its whole warp reads the slots: what lane 0 acquired is not yet the others'.
    let kernel = |lane: Lane<'_>, words: *mut u32, hand_on: fn(Lane<'_>)| {
        // SAFETY: as above.
        unsafe {
            let mut last = false;
            if lane.lane() == 0 {
                lane.store(words.add(1 + lane.block() as usize), lane.block());
                last = lane.ticket(words, 31) == 31;
            }
            if lane.any(last) {
                hand_on(lane);
                assert_eq!(lane.load(words.add(1 + lane.lane() as usize)), lane.lane());
            }
        }
    };
    let run = |seed, hand_on| {
        let mut memory = Memory::new();
        let words = memory.words_from("words", &[0; 33]).start();
        launch(&Launch::new(32, 32, seed), &mut memory, |lane| {
            kernel(lane, words, hand_on)
        })
    };
    always_passes(|seed| run(seed, warp_barrier));
    always_passes(|seed| run(seed, barrier));
    always_caught(is_race, |seed| run(seed, nothing));
}

#[test]
fn a_store_after_the_ticket_is_not_released() {
    let kernel = |late: bool| {
        move |lane: Lane<'_>, words: *mut u32| {
            // SAFETY: as above.
            unsafe {
                let slot = words.add(1 + lane.block() as usize);
                if lane.thread() == 0 {
                    if !late {
                        lane.store(slot, 1);
                    }
                    let drawn = lane.ticket(words, 1);
                    if late {
                        lane.store(slot, 1);
                    }
                    if drawn == 1 {
                        lane.load(words.add(1));
                        lane.load(words.add(2));
                    }
                }
            }
        }
    };
    let run = |seed, late| {
        let mut memory = Memory::new();
        let words = memory.words_from("words", &[0; 3]).start();
        launch(&Launch::new(2, 32, seed), &mut memory, |lane| kernel(late)(lane, words))
    };
    always_passes(|seed| run(seed, false));
    always_caught(is_race, |seed| run(seed, true));
}

#[test]
fn a_counter_is_used_for_nothing_else() {
    let kernel = |lane: Lane<'_>, words: *mut u32| {
        if lane.thread() == 0 {
            // SAFETY: as above.
            unsafe {
                if lane.block() == 0 {
                    lane.store(words, 0)
                } else {
                    lane.ticket(words, 9);
                }
            }
        }
    };
    always_caught(is_race, |seed| {
        let mut memory = Memory::new();
        let words = memory.words_from("words", &[0]).start();
        launch(&Launch::new(2, 32, seed), &mut memory, |lane| kernel(lane, words))
    });
}

#[test]
fn tickets_count_round() {
    let mut memory = Memory::new();
    let counter = memory.words_from("counter", &[0]);
    // SAFETY: as above.
    let kernel = |lane: Lane<'_>| assert!(unsafe { lane.ticket(counter.start(), 99) } <= 99);
    assert!(launch(&Launch::new(3, 64, 5), &mut memory, kernel).is_ok());
    assert_eq!(memory.word(counter, 0), Some(3 * 64 % 100));
}

// Ends that are none.

// Relaxed operations: exchanges and additions on one word do not race with each other, and order nothing else.

/// Every thread claims the first of eight slots that is empty, for itself, and adds one to the number of those that got one.
fn claim(lane: Lane<'_>, slots: *mut u64, claimed: *mut u64) {
    let me = 1 + u64::from(lane.block() * lane.threads() + lane.thread()) + (7 << 32);
    for slot in 0..8 {
        // SAFETY: the machine checks every access.
        unsafe {
            if lane.load_relaxed_u64(slots.wrapping_add(slot)) == 0
                && lane.compare_exchange_u64(slots.wrapping_add(slot), 0, me) == 0
            {
                lane.atomic_add_u64(claimed, 1 << 31);
                return;
            }
        }
    }
}

#[test]
fn one_thread_claims_a_slot() {
    for seed in 0..SEEDS {
        let mut memory = Memory::new();
        let slots = memory.words_from("slots", &[0; 16]);
        let claimed = memory.words_from("claimed", &[0; 2]);
        let kernel = |lane: Lane<'_>| claim(lane, slots.start().cast(), claimed.start().cast());
        launch(&Launch::new(3, 64, seed), &mut memory, kernel).expect("no fault");
        // 8 × 2³¹: the sum goes over from one word to the other.
        assert_eq!((memory.word(claimed, 0), memory.word(claimed, 1)), (Some(0), Some(4)));
        let mut owners: Vec<_> = (0..8).map(|slot| memory.word(slots, 2 * slot)).collect();
        owners.sort_unstable();
        owners.dedup();
        assert!(
            owners.len() == 8 && owners[0] > Some(0),
            "seed {seed}: a slot of two threads, or of none"
        );
        assert!(
            (0..8).all(|slot| memory.word(slots, 2 * slot + 1) == Some(7)),
            "seed {seed}: half a word"
        );
    }
}

#[test]
fn a_plain_access_to_a_claimed_word_is_a_race() {
    let on_words = |seed, plain: fn(Lane<'_>, *mut u32)| {
        let mut memory = Memory::new();
        let words = memory.words_from("words", &[0; 2]).start();
        launch(&Launch::new(2, 32, seed), &mut memory, |lane| {
            if lane.block() == 0 {
                plain(lane, words);
            } else {
                // SAFETY: the machine checks every access.
                unsafe { lane.compare_exchange(words, 0, 1) };
            }
        })
    };
    let store = |lane: Lane<'_>, words| {
        // SAFETY: the machine checks every access.
        unsafe { lane.store(words, lane.thread()) };
    };
    let load = |lane: Lane<'_>, words: *mut u32| {
        // SAFETY: the machine checks every access.
        unsafe { lane.load(words) };
    };
    let load_relaxed = |lane: Lane<'_>, words: *mut u32| {
        // SAFETY: the machine checks every access.
        unsafe { lane.load_relaxed(words) };
    };
    always_caught(is_race, |seed| on_words(seed, store));
    always_caught(is_race, |seed| on_words(seed, load));
    always_passes(|seed| on_words(seed, load_relaxed));
}

/// Thread 0 writes a word and says so in another; who sees that reads the first.
fn tell(lane: Lane<'_>, synchronise: impl Fn(Lane<'_>)) {
    if lane.thread() == 0 {
        lane.store_shared(4, 5);
        lane.store_shared_relaxed(0, 1);
    }
    synchronise(lane);
    if lane.load_shared_relaxed(0) == 1 {
        assert_eq!(lane.load_shared(4), 5);
    }
}

#[test]
fn relaxed_shared_words_do_not_race_and_order_nothing() {
    let set = |lane: Lane<'_>| {
        if lane.thread() == 0 {
            lane.store_shared(0, 0);
        }
        lane.barrier();
    };
    let with_barrier = |seed| {
        run(2, 96, seed, move |lane| {
            set(lane);
            tell(lane, barrier);
        })
    };
    always_passes(with_barrier);
    let caught = (0..SEEDS).filter(|seed| {
        let result = run(2, 96, *seed, |lane| {
            set(lane);
            tell(lane, nothing);
        });
        result.is_err_and(|fault| is_race_or_unwritten(&fault))
    });
    // Where no lane sees the word in time none reads the other.
    assert!(caught.count() > SEEDS as usize / 2);
    always_passes(|seed| {
        run(2, 96, seed, |lane| {
            let both = 3 << 32 | 3;
            lane.store_shared(lane.thread(), 0);
            lane.barrier();
            lane.store_shared_relaxed_u64(2 * (lane.thread() % 2), both);
            let found = lane.load_shared_relaxed_u64(2 * (lane.thread() % 2));
            assert_eq!(found, both);
        })
    });
}

#[test]
fn relaxed_operations_are_aligned_and_within_their_buffers() {
    let on_words = |offset: usize| {
        move |seed| {
            run_on_words(Launch::new(1, 32, seed), 4, move |lane, words| {
                let at = words.cast::<u8>().wrapping_add(offset).cast::<u64>();
                // SAFETY: the machine checks every access.
                unsafe { lane.atomic_add_u64(at, 1) };
            })
        }
    };
    always_caught(|fault| matches!(fault, Fault::Misaligned { bytes: 8, .. }), on_words(4));
    always_caught(|fault| matches!(fault, Fault::OutOfBounds { .. }), on_words(16));
    always_caught(is_race_or_unwritten, on_words(0));
}

#[test]
fn waiting_for_a_block_that_is_not_resident() {
    // Block 0 waits for block 1's signal. An exchange with 0 takes it: a ticket whose last is 0.
    let kernel = |lane: Lane<'_>, signal: *mut u32| {
        if lane.thread() == 0 {
            // SAFETY: as above.
            unsafe {
                if lane.block() == 1 {
                    lane.ticket(signal, 1);
                } else {
                    while lane.ticket(signal, 0) == 0 {}
                }
            }
        }
    };
    let run = |seed, resident| {
        let mut memory = Memory::new();
        let signal = memory.words_from("signal", &[0]).start();
        let launched = Launch::new(2, 32, seed).resident(resident).step_limit(100_000);
        launch(&launched, &mut memory, |lane| kernel(lane, signal))
    };
    always_passes(|seed| run(seed, 2));
    // One at a time, it depends on who is first.
    let (ends, livelocks): (Vec<_>, Vec<_>) = all_seeds(|seed| run(seed, 1)).into_iter().partition(Result::is_ok);
    assert!(!ends.is_empty() && !livelocks.is_empty());
    assert!(
        livelocks
            .iter()
            .all(|result| matches!(result, Err(Fault::StepLimit { .. })))
    );
}

#[test]
fn a_livelock_runs_into_the_step_limit() {
    let run = |seed, kernel: &dyn Fn(Lane<'_>, *mut u32)| {
        let mut memory = Memory::new();
        let words = memory.words_from("words", &[0]).start();
        let launched = Launch::new(1, 32, seed).step_limit(500);
        launch(&launched, &mut memory, |lane| kernel(lane, words))
    };
    let is_livelock = |fault: &Fault| matches!(fault, Fault::StepLimit { steps: 500, .. });
    always_caught(is_livelock, |seed| {
        // SAFETY: as above.
        run(seed, &|lane, words| while unsafe { lane.ticket(words, 0) } == 0 {})
    });
    // Input loads let nobody run, but a loop of them does not hang the machine.
    always_caught(is_livelock, |seed| {
        // SAFETY: as above.
        run(seed, &|lane, words| while unsafe { lane.load_input(words) } == 0 {})
    });
}

#[test]
fn a_panic_is_a_fault_and_what_the_kernel_holds_is_dropped() {
    let held = std::rc::Rc::new(());
    let result = run(2, 64, 1, |lane| {
        let mine = std::rc::Rc::clone(&held);
        assert!(lane.thread() != 33 || lane.block() != 1, "planted");
        lane.barrier();
        lane.barrier();
        drop(mine);
    });
    let fault = result.expect_err("one lane panics");
    assert!(
        matches!(&fault, Fault::Panicked { who, message } if who.thread == 33 && who.block == 1 && message == "planted"),
        "{fault}"
    );
    assert_eq!(std::rc::Rc::strong_count(&held), 1);
}

#[test]
fn launches_that_no_machine_takes() {
    let bad = [
        Launch::new(0, 32, 0),
        Launch::new(1, 0, 0),
        Launch::new(1, 33, 0),
        Launch::new(1, 1056, 0),
        Launch::new(1, 32, 0).resident(0),
    ];
    for launched in bad {
        let result = launch(&launched, &mut Memory::new(), |_| ());
        assert!(matches!(result, Err(Fault::BadLaunch { .. })), "{launched:?}");
    }
}

// Schedules.

/// Blocks and warps in the order in which their lanes 0 ran, as a kernel could see it.
fn order(seed: u64) -> (Run, Vec<(u32, u32)>) {
    let seen = std::cell::RefCell::new(Vec::new());
    let run = run(4, 128, seed, |lane| {
        lane.shuffle_xor(0, 1);
        if lane.lane() == 0 {
            seen.borrow_mut().push((lane.block(), lane.warp()));
        }
        lane.barrier();
    });
    (run.expect("no fault"), seen.into_inner())
}

#[test]
fn a_seed_replays_its_schedule_and_another_gives_another() {
    let mut schedules: Vec<u64> = (0..SEEDS)
        .map(|seed| {
            assert_eq!(order(seed), order(seed), "seed {seed}");
            order(seed).0.schedule
        })
        .collect();
    schedules.sort_unstable();
    schedules.dedup();
    assert_eq!(schedules.len() as u64, SEEDS);
}

#[test]
fn schedules_permute_blocks_and_warps() {
    let firsts: std::collections::BTreeSet<_> = (0..200).map(|seed| order(seed).1[0]).collect();
    assert_eq!(firsts.len(), 16, "every warp of every block is first on some seed");
    let lasts: std::collections::BTreeSet<_> = (0..200).map(|seed| order(seed).1[15]).collect();
    assert_eq!(lasts.len(), 16, "and last on some other");
}

#[test]
fn a_fault_is_replayed_by_its_seed_and_names_the_kernels_line() {
    let planted = |lane: Lane<'_>| lane.store_shared(0, lane.thread());
    let line = Location::caller().line() - 1;
    for seed in 0..SEEDS {
        let fault = run(2, 64, seed, planted).expect_err("all lanes write one word");
        assert_eq!(run(2, 64, seed, planted), Err(fault.clone()));
        let Fault::Race { first, second, .. } = &fault else {
            panic!("{fault}")
        };
        for access in [first, second] {
            assert_eq!((access.by.line.file(), access.by.line.line()), (file!(), line));
        }
    }
}
