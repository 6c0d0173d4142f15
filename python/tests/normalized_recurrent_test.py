"""weight_norm and spectral_norm of each weight of recurrent layers, which are parameters of the layer and of its cells."""

import copy
import pickle

import numpy as np
import pytest

import proa
from proa import nn, static
from proa.nn.utils import remove_weight_norm, spectral_norm, weight_norm

_MADE = {
    "LSTM": lambda: nn.LSTM(3, 4, 2, "bidirect"),
    "GRU": lambda: nn.GRU(3, 4, 2),
    "SimpleRNN": lambda: nn.SimpleRNN(3, 4, direction="bidirect"),
    "LSTMCell": lambda: nn.LSTMCell(3, 4),
    "GRUCell": lambda: nn.GRUCell(3, 4),
}
_NORMS = {"weight_norm": weight_norm, "spectral_norm": spectral_norm}
_CASES = [
    (kind, name, norm)
    for kind, make in _MADE.items()
    for name, p in make().named_parameters(include_sublayers=False)
    if len(p.shape) > 1
    for norm in _NORMS
]
_X = np.random.RandomState(0).randn(2, 5, 3).astype("float32")


def _loss(layer, x=None):
    x = proa.to_tensor(_X) if x is None else x
    call = nn.RNN(layer) if isinstance(layer, nn.RNNCellBase) else layer
    return (call(x)[0] ** 2).mean()


def _made(kind, name, norm):
    proa.seed(2)
    layer = _NORMS[norm](_MADE[kind](), name)
    _loss(layer)  # the vectors of spectral_norm have begun
    return layer


def _step(layer):
    loss = _loss(layer)
    loss.backward()
    gradients = {key: p.grad for key, p in layer.named_parameters()}
    sgd = proa.optimizer.SGD(0.5, parameters=layer.parameters())
    sgd.step()
    sgd.clear_grad()
    return loss.numpy(), gradients


@pytest.mark.parametrize(("kind", "name", "norm"), _CASES)
def test_the_weight_is_what_the_layer_multiplies_with(kind, name, norm):
    layer = _made(kind, name, norm)
    plain = _MADE[kind]()
    for _ in range(2):
        loss, gradients = _step(layer.eval())
        assert all(g is not None and g.numpy().any() for g in gradients.values()), gradients
        _loss(layer)
        parts = dict(layer.named_parameters())
        for key, p in plain.named_parameters():
            p.set_value(getattr(layer, name) if key == name else parts[key])
        np.testing.assert_allclose(_loss(plain).numpy(), _loss(layer).numpy(), rtol=1e-6)
        weight = getattr(layer, name).numpy()
        if norm == "weight_norm":
            np.testing.assert_allclose(np.linalg.norm(weight, axis=1), parts[f"{name}_g"].numpy(), rtol=1e-5)
        else:
            assert not np.allclose(weight, parts[f"{name}_orig"].numpy(), rtol=1e-2)
        assert _loss(layer).numpy() != loss


@pytest.mark.parametrize(("kind", "name", "norm"), _CASES)
def test_copies_and_programs(kind, name, norm):
    layer = _made(kind, name, norm)
    copies = [copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), _made(kind, name, norm)]
    copies[2].set_state_dict({key: value.numpy() for key, value in layer.state_dict().items()})
    want = [_step(layer)[0] for _ in range(2)]
    for other in copies:
        assert [_step(other)[0] for _ in range(2)] == want
    proa.enable_static()
    try:
        with static.scope_guard(static.Scope()), static.program_guard(static.Program(), static.Program()):
            layer = _made(kind, name, norm)
            loss = _loss(layer, static.data("x", list(_X.shape)))
            proa.optimizer.SGD(0.5).minimize(loss)
            executor = static.Executor()
            executor.run(static.default_startup_program())
            got = [executor.run(feed={"x": _X}, fetch_list=[loss])[0] for _ in range(2)]
    finally:
        proa.disable_static()
    if norm == "weight_norm":  # of the other, the vectors move on in a call before
        np.testing.assert_allclose(got, want, rtol=1e-6)
    assert got[1] < got[0]


@pytest.mark.parametrize(("kind", "name"), sorted({case[:2] for case in _CASES}))
def test_what_is_undone(kind, name):
    layer = _made(kind, name, "weight_norm")
    _step(layer)
    want, names = _loss(layer).numpy(), sorted(_MADE[kind]().state_dict())
    remove_weight_norm(layer, name)
    assert sorted(layer.state_dict()) == names
    np.testing.assert_allclose(_loss(layer).numpy(), want, rtol=1e-6)
    _, gradients = _step(layer)
    assert gradients[name].numpy().any() and not np.array_equal(_loss(layer).numpy(), want)


class _Tied(nn.Layer):
    """Its table is that of sublayers that lie deep, and in two places."""

    def __init__(self):
        super().__init__()
        block = nn.Sequential(nn.Embedding(5, 4))
        self.add_sublayer("of.words", block)
        self.again = block
        self.table = block[0].weight

    def forward(self, x):
        return (proa.matmul(self.again(x), self.table, transpose_y=True),)


@pytest.mark.parametrize("norm", _NORMS)
def test_a_tied_weight_is_one(norm):
    proa.seed(6)
    layer = _NORMS[norm](_Tied(), "table")
    x = proa.to_tensor([1, 3])
    for net in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        for _ in range(2):
            (got,) = net(x)
            weight = net.table.numpy()
            assert net.again[0].weight is net.table and "again.0.weight" not in net.state_dict()
            np.testing.assert_allclose(got.numpy(), weight[[1, 3]] @ weight.T, rtol=1e-5, atol=1e-6)
    (layer(x)[0] ** 2).sum().backward()
    assert all(p.grad.numpy().any() for p in layer.parameters())
    if norm == "weight_norm":
        (want,) = layer(x)
        remove_weight_norm(layer, "table")
        assert layer.again[0].weight is layer.table and len(layer.parameters()) == 1
        np.testing.assert_allclose(layer(x)[0].numpy(), want.numpy(), rtol=1e-5)
