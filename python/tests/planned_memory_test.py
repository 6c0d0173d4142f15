"""What a run takes beside what it is given: at most 1.05 of what its values need that are alive at one time."""

import gc

import numpy as np
import pytest

import proa as paddle
from proa import _C, nn
from proa.static.replay import parse
from proa.vision import models

_BYTES = {"float32": 4, "int64": 8, "bool": 1}
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


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (models.resnet18, [1, 3, 112, 112]),
        (models.mobilenet_v1, [2, 3, 112, 112]),
        (models.vgg11, [1, 3, 64, 64]),
        (_mlp, [512, 256]),
    ],
)
def test_a_forward_pass(make, shape):
    net = paddle.jit.to_static(make())
    net.eval()
    x = paddle.ones(shape)
    with paddle.no_grad():
        for _ in range(2):
            net(x)
        gc.collect()
        _C.memory_reset_peak()
        before = _C.memory_figures()["allocated"]
        net(x)
        taken = _C.memory_figures()["peak_allocated"] - before
    trace = net.forward.last_trace()
    bound = _most_alive(trace.program, trace.results)
    assert bound > 100_000
    assert 0.5 * bound < taken <= 1.05 * bound, f"{taken} bytes for {bound}"
