"""What level O2 with master weights holds: by the allocator's counters, the sum of its parts and nothing else."""

import gc

import pytest

import proa as paddle
from proa import _C

WIDTH, LAYERS, ROWS = 256, 6, 128
# Bytes of an optimizer's float32 state for each parameter element, beside master weights.
STATES = {"SGD": 0, "Momentum": 4, "Adam": 8, "AdamW": 8, "Lamb": 8}


def _allocated():
    gc.collect()
    return _C.memory_figures()["allocated"]


def _network(dtype, kind):
    layers = [layer for _ in range(LAYERS) for layer in (paddle.nn.Linear(WIDTH, WIDTH), paddle.nn.ReLU())]
    net = paddle.nn.Sequential(*layers, paddle.nn.LayerNorm(WIDTH))
    optimizer = getattr(paddle.optimizer, kind)(0.01, parameters=net.parameters())
    return paddle.amp.decorate(net, optimizer, level="O2", dtype=dtype)


def _step(net, optimizer, scaler, x, dtype, between=lambda loss: None):
    with paddle.amp.auto_cast(level="O2", dtype=dtype):
        loss = net(x).astype("float32").square().mean()
    between(loss)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.clear_grad()


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_stays_between_steps(kind, dtype):
    """16-bit parameters, master weights, moments: nothing of the float32 parameters from before, no casts."""
    for _ in range(2):  # what is made once in a process
        _step(*_network(dtype, kind), paddle.amp.GradScaler(), paddle.ones([ROWS, WIDTH]), dtype)
    before = _allocated()
    net, optimizer = _network(dtype, kind)
    scaler, x = paddle.amp.GradScaler(enable=dtype == "float16"), paddle.ones([ROWS, WIDTH])
    low = sum(p.size for p in net.parameters() if p.dtype.name == dtype)
    exact = sum(p.size for p in net.parameters() if p.dtype == paddle.float32)
    assert low == LAYERS * (WIDTH * WIDTH + WIDTH) and exact == 2 * WIDTH
    for _ in range(3):
        _step(net, optimizer, scaler, x, dtype)
    parts = low * (2 + 4 + STATES[kind]) + exact * (4 + STATES[kind]) + 4 * x.size
    assert abs(_allocated() - before - parts) <= 0.02 * parts


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_is_held_before_and_after_backward(dtype):
    net, optimizer = _network(dtype, "Adam")
    scaler, x = paddle.amp.GradScaler(enable=dtype == "float16"), paddle.ones([ROWS, WIDTH])
    for _ in range(2):
        _step(net, optimizer, scaler, x, dtype)
    before, held = _allocated(), []
    _step(net, optimizer, scaler, x, dtype, lambda loss: held.append(_allocated() - before))
    summaries = []
    _step(net, optimizer, scaler, x, dtype, lambda loss: summaries.append(paddle.autograd.saved_tensors_summary(loss)))
    named = summaries[0].activation_bytes + summaries[0].constant_bytes  # of x its cast is held, which is new
    assert abs(held[0] - named) <= 0.02 * named
    # x in 16 bits; results of linear layers that relu gives back in place of; the norm's and the square's arguments.
    results = ROWS * WIDTH
    assert held[0] <= 1.02 * results * (2 * (1 + LAYERS) + 4)

    # Gradients are of the dtypes of their parameters.
    with paddle.amp.auto_cast(level="O2", dtype=dtype):
        loss = net(x).astype("float32").square().mean()
    scaler.scale(loss).backward()
    del loss
    parts = sum(p.size * p.element_size() for p in net.parameters())
    assert abs(_allocated() - before - parts) <= 0.02 * parts
