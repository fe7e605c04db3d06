//! Code that is written out where a loop would be none.

/// A piece of code for each number below a constant, at most 8; or 4, or 2, where that is said, and less is to be compiled. On GPUs each is written out: a loop is none that the
/// compiler unrolls where it is long, and what it indexes would lie in memory. Elsewhere it is a loop, which compiles in a tenth of the time.
#[cfg(target_arch = "nvptx64")]
macro_rules! each {
    ($i:ident < $count:expr => $do:expr) => {{
        each!(@ $i $count, $do, 0 1 2 3 4 5 6 7);
    }};
    ($i:ident < $count:expr, 4 => $do:expr) => {{
        each!(@ $i $count, $do, 0 1 2 3);
    }};
    ($i:ident < $count:expr, 2 => $do:expr) => {{
        each!(@ $i $count, $do, 0 1);
    }};
    (@ $i:ident $count:expr, $do:expr, $($number:literal)*) => {
        $(if $number < $count {
            #[allow(non_upper_case_globals)]
            const $i: usize = $number;
            $do;
        })*
    };
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! each {
    ($i:ident < $count:expr $(, $most:literal)? => $do:expr) => {
        for $i in 0..$count {
            $do;
        }
    };
}

pub(crate) use each;
