"""Tensors of strings against Python's own strings and NumPy."""

import sys

import numpy as np
import pytest

import proa as paddle

strings = paddle.incubate.strings
TEXTS = [["ÄRGER aé", "İstanbul", "ß"], ["ΟΔΟΣ", "", "日本 Ab1"]]


@pytest.mark.parametrize(
    "data", [TEXTS, np.array(TEXTS), "One", [], [[], []], np.array("x"), [[["a"], ["b"]]], ("a", "b")], ids=str
)
def test_made_of_what_numpy_takes(data):
    x = strings.StringTensor(data)
    want = np.array(data, dtype=np.str_)
    assert x.shape == list(want.shape) and x.size == want.size and x.ndim == want.ndim
    np.testing.assert_array_equal(x.numpy(), want)
    assert x.tolist() == want.tolist()
    assert strings.StringTensor(x).tolist() == x.tolist()


def test_made_of_sizes():
    """As the reference makes them: sizes first, or by keyword."""
    for x in (strings.StringTensor([2, 3], "texts"), strings.StringTensor(dims=[2, 3], name="texts")):
        assert x.shape == [2, 3] and x.name == "texts"
        np.testing.assert_array_equal(x.numpy(), np.empty([2, 3], dtype=np.str_))
    assert strings.StringTensor(value=np.array(TEXTS), name="texts").tolist() == TEXTS
    assert strings.StringTensor([0, 3]).shape == [0, 3]
    with pytest.raises(
        ValueError, match=r"StringTensor: shape must be integers that are not negative; it is \[2, -1\]"
    ):
        strings.StringTensor([2, -1])


def test_case_of_every_character():
    """Each character of Unicode that has two cases, by itself, and some of the others; those of ASCII alone."""
    every = map(chr, [*range(0xD800), *range(0xE000, sys.maxunicode + 1)])
    every = [c for i, c in enumerate(every) if i < 256 or i % 97 == 0 or not c.lower() == c == c.upper()]
    x = strings.to_string_tensor(every)
    assert strings.lower(x).tolist() == [c.lower() for c in every]
    assert strings.upper(x, True).tolist() == [c.upper() for c in every]
    ascii_only = lambda f: [f(c) if c < "\x80" else c for c in every]
    assert strings.lower(x, False).tolist() == ascii_only(str.lower)
    assert x.upper(False).tolist() == ascii_only(str.upper)


def test_shapes_stay():
    x = strings.StringTensor(TEXTS, "texts")
    assert x.name == "texts" and strings.StringTensor().tolist() == ""
    assert strings.empty_like(x).tolist() == [["", "", ""], ["", "", ""]]
    assert strings.empty([2, 0]).tolist() == [[], []] and strings.empty(2).tolist() == ["", ""]
    for out in (x.lower(), x.upper(), strings.empty_like(x)):
        assert out.shape == [2, 3]
    assert x[0, 1].tolist() == "İstanbul" and x[:, 2].tolist() == ["ß", "日本 Ab1"] and x[1].shape == [3]
    assert len(x) == 2 and "ΟΔΟΣ" in repr(x)
    assert paddle.framework.core.eager.StringTensor is strings.StringTensor
    assert paddle.framework.core.eager.Tensor is paddle.Tensor


@pytest.mark.parametrize(
    "call, kind, says",
    [
        (lambda: strings.StringTensor(["a", 1]), TypeError, "elements must be str, not int"),
        (lambda: strings.StringTensor([["a"], []]), ValueError, "rows must be of one length"),
        (lambda: strings.StringTensor([["a"], "b"]), ValueError, "rows must be of one length"),
        (lambda: strings.empty([-1]), ValueError, "not negative"),
        (lambda: strings.empty([1.5]), ValueError, "must be integers"),
        (lambda: strings.lower("a"), TypeError, "x must be a StringTensor, not str"),
        (lambda: strings.upper(paddle.ones([1])), TypeError, "x must be a StringTensor"),
        (lambda: strings.empty_like(3), TypeError, "x must be a StringTensor"),
        (lambda: len(strings.StringTensor("a")), TypeError, "no length"),
        (lambda: strings.StringTensor(["a"])[3], IndexError, "out of bounds"),
    ],
)
def test_errors(call, kind, says):
    with pytest.raises(kind, match=says):
        call()
