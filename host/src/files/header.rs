//! The header of a `.safetensors` file that is written.

use super::DType;
use crate::Error;

/// Where the elements begin: at a multiple of these bytes, as the format's own writer has it.
const ALIGNMENT: usize = 8;

/// The start of a `.safetensors` file of one tensor, up to its elements: in C order and in little-endian order.
///
/// # Errors
///
/// [`Error::NotWritable`] for elements of a type that the format does not have, such as complex128;
/// [`Error::ShapeOverflow`].
pub fn safetensors_header(name: &str, dtype: DType, shape: &[u64]) -> Result<Vec<u8>, Error> {
    let code = dtype.safetensors().ok_or(Error::NotWritable {
        format: ".safetensors",
        dtype: dtype.name(),
    })?;
    let overflow = || Error::ShapeOverflow { shape: shape.to_vec() };
    let product = |bits: u64, extent: &u64| bits.checked_mul(*extent);
    let bits = shape
        .iter()
        .try_fold(u64::from(dtype.bits()), product)
        .ok_or_else(overflow)?;
    let name = serde_json::Value::from(name);
    let mut text = format!(
        "{{{name}:{{\"dtype\":\"{code}\",\"shape\":{shape:?},\"data_offsets\":[0,{}]}}}}",
        bits / 8
    );
    // Spaces fill it up.
    let length = text.len().next_multiple_of(ALIGNMENT);
    text += &" ".repeat(length - text.len());
    Ok([&(length as u64).to_le_bytes(), text.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Temporary, *};

    #[test]
    fn what_is_written_is_read() {
        for (name, dtype, shape, bytes) in [
            ("arr_0", DType::F32, &[2, 3][..], 24),
            ("a \"name\"\n", DType::Bf16, &[], 2),
            ("none", DType::U8, &[3, 0], 0),
        ] {
            let header = safetensors_header(name, dtype, shape).unwrap();
            assert_eq!(header.len() % ALIGNMENT, 0);
            let file = Temporary::new(".safetensors", &[header, vec![0; bytes]].concat());
            let tensor = file.open().unwrap().one().unwrap();
            assert_eq!(
                (tensor.name(), tensor.dtype(), tensor.shape()),
                (Some(name), dtype, shape)
            );
        }
        let error = safetensors_header("x", DType::Complex128, &[1]).unwrap_err();
        assert!(matches!(
            error,
            Error::NotWritable {
                dtype: "complex128",
                ..
            }
        ));
    }
}
