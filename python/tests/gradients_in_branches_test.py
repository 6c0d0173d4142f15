"""Gradients that are taken away inside of branches and loops: a program takes away the same ones."""

import numpy as np
import pytest

import proa
from proa import jit, static


@proa.no_grad()
def _thrice(x):
    return 3 * x


def _decorated_function(x):
    return static.nn.cond(x.sum() > 0, lambda: _thrice(x) + 2 * x, lambda: x)


def _context_around_a_read(x):
    def branch():
        with proa.no_grad():
            taken = x * x
        return taken * x

    return static.nn.cond(x.sum() > 0, branch, lambda: x)


def _detached_part(x):
    return static.nn.cond(x.sum() > 0, lambda: (x * x).detach() * x, lambda: x)


def _nested(x):
    def inner():
        return static.nn.cond(x.max() > 0, lambda: _thrice(x) + x, lambda: x)

    return static.nn.cond(x.sum() > 0, lambda: inner() * x, lambda: x)


def _loop(x):
    def body(i, y):
        return i + 1, y * x + _thrice(y)

    return static.nn.while_loop(lambda i, y: i < 3, body, [proa.zeros([], "int64"), x])[1]


def _loop_changed_in_place(x):
    def body(i, y):
        y += _thrice(x) * x
        return i + 1, y

    return static.nn.while_loop(lambda i, y: i < 3, body, [proa.zeros([], "int64"), x * 1])[1]


def _branch_in_loop(x):
    def body(i, y):
        return i + 1, static.nn.cond(y.sum() > 4, lambda: _thrice(y) + y, lambda: y * x)

    return static.nn.while_loop(lambda i, y: i < 3, body, [proa.zeros([], "int64"), x])[1]


def _grad_again_in_no_grad(x):
    def outer():
        with proa.no_grad():
            taken = x * 5
            with proa.enable_grad():
                kept = x * x
        return kept + taken

    return static.nn.cond(x.sum() > 0, outer, lambda: x)


_FUNCTIONS = [f for name, f in sorted(globals().items()) if name.startswith("_") and callable(f)]
_FUNCTIONS = [f for f in _FUNCTIONS if f is not _thrice and getattr(f, "__module__", "") == __name__]


def _run(function):
    x = proa.to_tensor([1.0, 2.0, 0.5], stop_gradient=False)
    y = function(x)
    y.sum().backward()
    return y.numpy(), x.grad.numpy()


@pytest.mark.parametrize("function", _FUNCTIONS, ids=lambda f: f.__name__[1:])
def test_recorded_as_eager(function):
    want, want_grad = _run(function)
    got, got_grad = _run(jit.to_static(function))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    np.testing.assert_allclose(got_grad, want_grad, rtol=1e-6)


@pytest.mark.parametrize("function", _FUNCTIONS, ids=lambda f: f.__name__[1:])
def test_static_program(function):
    want, want_grad = _run(function)
    program = static.Program()
    proa.enable_static()
    try:
        with static.program_guard(program):
            x = static.data("x", [3])
            x.stop_gradient = False
            y = function(x)
            grad = static.gradients([y.sum()], [x])[0]
        got = static.Executor().run(program, {"x": np.float32([1.0, 2.0, 0.5])}, [y, grad])
    finally:
        proa.disable_static()
    np.testing.assert_allclose(got[0], want, rtol=1e-6)
    np.testing.assert_allclose(got[1], want_grad, rtol=1e-6)


def test_a_branch_knows_what_has_a_gradient():
    seen = []

    def function(x):
        def branch():
            seen.append([x.stop_gradient, (x * 2).stop_gradient, _thrice(x).stop_gradient])
            return x * 2

        return static.nn.cond(x.sum() > 0, branch, lambda: x)

    x = proa.ones([2])
    x.stop_gradient = False
    jit.to_static(function)(x)
    assert seen[0] == [False, False, True]


@pytest.mark.parametrize("follows", [False, True])
def test_an_input_that_a_branch_first_reads_detached(follows):
    """What is read may have a gradient in the branch before, after, or never."""
    proa.enable_static()
    try:
        with static.program_guard(static.Program()):
            x = static.data("x", [2])
            x.stop_gradient = False
            source = x * 1 if follows else x
            y = static.nn.cond(x.sum() > 0, lambda: source.detach() * source, lambda: source.detach() * 2 + source)
            (grad,) = static.gradients([y.sum()], [x])
            run = static.Executor().run
            high, low = (run(feed={"x": np.float32(v)}, fetch_list=[grad])[0] for v in ([1, 2], [-1, -2]))
    finally:
        proa.disable_static()
    assert high.tolist() == [1, 2]
    assert low.tolist() == [1, 1]


def test_a_case_of_what_a_loop_and_a_layer_made():
    """Reads that are cut off for the gradients of a branch in a branch are reads of the outer one as well."""
    proa.enable_static()
    try:
        with static.program_guard(static.Program()):
            x, z = static.data("x", [None, 4]), static.data("z", [None, 3])
            y = proa.nn.Linear(4, 4, weight_attr=proa.nn.initializer.Constant(0.5))(x)
            step = lambda i, v: (i + 1, proa.tanh(v))
            _, v = static.nn.while_loop(lambda i, v: i < 2, step, [proa.full([1], 0, "int64"), z])
            mean = v.mean()
            scaled = lambda factor: (y * factor).sum() + v.sum()
            ways = [(mean < -0.2, lambda: scaled(2.0)), (mean < 0.2, lambda: scaled(3.0))]
            (_, grad), *_ = static.append_backward(static.nn.case(ways, default=lambda: scaled(4.0)))
            feeds = [{"x": np.ones([2, 4], "float32"), "z": np.full([2, 3], level, "float32")} for level in (-9, 0, 9)]
            found = [static.Executor().run(feed=feed, fetch_list=[grad])[0] for feed in feeds]
    finally:
        proa.disable_static()
    for got, factor in zip(found, (2.0, 3.0, 4.0), strict=True):
        np.testing.assert_array_equal(got, np.full([4, 4], 2 * factor, "float32"))
