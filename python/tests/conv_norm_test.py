"""Convolution, normalization and relu in one op, for networks that predict: as one by one."""

import numpy as np
import pytest

import proa
from proa import nn
from proa.nn.functional.conv import conv2d_norm_relu


def _layers(data_format="NCHW", padding=1, bias=None):
    proa.seed(3)
    conv = nn.Conv2D(4, 6, 3, padding=padding, bias_attr=bias, data_format=data_format)
    norm = nn.BatchNorm2D(6, data_format=data_format)
    rng = np.random.default_rng(0)
    for t, low in ((norm.weight, 0.5), (norm.bias, -1), (norm._mean, -1), (norm._variance, 0.5)):
        t.set_value(rng.uniform(low, 1.5, 6).astype("float32"))
    conv.eval(), norm.eval()
    return conv, norm


def _images(shape, seed=1):
    return proa.to_tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def _together(conv, norm, x, residual=None):
    return conv2d_norm_relu(
        x, conv.weight, norm._mean, norm._variance, norm.weight, norm.bias, conv.bias, residual, norm._epsilon,
        conv._stride, conv._padding, conv._dilation, conv._groups, conv._data_format,
    )  # fmt: skip


def _apart(conv, norm, x, residual=None):
    x = norm(conv(x))
    return nn.functional.relu(x if residual is None else x + residual)


@pytest.mark.parametrize("padding", [1, [0, 1], "SAME", [[0, 0], [0, 0], [1, 1], [1, 1]]])
@pytest.mark.parametrize("with_residual", [False, True])
def test_as_one_by_one(padding, with_residual):
    x = _images((3, 4, 7, 8))
    found = []
    for compute in (_together, _apart):
        conv, norm = _layers(padding=padding)
        residual = _images(conv(x).shape, 2) if with_residual else None
        out = compute(conv, norm, x, residual)
        (out**2).sum().backward()
        grads = [p.grad.numpy() for layer in (conv, norm) for p in layer.parameters() if p.trainable]
        found.append([out.numpy(), *grads])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_many_images_are_cut_into_parts(data_format, dtype):
    """More than one part, the last one smaller; the bits are those of the ops one by one."""
    conv, norm = _layers(data_format, bias=False)
    for layer in (conv, norm):
        layer.to(dtype=dtype)
    side = 160
    shape = (11, 4, side, side) if data_format == "NCHW" else (11, side, side, 4)
    x = _images(shape).astype(dtype)
    with proa.no_grad():
        together = _together(conv, norm, x).astype("float32").numpy()
        apart = norm(conv(x), relu=True).astype("float32").numpy()
    np.testing.assert_array_equal(together, apart)


def test_nan_stays():
    conv, norm = _layers()
    x = np.zeros((1, 4, 5, 5), "float32")
    x[0, 0, 2, 2] = np.nan
    out = _together(conv, norm, proa.to_tensor(x)).numpy()
    assert np.isnan(out[0, :, 1:4, 1:4]).all() and not np.isnan(out[0, :, 0, 0]).any()
