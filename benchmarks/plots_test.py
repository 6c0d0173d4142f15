"""Pictures are well-formed, the same for the same data, and as long as the values say."""

import re
from xml.etree import ElementTree

import plots
import pytest

_GROUPS = {"a < b": [1.0, 10.0], "b": [None, 100.0]}


def _widths(svg):
    return [float(w) for w in re.findall(r'width="([\d.]+)" height="\d+" class="s\d"', svg)][2:]  # after the legend


def test_same_bytes():
    first, second = (plots.bars("t", ["x", "y"], dict(_GROUPS), log=True) for _ in range(2))
    assert first == second
    assert ElementTree.fromstring(first).tag.endswith("svg")


@pytest.mark.parametrize("log, shares", [(True, [0, 1, 2]), (False, [1, 10, 100])])
def test_lengths(log, shares):
    one, ten, hundred = _widths(plots.bars("t", ["x", "y"], _GROUPS, log=log))
    unit = hundred / shares[-1]
    assert [one, ten] == pytest.approx([unit * s for s in shares[:2]], abs=0.1)


def test_values_below_one_have_room_on_a_logarithmic_axis():
    svg = plots.bars("t", ["x"], {"a": [0.5], "b": [2.0]}, log=True, mark=1.0)
    assert "0.50" in svg and "-" not in "".join(re.findall(r'width="([^"]*)"', svg))


def test_colours_are_given_for_light_and_dark_pages():
    svg = plots.bars("t", ["x"], {"a": [1.0]}, log=False)
    assert "prefers-color-scheme: dark" in svg and 'class="card"' in svg
