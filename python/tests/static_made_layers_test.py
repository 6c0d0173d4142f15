"""Layers that are made, copied, normalized and divided by norms in static mode: as in eager mode, and nothing of it runs again."""

import copy

import numpy as np
import pytest

import proa
from proa import nn, static
from python.tests.layer_cases import LAYERS, layer_of
from python.tests.public_cases import Case

_PADDED = {"Embedding with padding": lambda: nn.Embedding(7, 4, padding_idx=-2)}


@pytest.fixture
def static_mode():
    proa.enable_static()
    yield
    proa.disable_static()


def _made(name):
    return _PADDED[name]() if name in _PADDED else layer_of(name)[0]


def _state(layer):
    return {key: value.numpy() for key, value in layer.state_dict().items()}


def _same(got, want):
    assert list(got) == list(want)
    for key, value in want.items():
        np.testing.assert_array_equal(got[key], value, err_msg=key)


@pytest.mark.parametrize("name", [*LAYERS, *_PADDED])
def test_what_makes_or_copies_a_layer_is_not_recorded(static_mode, name):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        layer = _made(name)
        other = copy.deepcopy(layer)
    proa.disable_static()
    proa.seed(5)
    want = _state(_made(name))
    assert not main.global_block().ops, main
    _same(_state(other), _state(layer))
    if name not in _PADDED:  # whose seed layer_of sets
        _same(_state(layer), want)
    assert [p.name for p in other.parameters()] != [p.name for p in layer.parameters()] or not layer.parameters()


def test_a_padding_row_that_was_loaded_stays(static_mode):
    with static.program_guard(static.Program(), static.Program()):
        table = nn.Embedding(4, 2, padding_idx=2)
        y = table(static.data("x", [None], "int64"))
        assert not table.weight.numpy()[2].any()
        table.weight.set_value(np.ones([4, 2], "float32"))
        got = static.Executor().run(feed={"x": np.array([0, 2])}, fetch_list=[y])[0]
    np.testing.assert_array_equal(got, [[1, 1], [0, 0]])
    np.testing.assert_array_equal(table.weight.numpy(), np.ones([4, 2]))


_WEIGHED = [name for name in LAYERS if len(getattr(getattr(layer_of(name)[0], "weight", None), "shape", ())) > 1]


def _normalized(name, way):
    layer = layer_of(name)[0]
    proa.seed(3)
    if way == "removed":
        return nn.utils.remove_weight_norm(nn.utils.weight_norm(layer))
    return getattr(nn.utils, way)(layer)


def _trained_static(name, way, arrays):
    main, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        inputs = [static.data(f"x{i}", list(a.shape), str(a.dtype)) for i, a in enumerate(arrays)]
        layer = _normalized(name, way)
        loss = (layer(*inputs) ** 2).mean()
        proa.optimizer.Momentum(0.1).minimize(loss)
        executor = static.Executor()
        executor.run(startup)
        feed = {f"x{i}": a for i, a in enumerate(arrays)}
        return [executor.run(main, feed=feed, fetch_list=[loss])[0] for _ in range(3)], _state(layer)


@pytest.mark.parametrize("way", ["weight_norm", "spectral_norm", "removed"])
@pytest.mark.parametrize("name", _WEIGHED)
def test_normalized_weights_are_trained_as_in_eager_mode(name, way):
    case = Case(name, layer_of(name)[1], None)
    arrays = [t.numpy() for t in case.bind(*case.arguments())[0]]
    layer = _normalized(name, way)
    before = _state(layer)
    momentum = proa.optimizer.Momentum(0.1, parameters=layer.parameters())
    losses = []
    for _ in range(3):
        loss = (layer(*map(proa.to_tensor, arrays)) ** 2).mean()
        loss.backward()
        momentum.step()
        momentum.clear_grad()
        losses.append(loss.numpy())
    want = _state(layer)
    assert any((want[key] != value).any() for key, value in before.items() if key.startswith("weight"))
    proa.enable_static()
    try:
        got, state = _trained_static(name, way, arrays)
    finally:
        proa.disable_static()
    np.testing.assert_allclose(got, losses, rtol=1e-5)
    assert list(state) == list(want)
    for key, value in want.items():
        np.testing.assert_allclose(state[key], value, rtol=1e-4, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("way", ["weight_norm", "spectral_norm"])
def test_a_second_start_draws_parts_that_fit(static_mode, way):
    startup = static.Program()
    with static.program_guard(static.Program(), startup):
        layer = getattr(nn.utils, way)(nn.Linear(3, 5))
        first = _state(layer)
        executor = static.Executor()
        executor.run(startup)
        _same(_state(layer), first)
        executor.run(startup)
        second = _state(layer)
    for key in first:
        assert (first[key] == second[key]).all() == (key == "bias"), key
    if way == "weight_norm":
        np.testing.assert_allclose(second["weight_g"], np.linalg.norm(second["weight_v"], axis=1), rtol=1e-6)
    else:
        np.testing.assert_allclose(np.linalg.norm(second["weight_u"]), 1, rtol=1e-6)
