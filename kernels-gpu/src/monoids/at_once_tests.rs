//! Elements that are compared several in a word, against each by itself.

use super::{Arg, End, Extremum, Monoid, Order, Prefilter as _, Ties};
use crate::element::{Real, f8e4m3, f8e5m2};

/// An order's two ends, of the bits as they are and as those of a signed number.
const ORDERS: [Order; 4] = [
    Order::RISING,
    Order::FALLING,
    Order {
        end: End::Largest,
        signed: true,
    },
    Order {
        end: End::Smallest,
        signed: true,
    },
];

/// Each candidate at each place of a word whose other places hold one that may not change the fold; where all may, the candidate itself.
fn check<T: Real, M: Monoid<T>>(op: M, best: M::State, candidates: &[T]) {
    const { assert!(M::ALGEBRA.asks_at_once) };
    let harmless = candidates
        .iter()
        .find(|other| !op.prefilter().may_change(best, **other));
    let bits = 8 * size_of::<T>();
    let places = 32 / bits;
    let of = |value: T| value.word(0) & (u32::MAX >> (32 - bits));
    for candidate in candidates {
        let other = *harmless.unwrap_or(candidate);
        let others = (0..places).fold(0, |word, place| word | of(other) << (bits * place));
        let expected = op.prefilter().may_change(best, *candidate);
        for place in 0..places {
            let hole = others & !(u32::MAX >> (32 - bits) << (bits * place));
            let word = hole | of(*candidate) << (bits * place);
            assert_eq!(
                op.prefilter().may_change_among(best, word) != 0,
                expected,
                "{:#x} in {word:#x}",
                of(*candidate)
            );
        }
    }
}

fn check_each<T: Real>(bests: &[T], candidates: &[T]) {
    for order in ORDERS {
        for best in bests {
            let extremum = Extremum { order };
            check(extremum, extremum.lift(*best, 0), candidates);
            for ties in [Ties::First, Ties::Last] {
                let arg = Arg { order, ties };
                // Of nothing, too: any element changes that.
                for state in [arg.lift(*best, 7), Monoid::<T>::identity(arg)] {
                    check(arg, state, candidates);
                }
            }
            let both = (
                Arg {
                    order,
                    ties: Ties::First,
                },
                extremum,
            );
            check(both, both.lift(*best, 0), candidates);
        }
    }
}

#[test]
fn every_byte_against_every_byte() {
    extern crate std;
    let all: std::vec::Vec<u8> = (0..=u8::MAX).collect();
    check_each(&all, &all);
    let signed: std::vec::Vec<i8> = all.iter().map(|bits| *bits as i8).collect();
    check_each(&signed, &signed);
    let numbers: std::vec::Vec<f8e4m3> = all.iter().copied().map(f8e4m3::from_bits).collect();
    check_each(&numbers, &numbers);
    let numbers: std::vec::Vec<f8e5m2> = all.iter().copied().map(f8e5m2::from_bits).collect();
    check_each(&numbers, &numbers);
}

#[test]
fn halves_of_words_about_every_edge() {
    extern crate std;
    let edges = [
        0_u16, 0x7fff, 0x8000, 0xffff, 0x00ff, 0x0100, 0x7f00, 0x80ff, 0x1234, 0xfedc,
    ];
    let near = edges
        .iter()
        .flat_map(|edge| [edge.wrapping_sub(1), *edge, edge.wrapping_add(1)]);
    let near: std::vec::Vec<u16> = near.collect();
    check_each(&near, &near);
    let signed: std::vec::Vec<i16> = near.iter().map(|bits| *bits as i16).collect();
    check_each(&signed, &signed);
}
