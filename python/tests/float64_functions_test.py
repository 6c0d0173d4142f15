"""Functions of float64 that are computed in vectors: what accuracy_test.py does not ask. Zeros, infinities, NaN and the ends of ranges,
the same bits wherever an element lies and whatever lies beside it, and arguments of any size for sine, cosine and tangent.
"""

import mpmath
import numpy as np
import pytest

import proa
import proa.nn.functional as F

_FUNCTIONS = {
    **{
        name: getattr(proa, name)
        for name in (
            "exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfinv logit"
        ).split()
    },
    **{name: getattr(F, name) for name in "sigmoid silu gelu softplus log_sigmoid elu selu mish tanhshrink".split()},
}
_NUMPY = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}
_TINY = float(np.finfo("float64").tiny)
_SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, _TINY, -_TINY]
_ENDS = [
    709.7,
    709.8,
    710.4,
    710.5,
    -708.3,
    -709,
    -745.1,
    -745.2,
    -746,
    1e300,
    -1e300,
    1.7976931348623157e308,
    2.0**-54,
    -(2.0**-60),
]


def _bits(x):
    return np.where(np.isnan(x), np.float64(0), x).view(np.uint64) + np.isnan(x)


@pytest.mark.parametrize(
    "name", ["exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", *_NUMPY]
)
def test_special_arguments(name):
    """As NumPy has them, with the sign of zeros."""
    x = np.array(_SPECIAL + _ENDS)
    with np.errstate(all="ignore"):
        want = getattr(np, _NUMPY.get(name, name))(x)
    got = _FUNCTIONS[name](proa.to_tensor(x)).numpy()
    np.testing.assert_allclose(got, want, rtol=5e-16, atol=5e-324)
    zeros = (want == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


def test_special_arguments_of_the_error_function_and_its_inverse():
    erf = proa.erf(proa.to_tensor([0.0, -0.0, np.inf, -np.inf, np.nan, 6.5, -30.0, 5e-324], dtype="float64")).numpy()
    np.testing.assert_array_equal(erf, [0, -0.0, 1, -1, np.nan, 1, -1, 5e-324])
    assert np.signbit(erf[1])
    inverse = proa.erfinv(proa.to_tensor([0.0, -0.0, 1.0, -1.0, 1.5, np.nan, np.inf], dtype="float64")).numpy()
    np.testing.assert_array_equal(inverse, [0, -0.0, np.inf, -np.inf, np.nan, np.nan, np.nan])
    assert np.signbit(inverse[1])


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_the_same_bits_anywhere(name):
    """Alone, at any place of arrays of any length, strided, in place, and beside arguments that take another way."""
    rng = np.random.default_rng(0)
    f = _FUNCTIONS[name]
    x = np.concatenate(
        [rng.uniform(-1, 1, 60), rng.uniform(-20, 20, 60), _SPECIAL, _ENDS, [1e7, -3e9, 0.9999, -0.99999999]]
    )
    alone = np.array([float(f(proa.to_tensor([v], dtype="float64"))) for v in x])
    for length in [*range(1, 40), len(x)]:
        for first in range(0, len(x) - length + 1, max(1, length // 2)):
            part = proa.to_tensor(x[first : first + length])
            np.testing.assert_array_equal(_bits(f(part).numpy()), _bits(alone[first : first + length]))
    order = rng.permutation(np.tile(np.arange(len(x)), 7))
    np.testing.assert_array_equal(_bits(f(proa.to_tensor(x[order])).numpy()), _bits(alone[order]))
    every_other = proa.to_tensor(np.repeat(x[order], 2))[::2]
    np.testing.assert_array_equal(_bits(f(every_other).numpy()), _bits(alone[order]))
    if hasattr(proa.Tensor, f"{name}_"):
        changed = proa.to_tensor(x[order])
        getattr(changed, f"{name}_")()
        np.testing.assert_array_equal(_bits(changed.numpy()), _bits(alone[order]))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_arguments_of_any_size(name):
    """Around the largest that vectors reduce, next to multiples of pi / 2, and up to the largest number."""
    rng = np.random.default_rng(0)
    multiples = np.round(10 ** rng.uniform(0, 6, 200)) * (np.pi / 2)
    x = np.concatenate([2.0**20 + np.arange(-3, 4) * 2.0**-32, multiples, 10 ** rng.uniform(5, 308, 100)])
    x = np.concatenate([x, -x])
    got = _FUNCTIONS[name](proa.to_tensor(x)).numpy()
    with mpmath.workdps(400):
        want = [getattr(mpmath, name)(mpmath.mpf(float(v))) for v in x]
        errors = [
            float(abs(mpmath.mpf(float(g)) - w) / np.spacing(abs(float(w)))) for g, w in zip(got, want, strict=True)
        ]
    assert max(errors) <= 1, x[int(np.argmax(errors))]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_angle_leaves_its_neighbours_alone(dtype):
    x = np.linspace(-5, 5, 700).astype(dtype)
    with_large = x.copy()
    with_large[[3, 299, 699]] = [1e30, np.inf, np.nan]
    for f in (proa.sin, proa.cos, proa.tan):
        got, want = f(proa.to_tensor(with_large)).numpy(), f(proa.to_tensor(x)).numpy()
        others = np.delete(np.arange(700), [3, 299, 699])
        np.testing.assert_array_equal(got[others], want[others])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "name",
    ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "expm1", "log1p", "erf", "erfinv"],
)
def test_zeros_keep_their_sign_whatever_is_beside_them(name, dtype):
    """float32 sin and tan of -0 were 0, but for vectors with a number beyond 2^20."""
    for beside in (0.25, 1e30, np.nan):
        x = np.array([-0.0, 0.0, beside] * 30, dtype)
        y = getattr(proa, name)(proa.to_tensor(x)).numpy()
        assert np.signbit(y[::3]).all() and not np.signbit(y[1::3]).any() and not y[::3].any()
