//! Memory in proportion to what is folded.

use warpfold::Error;

/// Room for so many values, and none of them yet; an error, rather than the end of the program, where there is no memory for them.
pub fn room<T>(count: u64) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    let reserved = usize::try_from(count).is_ok_and(|count| values.try_reserve_exact(count).is_ok());
    reserved.then_some(values).ok_or(Error::LengthOverflow {
        elements: count,
        element_bytes: size_of::<T>(),
    })
}
