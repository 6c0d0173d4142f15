"""Work that takes long ends when the user asks for it (Ctrl-C), and absurd arguments are refused instead of worked on."""

import signal
import time

import numpy as np
import pytest

import proa
from proa.nn import functional as F


class _Stop(Exception):
    pass


def _stopped_after(seconds, f):
    """Calls f with a signal that comes after some time; how long it went on."""

    def stop(*_):
        raise _Stop

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    start = time.monotonic()
    try:
        with pytest.raises(_Stop):
            f()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return time.monotonic() - start


def test_loop_of_a_program():
    @proa.jit.to_static
    def count(n):
        return proa.static.nn.while_loop(lambda i: i < n, lambda i: [i + 1], [proa.zeros([1], "int64")])[0]

    assert int(count(proa.full([1], 5, "int64"))) == 5
    _stopped_after(0.3, lambda: count(proa.full([1], 10**12, "int64")))
    assert int(count(proa.full([1], 5, "int64"))) == 5


def test_eager_loop():
    _stopped_after(
        0.2, lambda: proa.static.nn.while_loop(lambda i: i < 10**12, lambda i: [i + 1], [proa.zeros([1], "int64")])
    )


def test_backward_of_a_long_graph():
    """Handlers run on the way, not only at the end."""
    x = proa.ones([4])
    x.stop_gradient = False
    y = x
    for _ in range(200_000):
        y = y + x
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        start = time.monotonic()
        _, end = y.sum().backward(), time.monotonic()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 200_001))
    if end - start > 0.2:  # else it was too quick to be interrupted
        assert any(start + 0.001 < t < end - 0.001 for t in seen)


_BIG = 2**31 - 2
_IMAGE = [1, 1, 8, 8]

# Each is done, or refused, at once.
_ABSURD = {
    "diff n": lambda: proa.diff(proa.ones([4, 4]), n=_BIG),
    "diff n beyond int": lambda: proa.diff(proa.ones([4, 4]), n=2**40),
    "cov weights": lambda: proa.linalg.cov(proa.ones([4, 4]), fweights=proa.full([4], 2**31 - 1, "int64")),
    "normalize p": lambda: F.normalize(proa.ones([4, 4]), p=1e30),
    "normalize axis": lambda: F.normalize(proa.ones([4, 4]), axis=_BIG),
    "norm p": lambda: proa.norm(proa.ones([4, 4]), p=float(_BIG)),
    "norm axis": lambda: proa.norm(proa.ones([4, 4]), axis=[_BIG, _BIG]),
    "unfold kernel": lambda: F.unfold(proa.ones(_IMAGE), _BIG),
    "unfold padding": lambda: F.unfold(proa.ones(_IMAGE), 1, paddings=_BIG),
    "unfold stride": lambda: F.unfold(proa.ones(_IMAGE), 1, strides=_BIG),
    "unfold dilation": lambda: F.unfold(proa.ones(_IMAGE), 1, dilations=_BIG),
    "max_pool2d kernel": lambda: F.max_pool2d(proa.ones(_IMAGE), _BIG, padding=_BIG // 2),
    "avg_pool2d padding": lambda: F.avg_pool2d(proa.ones(_IMAGE), _BIG, stride=1, padding=_BIG),
    "conv1d dilation": lambda: F.conv1d(
        proa.ones([1, 1, 8]), proa.ones([1, 1, 3]), padding=_BIG // 2, dilation=_BIG // 2
    ),
    "conv1d stride": lambda: F.conv1d(proa.ones([1, 1, 8]), proa.ones([1, 1, 3]), stride=_BIG),
    "mean axis": lambda: proa.mean(proa.ones([4, 4]), axis=_BIG),
    "mean axes": lambda: proa.mean(proa.ones([4, 4]), axis=list(range(100_000))),
    "mean of a range": lambda: proa.mean(proa.ones([4, 4]), axis=range(2**31)),
    "sum of a range": lambda: proa.sum(proa.ones([4, 4]), axis=range(2**62)),
    "reshape to a range": lambda: proa.reshape(proa.ones([4, 4]), range(2**40)),
}


@pytest.mark.parametrize("name", _ABSURD)
def test_absurd_arguments(name):
    start = time.process_time()
    try:
        _ABSURD[name]()
    except (ValueError, IndexError, OverflowError, TypeError, MemoryError) as e:
        assert len(str(e)) > 10
    assert time.process_time() - start < 20  # seconds; what is done at all is done in milliseconds


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["avg", "max"])
def test_windows_cost_what_they_cover(kind, dims, dtype):
    """Windows of 2^31 positions, half of them padding, over a few elements."""
    x = proa.arange(1, 4**dims + 1).astype(dtype).reshape([1, 1, *[4] * dims])
    x.stop_gradient = False
    start = time.process_time()
    for stride in (1, 2, 2**30):
        y = getattr(F, f"{kind}_pool{dims}d")(x, _BIG, stride=stride, padding=_BIG // 2)
        assert list(y.shape[2:]) == [1 + 4 // stride] * dims  # of which the middle one sees all
        middle = y.numpy().reshape(-1)[y.size // 2 if stride < 3 else 0]
        corner = y.numpy().reshape(-1)[0]
        values = x.numpy().reshape([4] * dims)
        reached = values[tuple(slice(0, _BIG // 2) for _ in range(dims))]
        np.testing.assert_allclose(corner, reached.max() if kind == "max" else reached.mean(), rtol=1e-6)
        np.testing.assert_allclose(middle, values.max() if kind == "max" else values.mean(), rtol=1e-6)
        x.clear_grad()
        y.sum().backward()
        np.testing.assert_allclose(float(x.grad.sum()), y.size, rtol=1e-6)
    if kind == "max":
        _, places = getattr(F, f"max_pool{dims}d")(x, _BIG, stride=2**30, padding=_BIG // 2, return_mask=True)
        assert int(places.reshape([-1])[0]) == 4**dims - 1
    assert time.process_time() - start < 20


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("kernel", [1, 3])
def test_convolutions_of_absurd_steps(kernel, dtype):
    x = proa.ones([1, 2, 8, 8], dtype)
    w = proa.ones([2, 2, kernel, kernel], dtype)
    x.stop_gradient = w.stop_gradient = False
    # The last output begins with the first element.
    y = F.conv2d(x, w, stride=2**30, padding=[2**30, 0, 2**30, 0])
    expected = np.zeros([1, 2, 2, 2])
    expected[..., 1, 1] = 2 * kernel * kernel
    np.testing.assert_array_equal(y.astype("float64").numpy(), expected)
    y.sum().backward()
    assert float(x.grad.sum()) == float(w.grad.sum()) == 4 * kernel * kernel
