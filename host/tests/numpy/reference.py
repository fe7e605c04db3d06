"""What NumPy says of the answers that `warpfold reduce` wrote.

Reads a JSON list of cases from standard input, and prints a line for each: "ok", or what is wrong with it.

Extrema, indices, counts, truths, bits and integers must be NumPy's own. Rounded answers must lie within the bound that the
documentation of their operator gives, which is derived there: the operators' pages in `kernels-gpu/src/monoids`, and the table of
accuracies in the README. What those call d is `depth`. Bounds "to first order" get a thousandth more. The references are computed by
NumPy in 80 bits where the machine has them, and their own rounding is allowed for.
"""

import json
import sys
from fractions import Fraction

import numpy as np

Long = np.longdouble
REFERENCE = float(np.finfo(Long).eps)  # of one operation, generously
SINGLE, DOUBLE = 2.0**-24, 2.0**-53
FIRST_ORDER = 1.001
NO_INDEX = np.uint64(2**64 - 1)

# Of each type of floats: the rounding of an answer, half its smallest step, its largest number, and the rounding of its sums.
FLOATS = {
    "float16": (2.0**-11, 2.0**-25, 65504.0, SINGLE),
    "bfloat16": (2.0**-8, 2.0**-134, (2 - 2.0**-7) * 2.0**127, SINGLE),
    "float32": (2.0**-24, 2.0**-150, (2 - 2.0**-23) * 2.0**127, SINGLE),
    "float64": (2.0**-53, 0.0, sys.float_info.max, DOUBLE),
}
# What NumPy does not have is written as float32; of FP8 that is what sums and norms are answered as.
AS_SINGLE = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
# What complex numbers have two of.
PARTS = {"complex64": "float32", "complex128": "float64"}
FLOATS |= {fp8: FLOATS["float32"] for fp8 in AS_SINGLE[1:]}


def gamma(count, unit):
    """Of so many roundings in a row: N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), section 3.1."""
    return count * unit / (1 - count * unit)


class Rounded:
    """An answer that may be off by a bound, and is then rounded to its type."""

    def __init__(self, exact, bound, again=True):
        self.exact, self.bound, self.again = np.asarray(exact), bound, again

    def check(self, got, dtype):
        rounding, step, largest, _ = FLOATS[dtype]
        exact = self.exact
        got = got.astype(Long)
        with np.errstate(all="ignore"):
            bound = self.bound + step + (rounding * (abs(exact) + self.bound) if self.again else 0)
            right = abs(got - exact) <= bound
            overflow = np.isinf(got) & (np.sign(got) == np.sign(exact)) & (abs(exact) + bound >= largest)
        return np.where(np.isfinite(exact), right | overflow, same(got, exact))


class Exact:
    """An answer that is NumPy's."""

    def __init__(self, answers):
        self.answers = np.asarray(answers)

    def check(self, got, _):
        return same(got, self.answers)


def same(a, b):
    return (a == b) | ((a != a) & (b != b))


def total(rows, kept):
    """The sum of each row, the sum of its magnitudes, and what the reference itself may be off by."""
    rows = np.where(kept, rows, Long(0))
    with np.errstate(all="ignore"):
        magnitudes = abs(rows).sum(axis=1)
        return rows.sum(axis=1), magnitudes, rows.shape[1] * REFERENCE * magnitudes


def exactly(row):
    """The sum of a row as a fraction, or as a float where it is none."""
    if not np.isfinite(row).all():
        with np.errstate(all="ignore"):
            return row.sum()
    mantissas, exponents = np.frexp(row.astype(np.float64))
    integers = (mantissas * 2.0**53).astype(np.int64).tolist()
    shifts = (exponents.astype(np.int64) + 1074).tolist()
    return Fraction(sum(m << s for m, s in zip(integers, shifts)), 1 << (1074 + 53))


def nearest(value, dtype):
    """A fraction rounded to float32 or float64, ties to even."""
    if not isinstance(value, Fraction):
        return np.dtype(dtype).type(value)
    if dtype == "float64":
        return np.float64(float(value))
    guess = np.float32(float(value))
    around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return min(around, key=lambda f: (abs(Fraction(float(f)) - value), int(f.view(np.uint32)) & 1))


def moments(rows, kept):
    """The mean, the second, third and fourth central moments, their number, and what bounds their errors."""
    count = kept.sum(axis=1)
    with np.errstate(all="ignore"):
        mean = total(rows, kept)[0] / count
        off = np.where(kept, rows - mean[:, None], Long(0))
        # What rounding left of the mean; of infinities nothing.
        correction = np.where(np.isfinite(mean), off.sum(axis=1) / count, 0)
        mean, off = mean + correction, np.where(kept, off - correction[:, None], Long(0))
        powers = [(off**k).sum(axis=1) / count for k in (2, 3, 4)]
        largest = np.where(kept, abs(rows), 0).max(axis=1, initial=0)
        condition = np.where(powers[0] > 0, largest / np.sqrt(powers[0]), 0)
    return count, mean, powers, largest, condition


def place(rows, largest, last, ignore):
    """Where an end of each row is."""
    find = np.argmax if largest else np.argmin
    if ignore:
        with np.errstate(all="ignore"):
            end = (np.fmax if largest else np.fmin).reduce(rows, axis=1)
        found, find = rows == end[:, None], np.argmax
    else:
        found = rows
    at = rows.shape[1] - 1 - find(found[:, ::-1], axis=1) if last else find(found, axis=1)
    at = at.astype(np.uint64)
    return np.where(np.isnan(rows).all(axis=1), NO_INDEX, at) if ignore else at


def integers(op, rows):
    """Sums and products in 64 bits, which wrap around."""
    wide = np.uint64 if rows.dtype.kind == "u" else np.int64
    with np.errstate(all="ignore"):
        return Exact((np.sum if op == "sum" else np.prod)(rows, axis=1, dtype=wide))


def complex_reference(case, rows, places):
    """Of either part of sums and means; norms are of the moduli."""
    if case["op"] in ("sum", "mean"):
        of = PARTS[case["dtype"]]
        return [reference(case, of, np.ascontiguousarray(part), places)[0] for part in (rows.real, rows.imag)]
    n = rows.shape[1]
    with np.errstate(all="ignore"):
        re, im = rows.real.astype(Long), rows.imag.astype(Long)
        squares = re * re + im * im
        squares = squares.max(axis=1, initial=0) if case["op"] == "linf" else squares.sum(axis=1)
        norm = np.sqrt(squares)
        depth = int(np.ceil(np.log2(n))) + 2 if n else 0
        return [Rounded(norm, FIRST_ORDER * norm * (gamma(depth, DOUBLE) + n * REFERENCE))]


def reference(case, dtype, rows, places=None):
    """The answers that the rows should have, an element of the list for each part of an answer. Where they are what is selected of
    more places, it is the tree of these."""
    if case["op"] == "distinct":
        # NumPy 2.4 leaves float16 with NaN unsorted on some CPUs with AVX-512, and then counts too many.
        rows = rows.astype(np.float32) if rows.dtype == np.float16 else rows
        return [Exact([len(np.unique(row)) for row in rows])]
    if dtype in PARTS:
        return complex_reference(case, rows, places)
    op, ignore, accuracy = case["op"], case["nan"] == "ignore", case["accuracy"]
    n = rows.shape[1]
    places = n if places is None else places
    depth = int(np.ceil(np.log2(places))) if places > 1 else 0
    is_float = dtype in FLOATS
    if op in ("min", "max"):
        find = {("min", False): np.minimum, ("max", False): np.maximum, ("min", True): np.fmin, ("max", True): np.fmax}
        return [Exact(find[op, ignore and is_float].reduce(rows, axis=1))]
    if op == "minmax":
        return [Exact(rows.min(axis=1)), Exact(rows.max(axis=1))]
    if op == "argminmax":
        return [Exact(place(rows, largest, False, False)) for largest in (False, True)]
    if op.startswith("arg"):
        return [Exact(place(rows, op.startswith("argmax"), op.endswith("last"), ignore and is_float))]
    if op.startswith("bit-"):
        fold = {"bit-and": np.bitwise_and, "bit-or": np.bitwise_or, "bit-xor": np.bitwise_xor}[op]
        return [Exact(fold.reduce(rows, axis=1))]
    if op in ("any", "all"):
        return [Exact((np.any if op == "any" else np.all)(rows, axis=1))]
    if op == "count-nonzero":
        return [Exact(np.count_nonzero(rows, axis=1))]
    if op in ("count-nan", "count-inf"):
        return [Exact(np.count_nonzero((np.isnan if op == "count-nan" else np.isinf)(rows), axis=1))]
    if not is_float:
        if op != "mean":
            return [integers(op, rows)]
        # The sum of 64 bits, exact here, becomes a float64, and is divided.
        mean = rows.astype(Long).sum(axis=1) / Long(n) if n else np.full(len(rows), np.nan)
        return [Rounded(mean, DOUBLE * abs(mean))]

    unit = FLOATS[dtype][3]
    narrow = dtype in ("float16", "bfloat16")
    values = rows.astype(Long)
    kept = ~np.isnan(values) if ignore else np.ones(values.shape, bool)
    with np.errstate(all="ignore"):
        if op in ("sum", "mean"):
            plain, magnitudes, own = total(values, kept)
            count = kept.sum(axis=1) if op == "mean" else 1
            if accuracy in ("exact", "compensated"):
                plain = [exactly(row) for row in rows]
                if op == "mean":
                    plain = [s / n if n else np.nan for s in plain]
                if accuracy == "exact":
                    return [Exact([nearest(s, dtype) for s in plain])]
                # A fraction to 80 bits: its float64, and that of the rest.
                plain = [Long(float(s)) + Long(float(s - Fraction(float(s)))) if isinstance(s, Fraction) else s for s in plain]
                plain = np.array(plain, dtype=Long)
                bound = unit * abs(plain) + 2 * depth**2 * unit**2 * magnitudes / count
                if op == "mean":
                    bound = bound + 2 * unit * abs(plain)
                return [Rounded(plain, FIRST_ORDER * bound + REFERENCE * abs(plain), again=False)]
            bound = gamma(depth, DOUBLE if accuracy == "wide" else unit) * magnitudes + own
            if op == "mean":
                bound = bound / count + DOUBLE * abs(plain / count)
            return [Rounded(plain / count, bound, again=narrow or op == "mean" or accuracy == "wide")]
        if op == "prod":
            product = np.where(kept, values, Long(1)).prod(axis=1)
            return [Rounded(product, gamma(max(n - 1, 0), unit + REFERENCE) * abs(product), again=narrow)]
        if op == "l1":
            _, magnitudes, own = total(values, kept)
            return [Rounded(magnitudes, gamma(depth, unit) * magnitudes + own, again=narrow)]
        if op == "linf":
            return [Exact(abs(rows).max(axis=1, initial=0))]
        if op in ("sumsq", "l2"):
            squares, _, own = total(values * values, kept)
            bound = gamma(depth + 1, DOUBLE) * squares + 2 * own
            if op == "sumsq":
                return [Rounded(squares, bound)]
            # The root halves a relative error.
            norm = np.sqrt(squares)
            return [Rounded(norm, np.where(norm > 0, bound / (2 * norm), 0) * FIRST_ORDER + DOUBLE * norm)]
        if op == "lp":
            p = case["ord"]
            largest = abs(values).max(axis=1, initial=0)
            scaled = np.where(largest[:, None] > 0, abs(values) / largest[:, None], Long(0))
            norm = largest * (scaled**p).sum(axis=1) ** (1 / Long(p))
            norm = np.where(np.isinf(largest), largest, norm)
            logs = abs(np.log(abs(values)))
            most = np.where(np.isfinite(logs), logs, 0).max(axis=1, initial=0)
            relative = (4 * most + 1 + (2.3 * depth + 3 * np.log(max(n, 1))) / p) * DOUBLE + (n / p + 4) * REFERENCE
            return [Rounded(norm, FIRST_ORDER * relative * norm)]
        if op == "logsumexp":
            largest = values.max(axis=1, initial=-np.inf)
            inner = np.exp(values - np.where(np.isfinite(largest), largest, 0)[:, None]).sum(axis=1)
            answer = np.where(np.isfinite(largest), largest + np.log(inner), largest)
            logarithm = float(np.log(max(n, 1)))
            if dtype == "float64":
                bound = (2.3 * depth + logarithm) * DOUBLE + 2 * 0.65 * 2.0**-52 * np.maximum(abs(answer), logarithm)
            else:
                bound = (2.2 * depth + 1.07 * logarithm) * SINGLE
            return [Rounded(answer, FIRST_ORDER * bound + (n + 4) * REFERENCE)]

        count, mean, (m2, m3, m4), largest, condition = moments(values, kept)
        own = (n + 8) * REFERENCE * (1 + condition) ** 2
        if op in ("var", "std", "meanvar"):
            divisor = count - Long(case["correction"])
            variance = np.where(divisor > 0, m2 * count / np.where(divisor > 0, divisor, 1), np.nan)
            relative = FIRST_ORDER * 4 * depth * (1 + condition) * DOUBLE + own
            if op == "std":
                deviation = np.sqrt(variance)
                return [Rounded(deviation, (relative / 2 + 2 * DOUBLE) * deviation)]
            variance = Rounded(variance, (relative + DOUBLE) * variance)
            mean = Rounded(mean, FIRST_ORDER * 2 * depth * largest * DOUBLE + n * REFERENCE * largest)
            return [variance] if op == "var" else [mean, variance]
        kurtosis = np.where(m2 > 0, m4 / (m2 * m2), np.nan)
        tolerance = FIRST_ORDER * 8 * depth * (1 + condition) * DOUBLE + own
        if op == "skew":
            skewness = np.where(m2 > 0, m3 / m2**1.5, np.nan)
            return [Rounded(skewness, 2 * tolerance * kurtosis**0.75 + DOUBLE * abs(skewness))]
        if op == "kurtosis":
            return [Rounded(kurtosis - 3, 3 * tolerance * kurtosis + DOUBLE * 3)]
    raise ValueError(f"no reference for {op}")


def products(case, dtype, rows, others):
    """The dot products, or the cosines, of rows and those of a second array."""
    unit, n = FLOATS[dtype][3], rows.shape[1]
    roundings = (int(np.ceil(np.log2(n))) if n > 1 else 0) + 1
    every = np.ones(rows.shape, bool)
    x, y = rows.astype(Long), others.astype(Long)
    with np.errstate(all="ignore"):
        dot, magnitudes, own = total(x * y, every)
        if case["op"] == "dot":
            bound = gamma(roundings, unit) * magnitudes + own + REFERENCE * magnitudes
            return [Rounded(dot, bound, again=dtype in ("float16", "bfloat16"))]
        norms = np.sqrt(total(x * x, every)[0]) * np.sqrt(total(y * y, every)[0])
        cosine = np.where(np.isinf(norms), np.nan, dot / norms)
        # The magnitudes are at most the norms; both sums of squares are off by as much, and five steps follow.
        return [Rounded(cosine, FIRST_ORDER * 2 * (gamma(roundings, DOUBLE) + (n + 4) * REFERENCE + 3 * DOUBLE))]


def selected(case, dtype, row, mask):
    """The answers of what a mask selects of a row."""
    if case["nan"] == "ignore":
        mask = mask & ~np.isnan(row.astype(Long))
    op, kept = case["op"], row[:, mask[0]]
    if op in ("min", "max"):
        # NumPy's own `where=`; of nothing selected its initial value is all that is left.
        if row.dtype.kind == "f":
            initial = np.inf if op == "min" else -np.inf
        elif row.dtype.kind == "b":
            initial = op == "min"
        else:
            initial = np.iinfo(row.dtype).max if op == "min" else np.iinfo(row.dtype).min
        found = (np.min if op == "min" else np.max)(row, axis=1, where=mask, initial=initial)
        return [Exact(found if kept.size or row.dtype.kind != "f" else np.full(1, np.nan))]
    if op.startswith("arg"):
        if not kept.size:
            return [Exact(np.full(1, NO_INDEX))]
        at = place(kept, op.startswith("argmax"), op.endswith("last"), False)
        return [Exact(np.flatnonzero(mask[0])[at.astype(np.int64)].astype(np.uint64))]
    if op in ("any", "all"):
        return [Exact((np.any if op == "any" else np.all)(row, axis=1, where=mask))]
    if op in ("sum", "prod") and dtype not in FLOATS:
        wide = np.uint64 if row.dtype.kind == "u" else np.int64
        with np.errstate(all="ignore"):
            return [Exact((np.sum if op == "sum" else np.prod)(row, axis=1, dtype=wide, where=mask))]
    return reference(case, dtype, kept, row.shape[1])


def answer_type(op, dtype, parts):
    """The name of the type that answers are written in."""
    kind = np.dtype("float32" if dtype in AS_SINGLE else dtype).kind
    if op in ("any", "all"):
        return "bool"
    if op.startswith(("arg", "count")) or op == "distinct":
        return "uint64"
    if op in ("sum", "prod") and kind in "iub":
        return "uint64" if kind == "u" else "int64"
    if op == "mean" and kind in "iub":
        return "float64"
    if kind == "c" and op not in ("sum", "mean"):
        return PARTS[dtype]
    return "float32" if dtype in AS_SINGLE else dtype


def rows_of(case, values):
    """The rows that the case folds, all of one length or one by one, and the shape that NumPy gives their answers."""
    if case["offsets"] is not None:
        flat, offsets = values.reshape(-1), case["offsets"]
        return [flat[None, a:b] for a, b in zip(offsets, offsets[1:])], (len(offsets) - 1,)
    axes = tuple(case["axis"]) or tuple(range(values.ndim))
    shape = np.any(values, axis=axes, keepdims=case["keepdim"]).shape
    folded = sorted(axis % values.ndim for axis in axes) if values.ndim else []
    kept = [axis for axis in range(values.ndim) if axis not in folded]
    count = int(np.prod([values.shape[axis] for axis in kept], dtype=np.int64))
    length = int(np.prod([values.shape[axis] for axis in folded], dtype=np.int64))
    return [values.transpose(kept + folded).reshape(count, length)], shape


def check(case):
    values, answers, dtype = np.load(case["values"]), np.load(case["out"]), case["dtype"]
    groups, shape = rows_of(case, values)
    if case["second"] is not None:
        second = np.broadcast_to(np.load(case["second"]), values.shape)
        references = [products(case, dtype, *both) for both in zip(groups, rows_of(case, second)[0])]
    elif case["mask"] is None:
        references = [reference(case, dtype, rows) for rows in groups]
    else:
        mask = np.broadcast_to(np.load(case["mask"]) != 0, values.shape)
        masks = [row[None] for rows in rows_of(case, mask)[0] for row in rows]
        groups = [row[None] for rows in groups for row in rows]
        references = [selected(case, dtype, row, mask) for row, mask in zip(groups, masks)]
    parts = len(references[0]) if references else 1
    if parts > 1 and dtype not in PARTS:
        shape = (*shape, parts)
    if answers.shape != shape:
        return f"shape {answers.shape}, and NumPy's is {shape}"
    wanted = answer_type(case["op"], dtype, parts)
    if answers.dtype != wanted:
        return f"answers of {answers.dtype}, and not of {wanted}"
    if answers.dtype.kind == "c":
        answers = answers.reshape(-1).view(PARTS[dtype])
    answers = answers.reshape(-1, parts)
    first = 0
    # The mean of integers is a float64 like any.
    rounded_to = PARTS.get(dtype, dtype if dtype in FLOATS else "float64")
    for rows, parts in zip(groups, references):
        for part, answer in enumerate(parts):
            got = answers[first : first + len(rows), part]
            wrong = np.flatnonzero(~np.broadcast_to(answer.check(got, rounded_to), got.shape))
            if wrong.size:
                at = wrong[0]
                right = np.broadcast_to(getattr(answer, "exact", getattr(answer, "answers", None)), got.shape)[at]
                bound = np.broadcast_to(getattr(answer, "bound", 0), got.shape)[at]
                return f"answer {first + at}, part {part}: {got[at]!r}, and NumPy's is {right!r}, give or take {bound!r}"
        first += len(rows)
    return "ok"


for case in json.load(sys.stdin):
    print(check(case))
