//! Quantised blocks of `.gguf` files, and their f32 values.

use anamnesis::{F32Out, GgufType, dequantize_gguf_blocks};

/// Bytes of blocks that are read at once.
const AT_ONCE: usize = 1 << 16;

/// A type of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks(&'static BlockFacts);

/// What is known of a type of blocks.
#[derive(Debug, PartialEq, Eq)]
struct BlockFacts {
    /// Its number in files.
    number: u32,
    /// The format's name.
    name: &'static str,
    kernel: GgufType,
}

const fn facts(number: u32, name: &'static str, kernel: GgufType) -> BlockFacts {
    BlockFacts { number, name, kernel }
}

/// A line for each type.
const TABLE: [BlockFacts; 27] = [
    facts(2, "Q4_0", GgufType::Q4_0),
    facts(3, "Q4_1", GgufType::Q4_1),
    facts(6, "Q5_0", GgufType::Q5_0),
    facts(7, "Q5_1", GgufType::Q5_1),
    facts(8, "Q8_0", GgufType::Q8_0),
    facts(9, "Q8_1", GgufType::Q8_1),
    facts(10, "Q2_K", GgufType::Q2_K),
    facts(11, "Q3_K", GgufType::Q3_K),
    facts(12, "Q4_K", GgufType::Q4_K),
    facts(13, "Q5_K", GgufType::Q5_K),
    facts(14, "Q6_K", GgufType::Q6_K),
    facts(15, "Q8_K", GgufType::Q8_K),
    facts(16, "IQ2_XXS", GgufType::IQ2_XXS),
    facts(17, "IQ2_XS", GgufType::IQ2_XS),
    facts(18, "IQ3_XXS", GgufType::IQ3_XXS),
    facts(19, "IQ1_S", GgufType::IQ1_S),
    facts(20, "IQ4_NL", GgufType::IQ4_NL),
    facts(21, "IQ3_S", GgufType::IQ3_S),
    facts(22, "IQ2_S", GgufType::IQ2_S),
    facts(23, "IQ4_XS", GgufType::IQ4_XS),
    facts(29, "IQ1_M", GgufType::IQ1_M),
    facts(34, "TQ1_0", GgufType::TQ1_0),
    facts(35, "TQ2_0", GgufType::TQ2_0),
    facts(39, "MXFP4", GgufType::MXFP4),
    facts(40, "NVFP4", GgufType::NVFP4),
    facts(41, "Q1_0", GgufType::Q1_0),
    facts(42, "Q2_0", GgufType::Q2_0),
];

impl Blocks {
    /// The type of that number.
    pub fn of(number: u32) -> Option<Self> {
        TABLE.iter().find(|facts| facts.number == number).map(Self)
    }

    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Elements of a block.
    pub fn elements(self) -> usize {
        self.0.kernel.block_size()
    }

    /// Bytes of a block.
    pub fn bytes(self) -> usize {
        self.0.kernel.type_size().expect("of every type that has blocks")
    }
}

/// Turns blocks into the bytes of little-endian f32, in pieces of any length.
#[derive(Debug)]
pub struct Decoder {
    blocks: Blocks,
    stored: Vec<u8>,
    /// The rest of a block that was asked for in part.
    rest: Vec<u8>,
}

impl Decoder {
    pub fn new(blocks: Blocks) -> Self {
        Self {
            blocks,
            stored: Vec::new(),
            rest: Vec::new(),
        }
    }

    /// Fills `bytes` with the next values. `read` fills its argument with the next stored bytes.
    pub fn fill<E>(&mut self, bytes: &mut [u8], mut read: impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<(), E> {
        let (elements, block) = (self.blocks.elements(), self.blocks.bytes());
        let start = self.rest.len().min(bytes.len());
        bytes[..start].copy_from_slice(&self.rest[..start]);
        self.rest.drain(..start);
        let mut bytes = &mut bytes[start..];
        while !bytes.is_empty() {
            let count = bytes.len().div_ceil(elements * size_of::<f32>()).min(AT_ONCE / block);
            self.stored.resize(count * block, 0);
            read(&mut self.stored)?;
            let rest = &mut self.rest;
            let decoded =
                dequantize_gguf_blocks::<F32Out, _>(&self.stored, self.blocks.0.kernel, count * elements, |values| {
                    let len = values.len().min(bytes.len());
                    let (now, later) = std::mem::take(&mut bytes).split_at_mut(len);
                    now.copy_from_slice(&values[..len]);
                    rest.extend_from_slice(&values[len..]);
                    bytes = later;
                    Ok(())
                });
            decoded.expect("whole blocks of a type that has values");
        }
        Ok(())
    }
}
