"""Functions of proa.tensor against NumPy."""

import itertools
import math

import numpy as np
import pytest

import proa
from python.tests.checked_values import array, close, random

T = proa.to_tensor

# Creation --------------------------------------------------------------------------------


def test_constants():
    assert proa.zeros([2, 3]).dtype == proa.float32
    assert proa.ones([2], "int64").tolist() == [1, 1]
    assert proa.full([2], True).dtype == proa.float32
    assert proa.full([2], 1j).dtype == proa.complex64
    assert proa.full([2], True, "bool").dtype == proa.bool
    assert proa.full([2], 3).dtype == proa.float32
    assert proa.full([], T(2)).item() == 2
    assert proa.zeros(T([2, 3])).shape == [2, 3]
    assert proa.zeros([2, T(3)]).shape == [2, 3]
    assert proa.ones_like(T([1, 2]), "float64").dtype == proa.float64
    assert proa.empty([0, 3]).shape == [0, 3] and proa.empty_like(T([1.0])).shape == [1]
    proa.set_default_dtype("float64")
    try:
        assert proa.zeros([1]).dtype == proa.float64 and proa.get_default_dtype() == "float64"
    finally:
        proa.set_default_dtype("float32")
    with pytest.raises(TypeError, match="floating"):
        proa.set_default_dtype("int32")
    with pytest.raises(ValueError):
        proa.zeros([-2])


@pytest.mark.parametrize("args", [(5,), (1, 5), (1, 9, 3), (5, 1, -2), (0.5, 2.5, 0.5), (3, 3)])
def test_arange(args):
    out = proa.arange(*args)
    close(out, np.arange(*args))
    assert out.dtype == (proa.float32 if any(isinstance(a, float) for a in args) else proa.int64)


def test_arange_of_tensors():
    assert proa.arange(T(1), T(4)).tolist() == [1, 2, 3]
    assert proa.arange(3, dtype="float64").dtype == proa.float64


def test_ranges_and_grids():
    close(proa.linspace(0, 5, 4), np.linspace(0, 5, 4))
    x, y, z = np.arange(2.0), np.arange(3.0), np.arange(4.0)
    for got, expected in zip(proa.meshgrid(T(x), T(y), T(z)), np.meshgrid(x, y, z, indexing="ij")):
        close(got, expected)
    close(proa.diagflat(T(array(2, 2)).abs() * 0 + 1, 1), np.eye(5, k=1)[:5, :5] * 0 + np.diagflat(np.ones(4), 1))


def test_assign():
    x = T([1.0, 2.0])
    y = proa.assign(x)
    y[0] = 5.0
    assert x[0].item() == 1.0
    out = proa.zeros([2])
    assert proa.assign(np.array([3.0, 4.0], "float32"), out) is out and out.tolist() == [3.0, 4.0]


def test_random():
    proa.seed(5)
    u = proa.rand([20000]).numpy()
    assert 0 <= u.min() and u.max() < 1 and abs(u.mean() - 0.5) < 0.01
    n = proa.normal(T([0.0, 10.0]), T([1.0, 0.1]))
    assert n.shape == [2] and abs(n[1].item() - 10) < 1
    assert abs(proa.normal(2.0, 3.0, [20000]).numpy().std() - 3) < 0.1
    assert proa.randint_like(T([1.0, 2.0]), 3, 4).tolist() == [3.0, 3.0]
    assert proa.standard_normal([2, 2], "float64").dtype == proa.float64


# Rearranging -------------------------------------------------------------------------------


def test_split():
    x = array(6, 4)
    for got, expected in zip(proa.split(T(x), 3), np.split(x, 3)):
        close(got, expected)
    assert [p.shape for p in proa.split(T(x), [1, -1, T(2)])] == [[1, 4], [3, 4], [2, 4]]
    assert [p.shape for p in T(x).chunk(2, T(-1))] == [[6, 2], [6, 2]]
    with pytest.raises(ValueError, match="cannot be split into 4 equal"):
        proa.split(T(x), 4)
    with pytest.raises(IndexError, match="axis 2"):
        proa.split(T(x), 2, 2)
    for bad in (2**31, 2**63 - 1, -3):
        with pytest.raises(IndexError):
            proa.split(T(x), 2, bad)


def test_expand():
    x = array(3, 1)
    close(proa.expand(T(x), [2, 3, 4]), np.broadcast_to(x, (2, 3, 4)))
    assert proa.expand(T(x), [-1, T(5)]).shape == [3, 5]
    assert T(x).expand_as(proa.zeros([2, 3, 2])).shape == [2, 3, 2]
    with pytest.raises(ValueError, match="-1"):
        proa.expand(T(x), [-1, 3, 4])
    with pytest.raises(ValueError):
        proa.expand(T(x), [4, 4])


def test_broadcasts():
    assert proa.broadcast_shape([2, 1], [3]) == [2, 3] and proa.broadcast_shape([0], [1]) == [0]
    a, b = proa.broadcast_tensors([T(array(3, 1)), T(array(4))])
    assert a.shape == b.shape == [3, 4]
    with pytest.raises(ValueError, match="dim 1"):
        proa.broadcast_shape([2, 3], [2, 4])


@pytest.mark.parametrize("source, destination", [(0, -1), ([0, 1], [1, 0]), ([2], [0]), ([0, 2], [2, 1])])
def test_moveaxis(source, destination):
    x = array(2, 3, 4)
    close(proa.moveaxis(T(x), source, destination), np.moveaxis(x, source, destination))


@pytest.mark.parametrize("k, axes", itertools.product(range(-2, 6), ([0, 1], [1, 2], [2, 0], [-1, 0])))
def test_rot90(k, axes):
    x = array(2, 3, 4)
    close(proa.rot90(T(x), k, axes), np.rot90(x, k, axes))


def test_slices():
    x = array(5, 6)
    close(proa.strided_slice(T(x), [0, 1], [4, 0], [0, 6], [-2, 3]), x[4:0:-2, 0:6:3])
    close(proa.crop(T(x), [2, -1], [1, 2]), x[1:3, 2:])
    with pytest.raises(ValueError, match="crop"):
        proa.crop(T(x), [5, 6], [1, 0])
    close(T(x).slice([1], [1], [3]), x[:, 1:3])
    assert [t.shape for t in proa.unstack(T(x), 1)] == [[5]] * 6
    with pytest.raises(ValueError, match="num is 3"):
        proa.unstack(T(x), 1, 3)


def test_shard_index():
    assert proa.shard_index(T([[16], [1]]), 20, 2, 0).tolist() == [[-1], [1]]
    with pytest.raises(ValueError, match="shard_id"):
        proa.shard_index(T([1]), 20, 2, 2)


# Math -------------------------------------------------------------------------------------


def test_math():
    x, y = array(3, 4), array(3, 4)
    close(proa.add_n([T(x), T(y), T(x)]), x + y + x)
    close(proa.add_n(T(x)), x)
    close(proa.deg2rad(T(x)), np.deg2rad(x)), close(proa.rad2deg(T([180])), [np.rad2deg(180.0)])
    for function in (proa.deg2rad, proa.rad2deg):  # NumPy raises, too
        with pytest.raises(TypeError, match="x is complex64; an angle is a real number"):
            function(T([1 + 2j]).astype("complex64"))
    p = np.abs(np.tanh(x))
    close(proa.logit(T(p)), np.log(p / (1 - p)), 1e-4)
    assert np.isfinite(proa.logit(T([0.0, 1.0]), 1e-3).numpy()).all()
    close(proa.kron(T(x), T(y[:2, :3])), np.kron(x, y[:2, :3]))
    close(proa.kron(T(x[0]), T(y)), np.kron(x[0], y))
    close(proa.trace(T(x), 1), np.trace(x, 1), 1e-4)
    close(proa.mod(T([5, -5]), T([3, 3])), [2, 1])
    a, b = random.integers(-50, 50, (4, 1)), random.integers(-50, 50, (1, 5))
    assert np.array_equal(proa.gcd(T(a), T(b)).numpy(), np.gcd(a, b))
    assert np.array_equal(proa.lcm(T(a), T(b)).numpy(), np.lcm(a, b))
    with pytest.raises(TypeError, match="gcd"):
        proa.gcd(T(x), T(y))
    one = T([1.0])
    assert proa.increment(one, 2.0) is one and one.item() == 3.0
    rows = [array(4, 2) for _ in range(3)]
    index = np.array([[2], [0], [1], [2]])
    close(proa.multiplex([T(r) for r in rows], T(index)), np.stack([rows[i][n] for n, (i,) in enumerate(index)]))


@pytest.mark.parametrize("n, axis", [(0, 0), (1, -1), (2, 0), (3, 1), (9, 1)])
def test_diff(n, axis):
    x = array(4, 5)
    close(proa.diff(T(x), n, axis), np.diff(x, n, axis), 1e-4)


def test_diff_of_bools_and_ends():
    assert proa.diff(T([True, False, False])).tolist() == [True, False]
    close(proa.diff(T([1.0, 4.0]), prepend=T([0.0]), append=T([9.0])), [1.0, 3.0, 5.0])


def test_renorm():
    x = array(3, 2, 4) * 5
    out = proa.renorm(T(x), 2.0, 1, 1.0).numpy()
    assert np.linalg.norm(out[:, 0]) == pytest.approx(1.0, abs=1e-4)
    close(out[:, 1] / np.linalg.norm(out[:, 1]), x[:, 1] / np.linalg.norm(x[:, 1]), 1e-4)
    t = T(x)
    t.stop_gradient = False
    proa.renorm(t, 2.0, 1, float("inf")).sum().backward()  # nothing is scaled
    assert (t.grad.numpy() == 1).all()


def test_sizes_that_are_none():
    with pytest.raises(ValueError, match="inner: the last dims differ"):
        proa.inner(proa.ones([2, 3]), proa.ones([4, 1]))
    with pytest.raises(ValueError, match="bincount: minlength must not be negative; it is -1"):
        proa.bincount(proa.to_tensor([1, 2]), minlength=-1)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_dtypes_of_sums_and_products_of_integers(dtype):
    x = np.array([[1, 1], [0, 1]]).astype(dtype)
    product = "int32" if dtype == "int32" else "int64"
    for name, wanted in (
        ("sum", "int64"),
        ("nansum", "int64"),
        ("cumsum", "int64"),
        ("prod", product),
        ("trace", product),
    ):
        for got in (getattr(proa, name)(T(x)), getattr(T(x), name)()):
            assert got.dtype.name == wanted, name
            np.testing.assert_array_equal(got.numpy(), getattr(np, name)(x.astype("int64")))
    for got in (proa.cumprod(T(x), 0), T(x).cumprod(0)):
        assert got.dtype.name == product
        np.testing.assert_array_equal(got.numpy(), np.cumprod(x.astype("int64"), 0))
    assert proa.prod(T(x), dtype="int64").dtype == proa.cumprod(T(x), 0, "int64").dtype == proa.int64


def test_index_select_of_a_column():
    x, index = array(4, 3), np.array([[2], [0]])
    close(proa.index_select(T(x), T(index)), x[[2, 0]])
    close(T(x).index_select(T(index[:, 0]), axis=1), x[:, [2, 0]])
    with pytest.raises(IndexError, match="index 4"):
        proa.index_select(T(x), T([[4]]))


def test_logit_of_integers_between_eps():
    close(proa.logit(T([0, 1, -3]), 0.1), np.log(np.array([1 / 9, 9, 1 / 9])), 1e-6)
    assert proa.logit(T([0, 1])).tolist() == [-np.inf, np.inf]


# Searching and statistics -------------------------------------------------------------------


def test_where_and_nonzero():
    x = array(3, 4)
    close(proa.where(T(x) > 0, T(x), 0.0), np.where(x > 0, x, 0))
    for got, expected in zip(proa.where(T(x) > 0), np.nonzero(x > 0)):
        assert np.array_equal(got.numpy()[:, 0], expected)
    with pytest.raises(ValueError, match="both"):
        proa.where(T(x) > 0, T(x))
    assert proa.nonzero(proa.zeros([2, 2])).shape == [0, 2]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("values", ["places", "indices", "one"])
def test_put_along_axis_repeats_indices_and_values(axis, values):
    x = array(3, 4)
    index = np.array([[2, 0]]) if axis else np.array([[2], [0]])
    places = np.broadcast_to(index, [3, 2] if axis else [2, 4])
    value = {"places": array(*places.shape), "indices": array(*index.shape), "one": array(1)}[values]
    expected = x.copy()
    np.put_along_axis(expected, places, value, axis)
    close(proa.put_along_axis(T(x), T(index), T(value), axis), expected)


def test_picking():
    x = array(4, 5)
    close(proa.gather(T(x), T([[1], [3]]), T(1)), x[:, [1, 3]])
    index = random.integers(0, 5, (4, 2))
    close(proa.index_sample(T(x), T(index)), np.take_along_axis(x, index, 1))
    close(proa.sort(T(x), 0, True), -np.sort(-x, 0))
    expected = x.copy()
    np.put_along_axis(expected, index, 9.0, 1)
    close(proa.put_along_axis(T(x), T(index), 9.0, 1), expected)
    y = T(x)
    assert proa.put_along_axis_(y, T(index), 9.0, 1) is y
    close(y, expected)
    with pytest.raises(ValueError, match="index_sample"):
        proa.index_sample(T(x), T(index[:2]))


def test_unique():
    x = random.integers(0, 5, 20)
    got = proa.unique(T(x), True, True, True, dtype="int32")
    for a, b in zip(got, np.unique(x, True, True, True)):
        assert np.array_equal(a.numpy(), b)
    assert got[1].dtype == proa.int32
    out, counts = proa.unique_consecutive(T([1, 1, 2, 1]), return_counts=True)
    assert out.tolist() == [1, 2, 1] and counts.tolist() == [2, 1, 1]


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_median_and_quantile(axis, keepdim):
    for shape in ((4, 5), (5, 4)):
        x = array(*shape)
        close(proa.median(T(x), axis, keepdim), np.median(x, axis, keepdims=keepdim))
        close(
            proa.quantile(T(x), [0.0, 0.3, 1.0], axis, keepdim), np.quantile(x, [0.0, 0.3, 1.0], axis, keepdims=keepdim)
        )


def test_statistics_of_odd_values():
    assert np.isnan(proa.median(T([1.0, float("nan"), 2.0])).item())
    assert proa.median(T([1.0, float("inf"), 2.0])).item() == 2.0
    assert proa.median(T([1, 2])).item() == 1.5
    for function in (proa.median, lambda x: proa.quantile(x, 0.5)):
        with pytest.raises(ValueError, match="no elements"):
            function(proa.zeros([0]))
    with pytest.raises(ValueError, match="q must be"):
        proa.quantile(T([1.0]), 1.5)


def test_histogram_and_bincount():
    x = array(100)
    assert np.array_equal(proa.histogram(T(x), 7).numpy(), np.histogram(x, 7)[0])
    assert np.array_equal(proa.histogram(T(x), 5, -1, 1).numpy(), np.histogram(x, 5, (-1, 1))[0])
    assert proa.histogram(T([1.0, 1.0]), 2).tolist() == [0, 2]
    assert np.array_equal(proa.histogram(T(x), 5, 1, 1).numpy(), np.histogram(x, 5)[0])  # an empty range: that of x
    assert proa.histogram(proa.zeros([0]), 3).tolist() == [0, 0, 0]
    n, w = random.integers(0, 6, 30), random.random(30)
    close(proa.bincount(T(n), minlength=9), np.bincount(n, minlength=9))
    close(proa.bincount(T(n), T(w)), np.bincount(n, w))
    with pytest.raises(ValueError, match="negative"):
        proa.bincount(T([-1]))


def test_beyond_its_domain_a_logit_has_no_gradient():
    x = T([-0.5, 0.0, 0.25, 1.0, 1.5, math.nan])
    x.stop_gradient = False
    proa.logit(x).sum().backward()
    assert np.array_equal(
        x.grad.numpy(), np.float32([math.nan, math.inf, 16 / 3, math.inf, math.nan, math.nan]), equal_nan=True
    )


def test_logic_into():
    a, b = T([True, False]), T([True, True])
    out = proa.zeros([2], "bool")
    assert proa.logical_and(a, b, out) is out and out.tolist() == [True, False]
    assert a.logical_xor(b).tolist() == [False, True]
    assert proa.bitwise_not(T([0, 1])).tolist() == [-1, -2]


def test_questions():
    x = T([1.0])
    assert proa.is_tensor(x) and x.is_tensor() and not proa.is_tensor(1)
    assert proa.is_floating_point(x) and not proa.is_integer(x) and not proa.is_complex(x)
    assert bool(proa.is_empty(proa.zeros([0])))
    for rank in (proa.rank(proa.zeros([2, 3])), proa.zeros([2, 3]).rank()):
        assert (rank.item(), rank.shape, rank.dtype) == (2, [], proa.int32)
    with pytest.raises(TypeError, match="is_complex"):
        proa.is_complex(3)
    assert proa.iinfo("int8").max == 127 and proa.finfo("bfloat16").eps == 2**-7


def test_in_place_methods():
    x = proa.zeros([3, 3])
    assert x.fill_(2.0) is x and x.sum().item() == 18.0
    assert x.fill_diagonal_(1.0).tolist()[1] == [2.0, 1.0, 2.0]
    tall = proa.zeros([7, 3])
    expected = np.zeros((7, 3), "float32")
    np.fill_diagonal(expected, 4.0, wrap=True)
    close(tall.fill_diagonal_(4.0, wrap=True), expected)
    assert x.zero_().sum().item() == 0.0
    assert 0 <= x.uniform_(0.0, 1.0).min().item() and x.exponential_().min().item() >= 0
    close(proa.ones([2]).scale_(3.0, 1.0), [4.0, 4.0])


def test_grad_modes():
    x = T([1.0], stop_gradient=False)

    @proa.no_grad()
    def double(v):
        return v * 2

    @proa.no_grad
    def triple(v):
        return v * 3

    @proa.no_grad()
    def steps(v):
        got = yield v * 2
        yield got * 2

    assert double(x).stop_gradient and triple(x).stop_gradient and double.__name__ == "double"
    generator = steps(x)
    assert next(generator).stop_gradient and proa.is_grad_enabled() and generator.send(x).stop_gradient
    with proa.no_grad(), proa.enable_grad():
        assert not (x * 2).stop_gradient
    with proa.set_grad_enabled(False):
        assert not proa.is_grad_enabled()
    assert proa.is_grad_enabled()
    with pytest.raises(RuntimeError), proa.no_grad():
        raise RuntimeError
    assert proa.is_grad_enabled()


def test_backward_and_grad_check_arguments():
    x = T([1.0], stop_gradient=False)
    with pytest.raises(ValueError, match="at least one"):
        proa.autograd.backward([])
    with pytest.raises(TypeError, match="Tensors"):
        proa.autograd.backward([3])
    with pytest.raises(ValueError, match="more than once"):
        proa.autograd.backward([x, x])
    with pytest.raises(ValueError, match="only_inputs"):
        proa.grad(x * 2, x, only_inputs=False)
    (g,) = proa.grad([x * 2], [x], [T([3.0])])
    assert g.item() == 6.0


def test_crop_of_an_open_size():
    def block(x):
        return proa.crop(x, [-1, 2, 2], [1, 1, 0])

    spec = proa.static.InputSpec([None, 3, 4], "float32")
    recorded = proa.jit.to_static(block, input_spec=[spec])
    for n in (1, 2, 5):
        x = np.random.RandomState(n).rand(n, 3, 4).astype("float32")
        close(recorded(T(x)), x[1:, 1:3, :2])
    fixed = proa.jit.to_static(lambda x: proa.crop(x, [2, 3, 4]), input_spec=[spec])
    close(fixed(T(np.ones([3, 3, 4], "float32"))), np.ones([2, 3, 4]))
    with pytest.raises(ValueError):  # there are not so many
        fixed(T(np.ones([1, 3, 4], "float32")))
