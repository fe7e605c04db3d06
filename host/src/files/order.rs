//! The order of bytes and of elements.

/// Turns the bytes of every word round. Words of one byte stay.
pub(super) fn swap(bytes: &mut [u8], word: usize) {
    match word {
        2 => swap_words::<2>(bytes),
        4 => swap_words::<4>(bytes),
        8 => swap_words::<8>(bytes),
        _ => {}
    }
}

fn swap_words<const N: usize>(bytes: &mut [u8]) {
    for word in bytes.as_chunks_mut::<N>().0 {
        word.reverse();
    }
}

/// Copies an array whose first index is the fastest to one whose last is. Elements have `size` bytes: 1, 2, 4, 8 or 16.
pub(super) fn to_c(from: &[u8], shape: &[u64], size: usize, to: &mut [u8]) {
    match size {
        2 => elements_to_c::<2>(from, shape, to),
        4 => elements_to_c::<4>(from, shape, to),
        8 => elements_to_c::<8>(from, shape, to),
        16 => elements_to_c::<16>(from, shape, to),
        _ => elements_to_c::<1>(from, shape, to),
    }
}

fn elements_to_c<const N: usize>(from: &[u8], shape: &[u64], to: &mut [u8]) {
    let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
    let extents: Vec<usize> = shape.iter().map(|extent| *extent as usize).collect();
    let strides: Vec<usize> = extents
        .iter()
        .scan(1, |stride, extent| Some(std::mem::replace(stride, *stride * extent)))
        .collect();
    let (&row, &step) = match (extents.last(), strides.last()) {
        (Some(0), _) | (None, _) | (_, None) => return,
        (Some(row), Some(step)) => (row, step),
    };
    // The index of the row that is being written, and where it starts in `from`.
    let mut index = vec![0; extents.len() - 1];
    let mut start = 0;
    for row in to.chunks_exact_mut(row) {
        for (at, value) in row.iter_mut().enumerate() {
            *value = from[start + at * step];
        }
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            start += strides[axis];
            if index[axis] < extents[axis] {
                break;
            }
            start -= strides[axis] * extents[axis];
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x[i][j][k] = 100 i + 10 j + k, as elements of `size` bytes.
    fn cube(size: usize, index: impl Fn(usize) -> (usize, usize, usize)) -> Vec<u8> {
        (0..24)
            .flat_map(|at| {
                let (i, j, k) = index(at);
                let mut element = vec![0; size];
                element[size / 2] = (100 * i + 10 * j + k) as u8;
                element
            })
            .collect()
    }

    #[test]
    fn fortran_order_is_put_in_c_order() {
        for size in [1, 2, 4, 8, 16] {
            let fortran = cube(size, |at| (at % 2, at / 2 % 3, at / 6));
            let expected = cube(size, |at| (at / 12, at / 4 % 3, at % 4));
            let mut c = vec![0; 24 * size];
            to_c(&fortran, &[2, 3, 4], size, &mut c);
            assert_eq!(c, expected, "{size}");
        }
    }

    #[test]
    fn words_are_turned_round() {
        let turned = |word| {
            let mut bytes: Vec<u8> = (0..8).collect();
            swap(&mut bytes, word);
            bytes
        };
        assert_eq!(turned(1), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(turned(2), [1, 0, 3, 2, 5, 4, 7, 6]);
        assert_eq!(turned(4), [3, 2, 1, 0, 7, 6, 5, 4]);
        assert_eq!(turned(8), [7, 6, 5, 4, 3, 2, 1, 0]);
    }
}
