"""Casts that are not made: of what several ops read, of operands beside float32, of gradients on their way into a sum."""

import numpy as np
import pytest

import proa as paddle
from proa import _C


def test_a_result_that_several_ops_read_in_turn_is_cast_once():
    """Query, key and value of one input: one cast forward, and their gradients go into one float32 sum as they are."""
    x = paddle.to_tensor(np.random.RandomState(0).randn(8, 16).astype("float32"), stop_gradient=False)
    weights = [paddle.to_tensor(np.full([16, 16], k + 1.0, "float32"), stop_gradient=False) for k in range(3)]

    def run(cast):
        x.clear_grad()
        with paddle.amp.debugging.collect_operator_stats(show=False) as stats:
            h = paddle.tanh(x)
            with paddle.amp.auto_cast(cast, dtype="bfloat16"):
                y = [paddle.matmul(h, w) for w in weights]
            (h.sum() + sum(t.astype("float32").sum() for t in y)).backward()
        return x.grad.numpy(), stats

    exact, _ = run(False)
    found, stats = run(True)
    # Of h once, of each weight once, forward; the rest are those that the loss asks for, and of gradients of weights.
    assert stats.calls["cast"]["float32"] == 1 + len(weights) + len(weights)  # the last: gradients of y
    np.testing.assert_allclose(found, exact, rtol=0.02)
    # 16 * (1 + 2 + 3) + 1 is no bfloat16: it was added in float32.
    np.testing.assert_array_equal(exact, found)


def test_results_that_change_between_are_cast_anew():
    x = paddle.to_tensor(np.ones([4, 4], "float32"), stop_gradient=False)
    eye = paddle.to_tensor(np.eye(4, dtype="float32"))
    with paddle.amp.auto_cast(dtype="bfloat16"):
        h = x * 1.0
        first = paddle.matmul(h, eye)
        h.add_(paddle.to_tensor(2.0))
        second = paddle.matmul(h, eye)
        other = paddle.matmul(h.reshape([2, 8]), paddle.to_tensor(np.eye(8, dtype="float32")))
    assert (first.numpy().astype("float32") == 1.0).all() and (second.numpy().astype("float32") == 3.0).all()
    assert other.shape == [2, 8] and (other.numpy().astype("float32") == 3.0).all()


# Elementwise ops of two floating operands, which autocast leaves as they are; not those that write into the first one.
TWO_OPERANDS = {
    op["name"]: "differentiable" in op["traits"]
    for op in _C.op_registry()
    if op["amp"] == "promote"
    and op["fuse"] == "pointwise"
    and [p["type"] for p in op["params"]] == ["Tensor"] * 2
    and not op["name"].endswith("_")
}


def test_what_has_two_operands_is_found():
    assert {"add", "divide", "less_than"} < set(TWO_OPERANDS) and not TWO_OPERANDS["less_than"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", TWO_OPERANDS)
def test_mixed_operands_are_read_as_they_are(name, dtype):
    """float32 beside 16 bits: bit for bit what casting first gives, forward and backward, large and small, strided or not."""
    random, op = np.random.RandomState(1), getattr(_C.ops, name)
    for shape, other in (([80, 70], [80, 70]), ([90, 100], [100]), ([3], [3]), ([0, 3], [3]), ([], [5000])):
        for swap in (False, True):
            a, b = (np.asarray(random.rand(*dims) + 0.5, "float32") for dims in (shape, other))

            def run(cast_first):
                x = paddle.to_tensor(a, stop_gradient=False)
                low = paddle.to_tensor(b).astype(dtype)
                low.stop_gradient = False
                y = low.astype("float32") if cast_first else low
                with paddle.amp.auto_cast(dtype=dtype):
                    out = op(y, x) if swap else op(x, y)
                if not TWO_OPERANDS[name]:
                    return [out.numpy()]
                out.sum().backward()
                assert out.dtype == paddle.float32
                leaves = [t for t in (x, low) if t.grad is not None]  # some ops have a gradient for one operand alone
                assert leaves and all(t.grad.dtype == t.dtype for t in leaves)
                return [out.numpy(), *(t.grad.astype("float32").numpy() for t in leaves)]

            for found, exact in zip(run(False), run(True), strict=True):
                np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("how", ["hook", "retain", "create_graph", "grad"])
def test_who_looks_at_gradients_of_casts_sees_them(how):
    """Sums are made of gradients on the way only where nobody sees the parts."""
    data = np.random.RandomState(2).randn(8, 8).astype("float32")
    w = paddle.to_tensor(data, stop_gradient=False)
    x = paddle.to_tensor(data.T.copy(), stop_gradient=False)
    seen = []
    h = paddle.tanh(x)
    if how == "hook":
        h.register_hook(lambda g: seen.append(g.numpy()))
    if how == "retain":
        h.retain_grads()
    with paddle.amp.auto_cast(dtype="bfloat16"):
        loss = (paddle.matmul(h, w) + h).astype("float32").sum() + paddle.matmul(h, w).astype("float32").sum()
    # What the products send to their casts is not rounded: nobody looks there.
    part = np.ones([8, 8], "float32") @ w.astype("bfloat16").astype("float32").numpy().T
    exact = 2 * part + 1.0
    if how == "grad":
        (found,) = paddle.grad(loss, [h])
        np.testing.assert_allclose(found.numpy(), exact, rtol=1e-6)
        return
    if how == "create_graph":
        (found,) = paddle.grad(loss, [x], create_graph=True)
        assert not found.stop_gradient
        found = found.numpy()
    else:
        loss.backward()
        found = x.grad.numpy()
    np.testing.assert_allclose(found, exact * (1 - np.tanh(data.T) ** 2), rtol=1e-5)
    if how == "hook":
        np.testing.assert_allclose(seen[0], exact, rtol=1e-6)
    if how == "retain":
        np.testing.assert_allclose(h.grad.numpy(), exact, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_gradients_of_a_16_bit_result_that_was_kept_in_float32_too(dtype):
    """At O2 `y` is read as it is by the difference, and as float32 by the mean."""
    x = paddle.to_tensor(np.arange(24, dtype="float32").reshape(2, 3, 4) / 8, stop_gradient=False)
    with paddle.amp.auto_cast(level="O2", dtype=dtype):
        y = x * 2.0
        out = y - y.mean(1, keepdim=True)
    (out.astype("float32") ** 2).sum().backward()
    wide = paddle.to_tensor(x.numpy(), stop_gradient=False)
    ((wide * 2.0 - (wide * 2.0).mean(1, keepdim=True)) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), wide.grad.numpy(), atol=0.05)
