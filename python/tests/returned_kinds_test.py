"""A converted function may return values of other kinds by a tensor: the caller gets the one of the run."""

import numpy as np
import pytest

import proa as paddle
from proa.static import InputSpec


def tensor_or_none(x):
    if x.sum() > 0:
        return x
    else:
        return None


def one_or_two(x):
    if x.sum() > 0:
        y = x + 1
        return x, y
    return x


def falls_off_the_end(x):
    for i in range(5):
        if x.sum() > i - 2:
            return x + i


def many_kinds(x):
    if x.sum() > 2:
        return x.astype("int64")
    elif x.sum() > 1:
        return x
    elif x.sum() > 0:
        return [x, {"a": x * 2, "n": 3}]
    elif x.sum() > -1:
        return "text"
    return None


def ranks_in_nested_ways(x):
    if x.sum() > 0:
        if x.sum() > 1:
            return x.reshape([1, -1])
        return x * 2
    x = x - 1
    if x.mean() < -3:
        return
    return (x,)


def from_a_loop(x):
    x = x.abs()
    while x.sum() < 10:
        x = x * 2 + 1
        if x.max() > 6:
            return x, x * 2
    return x


class _Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(2, 3)

    def forward(self, x):
        if x.sum() > 0:
            return self.linear(x)
        return None


def _same(a, b):
    if isinstance(a, paddle.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a.numpy(), b.numpy())
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


def _total(value):
    if isinstance(value, paddle.Tensor):
        return value.sum() if value.is_floating_point() else 0
    if isinstance(value, dict):
        value = list(value.values())
    return sum(map(_total, value)) if isinstance(value, (list, tuple)) else 0


def _slope(value, x):
    total = _total(value)
    x.clear_gradient()
    if isinstance(total, paddle.Tensor):
        total.backward()
    return np.zeros(x.shape) if x.grad is None else x.grad.numpy().copy()


FUNCTIONS = [tensor_or_none, one_or_two, falls_off_the_end, many_kinds, ranks_in_nested_ways, from_a_loop]


@pytest.mark.parametrize("spec", [None, [InputSpec([None])]], ids=["called", "open"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_eager_mode(function, spec):
    converted = paddle.jit.to_static(function, input_spec=spec)
    for value in (5.0, 1.5, 0.75, 0.25, -0.25, -0.75, -1.5, -2.0, -8.0):
        x = paddle.to_tensor([value / 2, value / 2], stop_gradient=False)
        want, got = function(x), converted(x)
        assert _same(want, got), value
        np.testing.assert_allclose(_slope(got, x), _slope(want, x))
    assert len(converted.program_cache) == 1


def test_a_layer():
    net = _Net()
    converted = paddle.jit.to_static(net)
    x = paddle.rand([4, 2]) + 0.1
    np.testing.assert_allclose(converted(x).numpy(), net.linear(x).numpy(), 1e-6)
    assert converted(-x) is None


def test_a_choice_in_an_expression_is_of_one_kind():
    with pytest.raises(TypeError, match="the ways give"):
        paddle.jit.to_static(lambda x: len(x if x.sum() > 0 else (x, x)))(paddle.ones([2]))


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f is not many_kinds], ids=lambda f: f.__name__)
def test_what_is_loaded_gives_the_kind_of_the_run(function, tmp_path):
    paddle.jit.save(paddle.jit.to_static(function), str(tmp_path / "model"), [InputSpec([None], "float32")])
    loaded = paddle.jit.load(str(tmp_path / "model"))
    for value in (5.0, 1.5, 0.75, 0.25, -0.25, -0.75, -1.5, -2.0, -8.0):
        x = paddle.to_tensor([value / 2, value / 2], stop_gradient=False)
        want, got = function(x), loaded(x)
        want = list(want) if isinstance(want, tuple) and len(want) > 1 else want[0] if isinstance(want, tuple) else want
        assert _same(want, got), value
        np.testing.assert_allclose(_slope(got, x), _slope(want, x))


def test_files_hold_tensors_and_none(tmp_path):
    with pytest.raises(TypeError, match="returns 'text', which a file does not hold"):
        paddle.jit.save(many_kinds, str(tmp_path / "model"), [InputSpec([2], "float32")])
    for function in (tensor_or_none, one_or_two):
        with pytest.raises(TypeError, match="ways give .* a file of another format"):
            paddle.jit.save(function, str(tmp_path / "model"), [InputSpec([2], "float32")], format="paddle")
