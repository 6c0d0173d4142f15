"""What docs/coming_from_paddle.md says of differences is so."""

import pathlib

import numpy as np
import pytest
import yaml

import proa

_ROWS = yaml.safe_load((pathlib.Path(__file__).resolve().parents[2] / "docs" / "differences.yaml").read_text())


@pytest.mark.parametrize("row", _ROWS, ids=[row["subject"] for row in _ROWS])
def test_difference(row, tmp_path):
    assert set(row) - {"signatures", "absent"} == {"subject", "reference", "proa", "why", "check"}
    assert eval(row["check"], {"paddle": proa, "np": np, "folder": str(tmp_path)})  # Our own data.
