//! The types that the headers of `.npy` files name: what NumPy's `dtype` takes as the `descr` of one.

use super::{
    DType,
    python::{Literal, beginning},
};

/// A type of elements, as a header has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub dtype: DType,
    /// NumPy's name; of what has none, what the header says.
    pub name: String,
    /// Bytes of one element. None where the header does not tell: Python's objects, which pickle writes.
    pub bytes: Option<u64>,
    /// The order of bytes is not the machine's.
    pub swap: bool,
}

/// The type of a `descr` that is `written` so, or why it is none.
pub(super) fn of(descr: &Literal<'_>, written: &str) -> Result<Type, String> {
    let other = |bytes| Type::other(written, bytes);
    let unknown = || format!("{} is no type that NumPy has", beginning(written));
    match descr {
        Literal::Text(text) => plain(text).ok_or_else(unknown),
        Literal::Tuple(parts) => {
            let [element, shape] = &parts[..] else {
                return Err(unknown());
            };
            let element = of(element, written)?;
            match elements(shape).ok_or_else(unknown)? {
                1 => Ok(element),
                elements => Ok(other(times(element.bytes, elements))),
            }
        }
        // A record: its fields one after the other.
        Literal::List(fields) => {
            let mut bytes = Some(0_u64);
            for field in fields {
                let Literal::Tuple(field) = field else {
                    return Err(unknown());
                };
                let (element, elements) = match &field[..] {
                    [_, element] => (element, 1),
                    [_, element, shape] => (element, elements(shape).ok_or_else(unknown)?),
                    _ => return Err(unknown()),
                };
                let field = times(of(element, written)?.bytes, elements);
                bytes = bytes.zip(field).and_then(|(bytes, field)| bytes.checked_add(field));
            }
            Ok(other(bytes))
        }
        _ => Err(unknown()),
    }
}

fn times(bytes: Option<u64>, elements: u64) -> Option<u64> {
    bytes?.checked_mul(elements)
}

/// Elements of a part of a record, whose shape is one number or several.
fn elements(shape: &Literal<'_>) -> Option<u64> {
    match shape {
        Literal::Number(_, extent) => *extent,
        Literal::Tuple(extents) => extents.iter().try_fold(1_u64, |product, extent| match extent {
            Literal::Number(_, Some(extent)) => product.checked_mul(*extent),
            _ => None,
        }),
        _ => None,
    }
}

/// NumPy's other names of its types. Those that C has are as long as the machine's.
const NAMES: [(&str, DType); 23] = [
    ("bool_", DType::Bool),
    ("byte", DType::I8),
    ("ubyte", DType::U8),
    ("short", DType::I16),
    ("ushort", DType::U16),
    ("intc", DType::I32),
    ("uintc", DType::U32),
    ("long", LONG),
    ("ulong", ULONG),
    ("longlong", DType::I64),
    ("ulonglong", DType::U64),
    ("int", DType::I64),
    ("int_", DType::I64),
    ("uint", DType::U64),
    ("intp", DType::I64),
    ("uintp", DType::U64),
    ("half", DType::F16),
    ("single", DType::F32),
    ("double", DType::F64),
    ("float", DType::F64),
    ("csingle", DType::Complex64),
    ("cdouble", DType::Complex128),
    ("complex", DType::Complex128),
];

/// The letters of types, which may have an order of bytes before them.
const LETTERS: [(&str, DType); 20] = [
    ("?", DType::Bool),
    ("b", DType::I8),
    ("B", DType::U8),
    ("h", DType::I16),
    ("H", DType::U16),
    ("i", DType::I32),
    ("I", DType::U32),
    ("l", LONG),
    ("L", ULONG),
    ("q", DType::I64),
    ("Q", DType::U64),
    ("p", DType::I64),
    ("P", DType::U64),
    ("n", DType::I64),
    ("N", DType::U64),
    ("e", DType::F16),
    ("f", DType::F32),
    ("d", DType::F64),
    ("F", DType::Complex64),
    ("D", DType::Complex128),
];

const LONG: DType = if cfg!(windows) { DType::I32 } else { DType::I64 };
const ULONG: DType = if cfg!(windows) { DType::U32 } else { DType::U64 };

/// Bytes of a long double that is written without a size.
const LONG_DOUBLE: u64 = 16;

impl Type {
    fn number(dtype: DType, swap: bool) -> Self {
        Self {
            dtype,
            name: dtype.name().to_owned(),
            bytes: dtype.bytes().map(|bytes| bytes as u64),
            swap,
        }
    }

    fn other(name: impl Into<String>, bytes: Option<u64>) -> Self {
        Self {
            dtype: DType::Other,
            name: name.into(),
            bytes,
            swap: false,
        }
    }
}

/// The type of a name, a letter, or a kind with a size: `float32`, `f` or `<f4`.
fn plain(text: &str) -> Option<Type> {
    let among = |table: &[(&str, DType)], code| table.iter().find(|(known, _)| *known == code).map(|(_, dtype)| *dtype);
    // What has no whole bytes here has other bytes in a file of NumPy's.
    let named = DType::of_numpy(text).filter(|dtype| dtype.bytes().is_some());
    if let Some(dtype) = named.or_else(|| among(&NAMES, text)) {
        return Some(Type::number(dtype, false));
    }
    let code = text.strip_prefix(['<', '>', '=', '|']).unwrap_or(text);
    let swap = text.starts_with(if cfg!(target_endian = "little") { '>' } else { '<' });
    if let Some(dtype) = among(&LETTERS, code) {
        return Some(Type::number(dtype, swap));
    }
    Some(match code {
        "O" | "O4" | "O8" | "object" | "object_" => Type::other("object", None),
        "g" | "longdouble" => Type::other("float128", Some(LONG_DOUBLE)),
        "G" | "clongdouble" => Type::other("complex256", Some(2 * LONG_DOUBLE)),
        "c" => Type::other(text, Some(1)),
        // Strings of any length, each.
        "T" => Type::other(text, None),
        "S" | "a" | "bytes" | "bytes_" | "U" | "str" | "str_" | "unicode" | "V" | "void" => Type::other(text, Some(0)),
        _ if is_date(code) => Type::other(text, Some(8)),
        // Several of one type, and records, in short.
        _ if code.contains(',') || code.starts_with(|c: char| c == '(' || c.is_ascii_digit()) => {
            Type::other(text, None)
        }
        _ => sized(text, code, swap)?,
    })
}

fn is_date(code: &str) -> bool {
    ["M8", "m8", "datetime64", "timedelta64"].iter().any(|kind| {
        code.strip_prefix(kind)
            .is_some_and(|unit| unit.is_empty() || unit.starts_with('[') && unit.ends_with(']'))
    })
}

/// The type of a kind with a size, which is in bytes but for letters of four.
fn sized(text: &str, code: &str, swap: bool) -> Option<Type> {
    let (kind, digits) = code.split_at_checked(1)?;
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let size: u64 = digits.parse().ok()?;
    let dtype = match (kind, size) {
        ("b", 1) => DType::Bool,
        ("i", 1) => DType::I8,
        ("i", 2) => DType::I16,
        ("i", 4) => DType::I32,
        ("i", 8) => DType::I64,
        ("u", 1) => DType::U8,
        ("u", 2) => DType::U16,
        ("u", 4) => DType::U32,
        ("u", 8) => DType::U64,
        ("f", 2) => DType::F16,
        ("f", 4) => DType::F32,
        ("f", 8) => DType::F64,
        ("c", 8) => DType::Complex64,
        ("c", 16) => DType::Complex128,
        // The long double of one machine or another.
        ("f", 12 | 16) => return Some(Type::other(format!("float{}", 8 * size), Some(size))),
        ("c", 24 | 32) => return Some(Type::other(format!("complex{}", 8 * size), Some(size))),
        ("S" | "a" | "V", _) => return Some(Type::other(text, Some(size))),
        ("U", _) => return Some(Type::other(text, Some(size.checked_mul(4)?))),
        _ => return None,
    };
    Some(Type::number(dtype, swap))
}

/// NumPy's code of a type in a file, little-endian; none where it has no such type.
pub(super) fn code(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "|b1",
        DType::I8 => "|i1",
        DType::U8 => "|u1",
        DType::I16 => "<i2",
        DType::U16 => "<u2",
        DType::I32 => "<i4",
        DType::U32 => "<u4",
        DType::I64 => "<i8",
        DType::U64 => "<u8",
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::Complex64 => "<c8",
        DType::Complex128 => "<c16",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{super::python::literal, *};

    fn of_text(written: &str) -> Result<Type, String> {
        of(&literal(written).unwrap(), written)
    }

    /// Each is what NumPy's `dtype` makes of it.
    #[test]
    fn numbers_have_many_names() {
        let little = cfg!(target_endian = "little");
        for (dtype, swap, names) in [
            (DType::Bool, false, "? |? <? b1 |b1 bool bool_"),
            (DType::I8, false, "b |b i1 |i1 <i1 i01 int8 byte"),
            (DType::U8, false, "B u1 |u1 uint8 ubyte"),
            (DType::I16, false, "h i2 =i2 |i2 int16 short"),
            (DType::U16, false, "H u2 =u2 uint16 ushort"),
            (DType::I32, false, "i i4 =i4 int32 intc"),
            (DType::U32, false, "I u4 =u4 uint32 uintc"),
            (DType::I64, false, "q p n i8 =i8 int64 int int_ intp longlong"),
            (DType::U64, false, "Q P N u8 =u8 uint64 uint uintp ulonglong"),
            (LONG, false, "l =l long"),
            (ULONG, false, "L =L ulong"),
            (DType::F16, false, "e f2 =f2 float16 half"),
            (DType::F32, false, "f f4 =f4 |f4 =f |f float32 single"),
            (DType::F64, false, "d f8 =f8 float64 double float"),
            (DType::Complex64, false, "F c8 =c8 complex64 csingle"),
            (DType::Complex128, false, "D c16 =c16 complex128 cdouble complex"),
            (DType::Bf16, false, "bfloat16"),
            (DType::F8E4M3, false, "float8_e4m3fn"),
            (DType::F32, !little, "<f4 <f"),
            (DType::F32, little, ">f4 >f"),
            (DType::I64, little, ">i8 >q"),
            (DType::Complex128, little, ">c16 >D"),
        ] {
            for name in names.split(' ') {
                assert_eq!(of_text(&format!("'{name}'")), Ok(Type::number(dtype, swap)), "{name}");
            }
        }
        for written in ["('<f4', ())", "('<f4', 1)", "('<f4', (1, 1))", "('<' 'f4', ())"] {
            assert_eq!(of_text(written), Ok(Type::number(DType::F32, !little)), "{written}");
        }
        for dtype in [DType::Bool, DType::U8, DType::I64, DType::F16, DType::Complex128] {
            assert_eq!(plain(code(dtype).unwrap()).unwrap().dtype, dtype);
        }
        assert_eq!(code(DType::Bf16), None);
    }

    #[test]
    fn others_are_named_and_measured() {
        for (written, name, bytes) in [
            ("'|O'", "object", None),
            ("'object'", "object", None),
            ("'T'", "T", None),
            ("'f4,i4'", "f4,i4", None),
            ("'(2,)f4'", "(2,)f4", None),
            ("'<U3'", "<U3", Some(12)),
            ("'|S3'", "|S3", Some(3)),
            ("'S'", "S", Some(0)),
            ("'|V1'", "|V1", Some(1)),
            ("'<M8[s]'", "<M8[s]", Some(8)),
            ("'m8[25us]'", "m8[25us]", Some(8)),
            ("'M8'", "M8", Some(8)),
            ("'datetime64[ns]'", "datetime64[ns]", Some(8)),
            ("'<f16'", "float128", Some(16)),
            ("'g'", "float128", Some(16)),
            ("'<c32'", "complex256", Some(32)),
            ("('<f4', (2, 3))", "", Some(24)),
            ("[]", "", Some(0)),
            (
                "[('a', '<f4'), ('b', '|u1', (3,)), (('title', 'c'), '>i2', 2)]",
                "",
                Some(11),
            ),
            (
                "[('a', [('b', '<f8'), ('', '|V4')]), ('c', ('<i4', (2,)))]",
                "",
                Some(20),
            ),
            ("[('a', '|O'), ('b', '<f4')]", "", None),
            ("[('a', '|V9223372036854775807', 3)]", "", None),
        ] {
            let name = if name.is_empty() { written } else { name };
            assert_eq!(of_text(written), Ok(Type::other(name, bytes)), "{written}");
        }
    }

    #[test]
    fn types_that_numpy_does_not_have_are_refused() {
        for written in [
            "'nonsense'",
            "''",
            "'<'",
            "'<<f4'",
            "'<float32'",
            "' f4'",
            "'f3'",
            "'i+4'",
            "'b2'",
            "'u16'",
            "'F4'",
            "'B1'",
            "'ü4'",
            "'float4_e2m1fn'",
            "'M8[s'",
            "'S99999999999999999999'",
            "1",
            "None",
            "{}",
            "()",
            "('<f4',)",
            "['<f4']",
            "[('a',)]",
            "[('a', 'nonsense')]",
            "[('a', '<f4', -1)]",
            "[('a', '<f4', None)]",
            "('<f4', 'x')",
        ] {
            assert_eq!(of_text(written), Err(format!("{written} is no type that NumPy has")));
        }
    }
}
