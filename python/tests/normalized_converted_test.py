"""weight_norm and spectral_norm of the layer itself that is converted, and under auto_cast: as in layers at once."""

import copy

import numpy as np
import pytest

import proa as paddle
from proa import nn
from proa.nn import utils


class _Decorated(nn.Layer):
    """Its own weight is normalized, and its forward is converted in the class."""

    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([4, 3])

    @paddle.jit.to_static
    def forward(self, x):
        return x @ self.weight


class _Plain(nn.Layer):
    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([4, 3])

    def forward(self, x):
        return x @ self.weight


def _images():
    return paddle.to_tensor(np.random.default_rng(3).standard_normal((2, 4, 5, 5)).astype("float32"))


def _rows():
    return paddle.to_tensor(np.random.default_rng(3).standard_normal((5, 4)).astype("float32"))


LAYERS = {
    "Linear": (lambda: nn.Linear(4, 3), _rows, "weight"),
    "Conv2D": (lambda: nn.Conv2D(4, 3, 3), _images, "weight"),
    "LSTM": (lambda: nn.LSTM(4, 3), lambda: _rows().unsqueeze(0), "weight_hh_l0"),
}
NORMS = {"weight_norm": utils.weight_norm, "spectral_norm": utils.spectral_norm}


def _normalized(make, norm, name="weight"):
    paddle.seed(7)
    return NORMS[norm](make(), name)


def _trained(layer, x, level="O0", steps=3):
    """Outputs, gradients and what the layer holds after some steps, and what it gives in evaluation."""
    optimizer, found = paddle.optimizer.SGD(0.1, parameters=layer.parameters()), []
    for _ in range(steps):
        with paddle.amp.auto_cast(level != "O0", level="O1" if level == "O0" else level, dtype="bfloat16"):
            y = layer(x)
        y = y[0] if isinstance(y, tuple) else y
        y.astype("float32").square().sum().backward()
        found += [y.astype("float32").numpy(), *(p.grad.numpy() for p in layer.parameters())]
        optimizer.step()
        optimizer.clear_grad()
    layer.eval()
    with paddle.no_grad():
        y = layer(x)
    found += [(y[0] if isinstance(y, tuple) else y).numpy()]
    return found + [v.numpy() for _, v in sorted(layer.state_dict().items())]


def _close(found, wanted, near=1e-5):
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=near, atol=near * max(1.0, float(np.abs(want).max())))


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("norm", NORMS)
def test_a_converted_layer_whose_own_weight_is_normalized(name, norm):
    make, inputs, weight = LAYERS[name]
    layer = _normalized(make, norm, weight)
    wanted = _trained(copy.deepcopy(layer), inputs())
    _close(_trained(paddle.jit.to_static(layer), inputs()), wanted)


@pytest.mark.parametrize("norm", NORMS)
def test_a_forward_that_is_converted_in_its_class(norm):
    _close(_trained(_normalized(_Decorated, norm), _rows()), _trained(_normalized(_Plain, norm), _rows()))


@pytest.mark.parametrize("norm", NORMS)
def test_a_converted_part_of_a_network(norm):
    paddle.seed(7)
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), NORMS[norm](nn.Linear(4, 3)))
    wanted = _trained(copy.deepcopy(net), _rows())
    net[2] = paddle.jit.to_static(net[2])
    _close(_trained(net, _rows()), wanted)
    # In the program of the whole, too.
    net.train()
    before = net[2].state_dict()
    state = {k: v.numpy() for k, v in before.items()}
    first = paddle.jit.to_static(net)(_rows()).numpy()
    for key, value in before.items():
        value.set_value(state[key] if key != "bias" else state[key] + 1.0)
    np.testing.assert_allclose(net(_rows()).numpy(), first + 1.0, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_what_is_saved(norm, tmp_path):
    layer = paddle.jit.to_static(_normalized(lambda: nn.Linear(4, 3), norm))
    layer(_rows())
    layer.eval()
    paddle.jit.save(layer, str(tmp_path / "net"), [paddle.static.InputSpec([None, 4], "float32")])
    wanted = layer(_rows()).numpy()
    np.testing.assert_allclose(paddle.jit.load(str(tmp_path / "net"))(_rows()).numpy(), wanted, rtol=1e-6, atol=1e-6)


def test_without_conversion(monkeypatch):
    layer = paddle.jit.to_static(_normalized(lambda: nn.Linear(4, 3), "weight_norm"))
    wanted = _trained(copy.deepcopy(layer), _rows())
    paddle.jit.ProgramTranslator().enable(False)
    try:
        _close(_trained(layer, _rows()), wanted)
    finally:
        paddle.jit.ProgramTranslator().enable(True)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("converted", [False, True])
def test_in_mixed_precision(name, norm, level, converted):
    """The vectors keep their type and digits; the rest is what bfloat16 leaves of it."""
    make, inputs, weight = LAYERS[name]
    layer = _normalized(make, norm, weight)
    wanted = _trained(copy.deepcopy(layer), inputs(), steps=1)
    layer = paddle.jit.to_static(layer) if converted else layer
    _close(_trained(layer, inputs(), level, steps=1), wanted, 0.05)
    assert {v.dtype for v in layer.state_dict().values()} == {paddle.float32}
