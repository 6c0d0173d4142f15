"""Comparison of results with references: kind, shape, values."""

from __future__ import annotations

import numpy as np

# (rtol, atol) by the dtype of the result.
_TOLERANCE = {
    "float16": (2e-3, 2e-3),
    "bfloat16": (1.6e-2, 1.6e-2),
    "float32": (1e-5, 1e-5),
    "float64": (1e-10, 1e-11),
    "complex64": (1e-5, 1e-5),
    "complex128": (1e-10, 1e-11),
}


def close(got: np.ndarray, want, dtype: str, where: str, tolerance=None) -> None:
    """Asserts that `got` (of Proa dtype `dtype`) is what the reference says."""
    want = np.asarray(want)
    assert got.shape == want.shape, f"{where}: shape {got.shape}, the reference has {want.shape}"
    if dtype not in _TOLERANCE:
        assert want.dtype.kind in "biu" or np.array_equal(want, np.trunc(want)), (
            f"{where}: {dtype}, the reference is {want.dtype}"
        )
        np.testing.assert_array_equal(got, want.astype(got.dtype), err_msg=where)
        return
    rtol, atol = tolerance or _TOLERANCE[dtype]
    kind = np.complex128 if dtype.startswith("complex") or want.dtype.kind == "c" else np.float64
    with np.errstate(over="ignore", invalid="ignore"):
        # A value that the narrow type cannot hold is infinite there.
        narrow = {"float16": np.float16, "float32": np.float32}.get(dtype)
        if narrow is not None and want.dtype.kind == "f":
            want = np.where(np.abs(want) > np.finfo(narrow).max, np.sign(want) * np.inf, want)
    np.testing.assert_allclose(got.astype(kind), want.astype(kind), rtol=rtol, atol=atol, equal_nan=True, err_msg=where)


def same_bits(a: np.ndarray, b: np.ndarray, where: str) -> None:
    assert a.shape == b.shape and a.dtype == b.dtype, f"{where}: {a.dtype}{a.shape} and {b.dtype}{b.shape}"
    assert a.tobytes() == b.tobytes(), f"{where}: results differ\n{a}\n{b}"
