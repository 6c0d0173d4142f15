"""arange of every dtype, of lengths around those that loops take at a time, beside NumPy."""

import numpy as np
import pytest

import proa as paddle

_LENGTHS = [
    0,
    1,
    2,
    3,
    7,
    8,
    9,
    15,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    100,
    127,
    128,
    129,
    1000,
    16383,
    16385,
    40000,
    136806,
]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float32", "float64"])
def test_lengths(dtype, threads):
    before = paddle._C.get_num_threads()
    paddle._C.set_num_threads(threads)
    for n in _LENGTHS:
        for start, step in ((0, 1), (7, -3), (-5, 2), (250, 11)):
            got = paddle.arange(start, start + step * n, step, dtype=dtype).numpy()
            wanted = np.arange(start, start + step * n, step, dtype="int64").astype(dtype)
            np.testing.assert_array_equal(got, wanted, f"{n} from {start} by {step}")
    paddle._C.set_num_threads(before)


def test_ends_of_int64():
    top = 2**63 - 1
    for start, end, step in ((top - 200, top, 1), (-(2**63), -(2**63) + 500, 7), (-top, top, top // 50)):
        got = paddle.arange(start, end, step).tolist()
        assert got == list(range(start, end, step))
