"""Convolutions in float64 that are products of matrices, of images in either order, beside sums of NumPy."""

import numpy as np
import pytest

import proa as paddle
from proa.nn import functional

_FORMATS = {1: "NCL", 2: "NCHW", 3: "NCDHW"}
_SPACE = {1: (300,), 2: (17, 19), 3: (5, 7, 9)}


def _conv(dims):
    return getattr(functional, f"conv{dims}d")


def _transpose(dims):
    return getattr(functional, f"conv{dims}d_transpose")


def _numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def _lying(x, order):
    """A tensor of x, whose channels lie last or first."""
    if order == "first":
        return paddle.to_tensor(x)
    last = paddle.to_tensor(np.ascontiguousarray(np.moveaxis(x, 1, -1)))
    return paddle.transpose(last, [0, last.ndim - 1, *range(1, last.ndim - 1)])


def _sums(g, x):
    return np.einsum("nop,ncp->oc", g.reshape(*g.shape[:2], -1), x.reshape(*x.shape[:2], -1))


def _pointwise(x, w, groups):
    parts = np.split(x, groups, 1)
    weights = np.split(w.reshape(w.shape[:2]), groups, 0)
    return np.concatenate([np.einsum("nc...,oc->no...", a, b) for a, b in zip(parts, weights, strict=True)], 1)


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pointwise(dims, batch, groups, order):
    x, w, b = _numbers(batch, 12, *_SPACE[dims]), _numbers(18, 12 // groups, *[1] * dims), _numbers(18)
    g = _numbers(batch, 18, *_SPACE[dims])
    t, weight, bias = _lying(x, order), paddle.to_tensor(w), paddle.to_tensor(b)
    for v in (t, weight, bias):
        v.stop_gradient = False
    y = _conv(dims)(t, weight, bias, groups=groups)
    shift = b.reshape(1, 18, *[1] * dims)
    np.testing.assert_allclose(y.numpy(), _pointwise(x, w, groups) + shift, atol=1e-11)
    dx, dw, db = paddle.grad([y], [t, weight, bias], [_lying(g, order)])
    across = np.concatenate([v.swapaxes(0, 1) for v in np.split(w.reshape(18, -1), groups, 0)], 0)
    np.testing.assert_allclose(dx.numpy(), _pointwise(g, across, groups), atol=1e-11)
    pairs = zip(np.split(g, groups, 1), np.split(x, groups, 1), strict=True)
    sums = np.concatenate([_sums(a, c) for a, c in pairs], 0)
    np.testing.assert_allclose(dw.numpy().reshape(18, -1), sums, atol=1e-10)
    np.testing.assert_allclose(db.numpy(), g.sum((0, *range(2, 2 + dims))), atol=1e-10)


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_pointwise(dims, order):
    x, w, b = _numbers(2, 18, *_SPACE[dims]), _numbers(18, 12, *[1] * dims), _numbers(12)
    t, weight = _lying(x, order), paddle.to_tensor(w)
    t.stop_gradient = weight.stop_gradient = False
    y = _transpose(dims)(t, weight, paddle.to_tensor(b))
    turned = w.reshape(18, 12).T
    np.testing.assert_allclose(y.numpy(), _pointwise(x, turned, 1) + b.reshape(1, 12, *[1] * dims), atol=1e-11)
    g = _numbers(*y.shape)
    dx, dw = paddle.grad([y], [t, weight], [paddle.to_tensor(g)])
    np.testing.assert_allclose(dx.numpy(), _pointwise(g, turned.T, 1), atol=1e-11)
    np.testing.assert_allclose(dw.numpy().reshape(18, 12), _sums(x, g), atol=1e-10)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_groups_of_few_channels(dims, channels):
    x, w = _numbers(2, 3 * channels, *_SPACE[dims]), _numbers(6, channels, *[3] * dims)
    y = _conv(dims)(paddle.to_tensor(x), paddle.to_tensor(w), padding=1, groups=3).numpy()
    edge = np.pad(x, [(0, 0), (0, 0), *[(1, 1)] * dims])
    windows = np.lib.stride_tricks.sliding_window_view(edge, [3] * dims, tuple(range(2, 2 + dims)))
    letters = "xyz"[:dims]
    for group in range(3):
        part = windows[:, group * channels : (group + 1) * channels]
        wanted = np.einsum(f"nc...{letters},oc{letters}->no...", part, w[2 * group : 2 * group + 2])
        np.testing.assert_allclose(y[:, 2 * group : 2 * group + 2], wanted, atol=1e-11)


@pytest.mark.parametrize("shape", [(2, 1, 40, 40), (2, 64, 1, 1), (1, 70, 1, 9), (0, 16, 8, 8)])
def test_images_that_lie_in_both_orders(shape):
    x, w = _numbers(*shape), _numbers(40, shape[1], 1, 1)
    y = functional.conv2d(paddle.to_tensor(x), paddle.to_tensor(w))
    np.testing.assert_allclose(y.numpy(), _pointwise(x, w, 1), atol=1e-11)
