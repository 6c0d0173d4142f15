"""Branches and loops of static.nn: what `no_grad` and `detach` in them keep away from gradients, and control flow in them."""

import numpy as np
import pytest

import proa as paddle
from proa import static


@paddle.no_grad()
def _constant(x):
    return x * x


@paddle.no_grad()
def _in_a_list(x):
    if x.sum() > 0:
        return [x * x]
    return [x]


def _inside(x):
    with paddle.no_grad():
        y = x * x
    return y * x


def _returned(x):
    with paddle.no_grad():
        return x * x


def _branch(function):
    return lambda x: static.nn.cond(x.sum() > 0, lambda: function(x), lambda: x)


def _loop(function):
    first = lambda: paddle.full([], 0, "int64")
    return lambda x: static.nn.while_loop(lambda n, y: n < 2, lambda n, y: (n + 1, function(y) * x), [first(), x])[1]


BODIES = {
    "decorated": _branch(lambda x: _constant(x) * x),
    "decorated, in a list": _branch(lambda x: _in_a_list(x)[0] * x),
    "detached": _branch(lambda x: (x * x).detach() * x),
    "with": _branch(_inside),
    "returned from a with": _branch(lambda x: _returned(x) * x),
    "a loop": _loop(_constant),
    "a loop with detach": _loop(lambda y: (y * 2).detach() + y),
    "case": lambda x: static.nn.case([(x.sum() > 0, lambda: _constant(x) * x)], lambda: x),
    "switch_case": lambda x: static.nn.switch_case(
        paddle.full([1], 1, "int64"), {1: lambda: _constant(x) * x, 2: lambda: x}
    ),
}


def _in_a_program(body, value):
    paddle.enable_static()
    try:
        main = static.Program()
        with static.program_guard(main):
            x = static.data("x", [2])
            x.stop_gradient = False
            y = body(x)
            (g,) = static.gradients([y.sum()], [x])
            return static.Executor().run(main, feed={"x": value}, fetch_list=[y, g])
    finally:
        paddle.disable_static()


@pytest.mark.parametrize("name", BODIES)
def test_gradients_end_where_they_end_in_eager_mode(name):
    value = np.float32([1.0, 2.0])
    x = paddle.to_tensor(value, stop_gradient=False)
    y = BODIES[name](x)
    y.sum().backward()
    got, slope = _in_a_program(BODIES[name], value)
    np.testing.assert_allclose(got, y.numpy())
    np.testing.assert_allclose(slope, x.grad.numpy())


@pytest.mark.parametrize("function", [_constant, _in_a_list, _returned])
def test_functions_of_modules_end_gradients_in_converted_branches(function):
    def whole(x):
        y = x
        if x.sum() > 0:
            held = function(x)
            y = (held[0] if isinstance(held, list) else held) * x
        return y

    found = []
    for f in (whole, paddle.jit.to_static(whole)):
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        y = f(x)
        y.sum().backward()
        found.append((y.numpy(), x.grad.numpy()))
    np.testing.assert_allclose(found[1], found[0])


def test_control_flow_in_a_branch_is_converted():
    def chosen(x):
        if x.max() > 1:
            return x * 10
        return x

    def negated(x):
        total = x
        while total.sum() > -100:
            total = total * 2
        return total

    for value in ([1.0, 2.0], [0.5, 0.5], [-1.0, -3.0]):
        value = np.float32(value)
        body = lambda x: static.nn.cond(x.sum() > 0, lambda: chosen(x), lambda: negated(x))
        want = body(paddle.to_tensor(value)).numpy()
        np.testing.assert_allclose(_in_a_program(body, value)[0], want)


def _numbers_and_tensors(pred):
    x = paddle.ones([2])
    return static.nn.cond(pred, lambda: (True, 3, x * 2, 4), lambda: (True, 3, x, 5))


def test_equal_numbers_of_the_ways_of_a_condition_stay_numbers():
    flag, count, y, other = _numbers_and_tensors(paddle.to_tensor(True))
    assert flag is True and count == 3 and type(count) is int and other == 4 and y.tolist() == [2, 2]
    paddle.enable_static()
    try:
        main = static.Program()
        with static.program_guard(main):
            flag, count, y, other = _numbers_and_tensors(static.data("pred", [], "bool"))
            assert flag is True and count == 3 and type(count) is int
            found = static.Executor().run(main, feed={"pred": np.array(False)}, fetch_list=[y, other])
    finally:
        paddle.disable_static()
    np.testing.assert_array_equal(found[0], [1, 1])
    assert found[1] == 5
