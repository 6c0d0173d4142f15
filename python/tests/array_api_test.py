"""The Python array API standard, 2023.12: every function is there with its parameters, and gives what NumPy gives.

Loops over functions, dtypes, shapes, axes and special values; EXEMPT says what is left out, and why.
"""

import inspect
import itertools
import operator
import pathlib

import numpy as np
import pytest

import proa
from proa import array_api as xp

EXEMPT = {
    "nextafter": "no op steps from one number to the next",
}

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
_REALS = ("float32", "float64")
_COMPLEX = ("complex64", "complex128")
_ALL = ("bool", *_INTEGERS, *_REALS, *_COMPLEX)
_SHAPES = ((), (0,), (3,), (2, 3), (1, 0, 2), (2, 1, 3))


def array(shape, dtype, seed=0, positive=False):
    """Numbers of a dtype, of both signs unless they must be positive, small enough for products of several."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype in _INTEGERS:
        low = 1 if positive else 0 if dtype == "uint8" else -4
        return random.integers(low, 5, shape).astype(dtype)
    values = random.normal(size=shape)
    values = abs(values) + 0.25 if positive else values
    return np.asarray(values + 1j * random.normal(size=shape) if dtype in _COMPLEX else values, dtype)


def same(got, expected, dtype=None, exact=False, rtol=None, what=""):
    """A tensor is an array: dtype, shape and numbers, signs of zeros too where `exact`."""
    expected = np.asarray(expected)
    assert isinstance(got, proa.Tensor), what
    assert got.dtype.name == (dtype or expected.dtype.name), what
    assert tuple(got.shape) == expected.shape, what
    value = got.numpy()
    if exact:
        assert np.array_equal(value, expected, equal_nan=expected.dtype.kind in "fc"), (what, value, expected)
        if expected.dtype.kind == "f":
            ok = np.isnan(expected) | (np.signbit(value) == np.signbit(expected))
            assert ok.all(), (what, value, expected)
        return
    rtol = rtol or {"f": {4: 2e-5, 8: 1e-12}, "c": {8: 2e-5, 16: 1e-12}}.get(value.dtype.kind, {}).get(
        value.itemsize, 0
    )
    np.testing.assert_allclose(value, expected, rtol=rtol, atol=rtol, err_msg=str(what))


# Names and parameters ---------------------------------------------------------


def _functions():
    text = (pathlib.Path(__file__).parent / "array_api_functions.tsv").read_text()
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


def test_every_function_has_the_standards_parameters():
    missing = set()
    for name, wanted in _functions():
        home = xp
        for part in name.split("."):
            home = getattr(home, part, None)
        if home is None:
            missing.add(name)
            continue
        assert inspect.getdoc(home), name
        given = str(inspect.signature(home)).strip("()")
        parts = [p.split("=")[0] + ("=?" if "=" in p else "") for p in given.split(", ") if p]
        assert [p.removeprefix("*") for p in parts if p not in "/*"] == [
            p.removeprefix("*") for p in wanted.split(", ") if p and p not in "/*"
        ], name
        # What must be given by name is, and what must not be is not.
        assert ("*" in parts) == ("*" in wanted.split(", ")) and ("/" in parts) == ("/" in wanted.split(", ")), name
    assert missing == set(EXEMPT)


def test_constants_and_dtypes():
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (np.e, np.pi, np.inf, None) and xp.nan != xp.nan
    for name in _ALL:
        assert getattr(xp, name) is getattr(proa, name)
    info = xp.__array_namespace_info__()
    assert set(info.dtypes()) == set(_ALL) and set(info.dtypes(kind="integral")) == set(_INTEGERS)
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", *_REALS}
    assert info.default_dtypes()["real floating"] == proa.float32 and info.default_device() in info.devices()
    assert info.capabilities()["boolean indexing"] is True


# Functions of each element ----------------------------------------------------

# Name: the function of NumPy, the dtypes that the standard names, whether only positive numbers.
_UNARY = {
    "abs": (np.abs, (*_INTEGERS, *_REALS, *_COMPLEX)),
    "acos": (np.arccos, (*_REALS, *_COMPLEX)),
    "acosh": (np.arccosh, (*_REALS, *_COMPLEX)),
    "asin": (np.arcsin, (*_REALS, *_COMPLEX)),
    "asinh": (np.arcsinh, (*_REALS, *_COMPLEX)),
    "atan": (np.arctan, (*_REALS, *_COMPLEX)),
    "atanh": (np.arctanh, (*_REALS, *_COMPLEX)),
    "bitwise_invert": (np.invert, ("bool", *_INTEGERS)),
    "ceil": (np.ceil, _REALS),
    "conj": (np.conj, _COMPLEX),
    "cos": (np.cos, (*_REALS, *_COMPLEX)),
    "cosh": (np.cosh, (*_REALS, *_COMPLEX)),
    "exp": (np.exp, (*_REALS, *_COMPLEX)),
    "expm1": (np.expm1, (*_REALS, *_COMPLEX)),
    "floor": (np.floor, _REALS),
    "imag": (np.imag, _COMPLEX),
    "isfinite": (np.isfinite, (*_INTEGERS, *_REALS, *_COMPLEX)),
    "isinf": (np.isinf, (*_INTEGERS, *_REALS, *_COMPLEX)),
    "isnan": (np.isnan, (*_INTEGERS, *_REALS, *_COMPLEX)),
    "log": (np.log, (*_REALS, *_COMPLEX)),
    "log10": (np.log10, (*_REALS, *_COMPLEX)),
    "log1p": (np.log1p, (*_REALS, *_COMPLEX)),
    "log2": (np.log2, (*_REALS, *_COMPLEX)),
    "logical_not": (np.logical_not, ("bool",)),
    "negative": (np.negative, (*_INTEGERS, *_REALS, *_COMPLEX)),
    "positive": (np.positive, (*_INTEGERS, *_REALS, *_COMPLEX)),
    "real": (np.real, _COMPLEX),
    "reciprocal": (np.reciprocal, (*_REALS, *_COMPLEX)),
    "round": (np.round, (*_INTEGERS, *_REALS, *_COMPLEX)),
    "sign": (np.sign, (*_INTEGERS, *_REALS)),
    "signbit": (np.signbit, _REALS),
    "sin": (np.sin, (*_REALS, *_COMPLEX)),
    "sinh": (np.sinh, (*_REALS, *_COMPLEX)),
    "sqrt": (np.sqrt, (*_REALS, *_COMPLEX)),
    "square": (np.square, (*_INTEGERS, *_REALS, *_COMPLEX)),
    "tan": (np.tan, (*_REALS, *_COMPLEX)),
    "tanh": (np.tanh, (*_REALS, *_COMPLEX)),
    "trunc": (np.trunc, _REALS),
}
_BINARY = {
    "add": (np.add, (*_INTEGERS, *_REALS, *_COMPLEX)),
    "atan2": (np.arctan2, _REALS),
    "bitwise_and": (np.bitwise_and, ("bool", *_INTEGERS)),
    "bitwise_left_shift": (np.left_shift, _INTEGERS),
    "bitwise_or": (np.bitwise_or, ("bool", *_INTEGERS)),
    "bitwise_right_shift": (np.right_shift, _INTEGERS),
    "bitwise_xor": (np.bitwise_xor, ("bool", *_INTEGERS)),
    "copysign": (np.copysign, _REALS),
    "divide": (np.divide, (*_REALS, *_COMPLEX)),
    "equal": (np.equal, _ALL),
    "floor_divide": (np.floor_divide, (*_INTEGERS, *_REALS)),
    "greater": (np.greater, (*_INTEGERS, *_REALS)),
    "greater_equal": (np.greater_equal, (*_INTEGERS, *_REALS)),
    "hypot": (np.hypot, _REALS),
    "less": (np.less, (*_INTEGERS, *_REALS)),
    "less_equal": (np.less_equal, (*_INTEGERS, *_REALS)),
    "logaddexp": (np.logaddexp, _REALS),
    "logical_and": (np.logical_and, ("bool",)),
    "logical_or": (np.logical_or, ("bool",)),
    "logical_xor": (np.logical_xor, ("bool",)),
    "maximum": (np.maximum, (*_INTEGERS, *_REALS)),
    "minimum": (np.minimum, (*_INTEGERS, *_REALS)),
    "multiply": (np.multiply, (*_INTEGERS, *_REALS, *_COMPLEX)),
    "not_equal": (np.not_equal, _ALL),
    "pow": (np.power, (*_INTEGERS, *_REALS, *_COMPLEX)),
    "remainder": (np.remainder, (*_INTEGERS, *_REALS)),
    "subtract": (np.subtract, (*_INTEGERS, *_REALS, *_COMPLEX)),
}
_OF_POSITIVE = {"pow", "bitwise_left_shift", "bitwise_right_shift", "floor_divide", "remainder"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", sorted(_UNARY))
def test_of_one(name):
    reference, dtypes = _UNARY[name]
    for dtype, shape in itertools.product(dtypes, _SHAPES):
        x = array(shape, dtype)
        expected = np.asarray(reference(x))
        same(
            getattr(xp, name)(proa.to_tensor(x)),
            expected.astype(x.dtype) if name == "round" else expected,
            what=(dtype, x),
        )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", sorted(_BINARY))
def test_of_two(name):
    reference, dtypes = _BINARY[name]
    for dtype, (a, b) in itertools.product(
        dtypes, [((), ()), ((3,), ()), ((2, 1), (3,)), ((0, 3), (1, 3)), ((2, 3), (2, 3))]
    ):
        x, y = array(a, dtype), array(b, dtype, 1, name in _OF_POSITIVE)
        if name == "pow":
            x = array(a, dtype, 0, dtype in _REALS)
        same(getattr(xp, name)(proa.to_tensor(x), proa.to_tensor(y)), reference(x, y), what=(dtype, x, y))


_SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, np.inf, -np.inf, np.nan, 1e-30, -1e30]
# Where the standard leaves it to the implementation.
_LEFT_OPEN = {
    "floor_divide": lambda x, y: np.isinf(x) | (y == 0) | np.isinf(y),
    "remainder": lambda x, y: (y == 0) | np.isinf(x),
    "copysign": lambda x, y: np.isnan(y),
    "maximum": lambda x, y: x == y,
    "minimum": lambda x, y: x == y,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", _REALS)
@pytest.mark.parametrize(
    "name", sorted(n for n, (_, dtypes) in {**_UNARY, **_BINARY}.items() if dtypes[-1] in (*_REALS, *_COMPLEX))
)
def test_special_values(name, dtype):
    if "float32" not in {**_UNARY, **_BINARY}[name][1]:
        return
    values = np.array(_SPECIAL, dtype)
    if name in _UNARY:
        x = values
        got, expected = getattr(xp, name)(proa.to_tensor(x)).numpy(), np.asarray(_UNARY[name][0](x))
        y = x
    else:
        x, y = (v.ravel() for v in np.meshgrid(values, values))
        got, expected = (
            getattr(xp, name)(proa.to_tensor(x), proa.to_tensor(y)).numpy(),
            np.asarray(_BINARY[name][0](x, y)),
        )
        # The sign of a zero that comes of rounding is nobody's business; that of infinities is.
        keep = ~_LEFT_OPEN.get(name, lambda x, y: np.zeros(x.shape, bool))(x, y)
        x, y, got, expected = x[keep], y[keep], got[keep], expected[keep]
    np.testing.assert_allclose(got, expected, rtol=2e-6 if dtype == "float32" else 1e-13, atol=0, err_msg=name)
    if expected.dtype.kind == "f":
        wrong = (expected == 0) & (np.signbit(got) != np.signbit(expected))
        assert not wrong.any(), list(zip(x[wrong], y[wrong], got[wrong], expected[wrong]))


def test_shifts_of_every_width():
    for dtype in _INTEGERS:
        bits = np.iinfo(dtype).bits
        x = np.array([0, 1, 3, 100, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        for n in range(bits):
            count = np.full(x.shape, n, dtype)
            same(
                xp.bitwise_left_shift(proa.to_tensor(x), proa.to_tensor(count)),
                np.left_shift(x, count),
                what=(dtype, n),
            )
            same(
                xp.bitwise_right_shift(proa.to_tensor(x), proa.to_tensor(count)),
                np.right_shift(x, count),
                what=(dtype, n),
            )


def test_complex_numbers_near_zero_and_their_signs():
    x = np.array([1e-9 + 1e-9j, -1e-12j, 3 - 4j, 0], "complex128")
    t = proa.to_tensor(x)
    series = x + x * x / 2
    np.testing.assert_allclose(xp.expm1(t).numpy()[:2], series[:2], rtol=1e-12)
    np.testing.assert_allclose(xp.log1p(t).numpy()[:2], (x - x * x / 2)[:2], rtol=1e-12)
    np.testing.assert_allclose(xp.sign(t).numpy()[2:], [0.6 - 0.8j, 0], rtol=1e-15)


def test_clip():
    x = array((2, 3), "float64")
    t = proa.to_tensor(x)
    low, high = np.array([-0.5, 0.0, 0.1]), 0.75
    for a, b in ((None, None), (low, None), (None, high), (low, high), (-1, 1)):
        bounds = [proa.to_tensor(v) if isinstance(v, np.ndarray) else v for v in (a, b)]
        same(xp.clip(t, *bounds), x if a is b is None else np.clip(x, a, b))
    same(xp.clip(proa.to_tensor([1, 200], dtype="uint8"), 5, 100), np.array([5, 100], "uint8"))


# Dtypes -----------------------------------------------------------------------


def _within(names):
    return [(a, b) for a in names for b in names]


def test_promotion():
    """Within a kind, and between signed integers and uint8, as NumPy; the standard leaves the rest open."""
    pairs = _within(_INTEGERS) + _within((*_REALS, *_COMPLEX)) + [("bool", "bool")]
    for a, b in pairs:
        expected = np.result_type(a, b).name
        x, y = proa.ones([2], dtype=a), proa.ones([2], dtype=b)
        assert xp.result_type(x, getattr(proa, b)).name == expected, (a, b)
        assert xp.can_cast(getattr(proa, a), getattr(proa, b)) == (expected == b)
        if a != "bool":
            assert {(x + y).dtype.name, xp.multiply(x, y).dtype.name, xp.where(x != 0, x, y).dtype.name} == {expected}
            assert xp.concat([x, y]).dtype.name == expected
    for name in _ALL[1:]:
        x = proa.ones([2], dtype=name)
        numbers = (2,) if name in _INTEGERS else (2, 2.5) if name in _REALS else (2, 2.5, 2j)
        for number in numbers:
            assert {(x + number).dtype.name, (number * x).dtype.name, xp.result_type(x, number).name} == {name}
    assert xp.result_type(proa.bool, True) == proa.bool
    with pytest.raises(ValueError, match="result_type"):
        xp.result_type(1)


def test_questions_about_dtypes():
    kinds = {"bool": "bool", **dict.fromkeys(_INTEGERS, "signed integer"), **dict.fromkeys(_REALS, "real floating")}
    kinds |= {**dict.fromkeys(_COMPLEX, "complex floating"), "uint8": "unsigned integer"}
    for name, kind in kinds.items():
        dtype = getattr(proa, name)
        for other in set(kinds.values()):
            assert xp.isdtype(dtype, other) == (other == kind)
        assert xp.isdtype(dtype, "integral") == (name in _INTEGERS)
        assert xp.isdtype(dtype, "numeric") == (name != "bool")
        assert xp.isdtype(dtype, (proa.bool, "numeric")) and xp.isdtype(dtype, dtype)
    with pytest.raises(ValueError, match="kind"):
        xp.isdtype(proa.bool, "float")
    for name in (*_REALS, *_COMPLEX):
        a, b = xp.finfo(getattr(proa, name)), np.finfo(name)
        assert (a.eps, a.max, a.min, a.smallest_normal, a.bits) == (b.eps, b.max, b.min, b.tiny, b.bits)
        assert a.dtype.name == b.dtype.name and xp.finfo(proa.ones([1], dtype=name)).eps == a.eps
    for name in _INTEGERS:
        a, b = xp.iinfo(getattr(proa, name)), np.iinfo(name)
        assert (a.max, a.min, a.bits, a.dtype.name) == (b.max, b.min, b.bits, name)
    x = proa.ones([2])
    assert xp.astype(x, proa.float32, copy=False) is x and xp.astype(x, proa.float32) is not x
    for a, b in itertools.product(_ALL, _ALL):
        if a in _COMPLEX and b not in _COMPLEX:
            with pytest.raises(TypeError, match="imaginary"):
                xp.astype(proa.ones([1], dtype=a), getattr(proa, b))
        else:
            value = array((3,), a, positive=True)
            same(xp.astype(proa.to_tensor(value), getattr(proa, b)), value.astype(b), what=(a, b))


# Creation ---------------------------------------------------------------------


def test_creation():
    f32 = np.float32
    for arguments in ((3,), (1, 5), (5, 1), (5, 1, -2), (0, 3, 2), (0,)):
        same(xp.arange(*arguments), np.arange(*arguments))
    same(xp.arange(0, 1, 0.25), np.arange(0, 1, 0.25, dtype=f32))
    same(xp.arange(3, dtype=proa.float64), np.arange(3.0))
    for n, k in itertools.product((0, 1, 3), (-4, -1, 0, 2)):
        same(xp.eye(n, 4, k=k), np.eye(n, 4, k, f32))
        same(xp.eye(3, k=k, dtype=proa.int8), np.eye(3, k=k, dtype="int8"))
    for shape in (*_SHAPES, 3):
        same(xp.zeros(shape), np.zeros(shape, f32))
        same(xp.ones(shape, dtype=proa.int32), np.ones(shape, "int32"))
        assert tuple(xp.empty(shape, dtype=proa.bool).shape) == np.empty(shape).shape
        same(xp.full(shape, 2), np.full(shape, 2))
        x = proa.to_tensor(np.ones(shape, "int16"))
        same(xp.zeros_like(x), np.zeros(shape, "int16"))
        same(xp.ones_like(x, dtype=proa.float32), np.ones(shape, f32))
        same(xp.full_like(x, 3), np.full(shape, 3, "int16"))
        assert xp.empty_like(x).dtype == proa.int16
    assert [xp.full((), v).dtype for v in (True, 1, 1.5, 1j)] == [proa.bool, proa.int64, proa.float32, proa.complex64]
    for n, endpoint in itertools.product((0, 1, 2, 5), (True, False)):
        if n != 1 or endpoint:
            same(xp.linspace(-1, 2, n, endpoint=endpoint), np.linspace(-1, 2, n, endpoint, dtype=f32))
    for count, indexing in itertools.product(range(1, 4), ("xy", "ij")):
        vectors = [array((i + 2,), "float32", i) for i in range(count)]
        for a, b in zip(
            xp.meshgrid(*map(proa.to_tensor, vectors), indexing=indexing), np.meshgrid(*vectors, indexing=indexing)
        ):
            same(a, b)
    x = array((2, 4, 4), "float64")
    for k in (-5, -1, 0, 2):
        same(xp.tril(proa.to_tensor(x), k=k), np.tril(x, k))
        same(xp.triu(proa.to_tensor(x), k=k), np.triu(x, k))


def test_what_the_suite_found():
    """Dtypes of results: of signs of other precision, of sizes of complex determinants, and complex numbers in a row."""
    assert xp.copysign(xp.ones([2]), xp.ones([2], dtype=xp.float64)).dtype == xp.float64
    matrices = np.stack([np.eye(2), 2 * np.eye(2)]).astype("float32")
    same(xp.linalg.solve(proa.to_tensor(matrices), xp.ones([2, 2])), np.linalg.inv(matrices) @ np.ones((2, 2), "f4"))
    sign, size = xp.linalg.slogdet(proa.to_tensor([[2j, 0], [0, 3]]))
    same(size, np.array(np.log(6), "float32"))
    assert sign.dtype == xp.complex64 and abs(sign.item() - 1j) < 1e-6
    same(xp.linspace(0, 2 + 4j, 3), np.array([0, 1 + 2j, 2 + 4j], "complex64"))
    same(xp.linspace(1j, 3, 4, dtype=xp.complex128, endpoint=False), np.linspace(1j, 3, 4, endpoint=False))


def test_asarray():
    same(xp.asarray([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    same(xp.asarray([1, 2.5]), np.array([1, 2.5], "float32"))
    same(xp.asarray([1, 2j]), np.array([1, 2j], "complex64"))
    same(xp.asarray(True), np.array(True))
    same(xp.asarray([1, 2], dtype=proa.int8), np.array([1, 2], "int8"))
    x = proa.ones([2])
    assert xp.asarray(x) is x and xp.asarray(x, copy=False) is x and xp.asarray(x, copy=True) is not x
    same(xp.asarray(x, dtype=proa.int32), np.ones(2, "int32"))
    n = np.ones(3)
    shared, copied = xp.asarray(n, copy=False), xp.asarray(n, copy=True)
    n[0] = 5
    assert shared.tolist()[0] == 5 and copied.tolist()[0] == 1
    same(xp.asarray(n, dtype=proa.float32), n.astype("float32"))
    same(xp.from_dlpack(n), n)
    for call in (lambda: xp.asarray([1], copy=False), lambda: xp.asarray(x, dtype=proa.int8, copy=False)):
        with pytest.raises(ValueError, match="copy=False"):
            call()
    assert xp.asarray([1], device=proa.CPUPlace()).device == proa.CPUPlace()


# Over axes --------------------------------------------------------------------


def _axes(rank):
    """None, each axis from both ends, pairs, and no axis at all."""
    yield from (None, ())
    yield from range(-rank, rank)
    yield from itertools.combinations(range(rank), 2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "count_nonzero"])
def test_over_axes(name):
    dtypes = {
        "mean": (*_REALS, *_COMPLEX),
        "var": _REALS,
        "std": _REALS,
        "all": _ALL,
        "any": _ALL,
        "count_nonzero": _ALL,
    }
    dtypes = dtypes.get(name, (*_INTEGERS, *_REALS, *(_COMPLEX if name in ("sum", "prod") else ())))
    for dtype, shape in itertools.product(dtypes, ((), (4,), (2, 3), (2, 3, 2), (0, 3))):
        x = array(shape, dtype)
        for axis, keepdims in itertools.product(_axes(len(shape)), (False, True)):
            empty = x.size == 0 and axis != () and (name in ("max", "min", "mean", "var", "std"))
            if empty:
                continue
            if name == "count_nonzero":
                expected = (x != 0).sum(axis, keepdims=keepdims)
            else:
                expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
            expected = np.asarray(expected)
            if name in ("sum", "prod") and dtype == "uint8":
                expected = expected.astype("int64")  # there is no uint64
            same(
                getattr(xp, name)(proa.to_tensor(x), axis=axis, keepdims=keepdims), expected, what=(dtype, shape, axis)
            )


def test_over_axes_with_settings():
    x = array((4, 3), "float64")
    t = proa.to_tensor(x)
    for correction, axis in itertools.product((0, 1, 0.5, 2), (None, 0, 1, (0, 1))):
        same(xp.var(t, axis=axis, correction=correction), x.var(axis, ddof=correction))
        same(xp.std(t, axis=axis, correction=correction), x.std(axis, ddof=correction))
    assert np.isnan(xp.var(proa.ones([1]), correction=1).item())
    same(xp.sum(proa.to_tensor([1, 2], dtype="int8"), dtype=proa.int8), np.array(3, "int8"))
    same(xp.prod(t, dtype=proa.float32), x.prod(dtype="float32"))
    for dtype, axis, first in itertools.product(("int8", "int64", "float32", "complex64"), (0, 1, -1), (False, True)):
        x = array((2, 3), dtype)
        for name, reference, start in (("sum", np.cumsum, 0), ("prod", np.cumprod, 1)):
            expected = reference(x, axis)
            if first:
                edge = np.full(np.delete(np.array(x.shape), axis).tolist(), start, expected.dtype)
                expected = np.concatenate([np.expand_dims(edge, axis), expected], axis)
            same(getattr(xp, f"cumulative_{name}")(proa.to_tensor(x), axis=axis, include_initial=first), expected)
    with pytest.raises(ValueError, match="axis"):
        xp.cumulative_sum(proa.ones([2, 2]))
    x = array((3, 5), "float64")
    for axis, n in itertools.product((0, 1, -1), (0, 1, 2)):
        same(xp.diff(proa.to_tensor(x), axis=axis, n=n), np.diff(x, n, axis))
    same(xp.diff(proa.to_tensor(x), prepend=proa.zeros([3, 1], "float64")), np.diff(x, prepend=0))


# Shapes -----------------------------------------------------------------------


def test_shapes():
    x = array((2, 3, 4), "float32")
    t = proa.to_tensor(x)
    for axis in (None, 0, -1, (0, 2)):
        same(xp.flip(t, axis=axis), np.flip(x, axis))
        for shift in (1, -2):
            same(xp.roll(t, shift, axis=axis), np.roll(x, shift, axis))
    same(xp.roll(t, (1, 2), axis=(0, 2)), np.roll(x, (1, 2), (0, 2)))
    for axis in range(-4, 4):
        same(xp.expand_dims(t, axis=axis), np.expand_dims(x, axis))
        same(xp.stack([t, t], axis=axis), np.stack([x, x], axis))
    for axis in (-5, 4):
        with pytest.raises(IndexError, match="expand_dims"):
            xp.expand_dims(t, axis=axis)
    for axes in itertools.permutations(range(3)):
        same(xp.permute_dims(t, axes), x.transpose(axes))
    for axis in (None, 0, 1, -1):
        same(xp.concat([t, t], axis=axis), np.concatenate([x, x], axis))
        same(xp.repeat(t, 2, axis=axis), np.repeat(x, 2, axis))
    same(xp.repeat(t, proa.to_tensor([1, 0, 2]), axis=1), np.repeat(x, [1, 0, 2], 1))
    for shape in ((24,), (4, -1), (2, 3, 2, 2), (1, 24)):
        same(xp.reshape(t, shape), x.reshape(shape))
    same(xp.reshape(proa.ones([0, 3]), (3, 0)), np.ones((3, 0), "float32"))
    same(xp.reshape(proa.ones([1]), ()), np.float32(1))
    with pytest.raises(ValueError, match="reshape"):
        xp.reshape(t, (0, 3))
    with pytest.raises(ValueError, match="copy=False"):
        xp.reshape(t.mT, (24,), copy=False)
    one = proa.ones([1, 2, 1])
    for axis in (0, 2, -1, (0, 2), ()):
        same(xp.squeeze(one, axis), np.squeeze(one.numpy(), axis))
    with pytest.raises(ValueError, match="squeeze"):
        xp.squeeze(one, 1)
    for repetitions in ((), (2,), (1, 2, 1), (2, 1, 1, 2)):
        same(xp.tile(t, repetitions), np.tile(x, repetitions))
    for axis in (0, 1, -1):
        for a, b in zip(xp.unstack(t, axis=axis), np.moveaxis(x, axis, 0), strict=True):
            same(a, b)
    same(xp.moveaxis(t, 0, -1), np.moveaxis(x, 0, -1))
    same(xp.moveaxis(t, (0, 1), (2, 0)), np.moveaxis(x, (0, 1), (2, 0)))
    same(xp.broadcast_to(proa.ones([3, 1]), (2, 3, 4)), np.ones((2, 3, 4), "float32"))
    for a, b in zip(
        xp.broadcast_arrays(proa.ones([3, 1]), proa.ones([4]), proa.ones([])),
        np.broadcast_arrays(*map(np.ones, ((3, 1), 4, ()))),
    ):
        same(a, b.astype("float32"))


# Finding ----------------------------------------------------------------------


def test_finding():
    for dtype, shape in itertools.product((*_INTEGERS, *_REALS), ((5,), (2, 3), (3, 2, 2))):
        x = array(shape, dtype)
        t = proa.to_tensor(x)
        for name in ("argmax", "argmin"):
            for axis, keepdims in itertools.product((None, *range(-len(shape), len(shape))), (False, True)):
                same(getattr(xp, name)(t, axis=axis, keepdims=keepdims), getattr(np, name)(x, axis, keepdims=keepdims))
        for axis in range(-len(shape), len(shape)):
            order = np.argsort(x, axis, kind="stable")
            same(xp.sort(t, axis=axis), np.sort(x, axis))
            same(xp.argsort(t, axis=axis), order)
            same(xp.sort(t, axis=axis, descending=True), np.flip(np.sort(x, axis), axis))
            back = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
            same(xp.argsort(t, axis=axis, descending=True), x.shape[axis] - 1 - back)
            same(xp.take_along_axis(t, proa.to_tensor(order), axis=axis), np.take_along_axis(x, order, axis))
            chosen = np.array([1, 0, 1])
            same(xp.take(t, proa.to_tensor(chosen), axis=axis), np.take(x, chosen, axis))
        for a, b in zip(xp.nonzero(t), np.nonzero(x), strict=True):
            same(a, b)
        found = xp.unique_all(t)
        values, indices, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        for a, b in zip(found, (values, indices, inverse.reshape(shape), counts), strict=True):
            same(a, b)
        same(xp.unique_values(t), values)
        same(xp.unique_counts(t).counts, counts)
        same(xp.unique_inverse(t).inverse_indices, inverse.reshape(shape))
        same(xp.where(t > 0, t, proa.zeros([], dtype)), np.where(x > 0, x, np.zeros((), dtype)))
    found = xp.unique_all(proa.to_tensor([1.0, float("nan"), float("nan")]))
    assert len(found.values) == 3 and found.counts.tolist() == [1, 1, 1]
    x = np.array([3.0, 1.0, 2.0, 2.0])
    order = np.argsort(x, kind="stable")
    for side in ("left", "right"):
        keys = np.array([[0.0, 2.0], [2.5, 9.0]])
        expected = np.searchsorted(x, keys, side, order)
        same(
            xp.searchsorted(proa.to_tensor(x), proa.to_tensor(keys), side=side, sorter=proa.to_tensor(order)), expected
        )
    for call in (lambda: xp.searchsorted(proa.ones([1]), proa.ones([1]), side="up"), lambda: xp.nonzero(proa.ones([])),
                 lambda: xp.take(proa.ones([2, 2]), proa.to_tensor([0]))):  # fmt: skip
        with pytest.raises(ValueError):
            call()


# Matrices and transforms ------------------------------------------------------


@pytest.mark.parametrize("dtype", (*_REALS, *_COMPLEX))
def test_products(dtype):
    for a, b in (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((2, 1, 2, 3), (4, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 2)),
    ):
        x, y = array(a, dtype), array(b, dtype, 1)
        same(
            xp.matmul(proa.to_tensor(x), proa.to_tensor(y)),
            x @ y,
            rtol=1e-5 if dtype in ("float32", "complex64") else 1e-12,
        )
    x, y = array((2, 3, 4), dtype), array((3, 4, 5), dtype, 1)
    u, v = proa.to_tensor(x), proa.to_tensor(y)
    same(xp.tensordot(u, v), np.tensordot(x, y), rtol=1e-4)
    same(xp.tensordot(u, v, axes=((1, 2), (0, 1))), np.tensordot(x, y, ((1, 2), (0, 1))), rtol=1e-4)
    same(xp.tensordot(u, v, axes=0), np.tensordot(x, y, 0), rtol=1e-4)
    same(xp.matrix_transpose(u), np.swapaxes(x, -1, -2))
    same(u.mT, np.swapaxes(x, -1, -2))
    same(xp.vecdot(u, u, axis=-2), (x.conj() * x).sum(-2), rtol=1e-4)
    for call in (lambda: xp.matmul(u, proa.ones([])), lambda: xp.vecdot(u, v), lambda: xp.matrix_transpose(proa.ones([2])),
                 lambda: xp.vecdot(u, u, axis=1), lambda: xp.tensordot(u, u, axes=1), lambda: xp.linalg.outer(u, u)):  # fmt: skip
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("dtype", ("float32", "float64", "complex128"))
def test_linalg(dtype):
    rtol = 2e-4 if dtype == "float32" else 1e-9
    L = xp.linalg
    x = array((2, 3, 3), dtype) + 3 * np.eye(3, dtype=dtype)
    b = array((2, 3, 2), dtype, 1)
    tall = array((2, 4, 3), dtype, 2)
    definite = (x @ np.swapaxes(x.conj(), -1, -2)).astype(dtype)
    t, p = proa.to_tensor(x), proa.to_tensor(definite)
    same(L.det(t), np.linalg.det(x), rtol=rtol)
    same(L.inv(t), np.linalg.inv(x), rtol=rtol)
    same(L.solve(t, proa.to_tensor(b)), np.linalg.solve(x, b), rtol=rtol)
    same(
        L.solve(t, proa.to_tensor(b[0, :, 0])),
        np.linalg.solve(x, np.stack([b[0, :, 0]] * 2)[..., None])[..., 0],
        rtol=rtol,
    )
    same(L.matrix_power(t, 3), np.linalg.matrix_power(x, 3), rtol=rtol)
    same(L.cholesky(p), np.linalg.cholesky(definite), rtol=rtol)
    same(L.cholesky(p, upper=True), np.swapaxes(np.linalg.cholesky(definite), -1, -2).conj(), rtol=rtol)
    same(L.eigvalsh(p), np.linalg.eigvalsh(definite), rtol=rtol)
    values, vectors = L.eigh(p)
    same(vectors * values[:, None, :] @ xp.conj(vectors.mT), definite, rtol=rtol)
    for matrix, full in itertools.product((x, tall, np.swapaxes(tall, 1, 2).copy()), (True, False)):
        u, s, vh = L.svd(proa.to_tensor(matrix), full_matrices=full)
        a, c, d = np.linalg.svd(matrix, full)
        assert (u.shape, vh.shape) == (list(a.shape), list(d.shape))
        same(s, c, rtol=rtol)
        k = c.shape[-1]
        same(u[..., :k] * s[:, None, :] @ vh[..., :k, :], matrix, rtol=rtol)
        same(L.svdvals(proa.to_tensor(matrix)), c, rtol=rtol)
        same(L.pinv(proa.to_tensor(matrix)), np.linalg.pinv(matrix), rtol=rtol)
        q, r = L.qr(proa.to_tensor(matrix), mode="complete" if full else "reduced")
        same(q @ r, matrix, rtol=rtol)
        assert q.shape[-1] == (matrix.shape[-2] if full else k)
    low = np.ones((2, 3, 3), dtype) * np.array([1, 0], dtype)[:, None, None]
    same(L.matrix_rank(proa.to_tensor(low)), np.linalg.matrix_rank(low))
    same(L.matrix_rank(t, rtol=0.99), np.linalg.matrix_rank(x, tol=0.99 * np.linalg.svd(x, compute_uv=False).max(-1)))
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        for keepdims in (False, True):
            expected = np.stack([np.linalg.norm(m, order, keepdims=keepdims) for m in x])
            same(L.matrix_norm(t, ord=order, keepdims=keepdims), expected, rtol=rtol)
    for order, axis in itertools.product((0, 1, 2, 3, 2.5, np.inf, -np.inf, -1), (None, 0, -1)):
        flat = x.ravel() if axis is None else x
        expected = np.linalg.norm(flat, order, axis if axis is not None else 0)
        same(L.vector_norm(t, ord=order, axis=axis), np.asarray(expected, abs(x).dtype), rtol=rtol)
    for offset in (-1, 0, 2):
        same(L.diagonal(t, offset=offset), np.diagonal(x, offset, -2, -1))
        same(L.trace(t, offset=offset), np.trace(x, offset, -2, -1), rtol=rtol)
    same(L.outer(t[0, 0], t[0, 1]), np.outer(x[0, 0], x[0, 1]), rtol=rtol)
    same(L.cross(t, t * 2 + 1, axis=-2), np.cross(x, x * 2 + 1, axis=-2), rtol=rtol)
    if dtype != "complex128":
        sign, log = L.slogdet(t)
        a, b = np.linalg.slogdet(x)
        same(sign, a), same(log, b, rtol=rtol)
    for call in (lambda: L.qr(t, mode="r"), lambda: L.matrix_norm(t, ord="other"), lambda: L.cross(t, t[..., :2])):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms(name):
    real = name in ("rfft", "ihfft", "rfftn")
    x = array((3, 6, 4), "float64" if real else "complex128")
    settings = [{}, {"norm": "ortho"}, {"norm": "forward"}]
    settings += (
        [{"s": (4, 5), "axes": (0, 1)}, {"axes": (1,)}]
        if name.endswith("n")
        else [{"n": 5}, {"axis": 0}, {"n": 9, "axis": 1}]
    )
    for setting in settings:
        same(getattr(xp.fft, name)(proa.to_tensor(x), **setting), getattr(np.fft, name)(x, **setting), rtol=1e-10)


def test_frequencies():
    for n, d in itertools.product((1, 4, 5), (1.0, 0.25)):
        same(xp.fft.fftfreq(n, d=d), np.fft.fftfreq(n, d).astype("float32"))
        same(xp.fft.rfftfreq(n, d=d, dtype=proa.float64), np.fft.rfftfreq(n, d))
    x = array((3, 4), "float32")
    for axes in (None, 0, (0, 1)):
        same(xp.fft.fftshift(proa.to_tensor(x), axes=axes), np.fft.fftshift(x, axes))
        same(xp.fft.ifftshift(proa.to_tensor(x), axes=axes), np.fft.ifftshift(x, axes))


# The tensor -------------------------------------------------------------------

OBJECT_EXEMPT = {
    "shape": "a list, as the programs of the reference have it",
}


def test_the_tensor():
    x = proa.to_tensor([[1.0, -2.0], [3.0, 4.0]])
    assert x.__array_namespace__() is xp is x.__array_namespace__(api_version="2023.12")
    with pytest.raises(ValueError, match="2023.12"):
        x.__array_namespace__(api_version="2099.12")
    assert (x.ndim, x.size, tuple(x.shape), x.dtype) == (2, 4, (2, 2), proa.float32)
    assert x.device == x.place and x.to_device(x.device) is x
    with pytest.raises(ValueError, match="stream"):
        x.to_device(x.device, stream=1)
    same(x.T, x.numpy().T)
    i, b = proa.to_tensor([5, -3]), proa.to_tensor([True, False])
    two = {"add": 3.0, "sub": 3.0, "mul": 3.0, "truediv": 3.0, "floordiv": 3.0, "mod": 3.0, "pow": 2.0}
    for name, other in two.items():
        base = abs(x) + 1
        call, numbers = getattr(operator, name), base.numpy()
        np.testing.assert_allclose(call(base, other).numpy(), call(numbers, np.float32(other)), rtol=1e-6)
        np.testing.assert_allclose(call(other, base).numpy(), call(np.float32(other), numbers), rtol=1e-6)
        np.testing.assert_allclose(
            getattr(operator, f"i{name}")(base, other).numpy(), call(numbers, np.float32(other)), rtol=1e-6
        )
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        same(getattr(x, f"__{name}__")(1.0), getattr(x.numpy(), f"__{name}__")(1.0))
    for name in ("and", "or", "xor"):
        same(getattr(i, f"__{name}__")(i), getattr(i.numpy(), f"__{name}__")(i.numpy()))
        same(getattr(b, f"__{name}__")(b), getattr(b.numpy(), f"__{name}__")(b.numpy()))
    for name in ("neg", "pos", "abs"):
        same(getattr(x, f"__{name}__")(), getattr(x.numpy(), f"__{name}__")())
    same(~i, ~i.numpy()), same(x @ x, x.numpy() @ x.numpy())
    scalar = proa.to_tensor(3)
    assert (int(scalar), float(scalar), complex(scalar), bool(scalar), [10, 11, 12, 13][scalar]) == (
        3,
        3.0,
        3 + 0j,
        True,
        13,
    )
    for key in (0, -1, slice(None, None, -1), (..., 0), (None, 0), (slice(0, 1), slice(None)), np.array([True, False])):
        index = proa.to_tensor(key) if isinstance(key, np.ndarray) else key
        same(x[index], x.numpy()[key])
    assert x.__dlpack_device__() == (1, 0)
    same(i << 1, i.numpy() << 1)
    same(i >> 1, i.numpy() >> 1)
    assert isinstance(x.shape, list) and set(OBJECT_EXEMPT) == {"shape"}


def test_gradients_flow():
    x = proa.to_tensor([1.0, 2.0], stop_gradient=False)
    xp.sum(xp.hypot(x, 2 * x) * xp.linalg.vector_norm(x)).backward()
    # |(x, 2x)| = sqrt(5) |x|, so the sum is sqrt(5) (a + b) sqrt(a^2 + b^2)
    a, b, root = 1.0, 2.0, 5**0.5
    np.testing.assert_allclose(x.grad.numpy(), [root * (root + (a + b) * v / root) for v in (a, b)], rtol=1e-5)
