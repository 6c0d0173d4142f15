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


def tail_call(x):
    return tensor_or_none(x)


def none_is_asked_for(x):
    y = tensor_or_none(x)
    if y is None:
        return x - 1
    return y + 1


def none_is_asked_for_at_once(x):
    if tensor_or_none(x) is None:
        return x - 1
    elif one_or_two(x - 2) is None:
        return x
    return x * 3


def unpacked(x):
    found = one_or_two(x)
    if isinstance(found, tuple):
        a, b = found
        return a + b
    return found * 5


def in_a_loop(x):
    for i in range(3):
        y = tensor_or_none(x - i)
        if y is None:
            break
        x = y * 2
    return x


def in_a_late_loop(x):
    n = paddle.zeros([])
    while n < 3:
        y = tensor_or_none(x - n)
        if y is None:
            x = x - 1
        else:
            x = y + 2
        n = n + 1
    return x


def two_calls(x):
    a = tensor_or_none(x)
    b = tensor_or_none(x - 3)
    n = 1
    if a is not None:
        n += 1
    if b is not None:
        n += 2
    return x * n


def through_two(x):
    y = tail_call(x)
    return x if y is None else y * 2


def one_of_five(x):
    found = many_kinds(x)
    if found is None:
        return x
    if isinstance(found, str):
        return x * 2
    if isinstance(found, list):
        return found[0] + found[1]["a"] * found[1]["n"]
    return found.astype("float32") * 7


def of_a_method(x):
    return _Helper().total(x)


class _Helper:
    def part(self, x, least=0):
        if x.sum() > least:
            return x
        return None

    def total(self, x):
        total = paddle.zeros_like(x)
        for least in (0, 1, 2):
            part = self.part(x, least=least)
            if part is not None:
                total = total + part
        return total


class _Gate(paddle.nn.Layer):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return None


_GATE = _Gate()


def of_a_layer(x):
    y = _GATE(x)
    if y is None:
        y = x
    return y


def of_an_inner_function(x):
    def inner(y):
        if y.sum() > 1:
            return y
        return [y, y]

    found = inner(x)
    if isinstance(found, list):
        return found[0] + found[1]
    return found


CALLERS = [tail_call, none_is_asked_for, none_is_asked_for_at_once, unpacked, in_a_loop, in_a_late_loop, two_calls, through_two,
           one_of_five, of_a_method, of_a_layer, of_an_inner_function]  # fmt: skip


@pytest.mark.parametrize("spec", [None, [InputSpec([None])]], ids=["called", "open"])
@pytest.mark.parametrize("function", CALLERS, ids=lambda f: f.__name__)
def test_what_is_recorded_goes_on_with_each_kind(function, spec):
    test_values_and_gradients_are_those_of_eager_mode(function, spec)


def test_what_is_recorded_says_where_it_cannot_go_on():
    """Where what calls is not converted, a comprehension or a hook that takes one value."""

    def listed(x):
        return [y for y in [tensor_or_none(x * k) for k in range(2)] if y is not None]

    def mapped(x):
        return list(map(tensor_or_none, [x, x]))

    def hooked(x):
        net = _Gate()
        net.register_forward_post_hook(lambda layer, inputs, outputs: outputs)
        return net(x)

    for function in (listed, mapped, hooked):
        with pytest.raises(TypeError, match=r"returned_kinds_test.py:\d+.* the ways give"):
            paddle.jit.to_static(function)(paddle.ones([2]))


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


def test_a_file_holds_texts_and_numbers_as_kinds(tmp_path):
    paddle.jit.save(many_kinds, str(tmp_path / "model"), [InputSpec([None], "float32")])
    loaded = paddle.jit.load(str(tmp_path / "model"))
    tensors = lambda v: [t for part in v for t in tensors(part)] if isinstance(v, (list, tuple)) else [v]
    for value in (5.0, 1.5, 0.75, -0.25, -2.0):
        x = paddle.to_tensor([value / 2, value / 2])
        want, got = many_kinds(x), loaded(x)
        if isinstance(want, list):
            want = [want[0], want[1]["a"]]
        assert _same(want, got), value


class _Words(paddle.nn.Layer):
    def forward(self, x):
        if x.sum() > 0:
            return "learning" if self.training else "testing"
        return 3 if x.mean() < -1 else False

    @paddle.jit.to_static(input_spec=[InputSpec([None], "float32")])
    def scores(self, x):
        if x.sum() > 0:
            return x
        return "none"


def test_kinds_of_methods_and_in_training(tmp_path):
    paddle.jit.save(_Words(), str(tmp_path / "model"), [InputSpec([None], "float32")])
    loaded = paddle.jit.load(str(tmp_path / "model"))
    assert loaded(paddle.ones([2])) == "testing" and loaded.scores(-paddle.ones([2])) == "none"
    assert loaded.scores(paddle.ones([2])).tolist() == [1, 1]
    loaded.train()
    assert loaded(paddle.ones([2])) == "learning" and loaded.scores(-paddle.ones([2])) == "none"


def test_files_hold_no_other_things(tmp_path):
    def either(x):
        if x.sum() > 0:
            return x
        return b"text"

    with pytest.raises(TypeError, match="returns b'text', which a file does not hold"):
        paddle.jit.save(either, str(tmp_path / "model"), [InputSpec([2], "float32")])
    for function in (tensor_or_none, one_or_two):
        with pytest.raises(TypeError, match="ways give .* a file of another format"):
            paddle.jit.save(function, str(tmp_path / "model"), [InputSpec([2], "float32")], format="paddle")
