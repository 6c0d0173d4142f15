"""Stacking, splitting and putting back, beside NumPy; gradients beside differences; places out of range."""

import itertools

import numpy as np
import pytest

import proa as paddle
from python.tests.checked_values import check_gradient

T = paddle.to_tensor
RNG = np.random.default_rng(0)


def array(*shape):
    return RNG.standard_normal(shape)


def same(found, wanted):
    if isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted):
            same(a, b)
    else:
        assert found.shape == list(wanted.shape)
        np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (0,), (2, 0)])
def test_atleast(shape):
    x = array(*shape)
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        same(getattr(paddle, name)(T(x)), getattr(np, name)(x))
        same(getattr(T(x), name)(), getattr(np, name)(x))
    same(paddle.atleast_2d(T(x), T(1.0)), [np.atleast_2d(x), np.ones((1, 1), "float32")])


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack", "row_stack"])
@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 3), (2, 3)), ((2, 3, 1), (2, 3, 1)), ((), ()), ((1, 3), (3,))])
def test_stacks(name, shapes):
    arrays = [array(*s) for s in shapes]
    stack = np.vstack if name == "row_stack" else getattr(np, name)
    try:
        wanted = stack(arrays)
    except ValueError:
        with pytest.raises(ValueError):
            getattr(paddle, name)([T(a) for a in arrays])
        return
    same(getattr(paddle, name)([T(a) for a in arrays]), wanted)
    with pytest.raises(ValueError, match=f"{name}: at least one tensor is needed"):
        getattr(paddle, name)([])


@pytest.mark.parametrize("shape", [(7, 6, 5), (3, 0, 4)])
@pytest.mark.parametrize("cuts", [1, 3, 8, [2], [1, 1, 4], [-2], [5, 2], [0, 100], []])
def test_splits(shape, cuts):
    x = array(*shape)
    for axis in (0, 1, -1):
        same(paddle.tensor_split(T(x), cuts, axis), np.array_split(x, cuts, axis))
    same(T(x).hsplit(cuts), np.array_split(x, cuts, 1))
    same(T(x).vsplit(cuts), np.array_split(x, cuts, 0))
    same(T(x).dsplit(cuts), np.array_split(x, cuts, 2))
    flat = x.sum((1, 2))
    same(paddle.hsplit(T(flat), cuts), np.array_split(flat, cuts))


def test_split_errors():
    x = T(array(4))
    with pytest.raises(ValueError, match="vsplit: x must have 2 dims or more"):
        paddle.vsplit(x, 2)
    with pytest.raises(ValueError, match="dsplit: x must have 3 dims or more"):
        paddle.dsplit(x, 2)
    with pytest.raises(ValueError, match="num_or_indices must be from 1"):
        paddle.tensor_split(x, 0)


def test_block_diag():
    a, b, c = array(2, 3), array(4), np.array(5.0)
    wanted = np.zeros((4, 8))
    wanted[:2, :3], wanted[2, 3:7], wanted[3, 7] = a, b, c
    same(paddle.block_diag([T(a), T(b), T(c)]), wanted)
    same(paddle.block_diag([T(np.zeros((0, 2))), T(a)]), np.hstack([np.zeros((2, 2)), a]))
    with pytest.raises(ValueError, match="two dims at most"):
        paddle.block_diag([T(array(1, 1, 1))])


def test_products_and_combinations():
    a, b, c = array(2), array(3), array(1)
    same(paddle.cartesian_prod([T(a), T(b), T(c)]), np.array(list(itertools.product(a, b, c))))
    same(paddle.cartesian_prod([T(a)]), a)
    same(paddle.cartesian_prod([T(a), T(np.zeros(0))]), np.zeros((0, 2)))
    x = array(5)
    for r in (1, 2, 3, 5):
        same(paddle.combinations(T(x), r), np.array(list(itertools.combinations(x, r))))
        same(T(x).combinations(r, True), np.array(list(itertools.combinations_with_replacement(x, r))))
    same(paddle.combinations(T(x), 6), np.zeros((0, 6)))
    same(paddle.combinations(T(x), 0), np.zeros(0))
    with pytest.raises(ValueError, match="r must not be negative"):
        paddle.combinations(T(x), -1)
    for n, r in ((1000, 5), (100000, 50000)):
        with pytest.raises(ValueError, match=f"combinations: those of {r} of {n} elements are more than"):
            paddle.combinations(paddle.arange(n), r)
    with pytest.raises(ValueError, match="x must have one dim"):
        paddle.combinations(T(array(2, 2)))


def test_unflatten():
    x = array(2, 12, 3)
    for sizes in ([3, 4], [3, -1], [-1, 2, 3], [12], [1, 12]):
        same(paddle.unflatten(T(x), 1, sizes), x.reshape([2, *np.zeros([12]).reshape(sizes).shape, 3]))
        same(T(x).unflatten(-2, T(np.array(sizes))), x.reshape([2, *np.zeros([12]).reshape(sizes).shape, 3]))
    for sizes in ([5, 2], [5, -1], [-1, -1], [-2, 6], [0, -1]):
        with pytest.raises(ValueError, match="do not make up dim 1 of x"):
            paddle.unflatten(T(x), 1, sizes)


def test_layers():
    x = array(2, 6, 3, 4).astype("float32")
    same(paddle.nn.Unflatten(1, [2, 3])(T(x)), x.reshape(2, 2, 3, 3, 4))
    e = np.exp(x)
    np.testing.assert_allclose(paddle.nn.Softmax2D()(T(x)).numpy(), e / e.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(paddle.nn.Softmax2D()(T(x[0])).numpy(), e[0] / e[0].sum(0), rtol=1e-5)
    with pytest.raises(ValueError, match="Softmax2D: x must be"):
        paddle.nn.Softmax2D()(T(x[0, 0]))
    same(paddle.nn.ZeroPad1D([1, 2])(T(x[0])), np.pad(x[0], ((0, 0), (0, 0), (1, 2))))
    wide = x.reshape(1, 2, 3, 3, 4 * 2)
    same(paddle.nn.ZeroPad3D([1, 0, 2, 0, 0, 3])(T(wide)), np.pad(wide, ((0, 0), (0, 0), (0, 3), (2, 0), (1, 0))))


def test_windows():
    x = array(3, 7)
    windows = np.lib.stride_tricks.sliding_window_view(x, 3, 1)
    for step in (1, 2, 5):
        same(paddle.unfold(T(x), 1, 3, step), windows[:, ::step])
    same(T(x.T.copy()).t().unfold(-1, 3, 2), windows[:, ::2])
    same(paddle.unfold(T(x), 0, 2, 1), np.lib.stride_tricks.sliding_window_view(x, 2, 0))
    same(paddle.as_strided(T(x), [2, 3], [7, 2], 1), x[:2, 1:6:2])
    y = T(x)
    y.unfold(0, 1, 2)[0, 0] = 5.0
    assert y[0, 0] == 5.0
    for size, step, says in (
        (8, 1, "size must be from 0"),
        (-1, 1, "size must be from 0"),
        (2, 0, "step must be positive"),
    ):
        with pytest.raises(ValueError, match=says):
            paddle.unfold(T(x), 1, size, step)


def test_take():
    x, index = array(3, 4), np.array([[0, 11], [-1, -12]])
    same(paddle.take(T(x), T(index)), np.take(x, index))
    far = np.array([0, 12, 30, -13, -40])
    same(paddle.take(T(x), T(far), "wrap"), np.take(x, far, mode="wrap"))
    same(T(x).take(T(far.astype("int32")), mode="clip"), np.take(x, far, mode="clip"))
    for bad in (12, -13):
        with pytest.raises(IndexError, match=f"index {bad}"):
            paddle.take(T(x), T([bad]))
    with pytest.raises(ValueError, match="mode must be one of raise, wrap, clip"):
        paddle.take(T(x), T([0]), "round")
    with pytest.raises(TypeError, match="index must be int32 or int64"):
        paddle.take(T(x), T([0.0]))


def test_index_add_and_fill():
    x, index = array(4, 3, 2), np.array([0, 2, 0, -1])
    for axis, size in ((0, 4), (1, 3), (-1, 2)):
        at = np.where(index < 0, index, index % size)
        value = np.moveaxis(array(4, *np.delete(x.shape, axis)), 0, axis)
        wanted = x.copy()
        np.add.at(np.moveaxis(wanted, axis, 0), at, 0.5 * np.moveaxis(value, axis, 0))
        np.testing.assert_allclose(paddle.index_add(T(x), T(at), axis, T(value), 0.5).numpy(), wanted, rtol=1e-14)
        y = T(x)
        assert y.index_add_(T(at), axis, T(value), alpha=0.5) is y
        np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-14)
        np.moveaxis(wanted, axis, 0)[at] = 7
        same(T(wanted).index_fill(T(at), axis, 7.0), wanted)
        same(y.index_fill_(T(at), axis, T(7.0)), wanted)
    with pytest.raises(IndexError, match="index 4"):
        paddle.index_add(T(x), T([4]), 0, T(array(1, 3, 2)))
    with pytest.raises(ValueError, match="index must have one dim"):
        paddle.index_fill(T(x), T([[0]]), 0, 1.0)
    with pytest.raises(TypeError, match="value must be a number"):
        paddle.index_fill(T(x), T([0]), 0, "one")


def test_index_put():
    x = array(3, 4, 2)
    a, b, value = np.array([0, 2, 0]), np.array([1, -1, 1]), array(3, 2)
    wanted = x.copy()
    wanted[a, b] = value
    same(paddle.index_put(T(x), (T(a), T(b)), T(value)), wanted)
    np.add.at(wanted, (a, b), value)
    np.testing.assert_allclose(
        paddle.index_put(paddle.index_put(T(x), (T(a), T(b)), T(value)), [T(a), T(b)], T(value), True).numpy(), wanted
    )
    mask = x[..., 0] > 0
    wanted = x.copy()
    wanted[mask] = 3.0
    y = T(x)
    assert y.index_put_((T(mask),), T(np.array(3.0))) is y
    same(y, wanted)
    with pytest.raises(
        ValueError, match=r"an index of bool, \[3, 3\], does not fit dims 0 on of x, which is \[3, 4, 2\]"
    ):
        paddle.index_put(T(x), (T(np.ones((3, 3), bool)),), T(1.0))


def test_masked_scatter():
    x, mask, value = array(3, 4), RNG.random((3, 4)) > 0.5, array(20)
    wanted = x.copy()
    wanted[mask] = value[: mask.sum()]
    same(paddle.masked_scatter(T(x), T(mask), T(value)), wanted)
    y = T(x)
    assert y.masked_scatter_(T(mask), T(value.reshape(4, 5))) is y
    same(y, wanted)
    row = np.array([True, False, True, False])
    wanted = x.copy()
    wanted[:, row] = value[:6].reshape(3, 2)
    same(T(x).masked_scatter(T(row), T(value)), wanted)
    same(paddle.masked_scatter(T(x), T(np.zeros((3, 4), bool)), T(np.zeros(0))), x)
    with pytest.raises(ValueError, match="6 elements are replaced, but value has 5"):
        paddle.masked_scatter(T(x), T(row), T(value[:5]))
    with pytest.raises(TypeError, match="mask must be bool"):
        paddle.masked_scatter(T(x), T([1]), T(value))


def test_parts_put_back():
    x = array(3, 4)
    wanted = x.copy()
    wanted[:, -1] = 5
    same(paddle.select_scatter(T(x), T(np.full(3, 5.0)), 1, -1), wanted)
    wanted = x.copy()
    wanted[0:3:2, 1:] = 6
    same(paddle.slice_scatter(T(x), T(np.full((2, 3), 6.0)), [0, 1], [0, 1], [3, 4], [2, 1]), wanted)
    for offset in (0, 2, -1):
        wanted, y = x.copy(), array(len(np.diagonal(x, offset)))
        for i, v in enumerate(y):
            wanted[i + max(0, -offset), i + max(0, offset)] = v
        same(T(x).diagonal_scatter(T(y), offset), wanted)
    with pytest.raises(IndexError, match="index 3"):
        paddle.select_scatter(T(x), T(array(4)), 0, 3)
    with pytest.raises(ValueError, match="values must have one dim less"):
        paddle.select_scatter(T(x), T(x), 0, 1)


@pytest.mark.parametrize(
    "f, shapes",
    [
        (lambda x, v: paddle.index_add(x, T([0, 2, 0]), 1, v, 2.0), [(2, 4), (2, 3)]),
        (lambda x, v: paddle.index_put(x, (T([0, 1, 0]), T([1, 1, 1])), v), [(2, 4), (3,)]),
        (lambda x, v: paddle.masked_scatter(x, T(np.eye(3) > 0), v), [(3, 3), (5,)]),
        (lambda x, v: paddle.select_scatter(x, v, 0, 1), [(2, 3), (3,)]),
        (lambda x, v: paddle.slice_scatter(x, v, [1], [0], [4], [2]), [(2, 4), (2, 2)]),
        (lambda x, v: paddle.diagonal_scatter(x, v), [(3, 3), (3,)]),
        (lambda x, v: paddle.take(x, T([0, 0, 5])) * paddle.take(v, T([1, -1, 0])), [(2, 3), (2,)]),
        (lambda x, v: paddle.block_diag([x, v]), [(2, 2), (1, 2)]),
        (lambda x, v: paddle.index_fill(x, T([1]), 0, 2.0) * v, [(2, 2), (2, 2)]),
    ],
)
def test_gradients(f, shapes):
    check_gradient(f, *(array(*s) for s in shapes))
