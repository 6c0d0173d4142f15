"""conv2d_activation of bfloat16 gives the bits of its parts: where tiles of AMX add and take relu as they write, too."""

import itertools

import numpy as np
import pytest

import proa
import proa.nn.functional as F
from proa import _C

_RNG = np.random.default_rng(7)


def _low(*shape):
    return proa.to_tensor(_RNG.standard_normal(shape).astype("float32")).astype("bfloat16")


# channels, outputs, kernel, stride, padding, height and width, batch
_SIZES = [
    (32, 48, 1, 1, 0, 33, 35, 1),
    (32, 48, 1, 2, 0, 40, 80, 2),
    (64, 40, 3, 1, 1, 34, 33, 1),
    (32, 64, 3, 2, 1, 70, 72, 1),
    (3, 64, 7, 2, 3, 96, 80, 1),
    (48, 33, 3, 1, 1, 40, 40, 1),
    (64, 256, 1, 1, 0, 56, 56, 2),  # divided into parts that stay in the cache
    (64, 256, 3, 1, 1, 56, 56, 1),
    (16, 16, 3, 1, 1, 9, 9, 3),  # so few pixels that oneDNN has them
]


@pytest.mark.parametrize("size", _SIZES, ids=str)
@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
def test_bits(size, data_format):
    channels, outputs, kernel, stride, padding, height, width, batch = size
    image = (batch, channels, height, width) if data_format == "NCHW" else (batch, height, width, channels)
    x, weight, bias = _low(*image), _low(outputs, channels, kernel, kernel) * 0.1, _low(outputs)
    plain = F.conv2d(x, weight, bias, stride, padding, data_format=data_format)
    residual = _low(*plain.shape)
    residual[0, 0, 0, 0] = float("nan")
    for activation, adds in itertools.product(("none", "relu", "silu"), (False, True)):
        expected = plain + residual if adds else plain
        if activation == "silu":
            wide = plain.astype("float32") + residual.astype("float32") if adds else plain
            expected = F.silu(wide).astype("bfloat16")
        elif activation == "relu":
            expected = F.relu(expected)
        found = _C.ops.conv2d_activation(
            x,
            weight,
            bias,
            residual if adds else None,
            None,
            activation,
            stride=[stride, stride],
            padding=[padding, padding],
            data_format=data_format,
        )
        np.testing.assert_array_equal(found.astype("float32").numpy(), expected.astype("float32").numpy())
