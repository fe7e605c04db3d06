"""Makes a folder that gives QuACK, Liger and FlashInfer's headers to a machine without network, where PyTorch and Triton are.

    python3 host/benches/peers/carry.py FOLDER

It needs no GPU. It runs where `pip install` has put all that README.md names, under the other machine's Python.
QuACK's compiler is too large to carry. Its kernels of the group "maps" are compiled here, for sm_90a.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# They are read when QuACK and its compiler are imported. What comes from QuACK's cache can't be exported.
os.environ.update(QUACK_ARCH="90", CUTE_DSL_ARCH="sm_90a", QUACK_CACHE_ENABLED="0")

from peers import MAP_SHAPES, FlashInfer, Quack

PACKAGES = ["quack-kernels", "liger-kernel", "apache-tvm-ffi"]

# Kernels call it where a launch fails. The compiler's is in a library of 33 MiB, of which they need no more.
STUB = r"""
#include <stdio.h>
typedef void Raise(const char *kind, const char **parts, int count);
void CuteDSLRT_TVMFFISetRaisedCudaError(Raise *raise, int code) {
    char number[16];
    const char *parts[] = {"CUDA error ", number};
    snprintf(number, sizeof number, "%d", code);
    if (raise) raise("RuntimeError", parts, 2);
}
"""


def copy_package(name, folder):
    for file in importlib.metadata.distribution(name).files:
        # Scripts lie outside the folder of packages. TVM FFI has sources that nothing here builds.
        if not {"..", "__pycache__", "3rdparty"} & set(file.parts):
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), target)


def copy_headers(folder):
    """FlashInfer's, which are all of it that is compiled there: its package need not be installed, but its files must be."""
    for file in importlib.metadata.distribution("flashinfer-python").files:
        path = file.as_posix()
        if ".dist-info/" in path or any(path.startswith(f"flashinfer/data/{headers}/") for headers in FlashInfer.HEADERS):
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), target)


def compilers():
    """How QuACK compiles what its forward functions call, by operation. Norms have weights of f32."""
    import cutlass
    from quack.cross_entropy import CrossEntropy
    from quack.rmsnorm import _compile_rmsnorm_fwd
    from quack.softmax import Softmax

    def norm(layer):
        more = dict(has_rstd=False, has_mean=False, is_layernorm=layer, per_head=False)
        return lambda x, n: _compile_rmsnorm_fwd(x, x, None, cutlass.Float32, None, None, n, **more)

    types = {"f32": cutlass.Float32, "bf16": cutlass.BFloat16}
    return types, {
        "softmax": lambda x, n: Softmax.compile(x, x, n),
        "layer_norm": norm(True),
        "rms_norm": norm(False),
        "cross_entropy": lambda x, n: CrossEntropy.compile(x, cutlass.Int64, None, n, False, False, None, None),
    }


def compile_quack(library):
    import tvm_ffi
    from quack.cache import async_compile

    # Without a GPU, the compiler takes what it would ask it from a table.
    async_compile._pin_dsl_arch("sm_90a")
    async_compile._install_gpu_blind_device_attrs()
    types, compilers_of = compilers()
    with tempfile.TemporaryDirectory() as temporary:
        objects = []
        for op, compiler in compilers_of.items():
            for dtype, cute in types.items():
                for n in sorted({n for _, n in MAP_SHAPES}):
                    name = Quack.kernel(op, dtype, n)
                    objects.append(f"{temporary}/{name}.o")
                    print(f"# {name}", file=sys.stderr)
                    compiled = compiler(cute, n)
                    compiled.export_to_c(objects[-1], name, export_only_tvm_ffi_symbols=True)
        stub = Path(temporary, "stub.c")
        stub.write_text(STUB)
        # Whoever loads the library has loaded these two: PyTorch the one, TVM FFI the other.
        shared = [find("nvidia-cuda-runtime", "libcudart.so.13"), tvm_ffi.libinfo.find_libtvm_ffi()]
        runtime = find("nvidia-cutlass-dsl-libs-cu13", "libcuda_dialect_runtime_static.a")
        flags = ["-O2", "-fPIC", "-shared", "-s", "-Wl,--no-undefined,--exclude-libs,ALL"]
        subprocess.run(["gcc", *flags, "-o", library, *objects, stub, runtime, *shared], check=True)


def find(package, name):
    return next(file.locate() for file in importlib.metadata.distribution(package).files if file.name == name)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    if folder.exists():
        sys.exit(f"{folder} is there already")
    for name in PACKAGES:
        copy_package(name, folder)
    copy_headers(folder)
    compile_quack(folder / "quack" / Quack.LIBRARY)


if __name__ == "__main__":
    main()
