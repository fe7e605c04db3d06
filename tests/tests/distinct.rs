//! Numbers of distinct elements: the CPU against a set that is written down here, and what must hold of any array.

use std::collections::BTreeSet;

use proptest::prelude::*;
use warpfold::{
    cpu,
    layout::{Axes, Layout, Segments},
};
use warpfold_kernels::element::{Element, Type, bf16, complex32, complex64, f8e4m3, f8e5m2, f16};
use warpfold_tests::samples::{self, elements};

/// What an element is worth: text, so that nothing is shared with the library's keys.
trait Worth: Element {
    fn worth(self) -> String;
}

macro_rules! worth {
    ($($element:ty)*) => {$(
        impl Worth for $element {
            fn worth(self) -> String {
                self.to_string()
            }
        }
    )*};
}

worth!(bool i8 i16 i32 i64 u8 u16 u32 u64);

/// Of a float its shortest decimal, which tells any two apart.
fn of_f64(value: f64) -> String {
    match value {
        value if value.is_nan() => "nan".into(),
        0.0 => "0".into(),
        value => format!("{value:e}"),
    }
}

impl Worth for f32 {
    fn worth(self) -> String {
        of_f64(self.into())
    }
}
impl Worth for f64 {
    fn worth(self) -> String {
        of_f64(self)
    }
}
impl Worth for f16 {
    fn worth(self) -> String {
        of_f64(self.to_f64())
    }
}
impl Worth for bf16 {
    fn worth(self) -> String {
        of_f64(self.to_f64())
    }
}
impl Worth for f8e4m3 {
    fn worth(self) -> String {
        self.to_f32().worth()
    }
}
impl Worth for f8e5m2 {
    fn worth(self) -> String {
        self.to_f32().worth()
    }
}

fn of_parts(re: String, im: String) -> String {
    if re == "nan" || im == "nan" {
        "nan".into()
    } else {
        format!("{re} {im}")
    }
}

impl Worth for complex64 {
    fn worth(self) -> String {
        of_parts(self.re.worth(), self.im.worth())
    }
}
impl Worth for complex32 {
    fn worth(self) -> String {
        of_parts(self.re.worth(), self.im.worth())
    }
}

fn oracle<T: Worth>(values: &[T]) -> u64 {
    let worths: BTreeSet<String> = values.iter().map(|value| value.worth()).collect();
    worths.len() as u64
}

/// Every type of elements.
macro_rules! each_type {
    ($agrees:ident) => {
        $agrees::<bool>();
        $agrees::<i8>();
        $agrees::<i16>();
        $agrees::<i32>();
        $agrees::<i64>();
        $agrees::<u8>();
        $agrees::<u16>();
        $agrees::<u32>();
        $agrees::<u64>();
        $agrees::<f16>();
        $agrees::<bf16>();
        $agrees::<f32>();
        $agrees::<f64>();
        $agrees::<f8e4m3>();
        $agrees::<f8e5m2>();
        $agrees::<complex32>();
        $agrees::<complex64>();
    };
}

/// Bits from a sequence that is the same in each run.
fn drawn(seed: u64) -> impl Iterator<Item = u64> {
    (0_u64..).map(move |i| {
        let mut state = (i + seed * 0x1_0000_0001).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state = (state ^ state >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        state ^ state >> 32
    })
}

/// `len` elements of at most `kinds` kinds.
fn of_kinds<T: Element>(len: usize, kinds: u64, seed: u64) -> Vec<T> {
    let kinds_of: Vec<u64> = drawn(seed).take(kinds as usize).collect();
    let bits: Vec<u64> = drawn(seed + 1)
        .take(len)
        .map(|bits| kinds_of[(bits % kinds) as usize])
        .map(|bits| if T::TYPE == Type::Bool { bits & 1 } else { bits })
        .collect();
    bits.into_iter().map(T::from_bits).collect()
}

#[test]
fn every_type_agrees_with_the_oracle_about_each_edge() {
    fn agrees<T: Worth>() {
        // Nothing, a table, its edge, parts.
        for len in [0, 1, 2, 3, 255, 256, 257, 16_383, 16_384, 16_385, 40_000] {
            for kinds in [1, 2, 300, 1 << 20] {
                let values = of_kinds::<T>(len, kinds, len as u64);
                let what = (T::TYPE.name(), len, kinds);
                assert_eq!(cpu::distinct(&values), oracle(&values), "{what:?}");
            }
        }
    }
    each_type!(agrees);
}

#[test]
fn every_samples_special_values_are_told_apart_or_not() {
    fn agrees<T: Worth>() {
        for sample in samples::ALL {
            let values: Vec<T> = elements(&sample.array(T::TYPE, 5000));
            assert_eq!(cpu::distinct(&values), oracle(&values), "{}", T::TYPE.name());
        }
    }
    each_type!(agrees);
}

#[test]
fn golden_numbers() {
    assert_eq!(cpu::distinct::<f64>(&[]), 0);
    assert_eq!(cpu::distinct(&[true, false, true]), 2);
    let nan = [0x7fc0_0000, 0xffc0_0001, 0x7f80_0001, 0xffff_ffff].map(f32::from_bits);
    assert_eq!(cpu::distinct(&nan), 1);
    assert_eq!(
        cpu::distinct(&[0.0_f64, -0.0, f64::from_bits(1), f64::NAN, -f64::NAN]),
        3
    );
    assert_eq!(cpu::distinct(&[u64::MAX, 0, i64::MIN as u64, 0]), 3);
    // All values there are: of FP8 without the second zero and all NaN but one.
    let bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(cpu::distinct(&bytes), 256);
    let of = |bits: &u8| (f8e4m3::from_bits(*bits), f8e5m2::from_bits(*bits));
    let (e4m3, e5m2): (Vec<_>, Vec<_>) = bytes.iter().map(of).unzip();
    assert_eq!((cpu::distinct(&e4m3), cpu::distinct(&e5m2)), (256 - 1 - 1, 256 - 1 - 5));
    let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    assert_eq!(cpu::distinct(&halves), 65_536 - 1 - 2045);
    let number = |re, im| complex64::new(re, im);
    let complex = [
        number(0.0, -0.0),
        number(-0.0, 0.0),
        number(f32::NAN, 1.0),
        number(0.0, f32::NAN),
        number(0.0, 1.0),
    ];
    assert_eq!(cpu::distinct(&complex), 3);
    // 2¹⁸ numbers, all different, in parts; and each twice.
    let numbers: Vec<i64> = (0..1 << 18).map(|i: i64| i << 20).collect();
    assert_eq!(cpu::distinct(&numbers), 1 << 18);
    assert_eq!(cpu::distinct(&[&numbers[..], &numbers].concat()), 1 << 18);
}

#[test]
fn along_axes_each_extent_is_counted_alone() {
    fn agrees<T: Worth>() {
        for (shape, len) in [([3, 7, 50], 1050), ([40, 1, 600], 24_000), ([2, 20_000, 2], 80_000)] {
            let values = of_kinds::<T>(len, 97, 5);
            let cube = Layout::c_order(&shape).expect("few");
            let turned = cube.transposed(&[2, 0, 1]).expect("an order");
            let mirrored = cube.sliced(-1, shape[2] - 1, shape[2], -1).expect("a slice");
            for layout in [&cube, &turned, &mirrored] {
                for axes in [&[0][..], &[1], &[2], &[0, 2], &[0, 1, 2]] {
                    let axes = Axes::of(axes);
                    let extents = warpfold::layout::Extents::new(layout, &axes).expect("extents");
                    let found = cpu::distinct_axes(&values, layout, &axes).expect("answers");
                    assert_eq!(found.shape, extents.shape);
                    // Of some of many.
                    for answer in (0..extents.count).step_by(extents.count as usize / 5 + 1) {
                        let place = |i| extents.start(answer).wrapping_add_signed(extents.step(i)) as usize;
                        let mine: Vec<T> = (0..extents.len).map(|i| values[place(i)]).collect();
                        assert_eq!(found.answers[answer as usize], oracle(&mine), "{shape:?} {axes:?}");
                    }
                }
            }
        }
    }
    agrees::<f32>();
    agrees::<u8>();
    agrees::<complex64>();
    let nothing = Layout::c_order(&[3, 0]).expect("none");
    let folded = |axis| cpu::distinct_axes::<f32>(&[], &nothing, &Axes::of(&[axis])).expect("answers");
    assert_eq!((folded(1).answers, folded(0).answers), (vec![0; 3], vec![]));
    assert!(cpu::distinct_axes(&[1_u8], &nothing, &Axes::of(&[2])).is_err());
}

#[test]
fn segments_of_every_length() {
    let lens = [0, 1, 5, 0, 20_000, 3, 70_000, 0, 1];
    let segments = Segments::by_lens(lens).expect("few");
    let values = of_kinds::<i16>(segments.len() as usize, 1000, 3);
    let found = cpu::distinct_segments(&values, &segments).expect("answers");
    for (i, found) in found.into_iter().enumerate() {
        let range = segments.get(i);
        assert_eq!(found, oracle(&values[range.start as usize..range.end as usize]), "{i}");
    }
    assert!(cpu::distinct_segments(&values[1..], &segments).is_err());
}

fn arrays() -> impl Strategy<Value = Vec<f32>> {
    let element = prop_oneof![
        (-4_i8..4).prop_map(f32::from),
        any::<u32>().prop_map(f32::from_bits),
        Just(-0.0),
        Just(f32::NAN),
    ];
    prop::collection::vec(element, 0..600)
}

proptest! {
    #[test]
    fn order_does_not_matter(mut values in arrays(), seed in any::<u64>()) {
        let number = cpu::distinct(&values);
        prop_assert_eq!(number, oracle(&values));
        for (i, bits) in drawn(seed >> 32).take(values.len()).enumerate() {
            values.swap(i, bits as usize % (i + 1));
        }
        prop_assert_eq!(cpu::distinct(&values), number);
    }

    #[test]
    fn repetition_adds_nothing(values in arrays(), times in 1_usize..100) {
        prop_assert_eq!(cpu::distinct(&values.repeat(times)), cpu::distinct(&values));
    }

    #[test]
    fn of_both_there_are_no_fewer_than_of_either_and_no_more_than_together(a in arrays(), b in arrays()) {
        let (of_a, of_b) = (cpu::distinct(&a), cpu::distinct(&b));
        let both = cpu::distinct(&[a, b].concat());
        prop_assert!(of_a.max(of_b) <= both && both <= of_a + of_b);
    }
}
