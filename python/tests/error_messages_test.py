"""What users see when they call things wrongly: the exception that Python users expect, and a message that helps.

Every op by its signature: ops/conformance/bad_input.py. These are calls of the public functions.
"""

import re

import numpy as np
import pytest

import proa
from proa import nn, static
from proa.nn import functional as F

X = proa.ones([2, 3])


def index(*values):
    return proa.to_tensor(values)


CASES = {
    "None": (lambda: proa.add(None, X), TypeError, "add: x must be a Tensor, an array or a number, not None"),  # type: ignore[arg-type]
    "label": (lambda: F.cross_entropy(X, index(1, 5)), ValueError, "label 5 at position 1 is not in [0, 3)"),
    "one_hot": (lambda: F.one_hot(index(1, 5), 3), IndexError, "one_hot: index 5 at [1] is out of range"),
    "scatter": (
        lambda: proa.scatter(proa.ones([3, 2]), index(7), proa.ones([1, 2])),
        IndexError,
        "scatter: index 7 at [0] is out of range for dim 0 of size 3",
    ),
    "gather": (
        lambda: proa.gather(X, index(9)),
        IndexError,
        "gather: index 9 at [0] is out of range for dim 0 of size 2",
    ),
    "embedding": (lambda: F.embedding(index(9), X), IndexError, "embedding: index 9 at [0] is out of range"),
    "int": (lambda: X[5], IndexError, "index 5 is out of range at dim 0; x is [2, 3] float32"),
    "too many": (lambda: X[0, 0, 0], IndexError, "too many indices, 3; x is [2, 3] float32"),
    "text": (lambda: X["a"], IndexError, "an index must be int, slice, None"),
    "step": (lambda: X[::0], ValueError, "the step is zero"),
    "reshape": (lambda: X.reshape([4, 5]), ValueError, "6 elements do not fill the shape [4, 5]; x is [2, 3] float32"),
    "concat": (lambda: proa.concat([X, proa.ones([3, 4])]), ValueError, "concat: tensor 1 does not fit at dim 1"),
    "add": (
        lambda: X + proa.ones([4]),
        ValueError,
        "add: shapes do not broadcast at dim 1; x is [2, 3] float32, y is [4] float32",
    ),
    "linear": (lambda: nn.Linear(4, 2)(X), ValueError, "x is [2, 3] float32, weight is [4, 2] float32"),
    "conv": (
        lambda: nn.Conv2D(3, 4, 3)(proa.ones([1, 4, 8, 8])),
        ValueError,
        "conv2d: x has 4 channels but weight has 3",
    ),
    "axis": (lambda: X.sum(axis=2), IndexError, "sum: axis 2 is out of range"),
    "composite": (lambda: proa.bmm(X, X), ValueError, "bmm: "),
    "dtype": (lambda: F.relu(proa.ones([2], dtype="bool")), TypeError, "relu: does not accept bool; it accepts"),
    "no dtype": (lambda: X.astype("float3"), TypeError, "float3"),
    "overflow": (lambda: proa.full([2**63], 0), OverflowError, "element 0 of shape is 9223372036854775808"),
    "too large": (lambda: proa.zeros([2**40, 2**40]), ValueError, "full: shape: size overflows int64"),
    "no memory": (lambda: proa.zeros([2**45]), MemoryError, "full: cpu: out of memory; asked for 128.00 TiB"),
    "no device": (lambda: proa.set_device("gpu"), ValueError, "gpu:0 has no runtime"),
    "no file": (lambda: proa.load("/nonexistent/x"), FileNotFoundError, "/nonexistent/x"),
    "no program": (lambda: proa.jit.load("/nonexistent/x"), FileNotFoundError, "/nonexistent/x.pdmodel"),
    "feed": (
        lambda: static.Executor().run(static.Program(), {"zz": np.ones(2)}, ["zz"]),
        ValueError,
        "fetch_list: no tensor of the program is named 'zz'",
    ),
    "eager loss": (
        lambda: static.append_backward(X.sum()),
        TypeError,
        "append_backward: loss must be a value of a program",
    ),
    "twice": (lambda: _twice(), RuntimeError, "retain_graph"),
    "attribute": (lambda: X.no_such, AttributeError, "no_such"),
}


def _twice():
    w = proa.ones([2])
    w.stop_gradient = False
    y = (w * w).sum()
    y.backward()
    y.backward()


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, kind, says = CASES[name]
    with pytest.raises(kind, match=re.escape(says)) as e:
        call()
    # The class is one of this kind and of others (proa.errors); only what is a ValueError alone is said to be one.
    assert type(e.value) is kind or kind is not ValueError
