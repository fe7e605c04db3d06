//! Lengths, as records name them.

/// The name of a length.
pub fn length(len: usize) -> String {
    if len.is_power_of_two() {
        format!("2^{}", len.ilog2())
    } else {
        len.to_string()
    }
}
