"""What the generator starts from: for each thing that can be called, calls of it that are right.

Nothing is listed by name: ops come from the registry, with the samples of their schemas; public functions, methods and
layers from the modules, with the calls that their docstrings and `seeds.txt` make. What has no call of its own gets one
by its signature.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import json
import os
import sys
import types

import numpy as np

import proa
from fuzz import case as cases
from fuzz import values
from ops.conformance import samples, suite

_HERE = os.path.dirname(__file__)
# Where public things are.
_MODULES = (
    "proa",
    "proa.linalg",
    "proa.nn.functional",
    "proa.nn",
    "proa.nn.utils",
    "proa.nn.initializer",
    "proa.nn.quant",
    "proa.static",
    "proa.static.nn",
    "proa.tensor",
    "proa.metric",
    "proa.incubate",
    "proa.incubate.nn.functional",
    "proa.incubate.autograd",
    "proa.autograd",
    "proa.vision.ops",
    "proa.fft",
    "proa.signal",
    "proa.sparse",
)
# What touches more than its arguments: files, other processes, the terminal, the state of the whole process; or is no
# function of tensors at all.
_OUTSIDE = (
    "save load read write save_inference_model load_inference_model set_device set_cuda_rng_state batch summary flops "
    "Model DataParallel CPUPlace CUDAPlace CUDAPinnedPlace enable_static disable_static disable_signal_handler "
    "set_printoptions set_flags set_rng_state set_grad_enabled set_default_dtype program_guard Print py_func "
    "set_detect_anomaly enable_tensor_checker disable_tensor_checker set_global_initializer "
    "share_memory_ pin_memory cuda register_hook register_post_accumulate_grad_hook save_program load_program "
    "set_program_state load_program_state Executor CompiledProgram ParallelExecutor WeightNormParamAttr to_dlpack "
    "from_dlpack set_state_dict set_dict crash"
).split()


def _public(module) -> list[str]:
    names = getattr(module, "__all__", None) or dir(module)
    return sorted(n for n in names if not n.startswith("_") and n not in _OUTSIDE)


def _find(name: str):
    """The module of that name, or None if this build has none."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _attribute(module, name: str):
    try:
        return getattr(module, name, None)
    except ImportError:
        return None


def functions() -> dict[str, object]:
    """Public functions by the text that names them."""
    found, seen = {}, set()
    for name in _MODULES:
        module = _find(name)
        for attribute in _public(module) if module else ():
            value = _attribute(module, attribute)
            if inspect.isclass(value) or not callable(value) or isinstance(value, types.ModuleType):
                continue
            if not str(getattr(value, "__module__", "proa")).startswith("proa") or id(value) in seen:
                continue
            seen.add(id(value))
            found[f"{name}.{attribute}"] = value
    return found


def layers() -> dict[str, type]:
    """Public layers by the text that names them."""
    found, seen = {}, {proa.nn.Layer}
    for name in _MODULES:
        module = _find(name)
        for attribute in _public(module) if module else ():
            value = _attribute(module, attribute)
            if inspect.isclass(value) and issubclass(value, proa.nn.Layer) and value not in seen:
                seen.add(value)
                found[f"{name}.{attribute}"] = value
    return found


def methods() -> dict[str, object]:
    """Methods and operators of Tensor."""
    names = [
        n for n in dir(proa.Tensor) if n not in _OUTSIDE and n not in dir(object) and not n.startswith("_register")
    ]
    found = {n: getattr(proa.Tensor, n) for n in names}
    return {f"proa.Tensor.{n}": m for n, m in found.items() if callable(m)}


# Seeds from schemas ---------------------------------------------------------------

_RANGES = {">0": "positive", "> 0": "positive", "|x|<1": "unit"}
_LAYOUTS = {"T": "transposed", "s": "strided", "b": "expanded"}


def _of_spec(spec):
    if isinstance(spec, (list, tuple)):
        return [_of_spec(s) for s in spec]
    if isinstance(spec, np.ndarray):
        low_high = (int(spec.min()), int(spec.max()) + 1) if spec.size and spec.dtype.kind in "iu" else None
        return values.TensorValue(spec.dtype.name, spec.shape, values=low_high)
    if not isinstance(spec, samples.TensorSpec):
        return spec
    text, numbers = spec.values.strip(), None
    if text.startswith("="):
        low, _, high = text[1:].partition("..")
        numbers = (int(low), int(high)) if high else "one"
    numbers = _RANGES.get(text, numbers)
    layout = _LAYOUTS[spec.views[0]] if spec.views else "plain"
    return values.TensorValue(spec.dtype, spec.dims, layout, values=numbers)


def _of_type(p):
    """A value for a parameter of a schema that has no sample."""
    if p.is_tensor:
        return values.TensorValue("float32", (2, 3))
    if p.is_tensor_list:
        return [values.TensorValue("float32", (2, 3))] * 2
    kinds = {"bool": False, "int": 1, "float": 0.5, "str": "", "Scalar": 1.0, "DType": "float32", "Place": "cpu"}
    return kinds.get(p.type.name, [1])


def op_seeds() -> list[cases.Case]:
    """Calls of every op of the registry, in-place forms too."""
    out, known = [], suite.all_ops()
    registered = {d["name"] for d in proa._C.op_registry()}
    for op in known.values():
        found = suite.samples_of(op)
        for s in found:
            args, kwargs = tuple(map(_of_spec, s.args)), tuple((k, _of_spec(v)) for k, v in s.kwargs.items())
            out.append(cases.Case("call", f"proa._C.ops.{op.name}", args, kwargs))
            if op.name + "_" in registered:
                out.append(cases.Case("call", f"proa._C.ops.{op.name}_", args, kwargs))
        if not found:
            args = tuple(_of_type(p) for p in op.params if p.default is None)
            out.append(cases.Case("call", f"proa._C.ops.{op.name}", args))
    return out


# Seeds from docstrings --------------------------------------------------------------


class _Unsaid(Exception):
    """An argument that cannot be written down."""


def _of_value(v):
    if isinstance(v, proa.Tensor):
        if proa._C.is_symbolic(v):
            raise _Unsaid
        numbers = None
        if v.is_integer() and 0 < v.size < 10000:
            a = v.numpy()
            numbers = (int(a.min()), int(a.max()) + 1)
        return values.TensorValue(v.dtype.name, tuple(v.shape), grad=not v.stop_gradient, values=numbers)
    if isinstance(v, np.ndarray):
        return values.ArrayValue(v.dtype.name, v.shape)
    if isinstance(v, proa.dtype):
        return v.name
    if v is None or isinstance(v, (bool, int, float, complex, str)) or v is Ellipsis:
        return v
    if isinstance(v, (list, tuple)):
        return type(v)(map(_of_value, v))
    raise _Unsaid


class _Recorder:
    """Stands in the modules for what it records: calls that an example makes itself, not what they call in turn."""

    def __init__(self):
        self.out: list[cases.Case] = []
        self._depth = 0
        self._put: list[tuple] = []

    def _note(self, mode, target, args, kwargs):
        try:
            pairs = tuple((k, _of_value(v)) for k, v in kwargs.items())
            self.out.append(cases.Case(mode, target, tuple(map(_of_value, args)), pairs))
        except (_Unsaid, ValueError, TypeError):
            pass

    def _wrap(self, target, f):
        def run(*args, **kwargs):
            if self._depth == 0:
                self._note("call", target, args, kwargs)
            self._depth += 1
            try:
                return f(*args, **kwargs)
            finally:
                self._depth -= 1

        return run

    def _wrap_layer(self, target, cls):
        def make(*args, **kwargs):
            made = cls(*args, **kwargs)
            try:
                parts = [target, *(values.text(_of_value(a)) for a in args)]
                parts += [f"{k}={values.text(_of_value(v))}" for k, v in kwargs.items()]
            except _Unsaid:
                return made
            object.__setattr__(made, "_fuzz_made_by", f"layer({', '.join(parts)})")
            return made

        return make

    def __enter__(self):
        for name, f in functions().items():
            self._replace(name, self._wrap(name, f))
        for name, cls in layers().items():
            self._replace(name, self._wrap_layer(name, cls))
        for name, f in methods().items():
            if not name.rpartition(".")[2].startswith("_"):
                self._replace(name, self._wrap(name, f))
        original = proa.nn.Layer.__call__

        def call(layer, *args, **kwargs):
            if self._depth == 0 and hasattr(layer, "_fuzz_made_by"):
                self._note("call", layer._fuzz_made_by, args, kwargs)
            self._depth += 1
            try:
                return original(layer, *args, **kwargs)
            finally:
                self._depth -= 1

        self._put.append((proa.nn.Layer, "__call__", original))
        proa.nn.Layer.__call__ = call
        return self

    def _replace(self, name, value):
        where, _, attribute = name.rpartition(".")
        holder = proa.Tensor if where == "proa.Tensor" else _find(where)
        try:
            old = getattr(holder, attribute)
            setattr(holder, attribute, value)
        except (AttributeError, TypeError):
            return
        self._put.append((holder, attribute, old))

    def __exit__(self, *_):
        for holder, attribute, old in reversed(self._put):
            setattr(holder, attribute, old)


def _examples():
    """The examples of every function, layer and method, in order of their names."""
    for name, value in sorted({**functions(), **layers(), **methods()}.items()):
        doc = inspect.getdoc(value)
        if doc and ">>>" in doc:
            with contextlib.suppress(ValueError):
                yield doctest.DocTestParser().get_doctest(doc, {"proa": proa, "np": np}, name, None, 0)


def example_seeds() -> list[cases.Case]:
    """The calls that the examples of docstrings make."""
    tests = list(_examples())
    with _Recorder() as recorder, contextlib.redirect_stdout(io.StringIO()):
        for test in tests:
            for example in test.examples:
                # Some show errors.
                with contextlib.suppress(Exception):
                    exec(compile(example.source, test.name, "single"), test.globs)  # pylint: disable=exec-used
    return recorder.out


# Seeds from signatures --------------------------------------------------------------

# What parameters of these names usually are.
_BY_NAME = {
    "axis": 0,
    "axes": [0],
    "dim": 0,
    "perm": [1, 0],
    "shape": [2, 3],
    "dtype": "float32",
    "n": 2,
    "k": 1,
    "index": values.TensorValue("int64", (2,), values=(0, 2)),
    "indices": values.TensorValue("int64", (2, 3), values=(0, 2)),
    "label": values.TensorValue("int64", (2,), values=(0, 3)),
    "mask": values.TensorValue("bool", (2, 3)),
    "condition": values.TensorValue("bool", (2, 3)),
    "repeats": 2,
    "num": 2,
    "num_classes": 4,
    "kernel_size": 2,
    "start": 0,
    "end": 4,
    "stop": 4,
    "step": 1,
    "name": None,
    "scale": 2.0,
    "p": 2.0,
    "data": [1.0, 2.0],
    "fill_value": 1.0,
    "value": 1.0,
    "inputs": [values.TensorValue("float32", (2, 3))] * 2,
}


def by_name(parameter: str):
    return _BY_NAME.get(parameter, values.TensorValue("float32", (2, 3)))


def signature_seed(target: str, f) -> cases.Case | None:
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return cases.Case("call", target, (values.TensorValue("float32", (2, 3)),))
    required = [
        p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    args = [by_name(p.name) for p in required]
    if target.startswith("proa.Tensor.") and args:
        args[0] = values.TensorValue("float32", (2, 3))
    return cases.Case("call", target, tuple(args))


# All of them ------------------------------------------------------------------------


def file_seeds(names=("seeds.txt", "regressions.txt")) -> list[cases.Case]:
    out = []
    for name in names:
        out += [cases.parse(line) for line in cases.read_lines(os.path.join(_HERE, name))]
    return [c for c in out if c.target.startswith(("proa.", "layer("))]


def reachable(c: cases.Case) -> bool:
    """Whether this build has what the case calls."""
    name = c.target[6:].partition(",")[0].rstrip(")") if c.target.startswith("layer(") else c.target
    where, _, attribute = name.rpartition(".")
    holder = proa.Tensor if where == "proa.Tensor" else _find(where)
    return holder is not None and _attribute(holder, attribute) is not None


def _of_schemas() -> list[cases.Case]:
    """The samples of ops as calls of the public functions and methods that the schemas name."""
    out = []
    for op in suite.all_ops().values():
        p = op.python
        names = (
            [] if p is None or not p.function else [f"proa.{'' if p.module == 'root' else p.module + '.'}{p.function}"]
        )
        names += [f"proa.Tensor.{p.method}"] if p is not None and p.method else []
        for s in suite.samples_of(op)[:12] if names else ():
            for name in names:
                # By position: the public names of parameters may be others.
                args = tuple(map(_of_spec, (*s.args, *s.kwargs.values())))
                out.append(cases.Case("call", name, args))
    return out


def _as_methods(public: list[cases.Case]) -> list[cases.Case]:
    """Calls of functions as calls of the methods of the same name."""
    names = set(methods())
    return [
        c.with_(target=name)
        for c in public
        if (name := f"proa.Tensor.{c.target.rpartition('.')[2]}") in names and c.target != name
    ]


def collect() -> dict[str, list[str]]:
    """Seeds by kind, as texts."""
    public = [c for c in example_seeds() + file_seeds() + _of_schemas() if reachable(c)]
    public += _as_methods(public)
    have = {c.target for c in public}
    for name, f in {**functions(), **methods()}.items():
        if name not in have:
            public.append(signature_seed(name, f))
    ops = op_seeds()
    return {
        "op": sorted({str(c.with_(mode="call")) for c in ops}),
        "public": sorted({str(c.with_(mode="call")) for c in public if c.target.startswith(("proa.", "layer("))}),
    }


def keywords(target: str) -> list[str]:
    """The names of the parameters of what a target names."""
    try:
        f = eval(target, {"proa": proa})  # pylint: disable=eval-used
        if target.startswith("proa._C.ops."):
            return _op_keywords().get(target.rpartition(".")[2].rstrip("_"), [])
        return [n for n, p in inspect.signature(f).parameters.items() if p.kind == p.POSITIONAL_OR_KEYWORD]
    except Exception:  # pylint: disable=broad-except
        return []


_op_names: dict[str, list[str]] = {}


def _op_keywords():
    if not _op_names:
        for name, op in suite.all_ops().items():
            _op_names[name.rstrip("_")] = [p.name for p in op.params]
    return _op_names


def write(path: str) -> None:
    """Writes the seeds and the names of their targets' parameters."""
    seeds = collect()
    targets = {cases.parse(t).target for ts in seeds.values() for t in ts}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"seeds": seeds, "keywords": {t: keywords(t) for t in sorted(targets)}}, file)


if __name__ == "__main__":
    write(sys.argv[1])
