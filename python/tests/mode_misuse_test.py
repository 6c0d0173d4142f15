"""Functions of static mode, called in eager mode: an error that says what to do; and what they do in static mode."""

import re

import numpy as np
import pytest

import proa
from proa import static

X = proa.ones([2, 3])

MISUSES = {
    "append_backward": (lambda: static.append_backward(X.sum()), TypeError, "call loss.backward()"),
    "gradients": (lambda: static.gradients(X.sum(), [X]), TypeError, "call paddle.grad()"),
    "gradients of a list": (lambda: static.gradients([X], X), TypeError, "gradients: targets must be values of a"),
    "Print": (lambda: static.Print(X), RuntimeError, "print the tensor: print(x)"),
    "embedding": (lambda: static.nn.embedding(X.astype("int64"), [4, 2]), RuntimeError, "use paddle.nn.Embedding"),
    "data_norm": (lambda: static.nn.data_norm(X), RuntimeError, "use paddle.nn.BatchNorm1D"),
    "multi_box_head": (
        lambda: static.nn.multi_box_head([X], X, 300, 2, [[2.0]]),
        RuntimeError,
        "compute the boxes with tensor functions",
    ),
    "nce": (lambda: static.nn.nce(X, X, 3), RuntimeError, "use paddle.nn.functional.cross_entropy"),
    "py_func": (lambda: static.nn.py_func(lambda x: x, X, X), RuntimeError, "call the function"),
    "static.py_func": (lambda: static.py_func(lambda x: x, X, X), RuntimeError, "or write a paddle.autograd.PyLayer"),
}


@pytest.mark.parametrize("name", MISUSES)
def test_in_eager_mode(name):
    call, kind, says = MISUSES[name]
    with pytest.raises(kind, match=re.escape(says)) as e:
        call()
    word, _, text = str(e.value).partition(" ")
    function = re.match(r"(?:static\.)?(\w+)", name).group(1)
    assert word in ("(InvalidArgument)", "(PreconditionNotMet)")
    assert text.startswith(f"{function}: ") and "enable_static()" in text
    assert e.value.__notes__[0].startswith("  at mode_misuse_test.py:")


def test_embedding_of_a_program_trains():
    main = static.Program()
    with static.program_guard(main):
        ids = static.data("ids", [None, 3], "int64")
        out = static.nn.embedding(ids, [5, 2], padding_idx=1)
        loss = out.sum()
        ((table, grad),) = static.append_backward(loss)
    assert table.shape == [5, 2] and table.dtype.name == "float32"
    fed = np.array([[0, 1, 4], [4, 4, 2]])
    value, g = static.Executor().run(main, {"ids": fed}, [out, grad])
    np.testing.assert_array_equal(value, table.numpy()[fed])
    np.testing.assert_array_equal(value[0, 1], [0, 0])
    np.testing.assert_array_equal(g[:, 0], [1, 0, 1, 0, 3])
    with static.program_guard(main), pytest.raises(ValueError, match=r"embedding: size must be \[rows"):
        static.nn.embedding(ids, [5])


def test_errors_of_converted_functions_end_in_the_line_as_it_is_written():
    """No generated code stands between: the traceback shows the file of the user."""

    @proa.jit.to_static
    def f(x):
        y = x * 2
        return y.reshape([7, 9])

    with pytest.raises(ValueError, match="reshape: 6 elements do not fill") as e:
        f(X)
    last = e.traceback[-1]
    assert str(last.path) == __file__ and "y.reshape([7, 9])" in str(last.statement)


def test_errors_of_the_run_show_the_line_that_recorded_them():
    main = static.Program()
    with static.program_guard(main):
        x, y = static.data("x", [None, 3]), static.data("y", [None, 3])
        out = proa.multiply(x, y)  # the line
    with pytest.raises(ValueError) as e:
        static.Executor().run(main, {"x": np.ones([2, 3], "f"), "y": np.ones([4, 3], "f")}, [out])
    assert re.search(r"recorded: mode_misuse_test.py:\d+: out = proa.multiply\(x, y\)  # the line$", str(e.value), re.M)
