"""Batch normalization, addition and relu in one pass: as the three one after the other."""

import numpy as np
import pytest

import proa
from proa.nn import functional as F
from proa.vision.models import resnet18


def _leaf(*shape, seed):
    x = proa.to_tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"))
    x.stop_gradient = False
    return x


def _network(fused, residual, training, x, r, norm):
    norm.train() if training else norm.eval()
    # As it lies after a convolution.
    x = F.conv2d(x, proa.eye(6).reshape([6, 6, 1, 1]))
    if fused:
        return norm(x, r if residual else None, relu=True)
    y = norm(x)
    return F.relu(y + r if residual else y)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("residual", [True, False])
def test_as_the_parts(residual, training):
    results = []
    for fused in (True, False):
        proa.seed(1)
        norm = proa.nn.BatchNorm2D(6)
        norm.weight.set_value(np.linspace(-1, 2, 6).astype("float32"))
        norm.bias.set_value(np.linspace(0.5, -0.5, 6).astype("float32"))
        x, r = _leaf(4, 6, 5, 7, seed=2), _leaf(4, 6, 5, 7, seed=3)
        y = _network(fused, residual, training, x, r, norm)
        (y * y * 0.5 + y).sum().backward()
        found = [y, x.grad, norm.weight.grad, norm.bias.grad, norm._mean, norm._variance]
        results.append([t.numpy() for t in found + [r.grad] * residual])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_second_order():
    norm = proa.nn.BatchNorm2D(3)
    x = _leaf(2, 3, 4, 4, seed=5)
    seconds = []
    for fused in (True, False):
        y = norm(x, relu=True) if fused else F.relu(norm(x))
        (g,) = proa.grad((y * y).sum(), [x], create_graph=True)
        (g2,) = proa.grad((g * g).sum(), [x])
        seconds.append(g2.numpy())
    np.testing.assert_allclose(*seconds, rtol=1e-3, atol=1e-4)


def test_nan_stays():
    x = proa.to_tensor([[float("nan")], [1.0]])
    zero, one = proa.zeros([1]), proa.ones([1])
    y = F.batch_norm(x, zero, one, one, zero, relu=True)
    assert np.isnan(y.numpy()[0, 0]) and y.numpy()[1, 0] > 0.9


def test_a_residual_needs_relu():
    with pytest.raises(ValueError, match="residual is for relu=True"):
        proa.nn.BatchNorm2D(3)(proa.ones([1, 3, 2, 2]), proa.ones([1, 3, 2, 2]))


def test_residual_of_another_shape():
    with pytest.raises(ValueError, match="shapes differ"):
        proa.nn.BatchNorm2D(3)(proa.ones([1, 3, 2, 2]), proa.ones([1, 3, 2, 1]), relu=True)


def test_resnet_shows_its_layers_to_hooks():
    net = resnet18(num_classes=3)
    net.eval()
    x = proa.randn([1, 3, 64, 64])
    plain = net(x)
    seen = []
    for layer in net.sublayers():
        if isinstance(layer, (proa.nn.ReLU, proa.nn.BatchNorm2D)):
            layer.register_forward_post_hook(lambda layer, inputs, out: seen.append(type(layer).__name__))
    np.testing.assert_allclose(net(x).numpy(), plain.numpy(), rtol=1e-4, atol=1e-5)
    assert seen.count("ReLU") == 17 and seen.count("BatchNorm2D") == 20


def test_batch_norm_with_act():
    layer = proa.nn.BatchNorm(2, act="relu")
    x = proa.randn([4, 2, 3, 3])
    assert (layer(x).numpy() >= 0).all()


@pytest.mark.parametrize("where", ["x", "weight", "bias"])
def test_nan_goes_where_it_goes_in_the_parts(where):
    results = []
    for fused in (True, False):
        leaves = {"x": _leaf(2, 3, 2, 2, seed=0), "weight": _leaf(3, seed=1), "bias": _leaf(3, seed=2)}
        values = leaves[where].numpy().copy()
        values.flat[0] = np.nan
        leaves[where].set_value(values)
        statistics = proa.zeros([3]), proa.ones([3])
        options = dict(weight=leaves["weight"], bias=leaves["bias"], training=True)
        y = F.batch_norm(leaves["x"], *statistics, **options, relu=fused)
        y = y if fused else F.relu(y)
        (y * y).sum().backward()
        results.append([y.numpy(), *(leaf.grad.numpy() for leaf in leaves.values())])
    assert np.isnan(results[0][0]).any()
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
