//! The checksum of bytes: CRC-32 as zlib and Python's `zlib.crc32` have it, eight bytes a step.

/// The polynomial of IEEE 802.3, its bits reversed.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// What a byte becomes that so many bytes come after.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut after = 1;
    while after < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[after - 1][byte];
            tables[after][byte] = before >> 8 ^ tables[0][before as usize & 0xff];
            byte += 1;
        }
        after += 1;
    }
    tables
}

/// The checksum of bytes.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut crc = u32::MAX;
    for eight in eights {
        let mixed = u64::from_le_bytes(*eight) ^ u64::from(crc);
        crc = (0..8).fold(0, |crc, at| crc ^ TABLES[7 - at][(mixed >> (8 * at)) as usize & 0xff]);
    }
    for byte in rest {
        crc = crc >> 8 ^ TABLES[0][(crc as u8 ^ byte) as usize];
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_zlibs() {
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
    }
}
