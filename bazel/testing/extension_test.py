"""A python_extension imports, works, and exports nothing but our symbols."""

import subprocess

import numpy as np

from bazel.testing import _scale


def test_calls_cpp():
    np.testing.assert_array_equal(_scale.scale([1.0, 2.0], 2.0, 1.0), np.float32([3, 5]))
    assert _scale.describe() == "sse2, avx2"


def test_exports_only_our_symbols():
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", "--format=posix", _scale.__file__], capture_output=True, text=True, check=True
    ).stdout
    names = [line.split()[0] for line in listing.splitlines()]
    assert "PyInit__scale" in names
    assert [n for n in names if "proa" not in n and not n.startswith("PyInit_")] == []
