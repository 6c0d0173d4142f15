"""Cases from seeds: a right call, then changed - consistently, so that it stays right, or spoiled.

The generator is given a seed of random numbers and the number of the case, and gives the same case for the same
numbers, whatever ran before.
"""

from __future__ import annotations

import json
import random
import re

from fuzz import case as cases
from fuzz import programs, values
from fuzz.values import Again, ArrayValue, Code, TensorValue

KINDS = ("op", "public", "index", "file")
# How calls are made, with weights, by kind.
_MODES = {
    "op": {
        "call": 8,
        "differentiate": 3,
        "differentiate_twice": 1,
        "record": 2,
        "record_open": 1,
        "record_backward": 1,
        "save": 1,
    },
    "public": {
        "call": 6,
        "differentiate": 4,
        "differentiate_twice": 1,
        "record": 2,
        "record_open": 1,
        "record_backward": 2,
        "convert": 2,
        "static": 1,
        "save": 1,
    },
    "index": {"call": 4, "differentiate": 3, "record": 2, "record_open": 1, "record_backward": 1, "convert": 1},
}
_SIZES = (0, 0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 65)
_INTS = (-1, -2, 0, 1, 2, 3, 4, 7, 64, 65, 100, -100, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63))
_HUGE_INTS = (2**63, -(2**63) - 1, 2**64, 10**30)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 1e30, 1e308, float("nan"), float("inf"), -float("inf"))
_TEXTS = (
    "", "x", "none", "mean", "sum", "max", "NCHW", "NHWC", "NCL", "NDHWC", "same", "SAME", "VALID", "float32", "int64",
    "fro", "nearest", "bilinear", "reflect", "constant", "replicate", "circular", "add", "multiply", "upscale_in_train",
    "\x00", "ä€", "no such " * 40,
)  # fmt: skip
_ELEMENTS = 60_000


class Generator:
    def __init__(self, corpus: dict, seed: int, kinds=KINDS, only: str = "", modes=()):
        """`only`: a regular expression; calls of what it is found in, and no files. `modes`: only these ways to call."""
        self._seed, self._modes = seed, modes
        self._keywords = corpus["keywords"]
        self._by_target: dict[str, dict[str, list[str]]] = {}
        for kind, texts in corpus["seeds"].items():
            targets = self._by_target.setdefault(kind, {})
            for text in texts:
                # By target, so that an op with many samples is not called more often than others.
                target = text[5:].partition(",")[0].rstrip(")") if not text[5:].startswith("layer(") else text
                if not re.search(only, target):
                    continue
                targets.setdefault(target, []).append(text)
        self._targets = {kind: sorted(t) for kind, t in self._by_target.items()}
        self._kinds = [k for k in kinds if self._targets.get(k) or k in ("index", "file") and not only]
        if not self._kinds:
            raise ValueError(f"there is nothing to call that has {only!r} in its name")
        self._programs = programs.Generator(corpus)

    def case(self, number: int) -> str:
        r = random.Random(f"{self._seed} {number}")
        weights = {"op": 9, "public": 9, "index": 2, "file": 1}
        kind = r.choices(self._kinds, [weights[k] for k in self._kinds])[0]
        if kind == "file":
            return self._programs.case(r)
        if kind == "index":
            c = _index_case(r)
        else:
            target = r.choice(self._targets[kind])
            c = cases.parse(r.choice(self._by_target[kind][target]))
        c = c.with_(mode=r.choice(self._modes) if self._modes else _weighted(r, _MODES[kind]))
        return str(_bounded(self._change(r, c)))

    def _change(self, r: random.Random, c: cases.Case) -> cases.Case:
        if r.random() < 0.35:
            c = _resized(r, c)
        if r.random() < 0.3:
            c = _retyped(r, c)
        grad = c.mode != "call" or r.random() < 0.2
        c = c.rebuilt(lambda v: _laid_out(r, v, grad))
        for _ in range(r.choices((0, 1, 2, 3), (40, 35, 15, 10))[0]):
            c = self._spoiled(r, c)
        return c

    def _spoiled(self, r: random.Random, c: cases.Case) -> cases.Case:
        """The call with one thing wrong, or odd."""
        if c.target.startswith("layer(") and r.random() < 0.5:
            inner = self._spoiled(r, cases.parse(c.target))
            return c.with_(target=str(inner))
        args, kwargs = list(c.args), dict(c.kwargs)
        what = r.random()
        names = self._keywords.get(c.target, [])
        if what < 0.12 and len(names) > len(args):
            name = r.choice(names[len(args) :])
            kwargs[name] = _spoil(r, _guess(r, name), c)
        elif what < 0.16 and args:
            del args[r.randrange(len(args))]
        elif what < 0.2 and len(args) > 1:
            i, j = r.sample(range(len(args)), 2)
            args[i], args[j] = args[j], args[i]
        elif what < 0.23:
            args.insert(r.randint(0, len(args)), _guess(r, r.choice(("x", "axis", "name", "shape", "p"))))
        elif kwargs and (not args or r.random() < len(kwargs) / (len(kwargs) + len(args))):
            name = r.choice(sorted(kwargs))
            kwargs[name] = _spoil(r, kwargs[name], c)
        elif args:
            i = r.randrange(len(args))
            args[i] = _spoil(r, args[i], c)
        return c.with_(args=tuple(args), kwargs=tuple(kwargs.items()))


def _weighted(r, table):
    return r.choices(list(table), list(table.values()))[0]


# Changes that keep a call right ---------------------------------------------------


def _resized(r, c):
    """Each size equal to one that is chosen becomes another one, in tensors and in lists of sizes."""
    sizes = sorted({d for v in c.leaves() if isinstance(v, TensorValue) for d in v.dims})
    if not sizes:
        return c
    old, new = r.choice(sizes), r.choice(_SIZES)

    def change(v):
        if isinstance(v, TensorValue):
            return v.with_(dims=tuple(new if d == old else d for d in v.dims))
        return v

    c = c.rebuilt(change)

    def sizes_too(v):
        if isinstance(v, (list, tuple)) and v and all(type(e) is int for e in v) and old in v and old > 1:
            return type(v)(new if e == old else e for e in v)
        return v

    return c.with_(args=tuple(map(sizes_too, c.args)), kwargs=tuple((k, sizes_too(v)) for k, v in c.kwargs))


def _retyped(r, c):
    """The dtype of the first tensor becomes another one, in all tensors that have it."""
    dtypes = [v.dtype for v in c.leaves() if isinstance(v, TensorValue)]
    if not dtypes:
        return c
    old, new = dtypes[0], r.choice(values.DTYPES)
    return c.rebuilt(lambda v: v.with_(dtype=new) if isinstance(v, TensorValue) and v.dtype == old else v)


def _laid_out(r, v, grad):
    if not isinstance(v, TensorValue):
        return v
    if r.random() < 0.4:
        # Elements that nobody wrote are no indices.
        layout = r.choice(values.LAYOUTS)
        v = v.with_(layout=layout)
    if grad and v.dtype in values.FLOATING + ("complex64", "complex128"):
        v = v.with_(grad=r.random() < 0.8)
    return v


# Changes that spoil ---------------------------------------------------------------


def _guess(r, name):
    from fuzz import corpus

    return corpus.by_name(name)


def _spoil(r, v, c):
    if r.random() < 0.12:
        return _anything(r, c)
    if isinstance(v, TensorValue):
        return _spoil_tensor(r, v, c)
    if isinstance(v, bool):
        return r.choice((not v, None, 2, -1, "yes", [v], 0.5))
    if isinstance(v, int):
        return _spoil_int(r, v)
    if isinstance(v, float):
        return r.choice((*_FLOATS, int(v) if v == v and abs(v) < 1e9 else 0, None, [v], v * 1e10))
    if isinstance(v, str):
        return r.choice((*_TEXTS, None, 3, v.upper(), v + v))
    if isinstance(v, (list, tuple)):
        return _spoil_list(r, v, c)
    return _anything(r, c)


def _spoil_int(r, v):
    k = r.random()
    if k < 0.45:
        return r.choice(_INTS)
    if k < 0.6:
        return v + r.choice((-1, 1, 2, 10))
    if k < 0.65:
        return r.choice(_HUGE_INTS)
    if k < 0.72:
        return TensorValue(r.choice(("int64", "int32", "float32", "bool")), r.choice(((), (1,), (2,), (0,))))
    return r.choice((None, -v, [v], [v, v], (), float(v), 1.5, True, str(v), ArrayValue("int64", ())))


def _spoil_list(r, v, c):
    kind, items = type(v), list(v)
    k = r.random()
    if k < 0.12:
        return kind()
    if k < 0.24 and items:
        return kind(items[:-1])
    if k < 0.36 and items:
        return kind(items + [items[r.randrange(len(items))]])
    if k < 0.8 and items:
        i = r.randrange(len(items))
        items[i] = _spoil(r, items[i], c)
        return kind(items)
    if k < 0.86 and items:
        return items[0]
    if k < 0.9:
        return kind(items * 40)
    if k < 0.94:
        return kind([kind(items)])
    if k < 0.97:
        return TensorValue(r.choice(("int64", "int32", "float32")), (len(items),))
    return tuple(items) if kind is list else items


def _spoil_tensor(r, v, c):
    k, dims = r.random(), list(v.dims)
    if k < 0.14:
        dims.insert(r.randint(0, len(dims)), r.choice((0, 1, 1, 2, 3)))
    elif k < 0.26 and dims:
        del dims[r.randrange(len(dims))]
    elif k < 0.46 and dims:
        i = r.randrange(len(dims))
        dims[i] = r.choice((*_SIZES, max(0, dims[i] - 1), dims[i] + 1, dims[i] * 2))
    elif k < 0.52:
        r.shuffle(dims)
    elif k < 0.56:
        dims = []
    elif k < 0.66:
        return v.with_(dtype=r.choice(values.DTYPES))
    elif k < 0.78:
        numbers = ["edge", "zero", None, "one", "positive"]
        if v.dtype.startswith(("int", "uint")):
            low, high = v.values if isinstance(v.values, tuple) else (0, 3)
            numbers += [(low - 3, high + 3), (-high, 0), (high, high + 1), (2**31 - 1, 2**31), (-1, 0)]
            numbers = [n for n in numbers if not isinstance(n, tuple) or v.dtype in ("int64", "int32")]
        return v.with_(values=r.choice(numbers))
    elif k < 0.86:
        count = sum(isinstance(x, TensorValue) for x in c.leaves())
        return Again(r.randrange(count or 1), r.choice(("", "transposed", "first", "detached")))
    elif k < 0.9:
        return r.choice((2, 1.5, True, None, [], [v, v], (v,), "x", [[1.0, 2.0], [3.0]]))
    elif k < 0.94:
        return ArrayValue(r.choice(("float32", "int64", "float64", "bool", "complex64", "uint8")), v.dims)
    else:
        return v.with_(layout=r.choice(values.LAYOUTS), grad=r.random() < 0.5)
    return v.with_(dims=tuple(dims[:7]))


def _anything(r, c):
    return r.choice((
        None, True, False, 0, 1, -1, 2**31, 0.5, float("nan"), 1j, "", "x", [], (), [[]], [None], {}, ...,
        Code("object()"), Code("proa.float32"), Code("np.float32(1)"), Code("np.int64(1)"), Code("b'x'"),
        slice(None, None, -1), [1, [2, 3]], ["a"], [1.5, None], Code("proa.nn.Layer"), Code("int"),
        TensorValue(r.choice(values.DTYPES), tuple(r.choice(_SIZES[:8]) for _ in range(r.randint(0, 5)))),
        [TensorValue("float32", (2, 3)), TensorValue("float64", (3,))], ArrayValue("int64", (2,)),
    ))  # fmt: skip


def _bounded(c):
    """The call with tensors that are not large."""

    def change(v):
        if isinstance(v, (TensorValue, ArrayValue)):
            dims = list(v.dims)
            while _product(dims) > _ELEMENTS:
                i = max(range(len(dims)), key=lambda i: dims[i])
                dims[i] //= 2
            return type(v)(**{**vars(v), "dims": tuple(dims)}) if list(v.dims) != dims else v
        return v

    return c.rebuilt(change)


def _product(dims):
    n = 1
    for d in dims:
        n *= d
    return n


# Indexing ---------------------------------------------------------------------------


def _index_case(r):
    dims = tuple(r.choice((0, 1, 2, 3, 3, 4, 5)) for _ in range(r.randint(0, 4)))
    x = TensorValue(r.choice(values.DTYPES[:8]), dims)
    parts = [_index_part(r, d) for d in dims[: r.randint(0, len(dims))]]
    while r.random() < 0.2:
        parts.insert(r.randint(0, len(parts)), r.choice((None, ..., True, False, _index_part(r, 3))))
    key = parts[0] if len(parts) == 1 and r.random() < 0.7 else tuple(parts)
    if r.random() < 0.05:
        key = r.choice((dims, list(dims), "x", 1.5, [], [True] * len(dims), Again(0)))
    if r.random() < 0.5:
        return cases.Case("call", "get", (x, key))
    value = r.choice((
        0, 1.5, -(2**63), 2**64, True, float("nan"), [1, 2, 3], None, "x", Again(0), Again(0, "transposed"),
        Again(0, "first"), ArrayValue("float32", dims[-1:]),
        TensorValue(r.choice((x.dtype, "float32", "int64")), r.choice((dims, dims[1:], dims[-1:], (1,), ()))),
    ))  # fmt: skip
    return cases.Case("call", "put", (x, key, value))


def _index_part(r, n):
    """An index of a dim of n elements."""
    edge = (0, -1, n - 1, n, -n, -n - 1, 1, 2**31, -(2**63), 2**63)
    k = r.random()
    if k < 0.25:
        return r.choice(edge)
    if k < 0.5:
        ends = (None, None, *edge)
        return slice(r.choice(ends), r.choice(ends), r.choice((None, None, 1, 2, -1, -2, 0, 2**62, -(2**63))))
    if k < 0.65:
        dims = tuple(r.choice((0, 1, 2, 3)) for _ in range(r.randint(0, 3)))
        return TensorValue(r.choice(("int64", "int64", "int32", "uint8", "float32")), dims, values=(-n, max(n, 1)))
    if k < 0.8:
        return TensorValue("bool", (r.choice((n, n, n + 1)),))
    if k < 0.9:
        return [r.choice(edge[:6]) for _ in range(r.randint(0, 4))]
    return r.choice((None, ..., [True] * n, [], [[0]], 1.5, "x", ArrayValue("int64", (2,)), ArrayValue("bool", (n,))))


def load(path: str) -> dict:
    with open(path, encoding="utf-8") as file:
        return json.load(file)
