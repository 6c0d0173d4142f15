"""Anomaly mode and graph printing."""

import inspect
import os

import numpy as np
import pytest

import proa
from proa import nn
from proa.autograd import detect_anomaly, graph_dot, graph_text, is_anomaly_enabled, set_detect_anomaly


@pytest.fixture(autouse=True)
def _off_afterwards():
    yield
    assert not is_anomaly_enabled()


def _leaf(*values):
    return proa.to_tensor(list(values), dtype="float64", stop_gradient=False)


def _here():
    return inspect.currentframe().f_back.f_lineno


def test_nan_names_op_input_shape_and_forward_line():
    x = _leaf(0.0, 4.0)
    with detect_anomaly():
        root = proa.sqrt(x)
        line = _here() - 1
        with pytest.raises(RuntimeError) as caught:
            (root * 0.0).sum().backward()
    text = str(caught.value)
    assert "sqrt's backward made a gradient of x with 1 NaN and 0 Inf; it is [2] float64" in text
    assert "the gradient that came in was finite" in text
    assert f'File "{__file__}", line {line}, in test_nan_names_op_input_shape_and_forward_line' in text
    assert "root = proa.sqrt(x)" in text
    assert os.path.dirname(proa.__file__) not in text  # no frames of the package


def test_inf_and_the_gradient_that_came_in():
    x = _leaf(1.0)
    with detect_anomaly(), pytest.raises(RuntimeError, match="already had 0 NaN and 1 Inf"):
        (x * 2).backward(proa.to_tensor([np.inf], dtype="float64"))


def test_within_a_layer():
    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x):
            return proa.log(self.fc(x) * 0.0)

    with detect_anomaly(), pytest.raises(RuntimeError) as caught:
        Model()(proa.ones([3, 2])).sum().backward()
    text = str(caught.value)
    assert "log's backward made a gradient of x" in text
    assert "in forward\n    return proa.log(self.fc(x) * 0.0)" in text


def test_error_of_a_formula_names_the_forward_line():
    x = _leaf(1.0)
    with detect_anomaly():
        y = x * 3.0
        z = y * y
        y.scale_(2.0)
        with pytest.raises(RuntimeError, match="changed in place") as caught:
            z.backward()
    text = str(caught.value)
    assert "in multiply's backward, with gradients [1] float64; multiply was called" in text
    assert "z = y * y" in text


def test_error_of_python_gets_a_note():
    class Mine(proa.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise LookupError("mine")

    with detect_anomaly():
        out = Mine.apply(_leaf(1.0))
        with pytest.raises(LookupError, match="mine") as caught:
            out.backward()
    if hasattr(caught.value, "__notes__"):
        (note,) = caught.value.__notes__
        assert "out = Mine.apply(_leaf(1.0))" in note


def test_create_graph():
    x = _leaf(0.0)
    with detect_anomaly():
        y = x**1.5
        (g,) = proa.grad(y, x, create_graph=True)  # 1.5 * sqrt(0)
        with pytest.raises(RuntimeError) as caught:
            g.backward()
    assert "in the backward of pow" in str(caught.value)
    assert "y = x**1.5" in str(caught.value)


def test_modes():
    x = _leaf(0.0)
    set_detect_anomaly(True, check_nan=False)
    try:
        assert is_anomaly_enabled()
        y = proa.sqrt(x)
        y.backward()
        assert np.isinf(x.grad.item())
        assert "y = proa.sqrt(x)" in y.grad_fn.forward_place
        with detect_anomaly(), pytest.raises(RuntimeError):
            proa.sqrt(x).backward()
        proa.sqrt(x).backward()
    finally:
        set_detect_anomaly(False)
    assert proa.sqrt(x).grad_fn.forward_place == ""

    @detect_anomaly()
    def on():
        return is_anomaly_enabled()

    assert on()
    assert not is_anomaly_enabled()


def test_forward_outside_of_the_mode():
    y = proa.sqrt(_leaf(0.0))
    with (
        detect_anomaly(),
        pytest.raises(RuntimeError, match="where sqrt was called is not known: anomaly mode was off"),
    ):
        y.backward()


# Graphs


def test_graph_text():
    w, c = _leaf(1.0, 2.0), proa.ones([2], "float64")
    w.name = "w"
    y = proa.exp(w) * c
    assert graph_text((y * y).sum()) == (
        "#1 sum\n"
        "  x: #2 multiply\n"
        "#2 multiply, saves y [2] float64, x [2] float64 (16 bytes)\n"
        "  x: #3 multiply\n"
        "  y: #3 multiply\n"
        "#3 multiply, saves y [2] float64 (16 bytes)\n"
        "  x: #4 exp\n"
        "  y: no gradient\n"
        "#4 exp, saves out [2] float64 (16 bytes)\n"
        "  x: leaf w [2] float64\n"
    )


def test_graph_dot():
    w = _leaf(1.0)
    w.name = 'a "b"'
    text = graph_dot([w * 2, proa.exp(w)])
    assert text.startswith("digraph backward {\n")
    assert 'label="leaf a \\"b\\" [1] float64"' in text
    assert text.count("-> leaf1") == 2


def test_graph_of_a_million_nodes():
    y = _leaf(1.0)
    for _ in range(200_000):
        y = y + 1.0
    assert graph_text(y, max_nodes=1) == "#1 add\n  x: add, not shown\n  y: no gradient\nand 199999 more (max_nodes)\n"
    assert graph_text(y, max_nodes=0).count("\n") >= 200_000


def test_graph_errors():
    assert graph_text(proa.ones([1])) == ""
    with pytest.raises(TypeError, match="graph_text: expected a Tensor"):
        graph_text("x")
    with pytest.raises(ValueError, match="max_nodes must be 0 or more"):
        graph_text(proa.ones([1]), max_nodes=-1)
    with pytest.raises(TypeError, match="max_nodes must be int"):
        graph_dot(proa.ones([1]), max_nodes=1.5)
