"""Arrays of files: what is read has the bits of what was written, and what is folded a piece at a time those of the array."""

import json
import struct
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import warpfold as wf
from conftest import bits, values

SAFETENSORS = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64",
    "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "complex64": "C64",
}  # fmt: skip
# Some runs of pieces, and a rest.
LONG = 2_100_003


def write_safetensors(path, arrays, metadata=None, cut=0):
    """Eight bytes of length, a header in JSON, the elements."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, array in arrays.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": SAFETENSORS[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    whole = struct.pack("<Q", len(text)) + text + data
    path.write_bytes(whole[: len(whole) - cut])
    return path


def write_gguf(path, tensors):
    """Version 3: (name, shape, number of the type, bytes)."""

    def text(name):
        return struct.pack("<Q", len(name)) + name.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 1) + text("general.name") + struct.pack("<I", 8) + text("a test")
    data = b""
    for name, shape, kind, raw in tensors:
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", kind, len(data))
        data += raw + bytes(-len(raw) % 32)
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


@pytest.fixture
def arrays():
    return {name: values((3, 5), name) for name in ("float32", "float64", "int16", "uint8", "bool", "complex64", "float16")}


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_reads_back(tmp_path, dtype, order):
    x = np.asarray(values((4, 3, 5), dtype), order=order)
    np.save(tmp_path / "x.npy", x)
    file = wf.open(tmp_path / "x.npy")
    (tensor,) = file.values()
    assert file.names == ["x.npy"] and (tensor.name, tensor.dtype, tensor.shape) == ("x.npy", dtype, (4, 3, 5))
    assert (tensor.size, tensor.nbytes, tensor.fault) == (60, x.nbytes, None)
    assert bits(tensor.read()) == bits(np.ascontiguousarray(x))


def test_npy_of_the_other_order_of_bytes(tmp_path):
    x = values(100, "float32")
    np.save(tmp_path / "x.npy", x.astype(">f4"))
    (tensor,) = wf.open(tmp_path / "x.npy").values()
    assert bits(tensor.read()) == bits(x)
    assert bits(tensor.reduce("sum")) == bits(wf.sum(x))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_is_a_mapping(tmp_path, arrays, save):
    path = tmp_path / "x.npz"
    save(path, **arrays)
    file = wf.open(str(path))
    assert list(file) == file.names == file.keys() == list(arrays) and len(file) == len(arrays)
    assert "float32" in file and "nothing" not in file and 7 not in file
    assert dict(file).keys() == arrays.keys() and [name for name, _ in file.items()] == list(arrays)
    for name, array in arrays.items():
        assert bits(file[name].read()) == bits(array)
        assert bits(file[name].reduce("sum")) == bits(wf.sum(array))
    with pytest.raises(KeyError, match="no array .*nothing"):
        file["nothing"]
    assert wf.open(f"{path}:int16").names == ["int16"]
    assert wf.open(f"{path}:float*").names == ["float32", "float64", "float16"]


def test_safetensors(tmp_path, arrays):
    arrays["bfloat16"] = values((7, 3), "float32").astype(ml_dtypes.bfloat16)
    arrays["float8_e4m3fn"] = values(40, "float32").astype(ml_dtypes.float8_e4m3fn)
    arrays["scalar"] = np.float32(2.5).reshape(())
    arrays["empty"] = np.zeros((0, 3), "float32")
    file = wf.open(write_safetensors(tmp_path / "x.safetensors", arrays, {"format": "pt"}))
    assert file.metadata == [("format", "pt")] and file.faults == [] and file.path == tmp_path / "x.safetensors"
    for name, array in arrays.items():
        assert file[name].dtype == array.dtype.name
        assert bits(file[name].read()) == bits(array)
    for name in ("bfloat16", "float8_e4m3fn", "float32"):
        assert bits(file[name].reduce("max")) == bits(wf.max(arrays[name]))
    assert file["empty"].reduce("sum") == 0
    with pytest.raises(ValueError, match="empty"):
        file["empty"].reduce("max")


def test_sharded_index(tmp_path, arrays):
    names = list(arrays)
    for number, some in enumerate((names[:3], names[3:])):
        write_safetensors(tmp_path / f"model-{number}.safetensors", {name: arrays[name] for name in some})
    index = {"weight_map": {name: f"model-{int(at >= 3)}.safetensors" for at, name in enumerate(names)}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    for path in (tmp_path, tmp_path / "model.safetensors.index.json"):
        file = wf.open(path)
        assert file.names == names and file.faults == []
        assert all(bits(file[name].read()) == bits(array) for name, array in arrays.items())
    (tmp_path / "model-1.safetensors").unlink()
    file = wf.open(tmp_path)
    assert file.names == names[:3] and "model-1.safetensors is missing" in file.faults[0]
    with pytest.raises(FileNotFoundError) as error:
        file[names[4]]
    assert error.value.filename == str(tmp_path / "model-1.safetensors")
    assert bits(file[names[0]].read()) == bits(arrays[names[0]])


def test_gguf(tmp_path):
    x = values((4, 64), "float32")
    scales, whole = np.array([0.5, -2.0], "float16"), np.arange(64, dtype="int8").reshape(2, 32) - 30
    blocks = b"".join(scale.tobytes() + block.tobytes() for scale, block in zip(scales, whole, strict=True))
    tensors = [("plain", (4, 64), 0, x.tobytes()), ("blocks", (64,), 8, blocks), ("new", (64,), 99, bytes(32))]
    file = wf.open(write_gguf(tmp_path / "x.gguf", tensors))
    assert file.names == ["plain", "blocks", "new"] and ("general.name", "a test") in file.metadata
    assert bits(file["plain"].read()) == bits(x)
    dequantised = (scales.astype("float32")[:, None] * whole).reshape(-1).astype("float32")
    assert file["blocks"].dtype == "Q8_0" and bits(file["blocks"].read()) == bits(dequantised)
    assert bits(file["blocks"].reduce("sum")) == bits(wf.sum(dequantised))
    for use in (file["new"].read, lambda: file["new"].reduce("sum"), lambda: wf.describe(file["new"])):
        with pytest.raises(TypeError, match="ggml type 99"):
            use()


@pytest.mark.parametrize("name", ["x.npy", "x.safetensors", "x.npz"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "float64"])
def test_pieces_have_the_bits_of_the_array(tmp_path, name, dtype):
    x = values(LONG, dtype)
    path = tmp_path / name
    if name == "x.safetensors":
        write_safetensors(path, {"x": x})
    else:
        (np.save if name == "x.npy" else np.savez)(path, x)
    (tensor,) = wf.open(path).values()
    assert bits(tensor.read()) == bits(x)
    for op in ("sum", "mean", "max", "argmin", "var", "norm", "count_nonzero"):
        assert bits(tensor.reduce(op)) == bits(getattr(wf, op)(x)), op
    assert [bits(part) for part in tensor.reduce("minmax")] == [bits(part) for part in wf.minmax(x)]


def test_options_of_reduce(tmp_path):
    x = values((50, 30), "float32")
    x[3, 4] = np.nan
    np.save(tmp_path / "x.npy", np.asfortranarray(x))
    (tensor,) = wf.open(tmp_path / "x.npy").values()
    y = np.nan_to_num(x)
    np.save(tmp_path / "y.npy", y)
    (other,) = wf.open(tmp_path / "y.npy").values()
    assert np.isnan(tensor.reduce("sum"))
    assert bits(tensor.reduce("sum", nan="ignore")) == bits(wf.sum(x, nan="ignore"))
    for accuracy in ("compensated", "wide", "exact"):
        assert bits(other.reduce("sum", accuracy=accuracy)) == bits(wf.sum(y, accuracy=accuracy))
    assert bits(other.reduce("std", correction=1)) == bits(wf.std(y, correction=1))
    assert bits(other.reduce("norm", ord=3)) == bits(wf.norm(y, ord=3))
    for axis in (0, 1, -1, (0, 1), ()):
        assert bits(tensor.reduce("sum", axis=axis)) == bits(wf.sum(x, axis=axis))
        assert bits(tensor.reduce("max", axis=axis, keepdims=True)) == bits(wf.max(x, axis=axis, keepdims=True))
    assert other.reduce("sum", keepdims=True).shape == (1, 1)
    with pytest.raises(ValueError, match="no reduction"):
        other.reduce("median")
    with pytest.raises(TypeError, match="two arrays"):
        other.reduce("dot")
    with pytest.raises(IndexError):
        other.reduce("sum", axis=2)


def test_what_is_not_there(tmp_path):
    for function in (wf.open, wf.check, wf.describe, lambda path: wf.diff(path, path)):
        with pytest.raises(FileNotFoundError) as error:
            function(tmp_path / "nothing.npy")
        assert error.value.filename == str(tmp_path / "nothing.npy") and error.value.errno == 2
    with pytest.raises(TypeError):
        wf.open(7)


def test_damaged_files_say_where(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, values(100, "float32"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    with pytest.raises(ValueError, match=r"x\.npy is cut short: 528 bytes by its header, 521 bytes there"):
        wf.open(path)
    path.write_bytes(whole.replace(b"'descr'", b"'decsr'"))
    with pytest.raises(ValueError, match="its header is damaged"):
        wf.open(path)
    np.savez_compressed(tmp_path / "x.npz", a=values(1000, "float32"), b=values(1000, "float32", 1))
    broken = bytearray((tmp_path / "x.npz").read_bytes())
    broken[300:320] = bytes(20)
    (tmp_path / "x.npz").write_bytes(broken)
    file = wf.open(tmp_path / "x.npz")
    with pytest.raises(ValueError, match=r"x\.npz:a"):
        file["a"].read()
    assert bits(file["b"].read()) == bits(values(1000, "float32", 1))
    short = write_safetensors(tmp_path / "short.safetensors", {"a": values(10, "float32"), "b": values(10, "float32")}, cut=5)
    with pytest.raises(ValueError, match=r"short\.safetensors"):
        wf.open(short)["b"].read()
    pickle = tmp_path / "x.pt"
    pickle.write_bytes(b"\x80\x02}q\x00.")
    with pytest.raises(ValueError, match="pickle"):
        wf.open(pickle)


def test_types_that_are_not_read(tmp_path):
    np.save(tmp_path / "x.npy", np.array(["a", "bc"]))
    (tensor,) = wf.open(tmp_path / "x.npy").values()
    assert tensor.dtype == "<U2"
    with pytest.raises(TypeError, match="<U2"):
        tensor.read()


MEMORY = """
import sys
from pathlib import Path
sys.modules["numpy"] = None
import warpfold as wf

def most():
    # What getrusage says began with the process that this one was forked from.
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

before = most()
(tensor,) = wf.open(sys.argv[1]).values()
assert tensor.reduce("sum") == 0.0
assert most() - before < 64 << 10, (before, most())
(small,) = wf.open(sys.argv[2]).values()
view = small.read()
assert (view.format, view.tolist()) == ("f", [[1.0, 2.0], [3.0, 4.0]]), view
assert wf.describe(sys.argv[2])["small.npy"].sum == 10.0
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_little_memory_and_no_numpy(tmp_path):
    """A file of 256 MiB, which is a hole."""
    np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "float32", (1 << 26,))
    np.save(tmp_path / "small.npy", np.array([[1, 2], [3, 4]], "float32"))
    subprocess.run([sys.executable, "-c", MEMORY, str(tmp_path / "x.npy"), str(tmp_path / "small.npy")], check=True)
