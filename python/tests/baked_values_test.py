"""States of one element that a converted function changes: values of its program, or an error where Python reads them."""

import copy

import numpy as np
import pytest

import proa as paddle
from proa import nn


class _Counting(nn.Layer):
    """Gives what `read(self, x)` makes of a counter, and counts on."""

    def __init__(self, read, start=0, dtype="int64"):
        super().__init__()
        self.read = read
        self.register_buffer("rows", paddle.arange(8, dtype="float32"))
        self.register_buffer("count", paddle.full([], start, dtype))

    def forward(self, x):
        y = self.read(self, x)
        self.count.add_(paddle.ones([], self.count.dtype))
        return y


def _looped(s, x):
    for _ in range(s.count + 0):
        x = x + 1.0
    return x


VALUES = {
    "an index": lambda s, x: s.rows[s.count % 4] + x,
    "a part": lambda s, x: s.rows[s.count + 0 :].sum() + x,
    "a branch": lambda s, x: x + 100.0 if s.count > 1 else x,
    "a size": lambda s, x: paddle.ones([s.count + 1]).sum() + x,
    "a limit": lambda s, x: paddle.clip(s.rows, 0, s.count.astype("float32")).sum() + x,
    "a factor": lambda s, x: x * s.count,
    "an item": lambda s, x: x * (s.count + 0).item(),
    "turns": _looped,
}
NUMBERS = {
    "int": lambda s, x: x * int(s.count),
    "an index": lambda s, x: s.rows[s.count] + x,
    "a part": lambda s, x: s.rows[s.count :].sum() + x,
    "turns": lambda s, x: sum((x for _ in range(int(s.count))), x),
    "a comparison": lambda s, x: x if int(s.count) < 100 else x * 2.0,
    "a fill": lambda s, x: paddle.full([3], s.count).sum() + x,
    "a shift": lambda s, x: paddle.roll(s.rows, s.count)[0] + x,
}


def _converted(layer, way):
    if way == "layer":
        return paddle.jit.to_static(layer)
    if way == "part":
        return paddle.jit.to_static(nn.Sequential(layer))
    return paddle.jit.to_static(lambda x: layer(x))


def _calls(function, times=4):
    return [float(function(paddle.ones([]))) for _ in range(times)]


@pytest.mark.parametrize("way", ["layer", "part", "function"])
@pytest.mark.parametrize("name", VALUES)
def test_values_of_the_program(name, way):
    layer = _Counting(VALUES[name])
    wanted = _calls(copy.deepcopy(layer))
    assert len(set(wanted)) > 1
    np.testing.assert_allclose(_calls(_converted(layer, way)), wanted, rtol=1e-6)
    assert int(layer.count) == 4


@pytest.mark.parametrize("way", ["layer", "part", "function"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_python_are_refused(name, way):
    layer = _Counting(NUMBERS[name])
    what = {"layer": "the buffer 'count'", "part": "the buffer '0.count'", "function": "a tensor"}[way]
    with pytest.raises(RuntimeError, match=f"changes {what} of one element, 0 now, and reads it as a number of Python"):
        _converted(layer, way)(paddle.ones([]))
    assert int(layer.count) == 0  # as it was


def test_a_closure():
    count, rows = paddle.zeros([1], "int64"), paddle.arange(4, dtype="float32")

    @paddle.jit.to_static
    def function(x):
        y = rows[count[0] % 4] + x
        count.add_(paddle.ones([1], "int64"))
        return y

    assert _calls(function, 6) == [1.0, 2.0, 3.0, 4.0, 1.0, 2.0]


def test_several_integers():
    def counting(read):
        counts, rows = paddle.zeros([2], "int32"), paddle.arange(4, dtype="float32")

        @paddle.jit.to_static
        def function(x):
            y = read(rows, counts) + x
            counts.add_(paddle.to_tensor([0, 1], dtype="int32"))
            return y

        return function

    assert _calls(counting(lambda rows, counts: rows[counts[1] % 4]), 5) == [1.0, 2.0, 3.0, 4.0, 1.0]
    with pytest.raises(
        RuntimeError, match=r"changes a tensor of 2 elements, \[0, 0\] now, and reads it as a number of Python"
    ):
        counting(lambda rows, counts: rows[counts.tolist()[1]])(paddle.ones([]))


@pytest.mark.parametrize("way", ["layer", "function"])
def test_a_queue_trains(way):
    """Rows of a queue are written at a place that moves on, as in contrastive learning."""

    class Queue(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.register_buffer("rows", paddle.zeros([4, 3]))
            self.register_buffer("place", paddle.zeros([], "int64"))

        def forward(self, x):
            y = self.linear(x)
            with paddle.no_grad():
                self.rows[self.place % 4] = y.mean(0).detach()
                self.place.add_(paddle.ones([], "int64"))
            return paddle.matmul(y, self.rows, transpose_y=True)

    def trained(net, call):
        optimizer, found = paddle.optimizer.SGD(0.05, parameters=net.parameters()), []
        for i in range(6):
            y = call(paddle.to_tensor(np.random.default_rng(i).standard_normal((5, 3)).astype("float32")))
            y.square().mean().backward()
            optimizer.step()
            optimizer.clear_grad()
            found.append(y.numpy())
        return found + [v.numpy() for v in net.state_dict().values()]

    paddle.seed(3)
    net = Queue()
    wanted = trained(other := copy.deepcopy(net), other)
    for got, want in zip(trained(net, _converted(net, way)), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype, start", [("bool", True), ("uint8", 255), ("float32", 3.0)])
def test_what_is_not_read_is_not_refused(dtype, start):
    class Flag(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("flag", paddle.full([1], start, dtype))

        def forward(self, x):
            self.flag = paddle.logical_not(self.flag) if dtype == "bool" else self.flag + paddle.ones([1], dtype)
            return x * self.flag.astype("float32")

    layer = Flag()
    wanted = _calls(copy.deepcopy(layer))
    assert _calls(paddle.jit.to_static(layer)) == wanted


def test_networks_without_such_states_are_recorded_once():
    class Noting(nn.Layer):
        def __init__(self):
            super().__init__()
            self.norm, self.calls = nn.BatchNorm1D(3), []

        def forward(self, x):
            self.calls.append(1)
            return self.norm(x)

    net = Noting()
    paddle.jit.to_static(net)(paddle.ones([4, 3]))
    assert len(net.calls) == 1
