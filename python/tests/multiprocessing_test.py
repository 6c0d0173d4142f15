"""Tensors that queues and pipes hand over: both processes see the same elements; nothing is left open."""

import gc
import os

import numpy as np
import pytest

import proa
import proa.incubate.multiprocessing as mp
from proa import nn
from proa.incubate.multiprocessing import reductions


def _writes(inbox, outbox):
    x = inbox.get()
    x[0] = 7.0
    outbox.put(x * 2)
    weight = inbox.get()
    outbox.put((type(weight) is nn.Linear(1, 1).weight.__class__, weight.name, weight.stop_gradient))
    weight.set_value(np.zeros(weight.shape, "float32"))
    outbox.put("written")
    inbox.get()  # the sender of what is on its way stays


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_both_processes_see_what_one_writes(method):
    context = mp.get_context(method)
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=_writes, args=(inbox, outbox))
    process.start()
    try:
        x, layer = proa.arange(6.0).reshape([2, 3]), nn.Linear(2, 2)
        inbox.put(x)
        assert outbox.get(timeout=60).tolist() == [[14, 14, 14], [6, 8, 10]]
        assert x.tolist() == [[7, 7, 7], [3, 4, 5]]
        inbox.put(layer.weight)
        assert outbox.get(timeout=60) == (True, layer.weight.name, False)
        assert outbox.get(timeout=60) == "written"
        assert not layer.weight.numpy().any()
        inbox.put(None)
        process.join(60)
        assert process.exitcode == 0
    finally:
        process.kill()


_DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("shape", [[], [3], [0, 2], [2, 3]], ids=str)
def test_values_types_and_shapes(dtype, shape):
    here, there = mp.Pipe()
    x = proa.ones(shape).astype(dtype)
    here.send(x)
    y = there.recv()
    assert y.dtype == x.dtype and y.shape == x.shape and bool((x == y).all())
    if shape and x.size:
        y[-1] = 0
        assert bool((x == y).all()) == (dtype != "bfloat16")  # which goes as a copy


def test_a_tensor_that_is_not_contiguous_is_copied():
    here, there = mp.Pipe()
    x = proa.arange(6.0).reshape([2, 3])
    here.send(x.T)
    y = there.recv()
    assert y.tolist() == [[0, 3], [1, 4], [2, 5]]
    y[0] = 9.0
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_gradients():
    here, there = mp.Pipe()
    x = proa.ones([2])
    x.stop_gradient = False
    here.send(x)
    assert not there.recv().stop_gradient
    with pytest.raises(RuntimeError, match=r"\[2\] float32 was computed from other tensors and requires grad"):
        here.send(x * 2)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_a_state_dict_is_shared():
    here, there = mp.Pipe()
    layer = nn.Linear(2, 2)
    here.send(layer.state_dict())
    there.recv()["bias"].set_value(np.full(2, 5, "float32"))
    assert layer.bias.tolist() == [5, 5]


def test_descriptors_are_closed():
    here, there = mp.Pipe()
    x = proa.ones([100])
    here.send(x)
    there.recv()
    del x
    gc.collect()
    before, known = len(os.listdir("/proc/self/fd")), len(reductions._shared)
    for _ in range(50):
        x = proa.ones([100])
        here.send(x)
        y = there.recv()
        here.send(y)  # of memory that is shared already
        z = there.recv()
        z[0] = 3.0
        assert x[0].item() == 3
    del x, y, z
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 2 and len(reductions._shared) == known
