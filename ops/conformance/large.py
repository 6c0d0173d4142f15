"""Each op on tensors of more than 2^31 elements: an index of 32 bits anywhere in a kernel is a wrong number there.

    python -m ops.conformance.large [OP ...] [--memory 9] [--limit 300]

A sample is called on many copies of its first row, which lie in memory once (stride 0). Where three copies give three
times the result of one, so must as many as make the largest tensor longer than 2^31. An op whose results need more
memory than is given, or whose calls do not treat rows alike, is named, not passed over.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import subprocess
import sys
import time

import numpy as np

from ops.conformance import suite

_MORE = (1 << 31) + 4096
_WINDOW = 1 << 14  # elements compared at one place
_LONG = 1 << 12  # elements of a row: kernels have an inner loop then
_GIB = 1 << 30


def _tensors_of(case):
    return [n for n, v in case.values.items() if _is_tensor(v)]


def _is_tensor(v):
    return hasattr(v, "dtype") and hasattr(v, "shape")


def _rows(proa, case, names, front, n):
    """The arguments with `n` rows of each tensor of `names`: of a new first dim, or of the one that is there."""
    ops = proa._C.ops
    out = dict(case.values)
    for name in names:
        t = out[name]
        if front:
            t = ops.unsqueeze(t, [0])
        elif len(t.shape) == 0 or t.shape[0] == 0:
            return None
        else:
            t = ops.slice(t, [0], [0], [1], [1])
        out[name] = ops.broadcast_to(t, [n, *t.shape[1:]])
    return out


def _call(proa, op, values):
    return [r for r in suite.flatten(getattr(proa._C.ops, op.name)(**values)) if r is not None]


def _same(a, b):
    return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))


def _near(a, b):
    return a.shape == b.shape and np.allclose(
        a.astype("complex128"), b.astype("complex128"), rtol=2e-2, atol=1e-2, equal_nan=True
    )


class Way:
    """How the rows of a case are made, and what one of them gives."""

    def __init__(self, case, names, front, one, batched):
        self.case, self.names, self.front, self.one, self.batched = case, names, front, one, batched

    def rows(self):
        largest = max(
            [int(np.prod(self.case.values[n].shape[0 if self.front else 1 :])) for n in self.names]
            + [int(np.prod(self.one[i].shape[1:])) for i in self.batched]
        )
        return 0 if largest == 0 else _MORE // largest + 1

    def bytes(self, n):
        return sum(n * int(np.prod(r.shape[1:])) * r.element_size() for r in self.one)


def way_of(proa, op, case):
    """A way in which three rows give what one gives, three times; or None."""
    names = _tensors_of(case)
    subsets = [names, names[:1]] + [
        list(s) for k in range(len(names) - 1, 0, -1) for s in itertools.combinations(names, k)
    ]
    for front, subset in itertools.product((True, False), subsets[:12]):
        if not subset:
            continue
        try:
            one_values, three_values = (_rows(proa, case, subset, front, n) for n in (1, 3))
            if one_values is None:
                continue
            one, three = _call(proa, op, one_values), _call(proa, op, three_values)
        except Exception:  # not a call that takes rows so
            continue
        batched = []
        for i, (a, b) in enumerate(zip(one, three)):
            if len(a.shape) and list(a.shape[:1]) == [1] and list(b.shape) == [3, *a.shape[1:]]:
                x, y = suite.to_numpy(a), suite.to_numpy(b)
                if all(_near(y[k : k + 1], x) for k in range(3)):
                    batched.append(i)
        if batched and any(int(np.prod(one[i].shape)) for i in batched):
            return Way(case, subset, front, one, batched)
    return None


def check(proa, op, memory):
    """A word about the op: what was checked, or why nothing was."""
    why = "no sample takes rows"
    small = sorted(suite.samples_of(op), key=lambda s: _size(suite.deciding_dtype(op, s)))
    for sample in itertools.chain.from_iterable((s.grown(_LONG), s) for s in small):
        try:
            way = way_of(proa, op, suite.Case(proa, op, sample))
        except Exception as e:  # of a sample that is meant to be refused
            why = f"{type(e).__name__}"
            continue
        if way is None:
            continue
        n = way.rows()
        if not n:
            continue
        if way.bytes(n) > memory * _GIB:
            why = f"{way.bytes(n) / _GIB:.0f} GiB of results"
            continue
        start = time.monotonic()
        results = _call(proa, op, _rows(proa, way.case, way.names, way.front, n))
        for i in way.batched:
            _check_rows(
                results[i], suite.to_numpy(way.one[i]), n, f"{op.name}({sample.text})[{i}], {n} rows of {way.names}"
            )
        return f"ok {time.monotonic() - start:.1f} s {sample.text}, {n} rows of {way.names}"
    return f"not checked: {why}"


def _size(name):
    return {None: 9, "bool": 1, "uint8": 1, "int8": 1, "bfloat16": 2, "float16": 3, "int16": 4, "float32": 5}.get(
        name, 8
    )


def _check_rows(result, one, n, where):
    """The first rows, the last, those about each power of two, and some at random."""
    assert list(result.shape) == [n, *one.shape[1:]], f"{where}: shape {result.shape}"
    window = max(1, _WINDOW // max(1, one.size))
    middles = [(1 << k) // max(1, one.size) for k in range(20, 34)]
    firsts = {
        0,
        n - window,
        *(m - window // 2 for m in middles),
        *map(int, np.random.default_rng(n).integers(0, n, 30)),
    }
    for first in sorted(max(0, min(f, n - window)) for f in firsts):
        part = suite.to_numpy(result[first : min(n, first + window)])
        row = np.broadcast_to(one, part.shape)
        if _same(part, row) or _near(part, row):
            continue
        bad = np.argwhere(~np.isclose(part.astype("complex128"), row, rtol=2e-2, atol=1e-2, equal_nan=True))[0]
        raise AssertionError(
            f"{where}: at {[first + int(bad[0]), *map(int, bad[1:])]} {part[tuple(bad)]}, not {one[(0, *bad[1:])]}"
        )


def _child(name, memory):
    with open("/proc/self/oom_score_adj", "w") as f:
        f.write("1000")
    import proa

    resource.setrlimit(resource.RLIMIT_DATA, (int((memory + 6) * _GIB),) * 2)
    try:
        print(check(proa, suite.all_ops()[name], memory))
    except (AssertionError, MemoryError, RuntimeError, ValueError) as e:
        print(f"{'FAILED' if isinstance(e, AssertionError) else type(e).__name__}: {str(e)[:300]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--memory", type=float, default=9, help="GiB that results may take")
    parser.add_argument("--limit", type=int, default=300, help="seconds an op")
    parser.add_argument("--child")
    args = parser.parse_args()
    if args.child:
        _child(args.child, args.memory)
        return
    for name in args.ops or suite.all_ops():
        command = [sys.executable, "-m", "ops.conformance.large", "--child", name, "--memory", str(args.memory)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=args.limit, env=os.environ)
            word = done.stdout.strip().splitlines()[-1:] or [f"died with {done.returncode}: {done.stderr[-300:]}"]
        except subprocess.TimeoutExpired:
            word = ["slower than the limit"]
        print(f"{name}: {word[0]}", flush=True)


if __name__ == "__main__":
    main()
