"""Random calls: a right one (python/tests/public_cases.py, layer_cases.py), of which one to three things are changed.

And random uses of what takes more than one call (random_uses.py).
"""

from __future__ import annotations

import dataclasses
import inspect
import random
import re

import numpy as np

import proa
from fuzz.beside import random_uses
from fuzz.beside.calls import Array, Call
from python.tests import layer_cases
from python.tests.public_cases import Case, function_at, public_cases

_DTYPES = ("float32", "float64", "int64", "int32", "bool")
_SPECIAL = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e30, -1e30)


class _Unsaid(Exception):
    """Something that is no data."""


def _data(v):
    if isinstance(v, proa.Tensor):
        if v.is_sparse() or v.dtype == proa.bfloat16:
            raise _Unsaid
        return Array.of(v.numpy())
    if isinstance(v, np.ndarray):
        return Array.of(v, plain=True)
    if isinstance(v, (list, tuple)):
        return type(v)(_data(x) for x in v)
    if isinstance(v, (bool, int, float, complex, str, type(None), slice, type(...))):
        return v
    raise _Unsaid


def _of_functions() -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {}
    for name, function, texts in public_cases():
        for text in texts:
            try:
                args, kwargs = Case(name, text, function).arguments()
                call = Call(name, tuple(map(_data, args)), {k: _data(v) for k, v in kwargs.items()})
            except Exception:  # pylint: disable=broad-except
                continue  # no plain data; a sample of a form that tests alone can make
            found.setdefault(name, []).append(call)
    # The same as methods, and in place.
    for name, calls in list(found.items()):
        first = calls[0].args[:1]
        if name.startswith("Tensor.") or not first or not isinstance(first[0], Array):
            continue
        home, _, last = name.rpartition(".")
        for other in (f"Tensor.{last}", f"Tensor.{last}_", f"{home}.{last}_".lstrip(".")):
            if other not in found and _exists(other):
                found[other] = [dataclasses.replace(c, target=other) for c in calls]
    return found


def _exists(path: str) -> bool:
    try:
        return callable(function_at(path))
    except AttributeError:
        return False


def _of_layers() -> dict[str, list[Call]]:
    found = {}
    for name, (made, text) in layer_cases.LAYERS.items():
        target = f"nn.{name}"
        args, kwargs = eval(f"(lambda *a, **k: (a, k))({made})")  # pylint: disable=eval-used
        inputs, _ = Case(target, text, None).arguments()
        found[target] = [Call(target, tuple(map(_data, inputs)), {}, (args, kwargs))]
    return found


def _sized(shape: tuple[int, ...] | list[int]):
    """A function that gives an array these sizes; its elements again, or the first of them."""

    def change(a):
        if not a.size:
            return np.ones(shape, a.dtype)
        return np.resize(a, shape)

    return change


class Generator:
    """`call(number)` follows from the seed and the number alone."""

    def __init__(self, seed: int, only: str = "", recorded: bool = False):
        """`only`: a regular expression that is found in the names of what is called; `recorded`: only what may be."""
        self._seed = seed
        # What memory holds that was not written is no result.
        every = {n: c for n, c in (_of_functions() | _of_layers()).items() if "empty" not in n.replace("is_empty", "")}
        self.right = {name: calls for name, calls in sorted(every.items()) if re.search(only, name)}
        self.uses = {name: make for name, make in random_uses.makers(recorded).items() if re.search(only, name)}
        self._names = [*self.right, *self.uses]
        if not self._names:
            raise ValueError(f"nothing that is called has {only!r} in its name")
        self._known: dict[str, tuple[list, list[str]]] = {}

    def call(self, number: int) -> Call:
        rng = random.Random(f"{self._seed} {number}")
        name = rng.choice(self._names)
        if name in self.uses:
            return self.uses[name](rng)
        call = rng.choice(self.right[name])
        call = dataclasses.replace(call, training=rng.random() < 0.7)
        for _ in range(rng.choice((1, 1, 2, 3))):
            call = self._changed(rng, call)
        return call

    def _parameters(self, target: str) -> tuple[list, list[str]]:
        """The parameters of what a target names, or of the layer's constructor; and texts that it has taken."""
        if target not in self._known:
            try:
                found = list(inspect.signature(function_at(target)).parameters.values())
            except (TypeError, ValueError):
                found = []
            texts = {"mean", "sum", "none"}
            for call in self.right[target]:
                made = [*call.made[0], *call.made[1].values()] if call.made else []
                texts |= {v for v in (*call.leaves(), *made) if isinstance(v, str)}
            texts |= {p.default for p in found if isinstance(p.default, str)}
            self._known[target] = [p for p in found if p.name != "name"], sorted(texts)
        return self._known[target]

    def _changed(self, rng, call: Call) -> Call:
        parameters, texts = self._parameters(call.target)
        kind = rng.random()
        if kind < 0.3:
            return _with_another_size(rng, call)
        if kind < 0.4:
            double = lambda a: a.astype("float64") if a.dtype == np.float32 else a
            return call.rebuilt(lambda x: x.changed(double))
        if kind < 0.6 and parameters:
            return _with_an_argument_more(rng, call, parameters, texts)
        if call.made is not None and kind < 0.8:
            args, kwargs = _one_changed(rng, *call.made, texts)
            return dataclasses.replace(call, made=(args, kwargs))
        args, kwargs = _one_changed(rng, call.args, call.kwargs, texts)
        return dataclasses.replace(call, args=args, kwargs=kwargs)


def _with_another_size(rng, call: Call) -> Call:
    """One size everywhere, so that what fitted fits."""
    sizes = [n for a in call.arrays() for n in a.shape]
    if not sizes:
        return call
    old = rng.choice(sizes)
    new = 0 if rng.random() < 0.04 else rng.choice((1, 2, 3, 4, 5, 7, old + 1))
    return call.rebuilt(lambda x: x.changed(_sized([new if n == old else n for n in x.shape])))


def _with_an_argument_more(rng, call: Call, parameters, texts) -> Call:
    """An argument that was not given: the default, changed."""
    args, kwargs = call.made if call.made is not None else (call.args, call.kwargs)
    at = rng.randrange(len(parameters))
    parameter = parameters[at]
    if at < len(args) or parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        return call
    default = None if parameter.default is parameter.empty else parameter.default
    if not isinstance(default, (bool, int, float, str, type(None))):
        return call
    kwargs = {**kwargs, parameter.name: _changed_value(rng, default, texts)}
    if call.made is not None:
        return dataclasses.replace(call, made=(args, kwargs))
    return dataclasses.replace(call, kwargs=kwargs)


def _one_changed(rng, args, kwargs, texts):
    args, kwargs = list(args), dict(kwargs)
    if args or kwargs:
        slot = rng.choice([*range(len(args)), *kwargs])
        into = args if isinstance(slot, int) else kwargs
        into[slot] = _changed_argument(rng, into[slot], texts)
    return tuple(args), kwargs


def _changed_argument(rng, v, texts):
    if isinstance(v, Array):
        return _changed_array(rng, v)
    if not isinstance(v, (list, tuple)) or not v:
        return _changed_value(rng, v, texts)
    kind, inner = rng.random(), list(v)
    if kind < 0.6:
        at = rng.randrange(len(inner))
        inner[at] = _changed_argument(rng, inner[at], texts)
    elif kind < 0.75:
        inner.append(inner[-1])
    elif kind < 0.85:
        inner.pop()
    elif kind < 0.92:
        rng.shuffle(inner)
    elif all(x == inner[0] for x in inner):
        return inner[0]
    return type(v)(inner)


def _changed_array(rng, x: Array) -> Array:
    kind, shape = rng.random(), list(x.shape)
    if kind < 0.45 and shape:
        at = rng.randrange(len(shape))
        shape[at] = rng.choice((1, 1, 2, 3, shape[at] + 1, max(shape[at] - 1, 1)))
        return x.changed(_sized(shape))
    if kind < 0.55:
        return x.changed(lambda a: a[None])
    if kind < 0.65 and shape and shape[0]:
        return x.changed(lambda a: a[0])
    if kind < 0.7 and len(shape) > 1:
        rng.shuffle(shape)
        return x.changed(_sized(shape))
    if kind < 0.77:
        return x.changed(lambda a: a[..., None])
    if kind < 0.84 and x.dtype.startswith("float") and x.data:
        at, value = rng.randrange(int(np.prod(shape, dtype=int))), rng.choice(_SPECIAL)

        def spoil(a):
            a.reshape(-1)[at] = value
            return a

        return x.changed(spoil)
    dtype = rng.choice(_DTYPES if kind < 0.95 else ("float64", "int32"))
    with np.errstate(all="ignore"):
        return x.changed(lambda a: (a.real if a.dtype.kind == "c" else a).astype(dtype))


def _changed_value(rng, v, texts):
    if isinstance(v, bool):
        return not v
    if isinstance(v, int):
        return rng.choice((v + 1, v - 1, -1, 0, 1, 2, 3, -v, v * 2, -2))
    if isinstance(v, float):
        whole = int(v) if abs(v) < 1e9 else 1
        return rng.choice((0.0, 1.0, -1.0, 2.0, 0.5, v * 2, -v, 1e-3, whole, float("inf")))
    if isinstance(v, str):
        return rng.choice(texts)
    if v is None:
        return rng.choice((0, 1, -1, True, False, 1.0, None))
    return v
