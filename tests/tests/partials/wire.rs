//! The bytes of partials: whatever they are, they are read to what was written, or an error says what is wrong; and ranks that exchange them.

use std::{
    io,
    sync::{Barrier, Mutex},
    thread,
};

use warpfold::{
    Error, PartialFault, View, cpu,
    dynamic::{Arrays, Function, Target, function},
    fold,
    fold::{Along, Extent},
    group::{Group, Transport},
    layout::{Axes, Layout, Segments},
    ops::{ArgMin, Max, Sum, Variance},
    partial::{AnyPartial, Head, Partial, split},
};
use warpfold_tests::{operations, partials::Way, samples};

/// Messages of all kinds: few bytes, several runs, elements and states.
fn messages() -> Vec<(AnyPartial, Vec<u8>)> {
    let mut messages = vec![];
    for (number, op) in operations::all().iter().enumerate().step_by(6) {
        let [_, _, leaf] = operations::extents(op.ty());
        let way = [Way::Whole, Way::Whole, Way::Around(2, 1)][number % 3];
        let len = 4 * leaf;
        let divided = op.divided(&samples::ANY.array(op.ty(), len * way.cells()), way);
        let mut partial = (divided.part)(leaf - 2..2 * leaf + number % 3);
        partial.merge((divided.part)(len - 3..len)).expect("disjoint runs");
        let bytes = partial.to_bytes();
        messages.push((partial, bytes));
    }
    let none = fold(Sum).partial_on_cpu(&[] as &[f32], 7).expect("nothing").into_any();
    messages.push((none.clone(), none.to_bytes()));
    assert!(messages.len() >= 40, "{}", messages.len());
    messages
}

/// The same with a checksum that is right.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 4;
    let mut crc = u32::MAX;
    for byte in &bytes[..end] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ ((crc & 1) * 0xedb8_8320);
        }
    }
    bytes[end..].copy_from_slice(&(!crc).to_le_bytes());
    bytes
}

#[test]
fn bytes_that_were_changed_are_refused() {
    for (partial, bytes) in messages() {
        assert_eq!(partial.read(&bytes).expect("its own bytes").to_bytes(), bytes);
        assert_eq!(sealed(bytes.clone()), bytes, "the checksum is that of zlib");
        for at in 0..bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                assert!(
                    matches!(partial.read(&changed), Err(Error::Partial(_))),
                    "byte {at} by {change}"
                );
            }
            let cut = partial.read(&bytes[..at]);
            let expected = matches!(
                cut,
                Err(Error::Partial(
                    PartialFault::NotPartial { .. } | PartialFault::Length { .. }
                ))
            );
            assert!(expected, "the first {at} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        let (needed, found) = (bytes.len() as u64, longer.len() as u64);
        assert!(matches!(
            partial.read(&longer),
            Err(Error::Partial(fault)) if fault == PartialFault::Length { needed, found }
        ));
    }
}

/// Whatever the bytes are, with a checksum that is right: what is read has the same bytes again, or an error says what is wrong.
#[test]
fn bytes_without_a_meaning_are_refused() {
    for (partial, bytes) in messages() {
        let head = Head::of(&bytes).expect("its own bytes");
        let described = (bytes.len() - 4).min(400);
        for at in 16..described {
            for change in [1, 2, 0x10, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                let changed = sealed(changed);
                match partial.read(&changed) {
                    Ok(read) => assert!(read.to_bytes() == changed, "byte {at} by {change}"),
                    Err(Error::Partial(_) | Error::ShapeOverflow { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            // Numbers as large as they get.
            let mut changed = bytes.clone();
            changed[at..(at + 8).min(bytes.len() - 4)].fill(0xff);
            let _ = Head::of(&sealed(changed.clone()));
            if let Ok(read) = partial.read(&sealed(changed.clone())) {
                assert!(read.to_bytes() == sealed(changed));
            }
        }
        assert_eq!(
            (head.shape, head.runs),
            (partial.shape().to_vec(), partial.runs().len() as u64)
        );
    }
}

/// Each fault by its name.
#[test]
fn faults_say_what_is_wrong() {
    let values: Vec<f32> = (0..5000).map(|i| i as f32).collect();
    let mut partial = fold(Sum).partial_on_cpu(&values, 1000).expect("a part");
    partial
        .merge(fold(Sum).partial_on_cpu(&values, 10_000).expect("a part"))
        .expect("disjoint runs");
    let bytes = partial.to_bytes();
    // Behind the head: the name of the type, that of the operator, no steps, no axes.
    let runs = 24 + 1 + 5 + 5 + 8 + 4 + 4 + 4 + 8;
    let first = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
    assert_eq!((first(runs), first(runs + 8)), (1000, 6000));
    let with = |at: usize, new: &[u8]| {
        let mut changed = bytes.clone();
        changed[at..at + new.len()].copy_from_slice(new);
        match Partial::<_, f32>::from_bytes(Sum, &sealed(changed)) {
            Err(Error::Partial(fault)) => fault,
            other => panic!("{other:?}"),
        }
    };
    let malformed = |fault| match fault {
        PartialFault::Malformed { what, .. } => what,
        other => panic!("{other}"),
    };
    assert!(matches!(with(0, b"WFPS"), PartialFault::NotPartial { .. }));
    assert!(matches!(
        with(4, &[2]),
        PartialFault::Version {
            what: "format",
            found: 2,
            known: 1
        }
    ));
    assert!(matches!(
        with(16, &[9]),
        PartialFault::Version {
            what: "canonical tree",
            found: 9,
            ..
        }
    ));
    assert!(matches!(
        with(20, &[9]),
        PartialFault::Version {
            what: "states of operators",
            ..
        }
    ));
    assert_eq!(malformed(with(24, &[3])), "operands");
    assert_eq!(malformed(with(27, b"f31")), "elements' type");
    assert!(matches!(with(32, b"sun"), PartialFault::Other { what: "operator", .. }));
    assert!(matches!(with(35, &[1]), PartialFault::Other { what: "parameter", .. }));
    assert_eq!(malformed(with(43, &[0xff; 4])), "steps");
    assert!(matches!(
        with(47, &[2]),
        PartialFault::Other {
            what: "words of a state",
            ..
        }
    ));
    assert_eq!(malformed(with(51, &[0xff; 4])), "shape");
    assert_eq!(malformed(with(55, &[0xff; 8])), "number of runs");
    assert_eq!(malformed(with(55, &[1])), "contents");
    assert_eq!(malformed(with(runs, &7000_u64.to_le_bytes())), "run");
    assert_eq!(malformed(with(runs + 16, &[0])), "number of elements before a leaf");
    assert_eq!(malformed(with(runs + 20, &[0])), "number of elements after a leaf");
    assert_eq!(malformed(with(runs + 24, &[1])), "number of subtrees");
    assert_eq!(malformed(with(runs + 28, &[1])), "level of a subtree");
    assert_eq!(malformed(with(runs + 29, &[2])), "index of a subtree");
    // The second run before the first one's end, and where it ends.
    let second = runs + 28 + 9 * 3;
    assert_eq!(first(second), 10_000);
    assert_eq!(malformed(with(second, &500_u64.to_le_bytes())), "run");
    assert_eq!(malformed(with(second, &6000_u64.to_le_bytes())), "run");
}

/// One of many threads.
struct Rank<'a> {
    rank: usize,
    messages: &'a [Mutex<Vec<u8>>],
    barrier: &'a Barrier,
}

impl Transport for Rank<'_> {
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        self.messages.len()
    }
    fn all_gather(&self, bytes: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        *self.messages[self.rank].lock().expect("no thread panicked") = bytes.to_vec();
        self.barrier.wait();
        let all = self
            .messages
            .iter()
            .map(|message| message.lock().expect("no thread panicked").clone());
        let all = all.collect();
        self.barrier.wait();
        Ok(all)
    }
}

/// What each of so many threads is answered, of its share of an array.
fn by_ranks(ranks: usize, answer: &(dyn Fn(usize, &Group<Rank<'_>>) + Sync)) {
    let messages: Vec<Mutex<Vec<u8>>> = (0..ranks).map(|_| Mutex::default()).collect();
    let barrier = Barrier::new(ranks);
    thread::scope(|scope| {
        for rank in 0..ranks {
            let (messages, barrier) = (&messages[..], &barrier);
            scope.spawn(move || {
                answer(
                    rank,
                    &Group::over(Rank {
                        rank,
                        messages,
                        barrier,
                    }),
                )
            });
        }
    });
}

#[test]
fn threads_are_ranks() {
    let values: Vec<f32> = (0..50_001).map(|i| 1.0 / (1 + i) as f32).collect();
    let len = values.len() as u64;
    let (sum, place) = (
        cpu::reduce(Sum, &values).expect("a sum"),
        cpu::reduce(ArgMin, &values).expect("an index"),
    );
    for ranks in [1, 2, 3, 8, 64] {
        let shares = split(len, ranks, 1024);
        by_ranks(ranks, &|rank, group| {
            let share = &shares[rank];
            let part = &values[share.start as usize..share.end as usize];
            let partial = fold(Sum).partial_on_cpu(part, share.start).expect("a part");
            assert_eq!(group.reduce(&partial, len).expect("a sum").to_bits(), sum.to_bits());
            let partial = fold(ArgMin).partial_on_cpu(part, share.start).expect("a part");
            assert_eq!(group.reduce(&partial, len).expect("an index"), place);
            // All are told the same of what is wrong.
            let lacking = group
                .reduce(&partial, len + 5)
                .expect_err("five are missing")
                .to_string();
            assert!(lacking.contains("from 50001 up to 50006"), "{lacking}");
            if rank > 0 {
                let twice = fold(ArgMin).partial_on_cpu(&values[..1], 0).expect("a part");
                assert!(matches!(
                    group.reduce(&twice, len),
                    Err(Error::Partial(PartialFault::Overlap { first: 0, end: 1 }))
                ));
            } else {
                let _ = group.reduce(&partial, len);
            }
        });
    }
}

/// A table of operators by name reads bytes by their head.
#[test]
fn bytes_find_their_operator() {
    let table: [Box<dyn Function<f32>>; 3] = [function(Sum), function(Variance::default()), function(Max)];
    let values = [1.0_f32, 2.0, 4.0, 8.0];
    let rows = View::new(&values, &Layout::c_order(&[2, 2]).expect("small")).expect("all of it");
    for (function, expected) in table.iter().zip([[5.0_f32, 10.0], [4.5, 18.0], [4.0, 8.0]]) {
        let axes = Axes::of(&[0]);
        let arrays = Arrays::one(rows.clone());
        let sent = function
            .partial(&Target::Cpu, &arrays, Extent::Along(&axes), 0)
            .expect("a part")
            .to_bytes();
        let head = Head::of(&sent).expect("its own bytes");
        let found = table
            .iter()
            .find(|listed| listed.op().name() == head.signature.op)
            .expect("it is listed");
        let answers = found
            .partial_from_bytes(&sent)
            .expect("its own bytes")
            .finish(2)
            .expect("all elements");
        assert_eq!(answers.shape, [2]);
        let bytes: Vec<u8> = expected.iter().flat_map(|answer| answer.to_le_bytes()).collect();
        assert_eq!(answers.bytes, bytes);
        let halves = Segments::by_size(4, 2).expect("halves");
        let refused = function.partial(&Target::Cpu, &Arrays::one(&values), Extent::In(&halves), 0);
        assert!(matches!(refused, Err(Error::Partial(PartialFault::Segments))));
    }
}

#[test]
fn nothing_is_a_part_and_positions_end() {
    let nothing = || fold(Sum).partial_on_cpu(&[] as &[f32], 3).expect("nothing");
    assert_eq!(nothing().finish(0).expect("a sum"), 0.0);
    let mut partial = fold(Sum).partial_on_cpu(&[1.5_f32], 0).expect("a part");
    partial.merge(nothing()).expect("nothing more");
    assert_eq!(partial.finish(1).expect("a sum"), 1.5);
    let empty = fold(Max).partial_on_cpu(&[] as &[f32], 0).expect("nothing");
    assert!(matches!(empty.finish(0), Err(Error::EmptyExtent { op: "max" })));
    let far = fold(Sum).partial_on_cpu(&[1.5_f32; 4], u64::MAX - 2);
    assert!(matches!(far, Err(Error::LengthOverflow { .. })));
    // No answer, of extents that have elements.
    let none = View::new(&[] as &[f32], &Layout::c_order(&[5, 0]).expect("small")).expect("nothing");
    let partial = fold(Sum).axis(0).partial_on_cpu(none, 2).expect("a part");
    let read = Partial::<_, f32, Along>::from_bytes(Sum, &partial.to_bytes()).expect("its own bytes");
    assert_eq!(read.runs().next(), Some(2..7));
    let bad = fold(Variance::default())
        .correction(f64::NAN)
        .partial_on_cpu(&[1.0_f32], 0);
    assert!(matches!(bad, Err(Error::Parameter { .. })));
}
