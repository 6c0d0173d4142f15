"""The checks, each over one op and one sample. `proa` is the package under test."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import glob
import time
import zlib

import numpy as np

from ops.conformance import compare, references
from ops.conformance import samples as samples_lib
from ops.schema import model, parser

FLOATS = ("float16", "bfloat16", "float32", "float64")
_DIFFERENTIABLE = FLOATS + ("complex64", "complex128")


@functools.cache
def all_ops() -> dict[str, model.Op]:
    return parser.parse_files(sorted(glob.glob("ops/*/*.yaml")))


def samples_of(op: model.Op) -> list[samples_lib.Sample]:
    """The op's samples; each also in every other declared dtype."""
    out = []
    for text in op.samples:
        out += samples_lib.parse(text, op.dtypes)
    more = references.of(op, "samples")
    if more:
        out += list(more())
    seen = {s.text for s in out}
    for s in list(out):
        first = deciding_dtype(op, s)
        for d in op.dtypes:
            if first is None or d == first or s.special and d not in FLOATS:
                continue
            if not _retyped_fits(s, first, d):
                continue
            t = s.with_dtype(first, d)
            if t.text not in seen and not any(_code_in(s.text, d2) for d2 in (d,)):
                out.append(t)
    return out


def _code_in(text: str, dtype: str) -> bool:
    return samples_lib._code(dtype) + "[" in text


def _retyped_fits(s: samples_lib.Sample, old: str, new: str) -> bool:
    """Whether the values that the sample asks for exist in the dtype."""
    for spec in s.specs():
        if spec.dtype == old and spec.values.strip() == "distinct" and new in ("bool", "uint8", "int8"):
            return False
        if (
            spec.dtype == old
            and spec.values.strip() == "distinct"
            and int(np.prod(spec.dims)) > 64
            and new in ("float16", "bfloat16")
        ):
            return False
    return True


def deciding_dtype(op: model.Op, s: samples_lib.Sample) -> str | None:
    specs = s.specs()
    return specs[0].dtype if specs else None


class Case:
    """A sample with its arrays and its tensors."""

    def __init__(self, proa, op: model.Op, sample: samples_lib.Sample, dtype: str | None = None):
        self.proa, self.op, self.sample = proa, op, sample
        self._rng = np.random.default_rng(zlib.crc32(f"{op.name} {sample.text}".encode()))
        self._replace = dtype
        self.arrays: dict[str, object] = {}  # by parameter
        self.values: dict[str, object] = {}  # by parameter
        self.hermitian: set[str] = set()  # parameters that differences change within such matrices
        for p, a in zip(op.params, sample.args):
            self._add(p, a)
        for name, a in sample.kwargs.items():
            self._add(op.by_name[name], a)

    def _add(self, p: model.Param, a) -> None:
        if isinstance(a, list) and p.is_tensor_list:
            pairs = [self._tensor(x) for x in a]
            self.arrays[p.name], self.values[p.name] = [x for x, _ in pairs], [t for _, t in pairs]
        elif isinstance(a, (samples_lib.TensorSpec, np.ndarray)):
            self.arrays[p.name], self.values[p.name] = self._tensor(a)
            if getattr(a, "values", "").strip() in samples_lib.HERMITIAN:
                self.hermitian.add(p.name)
        else:
            self.arrays[p.name] = self.values[p.name] = a

    def _tensor(self, a):
        if isinstance(a, np.ndarray):
            return a, self.proa.to_tensor(np.ascontiguousarray(a))
        if self._replace and a.dtype in FLOATS:
            a = samples_lib.TensorSpec(self._replace, a.dims, a.views, a.values)
        x = a.array(self._rng)
        return x, make_tensor(self.proa, x, a)

    def call(self):
        """The op's results as a list of tensors."""
        return flatten(getattr(self.proa._C.ops, self.op.name)(**self.values))

    def reference(self):
        f = references.of(self.op, "reference")
        given = {k: self._stored(k) if self.op.of_bytes else _widen(v) for k, v in self.arrays.items()}
        with np.errstate(all="ignore"):
            result = f(**given)
        # None stands for a result that is for the op's gradient only, and has no meaning else.
        parts = result if isinstance(result, tuple) else (result,)
        return [y for part in parts for y in ([None] if part is None else flatten(part))]

    def _stored(self, name: str):
        """An argument as it lies in memory."""
        v, t = self.arrays[name], self.values[name]
        return as_stored(v, t.dtype.name) if isinstance(v, np.ndarray) else v

    @property
    def where(self) -> str:
        return f"{self.op.name}({self.sample.text})"


def _widen(v):
    if isinstance(v, list):
        return [_widen(x) for x in v]
    if isinstance(v, np.ndarray):
        return v.astype({"f": np.float64, "c": np.complex128}.get(v.dtype.kind, v.dtype))
    return v


def flatten(result) -> list:
    if result is None:
        return []
    if isinstance(result, (list, tuple)):
        return [y for x in result for y in flatten(x)]
    return [result]


def make_tensor(proa, x: np.ndarray, spec: samples_lib.TensorSpec):
    """The tensor of a spec: a view where it says so, with the values of `x`."""
    if "T" in spec.views and x.ndim > 1:
        t = proa._C.ops.transpose(proa.to_tensor(np.ascontiguousarray(x.T)), list(range(x.ndim))[::-1])
    elif "s" in spec.views and x.ndim:
        wide = np.repeat(x, 2, axis=-1)
        wide[..., 1::2] = 1 if x.dtype.kind == "b" else 77
        t = proa._C.ops.slice(proa.to_tensor(wide), [x.ndim - 1], [0], [wide.shape[-1]], [2])
    elif "b" in spec.views and x.ndim and x.shape[0] > 0:
        t = proa._C.ops.broadcast_to(proa.to_tensor(np.ascontiguousarray(x[:1])), list(x.shape))
    else:
        t = proa.to_tensor(x)
    if spec.dtype == "bfloat16":
        views = spec.views
        t = t.astype("bfloat16")
        if "T" in views and x.ndim > 1:  # astype made it plain
            t = make_tensor_view(proa, t)
    return t


def make_tensor_view(proa, t):
    axes = list(range(len(t.shape)))[::-1]
    return proa._C.ops.transpose(proa._C.ops.transpose(t, axes).contiguous(), axes)


def to_numpy(t) -> np.ndarray:
    return (t.astype("float32") if t.dtype.name == "bfloat16" else t).numpy()


def as_stored(x: np.ndarray, dtype: str) -> np.ndarray:
    """The array with the elements that a tensor of the dtype has in memory: of bfloat16, which NumPy has not, uint16."""
    return (
        (np.ascontiguousarray(x).view(np.uint32) >> 16).astype(np.uint16).reshape(x.shape) if dtype == "bfloat16" else x
    )


# Checks --------------------------------------------------------------------------


def _tolerance(case: Case, result):
    """What the op's TOLERANCE says of a result, by its dtype, or by `<dtype> of <dtype of an operand>`; or None."""
    tolerances = references.setting(case.op, "TOLERANCE") or {}
    of_operands = {v.dtype.name for v in case.values.values() if isinstance(v, case.proa.Tensor)}
    name = result.dtype.name
    return next((tolerances[key] for o in of_operands if (key := f"{name} of {o}") in tolerances), tolerances.get(name))


def check_forward(case: Case) -> None:
    """Values, shapes and kinds are those of the reference."""
    got = case.call()
    want = case.reference()
    assert len(got) == len(want), f"{case.where}: {len(got)} results, the reference gives {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        if w is None:
            continue
        if case.op.of_bytes:
            compare.same_bits(as_stored(to_numpy(g), g.dtype.name), w, f"{case.where}[{i}]")
            continue
        compare.close(to_numpy(g), w, g.dtype.name, f"{case.where}[{i}]", _tolerance(case, g))


def check_meta(case: Case) -> None:
    """Inference says what a call gives, of a fully known program and with unknown dims."""
    got = case.call()
    for unknown in (False, True):
        program = record(case, unknown_dims=unknown)
        if program is None:
            continue
        for g, (shape, dtype) in zip(got, program.output_metas):
            assert dtype == g.dtype.name, f"{case.where}: inferred {dtype}, got {g.dtype.name}"
            assert len(shape) == len(g.shape) and all(s in (-1, d) for s, d in zip(shape, g.shape)), (
                f"{case.where}: inferred {shape}, got {g.shape}"
            )
            if not unknown and not case.op.data_dependent:
                assert list(shape) == list(g.shape), f"{case.where}: inferred {shape}, got {g.shape}"


def check_recorded(case: Case, folder: str) -> None:
    """Eager, recorded, and saved and reloaded give the same bits."""
    program = record(case)
    if program is None:
        return
    eager = [to_numpy(t) for t in case.call()]
    for name, results in (
        ("recorded", program.run()),
        ("reloaded", program.reload(folder).run()),
        ("parsed", program.reparse().run()),
    ):
        for i, (a, b) in enumerate(zip(eager, results)):
            compare.same_bits(a, to_numpy(b), f"{case.where}[{i}] {name}")


def check_inplace(case: Case) -> None:
    """`op_` leaves the functional result in its first argument."""
    want = case.call()[0]
    first = case.op.inplace
    x = case.values[first]
    if x.shape != want.shape and not case.op.is_view or x.dtype != want.dtype:
        return
    values = dict(case.values)
    values[first] = x.clone()
    # A clone is contiguous; write through a view as well.
    targets = [values[first]]
    if len(x.shape) == 2 and not case.op.is_view:
        targets.append(make_tensor_view(case.proa, x))
    for target in targets:
        values[first] = target
        result = getattr(case.proa._C.ops, case.op.name + "_")(**values)
        compare.same_bits(to_numpy(target), to_numpy(want), f"{case.where} in place")
        assert result is target


def check_threads(case: Case) -> None:
    """The same bits, in results, changed arguments and gradients, with any number of threads."""
    results = []
    for n in (1, 2, 3, 5):
        with threads(case.proa, n):
            results.append(_results_over(case, ""))
    for n, got in zip((2, 3, 5), results[1:]):
        for (what, a), (_, b) in zip(results[0], got, strict=True):
            compare.same_bits(one_nan(a), one_nan(b), f"{case.where}: {what} with 1 and {n} threads")


def one_nan(a: np.ndarray) -> np.ndarray:
    """With one NaN for all: which it is follows from where vectors begin."""
    return np.where(np.isnan(a), a.dtype.type(np.nan), a) if a.dtype.kind in "fc" else a


def large_cases(proa, op: model.Op, most: int = 2) -> list[Case]:
    """Cases of tensors so large that the work is divided among threads, in float32 where the op takes it."""
    cases = []
    for sample in samples_of(op):
        dtype = deciding_dtype(op, sample)
        if dtype is None or sample.special or dtype != "float32" and "float32" in op.dtypes:
            continue
        for elements in (1 << 16, 1 << 13, 1 << 10):
            case = Case(proa, op, sample.grown(elements))
            if _runs(case):
                cases.append(case)
                break
        if len(cases) == most:
            break
    return cases


def _runs(case: Case) -> bool:
    """Whether a call of it succeeds, in little memory and time: products of all with all do not."""
    started = time.monotonic()
    case.proa._C.memory_set_cap(1 << 25)
    try:
        case.call()
    except (IndexError, MemoryError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return False
    finally:
        case.proa._C.memory_set_cap(1 << 62)
    return time.monotonic() - started < 0.2


def check_memory(case: Case) -> None:
    """The same bits, in results, changed arguments and gradients, whatever the memory held that the op is given."""
    first, *others = (_results_over(case, fill) for fill in ("", "nan", "large"))
    for got, fill in zip(others, ("NaN", "1e30")):
        assert [k for k, _ in got] == [k for k, _ in first], f"{case.where}: other results over {fill}"
        for (what, a), (_, b) in zip(first, got):
            same_bits = a.tobytes() == b.tobytes() and a.shape == b.shape
            assert same_bits, f"{case.where}: {what} depends on what memory held ({fill})\n{a}\n{b}"


def _results_over(case: Case, fill: str) -> list:
    """Pairs of a name and an array: all that the op makes or changes, and the gradients of it."""
    proa, op = case.proa, case.op
    # New handles, on the same elements in the same order in memory, but of those that the op changes.
    fresh = lambda name, t: t.clone() if name in op.mutates else t.detach()
    values = {
        k: [fresh(k, t) for t in v] if isinstance(v, list) and v and isinstance(v[0], proa.Tensor)
        else fresh(k, v) if isinstance(v, proa.Tensor)
        else v
        for k, v in case.values.items()
    }  # fmt: skip
    leaves = []
    for p in () if op.mutates else op.tensor_params:
        v = values.get(p.name)
        for t in v if isinstance(v, list) else [v]:
            if isinstance(t, proa.Tensor) and t.dtype.name in _DIFFERENTIABLE:
                t.stop_gradient = False
                leaves.append((p.name, t))
    proa.seed(7)
    with memory_filled(proa, fill):
        out = flatten(getattr(proa._C.ops, op.name)(**values))
        found = [(f"result {i}", to_numpy(t.detach())) for i, t in enumerate(out)]
        for name in op.mutates:
            found += [(f"the new {name}", to_numpy(t)) for t in flatten(values[name])]
        roots = [t for t in out if not t.stop_gradient]
        if roots and leaves:
            starts = [t.detach() for t in roots]
            try:
                grads = proa._C.grad(roots, [t for _, t in leaves], starts, None, False, True, None)
            except (NotImplementedError, RuntimeError, TypeError, ValueError) as e:
                found.append((f"{type(e).__name__} in backward", np.zeros(0)))
            else:
                found += [(f"gradient of {name}", to_numpy(g)) for (name, _), g in zip(leaves, grads) if g is not None]
    return found


@contextlib.contextmanager
def memory_filled(proa, fill: str):
    """Each new block of memory holds NaN ("nan"), 1e30 ("large") or what it held ("")."""
    # And that of the host, which malloc hands out filled with the complement of a byte.
    perturb = {"nan": 0x100, "large": 0x8E}.get(fill, 0)
    libc = ctypes.CDLL(None)
    proa._C.debug.set_memory_fill(fill)
    libc.mallopt(-6, perturb)
    try:
        yield
    finally:
        libc.mallopt(-6, 0)
        proa._C.debug.set_memory_fill("")


@contextlib.contextmanager
def threads(proa, n: int):
    before = proa._C.get_num_threads()
    proa._C.set_num_threads(n)
    try:
        yield
    finally:
        proa._C.set_num_threads(before)


def _channels_last(proa, t):
    """The same values, lying in memory as [N, H, W, C], of tensors with 4 dims."""
    if not isinstance(t, proa.Tensor) or len(t.shape) != 4:
        return t
    to, back = [0, 2, 3, 1], [0, 3, 1, 2]
    return proa._C.ops.transpose(proa._C.ops.transpose(t, to).contiguous(), back)


def image_cases(proa, op: model.Op, most: int = 3) -> list[Case]:
    """Cases of images: samples of an op whose tensors have one shape, of 4 dims instead, where it takes them."""
    cases = []
    for sample in samples_of(op):
        dims = {s.dims for s in sample.specs()}
        if len(dims) != 1 or len(min(dims)) == 4 or 0 in min(dims) or sample.special:
            continue
        if any(s.values.strip() in samples_lib.HERMITIAN for s in sample.specs()):
            continue
        case = Case(proa, op, sample.with_dims((2, 3, 4, 5)))
        if _runs(case):
            cases.append(case)
        if len(cases) == most:
            break
    return cases


def check_channels_last(case: Case) -> None:
    """Images that lie channels-last, all or one of them, give what plain ones give, and images that lie as its schema says."""
    images = [k for k, v in case.values.items() if isinstance(v, case.proa.Tensor) and len(v.shape) == 4]
    if not images:
        return
    case.proa.seed(7)
    plain, values = case.call(), case.values
    for chosen in [images] + ([[k] for k in images] if len(images) > 1 else []):
        case.values = {k: _channels_last(case.proa, v) if k in chosen else v for k, v in values.items()}
        if case.op.is_view and not _runs(case):
            continue  # refuses the strides
        case.proa.seed(7)
        for i, (g, w) in enumerate(zip(case.call(), plain)):
            where = f"{case.where}[{i}] with {', '.join(chosen)} channels-last"
            assert list(g.shape) == list(w.shape) and g.dtype == w.dtype, where
            compare.close(to_numpy(g), to_numpy(w), g.dtype.name, where, _tolerance(case, g))
            if chosen == images and _says_order(case, i) and len(g.shape) == 4 and g.size > 0:
                n, c, h, width = g.shape
                lies = g.is_contiguous() if c == 1 or h * width == 1 else g.strides == [c * h * width, 1, c * width, c]
                assert lies, f"{where}: lies with strides {g.strides} of {g.shape}"
    case.values = values


def _says_order(case: Case, i: int) -> bool:
    """Whether output i is an image that lies as the arguments do, by the schema."""
    op = case.op
    if op.composite or op.is_view or len(op.outputs) <= i or case.values.get("data_format", "NCHW") != "NCHW":
        return False
    return bool(op.kernel and op.kernel.elementwise) or op.infer[op.outputs[i].name].order is not None


def check_errors(proa, op: model.Op) -> None:
    """Each error sample raises its type with its text."""
    for e in op.errors:
        for sample in samples_lib.parse(e.args, op.dtypes[:1]):
            case = Case(proa, op, sample)
            try:
                case.call()
            except Exception as error:  # pylint: disable=broad-except
                assert e.says in str(error), f"{op.name}({e.args}): says {error}, expected {e.says!r}"
                assert e.type in (kind.__name__ for kind in type(error).__mro__), (
                    f"{op.name}({e.args}): {type(error).__name__} ({error}), expected {e.type}"
                )
            else:
                raise AssertionError(f"{op.name}({e.args}) did not fail")


def check_none(proa, op: model.Op) -> None:
    """None where a tensor belongs is a TypeError that names the parameter."""
    sample = samples_lib.parse((op.samples or [e.args for e in op.errors])[0], op.dtypes[-1:])[0]
    for p in op.params:
        if p.is_tensor and not p.optional:
            values = dict(Case(proa, op, sample).values)
            values[p.name] = None
            try:
                getattr(proa._C.ops, op.name)(**values)
            except TypeError as e:
                named = op.python.params.get(p.name, p.name) if op.python else p.name
                assert (p.name in str(e) or named in str(e)) and op.name in str(e), f"{op.name}: {e}"
            else:
                raise AssertionError(f"{op.name}: {p.name}=None did not fail")


# Recording -------------------------------------------------------------------------


class Recorded:
    """A recorded call: runs, is saved and loaded, printed and parsed."""

    def __init__(self, proa, program, feeds, outputs):
        self._proa, self._program, self._feeds, self._outputs = proa, program, feeds, outputs
        self.output_metas = [(list(t.shape), t.dtype.name) for t in outputs]

    def run(self):
        return self._program.run(self._feeds, self._outputs)

    def reload(self, folder: str) -> "Loaded":
        prefix = f"{folder}/model"
        self._proa._C.save_program(prefix, self._program, list(self._feeds), self._outputs)
        return Loaded(self._proa._C.load_program(prefix), self._feeds)

    def reparse(self) -> "Loaded":
        return Loaded(self._program.reparse(list(self._feeds), self._outputs), self._feeds)


class Loaded:
    def __init__(self, module, feeds):
        self._module, self._feeds = module, feeds

    def run(self):
        return self._module.run(list(self._feeds.values()))


def record(case: Case, unknown_dims: bool = False, call=None) -> Recorded | None:
    """Records the call, or `call` of its values, with its tensors as inputs; None if it says that it needs known dims."""
    proa = case.proa
    program = proa._C.Program()
    feeds, values = {}, {}

    def symbolic(name, t):
        shape = [-1] * len(t.shape) if unknown_dims else list(t.shape)
        feeds[name] = t
        return program.add_input(name, shape, t.dtype)

    for name, v in case.values.items():
        if isinstance(v, proa._C.Tensor):
            values[name] = symbolic(name, v)
        elif isinstance(v, list) and v and isinstance(v[0], proa._C.Tensor):
            values[name] = [symbolic(f"{name}_{i}", t) for i, t in enumerate(v)]
        else:
            values[name] = v
    with program.recording():
        try:
            outputs = flatten(call(values) if call else getattr(proa._C.ops, case.op.name)(**values))
        except (ValueError, NotImplementedError) as e:
            if unknown_dims and "known" in str(e):
                return None  # says that it needs known sizes
            raise
    return Recorded(proa, program, feeds, outputs)
