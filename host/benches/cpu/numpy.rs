//! NumPy in a process of its own, which times its own calls.

use std::{
    env,
    fmt::Display,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// Prints its version, then answers each line, `OP TYPE COUNT` or `OP TYPE ROWSxLEN`, by the shortest time of a call in seconds, `-` where it has no such type or
/// operator. The array is that of our own side.
const PROGRAM: &str = "
import sys, time
import numpy as np
def norm(a): return np.sqrt(np.dot(a, a))
def logsumexp(a):
    m = a.max()
    return m + np.log(np.exp(a - m).sum())
def normed(a, squares): return a / np.sqrt(squares.mean(1, keepdims=True) + 1e-5)
def log_softmax(a):
    a = a - a.max(1, keepdims=True)
    return a - np.log(np.exp(a).sum(1, keepdims=True))
def softmax(a):
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)
def layer_norm(a):
    a = a - a.mean(1, keepdims=True)
    return normed(a, a * a) * beside[0] + beside[0]
calls = {'softmax': softmax, 'log-softmax': log_softmax, 'layer-norm': layer_norm, 'rms-norm': lambda a: normed(a, a * a) * beside[0],
         'cross-entropy': lambda a: -np.take_along_axis(log_softmax(a), beside[1], 1),
         'softmax-gradient': lambda a: a * (beside[2] - (a * beside[2]).sum(1, keepdims=True)),
         'sum': np.sum, 'min': np.min, 'max': np.max, 'mean': np.mean, 'argmax': np.argmax, 'std': lambda a: np.std(a, ddof=1),
         'l2': norm, 'logsumexp': logsumexp, 'count-nonzero': np.count_nonzero, 'any': np.any, 'all': np.all}
array = (None, None)
print(np.__version__, flush=True)
for line in sys.stdin:
    op, dtype, count = line.split()
    if op not in calls or dtype not in ('f32', 'f64', 'i32', 'u8', 'f16', 'i64'):
        print('-', flush=True)
        continue
    name = {'f': 'float', 'i': 'int', 'u': 'uint'}[dtype[0]] + {'32': '32', '64': '64', '8': '8', '16': '16'}[dtype[1:]]
    if array[0] != (dtype, count):
        shape = [int(size) for size in count.split('x')]
        a = (np.arange(np.prod(shape)) % 251 - (0 if name[0] == 'u' else 125)).astype(name).reshape(shape)
        if len(shape) == 2:
            a = a / a.dtype.type(32)
            beside = a[0], np.arange(shape[0])[:, None] * 37 % shape[1], a.copy()
        array = ((dtype, count), a)
    call, a, best, spent = calls[op], array[1], float('inf'), 0.0
    call(a)
    repeats = max(1, 200000 // a.size)
    while spent < 0.15:
        start = time.perf_counter()
        for _ in range(repeats): call(a)
        took = time.perf_counter() - start
        best, spent = min(best, took / repeats), spent + took
    print(best, flush=True)
";

/// The process.
pub struct NumPy {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Its version.
    pub version: String,
}

impl NumPy {
    /// Starts it. None where there is no Python or no NumPy: that of `cargo xtask setup` is looked at first.
    pub fn start() -> Option<Self> {
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/numpy");
        let folder = env::var_os("WARPFOLD_NUMPY").map_or(ours, Into::into);
        let mut child = Command::new("python3")
            .args(["-c", PROGRAM])
            .env("PYTHONPATH", folder)
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (to, mut from) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut version = String::new();
        from.read_line(&mut version).ok()?;
        let version = version.trim().to_owned();
        let mut this = Self {
            child,
            to,
            from,
            version,
        };
        this.seconds("sum", "f32", 1000)?;
        Some(this)
    }

    /// How long a call takes.
    pub fn seconds(&mut self, op: &str, element: &str, count: impl Display) -> Option<f64> {
        writeln!(self.to, "{op} {element} {count}").ok()?;
        let mut line = String::new();
        self.from.read_line(&mut line).ok()?;
        line.trim().parse().ok()
    }
}

impl Drop for NumPy {
    fn drop(&mut self) {
        // It is measured with, not talked to again: whether it still runs is all the same.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
