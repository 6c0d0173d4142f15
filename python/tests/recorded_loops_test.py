"""Gradients of recorded loops and branches, nested, random and with tensors from outside: those of eager mode."""

import numpy as np
import pytest

import proa as paddle
from proa.static.nn import cond, while_loop

_RNG = np.random.default_rng(0)


def _eager(build, arrays):
    paddle.disable_static()
    xs = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    loss = build(*xs).sum()
    loss.backward()
    return [loss.numpy(), *(np.zeros_like(a) if x.grad is None else x.grad.numpy() for x, a in zip(xs, arrays))]


def _recorded(build, arrays, weights=()):
    """Inputs are fed with unknown sizes; `weights` are the numbers of those that are parameters instead."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        xs = []
        for i, a in enumerate(arrays):
            if i in weights:
                with paddle._C.eager_mode():
                    x = paddle.to_tensor(a, stop_gradient=False)
            else:
                x = paddle.static.data(f"x{i}", [None] * a.ndim, a.dtype.name)
                x.stop_gradient = False
            xs.append(x)
        loss = build(*xs).sum()
        grads = paddle.static.gradients([loss], xs)
    feed = {f"x{i}": a for i, a in enumerate(arrays) if i not in weights}
    fetched = [g for g in grads if g is not None]
    out = paddle.static.Executor().run(main, feed=feed, fetch_list=[loss, *fetched])
    found = iter(out[1:])
    return main, [out[0], *(np.zeros_like(a) if g is None else next(found) for g, a in zip(grads, arrays))]


def _power(x, w):
    _, y = while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * w + x], [paddle.zeros([], "int64"), x])
    return y


def _until_large(x, w):
    return while_loop(lambda y: y.sum() < 40.0, lambda y: [y * (1.0 + w * w)], [x])[0]


def _nested_loops(x, w):
    def outer(i, y):
        _, y = while_loop(
            lambda j, y: j < i + 1, lambda j, y: [j + 1, (y * w).tanh() + x], [paddle.zeros([], "int64"), y]
        )
        return [i + 1, y]

    return while_loop(lambda i, y: i < 3, outer, [paddle.zeros([], "int64"), x])[1]


def _branch_in_a_loop(x, w):
    def body(i, y):
        return [i + 1, cond(i % 2 == 0, lambda: y * w, lambda: y + w.sum() * x)]

    return while_loop(lambda i, y: i < 4, body, [paddle.zeros([], "int64"), x])[1]


def _loop_in_a_branch(x, w):
    return cond(x.sum() > 0, lambda: _power(x, w), lambda: x - w)


def _growing(x, w):
    return while_loop(lambda y: paddle.shape(y)[0] < 9, lambda y: [paddle.concat([y * w.sum(), x])], [x])[0]


def _never(x, w):
    return while_loop(lambda y: y.sum() < -1e9, lambda y: [y * w], [x])[0]


def _of_the_body_alone(x, w):
    return while_loop(lambda i, y: i < 2, lambda i, y: [i + 1, x * w], [paddle.zeros([], "int64"), x.detach() * 0])[1]


def _integers_on_the_way(x, w):
    def body(i, n, y):
        return [i + 1, n + i, y * w + n.astype("float64")]

    zero = paddle.zeros([], "int64")
    return while_loop(lambda i, n, y: i < 3, body, [zero, zero, x])[2]


_CASES = [v for k, v in sorted(globals().items()) if k.startswith("_") and getattr(v, "__code__", None)
          and v.__code__.co_varnames[:2] == ("x", "w")]  # fmt: skip


@pytest.mark.parametrize("weights", [(), (1,), (0, 1)])
@pytest.mark.parametrize("build", _CASES, ids=lambda f: f.__name__)
def test_gradients_are_those_of_eager_mode(build, weights):
    arrays = [_RNG.uniform(0.5, 1.5, [3]), _RNG.uniform(0.5, 1.5, [3])]
    want = _eager(build, arrays)
    main, found = _recorded(build, arrays, weights)
    assert "while(" in str(main) or "cond(" in str(main)
    for a, b in zip(want, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)


@pytest.mark.parametrize("build", _CASES, ids=lambda f: f.__name__)
def test_gradients_flow_through_converted_functions(build):
    arrays = [_RNG.uniform(0.5, 1.5, [3]), _RNG.uniform(0.5, 1.5, [3])]
    for a, b in zip(_eager(build, arrays), _eager(paddle.jit.to_static(build), arrays), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)


def test_cases_are_found():
    assert len(_CASES) == 9


def _random_loop(x, w):
    def body(i, y):
        return [i + 1, paddle.nn.functional.dropout(y * w, 0.5)]

    return while_loop(lambda i, y: i < 2, body, [paddle.zeros([], "int64"), x])[1]


def _random_branch(x, w):
    return cond(x.sum() > 0, lambda: paddle.nn.functional.dropout(x * w, 0.5), lambda: x * w)


def _random_branch_in_a_loop(x, w):
    def body(i, y):
        return [i + 1, cond(i > 0, lambda: paddle.nn.functional.dropout(y * w, 0.5), lambda: y * w)]

    return while_loop(lambda i, y: i < 3, body, [paddle.zeros([], "int64"), x])[1]


@pytest.mark.parametrize("build", [_random_loop, _random_branch, _random_branch_in_a_loop])
def test_backward_sees_the_draws_of_forward(build):
    arrays = [np.ones([64]), np.full([64], 2.0)]
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x, w = (paddle.static.data(n, [64], "float64") for n in "xw")
        x.stop_gradient = False
        y = build(x, w)
        (grad,) = paddle.static.gradients([y], [x])
        after = paddle.rand([4])
    exe = paddle.static.Executor()
    run = lambda fetches: exe.run(main, feed=dict(zip("xw", arrays)), fetch_list=fetches)
    paddle.seed(3)
    out, found, with_backward = run([y, grad, after])
    assert 0 < (out == 0).sum() < 64
    np.testing.assert_allclose(found, out)  # x is 1 and y linear in it
    again, found, _ = run([y, grad, after])
    assert (again != out).any()
    np.testing.assert_allclose(found, again)
    # Backward takes no random numbers from what comes after it.
    paddle.seed(3)
    np.testing.assert_array_equal(run([y, after])[1], with_backward)


def test_backward_changes_no_statistics_again():
    mean, var, weight, bias = paddle.zeros([2]), paddle.ones([2]), paddle.ones([2]), paddle.zeros([2])
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [4, 2])
        x.stop_gradient = False
        norm = lambda y: paddle.nn.functional.batch_norm(y, mean, var, weight, bias, training=True, momentum=0.5)
        y = while_loop(lambda i, y: i < 2, lambda i, y: [i + 1, norm(y) + 3.0], [paddle.zeros([], "int64"), x])[1]
        (grad,) = paddle.static.gradients([y], [x])
    a = _RNG.standard_normal([4, 2]).astype("float32") + 8
    paddle.static.Executor().run(main, feed={"x": a}, fetch_list=[y, grad])
    want = 0.5 * (0.5 * a.mean(0)) + 0.5 * 3.0
    np.testing.assert_allclose(mean.numpy(), want, rtol=1e-5)


def test_a_handle_that_is_rebound_later_is_read_as_it_was():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2], "float64")
        x.stop_gradient = False
        h = x * 1.0
        y = cond(h.sum() > 0, lambda: h * h, lambda: h)
        h.add_(paddle.to_tensor([5.0, 5.0], dtype="float64"))
        (grad,) = paddle.static.gradients([y], [x])
    found = paddle.static.Executor().run(main, feed={"x": np.array([1.0, 2.0])}, fetch_list=[grad])[0]
    assert found.tolist() == [2.0, 4.0]


def test_gradients_make_no_parameters():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2])
        with paddle._C.eager_mode():
            w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        loss = _power(x, w).sum()
        before = len(main.all_parameters())
        paddle.static.append_backward(loss)
        assert len(main.all_parameters()) == before == 1


def test_second_derivatives_of_loops_are_refused():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2])
        x.stop_gradient = False
        (grad,) = paddle.static.gradients([_power(x, x)], [x])
        with pytest.raises(NotImplementedError, match="second derivative"):
            paddle.static.gradients([grad], [x])


def test_branches_have_all_derivatives():
    for leaf in (True, False):
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", [2])
            x.stop_gradient = False
            h = x if leaf else x * 2.0
            y = cond(h.sum() > 0, lambda h=h: h**3, lambda h=h: h)
            (first,) = paddle.static.gradients([y], [x])
            (second,) = paddle.static.gradients([first], [x])
        k = 1.0 if leaf else 2.0
        run = lambda a, main=main, f=(first, second): paddle.static.Executor().run(main, feed={"x": a}, fetch_list=f)
        a = np.array([2.0, 3.0], "float32")
        np.testing.assert_allclose(run(a), [3 * k**3 * a**2, 6 * k**3 * a], rtol=1e-6)
        np.testing.assert_allclose(run(-a), [[k, k], [0.0, 0.0]], rtol=1e-6)


def test_a_training_loop_is_saved_and_trains():
    paddle.seed(0)
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [None, 3])
        with paddle._C.eager_mode():
            layer = paddle.nn.Linear(3, 3)
        h = while_loop(lambda i, h: i < 3, lambda i, h: [i + 1, layer(h).tanh() + x], [paddle.zeros([], "int64"), x])[1]
        loss = (h * h).mean()
        paddle.optimizer.SGD(0.05, parameters=layer.parameters()).minimize(loss)
    a = _RNG.standard_normal([8, 3]).astype("float32")
    losses = [float(paddle.static.Executor().run(main, feed={"x": a}, fetch_list=[loss])[0]) for _ in range(20)]
    assert losses[-1] < 0.8 * losses[0]
