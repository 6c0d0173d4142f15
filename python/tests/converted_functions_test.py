"""Functions of converted_functions.py: converted they give what they give as written, values and gradients."""

import pathlib

import numpy as np
import pytest

import proa as paddle
from proa.framework.nested import flatten
from python.tests import converted_functions as corpus

_SIZES = ([3, 4], [5, 4])


def _data(shape, seed=0):
    return paddle.to_tensor(np.random.RandomState(seed).randn(*shape).astype("float32"), stop_gradient=False)


def _results(function, x):
    """(values, gradient of x) of a function; the tensors of its result in order."""
    out = flatten(function(x))
    weighted = [(t * paddle.cos(paddle.arange(t.size, dtype="float32")).reshape(t.shape)).sum()
                for t in out if t.is_floating_point() and not t.stop_gradient]  # fmt: skip
    x.clear_gradient()
    if weighted:
        sum(weighted).backward()
    return [t.numpy() for t in out], None if x.grad is None else x.grad.numpy()


def _name(function):
    return getattr(function, "__name__", str(function))


@pytest.mark.parametrize("function", corpus.SUPPORTED, ids=_name)
def test_converted_is_eager(function):
    converted = paddle.jit.to_static(function)
    for shape in (*_SIZES, _SIZES[0]):
        for seed in (0, 1):
            x = _data(shape, seed)
            want, slope = _results(function, x)
            got, converted_slope = _results(converted, x)
            assert len(got) == len(want) > 0
            for a, b in zip(got, want, strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(converted_slope, slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", corpus.SUPPORTED, ids=_name)
def test_saved_and_loaded(function, tmp_path):
    prefix = str(tmp_path / "function")
    x = _data(_SIZES[0])
    paddle.jit.save(paddle.jit.to_static(function), prefix, [paddle.static.InputSpec(_SIZES[0], "float32")])
    got, want = flatten(paddle.jit.load(prefix)(x)), flatten(function(x))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("function", "says"), corpus.REFUSED, ids=_name)
def test_what_depends_on_values_is_an_error_with_the_line(function, says):
    function(_data(_SIZES[0]))  # eager, it runs
    with pytest.raises(Exception, match=says) as error:
        paddle.jit.to_static(function)(_data(_SIZES[0]))
    assert "converted_functions.py:" in "".join([str(error.value), *getattr(error.value, "__notes__", [])])


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (corpus.if_of_tensor, "if x.sum() > 0:|an `if` depends on a tensor; use paddle.where"),
        (corpus.while_of_tensor, "while x.sum() < 100:|a `while` depends on a tensor; use paddle.static.nn.while_loop"),
        (
            corpus.and_of_tensor,
            "in and_of_tensor: return x|`a if condition else b` depends on a tensor; use paddle.where",
        ),
        (
            corpus.range_of_tensor,
            "for _ in range(x.argmax()):|a `for` depends on a tensor; use paddle.static.nn.while_loop",
        ),
        (corpus.assert_of_tensor, "assert (x.abs() < 100).all()|check the result outside"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_to_write_instead_is_said(function, says):
    with pytest.raises(Exception) as error:
        paddle.jit.to_static(function)(_data(_SIZES[0]))
    notes = "\n".join(error.value.__notes__)
    for part in says.split("|"):
        assert part in notes


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
    assert page.read_text() == corpus.page(), "run python python/tests/converted_functions.py"
