"""Tensors of more than 2^31 elements: indices, positions and counts beyond 32 bits.

`python -m ops.conformance.large` does it for each op, in more memory and time than a test has.
"""

import os

import numpy as np
import pytest

import proa

_N = (1 << 31) + 4097
_ODD = _N - 3  # where the one element stands that is not 0
_GIB = 1 << 30


@pytest.fixture(autouse=True)
def memory():
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with open("/proc/meminfo") as lines:
        free = max(free, next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")))
    if free < 8 * _GIB:
        pytest.skip(f"needs 8 GiB of memory, free are {free / _GIB:.1f}")
    yield
    proa.device.cuda.empty_cache()


def _zeros_but_one(value=9):
    x = proa.zeros([_N], "uint8")
    x[_ODD] = value
    return x


def _repeated(value, dtype="float32"):
    """As many elements, one of which lies in memory."""
    return proa.full([1], value, dtype).expand([_N])


def _equal(actual, expected):
    np.testing.assert_array_equal(actual.numpy(), expected)


def test_sums_and_means():
    _equal(_repeated(1, "int64").sum(), _N)
    _equal(_repeated(True, "bool").sum(), _N)
    np.testing.assert_allclose(_repeated(0.5).sum().item(), _N / 2, rtol=1e-6)
    np.testing.assert_allclose(_repeated(0.5).mean().item(), 0.5, rtol=1e-6)
    np.testing.assert_allclose(proa.logsumexp(_repeated(0.5)).item(), 0.5 + np.log(_N), rtol=1e-6)
    np.testing.assert_allclose(proa.norm(_repeated(0.5)).item(), 0.5 * np.sqrt(_N), rtol=1e-6)


def test_extremes_and_their_places():
    x = _zeros_but_one()
    _equal(x.max(), 9)
    _equal(x.argmax(), _ODD)
    values, places = proa.topk(x, 2)
    _equal(values, [9, 0])
    assert places[0].item() == _ODD


def test_parts():
    x = _zeros_but_one()
    _equal(x[_ODD - 1 : _ODD + 2], [0, 9, 0])
    _equal(x[-3], 9)
    _equal(x[::-1][2], 9)
    _equal(x[proa.to_tensor([_ODD, -3, 1])], [9, 9, 0])
    _equal(proa.index_select(x, proa.to_tensor([0, _ODD, 1 << 31])), [0, 9, 0])
    _equal(proa.gather(x, proa.to_tensor([_ODD, 5])), [9, 0])
    _equal(proa.gather_nd(x, proa.to_tensor([[_ODD], [2]])), [9, 0])
    _equal(proa.split(x, [1 << 31, _N - (1 << 31)])[1][-3:], [9, 0, 0])


def test_changed_parts():
    x = _zeros_but_one()
    x[1 << 31] = 7
    x[_ODD + 1 :] = 3
    x[proa.to_tensor([_ODD, 0])] = proa.to_tensor([5, 6]).astype("uint8")
    _equal(x[(1 << 31) - 1 : (1 << 31) + 2], [0, 7, 0])
    _equal(x[-3:], [5, 3, 3])
    _equal(x[:2], [6, 0])


def test_what_is_written_whole():
    x = proa.flip(_zeros_but_one(), [0])
    _equal(x[:4], [0, 0, 9, 0])
    _equal((255 - x)[:4], [255, 255, 246, 255])
    _equal(proa.concat([x, x[:5]])[-5:], [0, 0, 9, 0, 0])
    _equal(proa.full([_N], 3, "uint8")[[0, 1 << 31, _N - 1]], [3, 3, 3])
