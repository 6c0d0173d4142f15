"""Convolution, normalization and relu together: the same as one by one, unless something looks in between."""

import numpy as np
import pytest

import proa
from proa import nn
from proa.nn.layer.conv_norm import conv_norm_relu


def _layers(data_format="NCHW", padding=1, bias=None, groups=1):
    proa.seed(3)
    conv = nn.Conv2D(4, 6, 3, padding=padding, bias_attr=bias, groups=groups, data_format=data_format)
    norm = nn.BatchNorm2D(6, data_format=data_format)
    rng = np.random.default_rng(0)
    for t, low in ((norm.weight, 0.5), (norm.bias, -1), (norm._mean, -1), (norm._variance, 0.5)):
        t.set_value(rng.uniform(low, 1.5, 6).astype("float32"))
    return conv, norm, nn.ReLU()


def _images(shape, seed=1):
    return proa.to_tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def _apart(conv, norm, relu, x, residual=None):
    x = norm(conv(x))
    return relu(x if residual is None else x + residual)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("padding", [1, [0, 1], "SAME", [[0, 0], [0, 0], [1, 1], [1, 1]]])
def test_as_one_by_one(training, padding):
    x = _images((3, 4, 7, 8))
    for with_residual in (False, True):
        found = []
        for compute in (conv_norm_relu, _apart):
            conv, norm, relu = _layers(padding=padding, bias=None)
            for layer in (conv, norm):
                layer.train() if training else layer.eval()
            shape = conv(x).shape
            out = compute(conv, norm, relu, x, _images(shape, 2) if with_residual else None)
            (out**2).sum().backward()
            grads = [p.grad.numpy() for layer in (conv, norm) for p in layer.parameters() if p.trainable]
            found.append([out.numpy(), norm._mean.numpy(), norm._variance.numpy(), *grads])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_many_images_are_cut_into_parts(data_format, dtype):
    """More than one part, the last one smaller; the bits are those of the ops one by one."""
    conv, norm, relu = _layers(data_format, bias=False)
    for layer in (conv, norm):
        layer.eval()
        layer.to(dtype=dtype)
    side = 160
    shape = (11, 4, side, side) if data_format == "NCHW" else (11, side, side, 4)
    x = _images(shape).astype(dtype)
    with proa.no_grad():
        together = conv_norm_relu(conv, norm, relu, x).astype("float32").numpy()
        apart = norm(conv(x), relu=True).astype("float32").numpy()
    np.testing.assert_array_equal(together, apart)


def test_nan_stays():
    conv, norm, relu = _layers()
    conv.eval(), norm.eval()
    x = np.zeros((1, 4, 5, 5), "float32")
    x[0, 0, 2, 2] = np.nan
    out = conv_norm_relu(conv, norm, relu, proa.to_tensor(x)).numpy()
    assert np.isnan(out[0, :, 1:4, 1:4]).all() and not np.isnan(out[0, :, 0, 0]).any()


def test_hooks_and_other_layers_are_called():
    conv, norm, relu = _layers()
    conv.eval(), norm.eval()
    x, seen = _images((1, 4, 5, 5)), []
    for layer in (conv, norm, relu):
        hook = layer.register_forward_post_hook(lambda layer, inputs, out: seen.append(type(layer).__name__))
        conv_norm_relu(conv, norm, relu, x)
        hook.remove()
    assert seen == ["Conv2D", "BatchNorm2D", "ReLU"]
    np.testing.assert_array_equal(conv_norm_relu(conv, norm, nn.ReLU6(), x).numpy(), nn.ReLU6()(norm(conv(x))).numpy())


def test_autocast_keeps_its_dtypes():
    conv, norm, relu = _layers()
    conv.eval(), norm.eval()
    x = _images((2, 4, 6, 6))
    with proa.amp.auto_cast(dtype="bfloat16"):
        together, apart = conv_norm_relu(conv, norm, relu, x), norm(conv(x), relu=True)
    assert together.dtype == apart.dtype
    np.testing.assert_array_equal(together.numpy(), apart.numpy())


def test_a_residual_of_another_dtype_promotes():
    conv, norm, relu = _layers()
    conv.eval(), norm.eval()
    x, residual = _images((1, 4, 5, 5)), _images((1, 6, 5, 5)).astype("float64")
    out = conv_norm_relu(conv, norm, relu, x, residual)
    assert out.dtype == proa.float64
    np.testing.assert_array_equal(out.numpy(), norm(conv(x), residual, relu=True).numpy())
