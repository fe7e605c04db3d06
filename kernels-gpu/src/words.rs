//! What travels as 32-bit words: elements, states, answers.

/// A value that travels as 32-bit words: through shuffles, shared memory and global memory.
pub trait Words: Copy {
    /// How many words.
    const COUNT: usize;

    /// Bytes that each word takes where values are packed, as answers are: fewer than 4 for small numbers.
    const UNIT: usize = 4;

    /// Word `i`, for `i < COUNT`.
    fn word(self, i: usize) -> u32;

    /// The value whose words are `word(0)`, …, `word(COUNT - 1)`, asked for once each and in that order.
    fn from_words(word: impl FnMut(usize) -> u32) -> Self;
}

/// Values of one word and of two, by how they become words and come back.
macro_rules! words {
    ($($value:ident: |$this:ident| $word:expr, |$bits:ident| $back:expr;)*) => {
        $(impl Words for $value {
            const COUNT: usize = 1;
            const UNIT: usize = size_of::<Self>();
            #[inline]
            fn word(self, _: usize) -> u32 {
                let $this = self;
                $word
            }
            #[inline]
            fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
                let $bits = word(0);
                $back
            }
        })*
    };
    (two: $($value:ident: |$this:ident| $bits:expr, |$back_bits:ident| $back:expr;)*) => {
        $(impl Words for $value {
            const COUNT: usize = 2;
            #[inline]
            fn word(self, i: usize) -> u32 {
                let $this = self;
                ($bits >> (32 * i)) as u32
            }
            #[inline]
            fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
                let low = u64::from(word(0));
                let $back_bits = low | u64::from(word(1)) << 32;
                $back
            }
        })*
    };
}

words! {
    f32: |this| this.to_bits(), |bits| Self::from_bits(bits);
    u32: |this| this, |bits| bits;
    i32: |this| this as u32, |bits| bits as i32;
    u16: |this| u32::from(this), |bits| bits as u16;
    i16: |this| this as u32, |bits| bits as i16;
    u8: |this| u32::from(this), |bits| bits as u8;
    i8: |this| this as u32, |bits| bits as i8;
    bool: |this| u32::from(this), |bits| bits != 0;
}

words! { two:
    f64: |this| this.to_bits(), |bits| Self::from_bits(bits);
    u64: |this| this, |bits| bits;
    i64: |this| this as u64, |bits| bits as i64;
}
