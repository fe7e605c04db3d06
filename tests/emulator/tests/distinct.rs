//! The kernel that counts distinct elements, lane by lane: the CPU's numbers on every schedule, whoever comes first.

use std::ptr;

use warpfold::{
    cpu,
    layout::{Axes, Extents, Layout, Segments},
    plan::{DistinctPlan, Order},
};
use warpfold_distinct::{CountArguments, Params, Width, count_extents, count_whole, equality::Equality};
use warpfold_emulator::{Launch, Memory, launch};
use warpfold_kernels::{
    element::{Element, bf16, complex64},
    kernels::{self, Array},
};

/// Where the elements of a launch are.
enum Of<'a> {
    Whole,
    Along(&'a Extents),
    Segments(&'a Segments),
}

/// The answers of the kernel, and a hash of its schedule. `W` is the integer of the elements' width.
fn emulated<T: Element, W: Width>(values: &[T], plan: &DistinctPlan, of: &Of<'_>, shape: Launch) -> (Vec<u64>, u64) {
    let bits = |value: &T| (0..T::COUNT).fold(0, |bits, i| bits | u64::from(value.word(i)) << (32 * i));
    let elements: Vec<W> = values.iter().map(|value| W::from_bits(bits(value))).collect();
    let mut memory = Memory::new();
    // Not on a boundary of 16 bytes.
    let start = memory.input("input", &elements, 1);
    let table = memory.words_from("table", &vec![0; plan.workspace_words()]);
    let count = plan.count as usize;
    let answers = memory.words_from("answers", &vec![0; 2 * count]);
    let (mut stride, mut step, mut offset, mut numbers) = (0, 1, 0, vec![]);
    match of {
        Of::Whole => {}
        Of::Along(extents) => {
            (stride, step, offset) = (extents.stride(), extents.stride_within(), extents.offset);
            if extents.has_several() {
                numbers = extents.dimensions();
            }
        }
        Of::Segments(segments) => {
            let lens = segments.offsets().windows(2).map(|ends| ends[1] - ends[0]);
            let slots = lens.map(|len| DistinctPlan::new(T::TYPE, len).expect("few").table_slots);
            let first = slots.scan(0, |all, slots| {
                *all += slots;
                Some(*all)
            });
            numbers = segments.offsets().iter().copied().chain([0]).chain(first).collect();
        }
    }
    let layout = match numbers[..] {
        [] => ptr::null(),
        _ => memory.input("layout", &numbers, 0),
    };
    let params = Params {
        order: plan.order,
        equality: Equality::of(T::TYPE),
        slots: plan.slots,
        rows: plan.rows,
    };
    let array = Array {
        start: start.wrapping_add(offset as usize).cast(),
        stride,
        step,
        ..Array::NONE
    };
    let passed = params.passed(kernels::Launch {
        arrays: [array, Array::NONE],
        len: plan.len,
        count: plan.count,
        layout,
        slots: table.start(),
        answer: answers.start().cast(),
        ..kernels::Launch::NOTHING
    });
    // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
    let arguments: CountArguments<W> = unsafe { CountArguments::new(&passed) };
    let run = launch(&shape, &mut memory, |lane| {
        if plan.order == Order::Whole {
            count_whole(lane, arguments);
        } else {
            count_extents(lane, arguments);
        }
    });
    let run = run.unwrap_or_else(|fault| panic!("{plan}, {shape:?}: {fault}"));
    let word = |at| u64::from(memory.word(answers, at).expect("written before"));
    let answers = (0..count).map(|i| word(2 * i) | word(2 * i + 1) << 32).collect();
    (answers, run.schedule)
}

/// `len` elements of `kinds` kinds, of which some are zeros and NaN.
fn of_kinds<T: Element>(len: usize, kinds: u64) -> Vec<T> {
    let bits = |i: u64| match i % kinds {
        0 => 0,
        1 => 0x8000_0000_8000_0000,
        2 => u64::MAX,
        3 => 0xffff_fff0_7fff_fff1,
        kind => kind.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7,
    };
    (0..len as u64).map(|i| T::from_bits(bits(i * 7919))).collect()
}

fn whole<T: Element, W: Width>() {
    for (len, kinds) in [(1, 1), (31, 5), (1000, 1), (1000, 4), (1000, 300), (2500, 1 << 30)] {
        let values = of_kinds::<T>(len, kinds);
        let plan = DistinctPlan::new(T::TYPE, len as u64).expect("fits");
        let mut schedules = vec![];
        for (seed, blocks, threads) in [(1, 1, 32), (2, 3, 64), (3, 5, 32), (4, 2, 128), (5, 2, 128)] {
            let (answers, schedule) = emulated::<T, W>(&values, &plan, &Of::Whole, Launch::new(blocks, threads, seed));
            assert_eq!(
                answers,
                [cpu::distinct(&values)],
                "{} × {len}, {kinds} kinds",
                T::TYPE.name()
            );
            schedules.push(schedule);
        }
        assert!(schedules[3] != schedules[4], "each seed has its own schedule");
    }
}

#[test]
fn whole_arrays_of_each_width() {
    whole::<u8, u8>();
    whole::<bf16, u16>();
    whole::<f32, u32>();
    whole::<complex64, u64>();
    whole::<i64, u64>();
}

/// A table with one slot to spare, and that of zero: long probes that wrap around, and lanes that meet in them.
#[test]
fn full_tables_and_keys_that_collide() {
    let values: Vec<u32> = (0..600).map(|i| i % 151).collect();
    let mut plan = DistinctPlan::new(u32::TYPE, 600).expect("fits");
    // 150 keys beside zero.
    (plan.slots, plan.table_slots) = (151, 152);
    for seed in 0..6 {
        let (answers, _) = emulated::<u32, u32>(&values, &plan, &Of::Whole, Launch::new(4, 64, seed));
        assert_eq!(answers, [151]);
    }
    // Were the array changed meanwhile, so that keys are more than slots, it would still end.
    (plan.slots, plan.table_slots) = (100, 101);
    let (answers, _) = emulated::<u32, u32>(&values, &plan, &Of::Whole, Launch::new(2, 64, 1));
    assert_eq!(answers, [101]);
}

#[test]
fn along_axes_of_any_strides() {
    let matrix = Layout::c_order(&[70, 45]).expect("few");
    let cube = Layout::c_order(&[6, 35, 15]).expect("few");
    let mirrored = matrix.sliced(0, 69, 35, -2).expect("a slice");
    let repeated = Layout::strided(&[33, 40, 70], &[0, 1, 45], 2).expect("a layout");
    let values = of_kinds::<f32>(3150, 40);
    let mut orders = vec![];
    for (layout, axes) in [
        (&matrix, &[0][..]),
        (&matrix, &[1]),
        (&matrix, &[0, 1]),
        (&cube, &[1]),
        (&cube, &[0, 2]),
        (&mirrored, &[0]),
        (&mirrored, &[1]),
        (&repeated, &[2]),
        (&repeated, &[0, 1]),
    ] {
        let axes = Axes::of(axes);
        let extents = Extents::new(layout, &axes).expect("axes");
        let plan = DistinctPlan::along(f32::TYPE, &extents).expect("fits");
        let expected = cpu::distinct_axes(&values, layout, &axes).expect("answers").answers;
        for seed in 0..3 {
            let (answers, _) = emulated::<f32, u32>(&values, &plan, &Of::Along(&extents), Launch::new(3, 64, seed));
            assert_eq!(answers, expected, "{plan}");
        }
        orders.push(plan.order);
    }
    for order in [Order::Whole, Order::Along, Order::Across] {
        assert!(orders.contains(&order), "{order:?}");
    }
}

#[test]
fn segments_of_any_lengths() {
    let lens = [0, 3, 1, 0, 0, 700, 2, 2, 2, 40, 0, 1000, 1, 0];
    let segments = Segments::by_lens(lens.into_iter().chain([5; 60])).expect("few");
    assert_eq!(
        DistinctPlan::segments(u8::TYPE, &segments).expect("fits").order,
        Order::Segments
    );
    let len = segments.len() as usize;
    let shape = |seed| Launch::new(3, 96, seed);
    for seed in 0..3 {
        let values = of_kinds::<u8>(len, 90);
        let plan = DistinctPlan::segments(u8::TYPE, &segments).expect("fits");
        let (answers, _) = emulated::<u8, u8>(&values, &plan, &Of::Segments(&segments), shape(seed));
        assert_eq!(answers, cpu::distinct_segments(&values, &segments).expect("answers"));
        let values = of_kinds::<f64>(len, 500);
        let plan = DistinctPlan::segments(f64::TYPE, &segments).expect("fits");
        let (answers, _) = emulated::<f64, u64>(&values, &plan, &Of::Segments(&segments), shape(seed));
        assert_eq!(answers, cpu::distinct_segments(&values, &segments).expect("answers"));
    }
    let one = Segments::by_lens([900]).expect("few");
    let values = of_kinds::<u64>(900, 77);
    let plan = DistinctPlan::segments(u64::TYPE, &one).expect("fits");
    let (answers, _) = emulated::<u64, u64>(&values, &plan, &Of::Segments(&one), shape(9));
    assert_eq!(answers, [cpu::distinct(&values)]);
}
