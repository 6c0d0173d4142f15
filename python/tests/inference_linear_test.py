"""Predictors compute a linear layer with the addition and the activation behind it in one operation: for every activation the
result is that of the network."""

import itertools

import numpy as np
import pytest

import proa
from proa import nn
from python.tests.saved_predictors import ACTIVATIONS, predictor_of, random, randomize

_ACTIVATIONS = {**ACTIVATIONS, "none": nn.Identity}


class _Block(nn.Layer):
    def __init__(self, activation, residual, sizes=(6, 9), bias=None):
        super().__init__()
        self.linear = nn.Linear(*sizes, bias_attr=bias)
        self.activation = _ACTIVATIONS[activation]()
        self.residual = residual

    def forward(self, x, r):
        y = self.linear(x)
        return self.activation({"none": lambda: y, "left": lambda: r + y, "right": lambda: y + r}[self.residual]())


def _specs(*arrays, is_open=False):
    return [
        proa.static.InputSpec([None, *a.shape[1:]] if is_open else a.shape, str(a.dtype), name)
        for a, name in zip(arrays, "xr", strict=False)
    ]


def _fused(predictor):
    return "linear_activation(" in predictor._engine.plan


@pytest.mark.parametrize("shape", [(5, 6), (2, 5, 6), (2, 3, 5, 6)])
@pytest.mark.parametrize("bias", [None, False])
def test_every_activation(shape, bias, tmp_path):
    for name, residual in itertools.product(_ACTIVATIONS, ("none", "left", "right")):
        net = _Block(name, residual, bias=bias)
        randomize(net)
        net.eval()
        x, r = random(shape, 1), random([*shape[:-1], 9], 2)
        want = net(proa.to_tensor(x), proa.to_tensor(r)).numpy()
        # Of an open batch r might be one row, which an addition repeats.
        predictor = predictor_of(net, _specs(x, r), tmp_path)
        plan = predictor._engine.plan
        if name != "none" or residual != "none":
            assert _fused(predictor) and f'activation="{name}"' in plan and plan.count(" = ") <= 6, plan
        else:
            assert " linear(" in plan, plan
        np.testing.assert_allclose(predictor.run([x, r])[0].numpy(), want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", [name for name in _ACTIVATIONS if name != "none"])
def test_nan_and_infinity_stay(name, tmp_path):
    net = _Block(name, "left")
    randomize(net)
    net.eval()
    x, r = random([4, 6], 1), random([4, 9], 2)
    x[3, 2] = np.nan
    r[0], r[1], r[2, 4] = np.inf, -np.inf, np.nan
    want = net(proa.to_tensor(x), proa.to_tensor(r)).numpy()
    predictor = predictor_of(net, _specs(x, r), tmp_path)
    assert _fused(predictor)
    np.testing.assert_allclose(predictor.run([x, r])[0].numpy(), want, rtol=2e-5, atol=2e-5)  # NaN is equal to NaN here


@pytest.mark.parametrize(
    "rows, sizes", [(1, (1024, 1100)), (3, (1024, 1100)), (700, (512, 520)), (513, (640, 1100)), (0, (64, 640))]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_large_products(rows, sizes, dtype, tmp_path):
    """Parts of large products are changed as soon as they are computed: the bits of float32 and float64 are those of the operations one by one."""
    net = _Block("gelu", "left", sizes)
    net.to(dtype=dtype)
    net.eval()
    x, r = (
        proa.to_tensor(random([rows, sizes[0]], 1)).astype(dtype),
        proa.to_tensor(random([rows, sizes[1]], 2)).astype(dtype),
    )
    want = net(x, r)
    specs = [proa.static.InputSpec(a.shape, dtype, n) for a, n in ((x, "x"), (r, "r"))]
    predictor = predictor_of(net, specs, tmp_path)
    assert _fused(predictor)
    got = predictor.run([x, r])[0]
    assert got.dtype == want.dtype
    if dtype == "bfloat16":  # The sum is not rounded before gelu.
        got, want = got.astype("float32"), want.astype("float32")
        assert bool(((got - want).abs() <= 0.02 * want.abs() + 0.02).all())
    else:
        assert bool((got == want).all())


def test_what_stays_apart(tmp_path):
    def is_fused(net, *arrays, is_open=False):
        predictor = predictor_of(net, _specs(*arrays, is_open=is_open), tmp_path)
        want = net(*[proa.to_tensor(a) for a in arrays]).numpy()
        np.testing.assert_allclose(predictor.run(list(arrays))[0].numpy(), want, rtol=1e-6, atol=1e-6)
        return _fused(predictor)

    x, r = random([5, 6], 1), random([5, 9], 2)
    added = _Block("none", "left")
    assert is_fused(added, x, r)
    # An addition that repeats one of its operands, or may do so.
    assert not is_fused(added, x, r[:1])
    assert not is_fused(added, x, r, is_open=True)
    # The dtype of the result is that of what is added.
    assert not is_fused(added, x, r.astype("float64"))
    # A product that others use as well.
    both = _Block("relu", "none")
    both.forward = lambda x: (lambda y: proa.concat([y, nn.functional.relu(y)]))(both.linear(x))
    assert not is_fused(both, x)
    # Integers.
    whole = nn.Layer()
    whole.forward = lambda x, r: nn.functional.linear(x, proa.ones([6, 9], "int64")) + r
    assert not is_fused(whole, np.arange(30).reshape(5, 6), np.ones([5, 9], "int64"))


def test_a_product_added_to_itself(tmp_path):
    net = _Block("relu", "none")
    net.forward = lambda x: (lambda y: net.activation(y + y))(net.linear(x))
    randomize(net)
    net.eval()
    x = random([5, 6], 1)
    want = net(proa.to_tensor(x)).numpy()
    np.testing.assert_allclose(
        predictor_of(net, _specs(x, is_open=True), tmp_path).run([x])[0].numpy(), want, rtol=2e-5, atol=2e-5
    )


def test_a_transformer_of_an_open_batch(tmp_path):
    """Two products of each block are followed by an addition of the block's input, one by gelu."""
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, activation="gelu"), 2)
    randomize(net)
    net.eval()
    x = random([3, 7, 16], 1)
    want = net(proa.to_tensor(x)).numpy()
    predictor = predictor_of(net, [proa.static.InputSpec([None, None, 16], "float32", "x")], tmp_path)
    plan = predictor._engine.plan
    assert plan.count("linear_activation(") == 6 and " add(" not in plan and " gelu(" not in plan, plan
    np.testing.assert_allclose(predictor.run([x])[0].numpy(), want, rtol=2e-5, atol=2e-5)
