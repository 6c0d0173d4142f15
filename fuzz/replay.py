"""What cases are made of: tensors of every kind, and the ways to call a function with them.

    from fuzz.replay import *
    differentiate(proa.nn.functional.relu, tensor('float32', [2, 3], layout='strided', grad=True))

Each way reads every element of what comes back, so that a sanitizer sees where a result points.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import tempfile
import zlib

import numpy as np

import proa
from fuzz import wire
from fuzz.values import DTYPES

nan, inf = float("nan"), float("inf")

# Files that live for a moment need no disk, which would be waited for.
_IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

_INTEGERS = {"uint8": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64}
_NUMPY = {name: np.dtype("float32" if name == "bfloat16" else name) for name in DTYPES}
# The tensors of the case that runs, for `again`.
_made: list = []


class Differs(Exception):
    """Two ways to run a call give different results."""


class BackwardFailed(Exception):
    """A call gives a result but its backward an error."""


# Tensors ----------------------------------------------------------------------


def tensor(dtype, dims, layout="plain", grad=False, values=None):
    """A tensor with the same elements each time. See `_numbers` for `values` and `_LAYOUTS` for `layout`."""
    t = _LAYOUTS[layout](dtype, list(dims), values)
    if grad:
        t.stop_gradient = False
    _made.append(t)
    return t


def array(dtype, dims):
    """A NumPy array."""
    return _numbers(dtype, dims, None)


def again(index, view=""):
    """The tensor number `index` of the case: itself, or a view of it."""
    t = _made[index]
    if view == "transposed" and t.ndim > 1:
        return proa._C.ops.transpose(t, list(range(t.ndim))[::-1])
    if view == "first" and t.ndim and t.shape[0]:
        return t[0:1]
    if view == "detached":
        return t.detach()
    return t


# Random numbers below 1, of which each tensor takes some in a row: a generator for each would take as long as its call.
_UNIFORM = np.random.default_rng(0).random(1 << 17)


class _Random:
    """Numbers that follow from a text."""

    def __init__(self, text):
        self._at = zlib.crc32(text.encode())

    def below_one(self, dims):
        count = int(np.prod(dims, dtype=np.int64))
        self._at = (self._at * 1103515245 + 12345) % len(_UNIFORM)
        if self._at + count <= len(_UNIFORM):
            return _UNIFORM[self._at : self._at + count].reshape(dims)
        return np.resize(np.roll(_UNIFORM, -self._at), count).reshape(dims)

    def integers(self, low, high, dims):
        """From low to below high."""
        # Beyond 2**53 the last one might be rounded to high.
        return low + np.minimum((self.below_one(dims) * (high - low)).astype("int64"), high - low - 1)

    def uniform(self, low, high, dims):
        return self.below_one(dims) * (high - low) + low

    def choice(self, some, dims):
        return some[self.integers(0, len(some), dims)]


def _numbers(dtype, dims, values):
    """Elements: random small ones; integers in a range (low, high); or by name."""
    return np.asarray(_drawn(dtype, dims, values))


def _drawn(dtype, dims, values):
    rng = _Random(f"{dtype} {dims} {values} {len(_made)}")
    kind = _NUMPY[dtype]
    if isinstance(values, tuple):
        return rng.integers(values[0], max(values[0] + 1, values[1]), dims).astype(kind)
    if values == "edge":
        if dtype in _INTEGERS:
            bits = _INTEGERS[dtype] - (dtype != "uint8")
            edges = [0, 1, 2**bits - 1] + ([255, 128] if dtype == "uint8" else [-1, -2, -(2**bits), -(2**bits) + 1])
            return rng.choice(np.array(edges, kind), dims)
        edges = [0.0, -0.0, 1.0, nan, inf, -inf, 1e-45, 3e38, -65504.0]
        with np.errstate(all="ignore"):
            return rng.choice(np.array(edges), dims).astype(kind)
    if values == "zero":
        return np.zeros(dims, kind)
    if values == "one":
        return np.ones(dims, kind)
    if kind.kind == "b":
        return rng.below_one(dims) < 0.5
    if kind.kind in "iu":
        return rng.integers(0 if kind.kind == "u" or values == "positive" else -5, 6, dims).astype(kind)
    x = rng.uniform(-2, 2, dims)
    if kind.kind == "c":
        x = x + 1j * rng.uniform(-2, 2, dims)
    elif values == "positive":
        x = np.abs(x) + 0.25
    elif values == "unit":
        x = x * 0.45
    elif values == "probability":
        x = np.abs(x) * 0.45
    return x.astype(kind)


def _plain(dtype, dims, values):
    t = proa.to_tensor(_numbers(dtype, dims, values))
    return t.astype("bfloat16") if dtype == "bfloat16" else t


def _transposed(dtype, dims, values):
    return proa._C.ops.transpose(_plain(dtype, dims[::-1], values), list(range(len(dims)))[::-1])


def _strided(dtype, dims, values):
    if not dims:
        return _plain(dtype, dims, values)
    wide = _plain(dtype, [*dims[:-1], 2 * dims[-1]], values)
    return proa._C.ops.slice(wide, [len(dims) - 1], [0], [2 * dims[-1]], [2])


def _reversed(dtype, dims, values):
    if not dims:
        return _plain(dtype, dims, values)
    return _plain(dtype, dims, values)[::-1]


def _expanded(dtype, dims, values):
    narrow = [1 if i % 2 == 0 else d for i, d in enumerate(dims)]
    return proa._C.ops.broadcast_to(_plain(dtype, narrow, values), dims)


def _overlapping(dtype, dims, values):
    """A window that moves by one element, as of a convolution: elements lie in several rows."""
    n = sum(max(d, 1) - 1 for d in dims) + 1
    return proa._C.ops.as_strided(_plain(dtype, [n], values), dims, [1] * len(dims), 0)


def _offset(dtype, dims, values):
    """Does not begin where its storage does, nor end there."""
    if not dims:
        return _plain(dtype, [3], values)[1]
    return _plain(dtype, [dims[0] + 2, *dims[1:]], values)[1:-1]


def _channels_last(dtype, dims, values):
    if len(dims) < 3:
        return _plain(dtype, dims, values)
    t = _plain(dtype, [dims[0], *dims[2:], dims[1]], values)
    return proa._C.ops.transpose(t, [0, len(dims) - 1, *range(1, len(dims) - 1)])


def _uninitialised(dtype, dims, values):
    return proa.empty(dims, dtype)


def _row_sparse(dtype, dims, values):
    if not dims or not dims[0]:
        return _plain(dtype, dims, values)
    held = min(dims[0], 2)
    rows = proa.to_tensor(np.arange(held)[::-1].copy())
    return proa._C.ops.row_sparse(rows, _plain(dtype, [held, *dims[1:]], values), dims[0])


_LAYOUTS = {
    "plain": _plain,
    "transposed": _transposed,
    "strided": _strided,
    "reversed": _reversed,
    "expanded": _expanded,
    "overlapping": _overlapping,
    "offset": _offset,
    "channels_last": _channels_last,
    "uninitialised": _uninitialised,
    "row_sparse": _row_sparse,
}


# Results ----------------------------------------------------------------------


def tensors_in(result) -> list:
    """The tensors of a result, nested or not."""
    if isinstance(result, proa.Tensor):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in tensors_in(r)]
    return []


def _read(result) -> list:
    """Reads every element of the tensors in a result; returns them as arrays."""
    return [_array(t) for t in tensors_in(result) if not proa._C.is_symbolic(t)]


def _array(t):
    # The copy is made by instrumented code, unlike NumPy's view of the same memory.
    t = t.detach().clone()
    return (t.astype("float32") if t.dtype.name == "bfloat16" else t).numpy()


def _same(a, b, what, rough=False) -> None:
    """Raises Differs where results differ; float64 that is `rough` was made of numbers of fewer bits."""
    if len(a) != len(b):
        raise Differs(f"{what}: {len(b)} results, not {len(a)}")
    for i, (x, y) in enumerate(zip(a, b)):
        if x.shape != y.shape or x.dtype != y.dtype:
            raise Differs(f"{what}: result {i} is {y.shape} {y.dtype}, not {x.shape} {x.dtype}")
        with np.errstate(all="ignore"):
            # Sums over thousands of elements may be taken in another order; where they cancel, what is left is as exact
            # as the largest.
            wide = "complex128" if x.dtype.kind == "c" else "float64"
            low = rough or x.dtype.itemsize <= (8 if x.dtype.kind == "c" else 4)
            largest = np.abs(x[np.isfinite(x)].astype(wide)).max(initial=1.0)
            if not np.allclose(
                x.astype(wide),
                y.astype(wide),
                rtol=2e-2 if low else 1e-6,
                atol=1e-2 * largest if x.dtype.kind in "fc" and low else 1e-9,
                equal_nan=True,
            ):
                raise Differs(f"{what}: result {i} has other elements")


# Ways to call -----------------------------------------------------------------


def call(f, *args, **kwargs):
    """Calls as users do."""
    return _read(f(*args, **kwargs))


def differentiate(f, *args, **kwargs):
    """Calls and goes backward from all results; the gradients are those of their tensors' shapes and dtypes."""
    result = f(*args, **kwargs)
    out = _read(result)
    _backward(result)
    for t in _made:
        if t.stop_gradient or t.grad is None:
            continue
        _read(t.grad)
        if list(t.grad.shape) != list(t.shape) or t.grad.dtype != t.dtype:
            raise Differs(f"the gradient is {t.grad.shape} {t.grad.dtype}, the tensor {t.shape} {t.dtype}")
    return out


def _backward(result) -> None:
    loss = None
    for t in tensors_in(result):
        if t.stop_gradient or not (t.is_floating_point() or t.is_complex()):
            continue
        part = (t.real() if t.is_complex() else t).astype("float32").sum()
        loss = part if loss is None else loss + part
    if loss is not None and not loss.stop_gradient:
        try:
            loss.backward()
        except (MemoryError, NotImplementedError):
            raise
        except Exception as e:
            raise BackwardFailed(f"{type(e).__name__}: {e}") from e


def differentiate_twice(f, *args, **kwargs):
    """Calls, goes backward while that is recorded for a gradient too, and backward again."""
    result = f(*args, **kwargs)
    outputs = [t for t in tensors_in(result) if not t.stop_gradient and t.is_floating_point()]
    inputs = [t for t in _made if not t.stop_gradient]
    if not outputs or not inputs:
        return _read(result)
    grads = proa.grad(outputs, inputs, create_graph=True, allow_unused=True)
    _read([g for g in grads if g is not None])
    _backward([g for g in grads if g is not None])
    return _read([t.grad for t in inputs if t.grad is not None])


def _symbolic(program, feeds, v, unknown):
    """The argument with each tensor replaced by an input of the program."""
    if isinstance(v, proa.Tensor):
        name = f"x{len(feeds)}"
        feeds[name] = v.detach()
        s = program.add_input(name, [-1] * v.ndim if unknown else list(v.shape), v.dtype)
        s.stop_gradient = v.stop_gradient
        return s
    if isinstance(v, (list, tuple)):
        return type(v)(_symbolic(program, feeds, e, unknown) for e in v)
    return v


def _recorded(f, args, kwargs, unknown, backward):
    """The program of a call, its feeds and what it gives."""
    program, feeds = proa._C.Program(), {}
    args = _symbolic(program, feeds, args, unknown)
    kwargs = {k: _symbolic(program, feeds, v, unknown) for k, v in kwargs.items()}
    with program.recording():
        outputs = tensors_in(f(*args, **kwargs))
        if backward:
            inputs = [t for t in tensors_in([args, list(kwargs.values())]) if not t.stop_gradient]
            losses = [t for t in outputs if not t.stop_gradient and t.is_floating_point()]
            if inputs and losses:
                grads = proa.grad(losses, inputs, allow_unused=True)
                outputs = outputs + [g for g in grads if g is not None]
    return program, feeds, [t for t in outputs if proa._C.is_symbolic(t)]


def _copies(args):
    """Arguments whose tensors are the caller's own, for functions that change them."""
    if isinstance(args, proa.Tensor):
        t = args.detach().clone()
        t.stop_gradient = args.stop_gradient
        return t
    if isinstance(args, (list, tuple)):
        return type(args)(_copies(e) for e in args)
    if isinstance(args, dict):
        return {k: _copies(e) for k, e in args.items()}
    return args


def detached(args):
    """Arguments whose tensors have no history and need no gradient."""
    if isinstance(args, proa.Tensor):
        return args.detach()
    if isinstance(args, (list, tuple)):
        return type(args)(detached(e) for e in args)
    if isinstance(args, dict):
        return {k: detached(e) for k, e in args.items()}
    return args


def _eager(f, args, kwargs):
    """What an eager call gives, or None if it gives something else the next time, or an error."""
    results = []
    for seed in (0, 1):
        proa.seed(seed)
        try:
            results.append(_read(f(*_copies(args), **_copies(kwargs))))
        except Exception:  # pylint: disable=broad-except
            return None
    try:
        _same(*results, "")
    except Differs:
        return None
    return results[0]


def record(f, *args, **kwargs):
    """Calls, records the call, runs the program: the same results."""
    return _record(f, args, kwargs, unknown=False, backward=False)


def record_open(f, *args, **kwargs):
    """The same, recorded with unknown sizes."""
    return _record(f, args, kwargs, unknown=True, backward=False)


def record_backward(f, *args, **kwargs):
    """Records the call and its backward, and runs both."""
    return _record(f, args, kwargs, unknown=False, backward=True)


def _record(f, args, kwargs, unknown, backward):
    want = None if backward else _eager(f, args, kwargs)
    program, feeds, outputs = _recorded(f, args, kwargs, unknown, backward)
    if not outputs:
        return []
    got = _read(program.run(feeds, outputs))
    if want is not None and len(want) == len(got):
        try:
            _same(want, got, "recorded", _any_rough([args, list(kwargs.values())]))
        except Differs:
            if not _draws(f, args, kwargs, want):
                raise
    return got


def _any_rough(args):
    return any(t.dtype.name in ("float16", "bfloat16", "float32", "complex64") for t in tensors_in(args))


def _draws(f, args, kwargs, want):
    """Whether the results are random after all: of few values (one of three classes), two draws are often equal."""
    for seed in range(2, 12):
        proa.seed(seed)
        try:
            _same(want, _read(f(*_copies(args), **_copies(kwargs))), "")
        except Differs:
            return True
    return False


def save(f, *args, **kwargs):
    """Records the call, saves the program, loads it and runs it: the same results as of the program."""
    program, feeds, outputs = _recorded(f, args, kwargs, False, False)
    if not outputs:
        return []
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as folder:
        prefix = f"{folder}/model"
        proa._C.save_program(prefix, program, list(feeds), outputs)
        loaded = proa._C.load_program(prefix)
    return _read(loaded.run(list(feeds.values())))


def file(what, *args, **kwargs):
    """Records a call, saves it, changes what was saved as `what` says (`changed`), loads it and runs it."""
    program, feeds, outputs = _recorded(what.function, args, kwargs, False, False)
    if not outputs:
        return []
    if what.how == "text":
        return _read(_changed_text(program, what.number).run(list(feeds.values())))
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as folder:
        if what.how == "tensors":
            path = f"{folder}/x.pdparams"
            proa.save({"x": list(feeds.values())}, path)
            _change_file(path, "bytes", what.number)
            return _read(proa.load(path))
        prefix = f"{folder}/model"
        proa._C.save_program(prefix, program, list(feeds), outputs)
        if what.how == "parameters":
            _change_file(prefix + ".pdiparams", "bytes", what.number)
        else:
            _change_file(prefix + ".pdmodel", what.how, what.number)
        loaded = proa._C.load_program(prefix)
    return _read(loaded.run(list(feeds.values())))


def _changed_text(program, number):
    """The module of the program's changed text, whose outputs are the last things that it makes."""
    text = str(program)
    inputs = [int(n) for n in re.findall(r"^ *%(\d+) = input", text, re.MULTILINE)]
    made = [int(n) for n in re.findall(r"%(\d+)[,)% \d]* = ", text)]
    captured = [t for _, t in program.captured]
    return proa._C.parse_program(wire.changed_text(text, number), captured, inputs, made[-2:])


def _change_file(path, how, number):
    with open(path, "rb") as f:
        data = f.read()
    with open(path, "wb") as f:
        f.write(wire.changed_file(data, how, number))


@dataclasses.dataclass
class changed:  # pylint: disable=invalid-name
    """What `file` calls, and how it changes the file."""

    function: object
    how: str
    number: int


def convert(f, *args, **kwargs):
    """The call inside of a function that `to_static` converts, with gradients."""
    tensors = tensors_in([list(args), list(kwargs.values())])

    def fill(v, given):
        if isinstance(v, proa.Tensor):
            return next(given)
        if isinstance(v, (list, tuple)):
            return type(v)(fill(e, given) for e in v)
        return v

    def body(*ts):
        given = iter(ts)
        a = fill(args, given)
        return f(*a, **{k: fill(v, given) for k, v in kwargs.items()})

    result = proa.jit.to_static(body)(*tensors)
    out = _read(result)
    _backward(result)
    return out


def static(f, *args, **kwargs):
    """The call in static mode, where tensors from outside are constants of the program."""
    with _static_mode():
        main = proa.static.Program()
        with proa.static.program_guard(main):
            outputs = tensors_in(f(*args, **kwargs))
            outputs = [t for t in outputs if proa._C.is_symbolic(t)]
        if not outputs:
            return []
        return proa.static.Executor().run(main, feed={}, fetch_list=outputs)


@contextlib.contextmanager
def _static_mode():
    proa.enable_static()
    try:
        yield
    finally:
        proa.disable_static()


# Things to call ---------------------------------------------------------------


def layer(cls, *args, **kwargs):
    """A function that makes a layer and calls it: `call(layer(proa.nn.Linear, 3, 4), tensor(...))`."""

    def run(*inputs, **named):
        return cls(*args, **kwargs)(*inputs, **named)

    return run


def get(x, key):
    """x[key]"""
    return x[key]


def put(x, key, value):
    """x[key] = value, of a copy of x that has its history."""
    y = x * 1 if x.dtype.name != "bool" else x.clone()
    y[key] = value
    return y


def twice(f):
    """A function that calls f and, with the first tensor it gives, f again."""

    def run(x, *args, **kwargs):
        first = tensors_in(f(x, *args, **kwargs))
        return f(first[0] if first else x, *args, **kwargs)

    return run


# The process ------------------------------------------------------------------

_MEMORY = 512 << 20


def prepare() -> None:
    """Once a process: bounds what tensors may take, and begins as each case ends."""
    proa._C.memory_set_cap(_MEMORY)
    reset()


def reset() -> None:
    """Undoes what a case did to the process."""
    _made.clear()
    if not proa.in_dynamic_mode():
        proa.disable_static()
    proa._C.set_grad_enabled(True)
    proa._C.set_default_dtype("float32")
    proa._C.set_device("cpu")
    proa._C.set_anomaly_mode(0)
    proa.seed(0)
