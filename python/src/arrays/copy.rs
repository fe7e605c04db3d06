//! Where elements lie, and copies of arrays that are not aligned.

use std::slice;

use warpfold::ops::element::Type;

/// What addresses of elements are multiples of.
pub(super) fn alignment(element: Type) -> usize {
    match element {
        Type::Complex64 => 4,
        Type::Complex128 => 8,
        element => element.bytes(),
    }
}

/// The steps of an array in C order.
pub(super) fn c_strides(shape: &[u64]) -> Vec<i64> {
    let mut step = 1;
    let mut strides: Vec<i64> = shape
        .iter()
        .rev()
        .map(|extent| {
            let next = step * (*extent).max(1) as i64;
            std::mem::replace(&mut step, next)
        })
        .collect();
    strides.reverse();
    strides
}

/// A copy in C order of elements at those steps in bytes.
pub(super) fn copied(first: usize, shape: &[u64], steps: &[i64], element: Type) -> Vec<u128> {
    let bytes = element.bytes();
    let len: u64 = shape.iter().product();
    let mut copy = vec![0_u128; (len as usize * bytes).div_ceil(16).max(1)];
    let mut index = vec![0_u64; shape.len()];
    let places = bytemuck::cast_slice_mut::<u128, u8>(&mut copy).chunks_exact_mut(bytes);
    for place in places.take(len as usize) {
        let at: i64 = index.iter().zip(steps).map(|(i, step)| *i as i64 * step).sum();
        // SAFETY: its library says that this element is the array's.
        place.copy_from_slice(unsafe { slice::from_raw_parts((first as i64 + at) as *const u8, bytes) });
        for (i, extent) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *extent {
                break;
            }
            *i = 0;
        }
    }
    copy
}
