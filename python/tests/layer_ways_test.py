"""Every layer in training and evaluation: copies, what was pickled, a state in another layer, recomputation, gradients that
add up, inputs that lie otherwise, float64, and gradients of gradients against differences.

everywhere_test.py has what is recorded: converted, saved, mixed.
"""

import copy
import pickle

import numpy as np
import pytest

import proa as paddle
from proa.autograd import recompute
from proa.framework.nested import flatten
from python.tests.layer_cases import LAYERS, layer_of
from python.tests.public_cases import Case

# What is drawn is drawn for each dtype.
_DRAWS = {"AlphaDropout", "Dropout", "Dropout2D", "Dropout3D"}
# Vectors that the weight moves are constants for the gradient.
_MOVES = {"SpectralNorm"}


def _tensors_of(name):
    layer, text = layer_of(name)
    case = Case(name, text, layer)
    return case.bind(*case.arguments())[0]


def _made(name, training):
    layer, _ = layer_of(name)
    return layer.train() if training else layer.eval()


def _numpy(t):
    return None if t is None else t.detach().numpy()


def _roots(outputs):
    """Tensors that lead to something, each once (the state of a cell is its output)."""
    floating = [t for t in flatten(outputs) if isinstance(t, paddle.Tensor) and t.is_floating_point()]
    return list({id(t): t for t in floating if not t.stop_gradient}.values())


def _starts(roots):
    rng = np.random.default_rng(1)
    return [paddle.to_tensor(rng.standard_normal(t.shape)).astype(t.dtype) for t in roots]


def _run(call, parameters, tensors, times=1):
    """Outputs and gradients of inputs and parameters, after `times` calls and as many backward."""
    given = [t.detach() for t in tensors]
    for t in given:
        t.stop_gradient = not t.is_floating_point()
    for p in parameters:
        p.clear_gradient(False)
    for _ in range(times):
        paddle.seed(11)
        outputs = call(*given)
        roots = _roots(outputs)
        if roots:
            paddle.autograd.backward(roots, _starts(roots))
    out = [_numpy(t) for t in flatten(outputs) if isinstance(t, paddle.Tensor)]
    return out, [_numpy(t.grad) for t in (*given, *parameters)]


def _same(got, want, where, near=3e-5, times=1.0):
    for kind, a, b in (("output", got[0], want[0]), ("gradient", got[1], want[1])):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert (x is None) == (y is None), f"{where}: {kind} {i}"
            if x is not None:
                scale = max(1.0, np.abs(y[np.isfinite(y)]).max(initial=0.0)) if y.dtype.kind == "f" else 1.0
                y = y * times if kind == "gradient" else y
                np.testing.assert_allclose(x, y, 0, near * scale * times, err_msg=f"{where}: {kind} {i}")


def _state(layer):
    return {k: v.numpy() for k, v in layer.state_dict().items()}


def _restore(layer, state):
    for key, value in layer.state_dict().items():
        value.set_value(state[key])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("name", LAYERS)
def test_ways(name, training):
    layer, tensors = _made(name, training), _tensors_of(name)
    start = _state(layer)
    want = _run(layer, layer.parameters(), tensors)
    after = _state(layer)

    def same(what, call, of=layer, given=tensors, **how):
        _restore(of, start)
        _same(_run(call, of.parameters(), given), want, f"{name} {what}", **how)
        for key, value in _state(of).items():
            np.testing.assert_allclose(value, after[key], 1e-4, 1e-5, err_msg=f"{name} {what}: {key}")

    same("again", layer)
    for what, make in (("copy", copy.deepcopy), ("pickle", lambda x: pickle.loads(pickle.dumps(x)))):
        _restore(layer, start)
        other = make(layer)
        assert not {id(p) for p in other.parameters()} & {id(p) for p in layer.parameters()}
        same(what, other, other)
    other = _made(name, training)
    for p in other.parameters():
        p.set_value(p * 0 + 0.1)
    other.set_state_dict({k: paddle.to_tensor(v) for k, v in start.items()})
    _same(_run(other, other.parameters(), tensors), want, f"{name} state")
    if "Cell" not in name:  # (whose output and state are one tensor, and then two)
        same("recompute", lambda *x: recompute(layer, *x))
        converted = paddle.jit.to_static(_made(name, training))
        same("converted, recompute", lambda *x: recompute(converted, *x), converted)
    for what, turned in (("transposed", _transposed), ("part of a wider one", _part)):
        same(what, layer, given=[turned(t) for t in tensors])
    if name not in _DRAWS or not training:
        wide = _made(name, training)
        wide.to(dtype="float64")
        same("float64", lambda *x: wide(*(t.astype("float64") if t.is_floating_point() else t for t in x)), wide)


def _transposed(t):
    axes = list(range(t.ndim))[::-1]
    return t.transpose(axes).clone().transpose(axes) if t.ndim > 1 else t


def _part(t):
    return paddle.concat([t, t], -1)[..., : t.shape[-1]] if t.ndim else t


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_two_calls_add_up(name):
    layer, tensors = _made(name, False), _tensors_of(name)
    once = _run(layer, layer.parameters(), tensors)
    _same(_run(layer, layer.parameters(), tensors, times=2), once, name, times=2.0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("name", [n for n in LAYERS if n not in _MOVES])
def test_second_gradients(name, training):
    """The derivative of the first gradients in a direction, in float64, is what two calls with inputs moved by little give."""
    layer, tensors = _made(name, training), _tensors_of(name)
    layer.to(dtype="float64")
    start = _state(layer)
    tensors = [t.astype("float64") if t.is_floating_point() else t for t in tensors]
    places = [i for i, t in enumerate(tensors) if t.is_floating_point()]
    parameters = [p for p in layer.parameters() if not p.stop_gradient]
    base = [tensors[i].numpy() for i in places] + [p.numpy() for p in parameters]

    def gradients(values, create_graph=False):
        """First gradients of all, and the tensors that they are of."""
        _restore(layer, start)
        given = list(tensors)
        for i, value in zip(places, values):
            given[i] = paddle.to_tensor(value, stop_gradient=False)
        for p, value in zip(parameters, values[len(places) :]):
            p.set_value(value)
        paddle.seed(11)
        roots = _roots(layer(*given))
        leaves = [given[i] for i in places] + parameters
        if not roots:
            return [None] * len(leaves), leaves
        return paddle.grad(roots, leaves, _starts(roots), create_graph=create_graph, allow_unused=True), leaves

    first, leaves = gradients(base, True)
    rng = np.random.default_rng(2)
    # Labels have no gradient, though gradients follow from them.
    along = [None if g is None else rng.standard_normal(b.shape) for g, b in zip(first, base, strict=True)]
    if all(a is None for a in along):
        return
    used = [(g, a) for g, a in zip(first, along, strict=True) if a is not None and not g.stop_gradient]
    second = [None] * len(leaves)
    if used:
        total = sum((g * paddle.to_tensor(a)).sum() for g, a in used)
        second = [_numpy(h) for h in paddle.grad(total, leaves, allow_unused=True)]
    step = 1e-5
    moved = []
    for sign in (1, -1):
        values = [b if a is None else b + sign * step * a for a, b in zip(along, base, strict=True)]
        moved.append([_numpy(g) for g in gradients(values)[0]])
    for i, (up, down, got) in enumerate(zip(*moved, second, strict=True)):
        if up is not None:
            slope = (up - down) / (2 * step)
            got = np.zeros_like(slope) if got is None else got
            most = 2e-5 * max(1.0, np.abs(slope).max(initial=0.0))
            np.testing.assert_allclose(got, slope, 1e-4, most, err_msg=f"{name}: {i}")


def test_a_wrong_way_is_seen():
    layer = paddle.nn.Linear(3, 4)
    x = paddle.rand([2, 3])
    want = _run(layer, layer.parameters(), [x])
    with pytest.raises(AssertionError, match="gradient 0"):
        _same(_run(lambda x: layer(x) + x.sum() * 0 + (x * 1e-3).sum() - (x * 1e-3).sum().detach(), layer.parameters(), [x]), want, "")  # fmt: skip
