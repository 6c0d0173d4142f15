"""What these ops are in PaddlePaddle's format where reference.rules read backwards does not say it."""

from proa.jit.reference.rule import op, result, to_result


def pdmodel_matmul(x, y, transpose_x, transpose_y):
    x, y = to_result(x, y)
    return op("matmul_v2", {"X": x, "Y": y}, {"trans_x": transpose_x, "trans_y": transpose_y})


def pdmodel_linear(x, weight, bias):
    x, weight, bias = to_result(x, weight, bias)
    found = op("matmul_v2", {"X": x, "Y": weight}, {"trans_x": False, "trans_y": False}, shape=result().shape)
    return found if bias is None else op("elementwise_add", {"X": found, "Y": bias}, {"axis": -1})


def pdmodel_dot(x, y):
    both = op("elementwise_mul", dict(zip("XY", to_result(x, y), strict=True)), {"axis": -1})
    return op("reduce_sum", {"X": both}, {"dim": [-1], "keep_dim": False, "reduce_all": False})


def pdmodel_outer(x, y):
    x, y = to_result(x, y)
    column = op("reshape2", {"X": x}, {"shape": [-1, 1]}, outputs=("Out", "XShape"))[0]
    row = op("reshape2", {"X": y}, {"shape": [1, -1]}, outputs=("Out", "XShape"))[0]
    return op("elementwise_mul", {"X": column, "Y": row}, {"axis": -1})
