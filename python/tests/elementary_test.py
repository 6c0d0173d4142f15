"""Signs, running extrema, areas and distances beside NumPy; gradients beside differences."""

import itertools
import math

import numpy as np
import pytest

import proa as paddle
from python.tests.checked_values import check_gradient

T = paddle.to_tensor
RNG = np.random.default_rng(0)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-3, 300.0])


def array(*shape):
    return RNG.standard_normal(shape)


def close(found, wanted, rtol=1e-12):
    assert found.shape == list(np.shape(wanted))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=rtol, atol=1e-14)


@pytest.mark.parametrize("name", ["signbit", "isposinf", "isneginf", "sinc", "isreal"])
def test_of_one(name):
    x = SPECIAL[np.isfinite(SPECIAL)] if name == "sinc" else SPECIAL
    if name == "signbit":
        x = x[~np.isnan(x)]
    close(getattr(paddle, name)(T(x)), getattr(np, name)(x))
    whole = np.array([-2, 0, 3])
    np.testing.assert_allclose(getattr(T(whole), name)().numpy(), getattr(np, name)(whole), atol=1e-7)
    close(getattr(paddle, name)(T(np.zeros((2, 0)))), getattr(np, name)(np.zeros((2, 0))))


@pytest.mark.parametrize("name", ["copysign", "hypot", "logaddexp", "heaviside"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_of_two(name, dtype):
    far = [1e-160, 3e-310, 1e200, 1.7e308] if dtype == "float64" else [1e-30, 3e-44, 1e30, 3e38]
    a, b = np.meshgrid(np.array([*SPECIAL, *far], dtype), np.array([*SPECIAL, *far], dtype))
    if name == "heaviside":
        a, b = a[~np.isnan(a)], b[~np.isnan(a)]
    with np.errstate(all="ignore"):
        close(getattr(paddle, name)(T(a), T(b)), getattr(np, name)(a, b), 1e-12 if dtype == "float64" else 5e-7)
        two = np.asarray(2.0, dtype)
        close(getattr(T(a), name)(T(two)), getattr(np, name)(a, two), 1e-6)
        close(getattr(paddle, name)(T(a), -2.0), getattr(np, name)(a, -two), 1e-6)
        whole = np.array([[3], [-4], [0]]), np.array([4, -5])
        close(getattr(paddle, name)(T(whole[0]), T(whole[1])), getattr(np, name)(*map(np.float64, whole)), 1e-6)


def test_more_functions():
    x, y = array(2, 3), RNG.integers(-5, 5, 3)
    close(paddle.ldexp(T(x), T(y)), np.ldexp(x, y))
    close(paddle.ldexp(T(np.array([3])), T(np.array([2]))), np.float32([12]))
    far = np.float32([1e-30, 1e30, 1.0, 1.0]), np.array([150, -200, -149, 127])
    np.testing.assert_array_equal(paddle.ldexp(T(far[0]), T(far[1])).numpy(), np.ldexp(*far))
    signs, powers = np.meshgrid(
        [0.0, -0.0, 1.5, -np.inf, 5e-324], [-(2**31), -2000, -277, 0, 277, 1000, 2000, 2**31 - 1]
    )
    for dtype in ("float32", "float64"):
        numbers = signs.astype(dtype)
        with np.errstate(all="ignore"):
            wanted = np.ldexp(numbers, powers.astype("int32"))
        np.testing.assert_array_equal(paddle.ldexp(T(numbers), T(powers)).numpy(), wanted)
    assert paddle.ldexp(T([2.0**-20], "float16"), T([30])).tolist() == [1024.0]
    assert paddle.ldexp(T([1.0, 1.0, 1.0]), T([np.inf, -np.inf, np.nan])).tolist()[:2] == [np.inf, 0.0]
    close(paddle.gammaln(T(np.abs(x) * 9)), np.vectorize(math.lgamma)(np.abs(x) * 9))
    close(paddle.polar(T(np.abs(x)), T(x)), np.abs(x) * np.exp(1j * x))
    assert paddle.isreal(T(np.array([1 + 0j, 1j, 0j]))).tolist() == [True, False, True]
    with pytest.raises(TypeError, match="signbit: no kernel for complex128|signbit.*complex128"):
        paddle.signbit(T(np.array([1j])))


@pytest.mark.parametrize("dtype", ["int64", "int32", "float64", "float16", "bool", "uint8"])
def test_isin(dtype):
    x, test = RNG.integers(0, 9, (4, 5)).astype(dtype), RNG.integers(0, 9, (2, 2)).astype(dtype)
    for invert in (False, True):
        close(paddle.isin(T(x), T(test), invert=invert), np.isin(x, test, invert=invert))
    close(T(x).isin(T(np.zeros(0, dtype))), np.zeros(x.shape, bool))
    close(paddle.isin(T(np.zeros(0, dtype)), T(test)), np.zeros(0, bool))
    assert paddle.isin(T([np.nan, 1.0, np.inf]), T([np.nan, np.inf])).tolist() == [False, False, True]
    assert paddle.isin(T([1.0, 2.0]), 2).tolist() == [False, True]


def test_numbers_that_the_dtype_of_the_tensor_has_not():
    """They became others: 0.5 became 0, and -1 became 255."""
    whole = np.array([0, 3, 255])
    with np.errstate(all="ignore"):
        for name in ("hypot", "logaddexp", "heaviside", "copysign"):
            close(getattr(paddle, name)(T(whole), 0.5), getattr(np, name)(whole, 0.5), 1e-6)
            close(getattr(paddle, name)(0.5, T(whole)), getattr(np, name)(0.5, whole), 1e-6)
    for dtype in ("uint8", "int8", "int32", "bool"):
        x = whole.astype(dtype)
        for number in (0.5, -1, 1, 255, 2**40):
            close(paddle.isin(T(x), number), x.astype("float64") == number)


def test_norms_and_products_of_linalg():
    x, y = array(2, 3, 4), array(3, 4)
    z = x[0] + 1j * y
    close(paddle.linalg.vecdot(T(x), T(y)), (x * y).sum(-1))
    close(paddle.linalg.vecdot(T(x), T(y), 1), (x * y).sum(1))
    close(paddle.linalg.vecdot(T(z), T(y)), (z.conj() * y).sum(-1))
    close(paddle.linalg.matrix_transpose(T(x)), x.swapaxes(1, 2))
    for p in (0, 1, 2, 3.5, np.inf, -np.inf):
        close(paddle.linalg.vector_norm(T(x), p), np.linalg.norm(x.reshape(-1), p))
        close(paddle.linalg.vector_norm(T(z), p, 1, True), np.linalg.norm(z, p, 1, True))
        close(paddle.linalg.vector_norm(T(x), p, [0, 2]), np.linalg.norm(x.swapaxes(0, 1).reshape(3, -1), p, 1))
    for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        close(paddle.linalg.matrix_norm(T(x), p), np.linalg.norm(x, p, (1, 2)), 1e-9)
        close(paddle.linalg.matrix_norm(T(x), p, [2, 0], True), np.linalg.norm(x, p, (2, 0), True), 1e-9)
    with pytest.raises(IndexError, match="vecdot: axis 3 is out of range"):
        paddle.linalg.vecdot(T(x), T(y), 3)
    with pytest.raises(ValueError, match="matrix_norm: two axes are needed"):
        paddle.linalg.matrix_norm(T(x), axis=[0])
    with pytest.raises(TypeError, match="positive: x must be numbers"):
        paddle.positive(T([True]))
    assert paddle.less(T([1, 2]), T([2, 2])).tolist() == [True, False]


def test_bucketize():
    x, edges = array(3, 4), np.sort(array(6))
    close(paddle.bucketize(T(x), T(edges)), np.searchsorted(edges, x))
    found = T(edges).bucketize(T(edges), out_int32=True, right=True)
    assert found.dtype == paddle.int32
    close(found, np.searchsorted(edges, edges, side="right"))
    with pytest.raises(ValueError, match="sorted_sequence must have one dim"):
        paddle.bucketize(T(x), T(x))


def running(line, better):
    """Values and places of a line: of equal ones the last, NaN among them."""
    values, places = [], []
    for i, v in enumerate(line):
        if not places or np.isnan(v) or better(v, values[-1]):
            values.append(v)
            places.append(i)
        else:
            values.append(values[-1])
            places.append(places[-1])
    return np.array(values, line.dtype), np.array(places, "int64")


@pytest.mark.parametrize("name, better", [("cummax", np.greater_equal), ("cummin", np.less_equal)])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 100])
def test_running_extrema(name, better, n):
    x = RNG.integers(0, 6, (n, 3)).astype("float64")
    if n == 100:
        x[50, 1] = x[70, 1] = np.nan
    values, places = getattr(paddle, name)(T(x), 0)
    lines = [running(x[:, j], better) for j in range(3)]
    close(values, np.stack([v for v, _ in lines], 1))
    close(places, np.stack([p for _, p in lines], 1))
    values, places = getattr(T(x.astype("float32")), name)(dtype="int32")
    flat = running(x.reshape(-1).astype("float32"), better)
    assert places.dtype == paddle.int32
    close(values, flat[0])
    close(places, flat[1])
    whole = np.arange(6).reshape(2, 3) % 4
    close(
        getattr(paddle, name)(T(whole), -1)[0], (np.maximum if name == "cummax" else np.minimum).accumulate(whole, -1)
    )
    assert [t.shape for t in getattr(paddle, name)(T(1.0), 0)] == [[], []]
    with pytest.raises(TypeError, match="indices are int32 or int64, not float32"):
        getattr(paddle, name)(T(x), 0, "float32")
    with pytest.raises(IndexError, match="axis 2 is out of range"):
        getattr(paddle, name)(T(x), 2)


@pytest.mark.parametrize("n", [1, 2, 5, 16, 33])
def test_logcumsumexp(n):
    x = array(2, n) * 100
    close(paddle.logcumsumexp(T(x), 1), np.logaddexp.accumulate(x, 1))
    close(T(x).logcumsumexp(), np.logaddexp.accumulate(x.reshape(-1)))
    x[0, 0] = -np.inf
    leaf = T(x, stop_gradient=False)
    out = paddle.logcumsumexp(leaf, 1)
    close(out, np.logaddexp.accumulate(x, 1))
    out[1].sum().backward()
    assert np.isfinite(leaf.grad.numpy()[1]).all()


def test_vander():
    x = array(4)
    for n in (None, 0, 1, 2, 6):
        for increasing in (False, True):
            close(paddle.vander(T(x), n, increasing), np.vander(x, n, increasing))
    close(T(np.array([0, 2, -3])).vander(), np.vander([0, 2, -3]))
    with pytest.raises(ValueError, match="n must not be negative"):
        paddle.vander(T(x), -1)


def test_trapezoids():
    y, x = array(3, 5), np.sort(array(5))
    trapezoid = getattr(np, "trapezoid", None) or np.trapz
    close(paddle.trapezoid(T(y)), trapezoid(y))
    close(paddle.trapezoid(T(y), T(x)), trapezoid(y, x))
    close(T(y).trapezoid(dx=0.5, axis=0), trapezoid(y, dx=0.5, axis=0))
    wide = np.sort(array(3, 5), 0)
    close(paddle.trapezoid(T(y), T(wide), axis=0), trapezoid(y, wide, axis=0))
    steps = (y[:, 1:] + y[:, :-1]) / 2 * np.diff(x)
    close(paddle.cumulative_trapezoid(T(y), T(x)), np.cumsum(steps, 1))
    with pytest.raises(ValueError, match="give x or dx, not both"):
        paddle.trapezoid(T(y), T(x), 1.0)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("rows", [3, 40])
def test_distances(p, rows):
    x, y = array(2, rows, 4), array(5, 4)
    wanted = np.linalg.norm(np.moveaxis(x[:, :, None] - y, -1, 0).reshape(4, -1), p, axis=0).reshape(2, rows, 5)
    close(paddle.cdist(T(x), T(y), p), wanted, 1e-9)
    if p == 2:
        close(paddle.cdist(T(x), T(y), compute_mode="use_mm_for_euclid_dist"), wanted, 1e-9)
    pairs = list(itertools.combinations(range(5), 2))
    close(paddle.pdist(T(y), p), [np.linalg.norm(y[i] - y[j], p) for i, j in pairs], 1e-12)


@pytest.mark.parametrize("rows", [(3, 5), (25, 25), (26, 2), (2, 26), (40, 30)])
def test_distances_of_open_sizes_are_those_of_known_ones(rows):
    """Bit for bit, infinities and near rows too: whether products are taken is decided when the program runs."""
    near = array(rows[0], 4) * 1e-3 + 1e3
    x, y = near.astype("float32"), np.resize(near, (rows[1], 4)).astype("float32")
    x[0, 0] = np.inf
    recorded = paddle.jit.to_static(
        lambda a, b: paddle.cdist(a, b), input_spec=[paddle.static.InputSpec([None, 4], "float32")] * 2
    )
    leaves = [[paddle.to_tensor(v, stop_gradient=False) for v in (x[1:], y)] for _ in range(2)]
    results = [f(*pair) for f, pair in zip((paddle.cdist, recorded), leaves, strict=True)]
    for result in results:
        result.sum().backward()
    for a, b in zip(
        [results[0], *(t.grad for t in leaves[0])], [results[1], *(t.grad for t in leaves[1])], strict=True
    ):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    np.testing.assert_array_equal(paddle.cdist(T(x), T(y)).numpy(), recorded(T(x), T(y)).numpy())


def test_distances_of_nothing_and_errors():
    assert paddle.cdist(paddle.zeros([0, 3]), paddle.ones([2, 3])).shape == [0, 2]
    for p in (0.0, 1.0, 2.0, np.inf):
        close(paddle.cdist(paddle.zeros([2, 0]), paddle.ones([3, 0]), p), np.zeros([2, 3]))
        close(paddle.pdist(paddle.zeros([3, 0]), p), np.zeros([3]))
    for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        found = paddle.cdist(T(np.array([[np.nan, 0.0], [1.0, 0.0]])), T(np.array([[1.0, 0.0]])), compute_mode=mode)
        np.testing.assert_array_equal(found.numpy(), [[np.nan], [0.0]])
    assert paddle.pdist(paddle.zeros([1, 3])).shape == [0]
    x = T(array(30, 3), stop_gradient=False)
    paddle.cdist(x, x).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
    with pytest.raises(ValueError, match="compute_mode must be one of"):
        paddle.cdist(x, x, compute_mode="fast")
    with pytest.raises(ValueError, match="p must not be negative"):
        paddle.cdist(x, x, -1.0)
    with pytest.raises(ValueError, match="pdist: x must be rows"):
        paddle.pdist(T(array(3)))


@pytest.mark.parametrize(
    "f, shapes",
    [
        (paddle.hypot, [(2, 3), (3,)]),
        (paddle.logaddexp, [(2, 3), (3,)]),
        (paddle.copysign, [(2, 3), (3,)]),
        (paddle.heaviside, [(2, 3), (3,)]),
        (lambda x: paddle.sinc(x * 0.01), [(5,)]),
        (paddle.sinc, [(5,)]),
        (lambda x: paddle.cummax(x, 1)[0], [(2, 6)]),
        (lambda x: paddle.cummin(x)[0], [(2, 6)]),
        (lambda x: paddle.logcumsumexp(x, 1), [(2, 6)]),
        (lambda x: paddle.vander(x, 4), [(3,)]),
        (lambda y, x: paddle.trapezoid(y, x), [(2, 4), (4,)]),
        (lambda x, y: paddle.cdist(x, y), [(3, 2), (4, 2)]),
        (lambda x, y: paddle.cdist(x, y, compute_mode="use_mm_for_euclid_dist"), [(3, 2), (4, 2)]),
        (lambda x: paddle.pdist(x, 3.0), [(4, 2)]),
        (lambda x, y: paddle.real(paddle.polar(x, y)), [(3,), (3,)]),
    ],
)
def test_gradients(f, shapes):
    check_gradient(f, *(array(*s) for s in shapes))


@pytest.mark.parametrize("f", [paddle.hypot, paddle.logaddexp])
def test_gradients_of_equal_numbers(f):
    """The functions are smooth there; one of the two operands got all of the gradient."""
    x = np.array([1.0, -2.0, 0.5, 30.0])
    check_gradient(f, x, x.copy())


def test_gradients_of_sinc_far_away():
    """They were NaN from 1e6 on."""
    for dtype, most in (("float32", 1e30), ("float64", 1e200)):
        x = T(np.array([1e7, -1e9, most], dtype), stop_gradient=False)
        paddle.sinc(x).sum().backward()
        bound = 2 / np.abs(x.numpy())  # cos(pi x) / x, and less
        assert (np.abs(x.grad.numpy()) <= bound).all()


def test_gradients_of_equal_numbers_in_a_row():
    check_gradient(lambda x: paddle.logcumsumexp(x, 0), np.array([0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 1.0]))
