"""What notebooks show of tensors and layers: well-formed, with the right numbers, whatever the tensor."""

import html.parser
import subprocess
import sys

import numpy as np
import pytest

import proa
from proa import nn

_EMPTY = {"br"}


class _Page(html.parser.HTMLParser):
    """Reads HTML; refuses elements that are not closed in turn; keeps cells and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells, self.text, self.tags = [], [], "", []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in _EMPTY:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


def test_a_small_matrix_is_a_table():
    page = _Page(proa.to_tensor([[1.5, -2.0], [float("nan"), 1e-9]])._repr_html_())
    assert page.cells == ["1.5000", "-2.0000", "nan", "1.000e-09"]
    assert "Tensor [2, 2] float32 on Place(cpu)" in page.text
    assert _Page(proa.to_tensor([True, False])._repr_html_()).cells == ["True", "False"]
    assert _Page(proa.to_tensor([1 + 2j])._repr_html_()).cells == ["1+2j"]


def test_large_ones_show_their_corners():
    x = np.arange(1000 * 2000).reshape(1000, 2000)
    page = _Page(proa.to_tensor(x)._repr_html_())
    shown = [int(cell) for cell in page.cells if cell.isdigit()]
    rows = [0, 1, 2, 3, 996, 997, 998, 999]
    assert shown == [x[i, j] for i in rows for j in (0, 1, 2, 3, 1996, 1997, 1998, 1999)]
    page = _Page(proa.ones([3, 4, 2, 2])._repr_html_())
    assert "[0, 0, :, :]" in page.text and "[0, 1, :, :]" in page.text and "and 10 more" in page.text
    assert page.cells == ["1.0000"] * 8


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int64", "bool", "complex128"]
)
@pytest.mark.parametrize("shape", [[], [0], [1], [11], [0, 3], [3, 0], [2, 3], [1, 0, 2], [2, 1, 1, 3]])
def test_every_shape_and_dtype(shape, dtype):
    x = proa.zeros(shape, dtype=dtype)
    page = _Page(x._repr_html_())
    assert f"Tensor {shape} {dtype}" in page.text
    assert ("no elements" in page.text) == (0 in shape)


def test_other_tensors():
    weight = proa.create_parameter([2, 2], "float32", name='<b>"w"</b>')
    assert "with gradient" in (page := _Page(weight._repr_html_())).text and "b" not in page.tags
    table = nn.Embedding(10, 2, sparse=True)
    table(proa.to_tensor([1, 4])).sum().backward()
    page = _Page(table.weight.grad._repr_html_())
    assert "rows [1, 4]" in page.text and len(page.cells) == 4
    assert _Page(proa.ones([3, 4]).t()._repr_html_()).cells == ["1.0000"] * 12
    proa.enable_static()
    try:
        with proa.static.program_guard(proa.static.Program()):
            assert "a value of a program" in _Page(proa.static.data("x", [None, 2])._repr_html_()).text
    finally:
        proa.disable_static()


def test_layers():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.LSTM(3, 2))
            self.scale = self.create_parameter([3])

        def extra_repr(self):
            return "<script>alert(1)</script>"

    net = Net()
    page = _Page(net._repr_html_())
    assert "script" not in page.tags and "<script>" in page.text
    count = sum(int(np.prod(p.shape)) for p in net.parameters())
    assert f"Net(<script>alert(1)</script>) {count:,} parameters" in page.text
    assert "scale [3] float32" in page.text and "weight [4, 3] float32" in page.text and "0: Linear" in page.text
    assert page.tags.count("details") >= 3
    assert "details" not in _Page(nn.ReLU()._repr_html_()).tags


def test_no_numpy():
    program = "import proa, sys; proa.ones([2, 2])._repr_html_(); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
