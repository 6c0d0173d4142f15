"""Special functions against mpmath, in units of the last place, over a dense grid with poles, ends and what lies near them."""

import math

import mpmath
import numpy as np
import pytest

import proa

_RNG = np.random.default_rng(5)
_WIDE = 10 ** _RNG.uniform(-30, 30, 30)
POSITIVE = np.concatenate([_RNG.uniform(0, 3, 80), _RNG.uniform(3, 40, 30), _WIDE])
NEGATIVE = -np.concatenate([_RNG.uniform(0, 12, 80), _RNG.uniform(12, 200, 20)])
INSIDE = np.concatenate([_RNG.uniform(-1, 1, 60), 10 ** _RNG.uniform(-300, 0, 20), 1 - 10 ** _RNG.uniform(-15, 0, 30)])
REAL = np.concatenate([_RNG.uniform(-30, 30, 40), _RNG.uniform(-80, 80, 10), 10 ** _RNG.uniform(-8, 1.5, 20)])


def _log_gamma(x):
    return mpmath.log(abs(mpmath.gamma(x)))


# Function, reference, arguments, largest error in float64; below 0 and near its zeros the error of digamma is
# relative to 1. In float32 the error is that of _IN_FLOAT32, or half a unit and the rounding of what float64 computed.
CASES = {
    "lgamma": (proa.lgamma, lambda x: mpmath.loggamma(x), POSITIVE, 2, 0),
    "lgamma below 0": (proa.lgamma, _log_gamma, NEGATIVE, 3, 0),
    "digamma": (proa.digamma, mpmath.digamma, POSITIVE, 3, 0),
    "digamma below 0": (proa.digamma, mpmath.digamma, NEGATIVE, 7, 2.0**-52),
    "polygamma 1": (lambda x: proa.polygamma(x, 1), lambda x: mpmath.polygamma(1, x), POSITIVE[:110], 4, 0),
    "polygamma 1 below 0": (lambda x: proa.polygamma(x, 1), lambda x: mpmath.polygamma(1, x), NEGATIVE[:40], 7, 0),
    "polygamma 4": (lambda x: proa.polygamma(x, 4), lambda x: mpmath.polygamma(4, x), POSITIVE[:40], 8, 0),
    "erfinv": (proa.erfinv, mpmath.erfinv, INSIDE, 2, 0),
    "i0": (proa.i0, lambda x: mpmath.besseli(0, x), REAL, 4.5, 0),
    "i0e": (proa.i0e, lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), REAL, 4.5, 0),
    "i1": (proa.i1, lambda x: mpmath.besseli(1, x), REAL, 4.5, 0),
    "i1e": (proa.i1e, lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), REAL, 4.5, 0),
}
_IN_FLOAT32 = {"erfinv": 2.5, "i0": 4.5, "i0e": 4.5, "i1": 4.5, "i1e": 4}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_units_of_the_last_place(name, dtype):
    f, reference, x, bound, floor = CASES[name]
    x = x.astype(dtype)
    if dtype == "float32":
        x, bound = x[(x != 0) & (np.abs(x) != 1)], _IN_FLOAT32.get(name, 0.51)
    y = f(proa.to_tensor(x)).numpy()
    assert y.dtype == dtype
    with mpmath.workdps(25):
        for a, b in zip(x, y):
            want = mpmath.re(reference(mpmath.mpf(float(a))))
            rounded = np.dtype(dtype).type(float(want))
            if np.isinf(rounded) or abs(rounded) < np.finfo(dtype).tiny:
                assert b == rounded or abs(b - rounded) <= np.finfo(dtype).tiny, (a, b)
                continue
            unit = max(float(np.spacing(abs(rounded))), floor if dtype == "float64" else 0)
            # Near a zero below 0 the float64 that is rounded has few digits itself.
            slack = 8 * 2.0**-52 / unit if floor else 0
            assert abs(mpmath.mpf(float(b)) - want) <= (bound + slack) * unit, (name, a, b, float(want))


def test_ends_and_poles():
    f64 = lambda *v: proa.to_tensor(np.array(v))  # noqa: E731
    inf, nan = math.inf, math.nan
    same = lambda t, want: np.testing.assert_array_equal(t.numpy(), np.array(want, float))  # noqa: E731
    same(proa.lgamma(f64(0.0, -0.0, -1, -2, inf, -inf, nan, 1, 2)), [inf] * 6 + [nan, 0, 0])
    same(proa.digamma(f64(0.0, -0.0, -1, -7, inf, -inf, nan)), [-inf, inf, nan, nan, inf, nan, nan])
    same(proa.polygamma(f64(0.0, -3.0, inf, -inf, nan), 1), [inf, inf, 0, nan, nan])
    same(proa.polygamma(f64(0.0, -0.0, -3.0, inf), 2), [-inf, inf, nan, 0])
    same(proa.erfinv(f64(1, -1, 1.5, -1.5, 0, nan, inf)), [inf, -inf, nan, nan, 0, nan, nan])
    same(proa.i0(f64(inf, -inf, nan, 0, 800)), [inf, inf, nan, 1, inf])
    same(proa.i1(f64(inf, -inf, nan, 0)), [inf, -inf, nan, 0])
    same(proa.i0e(f64(inf, -inf, 0)), [0, 0, 1])
    # Far below 0 every float is a whole number; huge orders take no time.
    assert np.isnan(proa.digamma(f64(-1e300)).item())
    assert proa.polygamma(f64(0.5), 10000).item() == -inf


@pytest.mark.parametrize(
    "name, exact",
    [
        ("lgamma", lambda x: _log_gamma(x)),
        ("digamma", mpmath.digamma),
        ("trigamma", lambda x: mpmath.polygamma(1, x)),
    ],
)
def test_float32_near_zeros_and_poles(name, exact):
    """Where two large numbers cancel, all digits are there: the zeros above and below 0, and both sides of each pole."""
    f = {"trigamma": lambda x: proa.polygamma(x, 1)}.get(name) or getattr(proa, name)
    zeros = [1.4616321, -0.50408305, -1.5734985, -2.6107208, 1, 2, -2.4570247, -2.7476826, -3.1435808, -3.9552942]
    near = [np.float32(z) * (1 + np.float32(2.0**-22) * k) for z in zeros for k in range(-3, 4)]
    poles = [np.float32(-n) + s * np.float32(2.0**-e) for n in range(6) for s in (-1, 1) for e in (3, 12, 20)]
    steps = [np.nextafter(np.float32(n), np.float32(n + s)) for n in (1, 2, 3, 7, 8, 9) for s in (-1, 1)]
    x = np.array(near + poles + steps, np.float32)
    y = f(proa.to_tensor(x)).numpy()
    with mpmath.workdps(40):
        for a, b in zip(x, y):
            want = mpmath.re(exact(mpmath.mpf(float(a))))
            if want == 0:
                assert b == 0, a
            else:
                unit = float(np.spacing(np.float32(abs(float(want)))))
                assert abs(mpmath.mpf(float(b)) - want) <= 0.51 * unit + 8 * 2.0**-52, (a, b, float(want))


def test_float32_ends_and_poles():
    """The same as float64 everywhere, with the sign of zeros; long arrays, which are computed piece by piece."""
    inf, nan = math.inf, math.nan
    ends = [0.0, -0.0, -1, -2, -7, inf, -inf, nan, 1, 2, 1e-45, -1e-45, 3e38, -3e38, 1e-30, -1e-30, -16777216, 120, 91]
    rng = np.random.default_rng(0)
    mixed = rng.choice(ends, 1500)
    positive = np.abs(rng.choice([v for v in ends if not v <= 0], 700))
    functions = [proa.lgamma, proa.digamma, proa.erfinv, proa.i0, proa.i1, proa.i0e, proa.i1e]
    functions += [lambda t, n=n: proa.polygamma(t, n) for n in (0, 1, 2)]
    for f in functions:
        for x in (np.array(ends), mixed, positive):
            x = x.astype(np.float32)
            with np.errstate(over="ignore"):
                want = f(proa.to_tensor(x.astype(np.float64))).numpy().astype(np.float32)
            np.testing.assert_allclose(f(proa.to_tensor(x)).numpy(), want, rtol=6e-7, atol=0)
    for f in (proa.erfinv, proa.i1, proa.i1e):
        assert np.signbit(f(proa.to_tensor(np.float32([-0.0, 0.0]))).numpy()).tolist() == [True, False]


def test_erfinv_in_place_and_its_gradient():
    x = proa.to_tensor([0.25, -0.5], stop_gradient=False)
    y = proa.erfinv_(x * 1.0)
    y.sum().backward()
    want = math.sqrt(math.pi) / 2 * np.exp(np.square(y.numpy()))
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)


def test_third_derivatives():
    """Of lgamma they are polygamma of order 2; of i0 the mean of orders 1 and 3."""
    for f, slope in (
        (proa.lgamma, lambda v: mpmath.polygamma(2, v)),
        (proa.i0, lambda v: mpmath.diff(lambda t: mpmath.besseli(0, t), v, 3)),
    ):
        x = proa.to_tensor(np.array([0.3, 1.7, 4.2]), stop_gradient=False)
        y = f(x)
        for _ in range(3):
            (y,) = proa.grad(y.sum(), [x], create_graph=True)
        np.testing.assert_allclose(y.numpy(), [float(slope(v)) for v in (0.3, 1.7, 4.2)], rtol=1e-9)
