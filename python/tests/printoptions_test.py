"""set_printoptions: each option does what NumPy's does, stays as it is unless given, and is checked."""

import re

import numpy as np
import pytest

import proa


@pytest.fixture(autouse=True)
def defaults():
    before = proa._C.get_printoptions()
    yield
    proa._C.set_printoptions(**{k: v for k, v in before.items() if v is not None})


def body(x):
    """What is printed of the elements."""
    text = str(proa.to_tensor(x))
    return re.sub(r"\n {7}", "\n", text.split(",\n       ", 1)[1])[:-1]


def numpy_body(x, **options):
    with np.printoptions(**options):
        return np.array2string(x, separator=", ")


X = np.array([[1 / 3, 22.5, -3.0], [1e-3, 0.0, 7.125]], "f")


@pytest.mark.parametrize("precision", [0, 2, 4, 8])
def test_precision(precision):
    proa.set_printoptions(precision=precision)
    assert body(X) == numpy_body(X, precision=precision)


@pytest.mark.parametrize("threshold, edgeitems", [(5, 1), (5, 2), (1000, 3), (0, 1)])
def test_threshold_and_edgeitems(threshold, edgeitems):
    x = np.arange(40, dtype="int64").reshape(4, 10)
    proa.set_printoptions(threshold=threshold, edgeitems=edgeitems)
    assert body(x) == numpy_body(x, threshold=threshold, edgeitems=edgeitems)


def test_sci_mode():
    proa.set_printoptions(sci_mode=True, precision=3)
    assert "e+01" in body(X) and "e-03" in body(X)
    proa.set_printoptions(sci_mode=False)
    assert "e" not in body(X)


def test_linewidth():
    x = np.arange(60, dtype="int64")
    for width in (40, 120):
        proa.set_printoptions(linewidth=width)
        assert max(map(len, str(proa.to_tensor(x)).splitlines()[1:])) <= width
    proa.set_printoptions(linewidth=1)
    assert len(str(proa.to_tensor(x)).splitlines()) >= 60


def test_what_is_not_given_stays():
    proa.set_printoptions(precision=3, edgeitems=2)
    proa.set_printoptions(threshold=7)
    options = proa._C.get_printoptions()
    assert (options["precision"], options["edgeitems"], options["threshold"]) == (3, 2, 7)
    proa.set_printoptions()
    assert proa._C.get_printoptions() == options


@pytest.mark.parametrize("name, least", [("precision", 0), ("threshold", 0), ("edgeitems", 0), ("linewidth", 1)])
def test_wrong_values(name, least):
    before = proa._C.get_printoptions()
    for value in (least - 1, -(2**63), 2**31, 2**63):
        with pytest.raises(
            ValueError, match=f"set_printoptions: {name} must be from {least} to 2\\^31 - 1, not {value}"
        ):
            proa.set_printoptions(**{name: value})
    for value in ("3", 1.5, True, [3]):
        with pytest.raises(TypeError, match=f"set_printoptions: {name} must be int, not {type(value).__name__}"):
            proa.set_printoptions(**{name: value})
    assert proa._C.get_printoptions() == before


def test_sci_mode_is_a_bool():
    with pytest.raises(TypeError, match="sci_mode must be bool, not int"):
        proa.set_printoptions(sci_mode=3)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((0, 3), "f"),
        np.float32(0.1),
        np.array([np.nan, np.inf, -np.inf], "f"),
        np.array([True, False]),
        np.array([1 + 2j, -0.5j], "complex64"),
    ],
)
def test_odd_tensors(x):
    proa.set_printoptions(precision=4)
    assert body(x).replace(" ", "") == numpy_body(np.asarray(x), precision=4).replace(" ", "")
