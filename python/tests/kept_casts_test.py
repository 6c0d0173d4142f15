"""Casts of parameters are kept from use to use under auto_cast, as long as they are right."""

import threading

import numpy as np
import pytest

import proa as paddle


def cast(**options):
    return paddle.amp.auto_cast(dtype="bfloat16", **options)


def tensor(*shape, seed=0):
    return paddle.to_tensor(np.random.RandomState(seed).randn(*shape).astype("float32"), stop_gradient=False)


KEPT = paddle._C.amp.num_kept_casts


def test_a_weight_is_cast_once_a_step():
    w, x = tensor(4, 4), paddle.ones([2, 4], "bfloat16")

    def step():
        with cast():
            y = x
            for _ in range(5):
                y = paddle.matmul(y, w)
            assert KEPT() == 1
        assert KEPT() == 0
        return y

    step().astype("float32").sum().backward()
    assert w.grad.dtype == paddle.float32
    expected = w.grad.numpy().copy()
    w.clear_grad()
    y = x
    for _ in range(5):
        y = paddle.matmul(y, w.astype("bfloat16"))
    y.astype("float32").sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), expected)


def test_a_weight_that_changes_is_cast_again():
    w, x = paddle.create_parameter([2, 2], "float32"), paddle.ones([1, 2])
    sgd = paddle.optimizer.SGD(1.0, parameters=[w])

    def check():
        want = paddle.matmul(x.astype("bfloat16"), w.detach().astype("bfloat16"))
        assert (paddle.matmul(x, w) == want).all()

    with cast():
        for value in (1.0, 2.0):
            w.set_value(paddle.full([2, 2], value))
            check()
            paddle.matmul(x, w).sum().backward()
            sgd.step()
            sgd.clear_grad()
            check()
        with paddle.no_grad():
            w.add_(paddle.ones([2, 2]))
            check()
            w[0] = 7.0
            check()
            w.detach().scale_(2.0)
            check()
            step = paddle.jit.to_static(lambda: w.add_(paddle.ones([2, 2])))
            step()
            check()
        assert KEPT() == 1


def test_kept_casts_with_no_grad_nested_contexts_and_threads():
    w, x = tensor(2, 2), paddle.ones([1, 2])
    with cast():
        with paddle.no_grad():
            assert paddle.matmul(x, w).stop_gradient
        loss = paddle.matmul(x, w).sum()
        assert not loss.stop_gradient
        with paddle.amp.auto_cast(dtype="float16"):
            assert paddle.matmul(x, w).dtype == paddle.float16
        with cast(enable=False):
            assert paddle.matmul(x, w).dtype == paddle.float32
        assert KEPT() == 2
        seen = []

        def other():
            with cast():
                paddle.matmul(x, w)
                seen.append(KEPT())
            seen.append(KEPT())

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert seen == [1, 0] and KEPT() == 2
        with pytest.raises(ZeroDivisionError), cast():
            raise ZeroDivisionError
        assert KEPT() == 2
    assert KEPT() == 0
    loss.backward()
    assert w.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_losses_that_share_a_kept_cast_are_differentiated_one_by_one():
    w, x = tensor(2, 2), paddle.ones([1, 2])
    with cast():
        losses = [paddle.matmul(x, w).sum() for _ in range(3)]
        for loss in losses:
            loss.backward()
    assert w.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_second_derivatives_through_kept_casts():
    w = tensor(3, 3)
    with cast():
        y = paddle.matmul(paddle.matmul(w, w), w).sum()
    (g,) = paddle.grad(y, w, create_graph=True)
    (found,) = paddle.grad(g.square().sum(), w)
    v = paddle.to_tensor(w.detach(), stop_gradient=False)
    low = lambda: v.astype("bfloat16")  # noqa: E731
    y = paddle.matmul(paddle.matmul(low(), low()), low()).astype("float32").sum()
    (g,) = paddle.grad(y, v, create_graph=True)
    (expected,) = paddle.grad(g.square().sum(), v)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=2**-5, atol=2**-4)


def test_hooks_of_a_parameter_run_once_and_views_are_not_kept():
    w, x, seen = tensor(2, 2), paddle.ones([1, 2]), []
    w.register_hook(lambda g: seen.append(g.dtype))
    with cast():
        (paddle.matmul(x, w) + paddle.matmul(x, w)).sum().backward()
        paddle.matmul(x, w.t())
        assert KEPT() == 1
    assert seen == [paddle.float32]


def test_a_recorded_function_keeps_nothing():
    w, x = tensor(2, 2), paddle.ones([1, 2])
    function = paddle.jit.to_static(lambda t: paddle.matmul(t, w).sum())
    with cast():
        first = function(x)
        assert KEPT() == 0
        with paddle.no_grad():
            w.set_value(paddle.full([2, 2], 3.0))
        second = function(x)
    assert second.item() == 12.0 and first.item() != 12.0
    second.backward()
    assert w.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_memory_of_kept_casts_goes_back():
    w, x = tensor(256, 256), paddle.ones([1, 256])
    with paddle.no_grad():
        for _ in range(3):
            with cast():
                paddle.matmul(x, w)
            assert KEPT() == 0
    with cast(), paddle.no_grad():
        for _ in range(500):
            paddle.matmul(x, tensor(256, 1))
        assert KEPT() <= 66
