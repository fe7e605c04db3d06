//! Elements of every type, of numbers in [-0.5, 0.5).

use bytemuck::NoUninit;
use warpfold::ops::element::{Element, Float, bf16, complex32, complex64, complex128, f8e4m3, f8e5m2, f16};

/// Elements to fill the pool with.
pub(crate) trait Sample: Element + NoUninit {
    /// One for a number in [-0.5, 0.5).
    fn of(number: f32) -> Self;
}

macro_rules! sample {
    ($($element:ty: |$number:ident| $of:expr;)*) => {
        $(impl Sample for $element {
            fn of($number: f32) -> Self {
                $of
            }
        })*
    };
}

sample! {
    f32: |number| number;
    bf16: |number| Float::from_f64(number.into());
    f16: |number| Float::from_f64(number.into());
    // Of all digits.
    f64: |number| Self::from(number) * 1.234_567_890_123_456_7;
    f8e4m3: |number| Self::from_f32(number);
    f8e5m2: |number| Self::from_f32(number);
    complex32: |number| Self::new(f16::of(number), f16::of(0.5 - number));
    complex64: |number| Self::new(number, 0.5 - number);
    complex128: |number| Self::new(f64::of(number), f64::of(0.5 - number));
    i8: |number| (number * 256.0) as Self;
    u8: |number| (number * 256.0 + 128.0) as Self;
    i16: |number| (number * 65536.0) as Self;
    i32: |number| (number * 4e9) as Self;
    i64: |number| (number * 1e19) as Self;
}
