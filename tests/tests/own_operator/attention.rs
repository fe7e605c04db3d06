//! Attention, a monoid and a kernel of a user's own: the CPU against the plain formula in f64, the laws, and the emulator's kernel
//! against the CPU's bits.

use own_operator::attention::{Attend, Fold, Key, Launch, Partial, Plan, Sizes, TILE, attend, attend_on_cpu};
use warpfold_emulator::{Fault, Memory, launch};
use warpfold_kernels::monoids::{Monoid, Words};
use warpfold_tests::cases;

/// Half of the distance from 1 to the next f32.
const U: f64 = 1.0 / (1 << 24) as f64;

/// Queries, keys and values.
struct Inputs {
    sizes: Sizes,
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Inputs {
    /// Numbers of a few magnitudes, scores to about 20.
    fn new(sizes: Sizes) -> Self {
        let of = |case: cases::Case, rows: u64| case.array((rows * sizes.head_size) as usize);
        let keys = sizes.heads * sizes.keys;
        Self {
            sizes,
            queries: of(cases::CYCLE, sizes.rows()),
            keys: of(cases::UNIFORM, keys),
            values: of(cases::WIDE, keys)
                .into_iter()
                .map(|value| value.clamp(-1e6, 1e6))
                .collect(),
        }
    }

    fn on_cpu(&self) -> Vec<u32> {
        let mut out = vec![0.0; self.queries.len()];
        attend_on_cpu(&self.sizes, &self.queries, &self.keys, &self.values, &mut out);
        out.into_iter().map(f32::to_bits).collect()
    }

    fn on_emulator(&self, plan: Plan, seed: u64) -> Result<Vec<u32>, Fault> {
        let mut memory = Memory::new();
        let out = memory.words("answers", self.queries.len());
        let tickets = memory.words_from("tickets", &vec![0; self.sizes.rows() as usize]);
        let passed = Launch {
            sizes: self.sizes,
            // Rows need no alignment but their own.
            queries: memory.input("queries", &self.queries, 1),
            keys: memory.input("keys", &self.keys, (seed % 4) as usize),
            values: memory.input("values", &self.values, 3),
            out: out.start().cast(),
            slots: memory.words("slots", plan.slot_words() as usize).start(),
            tickets: tickets.start(),
            steps: plan.steps,
            parts: plan.parts,
        };
        let grid = warpfold_emulator::Launch::new(plan.blocks as u32, plan.threads(), seed);
        // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
        launch(&grid, &mut memory, |lane| unsafe {
            match plan.columns {
                1 => attend::<_, 1>(lane, passed),
                2 => attend::<_, 2>(lane, passed),
                4 => attend::<_, 4>(lane, passed),
                _ => attend::<_, 8>(lane, passed),
            }
        })?;
        for row in 0..self.sizes.rows() as usize {
            assert_eq!(memory.word(tickets, row), Some(0), "the ticket of query {row}");
        }
        let answer = |at| memory.word(out, at).ok_or(Fault::NoAnswer { buffer: "answers", at });
        (0..self.queries.len()).map(answer).collect()
    }
}

/// Of one query: the answers of the formula in f64, and how far off f32 may be, to first order.
///
/// A weight is off, relatively, by what its score is off; by the rounding of its distance from the maximum; by its exponential, 2 u; and
/// by 3 u for each level of tiles that combines it. A level's exponent is a part of that distance. The values add 32 u of a tile's
/// chain, the sum of weights 5 u, the quotient u.
fn formula(query: &[f32], keys: &[f32], values: &[f32], scale: f32) -> Vec<(f64, f64)> {
    let wide = |x: &f32| f64::from(*x);
    let (size, scale) = (query.len(), wide(&scale));
    let levels = f64::from((keys.len() / size).div_ceil(TILE as usize).next_power_of_two().ilog2());
    let products = |key: &[f32]| {
        query
            .iter()
            .zip(key)
            .map(|(q, k)| wide(q) * wide(k))
            .collect::<Vec<_>>()
    };
    let scores: Vec<(f64, f64)> = (keys.chunks(size).map(products))
        .map(|of| {
            (
                of.iter().sum::<f64>() * scale,
                of.iter().map(|x| x.abs()).sum::<f64>() * scale,
            )
        })
        .collect();
    let max = scores.iter().map(|(score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
    let steps = (size.div_ceil(32) + 6) as f64;
    // Of each key the weight, and how far off it may be.
    let weights: Vec<(f64, f64)> = (scores.iter())
        .map(|(score, size)| {
            (
                (score - max).exp(),
                (steps * size + 2.0 * (max - score) + 2.0 + 3.0 * levels) * U,
            )
        })
        .collect();
    let sum: f64 = weights.iter().map(|(weight, _)| weight).sum();
    let sum_off: f64 = weights.iter().map(|(weight, off)| weight * off).sum::<f64>() / sum + 6.0 * U;
    let column = |column: usize| {
        let values = values.chunks(size).map(|value| wide(&value[column]));
        let (mut answer, mut bound) = (0.0, 0.0);
        for ((weight, off), value) in weights.iter().zip(values) {
            answer += weight * value / sum;
            bound += weight * value.abs() / sum * (off + 32.0 * U);
        }
        (answer, 1.01 * (bound + answer.abs() * sum_off) + 1e-30)
    };
    (0..size).map(column).collect()
}

#[test]
fn the_cpu_answers_what_the_formula_answers() {
    let mut worst = 0.0_f64;
    for (size, keys) in [
        (1, 1),
        (40, 31),
        (64, 33),
        (80, 257),
        (128, 1000),
        (256, 100),
        (33, 5000),
    ] {
        for sizes in [
            Sizes::full(2, 1, keys, size),
            Sizes::full(1, 3, keys.max(3), size).causal(),
        ] {
            let inputs = Inputs::new(sizes);
            let answers = inputs.on_cpu();
            let size = size as usize;
            let rows = inputs.queries.chunks(size).zip(answers.chunks(size));
            for (row, (query, answers)) in rows.enumerate() {
                let first = row / sizes.queries as usize * sizes.keys as usize * size;
                let seen = first..first + sizes.visible(row as u64 % sizes.queries) as usize * size;
                let exact = formula(query, &inputs.keys[seen.clone()], &inputs.values[seen], sizes.scale);
                for (answer, (exact, bound)) in answers.iter().zip(exact) {
                    let off = (f64::from(f32::from_bits(*answer)) - exact).abs();
                    assert!(off <= bound, "{sizes:?}, row {row}: {off:e} past {bound:e}");
                    worst = worst.max(off / bound);
                }
            }
        }
    }
    // A bound that is never neared would hold of wrong answers, too.
    assert!(worst > 0.01, "{worst}");
}

/// Where nothing is visible, where scores are not finite, and what a key that is not visible holds.
#[test]
fn rules_of_what_is_not_finite() {
    let answer = |keys: &[f32], values: &[f32], visible: i64| {
        let mut sizes = Sizes::full(1, 1, keys.len() as u64, 1);
        sizes.offset = visible - 1;
        let mut out = [0.0];
        attend_on_cpu(&sizes, &[1.0], keys, values, &mut out);
        out[0]
    };
    let infinity = f32::INFINITY;
    for (what, keys, values, visible, expected) in [
        ("no keys", &[][..], &[][..], 0, f32::NAN),
        ("none visible", &[1.0], &[2.0], 0, f32::NAN),
        ("a negative offset", &[1.0], &[2.0], -7, f32::NAN),
        ("all scores −∞", &[-infinity, -infinity], &[2.0, 3.0], 2, f32::NAN),
        ("one of −∞", &[-infinity, 1.0], &[2.0, 3.0], 2, 3.0),
        ("a NaN", &[f32::NAN, 1.0], &[2.0, 3.0], 2, f32::NAN),
        ("a +∞", &[infinity, 1.0], &[2.0, 3.0], 2, f32::NAN),
        ("a NaN that is not visible", &[1.0, f32::NAN], &[2.0, f32::NAN], 1, 2.0),
        ("scores far apart", &[1e4, -1e4], &[2.0, 3.0], 2, 2.0),
        ("scores past exp's range", &[1e4, 1e4], &[2.0, 4.0], 2, 3.0),
    ] {
        assert_eq!(answer(keys, values, visible).to_bits(), expected.to_bits(), "{what}");
    }
}

/// Neutral and commutative to the bit, whatever is in a state; associative up to rounding.
#[test]
fn laws_hold() {
    let op = Attend::<2>;
    let infinity = f32::INFINITY;
    let numbers = [
        0.0,
        -0.0,
        1.3,
        -3.1,
        0.7,
        88.9,
        -120.0,
        1e-40,
        -infinity,
        infinity,
        f32::NAN,
    ];
    let key = |i: usize, j: usize| Key {
        score: numbers[i],
        value: [numbers[j], numbers[(i + j) % numbers.len()]],
    };
    let lifted = (0..numbers.len()).flat_map(|i| [0, 1, 2, 3, 4, 7].map(|j| op.lift(key(i, j), 0)));
    let mut states: Vec<Partial<2>> = lifted.collect();
    let pairs = states.windows(2).map(|pair| op.combine(pair[0], pair[1]));
    states = states.iter().copied().chain(pairs).chain([op.identity()]).collect();
    // All NaNs are one.
    let bits = |state: Partial<2>| -> Vec<u32> {
        let word = |i| f32::from_bits(state.word(i));
        let bits = |float: f32| if float.is_nan() { f32::NAN } else { float }.to_bits();
        (0..Partial::<2>::COUNT).map(|i| bits(word(i))).collect()
    };
    for &a in &states {
        assert_eq!(bits(op.combine(op.identity(), a)), bits(a), "the identity first: {a:?}");
        assert_eq!(bits(op.combine(a, op.identity())), bits(a), "the identity last: {a:?}");
        assert_eq!(bits(Partial::from_words(|i| a.word(i))), bits(a), "words of {a:?}");
        for &b in &states {
            assert_eq!(bits(op.combine(a, b)), bits(op.combine(b, a)), "{a:?} and {b:?}");
        }
    }
    // Three of finite scores.
    let finite: Vec<Partial<2>> = (states.iter().copied())
        .filter(|state| state.max.is_finite() && state.acc.iter().all(|column| column.is_finite()))
        .collect();
    let mut differ = 0;
    for triple in finite.windows(3) {
        let [a, b, c] = [triple[0], triple[1], triple[2]];
        let (left, right) = (op.combine(op.combine(a, b), c), op.combine(a, op.combine(b, c)));
        for (left, right) in [(left.sum, right.sum), (left.acc[0], right.acc[0])] {
            let size = a.acc[0].abs() + b.acc[0].abs() + c.acc[0].abs() + 3.0;
            assert!((left - right).abs() <= 16.0 * U as f32 * size, "{a:?}, {b:?}, {c:?}");
            differ += u32::from(left.to_bits() != right.to_bits());
        }
    }
    assert!(
        differ > 0,
        "were it associative to the bit, no tree would have to be fixed"
    );
}

/// Where tiles, warps and blocks begin, and head sizes that are none of a warp's, and none of a vector's.
#[test]
fn the_kernel_gives_the_cpus_bits_on_the_emulator() {
    let shapes = [(1, 2), (2, 1), (4, 1), (2, 4), (1, 8)];
    let lens = [0, 1, 31, 32, 33, 63, 64, 65, 127, 129, 257, 515];
    for (i, size) in [1, 40, 64, 80, 128, 256].into_iter().enumerate() {
        for (j, keys) in lens.into_iter().enumerate() {
            let (warps, steps) = shapes[(i + j) % shapes.len()];
            let mut ragged = Sizes::full(1, 2, keys, size);
            // Rows that end within a tile, and before the last.
            ragged.offset = keys as i64 / 2 - 1;
            for sizes in [
                Sizes::full(2, 1, keys, size),
                Sizes::full(1, 2, keys, size).causal(),
                ragged,
            ] {
                let inputs = Inputs::new(sizes);
                // States of many columns leave room for fewer warps.
                let plan = Plan::shaped(&sizes, warps, steps).or(Plan::shaped(&sizes, 2, 2));
                let plan = plan.expect("such a shape");
                let seed = (i * lens.len() + j) as u64;
                let answers = inputs
                    .on_emulator(plan, seed)
                    .unwrap_or_else(|fault| panic!("{plan:?}: {fault}"));
                assert_eq!(answers, inputs.on_cpu(), "{sizes:?}, {plan:?}, seed {seed}");
            }
        }
    }
}

/// The same keys by every shape of launch, and in pieces that end at tiles.
#[test]
fn splits_change_no_bit() {
    let sizes = Sizes::full(1, 1, 10 * TILE + 7, 40);
    let inputs = Inputs::new(sizes);
    let expected = inputs.on_cpu();
    let shapes = [1, 2, 4, 8]
        .into_iter()
        .flat_map(|warps| [1, 2, 4, 16].map(|steps| (warps, steps)));
    for (seed, (warps, steps)) in (0..).zip(shapes.filter(|shape| *shape != (1, 1))) {
        let plan = Plan::shaped(&sizes, warps, steps).expect("such a shape");
        assert_eq!(inputs.on_emulator(plan, seed).expect("no fault"), expected, "{plan:?}");
    }
    let size = sizes.head_size as usize;
    for ends in [&[1, 2, 3][..], &[3, 8], &[5], &[10], &[1, 9]] {
        let mut fold = Fold::<2>::new(&inputs.queries, sizes.scale);
        let mut from = 0;
        for to in ends
            .iter()
            .map(|tiles| tiles * TILE as usize * size)
            .chain([inputs.keys.len()])
        {
            fold.push(&inputs.keys[from..to], &inputs.values[from..to]);
            from = to;
        }
        let mut out = vec![0.0; size];
        fold.finish(&mut out);
        let bits: Vec<u32> = out.into_iter().map(f32::to_bits).collect();
        assert_eq!(bits, expected, "pieces that end at tiles {ends:?}");
    }
    // Another order has other bits: nothing above would show, had all orders the same.
    let mut shifted = Fold::<2>::new(&inputs.queries, sizes.scale);
    let (first, rest) = (
        &inputs.keys[..TILE as usize * size],
        &inputs.keys[TILE as usize * size..],
    );
    let (of_first, of_rest) = inputs.values.split_at(TILE as usize * size);
    shifted.push(
        &[&rest[..9 * TILE as usize * size], first].concat(),
        &[&of_rest[..9 * TILE as usize * size], of_first].concat(),
    );
    shifted.push(&rest[9 * TILE as usize * size..], &of_rest[9 * TILE as usize * size..]);
    let mut out = vec![0.0; size];
    shifted.finish(&mut out);
    assert!(
        out.iter()
            .zip(&expected)
            .any(|(out, expected)| out.to_bits() != *expected)
    );
}

#[test]
fn plans_are_of_what_the_kernel_has() {
    for (size, columns) in [
        (0, None),
        (1, Some(1)),
        (32, Some(1)),
        (40, Some(2)),
        (80, Some(4)),
        (128, Some(4)),
        (129, Some(8)),
        (257, None),
    ] {
        let sizes = Sizes::full(4, 1, 100_000, size);
        let plan = Plan::new(&sizes, 132);
        assert_eq!(plan.map(|plan| plan.columns), columns, "head size {size}");
        if let Some(plan) = plan {
            let covered = u64::from(plan.parts * plan.warps * plan.steps) * TILE;
            assert!(
                covered >= sizes.keys && plan.blocks == u64::from(plan.parts) * sizes.rows(),
                "{plan:?}"
            );
        }
    }
    // States of many columns leave room for fewer warps.
    assert!(Plan::shaped(&Sizes::full(1, 1, 1, 256), 4, 1).is_none());
    assert!(Plan::shaped(&Sizes::full(1, 1, 1, 64), 3, 1).is_none());
    assert!(Plan::shaped(&Sizes::full(1, 1, 100, 64), 1, 1).is_none());
    assert_eq!(
        Plan::new(&Sizes::full(8, 1, 0, 64), 132).map(|plan| plan.blocks),
        Some(8)
    );
}
