"""Layers print as PaddlePaddle 3.3 prints them: programs and their users compare the texts of networks.

reference_layer_reprs.tsv is what it printed. What reads otherwise here stands below, with a reason.
"""

import pathlib

import pytest

from proa import nn
from python.tests.layer_cases import LAYERS

_ROWS = [
    line.split("\t")
    for line in (pathlib.Path(__file__).parent / "reference_layer_reprs.tsv").read_text().splitlines()[1:]
]
# What 2.x did not have, and so did not print.
_LATER = {
    "Dropout": ", inplace=False",
    "Embedding": ", scale_grad_by_freq=False",
    "Silu": "inplace=False",
    "ThresholdedReLU": ", value=0.0",
}
# The reference's texts say nothing of what these are.
_SAY_MORE = ("BatchNorm", "MaxUnPool1D", "MaxUnPool2D", "MaxUnPool3D")


def _made(text):
    import proa

    return eval(f"nn.{text}", {"nn": nn, "paddle": proa})  # Our own data.


def test_every_layer_has_a_row():
    shown = {text.split("(")[0] for text, _ in _ROWS}
    missing = [
        name
        for name, (args, _) in LAYERS.items()
        if name not in shown and not list(_made(f"{name}({args})").children())
    ]
    assert missing == [], "print these with PaddlePaddle, and add them to reference_layer_reprs.tsv"


@pytest.mark.parametrize("text, expected", _ROWS, ids=[text for text, _ in _ROWS])
def test_text(text, expected):
    name, found = text.split("(")[0], repr(_made(text))
    if name in _SAY_MORE:
        assert found != expected and "=" in found
        return
    if name == "Upsample":  # there the layout is found at each call
        expected = expected.replace("data_format=None", "data_format=NCHW")
    assert found == expected.replace(_LATER.get(name, "no setting"), "")
