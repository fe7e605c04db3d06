//! The ladder: rungs sum integers exactly, and where their order is fixed they have the emulator's bits.

use warpfold::gpu::{
    Gpu,
    ladder::{Ladder, PATTERN, Rows},
};
use warpfold_emulator::ladder::{self, Climb};
use warpfold_kernels::ladder::{LAYER_NORMS, RowKernel, Rung, SOFTMAXES, SUMS, Same};

/// Small integers, of which the sum is exact in any order; and numbers of which it is not.
fn patterns() -> [Vec<f32>; 2] {
    let hash = |i: usize| (i as u32).wrapping_mul(2_654_435_761) >> 7;
    let integers = (0..PATTERN).map(|i| (hash(i) % 5) as f32 - 2.0).collect();
    let numbers = (0..PATTERN).map(|i| hash(i) as f32 / 33_554_432.0 - 0.5).collect();
    [integers, numbers]
}

pub fn quick_rungs_of_the_sum(gpu: &Gpu) {
    let [integers, numbers] = patterns();
    let on_gpu = Ladder::new(gpu, &integers).expect("memory");
    let of = |rung: &Rung<_>, len: usize| on_gpu.sum(rung, len as u64, 4).expect("a launch");
    for rung in &SUMS {
        for len in [0, 1, 31, 33, 1000, 1025, 2048, 100_003] {
            if rung.most.is_none_or(|most| len as u64 <= most) {
                let exact: f32 = integers[..len].iter().sum();
                assert_eq!(of(rung, len), exact, "{} of {len}", rung.name);
            }
        }
    }
    on_gpu.fill(&numbers).expect("a copy");
    for rung in SUMS.iter().filter(|rung| rung.same == Same::OnGpus) {
        let len = rung.most.map_or(20_000, |most| most as usize - 5);
        let emulated = ladder::sum(rung, &numbers[..len], Climb::new(1)).expect("no fault");
        assert_eq!(of(rung, len).to_bits(), emulated.answer.to_bits(), "{}", rung.name);
    }
}

pub fn quick_rungs_of_rows(gpu: &Gpu) {
    let [_, numbers] = patterns();
    let on_gpu = Ladder::new(gpu, &numbers).expect("memory");
    let agree = |rungs: &[Rung<RowKernel>], rows: Rows| {
        let columns = rows.columns as usize;
        let emulated = ladder::Rows {
            values: &numbers[..columns * rows.rows as usize],
            columns,
            causal: rows.causal,
            weight: &vec![1.0; columns],
            bias: &vec![1.0; columns],
            epsilon: 1e-5,
        };
        for rung in rungs {
            let answers = on_gpu.map(rung, rows).expect("a launch");
            let expected = ladder::rows(rung, &emulated, Climb::new(1)).expect("no fault").answer;
            assert!(bits(&answers) == bits(&expected), "{} of {rows:?}", rung.name);
        }
    };
    for (rows, columns, causal) in [(1, 1, false), (70, 33, false), (3, 1000, false), (130, 65, true)] {
        let rows = Rows { rows, columns, causal };
        agree(&SOFTMAXES, rows);
        if !causal {
            agree(&LAYER_NORMS, rows);
        }
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}
