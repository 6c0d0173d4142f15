"""Errors that only the run of a converted function knows: those that the function raises as it is written, and no others."""

import traceback

import numpy as np
import pytest

import proa as paddle


def in_a_branch(x):
    if x.isnan().any():
        raise ValueError("nan")
    return x * 2


def last_way(x):
    if x.sum() > 10:
        y = x
    elif x.sum() > 0:
        y = x * 2
    else:
        raise KeyError("negative")
    return y


def in_a_loop(x):
    n = paddle.to_tensor(0)
    while n != 5:
        if x.sum() > 100:
            raise RuntimeError("big")
        assert x.sum() > -100, "small"
        n = n + 1
        x = x + 1
    return x


def root(x):
    if x.min() < 0:
        raise ValueError("negative")
    return x.sqrt()


def called_in_a_branch(x):
    if x.max() > 1:
        return root(x) * 2
    return x


def returns_or_raises(x):
    if x.sum() > 0:
        return x
    raise ValueError("no")


def before_an_endless_loop(x):
    n = x.nansum().astype("int64")
    if n < 0:
        raise ValueError("n")
    while n != 0:
        n = n - 1
    return n


def first_of_several(x):
    for i in range(3):
        if x.sum() > 5:
            raise ValueError(i)
        x = x + 1
    assert x.sum() < 7, "seven"
    return x


def from_another(x):
    if x.sum() > 0:
        try:
            raise KeyError("a")
        except KeyError as error:
            raise ValueError("b") from error
    return x


def name_of_a_loop(x):
    n = paddle.to_tensor(0)
    while n < (x > 0).astype("int64").sum():
        y = x * n
        n = n + 1
    return y


FUNCTIONS = [in_a_branch, last_way, in_a_loop, called_in_a_branch, returns_or_raises, before_an_endless_loop, first_of_several,
             from_another, name_of_a_loop]  # fmt: skip
VALUES = [[1.0, 2.0], [-1.0, -2.0], [20.0, 90.0], [3.0, -1000.0], [float("nan"), 1.0], [-5.0, 3.0]]


def _outcome(function, value):
    try:
        return function(paddle.to_tensor(value)).numpy()
    except Exception as error:
        return error


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_run_raises_what_the_function_raises(function):
    converted = paddle.jit.to_static(function)
    failed = 0
    for value in VALUES * 2:
        want, got = _outcome(function, value), _outcome(converted, value)
        assert type(got) is type(want), (value, got)
        if isinstance(want, Exception):
            failed += 1
            if not isinstance(want, NameError):
                assert str(got).splitlines()[0] == str(want).splitlines()[0]  # pytest says more of assertions
        else:
            np.testing.assert_allclose(got, want)
    assert failed and len(converted._recordings) == 1


def test_a_traceback_shows_the_lines_of_the_user():
    try:
        paddle.jit.to_static(called_in_a_branch)(paddle.to_tensor([2.0, -1.0]))
    except ValueError as error:
        frames = traceback.extract_tb(error.__traceback__)
    assert frames[-1].line == 'raise ValueError("negative")'
    assert not any("dy2static" in frame.filename and "_run" in frame.name for frame in frames)


def test_an_endless_generator_that_depends_on_tensors_is_refused():
    def endless(x):
        while True:
            yield (x if x.sum() > 0 else -x)

    def first(x):
        return next(iter(endless(x)))

    with pytest.raises(RuntimeError, match="more than 1000 items"):
        paddle.jit.to_static(first)(paddle.to_tensor([1.0]))
