//! Groups of elements, which operators are for by the [manifest](crate::manifest), and classes of types that are in the same ones.

/// `if_of!(CLASS, (GROUPS), { YES } { NO })`: whether elements of a class are in one of some groups. Classes are of types that operators
/// take alike: `half` (f16, bf16), `single` (f32), `double` (f64), `integer`, `truth` (bool), `fp8`, `complex`.
#[doc(hidden)]
#[macro_export]
macro_rules! if_of {
    (half, (all $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (half, (numbers $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (half, (floats $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (half, (pairs $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (single, (all $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (single, (numbers $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (single, (floats $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (single, (singles $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (single, (pairs $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (double, (all $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (double, (numbers $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (double, (floats $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (double, (singles $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (double, (pairs $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (integer, (all $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (integer, (numbers $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (integer, (integers $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (truth, (all $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (fp8, (fp8 $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    (complex, (complex $($more:ident)*), { $($yes:tt)* } $no:tt) => { $($yes)* };
    ($class:ident, (), $yes:tt { $($no:tt)* }) => { $($no)* };
    ($class:ident, ($group:ident $($more:ident)*), $yes:tt $no:tt) => {
        $crate::if_of!($class, ($($more)*), $yes $no)
    };
}

/// The types of elements in a group: `types_of!(GROUP, then! [WITH])` calls a macro with what it is given, and them.
macro_rules! types_of {
    (all, $then:ident ! $with:tt) => {
        $then! { $with f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool }
    };
    (numbers, $then:ident ! $with:tt) => {
        $then! { $with f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 }
    };
    (integers, $then:ident ! $with:tt) => {
        $then! { $with i8 i16 i32 i64 u8 u16 u32 u64 }
    };
    (floats, $then:ident ! $with:tt) => {
        $then! { $with f16 bf16 f32 f64 }
    };
    (pairs, $then:ident ! $with:tt) => {
        $then! { $with f16 bf16 f32 f64 }
    };
    (singles, $then:ident ! $with:tt) => {
        $then! { $with f32 f64 }
    };
    (narrow, $then:ident ! $with:tt) => {
        $then! { $with f16 bf16 f32 }
    };
    (fp8, $then:ident ! $with:tt) => {
        $then! { $with f8e4m3 f8e5m2 }
    };
    (complex, $then:ident ! $with:tt) => {
        $then! { $with complex32 complex64 complex128 }
    };
}
pub(super) use types_of;
