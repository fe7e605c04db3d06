//! Types of elements, as Python's libraries name them.

use pyo3::{
    Bound, PyAny, PyResult,
    exceptions::PyTypeError,
    types::{PyAnyMethods as _, PyString, PyStringMethods as _, PyTypeMethods as _},
};
use warpfold::ops::element::Type;

/// Types, and NumPy's names of them, or ml_dtypes'.
const NAMES: [(Type, &str); 17] = [
    (Type::Bool, "bool"),
    (Type::I8, "int8"),
    (Type::I16, "int16"),
    (Type::I32, "int32"),
    (Type::I64, "int64"),
    (Type::U8, "uint8"),
    (Type::U16, "uint16"),
    (Type::U32, "uint32"),
    (Type::U64, "uint64"),
    (Type::F16, "float16"),
    (Type::Bf16, "bfloat16"),
    (Type::F32, "float32"),
    (Type::F64, "float64"),
    (Type::F8E4M3, "float8_e4m3fn"),
    (Type::F8E5M2, "float8_e5m2"),
    (Type::Complex64, "complex64"),
    (Type::Complex128, "complex128"),
];

/// The name of a type.
pub fn name(element: Type) -> &'static str {
    let found = NAMES.iter().find(|(listed, _)| *listed == element);
    found.map_or("complex32", |(_, name)| name)
}

/// The type of a name.
pub fn named(name: &str) -> Option<Type> {
    NAMES
        .iter()
        .find(|(_, listed)| *listed == name)
        .map(|(element, _)| *element)
}

/// The type that a buffer's format says, of elements of so many bytes; none of what is no number, or not in this machine's order of bytes.
pub fn of_format(format: &[u8], bytes: usize) -> Option<Type> {
    let code = match format {
        [b'@' | b'=' | b'<', code @ ..] => code,
        [b'>' | b'!', code @ ..] if bytes == 1 => code,
        code => code,
    };
    Some(match (code, bytes) {
        (b"?", 1) => Type::Bool,
        (b"b" | b"h" | b"i" | b"l" | b"q", _) => signed(bytes)?,
        (b"B" | b"H" | b"I" | b"L" | b"Q", _) => unsigned(bytes)?,
        (b"e", 2) => Type::F16,
        (b"f", 4) => Type::F32,
        (b"d", 8) => Type::F64,
        (b"Zf", 8) => Type::Complex64,
        (b"Zd", 16) => Type::Complex128,
        _ => return None,
    })
}

/// The format of a buffer of such elements, if there is one.
pub fn format(element: Type) -> Option<&'static str> {
    Some(match element {
        Type::Bool => "?",
        Type::I8 => "b",
        Type::I16 => "h",
        Type::I32 => "i",
        Type::I64 => "q",
        Type::U8 => "B",
        Type::U16 => "H",
        Type::U32 => "I",
        Type::U64 => "Q",
        Type::F32 => "f",
        Type::F64 => "d",
        _ => return None,
    })
}

/// DLPack's code and number of bits of a type.
pub fn to_dlpack(element: Type) -> (u8, u8) {
    let code = match element {
        Type::I8 | Type::I16 | Type::I32 | Type::I64 => 0,
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => 1,
        Type::F16 | Type::F32 | Type::F64 => 2,
        Type::Bf16 => 4,
        Type::Complex32 | Type::Complex64 | Type::Complex128 => 5,
        Type::Bool => 6,
        Type::F8E4M3 => 10,
        Type::F8E5M2 => 12,
    };
    (code, 8 * element.bytes() as u8)
}

/// The type that DLPack's code and number of bits say.
pub fn of_dlpack(code: u8, bits: u8) -> Option<Type> {
    let bytes = usize::from(bits / 8);
    Some(match (code, bits) {
        (0, _) => signed(bytes)?,
        (1, _) => unsigned(bytes)?,
        (2, 16) => Type::F16,
        (2, 32) => Type::F32,
        (2, 64) => Type::F64,
        (4, 16) => Type::Bf16,
        (5, 64) => Type::Complex64,
        (5, 128) => Type::Complex128,
        (6, 8) => Type::Bool,
        (10, 8) => Type::F8E4M3,
        (12, 8) => Type::F8E5M2,
        _ => return None,
    })
}

fn signed(bytes: usize) -> Option<Type> {
    [Type::I8, Type::I16, Type::I32, Type::I64]
        .into_iter()
        .find(|element| element.bytes() == bytes)
}

fn unsigned(bytes: usize) -> Option<Type> {
    [Type::U8, Type::U16, Type::U32, Type::U64]
        .into_iter()
        .find(|element| element.bytes() == bytes)
}

/// The type that an argument `dtype` names: a name, or what NumPy, torch, an array namespace or Python has for it.
///
/// # Errors
///
/// `TypeError`.
pub fn of_argument(dtype: &Bound<'_, PyAny>) -> PyResult<Type> {
    let found = if let Ok(name) = dtype.cast::<PyString>() {
        named(&name.to_cow()?)
    } else if let Ok(class) = dtype.cast::<pyo3::types::PyType>() {
        // NumPy's scalar types, ml_dtypes', and Python's own.
        let name = class.name()?;
        match &*name.to_cow()? {
            "float" => Some(Type::F64),
            "int" => Some(Type::I64),
            "complex" => Some(Type::Complex128),
            "bool" | "bool_" => Some(Type::Bool),
            name => named(name),
        }
    } else if let Ok(name) = dtype.getattr("name") {
        named(&name.extract::<String>()?)
    } else {
        // `torch.float32`, `array_api_strict.float32`.
        let text = dtype.str()?;
        named(text.to_cow()?.rsplit('.').next().unwrap_or_default())
    };
    let found = found.or_else(|| of_numpy(dtype).ok().flatten());
    found.ok_or_else(|| PyTypeError::new_err(format!("dtype: {} is no type that warpfold has", dtype_text(dtype))))
}

/// What NumPy makes of it, where that was imported: of `"f8"`, or of a type of C's.
fn of_numpy(dtype: &Bound<'_, PyAny>) -> PyResult<Option<Type>> {
    let py = dtype.py();
    let modules = py.import("sys")?.getattr("modules")?;
    if !modules.contains("numpy")? {
        return Ok(None);
    }
    let name = py.import("numpy")?.call_method1("dtype", (dtype,))?.getattr("name")?;
    Ok(named(&name.extract::<String>()?))
}

fn dtype_text(dtype: &Bound<'_, PyAny>) -> String {
    dtype.repr().map_or_else(|_| "it".to_owned(), |text| text.to_string())
}

/// An argument `dtype`, if there is one.
///
/// # Errors
///
/// As [`of_argument`].
pub fn asked(dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Type>> {
    dtype.map(of_argument).transpose()
}
