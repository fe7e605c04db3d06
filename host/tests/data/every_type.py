"""Writes every_type.gguf: for each type that PyPI's `gguf` dequantises, blocks of it and the f32 values that `gguf` makes of them.

Run by hand, with the packages numpy and gguf (0.19.0), where the type list changes:

    python every_type.py every_type.gguf
"""

import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

random = np.random.default_rng(20_261_127)
writer = gguf.GGUFWriter(sys.argv[1], "none")
writer.add_name("every type")
writer.add_uint32("warpfold.count", 26)
writer.add_float64("warpfold.half", 0.5)
writer.add_bool("warpfold.truth", True)
writer.add_array("warpfold.words", ["one", "two", "three"])
writer.add_array("warpfold.numbers", list(range(1, 20)))


def blocks(quant, rows, columns):
    """Random bytes of blocks whose values are finite, so that no two conversions of NaN are compared."""
    size, width = gguf.GGML_QUANT_SIZES[quant]
    stored = np.zeros((rows * columns, width), np.uint8)
    for block in stored:
        while True:
            block[:] = random.integers(0, 256, width)
            with np.errstate(all="ignore"):
                values = gguf.dequantize(block[None], quant)
            if np.isfinite(values).all():
                break
    return stored.reshape(rows, columns * width)


for quant in sorted(gguf.quants._type_traits, key=int):
    size, _ = gguf.GGML_QUANT_SIZES[quant]
    if quant == Type.BF16:
        stored = random.integers(0, 0x7F80, (3, 5), np.uint16).view(np.uint8)
    else:
        # Three rows of at least two blocks: pieces end within blocks, within rows and at both.
        stored = blocks(quant, 3, max(2, 96 // size))
    writer.add_tensor(quant.name, stored, raw_dtype=quant)
    writer.add_tensor(f"{quant.name} as f32", gguf.dequantize(stored, quant).astype(np.float32))

for dtype in (np.float32, np.float16, np.float64, np.int8, np.int16, np.int32, np.int64):
    writer.add_tensor(np.dtype(dtype).name, np.arange(-3, 3).astype(dtype).reshape(2, 3))

writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
