"""Gradients of recurrent layers in programs, which compute them in the memory of what the cells kept: the bits of eager mode."""

import numpy as np
import pytest

import proa as paddle
from proa import nn

# (batch, steps, inputs, hidden): gates as wide as what is taken at a time, narrower, wider, no multiple of it; more inputs than states.
SIZES = [(4, 16, 32, 32), (3, 5, 7, 9), (2, 9, 40, 129), (3, 7, 200, 64), (1, 1, 1, 1), (4, 20, 16, 200)]


def _loss(net, x, weights, lengths):
    y, _ = net(x, sequence_length=lengths)
    return (y * weights).sum()


def _numbers(time_major, batch, steps, inputs, width):
    random = np.random.default_rng(batch * steps)
    of = (steps, batch) if time_major else (batch, steps)
    x, w = (random.standard_normal((*of, n)).astype("float32") for n in (inputs, width))
    return x, w, random.integers(1, steps + 1, batch)


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("name", ["LSTM", "GRU", "SimpleRNN"])
@pytest.mark.parametrize("sizes", SIZES)
def test_a_program_gives_the_bits_of_eager_mode(name, sizes, time_major, some):
    batch, steps, inputs, hidden = sizes
    make = lambda: getattr(nn, name)(inputs, hidden, 2, direction="bidirect", time_major=time_major)
    x, w, n = _numbers(time_major, batch, steps, inputs, 2 * hidden)

    paddle.seed(7)
    net = make()
    given = paddle.to_tensor(x)
    given.stop_gradient = False
    _loss(net, given, paddle.to_tensor(w), paddle.to_tensor(n) if some else None).backward()
    wanted = [p.grad.numpy() for p in net.parameters()] + [given.grad.numpy()]

    paddle.enable_static()
    try:
        program, start = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(program, start):
            paddle.seed(7)
            net = make()
            fed = [paddle.static.data("x", x.shape), paddle.static.data("w", w.shape)]
            fed[0].stop_gradient = False
            lengths = paddle.static.data("n", [batch], "int64") if some else None
            loss = _loss(net, *fed, lengths)
            fetched = paddle.static.gradients([loss], [*net.parameters(), fed[0]])
        executor = paddle.static.Executor()
        executor.run(start)
        feed = {"x": x, "w": w} | ({"n": n} if some else {})
        for _ in range(2):
            found = executor.run(program, feed=feed, fetch_list=fetched)
    finally:
        paddle.disable_static()
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "SimpleRNN"])
def test_backward_twice(name):
    """What is kept for another backward is not written into."""
    paddle.seed(1)
    net, x = getattr(nn, name)(5, 6), paddle.randn([3, 4, 5])
    loss = net(x)[0].square().sum()
    loss.backward(retain_graph=True)
    first = [p.grad.numpy().copy() for p in net.parameters()]
    net.clear_gradients()
    loss.backward()
    for p, wanted in zip(net.parameters(), first, strict=True):
        np.testing.assert_array_equal(p.grad.numpy(), wanted)


@pytest.mark.parametrize("mode, gates", [("LSTM", 4), ("GRU", 3), ("RNN_TANH", 1)])
def test_what_is_used_again_is_not_written_into(mode, gates):
    """What the cells kept is a value of the program: it is fetched, or goes into two gradients."""
    ops, random = paddle._C.ops, np.random.default_rng(3)
    shapes = {
        "x": [3, 4, 5],
        "w": [gates * 6, 5],
        "u": [gates * 6, 6],
        "g": [3, 4, 6],
        "h": [3, 6],
        "c": [3, 6 if gates == 4 else 0],
    }
    feed = {name: random.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            x, w, u, g, h, c = (paddle.static.data(name, shape) for name, shape in shapes.items())
            reserve = ops.rnn(x, w, u, mode=mode, keep_reserve=True)[3]
            once, twice = (
                ops.rnn_grad(k * g, h, c, x, w, u, reserve=reserve, mode=mode)[1]
                for k in (paddle.ones([]), paddle.ones([]) * 2.0)
            )
            own = ops.rnn_grad(g, h, c, x, w, u, mode=mode)[1]
        run = lambda *fetched: paddle.static.Executor().run(program, feed=feed, fetch_list=list(fetched))
        kept, first, second = run(reserve), run(once), run(twice)
        np.testing.assert_array_equal(first, run(own))
        for fetched, wanted in (((once, twice), first + second), ((twice, reserve), second + kept)):
            for got, want in zip(run(*fetched), wanted, strict=True):
                np.testing.assert_array_equal(got, want)
    finally:
        paddle.disable_static()
