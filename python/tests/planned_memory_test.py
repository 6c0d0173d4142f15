"""What a run takes beside what it is given: at most 1.05 of what its values need that are alive at one time."""

import gc

import numpy as np
import pytest

import proa as paddle
from proa import _C, nn
from proa.static.replay import parse
from proa.vision import models

_BYTES = {"float32": 4, "int64": 8, "bool": 1, "uint8": 1}
_VIEWS = {op["name"] for op in _C.op_registry() if op["fuse"] in ("view", "broadcast")}


def _made(call):
    return [n for part in call.results for n in (part if isinstance(part, list) else [part])]


def _most_alive(program, outputs):
    """The largest sum of the bytes of values that operations made and later ones use, or the program gives."""
    calls = parse(program.plan(outputs))[1]
    owner = {}  # of a view: whose memory it shows
    for call in calls:
        if call.op in _VIEWS:
            source = call.values()[0]
            owner[_made(call)[0]] = owner.get(source, source)
    own = lambda n: owner.get(n, n)
    last = {own(n): k for k, call in enumerate(calls) for n in call.values()}
    last.update((own(program.value_number(t)), len(calls)) for t in outputs)
    size = lambda n: int(np.prod(program.value(n).shape)) * _BYTES[program.value(n).dtype.name]
    alive, most = {}, 0
    for k, call in enumerate(calls):
        alive.update((n, size(n)) for n in _made(call) if n not in owner)
        most = max(most, sum(alive.values()))
        alive = {n: s for n, s in alive.items() if last.get(n, -1) > k}
    return most


def _mlp():
    return nn.Sequential(nn.Linear(256, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.Tanh(), nn.Linear(4096, 10))


def _taken(net, x):
    """The most bytes that a run takes at one time."""
    with paddle.no_grad():
        for _ in range(3):  # weights are packed
            net(x)
        found = []
        for _ in range(2):  # what earlier tests held may go in one of them
            gc.collect()
            _C.memory_reset_peak()
            before = _C.memory_figures()["allocated"]
            net(x)
            found.append(_C.memory_figures()["peak_allocated"] - before)
    return max(found)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (models.resnet18, [1, 3, 112, 112]),
        (models.resnet50, [1, 3, 96, 96]),
        (models.resnext50_32x4d, [1, 3, 96, 96]),
        (models.mobilenet_v1, [2, 3, 112, 112]),
        (models.mobilenet_v2, [2, 3, 96, 96]),
        (models.mobilenet_v3_small, [1, 3, 96, 96]),
        (models.mobilenet_v3_large, [1, 3, 96, 96]),
        (models.squeezenet1_1, [1, 3, 96, 96]),
        (models.inception_v3, [1, 3, 128, 128]),
        (models.vgg11, [1, 3, 64, 64]),
        (_mlp, [512, 256]),
    ],
)
def test_a_forward_pass(make, shape):
    """Of networks whose convolutions take what they are given as it lies; one that does not takes a copy besides."""
    net = paddle.jit.to_static(make())
    net.eval()
    taken = _taken(net, paddle.ones(shape))
    trace = net.forward.last_trace()
    bound = _most_alive(trace.program, trace.results)
    assert bound > 100_000
    assert 0.5 * bound < taken <= 1.05 * bound, f"{taken} bytes for {bound}"


class _Turns(nn.Layer):
    """A loop of which each turn needs what it begins with, and what it makes of it in place."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(256, 256)

    def forward(self, x):
        n = (x[0, 0] > 1e9).astype("int64")
        while n < 4:
            x = paddle.tanh(self.layer(paddle.tanh(self.layer(x))))
            n = n + 1
        return x


class _Ways(nn.Layer):
    """The same in ways of a condition."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(256, 256)

    def forward(self, x):
        if x.sum() > 0:
            return paddle.tanh(self.layer(paddle.tanh(self.layer(paddle.tanh(self.layer(x))))))
        return x * 2


@pytest.mark.parametrize("make", [_Turns, _Ways])
def test_blocks(make):
    """A loop holds its variables once: those that a turn begins with end there with their last use."""
    bound = 2 * 256 * 256 * 4
    taken = _taken(paddle.jit.to_static(make()), paddle.ones([256, 256]))
    assert 0.5 * bound < taken <= 1.05 * bound, f"{taken} bytes for {bound}"
