//! One table: ours, a plain read, the peers.

use std::{fmt::Debug, hint::black_box, time::Instant};

use bytemuck::NoUninit;
use warpfold::{
    cpu,
    ops::{
        All, Any, ArgMax, CountNonzero, LogSumExp, Max, Mean, Min, NormL1, NormL2, Product, Reduction, StdDev, Sum,
        element::{Element, bf16},
    },
};

use crate::{
    Print, json,
    length::length,
    peers::{Outcome, Peers, number},
    read,
};

/// Lengths that a cache holds, and ragged ones beside them.
const IN_CACHE: [usize; 6] = [1000, 1024, 1 << 12, 1 << 16, (1 << 16) + 1, 1 << 20];

/// The length of which shares of a plain read are told.
const LONG: usize = 1 << 26;

/// Pairs of a fold and a read that a share is the median of.
const PAIRS: usize = 9;

/// Types of elements, made of small integers.
trait Made: Element + NoUninit {
    fn made(number: i32) -> Self;
}

macro_rules! made {
    ($($element:ident: |$number:ident| $value:expr;)*) => {$(
        impl Made for $element {
            fn made($number: i32) -> Self {
                $value
            }
        }
    )*};
}

made! {
    f32: |number| number as f32;
    f64: |number| number.into();
    i32: |number| number;
    i64: |number| number.into();
    u8: |number| number as u8;
    bf16: |number| bf16::from_bits(((number as f32).to_bits() >> 16) as u16);
}

/// What is measured of one operator.
struct Row {
    share: f64,
    gb_per_s: f64,
    micros: [f64; IN_CACHE.len()],
}

fn values<T: Made>(count: usize) -> Vec<T> {
    let lowest = if T::TYPE.name().starts_with('u') { 0 } else { -125 };
    // 251 is prime: no two tiles are alike.
    (0..count).map(|i| T::made((i % 251) as i32 + lowest)).collect()
}

pub fn seconds<A>(mut call: impl FnMut() -> A) -> f64 {
    let start = Instant::now();
    black_box(call());
    start.elapsed().as_secs_f64()
}

fn median(mut of: [f64; PAIRS]) -> f64 {
    of.sort_by(f64::total_cmp);
    of[PAIRS / 2]
}

fn row<T: Made, R: Reduction<T>>(op: R, long: &[T]) -> Row {
    let fold = |values: &[T]| cpu::reduce(op, black_box(values)).expect("there are elements");
    fold(long);
    let pairs: [(f64, f64); PAIRS] = std::array::from_fn(|_| {
        let ours = seconds(|| fold(long));
        (ours, seconds(|| read(black_box(long))))
    });
    let micros = IN_CACHE.map(|count| {
        let values = &long[..count];
        let repeats = (1_000_000 / count).max(1);
        let shortest = (0..20)
            .map(|_| seconds(|| (0..repeats).for_each(|_| _ = black_box(fold(values)))))
            .fold(f64::INFINITY, f64::min);
        shortest / repeats as f64 * 1e6
    });
    Row {
        share: median(pairs.map(|(ours, read)| read / ours)),
        gb_per_s: size_of_val(long) as f64 / median(pairs.map(|(ours, _)| ours)) / 1e9,
        micros,
    }
}

/// Prints the table.
pub fn print(peers: &mut Peers, print: Print) {
    if print == Print::Table {
        heads();
    }
    macro_rules! rows {
        ($($element:ident: $($op:expr),*;)*) => {$(
            let long = values::<$element>(LONG);
            $(line(stringify!($element), $op, &long, peers, print);)*
        )*};
    }
    rows! {
        f32: Sum, Min, Max, Mean, CountNonzero, Any, All, ArgMax, NormL2, StdDev { correction: 1.0 }, LogSumExp, NormL1, Product;
        f64: Sum, Min, Max, Mean, CountNonzero, Any, All, ArgMax, NormL2, StdDev { correction: 1.0 }, LogSumExp;
        i32: Sum, Min, Max, Mean, CountNonzero, Any, All, ArgMax;
        bf16: Sum, Min, Max, Mean, CountNonzero, Any, All, ArgMax, NormL2, StdDev { correction: 1.0 }, LogSumExp;
        i64: Sum, Max, Mean, ArgMax;
        u8: Sum, Max, Mean, CountNonzero, ArgMax;
    }
}

fn heads() {
    println!(
        "{} threads, {}; {LONG} elements: share of a plain read, GB/s; then µs a call; in brackets the peers: {}",
        cpu::threads(),
        cpu::vector_instructions(),
        Peers::names()
    );
    print!("{:<22}{:>6}{:>22} ", "", "share", "GB/s");
    IN_CACHE.iter().for_each(|count| print!("{count:>26}"));
    println!();
}

fn line<T: Made, R: Reduction<T>>(element: &str, op: R, long: &[T], peers: &mut Peers, print: Print)
where
    R::Answer: Debug,
{
    let row = row(op, long);
    let mut of = |count: usize| {
        let answer = cpu::reduce(op, &long[..count]).expect("there are elements");
        peers.times(R::NAME, element, count, &[number(answer)])
    };
    let theirs = [LONG].into_iter().chain(IN_CACHE).map(&mut of).collect::<Vec<_>>();
    match print {
        Print::Table => row.print(&format!("{} {element}", R::NAME), &theirs, size_of::<T>()),
        Print::Json => row.print_json([R::NAME, element], &theirs, peers, size_of::<T>()),
    }
}

impl Row {
    /// As a line of the table; `theirs` is what the peers did, with the long array first.
    fn print(&self, name: &str, theirs: &[Vec<Option<Outcome>>], size: usize) {
        let bracketed = |ours: String, theirs: &[Option<Outcome>], of: &dyn Fn(f64) -> f64| {
            let each: Vec<String> = theirs
                .iter()
                .map(|outcome| Outcome::show(outcome.as_ref(), of, 1))
                .collect();
            format!("{ours} ({})", each.join(", "))
        };
        let speed = |seconds: f64| (LONG * size) as f64 / seconds / 1e9;
        let long = bracketed(format!("{:.1}", self.gb_per_s), &theirs[0], &speed);
        print!("{name:<22}{:>6.2}{long:>22} ", self.share);
        for (theirs, micros) in theirs[1..].iter().zip(self.micros) {
            print!(
                "{:>26}",
                bracketed(format!("{micros:.2}"), theirs, &|seconds| seconds * 1e6)
            );
        }
        println!();
    }

    fn print_json(&self, [op, element]: [&str; 2], theirs: &[Vec<Option<Outcome>>], peers: &Peers, size: usize) {
        let long = (LONG * size) as f64 / self.gb_per_s / 1e3;
        let ours = [long].into_iter().chain(self.micros);
        for ((count, us), theirs) in [LONG].into_iter().chain(IN_CACHE).zip(ours).zip(theirs) {
            let (case, bytes) = (length(count), count * size);
            let what = ["cpu", op, element, &case];
            json::ours(what, "us", us, Some(bytes));
            peers.print_json(what, theirs, bytes);
        }
        json::ours(["cpu", op, element, &length(LONG)], "share of a read", self.share, None);
    }
}
