"""Functions of converted_functions.py: converted they give what they give as written, values and gradients."""

import pathlib
import re

import numpy as np
import pytest

import proa as paddle
from proa.framework.nested import flatten
from python.tests import converted_functions as corpus
from python.tests import converted_registry as registry

SUPPORTED, REFUSED = registry.whole()
_SIZES = ([3, 4], [5, 4])
# Their sums are positive, negative, and positive.
_SEEDS = ((0, 1), (1, 1), (1, -1))


def _data(shape, seed=0, sign=1):
    values = sign * np.random.RandomState(seed).randn(*shape).astype("float32")
    return paddle.to_tensor(values, stop_gradient=False)


def _results(function, x):
    """(values, gradient of x) of a function; the tensors of its result in order."""
    out = flatten(function(x))
    weighted = [(t * paddle.cos(paddle.arange(t.size, dtype="float32")).reshape(t.shape)).sum()
                for t in out if t.is_floating_point() and not t.stop_gradient]  # fmt: skip
    x.clear_gradient()
    if weighted:
        sum(weighted).backward()
    return [t.numpy() for t in out], None if x.grad is None else x.grad.numpy()


def _compare(function, converted, x):
    want, slope = _results(function, x)
    got, converted_slope = _results(converted, x)
    assert len(got) == len(want) > 0
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert (converted_slope is None) == (slope is None)
    if slope is not None:
        np.testing.assert_allclose(converted_slope, slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", SUPPORTED, ids=registry.name_of)
def test_converted_is_eager(function):
    converted = paddle.jit.to_static(function)
    for shape in (*_SIZES, _SIZES[0]):
        for seed, sign in _SEEDS:
            _compare(function, converted, _data(shape, seed, sign))


_OPEN = [f for f in SUPPORTED if f.__module__.rpartition(".")[2] not in ("converted_functions",)]


@pytest.mark.parametrize("function", _OPEN, ids=registry.name_of)
def test_converted_with_open_sizes_is_eager(function):
    """With a declared open size: loops over it are loops of the program."""
    converted = paddle.jit.to_static(function, input_spec=[paddle.static.InputSpec([None, 4])])
    for shape in _SIZES:
        for seed, sign in _SEEDS:
            _compare(function, converted, _data(shape, seed, sign))
    assert len(converted._recordings) == 1


@pytest.mark.parametrize("function", SUPPORTED, ids=registry.name_of)
def test_saved_and_loaded(function, tmp_path):
    prefix = str(tmp_path / "function")
    paddle.jit.save(paddle.jit.to_static(function), prefix, [paddle.static.InputSpec(_SIZES[0], "float32")])
    loaded = paddle.jit.load(prefix)
    if registry.name_of(function) == "list_returned":  # a program gives tensors: the list is one
        unloaded = loaded
        loaded = lambda x: list(unloaded(x))
    for seed, sign in _SEEDS:
        x = _data(_SIZES[0], seed, sign)
        got, want = flatten(loaded(x)), flatten(function(x))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("function", "says"), REFUSED, ids=lambda v: getattr(v, "__name__", ""))
def test_what_cannot_be_recorded_is_an_error_with_the_line(function, says):
    function(_data(_SIZES[0]))  # eager, it runs
    with pytest.raises(Exception) as error:
        paddle.jit.to_static(function)(_data(_SIZES[0]))
    text = "\n".join([str(error.value), *getattr(error.value, "__notes__", [])])
    assert re.search(says, text)
    assert f"{pathlib.Path(function.__code__.co_filename).name}:" in text


@pytest.mark.parametrize("sizes", ([3], [None]), ids=str)
@pytest.mark.parametrize("function", registry.UNBOUND, ids=registry.name_of)
def test_a_name_without_a_value_is_an_error_of_the_run(function, sizes):
    """Where the run gives a name no value, reading it raises as it does without conversion; elsewhere values are the same."""
    converted = paddle.jit.to_static(function, input_spec=[paddle.static.InputSpec(sizes)])
    raised = []
    for values in ([0.5, 2, 3], [-4, -2, -3], [1, 0.5, 0.25], [-1, 9, 8], [0, 0, 0], [2, 1, 1], [1, 0, 3]):
        x = paddle.to_tensor(values, dtype="float32")
        try:
            want = function(x).numpy()
        except UnboundLocalError:
            with pytest.raises(NameError, match="value"):
                converted(x)
            raised.append(True)
        else:
            np.testing.assert_array_equal(converted(x).numpy(), want)
            raised.append(False)
    assert True in raised and False in raised


def test_a_text_of_a_size_holds_for_that_size():
    """Converted at two sizes: `str(x.shape[0])` of an open size would have been that of -1."""
    converted = paddle.jit.to_static(lambda x: x * len(f"{x.shape[0]} {x.shape}"))
    for size in (3, 4, 11, 100):
        x = paddle.ones([size, 2])
        assert converted(x)[0, 0].item() == len(f"{size} {[size, 2]}")


def test_structures_are_kept():
    converted = paddle.jit.to_static(corpus.early_returns)
    x = _data(_SIZES[0])
    assert converted(x, "none") is None
    pair = converted(x)
    assert type(pair) is tuple and list(pair[1]) == ["twice"]
    assert converted(x, kind="one").shape == x.shape
    assert sorted(paddle.jit.to_static(corpus.comprehension_of_dict)(x)) == ["a", "b"]


def test_the_page_is_what_is_tested():
    page = pathlib.Path(__file__).parents[2] / "docs" / "to_static.md"
    assert page.read_text() == registry.page(), "run python python/tests/converted_registry.py"
