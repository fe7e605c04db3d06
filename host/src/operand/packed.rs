//! Items as bytes: the elements as memory and files have them, little-endian, and after them the byte of the mask.

use warpfold_kernels::element::{Item, Operands};

use crate::ops::untyped::{pack, unpacked_word};

/// Bytes of a packed item.
pub(crate) const fn bytes<I: Item>() -> usize {
    match I::OPERANDS {
        Operands::One => I::BYTES,
        Operands::Two => 2 * I::BYTES,
        Operands::Masked => I::BYTES + 1,
    }
}

/// Bytes of what the mask says of an item.
const fn mask_bytes<I: Item>() -> usize {
    match I::OPERANDS {
        Operands::One | Operands::Two => 0,
        Operands::Masked => 1,
    }
}

/// Writes an item to its bytes.
pub(crate) fn write<I: Item>(item: I, packed: &mut [u8]) {
    let (elements, mask) = packed.split_at_mut(const { bytes::<I>() - mask_bytes::<I>() });
    pack(item, elements);
    if let [selects] = mask {
        *selects = item.word(I::COUNT - 1) as u8;
    }
}

/// The item of its bytes.
pub(crate) fn read<I: Item>(packed: &[u8]) -> I {
    let (elements, mask) = packed.split_at(const { bytes::<I>() - mask_bytes::<I>() });
    I::from_words(|i| match mask {
        [selects] if i == I::COUNT - 1 => u32::from(*selects),
        _ => unpacked_word::<I>(elements, i),
    })
}

#[cfg(test)]
mod tests {
    use warpfold_kernels::element::{Element, Masked, Two, bf16, complex32, complex128, f8e4m3};

    use super::*;

    fn returns<I: Item + std::fmt::Debug>(item: I, len: usize) {
        let mut packed = vec![0; bytes::<I>()];
        assert_eq!(packed.len(), len);
        write(item, &mut packed);
        assert_eq!(read::<I>(&packed), item);
    }

    fn of<T: Element + std::fmt::Debug>(bits: u64, other: u64) {
        let (value, other) = (T::from_bits(bits), T::from_bits(other));
        let len = T::TYPE.bytes();
        returns(value, len);
        returns(Two(value, other), 2 * len);
        returns(Masked(value, true), len + 1);
        returns(Masked(other, false), len + 1);
    }

    #[test]
    fn items_return_from_their_bytes() {
        of::<bool>(1, 0);
        of::<i8>(0x80, 0x7f);
        of::<u16>(0xff01, 2);
        of::<f8e4m3>(0x81, 1);
        of::<bf16>(0x3f81, 0xbf80);
        of::<f32>(0x3f80_0001, 0x8000_0000);
        of::<i64>(u64::MAX - 3, 1 << 40);
        of::<f64>(0x3ff0_0000_0000_0001, 1 << 63);
        of::<complex32>(0x3c01_bc00, 0x8000_0001);
        returns(complex128::new(1.5, -0.0), 16);
        let mut packed = [0; 9];
        write(Masked(1.5_f64, true), &mut packed);
        assert_eq!((&packed[..8], packed[8]), (&1.5_f64.to_le_bytes()[..], 1));
    }
}
