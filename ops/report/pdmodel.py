"""What these ops are in PaddlePaddle's format, which holds no checks of our own."""

from proa.jit.reference.rule import op


def pdmodel_require(x, holds, message, data):
    return op("assign", {"X": x})
