"""The same bits for any number of threads: products of any shape, and public functions on tensors large enough to divide.

Ops by themselves, with samples made larger, are the conformance suite's (test_threads).
"""

import time

import numpy as np
import pytest

import proa as paddle
from ops.conformance import samples, suite
from python.tests.public_cases import FUNCTIONS, Case, function_at

_THREADS = (1, 2, 3, 5)
_DIMS = (1, 2, 7, 16, 64, 200, 520)
_REFUSED = (IndexError, MemoryError, NotImplementedError, RuntimeError, TypeError, ValueError)


def _same(run, where):
    """`run()` gives arrays; the same with any number of threads."""
    found = []
    for n in _THREADS:
        with suite.threads(paddle, n):
            found.append([(a.shape, suite.one_nan(a).tobytes()) for a in run()])
    for n, got in zip(_THREADS, found, strict=True):
        assert got == found[0], f"{where}: other bits with {n} threads than with 1"


def _gradients(function, tensors):
    """The results of function(*tensors) and the gradients of what can have some."""
    leaves = [t.detach() for t in tensors]
    for t in leaves:
        t.stop_gradient = not t.is_floating_point()
    paddle.seed(3)
    out = function(*leaves)
    out = out if isinstance(out, list) else [out]
    roots = [t for t in out if not t.stop_gradient and t.is_floating_point()]
    wanted = [t for t in leaves if not t.stop_gradient]
    grads = paddle.grad(roots, wanted, [t.detach() for t in roots], allow_unused=True) if roots and wanted else []
    return [t.detach().numpy() for t in [*out, *(g for g in grads if g is not None)]]


def _product_shapes():
    rng = np.random.default_rng(0)
    shapes = [tuple(int(d) for d in rng.choice(_DIMS, 3)) for _ in range(40)]
    # Square and large; tall, wide and deep ones; those of vectors.
    shapes += [(96, 96, 96), (256, 256, 256), (700, 600, 500), (4096, 48, 64), (64, 4096, 64), (48, 64, 20000)]
    return shapes + [(1, 1, 100000), (1, 1024, 1024), (1024, 1, 1024), (8, 1000, 2000), (1, 3, 4096)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_products(dtype):
    paddle.seed(0)
    for m, n, k in _product_shapes():
        if dtype != "float32" and (m * n * k > 1 << 22 or k > 1 << 10):
            continue
        for turn_x, turn_y in ((False, False), (False, True), (True, False)):
            x = paddle.randn([k, m] if turn_x else [m, k]).astype(dtype)
            y = paddle.randn([n, k] if turn_y else [k, n]).astype(dtype)
            _same(
                lambda x=x, y=y, a=turn_x, b=turn_y: [paddle.matmul(x, y, a, b).astype("float64").numpy()],
                f"matmul of {x.shape} and {y.shape}, {turn_x}, {turn_y}, {dtype}",
            )


@pytest.mark.parametrize("shape", [(300, 64, 200), (1, 512, 512), (64, 1000, 48), (3000, 24, 40)])
def test_linear_with_gradients(shape):
    m, n, k = shape
    paddle.seed(0)
    tensors = [paddle.randn(s) for s in ([m, k], [k, n], [n])]
    _same(lambda: _gradients(paddle.nn.functional.linear, tensors), f"linear of {shape}")


@pytest.mark.parametrize("channels", [(64, 128), (256, 512), (100, 320), (512, 200), (33, 2048)])
def test_deep_convolutions_with_gradients(channels):
    """Of weights that are larger than the images: they are divided by channels."""
    fewer, more = channels
    paddle.seed(0)
    for stride, side, batch in ((1, 7, 1), (2, 14, 1), (1, 4, 3)):
        tensors = [paddle.randn(s) for s in ([batch, fewer, side, side], [more, fewer, 3, 3], [more])]
        _same(
            lambda tensors=tensors, stride=stride: _gradients(
                lambda x, w, b: paddle.nn.functional.conv2d(x, w, b, stride, 1), tensors
            ),
            f"conv2d of {channels}, stride {stride}",
        )


@pytest.mark.parametrize(
    "sizes", [(300, 8192, 256), (16, 7935, 124), (128, 1500, 1000), (1024, 900, 768), (1, 4096, 64)]
)
def test_long_sums_of_bfloat16(sizes):
    m, k, n = sizes
    paddle.seed(0)
    for turn_x, turn_y in ((False, False), (False, True), (True, False)):
        x = paddle.randn([k, m] if turn_x else [m, k]).astype("bfloat16")
        y = paddle.randn([n, k] if turn_y else [k, n]).astype("bfloat16")
        _same(
            lambda x=x, y=y, a=turn_x, b=turn_y: [paddle.matmul(x, y, a, b).astype("float32").numpy()],
            f"matmul of {x.shape} and {y.shape}, {turn_x}, {turn_y}",
        )
    bias = paddle.randn([n]).astype("bfloat16")
    low = [t.astype("bfloat16") for t in (paddle.randn([3, m, k]), paddle.randn([k, n]))]
    _same(lambda: [paddle.nn.functional.linear(*low, bias).astype("float32").numpy()], f"linear of {sizes}")


@pytest.mark.parametrize("channels", [(64, 256), (512, 2048), (768, 100), (769, 100), (2048, 512), (300, 33)])
def test_pointwise_convolutions_of_bfloat16(channels):
    paddle.seed(0)
    for side, batch in ((7, 1), (14, 1), (28, 1), (1, 3)):
        x = paddle.randn([batch, channels[0], side, side]).astype("bfloat16")
        weight = paddle.randn([channels[1], channels[0], 1, 1]).astype("bfloat16")
        _same(
            lambda x=x, weight=weight: [paddle.nn.functional.conv2d(x, weight).astype("float32").numpy()],
            f"conv2d of {channels} on {side} x {side}",
        )


@pytest.mark.parametrize("batch", [[2], [40], [3, 1], [1000]])
def test_batches_of_products(batch):
    paddle.seed(0)
    small = 12 if batch == [1000] else 90
    x, y = paddle.randn([*batch, small, 70]), paddle.randn([*batch[:-1], 1, 70, small])
    strided = paddle.randn([*batch, 70, 2 * small])[..., ::2]
    for a, b in ((x, y), (x, strided), (strided.transpose([*range(len(batch)), -1, -2]), y)):
        _same(lambda a=a, b=b: _gradients(paddle.matmul, [a, b]), f"matmul of {a.shape} and {b.shape}")


def test_strided_products():
    paddle.seed(0)
    whole = paddle.randn([600, 700])
    views = [
        whole[:, ::2],
        whole[::3, :350],
        whole[:, 3:353],
        whole.t()[:350, :600].t(),
        whole[:1].expand([600, 700])[:, :350],
    ]
    for i, x in enumerate(views):
        _same(lambda x=x: [paddle.matmul(x, x, False, True).numpy(), paddle.matmul(x, x, True).numpy()], f"view {i}")


def _grown(name, text):
    """A call of larger tensors that fits; None if there is none."""
    if not text.strip():
        return None
    (sample,) = samples.parse(text, ("float32",))
    if not sample.specs():
        return None
    largest = None
    for elements in (1 << 10, 1 << 12, 1 << 14, 1 << 16):
        case = Case(name, text, function_at(name))
        case._sample = sample.grown(elements)
        tensors, function = case.bind(*case.arguments())
        started = time.monotonic()
        paddle._C.memory_set_cap(1 << 25)
        try:
            if sum(t.size for t in function(*tensors)) > 1 << 20:  # views may be of any size
                break
            _gradients(function, tensors)
        except _REFUSED:
            break
        finally:
            paddle._C.memory_set_cap(1 << 62)
        largest = tensors, function
        if time.monotonic() - started > 0.02:
            break  # what takes long is not made larger
    return largest


@pytest.mark.parametrize("name", [n for n, texts in FUNCTIONS.items() if texts])
def test_public_function(name):
    for text in FUNCTIONS[name]:
        if grown := _grown(name, text):
            tensors, function = grown
            _same(lambda t=tensors, f=function: _gradients(f, t), f"{name}({text}), larger")
