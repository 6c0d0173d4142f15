"""Makes calls in one package and writes down what came of each; a process of its own, which watch.py starts.

    python -m fuzz.beside.runner CALLS OUT PACKAGE MODES FIRST SECONDS BYTES

PACKAGE is paddle or proa. CALLS are pickled calls, OUT takes pickled (number, None) when a call begins and (number,
{mode: result}) when it is done. A result is ("ok", values, gradients, random) or ("error", class, what it says).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import pickle
import random
import resource
import signal
import sys
import warnings
import zlib

import numpy as np

from fuzz.beside import uses
from fuzz.beside.calls import Array, Call, rebuild

_TEXT = 300


class _TooLong(BaseException):
    pass


def _package(name: str):
    if name == "proa":
        importlib.import_module("proa.as_paddle")  # whoever imports paddle, gets proa
    import paddle

    if name == "proa":
        # Results without dims, as the later releases have them.
        paddle.set_flags({"FLAGS_set_to_1d": False})
    return paddle


def _target(paddle, path: str):
    value = paddle
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _is_tensor(v) -> bool:
    return hasattr(v, "numpy") and hasattr(v, "stop_gradient")


def _flat(v) -> list:
    if isinstance(v, (list, tuple)):
        return [x for e in v for x in _flat(e)]
    return [x for e in v.values() for x in _flat(e)] if isinstance(v, dict) else [v]


def _floats(values) -> list:
    """(number, tensor) of the results that have gradients."""
    return [(i, v) for i, v in enumerate(values) if _is_tensor(v) and not v.stop_gradient and "float" in str(v.dtype)]


def _said(v):
    """(dtype, Array), or ("py", value) of what is no tensor."""
    if not _is_tensor(v):
        return "py", v if isinstance(v, (bool, int, float, complex, str, type(None))) else type(v).__name__
    dense = v.to_dense() if v.is_sparse() else v
    name = str(v.dtype).rpartition(".")[2]
    if name == "bfloat16":
        dense = dense.astype("float32")
    return name, Array.of(dense.numpy())


class _Made:
    """The tensors of a call, and its function."""

    def __init__(self, paddle, call: Call):
        self.leaves: list = []  # that have gradients
        self.parameters: dict = {}
        self._paddle, self._call = paddle, call
        use, _, path = call.target.rpartition(" ")
        self.function = functools.partial(getattr(uses, use), paddle, path) if use else _target(paddle, path)
        if call.made is not None:
            args, kwargs = call.made
            self.function = self.function(*args, **kwargs)
            self.function.train() if call.training else self.function.eval()
            # Two packages draw other numbers for the same seed.
            for name, parameter in sorted(self.function.named_parameters()):
                rng = np.random.RandomState(zlib.crc32(name.encode()))
                parameter.set_value(rng.uniform(-0.5, 0.5, parameter.shape).astype(_said(parameter)[1].dtype))
                self.parameters[name] = parameter

    def tensor(self, x):
        if not isinstance(x, Array) or x.plain:
            return x.numpy() if isinstance(x, Array) else x
        t = self._paddle.to_tensor(x.numpy())
        if x.dtype.startswith(("float", "complex")):
            t.stop_gradient = False
            self.leaves.append(t)
        return t

    def arguments(self):
        """Of tensors, made anew."""
        args = [rebuild(v, self.tensor) for v in self._call.args]
        kwargs = {k: rebuild(v, self.tensor) for k, v in self._call.kwargs.items()}
        if self._call.in_place and args and _is_tensor(args[0]):
            # A leaf cannot be changed in place; what it gives to its gradient can.
            args[0] = self._paddle.assign(args[0])
        return args, kwargs

    def results(self, args, kwargs) -> list:
        """What the call gives, and what it has changed."""
        out = _flat(self.function(*args, **kwargs))
        return out + [args[0]] if self._call.in_place and args else out


def _gradients(made: _Made, results):
    """Of the tensors and parameters, each result weighted by random numbers; or what backward says."""
    results = _floats(results)
    if not results or not (made.leaves or made.parameters):
        return None
    try:
        total = None
        for i, v in results:
            # By its number: a package may take another result for a constant.
            weight = np.asarray(np.random.RandomState(7 + i).randn(*v.shape)).reshape(v.shape)
            part = (v * made._paddle.to_tensor(weight).astype(v.dtype)).sum().astype("float64")
            total = part if total is None else total + part
        total.backward()
        sources = [*made.leaves, *made.parameters.values()]
        return [None if t.grad is None else _said(t.grad)[1] for t in sources]
    except Exception as e:  # pylint: disable=broad-except
        return f"{type(e).__name__}: {e}"[:_TEXT]


def _seed(paddle, seed: int) -> None:
    paddle.seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def _eager(paddle, call: Call):
    _seed(paddle, 1)
    made = _Made(paddle, call)
    results = made.results(*made.arguments())
    values = [_said(v) for v in results]
    if call.made is not None:
        values.append(("py", str([(k, list(v.shape)) for k, v in sorted(made.function.state_dict().items())])))
    return values, _gradients(made, results)


def _recorded(paddle, call: Call, unknown: bool):
    """The call in a function that to_static converts, of closed or of open sizes."""
    _seed(paddle, 1)
    made = _Made(paddle, call)
    arrays = call.arrays()

    def function(*tensors):
        given = iter(tensors)
        take = lambda x: (
            next(given) if isinstance(x, Array) and not x.plain else x.numpy() if isinstance(x, Array) else x
        )
        args = [rebuild(v, take) for v in call.args]
        kwargs = {k: rebuild(v, take) for k, v in call.kwargs.items()}
        if call.in_place and args and _is_tensor(args[0]):
            args[0] = paddle.assign(args[0])
        return made.results(args, kwargs)

    spec = [paddle.static.InputSpec([None] * len(a.shape) if unknown else list(a.shape), a.dtype) for a in arrays]
    static = paddle.jit.to_static(function, input_spec=spec)
    results = _flat(static(*[made.tensor(a) for a in arrays]))
    values = [_said(v) for v in results]
    if call.made is not None:
        values.append(("py", str([(k, list(v.shape)) for k, v in sorted(made.function.state_dict().items())])))
    return values, _gradients(made, results)


_MODES = {
    "eager": _eager,
    "closed": lambda paddle, call: _recorded(paddle, call, False),
    "open": lambda paddle, call: _recorded(paddle, call, True),
}


def _is_random(paddle, call: Call, values) -> bool:
    """Whether another seed gives other values."""
    for seed in (2, 3):
        _seed(paddle, seed)
        made = _Made(paddle, call)
        if [_said(v) for v in made.results(*made.arguments())] != values[: len(values) - (call.made is not None)]:
            return True
    return False


def _result(paddle, call: Call, mode: str):
    try:
        values, gradients = _MODES[mode](paddle, call)
    except Exception as e:  # pylint: disable=broad-except
        return "error", type(e).__name__, str(e)[:_TEXT]
    return "ok", values, gradients, mode == "eager" and _is_random(paddle, call, values)


def _too_long(*_):
    raise _TooLong


def main(calls, out, package, modes, first, seconds, memory) -> None:
    warnings.simplefilter("ignore")
    paddle = _package(package)
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(calls, "rb") as file:
        calls = pickle.load(file)
    signal.signal(signal.SIGALRM, _too_long)
    with open(out, "ab", buffering=0) as file:
        for number in range(int(first), len(calls)):
            file.write(pickle.dumps((number, None)))
            results = {}
            for mode in modes.split(","):
                try:
                    signal.alarm(int(seconds))
                    results[mode] = _result(paddle, calls[number], mode)
                except _TooLong:
                    results[mode] = ("error", "_TooLong", "")
                finally:
                    signal.alarm(0)
            with contextlib.suppress(Exception):
                paddle.disable_static()
            file.write(pickle.dumps((number, results)))


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)
